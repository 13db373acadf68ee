"""A diagnosis: what rows with labels say about the choice of a model, before any is fitted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, TypeAlias

import numpy as np

from classwise.classifier.evaluation import Evaluation
from classwise.diagnostics.advice import Advice, Claim, Finding, classes, counted, listed
from classwise.diagnostics.complete_rows import NumberRows, Usable, usable
from classwise.diagnostics.equality import Equality, about_equality, box_m
from classwise.diagnostics.facts import Facts, NumberFacts, Outcome
from classwise.diagnostics.normality import Normality, about_normality, mardia, rejected
from classwise.diagnostics.overlap import Gauge, Metric, Overlap, Pairs, about_overlaps
from classwise.diagnostics.sentences import MOST, compose
from classwise.diagnostics.separation import Separation
from classwise.diagnostics.spectrum import Spectrum, about_spectra, followers, spectra
from classwise.errors import ClasswiseError, column_name
from classwise.rows.schema import Families
from classwise.statistics import ClassStatistics

Key: TypeAlias = str | int


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What the rows say about the choice of a model; prints as a report.

    labels: the classes; columns: the numbers that were looked at together, by name or position; rows, weight: of the
    rows that have all these. incomplete: how many rows lack one; absent: classes of which no row has all.
    others: columns that were looked at one by one, such as text; constant: numbers that never vary within a class;
    gappy: numbers that most rows lack. These two are looked at one by one, too.
    equality: Box's M, None where fewer than two classes have rows enough. normality: Mardia's tests, by class.
    pooled, spectra: rank and condition within classes, pooled and by class; None and () without numbers.
    overlaps: pairs of classes, the closest first; metric: whose covariances measured the numbers, "own", "pooled" or
    "diagonal", or None without numbers. sections: the report by parts; found: the advice of each, with its claim.
    """

    labels: tuple[Any, ...]
    columns: tuple[Key, ...]
    rows: int
    weight: float
    incomplete: int
    absent: tuple[Any, ...]
    others: tuple[Key, ...]
    constant: tuple[Key, ...]
    gappy: tuple[Key, ...]
    equality: Equality | None
    normality: tuple[Normality, ...]
    pooled: Spectrum | None
    spectra: tuple[Spectrum, ...]
    overlaps: tuple[Overlap, ...]
    metric: Metric | None
    sections: Mapping[str, Finding]
    found: Mapping[str, Advice]

    @property
    def advice(self) -> dict[str, str]:
        """A sentence about each of "equality", "normality", "spectrum" and "overlap"; only the last without numbers."""
        return {name: section.advice for name, section in self.sections.items()}

    def sentences(self, shell: bool = False) -> tuple[str, ...]:
        """The most useful advice first: at most three sentences, and possibly none.

        shell: whether they speak of flags of the command line, rather than of arguments in Python.
        """
        return tuple(advice.shell if shell else advice.python for advice in self._most_useful())

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What each of the sentences claims, to be checked on held-out rows."""
        return tuple(advice.claim for advice in self._most_useful())

    def _most_useful(self) -> list[Advice]:
        return sorted((advice for advice in self.found.values() if advice.rank), key=lambda advice: advice.rank)[:MOST]

    @property
    def notes(self) -> tuple[str, ...]:
        """Which rows and columns were looked at in another way than the rest, or not at all."""
        return tuple(self._heading()[1:])

    def __str__(self) -> str:
        return "\n\n".join(["\n".join(self._heading()), *(section.text() for section in self.sections.values())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heading = "".join(f"<p>{escape(line)}</p>" for line in self._heading())
        return heading + "".join(section.html() for section in self.sections.values())

    def _heading(self) -> list[str]:
        weight = "" if self.weight == self.rows else f" (weight {self.weight:.10g})"
        numbers = [f"{counted(len(self.columns), 'column')} of numbers"] if self.columns else []
        others = [f"{_named(self.others)} counted one by one"] if self.others else []
        kinds = "; ".join([*numbers, *others]) or "no column to look at together"
        lines = [f"{counted(self.rows, 'row')}{weight} of {len(self.labels)} classes, {kinds}."]
        if self.incomplete:
            lines.append(f"{counted(self.incomplete, 'row')} in which a number is missing count column by column only.")
        if self.absent:
            lines.append(f"Left out: {classes(self.absent)}, without a row that has all its numbers.")
        alone = {"never varying within a class": self.constant, "missing in many rows": self.gappy}
        lines += [f"Counted one by one, as {why}: {_named(keys)}." for why, keys in alone.items() if keys]
        return lines


def _named(keys: tuple[Key, ...]) -> str:
    return listed(column_name(key, 0) if isinstance(key, str) else column_name(None, key) for key in keys)


def diagnose(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    families: Families = "auto",
    held_out: Mapping[str, Evaluation] | None = None,
) -> Diagnosis:
    """Test what the choice between QDA, RDA, LDA and naive Bayes, plain, Bayesian or shrunk, depends on.

    Parameters
    ----------
    X, y : array or table of shape (n, p) and array of shape (n,)
        As in `summarize`.
    sample_weight : array of shape (n,), optional
        The weight of each row: two counts a row twice, zero not at all; by default all are one.
    families : str or mapping from column to family, default="auto"
        As in `summarize`.
    held_out : mapping from name to Evaluation, optional
        The results of models on held-out rows, by their names in `compare`, the chosen one first, such as
        `comparison.evaluations`. The advice then takes these results into account, and never contradicts them.

    Returns
    -------
    Diagnosis
        The tests, and the advice.

    Notes
    -----
    Box's M tests whether classes share a covariance, and Mardia's tests whether they are Gaussian. The spectrum shows
    whether there are enough rows for the number of columns. These use the columns of numbers, and rows without missing
    numbers. The overlap of classes uses all columns. Each test comes with advice that considers effect sizes as well as
    p-values. `sentences()` has the most useful advice. It takes three passes over the rows.

    Examples
    --------
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
      => The covariances of the number columns differ between classes, and there are rows enough to
         estimate one for each: try cw.QDA() or cw.RDA().
    <BLANKLINE>
    Normality of each class (Mardia)
      class       rows  skewness      p  kurtosis      p  ratio to Gaussian
      setosa        50      3.08  0.113      26.5  0.028               1.11
      versicolor    50      3.02  0.126      22.9  0.910               0.95
      virginica     50      3.15  0.098      24.3  0.434               1.01
      => Nothing speaks against Gaussian classes, which LDA, QDA and RDA assume.
    <BLANKLINE>
    Rank of the correlations within classes
      class       rows    rank  effective rank  condition  rows per parameter
      (pooled)     150  4 of 4            2.79       13.3                  15
      setosa        50  4 of 4             3.2       8.19                   5
      versicolor    50  4 of 4            2.32       22.1                   5
      virginica     50  4 of 4            2.72       19.1                   5
      => There are rows enough for a covariance in every class; within a class the number columns vary
         together, which naive Bayes leaves out.
    <BLANKLINE>
    Overlap of classes
      Bhattacharyya distances of the numbers by each class's own covariance.
      classes                distance  beyond chance  of it by the means  errors between them
      versicolor, virginica      1.96            1.8                1.67      0.69 % to 8.3 %
      setosa, versicolor         13.3           12.5                12.2              <0.01 %
      setosa, virginica            25           23.7                23.1              <0.01 %
      => Classes 'versicolor' and 'virginica' lie closest together: expect up to 8.3 % errors between
         them.
    >>> round(diagnosis.equality.statistic, 4), round(diagnosis.overlaps[0].most, 3)
    (146.6632, 0.083)
    """
    rows = NumberRows.read(X, y, sample_weight, families)
    used, outcome = usable(rows), Outcome.read(held_out)
    alone = set(range(len(rows.table.schema))) - set(used.rows.columns)
    separation = Separation.of(rows.table, len(rows.labels), alone)
    if used.statistics is None:
        return _without_numbers(used, separation, outcome)
    total, count = used.statistics.weight.sum(), len(used.statistics.labels)
    if total <= count:
        raise ClasswiseError(
            f"sample_weight adds up to {total:g} for {count} classes; a weight of two is the row twice, so scale the "
            "weights until they add up to the number of rows."
        )
    return _with_numbers(used, used.statistics, separation, outcome)


def _with_numbers(
    used: Usable, statistics: ClassStatistics, separation: Separation, outcome: Outcome | None
) -> Diagnosis:
    """The diagnosis from the statistics of the numbers, whose labels are codes, and from columns one by one."""
    rows, coded = used.rows, statistics
    statistics = replace(statistics, labels=rows.labels[statistics.labels])
    labels, moments = statistics.labels.tolist(), statistics.moments
    pooled, own = spectra(statistics)
    tests = mardia(rows, coded, own)
    box = box_m(moments, labels, [s.is_regular for s in own])
    far = [test.label for test in rejected(tests) if not test.is_mild]
    gauge = Gauge.of(moments, pooled, own)
    pairs = Pairs(
        separation,
        coded.labels,
        labels,
        gauge,
        complete=(statistics.weight / separation.weight[coded.labels]).tolist(),
        gaussian=[not test.is_blind and test.label not in far for test in tests],
    ).all()
    numbers = NumberFacts(box, tests, pooled, own, _followers(rows, statistics, pooled))
    found = compose(Facts(pairs, numbers, outcome))
    return Diagnosis(
        **_looked_at(used, labels),
        rows=statistics.rows,
        weight=float(statistics.weight.sum()),
        incomplete=len(rows.table) - statistics.rows,
        equality=box,
        normality=tests,
        pooled=pooled,
        spectra=own,
        overlaps=pairs,
        metric=gauge.metric,
        sections={
            "equality": about_equality(box, found["equality"].python),
            "normality": about_normality(tests, found["normality"].python),
            "spectrum": about_spectra(pooled, own, found["spectrum"].python),
            "overlap": about_overlaps(gauge.metric, pairs, found["overlap"].python),
        },
        found=found,
    )


def _without_numbers(used: Usable, separation: Separation, outcome: Outcome | None) -> Diagnosis:
    """The diagnosis from columns one by one."""
    table, labels = used.rows.table, used.rows.labels.tolist()
    pairs = Pairs(separation, np.arange(len(labels)), labels).all()
    found = compose(Facts(pairs, None, outcome))
    return Diagnosis(
        **_looked_at(used, labels),
        rows=len(table),
        weight=float(separation.weight.sum()),
        incomplete=0,
        equality=None,
        normality=(),
        pooled=None,
        spectra=(),
        overlaps=pairs,
        metric=None,
        sections={"overlap": about_overlaps(None, pairs, found["overlap"].python)},
        found=found,
    )


def _looked_at(used: Usable, labels: list[Any]) -> dict[str, Any]:
    """Which classes and columns a diagnosis is of."""
    rows, schema = used.rows, used.rows.table.schema
    keys: list[Key] = list(schema.names or range(len(schema)))
    together = [*rows.columns, *used.constant, *used.gappy]
    return {
        "labels": tuple(labels),
        "absent": tuple(label for label in rows.labels.tolist() if label not in labels),
        "columns": tuple(keys[j] for j in rows.columns),
        "others": tuple(key for j, key in enumerate(keys) if j not in together),
        "constant": tuple(keys[j] for j in used.constant),
        "gappy": tuple(keys[j] for j in used.gappy),
    }


def _followers(rows: NumberRows, statistics: ClassStatistics, pooled: Spectrum) -> tuple[str, ...]:
    """The names of columns that follow from others, rather than for want of rows."""
    if not pooled.is_bound:
        return ()
    return tuple(rows.schema.name(j) for j in followers(statistics))
