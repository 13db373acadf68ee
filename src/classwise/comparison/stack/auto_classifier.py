"""AutoClassifier: a stack of different kinds of models (members), each calibrated, and weighted on held-out rows."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.classifier.plan import refuse_few_classes
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.members import read_members, suitable
from classwise.comparison.stack.stack_model import AutoAnswers
from classwise.comparison.stack.stacking import MODULES, LearnedStack, learn, workers_pay
from classwise.comparison.stack.sums import AutoStatistics
from classwise.comparison.stack.trained import MadeOfSums
from classwise.engines import open_rows
from classwise.engines.progress import Deadline
from classwise.engines.workers import kept_workers
from classwise.errors import ClasswiseError, at_least, choose
from classwise.estimators import check_columns, codes_among, read_seed
from classwise.rows.codes import code_labels, is_sorted
from classwise.rows.roles import Chunk, Roles
from classwise.rows.schema import Families
from classwise.rows.sources import open_source, read_counted, required
from classwise.rows.table import Table, refuse_unsuitable
from classwise.selection import assign_folds, no_more_than
from classwise.storage import shown, stored

# The share of a time limit for fitting members; the rest is for their weights.
TO_LEARN = 0.8

COMBINATIONS = {"stack": "stack", "pick": "pick"}


@stored("AutoClassifier", kind="model")
class AutoClassifier(AutoAnswers):
    """A stack: calibrated posteriors from a raw table, as the weighted average of several models (members).

        P(k | x) ~ (sum over members i of w_i P_i(k | x)^b_i / Z_i(x))^b

    The weights w and the powers b (1 / temperature) are fitted to out-of-fold posteriors.

    Parameters
    ----------
    members : str or list, default="default"
        "default"; "fast", for members of covariances alone; "full", for all; "sql", for those that `to_sql`
        supports; or a list of names (those of `classwise.comparison.stack.NAMED`) and of classifiers, which
        get the rows as given.
    combine : {"stack", "pick"}, default="stack"
        "stack" averages the members; "pick" takes the one that is best on held-out rows.
    folds : int, array of shape (n,) or splitter, default=5
        How rows are held out: a number of stratified folds, the fold of each row, or a scikit-learn splitter.
    families : str or mapping from column to family, default="auto"
        How to read columns whose type is misleading, as in NaiveBayes.
    random_state : int, RandomState or Generator, default=0
        The seed of folds, trees and samples: a number, a RandomState or a Generator; None is 0.
    time_limit : float, optional
        About how many seconds fit may take. Members that are not done after 80 % of this time are stopped and
        left out, and the report says so (a classifier of your own can be stopped only between folds). If none
        is done, the model knows only the class shares. The remaining time is for weights and temperatures; if
        it runs out, they stay as they are, and the report lacks the log loss without each member. Without a
        limit, the same rows give the same model.
    n_jobs : int, optional
        How many threads work: a number, -1 for all cores, or -2 for all but one. Unlike in scikit-learn, None
        is all cores (in a fit without worker processes, up to six), unless `joblib.parallel_config`,
        OMP_NUM_THREADS or threadpoolctl say otherwise. It changes no result.

    Attributes
    ----------
    priors_
        The prior of each class; (g,).
    classifier_
        The classifier without the scikit-learn interface.
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    members_
        The fitted members by name.
    model_
        The fitted model without the scikit-learn interface.
    n_features_in_
        The number of columns.
    report_
        The members, their weights, and the log loss without each; a table.
    rows_
        The number of rows that the model has learned from.
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.
    statistics_
        What was gathered from the rows; statistics add and subtract.
    temperatures_
        The temperature of each member, whose posteriors are raised to the power 1 / temperature.
    weights_
        The weight of each member; they sum to one.

    Notes
    -----
    `report_` shows the weight of each member, and how much the log loss rises without it; weights_, temperatures_ and
    members_ hold these by name. A member that cannot be fitted is left out, and the report says why.

    Above 50,000 rows, members are cross-validated on a sample of 50,000; those that learn from sums are then fitted on
    all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> m = AutoClassifier().fit(X, y)
    >>> m.predict(X[:2]).tolist(), round(m.report_.log_loss, 2)
    ([0, 0], 0.07)
    """

    n_jobs: int | None = None  # files of earlier versions have none

    def __init__(
        self,
        *,
        members: Any = "default",
        combine: Literal["stack", "pick"] = "stack",
        folds: Any = 5,
        families: Families = "auto",
        random_state: Any = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.members = members
        self.combine = combine
        self.folds = folds
        self.families = families
        self.random_state = random_state
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,). A row of weight two counts twice, a row of weight zero not at all.

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
        self._learn(X, y, sample_weight, groups)
        return self

    def fit_source(
        self, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Fit to a source of rows; above 50,000 rows, in two passes with flat memory.

        Parameters
        ----------
        source : path, pattern, query, table or stream
            As for `summarize` with a target, if it can be read twice: the path of a CSV, TSV, JSON, Parquet or
            Arrow file, a pattern, a query, a database table, or a function that returns batches.
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
        The first pass draws 50,000 rows, at least 100 of each class if there are as many, and fits the members on them.
        In the second pass, members that learn from sums are fitted on all rows; softmax regression, networks, boosted
        trees and mixtures stay as they are. Levels that are not in the sample count as unseen.
        """
        rows = open_rows(source, target=target, columns=columns, weights=weights, families=self.families)
        rows.refuse_gone("fit_source")
        held = rows.held(limits.MOST_TRIED * len(rows.roles.needed))
        if held is not None:
            return self.fit(held.X, held.y, held.weights)
        X, y, drawn = rows.sample(limits.MOST_TRIED, limits.FEWEST_DRAWN, read_seed(self.random_state))
        self.fit(X, y, drawn)
        statistics = rows.gather(partial(_summarize_chunk, self, rows.roles), "Learning")
        assert statistics is not None
        return self.fit_statistics(statistics)

    def _learn(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> LearnedStack:
        combine = choose("combine", self.combine, COMBINATIONS)
        limit = None if self.time_limit is None else at_least("time_limit", self.time_limit, 0)
        deadline = Deadline.after(limit)
        members = read_members(self.members, X)
        source, table, counted = read_counted(X, required(y), sample_weight, self.families)
        of_members = Deadline(deadline.at - (1 - TO_LEARN) * (limit or 0.0))
        rows = self._training_rows(table, groups, counted, of_members)
        with kept_workers(self.n_jobs, workers_pay(rows), MODULES):
            learned = learn(rows, suitable(self.members, members, rows), combine, deadline)
        self.members_, self.pool_, self.report_ = learned.members, learned.pool, learned.report
        self.classes_, self.rows_ = rows.labels, len(rows)
        self._schema, self._levels, self._shift = table.schema, table.levels, np.zeros(rows.count)
        self._totals = rows.class_weight.sum(axis=0)
        self.n_features_in_ = len(table.schema)
        self.__dict__.pop("feature_names_in_", None)
        if source.names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        return learned

    def _training_rows(self, table: Table, groups: Any, counted: NDArray[np.bool_], deadline: Deadline) -> FoldedRows:
        refuse_unsuitable(table, allow_missing=True)
        assert table.labels is not None
        weights = np.ones(len(table)) if table.weights is None else table.weights
        labels, codes = code_labels(table.labels)
        refuse_few_classes(labels)
        seed = read_seed(self.random_state)
        folds = assign_folds(no_more_than(self.folds, len(codes)), codes, groups, seed, counted)
        matrix = np.asarray(table.rows, dtype=np.float64)
        levels = {j: len(names) for j, names in table.levels.items()}
        rows = FoldedRows(matrix, levels, labels, codes, folds, weights, np.flatnonzero(counted), seed, deadline)
        if not rows.scored_weights.any():
            raise ClasswiseError(
                "No class has rows in two folds, so no member can be tried; give more rows of each class."
            )
        return rows

    # Statistics -----------------------------------------------------------------------------------------------------

    @property
    def statistics_(self) -> AutoStatistics:
        """The statistics of the members that learn from sums."""
        sums = {name: trained.sums for name, trained in self._made_of_sums().items()}
        return AutoStatistics(self.classes_, self.rows_, sums)

    def _made_of_sums(self) -> dict[str, MadeOfSums]:
        members = self._fitted().members_.items()
        return {name: trained for name, trained in members if isinstance(trained, MadeOfSums)}

    def summarize(self, X: Any, y: Any, sample_weight: Any = None) -> AutoStatistics:
        """The statistics of further rows. Add them to `statistics_`, and pass the sum to `fit_statistics`.

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
        AutoStatistics
            Statistics that add up.
        """
        self._fitted()
        source = open_source(X)
        check_columns(self, source)
        table = source.read_like(self._schema, self._levels, required(y), sample_weight).weighted()
        refuse_unsuitable(table, allow_missing=True)
        codes = codes_among(self.classes_, table.labels)
        rows = np.asarray(table.rows, dtype=np.float64)
        weights = np.ones(len(rows)) if table.weights is None else table.weights
        members, count = self._made_of_sums().items(), len(self.classes_)
        sums = {name: trained.summarize(rows, codes, count, weights) for name, trained in members}
        return AutoStatistics(self.classes_, len(rows), sums)

    def fit_statistics(self, statistics: AutoStatistics) -> Self:
        """Fit again to statistics that this model has gathered. The transforms, options, weights and temperatures of
        the members stay. So do softmax regression, networks, boosted trees and mixtures, which have no such statistics.

        Parameters
        ----------
        statistics : AutoStatistics
            What `summarize` returned, or a sum of such statistics.

        Returns
        -------
        estimator
            The estimator itself, fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> m = AutoClassifier(members="fast").fit(X[::2], y[::2])
        >>> m.fit_statistics(m.statistics_ + m.summarize(X[1::2], y[1::2])).rows_
        150
        """
        if not isinstance(statistics, AutoStatistics):
            raise ClasswiseError(
                f"fit_statistics takes what summarize and statistics_ of a fitted AutoClassifier give, not a "
                f"{type(statistics).__name__}."
            )
        self.statistics_._check(statistics)
        if not statistics.sums:
            raise ClasswiseError("No member of this stack is made of sums: there is nothing to learn again; call fit.")
        absent = self.classes_[~(statistics.weight > 0)].tolist()
        if absent:
            raise ClasswiseError(f"The statistics have no row of class {absent[0]!r}.")
        for name, trained in self._made_of_sums().items():
            self.members_[name] = trained.relearned(statistics.sums[name])
        self.rows_, self._totals = statistics.rows, statistics.weight
        return self

    # Files ----------------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        """The facts in the header of a file."""
        report = self._fitted().report_
        fields = ("name", "weight", "temperature", "log_loss")
        members = [shown({name: getattr(line, name) for name in fields}) for line in report if not line.reason]
        return {
            "labels": self.classes_.tolist(),
            "rows": self.rows_,
            "weight": float(self._totals.sum()),
            "members": members,
            **shown({"log_loss": report.log_loss}),
            **self._schema.facts(),
            "options": shown(self.get_params(deep=False)),
        }

    def _is_sound(self) -> bool:
        if not hasattr(self, "pool_"):
            return True
        count, width = len(self.classes_), len(self._schema)
        shaped = len(self.pool_.weights) == len(self.members_) and self._shift.shape == self._totals.shape == (count,)
        weighed = bool((self._totals > 0).all() and np.isfinite(self.priors_).all()) and self.rows_ >= 0
        names = tuple(getattr(self, "feature_names_in_", ())) or None
        named = width == self.n_features_in_ and names == self._schema.names and is_sorted(self.classes_)
        known = set(self._levels) == set(self._schema.levels) and all(map(is_sorted, self._levels.values()))
        members = self.members_.values()
        return shaped and weighed and named and known and all(member.suits(count, width) for member in members)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _summarize_chunk(stack: AutoClassifier, roles: Roles, chunk: Chunk) -> AutoStatistics | None:
    """The statistics of a chunk of rows, for a stack."""
    counted = chunk.counted(roles)
    if not len(counted):
        return None
    labels, codes = counted.coded()
    rows = counted.frame.select(list(roles.features)).to_native()
    return stack.summarize(rows, labels[codes], counted.weights)
