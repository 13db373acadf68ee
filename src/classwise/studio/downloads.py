"""Everything that is shown can be taken away: the model file, the report, SQL, and the Python lines of the view."""

import tempfile
from pathlib import Path
from pprint import pformat
from shlex import quote
from typing import Any, NamedTuple

from classwise.comparison import Comparison
from classwise.errors import ClasswiseError
from classwise.export import to_sql
from classwise.report import write_report
from classwise.storage import as_bytes
from classwise.studio.dials import Dials, decided, fitted, read_priors
from classwise.studio.quiet import quiet
from classwise.studio.scene import Scene
from classwise.studio.studio_table import StudioTable
from classwise.studio.study import sampled


class Download(NamedTuple):
    """A file to save. name: what it is called; media: its media type."""

    name: str
    media: str
    body: bytes


def model_file(table: StudioTable, dials: Dials, comparison: Comparison | None) -> Download:
    """The model of the current view, with its priors, and with costs and reject as a Decision; for `classwise.load`."""
    model = decided(dials, fitted(dials, table.statistics, comparison))
    return Download("model.cw", "application/octet-stream", as_bytes(model, source=table.name))


def sql_file(table: StudioTable, dials: Dials, comparison: Comparison | None) -> Download:
    """A query that scores the rows of a table as the current model does, in DuckDB's SQL."""
    model = decided(dials, fitted(dials, table.statistics, comparison))
    with quiet():  # the query says so itself
        text = to_sql(model, table="rows")
    return Download("model.sql", "application/sql", text.encode())


def report_file(table: StudioTable, comparison: Comparison | None, about: dict[str, Any]) -> Download:
    """The report on the comparison, as one HTML file. about: what is known already, as `write_report` takes it."""
    if comparison is None:
        raise ClasswiseError("The report is about the comparison, which is not there yet; wait for it, or begin it.")
    X, y, weights = sampled(table)
    named: dict[str, Any] = {"source": table.name, "target": table.opening.target, "seed": 0}
    with quiet(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write_report(comparison, X, y, path, sample_weight=weights, families=_families(table), **named, **about)
        return Download("report.html", "text/html", path.read_bytes())


def _families(table: StudioTable) -> Any:
    return table.opening.read()["families"]


# Python lines that make the same view ---------------------------------------------------------------------------------


def python_file(table: StudioTable, dials: Dials, comparison: Comparison | None) -> Download:
    """A script that reads the same rows, fits the same model and draws the same picture."""
    return Download("view.py", "text/x-python", python_lines(table, dials, comparison).encode())


def python_lines(table: StudioTable, dials: Dials, comparison: Comparison | None) -> str:
    """The same as text."""
    model = fitted(dials, table.statistics, comparison)
    scene = Scene.of(table, dials, comparison)
    options = repr(model) if dials.model else f"cw.GaussianClassifier({_arguments(dials)})"
    made = options if options.startswith("cw.") else f"cw.{options}"
    lines = ["import classwise as cw", "", *_reading(table), f"model = {_one_line(made)}"]
    lines.append(f"model.fit_source(rows, target={table.opening.target!r}, columns=columns)")
    if dials.priors is not None:
        priors = read_priors(dials.priors, model.classes_.tolist())
        lines.append(f"model = model.with_priors({pformat(priors, width=90)})")
    if dials.decides():
        reject = {"posterior": dials.reject} if dials.reject else None
        lines.append(f"model = cw.Decision(model, costs={dials.costs!r}, reject={reject!r})")
    return "\n".join([*lines, *_drawing(scene), ""])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _arguments(dials: Dials) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in dials.options().items())


def _reading(table: StudioTable) -> list[str]:
    lines = [f"columns = {list(table.features)!r}"]
    if isinstance(table.source, str):
        return [f"rows = {table.name!r}", *lines]
    if table.name == "penguins":
        return ["rows = cw.load_penguins()", *lines]
    return [f"rows = ...  # the table {table.name!r}, with the column {table.opening.target!r}", *lines]


def _drawing(scene: Scene) -> list[str]:
    if scene.plane is not None:
        return ["lda = cw.LDA().fit_source(rows, target=..., columns=columns)  # its transform is Fisher's plane"]
    names = list(scene.view.names)
    kind = "regions" if len(names) == 2 else "densities"
    return [f"cw.plot.plot_{kind}(model, columns={names!r})", "", "from matplotlib import pyplot", "pyplot.show()"]


def command_line(table: StudioTable, view: str) -> str:
    """The command that opens the same view for somebody who has the same file."""
    if not isinstance(table.source, str):
        source, target = f"--example {quote(table.name)}", ""
    else:
        source, target = quote(table.name), f" --target {quote(table.opening.target)}"
    flags = f" {table.opening.flags()}" if table.opening.flags() else ""
    return f"classwise studio {source}{target}{flags} --view {quote(view)}"
