"""Estimators that learn from statistics of the rows: in memory, in batches, or from any source.

`fit`, `partial_fit`, `fit_statistics` and `fit_source` take the same steps: the options become a plan, the plan names
the statistics to gather, and makes a model of them. If an option is left to cross-validation, the plan is first tuned
on statistics by fold.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from classwise import limits
from classwise.arrays import Array
from classwise.classifier.bayes import Calibration
from classwise.classifier.plan import Fit, Plan
from classwise.engines import BLAS, Rows, open_rows
from classwise.errors import ClasswiseError, at_least, choose, whole
from classwise.estimators.answers import check_columns, read_seed
from classwise.estimators.generative import TIES, GenerativeAnswers
from classwise.estimators.unavailable import NO_BATCHES
from classwise.rows.codes import code_labels
from classwise.rows.sources import open_source, required
from classwise.selection.crossing import Crossing
from classwise.selection.leave_one_out import LeavingOut
from classwise.selection.tuning import Tuning, fit_temperature, tune
from classwise.statistics import ClassStatistics, DiagonalScatter
from classwise.statistics.summaries import MISSING
from classwise.storage import stored

# The values of an option that leave its choice to held-out rows.
OPEN = {
    "structure": ("cv",),
    "share": ("cv",),
    "shrink": ("cv",),
    "prior": ("cv", "loo"),
    "threshold": ("cv",),
    "smoothing": ("cv",),
}
CALIBRATIONS = {None: False, "temperature": True}


class SummaryEstimator(GenerativeAnswers):
    """A scikit-learn classifier that gathers statistics of the rows and makes a Bayes classifier of them.

    A subclass reads its options into a plan. Some of them may be left to cross-validation:

    folds: a number of stratified folds, the fold of each row, or a scikit-learn splitter.
    calibrate: "temperature" raises posteriors to the power that fits held-out rows best.
    """

    _unavailable = NO_BATCHES

    calibrate: str | None = None
    folds: Any = 10

    # Whether statistics are sums over rows: those outside a fold are then those of all rows minus those of the fold.
    _crosses: ClassVar[bool] = True
    _choices = ("dials_", "prior_choice_", "smoothing_choice_", "_structure_choice", "threshold_path_")
    _records = ("calibration_", *_choices)

    # What smoothing may be, beside a number.
    _smoothings: ClassVar[tuple[str, ...]] = ()

    def _open_choices(self) -> dict[str, Any]:
        """The options that are left to held-out rows, with their values."""
        given, left = self.__dict__, {}
        for name, words in OPEN.items():
            value = given.get(name)
            if isinstance(value, str) and value in words:
                left[name] = value
        if left and given.get("estimate") != "bayes":  # the prior is not used
            left.pop("prior", None)
        return left

    def _left_to_rows(self) -> dict[str, Any]:
        """The same, and calibrate."""
        return {**self._open_choices(), **({"calibrate": self.calibrate} if self.calibrate else {})}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,). A row of weight two counts twice, a row of weight zero not at all.

        X is an array or a pandas, polars or Arrow table; it may hold text, categories, booleans and missing values.
        Rows without a label are left out, with a warning that counts them. Options that are left to cross-validation
        are chosen by log loss, in another pass over the rows.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows to learn from.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        plan = self._plan()
        if not self._is_choosing:
            source = open_source(X, sparse=self._takes_sparse)
            table = source.read(plan.families, required(y), sample_weight, strict=plan.strict)
            statistics = plan.summarize(table)
            self._keep(plan.model(statistics), statistics)  # first the model: if this fails, the previous fit stays
            self._saw(X, y, sample_weight, len(table) * len(table.schema.columns))
            return self
        crossing = Crossing.read(
            X,
            required(y),
            self.folds,
            families=plan.families,
            weights=sample_weight,
            random_state=read_seed(self.random_state),
            strict=plan.strict,
            quartics=plan.needs_quartics,
            form=plan.form,
            sparse=self._takes_sparse,
        )
        return self._fit_crossing(plan, crossing)

    @available_if(lambda self: not self._is_choosing)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those of earlier batches; the result is the same as that of fitting all rows at once.

        A later batch may have new classes and levels. partial_fit is not available if an option is left to
        cross-validation, which needs all rows twice.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows to learn from.
        y : array of shape (n,)
            The labels of the rows.
        classes : sequence of labels, optional
            The labels that may occur; others are an error. A class without rows so far is in classes_, with a prior and
            posteriors of zero, but has no density.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        plan, source, known = self._plan(), open_source(X, sparse=self._takes_sparse), []
        before: ClassStatistics | None = getattr(self, "statistics_", None)
        if before is not None:
            check_columns(self, source)
            known = before.known_columns()
        table = source.read(plan.families, required(y), sample_weight, strict=plan.strict, known=known)
        batch = expecting(plan.summarize(table, before), classes)
        # The first batches may have one class, or too few rows for a covariance: the model is made on first use.
        self._keep(None, batch if before is None else before + batch)
        return self

    def fit_statistics(self, statistics: ClassStatistics) -> Self:
        """Fit to statistics from `summarize`, gathered here or elsewhere. Options that are left to cross-validation are
        an error, because they need the rows.

        Parameters
        ----------
        statistics : ClassStatistics
            What `summarize` returned, or a sum of such statistics.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        if self._is_choosing:
            left = self._left_to_rows()
            named = " and ".join(f"{name}={value!r}" for name, value in left.items())
            need = "needs" if len(left) == 1 else "need"
            raise ClasswiseError(f"{named} {need} the rows: call fit, or choose without them.")
        if not isinstance(statistics, ClassStatistics):
            raise ClasswiseError(f"fit_statistics takes what summarize returns, not {type(statistics).__name__}.")
        return self._learn(self._plan(), statistics)

    def fit_source(
        self, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Fit to a source of rows with flat memory: the same model as from a table of all rows.

        Parameters
        ----------
        source : path, pattern, query, table or stream
            As for `summarize` with a target: the path of a CSV, TSV, JSON, Parquet or Arrow file, a pattern, a
            query, a database table, a lazy frame, a stream of Arrow batches, or a DataFrame of Dask or Spark.
        target : str
            The column of labels.
        columns : sequence of str, optional
            The columns to learn from; by default all others.
        weights : str, optional
            The column of weights; by default all rows have weight one.

        Returns
        -------
        estimator
            The estimator itself, fitted.

        Notes
        -----
        Options that are left to cross-validation are chosen on all rows if they fit in memory, and else on a sample.
        """
        plan = self._plan()
        rows = open_rows(source, target=target, columns=columns, weights=weights, families=plan.families)
        return self._fit_rows(plan, rows)

    def _fit_rows(self, plan: Plan, rows: Rows) -> Self:
        """Fit in one pass, if no option is left to cross-validation."""
        if not self._is_choosing:
            return self._learn(plan, plan.gather(rows))
        fitted = self._fit_held(rows)
        if fitted is not None:
            return fitted
        rows.refuse_gone("fit_source with an option left to cross-validation")
        count, full = whole("folds", self.folds, 2), plan.form is not DiagonalScatter
        seed = read_seed(self.random_state)
        crossing = Crossing.read_rows(rows, count, plan.families, full, limits.SAMPLE_TO_CHOOSE_BY, seed)
        return self._fit_crossing(plan, crossing)

    def _fit_held(self, rows: Rows) -> Self | None:
        """Fit in memory if the rows fit there; else None."""
        held = rows.held()
        return None if held is None else self.fit(held.X, held.y, held.weights)

    def _saw(self, X: Any, y: Any, sample_weight: Any, values: int) -> None:
        """The model was fitted on these rows, of so many values."""

    def _learn(self, plan: Plan, statistics: ClassStatistics) -> Self:
        # First the model: if this fails, the previous fit stays.
        self._keep(plan.model(statistics), statistics)
        return self

    # Choosing -------------------------------------------------------------------------------------------------------

    @property
    def _is_choosing(self) -> bool:
        calibrated = self.calibrate is not None and choose("calibrate", self.calibrate, CALIBRATIONS)
        return calibrated or bool(self._open_choices())

    def _fit_crossing(self, plan: Plan, crossing: Crossing) -> Self:
        with BLAS.held(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all rows gives the warnings
            tuning = tune(plan, crossing)
            calibration = fit_temperature(tuning, crossing) if self.calibrate else None
        return self._adopt(self._tuned(tuning), calibration, crossing.statistics.total())

    def _tune(self, crossing: Crossing) -> "Tuned":
        """Choose all options that are left to cross-validation, except the temperature."""
        return self._tuned(tune(self._plan(), crossing))

    def _tuned(self, tuning: Tuning) -> "Tuned":
        """The choices as estimators with nothing left to choose."""
        choice = tuning.choice
        if choice is None:
            plain = self._with_options({})
            return Tuned(plain, (plain,) * len(tuning.by_fold), {})
        without = [choice.options(choice.best_without(fold)) for fold in range(len(tuning.by_fold))]
        by_fold = tuple(map(self._with_options, without))
        return Tuned(self._with_options(choice.options(choice.best)), by_fold, {choice.attribute: choice})

    def _with_options(self, options: dict[str, Any]) -> Self:
        own = {name: value for name, value in {**options, "calibrate": None}.items() if name in self.get_params()}
        chosen: Self = clone(self).set_params(**own)
        return chosen

    def _adopt(self, tuned: "Tuned", calibration: Calibration | None, statistics: ClassStatistics) -> Self:
        """Fit to statistics with the options that were chosen."""
        model = tuned.plain._plan().model(statistics)
        self._keep(model.with_classifier(model.classifier.calibrated(calibration)), statistics)
        for name, value in tuned.record.items():
            setattr(self, name, value)
        if calibration is not None:
            self.calibration_ = calibration
        return self

    def _settled_plan(self) -> Plan:
        plan = self._plan()
        for choice in (self.__dict__[name] for name in self._choices if name in self.__dict__):
            plan = choice.settled(plan, choice.best)
        return plan

    # Leaving rows out -----------------------------------------------------------------------------------------------

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, *, recount: bool = False) -> Array:
        """log P(k | x) of each row under the model fitted without that row, exactly; (n, g).

        X and y are the rows that the model was fitted on. Gaussians are not fitted again: a rank-one downdate leaves a
        row out. Other models are fitted from statistics without each row in turn; AODE, whose ranges depend on all
        rows, is fitted to the other rows. Options chosen by "cv" stay. A row without which the model cannot be fitted
        has -inf for every class, and a warning names it.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.
        recount : bool, default=False
            Whether to estimate the priors without the row too.

        Returns
        -------
        array of shape (n, g)
            The log posteriors of each row, from a model that has not seen it.

        Examples
        --------
        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> int((cw.QDA().fit(X, y).leave_one_out(X, y).argmax(axis=1) != y).sum())
        4
        """
        leaving, rows = self._leaving_out(X, y, sample_weight, recount)
        return leaving.log_posteriors(rows)

    def leave_one_out_evidence(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """log p(x) of each row under the model fitted without that row: low for outliers; (n,).

        As leave_one_out, with the priors of all rows. -inf if the model cannot be fitted without the row.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        array of shape (n,)
            The log evidence of each row.
        """
        leaving, rows = self._leaving_out(X, y, sample_weight, recount=False)
        return leaving.log_evidence(rows)

    def _leaving_out(self, X: Any, y: Any, sample_weight: Any, recount: bool) -> tuple[LeavingOut, Array]:
        """The rows of the model, prepared to be left out one by one, and as the model scores them (n, p)."""
        self._fitted()
        self._refuse_sparse("leave_one_out")
        source = open_source(X)
        check_columns(self, source)
        table = source.read_like(self.model_.schema, self.model_.levels, required(y), sample_weight)
        if table.weights is not None and not table.weights.all():
            raise ClasswiseError("Rows of weight zero, or without a label, were never in the model; drop them first.")
        assert table.labels is not None
        fit = Fit(self._settled_plan(), self.model_, self.statistics_)
        leaving = LeavingOut(fit, source, table.labels, self._codes_of(table), table.weights, recount)
        return leaving, np.asarray(table.rows, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error" and not self._plan().needs_quartics
        # Not the tag `categorical`, which scikit-learn reads as "all columns are codes".
        tags.input_tags.string = True
        return tags


def crosses(model: Any) -> TypeGuard[SummaryEstimator]:
    """Whether a model can be made of statistics by fold, so that cross-validation needs no further pass."""
    return isinstance(model, SummaryEstimator) and model._crosses


def read_common(model: Any) -> dict[str, Any]:
    """The options that models of all columns share, checked, as fields of a BlockPlan."""
    choose("ties", model.ties, TIES)
    left = isinstance(model.smoothing, str) and model.smoothing in model._smoothings  # to the rows
    return {
        "families": model.families,
        "priors": model.priors,
        "smoothing": model.smoothing if left else at_least("smoothing", model.smoothing, 0),
        "missing_is_level": model.missing == "level",
        "strict": not choose("missing", model.missing, MISSING),
        "rare": at_least("min_frequency", model.min_frequency, 0),
        "name": type(model).__name__,
    }


@stored("Tuned")
@dataclass(frozen=True, eq=False)
class Tuned:
    """A model with nothing left to choose. plain: chosen on all folds; by_fold: for each fold, chosen on the others;
    record: how it was chosen.
    """

    plain: SummaryEstimator
    by_fold: tuple[SummaryEstimator, ...]
    record: Mapping[str, Any]


def expecting(statistics: ClassStatistics, classes: Any) -> ClassStatistics:
    """The statistics with all classes that may occur; other labels are an error."""
    if classes is None:
        return statistics
    expected = code_labels(np.asarray(classes))[0]
    unexpected = [label for label in statistics.labels.tolist() if label not in expected.tolist()]
    if unexpected:
        raise ClasswiseError(f"y contains the label {unexpected[0]!r}, which is not among classes={list(classes)}.")
    return statistics.among(expected)
