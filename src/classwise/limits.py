"""All size limits in one place: from which size on a table is sampled, read as a stream, treated faster or refused."""

from classwise.arrays import BLOCK_SIZE

# Memory ---------------------------------------------------------------------------------------------------------------

# At most this many values (rows times columns) are held in memory. Larger tables are read as a stream, in one or more
# passes.
MOST_HELD = 20_000_000

# Threads work on chunks. Each chunk is many cache-sized blocks long, so that scheduling and merging cost little.
CHUNK_SIZE = 16 * BLOCK_SIZE

# Sparse rows are summarized, and scored, in chunks of about this many stored values. Each chunk makes sums of all
# columns, and up to this size one thread alone is faster than several that wait for memory.
SPARSE_SIZE = 1 << 24

# A compiled kernel with threads of its own takes at most this many rows at once: the codes of their classes (two bytes
# a row) are all that it needs besides them.
ONE_PASS_ROWS = 1 << 21

# Without worker processes, models are compared, and members of a stack fitted, by at most this many threads, unless the
# caller asks for another number. Part of that work is Python, which one thread at a time can run: on 16 cores, a stack
# took 10.6 s with four threads, 12.3 s with eight, and 18.2 s with 16.
SIDE_BY_SIDE = 6

# Worker processes are used from this many cores on: two threads wait little for each other.
FEWEST_WORKERS = 3

# They are used for a stack of more rows times columns times classes times folds than this, if it may take longer than
# they need to start; and for a comparison of more rows times columns.
WORKER_WORK = 200_000
WORKER_SECONDS = 5.0
COMPARE_WORKER_VALUES = 1_000_000

# With them, a comparison uses at most this many threads, unless the caller asks for another number: on 16 cores, one of
# 100,000 rows of 50 columns took 2.9 s with four, 1.8 s with eight, and 2.6 s with 16.
COMPARE_WORKERS = 8

# Chunks are shorter where the columns of a table must first be copied side by side, so that memory stays flat.
COPY_SIZE = 10 * BLOCK_SIZE

# Rows are scored in chunks of this many numbers, so that intermediate results stay in the cache.
SCORING_SIZE = 3 * BLOCK_SIZE

# Chunks that must first be copied column by column are twice as long: threads then wait less for each other.
COPIED_SCORING_SIZE = 6 * BLOCK_SIZE

# The most numbers (1 GB) in the moments of rows with gaps: one matrix for each class and pattern of missing values.
MOST_GAP_NUMBERS = 1 << 27

# The most numbers (2 GiB) in the pair counts of AODE.
MOST_PAIR_COUNTS = 1 << 28

# A scatter of all pairs of columns is gathered for subspaces of at most this many columns: 8 MB for each class. Beyond,
# directions come from the rows themselves.
MOST_SCATTER_COLUMNS = 1_000

# The covariances of subspaces are written out as matrices of all pairs for at most this many columns (200 MB each).
MOST_MATRIX_COLUMNS = 5_000

# Seconds between two writes of a checkpoint: a crash loses at most this much reading time, plus one file.
CHECKPOINT_SECONDS = 2.0


def chunk_rows(features: int, size: int = COPY_SIZE) -> int:
    """The number of rows in a chunk of a table with this many features."""
    # A statistic holds p x p matrices. Chunks grow with p², so that merging stays a small part of the work.
    return max(size, 8 * features * features) // features


# Learning -------------------------------------------------------------------------------------------------------------

# Options are chosen on a sample of this many rows, where a source has more rows than are held in memory.
SAMPLE_TO_CHOOSE_BY = 100_000

# The clusters from which EM for a mixture starts are searched among at most this many rows of a class.
CLUSTERED_ROWS = 20_000

