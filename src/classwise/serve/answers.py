"""Answers as JSON. Numbers are written so that reading them gives the same float64 again."""

from json import dumps
from math import isfinite
from typing import Any

from classwise.explanation import Explanation
from classwise.serve.scoring import Answer
from classwise.serve.work import Deadline

# So many rows are written at a time: other threads get a turn in between.
PART = 2000


def predictions(opening: str, answer: Answer, deadline: Deadline) -> bytes:
    """Labels and posteriors; opening: what is the same for all answers of a model, as the start of a JSON object."""
    parts = [opening]
    if answer.labels is not None:
        parts += [', "label": ', _written(answer.labels, deadline)]
    if answer.posteriors is not None:
        parts += [', "posteriors": ', _written(answer.posteriors, deadline)]
    return "".join([*parts, "}"]).encode()


def _written(values: Any, deadline: Deadline) -> str:
    if len(values) <= PART:
        return dumps(values.tolist())
    parts = []
    for start in range(0, len(values), PART):
        deadline.check()
        parts.append(dumps(values[start : start + PART].tolist())[1:-1])
    return f"[{', '.join(parts)}]"


def explanation(explained: Explanation) -> dict[str, Any]:
    """Reasons, the strongest first; null stands for a share that is infinite."""
    ranked = sorted(explained.shares.items(), key=lambda share: -abs(share[1]))
    shares = [{"column": str(name), "value": explained.values[name], "share": _finite(s)} for name, s in ranked]
    return {
        "label": explained.label,
        "against": explained.against,
        "log_odds": _finite(explained.log_odds),
        "prior": _finite(explained.prior),
        "volume": _finite(explained.volume),
        "shares": shares,
    }


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None
