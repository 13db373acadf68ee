"""classwise: classify by modeling each class.

Start here
    compare(X, y)            every model on the same folds: which one to trust; .best is the winner
    examine(table, target=)  what is wrong with a table, before you fit
    select_columns(m, X, y)  which columns a model needs; .best is the model fitted on them
    AutoClassifier()         the best probabilities without tuning
    datasets.penguins()      a table to try it on

Estimators, with the interface of scikit-learn
    LDA, QDA, RDA, NearestMean, GaussianClassifier     one Gaussian per class
    NaiveBayes, AODE                                   columns of any kind, independent or nearly so
    MixtureClassifier, BayesianLogistic, ForestClassifier
    ShrunkenCentroids, HDDA                            more columns than rows
    RobustClassifier                                   rows with outliers
    Decision(model, costs=, reject=, novelty=)         decides by expected cost

After a fit
    m.predict(X), m.predict_proba(X), m.evaluate(X, y), m.explain(row), m.importance(X, y), m.sample(n), print(m)
    plot.plot_regions(m, X, y) and other pictures

Rows that add, or do not fit in memory
    summarize(X, y)                                    statistics: +, -, .save(path); m.fit_statistics(statistics)
    m.fit_source("rows/*.parquet", target="y"), predict(m, source, sink), evaluate(m, source, target="y")

Elsewhere
    save, load, describe, to_sql, to_onnx, to_python, to_js, write_report, studio; in the shell: classwise --help

1. A statistic is a summary you can add.
2. A density is what a statistic lets us believe about a class.
3. A classifier is a prior and one density per class; a decision is a posterior and a cost.
4. An engine maps a function over chunks of rows, and adds the results (to learn) or keeps them (to predict).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from classwise import datasets as datasets
    from classwise import plot as plot
    from classwise.classifier.evaluation import Evaluation as Evaluation
    from classwise.comparison import ColumnSelection as ColumnSelection
    from classwise.comparison import Comparison as Comparison
    from classwise.comparison import LearningCurve as LearningCurve
    from classwise.comparison import compare as compare
    from classwise.comparison import learning_curve as learning_curve
    from classwise.comparison import select_columns as select_columns
    from classwise.comparison.stack import AutoClassifier as AutoClassifier
    from classwise.covariance import NormalInverseWishart as NormalInverseWishart
    from classwise.datasets import load_penguins as load_penguins
    from classwise.diagnostics import Diagnosis as Diagnosis
    from classwise.diagnostics import Examination as Examination
    from classwise.diagnostics import diagnose as diagnose
    from classwise.diagnostics import examine as examine
    from classwise.errors import ClasswiseError as ClasswiseError
    from classwise.errors import DegenerateColumnWarning as DegenerateColumnWarning
    from classwise.errors import IgnoredColumnWarning as IgnoredColumnWarning
    from classwise.errors import ImputedValueWarning as ImputedValueWarning
    from classwise.errors import MissingExtraError as MissingExtraError
    from classwise.errors import MissingLabelWarning as MissingLabelWarning
    from classwise.errors import NotAvailableError as NotAvailableError
    from classwise.errors import OutOfTimeWarning as OutOfTimeWarning
    from classwise.errors import SingularCovarianceError as SingularCovarianceError
    from classwise.errors import SingularRowWarning as SingularRowWarning
    from classwise.errors import SkippedFileWarning as SkippedFileWarning
    from classwise.errors import StatisticsError as StatisticsError
    from classwise.errors import StoredFileError as StoredFileError
    from classwise.errors import UnansweredRowWarning as UnansweredRowWarning
    from classwise.errors import UnscorableError as UnscorableError
    from classwise.estimators import AODE as AODE
    from classwise.estimators import HDDA as HDDA
    from classwise.estimators import LDA as LDA
    from classwise.estimators import QDA as QDA
    from classwise.estimators import RDA as RDA
    from classwise.estimators import BayesianLogistic as BayesianLogistic
    from classwise.estimators import Decision as Decision
    from classwise.estimators import ForestClassifier as ForestClassifier
    from classwise.estimators import GaussianClassifier as GaussianClassifier
    from classwise.estimators import MixtureClassifier as MixtureClassifier
    from classwise.estimators import NaiveBayes as NaiveBayes
    from classwise.estimators import NearestMean as NearestMean
    from classwise.estimators import RobustClassifier as RobustClassifier
    from classwise.estimators import ShrunkenCentroids as ShrunkenCentroids
    from classwise.estimators.held_out import held_out_importance as held_out_importance
    from classwise.estimators.scoring import evaluate as evaluate
    from classwise.estimators.scoring import predict as predict
    from classwise.export import load as load
    from classwise.export import to_js as to_js
    from classwise.export import to_onnx as to_onnx
    from classwise.export import to_python as to_python
    from classwise.export import to_sql as to_sql
    from classwise.report import write_report as write_report
    from classwise.rows.databases import Query as Query
    from classwise.statistics import ClassStatistics as ClassStatistics
    from classwise.statistics import summarize as summarize
    from classwise.storage import describe as describe
    from classwise.storage import save as save
    from classwise.studio import studio as studio

__version__ = "0.2.0"

# The module of each public name, as in the imports above, which only type checkers read. A name is imported on first
# use, so that `classwise --help` does not wait for SciPy.
_HOMES = {
    "classifier.evaluation": ["Evaluation"],
    "comparison": ["ColumnSelection", "Comparison", "LearningCurve", "compare", "learning_curve", "select_columns"],
    "comparison.stack": ["AutoClassifier"],
    "covariance": ["NormalInverseWishart"],
    "datasets": ["load_penguins"],
    "diagnostics": ["Diagnosis", "Examination", "diagnose", "examine"],
    "errors": [
        "ClasswiseError",
        "DegenerateColumnWarning",
        "IgnoredColumnWarning",
        "ImputedValueWarning",
        "MissingExtraError",
        "MissingLabelWarning",
        "NotAvailableError",
        "OutOfTimeWarning",
        "SingularCovarianceError",
        "SingularRowWarning",
        "SkippedFileWarning",
        "StatisticsError",
        "StoredFileError",
        "UnansweredRowWarning",
        "UnscorableError",
    ],
    "estimators": [
        "AODE",
        "BayesianLogistic",
        "Decision",
        "ForestClassifier",
        "GaussianClassifier",
        "HDDA",
        "LDA",
        "MixtureClassifier",
        "NaiveBayes",
        "NearestMean",
        "QDA",
        "RDA",
        "RobustClassifier",
        "ShrunkenCentroids",
    ],
    "estimators.held_out": ["held_out_importance"],
    "estimators.scoring": ["evaluate", "predict"],
    "export": ["load", "to_js", "to_onnx", "to_python", "to_sql"],
    "report": ["write_report"],
    "rows.databases": ["Query"],
    "statistics": ["ClassStatistics", "summarize"],
    "storage": ["describe", "save"],
    "studio": ["studio"],
}

__all__ = sorted(["datasets", "plot", *(name for names in _HOMES.values() for name in names)])


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            module = import_module(f"classwise.{home}")
            # A package that has the name of its function is called in its place: Python itself puts it there.
            value = module if home == name else getattr(module, name)
            break
    else:
        if name not in ("datasets", "plot"):
            raise AttributeError(f"classwise has no {name!r}; it has {', '.join(__all__)}.")
        value = import_module(f"classwise.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
