"""Fitted models elsewhere: as an ONNX graph that other programs run, as a query that databases run; and from files.

A file can be loaded only when the classes in it are declared, and they are when their modules are imported: an
estimator that is not imported by those below needs a line here.
"""

import classwise.comparison
import classwise.comparison.stack  # noqa: F401
from classwise.export.onnx_graph import to_onnx
from classwise.export.sql import to_sql
from classwise.storage import load

__all__ = ["load", "to_onnx", "to_sql"]
