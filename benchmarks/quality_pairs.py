"""Classifiers beside each other on the same tables: ranks with their intervals, and pairs with a sign test."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest

DRAWS = 2000
LEVEL = 0.95


def ranks(losses: pd.DataFrame) -> pd.DataFrame:
    """The place of each model (column) on each table (line), 1 for the least loss; a missing loss is the worst."""
    return losses.rank(axis=1, na_option="bottom")


def bootstrapped(values: NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """A 95 % interval of the mean of values (tables,), where tables are drawn again with replacement."""
    drawn = np.random.default_rng(seed).choice(values, (DRAWS, len(values)))
    low, high = np.quantile(drawn.mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


@dataclass(frozen=True)
class Pair:
    """ratio: the median of our loss over theirs; tables won, tied and lost; p_value: of the two-sided sign test."""

    ratio: float
    won: int
    tied: int
    lost: int
    p_value: float


def pair(ours: pd.Series, theirs: pd.Series) -> Pair:
    """Our losses beside theirs; a missing loss is the worst, and has no ratio."""
    a, b = ours.fillna(np.inf), theirs.fillna(np.inf)
    won, lost = int((a < b).sum()), int((a > b).sum())
    p_value = binomtest(won, won + lost).pvalue if won + lost else 1.0
    return Pair(float((ours / theirs).median()), won, len(a) - won - lost, lost, float(p_value))
