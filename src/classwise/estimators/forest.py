"""Forests that keep learning: the cuts stay fixed, and the counts of the classes in the leaves add up."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.classifier.bayes import Calibration, Priors
from classwise.classifier.explanation import Explanation
from classwise.classifier.plan import refuse_few_classes
from classwise.densities.blocks import warn_of_ignored
from classwise.engines import open_rows
from classwise.errors import ClasswiseError, choose, whole
from classwise.estimators.answers import Answers, check_columns, read_seed, remember_columns
from classwise.estimators.fit_summary import LEFT_OUT, SummaryTable
from classwise.estimators.summary import CALIBRATIONS, expecting
from classwise.estimators.unavailable import TREES
from classwise.forest.beliefs import BELIEFS, Belief
from classwise.forest.folded_growth import ForestPlan, Grown, drawn_to_grow, with_seen_levels
from classwise.forest.forest import Forest
from classwise.forest.forest_model import (
    ForestModel,
    LeafCounting,
    count_leaves,
    forest_explanation,
    is_counted,
    leaf_counts,
    seen_priors,
    with_priors,
)
from classwise.forest.leaving_out import log_left_out
from classwise.rows.codes import code_labels
from classwise.rows.schema import Families
from classwise.rows.sources import open_source, read_counted, required
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics, DiagonalScatter
from classwise.statistics.summaries import summarize_table
from classwise.statistics.trees import Trees
from classwise.storage import shown, stored

CUTS = {"random": True, "best": False}
CHOICES: Mapping[str, Mapping[str, Belief]] = {"cv": BELIEFS} | {name: {name: of} for name, of in BELIEFS.items()}


@stored("ForestClassifier", kind="model")
class ForestClassifier(Answers):
    """A forest that keeps learning: its cuts stay as they were grown, while the leaves count further rows.

        P(k | x) = mean over trees of  P(k | leaf that x falls into),   from the weights of the classes in the leaf

    Rows can be counted later or elsewhere, and removed again. With the same cuts, the model is exactly the one that
    counting all remaining rows at once would give.

    Parameters
    ----------
    cuts : {"random", "best"}, default="random"
        "random" draws one cut for each of some columns and keeps the best of them (extremely randomized
        trees); "best" searches the best cut of each, on rows drawn with replacement (a random forest).
    trees : int, default=200
        The number of trees.
    min_leaf : int, optional
        The least number of rows in a leaf when it is grown; None is 1, or 2 where best cuts are searched on
        more than 10,000 rows.
    belief : {"cv", "leaves", "pure leaves", "prunings"}, default="cv"
        How the counts in a leaf become probabilities. "leaves" smooths every node toward its parent by half a
        row; "pure leaves" smooths far less, and mixes in one percent of equal odds; "prunings" averages over
        all ways to prune the tree; "cv" takes the one of these with the least log loss on held-out rows,
        after calibration.
    calibrate : {"temperature"} or None, default="temperature"
        "temperature" raises posteriors to the power that fits held-out rows best, because the mean of many
        trees is underconfident; None leaves them as they are.
    folds : int, array of shape (n,) or splitter, default=5
        How rows are held out to choose the belief and the temperature: a number of stratified folds, the fold
        of each row, or a scikit-learn splitter. Further trees, each grown without some folds, predict the
        rows of these.
    families : str or mapping from column to family, default="auto"
        How to read columns whose type is misleading, such as {"zip": "categorical"}.
    priors : str, mapping or sequence, default="empirical"
        "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of
        sorted labels. Posteriors are multiplied by the ratio of these priors to the class shares of the rows.
    random_state : int, RandomState or Generator, default=0
        The seed of folds, cuts and samples; None is 0.

    Attributes
    ----------
    classes_
        The labels, sorted.
    priors_
        The prior of each class; (g,).
    belief_
        How counts in leaves become probabilities, as chosen.
    classifier_
        The classifier without the scikit-learn interface.
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    model_
        The fitted model without the scikit-learn interface.
    n_features_in_
        The number of columns.
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.
    statistics_
        What was gathered from the rows; statistics add and subtract.
    trees_
        The trees, with their cuts.

    Notes
    -----
    Trees are grown on at most 50,000 rows, drawn at random; all rows are counted. Missing numbers are replaced by the
    mean of their column. A category is cut by the order of its levels; missing and unseen levels come last.

    Examples
    --------
    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> m = cw.ForestClassifier(trees=50).fit(X[::2], y[::2])
    >>> later = m.summarize(X[1::2], y[1::2])
    >>> m.fit_statistics(m.statistics_ + later).statistics_.rows, m.belief_
    (150, 'prunings')
    """

    _unavailable = TREES
    _fitted_by = ("statistics_", "fit, partial_fit or fit_statistics")

    # leave_one_out removes a row from the counts, but not from the rows that the trees were grown on.
    leave_one_out_given: ClassVar[str] = "trees"

    statistics_: ClassStatistics
    belief_: str
    belief_losses_: dict[str, float]
    calibration_: Calibration
    _outlined: ForestModel  # replaces the counts, if these were left out of a file

    def __init__(
        self,
        *,
        cuts: Literal["random", "best"] = "random",
        trees: int = 200,
        min_leaf: int | None = None,
        belief: Literal["cv", "leaves", "pure leaves", "prunings"] = "cv",
        calibrate: Literal["temperature"] | None = "temperature",
        folds: Any = 5,
        families: Families = "auto",
        priors: Priors = "empirical",
        random_state: Any = 0,
    ) -> None:
        self.cuts = cuts
        self.trees = trees
        self.min_leaf = min_leaf
        self.belief = belief
        self.calibrate = calibrate
        self.folds = folds
        self.families = families
        self.priors = priors
        self.random_state = random_state

    # Learning -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,). A row of weight two counts twice, a row of weight zero not at all.

        X is an array or a pandas, polars or Arrow table; it may hold text, categories, booleans and missing values.
        groups (n,): rows of one group stay in one fold.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows to learn from.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.
        groups : array of shape (n,), optional
            Rows of one group stay in one fold.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        plan = self._plan()
        source, table, counted = read_counted(X, required(y), sample_weight, self.families)
        labels, codes = code_labels(required(table.labels))
        refuse_few_classes(labels)
        weights = np.ones(len(codes)) if table.weights is None else table.weights
        drawn, weighed = drawn_to_grow(codes, weights, plan.seed)
        counted[np.delete(np.flatnonzero(counted), drawn)] = False
        grown = plan.grow(with_seen_levels(replace(table.take(drawn), weights=weighed)), groups, counted)
        like = source.read_like(table.schema, grown.trees.levels, table.labels, table.weights)
        return self._keep_grown(grown, count_leaves(grown.trees, like))

    def fit_source(
        self, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Fit to a source of rows, which may be larger than memory; it is then read twice.

        Parameters
        ----------
        source : path, pattern, query, table or stream
            As for `summarize` with a target, if it can be read twice: the path of a CSV, TSV, JSON, Parquet or
            Arrow file, a pattern, a query, a database table, a lazy frame, a function that returns batches, or a
            DataFrame of Dask or Spark.
        target : str
            The column of labels.
        columns : sequence of str, optional
            The columns to learn from; by default all others.
        weights : str, optional
            The column of weights; by default all rows have weight one.

        Returns
        -------
        estimator
            The estimator itself, fitted.

        Notes
        -----
        The first pass draws 50,000 rows and grows the trees on them; the second counts all rows.
        """
        plan = self._plan()
        rows = open_rows(source, target=target, columns=columns, weights=weights, families=self.families)
        rows.refuse_gone("fit_source")
        held = rows.held()
        if held is not None:
            return self.fit(held.X, held.y, held.weights)
        _, table, counted = read_counted(*rows.sample(limits.GROWN_ROWS, 0, plan.seed), self.families)
        refuse_few_classes(code_labels(required(table.labels))[0])
        grown = plan.grow(with_seen_levels(table), None, counted)
        counting = LeafCounting(grown.trees, table.schema, rows.roles)
        statistics = rows.gather(counting, "Learning", least=grown.trees.n_leaves // len(grown.trees))
        assert statistics is not None
        return self._keep_grown(grown, statistics)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count further rows. The first batch grows the trees, as in fit.

        The result is the same as that of counting all rows at once in these trees. A later batch may have new classes.
        A new level comes after the last one, like a missing level.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows to learn from.
        y : array of shape (n,)
            The labels of the rows.
        classes : sequence of labels, optional
            The labels that may occur; others are an error. A class without rows so far is in classes_, with a
            prior and posteriors of zero.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        if not self.__sklearn_is_fitted__():
            first = self._first_batch(X, y, sample_weight, classes)
            self._keep(expecting(first.statistics_, classes), first.belief_, first.__dict__.get("calibration_"))
            self.belief_losses_ = first.belief_losses_
            return self
        batch = expecting(self.summarize(X, y, sample_weight), classes)
        return self._keep(self.statistics_ + batch, self.belief_, self.__dict__.get("calibration_"))

    def _first_batch(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Self:
        if classes is not None:  # raises the error for other labels before trees are grown
            expecting(summarize_table(open_source(X).read(self.families, required(y)), DiagonalScatter), classes)
        return copy(self).fit(X, y, sample_weight)

    def summarize(self, X: Any, y: Any, sample_weight: Any = None) -> ClassStatistics:
        """The statistics of further rows, counted in the leaves of this forest. Add them to `statistics_`, and pass the
        sum to `fit_statistics`.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        ClassStatistics
            Statistics that add up.
        """
        trees = self._fitted().trees_
        source = open_source(X)
        check_columns(self, source)
        table = source.read_like(self.statistics_.schema, trees.levels, required(y), sample_weight)
        return count_leaves(trees, table)

    def fit_statistics(self, statistics: ClassStatistics) -> Self:
        """Fit to statistics that `summarize` of a fitted forest has gathered, here or elsewhere.

        The belief and temperature that were chosen on held-out rows stay. An estimator that is not fitted takes the
        trees from the statistics. It needs belief other than "cv" and calibrate=None, because counts hold no rows out.

        Parameters
        ----------
        statistics : ClassStatistics
            What `summarize` returned, or a sum of such statistics.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        if not isinstance(statistics, ClassStatistics):
            raise ClasswiseError(f"fit_statistics takes what summarize returns, not {type(statistics).__name__}.")
        given = leaf_counts(statistics).trees
        if self.__sklearn_is_fitted__() and self.trees_.is_like(given):
            return self._keep(statistics, self.belief_, self.__dict__.get("calibration_"))
        left: dict[str, Any] = {"belief": self.belief} if self.belief == "cv" else {}
        left |= {"calibrate": self.calibrate} if choose("calibrate", self.calibrate, CALIBRATIONS) else {}
        if left:
            named = " and ".join(f"{name}={value!r}" for name, value in left.items())
            raise ClasswiseError(
                f"These statistics count the leaves of other trees than this forest has, and {named} "
                f"{'needs' if len(left) == 1 else 'need'} rows. Call fit_statistics of the forest that gathered them, "
                "or choose without rows: belief='leaves', calibrate=None."
            )
        choose("belief", self.belief, CHOICES)
        self.__dict__.pop("belief_losses_", None)
        return self._keep(statistics, self.belief, None)

    def _plan(self) -> ForestPlan:
        """The options, checked before any row is read."""
        random, count = choose("cuts", self.cuts, CUTS), whole("trees", self.trees, 1)
        least = None if self.min_leaf is None else whole("min_leaf", self.min_leaf, 1)
        beliefs = choose("belief", self.belief, CHOICES)
        is_judged = choose("calibrate", self.calibrate, CALIBRATIONS) or len(beliefs) > 1
        return ForestPlan(random, count, least, beliefs if is_judged else {}, self.folds, read_seed(self.random_state))

    def _keep_grown(self, grown: Grown, statistics: ClassStatistics) -> Self:
        powers = grown.powers() if self.calibrate else {}
        losses = grown.losses(powers)
        belief = min(losses, key=lambda name: losses[name]) if losses else self.belief
        self._keep(statistics, belief, Calibration(powers[belief]) if powers else None)
        self.belief_losses_ = losses
        return self

    def _keep(self, statistics: ClassStatistics, belief: str, calibration: Calibration | None) -> Self:
        # First the model: if this fails, the previous fit stays.
        model = ForestModel.of(statistics, BELIEFS[belief], calibration, self.priors)
        warn_of_ignored(statistics, {j: note.removeprefix(LEFT_OUT) for j, note in model.notes.items()})
        for name in ("calibration_", "_outlined"):
            self.__dict__.pop(name, None)
        self.statistics_, self.belief_, self._made = statistics, belief, model
        if calibration is not None:
            self.calibration_ = calibration
        remember_columns(self, statistics.schema)
        return self

    # What was learned -----------------------------------------------------------------------------------------------

    @property
    def model_(self) -> ForestModel:
        """The classifier and the schema of its columns."""
        fitted = self._fitted().__dict__
        if "_made" not in fitted:
            kept = fitted.get("_outlined")
            self._made = self._remade() if kept is None else kept
        return self._made

    def _remade(self) -> ForestModel:
        return ForestModel.of(self.statistics_, BELIEFS[self.belief_], self.__dict__.get("calibration_"), self.priors)

    @property
    def classes_(self) -> Labels:  # type: ignore[override]
        """The labels, sorted; (g,)."""
        return self._fitted().statistics_.labels

    @property
    def classifier_(self) -> Forest:
        """Labels, trees, and the class probabilities of their nodes."""
        return self.model_.classifier

    @property
    def trees_(self) -> Trees:
        """The trees, with their cuts."""
        return self.classifier_.trees

    @property
    def priors_(self) -> Array:
        """The prior of each class; (g,)."""
        return seen_priors(self.priors, self.classes_, self.statistics_.weight)

    def with_priors(self, priors: Priors) -> Self:
        """The same model under other class priors: a new estimator, without a new fit.

        P(k | x) is multiplied by the ratio of the new prior to the share of the class in the rows, and normalized.

        Parameters
        ----------
        priors : str, mapping or sequence
            The class priors: "empirical", "uniform", a mapping from label to probability, or a sequence in the
            order of the sorted labels.

        Returns
        -------
        estimator
            A new estimator; this one stays as it is.
        """
        model = self.model_
        other = copy(self)
        other.priors = priors
        other._made = replace(model, classifier=with_priors(model.classifier, priors, self.statistics_.weight))
        if "_outlined" in self.__dict__:
            other._outlined = other._made
        return other

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """log P(k | x) of each row, with the row left out of the counts, exactly; (n, g).

        X and y are rows that the model has counted. Each is left out of the counts of all leaves. The cuts, the belief
        and the temperature stay, although the row had a part in them. The result is therefore more optimistic than a
        fit without the row. `belief_losses_` has the log loss of trees on rows that they were not grown on.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        array of shape (n, g)
            The log posteriors of each row, from a model that has not seen it.

        Examples
        --------
        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> int((cw.ForestClassifier(trees=50).fit(X, y).leave_one_out(X, y).argmax(axis=1) != y).sum())
        6
        """
        table = self._labeled(X, y, sample_weight)
        rows, codes = np.asarray(table.rows, dtype=np.float64), self._codes_of(table)
        weights = np.ones(len(codes)) if table.weights is None else table.weights
        counts, belief = leaf_counts(self.statistics_), BELIEFS[self.belief_]
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.priors_)
        return log_left_out(self.classifier_, belief, counts, log_prior, rows, codes, weights).T

    def _reasons(self, table: Table, first: int, second: int) -> Explanation:
        values = np.asarray(table.rows, dtype=np.float64)[0]
        return forest_explanation(self.model_, values, table.shown(0), first, second)

    def _summary_tables(self) -> list[SummaryTable]:
        forest = self.classifier_
        counted = (str(len(forest.trees)), str(forest.trees.n_leaves), self.belief_)
        tables = [SummaryTable("Trees", [("trees", "leaves", "belief"), counted])]
        losses = [(name, f"{loss:.5g}") for name, loss in self.__dict__.get("belief_losses_", {}).items()]
        held_out = SummaryTable("Log loss of held-out rows", [("belief", "log loss"), *losses])
        return [*tables, held_out] if losses else tables

    def _weight_learned(self) -> tuple[int, Array]:
        return self.statistics_.rows, self.statistics_.weight

    # Files and scikit-learn's tags ------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        """The facts in the header of a file."""
        return self._fitted().statistics_._facts() | {"options": shown(self.get_params(deep=False))}

    def _outline(self) -> Self:
        """A copy with the class probabilities of the nodes, to be saved without the counts."""
        other = copy(self)
        if self.__sklearn_is_fitted__():
            other._outlined = self.model_
        return other

    def _is_sound(self) -> bool:
        self._plan()
        seeded = self.random_state is None or (type(self.random_state) is int and self.random_state >= 0)
        return seeded and (not self.__sklearn_is_fitted__() or self._is_of_its_statistics())

    def _is_of_its_statistics(self) -> bool:
        statistics, model = self.statistics_, self.model_
        names = tuple(getattr(self, "feature_names_in_", ())) or None
        named = self.n_features_in_ == len(statistics.schema) and names == statistics.schema.names
        same = model.schema.names == names and len(model.schema) == len(statistics.schema)
        labeled = model.classifier.labels.tolist() == statistics.labels.tolist()
        seen_priors(self.priors, statistics.labels, statistics.weight)
        counted = not statistics.parts or is_counted(statistics)
        return named and same and labeled and model._is_sound() and counted and self.belief_ in BELIEFS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
