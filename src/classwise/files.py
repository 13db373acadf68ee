"""Loading: with every class declared that a file may hold.

A file can be read only when the classes in it are declared, and they are when their modules are imported: a new
estimator that is not imported by these needs a line here.
"""

import classwise.auto
import classwise.comparison  # noqa: F401  and with it the estimators, densities and statistics
from classwise.storage import load

__all__ = ["load"]
