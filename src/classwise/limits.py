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


# Logistic regression --------------------------------------------------------------------------------------------------

# Newton's method starts from near the mode of a tenth of the rows, at least so many and so many for each weight, where
# there are several times as many.
START_ROWS_PER_WEIGHT = 100
START_ROWS = 20_000

# Of rows that are not in memory so many are drawn to start from, or more where there are many weights; of each class
# and level about so many at least, if it has them.
START_ROWS_DRAWN = 100_000
START_ROWS_OF_KIND = 100

# The Hessian of more weights than this takes 3 GB and more: refused.
MOST_WEIGHTS = 20_000
