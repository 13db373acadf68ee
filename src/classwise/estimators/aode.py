"""AODE: each column in turn is the parent of all others; the density is the mean over the parents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier, Model, Priors
from classwise.classifier.plan import Plan, refuse_few_classes
from classwise.densities import OneDependence
from classwise.densities.blocks import warn_of_ignored, why_ignored
from classwise.engines import Rows
from classwise.errors import ClasswiseError, above, choose, whole
from classwise.estimators.generative import TIES
from classwise.estimators.summary import SummaryEstimator
from classwise.rows.schema import Families, read_families
from classwise.rows.schema_report import SchemaReport
from classwise.rows.table import Table
from classwise.selection.leave_one_out import LeavingOut
from classwise.statistics import (
    Bins,
    ClassStatistics,
    DiagonalScatter,
    Named,
    PairCounts,
    Place,
    Scatter,
    summarize_rows,
)
from classwise.statistics.binning import Pairing, known_places, learn_places, sketched_places, with_pairs, with_sketches
from classwise.statistics.summaries import MISSING
from classwise.storage import stored

# The families that may be given. All other columns are binned into ranges.
LEVELS = ("categorical", "bernoulli")


@stored("AODE", kind="model")
class AODE(SummaryEstimator):
    """Averaged one-dependence estimators on mixed columns: naive Bayes in which a column may depend on one other.

        p(x | k) = mean over columns i of  p(x_i | k)  product over j != i of  p(x_j | x_i, k)

    The statistics count how often each pair of levels occurs together in each class. They add up like all statistics.

    Parameters
    ----------
    bins : int, default=7
        How many quantile bins (ranges) a number is cut into; a number with at most 10 distinct values has a
        bin for each. The density within a bin is uniform. Later batches (partial_fit) keep the bins of the
        first.
    backoff : float, default=8.0
        The number of pseudo-rows that draw p(x_j | x_i, k) toward p(x_j | k); above 0.
    smoothing : float, default=2.0
        The number of pseudo-rows that draw p(x_j | k) toward the share of the level in all classes; above 0.
    families : str or mapping from column to family, default="auto"
        Columns of numbers to treat as categories, such as {"grade": "categorical"}; or "auto".
    priors : str, mapping or sequence, default="empirical"
        "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of
        sorted labels.
    missing : {"integrate", "level", "error"}, default="integrate"
        "integrate" leaves missing values out, at fit and at predict; "level" counts them as a level of their
        own; "error" refuses them. Levels that were not seen at fit are integrated out.
    ties : {"first", "random"}, default="first"
        "first" predicts the first label, "random" one drawn with random_state.
    random_state : int, RandomState or Generator, optional
        The seed of what is drawn at random.

    Attributes
    ----------
    classes_
        The labels, sorted.
    priors_
        The prior of each class; (g,).
    classifier_
        The classifier without the scikit-learn interface.
    families_
        The family of each column, by name (or position): "ranges", "categorical" or "bernoulli".
    feature_names_in_
        The names of the columns, if they have names.
    log_marginal_likelihood_
        Log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior.
    model_
        The fitted model without the scikit-learn interface.
    n_features_in_
        The number of columns.
    parameters_
        The estimates of each column, by name (or position): arrays over the classes, (g,) each.
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.
    statistics_
        What was gathered from the rows; statistics add and subtract.

    Notes
    -----
    A category with more than 100 levels keeps the 99 most frequent ones; all others are pooled into one level. The pair
    counts take g L² numbers, where L is the number of levels of all columns; more than 2 GiB of them are refused.

    Examples
    --------
    >>> import classwise as cw, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice(["heads", "tails"], size=(400, 2))
    >>> y = np.where(X[:, 0] == X[:, 1], "same", "different")
    >>> [round(m.fit(X, y).score(X, y), 2) for m in (cw.NaiveBayes(), AODE())]
    [0.54, 1.0]
    """

    _crosses = False

    def __init__(
        self,
        *,
        bins: int = 7,
        backoff: float = 8.0,
        smoothing: float = 2.0,
        families: Families = "auto",
        priors: Priors = "empirical",
        missing: Literal["integrate", "level", "error"] = "integrate",
        ties: Literal["first", "random"] = "first",
        random_state: Any = None,
    ) -> None:
        self.bins = bins
        self.backoff = backoff
        self.smoothing = smoothing
        self.families = families
        self.priors = priors
        self.missing = missing
        self.ties = ties
        self.random_state = random_state

    @property
    def schema_(self) -> SchemaReport:
        """How the model reads each column, as a table: type, kind, family, levels, missing values."""
        families = self.families_.values()
        return SchemaReport(c._replace(family=f) for c, f in zip(super().schema_, families, strict=True))

    @property
    def families_(self) -> dict[Any, str]:
        """The family of each column, by name (or position): "ranges", "categorical" or "bernoulli"."""
        density = self.classifier_.density.of_seen_classes()
        assert isinstance(density, OneDependence)
        pairs = zip(super().families_.items(), density.columns, strict=True)
        return {key: "ranges" if isinstance(place, Bins) else family for (key, family), place in pairs}

    def _facts(self) -> dict[str, Any]:
        facts = super()._facts()
        if self._model is None:
            return facts
        families = self.families_.values()
        columns = [{**column, "family": family} for column, family in zip(facts["columns"], families, strict=True)]
        return {**facts, "columns": columns}

    def _plan(self) -> "OneDependencePlan":
        choose("ties", self.ties, TIES)
        strict = not choose("missing", self.missing, MISSING)
        bins, backoff = whole("bins", self.bins, 2), above("backoff", self.backoff, 0)
        smoothing = above("smoothing", self.smoothing, 0)
        self._refuse_families()
        return OneDependencePlan(self.families, self.priors, smoothing, self.missing == "level", strict, bins, backoff)

    def _refuse_families(self) -> None:
        given = self.families if isinstance(self.families, Mapping) else {}
        other = {key: family for key, family in given.items() if family not in LEVELS}
        if other or (isinstance(self.families, str) and self.families != "auto"):
            raise ClasswiseError(
                f"families={other or self.families!r} is not for AODE, which counts all numbers in ranges; name only "
                "columns that are to be 'categorical' or 'bernoulli'."
            )

    def _leaving_out(self, X: Any, y: Any, sample_weight: Any, recount: bool) -> tuple[LeavingOut, Array]:
        leaving, rows = super()._leaving_out(X, y, sample_weight, recount)
        if not leaving.fit.plan.is_sum_of_rows(self.statistics_):
            places = learn_places(leaving.read(np.arange(len(rows))), self.bins, missing=True)
            pairs = zip(places, self.statistics_.pairs.columns, strict=True)
            if not all(ours.is_like(theirs) for ours, theirs in pairs):
                raise ClasswiseError(
                    "The ranges of this AODE were not learned from these rows alone, so that there is no saying what "
                    "they would be without one of them: partial_fit keeps the ranges of its first batch, and "
                    "statistics bring their own. Fit all rows at once, or cross-validate: cw.compare(X, y, "
                    "models={'aode': AODE()})."
                )
        return leaving, rows

    def _fit_rows(self, plan: Plan, rows: Rows) -> Self:
        """Fit in memory if the rows fit there; else in two passes, the first of which finds the ranges of numbers."""
        fitted = self._fit_held(rows)
        if fitted is not None:
            return fitted
        rows.refuse_gone("fit_source")
        return self._learn(plan, plan.gather(rows))


@dataclass(frozen=True)
class OneDependencePlan(Plan):
    """A plan that counts pairs of levels, with numbers binned into ranges."""

    bins: int
    backoff: float

    @property
    def form(self) -> type[Scatter]:
        return DiagonalScatter

    def summarize(self, table: Table, before: ClassStatistics | None = None) -> ClassStatistics:
        """Later batches keep the ranges of the first."""
        summary = super().summarize(table, before)
        if before is None:
            return with_pairs(summary, table, learn_places(table, self.bins, missing=True))
        return with_pairs(summary, table, known_places(before.pairs.columns, table, self.bins))

    def gather(self, rows: Rows) -> ClassStatistics:
        """Two passes: the first finds the ranges of numbers, the second counts."""
        options: dict[str, Any] = {"families": self.families, "allow_missing": not self.strict}
        places = sketched_places(summarize_rows(rows, self.form, also=with_sketches, **options), self.bins)
        return summarize_rows(rows, self.form, also=Pairing(places), **options)

    def is_sum_of_rows(self, statistics: ClassStatistics) -> bool:
        """False if the ranges of numbers, or the pooled levels, depend on all rows."""
        return all(isinstance(place, Named) and place.places is None for place in statistics.pairs.columns)

    def _made(self, statistics: ClassStatistics) -> Model:
        refuse_few_classes(statistics.labels)
        keys = list(statistics.schema.names or range(len(statistics.schema)))
        statistics = statistics.seen_as(read_families(self.families, keys, [False] * len(keys)))
        missing = statistics.missing_weight()
        ignored = why_ignored(statistics, missing)
        pairs = statistics.pairs.without(ignored)
        pairs = pairs if self.missing_is_level else pairs.without_missing()
        _refuse_constant(pairs)
        density = OneDependence.estimate(pairs, float(self.smoothing), self.backoff)
        classifier = BayesClassifier(statistics.labels, self.class_priors(statistics), density)
        levels = {j: place.levels for j, place in enumerate(pairs.columns) if isinstance(place, Named)}
        notes = {j: _about(place) for j, place in enumerate(pairs.columns) if j not in ignored}
        notes |= {j: f"left out: {why}" for j, why in ignored.items()}
        warn_of_ignored(statistics, ignored)
        gaps = missing.sum(axis=0) / statistics.weight.sum()
        return Model(classifier, statistics.schema, levels, gaps, notes, None, None)


def _refuse_constant(pairs: PairCounts) -> None:
    if not any(len(place) > 1 for place in pairs.columns):
        raise ClasswiseError("No column of X varies, so there is nothing to tell the classes apart.")


def _about(place: Place) -> str:
    """The note on a column."""
    if len(place) == 1:
        return "one level: says nothing"
    if isinstance(place, Bins):
        return f"{place.count} values" if place.values is not None else f"{place.count} ranges"
    pooled = 0 if place.places is None else int(np.sum(place.places == place.count - 1))
    return f"{pooled} rare levels pooled" if pooled else ""
