"""The view of a page: the dials of a model, the columns it is seen in, and the decision around it.

    C_k(share)         = (1 - share) C_k + share C_shared
    C_k(share, shrink) = (1 - shrink) C_k(share) + shrink (tr C_k(share) / p) I

Every value of the dials is a model of the same statistics: no row is read again.
"""

from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct

from classwise.comparison import Comparison
from classwise.errors import ClasswiseError
from classwise.estimators import Decision, GaussianClassifier
from classwise.statistics import ClassStatistics
from classwise.studio.quiet import quiet

Share = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(ge=0, le=1e6)]

# This many models are kept, for a dial that is moved back.
KEPT = 64


class Dials(Struct, frozen=True, forbid_unknown_fields=True):
    """The state of the page. columns: one or two by name, none for the first two; fisher: Fisher's directions instead.

    priors: one for each class in their order, to be divided by their sum; None for the shares of the rows.
    costs[i][j]: of deciding for class j where class i is true. reject: the least posterior of a decided class.
    model: the name of a model of the comparison, instead of the dials.
    """

    columns: Annotated[list[str], Meta(max_length=2)] = []
    fisher: bool = False
    structure: Literal["full", "diagonal", "spherical"] = "full"
    share: Share = 0.0
    shrink: Share = 0.0
    estimate: Literal["mle", "bayes"] = "mle"
    standardize: bool = False
    priors: list[Weight] | None = None
    costs: list[list[Weight]] | None = None
    reject: Share | None = None
    model: str | None = None

    def options(self) -> dict[str, Any]:
        """The options of the Gaussian classifier that differ from its defaults."""
        given = {name: getattr(self, name) for name in ("structure", "share", "shrink", "estimate", "standardize")}
        usual = GaussianClassifier().get_params()
        return {name: value for name, value in given.items() if value != usual[name]}

    def decides(self) -> bool:
        """Whether anything but the largest posterior decides."""
        return self.costs is not None or bool(self.reject)


@lru_cache(KEPT)
def _gaussian(statistics: ClassStatistics, options: tuple[tuple[str, Any], ...]) -> GaussianClassifier:
    with quiet():  # the notes of the table say which columns are left out
        return GaussianClassifier(**dict(options)).fit_statistics(statistics)


def fitted(dials: Dials, statistics: ClassStatistics, comparison: Comparison | None = None) -> Any:
    """The model that the dials stand for, with their priors, but without costs and reject."""
    if dials.model is None:
        model: Any = _gaussian(statistics, tuple(sorted(dials.options().items())))
    elif comparison is None:
        raise ClasswiseError(f"model={dials.model!r} is a model of the comparison, which is not there yet; compare.")
    else:
        model = _compared(comparison, dials.model)
    return model if dials.priors is None else model.with_priors(read_priors(dials.priors, model.classes_.tolist()))


@lru_cache(KEPT)
def _compared(comparison: Comparison, name: str) -> Any:
    with quiet():
        return comparison.fitted(name)


def read_priors(weights: list[float], labels: list[Any]) -> dict[Any, float]:
    """Priors by label, from weights in the order of the labels.

    >>> read_priors([1.0, 3.0], ["a", "b"])
    {'a': 0.25, 'b': 0.75}
    """
    total = sum(weights)
    if len(weights) != len(labels) or not total:
        raise ClasswiseError(f"priors={weights!r} are not {len(labels)} numbers, one of them above 0.")
    shares = np.array(weights) / total
    return dict(zip(labels, shares.tolist(), strict=True))


def decided(dials: Dials, model: Any) -> Any:
    """The model, or where errors have costs or doubtful rows are refused, the decision around it."""
    if not dials.decides():
        return model
    reject = {"posterior": dials.reject} if dials.reject else None
    return Decision(model, costs=dials.costs, reject=reject)
