"""From statistics to the density of a row: a product over blocks of columns, one block for each family."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from classwise.arrays import Array, Labels
from classwise.covariance import Completion, StructureTable
from classwise.densities.absence import Constant, Copies, Presence
from classwise.densities.categorical import Categorical, Levels, levels_evidence
from classwise.densities.count_data import Binomial, Poisson
from classwise.densities.density import Block, Density, Product
from classwise.densities.gaussian import LogNormal
from classwise.densities.kernel import Kernel
from classwise.densities.multinomial import Complement, Multinomial
from classwise.densities.numbers import MOST_NAMED, NumbersFit, NumbersPlan
from classwise.densities.smoothing import DirichletCounts, GammaCounts, Smoothed
from classwise.errors import ClasswiseError, DegenerateColumnWarning, IgnoredColumnWarning, SingularCovarianceError
from classwise.statistics import ClassStatistics, LevelCounts, is_id
from classwise.statistics.copies import CopyOf, find_copies


class Smoothing(NamedTuple):
    """How levels and counts are estimated.

    smoothing: the pseudo-rows of the prior. rare: levels below this frequency are pooled (a fraction of the rows, or,
    if it is 1 or more, a weight). missing_is_level: missing values are a level of their own.
    """

    smoothing: float
    rare: float
    missing_is_level: bool


class LeftOut(NamedTuple):
    """Columns that are left out, by position. why: the reason; constants: the value of those that never vary; copies:
    what those that follow from others are of them.
    """

    why: dict[int, str]
    constants: dict[int, float]
    copies: dict[int, CopyOf]


# Columns, and the density of these alone.
Described: TypeAlias = tuple[list[int], Density]


@dataclass(eq=False)
class Blocks:
    """Statistics as blocks of columns.

    joint makes the density of the Gaussian columns; numbers: how those of logarithms are learned, column by column, and
    which columns are left out.
    notes: what there is to know of a column; remarks: what to warn of.
    """

    statistics: ClassStatistics
    options: Smoothing
    joint: Callable[[ClassStatistics], NumbersFit]
    numbers: NumbersPlan
    notes: dict[int, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    completion: Completion | None = None
    structures: StructureTable | None = None
    evidence: list[float | None] = field(default_factory=list)

    def density(self) -> Density:
        """The density over all columns."""
        found = self.statistics.schema.by_family
        candidates = [self._numbers(family) for family in MADE if family in found]
        blocks = [block for block in [*candidates, self._levels()] if block is not None]
        left_out = self._left_out()
        if not blocks and not any(isinstance(density, Presence) for _, density in left_out):
            refuse_silent(self.statistics)
        blocks += left_out
        if len(blocks) == 1:
            return blocks[0][1]
        return Product(tuple(Block(np.array(columns), density) for columns, density in blocks))

    @property
    def log_evidence(self) -> float | None:
        """log p(rows | labels), if every block has one."""
        known: Any = self.evidence
        return None if None in known or self.options.missing_is_level else sum(known)

    def levels(self) -> dict[int, Labels]:
        """The levels of each column that has some, by position."""
        if not self.statistics.schema.levels:
            return {}
        known = zip(self.statistics.schema.levels, self.statistics.levels.columns, strict=True)
        return {j: self._completed(j, column).levels for j, column in known if column is not None}

    @cached_property
    def missing_weight(self) -> Array:
        """The weight without a value, by class and column; (g, p)."""
        return self.statistics.missing_weight()

    def missing_share(self) -> Array:
        """The share of the rows that lack a column; (p,)."""
        if self.statistics.is_complete:
            return np.zeros(len(self.statistics.schema.columns))
        return np.asarray(self.missing_weight.sum(axis=0) / self.statistics.weight.sum())

    @cached_property
    def left_out(self) -> LeftOut:
        """The columns that say nothing, or nothing that others do not."""
        statistics = self.statistics
        constants = {} if self.numbers.keeps_constants else statistics.constants()
        copies = {} if self.numbers.keeps_copies else find_copies(statistics)
        why = {} if statistics.is_complete else why_ignored(statistics, self.missing_weight)
        if constants or copies:
            why |= why_constant(constants)
            why |= {j: copy.described(statistics.name) for j, copy in copies.items()}
        return LeftOut(why, constants, copies)

    def left_out_notes(self) -> dict[int, str]:
        """What a schema says of columns that are left out, by position."""
        return {j: f"left out: {why}" for j, why in self.left_out.why.items()}

    # Numbers ------------------------------------------------------------------------------------------------------

    def _valued(self, family: str) -> list[int]:
        """The columns of a family that have values, and not always the same."""
        why = self.left_out.why
        return [j for j in self.statistics.schema.by_family[family] if j not in why]

    def _numbers(self, family: str) -> Described | None:
        columns = self._valued(family)
        if not columns:
            return None
        whole = len(columns) == len(self.statistics.schema.columns)
        density = MADE[family](self, self.statistics if whole else self.statistics.part(columns))
        if self.statistics.is_complete:
            return columns, density
        self.remarks += self._borrowers(columns)
        return columns, self._with_presence(density, columns)

    def _borrowers(self, columns: list[int]) -> list[str]:
        """Names the classes that have no value in some of these columns."""
        weight = self.statistics.weight[:, None]
        absent = np.argwhere(self.missing_weight[:, columns] >= weight * (1 - 1e-9)).tolist()
        if not absent:
            return []
        named = [f"{self.statistics.label(k)!r} in {self.statistics.name(columns[i])}" for k, i in absent[:5]]
        more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
        return [f"gave the values of all rows to classes that have none of their own: {', '.join(named)}{more}"]

    def _gaussian(self, part: ClassStatistics) -> Density:
        fit = self.joint(part)
        self.completion, self.structures = fit.completion, fit.structures
        self.remarks += fit.remarks
        self.evidence.append(fit.log_evidence)
        return fit.density

    def _lognormal(self, part: ClassStatistics) -> LogNormal:
        density, remarks, _, evidence, _ = self.numbers.alone(part.with_moments(part.logs))
        self.remarks += remarks
        jacobian = -float((part.logs.weight * part.logs.mean).sum())
        self.evidence.append(None if evidence is None else evidence + jacobian)
        return LogNormal(density)

    def _poisson(self, part: ClassStatistics) -> Poisson:
        self.evidence.append(None)
        return Poisson.estimate(*self._rates(part), self.options.smoothing)

    def _binomial(self, part: ClassStatistics) -> Binomial:
        self.evidence.append(None)
        return Binomial.estimate(*self._rates(part), _trials(part), self.options.smoothing)

    def _multinomial(self, part: ClassStatistics) -> Multinomial:
        self.evidence.append(None)  # of counts, log x! is not gathered
        return Multinomial.estimate(self._sums(part), part.weight, self.options.smoothing)

    def _complement(self, part: ClassStatistics) -> Complement:
        self.evidence.append(None)
        return Complement.estimate(self._sums(part), self.options.smoothing)

    def _sums(self, part: ClassStatistics) -> Array:
        """The sum of each column by class. Counts of a row that are not all there have no total."""
        lacking = np.flatnonzero(part.missing_weight().any(axis=0))
        if len(lacking):
            family = part.schema.columns[lacking[0]].family
            raise ClasswiseError(
                f"{part.name(int(lacking[0]))} has missing values, and {family} takes the counts of a row together; "
                "put 0 where nothing was counted, or give the columns another family, such as 'poisson'."
            )
        weight, mean = part.numbers.column_means()
        return weight * mean

    def _kernel(self, part: ClassStatistics) -> Kernel:
        self.evidence.append(None)
        families = [column.family for column in part.schema]
        return Kernel.estimate(part.bins, families, rows_per_weight(part))

    def _rates(self, part: ClassStatistics) -> tuple[Array, Array]:
        """Weight and mean of each column by class; a class without a value takes those of all rows."""
        weight, mean = part.numbers.column_means()
        overall = np.broadcast_to(weight.sum(axis=0), weight.shape)
        average = (weight * mean).sum(axis=0) / overall
        return np.where(weight > 0, weight, overall), np.where(weight > 0, mean, average)

    # Smoothing ----------------------------------------------------------------------------------------------------

    def smoothed(self) -> list[Smoothed]:
        """The counts that smoothing is about, as smoothing="evidence" weighs them."""
        self._refuse_without_evidence()
        found: list[Smoothed] = []
        for family, counts in self._counted().items():
            columns = self._valued(family) if family in self.statistics.schema.by_family else []
            found += [counts(self.statistics.part(columns))] if columns else []
        for j, column in zip(self.statistics.schema.levels, self.statistics.levels.columns, strict=True):
            if column is not None and j not in self.left_out.why:
                found.append(DirichletCounts(self._completed(j, column).weight))
        if not found:
            raise ClasswiseError(
                "smoothing='evidence' is about levels and counts, and X has neither; leave smoothing as it is."
            )
        return found

    def _counted(self) -> dict[str, Callable[[ClassStatistics], Smoothed]]:
        return {
            "poisson": lambda part: GammaCounts(*self._rates(part)),
            "binomial": lambda part: yes_or_no(*self._rates(part), _trials(part)),
            "multinomial": lambda part: DirichletCounts(self._sums(part)),
        }

    def _refuse_without_evidence(self) -> None:
        if "complement" in self.statistics.schema.by_family:
            raise ClasswiseError(
                "families='complement' has no likelihood, so smoothing='evidence' cannot be found; use smoothing='cv'."
            )
        if self.options.rare or self.options.missing_is_level:
            raise ClasswiseError(
                "smoothing='evidence' needs min_frequency=0, and missing='integrate' or 'error'; or use smoothing='cv'."
            )

    def _with_presence(self, density: Density, columns: list[int]) -> Density:
        if not self.options.missing_is_level or self.statistics.is_complete:
            return density
        missing = self.missing_weight[:, columns]
        if not missing.any():
            return density
        smoothing = self.options.smoothing
        chance = (missing + smoothing) / (self.statistics.weight[:, None] + 2 * smoothing)
        return Presence(density, np.where(missing.any(axis=0), chance, np.nan))

    # Levels -------------------------------------------------------------------------------------------------------

    def _levels(self) -> Described | None:
        statistics, kept = self.statistics, {}
        if not statistics.schema.levels:
            return None
        missing = self.missing_weight
        for j, column in zip(statistics.schema.levels, statistics.levels.columns, strict=True):
            assert column is not None
            if j in self.left_out.why:
                continue
            absent = missing[:, j] if self.options.missing_is_level and missing[:, j].any() else None
            counts = self._borrowed(j, self._completed(j, column))
            rare = self._rare_weight(column)
            kept[j] = Levels.estimate(counts, self.options.smoothing, absent, rare)
            self.notes[j] = "; ".join(filter(None, [self.notes.get(j), self._about_levels(counts, rare)]))
            closed = self.options.smoothing > 0 and not rare and absent is None
            self.evidence.append(levels_evidence(counts, self.options.smoothing) if closed else None)
        return (list(kept), Categorical.of(kept.values())) if kept else None

    def _completed(self, j: int, column: LevelCounts) -> LevelCounts:
        """Yes and no are both levels, whether or not both were seen; more than two are an error."""
        if self.statistics.schema.columns[j].family.name != "bernoulli":
            return column
        if len(column.levels) > 2:
            raise ClasswiseError(
                f"{self.statistics.name(j)} has {len(column.levels)} levels, and bernoulli describes two; "
                "use 'categorical'."
            )
        if set(column.levels.tolist()) <= {False, True}:  # as are 0 and 1, of any type
            both = np.array([False, True]).astype(column.levels.dtype)
            return LevelCounts(both, column.aligned(both))
        return column

    def _about_levels(self, column: LevelCounts, rare: float) -> str:
        pooled = int((column.weight.sum(axis=0) < rare).sum())
        if pooled:
            return f"{pooled} rare levels pooled"
        return "one level: says nothing" if len(column.levels) == 1 else ""

    def _borrowed(self, j: int, column: LevelCounts) -> LevelCounts:
        """Without smoothing, a class that has no value in a column takes the levels of all rows."""
        empty = np.logical_not(np.any(column.weight, axis=1))
        if self.options.smoothing or not empty.any():
            return column
        label, name = self.statistics.label(int(empty.argmax())), self.statistics.name(j)
        self.remarks.append(f"gave the levels of all rows to classes that have none of their own: {label!r} in {name}")
        return LevelCounts(column.levels, np.where(empty[:, None], column.weight.sum(axis=0), column.weight))

    def _rare_weight(self, column: LevelCounts) -> float:
        rare = self.options.rare
        return rare if rare >= 1 else rare * float(column.weight.sum())

    def _left_out(self) -> list[Described]:
        """Columns that were left out: a sample repeats the one value, or the other column, and lacks the others.

        Where missing values are a level, those of a column that never varies tell something all the same.
        """
        why, constants, copies = self.left_out
        if not why:
            return []
        levels, count = self.statistics.schema.levels, len(self.statistics.labels)
        valueless = [j for j in sorted(why) if j not in constants and j not in copies]
        missing = Constant(np.array([-1.0 if j in levels else np.nan for j in valueless]), count)
        constant, values = list(constants), np.array(list(constants.values()))
        blocks: list[Described] = [
            (constant, self._with_presence(Constant(values, count), constant)),
            (valueless, missing),
            *([(list(copies), self._copied(copies, count))] if copies else []),
        ]
        return [(columns, density) for columns, density in blocks if columns]

    def _copied(self, found: dict[int, CopyOf], count: int) -> Copies:
        numbers, copies = self.statistics.schema.numbers, found.values()
        means = self.statistics.numbers.overall_mean()[[numbers.index(j) for j in found]]
        most = max((len(copy.columns) for copy in copies), default=0)
        sources, slopes = np.zeros((len(copies), most), dtype=np.intp), np.zeros((len(copies), most))
        for i, copy in enumerate(copies):
            sources[i, : len(copy.columns)], slopes[i, : len(copy.columns)] = copy.columns, copy.slopes
        return Copies(means, count, sources, slopes, np.array([copy.offset for copy in copies]))


# Who makes the density of the columns of a family of numbers, in the order of the blocks.
MADE: dict[str, Callable[[Blocks, ClassStatistics], Density]] = {
    "gaussian": Blocks._gaussian,
    "lognormal": Blocks._lognormal,
    "poisson": Blocks._poisson,
    "binomial": Blocks._binomial,
    "multinomial": Blocks._multinomial,
    "complement": Blocks._complement,
    "kernel": Blocks._kernel,
}


def _trials(part: ClassStatistics) -> Array:
    return np.array([column.family.trials for column in part.schema], dtype=np.float64)


def yes_or_no(weight: Array, mean: Array, trials: Array) -> DirichletCounts:
    """Successes and failures, by class and column."""
    success = weight * mean
    return DirichletCounts(np.stack([success, np.maximum(weight * trials - success, 0.0)], axis=-1).reshape(-1, 2))


def why_constant(constants: dict[int, float]) -> dict[int, str]:
    """What is said of columns of numbers that never vary, given their values."""
    return {j: f"always {value:.6g}" for j, value in constants.items()}


def refuse_constant(statistics: ClassStatistics) -> None:
    """Refuse rows that are all equal."""
    if len(statistics.constants()) == len(statistics.schema):
        raise SingularCovarianceError("No column of X varies, so there is nothing to tell the classes apart.")


def refuse_silent(statistics: ClassStatistics) -> None:
    """Refuse columns none of which can tell classes apart."""
    refuse_constant(statistics)
    raise ClasswiseError("No column of X can tell the classes apart: each is empty, or differs in every row.")


def rows_per_weight(statistics: ClassStatistics) -> float:
    """1, as a weight of two is the row twice; unless weights are shares that add up to one: then rows count."""
    whole = float(statistics.weight.sum())
    return statistics.rows / whole if whole <= 1 + 1e-9 else 1.0


def why_ignored(statistics: ClassStatistics, missing: Array) -> dict[int, str]:
    """Columns that cannot tell classes apart, by position: without a value, or with a level for every other row.

    missing (g, p): the weight without a value. A weight of two is the row twice, so that weight is what counts, unless
    weights are shares that add up to one: then rows do.
    """
    empty = missing.sum(axis=0) >= statistics.weight.sum() * (1 - 1e-9) if missing.any() else np.zeros(0)
    ignored = {int(j): "no values" for j in np.flatnonzero(empty)}
    per_weight = rows_per_weight(statistics)
    for j, column in zip(statistics.schema.levels, statistics.levels.columns, strict=True):
        assert column is not None
        count, rows = len(column.levels), per_weight * float(column.weight.sum())
        if is_id(count, rows) and not statistics.schema.columns[j].asked:
            ignored[j] = f"{count} levels in {rows:.10g} rows, an id or free text"
    return dict(sorted(ignored.items()))


def warn_of_ignored(statistics: ClassStatistics, ignored: dict[int, str]) -> None:
    """One warning that names the columns left out, and why."""
    if ignored:
        named = [f"{statistics.name(j)} ({why})" for j, why in islice(ignored.items(), MOST_NAMED)]
        reasons = "; ".join(named) + (f" and {len(ignored) - MOST_NAMED} more" if len(ignored) > MOST_NAMED else "")
        remedy = " Name a family for one that is to be learned." if "levels" in reasons else ""
        warnings.warn(f"Columns left out: {reasons}.{remedy}", IgnoredColumnWarning, stacklevel=6)


def warn_of_remarks(estimator: str, blocks: Blocks) -> None:
    """One warning with everything that was noted while the densities were made."""
    if blocks.remarks:
        warnings.warn(f"{estimator} {'; '.join(blocks.remarks)}.", DegenerateColumnWarning, stacklevel=6)
