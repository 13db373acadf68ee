"""classwise export and serve: a model for other programs, as SQL, ONNX, Python, JavaScript or JSON, or over HTTP."""

import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

import typer

from classwise.cli import options as o
from classwise.cli.files import load_model, model_within
from classwise.cli.verbs import Verbs, add, say
from classwise.errors import ClasswiseError
from classwise.rows.sinks import refuse_terminal, writing

app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    help="Write a model for other programs: SQL, ONNX, Python, JavaScript or JSON.",
    epilog="Example: classwise export sql model.cw --table penguins --dialect sqlite -o score.sql",
)

CHECK = "Rows to score both ways; by default, rows drawn from the model."
Check: TypeAlias = Annotated[str | None, typer.Option("--check", help=CHECK, metavar="DATA")]


def sql(
    model: o.ModelFile,
    table: Annotated[str, typer.Option("--table", help="The table whose rows are scored.")],
    dialect: Annotated[
        str, typer.Option(help="The database: duckdb, postgres, sqlite, spark, bigquery, snowflake, mysql or tsql.")
    ] = "duckdb",
    answer: Annotated[Literal["label", "posteriors", "scores"], typer.Option(help="What to compute.")] = "label",
    key: Annotated[
        list[str] | None, typer.Option("--key", "-k", help="Columns to copy to the result, separated by commas.")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(help="What the columns are called in the table, for a model fitted without names."),
    ] = None,
    output: o.OutputFile = "-",
    check: Check = None,
    force: o.Force = False,
) -> None:
    """Write a query that scores the rows of a table inside its database.

    Example: classwise export sql model.cw --table penguins --dialect duckdb -o score.sql
    """
    import classwise as cw

    loaded = load_model(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        query = cw.to_sql(loaded, table, dialect, o.names(key), answer, o.names(features) or None)
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    with writing(output, force=force) as file:
        promise("sql", loaded, gaps=not any(issubclass(one.category, cw.UnansweredRowWarning) for one in caught))
        file.write((str(query).rstrip() + "\n").encode())
    compare_answers("sql", loaded, partial(_in_duckdb, loaded), check)
    if dialect != "duckdb":
        say(f"The query was checked as DuckDB writes it; {dialect} was not asked.")


def _in_duckdb(model: Any, table: str, output: str) -> str:
    """The query that a check runs."""
    import classwise as cw
    from classwise.export.check import ROW

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.UnansweredRowWarning)  # said when the query itself was written
        schema = model_within(model)._fitted_model.schema
        features = schema.names or [str(place) for place in range(len(schema))]
        return cw.to_sql(model, table, "duckdb", [ROW], output, features)


def promise(door: str, model: Any, dtype: str = "float64", gaps: bool = True) -> None:
    """Say what an export will do as the model does, and what not. gaps: whether rows with gaps have an answer."""
    from classwise.export.promises import promises

    for line in promises(door, model, dtype, gaps):
        say(line)


def compare_answers(door: str, model: Any, exported: Any, source: str | None) -> None:
    """Score rows both ways, and say how the answers differ."""
    from classwise.export.check import PROGRAMS, check
    from classwise.export.check_rows import drawn_rows, given_rows

    rows = drawn_rows(model) if source is None else given_rows(model, source)
    found = check(door, model, exported, rows)
    say(f"It was not checked, because {PROGRAMS[door]} is not installed here." if found is None else str(found))


def onnx(
    model: o.ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write (.onnx); - is standard output.")],
    dtype: Annotated[Literal["float64", "float32"], typer.Option(help="The type of input and output.")] = "float64",
    check: Check = None,
    force: o.Force = False,
) -> None:
    """Write an ONNX graph, which runtimes of many languages can run.

    Example: classwise export onnx model.cw -o model.onnx
    """
    import classwise as cw

    refuse_terminal(output, "onnx")
    loaded = load_model(model)
    graph = cw.to_onnx(loaded, dtype=dtype)
    with writing(output, force=force) as file:
        promise("onnx", loaded, dtype)
        file.write(graph.SerializeToString())
    compare_answers("onnx", loaded, graph, check)


def python(model: o.ModelFile, output: o.OutputFile = "-", check: Check = None, force: o.Force = False) -> None:
    """Write one file of Python that scores rows with NumPy alone, without classwise.

    Example: classwise export python model.cw -o scorer.py
    """
    import classwise as cw

    _write_code("python", cw.to_python, model, output, check, force)


