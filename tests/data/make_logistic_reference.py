"""Writes logistic_reference.json: a few rows of the reference that R made (see tests/test_logistic.py).

python tests/data/make_logistic_reference.py FOLDER
"""

import json
import sys
from pathlib import Path

import pandas as pd

NAMES = ("logit_SAheart_esl42", "logit_synth", "logit_iris_separable_setosa")
PRECISIONS = ("0.01", "0.1", "1", "10")


def expected(folder: Path, precision: str, facts: dict) -> dict:
    """Weights with the intercept last, their covariance, evidence, and the predictives of every 25th row."""
    table = pd.read_csv(folder / f"map_tau{precision}_coef_cov.csv")
    order = [*range(1, len(table)), 0]
    covariance = table.drop(columns=["name", "coef"]).to_numpy()
    rows = pd.read_csv(folder / f"map_tau{precision}_pred_train.csv")[::25]
    return {
        "weights": table["coef"].to_numpy()[order].tolist(),
        "covariance": covariance[order][:, order].tolist(),
        "evidence": facts[f"tau{precision}"]["log_evidence_laplace"],
        "plugin": rows["p_plugin"].tolist(),
        "moderated": rows["p_mackay"].tolist(),
        "integrated": rows["p_laplace_integrated"].tolist(),
    }


def main(source: Path) -> None:
    """iris, standardized, is the only table that is bundled with scikit-learn: its rows need not be kept here."""
    folder = source / "logit_iris_separable_setosa"
    facts = json.loads((folder / "meta.json").read_text())
    reference = {precision: expected(folder, precision, facts) for precision in PRECISIONS}
    Path(__file__).with_name("logistic_reference.json").write_text(json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
