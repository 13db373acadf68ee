"""The state of the studio: the table that is open, what may be opened, and the work in the background."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from msgspec import Struct

from classwise.comparison import Comparison
from classwise.engines.rows import open_rows
from classwise.errors import ClasswiseError
from classwise.rows.streams import open_stream
from classwise.studio.examples import EXAMPLES, example_table, pad_table
from classwise.studio.jobs import Job, Jobs
from classwise.studio.options import Opening
from classwise.studio.studio_table import StudioTable, open_table
from classwise.studio.study import (
    compared,
    comparison_facts,
    curve_facts,
    diagnosed,
    diagnosis_facts,
    examination_facts,
    examined,
    importance_facts,
    learned,
    weighed,
)

PAD = "drawing pad"
PAD_BOX = np.array([[0.0, 10.0], [0.0, 10.0]])

# The most points on the drawing pad.
MOST_POINTS = 5000


class Open(Struct, frozen=True, forbid_unknown_fields=True):
    """A table to open. name: one that was given or uploaded; example: one that comes with classwise."""

    name: str | None = None
    example: str | None = None
    opening: Opening = Opening()


class Pad(Struct, frozen=True, forbid_unknown_fields=True):
    """Points that were clicked in: x, y and the label of each."""

    points: list[tuple[float, float, str]]


@dataclass(eq=False)
class StudioState:
    """sources: what may be opened, by name: files given on the command line, uploads, or rows in memory.

    first: what is opened when the server starts; opened_last: None for the pad. count: how many tables were
    opened; the page reloads when it changes.
    """

    sources: dict[str, Any]
    first: Open
    opened_last: Open | None = None
    table: StudioTable | None = None
    count: int = 0
    jobs: Jobs = field(default_factory=Jobs)
    folder: TemporaryDirectory[str] = field(default_factory=lambda: TemporaryDirectory(prefix="classwise-studio-"))

    # Opening --------------------------------------------------------------------------------------------------------

    def open(self, request: Open) -> Job:
        """Read a table in a thread of its own; the page watches. Where this fails, the one before stays open."""
        name, source, opening = self._chosen(request)

        def work() -> None:
            with _errors_by_name(source, name):
                table = open_table(name, source, opening)
            self._adopt(table, request)

        return self.jobs.start("open", f"Reading {Path(name).name}", work, in_turn=False)

    def _chosen(self, request: Open) -> tuple[str, Any, Opening]:
        if request.example is not None:
            source = example_table(request.example)
            opening = request.opening if request.opening.target else Opening(EXAMPLES[request.example].target)
            return request.example, source, opening
        if request.name is None or request.name not in self.sources:
            raise ClasswiseError(f"{request.name!r} was neither given nor uploaded; upload it.")
        if not request.opening.target:
            raise ClasswiseError(f"Which column of {request.name} holds the labels? Choose it.")
        return request.name, self.sources[request.name], request.opening

    def _adopt(self, table: StudioTable, request: Open) -> None:
        """Another table is open: work on the one before ends, and what the top of the page shows is begun."""
        self.jobs.clear(but="open")
        self.table, self.count, self.opened_last = table, self.count + 1, request
        self.jobs.start("examine", "Examining the table", lambda: examined(table))
        self.jobs.start("compare", "Comparing models", lambda: compared(table))
        self.jobs.start("importance", "Finding out what matters", lambda: self._weighed(table))

    def draw(self, pad: Pad) -> StudioTable:
        """The points of the drawing pad as a table, at once."""
        if len(pad.points) > MOST_POINTS:
            raise ClasswiseError(f"The pad takes {MOST_POINTS} points, not {len(pad.points)}.")
        labels = {label for _, _, label in pad.points}
        if len(labels) < 2:
            raise ClasswiseError("Click in points of a second class; with one there is nothing to tell apart.")
        self.jobs.clear()
        self.opened_last = None
        self.table = replace(open_table(PAD, pad_table(pad.points), Opening("label")), box=PAD_BOX)
        self.count += 1
        return self.table

    def upload(self, name: str, body: bytes) -> str:
        """Keep a file under its own name, without the folders that it may have been sent with."""
        plain = Path(name.replace("\\", "/")).name.lstrip(".") or "table.csv"
        path = Path(self.folder.name) / plain
        path.write_bytes(body)
        self.sources[plain] = str(path)
        return plain

    def columns(self, name: str) -> list[str]:
        """The names of the columns of a table that may be opened, to choose the labels from."""
        if name not in self.sources:
            raise ClasswiseError(f"{name!r} was neither given nor uploaded; upload it.")
        source = self.sources[name]
        with _errors_by_name(source, name):
            stream = open_stream(source) if isinstance(source, str) else None
            return list(stream.names if stream is not None else open_rows(source).roles.features)

    # What is open ---------------------------------------------------------------------------------------------------

    @property
    def opened(self) -> StudioTable:
        if self.table is None:
            raise ClasswiseError("No table is open yet; open a file, an example or the drawing pad.")
        return self.table

    @property
    def comparison(self) -> Comparison | None:
        return self.result("compare")

    def result(self, name: str) -> Any:
        """What a job returned; None while it runs, or where it failed."""
        job = self.jobs[name]
        return None if job is None else job.result

    def _weighed(self, table: StudioTable) -> Any:
        if self.comparison is None:
            raise ClasswiseError("There is no comparison to say what matters.")
        return weighed(table, self.comparison)

    def begin(self, name: str) -> Job:
        """Begin a job that the page asks for by name, unless it is there."""
        table = self.opened
        works: dict[str, tuple[str, Callable[[], Any]]] = {
            "compare": ("Comparing models", lambda: compared(table)),
            "importance": ("Finding out what matters", lambda: self._weighed(table)),
            "diagnose": ("Diagnosing", lambda: diagnosed(table, self.comparison)),
            "curve": ("Learning from fewer rows", lambda: learned(table)),
            "examine": ("Examining the table", lambda: examined(table)),
        }
        job = self.jobs[name]
        if job is not None and job.state != "failed":
            return job
        return self.jobs.start(name, *works[name])

    def facts_of(self, name: str) -> dict[str, Any]:
        """How far a job is, and what it found, for the page."""
        job = self.jobs[name]
        if job is None:
            return {"state": "none"}
        found = None if job.state != "done" else self._made_plain(name, job.result)
        return job.facts() | {"found": found}

    def _made_plain(self, name: str, result: Any) -> dict[str, Any]:
        if name == "importance":
            comparison = self.comparison
            return importance_facts(result, "" if comparison is None else comparison.asked.title)
        plain: dict[str, Callable[[Any], dict[str, Any]]] = {
            "compare": comparison_facts,
            "examine": examination_facts,
            "diagnose": diagnosis_facts,
            "curve": curve_facts,
        }
        return plain[name](result)


@contextmanager
def _errors_by_name(source: Any, name: str) -> Iterator[None]:
    """Errors call a source by its name, and do not show where an upload is kept."""
    try:
        yield
    except ClasswiseError as problem:
        raise ClasswiseError(str(problem).replace(str(source), name)) from problem
