"""Numbers that decide what becomes of a table: in one place, so that anybody can say what becomes of 60,000 rows."""

from classwise.arrays import BLOCK_SIZE

# Memory ---------------------------------------------------------------------------------------------------------------

# So many values, rows times columns, are held in memory; more are read as a stream, as often as it takes.
MOST_HELD = 20_000_000

# Chunks are handed to threads; each is many cache-sized blocks long, so that handing out and merging cost little.
CHUNK_SIZE = 16 * BLOCK_SIZE

# Chunks of a table whose columns must first be put side by side are copies, and shorter: memory stays flat.
COPY_SIZE = 10 * BLOCK_SIZE

# Rows are scored in chunks of this many numbers, so that what is computed from a chunk is still in cache.
SCORING_SIZE = 3 * BLOCK_SIZE

# Where a chunk is first put together column by column, twice as long ones pay: threads then wait less for each other.
COPIED_SCORING_SIZE = 6 * BLOCK_SIZE

# Moments of rows with gaps, a matrix for each class and pattern of missing values, may take so many numbers (1 GB).
MOST_GAP_NUMBERS = 1 << 27

# Pair counts, which AODE needs, may take so many numbers (2 GiB).
MOST_PAIR_COUNTS = 1 << 28

# Seconds between two writings of a checkpoint: what is lost in a crash takes no longer than this, and a file, to read
# again.
CHECKPOINT_SECONDS = 2.0


def chunk_rows(features: int, size: int = COPY_SIZE) -> int:
    """How many rows a chunk of so many features has."""
    # A statistic holds matrices of p²: chunks grow with them, so that merging stays a small part of the work.
    return max(size, 8 * features * features) // features


# Learning -------------------------------------------------------------------------------------------------------------

# Of a source with more rows than are held in memory, so many are drawn to choose options by.
SAMPLE_TO_CHOOSE_BY = 100_000

# Clusters, where a mixture starts, are looked for among so many rows of a class.
CLUSTERED_ROWS = 20_000

# Columns --------------------------------------------------------------------------------------------------------------

# A number with at most so many distinct values may be taken for a category, where its family is to be chosen ("best").
MOST_VALUES = 32

# Where columns are cut into ranges, a number with at most so many distinct values has a range for each, and a category
# with more levels than this one place for all of the rarest.
FEW_VALUES = 10
MOST_LEVELS = 100

# A category is taken for an id or free text where a level has fewer than two rows on average, and there are at least so
# many levels.
MANY_LEVELS = 20

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

# Evaluation -----------------------------------------------------------------------------------------------------------

# The AUC of so many scores at once, rows times classes, is exact: they are sorted. Of more it has a bound.
EXACT_AUC_SCORES = 300_000

# An evaluation of at most so many classes prints its tables by class.
MOST_CLASSES_PRINTED = 20

# Comparing ------------------------------------------------------------------------------------------------------------

# Nearest neighbors and softmax regression, ten times each, take minutes from about here on: rows times columns.
LONG_REFERENCE = 2_000_000

# So does logistic regression with all of its curvature: multiplications in one pass over the rows.
LONG_LOGISTIC = 2_000_000_000

# And the stack of AutoClassifier: rows times columns times classes.
LONG_STACK = 400_000

# The stack's members are tried on at most so many rows.
MOST_TRIED = 50_000

# The stack (AutoClassifier) -------------------------------------------------------------------------------------------

# Where there are more rows than members are tried on, each class keeps at least so many of its rows, if it has them: of
# a table in memory, and of a source.
FEWEST_KEPT = 50
FEWEST_DRAWN = 100

# About so many rows are enough to choose the strength of a prior and the powers of Yeo-Johnson by.
ENOUGH_ROWS = 10_000

# Rows are scored in blocks of this many where many priors are tried at once.
BLOCK_OF_ROWS = 2048

# A member takes no part where it needs more than this: bytes of covariances for every fold and class; EM of mixtures,
# in rows times columns squared times classes times components; pairs of levels, by class, even in the fewest bins.
STACK_BYTES = 2e9
MIXTURE_WORK = 4e8
STACK_PAIRS = 4e7

# Rows times columns times classes times steps: with more, a column has fewer steps, and at last none.
STEP_WORK = 3e7

# Multiplications: with more, the prior of own covariances is chosen in one fold, among fewer.
SEARCH_WORK = 3e11

# Diagnosis, check, report and summary ---------------------------------------------------------------------------------

# Where there are too many columns to test all rows for Normality, so many of each class are tested, evenly spaced.
NORMALITY_ROWS = 2000

# A check measures pairs of columns, unless told, where there are no more columns than this.
PAIRED_COLUMNS = 40

# The pictures of a report show so many rows, drawn by chance.
REPORT_ROWS = 1000

# Tables of m.summary() have so many lines and so many columns; what is cut is counted below them.
SUMMARY_LINES = 20
SUMMARY_COLUMNS = 8
