"""What a fitted estimator answers: labels, probabilities, densities, reasons, new rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Labels, log_sum_exp
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.decision import RejectCurve, break_ties, reject_curve
from classwise.classifier.density_grid import DensityGrid, density_grid
from classwise.classifier.evaluation import Evaluation
from classwise.classifier.explanation import Explanation, explain
from classwise.classifier.novelty import Ordinary, is_present
from classwise.classifier.shift import PriorShift, estimate_shift
from classwise.diagnostics import PredictiveCheck, check
from classwise.errors import ClasswiseError, choose
from classwise.estimators.columns import check_columns
from classwise.estimators.fitted import Fitted, required
from classwise.estimators.leaving_out import LeavingOut
from classwise.rows.frames import make_frame
from classwise.rows.reading import open_row, open_source
from classwise.selection import Downdates

TIES = {"first": False, "random": True}


class NegativeLogLikelihood(NamedTuple):
    """-log p(x, y) summed over rows, in the two parts that are minimized separately."""

    labels: float
    features: float

    @property
    def total(self) -> float:
        """labels + features."""
        return self.labels + self.features


class Answers(Fitted):
    """Everything that can be asked of a model."""

    def predict(self, X: Any) -> Labels:
        """The most probable label of each row; (n,). Ties go to the first label, or at random with ties="random"."""
        table = self._table(X)
        if choose("ties", self.ties, TIES):
            generator = read_generator(self.random_state)
            return self.classes_[break_ties(self._apply(BayesClassifier.announced, table), generator)]
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
        scores = self._apply(BayesClassifier.announced, self._table(X))
        return np.asarray(scores[1] - scores[0])

    def log_joint(self, X: Any) -> Array:
        """log prior_k + log p(x | k); (n, g)."""
        return self._apply(BayesClassifier.log_joint, self._table(X)).T

    def log_density(self, X: Any) -> Array:
        """log p(x | k), missing values integrated out, of the columns that were not left out (schema_); (n, g)."""
        return self._apply(BayesClassifier.log_density, self._table(X)).T

    def log_evidence(self, X: Any) -> Array:
        """log p(x): how ordinary a row is under the model; (n,)."""
        return self._apply(BayesClassifier.log_evidence, self._table(X))

    def present(self, X: Any) -> NDArray[np.bool_]:
        """Which values of each row are there, rather than missing; (n, p)."""
        has_levels = self._has_levels
        return self._apply(lambda _, rows: is_present(rows, has_levels).T, self._table(X)).T

    def _ordinary(self, share: float) -> Ordinary:
        """Rows drawn from the model, to see what evidence is ordinary whatever is missing; enough for this share."""
        return Ordinary.of(self.classifier_, self._has_levels, share)

    @property
    def _has_levels(self) -> NDArray[np.bool_]:
        return np.array([column.family.has_levels for column in self.model_.schema])

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> NegativeLogLikelihood:
        """Negative log-likelihood of labeled rows, split into .labels and .features; .total is their sum."""
        table = self._table(X, required(y), sample_weight).weighted()
        codes = self._codes_of(table)
        weights = np.ones(len(table)) if table.weights is None else table.weights
        log_prior = self.classifier_.log_prior[codes, 0]
        log_density = self._apply(BayesClassifier.log_density, table)[codes, np.arange(len(table))]
        return NegativeLogLikelihood(-float(weights @ log_prior), -float(weights @ log_density))

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """Error, log loss, Brier score, confusion and calibration on labeled rows; evaluations of batches add up.

        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> cw.LDA().fit(X[::2], y[::2]).evaluate(X[1::2], y[1::2]).confusion
        array([[25.,  0.,  0.],
               [ 0., 24.,  1.],
               [ 0.,  2., 23.]])
        """
        table = self._table(X, required(y), sample_weight).weighted()
        log_posterior = self._apply(BayesClassifier.log_posterior, table).T
        return Evaluation.of(log_posterior, self._codes_of(table), self.classes_, table.weights)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, *, recount: bool = False) -> Array:
        """log P(k | x) of each row under the model fitted without that row, exactly; (n, g).

        X and y are the rows that the model was fitted on. Gaussians are not fitted again: a row is left out by a
        rank-one downdate. Other models are fitted without each row in turn, from statistics; AODE, whose ranges depend
        on all rows, from the other rows. Dials chosen by "cv" stay as they were chosen. A row without which the model
        cannot be fitted has -inf for every class, and a warning names it.

        recount: count the priors without the row too, rather than keep them.

        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> int((cw.QDA().fit(X, y).leave_one_out(X, y).argmax(axis=1) != y).sum())
        4
        """
        leaving, downdates, rows = self._leaving_out(X, y, sample_weight, recount)
        return leaving.log_posteriors(downdates, rows)

    def leave_one_out_evidence(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """log p(x) of each row under the model fitted without that row: how ordinary it is to the others; (n,).

        As leave_one_out, with the priors of all rows. -inf where there is no model without the row.
        """
        leaving, downdates, rows = self._leaving_out(X, y, sample_weight, recount=False)
        scores = leaving.log_joints(downdates, rows)
        evidence = np.full(scores.shape[1], -np.inf)
        scored = np.isfinite(scores).any(axis=0)
        evidence[scored] = log_sum_exp(scores[:, scored])
        return evidence

    def _leaving_out(
        self, X: Any, y: Any, sample_weight: Any, recount: bool
    ) -> tuple[LeavingOut, Downdates | None, Array]:
        self._fitted()
        source = open_source(X)
        check_columns(self, source)
        table = source.read_like(self.model_.schema, self.model_.levels, required(y), sample_weight)
        if table.weights is not None and not table.weights.all():
            raise ClasswiseError("Rows of weight zero, or without a label, were never in the model; drop them first.")
        rows, downdates = np.asarray(table.rows, dtype=np.float64), self._downdates()
        if downdates is not None and downdates.statistics.n_features < rows.shape[1]:
            rows = rows[:, [column.place for column in downdates.statistics.schema]]
        downdates = None if np.isnan(rows).any() else downdates
        assert table.labels is not None
        return LeavingOut(self, source, table.labels, self._codes_of(table), table.weights, recount), downdates, rows

    def reject_curve(self, X: Any, y: Any, sample_weight: Any = None) -> RejectCurve:
        """Error against coverage on labeled rows, as only the surest decisions are kept.

        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> curve = cw.LDA().fit(X, y).reject_curve(X, y)
        >>> round(curve.at(1.0), 4), curve.at(0.9)
        (0.02, 0.0)
        """
        table = self._table(X, required(y), sample_weight).weighted()
        return reject_curve(self._apply(BayesClassifier.posterior, table).T, self._codes_of(table), table.weights)

    def estimate_priors(self, X: Any) -> PriorShift:
        """The class priors of rows without labels, whose classes may be mixed in other shares than those learned from.

        A mapping from label to prior, for with_priors: the most probable priors, if the rows refute the model's, and
        else those of the model. It also has standard errors and the test.

        >>> import classwise as cw, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> m = cw.LDA().fit(np.r_[rng.normal(0, 1, 500), rng.normal(3, 1, 500)][:, None], [0] * 500 + [1] * 500)
        >>> m.estimate_priors(np.r_[rng.normal(0, 1, 900), rng.normal(3, 1, 100)][:, None])
        PriorShift: the priors have shifted (chi-square 569.2, p = 8.17e-126)
          0: 0.5 -> 0.8995 ± 0.011
          1: 0.5 -> 0.1005 ± 0.011
        """
        log_posterior = self._apply(BayesClassifier.log_posterior, self._table(X)).T
        return estimate_shift(log_posterior, self.classes_, self.priors_)

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
        rows, labels = self.classifier_.sample(int(n), read_generator(random_state))
        return make_frame(rows, self.model_.schema, self.model_.levels), labels

    def check(
        self, X: Any, y: Any, *, draws: int = 200, pairs: bool | None = None, random_state: Any = 0
    ) -> PredictiveCheck:
        """Do samples of the model look like the rows? Measured in each class, column by column and in pairs.

        X, y: the rows that the model was fitted on, or others. draws: how many samples; each has as many rows of each
        class as y, with gaps where X has gaps, drawn as `sample` draws them. pairs: whether pairs of columns are
        measured too; None if there are no more than 40 columns. What prints is what surprises, and what may help.

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
        table = self._table(X, required(y)).weighted()
        return check(self.classifier_, table, self._codes_of(table), draws, read_generator(random_state), pairs)

    def density_grid(self, columns: Any = None, at: Any = None, X: Any = None) -> DensityGrid:
        """p(x | k) and P(k | x) on a grid of one or two columns, the others integrated out or held at a value.

        As classwise.plot.density_grid, which says what columns, at and X may be.
        """
        return density_grid(self._fitted(), columns, at, X)


def _best(scores: Array, but: int | None) -> int:
    """The position of the largest score, but for one."""
    candidates = [k for k in range(len(scores)) if k != but]
    return max(candidates, key=lambda k: float(scores[k]))


def read_generator(random_state: Any) -> np.random.Generator:
    """A generator from whatever scikit-learn takes as a seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def read_seed(random_state: Any) -> int:
    """A seed from whatever scikit-learn takes for one; None is 0, so that the same rows give the same model."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return int(random_state or 0)
    return int(read_generator(random_state).integers(2**31))
