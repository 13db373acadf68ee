"""classwise evaluate and importance: how good a model is on rows with labels, and which columns matter to it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from os.path import normpath
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

from classwise.cli import options as o
from classwise.cli.files import load_model, model_within, refuse_standard
from classwise.cli.verbs import LINE, called, kept, note, print_lines, say
from classwise.errors import ClasswiseError
from classwise.rows.sinks import STANDARD, refuse_existing
from classwise.rows.streams import Stream, open_stream

LabeledData: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(help="Files of rows with labels, or - for standard input.", metavar="DATA"),
]
TARGET = "The column that holds the labels; not needed if the model uses all other columns."
OtherTarget: TypeAlias = Annotated[str | None, o.rows_option("--target", "-t", help=TARGET)]


def evaluate(
    model: o.ModelFile,
    data: LabeledData = None,
    target: OtherTarget = None,
    weights: o.Weights = None,
    missing: o.ModelsMissing = None,
    html: Annotated[
        str | None, o.output_option(help="Write the result as a page with pictures to this file.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, o.output_option("--json", help="Print the result as JSON.")] = False,
    force: o.Force = False,
) -> None:
    """Say how good a model is on labeled rows; use rows that it was not fitted on.

    Prints how many of 100 rows it gets right, how good its probabilities are, and which classes it confuses. Files may
    be larger than memory. For a Decision saved from Python, the probabilities of its model are evaluated.

    Example: classwise evaluate model.cw penguins.csv --target species
    """
    import classwise as cw

    refuse_standard(html, "--html")
    refuse_existing(html or STANDARD, force)
    fitted = load_model(model)
    with labeled_rows(fitted, data, target, weights, missing) as rows:
        note_known_rows(model, rows.sources)
        evaluation = cw.evaluate(fitted, rows.stream, target=rows.target, columns=rows.columns, weights=weights)
    name = rows.name
    if as_json:
        about = {"model": model, "data": rows.sources, "target": rows.target}
        print_lines(json.dumps(plain(about | _answer(evaluation)), indent=2, ensure_ascii=False, default=str))
    else:
        print_lines(str(evaluation))
    if html:
        from classwise.report import write_evaluation

        facts = {"command": LINE.get(), "model": model, "rows": name, "labels": rows.target}
        write_evaluation(evaluation, html, f"How good is {model} on {name}?", facts)
        say(f"The page is in {html}; open it in a browser.")


class LabeledStream(NamedTuple):
    """Labeled rows to score: a stream, and the roles of its columns."""

    stream: Stream
    target: str
    columns: list[str]
    sources: list[str]
    name: str


@contextmanager
def labeled_rows(
    model: Any, data: list[str] | None, target: str | None, weights: str | None, missing: list[str] | None
) -> Iterator[LabeledStream]:
    """Open files of labeled rows, as a model reads them; standard input if no file is given."""
    from classwise.estimators.scoring import missing_marks, text_columns

    sources = data or [STANDARD]
    if len(sources) > 1 and STANDARD in sources:
        raise ClasswiseError("- is standard input, which cannot be one of several files.")
    name = ", ".join(map(called, sources))
    with kept(sources[0]) as path:
        rows = path if len(sources) == 1 else sources
        there = _opened(rows).names
        features = list(getattr(model_within(model), "feature_names_in_", ()))
        found = target or _only_other(there, [*features, *([weights] if weights else ())], bool(features), name)
        columns = features or [each for each in there if each not in (found, weights)]
        marks = missing or missing_marks(model)
        stream = _opened(rows, exact=[found], text=text_columns(model, found), missing=marks)
        yield LabeledStream(stream, found, columns, sources, name)


def note_known_rows(model: str, sources: Sequence[str]) -> None:
    """Print a note if a model was fitted on one of these files: it looks better there than on new rows."""
    from classwise.storage import describe

    if model == STANDARD:
        return
    fitted_on = {normpath(source) for source in describe(model).sources}
    known = [source for source in sources if source != STANDARD and normpath(source) in fitted_on]
    if known:
        note(f"the model was fitted on {', '.join(known)}: expect it to do worse on new rows.")


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


def plain(value: Any) -> Any:
    """The value for JSON, with null in place of NaN and infinity."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def importance(
    model: o.ModelFile,
    data: LabeledData = None,
    target: OtherTarget = None,
    weights: o.Weights = None,
    missing: o.ModelsMissing = None,
    repeats: Annotated[
        int, typer.Option("--repeats", help="How often to shuffle a column that cannot be integrated out.", min=1)
    ] = 5,
    seed: o.Seed = 0,
    as_json: Annotated[bool, o.output_option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Say which columns matter to a model: how much its log loss rises without each of them.

    Use rows that the model was not fitted on. Generative models integrate a column out exactly; for logistic
    regression, forests and stacks its values are shuffled among the rows. For a Decision, its model is scored.

    Example: classwise importance model.cw penguins.csv --target species
    """
    from classwise import limits
    from classwise.engines import open_rows
    from classwise.engines.rows import Held
    from classwise.estimators.scoring import as_fitted
    from classwise.rows.roles import as_frame

    fitted = load_model(model)
    with labeled_rows(fitted, data, target, weights, missing) as given:
        note_known_rows(model, given.sources)
        rows = open_rows(given.stream, target=given.target, columns=given.columns, weights=weights)
        held = rows.held()
        if held is None:
            drawn = max(limits.MOST_HELD // len(rows.roles.needed), 1)
            note(f"the rows are too many to hold in memory: {drawn} of them are drawn by chance.")
            held = Held(*rows.sample(drawn, seed=seed), None)
    X = as_fitted(fitted, as_frame(held.X))
    found = fitted.importance(X, held.y, held.weights, repeats=repeats, random_state=seed)
    if not as_json:
        print_lines(str(found))
        return
    about = {"model": model, "data": given.sources, "target": given.target, "log_loss": found.log_loss}
    about |= {"weight": found.weight, "method": found.method, "shuffles": found.shuffles}
    lines = [line._asdict() for line in found.lines]
    print_lines(json.dumps(plain(about | {"columns": lines}), indent=2, ensure_ascii=False, default=str))
