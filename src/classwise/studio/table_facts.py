"""Facts of a table for the page: its columns, in words where something is wrong with one, its classes and colors."""

from typing import Any

from classwise.classifier.column_view import column_keys, number_columns, usable_columns
from classwise.comparison import Comparison
from classwise.errors import ClasswiseError
from classwise.plot.canvas import CYCLE, MARKERS, ON_DARK
from classwise.studio.dials import Dials
from classwise.studio.examples import EXAMPLES
from classwise.studio.fisher import FisherPlane
from classwise.studio.scene import reference
from classwise.studio.studio_table import StudioTable

# Shapes of points, by the marker of the same class in pictures of matplotlib.
SYMBOLS = dict(
    zip(MARKERS, ("circle", "triangle-up", "square", "diamond", "triangle-down", "cross", "x", "star"), strict=True)
)


def table_facts(table: StudioTable) -> dict[str, Any]:
    """Everything that does not depend on dials."""
    model = reference(table)
    return {
        "name": table.name,
        "target": table.opening.target,
        "opening": table.opening,
        "rows": table.rows,
        "drawn": len(table.drawn),
        "judged": len(table.crossing.codes),
        "classes": list(_classes(table)),
        "columns": list(_columns(model)),
        "fisher": _fisher(table),
        "notes": [*table.notes, *_left_out(model)],
    }


def _classes(table: StudioTable) -> Any:
    weight = table.statistics.weight
    for k, label in enumerate(table.labels):
        color = CYCLE[k % len(CYCLE)]
        yield {
            "label": str(label),
            "share": float(weight[k] / weight.sum()),
            "light": color,
            "dark": ON_DARK.get(color, color),
            "symbol": SYMBOLS[MARKERS[k % len(MARKERS)]],
        }


def _columns(model: Any) -> Any:
    """Each column that can be looked at; numbers first."""
    keys, numbers = column_keys(model), set(number_columns(model))
    for j in usable_columns(model):
        column = model.model_.schema.columns[j]
        yield {"name": str(keys[j]), "kind": column.family.name, "number": j in numbers}


def _left_out(model: Any) -> list[str]:
    """A sentence for each column that says something about itself."""
    keys = column_keys(model)
    return [f"Column {keys[j]!s}: {note}." for j, note in sorted(model.model_.notes.items()) if note]


def _fisher(table: StudioTable) -> bool:
    """Whether there are Fisher's directions to look along."""
    try:
        return len(FisherPlane.of(table.statistics).columns) > 1
    except (ClasswiseError, ValueError):
        return False


def menu(sources: dict[str, Any]) -> dict[str, Any]:
    """What may be opened."""
    return {
        "given": list(sources),
        "examples": [{"name": name, "about": each.about} for name, each in EXAMPLES.items()],
    }


def model_name(dials: Dials, comparison: Comparison | None) -> str:
    """What the current model is called: the corner of the square that it is in, or between which it lies."""
    if dials.model is not None:
        return dials.model if comparison is None else comparison[dials.model].title
    name = _cornered(dials)
    return f"{name}, Bayes (Student-t)" if dials.estimate == "bayes" else name


def _cornered(dials: Dials) -> str:
    """
    >>> [_cornered(Dials(share=share, shrink=shrink)) for share, shrink in ((0, 0), (1, 0), (1, 1), (0.5, 0.1))]
    ['QDA', 'LDA', 'nearest mean', 'RDA, share 0.5, shrink 0.1']
    """
    corners = {
        "full": {(0, 0): "QDA", (1, 0): "LDA", (0, 1): "spherical QDA", (1, 1): "nearest mean"},
        "diagonal": {
            (0, 0): "Gaussian naive Bayes",
            (1, 0): "diagonal LDA",
            (0, 1): "spherical QDA",
            (1, 1): "nearest mean",
        },
        "spherical": {(0, 0): "spherical QDA", (0, 1): "spherical QDA", (1, 0): "nearest mean", (1, 1): "nearest mean"},
    }[dials.structure]
    here = (int(dials.share), int(dials.shrink))
    if here == (dials.share, dials.shrink):
        return corners[here]
    kind = "RDA" if dials.structure == "full" else f"{dials.structure} RDA"
    return f"{kind}, share {dials.share:.3g}, shrink {dials.shrink:.3g}"
