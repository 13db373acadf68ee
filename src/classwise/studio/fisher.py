"""A Gaussian model in the plane of Fisher's directions: z = D'(x - center) is Gaussian, too, within each class.

    z | k ~ N(D'(m_k - center), D'C_k D),   and a Student-t stays one of the same freedom

The directions are those of LDA, which separate the class means best. All that lies across them is integrated out.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.classifier.bayes import BayesClassifier, Model
from classwise.classifier.functions import FisherProjection
from classwise.covariance import FullCovariance
from classwise.densities import Gaussian, Student
from classwise.errors import ClasswiseError, SingularCovarianceError
from classwise.estimators import LDA, GaussianClassifier
from classwise.rows.schema import Schema
from classwise.statistics import ClassStatistics
from classwise.studio.quiet import quiet


@dataclass(frozen=True, eq=False)
class FisherModel:
    """A fitted model of the coordinates z alone; it has what a view needs of an estimator."""

    model_: Model

    missing = "integrate"

    @property
    def classifier_(self) -> BayesClassifier:
        return self.model_.classifier

    @property
    def classes_(self) -> Labels:
        return self.classifier_.labels

    @property
    def priors_(self) -> Array:
        return self.classifier_.priors

    @property
    def n_features_in_(self) -> int:
        return len(self.model_.schema)

    @property
    def feature_names_in_(self) -> Labels:
        return np.array(self.model_.schema.names)


@dataclass(frozen=True, eq=False)
class FisherPlane:
    """The first two of Fisher's directions, or the only one. columns: positions of those that they combine."""

    projection: FisherProjection
    columns: list[int]

    @classmethod
    def of(cls, statistics: ClassStatistics) -> "FisherPlane":
        """The directions of LDA; where its covariance is singular, of one that is shrunk a little."""
        with quiet():
            try:
                model = LDA().fit_statistics(statistics)
            except SingularCovarianceError:
                model = LDA(shrink=0.05, standardize=True).fit_statistics(statistics)
        columns = [int(block.columns[i]) for block in _joint(model) for i in range(len(block.columns))]
        return cls(model.projection_.first(2), columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What axes call the directions."""
        shares = self.projection.ratios[: self.projection.directions.shape[1]]
        return tuple(f"Fisher's direction {i + 1} ({100 * share:.3g} %)" for i, share in enumerate(shares))

    def points(self, rows: Array) -> Array:
        """Rows of a model (m, p) in the plane, NaN where a number is missing; (m, r)."""
        numbers = rows[:, self.columns]
        there = np.isfinite(numbers).all(axis=1)
        points = np.full((len(rows), len(self.names)), np.nan)
        points[there] = self.projection(numbers[there])
        return points

    def model(self, model: Any) -> FisherModel:
        """What a Gaussian model of all columns says of the plane."""
        if not isinstance(model, GaussianClassifier):
            raise ClasswiseError(
                f"{type(model).__name__} is not a Gaussian of all numbers, and has no picture in Fisher's plane; "
                "choose two columns."
            )
        (block,) = _joint(model)
        density, turned = block.density, self.projection.directions
        if [int(j) for j in block.columns] != self.columns:
            raise ClasswiseError("This model leaves out other columns than LDA; choose two columns instead.")
        means = (density.means - self.projection.center) @ turned
        matrices = FullCovariance(np.einsum("pa,gpq,qb->gab", turned, density.matrices(), turned))
        ones = np.ones(len(means))
        flat: Any = Gaussian(means, matrices)
        if isinstance(density, Student):
            flat = Student(means, matrices, ones, np.array(density.freedom))
        classifier = BayesClassifier(model.classes_, model.priors_, flat, model.classifier_.calibration)
        schema = Schema.of_numbers(len(self.names), names=self.names)
        return FisherModel(Model(classifier, schema, {}, np.zeros(len(self.names)), {}, None, None))


def _joint(model: Any) -> list[Any]:
    """The block of numbers that are modeled together, as a list of one."""
    blocks = [b for b in model.classifier_.density.as_blocks() if isinstance(b.density.of_values(), Gaussian | Student)]
    if not blocks:
        raise ClasswiseError("Fisher's directions combine numbers by one joint Gaussian, and this model has none.")
    return blocks
