"""Stacks as plain values: the members, the columns that each makes of a row, and how they are pooled."""

from functools import singledispatch

import numpy as np

from classwise.comparison.stack.boosted_members import BoostedTrees
from classwise.comparison.stack.forest_members import Forest
from classwise.comparison.stack.kernel_features import KernelFeatures
from classwise.comparison.stack.network_members import Network
from classwise.comparison.stack.product import LEAST, MemberProduct
from classwise.comparison.stack.softmax import KernelLinear, Linear
from classwise.comparison.stack.stack_model import PooledClassifier
from classwise.comparison.stack.trained import Bayesian, Trained, TrainedShares
from classwise.comparison.stack.transforms import Category, Encoding
from classwise.errors import ClasswiseError
from classwise.export.standalone.plain import Plain, plain, plain_trees


@plain.register
def _(classifier: PooledClassifier) -> Plain:
    pool = classifier.pool.trimmed()
    members = [
        {"name": name, "log_weight": float(np.log(weight)), "power": float(power), "model": plain_member(trained)}
        for (name, trained), weight, power in zip(classifier.used.items(), pool.weights, pool.powers, strict=True)
    ]
    own = {"power": pool.power, "shift": classifier.shift, "product": plain_product(pool.product)}
    return {"kind": "pool", "members": members, **own}


def plain_product(product: MemberProduct | None) -> Plain | None:
    """exponents: of the members; least: of their log posteriors; log_share, log_rest: of the product, and of the
    mixture beside it; null if there is no product.
    """
    if product is None:
        return None
    shares = {"log_share": float(np.log(product.share)), "log_rest": float(np.log1p(-product.share))}
    return {"exponents": product.exponents, "least": LEAST, **shares}


@singledispatch
def plain_member(trained: Trained) -> Plain:
    """A member, which scores rows of the table."""
    raise ClasswiseError(
        "A stack with a classifier of your own among its members cannot be exported; leave it out of members, or score "
        "the rows with classwise."
    )


@plain_member.register
def _(trained: Bayesian) -> Plain:
    return {"kind": "encoded", "encoding": plain_encoding(trained.encoding), "classifier": plain(trained.classifier)}


@plain_member.register
def _(trained: TrainedShares) -> Plain:
    return {"kind": "shares", "logs": trained.sums.log_priors}


@plain_member.register
def _(trained: Forest) -> Plain:
    own = plain_trees(trained.trees, trained.beliefs)
    return {"kind": "forest", **own, "power": 1.0, "shift": np.zeros(trained.beliefs.shape[1])}


@plain_member.register
def _(trained: BoostedTrees) -> Plain:
    return {"kind": "boosted", **plain_trees(trained.trees, trained.added), "start": trained.start}


@plain_member.register
def _(trained: Network) -> Plain:
    layers = [{"weights": layer.weights, "intercept": layer.bias} for layer in trained.layers]
    return {"kind": "network", "encoding": plain_encoding(trained.encoding), "layers": layers}


@plain_member.register
def _(trained: Linear) -> Plain:
    own = {"weights": trained.weights, "intercept": trained.intercept, "center": trained.center}
    return {"kind": "linear", "encoding": plain_encoding(trained.encoding), **own}


@plain_member.register
def _(trained: KernelLinear) -> Plain:
    weights, intercept = trained._of_landmarks
    features: KernelFeatures = trained.encoding
    own = {"landmarks": features.landmarks, "width": features.kernel_width, "weights": weights, "intercept": intercept}
    return {"kind": "kernel", "encoding": plain_encoding(features.encoding), **own}


def plain_encoding(encoding: Encoding) -> Plain:
    """columns, center, scale, powers (q,): of numbers; steps: cuts of each; categories; indicators: positions of each
    category with a column of their own, null where a category is one column of positions.
    """
    numbers = encoding.numbers
    return {
        "columns": numbers.columns.tolist(),
        "center": numbers.center,
        "scale": numbers.scale,
        "powers": numbers.powers,
        "steps": list(encoding.cuts),
        "categories": [_plain_category(category, category.column in encoding.few) for category in encoding.categories],
        "indicators": None if encoding.is_plain else [shown.tolist() for shown in encoding.indicators],
    }


def _plain_category(category: Category, is_number: bool) -> Plain:
    """cuts: between positions of a number; count: of levels; missing: the position of a missing value, -1 for none."""
    missing = category.count if category.missing else -1
    own = {"column": category.column, "count": category.count, "missing": missing}
    return own | ({"cuts": category.cuts} if is_number else {})
