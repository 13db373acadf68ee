"""Is a class Gaussian? Skewness and kurtosis of Mardia (1970), of rows whitened by the class's own mean and covariance.

With z = V'(x - m), where V V' is the inverse of the maximum-likelihood covariance, and n rows of p columns,

    skewness b1 = sum over i, j of (z_i' z_j)³ / n² = |T|² / n²,   T = sum of z ⊗ z ⊗ z  (p, p, p)
    kurtosis b2 = sum |z|⁴ / n

T is a sum over rows: it adds, and takes one pass rather than n² pairs. For a Gaussian (Mardia 1974),

    n k b1 / 6 ~ chi² with p (p + 1)(p + 2) / 6 degrees of freedom, k = (p + 1)(n + 1)(n + 3) / (n ((n + 1)(p + 1) - 6))
    mean b2 = p (p + 2)(n - 1) / (n + 1)
    variance b2 = 8 p (p + 2)(n - 3)(n - p - 1)(n - p + 1) / ((n + 1)² (n + 3)(n + 5))

where k makes the mean of b1 exact, and b2 is taken for Normal with these exact moments. The limits for many rows, 1 for
k, p (p + 2) and 8 p (p + 2) / n, are what some programs use; with fifty rows they are still visibly off.

Where p is large T is not formed: pairs of an evenly spaced sample of the rows stand in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import stats

from classwise import limits
from classwise.arrays import BLOCK_SIZE, Array, Codes, product, row_norms, slices
from classwise.covariance import FullCovariance
from classwise.diagnostics.advice import LEVEL, Finding, chance, number
from classwise.diagnostics.complete_rows import NumberRows
from classwise.diagnostics.spectrum import Spectrum, examine
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics, FullScatter, Moments, gather_moments

# Up to this many columns, and numbers in T of all classes, T is formed; beyond, limits.NORMALITY_ROWS are tested.
MOST_COLUMNS, MOST_NUMBERS = 60, 1 << 23

# A kurtosis this near to the Gaussian's (as a ratio) and a skewness per column this small do not matter.
MILD_KURTOSIS, MILD_SKEWNESS = 0.1, 0.3

# A ratio of kurtosis that should be found: Student's t with ten degrees of freedom has it.
HEAVY = 4 / 3


@dataclass(frozen=True)
class Normality:
    """Mardia's tests of one class.

    weight: of its rows; tested: of those looked at, 0 where a test is impossible, as `note` says.
    skewness b1, kurtosis b2; ratio: b2 / (p (p + 2)), which is 1 for a Gaussian, above it for heavy tails.
    asymmetry: the skewness of a column that all columns would need to give b1, beyond what chance gives.
    detectable: how far from 1 the ratio must be to be found four times in five.
    """

    label: Any
    weight: float
    tested: float
    note: str = ""
    skewness: float = np.nan
    skewness_p: float = np.nan
    kurtosis: float = np.nan
    kurtosis_p: float = np.nan
    ratio: float = np.nan
    asymmetry: float = np.nan
    detectable: float = np.nan

    @property
    def p_value(self) -> float:
        """The p-value of both tests together (Bonferroni)."""
        return min(1.0, 2 * min(self.skewness_p, self.kurtosis_p))

    @property
    def is_mild(self) -> bool:
        """Whether the deviation from a Gaussian is too small to matter."""
        return abs(self.ratio - 1) < MILD_KURTOSIS and self.asymmetry < MILD_SKEWNESS

    @property
    def is_blind(self) -> bool:
        """Whether rows are too few to show any but gross deviations."""
        return not self.tested or self.detectable > HEAVY - 1


def mardia(rows: NumberRows, statistics: ClassStatistics, own: Sequence[Spectrum]) -> tuple[Normality, ...]:
    """Mardia's tests of each class; statistics and spectra are those of the rows."""
    notes = [_obstacle(spectrum) for spectrum in own]
    tests = {k: Normality(s.label, s.weight, 0.0, note) for k, (s, note) in enumerate(zip(own, notes, strict=True))}
    chosen = np.flatnonzero([not note for note in notes])
    if _fits(len(chosen), len(rows.columns)):
        tests |= _tests_by_tensor(rows, statistics, own, chosen)
    else:
        tests |= {k: _test_by_pairs(rows, int(statistics.labels[k]), own[k]) for k in chosen.tolist()}
    return tuple(tests.values())


