"""What is believed of the classes in a leaf, from counts n_v (g,) of weight N_v at the nodes v above it.

    leaves     p_v = (n_v + s p_parent) / (N_v + s),    at the root (n + 1) / (N + g)

draws every node toward the one above it by s rows. All prunings of the tree are averaged over exactly, each node being
a leaf or not with even odds (Willems, Shtarkov and Tjalkens 1995; Buntine 1992):

    prunings   p = sum over the path of  w_v  prod above (1 - w_u)  (n_v + 1/g) / (N_v + 1)
               P_w = P_e/2 + P_w(left) P_w(right)/2,  at a leaf P_e;    w_v = P_e / (2 P_w),  at a leaf 1

where P_e is the evidence of the labels at a node under a Dirichlet prior whose mass is 1 in all.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array, Codes
from classwise.statistics.statistic import ROUNDING
from classwise.statistics.trees import LEAF, LeafCounts, Trees
from classwise.storage import stored


@dataclass(frozen=True, eq=False)
class Paths:
    """The nodes that rows pass in one tree, root first, their leaf again and again at the end; (D, m).

    classes and weights (m,): of the rows, each of which is left out of the counts that it meets itself.
    """

    counts: LeafCounts
    nodes: Codes
    classes: Codes
    weights: Array

    @classmethod
    def to(cls, ends: Codes, counts: LeafCounts, classes: Codes, weights: Array) -> "Paths":
        """From the root to the nodes at which rows end (m,)."""
        trees = counts.trees
        nodes = np.empty((int(trees.depth[ends].max()) + 1, len(ends)), dtype=np.intp)
        for depth in range(len(nodes))[::-1]:
            ends = np.where(trees.depth[ends] > depth, trees.parent[ends], ends)
            nodes[depth] = ends
        return cls(counts, nodes, classes, weights)

    def without(self, depth: int) -> Array:
        """The weight of each class without the row, at the node that it passes at some depth; (m, g)."""
        n, own = self.counts.of_nodes[self.nodes[depth]], (np.arange(len(self.classes)), self.classes)
        left = n[own] - self.weights
        n[own] = np.where(left <= ROUNDING * n[own], 0.0, left)
        return n


class Belief(ABC):
    """From counts to the probability of each class."""

    @abstractmethod
    def of_nodes(self, counts: LeafCounts) -> Array:
        """P(k | node), as if the tree were cut off there; (N, g)."""

    def of_leaves(self, counts: LeafCounts) -> Array:
        """P(k | leaf); (L, g)."""
        return np.asarray(self.of_nodes(counts)[counts.trees.column == LEAF])

    @abstractmethod
    def leaving_out(self, counts: LeafCounts) -> Callable[[Paths], Array]:
        """From paths of rows in a tree to P(k | leaf) if the row itself had not been counted; (m, g)."""


@stored("LeafBelief")
@dataclass(frozen=True)
class Leaves(Belief):
    """strength: how many rows a node is drawn by toward the one above it; uniform: the share of even odds mixed in."""

    strength: float = 0.5
    uniform: float = 0.0

    def _is_sound(self) -> bool:
        return self.strength > 0 and 0 <= self.uniform < 1

    def of_nodes(self, counts: LeafCounts) -> Array:
        trees, n = counts.trees, counts.of_nodes
        p = np.empty_like(n)
        roots, *below = trees.by_depth
        p[roots] = _root(n[roots])
        for nodes in below:
            p[nodes] = self._drawn(n[nodes], p[trees.parent[nodes]])
        return self._mixed(p)

    def leaving_out(self, counts: LeafCounts) -> Callable[[Paths], Array]:
        def posterior(paths: Paths) -> Array:
            p = _root(paths.without(0))
            for depth in range(1, len(paths.nodes)):
                moved = (paths.nodes[depth] != paths.nodes[depth - 1])[:, None]
                p = np.where(moved, self._drawn(paths.without(depth), p), p)
            return self._mixed(p)

        return posterior

    def _drawn(self, n: Array, above: Array) -> Array:
        """Counts (m, g) drawn toward what is believed of the node above (m, g)."""
        return np.asarray((n + self.strength * above) / (n.sum(axis=1, keepdims=True) + self.strength))

    def _mixed(self, p: Array) -> Array:
        return (1 - self.uniform) * p + self.uniform / p.shape[1]

    def left_out(self, counts: LeafCounts) -> tuple[Array, Array]:
        """(q, r) at leaves, (L, g) and (L,): a row of class y and weight one, left out of all counts, has q - r e_y.

        q_v = (n_v + s q_parent) / (N_v - 1 + s),    r_v = (1 + s r_parent) / (N_v - 1 + s)
        at the root (n + 1) / (N - 1 + g) and 1 / (N - 1 + g)

        Of leaves that hold the row; where none falls, they mean nothing.
        """
        trees, n, s = counts.trees, counts.of_nodes, self.strength
        q, r = np.empty_like(n), np.empty(len(n))
        roots, *below = trees.by_depth
        others = n[roots].sum(axis=1) - 1 + n.shape[1]
        q[roots], r[roots] = (n[roots] + 1) / others[:, None], 1 / others
        for nodes in below:
            above = trees.parent[nodes]
            others = np.maximum(n[nodes].sum(axis=1) - 1, 0.0) + s
            q[nodes] = (n[nodes] + s * q[above]) / others[:, None]
            r[nodes] = (1 + s * r[above]) / others
        leaves, mixed = trees.column == LEAF, self.uniform / n.shape[1]
        return (1 - self.uniform) * q[leaves] + mixed, (1 - self.uniform) * r[leaves]


def _root(n: Array) -> Array:
    """What is believed at a root, from counts (m, g)."""
    return np.asarray((n + 1) / (n.sum(axis=1, keepdims=True) + n.shape[1]))


@stored("PruningsBelief")
@dataclass(frozen=True)
class Prunings(Belief):
    """The average over every pruning of a tree, weighted by how probable it makes the labels."""

    def of_nodes(self, counts: LeafCounts) -> Array:
        trees, n = counts.trees, counts.of_nodes
        alone, subtree = self._evidence(counts)
        stops, own = _stops(alone, subtree), _own(n)
        p, reached = np.zeros_like(n), np.ones(len(n))  # p: of the prunings that stop above
        for nodes in trees.by_depth[1:]:
            above = trees.parent[nodes]
            reached[nodes] = reached[above] * (1 - stops[above])
            p[nodes] = p[above] + (reached[above] * stops[above])[:, None] * own[above]
        return np.asarray(p + reached[:, None] * own)

    def leaving_out(self, counts: LeafCounts) -> Callable[[Paths], Array]:
        subtree, sibling = self._evidence(counts)[1], _siblings(counts.trees)

        def posterior(paths: Paths) -> Array:
            n = [paths.without(depth) for depth in range(len(paths.nodes))]
            alone = np.array([_log_evidence(of) for of in n])
            below = alone.copy()
            for depth in range(len(n) - 1)[::-1]:  # off the path nothing changes
                down = paths.nodes[depth + 1]
                both = np.logaddexp(alone[depth], below[depth + 1] + subtree[sibling[down]]) - np.log(2)
                below[depth] = np.where(down != paths.nodes[depth], both, alone[depth])
            stops = np.where(counts.trees.column[paths.nodes] == LEAF, 1.0, _stops(alone, below))
            p, reached = np.zeros_like(n[0]), np.ones(len(paths.classes))
            for depth, of in enumerate(n):
                p += (reached * stops[depth])[:, None] * _own(of)
                reached *= 1 - stops[depth]
            return p

        return posterior

    def _evidence(self, counts: LeafCounts) -> tuple[Array, Array]:
        """log P_e and log P_w at every node; (N,) each."""
        trees, alone = counts.trees, _log_evidence(counts.of_nodes)
        subtree = alone.copy()
        left, right, inner = trees.parents_of
        for depth in trees.by_depth[::-1]:
            nodes = depth[trees.column[depth] != LEAF]
            if len(nodes):
                places = np.searchsorted(inner, nodes)
                both = subtree[left[places]] + subtree[right[places]]
                subtree[nodes] = np.logaddexp(alone[nodes], both) - np.log(2)
        return alone, subtree


def _own(n: Array) -> Array:
    """What the counts of nodes (m, g) say by themselves."""
    return np.asarray((n + 1 / n.shape[1]) / (n.sum(axis=1, keepdims=True) + 1))


def _stops(alone: Array, subtree: Array) -> Array:
    """w_v: the share of the prunings of the tree below v that end at v, were there one; from log P_e and log P_w."""
    return np.asarray(np.exp(np.minimum(alone - subtree, np.log(2))) / 2)


def _siblings(trees: Trees) -> Codes:
    """The other child of the parent of each node; of a root, itself; (N,)."""
    sibling = np.arange(len(trees.column))
    left, right, _ = trees.parents_of
    sibling[left], sibling[right] = right, left
    return sibling


def _log_evidence(n: Array) -> Array:
    """log P_e of counts (N, g): Γ(1)/Γ(N + 1) prod Γ(n_k + 1/g) / Γ(1/g); (N,)."""
    share = 1 / n.shape[1]
    return np.asarray((gammaln(n + share) - gammaln(share)).sum(axis=1) - gammaln(n.sum(axis=1) + 1))


BELIEFS: Mapping[str, Belief] = {
    "leaves": Leaves(0.5),
    "pure leaves": Leaves(1e-6, 0.01),
    "prunings": Prunings(),
}
