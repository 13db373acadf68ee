"""2. A density is what a statistic lets us believe about a class."""

from classwise.densities.constant import Constant
from classwise.densities.density import Density
from classwise.densities.gaussian import Gaussian
from classwise.densities.product import Block, Product

__all__ = ["Block", "Constant", "Density", "Gaussian", "Product"]
