"""Models with one Gaussian per class, as polynomials and as distances."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes, finite, spread
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.boundary import (
    Boundary,
    Discriminant,
    Section,
    boundary,
    column_names,
    discriminant,
    read_section,
)
from classwise.densities import (
    Block,
    Constant,
    Copies,
    Gaussian,
    IndependentStudent,
    Observed,
    Student,
    Unseen,
)
from classwise.errors import ClasswiseError, NotAvailableError
from classwise.estimators.generative import GenerativeAnswers


class DiscriminantAnswers(GenerativeAnswers):
    """Discriminant functions, boundaries and distances of models of numbers alone.

    Columns that were left out, because they are constant, empty or copies of others, do not take part.
    """

    estimate: str

    @property
    def _is_bayes(self) -> bool:
        return isinstance(self.estimate, str) and self.estimate == "bayes"

    @property
    def gaussian_(self) -> Gaussian:
        """The Gaussians of the columns of numbers: means and covariances, or location and shape of a Student-t."""
        density = self._numbers_block()[1]
        return density if isinstance(density, Gaussian) else Gaussian(density.means, density.covariance)

    @property
    def means_(self) -> Array:
        """The mean of each class in the Gaussian columns, or the location of its Student-t; (g, p)."""
        return self.gaussian_.means

    @property
    def covariances_(self) -> Array:
        """The covariance matrix of each class, or the shape of its Student-t; (g, p, p), read-only where shared."""
        return self._numbers_block()[1].matrices()

    def _blocks(self) -> tuple[Block, ...]:
        density = self.classifier_.density
        if isinstance(density, Unseen):
            raise NotAvailableError("Some classes have no rows yet, and no density: see statistics_.weight.")
        return density.as_blocks()

    def _numbers_block(self) -> tuple[Codes, Gaussian | Student | IndependentStudent]:
        """The Gaussian columns that were not left out, and their densities."""
        for block in self._blocks():
            numbers = block.density.of_values()
            if isinstance(numbers, Gaussian | Student | IndependentStudent):
                return block.columns, numbers
        raise NotAvailableError("This model has no Gaussian: none of its columns is a number that varies.")

    def _is_gaussian_alone(self) -> bool:
        """Whether the classes are Gaussians, and all other columns are numbers that were left out."""
        return self._is_of_numbers_alone() and isinstance(self._numbers_block()[1], Gaussian)

    def _is_of_numbers_alone(self) -> bool:
        """Whether all columns are Gaussian, Student-t, or numbers that were left out."""
        kinds = {type(block.density) for block in self._blocks()} - {Constant, Copies}
        return bool(kinds) and kinds <= {Gaussian, Student, IndependentStudent} and not self.model_.levels

    def _in_all_columns(self, values: Array) -> Array:
        """Values of the columns in use (..., p'), with zeros for the columns that were left out; (..., p)."""
        return spread(values.T, self._numbers_block()[0], len(self.model_.schema)).T

    def _with_constants(self, values: Array) -> Array:
        """The same, with the value of each constant column, and NaN for empty columns."""
        whole = self._in_all_columns(values)
        for block in self._blocks():
            if isinstance(block.density, Constant):
                whole[..., block.columns] = block.density.values
        return whole

    def discriminant(self, label: Any, *, columns: Any = None, at: Mapping[Any, float] | None = None) -> Discriminant:
        """g_k(x) = x'A x + b'x + c: the log joint of a class, up to a constant that all classes share.

        For a calibrated model it is multiplied by the power, plus a shift: the log posterior, up to a shared term.

        Parameters
        ----------
        label : label
            The class.
        columns : sequence of columns, optional
            As for `boundary`.
        at : mapping from column to value, optional
            As for `boundary`.

        Returns
        -------
        Discriminant
            The function, with its coefficients.
        """
        section = read_section(self.model_.schema, columns, at)
        return self._discriminant(label, section).slice(section.at)

    def boundary(
        self, first: Any, second: Any, *, columns: Any = None, at: Mapping[Any, float] | None = None
    ) -> Boundary:
        """f(x) = x'W x + w'x + w0, the log odds: positive where `first` is more probable than `second`.

        Parameters
        ----------
        first : label
            The class for which the function is positive.
        second : label
            The class for which it is negative.
        columns : sequence of columns, optional
            Draw the boundary in these columns, by name or position; the others are integrated out.
        at : mapping from column to value, optional
            {column: value} holds columns at a value; the boundary is in the remaining ones.

        Returns
        -------
        Boundary
            The function, with its coefficients, kind and points.

        Examples
        --------
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

        If class k is Gaussian, the distances of its rows are chi-square with p degrees of freedom. For a row with gaps
        the distance uses the present values, and has as many degrees of freedom.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n, g)
            The squared distance of each row from each class.

        Examples
        --------
        >>> import classwise as cw
        >>> m = cw.NearestMean().fit([[0, 1], [0, 3], [6, 1], [6, 3]], ["a", "a", "b", "b"])
        >>> m.distances([[3, 2], [3, float("nan")]])
        array([[18., 18.],
               [18., 18.]])
        """
        self._refuse_distances()
        exponents = partial(_exponents, self.gaussian_, self._numbers_block()[0])
        return -2 * self._apply(exponents, self._table(X)).T

    def _refuse_distances(self) -> None:
        if self._is_bayes or not self._is_gaussian_alone():
            raise ClasswiseError(
                "Distances are between rows of numbers and Gaussian classes: they take a model without other columns, "
                "and estimate='mle' or 'unbiased'."
            )

    def _discriminant(self, label: Any, section: Section) -> Discriminant:
        """The discriminant function of a class in the columns of a section."""
        self._refuse_beside("A discriminant function")
        k, calibration = self._position(label), self.classifier_.calibration
        names = column_names(self.model_.schema, section.kept)
        log_prior = float(self.classifier_.log_prior[k, 0])
        columns = self._numbers_block()[0].tolist()
        seen = [i for i, j in enumerate(section.kept) if j in columns]
        if not seen:
            raise ClasswiseError(f"The model has left out {names[0]!r}, which says nothing; see schema_.")
        marginal = self.gaussian_.marginal([columns.index(section.kept[i]) for i in seen])
        g = discriminant(marginal, k, log_prior, tuple(names[i] for i in seen)).among(names, seen)
        return g if calibration is None else g.calibrated(calibration, k)

    def _refuse_beside(self, what: str) -> None:
        """Raise an error unless the classes are Gaussians of numbers alone, which have polynomials."""
        if self._is_bayes:
            raise ClasswiseError(
                f"{what} is a polynomial for Gaussians, and with estimate='bayes' classes are Student-t."
            )
        if not self._is_gaussian_alone():
            raise ClasswiseError(
                f"{what} is a polynomial in numbers, and this model has other columns too. Fit a model of columns of "
                "numbers alone; see schema_."
            )


def _exponents(gaussian: Gaussian, columns: Codes, model: BayesClassifier, rows: Array) -> Array:
    """-1/2 the squared distances of the present values; (m, p) -> (g, m)."""
    numbers = rows if len(columns) == rows.shape[1] else rows[:, columns]
    if isinstance(model.density, Observed):
        return gaussian.observed_exponents(numbers)
    return finite(gaussian.exponents(numbers))
