"""What posteriors are worth on rows that were held out, and whether they are calibrated as far as one can tell.

Expected calibration error is never zero: by chance alone, of n rows decided with confidence c, a share other than c is
right. Its sampling noise is what it would be if the posteriors were exactly right: the row's decision is then right
with a probability that is its confidence, so that draws of right and wrong give its distribution.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from quality_tables import FOLDS, Codes, Table, folds

# A probability counts as this at least, as with the recorded peers.
LEAST = 1e-15
BINS = 15
DRAWS = 200
QUANTILE = 0.95

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Crossed:
    """posterior (n, g) of held-out rows; the models of the folds; wall clock and processor seconds of a mean fit."""

    posterior: Array
    models: list[Any]
    seconds: float
    cpu_seconds: float


def cross(make: Callable[[], Any], table: Table) -> Crossed:
    """Fit on the rows of four folds and answer for those of the fifth, in turn; only the fits are timed."""
    posterior, models = np.zeros((len(table.y), len(table.labels))), []
    seconds = cpu_seconds = 0.0
    for training, held_out in folds(table.y):
        start, cpu_start = perf_counter(), process_time()
        model = make().fit(table.X.iloc[training], table.y[training])
        seconds, cpu_seconds = seconds + perf_counter() - start, cpu_seconds + process_time() - cpu_start
        columns = np.searchsorted(table.labels, model.classes_)
        posterior[np.ix_(held_out, columns)] = model.predict_proba(table.X.iloc[held_out])
        models.append(model)
    return Crossed(normalized(posterior), models, seconds / FOLDS, cpu_seconds / FOLDS)


def normalized(posterior: Array) -> Array:
    """Posteriors (n, g) of at least 1e-15 each that sum to one."""
    clipped = np.clip(posterior, LEAST, 1)
    return clipped / clipped.sum(axis=1, keepdims=True)


def losses_by_fold(posterior: Array, table: Table) -> list[float]:
    """The log loss summed over the rows held out in each fold."""
    losses = -np.log(posterior[np.arange(len(table.codes)), table.codes])
    return [float(losses[held_out].sum()) for _, held_out in folds(table.y)]


@dataclass(frozen=True)
class Scores:
    """ece: expected calibration error; ece_mean and ece_limit: its mean and 95 % quantile if calibration is exact."""

    log_loss: float
    error: float
    brier: float
    ece: float
    ece_mean: float
    ece_limit: float

    def rounded(self) -> dict[str, float]:
        return {name: round(value, 5) for name, value in asdict(self).items()}


def score(posterior: Array, codes: Codes) -> Scores:
    """Scores of posteriors (n, g) for rows with own classes codes (n,)."""
    rows, decided, confidence = np.arange(len(codes)), posterior.argmax(axis=1), posterior.max(axis=1)
    right, own = decided == codes, posterior[rows, codes]
    noise = calibration_noise(confidence)
    return Scores(
        log_loss=float(-np.log(own).mean()),
        error=float(1 - right.mean()),
        brier=float(((posterior**2).sum(axis=1) - 2 * own + 1).mean()),
        ece=calibration_error(confidence, right),
        ece_mean=float(noise.mean()),
        ece_limit=float(np.quantile(noise, QUANTILE)),
    )


def calibration_error(confidence: Array, right: NDArray[np.bool_]) -> float:
    """The mean over rows of |mean confidence - share right| in the row's bin of confidence; 15 bins of equal width."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, confidence - right, BINS)).sum() / len(bins))


def calibration_noise(confidence: Array, draws: int = DRAWS, seed: int = 0) -> Array:
    """Calibration errors (draws,) of decisions that are right as often as their confidence (n,) says."""
    rng = np.random.default_rng(seed)
    return np.array([calibration_error(confidence, rng.random(len(confidence)) < confidence) for _ in range(draws)])
