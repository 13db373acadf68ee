"""Classifiers with well-known names: each is a GaussianClassifier with other defaults."""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.functions import FisherProjection, fisher_projection
from classwise.classifier.plan import BlockPlan
from classwise.densities import Observed
from classwise.errors import ClasswiseError, NotAvailableError
from classwise.estimators.fit_summary import SummaryTable, directions_table
from classwise.estimators.gaussian import GaussianClassifier
from classwise.estimators.inherited_docs import inherited_doc
from classwise.storage import stored

C = TypeVar("C", bound=type[GaussianClassifier])


def defaults(own: dict[str, Any] | None = None, **changed: Any) -> Callable[[C], C]:
    """Give a subclass other defaults, also in its signature and docstring, which scikit-learn and help() read.

    own: options that only the subclass has.
    """
    added = own or {}

    def decorate(cls: C) -> C:
        def initialize(self: GaussianClassifier, **options: Any) -> None:
            unknown = [name for name in options if name not in signature.parameters]
            if unknown:
                raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {unknown[0]!r}")
            for name, default in added.items():
                setattr(self, name, options.pop(name, default))
            GaussianClassifier.__init__(self, **{**changed, **options})

        inherited = inspect.signature(GaussianClassifier.__init__).parameters.values()
        parameters = [p.replace(default=changed.get(p.name, p.default)) for p in inherited]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters += [inspect.Parameter(name, keyword, default=default) for name, default in added.items()]
        signature = inspect.Signature(parameters)
        initialize.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = initialize  # type: ignore[method-assign]
        if cls.__doc__ and GaussianClassifier.__doc__:  # python -OO has neither
            cls.__doc__ = inherited_doc(cls.__doc__, GaussianClassifier.__doc__, changed)
        return cls

    return decorate


@stored("QDA", kind="model")
@defaults()
class QDA(GaussianClassifier):
    """Quadratic discriminant analysis: each class has its own full covariance (share=0, shrink=0).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> int((QDA().fit(X, y).predict(X) != y).sum())
    3
    """


