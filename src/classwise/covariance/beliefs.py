"""What is believed of means and covariances before the rows: the priors that have names.

weak      worth little, in the units of the data: mean at the overall mean with kappa = 0.1, and C expected half way
          between the pooled covariance within classes and its diagonal, which is worth p rows (nu = 2 p + 1), about
          as many as it takes for a covariance to have an inverse; a variance by itself is worth one row
geisser   the limiting prior |C|^-(p+1)/2, improper: it needs more rows than features (Geisser 1964)
evidence  of the weak prior's form, with kappa, nu and the size of scale that make the rows most probable
cv, loo   of the weak prior's form, with the nu and the place between covariance and diagonal under which rows held
          out (in folds, or one by one) are classified best
"""

from typing import Any

import numpy as np

from classwise.covariance.conjugate import Conjugate, NormalInverseWishart, PriorForm, weak_form
from classwise.covariance.evidence import most_probable_form
from classwise.covariance.structures import Covariance, FullCovariance, SphericalCovariance
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics

NAMES = ("weak", "geisser", "evidence", "cv", "loo")


def check_prior(prior: Any) -> None:
    """Refuse what is no prior, whether or not it is going to be used."""
    if not isinstance(prior, NormalInverseWishart | PriorForm) and prior not in NAMES:
        raise ClasswiseError(
            f"prior={prior!r} is not an option; choose {', '.join(map(repr, NAMES))} or a NormalInverseWishart."
        )


def read_prior(prior: Any, statistics: ClassStatistics, structure: type[Covariance], shared: bool) -> Conjugate:
    """prior: "weak", "geisser", "evidence", a NormalInverseWishart or a PriorForm."""
    if isinstance(prior, NormalInverseWishart):
        return prior.of(statistics.n_features).within(structure)
    check_prior(prior)
    if prior == "geisser":
        return limiting_prior(statistics, structure, shared)
    form = prior if isinstance(prior, PriorForm) else weak_form(statistics.n_features, structure)
    if prior == "evidence":
        form = most_probable_form(statistics, structure, shared)
    return form.of(statistics.moments).within(structure)


def limiting_prior(statistics: ClassStatistics, structure: type[Covariance], shared: bool) -> Conjugate:
    """|C|^-(p+1)/2: no rows' worth, and each mean takes one degree of freedom."""
    count, features = statistics.moments.mean.shape
    weight = statistics.moments.weight
    rows = weight.sum(axis=0, keepdims=True) - count if shared else weight - 1
    needed = features - 1 if structure is FullCovariance else 0
    short = np.argwhere(rows <= needed)
    if len(short):
        k = int(short[0][0])
        who = "The classes together have" if shared else f"Class {statistics.label(k)!r} has"
        raise ClasswiseError(
            f"{who} weight {float(weight.sum() if shared else weight[k].min()):g}, too little for prior='geisser' with "
            f"{features} features; use prior='weak', which is proper."
        )
    taken = (count if shared else 1) * (features if structure is SphericalCovariance else 1)
    shape = (1, features, features) if structure is FullCovariance else (1, features)
    return Conjugate(structure, np.zeros(features), 0.0, -float(taken), np.zeros(shape))
