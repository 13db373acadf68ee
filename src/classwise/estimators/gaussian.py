"""The Gaussian family: one estimator with two dials, share and shrink."""

from typing import Any, Literal, NoReturn

from classwise.arrays import Array
from classwise.classifier.bayes import Priors
from classwise.classifier.boundary import column_names, read_section
from classwise.classifier.functions import ClassificationFunctions, classification_functions, linear_functions
from classwise.classifier.plan import BlockPlan
from classwise.covariance import (
    DECOMPOSITIONS,
    ESTIMATES,
    TOLERANCE,
    Completion,
    Covariance,
    Decomposition,
    NormalInverseWishart,
    PartlyShared,
    Recipe,
    StructureTable,
    check_prior,
    read_dials,
    read_shrinkage,
    read_structure,
)
from classwise.densities.numbers import Believed, Estimated, NumbersPlan
from classwise.densities.undecided import Undecided
from classwise.errors import ClasswiseError, NotAvailableError, at_least, choose
from classwise.estimators.discriminants import DiscriminantAnswers
from classwise.estimators.fit_summary import SummaryTable, column_tables, means_table
from classwise.estimators.prediction_sets import SetEstimator
from classwise.estimators.summary import read_common
from classwise.rows.schema import Families
from classwise.selection.dials import DialChoice
from classwise.selection.prior_strength import PriorChoice
from classwise.selection.structure_choice import StructureChoice
from classwise.storage import stored

Share = float | Literal["average", "cv"]
Shrink = float | Literal["oas", "ledoit-wolf", "cv"]
Estimate = Literal["mle", "unbiased", "bayes"]
Prior = Literal["weak", "geisser", "evidence", "cv", "loo"] | NormalInverseWishart
Calibrate = Literal["temperature"] | None
Ties = Literal["first", "random"]
Missing = Literal["integrate", "level", "error"]

# Values of structure that leave it to choose, and whether held-out rows choose.
CRITERIA = {"bic": False, "cv": True}