def js(model: o.ModelFile, output: o.OutputFile = "-", check: Check = None, force: o.Force = False) -> None:
    """Write one ES module of JavaScript that scores rows in browsers and in node, without dependencies.

    Example: classwise export js model.cw -o scorer.mjs
    """
    import classwise as cw

    _write_code("js", cw.to_js, model, output, check, force)


def _write_code(
    door: str, write: Callable[[Any], str], model: str, output: str, check: str | None, force: bool
) -> None:
    loaded = load_model(model)
    text = write(loaded)
    with writing(output, force=force) as file:
        promise(door, loaded)
        file.write(text.encode())
    compare_answers(door, loaded, text, check)


def json_(model: o.ModelFile, output: o.OutputFile = "-", force: o.Force = False) -> None:
    """Write a model as JSON that people and programs can read: labels, priors, columns and their estimates.

    Example: classwise export json lda.cw -o model.json
    """
    content = readable(load_model(model))
    with writing(output, force=force) as file:
        file.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def readable(model: Any) -> dict[str, Any]:
    """A model as plain values, for JSON."""
    from classwise import __version__

    labels = model.classes_.tolist()
    content: dict[str, Any] = {
        "classwise": __version__,
        "model": type(model).__name__,
        "options": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "labels": labels,
    }
    inner = model_within(model)
    if inner is not model:
        content["options"].pop("model")
        return content | {"threshold": getattr(model, "threshold_", None), "of": readable(inner)}
    if hasattr(model, "coefficients"):
        weights = [row._asdict() for row in model.coefficients()]
        return content | {"priors": model.priors_.tolist(), "columns": _columns(model.families_), "weights": weights}
    if hasattr(model, "report_"):
        families = {column.name: str(column.family) for column in model.model_.schema}
        members = {"members": [asdict(line) for line in model.report_], "log_loss": model.report_.log_loss}
        return content | {"priors": model.priors_.tolist(), "columns": _columns(families)} | members
    if not hasattr(model, "parameters_"):
        return content
    content |= {"priors": model.priors_.tolist(), "columns": _columns(model.families_, model.parameters_)}
    content["power"] = getattr(model.classifier_.calibration, "power", None)
    try:
        found = {str(label): model.discriminant(label) for label in labels}
    except (ClasswiseError, AttributeError):
        return content
    return content | {"discriminants": {label: _polynomial(g) for label, g in found.items()}}


def _columns(families: Any, parameters: Any = None) -> list[dict[str, Any]]:
    """Each column with its family, and with its estimates, if given."""
    columns = [{"name": name, "family": family} for name, family in families.items()]
    if parameters is None:
        return columns
    estimates = [{str(key): value.tolist() for key, value in parameters[name].items()} for name in families]
    return [column | {"parameters": own} for column, own in zip(columns, estimates, strict=True)]


def _polynomial(g: Any) -> dict[str, Any]:
    """g(x) = (x - center)' quadratic (x - center) + linear'(x - center) + constant."""
    return {
        "text": str(g),
        "center": g.center.tolist(),
        "quadratic": g.quadratic.tolist(),
        "linear": g.linear.tolist(),
        "constant": g.constant,
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str, dict, list)) else str(value)


add(app, sql)
add(app, onnx)
add(app, python)
add(app, js)
add(app, json_)


# Over HTTP -----------------------------------------------------------------------------------------------------------

LIMITS = "Limits"


def serve(
    models: Annotated[
        list[str], typer.Argument(help="Model files; the first one is the default model.", metavar="[NAME=]MODEL...")
    ],
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 accepts requests from other machines.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    reload_seconds: Annotated[
        float, typer.Option(help="How often to check for replaced model files, in seconds; 0 for never.", min=0)
    ] = 1.0,
    rows: Annotated[
        int, typer.Option("--max-rows", help="The most rows in a request.", min=1, rich_help_panel=LIMITS)
    ] = 1_000_000,
    body_bytes: Annotated[
        int, typer.Option("--max-bytes", help="The most bytes in a request.", min=1, rich_help_panel=LIMITS)
    ] = 32 * 2**20,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option(help="The least level of log messages.")
    ] = "info",
) -> None:
    """Serve predictions over HTTP until interrupted. A model file that is replaced is loaded again.

    Example: classwise serve model.cw --port 8000
    """
    from classwise.serve import Limits
    from classwise.serve.server import run

    def ready(address: str) -> None:
        say(f"Answering at {address} until interrupted.")

    limits = Limits(rows=rows, body_bytes=body_bytes)
    run(models, host, port, limits=limits, reload_seconds=reload_seconds, log_level=log_level, ready=ready)
