"""The structure of covariances, chosen by cross-validated log loss."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, sums_by
from classwise.classifier.plan import BlockPlan
from classwise.covariance import StructureTable
from classwise.covariance.structure_table import decimals
from classwise.densities.blocks import refuse_constant
from classwise.densities.undecided import Undecided
from classwise.engines.progress import progress
from classwise.selection.choice import Choice
from classwise.selection.crossing import Crossing, selection_weights
from classwise.storage import stored
from classwise.tabular import Cells, aligned, html_table


@stored("StructureChoice", loose=("by_fold",))
@dataclass(frozen=True, eq=False, repr=False)
class StructureChoice(Choice[str]):
    """The log loss of every structure, from the richest to the simplest, and the best: of equals, the simplest.

    table: the same structures, fitted to all rows, with their likelihood and BIC.
    """

    what = "structures"
    attribute = "_structure_choice"

    table: StructureTable

    def _is_sound(self) -> bool:
        return self.by_fold.shape[1:] == (len(self.table.names),) and super()._is_sound()

    @property
    def names(self) -> tuple[str, ...]:
        """The structures, in the order of the losses."""
        return self.table.names[::-1]

    def value(self, position: int) -> str:
        return self.names[position]

    def options(self, value: str) -> dict[str, Any]:
        return {"structure": value}

    def settled(self, plan: BlockPlan, value: str) -> BlockPlan:
        return plan.learning(plan.numbers.settled(value)) if isinstance(plan.numbers, Undecided) else plan

    def cells(self) -> Cells:
        """The table as text, the header first."""
        losses = ["log loss", *(decimals(loss, 4) for loss in self.log_loss[::-1])]
        return [(*row, loss) for row, loss in zip(self.table.cells(), losses, strict=True)]

    def __repr__(self) -> str:
        return "\n".join([*aligned(self.cells()), f"{self.best} has the least log loss of rows held out."])

    def _repr_html_(self) -> str:
        return html_table(self.cells()) + f"<p>{self.best} has the least log loss of rows held out.</p>"


def choose_structure(plan: BlockPlan, crossing: Crossing) -> StructureChoice:
    """Every structure that the plan leaves open, on rows of each fold by the statistics of the others."""
    numbers = plan.numbers
    assert isinstance(numbers, Undecided)
    total = crossing.statistics.total()
    refuse_constant(total)
    table = plan.model(total).structures
    assert table is not None
    weights = selection_weights(plan.priors, crossing)
    plans = [plan.learning(candidate) for _, candidate in reversed(numbers.candidates)]
    losses = _losses(plans, table, crossing, weights)
    return StructureChoice(losses, sums_by(crossing.folds, weights, len(crossing)), table)


def _losses(plans: list[BlockPlan], table: StructureTable, crossing: Crossing, weights: Array) -> Array:
    """(folds, structures), infinite for those that cannot be fitted to all rows."""
    losses = np.full((len(crossing), len(plans)), np.inf)
    possible = np.flatnonzero(np.isfinite(table.log_likelihood[::-1])).tolist()
    started = crossing.started([plans[i] for i in possible])
    with progress("Choosing a structure", len(crossing) * len(possible)) as bar:
        for f, fold in enumerate(crossing.each()):
            for i, plan in zip(possible, started, strict=True):
                losses[f, i] = fold.loss(plan, weights)
                bar.step(table.names[::-1][i])
    return losses
