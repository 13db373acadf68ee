"""The options of logistic regression: what they may be, what goes together, and the likelihood that they name."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from classwise.errors import ClasswiseError
from classwise.estimators.logistic.answers import MISSING
from classwise.estimators.logistic.groups import read_value
from classwise.logistic import PREDICTIVES, Likelihood, Logit, Probit, Softmax
from classwise.options import choose
from classwise.schema import Family

KNOWN = ("gaussian", "categorical", "bernoulli")
LINKS: dict[str, type[Logit] | type[Probit]] = {"logit": Logit, "probit": Probit}
# Whether weights are drawn.
POSTERIORS = {"laplace": False, "variational": False, "sampled": True}


def check_options(model: Any) -> None:
    """Before any row is read."""
    for option, table in (("link", LINKS), ("predictive", PREDICTIVES), ("missing", MISSING)):
        choose(option, getattr(model, option), table)
    if isinstance(model.precision, str) and model.precision != "relevance":
        read_value(model.precision)
    if not (isinstance(model.draws, (int, np.integer)) and model.draws >= 8):
        raise ClasswiseError(f"draws={model.draws!r} is not an option; give a whole number of at least 8.")
    if not choose("posterior", model.posterior, POSTERIORS):
        return
    if model.link == "probit":
        raise ClasswiseError("posterior='sampled' draws for link='logit'; use 'laplace' or 'variational' with probit.")
    if model.predictive == "moderated":
        raise ClasswiseError(
            "predictive='moderated' approximates a Gaussian posterior; use 'laplace' or 'variational'."
        )


def refuse_densities(families: Any) -> None:
    """Refuse families that are of use to a density alone."""
    if isinstance(families, str) and families == "best":
        raise ClasswiseError("families='best' chooses among densities, and this model has none; use 'auto'.")
    for column, family in families.items() if isinstance(families, Mapping) else ():
        if Family.read(family).name not in KNOWN:
            raise ClasswiseError(
                f"families takes {column!r} for {family}, which is a density, and this model has none; choose "
                "'gaussian' (a number), 'categorical' or 'bernoulli'."
            )


def refuse_sampled(posterior: str) -> None:
    """Refuse draws from rows that are not in memory."""
    if choose("posterior", posterior, POSTERIORS):
        raise ClasswiseError(
            "posterior='sampled' goes through the rows for every draw, and fit_source reads them from where they are; "
            "use 'laplace' or 'variational', or give the rows to fit."
        )


def likelihood_of(link: str, classes: int) -> Likelihood:
    """P(label | scores) of two classes, or of more."""
    chosen = choose("link", link, LINKS)
    if classes == 2:
        return chosen()
    if chosen is Probit:
        raise ClasswiseError(
            f"Only binary classification is supported by link='probit': it has two classes, and y has {classes}; use "
            "link='logit' (softmax)."
        )
    return Softmax(classes)
