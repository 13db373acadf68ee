"""Trees in an ONNX graph: the leaf of each row in each tree, and the mean over trees of what is believed of it.

TreeEnsembleRegressor compares doubles, but adds up in float32: it gives the number of the leaf alone, which
float32 holds exactly. Beliefs are then looked up and added as doubles.
"""

from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.export.onnx_graph.graph import ML_DOMAIN, Graph, Tensor, load_onnx
from classwise.export.onnx_graph.input_rows import GraphRows
from classwise.statistics.trees import LEAF, Trees

# Beliefs are looked up for this many trees at once.
GROUP_OF_TREES = 16

# Whole numbers up to this are exact in float32.
MOST_LEAVES = 1 << 24


def forest_mean(trees: Trees, beliefs: Array, rows: GraphRows) -> Tensor:
    """The mean over trees of beliefs (L, g) of the leaf that a row falls into; (n, g)."""
    if int(np.diff(trees.leaf_starts).max()) > MOST_LEAVES:
        raise ClasswiseError(f"A tree of more than {MOST_LEAVES} leaves cannot be exported to ONNX; raise min_leaf.")
    graph = rows.graph
    if not (trees.column != LEAF).any():  # nothing but roots: no cut, and nothing to look at
        first = rows.part([0])
        one = first.codes(0).cast(np.float64).widen(1) if 0 in trees.levels else first.numbers()
        mean = beliefs[trees.leaf_starts[:-1]].mean(axis=0)
        return one.is_nan().where(0.0, one * 0.0) @ np.zeros((1, len(mean))) + mean[None]
    leaves = _leaves(trees, _values(trees, rows), graph)
    table, total = graph.constant(beliefs), None
    for start in range(0, len(trees), GROUP_OF_TREES):
        group = np.arange(start, min(start + GROUP_OF_TREES, len(trees)))
        of_group = table.take(leaves.take(group, 1), 0).sum(1)
        total = of_group if total is None else total + of_group
    assert total is not None
    return total / float(len(trees))


def _values(trees: Trees, rows: GraphRows) -> Tensor:
    """The columns that trees cut, and the others as 0: codes of levels, numbers with means where they are missing."""
    graph, parts = rows.graph, []
    for j in range(len(trees.cuts)):
        if not len(trees.cuts[j]):
            continue
        if j in trees.levels:  # levels never seen, and missing ones, have the next codes
            parts.append(rows.part([j]).codes(0).cast(np.float64).widen(1))
            continue
        numbers = rows.part([j]).numbers()
        graph.refuse(graph.node("IsInf", numbers))
        parts.append(numbers.is_nan().where(float(trees.means[j]), numbers))
    return graph.concat(parts)


def _leaves(trees: Trees, values: Tensor, graph: Graph) -> Tensor:
    """The number of the leaf of each row among all leaves, tree by tree; (n, q) -> (n, t)."""
    is_leaf = trees.column == LEAF
    place = np.cumsum([len(of) > 0 for of in trees.cuts]) - 1  # among the columns that are cut
    held = np.array([len(of) for of in trees.cuts])
    offsets, cuts = np.concatenate([[0], np.cumsum(held)]), np.concatenate([*trees.cuts, [0.0]])
    inner = np.where(is_leaf, 0, trees.column)
    thresholds = np.where(is_leaf, 0.0, cuts[np.where(is_leaf, 0, offsets[inner] + trees.cut)])
    own, ends = trees.tree_of, np.flatnonzero(is_leaf)
    within = trees.leaf[ends] - trees.leaf_starts[own[ends]]
    attributes: dict[str, Any] = {
        "n_targets": len(trees),
        "nodes_treeids": own,
        "nodes_nodeids": np.arange(len(own)) - trees.starts[own],
        "nodes_featureids": np.where(is_leaf, 0, place[inner]),
        "nodes_truenodeids": np.where(is_leaf, 0, trees.left),
        "nodes_falsenodeids": np.where(is_leaf, 0, trees.right),
        "target_treeids": own[ends],
        "target_nodeids": ends - trees.starts[own[ends]],
        "target_ids": own[ends],
    }
    attributes = {name: np.asarray(of).tolist() for name, of in attributes.items()}
    attributes["nodes_modes"] = np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist()
    as_tensor = load_onnx().numpy_helper.from_array
    attributes["nodes_values_as_tensor"] = as_tensor(thresholds, "cuts")
    attributes["target_weights_as_tensor"] = as_tensor(within.astype(np.float64), "leaves")
    numbers = graph.node("TreeEnsembleRegressor", values, domain=ML_DOMAIN, **attributes)
    return numbers.cast(np.int64) + trees.leaf_starts[None, :-1].astype(np.int64)
