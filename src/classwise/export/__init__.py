"""Fitted models elsewhere: as an ONNX graph, a query of a database, a file of code in another program; and from files.

A file can be loaded only when the classes in it are declared, and they are when their modules are imported: an
estimator that is not imported by those below needs a line here.
"""

import classwise.comparison
import classwise.comparison.stack  # noqa: F401
from classwise.export.onnx_graph import to_onnx
from classwise.export.sql import to_sql
from classwise.export.standalone import to_js, to_python
from classwise.storage import load

__all__ = ["load", "to_js", "to_onnx", "to_python", "to_sql"]
