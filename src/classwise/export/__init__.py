"""Fitted models elsewhere: as a graph that other programs run, and as a query that databases run."""

from classwise.export.onnx_graph.model import to_onnx
from classwise.export.sql import to_sql

__all__ = ["to_onnx", "to_sql"]
