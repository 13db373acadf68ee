"""classwise fit: one model, from rows or from statistics."""

from typing import Annotated

import typer

from classwise.cli import options as o
from classwise.cli.compare import refuse_many_classes
from classwise.cli.modeling import load_statistics, make_model
from classwise.cli.rows import Roles, learn_rows, names, pairs
from classwise.cli.saying import say
from classwise.errors import ClasswiseError


def fit(
    data: Annotated[str, typer.Argument(help="A file of rows, - for standard input, or statistics (.cws).")],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to keep the model.", rich_help_panel=o.OUTPUT)],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The column that holds the labels.", rich_help_panel=o.ROWS),
    ] = None,
    model: Annotated[
        str,
        typer.Option("--model", "-m", help="auto, lda, qda, rda, nearest-mean, naive-bayes, gaussian or logistic."),
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

    The model auto compares the family first, and keeps the winner.

    Example: classwise fit penguins.csv --target species --model lda --set shrink=oas -o lda.cw
    """
    import classwise as cw
    from classwise.sources.writing import refuse_existing

    refuse_existing(output, force)
    estimator = make_model(model, pairs(option, "--set"), pairs(families, "--families"))
    if data.endswith(".cws"):
        if not hasattr(estimator, "fit_statistics"):
            raise ClasswiseError(
                f"--model {model} needs rows, and {data} holds statistics; choose lda, qda or another."
            )
        fitted = estimator.fit_statistics(load_statistics(data))
    elif target is None:
        raise typer.BadParameter("Rows need the column that holds the labels.", param_hint="--target")
    else:
        rows = learn_rows(data, Roles(target, names(columns), names(drop) or (), weights), missing)
        refuse_many_classes(rows.y, target)
        fitted = estimator.fit(rows.X, rows.y, **({} if rows.weights is None else {"sample_weight": rows.weights}))
    fitted = getattr(fitted, "best_", fitted)
    cw.save(fitted, output, statistics=not without_statistics, source=data)
    say(f"{' '.join(repr(fitted).split())} is in {output}.")
