"""Checkpoints: what finished files add up to, on disk, so that nothing is read twice after a crash.

A checkpoint is a statistics file like any other. Its sources are how it was gathered, and the files that are in it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from classwise import limits
from classwise.errors import ClasswiseError
from classwise.rows.streams import Piece
from classwise.statistics.by_class import ClassStatistics
from classwise.storage import describe, load, save


@dataclass
class Checkpoint:
    """path: of the file; settings: how statistics are gathered; done: marks of the files that are counted in them.

    What is written is a total and the number of marks that belong to it, which change together: whenever the work is
    interrupted, no file is in one of them alone.
    """

    path: str
    settings: str
    done: list[str] = field(default_factory=list)
    _state: tuple[ClassStatistics | None, int] = (None, 0)
    _marks: dict[int, str] = field(default_factory=dict)
    _written: float = 0.0

    def resume(self, pieces: Sequence[Piece]) -> tuple[ClassStatistics | None, list[Piece]]:
        """What is gathered so far, and the files that are left."""
        # Before they are read: a file that changes meanwhile is not the one that is marked.
        self._marks = {id(piece): piece.mark() for piece in pieces}
        if not Path(self.path).exists():
            return None, list(pieces)
        settings, *self.done = describe(self.path).sources or [""]
        if settings != self.settings:
            raise ClasswiseError(
                f"checkpoint={self.path!r} holds what {settings or 'something else'} gathered, and this is "
                f"{self.settings}; give another file."
            )
        self._refuse_changed(pieces)
        self._state = load(self.path), len(self.done)
        known = set(self.done)
        return self._state[0], [piece for piece in pieces if self._marks[id(piece)] not in known]

    def _refuse_changed(self, pieces: Sequence[Piece]) -> None:
        done = {mark.rsplit(", ", 2)[0]: mark for mark in self.done}
        for piece in pieces:
            mark = self._marks[id(piece)]
            if done.get(mark.rsplit(", ", 2)[0], mark) != mark:
                raise ClasswiseError(
                    f"{piece.name} has changed since it was counted in checkpoint={self.path!r}; remove that file to "
                    "begin again."
                )

    def add(self, total: ClassStatistics, piece: Piece) -> None:
        """A file is done; total: what all files that are done add up to."""
        self.done.append(self._marks[id(piece)])
        self._state = total, len(self.done)
        if time.monotonic() - self._written > limits.CHECKPOINT_SECONDS:
            self.write()

    def write(self) -> None:
        """Write now."""
        total, count = self._state
        if total is not None:
            save(total, self.path, source=[self.settings, *self.done[:count]])
        self._written = time.monotonic()
