"""The first pass over a stream: statistics by fold and class, and a sample of the rows to choose by."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from classwise import limits
from classwise.engines import Rows, draw
from classwise.errors import ClasswiseError
from classwise.rows.roles import Chunk, warn_of_unlabeled
from classwise.rows.sampling import ALL, Sample
from classwise.selection.by_fold import FoldTally
from classwise.selection.folds import FoldAssigner, FoldedChunk
from classwise.statistics import DiagonalScatter, FullScatter, Scatter

# Covariances for every fold and class, and the sums of all folds but one, may take this many bytes.
MOST_BYTES = 4e9

# A column with more different values holds no classes, and its statistics would not be small.
MOST_CLASSES = 10_000


# Chunks that are read ahead for each thread: much is done with a row, so that few do.
AHEAD = 2


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
    """What some rows add: a tally for each reading, rows to choose by, and a mark that identifies these rows."""

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

    assigner: FoldAssigner
    readings: tuple[Reading, ...]
    form: type[Scatter]
    size: int
    most_bytes: float

    def __call__(self, chunk: Chunk) -> FirstLook:
        folded = self.assigner.assign(chunk)
        counted = folded.counted
        nothing = Sample(self.size)
        if not len(counted):
            return FirstLook((), nothing, counted.rows, counted.unlabeled, 0, self.most_bytes)
        sample = draw(counted, self.size, self.assigner.seed, folded.folds)
        tallies = tuple(self._tallies(folded))
        return FirstLook(tallies, sample, counted.rows, counted.unlabeled, folded.mark(), self.most_bytes)

    def _tallies(self, folded: FoldedChunk) -> Iterator[FoldTally]:
        source = folded.counted.source()
        labels, codes = folded.counted.coded()
        for families, full in self.readings:
            table = source.read(families, codes, folded.counted.weights)
            form = self.form if full else DiagonalScatter
            yield FoldTally.of(table, labels, codes, folded.folds, self.assigner.folds, form, quartics=full)


def look_at(
    rows: Rows, assigner: FoldAssigner, readings: tuple[Reading, ...], sample: int, what: str = "Pass 1/2"
) -> FirstLook:
    """The first pass. Where covariances would take too much memory, it is begun again without them."""
    size = max(min(sample, limits.MOST_HELD // len(rows.roles.needed)), 1)
    try:
        look = _first_look(rows, FirstPass(assigner, readings, FullScatter, size, MOST_BYTES), what)
    except TooLargeError:
        look = _first_look(rows, FirstPass(assigner, readings, DiagonalScatter, size, MOST_BYTES), what)
    warn_of_unlabeled(look.unlabeled, look.rows)
    if len(look.tallies[0].labels) > 1 and np.count_nonzero(look.tallies[0].rows) < 2:
        raise ClasswiseError("All rows are in one fold, so none can be held out; give more rows, or more groups.")
    return look


def _first_look(rows: Rows, work: FirstPass, what: str) -> FirstLook:
    look = rows.gather(work, what, least_rows(rows, work.assigner.folds), numbered=True, ahead=AHEAD)
    if look is None or not look.tallies:
        raise ClasswiseError("There are no rows to learn from: none has a label and a weight.")
    return look


def least_rows(rows: Rows, folds: int) -> int:
    """A statistic holds matrices of p² for each fold: chunks grow with them, so that merging stays little work."""
    return 4 * folds * len(rows.roles.needed)
