"""A confusion matrix."""

from typing import Any

import numpy as np

from classwise.arrays import ratio
from classwise.evaluation import Evaluation
from classwise.plot.canvas import contrasting, new_axes


def plot_confusion(evaluation: Evaluation, axes: Any = None) -> Any:
    """How often each class (rows) was taken for each class (columns): counts, and shares of the row.

    evaluation: of m.evaluate(X, y). The shade is the share.
    """
    counts, names = evaluation.confusion, [str(label) for label in evaluation.labels]
    shares = ratio(counts, counts.sum(axis=1, keepdims=True))
    side = 2.2 + 0.85 * len(names)
    axes = new_axes(axes, side + 0.6, side)
    image = axes.imshow(shares, cmap="cividis", vmin=0, vmax=1)
    for (i, j), share in np.ndenumerate(shares):
        color = contrasting(image.to_rgba(share))
        text = f"{counts[i, j]:g}\n{100 * share:.1f} %" if share else "0"
        axes.text(j, i, text, ha="center", va="center", color=color)
    slanted = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) > 6 else {}
    axes.set_xticks(range(len(names)), names, **slanted)
    axes.set_yticks(range(len(names)), names)
    axes.set(
        xlabel="taken for", ylabel="class", title=f"error {100 * evaluation.error:.3g} % of {evaluation.weight:g} rows"
    )
    axes.get_figure().colorbar(image, ax=axes, label="share of the class", shrink=0.8)
    return axes
