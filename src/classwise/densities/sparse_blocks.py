"""From statistics of a sparse matrix to a density: one block of all columns, with no look at any one of them."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Labels
from classwise.densities.absence import Constant
from classwise.densities.blocks import Blocks, LeftOut, refuse_silent, why_constant, yes_or_no
from classwise.densities.count_data import Binomial
from classwise.densities.density import Block, Density, Product
from classwise.densities.smoothing import Smoothed
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics


class SparseBlocks(Blocks):
    """Statistics of columns that are all alike. Columns that never vary say nothing, except for a bag of counts."""

    def density(self) -> Density:
        """The density over all columns."""
        makers = {
            "gaussian": self._gaussian,
            "poisson": self._poisson,
            "bernoulli": self._bernoulli,
            "multinomial": self._multinomial,
            "complement": self._complement,
        }
        make, count = makers[self.statistics.schema.columns[0].family.name], len(self.statistics.schema)
        kept = np.flatnonzero(~self._still)
        if not len(kept):
            refuse_silent(self.statistics)
        if len(kept) == count:
            return _for_sparse(make(self.statistics))
        block = Block(kept, _for_sparse(make(self.statistics.part(kept.tolist()))))
        others = np.flatnonzero(self._still)
        return Product((block, Block(others, Constant(self._values[others], len(self.statistics.labels)))))

    def levels(self) -> dict[int, Labels]:
        return {}

    @cached_property
    def _still(self) -> NDArray[np.bool_]:
        """Which columns are left out: those that hold one value in all rows; (p,) of bool."""
        family, statistics = self.statistics.schema.columns[0].family.name, self.statistics
        if family == "gaussian":
            return np.asarray(statistics.moments.constant())
        never = np.logical_not(np.any(statistics.sums.total, axis=0))
        return never if family == "poisson" else np.zeros(len(never), dtype=bool)

    @cached_property
    def _values(self) -> Array:
        """The mean of each column over all rows, which is its value where it has only one; (p,)."""
        is_gaussian = self.statistics.schema.columns[0].family.name == "gaussian"
        return self.statistics.moments.overall_mean() if is_gaussian else np.zeros(len(self.statistics.schema))

    @cached_property
    def left_out(self) -> LeftOut:
        constants = {int(j): float(self._values[j]) for j in np.flatnonzero(self._still)}
        return LeftOut(why_constant(constants), constants, {})

    def left_out_notes(self) -> dict[int, str]:
        return {}  # too many columns may never hold a value

    def _bernoulli(self, part: ClassStatistics) -> Binomial:
        """Whether a value is there: one trial."""
        self.evidence.append(None)
        weight, mean = self._rates(part)
        return Binomial.estimate(weight, mean, np.ones(mean.shape[1]), self.options.smoothing)

    def _counted(self) -> dict[str, Callable[[ClassStatistics], Smoothed]]:
        return {
            **super()._counted(),
            "bernoulli": lambda part: yes_or_no(*self._rates(part), np.ones(len(part.schema))),
        }

    def _valued(self, family: str) -> list[int]:
        return np.flatnonzero(~self._still).tolist()

    def _rates(self, part: ClassStatistics) -> tuple[Array, Array]:
        weight = np.broadcast_to(part.weight[:, None], part.sums.total.shape)
        return weight, part.sums.total / weight

    def _sums(self, part: ClassStatistics) -> Array:
        return part.sums.total


def _for_sparse(density: Density) -> Density:
    if density.polynomial() is None:
        raise ClasswiseError(
            f"A sparse matrix cannot be scored with {type(density).__name__} columns; use estimate='mle' or "
            "'unbiased', or give X.toarray()."
        )
    return density
