"""The content of requests, a JSON body or the options in an address, read strictly; and what is wrong with it.

What two programs could read differently is refused. So JSON is read by Python's own reader, which alone lets a key that
stands twice be seen, and takes text that is half a surrogate pair; msgspec checks what was read against its types.
What a request did wrong has one shape: a problem of RFC 9457, which names row and column where it knows them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from json import JSONDecodeError, JSONDecoder, dumps
from operator import methodcaller
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


class ProblemDetails(msgspec.Struct, omit_defaults=True):
    """The body of a problem for the client."""

    type: str
    title: str
    status: int
    detail: str
    row: int | None = None
    column: str | None = None


@dataclass(eq=False)
class Problem(Exception):  # noqa: N818 - it is what RFC 9457 calls it
    """A request cannot be answered: the status, the reason, and the row (counted from 0) and column it lies in."""

    status: int
    detail: str
    row: int | None = None
    column: str | None = None
    headers: dict[str, str] | None = None

    def __str__(self) -> str:
        return self.detail

    def response(self) -> Response:
        """The problem as an answer."""
        title = HTTPStatus(self.status).phrase
        details = ProblemDetails("about:blank", title, self.status, self.detail, self.row, self.column)
        return Response(to_json(details), self.status, self.headers, MEDIA_TYPE)


def to_json(facts: Any) -> bytes:
    """Facts as JSON, in ASCII: UTF-8 cannot write half a surrogate pair, which text of a request may hold."""
    return dumps(plain(facts)).encode()


def plain(facts: Any) -> Any:
    """Facts as lists and dicts, with Python's numbers for NumPy's."""
    return msgspec.to_builtins(facts, enc_hook=methodcaller("item"))


def misfit(column: str, row: int | None, complaint: str) -> Problem:
    """A value that its column cannot take."""
    place = f"Column {shown(column)}" if row is None else f"Row {row}, column {shown(column)}"
    return Problem(422, f"{place}: {complaint}", row, column)


def busy(reason: str) -> Problem:
    """The server has too much to do."""
    return Problem(503, f"{reason}.", headers={"Retry-After": "1"})


def shown(value: Any, most: int = 60) -> str:
    """A value as messages show it, cut where it is long.

    >>> shown("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    text = repr(value) if isinstance(value, str) else as_json(value)
    return text if len(text) <= most else text[: most - 1] + "..."


def listed(names: Sequence[Any], most: int = 8) -> str:
    """Names, the first few of many."""
    return ", ".join(shown(name) for name in names[:most]) + (", ..." if len(names) > most else "")


def as_json(value: Any) -> str:
    """A value of a request as the client wrote it."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    try:
        return dumps(value)
    except ValueError:  # a whole number of more digits than Python writes
        return "a number of thousands of digits"


JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
CSV = "text/csv"

# Options that are JSON in an address, too.
IN_JSON = ("priors", "reject")

T = TypeVar("T")
Probability = Annotated[float, Meta(ge=0, le=1)]
Output = Literal["both", "label", "posteriors"]
Priors = Literal["uniform"] | dict[str, Probability]


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of a prediction, in a JSON body or in the address."""

    output: Annotated[Output, Meta(description="What to answer.")] = "both"
    priors: Annotated[Priors | None, Meta(description="Other class priors for this request, by label.")] = None
    reject: Annotated[Probability | None, Meta(description="The least posterior of a label that is predicted.")] = None


class StreamOptions(Options, frozen=True, forbid_unknown_fields=True):
    """The options of a prediction for an Arrow stream."""

    keep: Annotated[list[str], Meta(description="Columns to carry along; in an address separated by commas.")] = []


class ExplainRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Why `row` is taken for `label` rather than `against`; the best label and the next, where they are not given."""

    row: Any
    label: Any = None
    against: Any = None


def checked(content: Any, type: type[T]) -> T:
    """Content of the given type; a Problem that says where it is not."""
    try:
        return msgspec.convert(content, type)
    except msgspec.ValidationError as problem:
        raise Problem(422, f"This cannot be taken: {problem}; /openapi.json says what can.") from None
    except UnicodeEncodeError:
        raise Problem(422, "An option holds half a surrogate pair, which is not text.") from None


def read_json(body: bytes) -> dict[str, Any]:
    """The object that a body holds: UTF-8, no key twice, no NaN or Infinity."""
    if not body.strip():
        raise Problem(400, 'The body is empty; send JSON such as {"rows": [...]}.')
    try:
        content = _DECODER.decode(body.decode())
    except UnicodeDecodeError as problem:
        raise Problem(400, f"The body is not UTF-8: byte {problem.start} cannot be read.") from None
    except JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise Problem(400, f"The body is not JSON: {problem.msg} at {where}.") from None
    except RecursionError:
        raise Problem(400, "The body is JSON nested too deeply; rows are lists of plain values.") from None
    except ValueError:
        raise Problem(400, "The body holds a number of thousands of digits; the largest is 1e150.") from None
    if not isinstance(content, dict):
        raise Problem(422, f'The body is to be an object such as {{"rows": [...]}}, not {shown(content)}.')
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise Problem(400, f"The key {shown(twice)} stands twice in one object; which value is meant?", column=twice)
    return members


def _refuse_constant(text: str) -> NoReturn:
    raise Problem(400, f"The body holds {text}, which is not JSON; a missing value is null.")


_DECODER = JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)


def read_query(query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The options in an address: output as it is, keep separated by commas, priors and reject as JSON."""
    given: dict[str, Any] = {}
    for name, text in query:
        if name in given:
            raise Problem(422, f"The option {shown(name)} is given twice; which one is meant?")
        given[name] = text.split(",") if name == "keep" else _read_text(name, text) if name in IN_JSON else text
    checked(given, StreamOptions)
    return given


def _read_text(name: str, text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (Problem, ValueError, RecursionError) as problem:
        raise Problem(422, f"{name}={shown(text)} cannot be read: {problem}") from None


def media_type(request: Request, *known: str) -> str:
    """The type of the body, which must be one of those known."""
    given = request.headers.get("content-type", "")
    kind = given.partition(";")[0].strip().lower()
    if kind not in known:
        what = f"Content-Type: {shown(given)} is not one that is read here" if given else "There is no Content-Type"
        raise Problem(415, f"{what}; send {' or '.join(known)}.", headers={"Accept": ", ".join(known)})
    return kind
