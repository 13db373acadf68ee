"""The methods of generative models: densities, samples, evidence, predictive checks."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.classifier.bayes import BayesClassifier, Calibration, Model, Priors, score
from classwise.classifier.decision import break_ties
from classwise.classifier.density_grid import DensityGrid, density_grid
from classwise.classifier.explanation import Explanation, explain, explain_sparse
from classwise.classifier.plan import Plan
from classwise.classifier.shift import Ordinary, is_present
from classwise.diagnostics import PredictiveCheck, check
from classwise.errors import ClasswiseError, NotAvailableError
from classwise.estimators.answers import Answers, read_generator, remember_columns
from classwise.estimators.fit_summary import SummaryTable, column_tables
from classwise.kernels.scores import Answer
from classwise.rows.device_rows import as_given
from classwise.rows.frames import make_frame
from classwise.rows.schema import Families
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics
from classwise.storage import shown

TIES = {"first": False, "random": True}


class NegativeLogLikelihood(NamedTuple):
    """-log p(x, y) summed over rows, in the two parts that are minimized separately."""

    labels: float
    features: float

    @property
    def total(self) -> float:
        """labels + features."""
        return self.labels + self.features


class GenerativeAnswers(Answers):
    """The methods of models with a prior and a density per class.

    families, smoothing and missing set how other columns than numbers, and missing values, are modeled.
    """

    families: Families
    smoothing: float | str
    missing: str
    priors: Priors
    ties: str
    random_state: Any

    # Fitted attributes that record how the model was chosen; with_priors copies them.
    _records: ClassVar[tuple[str, ...]] = ()
    _fitted_by = ("statistics_", "fit, partial_fit or fit_statistics")

    statistics_: ClassStatistics
    calibration_: Calibration
    _model: Model | None

    @abstractmethod
    def _plan(self) -> Plan:
        """The options, checked: which statistics to gather, and how to make a model of them."""

    def _settled_plan(self) -> Plan:
        """The same, with the options that were chosen on the rows."""
        return self._plan()

    @property
    def model_(self) -> Model:
        """The fitted classifier, with the schema of its columns."""
        model = self.__dict__.get("_model")
        if model is None:
            model = self._model = self._fitted()._settled_plan().model(self.statistics_)
        return model

    @property
    def classes_(self) -> Labels:  # type: ignore[override]
        """The labels, sorted; (g,)."""
        return self._fitted().statistics_.labels

    @property
    def classifier_(self) -> BayesClassifier:
        """Labels, priors and densities."""
        return self.model_.classifier

    @property
    def priors_(self) -> Array:
        """The prior of each class; (g,)."""
        return self.classifier_.priors

    @property
    def log_marginal_likelihood_(self) -> float:
        """log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior."""
        evidence = self.model_.log_evidence
        if evidence is None:
            raise NotAvailableError(
                "There is no closed-form marginal likelihood for this model: it takes estimate='bayes' with a proper "
                "prior, smoothing above 0, no min_frequency, no missing='level', no counts, and no gaps if covariances "
                "are full."
            )
        return evidence

    @property
    def parameters_(self) -> dict[Any, dict[Any, Array]]:
        """The estimates of each column, by name (or position): arrays over the classes, (g,) each.

        Numbers have a mean and a variance, log-normal columns those of their logarithms, counts a rate or a
        probability, categories the probability of each level.

        >>> import classwise as cw
        >>> m = cw.NaiveBayes().fit([["red"], ["blue"], ["red"], ["red"]], ["a", "a", "b", "b"])
        >>> m.parameters_[0]["red"]
        array([0.5 , 0.75])
        """
        keys = self.model_.schema.names or range(len(self.model_.schema))
        return dict(zip(keys, self.classifier_.density.parameters(), strict=True))

    def with_priors(self, priors: Priors) -> Self:
        """The same model under other class priors: a new estimator, without a new fit.

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
        other = type(self)(**{**self.get_params(deep=False), "priors": priors})
        model = self.model_
        given = replace(self._plan(), priors=priors).class_priors(self.statistics_)
        other._keep(model.with_classifier(model.classifier.with_priors(given)), self.statistics_)
        for name in self._records:
            if name in self.__dict__:
                setattr(other, name, self.__dict__[name])
        if other.classifier_.calibration is not None:
            other.calibration_ = other.classifier_.calibration
        return other

    # Rows -----------------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Labels:
        """The most probable label of each row; (n,). Ties go to the first label, or at random with ties="random".

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows to classify.

        Returns
        -------
        array of shape (n,)
            The labels.
        """
        if self.ties != "random":
            return super().predict(X)
        scores = self._apply(Answer.SCORES, self._table(X))
        return as_given(X, self.classes_[break_ties(scores, read_generator(self.random_state))])

    def log_joint(self, X: Any) -> Array:
        """log prior_k + log p(x | k); (n, g).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n, g)
            The log joint of each row and class.
        """
        return self._answer(BayesClassifier.log_joint, X).T

    def log_density(self, X: Any) -> Array:
        """log p(x | k), missing values integrated out; columns that were left out (schema_) do not count; (n, g).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n, g)
            The log density of each row in each class.
        """
        return self._answer(BayesClassifier.log_density, X).T

    def log_evidence(self, X: Any) -> Array:
        """log p(x), the log density of each row under the model: low for novel rows; (n,).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n,)
            The log evidence of each row.
        """
        return self._answer(BayesClassifier.log_evidence, X)

    def present(self, X: Any) -> NDArray[np.bool_]:
        """Which values of each row are present (not missing); (n, p).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of bool of shape (n, p)
            True where there is a value.
        """
        self._refuse_sparse("present")
        has_levels = self._has_levels
        return self._apply(lambda _, rows: is_present(rows, has_levels).T, self._table(X)).T

    def _ordinary(self, share: float) -> Ordinary:
        """Rows drawn from the model, for thresholds of novelty that depend on which values are missing."""
        return Ordinary.of(self.classifier_, self._has_levels, share)

    @property
    def _has_levels(self) -> NDArray[np.bool_]:
        return np.array([column.family.has_levels for column in self.model_.schema])

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> NegativeLogLikelihood:
        """Negative log-likelihood of labeled rows, split into .labels and .features; .total is their sum.

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
        NegativeLogLikelihood
            The two parts and their sum.
        """
        table = self._labeled(X, y, sample_weight)
        codes = self._codes_of(table)
        weights = np.ones(len(table)) if table.weights is None else table.weights
        log_prior = self.classifier_.log_prior[codes, 0]
        log_density = self._apply(BayesClassifier.log_density, table)[codes, np.arange(len(table))]
        return NegativeLogLikelihood(-float(weights @ log_prior), -float(weights @ log_density))

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Any, Labels]:
        """n new rows (n, p) and their labels (n,), drawn from the fitted model.

        The rows are a table like the training rows: of the same library, with the same column types.

        Parameters
        ----------
        n : int, default=1
            The number of rows to draw.
        random_state : int, RandomState or Generator, optional
            The seed of what is drawn at random.

        Returns
        -------
        X, y
            The rows, as a table if the model was fitted on one, and their labels of shape (n,).
        """
        if not (isinstance(n, (int, np.integer)) and n >= 0):
            raise ClasswiseError(f"n={n!r} is not a number of rows.")
        if self.model_.schema.is_sparse:
            return self._sparse_sample(int(n), random_state)
        rows, labels = self.classifier_.sample(int(n), read_generator(random_state))
        return make_frame(rows, self.model_.schema, self.model_.levels), labels

    def _sparse_sample(self, n: int, random_state: Any) -> tuple[Any, Labels]:
        """Rows as a sparse matrix."""
        columns = len(self.model_.schema)
        if n * columns > limits.MOST_HELD:
            raise ClasswiseError(
                f"n={n} rows of {columns} columns are too many to draw at once; draw {limits.MOST_HELD // columns} at "
                "a time."
            )
        rows, labels = self.classifier_.sample(n, read_generator(random_state))
        return csr_array(rows), labels

    def check(
        self, X: Any, y: Any, *, draws: int = 200, pairs: bool | None = None, random_state: Any = 0
    ) -> PredictiveCheck:
        """A predictive check: do samples of the model look like the rows, in each class, column and pair of columns?

        Parameters
        ----------
        X, y : array or table of shape (n, p) and array of shape (n,)
            The training rows, or others.
        draws : int, default=200
            The number of samples. Each has as many rows of each class as y, and gaps where X has gaps.
        pairs : bool, optional
            Whether to measure pairs of columns too; None does so for up to 40 columns.
        random_state : int, RandomState or Generator, default=0
            The seed of what is drawn at random.

        Returns
        -------
        PredictiveCheck
            The measures in which rows and samples are compared.

        Notes
        -----
        The result prints the measures in which rows and samples differ, and what may help.

        Examples
        --------
        >>> import classwise as cw, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(300, 2)), np.repeat(["a", "b"], 150)
        >>> X[:, 1] += 0.8 * X[:, 0]
        >>> cw.NaiveBayes().fit(X, y).check(X, y)
        300 rows beside 200 samples of the model: of 26 measures 2 surprise.
        - In classes 'a' and 'b' column 0 and column 1 rise together more than in the model: correlation
          0.682 in class 'a', in samples -0.143 to 0.165 (the model has them independent within a class; let
          them share a Gaussian (LDA, QDA)).
        >>> cw.QDA().fit(X, y).check(X, y)
        300 rows beside 200 samples of the model: of 26 measures none surprises.
        """
        self._refuse_sparse("check")
        table = self._labeled(X, y, None)
        return check(self.classifier_, table, self._codes_of(table), draws, read_generator(random_state), pairs)

    def density_grid(self, columns: Any = None, at: Any = None, X: Any = None) -> DensityGrid:
        """p(x | k) and P(k | x) on a grid of one or two columns; the others are integrated out or held at a value.

        Parameters
        ----------
        columns : column, sequence or mapping, optional
            As for `classwise.plot.density_grid`.
        at : mapping from column to value, optional
            As for `classwise.plot.density_grid`.
        X : array or table of shape (n, p), optional
            As for `classwise.plot.density_grid`.

        Returns
        -------
        DensityGrid
            The grid, with densities and posteriors.
        """
        return density_grid(self._fitted(), columns, at, X)

    # ----------------------------------------------------------------------------------------------------------------

    def _reasons(self, table: Table, first: int, second: int) -> Explanation:
        if table.schema.is_sparse:
            return explain_sparse(self.classifier_, table.rows, first, second)
        values = np.asarray(table.rows, dtype=np.float64)[0]
        model = self.classifier_.observing() if np.isnan(values).any() else self.classifier_
        names = list(table.schema.names or range(len(values)))
        return explain(model, values, names, table.shown(0), first, second)

    def _summary_tables(self) -> list[SummaryTable]:
        return [] if self.model_.schema.is_sparse else column_tables(self)

    def _weight_learned(self) -> tuple[int, Array]:
        return self.statistics_.rows, self.statistics_.weight

    @property
    def _has_reach(self) -> bool:
        return self.classifier_.density.is_density

    @property
    def _integrates(self) -> bool:
        return self.missing != "level"

    @property
    def _strict(self) -> bool:
        return self.missing == "error"

    def _applied(self, function: Any, table: Table) -> Any:
        return score(function, self.classifier_, table, strict=self._strict, smoothing=self._pseudo_rows)

    @property
    def _pseudo_rows(self) -> float:
        """The smoothing, where it is given; else some."""
        return 1.0 if isinstance(self.smoothing, str) else self.smoothing

    def _keep(self, model: Model | None, statistics: ClassStatistics) -> None:
        """Keep a new model and its statistics, and delete what an earlier fit has recorded."""
        for name in self._records:
            self.__dict__.pop(name, None)
        self._model, self.statistics_ = model, statistics
        remember_columns(self, statistics.schema)

    # Files ----------------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        """The facts in the header of a file."""
        facts = self._fitted().statistics_._facts() | {"options": shown(self.get_params(deep=False))}
        return facts if self._model is None else facts | self._model.schema.facts()

    def _outline(self) -> Self:
        """The same, with the model already made, so that it can be saved without its statistics."""
        if self.__sklearn_is_fitted__() and self._model is None:
            self._model = self.model_
        return self

    def _is_sound(self) -> bool:
        self._plan()
        seeded = self.random_state is None or (type(self.random_state) is int and self.random_state >= 0)
        return seeded and (not self.__sklearn_is_fitted__() or self._is_of_its_statistics())

    def _is_of_its_statistics(self) -> bool:
        schema, model = self.statistics_.schema, self._model
        names = tuple(getattr(self, "feature_names_in_", ())) or None
        named = self.n_features_in_ == len(schema) and names == schema.names
        return named and (model is None or model.is_of(self.statistics_))
