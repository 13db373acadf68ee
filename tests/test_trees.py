"""Trees whose cuts are frozen: counts of leaves add up, and what is believed of a leaf is what the formulas say."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from classwise.errors import StatisticsError
from classwise.forest.beliefs import BELIEFS, Leaves, Prunings
from classwise.forest.growth import Growth, Units, bin_starts
from classwise.kernels.forests import ForestRows
from classwise.statistics.trees import LEAF, LeafCounts, Trees

LEVELS = {2: np.array(["a", "b", "c"])}


def draw(seed: int, rows: int = 60, classes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two numbers, one of them with gaps, and a category with gaps; classes that depend on all; weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(1e6, 3, rows), rng.normal(size=rows), rng.integers(-1, 3, rows)])
    X[rng.random(rows) < 0.1, 1] = np.nan
    y = (X[:, 0] > 1e6).astype(int) + (X[:, 2] == 1) * (rng.random(rows) < 0.8)
    return X, np.minimum(y, classes - 1).astype(np.intp), rng.uniform(0.5, 2, rows)


def grow(X: np.ndarray, y: np.ndarray, weights: np.ndarray, random: bool = True, trees: int = 5, **options) -> Trees:
    return grown(Growth(random, trees, **options), Units.of(X, {2: 3}, weights, None), X, y, weights)


def grown(growth: Growth, units: Units, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Trees:
    rows = ForestRows(units(X), y, weights, int(y.max()) + 1)
    (found,) = growth.by_fold(rows, [np.arange(len(y))], 0)
    return units.trees(found, LEVELS)


seeds = st.integers(0, 10_000)


@given(seeds, st.booleans())
def test_counts_of_parts_add_up_and_subtract(seed: int, random: bool) -> None:
    X, y, w = draw(seed)
    trees = grow(X, y, w, random)
    assert trees._is_sound()
    whole = LeafCounts.gather(trees, X, y, 3, w)
    first, second = (LeafCounts.gather(trees, X[part], y[part], 3, w[part]) for part in (slice(25), slice(25, None)))
    np.testing.assert_allclose((first + second).weight, whole.weight, atol=1e-12)
    np.testing.assert_allclose((whole - second).weight, first.weight, atol=1e-12)
    # Every row is in one leaf of every tree.
    ends = zip(trees.leaf_starts[:-1], trees.leaf_starts[1:], strict=True)
    for start, end in ends:
        np.testing.assert_allclose(whole.weight[:, start:end].sum(axis=1), np.bincount(y, w, 3), atol=1e-12)
    np.testing.assert_allclose(whole.of_nodes[trees.starts[:-1]], np.tile(np.bincount(y, w, 3), (5, 1)), atol=1e-12)


@given(seeds)
def test_rows_fall_where_the_cuts_send_them(seed: int) -> None:
    X, y, w = draw(seed)
    trees = grow(X, y, w)
    children = {int(v): (int(a), int(b)) for a, b, v in zip(*trees.parents_of, strict=True)}
    for tree, leaves in enumerate(trees.leaves(trees.codes(X))):
        for row, leaf in zip(X, leaves, strict=True):
            node = trees.starts[tree]
            while trees.column[node] != LEAF:
                j = trees.column[node]
                missing = row[j] < 0 if j in LEVELS else np.isnan(row[j])
                value = (3 if j in LEVELS else trees.means[j]) if missing else row[j]
                node = children[int(node)][int(value > trees.cuts[j][trees.cut[node]])]
            assert trees.leaf[node] == leaf


def test_a_level_never_seen_falls_with_what_is_missing() -> None:
    X, y, w = draw(0)
    trees = grow(X, y, w)
    missing, unseen = X.copy(), X.copy()
    missing[:, 2], unseen[:, 2] = -1, 3
    assert [a.tolist() for a in trees.leaves(trees.codes(missing))] == [
        b.tolist() for b in trees.leaves(trees.codes(unseen))
    ]


def test_counts_of_other_trees_are_refused() -> None:
    X, y, w = draw(0)
    some, others = (LeafCounts.gather(grow(X, y, w, random), X, y, 3, w) for random in (True, False))
    with pytest.raises(StatisticsError, match="leaves of different trees"):
        some + others
    with pytest.raises(StatisticsError, match="negative count"):
        LeafCounts.gather(some.trees, X[:5], y[:5], 3, w[:5]) - some
    again = LeafCounts.gather(grow(X, y, w, True), X, y, 3, w)
    np.testing.assert_allclose((some + again).weight, 2 * some.weight)


@given(seeds, st.sampled_from(sorted(BELIEFS)))
def test_beliefs_are_probabilities(seed: int, name: str) -> None:
    X, y, w = draw(seed)
    table = BELIEFS[name].of_leaves(LeafCounts.gather(grow(X, y, w), X, y, 3, w))
    assert (table > 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-12)


@given(seeds, st.sampled_from([Leaves(0.5), Leaves(2.0, 0.01)]))
def test_leaving_a_row_out_equals_subtracting_it(seed: int, belief: Leaves) -> None:
    X, y, _ = draw(seed)
    ones = np.ones(len(X))
    trees = grow(X, y, ones)
    whole = LeafCounts.gather(trees, X, y, 3, None)
    q, r = belief.left_out(whole)
    row = seed % len(X)
    without = belief.of_leaves(whole - LeafCounts.gather(trees, X[[row]], y[[row]], 3, None))
    for leaves in trees.leaves(trees.codes(X[[row]])):
        expected = q[leaves[0]] - r[leaves[0]] * np.eye(3)[y[row]]
        np.testing.assert_allclose(without[leaves[0]], expected, atol=1e-12)


def prunings(node: int, children: dict[int, tuple[int, int]], evidence: np.ndarray):
    """Every pruning of the tree below a node: its prior times its evidence, and its leaves."""
    if node not in children:
        yield evidence[node], [node]
        return
    yield evidence[node] / 2, [node]
    both = product(*(list(prunings(child, children, evidence)) for child in children[node]))
    for (first, some), (second, others) in both:
        yield first * second / 2, some + others


@given(seeds)
def test_all_prunings_equal_their_enumeration(seed: int) -> None:
    X, y, w = draw(seed, rows=25)
    trees = grow(X, y, w, random=False, trees=2, least=4)
    counts = LeafCounts.gather(trees, X, y, 3, w)
    n, table = counts.of_nodes, Prunings().of_leaves(counts)
    evidence = np.exp((gammaln(n + 1 / 3) - gammaln(1 / 3)).sum(axis=1) - gammaln(n.sum(axis=1) + 1))
    children = {int(v): (int(a), int(b)) for a, b, v in zip(*trees.parents_of, strict=True)}
    own = (n + 1 / 3) / (n.sum(axis=1, keepdims=True) + 1)
    for root in trees.starts[:-1].tolist():
        every = list(prunings(root, children, evidence))
        total = sum(weight for weight, _ in every)
        leaves = [v for v in children if v >= root] and [v for v in every[-1][1] if v not in children]
        for leaf in leaves:
            path = [leaf]
            while trees.parent[path[-1]] != path[-1]:
                path.append(int(trees.parent[path[-1]]))
            ends = (next(v for v in path if v in kept) for _, kept in every)
            expected = sum(weight * own[v] for (weight, _), v in zip(every, ends, strict=True)) / total
            np.testing.assert_allclose(table[trees.leaf[leaf]], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("random", "rows", "expected"),
    [(False, 1000, None), (True, 5000, None), (False, 1001, 254), (True, 10_001, 254)],
)
def test_columns_of_many_rows_are_cut_between_bins(random: bool, rows: int, expected: int | None) -> None:
    growth = Growth(random, 3)
    assert growth.most_cuts(rows) == expected
    X, y, w = draw(0, rows)
    units = Units.of(X, {2: 3}, w, growth.most_cuts(rows))
    trees = grown(growth, units, X, y, w)
    assert bool(units.bins) == (expected is not None)
    if expected is not None:
        assert max(map(len, trees.cuts[:2])) <= expected
    assert set(trees.cuts[2]) <= {0.5, 1.5, 2.5}


@given(st.lists(st.one_of(st.integers(1, 5), st.integers(1, 2000)), min_size=1, max_size=400), st.integers(4, 255))
def test_bins_are_no_more_than_allowed_and_frequent_values_stand_alone(counts: list[int], most: int) -> None:
    starts = bin_starts(np.array(counts), most)
    assert starts[0] == 0
    assert len(starts) <= most or len(counts) <= most
    frequent = np.flatnonzero(np.array(counts) * most > 3 * sum(counts))
    assert set(frequent) <= set(starts)
    assert {k + 1 for k in frequent if k + 1 < len(counts)} <= set(starts)
