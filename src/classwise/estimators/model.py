"""A fitted model: the classifier, and what each column was taken for."""

from dataclasses import dataclass, replace

from classwise.arrays import Array, Labels
from classwise.classifier import BayesClassifier
from classwise.covariance import Completion
from classwise.estimators.report import ColumnReport, SchemaReport
from classwise.schema import Schema


@dataclass(frozen=True, eq=False)
class Model:
    """levels: of each column that has some; missing (p,): the share without a value; notes: what to know of a column;
    completion: how rows with gaps were learned from; log_evidence: the marginal likelihood of the rows, if it is known.
    """

    classifier: BayesClassifier
    schema: Schema
    levels: dict[int, Labels]
    missing: Array
    notes: dict[int, str]
    completion: Completion | None
    log_evidence: float | None

    def with_classifier(self, classifier: BayesClassifier) -> "Model":
        return replace(self, classifier=classifier)

    def report(self) -> SchemaReport:
        """What each column was taken for."""
        return SchemaReport(
            ColumnReport(
                name=j if column.name is None else column.name,
                type=column.type,
                kind=column.family.kind,
                family=str(column.family),
                levels=len(self.levels[j]) if j in self.levels else None,
                missing=float(self.missing[j]),
                note=self.notes.get(j, ""),
            )
            for j, column in enumerate(self.schema)
        )