# A forest is grown on at most GROWN_ROWS rows; all rows are counted in its leaves. By default a leaf has at least
# LEAF_ROWS rows, or LEAF_ROWS_OF_MANY where best cuts are searched on more than MANY_GROWN_ROWS rows. (On 14,000 rows
# of magic, diamonds and adult, a minimum of 5 raised the log loss of random cuts by 2 to 4 %. A minimum of 2 lowered
# that of best cuts by 3 % on diamonds, and raised it nowhere.)
GROWN_ROWS = 50_000
LEAF_ROWS, LEAF_ROWS_OF_MANY, MANY_GROWN_ROWS = 1, 2, 10_000

# Best cuts of more than BINNED_ROWS rows, and random ones of more than MANY_GROWN_ROWS, are at most MOST_CUTS for each
# column. (Best cuts are found in less time then: by 11 % on 13 tables of 1,300 to 5,000 rows, where the log loss of the
# stack stayed the same.) One tree is grown on at most ROWS_OF_TREE rows; other trees are grown on other rows.
BINNED_ROWS, MOST_CUTS = 1_000, 254
ROWS_OF_TREE = 20_000

# Columns --------------------------------------------------------------------------------------------------------------

# With families="best", a number with at most this many distinct values may be modeled as a category.
MOST_VALUES = 32

# Where numbers are binned, a number with at most FEW_VALUES distinct values has a bin for each of them. A category with
# more than MOST_LEVELS levels pools its rarest levels.
FEW_VALUES = 10
MOST_LEVELS = 100

# A category with at least this many levels counts as an id or free text if a level has fewer than two rows on average.
MANY_LEVELS = 20

# Logistic regression --------------------------------------------------------------------------------------------------

# Newton's method first finds the mode on a tenth of the rows: at least START_ROWS, and at least START_ROWS_PER_WEIGHT
# for each weight. It does so only where there are four times as many rows.
START_ROWS_PER_WEIGHT = 100
START_ROWS = 20_000

# Where rows are not in memory, the start uses a sample of START_ROWS_DRAWN rows, or of more if there are many weights.
# The sample has at least about START_ROWS_OF_KIND rows of each class and level, if there are as many.
START_ROWS_DRAWN = 100_000
START_ROWS_OF_KIND = 100

# With more weights than this, the spectrum of the Hessian, which gives the best precision in one step, costs more than
# a few extra rounds without it.
MANY_WEIGHTS = 800

# More weights than this are refused: their Hessian takes more than 3 GB.
MOST_WEIGHTS = 20_000

# Databases ------------------------------------------------------------------------------------------------------------

# Up to this many sums over all rows, a server computes them faster than it sends its rows: those of 20 columns one by
# one, or of 7 columns with all products. A DuckDB in this process hands its rows over about as fast.
DATABASE_SUMS = 40

# Sums of squares about a center whose squared distance from a mean is more than this many variances lose four digits or
# more: then a second pass is made, about the mean.
DATABASE_AWAY = 1e4

# Export ---------------------------------------------------------------------------------------------------------------

# A model that was fitted on a sparse matrix with more columns than this is neither exported nor served.
EXPORTED_COLUMNS = 2_000

# Trees with more numbers than this are not written as SQL: the text would exceed about 15 MB.
SQL_NUMBERS = 1_500_000

# The most numbers in a query for pairs of levels, which are looked up by CASE.
SQL_PAIRS = 200_000

# The most numbers in a query for gaps in columns that are described jointly: for one gap in a row, and for the patterns
# of more of them. Patterns are many: a query for all those of 30 columns would have 10^11 numbers.
SQL_GAPS, SQL_GAP_PATTERNS = 20_000, 500

# The same for patterns of more gaps that rows of the fit had, the most frequent first.
SQL_SEEN_PATTERNS = 2_000

# Evaluation -----------------------------------------------------------------------------------------------------------

# Up to this many scores (rows times classes) in one batch are sorted for an exact AUC. Beyond, the AUC has an error
# bound.
EXACT_AUC_SCORES = 300_000

# An evaluation with more classes than this does not print its tables by class.
MOST_CLASSES_PRINTED = 20

# Comparing ------------------------------------------------------------------------------------------------------------

# The default time limit of a comparison in seconds. Models that would exceed it are left out.
COMPARE_SECONDS = 60.0

