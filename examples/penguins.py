"""The family on penguins: compare every member on rows held out, and draw what four of them decide.

    python examples/penguins.py

Data: palmerpenguins (Horst, Hill and Gorman 2020, CC0), from the PyPI package of that name.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from palmerpenguins import load_penguins

import classwise as cw
from classwise.plot import plot_regions

FAMILY = {
    "QDA": cw.QDA(),
    "LDA": cw.LDA(),
    "naive Bayes": cw.NaiveBayes(),
    "nearest mean, standardized": cw.NearestMean(standardize=True),
}
PAIR = ["bill_length_mm", "body_mass_g"]
COMPARISON, DECISIONS = "penguins_comparison.png", "penguins.png"


def main():
    penguins = load_penguins().drop(columns="year")
    X, species = penguins.drop(columns="species"), penguins["species"]
    print(f"{len(penguins)} penguins of species {', '.join(species.unique())}; the columns as they come:\n")
    print(cw.NaiveBayes().fit(X, species).schema_)
    print("\nThe whole family and three of scikit-learn's, on the same ten folds:\n")
    comparison = cw.compare(X, species)
    print(comparison)
    comparison.plot().figure.savefig(COMPARISON, dpi=120)
    complete = penguins.dropna(subset=PAIR)
    draw(complete[PAIR], complete["species"])
    print(f"\nThe comparison is drawn in {COMPARISON}.")
    print(f"What four of the family decide from {' and '.join(PAIR)} is drawn in {DECISIONS}.")


def draw(X, y):
    figure, panels = plt.subplots(2, 2, figsize=(10, 8.6), sharex=True, sharey=True, layout="constrained")
    for axes, (name, model) in zip(panels.flat, FAMILY.items(), strict=True):
        plot_regions(model.fit(X, y), X, y, axes=axes, sigmas=(2,))
        axes.set_title(name, loc="right")
        if axes is not panels[0, 0]:
            axes.get_legend().remove()
    figure.savefig(DECISIONS, dpi=120)


if __name__ == "__main__":
    main()
