"""classwise explain: a model as formulas, or why it takes a row for a class."""

from collections.abc import Iterator
from itertools import combinations
from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.model_files import find_label, load_model, model_within
from classwise.cli.row_files import answered_rows
from classwise.cli.verbs import note, print_lines
from classwise.errors import ClasswiseError


def explain(
    model: o.ModelFile,
    data: Annotated[str | None, typer.Argument(help="Rows to explain one of.", metavar="DATA")] = None,
    row: Annotated[int, typer.Option("--row", "-r", help="Which row, from 1.", min=1)] = 1,
    label: Annotated[str | None, typer.Option(help="Why this class, rather than the most probable.")] = None,
    against: Annotated[str | None, typer.Option(help="Against this class, rather than the next probable.")] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", "-c", help="Formulas in these columns alone, the others integrated out."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Formulas for LaTeX.")] = False,
    missing: o.Missing = None,
) -> None:
    """Show how a model decides: its discriminant functions and boundaries; or, for one row, what each column adds.

    A model of columns other than numbers, or of Student-t classes, has no polynomials: the estimates of each column are
    shown instead. Logistic regression shows its weights; with --columns or --latex, its boundaries. A stack shows its
    members. For a Decision, its model is explained, with a note of the label that it announces.

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
        note(f"the Decision announces {loaded.predict(X).tolist()[0]!r}; here is how its model weighs the row.")
    print_lines(str(fitted.explain(X, **chosen)))


def formulas(model: Any, columns: tuple[str, ...], latex: bool) -> list[str]:
    """The lines to print: discriminants and boundaries, or estimates, weights or members where there are none."""
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
        return list(_polynomials(model, chosen, latex))
    except (ClasswiseError, AttributeError) as problem:
        if chosen or latex or not hasattr(model, "parameters_"):
            raise
        note(str(problem))
        return list(_parameters(model))


def _polynomials(model: Any, chosen: dict[str, Any], latex: bool) -> Iterator[str]:
    labels = model.classes_.tolist()
    for label in labels:
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
