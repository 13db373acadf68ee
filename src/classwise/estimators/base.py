"""What all estimators share: rows in, statistics kept, a Bayes classifier made of them, answers out."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

from classwise.arrays import BLOCK_SIZE, Array, Labels
from classwise.classifier import BayesClassifier
from classwise.decision import break_ties
from classwise.engines import MemoryEngine
from classwise.errors import ClasswiseError, UnscorableError
from classwise.estimators.blocks import Blocks, GaussianFit, Smoothing, warn_of_ignored, warn_of_remarks
from classwise.estimators.columns import check_columns, remember_columns
from classwise.estimators.leaving_out import LeavingOut
from classwise.estimators.model import Model
from classwise.estimators.report import SchemaReport
from classwise.explanation import Explanation, explain
from classwise.options import at_least, choose
from classwise.priors import Priors, class_priors
from classwise.schema import Families, read_families
from classwise.selection import Downdates, choose_families
from classwise.statistics import ClassStatistics, FullScatter, PooledScatter, Scatter, code_labels
from classwise.summarize import MISSING, summarize_table
from classwise.tables import Table, make_frame, open_row, open_source, refuse_unscorable, refuse_unsuitable

TIES = {"first": False, "random": True}

# Rows are scored in chunks of this many numbers, so that what is computed from a chunk is still in cache.
SCORING_SIZE = 3 * BLOCK_SIZE

# Where a chunk is first put together column by column, twice as long ones pay: threads then wait less for each other.
COPIED_SCORING_SIZE = 6 * BLOCK_SIZE


class NegativeLogLikelihood(NamedTuple):
    """-log p(x, y) summed over rows, in the two parts that are minimized separately."""

    labels: float
    features: float

    @property
    def total(self) -> float:
        """labels + features."""
        return self.labels + self.features


class BayesEstimator(ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier that is a summary of the rows, and a Bayes classifier made from it.

    A subclass says which scatter it needs and what density it makes of columns of numbers; families, smoothing,
    min_frequency and missing say what becomes of the other columns, and of values that are not there.
    """

    estimate: str
    families: Families
    smoothing: float
    min_frequency: float
    missing: str
    priors: Priors
    ties: str
    random_state: Any

    @abstractmethod
    def _scatter_form(self) -> type[Scatter]:
        """The leanest scatter that serves; options are checked here, before any row is read."""

    @abstractmethod
    def _gaussian(self, statistics: ClassStatistics) -> GaussianFit:
        """The density of the Gaussian columns, from statistics of them alone."""

    @abstractmethod
    def _independent(self, statistics: ClassStatistics) -> GaussianFit:
        """The density of columns that are Gaussian by themselves, from statistics of them alone."""

    # Learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X (n, p) and labels y (n,); a weight of two is the row twice, a weight of zero is no row.

        X is an array or a pandas, polars or Arrow table; text, categories, booleans and missing values are welcome.
        Rows without a label are left out, with a warning that counts them.
        """
        form = self._checked_form()
        table = open_source(X).read(self.families, required(y), sample_weight, strict=self._strict)
        return self._learn(summarize_table(table, form, allow_missing=not self._strict, quartics=self._needs_quartics))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those learned from so far; the result is that of fitting all of them at once.

        A class or a level first seen in a later batch is simply a new class or level.

        classes: the labels that may occur, if you want others refused.
        """
        form = self._checked_form()
        source, known = open_source(X), []
        before: ClassStatistics | None = getattr(self, "statistics_", None)
        if before is not None:
            check_columns(self, source)
            form, known = type(before.moments.scatter), before.known_columns()
        table = source.read(self.families, required(y), sample_weight, strict=self._strict, known=known)
        batch = summarize_table(table, form, allow_missing=not self._strict, quartics=self._needs_quartics)
        _check_expected(batch.labels, classes)
        statistics = batch if before is None else before + batch
        remember_columns(self, statistics)
        # Early batches may hold one class, or too few rows for a covariance: the model is made when it is asked for.
        self.statistics_, self._model = statistics, None
        return self

    def fit_statistics(self, statistics: ClassStatistics) -> Self:
        """Learn from statistics, gathered here or elsewhere."""
        if not isinstance(statistics, ClassStatistics):
            raise ClasswiseError(f"fit_statistics takes what summarize returns, not {type(statistics).__name__}.")
        self._checked_form()
        return self._learn(statistics)

    def with_priors(self, priors: Priors) -> Self:
        """The same model under other class priors: a new estimator, with nothing fitted again."""
        other = type(self)(**{**self.get_params(deep=False), "priors": priors})
        remember_columns(other, self._fitted().statistics_)
        other.statistics_ = self.statistics_
        given = self._priors(priors, self.statistics_)
        other._model = self.model_.with_classifier(self.classifier_.with_priors(given))
        return other

    # Answers ------------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Labels:
        """The most probable label of each row; (n,). Ties go to the first label, or at random with ties="random"."""
        table = self._table(X)
        if choose("ties", self.ties, TIES):
            generator = _generator(self.random_state)
            return self.classes_[break_ties(self._apply(BayesClassifier.scores, table), generator)]
        return self.classes_[self._apply(BayesClassifier.decide, table)]

    def predict_proba(self, X: Any) -> Array:
        """P(k | x); (n, g), columns in the order of `classes_`."""
        return self._apply(BayesClassifier.posterior, self._table(X)).T

    def predict_log_proba(self, X: Any) -> Array:
        """log P(k | x), exact where the probability itself underflows; (n, g)."""
        return self._apply(BayesClassifier.log_posterior, self._table(X)).T

    def decision_function(self, X: Any) -> Array:
        """log P(k | x) (n, g); for two classes the log odds of the second, (n,)."""
        if len(self.classes_) > 2:
            return self.predict_log_proba(X)
        scores = self._apply(BayesClassifier.scores, self._table(X))
        return np.asarray(scores[1] - scores[0])

    def log_joint(self, X: Any) -> Array:
        """log prior_k + log p(x | k); (n, g)."""
        return self._apply(BayesClassifier.log_joint, self._table(X)).T

    def log_density(self, X: Any) -> Array:
        """log p(x | k), missing values integrated out; (n, g)."""
        return self._apply(BayesClassifier.log_density, self._table(X)).T

    def log_evidence(self, X: Any) -> Array:
        """log p(x): how ordinary a row is under the model; (n,)."""
        return self._apply(BayesClassifier.log_evidence, self._table(X))

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> NegativeLogLikelihood:
        """Negative log-likelihood of labeled rows, split into .labels and .features; .total is their sum."""
        table = self._table(X, required(y), sample_weight).weighted()
        codes = self._codes_of(table)
        weights = np.ones(len(table)) if table.weights is None else table.weights
        log_prior = self.classifier_.log_prior[codes, 0]
        log_density = self._apply(BayesClassifier.log_density, table)[codes, np.arange(len(table))]
        return NegativeLogLikelihood(-float(weights @ log_prior), -float(weights @ log_density))

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, *, recount: bool = False) -> Array:
        """log P(k | x) of each row under the model fitted without that row, exactly; (n, g).

        X and y are the rows that the model was fitted on. Gaussians are not fitted again: a row is left out by a
        rank-one downdate. Other models are fitted without each row in turn, from statistics. Dials chosen by "cv" stay
        as they were chosen. A row without which the model cannot be fitted has -inf for every class, and a warning
        names it.

        recount: count the priors without the row too, rather than keep them.

        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> int((cw.QDA().fit(X, y).leave_one_out(X, y).argmax(axis=1) != y).sum())
        4
        """
        self._fitted()
        source = open_source(X)
        check_columns(self, source)
        table = source.read_like(self.model_.schema, self.model_.levels, required(y), sample_weight)
        if table.weights is not None and not table.weights.all():
            raise ClasswiseError("Rows of weight zero, or without a label, were never in the model; drop them first.")
        rows = np.asarray(table.rows, dtype=np.float64)
        downdates = None if np.isnan(rows).any() else self._downdates()
        assert table.labels is not None
        leaving = LeavingOut(self, source, table.labels, self._codes_of(table), table.weights, recount)
        return leaving.log_posteriors(downdates, rows)

    def _unfitted(self) -> Self:
        """The same options, all that was chosen from rows included, with nothing fitted."""
        return clone(self)

    def _downdates(self) -> Downdates | None:
        """What leaves rows out by formula, where the model is a Gaussian that allows it."""
        return None

    def explain(self, row: Any, label: Any = None, against: Any = None) -> Explanation:
        """Each column's share of the log odds of one label against another, for one row.

        row: a table of one row, a mapping from column to value, or the values in order. label: the most probable one,
        unless given; against: the most probable of the others. The shares, the prior's and (for joint Gaussians) the
        volumes' add up to the log odds.

        >>> import classwise as cw
        >>> m = cw.LDA().fit([[1, 0], [2, 1], [3, 0], [6, 2], [7, 0], [8, 1]], ["low"] * 3 + ["high"] * 3)
        >>> print(m.explain([4, 1]))
        log odds of 'low' against 'high': +2.759
          prior     +0
          0      4  +4.345
          1      1  -1.586
        """
        source = open_row(row, self._fitted().statistics_.schema.names)
        check_columns(self, source)
        table = source.read_like(self.model_.schema, self.model_.levels)
        if len(table) != 1:
            raise ClasswiseError(f"explain takes one row, not {len(table)}.")
        scores = self._apply(BayesClassifier.log_posterior, table)[:, 0]
        second = None if against is None else self._position(against)
        first = _best(scores, second) if label is None else self._position(label)
        second = _best(scores, first) if second is None else second
        values = np.asarray(table.rows, dtype=np.float64)[0]
        model = self.classifier_.observing() if np.isnan(values).any() else self.classifier_
        names = list(table.schema.names or range(len(values)))
        return explain(model, values, names, table.shown(0), first, second)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Any, Labels]:
        """n new rows (n, p) and their labels (n,), drawn from the fitted model.

        The rows are a table of the kind, with the column types, that the model was fitted on.
        """
        if not (isinstance(n, (int, np.integer)) and n >= 0):
            raise ClasswiseError(f"n={n!r} is not a number of rows.")
        rows, labels = self.classifier_.sample(int(n), _generator(random_state))
        return make_frame(rows, self.model_.schema, self.model_.levels), labels

    # Fitted attributes --------------------------------------------------------------------------------------------

    @property
    def model_(self) -> Model:
        """The fitted classifier, with what each column was taken for."""
        model = self._fitted()._model
        if model is None:
            model = self._model = self._make(self.statistics_)
        return model

    @property
    def classifier_(self) -> BayesClassifier:
        """Labels, priors and densities."""
        return self.model_.classifier

    @property
    def schema_(self) -> SchemaReport:
        """What each column was taken for: type, kind, family, levels, missing values; a table."""
        return self.model_.report()

    @property
    def families_(self) -> dict[Any, str]:
        """The family of each column, by name (or position)."""
        schema = self.model_.schema
        return {key: str(column.family) for key, column in zip(schema.names or range(len(schema)), schema, strict=True)}

    @property
    def log_marginal_likelihood_(self) -> float:
        """log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior."""
        evidence = self.model_.log_evidence
        if evidence is None:
            raise ClasswiseError(
                "There is no closed-form marginal likelihood for this model: it takes estimate='bayes' with a proper "
                "prior, smoothing above 0, no min_frequency, no missing='level', no counts, and no gaps if covariances "
                "are full."
            )
        return evidence

    @property
    def parameters_(self) -> dict[Any, dict[Any, Array]]:
        """What was estimated of each column, by name (or position): each an array over the classes, (g,).

        Numbers have a mean and a variance, their logarithms likewise, counts a rate or a chance, categories the
        probability of each level.

        >>> import classwise as cw
        >>> m = cw.NaiveBayes().fit([["red"], ["blue"], ["red"], ["red"]], ["a", "a", "b", "b"])
        >>> m.parameters_[0]["red"]
        array([0.5 , 0.75])
        """
        keys = self.model_.schema.names or range(len(self.model_.schema))
        return dict(zip(keys, self.classifier_.density.parameters(), strict=True))

    @property
    def classes_(self) -> Labels:
        """The labels, sorted; (g,)."""
        return self._fitted().statistics_.labels

    @property
    def priors_(self) -> Array:
        """The prior of each class; (g,)."""
        return self.classifier_.priors

    # ----------------------------------------------------------------------------------------------------------------

    statistics_: ClassStatistics
    _model: Model | None

    @property
    def _needs_quartics(self) -> bool:
        return False

    @property
    def _strict(self) -> bool:
        return not choose("missing", self.missing, MISSING)

    def _checked_form(self) -> type[Scatter]:
        choose("ties", self.ties, TIES)
        at_least("smoothing", self.smoothing, 0)
        at_least("min_frequency", self.min_frequency, 0)
        choose("missing", self.missing, MISSING)
        form = self._scatter_form()
        chosen = self.families.values() if isinstance(self.families, Mapping) else [self.families]
        # To choose a family takes the variances of each class.
        return FullScatter if "best" in chosen and form is PooledScatter else form

    def _learn(self, statistics: ClassStatistics) -> Self:
        # First the model: if it cannot be made, what was fitted before stays as it is.
        self._model = self._make(statistics)
        self.statistics_ = statistics
        remember_columns(self, statistics)
        return self

    def _make(self, statistics: ClassStatistics) -> Model:
        refuse_few_classes(statistics.labels)
        priors = self._priors(self.priors, statistics)
        keys = list(statistics.schema.names or range(len(statistics.schema)))
        asked = read_families(self.families, keys, [not c.family.has_levels for c in statistics.schema])
        statistics = statistics.seen_as(asked)
        choices = choose_families(statistics)
        statistics = statistics.seen_as({j: choice.family for j, choice in choices.items()})
        smoothing = Smoothing(self.smoothing, self.min_frequency, self.missing == "level")
        blocks = Blocks(statistics, smoothing, self._gaussian, self._independent)
        density = blocks.density()
        notes = {j: str(choice) for j, choice in choices.items()}
        notes |= {j: "; ".join(filter(None, [notes.get(j), note])) for j, note in blocks.notes.items()}
        notes |= {j: f"left out: {why}" for j, why in blocks.ignored.items()}
        classifier = BayesClassifier(statistics.labels, priors, density)
        missing = blocks.missing_weight.sum(axis=0) / statistics.weight.sum()
        levels, evidence = blocks.levels(), blocks.log_evidence
        model = Model(classifier, statistics.schema, levels, missing, notes, blocks.completion, evidence)
        warn_of_ignored(statistics, blocks.ignored)
        warn_of_remarks(type(self).__name__, blocks)
        return model

    def _priors(self, priors: Priors, statistics: ClassStatistics) -> Array:
        """Full Bayes counts one more row in each class: the posterior mean under a uniform Dirichlet prior."""
        return class_priors(priors, statistics.labels, statistics.weight + (1.0 if self._is_bayes else 0.0))

    @property
    def _is_bayes(self) -> bool:
        return isinstance(self.estimate, str) and self.estimate == "bayes"

    def _fitted(self) -> Self:
        if not hasattr(self, "statistics_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted yet; call fit, partial_fit or fit_statistics first.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        # Not the tag `categorical`: scikit-learn takes it for columns that hold nothing but codes.
        tags.input_tags.string = True
        return tags

    def _table(self, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
        self._fitted()
        source = open_source(X)
        check_columns(self, source)
        return source.read_like(self.model_.schema, self.model_.levels, y, sample_weight)

    def _apply(self, function: Callable[[BayesClassifier, Array], NDArray[Any]], table: Table) -> NDArray[Any]:
        """function(classifier, rows) of every chunk, side by side; where values are missing, of what is left."""
        whole = self.classifier_
        observing, strict = whole.observing(), self._strict

        def score(chunk: Table) -> NDArray[Any]:
            rows = chunk.rows
            if strict and chunk.levels:
                refuse_unsuitable(chunk, allow_missing=False)
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    return function(whole, rows)
            except UnscorableError:
                refuse_unsuitable(chunk, allow_missing=not strict)
            return score_with_gaps(chunk, rows)

        def score_with_gaps(chunk: Table, rows: Array) -> NDArray[Any]:
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    return function(observing, np.asarray(rows, dtype=np.float64))
            except UnscorableError:
                refuse_unscorable(chunk)
            raise UnscorableError(
                "Some rows have probability zero, or lie too far from every class to be scored in float64."
            )

        size = COPIED_SCORING_SIZE if table.is_copied else SCORING_SIZE
        return MemoryEngine().apply(score, table, max(size // whole.density.width, 64))

    def _codes_of(self, table: Table) -> NDArray[Any]:
        labels, codes = code_labels(required(table.labels))
        known = self.classes_.tolist()
        unknown = [label for label in labels.tolist() if label not in known]
        if unknown:
            raise ClasswiseError(f"y contains the label {unknown[0]!r}, which is not a class; the classes are {known}.")
        return np.searchsorted(self.classes_, labels)[codes]

    def _position(self, label: Any) -> int:
        labels = self.classes_.tolist()
        if label not in labels:
            raise ClasswiseError(f"{label!r} is not a class of the model; the classes are {labels}.")
        return labels.index(label)


def refuse_few_classes(labels: Labels) -> None:
    """Refuse rows of fewer than two classes."""
    if len(labels) < 2:
        found = f"one class, {labels.tolist()[0]!r}" if len(labels) else "no rows at all"
        raise ClasswiseError(f"A classifier needs rows of at least two classes, and y has {found}.")


def required(y: Any) -> Any:
    """The labels themselves, or an error where there are none."""
    if y is None:
        raise ClasswiseError("This estimator requires y to be passed, but the target y is None.")
    return y


def _best(scores: Array, but: int | None) -> int:
    """The position of the largest score, but for one."""
    candidates = [k for k in range(len(scores)) if k != but]
    return max(candidates, key=lambda k: float(scores[k]))


def _check_expected(labels: Labels, classes: Any) -> None:
    if classes is None:
        return
    unexpected = [label for label in labels.tolist() if label not in np.asarray(classes).tolist()]
    if unexpected:
        raise ClasswiseError(f"y contains the label {unexpected[0]!r}, which is not among classes={list(classes)}.")


def _generator(random_state: Any) -> np.random.Generator:
    """A generator from whatever scikit-learn takes as a seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)