def _obstacle(spectrum: Spectrum) -> str:
    """Why a class cannot be tested, or "". With p + 1 rows b1 and b2 are the same whatever the rows."""
    if spectrum.weight < max(spectrum.features + 2, 4):
        return "too few rows"
    return "" if spectrum.is_regular else f"covariance of rank {spectrum.rank}"


def _fits(count: int, features: int) -> bool:
    return features <= MOST_COLUMNS and count * features * features * (features + 1) // 2 <= MOST_NUMBERS


def _tests_by_tensor(
    rows: NumberRows, statistics: ClassStatistics, own: Sequence[Spectrum], chosen: Codes
) -> dict[int, Normality]:
    gaussians = Gaussians.of(statistics.moments.select(chosen), statistics.labels[chosen])
    powers = rows.gather(lambda chunk: Powers.gather(chunk, gaussians))
    sums = zip(chosen.tolist(), powers.squared_thirds(), powers.fourth, strict=True)
    return {k: _test(own[k], own[k].weight, float(third), float(fourth)) for k, third, fourth in sums}


def _test_by_pairs(rows: NumberRows, code: int, spectrum: Spectrum) -> Normality:
    """The tests of a sample of the class, whitened by the mean and covariance of the sample."""
    positions = rows.of_class(code)
    table_weights = rows.table.weights
    drawn, weights = spaced(np.ones(len(positions)) if table_weights is None else table_weights[positions])
    sample = rows.take(positions[drawn])
    moments = gather_moments(sample, np.zeros(len(sample), dtype=np.intp), 1, weights, FullScatter).denoised()
    seen = examine(spectrum.label, float(weights.sum()), 1, moments.scatter.pooled())
    if note := _obstacle(seen):
        return Normality(spectrum.label, spectrum.weight, 0.0, note)
    white = Gaussians.of(moments, np.zeros(1, dtype=np.intp)).whiten(sample, 0)
    return _test(spectrum, seen.weight, *sums_by_pairs(white, weights))


def spaced(weights: Array) -> tuple[Codes, Array]:
    """An evenly spaced sample of rows: positions, and weights.

    Spaced along the weight, so that a row of weight two is drawn as often as the row twice.

    >>> positions, weights = spaced(np.full(5 * limits.NORMALITY_ROWS, 0.5))
    >>> positions[:3].tolist(), len(positions), weights.sum()
    ([2, 7, 12], 2000, np.float64(2000.0))
    """
    reached = np.cumsum(weights)
    size = limits.NORMALITY_ROWS
    if reached[-1] <= size:
        return np.arange(len(weights)), weights
    targets = (np.arange(size) + 0.5) * (reached[-1] / size)
    return np.searchsorted(reached, targets), np.ones(size)


def _test(spectrum: Spectrum, n: float, squared_thirds: float, fourths: float) -> Normality:
    """Mardia's tests of a class, of whose rows n were looked at."""
    p = spectrum.features
    skewness, kurtosis = squared_thirds / n**2, fourths / n
    chi2_dof = p * (p + 1) * (p + 2) / 6
    expected_skewness = p * (p + 2) * ((n + 1) * (p + 1) - 6) / ((n + 1) * (n + 3))
    gaussian, expected = p * (p + 2), p * (p + 2) * (n - 1) / (n + 1)
    variance = 8 * gaussian * (n - 3) * (n - p - 1) * (n - p + 1) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    deviation = np.sqrt(variance)
    return Normality(
        label=spectrum.label,
        weight=spectrum.weight,
        tested=n,
        skewness=skewness,
        skewness_p=float(stats.chi2.sf(chi2_dof * skewness / expected_skewness, chi2_dof)),
        kurtosis=kurtosis,
        kurtosis_p=float(2 * stats.norm.sf(abs(kurtosis - expected) / deviation)),
        ratio=kurtosis / gaussian,
        asymmetry=float(np.sqrt(max(skewness - expected_skewness, 0.0) / p)),
        detectable=float(2.8 * deviation / gaussian),
    )


