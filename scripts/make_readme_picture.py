"""The picture of the README: the same penguins by LDA, QDA and naive Bayes, with regions and exact boundaries.

    python scripts/make_readme_picture.py

It writes docs/_static/regions.png, and needs classwise[plot].
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

import classwise as cw
from classwise.plot import plot_regions

DOCS = Path(__file__).parent.parent / "docs"
COLUMNS = ("bill_length_mm", "bill_depth_mm")


def main() -> None:
    plt.style.use(DOCS / "matplotlibrc")
    X, y = cw.datasets.penguins()
    models = {"LDA": cw.LDA(), "QDA": cw.QDA(), "naive Bayes": cw.NaiveBayes()}
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.1), sharex=True, sharey=True)
    for panel, (name, model) in zip(panels, models.items(), strict=True):
        plot_regions(model.fit(X, y), X, y, columns=COLUMNS, axes=panel, sigmas=(2,))
        handles = panel.get_legend().legend_handles
        panel.get_legend().remove()
        panel.set_title(name)
        panel.set(xlabel="bill length (mm)", ylabel="bill depth (mm)" if panel is panels[0] else "")
    figure.legend(handles, model.classes_, loc="outside lower center", ncols=3)
    figure.savefig(DOCS / "_static" / "regions.png", dpi=110)


if __name__ == "__main__":
    main()
