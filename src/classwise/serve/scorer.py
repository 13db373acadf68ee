"""From checked rows to labels and posteriors: the same calls of the model as in Python."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.classifier.explanation import Explanation
from classwise.comparison.stack import AutoClassifier
from classwise.errors import ClasswiseError
from classwise.estimators import Decision, model_within
from classwise.estimators.answers import refuse_wide
from classwise.rows.conversions import Moment
from classwise.rows.schema import Family
from classwise.rows.sources import Source
from classwise.rows.table import RANGES
from classwise.serve.requests import Options, Problem, as_json, listed, shown
from classwise.serve.resources import RequestDeadline
from classwise.serve.validation import InputColumn, LevelColumn, RowReader

# Large requests are scored in parts of this many rows, and given up between two of them if time is up.
PART = 100_000

# Posteriors that are closer may be a tie, which the model itself breaks.
CLEAR = 1e-6


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """labels (n,) and posteriors (n, g); None for what was not requested."""

    labels: Labels | None
    posteriors: Array | None


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted estimator that answers requests."""

    estimator: Any

    @cached_property
    def inner(self) -> Any:
        """The estimator that models the rows, within one that decides."""
        return model_within(self.estimator)

    @cached_property
    def classes(self) -> list[Any]:
        """The labels, in the order of posteriors."""
        return list(self.estimator.classes_.tolist())

    @cached_property
    def possible_labels(self) -> Labels:
        """All labels that the model may predict; they decide the type of labels, whatever a request holds."""
        return np.asarray(getattr(self.estimator, "announced_", self.estimator.classes_))

    @cached_property
    def reader(self) -> RowReader:
        """Reads rows for this model."""
        return reader_of(self.inner)

    def answer(self, rows: Source, options: Options, deadline: RequestDeadline) -> PredictedRows:
        """Labels and posteriors of rows."""
        model, parts = self._model_for(options), []
        for start in range(0, len(rows.values), PART):
            deadline.check()
            parts.append(self._score(model, rows.take(slice(start, start + PART)), options.output, start))
        if len(parts) == 1:
            return parts[0]
        labels = None if parts[0].labels is None else np.concatenate([part.labels for part in parts])
        posteriors = None if parts[0].posteriors is None else np.concatenate([part.posteriors for part in parts])
        return PredictedRows(labels, posteriors)

    def explain(self, rows: Source, label: Any, against: Any) -> Explanation:
        """Why one row is taken for one label rather than another."""
        if not hasattr(self.inner, "explain"):
            raise Problem(422, f"A {type(self.inner).__name__} does not explain its answers.")
        first, second = self._known(label), self._known(against)
        if first is not None and first == second:
            raise Problem(422, f"label and against are both {shown(label)}; give two different ones.")
        try:
            return self.inner.explain(rows, first, second)
        except ClasswiseError as problem:
            raise Problem(422, str(problem), 0) from None

    # ----------------------------------------------------------------------------------------------------------------

    def _score(self, model: Any, rows: Source, output: str, start: int) -> PredictedRows:
        try:
            posteriors = model.predict_proba(rows) if output != "label" else None
            return PredictedRows(self._labels(model, rows, posteriors) if output != "posteriors" else None, posteriors)
        except ClasswiseError as problem:
            row = first_failing(model.predict_proba, rows) + start
            raise Problem(422, f"Row {row}: {problem}", row) from None

    def _labels(self, model: Any, rows: Source, posteriors: Array | None) -> Labels:
        """What the model predicts. If the posteriors of a lone row leave no doubt, they decide without another call:
        that is half the time of a small request.
        """
        if len(rows.values) == 1 and posteriors is not None and not isinstance(model, Decision):
            (row,) = posteriors.tolist()
            best = max(row)
            if sum(best - posterior < CLEAR for posterior in row) == 1:
                return model.classes_[[row.index(best)]]
        labels = model.predict(rows)
        # Of the type of all possible labels, also where no row of this request is refused.
        return labels if labels.dtype.kind == "O" else labels.astype(self.possible_labels.dtype, copy=False)

    def _model_for(self, options: Options) -> Any:
        """The model under the priors and with the reserve of the request."""
        model = self.estimator
        if (options.priors is not None or options.reject is not None) and isinstance(model, Decision):
            raise Problem(422, "This model decides by costs of its own; priors and reject are not for it.")
        if options.priors is not None:
            model = self._with_priors(options.priors)
        if options.reject is not None:
            model = Decision(model, reject={"posterior": options.reject}, reject_label=None)
        return model

    def _with_priors(self, priors: str | dict[str, float]) -> Any:
        if not hasattr(self.inner, "with_priors"):
            raise Problem(422, f"A {type(self.inner).__name__} has no class priors that could be others; leave priors.")
        if isinstance(priors, dict):
            priors = {self._by_name(name): prior for name, prior in priors.items()}
        try:
            return self.inner.with_priors(priors)
        except ClasswiseError as problem:
            raise Problem(422, str(problem)) from None

    def _by_name(self, name: str) -> Any:
        if name not in self._names:
            raise Problem(422, f"{shown(name)} is not a class of the model; they are {listed(list(self._names))}.")
        return self._names[name]

    @cached_property
    def _names(self) -> dict[str, Any]:
        """Labels by the text that stands for them where JSON has only text."""
        return {label if isinstance(label, str) else as_json(label): label for label in self.classes}

    def _known(self, label: Any) -> Any:
        """A label of a request, which must be one of the model's, of the same type."""
        if label is None:
            return None
        for known in self.classes:
            if known == label and isinstance(known, bool) == isinstance(label, bool):
                return known
        raise Problem(422, f"{shown(label)} is not a class of the model; the classes are {listed(self.classes)}.")

    def example(self) -> list[Any]:
        """A row that the model might meet: drawn from it, where it can draw."""
        return [_plain(*pair) for pair in zip(self.reader.columns, drawn_from(self.inner).tolist(), strict=True)]


