"""The Gaussian family: one estimator with two dials, share and shrink."""

from typing import Any, Literal, Self

from sklearn.base import clone

from classwise.calibration import Calibration
from classwise.covariance import (
    ESTIMATES,
    STRUCTURES,
    TOLERANCE,
    Blend,
    Completion,
    Covariance,
    DiagonalCovariance,
    Fixed,
    FullCovariance,
    NormalInverseWishart,
    Recipe,
    check_prior,
    complete,
    read_sharing,
    read_shrinkage,
    refuse_never_seen,
)
from classwise.densities import Gaussian
from classwise.errors import ClasswiseError
from classwise.estimators.belief import believe
from classwise.estimators.blocks import GaussianFit
from classwise.estimators.choosing import ChoosingEstimator, Chosen
from classwise.estimators.crossing import Crossing
from classwise.estimators.dials import DialChoice, choose_dials, is_cv
from classwise.estimators.discriminating import Discriminating
from classwise.estimators.strength import PriorChoice, chosen_prior, open_prior, settled_prior
from classwise.options import at_least, choose
from classwise.priors import Priors
from classwise.schema import Families
from classwise.selection import Downdates
from classwise.statistics import ClassStatistics, Scatter
from classwise.storage import stored

Structure = Literal["full", "diagonal", "spherical"]
Share = float | Literal["average", "cv"]
Shrink = float | Literal["oas", "ledoit-wolf", "cv"]
Estimate = Literal["mle", "unbiased", "bayes"]
Prior = Literal["weak", "geisser", "evidence", "cv", "loo"] | NormalInverseWishart
Calibrate = Literal["temperature"] | None
Ties = Literal["first", "random"]
Missing = Literal["integrate", "level", "error"]


# Where EM may stop in cross-validation: log losses are compared to far fewer digits.
ROUGH = 1e-6


