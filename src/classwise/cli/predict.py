"""classwise predict: labels and posteriors beside the rows."""

from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.deciding import read_costs, with_priors
from classwise.cli.modeling import load_model
from classwise.cli.rows import model_rows, names, score_rows
from classwise.errors import ClasswiseError
from classwise.sources import Format, write_rows


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
    """Add the label, and its posterior, to rows.

    The columns added are label, posterior, and with --proba one posterior_CLASS for each class. Rows that are
    not decided have the label "reject".

    Example: classwise predict model.cw new.csv --proba --reject 0.9 -o predicted.csv
    """
    import classwise as cw

    fitted = load_model(model)
    table = score_rows(data, fitted, missing or None)
    table = table.drop_columns(list(names(drop) or ()))
    X = model_rows(table, fitted, data)
    fitted = with_priors(fitted, priors, X)
    if reject is not None and reject_cost is not None:
        raise typer.BadParameter("Give a least posterior or a cost, not both.", param_hint="--reject")
    refusing: Any = reject_cost if reject is None else {"posterior": reject}
    decision = cw.Decision(fitted, costs=read_costs(costs, fitted.classes_), reject=refusing)
    carried = table if not key else table.select(_known(names(key) or (), table.column_names, data))
    added = answers(decision, X, proba)
    write_rows(_beside(carried, added), output, format=None if format is None else Format(format), force=force)


def answers(decision: Any, X: Any, proba: bool) -> dict[str, Any]:
    """The columns that are added."""
    import numpy as np

    posterior, labels = decision.predict_proba(X), decision.classes_
    decided = decision.decide(X)
    codes = decision.expected_costs(X).argmin(axis=1)
    names = decided.labels.tolist()
    columns: dict[str, Any] = {
        "label": [str(label) for label in names] if decided.refused.any() else names,
        "posterior": posterior[np.arange(len(codes)), codes],
    }
    if proba:
        columns |= {f"posterior_{label}": posterior[:, k] for k, label in enumerate(labels.tolist())}
    return columns


def _known(wanted: tuple[str, ...], there: list[str], where: str) -> list[str]:
    from classwise.sources.reading import no_such_column

    for name in wanted:
        if name not in there:
            raise ClasswiseError(no_such_column(name, there, where))
    return list(wanted)


def _beside(table: Any, columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    for name, values in columns.items():
        if name in table.column_names:
            raise ClasswiseError(f"The rows have a column {name!r} already; leave it out with --drop {name}.")
        table = table.append_column(name, pa.array(values))
    return table