@stored("GaussianClassifier", kind="model")
class GaussianClassifier(DiscriminantAnswers, SetEstimator):
    """One Gaussian per class: log p(x | k) = -p/2 log 2π - 1/2 log|C_k| - 1/2 (x - m_k)' C_k^-1 (x - m_k).

        C_k(share)         = (1 - share) C_k + share C_shared
        C_k(share, shrink) = (1 - shrink) C_k(share) + shrink (tr C_k(share) / p) I

    Parameters
    ----------
    structure : str, default="full"
        "full", "diagonal" (features independent within a class) or "spherical" (one variance for all
        features, which shrinking does not change). Or three letters that say whether volume, shape and orientation
        are each class's own (V), shared (E) or trivial (I), such as "VEV"; or the same in words, "own volume, shared
        shape, own orientation". Or "bic" or "cv", to choose among all of them by BIC or by cross-validation. All
        but the first three leave share at 0.
    share : float or {"average", "cv"}, default=0.0
        0 for a separate covariance of each class, 1 for one that all classes share, any value between,
        "average" for the unweighted mean of the class covariances, or "cv" to choose by cross-validation.
    shrink : float or {"oas", "ledoit-wolf", "cv"}, default=0.0
        0 for the covariance as estimated, 1 for a sphere, any value between, "oas" for the amount of Chen et
        al. (2010), "ledoit-wolf" for that of Ledoit and Wolf (2004), or "cv" to choose by cross-validation.
    estimate : {"mle", "unbiased", "bayes"}, default="mle"
        "mle" divides scatter by n_k (shared: n), "unbiased" by n_k - 1 (shared: n - g; where letters share a part
        of a covariance, restricted maximum likelihood); "bayes" integrates mean and covariance out, so that classes
        are Student-t (with share 0 or 1, and shrink 0).
    prior : {"weak", "geisser", "evidence", "cv", "loo"} or NormalInverseWishart, default="weak"
        For estimate="bayes": "weak" (a weak prior in the units of the data), "geisser" (the limiting prior
        |C|^-(p+1)/2), "evidence" (the strengths with the largest marginal likelihood), "cv" or "loo" (the
        strength that classifies held-out rows best, in folds or one by one), or a NormalInverseWishart.
    priors : str, mapping or sequence, default="empirical"
        "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of
        sorted labels.
    standardize : bool, default=False
        Shrink (or take the sphere, or the axes of a shape) in units of each feature's overall standard deviation;
        means_ and covariances_ stay in the units of X.
    calibrate : {"temperature"}, optional
        "temperature" raises posteriors to the power that fits held-out rows best (calibration_ holds it). It
        changes no decision.
    folds : int, array of shape (n,) or splitter, default=10
        How rows are held out for "cv" and calibrate: a number of stratified folds, the fold of each row, or a
        scikit-learn splitter.
    families : str or mapping from column to family, default="auto"
        How to model columns whose type is misleading, such as {"visits": "poisson", "grade": "categorical"}.
        The Gaussian is over the columns of numbers; all others are independent of it within a class.
    smoothing : float, default=1.0
        Pseudo-rows at each level of a category; 0 is maximum likelihood.
    min_frequency : float, default=0.0
        Levels with a smaller share of the rows are pooled, together with unseen levels; from 1 on it is a
        weight instead of a share.
    missing : {"integrate", "level", "error"}, default="integrate"
        "integrate" integrates missing values out at predict, and uses EM at fit (em_ has its course); "level"
        also learns from the fact that a value is missing; "error" refuses missing values.
    tol : float, default=1e-10
        EM for missing values stops when the log-likelihood per row gains less than this; cross-validation
        uses at least 1e-8.
    ties : {"first", "random"}, default="first"
        "first" predicts the first label, "random" one drawn with random_state.
    random_state : int, RandomState or Generator, optional
        The seed of what is drawn at random.

    Attributes
    ----------
    classes_
        The labels, sorted.
    priors_
        The prior of each class; (g,).
    calibration_
        The power of the posteriors and its log loss, with calibrate="temperature".
    classifier_
        The classifier without the scikit-learn interface.
    coef_
        The weights of the linear classification functions, if all classes share a covariance.
    covariances_
        The covariance matrix of each class, or the shape of its Student-t; (g, p, p), read-only where shared.
    dials_
        The log loss of every pair of share and shrink, where "cv" chose them.
    em_
        The course of EM: iterations, log-likelihood, convergence; None without EM.
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    gaussian_
        The Gaussians of the columns of numbers: means and covariances, or location and shape of a Student-t.
    intercept_
        The constants of the linear classification functions; (g,), and (1,) for two classes.
    log_marginal_likelihood_
        Log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior.
    means_
        The mean of each class in the Gaussian columns, or the location of its Student-t; (g, p).
    model_
        The fitted model without the scikit-learn interface.
    n_features_in_
        The number of columns.
    parameters_
        The estimates of each column, by name (or position): arrays over the classes, (g,) each.
    prior_choice_
        The log loss of every strength of the prior, where prior="cv" or "loo" chose it.
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.
    statistics_
        What was gathered from the rows; statistics add and subtract.
    structures_
        All structures that were tried, with structure="bic" or "cv": parameters, log-likelihood, BIC, log loss.

    Notes
    -----
    A constant column of numbers is left out, with a warning and a note in schema_. With full structure, so is a column
    that repeats another one, in the same or in other units. `sample` returns both.

    Examples
    --------
    >>> X = [[1.8], [2.1], [2.5], [3.2], [3.8], [5.8], [6.7], [7.0]]
    >>> m = GaussianClassifier().fit(X, [0, 0, 0, 0, 0, 1, 1, 1])
    >>> m.predict_proba([[4.6], [5.0]]).round(4)
    array([[0.9744, 0.0256],
           [0.3623, 0.6377]])
    """

    def __init__(
        self,
        *,
        structure: str = "full",
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
    _structure_choice: StructureChoice

    def _plan(self) -> BlockPlan:
        check_prior(self.prior)
        common = read_common(self)
        at_least("tol", self.tol, 0)
        choose("standardize", self.standardize, {True: True, False: False})
        return BlockPlan(**common, numbers=self._numbers(), rank=self._rank)

    def _numbers(self) -> NumbersPlan:
        """The plan for the columns of numbers."""
        if isinstance(self.structure, str) and self.structure in CRITERIA:
            return self._undecided(CRITERIA[self.structure])
        structure = read_structure(self.structure)
        if not isinstance(structure, Decomposition):
            return self._gaussian(structure, self.share)
        if isinstance(structure.sharing, PartlyShared):
            self._refuse_dials(f"says what classes share: {structure.words}")
            return self._likeliest(structure)
        # All of a covariance is shared, or nothing: the letters set the dial.
        if self.share not in (0, structure.sharing.share):
            self._refuse_share(f"says what classes share: {structure.words}")
        return self._gaussian(structure.structure, structure.sharing.share)

    def _undecided(self, held_out: bool) -> Undecided:
        """Every structure, of which one is left to choose."""
        self._refuse_dials("chooses what classes share")
        every = ((letters, self._likeliest(structure)) for letters, structure in DECOMPOSITIONS.items())
        return Undecided(tuple(every), held_out)

    def _gaussian(self, structure: type[Covariance], share: Share) -> Estimated | Believed:
        divisor = choose("estimate", self.estimate, {**ESTIMATES, "bayes": None})
        if divisor is None:
            return self._believed(structure, share)
        recipe = Recipe(structure, divisor, *read_dials(share, self.shrink), self.standardize)
        if recipe.shrinkage.needs_quartics:
            recipe.check_quartics()
        return Estimated(recipe, self.tol, (share, self.shrink))

    def _likeliest(self, structure: Decomposition) -> Estimated:
        """The plan for letters: maximum likelihood, and no dials."""
        divisor = ESTIMATES[self.estimate]
        recipe = Recipe(structure.structure, divisor, structure.sharing, read_shrinkage(0.0), self.standardize)
        return Estimated(recipe, self.tol)

    def _refuse_dials(self, why: str) -> None:
        """An error for options that do not go with letters; why: what the structure says or does."""
        if self.share not in (0,):
            self._refuse_share(why)
        if self.shrink not in (0,):
            raise ClasswiseError(
                f"structure={self.structure!r} is estimated by maximum likelihood, and has shrink=0, not "
                f"shrink={self.shrink!r}; to shrink covariances, use structure='full' or 'diagonal'."
            )
        if choose("estimate", self.estimate, {**ESTIMATES, "bayes": None}) is None:
            raise ClasswiseError(
                f"estimate='bayes' has no prior for structure={self.structure!r}, in which classes may share a part of "
                "their covariances; use estimate='mle', or structure='full', 'diagonal' or 'spherical'."
            )

    def _refuse_share(self, why: str) -> NoReturn:
        raise ClasswiseError(
            f"structure={self.structure!r} {why}, so share={self.share!r} is a contradiction; leave share=0, or use it "
            "with structure='full', 'diagonal' or 'spherical'."
        )

    def _believed(self, structure: type[Covariance], share: Share) -> Believed:
        """The plan for estimate="bayes", in which the prior takes the place of share and shrink."""
        if self.standardize:
            raise ClasswiseError(
                "estimate='bayes' has standardize=False: the named priors are in the units of the data."
            )
        if share not in (0, 1) or self.shrink not in (0,):
            raise ClasswiseError(
                f"estimate='bayes' has share=0 or share=1 and shrink=0, not share={share!r} and "
                f"shrink={self.shrink!r}: the prior determines how much classes and features share."
            )
        return Believed(structure, share == 1, self.prior, self.tol)

    def _settled_plan(self) -> BlockPlan:
        plan = super()._settled_plan()
        assert isinstance(plan, BlockPlan)
        model = self.__dict__.get("_model")
        if isinstance(plan.numbers, Undecided) and model is not None and model.structures is not None:
            return plan.learning(plan.numbers.settled(model.structures.best))
        return plan

    @property
    def structures_(self) -> StructureTable | StructureChoice:
        """All structures that were tried, with likelihood, parameters and BIC, and with "cv" the log loss."""
        tried = self.__dict__.get("_structure_choice") or self.model_.structures
        if tried is None:
            raise NotAvailableError("No structures were tried: that takes structure='bic' or structure='cv'.")
        return tried

    @property
    def _rank(self) -> int | None:
        """How many of Fisher's directions are kept; None for all."""
        return None

    @property
    def em_(self) -> Completion | None:
        """The course of EM for missing values: iterations, log-likelihood, convergence; None without EM."""
        return self.model_.completion

    # Linear classification functions ----------------------------------------------------------------------------------

    @property
    def coef_(self) -> Array:
        """The weights of the linear classification functions, if all classes share a covariance.

        As in scikit-learn: (g, p), and for two classes (1, p), those of the second class against the first. The
        softmax of `X @ coef_.T + intercept_` is `predict_proba(X)`; for two classes the sum is `decision_function(X)`.
        A column that was left out has a weight of 0. The model must have numbers alone, and estimate="mle" or
        "unbiased". scikit-learn's default solver has the weights of "mle" since its version 1.9.1, and those of
        "unbiased" before. Its other solvers divide as "mle" does; with more than two classes they add one vector to
        the weights of all classes, which changes no decision.

        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> GaussianClassifier(share=1).fit(X, y).coef_.round(2)
        array([[  6.44,  12.39, -17.29, -21.19],
               [ -1.56,  -4.47,   4.79,   3.13],
               [ -4.88,  -7.92,  12.5 ,  18.07]])
        """
        weights = self._in_all_columns(self._linear_functions("coef_")[0])
        return weights if len(weights) > 2 else weights[1:] - weights[:1]

    @property
    def intercept_(self) -> Array:
        """The constants of the linear classification functions; (g,), and (1,) for two classes. See `coef_`."""
        constants = self._linear_functions("intercept_")[1]
        return constants if len(constants) > 2 else constants[1:] - constants[:1]

    def classification_functions(self, columns: Any = None) -> ClassificationFunctions:
        """One function for each class, as in textbooks. The largest value wins; the softmax of all is the posterior.

            g_k(x) = w_k'x + w_k0 + the offset of the level of each category

        Terms that all classes share are left out, so that LDA is linear; QDA keeps its quadratic terms. Weights and
        constants of numbers are those of `coef_` and `intercept_`. The offset of a level is the log of its probability
        in the class, minus the mean of these logs over the classes. Notebooks show formulas; `_repr_latex_` returns
        LaTeX.

        Parameters
        ----------
        columns : sequence of columns, optional
            Functions of these columns alone, by name or position; the others are integrated out.

        Returns
        -------
        ClassificationFunctions
            One function per class.

        Examples
        --------
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"length": [1.0, 2, 3, 6, 7, 8], "color": ["red", "red"] + ["blue"] * 3 + ["red"]})
        >>> GaussianClassifier(share=1).fit(rows, ["low"] * 3 + ["high"] * 3).classification_functions()
        high = 3.75 length - 22.26
            color: blue +0.20, red -0.20
        low = -3.75 length + 11.49
            color: blue -0.20, red +0.20
        <BLANKLINE>
        The class with the largest value wins. A text column adds the number beside its value.
        """
        self._blocks()  # raises an error for classes without rows
        schema = self.model_.schema
        names, every = column_names(schema, list(range(len(schema)))), range(len(schema))
        kept = list(every) if columns is None else read_section(schema, columns, None).free
        if self._is_bayes:
            raise NotAvailableError(
                "With estimate='bayes' classes are Student-t: there are no classification functions."
            )
        return classification_functions(self.classifier_, names, kept)

    def _linear_functions(self, name: str) -> tuple[Array, Array]:
        """Weights and constants of the columns that were not left out; an error says why there are none."""
        self._refuse_columns_beside(name)
        if self._is_bayes:
            raise NotAvailableError(f"With estimate='bayes' classes are Student-t, and not linear: there is no {name}.")
        if len(self.gaussian_.covariance.values) > 1:
            raise NotAvailableError(
                f"Each class has a covariance of its own, so that nothing is linear, and there is no {name}: it takes "
                "share=1. discriminant(label) has the polynomial of a class."
            )
        return linear_functions(self.gaussian_, self.classifier_)

    def _refuse_columns_beside(self, name: str) -> None:
        if not self._is_of_numbers_alone():
            raise NotAvailableError(
                f"{name} is for numbers alone, and this model has other columns, or learns from what is missing: see "
                "schema_. explain(row) says what each column adds to the log odds, and parameters_ has what was "
                "estimated of each."
            )

    def _summary_tables(self) -> list[SummaryTable]:
        if not hasattr(self, "gaussian_"):
            return column_tables(self)
        return [means_table(self), *column_tables(self, but=self._numbers_block()[0].tolist())]

    def _log_determinants(self) -> Array | None:
        covariance = self.gaussian_.covariance if hasattr(self, "gaussian_") else None
        return None if covariance is None or len(covariance.values) == 1 else 2 * covariance.half_log_det
