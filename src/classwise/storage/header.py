"""What a header tells: provenance, in JSON that a person can read."""

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from math import isfinite
from typing import Any

from classwise.errors import ClasswiseError

# Options longer than this are cut in the header, where they are only for reading.
LONGEST_OPTION = 200


def provenance(source: str | Iterable[str] | None) -> dict[str, Any]:
    """The library's version, the date, and the names of the sources.

    The date is now, or SOURCE_DATE_EPOCH, which makes files reproducible to the byte.
    """
    version = import_module("classwise").__version__  # the package above us, which an import here would turn around
    sources = [source] if isinstance(source, str | os.PathLike) else list(source or [])
    return {"library": version, "date": _date(), "sources": [os.fspath(name) for name in sources]}


def _date() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError) as problem:
        raise ClasswiseError(f"SOURCE_DATE_EPOCH={epoch!r} is not a number of seconds since 1970.") from problem
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def shown(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options to read: what JSON has as it is, the rest as Python writes it.

    >>> shown({"share": 1.0, "priors": {"a": 0.5, "b": 0.5}})
    {'share': 1.0, 'priors': "{'a': 0.5, 'b': 0.5}"}
    """
    return {name: value if _is_plain(value) else repr(value)[:LONGEST_OPTION] for name, value in options.items()}


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, str) or (type(value) is float and isfinite(value))
