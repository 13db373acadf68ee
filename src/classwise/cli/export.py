"""classwise export and serve: a model for other programs, as SQL, ONNX or JSON, or over HTTP."""

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from classwise.cli import options as o
from classwise.cli.files import load_model, model_within
from classwise.cli.verbs import Verbs, add, say
from classwise.errors import ClasswiseError
from classwise.rows.sinks import refuse_terminal, writing

app = typer.Typer(cls=Verbs, no_args_is_help=True, help="Write a model for other programs: SQL, ONNX or JSON.")


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
    output: o.Output = "-",
    force: o.Force = False,
) -> None:
    """Write a query that scores the rows of a table inside its database.

    Example: classwise export sql model.cw --table penguins --dialect duckdb -o score.sql
    """
    import classwise as cw

    query = cw.to_sql(load_model(model), table, dialect, o.names(key), answer)
    with writing(output, force=force) as file:
        file.write((str(query).rstrip() + "\n").encode())


def onnx(
    model: o.ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write (.onnx); - is standard output.")],
    dtype: Annotated[Literal["float64", "float32"], typer.Option(help="The type of input and output.")] = "float64",
    force: o.Force = False,
) -> None:
    """Write an ONNX graph, which runtimes of many languages can run.

    Example: classwise export onnx model.cw -o model.onnx
    """
    import classwise as cw

    refuse_terminal(output, "onnx")
    graph = cw.to_onnx(load_model(model), dtype=dtype)
    with writing(output, force=force) as file:
        file.write(graph.SerializeToString())


def json_(model: o.ModelFile, output: o.Output = "-", force: o.Force = False) -> None:
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

    say(f"Answering at http://{host}:{port} until interrupted.")
    limits = Limits(rows=rows, body_bytes=body_bytes)
    run(models, host, port, limits=limits, reload_seconds=reload_seconds, log_level=log_level)
