"""Makes reference.json: a few rows of the reference outputs, for machines that do not have all of them.

    CLASSWISE_REFERENCE=/path/to/reference python tests/data/make_reference.py

Log-joints of every tenth row: iris, wine, breast cancer (60-digit arithmetic, rounded to float64), penguins (R 4.2.2,
MASS 7.3-58.2, complete rows), and penguins with island and sex (naive Bayes with Laplace smoothing 0 and 1, R); the
data themselves come with scikit-learn and palmerpenguins.
"""

import csv
import json
import os
from pathlib import Path

import numpy as np

SOURCE = Path(os.environ.get("CLASSWISE_REFERENCE", "reference"))
KEYS = ["lda", "lda_mle", "qda", "qda_mle", "gnb", "gnb_mle"]
R_FILES = {
    "lda": "lda_logjoint_train",
    "lda_mle": "lda_mle_logjoint_train",
    "qda": "qda_logjoint_train",
    "gnb": "gnb_unbiased_logjoint_train",
    "gnb_mle": "gnb_mle_logjoint_train",
}


def from_oracle(name: str) -> dict[str, list[list[float]]]:
    oracle = np.load(SOURCE / "mp_oracle" / f"{name}.npz", allow_pickle=True)
    return {key: oracle[key][::10].tolist() for key in KEYS}


def from_r(name: str) -> dict[str, list[list[float]]]:
    return {key: read(SOURCE / name / f"{file}.csv")[::10] for key, file in R_FILES.items()}


def read(path: Path) -> list[list[float]]:
    with path.open() as file:
        return [[float(value) for value in row] for row in list(csv.reader(file))[1:]]


def mixed(name: str) -> dict[str, list[list[float]]]:
    """Naive Bayes with Laplace smoothing 0 and 1; -Inf is written as None, which JSON has."""
    kinds = {"mle": "mlevar", "unbiased": "unbiasedvar"}
    return {
        f"{estimate}_{smoothing}": [
            [None if value == float("-inf") else value for value in row]
            for row in read(SOURCE / name / f"exact_laplace{smoothing}_{kind}_logjoint.csv")[::10]
        ]
        for estimate, kind in kinds.items()
        for smoothing in (0, 1)
    }


if __name__ == "__main__":
    numbers = {name: from_oracle(name) for name in ("iris", "wine", "breast_cancer")}
    numbers["penguins"] = from_r("penguins_numeric")
    numbers["penguins_mixed"] = mixed("nb_penguins_mixed")
    target = Path(__file__).with_name("reference.json")
    target.write_text(json.dumps(numbers, indent=None, separators=(",", ":")) + "\n")
