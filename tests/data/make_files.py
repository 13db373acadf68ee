"""Makes the files in tests/data/files: one of each version and kind, to be readable for good.

Run it as it is only to add a file of a new version; files of old versions stay as their version wrote them. How version
1 wrote is written out here, for its writer is gone.

    SOURCE_DATE_EPOCH=0 python tests/data/make_files.py
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import classwise as cw

FOLDER = Path(__file__).parent / "files"
BAGS = {"length": "kernel", "price": "kernel(0, inf)", "visits": "multinomial", "wins": "multinomial"}
FAMILIES = {"visits": "poisson", "price": "lognormal", "wins": "binomial(5)"}


def rows(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with a column of each kind, some values missing, and labels."""
    rng = np.random.default_rng(seed)
    n = 60
    y = rng.choice(["a", "b", "c"], n)
    shift = (y == "b") * 1.0
    table = pd.DataFrame(
        {
            "length": (rng.normal(5, 1, n) + shift).round(2),
            "width": rng.normal(3, 1, n).round(2),
            "visits": rng.poisson(3 + 2 * shift),
            "price": np.exp(rng.normal(1, 1, n)).round(2),
            "wins": rng.binomial(5, 0.4, n),
            "city": rng.choice(["Rome", "Oslo", "Zürich"], n),
            "smoker": rng.random(n) < 0.4,
        }
    )
    table.loc[::7, "length"] = np.nan
    table.loc[::11, "city"] = None
    return table, y


def statistic() -> cw.ClassStatistics:
    table, y = rows()
    return cw.summarize(table, y, families=FAMILIES, quartics=True)


def models() -> dict[str, object]:
    table, y = rows()
    numbers = table[["length", "width"]].fillna(5.0)
    sizes = np.select([table["length"] > 5.5, table["width"] > 3], ["long", "wide"], "small")
    boosted = cw.AutoClassifier(members=["class shares", "boosted trees"], folds=3)
    return {
        "qda": cw.QDA(families=FAMILIES).fit(table, y),
        "rda": cw.RDA(folds=3, calibrate="temperature").fit(numbers, y),
        "naive-bayes": cw.NaiveBayes(families=FAMILIES, estimate="bayes", missing="level").fit(table, y),
        "kernel": cw.NaiveBayes(families=BAGS, smoothing="evidence").fit(table, y),
        "words": cw.NaiveBayes(families="poisson", smoothing="cv", folds=3).fit(sparse_counts(table), y),
        "aode": cw.AODE(bins=3, missing="level").fit(table[["length", "visits", "city", "smoker"]], y),
        "logistic": cw.BayesianLogistic().fit(table.drop(columns="price"), y),
        "auto": cw.AutoClassifier(members="full", folds=3).fit(table[["length", "width", "visits", "city"]], y),
        "forest": cw.ForestClassifier(trees=6, min_leaf=3).fit(table[["length", "width", "visits", "city"]], y),
        "stack": cw.AutoClassifier(members=["kernel softmax", "best trees"], folds=3).fit(table[["length", "city"]], y),
        "boosted": boosted.fit(table[["length", "width", "city"]], sizes),
        "decision": cw.Decision(cw.LDA(), costs={"a": {"b": 5}}, reject=0.4, novelty=0.05).fit(numbers, y),
    }


def sparse_counts(table: pd.DataFrame) -> csr_array:
    """Some counts as a sparse matrix, with a column that is always 0."""
    return csr_array(table[["visits", "wins"]].assign(none=0).to_numpy(dtype=float))


def answers(model: object) -> list[list[float]]:
    """What a model of these says about its own rows, to be compared for good."""
    table, _ = rows()
    if not hasattr(model, "feature_names_in_"):
        return model.predict_proba(sparse_counts(table)[:10]).tolist()
    wanted = list(model.feature_names_in_)
    return model.predict_proba(table[wanted].fillna({"length": 5.0})[:10]).tolist()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    statistic().save(FOLDER / "statistics-2.cws", source="make_files.py")
    made = models()
    for name, model in made.items():
        cw.save(model, FOLDER / f"{name}-2.cw", source="make_files.py")
    expected = {name: answers(model) for name, model in made.items()}
    (FOLDER / "answers.json").write_text(json.dumps(expected, indent=1))
