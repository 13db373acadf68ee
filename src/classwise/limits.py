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

# Where the trees of a forest cut is found by at most so many rows; leaves are counted by all. Unless told, a leaf has
# at least so many rows: one, and more where best cuts are found by many rows. (With 14,000 rows of magic, diamonds and
# adult, at least 5 cost random cuts 2 to 4 % of log loss; at least 2 gained best cuts 3 % on diamonds, at no cost.)
GROWN_ROWS = 50_000
LEAF_ROWS, LEAF_ROWS_OF_MANY, MANY_GROWN_ROWS = 1, 2, 10_000

# Where trees are grown by so many, a column is cut at no more than so many quantiles; and one tree is grown by at most
# so many rows, others by others.
MOST_CUTS = 254
ROWS_OF_TREE = 20_000

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

# From so many weights on, the spectrum of their Hessian, which tells the best precision at once, takes longer than a
# few more rounds without it.
MANY_WEIGHTS = 800

# The Hessian of more weights than this takes 3 GB and more: refused.
MOST_WEIGHTS = 20_000

# Export ---------------------------------------------------------------------------------------------------------------

# Trees are written as SQL with no more numbers than this, which take some 15 MB of text.
SQL_NUMBERS = 1_500_000

# Evaluation -----------------------------------------------------------------------------------------------------------

# The AUC of so many scores at once, rows times classes, is exact: they are sorted. Of more it has a bound.
EXACT_AUC_SCORES = 300_000

# An evaluation of at most so many classes prints its tables by class.
MOST_CLASSES_PRINTED = 20

# Comparing ------------------------------------------------------------------------------------------------------------

# A comparison leaves out what would make it take longer than so many seconds, unless it is given more.
COMPARE_SECONDS = 60.0

# What takes less than this is always tried; what takes less than that is not announced.
QUICK_SECONDS = 2.0
ANNOUNCED_SECONDS = 5.0

# Seconds on two cores, measured on tables from 2,000 rows of 58 columns and 32 classes to 50,000 rows of 20 and 3.
# A member of the family: for rows times columns times classes; so many times longer where options are chosen.
FAMILY_SECONDS = 5e-8
FAMILY_SEARCHES = 6

# EM for missing values, for each fold and all rows: in any case; for groups of rows of a class that lack the same
# values, times columns squared; for covariances, times columns cubed. So many times longer where options are chosen.
GAP_SECONDS = 0.03
GAP_GROUP_SECONDS = 6e-7
GAP_COVARIANCE_SECONDS = 3e-8
GAP_SEARCHES = 4

# Logistic regression, for each fold: for the multiplications in one of its steps; a value of a row, for each class,
# takes as long as so many of them.
LOGISTIC_SECONDS = 2.4e-10
LOGISTIC_VALUE = 125

# Where rare levels set classes apart, the fit to all rows goes many rounds until its prior suits them: so many times as
# long as a fold, for each class but one.
LOGISTIC_ROUNDS = 3

# From so many multiplications in a step on, the folds keep the precision of the prior that was chosen on all rows.
KEPT_PRECISION = 300_000_000

# The stack: to begin with; for each fold, for rows times columns times classes, of which more than so many count no
# more; for its trees, for the rows that one is grown by times the square root of columns times log2 of all rows.
# Softmax regression of scikit-learn: for rows times columns times classes, where each level of a category is a column.
STACK_START = 1.2
STACK_SECONDS = 5e-7
STACK_CLASSES = 10
TREE_SECONDS = 1.1e-5
SOFTMAX_SECONDS = 6e-8

# Nearest neighbors: for pairs of rows times columns; to find the nearest takes as long as so many columns more.
NEIGHBOR_SECONDS = 5e-11
NEIGHBOR_COLUMNS = 50

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

# So many trees has each forest of the stack.
STACK_TREES = 200

# The stack's kernel has at most so many landmarks. Rows times classes times landmarks: with more, it has fewer, and
# with too few it takes no part.
MOST_LANDMARKS = 400
KERNEL_WORK = 2e7
FEWEST_LANDMARKS = 100

# Multiplications: with more, the prior of own covariances is chosen in one fold, among fewer.
SEARCH_WORK = 3e11

# Diagnosis, check, report and summary ---------------------------------------------------------------------------------

# Of a table with more values than this an examination looks at a uniform sample of rows, at least so many.
EXAMINED_VALUES = 2_000_000
EXAMINED_ROWS = 10_000

# An examination prints a line for each of so many columns, unless all are asked for.
EXAMINED_LINES = 40

# Where fewer rows than this share have all their numbers, a diagnosis looks at the emptiest columns one by one.
FEWEST_COMPLETE = 0.5

# Where there are too many columns to test all rows for Normality, so many of each class are tested, evenly spaced.
NORMALITY_ROWS = 2000

# A check measures pairs of columns, unless told, where there are no more columns than this.
PAIRED_COLUMNS = 40

# Importance on held-out rows takes at most so many rows, drawn by chance, to fit and to ask.
IMPORTANCE_ROWS = 5000

# Which single change would flip a decision is found exactly where scores are quadratic in a column; elsewhere it is
# looked for in steps, in at most so many columns, those with the largest shares of the log odds.
FLIP_COLUMNS = 30

# The pictures of a report show so many rows, drawn by chance.
REPORT_ROWS = 1000

# Of a stream a report draws so many rows, for pictures, importance and advice.
REPORT_SAMPLE = 20_000

# Tables of m.summary() have so many lines and so many columns; what is cut is counted below them.
SUMMARY_LINES = 20
SUMMARY_COLUMNS = 8
