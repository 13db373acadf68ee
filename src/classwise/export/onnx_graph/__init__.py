"""A fitted model as an ONNX graph, which other programs run."""

from classwise.export.onnx_graph.onnx_model import to_onnx

__all__ = ["to_onnx"]