# With a time limit, a comparison of a stream scores about this many values: rows drawn at random, if there are more.
SCORED_VALUES = 20_000_000

# Models that take less than QUICK_SECONDS are always tried. A comparison logs its expected duration only if that is at
# least ANNOUNCED_SECONDS.
QUICK_SECONDS = 2.0
ANNOUNCED_SECONDS = 5.0

# Expected times on two cores, measured on tables from 2,000 rows, 58 columns and 32 classes to 50,000 rows, 20 columns
# and 3 classes. A member of the family: seconds per row, column and class, and the factor where options are chosen.
FAMILY_SECONDS = 5e-8
FAMILY_SEARCHES = 6

# EM for missing values, for each fold and for all rows: fixed seconds; seconds per group of rows of a class with the
# same missing values, times columns squared; seconds per covariance, times columns cubed; and the factor where options
# are chosen.
GAP_SECONDS = 0.03
GAP_GROUP_SECONDS = 6e-7
GAP_COVARIANCE_SECONDS = 3e-8
GAP_SEARCHES = 4

# Logistic regression, for each fold: seconds per multiplication in a Newton step; and the number of multiplications
# that take as long as one value of a row does for one class.
LOGISTIC_SECONDS = 2.4e-10
LOGISTIC_VALUE = 125

# Averages over its weights, at worst: seconds per row and class.
AVERAGED_SECONDS = 1e-5

# Where rare levels separate the classes, the fit to all rows takes many rounds to find its prior: for each class but
# one, this many times as long as a fold, times the squared share of the columns that are levels.
LOGISTIC_ROUNDS = 3

# With more multiplications in a step than this, the folds reuse the prior precision that was chosen on all rows, and
# take this share of the time.
KEPT_PRECISION = 300_000_000
KEPT_SHARE = 0.4

# Models that copy their training rows are fitted fold by fold where the copies of all folds would have more numbers
# than this (800 MB).
MOST_COPIED = 100_000_000

# The stack: fixed seconds; seconds per fold, row, column and class, where at most STACK_CLASSES classes count; seconds
# of its trees, per row that a tree is grown on, times the square root of the columns, times log2 of all rows.
# scikit-learn's softmax regression: seconds per row, column and class, where each level of a category is a column.
STACK_START = 1.2
STACK_SECONDS = 5e-7
STACK_CLASSES = 10
TREE_SECONDS = 1.1e-5
SOFTMAX_SECONDS = 6e-8

# Nearest neighbors: seconds per pair of rows and column; the search for the nearest costs as much as this many more
# columns.
NEIGHBOR_SECONDS = 5e-11
NEIGHBOR_COLUMNS = 50

# The members of a stack are cross-validated on at most this many rows.
MOST_TRIED = 50_000

# The stack (AutoClassifier) -------------------------------------------------------------------------------------------

# Where there are more than MOST_TRIED rows, the sample keeps at least this many rows of each class, if there are as
# many: FEWEST_KEPT from a table in memory, FEWEST_DRAWN from a source.
FEWEST_KEPT = 50
FEWEST_DRAWN = 100

# About this many rows are enough to choose the strength of a prior and the Yeo-Johnson powers.
ENOUGH_ROWS = 10_000

# The rows in a block where many priors are scored at once.
BLOCK_OF_ROWS = 2048

# A member is left out where it needs more than this: bytes of covariances for all folds and classes; work of EM for
# mixtures, in rows times columns squared times classes times components; pairs of levels by class, in the fewest bins.
STACK_BYTES = 2e9
MIXTURE_WORK = 4e8
STACK_PAIRS = 4e7

# The most rows times columns times classes times quantile steps. On larger tables a column has fewer steps, or none.
STEP_WORK = 3e7

# The trees in each forest of the stack.
STACK_TREES = 200

# The stack's kernel member has at most MOST_LANDMARKS landmarks, and fewer where rows times classes times landmarks
# would exceed KERNEL_WORK. With fewer than FEWEST_LANDMARKS it is left out.
MOST_LANDMARKS = 400
KERNEL_WORK = 2e7
FEWEST_LANDMARKS = 100

