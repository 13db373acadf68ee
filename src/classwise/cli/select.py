"""classwise select: which columns a model needs."""

import json
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Annotated, Any, Literal

import typer

from classwise.cli import options as o
from classwise.cli.answer_screen import continued
from classwise.cli.evaluate import plain
from classwise.cli.explain import refuse_picture, write_picture
from classwise.cli.files import learning_rows, make_model, refuse_standard
from classwise.cli.verbs import called, heading, print_lines, say, width
from classwise.errors import ClasswiseError
from classwise.rows.sinks import STANDARD, refuse_existing

HOW = "How to choose"


def select(
    data: o.Data,
    target: o.Target,
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", help="lda, qda, nearest-mean, naive-bayes or gaussian, of which columns are selected."
        ),
    ] = "lda",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="An option of the model, such as shrink=0.1 or priors=uniform; may be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    method: Annotated[
        Literal["forward", "backward", "best"],
        typer.Option(help="Add columns one by one, remove them one by one, or try all sets.", rich_help_panel=HOW),
    ] = "forward",
    most: Annotated[
        int | None, typer.Option(help="The most columns of a set; by default all.", min=1, rich_help_panel=HOW)
    ] = None,
    rule: Annotated[
        Literal["best", "simplest"],
        typer.Option(
            help="Choose the least log loss, or the fewest columns within one standard error of it.",
            rich_help_panel=HOW,
        ),
    ] = "best",
    folds: Annotated[
        str,
        typer.Option(help="The number of folds, or loo to leave out one row at a time.", rich_help_panel=HOW),
    ] = "10",
    nested: Annotated[
        bool | None,
        typer.Option(
            help="Repeat the search without each fold, for an honest log loss of the whole procedure. By default yes, "
            "except with --folds loo.",
            rich_help_panel=HOW,
        ),
    ] = None,
    seed: o.Seed = 0,
    save: Annotated[
        str | None, o.output_option(help="Save the model of the chosen columns to this file.", metavar="MODEL")
    ] = None,
    plot: Annotated[
        str | None,
        o.output_option(help="Draw log loss against the number of columns (.png, .svg or .pdf).", metavar="FILE"),
    ] = None,
    as_json: Annotated[bool, o.output_option("--json", help="Print the result as JSON.")] = False,
    force: o.Force = False,
) -> None:
    """Find the columns that a model needs: the set with the least log loss on held-out rows.

    Prints a line for each number of columns, with Wilks' lambda beside the log loss. The least of many log losses is
    too good; the sentences below the table say what the whole procedure has on rows that had no part in it.

    Example: classwise select penguins.csv --target species --model lda --method best --save few.cw
    """
    import classwise as cw

    for flag, path in {"--save": save, "--plot": plot}.items():
        refuse_standard(path, flag)
    refuse_existing(save or "-", force)
    if plot is not None:
        refuse_picture(plot, force)
    estimator = make_model(model, o.pairs(option, "--set"), o.pairs(families, "--families"))
    options: dict[str, Any] = {"method": method, "most": most, "rule": rule, "random_state": seed}
    options |= {"folds": _folds(folds), "nested": "auto" if nested is None else nested}
    known = estimator.get_params().get("families", "auto")
    with learning_rows(data, target, o.names(columns), o.names(drop), weights, known, missing) as rows:
        if rows.is_small:
            X, y, sample_weight, _ = rows.held()
            found = cw.select_columns(estimator, X, y, sample_weight=sample_weight, **options)
        else:
            found = cw.select_columns(estimator, rows.stream, **rows.named, **options)
    _show(found, rows.name, as_json)
    if save:
        cw.save(found.best, save, source=called(data))
        say(f"The model of {len(found.columns)} columns is in {save}.")
    if plot:
        write_picture(found.plot, plot, force)
    if not (save or as_json):
        given = {"--set": option, "--weights": [weights] if weights else None, "--families": families}
        _suggest(data, target, model, found.columns, given | {"--missing": missing})


def _suggest(
    data: str, target: str, model: str, columns: Sequence[Any], given: Mapping[str, Sequence[str] | None]
) -> None:
    """Print the command that fits the model of these columns, if their names fit on a command line."""
    if data == STANDARD or not columns or any("," in str(name) for name in columns):
        return
    flags = [f"{flag} {quote(value)}" for flag, values in given.items() for value in values or ()]
    parts = [f"--target {quote(target)}", f"--model {model}", f"--columns {quote(','.join(map(str, columns)))}", *flags]
    heading("Next:")
    for line in continued(["classwise fit", quote(data), *parts, "-o model.cw"], width() or 80):
        say(line)


def _folds(text: str) -> int | str:
    if text == "loo":
        return text
    if not text.isdigit() or int(text) < 2:
        raise ClasswiseError(f"--folds {text!r} is not an option; give a whole number of at least 2, or loo.")
    return int(text)


def _show(found: Any, name: str, as_json: bool) -> None:
    """The table and its sentences, or JSON."""
    if not as_json:
        print_lines(str(found.table()))
        for line in ("", *found.summary()):
            say(line)
        return
    records = found.table().records()
    lines = [dict(zip(records, values, strict=True)) for values in zip(*records.values(), strict=True)]
    about = {"data": name, "method": found.method, "rule": found.rule, "columns": found.columns}
    about |= {"log_loss": found.log_loss, "nested_log_loss": found.nested_log_loss, "left_out": dict(found.left_out)}
    print_lines(json.dumps(plain(about | {"sets": lines}), indent=2, ensure_ascii=False, default=str))
