"""classwise plot: pictures of a model."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.modeling import load_model, model_within
from classwise.cli.rows import model_rows, names, score_rows
from classwise.cli.saying import say
from classwise.errors import ClasswiseError
from classwise.rows.files import no_such_column
from classwise.rows.writing import writing


class Kind(StrEnum):
    """What to draw."""

    REGIONS = "regions"
    PAIRS = "pairs"
    DENSITIES = "densities"
    PROJECTION = "projection"
    CONFUSION = "confusion"
    RELIABILITY = "reliability"


def plot(
    model: o.ModelFile,
    data: o.Data,
    target: o.Target,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="A name that ends in .png, .svg or .pdf; - is standard output, as PNG."),
    ],
    kind: Annotated[Kind, typer.Option("--kind", help="What to draw.")] = Kind.REGIONS,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", "-c", help="One or two columns, by commas; others are integrated out."),
    ] = None,
    missing: o.Missing = None,
    dark: Annotated[bool, typer.Option("--dark", help="Light lines on a dark ground.")] = False,
    force: o.Force = False,
) -> None:
    """Draw a model: what it decides, its densities, projection, confusion or reliability, with rows.

    Example: classwise plot lda.cw penguins.csv --target species --columns bill_length_mm,bill_depth_mm -o regions.png
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    from classwise.rows.writing import STANDARD, refuse_existing, refuse_terminal

    suffix = "png" if output == STANDARD else Path(output).suffix.lower().removeprefix(".")
    if suffix not in ("png", "svg", "pdf"):
        raise ClasswiseError(f"The name {output!r} does not say which picture to write; end it in .png, .svg or .pdf.")
    refuse_existing(output, force)
    refuse_terminal(output, "A picture")
    fitted = load_model(model)
    table = score_rows(data, fitted, missing)
    if target not in table.column_names:
        raise ClasswiseError(no_such_column(target, table.column_names, data))
    table = table.filter(table[target].is_valid())
    X = model_rows(table, model_within(fitted), data)
    with pyplot.style.context("dark_background" if dark else "default"):
        made = DRAW[kind](fitted, X, table[target].to_numpy(), list(names(columns) or ()))
        figure = made if hasattr(made, "savefig") else made.get_figure()
        with writing(output, force=force) as picture:
            figure.savefig(picture, format=suffix, dpi=150, bbox_inches="tight")
        pyplot.close(figure)
    say(f"The picture is {'on standard output' if output == STANDARD else f'in {output}'}.")


def _regions(m: Any, X: Any, y: Any, columns: list[str]) -> Any:
    from classwise.plot import plot_regions

    return plot_regions(m, X, y, columns or None, sigmas=(2,))


def _pairs(m: Any, X: Any, y: Any, columns: list[str]) -> Any:
    from classwise.plot import plot_pairs

    return plot_pairs(m, X, y, columns or None)


def _densities(m: Any, X: Any, y: Any, columns: list[str]) -> Any:
    from classwise.plot import plot_densities

    return plot_densities(m, columns[0] if columns else X.column_names[0], X, y)


def _projection(m: Any, X: Any, y: Any, columns: list[str]) -> Any:
    from classwise.plot import plot_projection

    return plot_projection(model_within(m), X, y)


def _confusion(m: Any, X: Any, y: Any, columns: list[str]) -> Any:
    from classwise.plot import plot_confusion

    if model_within(m) is not m:
        raise ClasswiseError(
            "A confusion is of the most probable classes, and a Decision may announce others, or none; save its model "
            "by itself, cw.save(decision.model_, ...), and draw that."
        )
    return plot_confusion(m.evaluate(X, y))


def _reliability(m: Any, X: Any, y: Any, columns: list[str]) -> Any:
    from classwise.plot import plot_reliability

    return plot_reliability(m, X, y)


DRAW = {
    Kind.REGIONS: _regions,
    Kind.PAIRS: _pairs,
    Kind.DENSITIES: _densities,
    Kind.PROJECTION: _projection,
    Kind.CONFUSION: _confusion,
    Kind.RELIABILITY: _reliability,
}
