"""classwise fit: one model, from rows or from statistics."""

from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.compare import refuse_many_classes
from classwise.cli.modeling import keep, load_statistics, make_model, refuse_output
from classwise.cli.rows import Roles, called, kept_rows, learn_rows, names, open_learning, pairs
from classwise.errors import ClasswiseError


def fit(
    data: Annotated[str, typer.Argument(help="A file of rows, - for standard input, or statistics (.cws).")],
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="Where to keep the model; - is standard output.", rich_help_panel=o.OUTPUT),
    ],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The column that holds the labels.", rich_help_panel=o.ROWS),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", help="auto, lda, qda, rda, nearest-mean, naive-bayes, aode, mixture, gaussian or logistic."
        ),
    ] = "auto",
    option: Annotated[
        list[str] | None,
        typer.Option("--set", help="Options of the model: shrink=oas, priors=uniform.", metavar="NAME=VALUE"),
    ] = None,
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    stream: o.Streaming = None,
    without_statistics: Annotated[
        bool,
        typer.Option(
            "--without-statistics",
            help="Keep only what predictions take, for privacy and size.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = False,
    force: o.Force = False,
) -> None:
    """Fit one model, and keep it in a file.

    The model auto is a stack of several kinds, each weighed by what it says of rows held out. A model with nothing to
    choose is made from statistics of rows that are read as they come, where there are more than 20 million values;
    logistic and auto then read them several times.

    Example: classwise fit penguins.csv --target species --model lda --set shrink=oas -o lda.cw
    """
    import classwise as cw

    refuse_output(output, force)
    estimator = make_model(model, pairs(option, "--set"), pairs(families, "--families"))
    if data.endswith(".cws"):
        if not hasattr(estimator, "fit_statistics") or isinstance(estimator, cw.AutoClassifier):
            raise ClasswiseError(
                f"--model {model} needs rows, and {data} holds statistics; choose lda, qda or another."
            )
        fitted = estimator.fit_statistics(load_statistics(data))
    elif target is None:
        raise typer.BadParameter("Rows need the column that holds the labels.", param_hint="--target")
    else:
        roles = Roles(target, names(columns), names(drop) or (), weights)
        fitted = _from_rows(estimator, data, roles, missing, stream)
    keep(fitted, output, statistics=not without_statistics, source=data)


def _from_rows(estimator: Any, data: str, roles: Roles, missing: list[str] | None, stream: bool | None) -> Any:
    """From rows in memory, or from rows that are read as they come."""
    assert roles.target is not None
    with kept_rows(data) as path:
        families = estimator.get_params().get("families", "auto")
        rows = open_learning(path, roles, missing, families, called(data))
        if stream is None:
            stream = can_stream(estimator) and not rows.is_table
        if stream:
            return estimator.fit_source(rows.stream, target=roles.target, columns=rows.columns, weights=roles.weights)
        table = learn_rows(path, roles, missing, families, called(data))
    refuse_many_classes(table.y, roles.target)
    return estimator.fit(table.X, table.y, **({} if table.weights is None else {"sample_weight": table.weights}))


def can_stream(estimator: Any) -> bool:
    """Whether a model can be made of rows that are read as they come, once or several times."""
    return bool(estimator.get_params().get("posterior") != "sampled")