def first_failing(score: Callable[[Source], Any], rows: Source) -> int:
    """The first row that cannot be scored, by halving."""
    low, high = 0, len(rows.values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            score(rows.take(slice(low, middle)))
            low = middle
        except ClasswiseError:
            high = middle
    return low


def _plain(column: InputColumn, drawn: float) -> Any:
    """A drawn value as JSON has it: a level, or a number of six digits, whole where it can be."""
    if isinstance(column, LevelColumn):
        levels = column.levels.tolist()
        return levels[int(drawn)] if 0 <= drawn < len(levels) else levels[0] if levels else None
    if np.isnan(drawn):
        return None
    conversion = column.column.conversion
    if isinstance(conversion, Moment) and conversion.kind != "duration":
        return conversion.value(round(drawn) if conversion.is_day else drawn).isoformat()
    short = float(f"{within(drawn, column.column.family):.6g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def within(number: float, family: Family) -> float:
    """The nearest number that a family can take: a stack draws counts as any other numbers.

    >>> within(-0.4, Family("poisson")), within(9.2, Family("binomial", 5)), within(-2.0, Family("gaussian"))
    (0.0, 5.0, -2.0)
    """
    if family.name not in RANGES:
        return number
    if family.name == "lognormal":
        return abs(number) or 1.0
    if family.name == "kernel":
        return min(max(number, -np.inf if family.low is None else family.low), family.high or np.inf)
    if family.name in ("multinomial", "complement"):
        return max(number, 0.0)
    return float(min(max(round(number), 0), family.trials or np.inf))


# What is read from a fitted estimator besides its answers: here, and nowhere else -----------------------------------


def kind_of(estimator: Any) -> str:
    """What a model is called, with what it is made of, where it is made of another."""
    inner = type(model_within(estimator)).__name__
    return f"{type(estimator).__name__} of {inner}" if isinstance(estimator, Decision) else inner


def reader_of(inner: Any) -> RowReader:
    """Reads rows for the estimator that models them."""
    model = inner.model_
    refuse_wide(model.schema)
    if isinstance(inner, AutoClassifier):
        for name, trained in model.classifier.used.items():
            if not trained.sees_rows:
                raise ClasswiseError(
                    f"The member {name!r} is a classifier of your own, which sees rows as they are, and a server has "
                    "them in another form; fit an AutoClassifier of named members."
                )
        return RowReader.of(model.schema, model.levels, allow_missing=True, allow_unseen=True)
    allow_missing = not inner._strict
    return RowReader.of(model.schema, model.levels, allow_missing, getattr(inner, "smoothing", 1.0) != 0)


def drawn_from(inner: Any) -> Array:
    """A row with codes for levels (p,): zeros, where a model cannot draw."""
    generator = np.random.default_rng(0)
    if isinstance(inner, AutoClassifier):
        able = [trained for trained in inner.classifier_.used.values() if trained.can_sample]
        if able:
            return np.asarray(able[0].sample(np.zeros(1, dtype=np.intp), generator)[0])
    elif hasattr(inner, "sample") and inner._has_reach:
        return np.asarray(inner.classifier_.sample(1, generator)[0][0])
    return np.zeros(len(inner.model_.schema))


def column_reports(inner: Any) -> Any:
    """What a model has kept of each of its columns; None, if nothing."""
    return None if isinstance(inner, AutoClassifier) else inner.schema_


def stack_report(inner: Any) -> Any:
    """What a stack says of its members; None, if the model is no stack."""
    return inner.report_ if isinstance(inner, AutoClassifier) else None
