"""classwise explain and plot: a model as formulas or pictures, or why it assigns a row to a class."""

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from classwise.cli import options as o
from classwise.cli.files import answered_rows, find_label, load_model, model_within
from classwise.cli.verbs import note, print_lines, say
from classwise.errors import ClasswiseError
from classwise.rows.sinks import STANDARD, refuse_existing, refuse_terminal, writing


def explain(
    model: o.ModelFile,
    data: Annotated[str | None, typer.Argument(help="A file with the row to explain.", metavar="DATA")] = None,
    row: Annotated[int, typer.Option("--row", "-r", help="The number of the row, from 1.", min=1)] = 1,
    label: Annotated[str | None, typer.Option(help="The class to explain; by default the most probable.")] = None,
    against: Annotated[
        str | None, typer.Option(help="The class to compare it with; by default the next most probable.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", "-c", help="Show formulas in these columns alone, with the others integrated out."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Write formulas in LaTeX.")] = False,
    missing: o.ModelsMissing = None,
) -> None:
    """Show the formulas of a model, or explain why it assigns a row to a class.

    Without DATA it prints a function for each class, and the boundary between each two. For a row of DATA it prints
    what each column adds to the log odds, and the smallest change of one column that changes the decision.

    LDA is linear in numbers, and each level of a text column adds a constant; QDA is quadratic. Naive Bayes with other
    columns than numbers, and Student-t classes, show the estimates of each column instead. Logistic regression shows
    its weights, or with --columns or --latex its boundaries. A stack shows its members. For a Decision, its model is
    explained, and a note gives the label of the Decision.

    Example: classwise explain lda.cw penguins.csv --row 1
    """
    loaded = load_model(model)
    fitted = model_within(loaded)
    if data is None:
        if fitted is not loaded:
            note("costs, reject and novelty of the Decision come after what its model says, which is shown here.")
        print_lines(*formulas(fitted, o.names(columns), latex))
        return
    rows, _ = answered_rows(data, fitted, missing)
    if row > rows.num_rows:
        raise ClasswiseError(f"{data} has {rows.num_rows} rows; there is no row {row}.")
    X = rows.slice(row - 1, 1)
    chosen = {
        name: find_label(text, fitted.classes_)
        for name, text in {"label": label, "against": against}.items()
        if text is not None
    }
    if fitted is not loaded:
        note(f"the Decision predicts {loaded.predict(X).tolist()[0]!r}; here is how its model weighs the row.")
    print_lines(str(fitted.explain(X, **chosen)))


def formulas(model: Any, columns: tuple[str, ...], latex: bool) -> list[str]:
    """The lines to print: discriminants and boundaries; for models without them, estimates, weights or members."""
    chosen = {"columns": list(columns)} if columns else {}
    if hasattr(model, "report_"):
        if chosen or latex:
            raise ClasswiseError("A stack of several models has no polynomials; leave --columns and --latex out.")
        note("A stack has no formulas: these are its members. Give rows, and it explains one of them.")
        return [str(model.report_)]
    if hasattr(model, "coefficients"):
        return list(_boundaries(model, chosen, latex)) if chosen or latex else [str(model.coefficients())]
    if hasattr(model, "parameters_") and not hasattr(model, "discriminant"):
        if chosen or latex:
            raise ClasswiseError(f"{type(model).__name__} has no polynomials; leave --columns and --latex out.")
        return list(_parameters(model))
    try:
        return list(_functions(model, chosen, latex))
    except (ClasswiseError, AttributeError) as problem:
        if chosen or latex or not hasattr(model, "parameters_"):
            raise
        note(str(problem))
        return list(_parameters(model))


def _functions(model: Any, chosen: dict[str, Any], latex: bool) -> Iterator[str]:
    """The functions of the classes, and their boundaries if the functions have numbers alone."""
    if not hasattr(model, "classification_functions"):
        yield from _polynomials(model, chosen, latex)
        return
    functions = model.classification_functions(**chosen)
    if latex:
        yield from (f"{g._repr_latex_()} % g({g.label})" for g in functions)
    else:
        yield str(functions)
    if not any(g.offsets for g in functions) and all(g.numbers.names for g in functions):
        yield ""
        yield from _boundaries(model, chosen, latex)


def _polynomials(model: Any, chosen: dict[str, Any], latex: bool) -> Iterator[str]:
    for label in model.classes_.tolist():
        g = model.discriminant(label, **chosen)
        yield f"{g._repr_latex_()} % g({label})" if latex else f"g({label}) = {g}"
    yield ""
    yield from _boundaries(model, chosen, latex)


def _boundaries(model: Any, chosen: dict[str, Any], latex: bool) -> Iterator[str]:
    for first, second in combinations(model.classes_.tolist(), 2):
        edge = model.boundary(first, second, **chosen)
        about = f"{first} | {second}: {edge.kind}"
        yield f"{edge._repr_latex_()} % {about}" if latex else f"{about}\n  {edge}"


def _parameters(model: Any) -> Iterator[str]:
    labels = model.classes_.tolist()
    yield "prior: " + ", ".join(f"{label} {p:.4g}" for label, p in zip(labels, model.priors_, strict=True))
    for column, estimates in model.parameters_.items():
        yield f"{column} ({model.families_[column]})"
        for name, values in estimates.items():
            yield f"  {name}: " + ", ".join(f"{label} {v:.4g}" for label, v in zip(labels, values, strict=True))


# classwise plot: pictures of a model ----------------------------------------------------------------------------------


PictureKind: TypeAlias = Literal["regions", "pairs", "densities", "projection", "confusion", "reliability"]
OF_COLUMNS, OF_ANSWERS = ("regions", "pairs", "densities"), ("confusion", "reliability")


def plot(
    model: o.ModelFile,
    data: o.Data,
    target: o.Target,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="A name that ends in .png, .svg or .pdf; - is standard output, as PNG."),
    ],
    kind: Annotated[
        PictureKind, typer.Option("--kind", help="regions, pairs, densities, projection, confusion or reliability.")
    ] = "regions",
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            "-c",
            help="Columns to draw, separated by commas: two for regions, two or more for pairs, one for densities.",
        ),
    ] = None,
    weights: Annotated[
        str | None, o.rows_option("--weights", "-w", help="The column of weights, for confusion and reliability.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="A title for the picture.")] = None,
    missing: o.ModelsMissing = None,
    dark: Annotated[bool, typer.Option("--dark", help="Draw on a dark background.")] = False,
    force: o.Force = False,
) -> None:
    """Draw the decision regions of a model, its densities, projection, confusion or reliability, with rows.

    Example: classwise plot lda.cw penguins.csv --target species --columns bill_length_mm,bill_depth_mm -o regions.png
    """
    refuse_picture(output, force)
    options = _options(kind, o.names(columns), weights)
    fitted = load_model(model)
    X, table = answered_rows(data, model_within(fitted), missing, also=[target, *([weights] if weights else ())])
    labeled = table[target].is_valid()
    X, y = X.filter(labeled), table[target].filter(labeled).to_numpy()
    if weights:
        options["sample_weight"] = table[weights].filter(labeled).to_numpy()
    write_picture(lambda: _drawn(kind, fitted, X, y, options | {"title": title}), output, force, dark)


def refuse_picture(output: str, force: bool) -> None:
    """Raise an error, before any work, if the name does not say which picture to write, or if the file exists."""
    if output != STANDARD and _suffix(output) not in ("png", "svg", "pdf"):
        raise ClasswiseError(f"The name {output!r} does not say which picture to write; end it in .png, .svg or .pdf.")
    refuse_existing(output, force)
    refuse_terminal(output, "A picture")


def write_picture(draw: Callable[[], Any], output: str, force: bool, dark: bool = False) -> None:
    """Draw a picture, matplotlib's Axes or a Figure, and write it to a file; "-" is standard output."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    with pyplot.style.context("dark_background" if dark else "default"):
        made = draw()
        figure = made if hasattr(made, "savefig") else made.get_figure()
        with writing(output, force=force) as picture:
            figure.savefig(picture, format=_suffix(output) or "png", dpi=150, bbox_inches="tight")
        pyplot.close(figure)
    say(f"The picture is {'on standard output' if output == STANDARD else f'in {output}'}.")


def _suffix(output: str) -> str:
    return Path(output).suffix.lower().removeprefix(".")


def _options(kind: PictureKind, columns: tuple[str, ...], weights: str | None) -> dict[str, Any]:
    """The options of this kind of picture; an option of another kind is an error."""
    for flag, given, kinds in (("--columns", columns, OF_COLUMNS), ("--weights", weights, OF_ANSWERS)):
        if given and kind not in kinds:
            raise ClasswiseError(f"{flag} is for --kind {', '.join(kinds)}, and this one is {kind}; leave it out.")
    return {"columns": list(columns)} if columns else {}


def _drawn(kind: PictureKind, m: Any, X: Any, y: Any, options: dict[str, Any]) -> Any:
    """The picture: matplotlib's Axes, or a Figure."""
    from classwise import plot as pictures

    if kind == "confusion" and model_within(m) is not m:
        raise ClasswiseError(
            "A confusion is of the most probable classes, and a Decision may predict others, or none; classwise "
            "evaluate counts it for the model within."
        )
    if kind == "regions":
        options = options | {"sigmas": (2,)}
    model = model_within(m) if kind == "projection" else m
    return getattr(pictures, f"plot_{kind}")(model, X, y, **options)
