"""Which structure? By BIC, the likelihood of the rows at a price for parameters.

BIC = m log n - 2 log L      (Schwarz 1978; m: free parameters, n: rows, L: the greatest likelihood)

The structure of the least BIC is chosen: -BIC / 2 estimates the log evidence of the rows.
"""

from dataclasses import dataclass
from math import log

import numpy as np

from classwise.arrays import Array
from classwise.storage import stored
from classwise.tabular import Cells, aligned, html_table


@stored("StructureTable", loose=("log_likelihood", "parameters"))
@dataclass(frozen=True, eq=False, repr=False)
class StructureTable:
    """Structures that were tried, from the simplest to the richest, and how likely they make the rows.

    names (s,); log_likelihood (s,): of the rows given their classes, -inf where a structure cannot be fitted;
    parameters (s,): how many numbers are free, NaN where it cannot; weight: of the rows.
    """

    names: tuple[str, ...]
    log_likelihood: Array
    parameters: Array
    weight: float

    def _is_sound(self) -> bool:
        shaped = self.log_likelihood.shape == self.parameters.shape == (len(self.names),)
        likely = not np.isnan(self.log_likelihood).any() and bool((self.log_likelihood < np.inf).all())
        return shaped and likely and self.weight > 0 and bool(np.isfinite(self.bic).any())

    @property
    def bic(self) -> Array:
        """parameters log n - 2 log-likelihood, inf where a structure cannot be fitted; (s,)."""
        return np.asarray(np.nan_to_num(self.parameters) * log(self.weight) - 2 * self.log_likelihood)

    @property
    def best(self) -> str:
        """The structure of the least BIC; of equals, the simplest."""
        return self.names[int(self.bic.argmin())]

    def cells(self) -> Cells:
        """The table as text, the header first."""
        rows = zip(self.names, self.parameters, self.log_likelihood, self.bic, strict=True)
        header = ("structure", "parameters", "log-likelihood", "BIC")
        return [header, *((name, decimals(m, 0), decimals(height), decimals(bic)) for name, m, height, bic in rows)]

    def __repr__(self) -> str:
        return "\n".join([*aligned(self.cells()), f"{self.best} has the least BIC."])

    def _repr_html_(self) -> str:
        return html_table(self.cells()) + f"<p>{self.best} has the least BIC.</p>"


def decimals(value: float, digits: int = 2) -> str:
    """A number of a table; nothing where there is none."""
    return f"{value:.{digits}f}" if np.isfinite(value) else ""
