"""Who is compared with whom: each classwise estimator, and scikit-learn's correct configurations of the same model.

Divisors and priors are the same on both sides: n_k (shared: n) and the frequencies of the labels. Two remarks on
NearestCentroid. With unequal priors it measures each feature in its own standard deviation, which NearestMean does
not, so a few labels differ; and its posteriors are those of squared distances rather than half of them. With equal
priors it is the same model, and has a faster way to predict labels, so that is a pair of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid

from classwise import LDA, QDA, NaiveBayes, NearestMean

Maker = Callable[..., Any]

OPERATIONS = ("fit", "predict", "predict_proba")


@dataclass(frozen=True)
class Pair:
    """theirs: the configurations among which the fastest to fit is the peer."""

    name: str
    ours: Maker
    theirs: dict[str, Maker]
    operations: tuple[str, ...] = OPERATIONS

    def make(self, side: str) -> Any:
        """The estimator of one side: "classwise", or the name of a configuration of scikit-learn."""
        return self.ours() if side == "classwise" else self.theirs[side]()


def _solvers(cls: Maker, *names: str) -> dict[str, Maker]:
    return {name: partial(cls, solver=name) for name in names}


PAIRS = {
    pair.name: pair
    for pair in [
        Pair("LDA", LDA, _solvers(LinearDiscriminantAnalysis, "lsqr", "eigen", "svd")),
        Pair("QDA", QDA, _solvers(QuadraticDiscriminantAnalysis, "eigen", "svd")),
        Pair("NaiveBayes", NaiveBayes, {"GaussianNB": GaussianNB}),
        Pair("NearestMean", NearestMean, {"empirical": partial(NearestCentroid, priors="empirical")}),
        Pair("NearestMean=", partial(NearestMean, priors="uniform"), {"uniform": NearestCentroid}, ("predict",)),
    ]
}
