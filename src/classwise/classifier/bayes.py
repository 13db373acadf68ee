"""3. A classifier is a prior and one density per class: priors, temperature, Bayes' rule; and the fitted model.

What every classifier has, however it was learned, comes first: answers, pictures, exports and the server stand
on that protocol. Rows are matrices (m, p) as tables make them: categories as positions among their levels, -1 or NaN
where a value is missing. Results are class-major, (g, m).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isfinite
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Codes, Labels, finite, first_leader, level_ties, log_normalize, log_sum_exp
from classwise.classifier.in_place import bayes_in_place
from classwise.covariance import Completion, StructureTable
from classwise.densities import Block, Categorical, Constant, Copies, Density, Observed, OneDependence, OnSparse
from classwise.engines import MemoryEngine
from classwise.errors import ClasswiseError, UnscorableError
from classwise.kernels import RowsOrColumns
from classwise.kernels.scores import Answer, Scores
from classwise.rows.codes import is_sorted
from classwise.rows.device_rows import DeviceMatrix
from classwise.rows.schema import Schema
from classwise.rows.sparse import SparseRows
from classwise.rows.table import INTEGRATE, Table, refuse_unscorable, refuse_unsuitable
from classwise.statistics import ClassStatistics, Named
from classwise.storage import stored


class Classifier(Protocol):
    """Labels, and the posterior of each for rows."""

    @property
    def labels(self) -> Labels:
        """The labels, sorted; (g,)."""
        ...

    def log_posterior(self, rows: Array) -> Array:
        """log P(k | x); (m, p) -> (g, m)."""
        ...

    def posterior(self, rows: Array) -> Array:
        """P(k | x); (m, p) -> (g, m)."""
        ...

    def decision_scores(self, rows: Array) -> Array:
        """log P(k | x) up to a term that all classes share: what decisions need; (m, p) -> (g, m)."""
        ...

    def decide(self, rows: Array) -> Codes:
        """The most probable class, the first of equals; (m, p) -> (m,)."""
        ...

    def fused(self, rows: RowsOrColumns, answer: Answer) -> NDArray[Any] | None:
        """The same answer, class-major, from a compiled kernel; None where there is none for these rows."""
        ...

    def in_place(self, name: str, table: Table) -> Any:
        """What the method of this name says of rows on a device, as an array there; None where they must be copied."""
        ...

    def observing(self) -> Self:
        """The classifier for rows with gaps, where that is another one."""
        ...

    def chunk_rows(self, copied: bool) -> int:
        """How many rows to score at once; copied: whether a chunk is first put together column by column."""
        ...


class FittedModel(Protocol):
    """A classifier, and the columns that its rows have."""

    @property
    def classifier(self) -> Any:
        """A Classifier."""
        ...

    @property
    def schema(self) -> Schema: ...

    @property
    def levels(self) -> dict[int, Labels]:
        """The levels of each column that has some, by position."""
        ...

    @property
    def notes(self) -> dict[int, str]:
        """What there is to know of a column, by position."""
        ...

    @property
    def missing(self) -> Array:
        """The share of rows without a value in each column; (p,)."""
        ...


C = TypeVar("C", bound=Classifier)


# The method of a classifier that gives each answer.
METHODS = {
    Answer.POSTERIOR: "posterior",
    Answer.LOG_POSTERIOR: "log_posterior",
    Answer.SCORES: "decision_scores",
    Answer.DECISION: "decide",
}


def ask(answer: Answer, classifier: Any, rows: Array) -> NDArray[Any]:
    """The answer of a classifier for rows (m, p), in NumPy; class-major."""
    found: NDArray[Any] = getattr(classifier, METHODS[answer])(rows)
    return found


def score(
    function: Answer | Callable[[C, Array], NDArray[Any]],
    classifier: C,
    table: Table,
    *,
    strict: bool = False,
    smoothing: float = 1.0,
    remedy: str = INTEGRATE,
) -> NDArray[Any]:
    """function(classifier, rows) of every chunk, side by side; where values are missing, of what is left.

    function: or an Answer, which a compiled kernel may give for all rows at once.
    strict: missing values are refused, and remedy says what else to do with them. smoothing: 0 where a level never seen
    has probability zero.
    """
    if isinstance(table.source, DeviceMatrix):
        name = METHODS[function] if isinstance(function, Answer) else getattr(function, "__name__", "")
        found = _answer_in_place(name, classifier, table)
        if found is not None:
            return found
    if isinstance(table.source, SparseRows):
        return _score_sparse(function, classifier, table, table.source.stored)
    plain = partial(ask, function) if isinstance(function, Answer) else function

    def score_chunk(chunk: Table) -> NDArray[Any]:
        if strict and (chunk.levels or remedy != INTEGRATE):
            refuse_unsuitable(chunk, allow_missing=False, remedy=remedy)
        rows = chunk.rows
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return plain(classifier, rows)
        except UnscorableError:
            refuse_unsuitable(chunk, allow_missing=not strict)
        return score_with_gaps(chunk, rows)

    def score_with_gaps(chunk: Table, rows: Array) -> NDArray[Any]:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return plain(classifier.observing(), np.asarray(rows, dtype=np.float64))
        except UnscorableError:
            if smoothing == 0:
                refuse_unscorable(chunk)
        raise UnscorableError(
            "Some rows have probability zero, or lie too far from every class to be scored in float64."
        )

    if isinstance(function, Answer) and not (strict and remedy != INTEGRATE):
        numbers = table.numbers()
        fused = None if numbers is None else classifier.fused(numbers, function)
        if fused is not None:
            return fused
    return MemoryEngine().apply(score_chunk, table, classifier.chunk_rows(table.is_copied))


def _score_sparse(
    function: Answer | Callable[[C, Array], NDArray[Any]], classifier: C, table: Table, stored: float
) -> NDArray[Any]:
    """The same of sparse rows, which have no gaps; what they may hold was checked when they were read.

    stored: how many values a row stores, on average.
    """
    call: Any = partial(ask, function) if isinstance(function, Answer) else function
    assert isinstance(classifier, BayesClassifier)
    own = classifier.on_sparse()
    size = int(limits.SPARSE_SIZE / stored) + 1
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return MemoryEngine().apply(lambda chunk: call(own, chunk.rows), table, size)
    except UnscorableError as problem:
        raise UnscorableError(
            "Some rows have probability zero in every class, or lie too far from every class to be scored in float64; "
            "with smoothing above 0, no count is impossible."
        ) from problem


def _answer_in_place(name: str, classifier: Classifier, table: Table) -> Any:
    """What a method of a classifier says of rows on a device, where it can do so without a copy."""
    try:
        return classifier.in_place(name, table)
    except UnscorableError:  # rows with gaps, or worse: what is wrong with them is said below
        return None


Priors: TypeAlias = str | Mapping[Any, float] | Sequence[float] | Array | None


def class_priors(priors: Priors, labels: Labels, weight: Array) -> Array:
    """The prior of each class; (g,). A prior of zero is allowed, and means never.

    priors: "empirical" or None (n_k / n), "uniform" (1 / g), a mapping from label to probability, or a sequence in the
    order of the sorted labels.

    >>> class_priors("empirical", np.array(["a", "b"]), np.array([3.0, 1.0]))
    array([0.75, 0.25])
    >>> class_priors({"a": 0.9, "b": 0.2}, np.array(["a", "b"]), np.array([3.0, 1.0]))
    Traceback (most recent call last):
    ...
    classwise.errors.ClasswiseError: priors must sum to 1, and these sum to 1.1: [0.9, 0.2]; divide by the sum.
    """
    if priors is None or (isinstance(priors, str) and priors == "empirical"):
        return weight / weight.sum()
    if isinstance(priors, str):
        return _equal_priors(priors, len(weight))
    if isinstance(priors, Mapping):
        return _checked(_in_label_order(priors, labels), labels)
    return _checked(priors, labels)


def _equal_priors(priors: str, count: int) -> Array:
    if priors == "uniform":
        return np.full(count, 1 / count)
    raise ClasswiseError(
        f"priors={priors!r} is not an option; choose 'empirical', 'uniform', a mapping from label to probability, "
        "or a sequence in the order of the sorted labels."
    )


def _in_label_order(priors: Mapping[Any, float], labels: Labels) -> list[float]:
    known = labels.tolist()
    unknown = [label for label in priors if label not in known]
    missing = [label for label in known if label not in priors]
    if unknown:
        raise ClasswiseError(f"priors name the label {unknown[0]!r}, which is not a class; the classes are {known}.")
    if missing:
        raise ClasswiseError(f"priors lack the label {missing[0]!r}; give every class one, 0 for never.")
    return [priors[label] for label in known]


def _checked(priors: Sequence[float] | Array, labels: Labels) -> Array:
    try:
        values = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        raise ClasswiseError(f"priors must be numbers, not {priors!r}.") from None
    if values.shape != (len(labels),):
        raise ClasswiseError(
            f"priors must be one number for each of {len(labels)} classes, not of shape {values.shape}."
        )
    if not (values >= 0).all():
        raise ClasswiseError(f"priors must not be negative: {values.tolist()}.")
    if abs(values.sum() - 1) > 1e-6:
        raise ClasswiseError(
            f"priors must sum to 1, and these sum to {values.sum():.6g}: {values.tolist()}; divide by the sum."
        )
    return values / values.sum()


# ----------------------------------------------------------------------------------------------------------------------
# Calibration: posteriors raised to a power, so that they are as sure as they should be.
#
#     P(k | x)^β / sum over classes of P(j | x)^β
#
# Densities that take dependent features for independent count the same news twice, and a power below 1 takes that
# back
# (Guo et al. 2017 call 1 / β the temperature). It changes no decision.


@stored("Calibration")
@dataclass(frozen=True)
class Calibration:
    """power: β. shift (g,): added to the log posteriors afterwards, where priors were changed since."""

    power: float
    shift: tuple[float, ...] = ()

    def _is_sound(self) -> bool:
        return self.power > 0 and all(map(isfinite, self.shift))

    def __call__(self, scores: Array) -> Array:
        """Scores (g, m), which are log posteriors up to a term for each row, as they should be; up to such a term."""
        calibrated = self.power * scores
        return calibrated + np.array(self.shift)[:, None] if self.shift else calibrated

    def with_priors(self, before: Array, after: Array) -> "Calibration":
        """Posteriors under other priors (g,) are the calibrated ones times the ratio of the priors.

        The power applies to log_joint, priors included: the shift makes up for what it does to their ratio.
        """
        known = (before > 0) & (after > 0)
        change = np.zeros(len(before))
        change[known] = (1 - self.power) * (np.log(after[known]) - np.log(before[known]))
        return Calibration(self.power, tuple((np.array(self.shift or (0.0,)) + change).tolist()))


# ----------------------------------------------------------------------------------------------------------------------
# 3. A classifier is a prior and one density per class.
#
#     log_joint_k(x)  = log prior_k + log p(x | k)
#     log_evidence(x) = log sum_k exp log_joint_k(x)
#     log_posterior_k = log_joint_k - log_evidence
#
# Bayes' rule is written here, once. Everything is class-major, (g, m), and in logs.


@stored("BayesClassifier")
@dataclass(frozen=True, eq=False)
class BayesClassifier:
    """labels (g,) sorted; priors (g,) that sum to one; the density of each class; how sure posteriors are, if not by
    Bayes' rule alone.
    """

    labels: Labels
    priors: Array
    density: Density
    calibration: Calibration | None = None

    def _is_sound(self) -> bool:
        count, shift = len(self.labels), self.calibration.shift if self.calibration else ()
        matched = self.priors.shape == (count,) and self.density.count == count > 1 and len(shift) in (0, count)
        chances = bool((self.priors >= 0).all()) and abs(float(self.priors.sum()) - 1) < 1e-9
        return matched and chances and is_sorted(self.labels)

    @cached_property
    def log_prior(self) -> Array:
        with np.errstate(divide="ignore"):  # a prior of zero means never: log 0 = -inf
            return np.log(self.priors)[:, None]

    @cached_property
    def _polynomials(self) -> Scores | None:
        """log_joint up to a common term as polynomials of the rows, where the densities are such."""
        return self.density.scores(self.log_prior)

    def fused(self, rows: RowsOrColumns, answer: Answer) -> NDArray[Any] | None:
        """The answer of the compiled kernel; None where there is none for these rows."""
        if self._polynomials is None:
            return None
        if self.calibration is None:
            return self._polynomials.answer(rows, answer)
        shift = np.array(self.calibration.shift) if self.calibration.shift else np.zeros(len(self.labels))
        return self._polynomials.answer(rows, answer, self.calibration.power, shift)

    def log_density(self, rows: Array) -> Array:
        """log p(x | k); (m, p) -> (g, m)."""
        relative = self.density.relative(rows, np.zeros_like(self.log_prior))
        finite(relative.max(axis=0))
        return relative + finite(self.density.common(rows))

    def scores(self, rows: Array) -> Array:
        """log_joint up to a term common to all classes; (m, p) -> (g, m)."""
        return level_ties(self.density.relative(rows, self.log_prior))

    def decision_scores(self, rows: Array) -> Array:
        """log P(k | x) up to a term common to all classes, calibrated: what decisions need; (m, p) -> (g, m)."""
        fused = self.fused(rows, Answer.SCORES)
        if fused is not None:
            return fused
        scores = self.scores(rows)
        return scores if self.calibration is None else level_ties(self.calibration(scores))

    def log_joint(self, rows: Array) -> Array:
        """log prior_k + log p(x | k); (m, p) -> (g, m)."""
        return self.scores(rows) + finite(self.density.common(rows))

    def log_evidence(self, rows: Array) -> Array:
        """log p(x); (m, p) -> (m,)."""
        return log_sum_exp(self.scores(rows)) + finite(self.density.common(rows))

    def log_posterior(self, rows: Array) -> Array:
        """log P(k | x); (m, p) -> (g, m)."""
        fused = self.fused(rows, Answer.LOG_POSTERIOR)
        if fused is not None:
            return fused
        scores = self.decision_scores(rows)
        return log_normalize(scores, out=scores)

    def log_posteriors_without(self, rows: Array, blank: Array) -> Iterator[Array]:
        """log P(k | x without x_j) for each column j in turn, x_j integrated out; (m, p) -> (g, m) each.

        blank (p,): a row without values.
        """
        for scores in self.density.without_each(rows, blank):
            joint = level_ties(scores + self.log_prior)
            yield log_normalize(joint if self.calibration is None else level_ties(self.calibration(joint)))

    def posterior(self, rows: Array) -> Array:
        """P(k | x); (m, p) -> (g, m)."""
        fused = self.fused(rows, Answer.POSTERIOR)
        if fused is not None:
            return fused
        scores = self.decision_scores(rows)
        scores -= scores.max(axis=0)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=0)
        return scores

    def decide(self, rows: Array) -> Codes:
        """The most probable class, the first of equals; (m, p) -> (m,)."""
        fused = self.fused(rows, Answer.DECISION)
        if fused is not None:
            return fused
        if self.calibration is None:
            return first_leader(self.density.relative(rows, self.log_prior))
        return first_leader(self.decision_scores(rows))

    def sample(self, count: int, generator: np.random.Generator) -> tuple[Array, Labels]:
        """Rows (count, p) and their labels (count,), drawn from the model."""
        codes = generator.choice(len(self.labels), size=count, p=self.priors)
        return self.density.sample(codes, generator), self.labels[codes]

    def with_priors(self, priors: Array) -> "BayesClassifier":
        calibration = self.calibration and self.calibration.with_priors(self.priors, priors)
        return replace(self, priors=priors, calibration=calibration)

    def calibrated(self, calibration: Calibration | None) -> "BayesClassifier":
        return replace(self, calibration=calibration)

    def observing(self) -> "BayesClassifier":
        """The same classifier for rows with gaps, whose missing values are integrated out."""
        return replace(self, density=Observed(self.density))

    def on_sparse(self) -> "BayesClassifier":
        """The same classifier for rows that are a sparse matrix."""
        return replace(self, density=OnSparse(self.density))

    def in_place(self, name: str, table: Table) -> Any:
        """What the method of this name says of rows on a device, as an array there; None where they must be copied."""
        return bayes_in_place(self, name, table)

    def chunk_rows(self, copied: bool) -> int:
        """How many rows to score at once."""
        return max((limits.COPIED_SCORING_SIZE if copied else limits.SCORING_SIZE) // self.density.width, 64)


# A fitted model -------------------------------------------------------------------------------------------------------


@stored("Model")
@dataclass(frozen=True, eq=False)
class Model:
    """levels: of each column that has some; missing (p,): the share without a value; notes: what to know of a column;
    completion: how rows with gaps were learned from; log_evidence: the marginal likelihood of the rows, if it is known;
    structures: of covariances that were tried, where one was chosen by BIC; smoothing: the pseudo-rows at
    each level, where they were not left out of an older file.
    """

    classifier: BayesClassifier
    schema: Schema
    levels: dict[int, Labels]
    missing: Array
    notes: dict[int, str]
    completion: Completion | None
    log_evidence: float | None
    structures: StructureTable | None = None
    smoothing: float | None = None

    def _is_sound(self) -> bool:
        width, density = len(self.schema), self.classifier.density.of_seen_classes()
        shaped = density.n_features == width and self.missing.shape == (width,) and set(self.notes) <= set(range(width))
        known = set(self.levels) == set(self.schema.levels) and all(map(is_sorted, self.levels.values()))
        return shaped and known and all(map(self._is_of_its_columns, density.as_blocks()))

    def _is_of_its_columns(self, block: Block) -> bool:
        """Whether a block describes levels just where its columns have them, and the same levels."""
        levels = [self.levels[j] for j in block.columns.tolist() if j in self.levels]
        if isinstance(block.density, Copies):
            return not levels and bool((block.density.sources < len(self.schema)).all())
        if isinstance(block.density, Categorical):
            names = [column.names for column in block.density.columns]
            return [n.tolist() for n in names] == [n.tolist() for n in levels]
        if isinstance(block.density, OneDependence):
            named = [place.levels for place in block.density.columns if isinstance(place, Named)]
            return [n.tolist() for n in named] == [n.tolist() for n in levels]
        # What was left out is sampled as missing: -1, where there are levels.
        return not levels or (isinstance(block.density, Constant) and self._are_left_out(block.columns, block.density))

    def _are_left_out(self, columns: Codes, density: Constant) -> bool:
        pairs = zip(columns.tolist(), density.values.tolist(), strict=True)
        return all(value == -1 for j, value in pairs if j in self.levels)

    def is_of(self, statistics: ClassStatistics) -> bool:
        """Whether it can have been made of these statistics: the same classes, the same columns."""
        same = self.classifier.labels.tolist() == statistics.labels.tolist()
        return same and self.schema.names == statistics.schema.names and len(self.schema) == len(statistics.schema)

    def with_classifier(self, classifier: BayesClassifier) -> "Model":
        return replace(self, classifier=classifier)
