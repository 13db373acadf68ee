"""A fitted model: the classifier, and what each column was taken for."""

from dataclasses import dataclass, replace

from classwise.arrays import Array, Codes, Labels
from classwise.classifier.bayes import BayesClassifier
from classwise.covariance import Completion
from classwise.densities import Block, Categorical, Constant, OneDependence
from classwise.rows.codes import is_sorted
from classwise.rows.schema import Schema
from classwise.statistics import ClassStatistics, Named
from classwise.storage import stored


@stored("Model")
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

    def _is_sound(self) -> bool:
        width, density = len(self.schema), self.classifier.density.of_seen_classes()
        shaped = density.n_features == width and self.missing.shape == (width,) and set(self.notes) <= set(range(width))
        known = set(self.levels) == set(self.schema.levels) and all(map(is_sorted, self.levels.values()))
        return shaped and known and all(map(self._is_of_its_columns, density.as_blocks()))

    def _is_of_its_columns(self, block: Block) -> bool:
        """Whether a block describes levels just where its columns have them, and the same levels."""
        levels = [self.levels[j] for j in block.columns.tolist() if j in self.levels]
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
