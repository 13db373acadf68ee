"""Models by name, each from a file that may be replaced while the server runs.

A request takes the model that is there when it begins, and keeps it to the end; a new file is read beside it, tried on
a row, and only then put in its place, in one assignment. A file that cannot be read leaves everything as it was.

Files are looked at every second, in a thread. A library that is told by the system of changes would save these few
lines nothing: which file changed since it was read must be found out anyway, and disks of a network tell nobody.
"""

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import time
from typing import Any

from classwise.errors import ClasswiseError, StoredFileError
from classwise.export.files import load
from classwise.serve.metrics import Metrics
from classwise.serve.problems import Problem
from classwise.serve.requests import Options
from classwise.serve.resources import Deadline
from classwise.serve.scoring import Scorer
from classwise.storage import Description, describe

LOG = logging.getLogger("classwise.serve")

# What tells a file from the one that was there before: its time, its size, its place on the disk.
Mark = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Served:
    """One version of a model, with all that answers need. Nothing of it ever changes.

    mark, sha256, about: of its file, if it has one; loaded: when, in Unix time.
    """

    name: str
    scorer: Scorer
    loaded: float
    mark: Mark | None = None
    sha256: str | None = None
    about: Description | None = None

    @classmethod
    def of(cls, name: str, estimator: Any) -> "Served":
        """A fitted estimator, ready: what it makes only when asked is made now."""
        served = cls(name, Scorer(estimator), time())
        served.try_out()
        return served

    @classmethod
    def read(cls, name: str, path: Path) -> "Served":
        """The model in a file; StoredFileError if it changes meanwhile, or is no model."""
        mark = mark_of(path)
        digest, about, estimator = hashlib.sha256(path.read_bytes()).hexdigest(), describe(path), load(path)
        if about.kind != "model":
            raise StoredFileError(f"{path.name} holds {about.kind}, not a model; fit one, and save it with cw.save.")
        if mark_of(path) != mark:
            raise StoredFileError(f"{path.name} was written while it was read; it will be read again.")
        return replace(cls.of(name, estimator), mark=mark, sha256=digest, about=about)

    def try_out(self) -> None:
        """Score a row of its own, so that a model that cannot is found out now, not by a request."""
        rows = self.scorer.reader.read_rows([self.scorer.example()])
        try:
            self.scorer.answer(rows, Options(), Deadline())
        except Problem as problem:
            raise ClasswiseError(f"The model {self.name!r} cannot score a row of its own: {problem.detail}") from None

    @cached_property
    def opening(self) -> bytes:
        """The start of every prediction."""
        facts = {"model": self.name, "sha256": self.sha256, "classes": self.scorer.classes}
        return json.dumps(facts)[:-1].encode()


@dataclass(frozen=True)
class Trouble:
    """Why the file of a model is not the model that answers."""

    mark: Mark | None
    reason: str


class Models:
    """The models of a server; the first is the one that answers where no name is given."""

    def __init__(self, given: Mapping[str, Any], metrics: Metrics) -> None:
        self.metrics = metrics
        self.paths = {name: Path(value) for name, value in given.items() if isinstance(value, (str, os.PathLike))}
        self.served: dict[str, Served] = {}
        self.troubles: dict[str, Trouble] = {}
        for name, value in given.items():
            self._take(Served.read(name, self.paths[name]) if name in self.paths else Served.of(name, value))

    @property
    def first(self) -> str:
        """The name of the first model."""
        return next(iter(self.served))

    def __getitem__(self, name: str) -> Served:
        return self.served[name]

    def changed(self) -> list[str]:
        """The models whose files are others than those last looked at."""
        return [name for name in self.paths if self._mark_now(name) != self._mark_seen(name)]

    def refresh(self, name: str) -> Callable[[], None]:
        """Read a file again, in any thread; the result, called where requests are answered, takes its place."""
        mark = self._mark_now(name)
        try:
            served = Served.read(name, self.paths[name])
        except Exception as problem:  # whatever a damaged file provokes, the server goes on with the model it has
            path = self.paths[name]  # clients need not know where it lies
            reason = f"{type(problem).__name__}: {problem}".replace(str(path), path.name)
            return lambda: self._keep(name, Trouble(mark, reason))
        return lambda: self._replace(served)

    def _take(self, served: Served) -> None:
        self.served[served.name] = served
        self.troubles.pop(served.name, None)
        self.metrics.loaded.labels(served.name).set(served.loaded)
        self.metrics.stale.labels(served.name).set(0)

    def _replace(self, served: Served) -> None:
        self._take(served)
        self.metrics.reloads.labels(served.name, "loaded").inc()
        LOG.info("The model %r was loaded again, sha256 %s.", served.name, served.sha256)

    def _keep(self, name: str, trouble: Trouble) -> None:
        self.troubles[name] = trouble
        self.metrics.stale.labels(name).set(1)
        self.metrics.reloads.labels(name, "failed").inc()
        LOG.error("The model %r stays as it was: its file cannot be loaded. %s", name, trouble.reason)

    def _mark_seen(self, name: str) -> Mark | None:
        return self.troubles[name].mark if name in self.troubles else self.served[name].mark

    def _mark_now(self, name: str) -> Mark | None:
        try:
            return mark_of(self.paths[name])
        except OSError:
            return None


async def watch(models: Models, seconds: float) -> None:
    """Look after the files of models, for as long as the server runs."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await look(models)
        except Exception:  # a file system that fails now may be back in a second
            LOG.exception("The files of the models could not be looked at.")


async def look(models: Models) -> None:
    """Look once: read what has changed, and put it in place."""
    for name in await asyncio.to_thread(models.changed):
        put_in_place = await asyncio.to_thread(models.refresh, name)
        put_in_place()


def mark_of(path: Path) -> Mark:
    """The time, size and place of a file."""
    facts = path.stat()
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def read_names(models: Any) -> dict[str, Any]:
    """Models by name: a mapping as it is; files by their names without ending; a single estimator as "model".

    >>> list(read_names(["models/penguins.cw", "wine=other/model.cw"]))
    ['penguins', 'wine']
    """
    if isinstance(models, Mapping):
        named = [(str(name), value) for name, value in models.items()]
    else:
        given = models if isinstance(models, (list, tuple)) else [models]
        named = [_named(value) for value in given]
    for name, value in named:
        _check_name(name, [other for other, _ in named])
        _check_fitted(name, value)
    if not named:
        raise ClasswiseError("There is no model to serve; give at least one file.")
    return dict(named)


def _named(value: Any) -> tuple[str, Any]:
    if not isinstance(value, (str, os.PathLike)):
        return "model", value
    name, equals, path = os.fspath(value).partition("=")
    return (name, path) if equals else (Path(value).stem, value)


def _check_name(name: str, names: list[str]) -> None:
    if not (name and name.isascii() and name.replace("-", "").replace("_", "").replace(".", "").isalnum()):
        raise ClasswiseError(
            f"{name!r} cannot be part of an address; name models with letters, digits and - _ . alone."
        )
    if names.count(name) > 1:
        raise ClasswiseError(f"Two models are called {name!r}; give them names, such as {name}-2=path/to/file.cw.")


def _check_fitted(name: str, value: Any) -> None:
    if not isinstance(value, (str, os.PathLike)) and not hasattr(value, "predict_proba"):
        raise ClasswiseError(f"The model {name!r} is a {type(value).__name__}, not a fitted estimator or its file.")
