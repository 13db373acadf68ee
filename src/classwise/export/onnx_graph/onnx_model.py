"""A fitted model as an ONNX model: inputs in, label and probabilities out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from classwise.arrays import Labels
from classwise.classifier.bayes import Model
from classwise.classifier.decision import Policy
from classwise.comparison.stack.stack_model import StackModel
from classwise.errors import ClasswiseError, choose
from classwise.estimators import Decision, model_within
from classwise.estimators.answers import refuse_wide
from classwise.estimators.decisions import read_policy
from classwise.export.novelty import DistanceRule, EvidenceRule, novelty_rule
from classwise.export.onnx_graph.bayes_rule import GraphPosterior, decided, label_values, posterior, unscorable_label
from classwise.export.onnx_graph.graph import OPSET, Graph, load_onnx
from classwise.export.onnx_graph.input_rows import GraphColumn, InputRows, Layout, refuse_levels
from classwise.export.onnx_graph.novelty import is_novel
from classwise.logistic import LogisticModel
from classwise.rows.schema import Schema
from classwise.statistics.moments import LARGEST

DTYPES: dict[Any, Any] = {"float64": np.float64, "float32": np.float32}
INPUTS: dict[Any, bool | None] = {None: None, "matrix": True, "columns": False}


def to_onnx(
    model: Any,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    opset: int | None = None,
    inputs: Literal["matrix", "columns"] | None = None,
    outputs: tuple[str, str] = ("label", "probabilities"),
    missing: str | Sequence[str] = "",
) -> Any:
    """A fitted model as an ONNX model (onnx.ModelProto), for onnxruntime and others.

    Parameters
    ----------
    model : estimator
        An estimator, or a Decision (including its costs, reject and novelty).
    dtype : {"float64", "float32"}, default="float64"
        "float64" or "float32", of the numbers that go in and of the probabilities. Inside all is float64.
    opset : int, optional
        The version of ONNX's operators; by default 18, which onnxruntime 1.15 and later run.
    inputs : {"matrix", "columns"}, optional
        "matrix", one input X (n, p) of numbers; "columns", one input (n, 1) for each column, by its name.
        By default a model of an array has a matrix, and a model of a table has columns.
    outputs : tuple of str, default=('label', 'probabilities')
        What the label (n,) and the probabilities (n, g) are called.
    missing : str or sequence of str, default=""
        The text, or texts, that stand for a missing value in columns of text; numbers that are missing are
        NaN.

    Returns
    -------
    onnx.ModelProto
        The graph.

    Notes
    -----
    ONNX has no dates, and reads no numbers such as 3,14. A column of them takes numbers, as `schema_` says: days since
    1970-01-01, for example. The metadata of the model says so too, under "conversions".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import classwise as cw
    >>> X, y = load_iris(return_X_y=True)
    >>> exported = to_onnx(cw.LDA().fit(X, y))
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(exported.SerializeToString())
    >>> label, probabilities = session.run(None, {"X": X[[0, 70]]})
    >>> label.tolist(), probabilities.round(3)
    ([0, 2], array([[1.   , 0.   , 0.   ],
           [0.   , 0.249, 0.751]]))
    """
    onnx = load_onnx()
    spec = _read(model)
    estimator = spec.estimator
    fitted, matrix = estimator.model_, choose("inputs", inputs, INPUTS)
    texts = (missing,) if isinstance(missing, str) else tuple(missing)
    layout = Layout(choose("dtype", dtype, DTYPES), _fits_matrix(fitted, matrix), texts)
    graph = Graph(_read_opset(opset))
    graph.whole = isinstance(spec.novelty, EvidenceRule)
    rows = _open_rows(graph, fitted, layout, strict=getattr(estimator, "missing", "") == "error", outputs=outputs)
    if isinstance(fitted, StackModel):
        _refuse_unsuitable(rows, fitted.schema)
    of = posterior(estimator._classifier, rows)
    labels = _write_outputs(of, rows, spec, layout, outputs)
    made = graph.model("classwise")
    _describe(made, estimator, fitted, labels)
    onnx.checker.check_model(made, full_check=True)
    return made


# What is exported -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DecisionSpec:
    """An estimator; output_labels: the classes, then that of rows not decided, then that of novel rows, where there are
    such; the policy to decide by, if not for the most probable label; which rows are novel.
    """

    estimator: Any
    output_labels: list[Any]
    policy: Policy | None = None
    novelty: EvidenceRule | DistanceRule | None = None


def _read(model: Any) -> DecisionSpec:
    """From an estimator, or a Decision about one."""
    if not isinstance(model, Decision):
        estimator = _estimator(model)
        ties = getattr(estimator, "ties", "first")
        if ties != "first":
            raise ClasswiseError(f"ties={ties!r} needs chance; use model.set_params(ties='first').")
        return DecisionSpec(estimator, estimator.classes_.tolist())
    estimator = _estimator(model)
    policy, novelty = read_policy(model.costs, model.reject, estimator.classes_), novelty_rule(model)
    labels = [*estimator.classes_.tolist(), *[model.reject_label_] * (model.reject is not None)]
    return DecisionSpec(estimator, [*labels, *[model.novel_label_] * (novelty is not None)], policy, novelty)


def _estimator(model: Any) -> Any:
    """The estimator that a model comes down to."""
    model = model_within(model)
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if not hasattr(getattr(model, "model_", None), "classifier"):
        raise ClasswiseError(
            "to_onnx takes a fitted classifier of classwise, or a Decision of one, not a "
            f"{type(model).__name__}; of a pipeline, export the last step."
        )
    refuse_wide(model.model_.schema)
    return model


def _read_opset(opset: Any) -> int:
    newest = load_onnx().defs.onnx_opset_version()
    if opset is None:
        return OPSET
    if isinstance(opset, (int, np.integer)) and OPSET <= opset <= newest:
        return int(opset)
    raise ClasswiseError(f"opset={opset!r} is not an option; give a number from {OPSET} to {newest}.")


def _fits_matrix(model: Model | LogisticModel, as_matrix: bool | None) -> bool:
    """Whether rows come as one matrix: as asked, or as they were fitted on."""
    text = [j for j, levels in model.levels.items() if levels.dtype.kind == "O"]
    if as_matrix and text:
        raise ClasswiseError(
            f"{model.schema.name(text[0])} holds text, which cannot stand in a matrix of numbers; use inputs='columns'."
        )
    return model.schema.names is None and not text if as_matrix is None else as_matrix


# Inputs and outputs ---------------------------------------------------------------------------------------------------


def _open_rows(
    graph: Graph, model: Model | LogisticModel, layout: Layout, strict: bool, outputs: tuple[str, str]
) -> InputRows:
    """The rows as they enter the graph."""
    count = len(model.schema)
    names = ["X"] if layout.matrix else list(model.schema.names or (f"x{j}" for j in range(count)))
    _refuse_names(names, outputs)
    graph.reserve(*names, *outputs)
    matrix = graph.input("X", layout.dtype, count) if layout.matrix else None
    sources = []
    has_gaps = isinstance(model, StackModel)  # which does not know of each column whether it had some
    for j in range(count):
        levels = model.levels.get(j)
        dtype = layout.dtype if layout.matrix else layout.column_type(levels, has_gaps or model.missing[j] > 0)
        if levels is not None:
            refuse_levels(model.schema.name(j), levels, dtype, layout.missing)
        value = None if layout.matrix else graph.input(names[j], dtype, 1)
        sources.append(GraphColumn(value, dtype, levels))
    return InputRows(graph, strict, tuple(sources), tuple(range(count)), matrix, layout.missing)


def _refuse_unsuitable(rows: InputRows, schema: Schema) -> None:
    """A stack refuses values that no density could take, whichever of its members look at them."""
    for j, column in enumerate(schema):
        if rows.has_levels(j):
            continue
        values, family = rows.part([j]).numbers(), column.family
        rows.graph.refuse(rows.graph.node("Abs", values) > LARGEST)
        if family.name == "lognormal":
            rows.graph.refuse(values < 0.0, values.equals(0.0))
        if family.kind == "count":
            rows.graph.refuse(values < 0.0, values > values.floor(), values > float(family.trials or np.inf))


def _refuse_names(inputs: list[str], outputs: tuple[str, str]) -> None:
    """An error where two values would have one name, or one has none."""
    clash = [name for name in outputs if name in inputs]
    if clash:
        raise ClasswiseError(
            f"The column {clash[0]!r} has the name of an output; name the outputs otherwise, such as "
            "outputs=('decision', 'posterior')."
        )
    if outputs[0] == outputs[1] or "" in (*inputs, *outputs):
        raise ClasswiseError(
            f"Inputs and outputs need names that differ, and are not empty; outputs={outputs!r}, columns {inputs[:8]}."
        )


def _write_outputs(
    of: GraphPosterior,
    rows: InputRows,
    spec: DecisionSpec,
    layout: Layout,
    outputs: tuple[str, str],
) -> Labels:
    """Label and probabilities; the labels are the classes, those of rows not decided, and of no score."""
    known, graph, policy = label_values(spec.output_labels), of.graph, spec.policy
    labels = np.append(known, np.array([unscorable_label(known)], dtype=known.dtype))
    code, scorable = of.code if policy is None else decided(of, policy), of.scorable
    if spec.novelty is not None:
        novel, is_known = is_novel(spec.novelty, of, rows)
        code, scorable = novel.squeeze(1).where(np.array(len(known) - 1), code), scorable & is_known
    code = scorable.squeeze(1).where(code, np.array(len(known)))
    graph.output(outputs[0], graph.constant(labels).take(code, 0), str if labels.dtype == object else np.int64)
    probabilities = of.scorable.where(of.probabilities, np.nan).cast(layout.dtype)
    graph.output(outputs[1], probabilities, layout.dtype, len(spec.estimator.classes_))
    return labels


def _describe(made: Any, estimator: Any, model: Model | LogisticModel, labels: Labels) -> None:
    """What made the model, and what its numbers mean."""
    library = version("classwise")
    made.producer_name, made.producer_version = "classwise", library
    made.doc_string = repr(estimator)
    facts = {
        "labels": model.classifier.labels.tolist(),
        "columns": list(model.schema.names or range(len(model.schema))),
        "unscorable_label": labels.tolist()[-1],
    }
    conversions = {str(c.name or j): c.note for j, c in enumerate(model.schema) if c.conversion is not None}
    facts |= {"conversions": conversions} if conversions else {}
    properties = {name: json.dumps(fact, ensure_ascii=False) for name, fact in facts.items()}
    load_onnx().helper.set_model_props(made, {"classwise_version": library, **properties})
