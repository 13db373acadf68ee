"""Tables of genes, with many more columns than rows, from the folder of real tables."""

from pathlib import Path

import numpy as np
import pandas as pd

# The column of labels of each.
GENES = {"esl_srbct": "cls", "esl_nci60": "label"}


def read_genes(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels, of classes that have at least three rows."""
    table = pd.read_csv(folder / f"{name}.csv.gz")
    y = table[GENES[name]].astype(str).to_numpy()
    X = table.drop(columns=[GENES[name], "is_train"], errors="ignore").to_numpy(np.float64)
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= 3])
    return X[kept], y[kept]
