"""Who carries the weight, and what each member is worth."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from classwise.storage import stored
from classwise.tabular import Tabular


@stored("AutoLine", loose=("log_loss", "worth"))
@dataclass(frozen=True)
class Line:
    """One member. weight and temperature: in the pool; log_loss: of the member alone, on rows held out; worth: how much
    larger the log loss of the pool would be without it; note: what was chosen; reason: why it takes no part.
    """

    name: str
    weight: float | None = None
    temperature: float | None = None
    log_loss: float | None = None
    worth: float | None = None
    seconds: float = 0.0
    note: str = ""
    reason: str = ""


@stored("AutoReport", loose=("log_loss",))
@dataclass(frozen=True, repr=False)
class AutoReport(Tabular):
    """A line for each member, the weightiest first; log_loss: of the pool, on rows that neither its members nor its
    weights had seen; temperature: of the pool; combine: "stack" or "pick".
    """

    sides: ClassVar[str] = "<>>>>><"

    lines: tuple[Line, ...]
    log_loss: float
    temperature: float
    combine: str

    def cells(self) -> list[tuple[str, ...]]:
        header = ("member", "weight", "temperature", "log loss", "worth", "seconds", "")
        total = sum(line.seconds for line in self.lines)
        last = (self.combine, "1", f"{self.temperature:.2f}", f"{self.log_loss:.4f}", "", f"{total:.2f}", "")
        return [header, *(_cells(line) for line in self.lines), last]

    def plot(self, axes: Any = None) -> Any:
        """Members by log loss and weight, and the stack; matplotlib axes."""
        from classwise.plot import draw_stack

        return draw_stack(self.lines, self.log_loss, axes)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)


def _cells(line: Line) -> tuple[str, ...]:
    if line.reason:
        return (line.name, "", "", "", "", f"{line.seconds:.2f}", f"left out: {line.reason}")
    return (
        line.name,
        _shown(line.weight, ".3f"),
        _shown(line.temperature, ".2f"),
        _shown(line.log_loss, ".4f"),
        _shown(line.worth, "+.4f"),
        f"{line.seconds:.2f}",
        line.note,
    )


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
