"""The names and kinds of the models in a comparison."""

import re
from collections.abc import Iterable, Sequence

from classwise.diagnostics.plain_names import BASELINE, plain
from classwise.errors import ClasswiseError

__all__ = ["BASELINE", "KINDS", "chosen", "found", "kind_of", "plain", "slug"]

# The kinds of models, by the name that selects them. Each has a line in the short answer. The values are the names of
# its models, up to the first comma.
KINDS: dict[str, tuple[str, ...]] = {
    "lda": ("LDA", "diagonal LDA"),
    "qda": ("QDA", "spherical QDA"),
    "rda": ("RDA",),
    "nearest-mean": ("nearest mean",),
    "naive-bayes": ("naive Bayes",),
    "logistic": ("logistic",),
    "stack": ("stack",),
    "softmax": ("softmax regression",),
    "nearest-neighbors": ("15 nearest neighbors",),
    "class-shares": ("class shares",),
}


def kind_of(name: str) -> str:
    """The kind of a classwise model.

    >>> kind_of("QDA, Student-t, loo")
    'qda'
    """
    head = name.split(",")[0]
    return next(kind for kind, heads in KINDS.items() if head in heads)


def slug(name: str) -> str:
    """A name in a form that needs no quotes in a shell.

    >>> slug("QDA, Student-t, loo")
    'qda-student-t-loo'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


def found(wanted: str, names: Iterable[str]) -> str | None:
    """The one of these names that `wanted` means, in any of its spellings.

    >>> found("logistic-regression", ["LDA", "logistic"])
    'logistic'
    """
    spelled = {key: name for name in names for key in (slug(plain(name)), slug(name))}
    return spelled.get(slug(wanted))


def chosen(wanted: Sequence[str], names: Sequence[str]) -> set[str]:
    """The models that are requested by kind or by name.

    >>> sorted(chosen(["lda", "QDA, OAS"], ["LDA", "LDA, OAS", "QDA", "QDA, OAS", "RDA"]))
    ['LDA', 'LDA, OAS', 'QDA, OAS']
    """
    every: set[str] = set()
    for one in wanted:
        of_kind = {name for name in names if kind_of(name) == slug(one)}
        named = found(one, names)
        if not of_kind and named is None:
            kinds = list(dict.fromkeys(map(kind_of, names)))
            raise ClasswiseError(
                f"{one!r} is no model that can be compared here. These kinds can: {', '.join(kinds)}; and these models "
                f"by themselves: {', '.join(slug(name) for name in names if slug(name) not in kinds)}."
            )
        every |= of_kind or {str(named)}
    return every
