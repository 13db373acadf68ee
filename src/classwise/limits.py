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


# Columns --------------------------------------------------------------------------------------------------------------

# A column of numbers with at most so many distinct values is counted value by value, like a category.
FEW_VALUES = 10

# Choosing -------------------------------------------------------------------------------------------------------------

# Of more rows than this, so many in regular distances are left out one by one to choose the strength of a prior.
ENOUGH_LEFT_OUT = 20_000

# Rows are scored in blocks of this many, one for each thread at a time, which stay in cache.
BLOCK_OF_ROWS = 2048

# The stack (AutoClassifier) -------------------------------------------------------------------------------------------

# Members are tried on at most so many rows; those made of sums then learn from all.
MOST_TRIED = 50_000

# Of each class at least so many rows are among them, if it has them: of a table in memory, and of a source.
FEWEST_KEPT = 50
FEWEST_DRAWN = 100

# Covariances for every fold and class may take so many bytes; a member that needs more takes no part.
STACK_BYTES = 2e9

# About so many rows are enough to choose the strength of a prior and the powers of Yeo-Johnson by.
ENOUGH_ROWS = 10_000
