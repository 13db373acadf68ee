"""Choosing by evidence, from statistics alone."""

from classwise.selection.families import Choice, choose_families

__all__ = ["Choice", "choose_families"]
