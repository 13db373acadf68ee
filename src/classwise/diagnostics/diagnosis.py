"""A diagnosis: what rows with labels say about the choice of a model, before any is fitted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, TypeAlias

from classwise.diagnostics.advice import Finding, classes, counted, listed
from classwise.diagnostics.complete_rows import NumberRows, varying
from classwise.diagnostics.equality import Equality, about_equality, box_m
from classwise.diagnostics.normality import Normality, about_normality, is_normal, mardia
from classwise.diagnostics.overlap import Metric, Overlap, about_overlaps, overlaps
from classwise.diagnostics.spectrum import Spectrum, about_spectra, spectra
from classwise.errors import ClasswiseError, column_name
from classwise.rows.schema import Families
from classwise.statistics import ClassStatistics

Key: TypeAlias = str | int


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What the rows say about the choice of a model; prints as a report.

    labels: the classes; columns: those looked at, by name or position; rows, weight: of the rows that have all these.
    incomplete: how many rows lack a number, and were left out; absent: classes of which no row is left.
    others: columns that are not numbers taken for Gaussian; constant: columns that never vary within a class.
    equality: Box's M, None where fewer than two classes have rows enough. normality: Mardia's tests, by class.
    pooled, spectra: rank and condition within classes, pooled and by class.
    overlaps: pairs of classes, the closest first; metric: whose covariances measured them, "own", "pooled" or
    "diagonal". sections: the report by parts.
    """

    labels: tuple[Any, ...]
    columns: tuple[Key, ...]
    rows: int
    weight: float
    incomplete: int
    absent: tuple[Any, ...]
    others: tuple[Key, ...]
    constant: tuple[Key, ...]
    equality: Equality | None
    normality: tuple[Normality, ...]
    pooled: Spectrum
    spectra: tuple[Spectrum, ...]
    overlaps: tuple[Overlap, ...]
    metric: Metric
    sections: Mapping[str, Finding]

    @property
    def advice(self) -> dict[str, str]:
        """A sentence about each of "equality", "normality", "spectrum" and "overlap"."""
        return {name: section.advice for name, section in self.sections.items()}

    def __str__(self) -> str:
        return "\n\n".join(["\n".join(self._heading()), *(section.text() for section in self.sections.values())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heading = "".join(f"<p>{escape(line)}</p>" for line in self._heading())
        return heading + "".join(section.html() for section in self.sections.values())

    def _heading(self) -> list[str]:
        weight = "" if self.weight == self.rows else f" (weight {self.weight:.10g})"
        columns = counted(len(self.columns), "column")
        lines = [f"{counted(self.rows, 'row')}{weight} of {len(self.labels)} classes, {columns} of numbers."]
        if self.incomplete:
            lines.append(f"Left out: {counted(self.incomplete, 'row')} in which a number is missing.")
        if self.absent:
            lines.append(f"Left out: {classes(self.absent)}, without a row that has all its numbers.")
        if self.constant:
            lines.append(f"Left out, as never varying within a class: {_named(self.constant)}.")
        if self.others:
            lines.append(f"Not looked at, as not Gaussian: {_named(self.others)}.")
        return lines


def _named(keys: tuple[Key, ...]) -> str:
    return listed(column_name(key, 0) if isinstance(key, str) else column_name(None, key) for key in keys)


def diagnose(X: Any, y: Any, sample_weight: Any = None, *, families: Families = "auto") -> Diagnosis:
    """What the rows say about the choice between QDA, RDA, LDA, naive Bayes and their Bayesian and shrunk kin.

    X, y, families: as in `summarize`; only columns of numbers are looked at, and rows that have them all.
    sample_weight (n,): a weight of two is the row twice.

    Box's M asks whether classes share a covariance, Mardia's tests whether they are Gaussian, the spectrum whether rows
    suffice for so many columns, the Bhattacharyya distance which classes overlap. Each comes with an advice that looks
    at sizes as well as at p-values. It takes two passes over the rows.

    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> diagnosis = cw.diagnose(iris.data, iris.target_names[iris.target])
    >>> print(diagnosis)
    150 rows of 3 classes, 4 columns of numbers.
    <BLANKLINE>
    Equal covariances (Box's M)
      M = 146.7, F = 7.045 with 20 and 77567 degrees of freedom, p < 0.001. Own covariances raise the log
      density of a row by 0.428; estimating them costs 0.0708.
      => The covariances differ by more than estimating them costs: give each class its own (QDA), or use
         RDA.
    <BLANKLINE>
    Normality of each class (Mardia)
      class       rows  skewness      p  kurtosis      p  ratio to Gaussian
      setosa        50      3.08  0.113      26.5  0.028               1.11
      versicolor    50      3.02  0.126      22.9  0.910               0.95
      virginica     50      3.15  0.098      24.3  0.434               1.01
      => Nothing speaks against Gaussian classes: LDA, QDA and RDA mean what they say.
    <BLANKLINE>
    Rank of the correlations within classes
      class       rows    rank  effective rank  condition  rows per parameter
      (pooled)     150  4 of 4            2.79       13.3                  15
      setosa        50  4 of 4             3.2       8.19                   5
      versicolor    50  4 of 4            2.32       22.1                   5
      virginica     50  4 of 4            2.72       19.1                   5
      => There are rows enough for a full covariance in every class; structure='diagonal' (naive Bayes)
         gives away much: 0.785 of log density a row.
    <BLANKLINE>
    Overlap of classes
      Bhattacharyya distances by each class's own covariance.
      classes                distance  beyond chance  of it by the means  errors between them
      versicolor, virginica      1.96            1.8                1.67      0.69 % to 8.3 %
      setosa, versicolor         13.3           12.5                12.2              <0.01 %
      setosa, virginica            25           23.7                23.1              <0.01 %
      => 'versicolor' and 'virginica' overlap: expect up to 8.3 % errors between them, whatever the
         Gaussian classifier; other columns would help more than another covariance.
    >>> round(diagnosis.equality.statistic, 4), round(diagnosis.overlaps[0].most, 3)
    (146.6632, 0.083)
    """
    rows = NumberRows.read(X, y, sample_weight, families)
    statistics, constant = rows.statistics(), []
    kept = varying(statistics)
    if not kept:
        raise ClasswiseError("No column of numbers varies within a class, so there is no covariance to look at.")
    if len(kept) < len(rows.columns):
        constant = [column for j, column in enumerate(rows.columns) if j not in kept]
        rows = replace(rows, columns=[rows.columns[j] for j in kept])
        statistics = rows.statistics()  # anew: rows that lack only what is left out now count
    total, count = statistics.weight.sum(), len(statistics.labels)
    if total <= count:
        raise ClasswiseError(
            f"sample_weight adds up to {total:g} for {count} classes; a weight of two is the row twice, so scale the "
            "weights until they add up to the number of rows."
        )
    return _diagnose(rows, statistics, constant)


def _diagnose(rows: NumberRows, statistics: ClassStatistics, constant: list[int]) -> Diagnosis:
    """The diagnosis from the statistics of the rows, whose labels are codes; constant: columns that are left out."""
    coded, statistics = statistics, replace(statistics, labels=rows.labels[statistics.labels])
    labels, moments = statistics.labels.tolist(), statistics.moments
    pooled, own = spectra(statistics)
    tests = mardia(rows, coded, own)
    box = box_m(moments, labels, [s.is_regular for s in own])
    metric, pairs = overlaps(moments, pooled, own)
    schema = rows.table.schema
    keys: list[Key] = list(schema.names or range(len(schema)))
    return Diagnosis(
        labels=tuple(labels),
        columns=tuple(keys[j] for j in rows.columns),
        rows=statistics.rows,
        weight=float(statistics.weight.sum()),
        incomplete=len(rows.table) - statistics.rows,
        absent=tuple(label for label in rows.labels.tolist() if label not in labels),
        others=tuple(key for j, key in enumerate(keys) if j not in rows.columns and j not in constant),
        constant=tuple(keys[j] for j in constant),
        equality=box,
        normality=tests,
        pooled=pooled,
        spectra=own,
        overlaps=pairs,
        metric=metric,
        sections={
            "equality": about_equality(box, is_normal(tests)),
            "normality": about_normality(tests),
            "spectrum": about_spectra(statistics, pooled, own),
            "overlap": about_overlaps(metric, pairs, pooled, own, is_normal(tests)),
        },
    )
