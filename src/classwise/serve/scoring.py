"""From checked rows to labels and posteriors: the model is asked just as Python would ask it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.auto import AutoClassifier
from classwise.errors import ClasswiseError
from classwise.estimators import Decision, model_within
from classwise.explanation import Explanation
from classwise.schema import Family
from classwise.serve.columns import LevelColumn
from classwise.serve.problems import Problem, as_json, shown
from classwise.serve.reading import Options
from classwise.serve.rows import RowReader, Rows, listed
from classwise.serve.work import Deadline
from classwise.tables.checks import RANGES

# Large requests are scored in parts of so many rows, and given up between two of them if time is up.
PART = 100_000

# Posteriors that are closer may be a tie, which the model itself breaks.
CLEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Answer:
    """labels (n,) and posteriors (n, g); None for what was not asked."""

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
    def reader(self) -> RowReader:
        """Reads rows for this model."""
        if isinstance(self.inner, AutoClassifier):
            _refuse_given(self.inner)
            return RowReader.of(self.inner._schema, self.inner._levels, True, True)
        model = self.inner.model_
        allow_missing = getattr(self.inner, "missing", "error") != "error"
        return RowReader.of(model.schema, model.levels, allow_missing, getattr(self.inner, "smoothing", 1.0) > 0)

    def answer(self, rows: Rows, options: Options, deadline: Deadline) -> Answer:
        """Labels and posteriors of rows."""
        model = self._asked(options)
        parts = []
        for start in range(0, len(rows), PART):
            deadline.check()
            parts.append(self._score(model, rows.part(start, start + PART), options.output, start))
        if len(parts) == 1:
            return parts[0]
        labels = None if parts[0].labels is None else np.concatenate([part.labels for part in parts])
        posteriors = None if parts[0].posteriors is None else np.concatenate([part.posteriors for part in parts])
        return Answer(labels, posteriors)

    def explain(self, rows: Rows, label: Any, against: Any) -> Explanation:
        """Why one row is taken for one label rather than another."""
        if not hasattr(self.inner, "explain"):
            raise Problem(422, f"A {type(self.inner).__name__} does not explain its answers.")
        first, second = self._known(label), self._known(against)
        if first is not None and first == second:
            raise Problem(422, f"label and against are both {shown(label)}; give two different ones.")
        try:
            return self.inner.explain(rows.source, first, second)
        except ClasswiseError as problem:
            raise Problem(422, str(problem), 0) from None

    # ----------------------------------------------------------------------------------------------------------------

    def _score(self, model: Any, rows: Rows, output: str, start: int) -> Answer:
        try:
            posteriors = model.predict_proba(rows.source) if output != "label" else None
            return Answer(self._labels(model, rows, posteriors) if output != "posteriors" else None, posteriors)
        except ClasswiseError as problem:
            row = first_failing(lambda part: model.predict_proba(part.source), rows) + start
            raise Problem(422, f"Row {row}: {problem}", row) from None

    def _labels(self, model: Any, rows: Rows, posteriors: Array | None) -> Labels:
        """What the model announces. If the posteriors of a lone row leave no doubt, it need not be asked again: that
        is half the time of a small request.
        """
        if len(rows) == 1 and posteriors is not None and not isinstance(model, Decision):
            (row,) = posteriors.tolist()
            best = max(row)
            if sum(best - posterior < CLEAR for posterior in row) == 1:
                return model.classes_[[row.index(best)]]
        return model.predict(rows.source)

    def _asked(self, options: Options) -> Any:
        """The model under the priors and with the reserve that were asked for."""
        model = self.estimator
        if (options.priors is not None or options.reject is not None) and isinstance(model, Decision):
            raise Problem(422, "This model decides by costs of its own; priors and reject are not for it.")
        if options.priors is not None:
            model = self._with_priors(options.priors)
        return model if options.reject is None else _reserved(model, options.reject)

    def _with_priors(self, priors: Any) -> Any:
        if not hasattr(self.inner, "with_priors"):
            raise Problem(422, f"A {type(self.inner).__name__} has no class priors that could be others; leave priors.")
        try:
            return self.inner.with_priors(self._read_priors(priors))
        except ClasswiseError as problem:
            raise Problem(422, str(problem)) from None

    def _read_priors(self, priors: Any) -> Any:
        if priors == "uniform":
            return priors
        if not isinstance(priors, dict):
            raise Problem(422, f"priors={shown(priors)} is not an option; give 'uniform' or an object of priors.")
        for name, prior in priors.items():
            self._by_name(name)
            if type(prior) not in (int, float) or not 0 <= prior <= 1:
                raise Problem(422, f"The prior of {shown(name)} is {shown(prior)}; give a number from 0 to 1.")
        return {self._by_name(name): prior for name, prior in priors.items()}

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
        pairs = zip(self.reader.columns, self._drawn().tolist(), strict=True)
        return [
            _level(column, code) if isinstance(column, LevelColumn) else _brief(within(code, column.column.family))
            for column, code in pairs
        ]

    def _drawn(self) -> Array:
        """A row with codes for levels; (p,)."""
        generator = np.random.default_rng(0)
        if isinstance(self.inner, AutoClassifier):
            able = [trained for trained in self.inner._used().values() if trained.can_sample]
            return (
                able[0].sample(np.zeros(1, dtype=np.intp), generator)[0] if able else np.zeros(len(self.reader.columns))
            )
        if hasattr(self.inner, "sample"):
            return np.asarray(self.inner.classifier_.sample(1, generator)[0][0])
        return np.zeros(len(self.reader.columns))


def _refuse_given(stack: AutoClassifier) -> None:
    given = [name for name, trained in stack._used().items() if not trained.sees_rows]
    if given:
        raise ClasswiseError(
            f"The member {given[0]!r} is a classifier of your own, which sees rows as they came, and a server has them "
            "in another form; fit an AutoClassifier of named members."
        )


def within(number: float, family: Family) -> float:
    """The nearest number that a family can take: a stack draws counts as any other numbers.

    >>> within(-0.4, Family("poisson")), within(9.2, Family("binomial", 5)), within(-2.0, Family("gaussian"))
    (0.0, 5.0, -2.0)
    """
    if np.isnan(number) or family.name not in RANGES:
        return number
    if family.name == "lognormal":
        return abs(number) or 1.0
    return float(min(max(round(number), 0), family.trials or np.inf))


def _reserved(model: Any, least: float) -> Any:
    return Decision(model, reject={"posterior": least}, reject_label=None)


def first_failing(score: Callable[[Rows], Any], rows: Rows) -> int:
    """The first row that cannot be scored, by halving."""
    low, high = 0, len(rows)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            score(rows.part(low, middle))
            low = middle
        except ClasswiseError:
            high = middle
    return low


def _level(column: LevelColumn, code: float) -> Any:
    levels = column.levels.tolist()
    return levels[int(code)] if 0 <= code < len(levels) else levels[0] if levels else None


def _brief(number: float) -> float | int | None:
    """A number of six digits, whole where it can be."""
    if np.isnan(number):
        return None
    short = float(f"{number:.6g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short
