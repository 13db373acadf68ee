"""classwise plot: pictures of a model."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from classwise.cli import options as o
from classwise.cli.model_files import load_model, model_within
from classwise.cli.row_files import answered_rows
from classwise.cli.verbs import say
from classwise.errors import ClasswiseError
from classwise.rows.sinks import STANDARD, refuse_existing, refuse_terminal, writing

PictureKind: TypeAlias = Literal["regions", "pairs", "densities", "projection", "confusion", "reliability"]


def plot(
    model: o.ModelFile,
    data: o.Data,
    target: o.Target,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="A name that ends in .png, .svg or .pdf; - is standard output, as PNG."),
    ],
    kind: Annotated[PictureKind, typer.Option("--kind", help="What to draw.")] = "regions",
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

    suffix = "png" if output == STANDARD else Path(output).suffix.lower().removeprefix(".")
    if suffix not in ("png", "svg", "pdf"):
        raise ClasswiseError(f"The name {output!r} does not say which picture to write; end it in .png, .svg or .pdf.")
    refuse_existing(output, force)
    refuse_terminal(output, "A picture")
    fitted = load_model(model)
    X, table = answered_rows(data, model_within(fitted), missing, also=[target])
    labeled = table[target].is_valid()
    X, y = X.filter(labeled), table[target].filter(labeled).to_numpy()
    with pyplot.style.context("dark_background" if dark else "default"):
        made = _drawn(kind, fitted, X, y, list(o.names(columns)))
        figure = made if hasattr(made, "savefig") else made.get_figure()
        with writing(output, force=force) as picture:
            figure.savefig(picture, format=suffix, dpi=150, bbox_inches="tight")
        pyplot.close(figure)
    say(f"The picture is {'on standard output' if output == STANDARD else f'in {output}'}.")


def _drawn(kind: PictureKind, m: Any, X: Any, y: Any, columns: list[str]) -> Any:
    """The picture: matplotlib's Axes, or a Figure."""
    from classwise import plot as pictures

    match kind:
        case "regions":
            return pictures.plot_regions(m, X, y, columns or None, sigmas=(2,))
        case "pairs":
            return pictures.plot_pairs(m, X, y, columns or None)
        case "densities":
            return pictures.plot_densities(m, columns[0] if columns else X.column_names[0], X, y)
        case "projection":
            return pictures.plot_projection(model_within(m), X, y)
        case "reliability":
            return pictures.plot_reliability(m, X, y)
        case "confusion":
            if model_within(m) is not m:
                raise ClasswiseError(
                    "A confusion is of the most probable classes, and a Decision may announce others, or none; save "
                    "its model by itself, cw.save(decision.model_, ...), and draw that."
                )
            return pictures.plot_confusion(m.evaluate(X, y))
