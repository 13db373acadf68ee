"""Pictures, by matplotlib, which is loaded when the first is drawn."""

from classwise.plot.comparison import draw_comparison
from classwise.plot.reliability import draw_reliability

__all__ = ["draw_comparison", "draw_reliability"]
