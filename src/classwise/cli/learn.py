"""classwise compare and fit: which classifier to trust, and one model, fitted and saved."""

import json
import sys
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.model_files import keep as keep_in_file
from classwise.cli.model_files import load_statistics, make_model, refuse_output, refuse_standard
from classwise.cli.row_files import LearningRows, called, learning_rows
from classwise.cli.verbs import heading, note, print_lines, say, show_table, width
from classwise.errors import ClasswiseError
from classwise.rows.sinks import refuse_existing

if TYPE_CHECKING:
    from classwise.engines.rows import Held


def compare(
    data: o.Data,
    target: o.Target,
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    stream: o.Streaming = None,
    folds: Annotated[int, typer.Option(help="How many parts take turns in being held out.", min=2)] = 10,
    seed: o.Seed = 0,
    references: Annotated[
        bool | None,
        typer.Option(
            help="Also try softmax regression and nearest neighbors, of scikit-learn; where they take long, too."
        ),
    ] = None,
    save: Annotated[str | None, o.output_option(help="Keep the winner in this file.", metavar="MODEL")] = None,
    keep: Annotated[
        str | None,
        o.output_option(help="Keep this model of the table in place of the winner, such as 'stack'.", metavar="NAME"),
    ] = None,
    html: Annotated[
        str | None, o.output_option(help="Write a report with pictures to this file.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, o.output_option("--json", help="The result as JSON.")] = False,
    force: o.Force = False,
) -> None:
    """Find the classifier whose probabilities come true on rows it has not seen.

    LDA, QDA, all between them, nearest means, naive Bayes and logistic regression are cross-validated on the same
    folds, and ranked by log loss. The best is the simplest of those that tie with the leader. Above 20 million values
    the rows are read as a stream, twice, and memory stays flat.

    Example: classwise compare penguins.csv --target species --save model.cw --html report.html
    """
    import classwise as cw

    for option, path in {"--save": save, "--html": html}.items():
        refuse_standard(path, option)
        refuse_existing(path or "-", force)
    chosen = o.families_of(families)
    options: dict[str, Any] = {"folds": folds, "families": chosen, "random_state": seed}
    options["references"] = "auto" if references is None else references
    with learning_rows(data, target, o.names(columns), o.names(drop), weights, chosen, missing) as rows:
        if not rows.is_small if stream is None else stream:
            compared = _of_stream(rows, html, options)
        else:
            compared = _of_table(rows, options)
    if save:
        cw.save(compared.kept(keep), save, source=called(data))
    _print(compared.as_json() if as_json else compared.comparison)
    _show_stack(compared.comparison)
    _show_advice(compared.advice)
    if html and compared.held:
        compared.report(html, {"seed": seed, "model": save, "families": chosen})
    _show_next(data, target, save, html)


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison, and the advice of `diagnose`; held: the rows, where they were in memory."""

    comparison: Any
    rows: LearningRows
    advice: dict[str, str]
    held: "Held | None" = None

    def kept(self, name: str | None) -> Any:
        """The winner, or the model of this name, fitted on all rows."""
        try:
            return self.comparison.best if name is None else self.comparison.fitted(name)
        except KeyError as problem:
            raise ClasswiseError(f"--keep: {problem.args[0]}") from None

    def as_json(self) -> dict[str, Any]:
        """The result as JSON, for scripts."""
        records = self.comparison.table().records()
        return {
            "data": {
                "source": self.rows.name,
                "rows": len(self.held.y) if self.held else self.comparison.rows,
                "target": self.rows.roles.target,
                "columns": list(self.rows.roles.features),
            },
            "labels": self.comparison.labels.tolist(),
            "best": self.comparison.winner.name,
            "model": " ".join(repr(self.comparison.best).split()),
            "summary": self.comparison.summary(),
            "advice": self.advice,
            "models": [dict(zip(records, values, strict=True)) for values in zip(*records.values(), strict=True)],
        }

    def report(self, path: str, about: dict[str, Any]) -> None:
        """Write the HTML report."""
        import classwise as cw

        assert self.held is not None
        about = {"sample_weight": self.held.weights, "source": self.rows.name, "target": self.rows.roles.target} | about
        cw.write_report(self.comparison, self.held.X, self.held.y, path, **about)


def _of_table(rows: LearningRows, options: dict[str, Any]) -> Compared:
    """Compare rows that are held in memory, and diagnose them."""
    import classwise as cw

    held, families = rows.held(), options["families"]
    _show_columns(cw.NaiveBayes(families=families).fit(*held[:3]), rows, len(held.y))
    comparison = cw.compare(held.X, held.y, sample_weight=held.weights, **options)
    return Compared(comparison, rows, _advice(held, families), held)


def _of_stream(rows: LearningRows, html: str | None, options: dict[str, Any]) -> Compared:
    """Compare rows that are read twice as a stream, and never held in memory."""
    import classwise as cw

    if html:
        raise ClasswiseError(
            f"--html draws single rows, and {rows.name} is read as a stream; leave it out, or read all rows by "
            "--no-stream."
        )
    found = cw.compare(rows.stream, **rows.named, stream=True, **options)
    statistics = next((trial.statistics for trial in found.tried if trial.statistics is not None), None)
    if statistics is not None:
        _show_columns(cw.NaiveBayes(families=options["families"]).fit_statistics(statistics), rows, found.rows)
    return Compared(found, rows, {})


def _show_columns(described: Any, rows: LearningRows, count: int) -> None:
    """Print what each column was taken for."""
    heading(f"{count} rows of {rows.name}; {rows.roles.target} from {len(described.schema_)} columns:")
    show_table(described.schema_)
    say()


def _advice(held: "Held", families: Any) -> dict[str, str]:
    import classwise as cw

    try:
        return cw.diagnose(*held[:3], families=families).advice
    except ClasswiseError as problem:
        note(str(problem))
        return {}


def _print(result: Any) -> None:
    """Print the result on standard output, in color on a terminal."""
    if isinstance(result, dict):
        print_lines(json.dumps(result, indent=2, ensure_ascii=False, default=float))
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(result.table())
    else:
        print_lines(result.table().text(width()))


def _show_stack(comparison: Any) -> None:
    """Print the members of the stack, if it was tried."""
    stacks = [trial.trained for trial in comparison.tried if trial.kind == "stack" and not trial.reason]
    for stack in stacks:
        heading("What the stack is made of (keep it by --keep stack):")
        show_table(stack.report_)
        say()


def _show_advice(advice: dict[str, str]) -> None:
    if advice:
        heading("What the data say:")
        for sentence in advice.values():
            say(f"- {sentence}")


def _show_next(data: str, target: str, save: str | None, html: str | None) -> None:
    heading("Next:")
    if html:
        say(f"  the report is in {html}; open it in a browser")
    if save:
        say(f"  classwise evaluate {quote(save)} test.csv --target {quote(target)}")
        say(f"  classwise predict {quote(save)} new.csv --proba")
        say(f"  classwise explain {quote(save)} {quote(data)} --row 1")
    else:
        say(f"  classwise compare {quote(data)} --target {quote(target)} --save model.cw --html report.html")


# One model -----------------------------------------------------------------------------------------------------------


def fit(
    data: Annotated[str, typer.Argument(help="A file of rows, - for standard input, or statistics (.cws).")],
    output: Annotated[str, o.output_option("--output", "-o", help="Where to keep the model; - is standard output.")],
    target: Annotated[str | None, o.TARGET] = None,
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
        o.output_option("--without-statistics", help="Keep only what predictions take, for privacy and size."),
    ] = False,
    force: o.Force = False,
) -> None:
    """Fit one model, and save it to a file.

    The model auto is a stack of several kinds, weighted by their log loss on rows held out. Above 20 million values the
    rows are read as a stream, with flat memory: once for most models, several times for logistic and auto.

    Example: classwise fit penguins.csv --target species --model lda --set shrink=oas -o lda.cw
    """
    import classwise as cw

    refuse_output(output, force)
    estimator = make_model(model, o.pairs(option, "--set"), o.pairs(families, "--families"))
    if data.endswith(".cws"):
        if not hasattr(estimator, "fit_statistics") or isinstance(estimator, cw.AutoClassifier):
            raise ClasswiseError(
                f"--model {model} needs rows, and {data} holds statistics; choose lda, qda or another."
            )
        fitted = estimator.fit_statistics(load_statistics(data))
    elif target is None:
        raise typer.BadParameter("Rows need the column that holds the labels.", param_hint="--target")
    else:
        known = estimator.get_params().get("families", "auto")
        with learning_rows(data, target, o.names(columns), o.names(drop), weights, known, missing) as rows:
            fitted = _fitted(estimator, rows, stream)
    keep_in_file(fitted, output, statistics=not without_statistics, source=data)


def _fitted(estimator: Any, rows: LearningRows, stream: bool | None) -> Any:
    """Fit to rows in memory, or to a stream; weights that are sampled need the rows in memory."""
    if stream is None:
        stream = estimator.get_params().get("posterior") != "sampled" and not rows.is_small
    if stream:
        return estimator.fit_source(rows.stream, **rows.named)
    X, y, weights, _ = rows.held()
    return estimator.fit(X, y) if weights is None else estimator.fit(X, y, sample_weight=weights)
