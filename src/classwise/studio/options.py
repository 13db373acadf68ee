"""How a table is opened: which column holds the labels, and what the table doctor's remedies change."""

from shlex import quote, split
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from classwise.errors import ClasswiseError


class Opening(Struct, frozen=True, forbid_unknown_fields=True):
    """target: the column of the labels; drop: columns to leave out; families: by column; missing: marks of missing
    values, None for the usual ones. These are the options of the command line.
    """

    target: str = ""
    drop: list[str] = []
    families: dict[str, str] = {}
    missing: list[str] | None = None

    def with_flags(self, flag: str) -> "Opening":
        """With flags that `examine` suggests.

        >>> Opening("y").with_flags("--drop 'id,row number' --missing -999").flags()
        "--drop 'id,row number' --missing -999"
        """
        opening, words = self, split(flag)
        if len(words) % 2:
            raise ClasswiseError(f"{flag!r} is not a list of flags with a value each.")
        for name, value in zip(words[::2], words[1::2], strict=True):
            opening = opening._with(name, value)
        return opening

    def _with(self, name: str, value: str) -> "Opening":
        if name == "--drop":
            return replace(self, drop=list(dict.fromkeys([*self.drop, *value.split(",")])))
        if name == "--missing":
            return replace(self, missing=list(dict.fromkeys([*(self.missing or []), value])))
        if name == "--families":
            pairs = dict(pair.rsplit("=", 1) for pair in value.split(",") if "=" in pair)
            return replace(self, families={**self.families, **pairs})
        raise ClasswiseError(f"{name} is not a remedy; the remedies are --drop, --missing and --families.")

    def flags(self) -> str:
        """The same on the command line."""
        parts = [f"--drop {quote(','.join(self.drop))}"] if self.drop else []
        parts += (
            [f"--families {quote(','.join(f'{k}={v}' for k, v in self.families.items()))}"] if self.families else []
        )
        return " ".join([*parts, *(f"--missing {quote(mark)}" for mark in self.missing or ())])

    def read(self) -> dict[str, Any]:
        """The arguments `families` and `missing` of the library."""
        return {"families": self.families or "auto", "missing": self.missing}
