"""The family on penguins: compare every member on rows held out, and draw what four of them decide.

    python examples/penguins.py

Data: palmerpenguins (Horst, Hill and Gorman 2020, CC0), from the PyPI package of that name.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from palmerpenguins import load_penguins

import classwise as cw

FAMILY = {
    "QDA": cw.QDA(),
    "LDA": cw.LDA(),
    "naive Bayes": cw.NaiveBayes(),
    "nearest mean, standardized": cw.NearestMean(standardize=True),
}
PAIR = ["bill_length_mm", "body_mass_g"]
# Colors that people with color-blindness can tell apart (Okabe and Ito 2008), and a shape for each species as well.
STYLES = {"Adelie": ("#D55E00", "o"), "Chinstrap": ("#CC79A7", "^"), "Gentoo": ("#0072B2", "s")}
COMPARISON, DECISIONS = "penguins_comparison.png", "penguins.png"


def main():
    penguins = load_penguins().drop(columns="year")
    X, species = penguins.drop(columns="species"), penguins["species"]
    print(f"{len(penguins)} penguins of species {', '.join(STYLES)}; the columns as they come:\n")
    print(cw.NaiveBayes().fit(X, species).schema_)
    print("\nThe whole family and three of scikit-learn's, on the same ten folds:\n")
    comparison = cw.compare(X, species)
    print(comparison)
    comparison.plot().figure.savefig(COMPARISON, dpi=120)
    complete = penguins.dropna(subset=PAIR)
    draw(complete[PAIR].to_numpy(), complete["species"].to_numpy())
    print(f"\nThe comparison is drawn in {COMPARISON}.")
    print(f"What four of the family decide from {' and '.join(PAIR)} is drawn in {DECISIONS}.")


def draw(X, y):
    figure, panels = plt.subplots(2, 2, figsize=(10, 8), sharex=True, sharey=True, layout="constrained")
    for axes, (name, model) in zip(panels.flat, FAMILY.items(), strict=True):
        draw_model(axes, model.fit(X, y), X, y)
        axes.set_title(name)
    for axes in panels[-1]:
        axes.set_xlabel(PAIR[0])
    for axes in panels[:, 0]:
        axes.set_ylabel(PAIR[1])
    panels[0, 0].legend(loc="lower right")
    figure.savefig(DECISIONS, dpi=120)


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
