"""The family on penguins: fit every member, compare them by cross-validation, draw what they decide.

    python examples/penguins.py

Data: palmerpenguins (Horst, Hill and Gorman 2020, CC0), from the PyPI package of that name.
"""

import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from palmerpenguins import load_penguins
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import classwise as cw

FAMILY = {
    "QDA": cw.QDA(),
    "RDA, share 0.5, shrink 0.01": cw.RDA(share=0.5, shrink=0.01, standardize=True),
    "LDA": cw.LDA(),
    "naive Bayes": cw.NaiveBayes(),
    "diagonal LDA": cw.GaussianClassifier(structure="diagonal", share=1.0),
    "nearest mean, standardized": cw.NearestMean(standardize=True),
    "nearest mean": cw.NearestMean(),
}
PAIR = ["bill_length_mm", "body_mass_g"]
# Colors that people with color-blindness can tell apart (Okabe and Ito 2008), and a shape for each species as well.
STYLES = {"Adelie": ("#D55E00", "o"), "Chinstrap": ("#CC79A7", "^"), "Gentoo": ("#0072B2", "s")}
PICTURE = "penguins.png"


def main():
    penguins = load_penguins().drop(columns="year")
    X, species = penguins.drop(columns="species"), penguins["species"].to_numpy()
    print(f"{len(penguins)} penguins of species {', '.join(STYLES)}; the columns as they come:\n")
    print(cw.NaiveBayes().fit(X, species).schema_, end="\n\n")
    compare(X, species)
    complete = penguins.dropna(subset=PAIR)
    draw(complete[PAIR].to_numpy(), complete["species"].to_numpy())
    print(f"\nWhat four of them decide from {' and '.join(PAIR)} is drawn in {PICTURE}.")


def compare(X, y):
    print(f"{'10-fold cross-validation':<30}{'errors':>8}{'log loss':>10}{'fit':>10}")
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    rows = []
    for name, model in FAMILY.items():
        posterior = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
        errors = round(len(y) * (1 - accuracy_score(y, np.unique(y)[posterior.argmax(axis=1)])))
        start = time.perf_counter()
        model.fit(X, y)
        rows.append((log_loss(y, posterior), errors, name, time.perf_counter() - start))
    for loss, errors, name, seconds in sorted(rows):
        print(f"{name:<30}{errors:>8}{loss:>10.4f}{1e3 * seconds:>7.2f} ms")


def draw(X, y):
    figure, panels = plt.subplots(2, 2, figsize=(10, 8), sharex=True, sharey=True, layout="constrained")
    for axes, name in zip(panels.flat, ["QDA", "LDA", "naive Bayes", "nearest mean, standardized"], strict=True):
        draw_model(axes, FAMILY[name].fit(X, y), X, y)
        axes.set_title(name)
    for axes in panels[-1]:
        axes.set_xlabel(PAIR[0])
    for axes in panels[:, 0]:
        axes.set_ylabel(PAIR[1])
    panels[0, 0].legend(loc="lower right")
    figure.savefig(PICTURE, dpi=120)


def draw_model(axes, model, X, y):
    """The regions that a model decides, the rows, and the ellipse at two standard deviations of each class."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.08 * (high - low)
    across, up = (np.linspace(a, b, 300) for a, b in zip(low - margin, high + margin, strict=True))
    grid = np.column_stack([values.ravel() for values in np.meshgrid(across, up)])
    codes = np.searchsorted(model.classes_, model.predict(grid)).reshape(300, 300)
    colors = [STYLES[label][0] for label in model.classes_]
    axes.contourf(across, up, codes, levels=[-0.5, 0.5, 1.5, 2.5], colors=colors, alpha=0.15)
    for label, mean, covariance in zip(model.classes_, model.means_, model.covariances_, strict=True):
        color, marker = STYLES[label]
        axes.scatter(*X[y == label].T, s=14, color=color, marker=marker, label=label, linewidths=0)
        axes.add_patch(sigma_ellipse(mean, covariance, 2, edgecolor=color, facecolor="none", linewidth=1.5))


def sigma_ellipse(mean, covariance, sigmas, **style):
    (small, large), axes = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    return Ellipse(mean, 2 * sigmas * np.sqrt(large), 2 * sigmas * np.sqrt(small), angle=angle, **style)


if __name__ == "__main__":
    main()
