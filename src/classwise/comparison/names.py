"""What models are called: the name that code takes, and the kind they are of."""

import re
from collections.abc import Iterable, Sequence

from classwise.diagnostics.plain_names import BASELINE, plain
from classwise.errors import ClasswiseError

__all__ = ["BASELINE", "KINDS", "chosen", "found", "kind_of", "plain", "slug"]

# The kinds that a short answer has a line for, under the names that choose them, and the models that are of each: by
# their names up to the first comma.
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
    """The kind that a model of ours is of.

    >>> kind_of("QDA, Student-t, loo")
    'qda'
    """
    head = name.split(",")[0]
    return next(kind for kind, heads in KINDS.items() if head in heads)


def slug(name: str) -> str:
    """A name as a shell takes it without quotes.

    >>> slug("QDA, Student-t, loo")
    'qda-student-t-loo'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


def found(asked: str, names: Iterable[str]) -> str | None:
    """The name among these that is meant, by whichever of its spellings.

    >>> found("logistic-regression", ["LDA", "logistic"])
    'logistic'
    """
    spelled = {key: name for name in names for key in (slug(plain(name)), slug(name))}
    return spelled.get(slug(asked))


def chosen(asked: Sequence[str], names: Sequence[str]) -> set[str]:
    """The models of the kinds, or with the names, that are asked for.

    >>> sorted(chosen(["lda", "QDA, OAS"], ["LDA", "LDA, OAS", "QDA", "QDA, OAS", "RDA"]))
    ['LDA', 'LDA, OAS', 'QDA, OAS']
    """
    every: set[str] = set()
    for one in asked:
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
