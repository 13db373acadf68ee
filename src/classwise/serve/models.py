"""Models by name, each from a file that may be replaced while the server runs.

A request takes the model that is there when it begins, and keeps it to the end; a new file is read meanwhile, tried on
a row, and only then put in its place, in one assignment. A file that cannot be read leaves everything as it was.

Files are looked at every second, in a thread. A library that the system notifies of changes would save nothing: whether
a file is another than the one that was read must be checked anyway, and network disks send no notification.
"""

import asyncio
import hashlib
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import time
from typing import Any

from classwise.errors import ClasswiseError, StoredFileError
from classwise.export import load
from classwise.serve.requests import Options, Problem
from classwise.serve.resources import Metrics, RequestDeadline
from classwise.serve.scorer import Scorer
from classwise.storage import Description, describe

LOG = logging.getLogger("classwise.serve")


@dataclass(frozen=True, eq=False)
class Served:
    """One version of a model, with all that answers need. Nothing of it ever changes.

    sha256, about: of its file, if it has one; loaded: when, in Unix time.
    """

    name: str
    scorer: Scorer
    loaded: float
    sha256: str | None = None
    about: Description | None = None

    @classmethod
    def of(cls, name: str, estimator: Any) -> "Served":
        """A fitted estimator, ready: it has scored a row of its own, so that one that cannot is found out now."""
        scorer = Scorer(estimator)
        try:
            scorer.answer(scorer.reader.read_rows([scorer.example()]), Options(), RequestDeadline())
        except Problem as problem:
            raise ClasswiseError(f"The model {name!r} cannot score a row of its own: {problem.detail}") from None
        return cls(name, scorer, time())

    @classmethod
    def read(cls, name: str, path: Path) -> "Served":
        """The model in a file; StoredFileError if it changes meanwhile, or is no model."""
        mark = mark_of(path)
        digest, about, estimator = hashlib.sha256(path.read_bytes()).hexdigest(), describe(path), load(path)
        if about.kind != "model":
            raise StoredFileError(f"{path.name} holds {about.kind}, not a model; fit one, and save it with cw.save.")
        if mark_of(path) != mark:
            raise StoredFileError(f"{path.name} was written while it was read; it will be read again.")
        return replace(cls.of(name, estimator), sha256=digest, about=about)

    @cached_property
    def opening(self) -> bytes:
        """The start of every prediction."""
        facts = {"model": self.name, "sha256": self.sha256, "classes": self.scorer.classes}
        return json.dumps(facts)[:-1].encode()


class Models:
    """The models of a server; the first is the one that answers where no name is given.

    problems: why the file of a model is not the model that answers, where it is not.
    """

    def __init__(self, given: Mapping[str, Any], metrics: Metrics) -> None:
        self.metrics = metrics
        self.served: dict[str, Served] = {}
        self.problems: dict[str, str] = {}
        self._paths = {name: Path(value) for name, value in given.items() if is_path(value)}
        self._seen = {name: mark_of(path) for name, path in self._paths.items()}
        for name, value in given.items():
            self._put(Served.read(name, self._paths[name]) if name in self._paths else Served.of(name, value))

    @property
    def first(self) -> str:
        """The name of the first model."""
        return next(iter(self.served))

    def __getitem__(self, name: str) -> Served:
        return self.served[name]

    async def watch(self, seconds: float) -> None:
        """Look after the files, for as long as the server runs."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.look()
            except Exception:  # a file system that fails now may be back in a second
                LOG.exception("The files of the models could not be looked at.")

    async def look(self) -> None:
        """Look once: read, in a thread, files that are others than those last looked at, and put them in place."""
        for name, path in self._paths.items():
            mark = await asyncio.to_thread(mark_of, path)
            if mark != self._seen[name]:
                self._seen[name] = mark
                try:
                    served = await asyncio.to_thread(Served.read, name, path)
                except Exception as problem:  # whatever a damaged file provokes, the server goes on as it was
                    self._keep(name, f"{type(problem).__name__}: {problem}".replace(str(path), path.name))
                else:
                    self._put(served)
                    self.metrics.reloads.labels(name, "loaded").inc()
                    LOG.info("The model %r was loaded again, sha256 %s.", name, served.sha256)

    def _put(self, served: Served) -> None:
        self.served[served.name] = served
        self.problems.pop(served.name, None)
        self.metrics.loaded.labels(served.name).set(served.loaded)
        self.metrics.stale.labels(served.name).set(0)

    def _keep(self, name: str, problem: str) -> None:
        self.problems[name] = problem
        self.metrics.stale.labels(name).set(1)
        self.metrics.reloads.labels(name, "failed").inc()
        LOG.error("The model %r stays as it was: its file cannot be loaded. %s", name, problem)


def mark_of(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is replaced: its time, size and place; None, where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def is_path(value: Any) -> bool:
    """Whether a model is given by its file."""
    return isinstance(value, (str, os.PathLike))


def read_names(models: Any) -> dict[str, Any]:
    """Models by name: a mapping as it is; files by their names without ending; a single estimator as "model".

    >>> list(read_names(["models/penguins.cw", "wine=other/model.cw"]))
    ['penguins', 'wine']
    """
    if isinstance(models, Mapping):
        named = [(str(name), value) for name, value in models.items()]
    else:
        named = [_named(value) for value in (models if isinstance(models, (list, tuple)) else [models])]
    if not named:
        raise ClasswiseError("There is no model to serve; give at least one file.")
    for name, count in Counter(name for name, _ in named).items():
        if not re.fullmatch("[A-Za-z0-9._-]*[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise ClasswiseError(
                f"{name!r} cannot be part of an address; name models with letters, digits and - _ . alone."
            )
        if count > 1:
            raise ClasswiseError(f"Two models are called {name!r}; give them names, such as {name}-2=path/to/file.cw.")
    for name, value in named:
        if not is_path(value) and not hasattr(value, "predict_proba"):
            raise ClasswiseError(f"The model {name!r} is a {type(value).__name__}, not a fitted estimator or its file.")
    return dict(named)


def _named(value: Any) -> tuple[str, Any]:
    if not is_path(value):
        return "model", value
    name, equals, path = os.fspath(value).partition("=")
    return (name, path) if equals else (Path(value).stem, value)
