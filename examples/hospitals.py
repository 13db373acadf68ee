"""Three hospitals train one model: they share statistics without small cells, and no row leaves a hospital."""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import classwise as cw

MINIMUM = 12  # the least number of patients that any number in a file is about

data = load_breast_cancer(as_frame=True)
X = data.data[["mean radius", "mean texture", "mean smoothness", "mean concavity"]].copy()
X["ward"] = np.random.default_rng(0).choice(["north", "south", "annex"], len(X), p=[0.6, 0.38, 0.02])
y = data.target.map({0: "malignant", 1: "benign"})
rows = np.arange(len(y))
test = rows % 5 == 0
sites = [(rows % 5 != 0) & (rows % 3 == i) for i in range(3)]

with tempfile.TemporaryDirectory() as folder:
    for i, mine in enumerate(sites):
        statistics = cw.summarize(X[mine], y[mine])
        safe = statistics.withhold(minimum_weight=MINIMUM)
        path = Path(folder) / f"hospital-{i}.cws"
        safe.save(path)
        wards = [column.levels.tolist() for column in (statistics.levels.columns[0], safe.levels.columns[0])]
        print(f"hospital {i}: {statistics.weight.sum():.0f} patients, file of {path.stat().st_size:,} bytes")
        print(f"  wards in the rows {wards[0]}, in the file {wards[1]}")
    together = sum(cw.load(path) for path in sorted(Path(folder).iterdir()))

# The numbers of all three hospitals, and for comparison all rows in one place.
shared = cw.LDA().fit_statistics(together)
pooled = cw.LDA().fit(X[~test], y[~test])
alone = cw.LDA().fit(X[sites[0]], y[sites[0]])
print("\nlog loss on patients of no hospital's training rows:")
for name, model in (("one hospital alone", alone), ("three hospitals", shared), ("all rows in one place", pooled)):
    print(f"  {name:22} {model.evaluate(X[test], y[test]).log_loss:.4f}")
