"""The members of a stack. Most are a transform of the rows and a recipe for a model."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from classwise.arrays import Array, Codes
from classwise.comparison.stack.boosted_members import BoostedMember
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.forest_members import ForestMember
from classwise.comparison.stack.generative_members import (
    AveragedOneDependence,
    Mixtures,
    OwnCovariances,
    SharedCovariance,
)
from classwise.comparison.stack.network_members import NetworkRecipe
from classwise.comparison.stack.softmax import KernelSoftmaxRegression, SoftmaxRegression
from classwise.comparison.stack.sums import MemberSums
from classwise.comparison.stack.trained import (
    CrossValidated,
    Member,
    ModelRecipe,
    TrainedGiven,
    TrainedShares,
    current_name,
)
from classwise.comparison.stack.transforms import (
    Encoding,
    categories_apart,
    in_quantile_bins,
    one_hot,
    with_powers_if_any,
    with_quantile_steps,
    with_yeo_johnson,
)
from classwise.engines.memory import one_by_one
from classwise.errors import ClasswiseError


@dataclass(frozen=True, eq=False)
class NamedMember(Member):
    """encode: from the table to columns; transform: of these columns, if any; recipe: from columns to a model."""

    name: str
    encode: Callable[[FoldedRows], Encoding]
    recipe: ModelRecipe
    transform: Callable[[FoldedRows, Encoding], Encoding] | None = None

    def suits(self, rows: FoldedRows) -> bool:
        return self.recipe.suits(rows)

    def cross(self, rows: FoldedRows) -> CrossValidated:
        encoding = self.encode(rows)
        self.recipe.refuse(rows, encoding.n_numbers)
        if self.transform is not None:
            encoding = self.transform(rows, encoding)
        if not encoding.n_encoded:
            raise ClasswiseError("No column is left that it could learn from.")
        return self.recipe.cross(rows, encoding)


@dataclass(frozen=True, eq=False)
class SharesMember(Member):
    """The class shares, which keep the posteriors of a stack above zero."""

    name: str = "class shares"
    is_instant: ClassVar[bool] = True

    def cross(self, rows: FoldedRows) -> CrossValidated:
        everything = np.arange(rows.count)
        shares = [MemberSums(rows.training_weight(fold)).log_priors for fold in range(rows.n_folds)]
        _, logs = rows.out_of_fold(1, lambda fold, _: [(everything, shares[fold])])
        return CrossValidated(logs, TrainedShares(MemberSums(rows.class_weight.sum(axis=0))))


@dataclass(frozen=True, eq=False)
class GivenMember(Member):
    """A classifier of the caller, which is fitted without each fold. X: the caller's table."""

    is_ours: ClassVar[bool] = False

    name: str
    model: Any
    X: Any

    def cross(self, rows: FoldedRows) -> CrossValidated:
        def answers(fold: int, held_out: Codes) -> Iterator[tuple[Codes, Array]]:
            fitted = self._fit(rows, rows.without(held_out))
            with np.errstate(divide="ignore"):
                logs = np.log(fitted.predict_proba(self._taken(rows, held_out)))
            yield np.searchsorted(rows.labels, fitted.classes_), logs

        _, logs = rows.out_of_fold(1, answers, one_by_one)  # it may have threads of its own
        return CrossValidated(logs, TrainedGiven(self._fit(rows, np.arange(len(rows)))))

    def _fit(self, rows: FoldedRows, own: Codes) -> Any:
        weights = rows.weights[own]
        options = {}
        if not np.all(weights == weights[0]):
            if not has_fit_parameter(self.model, "sample_weight"):
                raise ClasswiseError(f"{type(self.model).__name__} takes no weights.")
            options = {"sample_weight": weights}
        return clone(self.model).fit(self._taken(rows, own), rows.labels[rows.codes[own]], **options)

    def _taken(self, rows: FoldedRows, own: Codes) -> Any:
        return _safe_indexing(self.X if hasattr(self.X, "__getitem__") else np.asarray(self.X), rows.places[own])