# Networks, boosted trees and the kernel member of a stack learn from at most this many rows outside a fold, drawn at
# random.
BAGGED_ROWS = 10_000

# The units in the hidden layers of the stack's two networks. A network is left out where rows times inputs and classes
# times units would exceed NETWORK_WORK. Sets of members have networks from FEWEST_NETWORK_ROWS rows on: below, they
# were of no use.
NETWORK_UNITS, DEEP_NETWORK_UNITS = (64,), (32, 32)
NETWORK_WORK = 3e8
FEWEST_NETWORK_ROWS = 300

# Sets of members have boosted trees from FEWEST_BOOSTED_ROWS rows on, and for at most MOST_BOOSTED_CLASSES classes,
# since each class takes its time. (On 28 tables of 360 to 1,870 rows, the log loss of the stack became 5 to 90 % lower
# on three, where columns decide together. It changed by up to 1 % on the others, and by 4 % where it is 0.0002.)
FEWEST_BOOSTED_ROWS = 300
MOST_BOOSTED_CLASSES = 40

# With more multiplications than this, the prior of "own covariances" is chosen on one fold, among fewer candidates.
SEARCH_WORK = 3e11

# Selection of columns -------------------------------------------------------------------------------------------------

# The best of all sets of columns is sought among at most this many sets.
MOST_SUBSETS = 1 << 20

# With more columns than this, the sums of products of pairs, which Wilks' lambda needs, are gathered only if the model
# needs them too.
PAIRED_SELECTION = 300

# Prediction sets ------------------------------------------------------------------------------------------------------

# By default prediction sets come from leave-one-out (jackknife+) with up to this many rows, and else from 10 folds
# (cross-conformal). Leave-one-out keeps a model for each row, and is refused beyond MOST_JACKKNIFE.
JACKKNIFE_ROWS = 500
MOST_JACKKNIFE = 5000
SET_FOLDS = 10

# A fitted model remembers where the training rows are, for prediction sets, if they hold no more values than this.
REMEMBERED_VALUES = 2_000_000

# Diagnosis, check, report and summary ---------------------------------------------------------------------------------

# An examination of a table with more than EXAMINED_VALUES values uses a uniform sample of at least EXAMINED_ROWS rows.
EXAMINED_VALUES = 2_000_000
EXAMINED_ROWS = 10_000

# An examination prints a line for each of the first columns, at most this many by default.
EXAMINED_LINES = 40

# If a smaller share of the rows than this has no missing number, a diagnosis drops the emptiest columns one by one.
FEWEST_COMPLETE = 0.5

# Where there are too many columns to test all rows for normality, this many rows of each class, evenly spaced, are
# tested.
NORMALITY_ROWS = 2000

# By default, a predictive check measures pairs of columns only where there are no more columns than this.
PAIRED_COLUMNS = 40

# Held-out importance fits and scores at most this many rows, drawn at random.
IMPORTANCE_ROWS = 5000

# The smallest change that flips a decision is found exactly where scores are quadratic in a column. Elsewhere it is
# searched in steps, in at most this many columns: those with the largest shares of the log odds.
FLIP_COLUMNS = 30

# The exact search scores copies of the row, one for each of several values of a column: FLIP_NUMBERS numbers in all, so
# that of very many columns only those with the largest shares are looked at, and a block of them at a time.
FLIP_NUMBERS, FLIP_BLOCK = 1 << 27, 1 << 22

# Pictures of regions show at most this many rows, drawn at random: more would hide each other.
PICTURED_ROWS = 5_000

# The pictures of a report show this many rows, drawn at random.
REPORT_ROWS = 1000

# A report on a stream draws this many rows for pictures, importance and advice.
REPORT_SAMPLE = 20_000

# The most lines and columns in a table of m.summary(). A note below the table counts what was cut.
SUMMARY_LINES = 20
SUMMARY_COLUMNS = 8
