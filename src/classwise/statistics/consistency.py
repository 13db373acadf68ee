"""Whether the parts of a statistic fit together, as they do when rows were summarized. Files are asked this."""

from collections.abc import Mapping

from classwise.rows.schema import Schema
from classwise.statistics.counts import Counts
from classwise.statistics.gaps import Numbers
from classwise.statistics.moments import Moments
from classwise.statistics.pairs import PairCounts
from classwise.statistics.places import Named
from classwise.statistics.quartics import Quartics
from classwise.statistics.statistic import Statistic

Shape = tuple[int, int]

# What is gathered only where it is asked for.
OPTIONAL = ("quartics", "pairs")


def parts_fit(count: int, schema: Schema, parts: Mapping[str, Statistic]) -> bool:
    """Whether there is a part for all that a schema asks for, of `count` classes and the right columns."""
    widths = {
        "numbers": len(schema.numbers),
        "logs": len(schema.logs),
        "levels": len(schema.levels),
        "factorials": len(schema.candidates),
        "values": len(schema.candidates),
        "quartics": len(schema.positions("gaussian")),
        "pairs": len(schema),
    }
    needed = {name for name, width in widths.items() if width and name not in OPTIONAL} | {"numbers"}
    if not needed <= set(parts) <= set(widths):
        return False
    counted = parts.get("levels", Counts(()))
    whole = isinstance(counted, Counts) and None not in counted.columns
    if "pairs" in parts and not _are_of(parts["pairs"], schema, count):
        return False
    return whole and all(_is_of(part, name, (count, widths[name])) for name, part in parts.items())


def _are_of(pairs: Statistic, schema: Schema, count: int) -> bool:
    """Whether pairs have levels just where the columns have some."""
    if not isinstance(pairs, PairCounts) or len(pairs.columns) != len(schema) or len(pairs.weight) != count:
        return False
    return [j for j, place in enumerate(pairs.columns) if isinstance(place, Named)] == schema.levels


def _is_of(part: Statistic, name: str, shape: Shape) -> bool:
    """Whether a part is what its name says, of so many classes and columns."""
    if name in ("levels", "values"):
        return isinstance(part, Counts) and len(part.columns) == shape[1] and part.is_of(shape[0])
    if name == "pairs":
        return isinstance(part, PairCounts)
    if name == "numbers":
        return isinstance(part, Numbers) and part.moments.mean.shape == shape
    if name == "quartics":
        return isinstance(part, Quartics) and part.third.shape == shape
    return isinstance(part, Moments) and part.mean.shape == shape
