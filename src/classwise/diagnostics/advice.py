"""A finding of a diagnosis: facts, a table and advice; what advice claims; numbers and names in sentences."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from shlex import quote
from textwrap import wrap
from typing import Any, NamedTuple

from classwise.tabular import aligned, html_table

# A test rejects where chance alone would do so this often.
LEVEL = 0.05

# Log density per row: a rise below NEGLIGIBLE changes no decision that matters, one of NOTABLE matters.
NEGLIGIBLE, NOTABLE = 0.01, 0.05

# With fewer rows than this for each number of a covariance, estimating it costs a tenth of log density a row and more.
FEW = 5.0

# A test that would find what it should in fewer cases than this says little by not rejecting.
WEAK = 0.5

# Beyond this condition, a column follows from the others up to a hundredth of its deviation or less.
ILL = 1e4


@dataclass(frozen=True)
class Claim:
    """What a sentence claims, in a form that held-out rows can check.

    kind: what it is about. better, worse: kinds of models, as `compare` calls them; the best of the first is said to do
    no worse than the best of the second. classes: two of them, of whose rows a share between least and most is said to
    be taken for the other one.
    """

    kind: str
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()
    least: float = 0.0
    most: float = 1.0


@dataclass(frozen=True)
class Advice:
    """A sentence with arguments, for Python; the same with flags, for the shell; and what it claims.

    rank: 1 for what is most useful; 0 for what only the full report says.
    """

    claim: Claim
    python: str
    shell: str
    rank: int = 0

    @classmethod
    def say(cls, claim: Claim, sentence: "Callable[[AdviceWording], str] | str", rank: int = 0) -> "Advice":
        """Advice that is the same in both places, or a sentence made from the words of each."""
        if isinstance(sentence, str):
            return cls(claim, sentence, sentence, rank)
        return cls(claim, sentence(AdviceWording(shell=False)), sentence(AdviceWording(shell=True)), rank)


MODELS = {
    "LDA": ("cw.LDA()", "lda"),
    "QDA": ("cw.QDA()", "qda"),
    "RDA": ("cw.RDA()", "rda"),
}


class AdviceWording(NamedTuple):
    """How a place says what to do: Python by arguments, a shell by flags."""

    shell: bool

    def models(self, kinds: Sequence[str]) -> str:
        """Models to try.

        >>> AdviceWording(shell=False).models(["QDA", "RDA"]), AdviceWording(shell=True).models(["QDA", "RDA"])
        ('cw.QDA() or cw.RDA()', 'classwise compare --models qda,rda')
        """
        if not self.shell:
            return " or ".join(MODELS[kind][0] for kind in kinds)
        first, *others = [MODELS[kind][1] for kind in kinds]
        return (
            f"classwise compare --models {','.join([first, *others])}" if others else f"classwise fit --model {first}"
        )

    def standardizing(self) -> str:
        """The option that gives all columns the same variance."""
        return "--set standardize=true" if self.shell else "standardize=True"

    def drop(self, columns: Sequence[str]) -> str:
        """How to leave out columns, by their names in messages."""
        if self.shell and all(column.startswith("'") for column in columns):
            which = "it" if len(columns) == 1 else "them"
            return f"leave {which} out by --drop {quote(','.join(column[1:-1] for column in columns))}"
        return f"leave out {listed(columns)}"


class Finding(NamedTuple):
    """One part of a diagnosis. cells: a table as text, header first; empty if there is none."""

    title: str
    facts: Sequence[str]
    cells: Sequence[tuple[str, ...]]
    advice: str

    def text(self) -> str:
        lines = [line for fact in self.facts for line in wrap(fact, 100)]
        lines += aligned(self.cells)
        lines += wrap(f"=> {self.advice}", 100, subsequent_indent="   ")
        return "\n".join([self.title, *("  " + line for line in lines)])

    def html(self) -> str:
        facts = "".join(f"<p>{escape(fact)}</p>" for fact in self.facts)
        table = html_table(self.cells) if self.cells else ""
        return f"<h4>{escape(self.title)}</h4>{facts}{table}<p><b>{escape(self.advice)}</b></p>"


def listed(names: Iterable[Any], most: int = 5) -> str:
    """Names as part of a sentence.

    >>> listed(["'a'", "'b'", "'c'"]), listed("abcdef", most=2)
    ("'a', 'b' and 'c'", 'a, b and 4 more')
    """
    shown = [str(name) for name in names]
    if len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def classes(labels: Sequence[Any]) -> str:
    """Classes as part of a sentence: "class 'a'", "classes 'a' and 'b'"."""
    return ("class " if len(labels) == 1 else "classes ") + listed(map(repr, labels), 3)


def counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def number(value: float) -> str:
    """A number to three digits, or with all digits before the point.

    >>> number(0.01234), number(12.34), number(12345.6), number(1e9)
    ('0.0123', '12.3', '12346', '1e+09')
    """
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def percent(share: float) -> str:
    """A share in percent, to two digits.

    >>> percent(0.1234), percent(0.001234), percent(1e-7), percent(0.998), percent(1.0)
    ('12 %', '0.12 %', '<0.01 %', '>99 %', '100 %')
    """
    if share < 1e-4:
        return "<0.01 %"
    if share >= 0.995:
        return "100 %" if share == 1 else ">99 %"
    return f"{100 * share:.2g} %"


def chance(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def capitalized(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
