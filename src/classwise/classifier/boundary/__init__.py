"""The same classifier as polynomials.

g_k(x)  = x'A x + b'x + c        log_joint of class k, up to a constant all classes share
f_ij(x) = g_i(x) - g_j(x) = x'W x + w'x + w0    positive where class i wins over class j
"""

from classwise.classifier.boundary.functions import Boundary, Discriminant, boundary, discriminant
from classwise.classifier.boundary.section import Section, column_names, read_section

__all__ = ["Boundary", "Discriminant", "Section", "boundary", "column_names", "discriminant", "read_section"]