@stored("LDA", kind="model")
@defaults(own={"n_components": None}, share=1.0)
class LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClassifier):
    """Linear discriminant analysis: all classes share one full covariance (share=1).

    `transform` projects rows on Fisher's directions.

    Parameters
    ----------
    n_components : int, optional
        How many of Fisher's directions to keep, at most min(g - 1, p). It affects decisions too, unlike in
        scikit-learn: class means are projected onto the space of these directions (reduced-rank
        classification).

    Attributes
    ----------
    projection_
        Fisher's projection: center, directions, shares of the between-class variance, and class means.
    scalings_
        Fisher's directions, under scikit-learn's name.
    xbar_
        The mean of the class means, weighted by the priors, under scikit-learn's name.
    explained_variance_ratio_
        The share of the between-class variance of each direction, the largest first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> m = LDA().fit(X, y)
    >>> int((m.predict(X) != y).sum()), m.transform(X).shape
    (3, (150, 2))
    >>> m.explained_variance_ratio_.round(4)
    array([0.9912, 0.0088])
    """

    n_components: int | None

    @property
    def _rank(self) -> int | None:
        rank = self.n_components
        if rank is not None and not (isinstance(rank, (int, np.integer)) and rank >= 1):
            raise ClasswiseError(
                f"n_components={rank!r} is not an option; give a number of directions, or None for all."
            )
        if rank is not None and (self._is_bayes or self.share != 1):
            raise ClasswiseError("n_components needs share=1, and no estimate='bayes'.")
        return None if rank is None else int(rank)

    def transform(self, X: Any) -> Array:
        """Rows projected on Fisher's directions, in which each class has covariance I; (n, r).

        r is n_components, or min(g - 1, p). Only columns of numbers are projected. A missing number is replaced by its
        expectation given the rest of the row.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n, r)
            The coordinates of the rows.
        """
        projection, gaussian, table = self.projection_, self.gaussian_, self._table(X)
        columns, _ = self._numbers_block()

        def project(model: BayesClassifier, rows: Array) -> Array:
            numbers = rows[:, columns]
            if isinstance(model.density, Observed):
                numbers = gaussian.expected(numbers, model.posterior(rows))
            return projection(numbers).T

        return self._apply(project, table).T

    @property
    def projection_(self) -> FisherProjection:
        """Fisher's projection: center, directions (p, r), shares of the between-class variance (r,), means (g, r)."""
        if len(self.gaussian_.covariance.values) > 1:
            raise NotAvailableError(
                f"Fisher's directions need one covariance for all classes: share=1, not {self.share}."
            )
        return fisher_projection(self.gaussian_, self.priors_).first(self.n_components)

    @property
    def scalings_(self) -> Array:
        """Fisher's directions, under scikit-learn's name: `(X - xbar_) @ scalings_` is `transform(X)`; (p, r).

        They equal those of scikit-learn's default solver up to signs, with the divisor described in `coef_`. Like
        `xbar_` and `explained_variance_ratio_`, they are for models of numbers alone.
        """
        self._refuse_columns_beside("scalings_")
        return self._in_all_columns(self.projection_.directions.T).T

    @property
    def xbar_(self) -> Array:
        """The overall mean: the mean of the class means, weighted by the priors; (p,)."""
        self._refuse_columns_beside("xbar_")
        return self._with_constants(self.projection_.center)

    @property
    def explained_variance_ratio_(self) -> Array:
        """The share of the between-class variance that each direction accounts for, the largest first; (r,).

        R calls it the proportion of trace. With n_components they are still shares of the total over all directions,
        which needs the statistics of the model.
        """
        self._refuse_columns_beside("explained_variance_ratio_")
        ratios = self._ratios()
        if ratios is None:
            raise NotAvailableError(
                "With n_components, explained_variance_ratio_ needs what was gathered from the rows, which was left "
                "out when the model was saved (statistics=False); save it with statistics, or fit again."
            )
        return ratios

    def _ratios(self) -> Array | None:
        """Each direction's share of all between-class variance (r,); None if the statistics are missing."""
        if self.n_components is None:
            return self.projection_.ratios
        if not self.statistics_.parts:
            return None
        plan = self._settled_plan()
        assert isinstance(plan, BlockPlan)
        whole = clone(self).set_params(n_components=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fit has given these warnings already
            whole._keep(replace(plan, rank=None).model(self.statistics_), self.statistics_)
        ratios: Array = whole.projection_.ratios[: self.n_components]
        return ratios

    def _summary_tables(self) -> list[SummaryTable]:
        tables = super()._summary_tables()
        if not hasattr(self, "projection_"):
            return tables
        return [tables[0], directions_table(self, self.projection_.directions, self._ratios()), *tables[1:]]

    @property
    def _n_features_out(self) -> int:
        return len(self.projection_.ratios)


@stored("NearestMean", kind="model")
@defaults(structure="spherical", share=1.0)
class NearestMean(GaussianClassifier):
    """The nearest-mean classifier: one variance for all features and classes (structure="spherical", share=1).

    With equal priors the class with the nearest mean wins. Distances depend on the units of the features;
    standardize=True measures each feature in its standard deviation.

    Examples
    --------
    >>> m = NearestMean().fit([[0, 0], [0, 2], [4, 0], [4, 2]], ["a", "a", "b", "b"])
    >>> m.predict([[1.9, 5], [2.1, 5]]).tolist()
    ['a', 'b']
    """


@stored("RDA", kind="model")
@defaults(share="cv", shrink="cv")
class RDA(GaussianClassifier):
    """Regularized discriminant analysis (Friedman 1989): covariances between own and shared, full and spherical.

    The two dials share and shrink are chosen by cross-validated log loss by default; `dials_` has every pair that was
    tried. Shrinking depends on the units of the features; standardize=True measures each feature in its standard
    deviation.

    Examples
    --------
    >>> m = RDA(share=0.5, shrink=0.5).fit([[-1, -1], [-1, 1], [2, 0], [3, 0]], [-1, -1, 1, 1])
    >>> m.predict([[0, 0], [1, 0]]).tolist()
    [-1, 1]
    """
