"""Models that are one Gaussian for each class, seen as polynomials and as distances."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from classwise.arrays import Array, finite
from classwise.classifier import BayesClassifier
from classwise.densities import Gaussian, Observed
from classwise.discriminant import Boundary, Discriminant, Section, boundary, column_names, discriminant, read_section
from classwise.errors import ClasswiseError
from classwise.estimators.fitted import Fitted


class Discriminating(Fitted):
    """Discriminant functions, boundaries and distances of a model of numbers alone."""

    @property
    @abstractmethod
    def gaussian_(self) -> Gaussian:
        """The densities of the Gaussian columns: means and covariance; of Student-t densities, location and scale."""

    def discriminant(self, label: Any, *, columns: Any = None, at: Mapping[Any, float] | None = None) -> Discriminant:
        """g_k(x) = x'A x + b'x + c: the log joint of a class, up to a constant that all classes share.

        Of a calibrated model, the power times that and the shift: the log posterior, up to a term that classes share.

        columns, at: as for `boundary`.
        """
        section = read_section(self.model_.schema, columns, at)
        return self._discriminant(label, section).slice(section.at)

    def boundary(
        self, first: Any, second: Any, *, columns: Any = None, at: Mapping[Any, float] | None = None
    ) -> Boundary:
        """f(x) = x'W x + w'x + w0, the log odds: positive where `first` is more probable than `second`.

        columns: the boundary in these columns alone, by name or position, with the others integrated out.
        at: {column: value}; the boundary in the other columns, where these are held at a value.

        >>> import classwise as cw
        >>> X = [[-1, -1], [-1, 1], [2, 0], [3, 0]]
        >>> edge = cw.GaussianClassifier(share="average").fit(X, [-1, -1, 1, 1]).boundary(1, -1)
        >>> edge.w, round(edge.w0, 12)
        (array([28.,  0.]), -21.0)
        >>> edge, edge.kind
        (28 x0 - 21 = 0, 'line')
        """
        section = read_section(self.model_.schema, columns, at)
        edge = boundary(self._discriminant(first, section), self._discriminant(second, section))
        if np.isnan(edge.constant):
            raise ClasswiseError(f"Classes {first!r} and {second!r} both have a prior of zero: there is no boundary.")
        return edge.slice(section.at)

    def distances(self, X: Any) -> Array:
        """Squared Mahalanobis distances (x - m_k)' C_k^-1 (x - m_k); (n, g).

        Of rows of class k they are chi-square with p degrees of freedom, if the class is Gaussian. Of a row with gaps,
        those of the values that are there: chi-square with as many degrees of freedom as there are values.

        >>> import classwise as cw
        >>> m = cw.NearestMean().fit([[0, 1], [0, 3], [6, 1], [6, 3]], ["a", "a", "b", "b"])
        >>> m.distances([[3, 2], [3, float("nan")]])
        array([[18., 18.],
               [18., 18.]])
        """
        if self._is_bayes or not isinstance(self.classifier_.density, Gaussian):
            raise ClasswiseError(
                "Distances are between rows of numbers and Gaussian classes: they take a model without other columns, "
                "and estimate='mle' or 'unbiased'."
            )
        return -2 * self._apply(_exponents, self._table(X)).T

    def _discriminant(self, label: Any, section: Section) -> Discriminant:
        """In the columns that the section keeps."""
        self._refuse_beside("A discriminant function")
        k, calibration = self._position(label), self.classifier_.calibration
        names = column_names(self.model_.schema, section.kept)
        log_prior = float(self.classifier_.log_prior[k, 0])
        g = discriminant(self.gaussian_.marginal(section.kept), k, log_prior, names)
        return g if calibration is None else g.calibrated(calibration, k)

    def _refuse_beside(self, what: str) -> None:
        """Polynomials are for Gaussians alone."""
        if self._is_bayes:
            raise ClasswiseError(
                f"{what} is a polynomial for Gaussians, and with estimate='bayes' classes are Student-t."
            )
        if not isinstance(self.classifier_.density, Gaussian):
            raise ClasswiseError(
                f"{what} is a polynomial in numbers, and this model has other columns too: see schema_."
            )


def _exponents(model: BayesClassifier, rows: Array) -> Array:
    """-1/2 the squared distances of the values that are there; (m, p) -> (g, m)."""
    density = model.density.whole if isinstance(model.density, Observed) else model.density
    assert isinstance(density, Gaussian)
    if density is model.density:
        return finite(density.exponents(rows))
    return density.observed_exponents(rows)