NAMED: Mapping[str, Member] = {
    member.name: member
    for member in (
        NamedMember("own covariances", categories_apart, OwnCovariances()),
        NamedMember("own covariances, Yeo-Johnson", categories_apart, OwnCovariances(), with_yeo_johnson),
        NamedMember("one-dependence", categories_apart, AveragedOneDependence(), in_quantile_bins),
        NamedMember("shared covariance", one_hot, SharedCovariance()),
        NamedMember("softmax", one_hot, SoftmaxRegression()),
        NamedMember("softmax, quantile steps", one_hot, SoftmaxRegression(), with_quantile_steps),
        NamedMember("kernel softmax", one_hot, KernelSoftmaxRegression(), with_powers_if_any),
        NamedMember("network", one_hot, NetworkRecipe(), with_powers_if_any),
        NamedMember("deep network", one_hot, NetworkRecipe(is_deep=True), with_powers_if_any),
        BoostedMember("boosted trees"),
        ForestMember("random trees", random=True),
        ForestMember("best trees", random=False),
        NamedMember("mixtures", categories_apart, Mixtures(), with_yeo_johnson),
        SharesMember(),
        NamedMember("tied mixtures", categories_apart, Mixtures(tied=True), with_yeo_johnson),
    )
}

# A classifier with more options than fit in this is named by its type alone.
LONGEST_TITLE = 60

# Members whose queries are long: tables of pairs, of landmarks, of units, of nodes.
LONG_IN_SQL = (
    "one-dependence", "kernel softmax", "network", "deep network", "boosted trees", "random trees", "best trees",
    "mixtures", "tied mixtures",
)  # fmt: skip

SETS: Mapping[str, tuple[str, ...]] = {
    "fast": ("own covariances", "own covariances, Yeo-Johnson", "shared covariance", "class shares"),
    "default": tuple(name for name in NAMED if "mixtures" not in name),
    "full": tuple(NAMED),
    # The members that `to_sql` writes as a short query; it writes all others, too.
    "sql": tuple(name for name in NAMED if name not in LONG_IN_SQL),
}


def suitable(members: Any, read: list[Member], rows: FoldedRows) -> list[Member]:
    """Of the members that were read, those to try: all of a list, and those of a set that suit the rows."""
    return [member for member in read if member.suits(rows)] if isinstance(members, str) else read


def read_members(members: Any, X: Any) -> list[Member]:
    """members: the name of a set, or a list of names and classifiers; X: the caller's table."""
    if isinstance(members, str):
        if members not in SETS:
            raise ClasswiseError(f"members={members!r} is not an option; choose {_listed(SETS)}, or give a list.")
        return [NAMED[name] for name in SETS[members]]
    found: list[Member] = []
    for one in members:
        member = _read(one, X)
        same = [known.name for known in found].count(member.name)
        found.append(GivenMember(f"{member.name} {same + 1}", one, X) if same else member)
    if not found:
        raise ClasswiseError("members is an empty list; give at least one member.")
    return found


def _read(member: Any, X: Any) -> Member:
    if isinstance(member, str) and current_name(member) in NAMED:
        return NAMED[current_name(member)]
    if not isinstance(member, str) and hasattr(member, "fit") and hasattr(member, "predict_proba"):
        return GivenMember(_title(member), member, X)
    raise ClasswiseError(
        f"members has {member!r}, which is no member; name {_listed(NAMED)}, or give a classifier with predict_proba."
    )


def _title(model: Any) -> str:
    """The name of a caller's classifier in reports: with its options if they are short; of a pipeline, the last step.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> _title(make_pipeline(StandardScaler(), GaussianNB(var_smoothing=0)))
    'GaussianNB(var_smoothing=0)'
    """
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    shown = repr(last)
    return shown if len(shown) <= LONGEST_TITLE and "\n" not in shown else type(last).__name__


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names))
