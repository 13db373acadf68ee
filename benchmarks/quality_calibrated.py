"""The two further peers: a forest and boosted trees, calibrated on posteriors of rows they have not seen.

    P(k | x)  ∝  ((1 - s) p_k + s / g)^β

The power β (one over the temperature) and the share s are those with the least log loss on the out-of-fold posteriors
of five inner folds; then the trees learn from all rows.

Each peer has the treatment that favors it, as tried on the 13 smallest tables. A forest gives exact zeros, so that some
smoothing has to come before the power; choosing the share was as good as the best fixed one. Boosted trees give none,
and the power alone serves them best: a share of 0.001 made them worse by 2.5 % in the median, of 0.005 by 6 %.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from quality_tables import Codes, Texts, folds
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

TREES = 200


@dataclass(frozen=True)
class Peer:
    """make: the trees; shares: those of the uniform distribution that calibration chooses from."""

    make: Callable[[], Any]
    shares: tuple[float, ...]


# The forest's shares lie around that of one vote more than there are trees. 1e-15 only keeps logarithms finite.
PEERS = {
    "rf-calibrated": Peer(
        lambda: RandomForestClassifier(TREES, n_jobs=1, random_state=0),
        (1e-5, 1e-4, 1e-3, 1 / (TREES + 1), 0.02, 0.05, 0.1),
    ),
    "hgb-calibrated": Peer(lambda: HistGradientBoostingClassifier(random_state=0), (1e-15,)),
}

LARGEST_LOG_POWER = 4.0

Array = NDArray[np.float64]


class Calibrated:
    """Trees on the prepared table, their posteriors smoothed and raised to a power."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def fit(self, table: pd.DataFrame, y: Texts) -> Self:
        self.preparation = preparation().fit(without_bools(table))
        X = self.preparation.transform(without_bools(table))
        self.model = self.peer.make().fit(X, y)
        self.classes_ = self.model.classes_
        codes = np.searchsorted(self.classes_, y)
        self.share, self.power = calibrate(self._out_of_fold(X, y), codes, self.peer.shares)
        return self

    def _out_of_fold(self, X: Array, y: Texts) -> Array:
        """Posteriors (n, g) of each row by a model that has not seen it."""
        answers = np.zeros((len(y), len(self.classes_)))
        for training, held_out in folds(y):
            model = self.peer.make().fit(X[training], y[training])
            columns = np.searchsorted(self.classes_, model.classes_)
            answers[np.ix_(held_out, columns)] = model.predict_proba(X[held_out])
        return answers

    def predict_proba(self, table: pd.DataFrame) -> Array:
        posterior = self.model.predict_proba(self.preparation.transform(without_bools(table)))
        return np.exp(calibrated(posterior, self.share, self.power))


def calibrated(posterior: Array, share: float, power: float) -> Array:
    """log P(k | x) of posteriors (n, g) after smoothing and power."""
    smoothed = (1 - share) * posterior + share / posterior.shape[1]
    return log_softmax(power * np.log(smoothed), axis=1)


def calibrate(posterior: Array, codes: Codes, shares: tuple[float, ...]) -> tuple[float, float]:
    """The share and the power with the least log loss on posteriors (n, g) of rows with own classes codes (n,)."""
    fits = [(*best_power(posterior, codes, share), share) for share in shares]
    _, power, share = min(fits)
    return share, power


def best_power(posterior: Array, codes: Codes, share: float) -> tuple[float, float]:
    """The least log loss, and the power that gives it; log loss is convex in the power."""

    def loss(log_power: float) -> float:
        return -calibrated(posterior, share, np.exp(log_power))[np.arange(len(codes)), codes].mean()

    found = minimize_scalar(loss, bounds=(-LARGEST_LOG_POWER, LARGEST_LOG_POWER), method="bounded")
    return float(found.fun), float(np.exp(found.x))


def preparation() -> Pipeline:
    """What the recorded peers got: numbers filled with means and standardized, categories as indicators."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    indicators = OneHotEncoder(handle_unknown="ignore", min_frequency=2, sparse_output=False)
    categories = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), indicators)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, VarianceThreshold(1e-12))


def without_bools(table: pd.DataFrame) -> pd.DataFrame:
    """Columns of bools as text, so that they count as categories."""
    return table.astype({column: str for column in table if table[column].dtype == bool})
