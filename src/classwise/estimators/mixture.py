"""Mixture discriminant analysis: each class is a mixture of a few Gaussians, so that it may be curved or clustered."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from classwise.arrays import Array, Codes
from classwise.classifier.bayes import Priors
from classwise.classifier.plan import BlockPlan
from classwise.covariance import (
    DECOMPOSITIONS,
    Decomposition,
    FullCovariance,
    NormalInverseWishart,
    in_letters,
    read_prior,
)
from classwise.densities import Mixture
from classwise.densities.em import (
    MOST_COMPONENTS,
    MOST_ITERATIONS,
    STARTS,
    TOLERANCE,
    Arranged,
    Ascent,
    ClassRows,
    ComponentChoice,
    ComponentSearch,
    PseudoRows,
    learn_by_bic,
    learn_mixture,
    learn_structured,
    numbers_of_components,
)
from classwise.densities.numbers import NumbersFit, complete_to_mode
from classwise.engines import BLAS
from classwise.errors import ClasswiseError, NotAvailableError, at_least
from classwise.estimators.answers import codes_among, read_generator
from classwise.estimators.from_rows import FromRows, RowsEstimator
from classwise.estimators.summary import read_common
from classwise.rows.schema import Families
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics
from classwise.storage import stored

COVARIANCES = {"tied": True, "class": False}


@stored("MixtureClassifier", kind="model")
class MixtureClassifier(RowsEstimator):
    """A mixture of Gaussians for each class: log p(x | k) = log sum over components c of share_c N(x | m_c, C).

    Parameters
    ----------
    components : int, mapping from label to int, or {"bic"}, default=3
        The number of components of each class, but at most one for every five rows (see components_); a number for
        each class; or "bic" to choose from 1 to 5 for each class by BIC.
    covariance : str, default="tied"
        "tied" for one covariance that all components of all classes share (Hastie and Tibshirani 1996),
        "class" for one that the components of a class share. Or what the components of a class share of volume, shape
        and orientation, as `structure` of GaussianClassifier: "VEV", "own volume, shared shape, own orientation"; or
        "bic" to choose it for each class by BIC (MclustDA of Fraley and Raftery 2002). These take rows without gaps.
    prior : {"weak"} or NormalInverseWishart, default="weak"
        The prior of means and covariances, which keeps components from collapsing to a point: "weak" (a weak prior in
        the units of the data), or a NormalInverseWishart.
    starts : int, default=4
        The number of starts of EM, from clusters drawn with random_state; only the best is continued.
    tol : float, default=1e-06
        EM stops when the objective per row gains less than this.
    max_iter : int, default=500
        The most iterations of EM (em_ has its course).
    priors : str, mapping or sequence, default="empirical"
        "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of
        sorted labels.
    families : str or mapping from column to family, default="auto"
        How to model columns whose type is misleading, such as {"visits": "poisson", "grade": "categorical"}.
        The mixture is over the columns of numbers; all others are independent of it within a class.
    smoothing : float, default=1.0
        Pseudo-rows at each level of a category; 0 is maximum likelihood.
    min_frequency : float, default=0.0
        Levels with a smaller share of the rows are pooled, together with unseen levels; from 1 on it is a
        weight instead of a share.
    missing : {"integrate", "level", "error"}, default="integrate"
        "integrate" integrates missing values out, at predict and in every step of EM; "level" also learns
        from the fact that a value is missing; "error" refuses missing values.
    ties : {"first", "random"}, default="first"
        "first" predicts the first label, "random" one drawn with random_state.
    random_state : int, RandomState or Generator, default=0
        The seed of what is drawn at random.

    Attributes
    ----------
    classes_
        The labels, sorted.
    priors_
        The prior of each class; (g,).
    choices_
        The BIC of every structure and number of components that was tried, for each class in the order of classes_;
        with a structure of components.
    classifier_
        The classifier without the scikit-learn interface.
    components_
        The number of components of each class, by label.
    covariances_
        The covariance of each component; (q, p, p), read-only if shared.
    em_
        The course of EM: iterations, log-likelihood, convergence; None without EM.
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    log_marginal_likelihood_
        Log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior.
    means_
        The mean of each component, class after class; (q, p).
    mixture_
        The density of the columns of numbers: the class (owner), share, mean and covariance of each
        component.
    model_
        The fitted model without the scikit-learn interface.
    n_features_in_
        The number of columns.
    n_iter_
        The number of iterations of EM, from the best start.
    parameters_
        The estimates of each column, by name (or position): arrays over the classes, (g,) each.
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.
    structures_
        What the components of each class share, by label; with a structure of components.

    Examples
    --------
    >>> import classwise as cw
    >>> X, y = cw.datasets.banana(400, random_state=0)
    >>> [int((m.fit(X, y).predict(X) != y).sum()) for m in (cw.QDA(), cw.MixtureClassifier(components=3))]
    [54, 20]
    """

    def __init__(
        self,
        *,
        components: int | Mapping[Any, int] | Literal["bic"] = 3,
        covariance: str = "tied",
        prior: Literal["weak"] | NormalInverseWishart = "weak",
        starts: int = STARTS,
        tol: float = TOLERANCE,
        max_iter: int = MOST_ITERATIONS,
        priors: Priors = "empirical",
        families: Families = "auto",
        smoothing: float = 1.0,
        min_frequency: float = 0.0,
        missing: Literal["integrate", "level", "error"] = "integrate",
        ties: Literal["first", "random"] = "first",
        random_state: Any = 0,
    ) -> None:
        self.components = components
        self.covariance = covariance
        self.prior = prior
        self.starts = starts
        self.tol = tol
        self.max_iter = max_iter
        self.priors = priors
        self.families = families
        self.smoothing = smoothing
        self.min_frequency = min_frequency
        self.missing = missing
        self.ties = ties
        self.random_state = random_state

    _records = ("em_", "choices_")

    em_: Ascent | None
    """How EM went: objective, iterations, convergence; None where no column is a number."""

    choices_: tuple[ComponentChoice, ...]

    # What was found -------------------------------------------------------------------------------------------------

    @property
    def mixture_(self) -> Mixture:
        """The density of the columns of numbers: the class (owner), share, mean and covariance of each component."""
        for block in self.classifier_.density.as_blocks():
            numbers = block.density.of_values()
            if isinstance(numbers, Mixture):
                return numbers
        raise NotAvailableError("This model has no mixture: none of its columns is a number.")

    @property
    def n_iter_(self) -> int:
        """The number of iterations of EM, from the best start."""
        return 0 if self.em_ is None else self.em_.iterations

    @property
    def components_(self) -> dict[Any, int]:
        """The number of components of each class, by label."""
        return dict(zip(self.classes_.tolist(), np.bincount(self.mixture_.owner).tolist(), strict=True))

    @property
    def structures_(self) -> dict[Any, str]:
        """What the components of each class share, by label."""
        if "choices_" not in self._fitted().__dict__:
            raise NotAvailableError(
                f"Components have covariance={self.covariance!r}, and no structure; give covariance='VEV', say, or "
                "covariance='bic'."
            )
        return {label: choice.best[0] for label, choice in zip(self.classes_.tolist(), self.choices_, strict=True)}

    @property
    def means_(self) -> Array:
        """The mean of each component, class after class; (q, p)."""
        return self.mixture_.components.means

    @property
    def covariances_(self) -> Array:
        """The covariance of each component; (q, p, p), read-only if shared."""
        return self.mixture_.components.matrices()

    # Learning -------------------------------------------------------------------------------------------------------

    def _numbers_of(self, numbers: ClassStatistics, table: Table, record: dict[str, Any]) -> NumbersFit:
        """The mixture of the columns of numbers; how it was found is kept in the record."""
        structures = read_components(self.covariance)
        tied = not structures and COVARIANCES[self.covariance]
        if structures:
            self._refuse_gaps(numbers)
        # One Gaussian per class fills the gaps, which gives the units of the prior and a start for EM.
        with BLAS.held():
            filled = complete_to_mode(numbers, tied, self.prior).statistics
        prior = PseudoRows.of(read_prior(self.prior, filled.denoised(), FullCovariance, tied))
        rows = np.asarray(table.block([column.place for column in numbers.schema]), dtype=np.float64)
        codes = codes_among(numbers.labels, table.labels)
        weights = np.ones(len(rows)) if table.weights is None else table.weights
        counts = MOST_COMPONENTS if self._is_open else self._counts(numbers)
        search = ComponentSearch(counts, int(self.starts), float(self.tol), int(self.max_iter))
        generator = read_generator(self.random_state)
        if structures:
            classes = [ClassRows(rows[codes == k], weights[codes == k], prior) for k in range(len(numbers.labels))]
            tries = numbers_of_components(numbers.weight, counts, self._is_open)
            learned = learn_structured(classes, structures, tries, search, generator)
            record["choices_"] = learned.choices
            return self._learned(learned.mixture, learned.ascent, record)
        arranged = Arranged.of(rows, codes, weights, filled.mean, 1 if tied else len(numbers.labels))
        found = (learn_by_bic if self._is_open else learn_mixture)(arranged, prior, search, generator)
        return self._learned(found.mixture, found.ascent, record)

    def _learned(self, mixture: Mixture, ascent: Ascent, record: dict[str, Any]) -> NumbersFit:
        record["em_"] = ascent
        remarks = [] if ascent.converged else [f"stopped EM early (max_iter, tol): {ascent}"]
        return NumbersFit(mixture, remarks)

    def _refuse_gaps(self, numbers: ClassStatistics) -> None:
        if numbers.numbers.has_gaps:
            raise ClasswiseError(
                f"covariance={self.covariance!r} takes rows without gaps, and X contains NaN. Use covariance='tied' or "
                "'class', whose EM integrates them out, or impute them first."
            )

    @property
    def _is_open(self) -> bool:
        """Whether the numbers of components are left to BIC."""
        return isinstance(self.components, str) and self.components == "bic"

    def _counts(self, numbers: ClassStatistics) -> int | Codes:
        """How many components the classes should have, or each of them."""
        if not isinstance(self.components, Mapping):
            return int(self.components)
        lacking = [label for label in numbers.labels.tolist() if label not in self.components]
        if lacking:
            raise ClasswiseError(
                f"components={self.components!r} has no number for class {lacking[0]!r}; give one for every class."
            )
        return np.array([self.components[label] for label in numbers.labels.tolist()], dtype=np.intp)

    def _plan(self) -> BlockPlan:
        for name in ("starts", "max_iter"):
            _whole_number(name, getattr(self, name))
        if not self._is_open:
            each = self.components.values() if isinstance(self.components, Mapping) else [self.components]
            for count in each:
                _whole_number("components", count, ", for each class or for all, or 'bic'")
        at_least("tol", self.tol, 0)
        if not isinstance(self.prior, NormalInverseWishart) and self.prior != "weak":
            raise ClasswiseError(f"prior={self.prior!r} is not an option; choose 'weak' or a NormalInverseWishart.")
        tied = not read_components(self.covariance) and COVARIANCES[self.covariance]
        return BlockPlan(**read_common(self), numbers=FromRows(tied, isinstance(self.prior, NormalInverseWishart)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan &= not read_components(self.covariance)
        return tags


def read_components(covariance: Any) -> tuple[Decomposition, ...]:
    """The structures that components may have; none where they share a covariance, in a class or in all."""
    if isinstance(covariance, str):
        if covariance in COVARIANCES:
            return ()
        found = DECOMPOSITIONS.values() if covariance == "bic" else [DECOMPOSITIONS.get(in_letters(covariance))]
        structures = tuple(each for each in found if each is not None)
        if structures:
            return structures
    raise ClasswiseError(
        f"covariance={covariance!r} is not an option; choose 'tied' or 'class', three letters "
        f"({', '.join(DECOMPOSITIONS)}) or words such as 'own volume, shared shape, own orientation', or 'bic'."
    )


def _whole_number(option: str, value: Any, more: str = "") -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
        return int(value)
    raise ClasswiseError(f"{option}={value!r} is not an option; give a whole number of at least 1{more}.")
