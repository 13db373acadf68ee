"""The members that have names, and the sets of them."""

from collections.abc import Mapping
from typing import Any

from classwise.comparison.stack.covariances import OwnCovariances
from classwise.comparison.stack.dependence import Dependence
from classwise.comparison.stack.given import Given
from classwise.comparison.stack.member import Member
from classwise.comparison.stack.mixtures import Mixtures
from classwise.comparison.stack.shared import SharedCovariance
from classwise.comparison.stack.shares import ClassShares
from classwise.comparison.stack.softmax import Softmax
from classwise.errors import ClasswiseError

NAMED: Mapping[str, Member] = {
    member.name: member
    for member in (
        OwnCovariances("own covariances"),
        OwnCovariances("own covariances, bent", bend=True),
        Dependence("one-dependence"),
        SharedCovariance("shared covariance"),
        Softmax("softmax"),
        Softmax("softmax, steps", steps=True),
        Mixtures("mixtures"),
        ClassShares("class shares"),
        Mixtures("tied mixtures", tied=True),
    )
}

SETS: Mapping[str, tuple[str, ...]] = {
    "fast": ("own covariances", "own covariances, bent", "shared covariance", "class shares"),
    "default": tuple(name for name in NAMED if name != "tied mixtures"),
    "full": tuple(NAMED),
    # All that `to_sql` can write.
    "sql": (
        "own covariances",
        "own covariances, bent",
        "shared covariance",
        "softmax",
        "softmax, steps",
        "class shares",
    ),
}


def read_members(members: Any, X: Any) -> list[Member]:
    """members: the name of a set, or a list of names of members and of classifiers; X: the rows as they came."""
    if isinstance(members, str):
        if members not in SETS:
            raise ClasswiseError(f"members={members!r} is not an option; choose {_listed(SETS)}, or give a list.")
        return [NAMED[name] for name in SETS[members]]
    found: list[Member] = []
    for one in members:
        member = _read(one, X)
        names = [known.name for known in found]
        found.append(Given(f"{member.name} {names.count(member.name) + 1}", one, X) if member.name in names else member)
    if not found:
        raise ClasswiseError("members is an empty list; give at least one member.")
    return found


def _read(member: Any, X: Any) -> Member:
    if isinstance(member, str) and member in NAMED:
        return NAMED[member]
    if not isinstance(member, str) and hasattr(member, "fit") and hasattr(member, "predict_proba"):
        return Given(str(member), member, X)
    raise ClasswiseError(
        f"members has {member!r}, which is no member; name {_listed(NAMED)}, or give a classifier with predict_proba."
    )


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names))
