"""Which column of a table is what, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from classwise.errors import ClasswiseError
from classwise.rows.files import no_such_column


@dataclass(frozen=True)
class Roles:
    """target: holds the labels; features: are learned from; weights: holds the weights, where rows have any; groups:
    tells which rows stay in one fold, where some do.
    """

    target: str
    features: tuple[str, ...]
    weights: str | None = None
    groups: str | None = None

    @classmethod
    def read(
        cls, names: Sequence[str], target: Any, columns: Any, weights: Any, where: str, groups: Any = None
    ) -> "Roles":
        """Roles by the names that were given; all columns without another role are learned from, unless some are named.

        >>> Roles.read(["a", "b", "y"], "y", None, None, "the table").features
        ('a', 'b')
        """
        chosen = [columns] if isinstance(columns, str) else columns
        others = [("weights", weights), ("groups", groups)]
        given = [(option, name) for option, name in others if name is not None]
        for option, name in [("target", target), *given, *(("columns", name) for name in chosen or ())]:
            if not isinstance(name, str):
                raise ClasswiseError(f"{option}={name!r} is not the name of a column.")
            if name not in names:
                raise ClasswiseError(no_such_column(name, names, where))
        features = tuple(name for name in (chosen or names) if name not in (target, weights, groups))
        if not features:
            raise ClasswiseError(f"No column of {where} is left to learn from.")
        return cls(target, features, weights, groups)

    @property
    def needed(self) -> list[str]:
        """All columns that have a role."""
        return [*self.features, self.target, *(name for name in (self.weights, self.groups) if name is not None)]


def level_columns(families: Any) -> list[str]:
    """The columns that were asked to be categories, whose whole numbers are levels."""
    asked = families.items() if isinstance(families, Mapping) else ()
    return [name for name, family in asked if isinstance(name, str) and family in ("categorical", "bernoulli")]
