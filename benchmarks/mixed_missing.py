"""Values deleted at random: classwise on the table with holes, and scikit-learn after imputing means.

The score is the held-out log loss, the mean of -log P(true label | row) over all rows, each predicted by a model that
was fitted on the other folds. Both sides see the same holes, in training and in prediction, and the same folds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palmerpenguins import load_penguins
from report import Facts
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from classwise import LDA, QDA, SingularCovarianceError

MEASUREMENTS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]

DELETED = 0.3
REPEATS = 20
FOLDS = 5
LEAST = 1e-15  # probabilities below count as this

Maker = Callable[[], Any]
Array = NDArray[np.float64]

SHRUNK: dict[str, Any] = {"shrink": "oas", "standardize": True}

# Which of ours are compared with which of theirs.
OURS: dict[str, list[Maker]] = {
    "linear": [LDA, partial(LDA, **SHRUNK)],
    "quadratic": [QDA, partial(QDA, **SHRUNK)],
}
THEIRS: dict[str, list[Maker]] = {
    "linear": [LinearDiscriminantAnalysis, partial(LinearDiscriminantAnalysis, solver="lsqr", shrinkage="auto")],
    "quadratic": [QuadraticDiscriminantAnalysis, partial(QuadraticDiscriminantAnalysis, reg_param=0.1)],
}


@dataclass(frozen=True)
class Scores:
    """The log loss of each repeat (NaN where the model refused), and what it said when it first did."""

    losses: Array
    refusal: str | None

    @property
    def refused(self) -> int:
        return int(np.isnan(self.losses).sum())

    def facts(self) -> Facts:
        # Those that were not refused are the easier ones: a median of theirs would flatter.
        median = None if self.refused else float(np.median(self.losses))
        losses = [None if np.isnan(loss) else loss for loss in self.losses.tolist()]
        return {"median": median, "refused": self.refused, "refusal": self.refusal, "losses": losses}


def compare_losses(progress: Callable[[str], None]) -> Facts:
    """Every pair on every data set."""
    pairs: list[Facts] = []
    for name, load in {"penguins": penguins, "wine": wine}.items():
        X, y = load()
        progress(f"missing values: {name}")
        pairs += [{"data": name, **pair} for pair in compare(X, y)]
    return {"deleted": DELETED, "repeats": REPEATS, "folds": FOLDS, "pairs": pairs}


def penguins() -> tuple[Array, NDArray[Any]]:
    """Four measurements and the species, without the birds that were not measured."""
    birds = load_penguins().dropna(subset=MEASUREMENTS)
    return birds[MEASUREMENTS].to_numpy(dtype=np.float64), birds["species"].to_numpy(dtype=str)


def wine() -> tuple[Array, NDArray[Any]]:
    X, y = load_wine(return_X_y=True)
    return X, y


def compare(X: Array, y: NDArray[Any]) -> Iterator[Facts]:
    """Each of ours with each of theirs of its kind."""
    for kind, makers in OURS.items():
        ours = {_name(make()): score(make, X, y) for make in makers}
        theirs = {_name(make()): score(partial(_imputed, make), X, y) for make in THEIRS[kind]}
        for our_name, our_scores in ours.items():
            for their_name, their_scores in theirs.items():
                # A comparison with NaN is false, so who refuses does not win; who faces a refusal is not said to win.
                won = int((our_scores.losses < their_scores.losses).sum())
                sides = {"ours": our_scores.facts(), "theirs": their_scores.facts()}
                yield {"ours_name": our_name, "theirs_name": their_name, "won": won, **sides}


def _imputed(make: Maker) -> Any:
    return make_pipeline(SimpleImputer(strategy="mean"), make())


def _name(model: Any) -> str:
    return " ".join(repr(model).split())


def score(make: Maker, X: Array, y: NDArray[Any]) -> Scores:
    """Repeats are seeded by their number, so that every model meets the same holes and folds."""
    losses, refusal = np.full(REPEATS, np.nan), None
    for repeat in range(REPEATS):
        try:
            losses[repeat] = _held_out_loss(make, with_holes(X, repeat), y, repeat)
        except (SingularCovarianceError, np.linalg.LinAlgError) as problem:
            refusal = refusal or str(problem)
    return Scores(losses, refusal)


def with_holes(X: Array, seed: int) -> Array:
    """X without some of its cells, drawn completely at random."""
    holed = X.copy()
    generator = np.random.default_rng(seed)
    holed.flat[generator.choice(X.size, size=round(DELETED * X.size), replace=False)] = np.nan
    return holed


def _held_out_loss(make: Maker, X: Array, y: NDArray[Any], seed: int) -> float:
    probability = np.empty(len(y))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
        model = make().fit(X[train], y[train])
        columns = np.searchsorted(model.classes_, y[test])
        probability[test] = model.predict_proba(X[test])[np.arange(len(test)), columns]
    return float(-np.log(np.clip(probability, LEAST, 1.0)).mean())
