"""The process that starts Spark's workers, which imports classwise once for all of them; else each would by itself."""

import pyarrow  # noqa: F401
from pyspark.daemon import manager

import classwise.comparison.stack
import classwise.estimators.scoring  # noqa: F401

if __name__ == "__main__":
    manager()
