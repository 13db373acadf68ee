"""A fitted model as plain values: what the scorers in other languages read.

A model is a tree of dicts. Each has a `kind`, which says how to score, and numbers, which are arrays or lists:

    model       columns, labels, classifier, decision
    classifier  bayes (log_prior, density, power, shift), logistic, forest, pool
    density     gaussian, student, independent_student, lognormal, poisson, binomial, multinomial, complement,
                categorical, presence, constant, product, unseen, mixture, one_dependence

Rows are matrices as tables make them: a category as the position of its level, L for a level never seen, -1 where it is
missing; a missing number as NaN. A classifier, density or member of a new kind is added where its version of `plain`
is, and to the scorers.
"""

from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier, Calibration
from classwise.covariance import Covariance, DiagonalCovariance
from classwise.densities import (
    Binomial,
    Categorical,
    Complement,
    Constant,
    Gaussian,
    IndependentStudent,
    LogNormal,
    Mixture,
    Multinomial,
    OneDependence,
    Poisson,
    Presence,
    Product,
    Student,
    Unseen,
)
from classwise.errors import ClasswiseError
from classwise.forest.forest import Forest
from classwise.statistics import Bins, Place
from classwise.statistics.trees import LEAF, Trees

Plain: TypeAlias = dict[str, Any]


@singledispatch
def plain(thing: Any) -> Plain:
    """A classifier, a density, or a part of one, as plain values."""
    raise ClasswiseError(
        f"A {type(thing).__name__} cannot be exported to Python or JavaScript; score its rows with classwise."
    )


# Classifiers ----------------------------------------------------------------------------------------------------------


@plain.register
def _(classifier: BayesClassifier) -> Plain:
    calibration = classifier.calibration or Calibration(1.0)
    shift = list(calibration.shift or [0.0] * len(classifier.labels))
    own = {"log_prior": classifier.log_prior[:, 0], "density": plain(classifier.density)}
    return {"kind": "bayes", **own, "power": calibration.power, "shift": shift}


@plain.register
def _(classifier: Forest) -> Plain:
    shift = np.zeros(len(classifier.labels)) if classifier.shift is None else classifier.shift
    own = plain_trees(classifier.trees, classifier.of_leaves)
    return {"kind": "forest", **own, "power": classifier.power, "shift": shift}


def plain_trees(trees: Trees, of_leaves: Array) -> Plain:
    """roots (t,): nodes; column (N,), -1 at a leaf; cut (N,): what is at most that goes left; left, right (N,): nodes;
    leaf (N,): the number of each leaf; beliefs (L, g). fill (p,): what stands for a missing value.
    """
    inner = trees.column != LEAF
    column = np.where(inner, trees.column, 0)
    held = np.array([len(cuts) for cuts in trees.cuts])
    cuts, starts = np.concatenate([*trees.cuts, [0.0]]), np.concatenate([[0], np.cumsum(held)])
    root = trees.starts[trees.tree_of].astype(np.intp)
    fill = np.array(
        [len(trees.levels[j]) if j in trees.levels else mean for j, mean in enumerate(trees.means.tolist())]
    )
    return {
        "roots": trees.starts[:-1].astype(np.int32),
        "column": np.where(inner, trees.column, LEAF).astype(np.int32),
        "cut": np.where(inner, cuts[np.where(inner, starts[column] + trees.cut, len(cuts) - 1)], 0.0),
        "left": np.where(inner, root + trees.left, 0).astype(np.int32),
        "right": np.where(inner, root + trees.right, 0).astype(np.int32),
        "leaf": trees.leaf.astype(np.int32),
        "beliefs": of_leaves,
        "fill": fill.astype(np.float64),
        "levels": sorted(trees.levels),
    }


# Densities of numbers -------------------------------------------------------------------------------------------------


def _plain_covariance(covariance: Covariance) -> Plain:
    """Variances (k, p) where columns are independent, else matrices (k, p, p); k is 1 or the number of classes."""
    if isinstance(covariance, DiagonalCovariance):
        return {"variances": covariance.variances()}
    return {"matrices": covariance.matrices()}


