"""What a request asks for: a JSON body or the options in an address, read strictly.

What two programs could read differently is refused. So JSON is read by Python's own reader, which alone lets a key that
stands twice be seen, and takes text that is half a surrogate pair; msgspec checks what was read against its types.
"""

from collections import Counter
from collections.abc import Iterable
from json import JSONDecodeError, JSONDecoder
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request

from classwise.serve.problems import Problem, shown

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"

# Options that are JSON in an address, too.
IN_JSON = ("priors", "reject")

T = TypeVar("T")
Probability = Annotated[float, Meta(ge=0, le=1)]
Output = Literal["both", "label", "posteriors"]
Priors = Literal["uniform"] | dict[str, Probability]


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of rows, in a JSON body or in the address."""

    output: Annotated[Output, Meta(description="What to answer.")] = "both"
    priors: Annotated[Priors | None, Meta(description="Other class priors for this request, by label.")] = None
    reject: Annotated[Probability | None, Meta(description="The least posterior to announce a label with.")] = None


class StreamOptions(Options, frozen=True, forbid_unknown_fields=True):
    """What is asked of the rows of an Arrow stream."""

    keep: Annotated[list[str], Meta(description="Columns to carry along; in an address separated by commas.")] = []


class ExplainRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Why `row` is taken for `label` rather than `against`; the best label and the next, where they are not given."""

    row: Any
    label: Any = None
    against: Any = None


def checked(content: Any, type: type[T]) -> T:
    """Content of the type that is asked for; a Problem that says where it is not."""
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
