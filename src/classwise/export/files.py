"""Loading: with every class declared that a file may hold.

A file can be read only when the classes in it are declared, and they are when their modules are imported: a new
estimator that is not imported by these needs a line here.
"""

import classwise.comparison
import classwise.comparison.stack  # noqa: F401
from classwise.storage import load

__all__ = ["load"]
