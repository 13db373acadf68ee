"""Makes edda_reference.json: log-likelihoods and posteriors of the 14 structures, as R's mclust estimates them.

    python tests/data/make_edda_reference.py

R 4.2.2, mclust 6.0.0. The tables come with scikit-learn, palmerpenguins and classwise. For each structure: the
log-likelihood of the rows given their classes, that of the rows alone, and the log posteriors of every tenth row.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from test_edda import TABLES  # noqa: E402


def answers() -> str:
    with TemporaryDirectory() as folder:
        for name, read in TABLES.items():
            rows, labels = read()
            pairs = zip(rows, labels, strict=True)
            lines = [",".join([*(f"{value:.17g}" for value in row), str(label)]) for row, label in pairs]
            header = ",".join([f"x{j}" for j in range(rows.shape[1])] + ["label"])
            Path(folder, f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
        command = ["Rscript", str(HERE / "edda_reference.R"), folder]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    found: dict[str, dict[str, object]] = {}
    for line in answers().splitlines():
        table, structure, given, alone, posteriors = line.split(",")
        classes = len(np.unique(TABLES[table]()[1]))
        log_posterior = [float(f"{float(value):.10g}") for value in posteriors.split()]
        rows = [log_posterior[i : i + classes] for i in range(0, len(log_posterior), classes)]
        numbers = {"log_likelihood": float(given), "log_evidence": float(alone), "log_posterior": rows}
        found.setdefault(table, {})[structure] = numbers
    target = HERE / "edda_reference.json"
    target.write_text(json.dumps(found, separators=(",", ":")) + "\n")
