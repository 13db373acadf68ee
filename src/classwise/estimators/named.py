"""Well-known names: each is GaussianClassifier with other defaults, and nothing more."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.fisher import FisherProjection, fisher_projection
from classwise.densities import Observed
from classwise.errors import ClasswiseError, NotAvailableError
from classwise.estimators.gaussian import GaussianClassifier
from classwise.storage import stored

C = TypeVar("C", bound=type[GaussianClassifier])


def defaults(own: dict[str, Any] | None = None, **changed: Any) -> Callable[[C], C]:
    """Give a subclass other defaults, in its signature too, where scikit-learn and help() look for them.

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
        return cls

    return decorate


@stored("QDA", kind="model")
class QDA(GaussianClassifier):
    """The quadratic classifier: each class has a full covariance of its own (share=0, shrink=0).

    Options as for GaussianClassifier.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> int((QDA().fit(X, y).predict(X) != y).sum())
    3
    """


@stored("LDA", kind="model")
@defaults(own={"n_components": None}, share=1.0)
class LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClassifier):
    """The linear classifier: all classes share one full covariance (share=1). It also projects on Fisher's directions.

    n_components: how many of Fisher's directions to keep, at most min(g - 1, p). It affects decisions too, unlike in
        scikit-learn: class means are moved into the space of these directions (reduced-rank classification).
    Other options as for GaussianClassifier.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> m = LDA().fit(X, y)
    >>> int((m.predict(X) != y).sum()), m.transform(X).shape
    (3, (150, 2))
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
        """Rows in Fisher's directions, where each class has covariance I; (n, r), r = n_components or min(g - 1, p).

        Only numbers have directions: other columns are left out. A missing number is put at its expectation given
        the rest of the row.
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
        """Center, directions (p, r), each direction's share of the between-class variance (r,), means (g, r)."""
        if len(self.gaussian_.covariance.values) > 1:
            raise NotAvailableError(
                f"Fisher's directions need one covariance for all classes: share=1, not {self.share}."
            )
        return fisher_projection(self.gaussian_, self.priors_).first(self.n_components)

    @property
    def _n_features_out(self) -> int:
        return len(self.projection_.ratios)


@stored("NearestMean", kind="model")
@defaults(structure="spherical", share=1.0)
class NearestMean(GaussianClassifier):
    """The nearest-mean classifier: one variance for all features and classes (structure="spherical", share=1).

    With equal priors the class of the nearest mean wins. Distances depend on the units of the features:
    standardize=True measures each in its own standard deviation. Options as for GaussianClassifier.

    >>> m = NearestMean().fit([[0, 0], [0, 2], [4, 0], [4, 2]], ["a", "a", "b", "b"])
    >>> m.predict([[1.9, 5], [2.1, 5]]).tolist()
    ['a', 'b']
    """


@stored("RDA", kind="model")
@defaults(share="cv", shrink="cv")
class RDA(GaussianClassifier):
    """Regularized discriminant analysis (Friedman 1989): covariances between own and shared, full and spherical.

    share and shrink are the two dials, chosen by cross-validated log loss unless they are given; `dials_` has every
    pair that was tried. What shrinking does depends on the units of the features: standardize=True takes their
    standard deviations as units. Options as for GaussianClassifier.

    >>> m = RDA(share=0.5, shrink=0.5).fit([[-1, -1], [-1, 1], [2, 0], [3, 0]], [-1, -1, 1, 1])
    >>> m.predict([[0, 0], [1, 0]]).tolist()
    [-1, 1]
    """
