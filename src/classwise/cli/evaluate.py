"""classwise evaluate: how good a model is on rows with labels."""

import json
from collections.abc import Sequence
from math import isfinite
from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.model_files import load_model, model_within, refuse_standard
from classwise.cli.row_files import called, kept_rows
from classwise.cli.verbs import print_lines, say
from classwise.errors import ClasswiseError
from classwise.rows.sinks import STANDARD, refuse_existing
from classwise.rows.streams import Stream, open_stream


def evaluate(
    model: o.ModelFile,
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Files of rows with labels, or - for standard input.", metavar="DATA"),
    ] = None,
    target: Annotated[
        str | None,
        o.rows_option(
            "--target", "-t", help="The column that holds the labels; may be left out if all others are the model's."
        ),
    ] = None,
    weights: o.Weights = None,
    missing: o.Missing = None,
    html: Annotated[
        str | None, o.output_option(help="Write the answer with pictures to this file.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, o.output_option("--json", help="The answer as JSON.")] = False,
    force: o.Force = False,
) -> None:
    """Say how good a model is on rows with labels, best on rows that it has not learned from.

    How many rows of a hundred it gets right, how good its probabilities are, and which classes it takes for which. Rows
    are read as a stream, with flat memory. For a Decision, the posteriors of its model are evaluated.

    Example: classwise evaluate model.cw penguins.csv --target species
    """
    import classwise as cw
    from classwise.estimators.scoring import missing_marks, text_columns

    refuse_standard(html, "--html")
    refuse_existing(html or STANDARD, force)
    fitted = load_model(model)
    sources = data or [STANDARD]
    if len(sources) > 1 and STANDARD in sources:
        raise ClasswiseError("- is standard input, which cannot be one of several files.")
    name = ", ".join(map(called, sources))
    with kept_rows(sources[0]) as path:
        rows = path if len(sources) == 1 else sources
        there = _opened(rows).names
        features = list(getattr(model_within(fitted), "feature_names_in_", ()))
        found = target or _only_other(there, [*features, *([weights] if weights else ())], bool(features), name)
        columns = features or [each for each in there if each not in (found, weights)]
        marks = missing or missing_marks(fitted)
        stream = _opened(rows, exact=[found], text=text_columns(fitted, found), missing=marks)
        evaluation = cw.evaluate(fitted, stream, target=found, columns=columns, weights=weights)
    if as_json:
        about = {"model": model, "data": sources, "target": found}
        print_lines(json.dumps(_plain(about | _answer(evaluation)), indent=2, ensure_ascii=False, default=str))
    else:
        print_lines(str(evaluation))
    if html:
        from classwise.report import write_evaluation

        write_evaluation(evaluation, html, f"How good is {model} on {name}?")
        say(f"The page is in {html}; open it in a browser.")


def _opened(rows: str | list[str], **options: Any) -> Stream:
    stream = open_stream(rows, **options)
    assert stream is not None
    return stream


def _only_other(there: Sequence[str], known: Sequence[str], has_names: bool, where: str) -> str:
    """The one column that is neither a feature nor the weights: it must hold the labels."""
    others = [name for name in there if name not in known]
    if len(others) == 1 and has_names:
        return others[0]
    if not others:
        raise ClasswiseError(f"{where} has no labels: the model reads all of its columns.")
    raise ClasswiseError(f"Which column holds the labels? Name it with --target: {where} has {', '.join(others)}.")


def _answer(evaluation: Any) -> dict[str, Any]:
    by_class = evaluation.by_class().records()
    return {
        "summary": evaluation.summary(),
        "weight": evaluation.weight,
        **evaluation.measures(),
        "accuracy_interval": list(evaluation.accuracy_interval),
        "log_loss_interval": list(evaluation.log_loss_interval),
        "auc_bound": evaluation.auc_bound,
        "classes": [dict(zip(by_class, row, strict=True)) for row in zip(*by_class.values(), strict=True)],
        "confusion": {"labels": evaluation.labels.tolist(), "true_by_predicted": evaluation.confusion.tolist()},
    }


def _plain(value: Any) -> Any:
    """The same for JSON, which has no NaN: null stands for it."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
