"""Prediction sets as methods of models that are made of statistics: models without a fold need no rows to be fitted."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier, Model, score
from classwise.errors import ClasswiseError, fraction
from classwise.estimators.answers import check_columns, codes_among, read_seed
from classwise.estimators.summary import SummaryEstimator
from classwise.estimators.unavailable import NO_SETS, unavailable
from classwise.rows.device_rows import to_host
from classwise.rows.sources import Source, open_asked, open_source, required
from classwise.rows.table import Table
from classwise.selection.conformal import SetCalibration
from classwise.selection.crossing import Crossing
from classwise.statistics import ClassStatistics

# Means of the same rows differ by rounding alone: by less than this share of the largest.
SAME = 1e-6


class Remembered(NamedTuple):
    """The training rows where the caller has them: not copied, and never written to a file or a pickle."""

    X: Any
    y: Any
    weights: Any

    @classmethod
    def of(cls, X: Any, y: Any, weights: Any, values: int) -> "Remembered | None":
        """None where there are too many values to be kept alive by a model."""
        return cls(X, y, weights) if values <= limits.REMEMBERED_VALUES else None


class SetEstimator(SummaryEstimator):
    """A classifier of statistics that gives prediction sets: its models without a row are exact."""

    sets_: SetCalibration

    def calibrate_sets(self, X: Any, y: Any, sample_weight: Any = None, *, folds: Any = "auto") -> Self:
        """Learn what `prediction_sets` needs from the training rows; it is then saved with the model.

        Right after `fit`, `prediction_sets` does so by itself. Call this for a model that was loaded, or fitted from
        statistics, batches or a source, or before you save a model whose file is to give sets.

        Parameters
        ----------
        X : array or table of shape (n, p)
            The rows that the model was fitted on; others are an error.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.
        folds : int, array of shape (n,), splitter, "loo" or "auto", default="auto"
            A number of stratified folds, the fold of each row, a scikit-learn splitter, or "loo", which leaves out one
            row at a time, with up to 5,000 rows (jackknife+). "auto" is "loo" with up to 500 rows, and else 10. A file
            keeps a model for each fold.

        Returns
        -------
        estimator
            The estimator itself; its attribute `sets_` holds the scores.

        Examples
        --------
        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> m = cw.QDA().fit_statistics(cw.summarize(X, y)).calibrate_sets(X, y)
        >>> m.sets_, round(m.sets_.guarantee(0.9), 2)
        (SetCalibration(jackknife+, 150 rows, a fold for each), 0.8)
        """
        self._refuse_sparse("calibrate_sets")
        self.sets_ = self._calibrated(Remembered(X, y, sample_weight), folds)
        return self

    def prediction_sets(self, X: Any, coverage: float = 0.9, *, per_class: bool = False) -> NDArray[np.bool_]:
        """The classes that each row may belong to: sets that hold the true class about as often as you ask; (n, g).

        A class is in the set if the row suits it no worse than most training rows suit their own class, each by a model
        that has not seen it. No model is fitted to rows again: all are made of statistics. For exchangeable rows of any
        distribution, a set holds the true class with a probability of at least 1 - 2 (1 - coverage), and in practice
        close to the coverage; `sets_.guarantee(coverage)` is the exact bound.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        coverage : float, default=0.9
            How often a set should hold the true class.
        per_class : bool, default=False
            Whether each class by itself should have this coverage. A class with fewer than
            coverage / (1 - coverage) rows is then in every set.

        Returns
        -------
        array of bool of shape (n, g)
            Whether each class is in the set of each row, in the order of `classes_`. No set is empty: where no class
            is left, the most probable one is.

        Notes
        -----
        It needs the training rows once. A model remembers where they are after `fit`, if they hold no more than two
        million values; else call `calibrate_sets`. A model whose options were chosen on all rows, by "cv" or by
        calibrate, has no exact model without a row, and is an error.

        Examples
        --------
        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> m = cw.LDA().fit(X[::2], y[::2])
        >>> sets = m.prediction_sets(X[1::2], coverage=0.98)
        >>> round(float(sets[range(75), y[1::2]].mean()), 3), round(float(sets.sum(axis=1).mean()), 3)
        (0.987, 1.147)
        """
        wanted = _read_coverage(coverage)
        self._refuse_sparse("prediction_sets")
        source = open_asked(to_host(X), self.model_.schema.names)
        check_columns(self, source)
        sets = self._sets().sets(_ModelPosteriors(source, self._strict, self._pseudo_rows), wanted, bool(per_class)).T
        empty = np.flatnonzero(~sets.any(axis=1))
        if len(empty):
            likely = codes_among(self.classes_, np.asarray(self.predict(X))[empty])
            sets[empty, likely] = True
        return sets

    def _sets(self) -> SetCalibration:
        """What was learned of the training rows; now, if it was not before."""
        self._refuse_inexact()
        kept: SetCalibration | None = self.__dict__.get("sets_") or self.__dict__.get("_own_sets")
        if kept is None:
            rows: Remembered | None = self.__dict__.get("_rows")
            if rows is None:
                raise ClasswiseError(
                    "Prediction sets need the training rows once more, and the model does not have them: it was "
                    "loaded, or fitted from statistics, batches, a source or a large table; call "
                    "calibrate_sets(X, y) with the rows that it was fitted on."
                )
            kept = self._calibrated(rows, "auto")
            self._remember(_own_sets=kept, _rows=None)
        return kept

    def _calibrated(self, rows: Remembered, folds: Any) -> SetCalibration:
        self._fitted()
        self._refuse_inexact()
        plan, source = self._settled_plan(), open_source(to_host(rows.X))
        check_columns(self, source)
        options: dict[str, Any] = {"strict": plan.strict, "quartics": plan.needs_quartics, "form": plan.form}
        crossing = Crossing.read(
            to_host(rows.X),
            required(to_host(rows.y)),
            _read_folds(folds, len(source.values)),
            families=plan.families,
            weights=rows.weights,
            random_state=read_seed(self.random_state),
            **options,
        )
        refuse_other_rows(crossing.statistics.total(), self.statistics_)
        return SetCalibration.of(plan, crossing)

    def _refuse_inexact(self) -> None:
        """Refuse models of which there is no exact one without a row."""
        left = self._left_to_rows()
        if left:
            named = " and ".join(f"{name}={value!r}" for name, value in left.items())
            raise ClasswiseError(
                f"{named} was chosen on all rows, so that no model without a row is exact, and prediction sets would "
                "have no guarantee; give the options as numbers, and no calibrate."
            )

    # Rows that a model remembers are no part of it: files, copies and pickles do not have them ------------------------

    def _saw(self, X: Any, y: Any, sample_weight: Any, values: int) -> None:
        self._remember(_rows=Remembered.of(X, y, sample_weight, values))

    def _remember(self, **known: Any) -> None:
        """Keep something for as long as this object lives. It is not declared, so that no file has it."""
        self.__dict__.update(known)

    def _keep(self, model: Model | None, statistics: ClassStatistics) -> None:
        for name in ("sets_", "_own_sets", "_rows"):
            self.__dict__.pop(name, None)
        super()._keep(model, statistics)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_rows"}


class _ModelPosteriors:
    """The log posteriors of rows under one model after another, read anew where levels differ."""

    def __init__(self, source: Source, strict: bool, smoothing: float) -> None:
        self.source = source
        self.options: dict[str, Any] = {"strict": strict, "smoothing": smoothing}
        self._read: tuple[Model, Table] | None = None

    def __call__(self, model: Model) -> Array:
        """(g, m)."""
        table = self._table(model)
        return np.asarray(to_host(score(BayesClassifier.log_posterior, model.classifier, table, **self.options)))

    def _table(self, model: Model) -> Table:
        if self._read is None or not _reads_alike(self._read[0], model):
            self._read = model, self.source.read_like(model.schema, model.levels)
        return self._read[1]


def _reads_alike(first: Model, second: Model) -> bool:
    families = [column.family for column in first.schema] == [column.family for column in second.schema]
    return families and all(np.array_equal(levels, second.levels[j]) for j, levels in first.levels.items())


def refuse_other_rows(statistics: ClassStatistics, known: ClassStatistics) -> None:
    """Raise an error if rows are not those that a model was fitted on, by their statistics."""
    same = statistics.labels.tolist() == known.labels.tolist() and np.allclose(statistics.weight, known.weight)
    if same and known.parts:
        ours, theirs = statistics.mean, known.mean
        same = ours.shape == theirs.shape and bool(
            np.allclose(ours, theirs, rtol=SAME, atol=SAME * np.nanmax(np.abs(theirs), initial=0.0), equal_nan=True)
        )
    if not same:
        raise ClasswiseError(
            "These are not the rows that the model was fitted on, or they have changed since: prediction sets take the "
            "training rows; fit again, or call calibrate_sets(X, y) with them."
        )


def _read_coverage(coverage: Any) -> float:
    wanted = fraction("coverage", coverage)
    if wanted in (0, 1):
        raise ClasswiseError(f"coverage={coverage!r} is not an option; give a share between 0 and 1, such as 0.9.")
    return wanted


def _read_folds(folds: Any, rows: int) -> Any:
    if not isinstance(folds, str) or folds not in ("auto", "loo"):
        return folds
    if folds == "auto" and rows > limits.JACKKNIFE_ROWS:
        return limits.SET_FOLDS
    if rows > limits.MOST_JACKKNIFE:
        raise ClasswiseError(
            f"folds='loo' keeps a model for each of {rows:,} rows, and {limits.MOST_JACKKNIFE:,} are the most; give "
            "folds=10."
        )
    return np.arange(rows)


def prepare_sets(model: Any) -> None:
    """Learn what prediction sets need now, where the training rows are; an error if the model has no such sets."""
    if not isinstance(model, SetEstimator):
        raise unavailable(model, "prediction_sets", NO_SETS)
    model._sets()
