"""Naive Bayes: features that are independent within a class, log p(x | k) = sum over features of log p(x_j | k)."""

from typing import Any, Literal

from classwise.arrays import Array
from classwise.classifier.bayes import Priors
from classwise.classifier.plan import BlockPlan
from classwise.covariance import ESTIMATES, DiagonalCovariance, check_prior
from classwise.densities.numbers import Believed, Floored
from classwise.errors import ClasswiseError, NotAvailableError, choose, fraction
from classwise.estimators.discriminants import DiscriminantAnswers
from classwise.estimators.gaussian import Calibrate, Estimate, Missing, Prior, Ties
from classwise.estimators.prediction_sets import SetEstimator
from classwise.estimators.summary import read_common
from classwise.rows.schema import FOR_SPARSE, Families
from classwise.selection.prior_strength import PriorChoice
from classwise.selection.smoothing import SmoothingChoice
from classwise.storage import stored


@stored("NaiveBayes", kind="model")
class NaiveBayes(DiscriminantAnswers, SetEstimator):
    """Naive Bayes on mixed columns: each column has its own family, with separate parameters in each class.

    Parameters
    ----------
    families : str or mapping from column to family, default="auto"
        "auto" follows the type (numbers gaussian, booleans bernoulli, text and categories categorical);
        "best" gives each number the family with the largest evidence among gaussian, lognormal, poisson and
        categorical (families_ and schema_ show it); a mapping sets some: {"visits": "poisson", "wins":
        "binomial(10)", "size": "kernel", "share": "kernel(0, 1)"}. One name is for all numbers: "gaussian",
        "lognormal", "poisson", "bernoulli", "kernel", and "multinomial" or "complement" for columns that
        together are a bag of counts, such as words. X may be a sparse matrix of scipy for "gaussian",
        "poisson", "bernoulli", "multinomial" and "complement".
    smoothing : float or {"evidence", "cv"}, default=1.0
        Pseudo-rows at each level (a Dirichlet or beta prior), pseudo-counts at each column of a bag, and
        pseudo-rows at the mean rate of a Poisson column (a gamma prior). 0 is maximum likelihood: a level
        that a class never had then rules that class out. "evidence" takes the amount under which all counts
        are most probable, "cv" the one with the least held-out log loss (smoothing_ has it).
    floor : float, default=1e-06
        The least variance of a feature within a class, as a fraction of its variance over all rows. With 0, a
        feature that is constant within a class is an error. A feature that is constant over all rows is left
        out. A warning names the columns. A copy of another feature is not detected, and counts twice: drop
        it.
    estimate : {"mle", "unbiased", "bayes"}, default="mle"
        "mle" divides a sum of squares by n_k, "unbiased" by n_k - 1; "bayes" integrates mean and variance
        out, so that numbers are Student-t within a class, and needs no floor.
    prior : {"weak", "geisser", "evidence", "cv", "loo"} or NormalInverseWishart, default="weak"
        For estimate="bayes", as in GaussianClassifier.
    priors : str, mapping or sequence, default="empirical"
        "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of
        sorted labels.
    calibrate : {"temperature"}, optional
        "temperature" raises posteriors to the power that fits held-out rows best (calibration_ holds it).
        Dependent columns make naive Bayes overconfident, which this corrects. It changes no decision.
    folds : int, array of shape (n,) or splitter, default=10
        How rows are held out for calibrate, prior="cv" and smoothing="cv": a number of stratified folds, the
        fold of each row, or a scikit-learn splitter.
    min_frequency : float, default=0.0
        Levels with a smaller share of the rows are pooled, together with unseen levels; from 1 on it is a
        weight instead of a share.
    missing : {"integrate", "level", "error"}, default="integrate"
        "integrate" leaves missing values out, at fit and at predict; "level" also learns from the fact that a
        value is missing; "error" refuses them.
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
    class_count_
        The rows of each class, or their weight, as in scikit-learn; (g,).
    class_prior_
        The prior of each class, as in scikit-learn: priors_; (g,).
    classifier_
        The classifier without the scikit-learn interface.
    covariances_
        The covariance matrix of each class, or the shape of its Student-t; (g, p, p), read-only where shared.
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    gaussian_
        The Gaussians of the columns of numbers: means and covariances, or location and shape of a Student-t.
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
    smoothing_
        The smoothing in use: the number that was given, or that "evidence" or "cv" chose.
    smoothing_choice_
        The log loss of every smoothing, where smoothing="cv" chose it.
    statistics_
        What was gathered from the rows; statistics add and subtract.
    theta_
        The mean of each column within each class, as in scikit-learn's GaussianNB; (g, p).
    var_
        The variance of each column within each class, as in scikit-learn's GaussianNB; (g, p).
    variances_
        The floored variance of each Gaussian column within each class, or the shape of its Student-t; (g, p).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> int((NaiveBayes().fit(X, y).predict(X) != y).sum())
    6
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 42, 57, 60, None], "city": ["Rome", "Oslo", "Rome", None, "Rome"]})
    >>> m = NaiveBayes().fit(people, ["a", "a", "b", "b", "b"])
    >>> m.predict(pd.DataFrame({"age": [None, 59], "city": ["Oslo", "Paris"]})).tolist()
    ['a', 'b']
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> words = CountVectorizer()
    >>> counts = words.fit_transform(["free money now", "lunch now", "free prize", "team lunch"])
    >>> m = NaiveBayes(families="multinomial").fit(counts, ["spam", "ham", "spam", "ham"])
    >>> m.predict(words.transform(["a free lunch for the team"])).tolist()
    ['ham']
    """

    def __init__(
        self,
        *,
        families: Families = "auto",
        smoothing: float | Literal["evidence", "cv"] = 1.0,
        floor: float = 1e-6,
        estimate: Estimate = "mle",
        prior: Prior = "weak",
        priors: Priors = "empirical",
        calibrate: Calibrate = None,
        folds: Any = 10,
        min_frequency: float = 0.0,
        missing: Missing = "integrate",
        ties: Ties = "first",
        random_state: Any = None,
    ) -> None:
        self.families = families
        self.smoothing = smoothing
        self.min_frequency = min_frequency
        self.missing = missing
        self.floor = floor
        self.estimate = estimate
        self.prior = prior
        self.priors = priors
        self.calibrate = calibrate
        self.folds = folds
        self.ties = ties
        self.random_state = random_state

    prior_choice_: PriorChoice

    smoothing_choice_: SmoothingChoice

    _takes_sparse = True
    _smoothings = ("evidence", "cv")

    def _plan(self) -> BlockPlan:
        check_prior(self.prior)
        if len(self._open_choices()) > 1:
            raise ClasswiseError(
                f"prior={self.prior!r} and smoothing='cv' are both left to held-out rows; choose one of them, or use "
                "smoothing='evidence'."
            )
        common = read_common(self)
        floor = fraction("floor", self.floor)
        divisor = choose("estimate", self.estimate, {**ESTIMATES, "bayes": None})
        if divisor is None:
            return BlockPlan(**common, numbers=Believed(DiagonalCovariance, False, self.prior))
        return BlockPlan(**common, numbers=Floored(divisor, floor))

    def __sklearn_tags__(self) -> Any:
        tags, family = super().__sklearn_tags__(), self.families if isinstance(self.families, str) else ""
        is_bag = family in ("multinomial", "complement")
        tags.input_tags.sparse = family in ("auto", *FOR_SPARSE)
        tags.input_tags.positive_only = tags.classifier_tags.poor_score = is_bag  # as scikit-learn's MultinomialNB
        tags.input_tags.allow_nan = tags.input_tags.allow_nan and not is_bag
        return tags

    @property
    def smoothing_(self) -> float:
        """The smoothing in use: the number that was given, or that "evidence" or "cv" chose."""
        chosen = self.model_.smoothing
        if chosen is None and not isinstance(self.smoothing, str):  # from a file without it
            return self.smoothing
        if chosen is None:
            raise NotAvailableError("This model does not hold its smoothing; fit it again.")
        return chosen

    @property
    def variances_(self) -> Array:
        """The floored variance of each Gaussian column within each class, or the shape of its Student-t; (g, p)."""
        return self.gaussian_.covariance.values

    # Attributes of scikit-learn's GaussianNB --------------------------------------------------------------------------

    @property
    def theta_(self) -> Array:
        """The mean of each column within each class, as in scikit-learn's GaussianNB; (g, p).

        Only for models whose columns are all Gaussian, like `var_`.
        """
        self._refuse_other_columns("theta_")
        return self._with_constants(self.means_)

    @property
    def var_(self) -> Array:
        """The variance of each column within each class, as in scikit-learn's GaussianNB; (g, p).

        Each variance is at least `floor` times the variance of the column over all rows. GaussianNB instead adds
        var_smoothing times the largest variance of any column; NaiveBayes(floor=0) equals GaussianNB(var_smoothing=0).
        A constant column was left out, and has a variance of 0.
        """
        self._refuse_other_columns("var_")
        return self._in_all_columns(self.variances_)

    @property
    def class_prior_(self) -> Array:
        """The prior of each class, as in scikit-learn: priors_; (g,)."""
        return self.priors_

    @property
    def class_count_(self) -> Array:
        """The rows of each class, or their weight, as in scikit-learn; (g,)."""
        return self._fitted().statistics_.weight

    def _refuse_other_columns(self, name: str) -> None:
        if not self._is_gaussian_alone():
            raise NotAvailableError(
                f"{name} is for Gaussian columns alone, and this model has others: see families_ and estimate. "
                "parameters_ has what was estimated of each column."
            )
