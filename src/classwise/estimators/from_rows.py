"""Estimators that learn from rows, which they go through many times: statistics of the rows do not suffice."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from classwise import limits
from classwise.classifier.plan import BlockPlan
from classwise.covariance import DiagonalCovariance
from classwise.densities.numbers import NumbersFit, believe
from classwise.engines import open_rows
from classwise.errors import NotAvailableError
from classwise.estimators.generative import GenerativeAnswers
from classwise.estimators.unavailable import many_passes
from classwise.rows.sources import open_source, required
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics, FullScatter, PooledScatter, Scatter


class RowsEstimator(GenerativeAnswers):
    """A scikit-learn classifier whose columns of numbers have a density that is learned from the rows themselves.

    A subclass says how (`_numbers_of`), and keeps a record of it: fitted attributes, with their values.
    """

    _fitted_by = ("statistics_", "fit")
    _unavailable = many_passes("EM")

    @abstractmethod
    def _plan(self) -> BlockPlan: ...

    @abstractmethod
    def _numbers_of(self, numbers: ClassStatistics, table: Table, record: dict[str, Any]) -> NumbersFit:
        """The density of the columns of numbers; how it was found is kept in the record."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,). A row of weight two counts twice, a row of weight zero not at all.

        X is an array or a pandas, polars or Arrow table; it may hold text, categories, booleans and missing values. The
        columns of numbers are copied once, and gone through many times.

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
        table = open_source(X).read(plan.families, required(y), sample_weight, strict=plan.strict).weighted()
        statistics = plan.summarize(table)
        record: dict[str, Any] = {"em_": None}
        model = plan.model_with(statistics, lambda numbers: self._numbers_of(numbers, table, record))
        self._keep(model, statistics)
        for name, value in record.items():
            setattr(self, name, value)
        return self

    def fit_source(
        self, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Fit to a source of rows: to all of them if they fit in memory, and else to a sample.

        Parameters
        ----------
        source : path, pattern, query, table or stream
            Rows, as for the other estimators.
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
        """
        plan = self._plan()
        rows = open_rows(source, target=target, columns=columns, weights=weights, families=plan.families)
        held = rows.held()
        if held is not None:
            return self.fit(held.X, held.y, held.weights)
        rows.refuse_gone("fit_source")
        X, y, drawn = rows.sample(limits.MOST_HELD // len(rows.roles.needed), seed=0)
        return self.fit(X, y, drawn)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        # Not the tag `categorical`, which scikit-learn reads as "all columns are codes".
        tags.input_tags.string = True
        return tags


@dataclass(frozen=True)
class FromRows:
    """The plan of the columns of numbers. Their density needs the rows, for many passes, not statistics."""

    tied: bool
    keeps_constants: bool = False

    needs_quartics = False
    is_bayes = False

    @property
    def keeps_copies(self) -> bool:
        return self.keeps_constants

    @property
    def form(self) -> type[Scatter]:
        return PooledScatter if self.tied else FullScatter

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        raise NotAvailableError("This model is learned from rows: statistics of them do not suffice. Call fit.")

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return believe(statistics, DiagonalCovariance, False, "weak")

    def roughly(self) -> Self:
        return self

    def starting_at(self, start: Any) -> Self:
        return self

    def removal(self) -> None:
        return None
