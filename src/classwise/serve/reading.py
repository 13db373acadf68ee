"""A JSON body, read strictly: what two programs could read differently is refused."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

from classwise.serve.problems import Problem, shown

OUTPUTS = ("both", "label", "posteriors")


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


@dataclass(frozen=True)
class Options:
    """What is asked of the rows.

    output: "label", "posteriors" or "both". priors: other class priors, for this request. reject: the least posterior
    to announce a label with. keep: columns of an Arrow stream that are carried along.
    """

    output: str = "both"
    priors: Any = None
    reject: float | None = None
    keep: tuple[str, ...] = ()

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Options":
        """Options by name, each as JSON has it."""
        output, reject, keep = given.get("output", "both"), given.get("reject"), given.get("keep", [])
        if output not in OUTPUTS:
            raise Problem(422, f"output={shown(output)} is not an option; choose 'both', 'label' or 'posteriors'.")
        if reject is not None and (type(reject) not in (int, float) or not 0 <= reject <= 1):
            raise Problem(422, f"reject={shown(reject)} is not a posterior; give a number from 0 to 1.")
        if not isinstance(keep, list) or not all(isinstance(name, str) for name in keep):
            raise Problem(422, f"keep={shown(keep)} is not a list of columns.")
        return cls(output, given.get("priors"), reject, tuple(keep))


def read_query(query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The options in an address: output as it is, keep separated by commas, priors and reject as JSON."""
    given: dict[str, Any] = {}
    for name, text in query:
        if name in given:
            raise Problem(422, f"The option {name} is given twice; which one is meant?")
        if name not in ("output", "priors", "reject", "keep"):
            raise Problem(422, f"{shown(name)} is not an option; they are output, priors, reject and keep.")
        given[name] = text if name == "output" else text.split(",") if name == "keep" else _plain_json(name, text)
    return given


def _plain_json(name: str, text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except Problem as problem:
        raise Problem(422, f"{name}={shown(text)} cannot be read: {problem.detail}") from None
    except (ValueError, RecursionError):
        raise Problem(422, f"{name}={shown(text)} is not JSON; a number, or an object from label to prior.") from None
    if value is None:
        raise Problem(422, f"{name}=null says nothing; leave {name} out.")
    return value


def refuse_unknown(content: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse members that nothing is known of: a misspelled option would else be ignored."""
    for name in content:
        if name not in known:
            raise Problem(422, f"{shown(name)} is not part of a request; its parts are {', '.join(known)}.")
