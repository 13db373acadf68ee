"""Densities that are sums, as terms of a score: mixtures over components, averaged one-dependence over parents.

    Mixture:         log p(x | k) = log sum over the components c of class k of  share_c N(x | m_c, C_c)
    one-dependence:  log p(x | k) = log mean over columns i of  p(x_i | k)  product over j != i of  p(x_j | x_i, k)

Each part is a column of the query; sums are taken about the largest. Where an engine has functions of lists, those of
one-dependence are looked up in lists: see pairs.py.
"""

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from classwise import limits
from classwise.arrays import Array
from classwise.densities import Mixture, OneDependence
from classwise.errors import ClasswiseError
from classwise.export.sql.arithmetic import (
    IMPOSSIBLE,
    Expression,
    case,
    column,
    exp_or_zero,
    is_null,
    largest,
    log,
    lookup,
    minus,
    number,
    shifted,
    total,
    written,
)
from classwise.export.sql.draft import Draft, Step
from classwise.export.sql.gaps import Gaps
from classwise.export.sql.gaussians import About, add_gaussian
from classwise.export.sql.pair_lists import PairLists
from classwise.export.sql.tables import has_list_functions
from classwise.statistics import Bins


def log_of_sum(draft: Draft, step: Step, names: Sequence[str]) -> Expression:
    """log of the sum of exp of columns of an earlier step, about the largest, which is a column of this step."""
    if len(names) == 1:
        return column(names[0])
    top = draft.define(step, "top_part", largest([*map(column, names)], draft.dialect.ignores_nulls))
    return exp.Add(this=column(top), expression=log(total([exp_or_zero(minus(column(n), column(top))) for n in names])))


def add_mixture(density: Mixture, columns: Sequence[int], about: About, draft: Draft, gaps: Gaps | None = None) -> None:
    """log share + log N of each component, summed by class."""
    with draft.aside(len(density.owner)):
        add_gaussian(density.components, columns, about, draft, gaps)
        draft.add_constants(np.log(density.share))
        parts = [draft.define(Step.PART, "part", score) for score in draft.take_scores()]
    for k in range(density.count):
        own = [parts[c] for c in np.flatnonzero(density.owner == k).tolist()]
        draft.add(k, log_of_sum(draft, Step.PART_TOP, own))


# Averaged one-dependence ----------------------------------------------------------------------------------------------


def add_one_dependence(density: OneDependence, codes: Sequence[str], draft: Draft) -> None:
    """codes: what the place of each column is called, which is -1 where there is none."""
    _refuse_long(density)
    sizes = [len(place) for place in density.columns]
    spans = [range(end - size, end) for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True)]
    parents = [i for i, size in enumerate(sizes) if size > 1]
    draft.add_constants(np.full(density.count, -np.log(len(parents))))
    if has_list_functions(draft.dialect.name):
        _add_by_lists(density, codes, draft)
        return
    for k in range(density.count):
        logs = density.logs[:, :, k]
        parts = [_of_parent(logs, i, spans, codes, draft) for i in parents]
        draft.add(k, log_of_sum(draft, Step.PART_TOP, parts))


def _add_by_lists(density: OneDependence, codes: Sequence[str], draft: Draft) -> None:
    pairs = PairLists(density, codes, [draft.name("pairs") for _ in range(density.count)])
    draft.steps.walks.setdefault(Step.PAIRS, []).append(pairs)
    for k, name in enumerate(pairs.sums):
        draft.add(k, column(draft.steps.define(Step.PAIRS, name, written("", codes))))


def _refuse_long(density: OneDependence) -> None:
    count = density.logs.size
    if count > limits.SQL_PAIRS:
        raise ClasswiseError(
            f"One-dependence has {len(density.logs)} levels and ranges in all, which takes a query of {count} numbers, "
            f"and more than {limits.SQL_PAIRS} are not written; fit with fewer columns or bins, or score the rows with "
            "predict."
        )


def _of_parent(logs: Array, parent: int, spans: Sequence[range], codes: Sequence[str], draft: Draft) -> str:
    """log p of all columns, given one; as a column of the query. A level that the row does not have is out of the
    question, unless it has none at all: then all are summed over.
    """
    parts = []
    for place, level in enumerate(spans[parent]):
        possible = exp.In(this=column(codes[parent]), expressions=[*map(exp.Literal.number, (place, -1))])
        given = case((possible, _given(logs, level, parent, spans, codes)), otherwise=number(IMPOSSIBLE))
        parts.append(draft.define(Step.LEVEL_PART, "given", given))
    return draft.define(Step.PART, "part", log_of_sum(draft, Step.LEVEL_TOP, parts))


def _given(logs: Array, level: int, parent: int, spans: Sequence[range], codes: Sequence[str]) -> Expression:
    """log p(level) + sum over the other columns of log p(their level | this one); what is missing adds nothing."""
    terms = []
    for j, span in enumerate(spans):
        values = logs[level, span.start : span.stop]
        if j != parent and values.any():
            terms.append(lookup(column(codes[j]), [0.0, *values.tolist()], first=-1))
    own = float(logs[level, level])
    return shifted(total(terms), own) if terms else number(own)


def place_codes(density: OneDependence, columns: Sequence[int], draft: Draft) -> list[str]:
    """The place of each column of the table: of its level, or of the range that its number lies in; -1 for none."""
    return [_place_code(density, j, of, draft) for j, of in enumerate(columns)]


def _place_code(density: OneDependence, j: int, of: int, draft: Draft) -> str:
    place = density.columns[j]
    if isinstance(place, Bins):
        x = draft.plain(of)
        draft.refuse_infinite(x)
        missing = (is_null(column(x)), exp.Literal.number(place.count if place.missing else -1))
        below = [exp.LT(this=column(x), expression=number(edge)) for edge in place.edges[1:-1].tolist()]
        branches = [(bar, exp.Literal.number(i)) for i, bar in enumerate(below)]
        last = exp.Literal.number(place.count - 1)  # -1, if there are no ranges
        return draft.define(Step.DERIVED, "place", case(missing, *branches, otherwise=last))
    given = draft.code(of)
    values = np.array([-1, *range(len(place.levels) + 1)], dtype=np.float64)
    return draft.define(Step.DERIVED, "place", places_of(given, place.codes(values).tolist()))


def places_of(code: str, places: Sequence[int]) -> Expression:
    """The place of each code, counted from -1; -1 for any other."""
    branches = [(i, place) for i, place in enumerate(places, -1) if place >= 0]
    ifs = [exp.If(this=exp.Literal.number(i), true=exp.Literal.number(place)) for i, place in branches]
    none = exp.Literal.number(-1)
    return exp.Case(this=column(code), ifs=ifs, default=none) if ifs else none