@stored("GaussianClassifier", kind="model")
class GaussianClassifier(Discriminating, ChoosingEstimator):
    """One Gaussian per class: log p(x | k) = -p/2 log 2π - 1/2 log|C_k| - 1/2 (x - m_k)' C_k^-1 (x - m_k).

        C_k(share)         = (1 - share) C_k + share C_shared
        C_k(share, shrink) = (1 - shrink) C_k(share) + shrink (tr C_k(share) / p) I

    structure: "full", "diagonal" (features independent within a class) or "spherical" (one variance for all features;
        shrinking it changes nothing).
    share: 0 for a covariance of each class's own, 1 for one that all share, anything between, "average" for the
        unweighted mean of the classes' covariances, or "cv" for what cross-validates best.
    shrink: 0 for the covariance as estimated, 1 for a sphere, anything between, "oas" for the amount that Chen et al.
        (2010) derive from the covariance and the number of rows, "ledoit-wolf" for that of Ledoit and Wolf (2004), or
        "cv" for what cross-validates best.
    estimate: "mle" divides scatter by n_k (shared: n), "unbiased" by n_k - 1 (shared: n - g); "bayes" integrates mean
        and covariance out, so that classes are Student-t (with share 0 or 1, and shrink 0).
    prior: for estimate="bayes": "weak" (worth little, in the units of the data), "geisser" (the limiting prior
        |C|^-(p+1)/2), "evidence" (strengths under which the rows are most probable), "cv" or "loo" (the strength under
        which rows held out, in folds or one by one, are classified best), or a NormalInverseWishart.
    priors: "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of sorted
        labels.
    standardize: shrink (or take the sphere) in units of each feature's overall standard deviation; means_ and
        covariances_ stay in the units of X.
    calibrate: "temperature" raises posteriors to the power that suits rows held out (calibration_ tells which); no
        decision changes.
    folds: how rows are held out for "cv" and calibrate: a number of stratified folds, the fold of each row, or a
        splitter of scikit-learn's.
    families: what columns are, where it is not what their type says: {"visits": "poisson", "grade": "categorical"}.
        The Gaussian is over the columns of numbers; all others stand beside it, independent within a class.
    smoothing: pseudo-rows at each level of a category; 0 is maximum likelihood.
    min_frequency: levels with a smaller share of the rows (or weight, from 1 on) are pooled, with levels never seen.
    missing: "integrate" integrates missing values out at predict, and learns by EM from what is there (em_ tells how
        it went); "level" also learns from the fact that a value is missing; "error" refuses missing values.
    tol: EM for missing values stops when a row gains less log-likelihood than this; cross-validation is content with
        1e-6.
    ties: "first" label, or one at "random", drawn with random_state.

    >>> X = [[1.8], [2.1], [2.5], [3.2], [3.8], [5.8], [6.7], [7.0]]
    >>> m = GaussianClassifier().fit(X, [0, 0, 0, 0, 0, 1, 1, 1])
    >>> m.predict_proba([[4.6], [5.0]]).round(4)
    array([[0.9744, 0.0256],
           [0.3623, 0.6377]])
    """

    def __init__(
        self,
        *,
        structure: Structure = "full",
        share: Share = 0.0,
        shrink: Shrink = 0.0,
        estimate: Estimate = "mle",
        prior: Prior = "weak",
        priors: Priors = "empirical",
        standardize: bool = False,
        calibrate: Calibrate = None,
        folds: Any = 10,
        families: Families = "auto",
        smoothing: float = 1.0,
        min_frequency: float = 0.0,
        missing: Missing = "integrate",
        tol: float = TOLERANCE,
        ties: Ties = "first",
        random_state: Any = None,
    ) -> None:
        self.structure = structure
        self.share = share
        self.shrink = shrink
        self.estimate = estimate
        self.prior = prior
        self.priors = priors
        self.standardize = standardize
        self.calibrate = calibrate
        self.folds = folds
        self.families = families
        self.smoothing = smoothing
        self.min_frequency = min_frequency
        self.missing = missing
        self.tol = tol
        self.ties = ties
        self.random_state = random_state

    dials_: DialChoice
    prior_choice_: PriorChoice
    calibration_: Calibration

    def _scatter_form(self) -> type[Scatter]:
        check_prior(self.prior)
        at_least("tol", self.tol, 0)
        if self._is_bayes:
            structure, shared = self._bayes_options()
            return structure.scatter_form(shared)
        return self._recipe().scatter_form()

    def _bayes_options(self) -> tuple[type[Covariance], bool]:
        """Structure, and whether classes share a covariance; the dials are the prior's business."""
        if self.standardize:
            raise ClasswiseError(
                "estimate='bayes' has standardize=False: the named priors are in the units of the data."
            )
        if self.share not in (0, 1) or self.shrink not in (0,):
            raise ClasswiseError(
                f"estimate='bayes' has share=0 or share=1 and shrink=0, not share={self.share!r} and "
                f"shrink={self.shrink!r}: how much classes and features lend each other is the prior's to say."
            )
        return choose("structure", self.structure, STRUCTURES), self.share == 1

    def _open_choices(self) -> dict[str, Any]:
        dials = {name: "cv" for name in ("share", "shrink") if is_cv(getattr(self, name))}
        return dials | open_prior(self)

    def _choose(self, crossing: Crossing) -> Chosen:
        if self._is_bayes:
            return chosen_prior(self, crossing, *self._bayes_options())
        choice = choose_dials(self._with_options({}), crossing)

        def options(dials: tuple[Any, Any]) -> dict[str, Any]:
            return dict(zip(("share", "shrink"), dials, strict=True))

        return Chosen(options(choice.best), lambda fold: options(choice.best_without(fold)), {"dials_": choice})

    def _dials(self) -> tuple[Any, Any]:
        """share and shrink: as given, or as chosen; while they are being chosen, values that need every statistic."""
        if not is_cv(self.share) and not is_cv(self.shrink):
            return self.share, self.shrink
        return self.dials_.best if hasattr(self, "dials_") else (0.5, 0.5)

    def _recipe(self) -> Recipe:
        share, shrink = self._dials()
        return Recipe(
            choose("structure", self.structure, STRUCTURES),
            choose("estimate", self.estimate, {**ESTIMATES, "bayes": ESTIMATES["mle"]}),
            read_sharing(share),
            read_shrinkage(shrink),
            choose("standardize", self.standardize, {True: True, False: False}),
        )

    def _gaussian(self, statistics: ClassStatistics) -> GaussianFit:
        if self._is_bayes:
            return believe(statistics, *self._bayes_options(), self.prior, self.tol)
        recipe = self._recipe()
        if recipe.structure is not FullCovariance:
            return _alone(statistics, recipe)
        completion = complete(statistics, recipe, self.tol)
        remarks = [] if completion.converged else [f"stopped EM for missing values early: {completion}"]
        statistics = completion.statistics
        return GaussianFit(Gaussian(statistics.mean, recipe.estimate(statistics)), remarks, completion)

    def _independent(self, statistics: ClassStatistics) -> GaussianFit:
        if self._is_bayes:
            return believe(statistics, DiagonalCovariance, False, self.prior)
        divisor = choose("estimate", self.estimate, ESTIMATES)
        return _alone(statistics, Recipe(DiagonalCovariance, divisor, Blend(0.0), Fixed(0.0)))

    @property
    def _needs_quartics(self) -> bool:
        return not self._is_bayes and self._recipe().needs_quartics

    def _roughly(self) -> Self:
        return clone(self).set_params(tol=max(self.tol, ROUGH))

    def _unfitted(self) -> Self:
        share, shrink = self._dials()
        return clone(self).set_params(share=share, shrink=shrink, prior=settled_prior(self), calibrate=None)

    def _downdates(self) -> Downdates | None:
        statistics = self._statistics_of_gaussian()
        if statistics is None or self._needs_quartics or self.standardize:
            return None
        return Downdates(statistics.denoised(), self._recipe())

    @property
    def em_(self) -> Completion | None:
        """How learning from rows with gaps went: iterations, log-likelihood, convergence; None if not by EM."""
        return self.model_.completion


def _alone(statistics: ClassStatistics, recipe: Recipe) -> GaussianFit:
    """Columns one by one, each with what it has; a class without a value in one is an error."""
    refuse_never_seen(statistics, statistics.numbers.present_weight())
    statistics = statistics.by_column() if len(statistics.numbers.gaps) else statistics
    return GaussianFit(Gaussian(statistics.mean, recipe.estimate(statistics)))
