"""The first pass over a stream: statistics by fold and class, and a sample of the rows to choose by."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from classwise.comparison.dealing import Dealer, Hand
from classwise.errors import ClasswiseError
from classwise.rows import Chunk, ranks_of_rows
from classwise.rows.sampling import ALL, Part, Sample, decoded, may_be_drawn
from classwise.selection import FoldTally
from classwise.statistics import DiagonalScatter, FullScatter, Scatter, as_arrow

# A column with more different values holds no classes; statistics of so many would not be small.
MOST_CLASSES = 10_000


class Reading(NamedTuple):
    """One way to take the columns, for some of the models. full: with covariances between columns."""

    families: Any
    full: bool

    @property
    def key(self) -> str:
        """The same for readings that gather the same."""
        return repr((self.families, self.full))


class TooLargeError(ClasswiseError):
    """Covariances by fold and class would take more memory than they may."""


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What some rows add: a tally for each reading, rows to choose by, and what tells these rows from others."""

    tallies: tuple[FoldTally, ...]
    sample: Sample
    rows: int
    unlabeled: int
    mark: int
    most_bytes: float

    def __add__(self, other: "FirstLook") -> "FirstLook":
        pairs = zip(self.tallies, other.tallies, strict=True)
        tallies = tuple(ours + theirs for ours, theirs in pairs) if self.tallies and other.tallies else ()
        together = FirstLook(
            tallies or self.tallies or other.tallies,
            self.sample + other.sample,
            self.rows + other.rows,
            self.unlabeled + other.unlabeled,
            (self.mark + other.mark) & ALL,
            self.most_bytes,
        )
        together._refuse_large()
        return together

    def _refuse_large(self) -> None:
        if not self.tallies:
            return
        classes, columns = len(self.tallies[0].labels), self.tallies[0].statistics.n_features
        if classes > MOST_CLASSES:
            raise ClasswiseError(
                f"The column of the labels has more than {MOST_CLASSES} different values: it holds no classes. Name "
                "another as target."
            )
        is_full = isinstance(self.tallies[0].statistics.moments.scatter, FullScatter)
        size = bytes_by_fold(columns, classes, len(self.tallies[0].rows))
        if is_full and size > self.most_bytes:
            raise TooLargeError(f"Covariances by fold and class would take {size / 1e9:.1f} GB.")


def bytes_by_fold(columns: int, classes: int, folds: int) -> float:
    """What covariances by fold and class take: those of a fold, those of all others, and room to add them."""
    return 3.0 * 8.0 * columns**2 * classes * folds


@dataclass(frozen=True, eq=False)
class FirstPass:
    """A chunk of rows to what it adds. form: of the scatter, for readings with covariances; size: of the sample."""

    dealer: Dealer
    readings: tuple[Reading, ...]
    form: type[Scatter]
    size: int
    most_bytes: float

    def __call__(self, chunk: Chunk) -> FirstLook:
        hand = self.dealer.deal(chunk)
        counted = hand.counted
        nothing = Sample(self.size)
        if not len(counted):
            return FirstLook((), nothing, counted.rows, counted.unlabeled, 0, self.most_bytes)
        sample = Sample(self.size, self._drawn(hand))
        tallies = tuple(self._tallies(hand))
        return FirstLook(tallies, sample, counted.rows, counted.unlabeled, hand.mark(), self.most_bytes)

    def _tallies(self, hand: Hand) -> Iterator[FoldTally]:
        source = hand.counted.source()
        labels, codes = hand.counted.coded()
        for families, full in self.readings:
            table = source.read(families, codes, hand.counted.weights)
            form = self.form if full else DiagonalScatter
            yield FoldTally.of(table, labels, codes, hand.folds, self.dealer.folds, form, quartics=full)

    def _drawn(self, hand: Hand) -> tuple[Part, ...]:
        """The rows that may be in the sample."""
        ranks = ranks_of_rows(hand.rows, self.dealer.seed)
        kept = may_be_drawn(ranks, hand.rows, self.size)
        if not len(kept):
            return ()
        roles = self.dealer.roles
        frame = hand.counted.frame.select(roles.needed)
        table = as_arrow(frame if len(kept) == len(frame) else frame[kept])
        return (Part(decoded(table), ranks[kept], hand.rows[kept], hand.folds[kept]),)
