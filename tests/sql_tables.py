"""Tables and models to try exports on: offsets of a million, gaps, and levels that were never seen in training."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from palmerpenguins import load_penguins
from sklearn.base import clone

import classwise as cw

OFFSET = 1e6

# Levels with everything that might end a literal.
CITIES = [
    "O'Fallon",
    'Say "when"',
    "x'; DROP TABLE people; --",
    "back\\slash\\",
    "Zürich 🐧",
    "select",
    "line\nbreak",
    "%s {0}",
]


@dataclass(frozen=True)
class Case:
    """Rows to learn from, their labels, and rows to score; types: of each column in a database."""

    rows: pd.DataFrame
    labels: Any
    new: pd.DataFrame
    types: dict[str, str]
    families: Any = "auto"

    def columns(self) -> dict[str, tuple[str, list[Any]]]:
        """The rows to score, with a key, as a database takes them."""
        keys = {"id": ("whole", list(range(len(self.new))))}
        return keys | {name: (kind, plain(self.new[name], kind)) for name, kind in self.types.items()}


def plain(values: pd.Series, kind: str) -> list[Any]:
    """Values as Python has them, None where one is missing."""
    made = {"number": float, "whole": int, "text": str, "yes/no": bool}[kind]
    return [None if value is None or value != value or value is pd.NA else made(value) for value in values.tolist()]


def with_gaps(frame: pd.DataFrame, share: float, generator: np.random.Generator) -> pd.DataFrame:
    """The same, with a share of the values gone; a row of nothing but gaps comes last."""
    frame = frame.astype(object)
    frame = frame.mask(generator.random(frame.shape) < share, None)
    frame.iloc[-1] = None
    return frame


def penguins() -> Case:
    table = load_penguins()
    table = table[table["bill_length_mm"].notna()].reset_index(drop=True)
    rows = table.drop(columns=["species", "year"])
    numbers = rows.select_dtypes("number").columns
    rows[numbers] = rows[numbers].astype(float) + OFFSET
    new = with_gaps(rows[::4], 0.05, np.random.default_rng(1))
    new.iloc[3, new.columns.get_loc("island")] = "Atlantis"
    new.iloc[5, new.columns.get_loc("sex")] = "unknown"
    types = {name: "number" if name in numbers else "text" for name in rows}
    new[numbers] = new[numbers].astype(float)
    return Case(rows, table["species"].to_numpy(dtype=object), new, types)


def correlated() -> Case:
    """Classes with covariances of their own, columns with units from 1e-3 to 1e4, all of it far from zero."""
    generator, count, features = np.random.default_rng(2), 90, 5
    units = np.array([1e-3, 1.0, 30.0, 1e4, 1.0])
    codes = np.repeat([0, 1, 2], count)
    maps = np.eye(features) + 0.5 * generator.standard_normal((3, features, features))
    rows = np.einsum("nj,nji->ni", generator.standard_normal((3 * count, features)), maps[codes])
    rows = (rows + 1.2 * generator.standard_normal((3, features))[codes]) * units + OFFSET * np.sign(units)
    frame = pd.DataFrame(rows, columns=[f"m{j}" for j in range(features)])
    new = with_gaps(frame[::3], 0.06, generator).astype(float)
    return Case(frame, codes * 10 - 10, new, dict.fromkeys(frame, "number"))


def mixed() -> Case:
    """One column of each family, and text that has to be quoted with care."""
    generator, count = np.random.default_rng(3), 240
    codes = generator.integers(2, size=count)
    frame = pd.DataFrame(
        {
            "height": OFFSET + generator.normal(codes * 1.0, 1.0),
            "weight": OFFSET + generator.normal(codes * -0.5, 2.0),
            "price": np.exp(generator.normal(codes * 0.5, 0.7)) * 1e-4,
            "visits": generator.poisson(2.0 + codes),
            "wins": generator.binomial(6, 0.3 + 0.3 * codes),
            "member": generator.random(count) < 0.3 + 0.4 * codes,
            "grade": generator.integers(1, 5, size=count),
            "city": np.array(CITIES, dtype=object)[(generator.integers(6, size=count) + 2 * codes) % len(CITIES)],
        }
    )
    new = with_gaps(frame[::3], 0.08, generator)
    new.iloc[0, new.columns.get_loc("city")] = "Nowhere'"
    new.iloc[1, new.columns.get_loc("grade")] = 9
    types = dict(zip(frame, ["number"] * 3 + ["whole"] * 2 + ["yes/no", "whole", "text"], strict=True))
    families = {"price": "lognormal", "visits": "poisson", "wins": "binomial(6)", "grade": "categorical"}
    return Case(frame, codes.astype(bool), new, types, families)


CASES: dict[str, Callable[[], Case]] = {
    "penguins": cache(penguins),
    "correlated": cache(correlated),
    "mixed": cache(mixed),
}

# Every kind of model.
MODELS: dict[str, Any] = {
    "QDA": cw.QDA(),
    "LDA": cw.LDA(),
    "LDA, one direction": cw.LDA(n_components=1),
    "RDA": cw.RDA(share=0.4, shrink=0.2, standardize=True),
    "shrunk to spheres": cw.QDA(shrink=1.0),
    "nearest mean": cw.NearestMean(standardize=True),
    "diagonal": cw.GaussianClassifier(structure="diagonal"),
    "diagonal, shared": cw.GaussianClassifier(structure="diagonal", share=1.0),
    "spherical": cw.GaussianClassifier(structure="spherical", standardize=True),
    "QDA, bayes": cw.QDA(estimate="bayes"),
    "LDA, bayes": cw.LDA(estimate="bayes"),
    "diagonal, bayes": cw.GaussianClassifier(structure="diagonal", estimate="bayes"),
    "spherical, bayes": cw.GaussianClassifier(structure="spherical", estimate="bayes"),
    "nearest mean, bayes": cw.NearestMean(estimate="bayes"),
    "LDA, power": cw.LDA(calibrate="temperature", folds=3),
    "LDA, gaps tell": cw.LDA(missing="level"),
    "naive Bayes": cw.NaiveBayes(),
    "naive Bayes, bayes": cw.NaiveBayes(estimate="bayes"),
    "naive Bayes, gaps tell": cw.NaiveBayes(missing="level"),
    "naive Bayes, power": cw.NaiveBayes(calibrate="temperature", folds=3),
    "naive Bayes, rare levels": cw.NaiveBayes(min_frequency=0.15),
    "naive Bayes, uniform": cw.NaiveBayes(priors="uniform"),
    "logistic": cw.BayesianLogistic(predictive="plugin"),
    "logistic, given": cw.BayesianLogistic(predictive="plugin", precision=0.5, penalize_intercept=True),
}


# Models whose query is that of another model here with other numbers in it.
SAME_QUERY = {"RDA", "nearest mean", "diagonal, shared", "spherical", "spherical, bayes", "nearest mean, bayes"}
SAME_QUERY |= {"LDA, one direction", "naive Bayes, uniform", "logistic, given"}


@cache
def fitted(case: str, model: str) -> Any:
    """A model fitted on the rows of a case."""
    made = CASES[case]()
    families = made.families
    if isinstance(MODELS[model], cw.BayesianLogistic) and families != "auto":
        families = {name: family for name, family in families.items() if family == "categorical"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.ImputedValueWarning)
        return clone(MODELS[model]).set_params(families=families).fit(made.rows, made.labels)
