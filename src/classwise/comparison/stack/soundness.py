"""Whether a member that was read from a file fits its stack: it scores rows with every level, and with none."""

import numpy as np

from classwise.arrays import Array
from classwise.comparison.stack.encoding import Encoding
from classwise.comparison.stack.given import GivenTrained
from classwise.comparison.stack.member import Trained


def suits(trained: Trained, count: int, width: int) -> bool:
    """Whether a member scores so many classes, of rows with so many columns."""
    if isinstance(trained, GivenTrained):
        return len(trained.model.classes_) == count and trained.model.n_features_in_ == width
    encoding = getattr(trained, "encoding", None)
    if encoding is not None and encoding.width != width:
        return False
    rows = np.full((1, width), np.nan) if encoding is None else _rows(encoding)
    scores = trained.log_posterior(rows)
    return scores.shape == (count, len(rows)) and not np.isnan(scores).any()


def _rows(encoding: Encoding) -> Array:
    """Rows that hold every value of every category, a missing one and one never seen; numbers are missing; (m, p)."""
    length = max((len(category.values) for category in encoding.categories), default=0) + 2
    rows = np.full((length, encoding.width), np.nan)
    for category in encoding.categories:
        missing = np.nan if category.column in encoding.few else -1.0
        rows[:, category.column] = np.resize([missing, *category.values, len(category.values)], length)
    return rows
