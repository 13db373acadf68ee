"""classwise fit, summarize, merge, subtract and info: fit one model, gather and combine statistics, describe a file."""

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from classwise.cli import options as o
from classwise.cli.files import (
    LearningRows,
    keep,
    learning_rows,
    load_statistics,
    make_model,
    refuse_output,
    refuse_standard,
)
from classwise.cli.files import keep as keep_in_file
from classwise.cli.verbs import called, kept, print_lines, say_which_targets
from classwise.errors import ClasswiseError
from classwise.rows.sinks import STANDARD


def fit(
    data: Annotated[
        str, typer.Argument(help="A file of rows, or statistics (.cws); - for standard input.", metavar="DATA")
    ],
    output: Annotated[str, o.output_option("--output", "-o", help="Where to save the model; - is standard output.")],
    target: Annotated[str | None, o.TARGET] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="auto, lda, qda, rda, nearest-mean, naive-bayes, aode, mixture, shrunken-centroids, hdda, robust, "
            "gaussian, logistic or forest.",
        ),
    ] = "auto",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="An option of the model, such as shrink=oas or priors=uniform; may be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    stream: o.Streaming = None,
    sets: Annotated[
        bool,
        typer.Option("--sets", help="Keep what prediction sets need, for predict --sets; for lda, qda and others."),
    ] = False,
    without_statistics: Annotated[
        bool,
        o.output_option(
            "--without-statistics", help="Save only what predictions need: a smaller file, without the statistics."
        ),
    ] = False,
    force: o.Force = False,
) -> None:
    """Fit one model, and save it to a file.

    The model auto is a stack of several kinds, weighted by their log loss on held-out rows. Above 20 million values the
    rows are read in chunks, in little memory: once for most models, several times for logistic and auto.

    Example: classwise fit penguins.csv --target species --model lda --set shrink=oas -o lda.cw
    """
    import classwise as cw

    refuse_output(output, force)
    estimator = make_model(model, o.pairs(option, "--set"), o.pairs(families, "--families"))
    if data.endswith(".cws") or (data == STANDARD and target is None):
        if not hasattr(estimator, "fit_statistics") or isinstance(estimator, cw.AutoClassifier):
            raise ClasswiseError(
                f"--model {model} needs rows, and their column of labels by --target; statistics are for lda, qda and "
                "others."
            )
        if sets:
            raise ClasswiseError(
                "--sets needs rows, and their column of labels by --target; statistics are not enough."
            )
        fitted = estimator.fit_statistics(load_statistics(data))
    elif target is None:
        say_which_targets(data)
        raise typer.BadParameter("Rows need the column that holds the labels.", param_hint="--target")
    else:
        known = estimator.get_params().get("families", "auto")
        with learning_rows(data, target, o.names(columns), o.names(drop), weights, known, missing) as rows:
            fitted = _with_sets(estimator, rows) if sets else _fitted(estimator, rows, stream)
    keep_in_file(fitted, output, statistics=not without_statistics, source=called(data))


def _with_sets(estimator: Any, rows: LearningRows) -> Any:
    """Fit to rows in memory, and keep what prediction sets need, by fold: a model for each row is too much."""
    from classwise import limits

    X, y, weights, _ = rows.held()
    fitted = estimator.fit(X, y) if weights is None else estimator.fit(X, y, sample_weight=weights)
    if not hasattr(fitted, "calibrate_sets"):
        raise ClasswiseError(
            f"--sets is for lda, qda, nearest-mean, naive-bayes and gaussian, not for a {type(fitted).__name__}."
        )
    return fitted.calibrate_sets(X, y, weights, folds=limits.SET_FOLDS)


def _fitted(estimator: Any, rows: LearningRows, stream: bool | None) -> Any:
    """Fit to rows in memory, or to a stream; posterior="sampled" needs the rows in memory."""
    if stream is None:
        stream = estimator.get_params().get("posterior") != "sampled" and not rows.is_small
    if stream:
        return estimator.fit_source(rows.stream, **rows.named)
    X, y, weights, _ = rows.held()
    return estimator.fit(X, y) if weights is None else estimator.fit(X, y, sample_weight=weights)


# Statistics that add up, and what a file holds ------------------------------------------------------------------------


def summarize(
    data: o.Data,
    target: o.Target,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to save the statistics (.cws); - is standard output.")
    ],
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    on_error: Annotated[
        Literal["raise", "skip"],
        typer.Option(help="Stop at a file that cannot be read (raise), or leave it out and count it (skip)."),
    ] = "raise",
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Save the statistics of finished files to this file; after a crash, resume from it."),
    ] = None,
    force: o.Force = False,
) -> None:
    """Gather the statistics that models are made from, in one pass over any number of rows.

    Statistics of different files, days or machines add up: see merge.

    Example: classwise summarize penguins.csv --target species -o day-1.cws
    """
    import classwise as cw

    refuse_output(output, force)
    refuse_standard(checkpoint, "--checkpoint")
    chosen = o.families_of(families)
    with learning_rows(data, target, o.names(columns), o.names(drop), weights, chosen, missing) as rows:
        options: dict[str, Any] = {"families": chosen, "on_error": on_error, "checkpoint": checkpoint}
        statistics = cw.summarize(rows.stream, **rows.named, **options)
    keep(statistics, output, source=called(data))


def merge(
    parts: Annotated[
        list[str], typer.Argument(help="Statistics (.cws), or models saved with statistics.", metavar="PART...")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to save the sum (.cws); - is standard output.")],
    force: o.Force = False,
) -> None:
    """Add statistics. The sum is the statistics of all rows together, in any order.

    Example: classwise merge day-1.cws day-2.cws -o both.cws
    """
    refuse_output(output, force)
    first, *others = map(load_statistics, parts)
    total = sum(others, first)
    keep(total, output, source=[called(part) for part in parts])


def subtract(
    whole: Annotated[str, typer.Argument(help="Statistics (.cws) of all rows.", metavar="WHOLE")],
    parts: Annotated[list[str], typer.Argument(help="Statistics of the rows to subtract.", metavar="PART...")],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to save the rest (.cws); - is standard output.")],
    force: o.Force = False,
) -> None:
    """Subtract the statistics of some rows. The result is the statistics of the other rows.

    Example: classwise subtract both.cws day-1.cws -o rest.cws
    """
    refuse_output(output, force)
    rest = load_statistics(whole)
    for part in parts:
        rest = rest - load_statistics(part)
    keep(rest, output, source=called(whole))


def info(
    path: Annotated[str, typer.Argument(help="A model (.cw) or statistics (.cws).", metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show what a file holds and where it comes from, without reading its numbers.

    Example: classwise info model.cw
    """
    from classwise.storage import describe

    with kept(path) as file:
        about = describe(file)
    print_lines(json.dumps(asdict(about), indent=2, default=str) if as_json else str(about))
