"""Densities: log p(x | k) as two parts, what differs between classes (n, g), and what is common to all of them (n,).

Missing values are integrated out.
"""

from typing import Any

import numpy as np

from classwise.export.standalone.python.numbers import UnscorableError, array, log_factorial, log_sum_exp

DENSITIES: dict[str, Any] = {}


def log_density(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """Relative (n, g), and common (n,)."""
    return DENSITIES[density["kind"]](density, rows)


# Columns that do not depend on each other -----------------------------------------------------------------------------


def product(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """The sum over blocks of columns."""
    parts = [log_density(block["density"], rows[:, block["columns"]]) for block in density["blocks"]]
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


def constant(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """Columns that say nothing."""
    return np.zeros((len(rows), density["classes"])), np.zeros(len(rows))


def categorical(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """log p of each level; -1, a missing one, stands last."""
    return sum(array(logs)[rows[:, j].astype(int)] for j, logs in enumerate(density["logs"])), np.zeros(len(rows))


def presence(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """Whether a number is there may depend on the class."""
    relative, common = log_density(density["numbers"], rows)
    gone = np.isnan(rows)[:, None, :]
    return relative + np.where(gone, array(density["absent"]), array(density["there"])).sum(axis=2), common


def unseen(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """Classes without rows have probability zero."""
    relative, common = log_density(density["seen"], rows)
    whole = np.full((len(rows), density["classes"]), -np.inf)
    whole[:, density["places"]] = relative
    return whole, common


def independent_student(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """Student-t, column by column."""
    freedom = array(density["freedom"])
    squares = (rows[:, None, :] - array(density["means"])) ** 2 / (array(density["shapes"]) * freedom)
    return np.nansum(array(density["scale"]) - 0.5 * (freedom + 1) * np.log1p(squares), axis=2), np.zeros(len(rows))


def lognormal(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """log N(log x) - log x."""
    if (rows <= 0).any():
        raise UnscorableError("Some values are not positive.")
    logs = np.log(rows)
    relative, common = log_density(density["logs"], logs)
    return relative, common - np.nansum(logs, axis=1)


# Counts: compared with the average class, so that large counts lose no digits -----------------------------------------


def poisson(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """x log(rate / average) - (rate - average)."""
    average = array(density["average"])
    _refuse_fractions(rows, np.inf)
    excess = array(density["values"]) - average
    terms = _times_log1p(rows[:, None, :], excess / average) - np.where(np.isnan(rows)[:, None, :], np.nan, excess)
    base = _times_log(rows, average) - average - log_factorial(rows)
    return np.nansum(terms, axis=2), np.nansum(base, axis=1)


def binomial(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """x log(chance / average) + (N - x) log((1 - chance) / (1 - average))."""
    average, trials = array(density["average"]), array(density["trials"])
    _refuse_fractions(rows, trials)
    excess, left = array(density["values"]) - average, trials - rows
    success, failure = excess / average, -excess / (1 - average)
    terms = _times_log1p(rows[:, None, :], success) + _times_log1p(left[:, None, :], failure)
    choices = log_factorial(trials) - log_factorial(rows) - log_factorial(left)
    base = choices + _times_log(rows, average) + _times_log1p(left, -average)
    return np.nansum(terms, axis=2), np.nansum(base, axis=1)


def multinomial(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """x log θ; where counts are missing, the others have a total of their own, and shares of it."""
    chance, held = array(density["chance"]), _held_counts(rows)
    with np.errstate(divide="ignore"):
        left = np.log((~np.isnan(rows)).astype(np.float64) @ chance.T)
        terms = _weighted(held, np.log(chance))
    whole = held.sum(axis=1)
    terms -= np.where(whole[:, None] > 0, whole[:, None] * left, 0.0)
    return terms, log_factorial(whole) - log_factorial(held).sum(axis=1)


def complement(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """Scores, which are no densities."""
    return _weighted(_held_counts(rows), array(density["weights"])), np.zeros(len(rows))


def _weighted(held: Any, weights: Any) -> Any:
    """The sum of each count times its weight, 0 for a count of 0; (m, p), (g, p) -> (m, g)."""
    with np.errstate(invalid="ignore"):
        return np.where(held[:, None, :] == 0, 0.0, held[:, None, :] * weights).sum(axis=2)


def _held_counts(rows: Any) -> Any:
    if (rows < 0).any():
        raise UnscorableError("Some counts are negative.")
    return np.where(np.isnan(rows), 0.0, rows)


def _times_log1p(x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 where x is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x == 0, 0.0, x * np.log1p(y))


def _times_log(x: Any, y: Any) -> Any:
    """x log y, and 0 where x is 0."""
    return np.where(x == 0, 0.0, x * np.log(y))


def _refuse_fractions(rows: Any, most: Any) -> None:
    if ((rows < 0) | (rows > most) | (rows != np.floor(rows)) & ~np.isnan(rows)).any():
        raise UnscorableError("Some values are not counts.")


# Mixtures -------------------------------------------------------------------------------------------------------------


def mixture(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """log of the sum over the components of each class."""
    relative, common = log_density(density["components"], rows)
    scores, owner = relative + array(density["log_share"]), np.array(density["owner"])
    return np.stack([log_sum_exp(scores[:, owner == k], 1) for k in range(density["classes"])], axis=1), common


DENSITIES.update(product=product, constant=constant, categorical=categorical, presence=presence, unseen=unseen)
DENSITIES.update(independent_student=independent_student, lognormal=lognormal, poisson=poisson, binomial=binomial)
DENSITIES.update(mixture=mixture, multinomial=multinomial, complement=complement)
