"""Numbers that decide what becomes of a table: in one place, so that anybody can say what becomes of 60,000 rows."""

from classwise.arrays import BLOCK_SIZE

# Memory ---------------------------------------------------------------------------------------------------------------

# So many values, rows times columns, are held in memory; more are read as a stream, as often as it takes.
MOST_HELD = 20_000_000

# Chunks are handed to threads; each is many cache-sized blocks long, so that handing out and merging cost little.
CHUNK_SIZE = 16 * BLOCK_SIZE

# Chunks of a table whose columns must first be put side by side are copies, and shorter: memory stays flat.
COPY_SIZE = 10 * BLOCK_SIZE


def chunk_rows(features: int, size: int = COPY_SIZE) -> int:
    """How many rows a chunk of so many features has."""
    # A statistic holds matrices of p²: chunks grow with them, so that merging stays a small part of the work.
    return max(size, 8 * features * features) // features


# Diagnosis, check and report ------------------------------------------------------------------------------------------

# Where there are too many columns to test all rows for Normality, so many of each class are tested, evenly spaced.
NORMALITY_ROWS = 2000

# A check measures pairs of columns, unless told, where there are no more columns than this.
PAIRED_COLUMNS = 40

# The pictures of a report show so many rows, drawn by chance.
REPORT_ROWS = 1000