@plain.register
def _(density: Gaussian) -> Plain:
    return {"kind": "gaussian", "means": density.means, **_plain_covariance(density.covariance)}


@plain.register
def _(density: Student) -> Plain:
    """scale (p + 1, g): the term that does not depend on the row, except for the volume, by the number of columns."""
    v, counts = density.freedom, np.arange(density.n_features + 1)[:, None]
    scale = gammaln((v + counts) / 2) - gammaln(v / 2) - 0.5 * counts * np.log(v * np.pi * density.factor)
    own = {"means": density.means, "matrices": density.covariance.matrices()}
    return {"kind": "student", **own, "factor": density.factor, "freedom": v, "scale": scale}


@plain.register
def _(density: IndependentStudent) -> Plain:
    v = density.freedom
    scale = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * np.pi * density.shapes)
    own = {"means": density.means, "shapes": density.shapes}
    return {"kind": "independent_student", **own, "freedom": v, "scale": scale}


@plain.register
def _(density: LogNormal) -> Plain:
    return {"kind": "lognormal", "logs": plain(density.logs)}


@plain.register
def _(density: Mixture) -> Plain:
    own = {"owner": density.owner.tolist(), "log_share": np.log(density.share), "classes": density.count}
    return {"kind": "mixture", **own, "components": plain(density.components)}


# Counts and levels ----------------------------------------------------------------------------------------------------


@plain.register
def _(density: Poisson) -> Plain:
    return {"kind": "poisson", "values": density.values, "average": density.average}


@plain.register
def _(density: Binomial) -> Plain:
    return {"kind": "binomial", "values": density.values, "average": density.average, "trials": density.trials}


@plain.register
def _(density: Multinomial) -> Plain:
    return {"kind": "multinomial", "chance": density.chance}


@plain.register
def _(density: Complement) -> Plain:
    return {"kind": "complement", "weights": density.weights}


@plain.register
def _(density: Categorical) -> Plain:
    """logs: of each column, log p by level, of a level never seen, and of a missing one; (L + 2, g)."""
    return {"kind": "categorical", "logs": [column.log_probability.T for column in density.columns]}


@plain.register
def _(density: OneDependence) -> Plain:
    """logs (L, L, g): log p(b | a, k) at [a, b, k], and log p(b | k) at [b, b, k]."""
    sizes = [len(column) for column in density.columns]
    own = {"places": [_plain_place(column) for column in density.columns], "sizes": sizes}
    return {"kind": "one_dependence", **own, "logs": density.logs}


def _plain_place(place: Place) -> Plain:
    """codes: of each level, of one never seen, and of a missing one. Of numbers: edges between ranges, and how much
    log p is less within each range.
    """
    if not isinstance(place, Bins):
        values = np.array([*range(len(place.levels) + 1), -1], dtype=np.float64)
        return {"codes": place.codes(values).tolist()}
    log_widths = np.append(np.log(place.widths), [0.0] * place.missing)
    first, missing = (0 if place.count else -1), (place.count if place.missing else -1)
    return {"edges": place.edges[1:-1], "first": first, "missing": missing, "log_widths": log_widths}


# What is not there ----------------------------------------------------------------------------------------------------


@plain.register
def _(density: Constant) -> Plain:
    return {"kind": "constant", "classes": density.count}


@plain.register
def _(density: Presence) -> Plain:
    with np.errstate(divide="ignore"):
        absent = np.nan_to_num(np.log(density.missing), neginf=-np.inf)
    there = np.nan_to_num(np.log1p(-density.missing))
    return {"kind": "presence", "absent": absent, "there": there, "numbers": plain(density.numbers)}


@plain.register
def _(density: Unseen) -> Plain:
    own = {"places": density.places.tolist(), "classes": density.count}
    return {"kind": "unseen", **own, "seen": plain(density.seen)}


@plain.register
def _(density: Product) -> Plain:
    blocks = [{"columns": block.columns.tolist(), "density": plain(block.density)} for block in density.blocks]
    return {"kind": "product", "blocks": blocks}
