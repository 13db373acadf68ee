"""classwise predict: labels and posteriors beside the rows."""

from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.deciding import deciding_by, read_costs, with_priors
from classwise.cli.modeling import load_model, model_within
from classwise.cli.rows import called, kept_rows, missing_marks, names, text_columns
from classwise.errors import ClasswiseError
from classwise.rows.files import BATCH, no_such_column
from classwise.rows.formats import Format, output_format
from classwise.rows.opening import open_stream
from classwise.rows.streams import Stream
from classwise.rows.texts import WiderTypeError


def predict(
    model: o.ModelFile,
    data: o.Data = "-",
    proba: Annotated[bool, typer.Option("--proba", "-p", help="A column for the posterior of every class.")] = False,
    reject: Annotated[
        float | None,
        typer.Option(help="Rows whose posterior is below this are not decided.", min=0, max=1),
    ] = None,
    reject_cost: Annotated[
        float | None, typer.Option(help="What it costs not to decide: rows that would cost more are not decided.")
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(help="A table of costs: true classes down the first column, decisions along the first line."),
    ] = None,
    priors: Annotated[
        str | None,
        typer.Option(help="Other class priors: uniform, ill=0.1,well=0.9, or estimate, from these very rows."),
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", "-k", help="Columns to carry along, by commas; all unless given.")
    ] = None,
    drop: o.Drop = None,
    missing: o.Missing = None,
    output: o.Output = "-",
    format: o.OutputFormat = None,
    force: o.Force = False,
) -> None:
    """Add the label, and its posterior, to rows, however many: they are read, answered and written as they come.

    The columns added are label, posterior, and with --proba one posterior_CLASS for each class. Rows that are
    not decided have the label "reject". A Decision decides by its own costs, reject and novelty: --costs, --reject or
    --reject-cost, and --priors take the place of its own.

    Example: classwise predict model.cw new.csv --proba --reject 0.9 -o predicted.csv
    """
    import classwise as cw

    fitted = load_model(model)
    known = model_within(fitted)
    if reject is not None and reject_cost is not None:
        raise typer.BadParameter("Give a least posterior or a cost, not both.", param_hint="--reject")
    refuse_output(output, format, force)
    refusing: Any = reject_cost if reject is None else {"posterior": reject}
    with kept_rows(data) as path:
        stream = _stream(path, known, missing or missing_marks(known))
        keys = _carried(stream, known, names(key), names(drop), proba, called(data))
        features = list(getattr(known, "feature_names_in_", keys))
        fitted = with_priors(fitted, priors, _all_rows(stream, features) if priors == "estimate" else None)
        decision = deciding_by(fitted, read_costs(costs, fitted.classes_), refusing)
        options: dict[str, Any] = {"proba": proba, "overwrite": force, "format": format}
        cw.predict(decision, stream, output, keys=keys, columns=features, **options)


def refuse_output(output: str, format: str | None, force: bool) -> None:
    """Before any row is read: a name that says nothing, a file that exists, a terminal that cannot show it."""
    from classwise.rows.databases import read_address
    from classwise.rows.writing import STANDARD, refuse_existing, shown_format

    if output == STANDARD:
        shown_format(None if format is None else Format(format))
    elif read_address(output) is None:
        output_format(output)
        refuse_existing(output, force)


def _stream(path: str, model: Any, missing: Any) -> Stream:
    """Rows whose columns are read as the model knows them."""
    stream = open_stream(path, missing=missing or None, text=text_columns(model))
    assert stream is not None
    return stream


def _all_rows(stream: Stream, columns: list[str]) -> Any:
    """All rows in memory, as priors are estimated from; begun again where later ones show other types."""
    from classwise.rows.roles import as_arrow, as_frame
    from classwise.rows.sampling import joined

    while True:
        try:
            batches = [batch for piece in stream.pieces for batch in piece.batches(columns, BATCH)]
            return joined([as_arrow(as_frame(batch)) for batch in batches])
        except WiderTypeError:
            continue


def _carried(stream: Stream, model: Any, key: Any, drop: Any, proba: bool, where: str) -> list[str]:
    """The columns that go along with the answers."""
    from classwise.estimators.scoring import answer_columns

    there = stream.names
    for name in (*(key or ()), *(drop or ()), *getattr(model, "feature_names_in_", ())):
        if name not in there:
            raise ClasswiseError(no_such_column(name, there, where))
    carried = [name for name in (key or there) if name not in (drop or ())]
    for name in answer_columns(model.classes_, proba):
        if name in carried:
            raise ClasswiseError(f"The rows have a column {name!r} already; leave it out with --drop {name}.")
    return carried