# Third and fourth powers of whitened rows, summed: T = sum w z ⊗ z ⊗ z, of which |T|² is needed, and sum w |z|⁴ -------


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Classes as Gaussians, by maximum likelihood. codes (g,): what their rows are labeled with."""

    codes: Codes
    moments: Moments
    covariance: FullCovariance

    @classmethod
    def of(cls, moments: Moments, codes: Codes) -> Self:
        return cls(codes, moments, FullCovariance(FullCovariance.own(moments.scatter, moments.weight)))

    def whiten(self, rows: Array, k: int) -> Array:
        """z of rows of the k-th class; (m, p) -> (m, p)."""
        return self.covariance.whiten((rows - self.moments.mean[k]) - self.moments.rest[k], k)


@dataclass(frozen=True, eq=False)
class Powers:
    """third (g, p(p+1)/2, p): T of each class, for i <= j; fourth (g,): sum w |z|⁴.

    Of rows whitened by Gaussians that are known beforehand, so that the sums simply add.
    """

    third: Array
    fourth: Array

    @classmethod
    def gather(cls, chunk: Table, gaussians: Gaussians) -> Self:
        """The sums of a chunk of complete rows, labeled by codes; rows of other codes are skipped."""
        rows = chunk.rows
        first, second = np.triu_indices(rows.shape[1])
        third, fourth = np.zeros((len(gaussians.codes), len(first), rows.shape[1])), np.zeros(len(gaussians.codes))
        for k, code in enumerate(gaussians.codes):
            own = np.flatnonzero(chunk.labels == code)
            for block in slices(len(own), max(BLOCK_SIZE // len(first), 64)):
                white = gaussians.whiten(rows[own[block]], k)
                weight = np.ones(len(white)) if chunk.weights is None else chunk.weights[own[block]]
                pairs = white.take(first, axis=1) * white.take(second, axis=1)
                third[k] += product(pairs.T, white * weight[:, None])
                fourth[k] += weight @ row_norms(white) ** 2
        return cls(third, fourth)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.third + other.third, self.fourth + other.fourth)

    def squared_thirds(self) -> Array:
        """|T|²; (g,). Entries with i < j stand for two."""
        first, second = np.triu_indices(self.third.shape[2])
        return np.asarray((self.third**2).sum(axis=2) @ np.where(first == second, 1.0, 2.0))


def sums_by_pairs(white: Array, weights: Array) -> tuple[float, float]:
    """|T|² and sum w |z|⁴ of whitened rows (m, p), by all pairs of them."""
    total = 0.0
    for block in slices(len(white), max(BLOCK_SIZE // len(white), 1)):
        angles = product(white[block], white.T)
        total += float(weights[block] @ (angles * angles * angles) @ weights)
    return total, float(weights @ row_norms(white) ** 2)


# What the tests say ---------------------------------------------------------------------------------------------------


def rejected(tests: Sequence[Normality]) -> list[Normality]:
    """The classes that are not Gaussian, allowing for the number of tests (Bonferroni)."""
    tested = [test for test in tests if test.tested]
    return [test for test in tested if test.p_value * len(tested) < LEVEL]


def about_normality(tests: Sequence[Normality], advice: str) -> Finding:
    header = ("class", "rows", "skewness", "p", "kurtosis", "p", "ratio to Gaussian", "")
    sampled = [test for test in tests if 0 < test.tested < test.weight]
    most = f"Many columns: at most {limits.NORMALITY_ROWS} evenly spaced rows of each class were looked at."
    heavy = max((test for test in tests if test.tested), key=lambda test: test.ratio, default=None)
    facts = [most] if sampled else []
    if heavy is not None and heavy.ratio > 1 + MILD_KURTOSIS and heavy in rejected(tests):
        freedom = (4 * heavy.ratio - 2) / (heavy.ratio - 1)  # b2 of Student's t is p (p + 2)(f - 2) / (f - 4)
        like = f"Student's t with {freedom:.0f} degrees of freedom"
        facts.append(f"The heaviest tails, of class {heavy.label!r}, are like those of {like}.")
    return Finding("Normality of each class (Mardia)", facts, [header, *map(_cells, tests)], advice)


def _cells(test: Normality) -> tuple[str, ...]:
    name, rows = str(test.label), f"{test.tested or test.weight:.10g}"
    if not test.tested:
        return (name, rows, "", "", "", "", "", test.note)
    skewness = number(test.skewness), chance(test.skewness_p)
    kurtosis = number(test.kurtosis), chance(test.kurtosis_p)
    return (name, rows, *skewness, *kurtosis, f"{test.ratio:.2f}", "")
