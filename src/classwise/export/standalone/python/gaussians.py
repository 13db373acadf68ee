"""Gaussians and Student-t of several columns: of a row with gaps, the density of the values that are there."""

from typing import Any

import numpy as np

from classwise.export.standalone.python.densities import DENSITIES
from classwise.export.standalone.python.numbers import array

# Centers that are more standard deviations apart than this are subtracted first, which costs no digits.
FAR = 64.0


def gaussian(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """-1/2 (x - m)' C^-1 (x - m) - 1/2 log|C| - p/2 log 2π."""
    if "variances" in density:
        return _independent(array(density["means"]), array(density["variances"]), rows)
    return _by_pattern(density, rows, _gaussian)


def _independent(means: Any, variances: Any, rows: Any) -> tuple[Any, Any]:
    """Column by column; where all classes share the variances, x² is common."""
    there = ~np.isnan(rows)
    volume = there @ (0.5 * np.log(2 * np.pi * variances)).T
    if len(variances) == len(means):
        return -0.5 * _squares(rows, means, variances) - volume, np.zeros(len(rows))
    middle = means.mean(axis=0)
    common = -0.5 * _squares(rows, middle[None], variances)[:, 0] - volume[:, 0]
    centers, away = means - middle, np.where(there, rows - middle, 0.0)
    return away @ (centers / variances[0]).T - 0.5 * (there @ (centers**2 / variances[0]).T), common


def _squares(rows: Any, means: Any, variances: Any) -> Any:
    return np.nansum((rows[:, None, :] - means) ** 2 / variances, axis=2)


def student(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """scale - 1/2 log|C| - (v + p)/2 log(1 + q / v)."""
    return _by_pattern(density, rows, _student)


def _by_pattern(density: dict[str, Any], rows: Any, score: Any) -> tuple[Any, Any]:
    """Rows that have the same columns together."""
    relative, common = np.zeros((len(rows), len(density["means"]))), np.zeros(len(rows))
    distinct, codes = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
    for group, there in enumerate(distinct):
        if there.any():
            own = np.flatnonzero(codes.reshape(-1) == group)
            relative[own], common[own] = score(_marginal(density, np.flatnonzero(there)), rows[np.ix_(own, there)])
    return relative, common


def _marginal(density: dict[str, Any], columns: Any) -> dict[str, Any]:
    """The density of some columns, with V V' = C^-1 and 1/2 log|C| of each covariance; made once."""
    kept = density.setdefault("kept", {})
    key = columns.tobytes()
    if key not in kept:
        matrices = array(density["matrices"])[:, columns][:, :, columns]
        scale = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
        roots = np.linalg.cholesky(matrices / (scale[:, :, None] * scale[:, None, :]))
        whitening = np.linalg.inv(roots).transpose(0, 2, 1) / scale[:, :, None]
        volume = np.log(scale).sum(axis=1) + np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        kept[key] = {**density, "means": array(density["means"])[:, columns], "whitening": whitening, "volume": volume}
    return kept[key]


def _distances(of: dict[str, Any], rows: Any) -> Any:
    """(x - m)' C^-1 (x - m); (n, g)."""
    means, whitening = of["means"], of["whitening"]
    every = [((rows - m) @ whitening[k if len(whitening) > 1 else 0]) ** 2 for k, m in enumerate(means)]
    return np.stack([squares.sum(axis=1) for squares in every], axis=1)


def _gaussian(of: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    means, whitening, constant = of["means"], of["whitening"], 0.5 * rows.shape[1] * np.log(2 * np.pi)
    if len(whitening) == len(means):
        return -0.5 * _distances(of, rows) - of["volume"] - constant, np.zeros(len(rows))
    middle = means.mean(axis=0)
    centers, white = (means - middle) @ whitening[0], (rows - middle) @ whitening[0]
    if np.abs(centers).max() > FAR:
        return -0.5 * ((white[:, None, :] - centers) ** 2).sum(axis=2), np.full(len(rows), -of["volume"][0] - constant)
    common = -0.5 * (white**2).sum(axis=1) - of["volume"][0] - constant
    return white @ centers.T - 0.5 * (centers**2).sum(axis=1), common


def _student(of: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    freedom, count = array(of["freedom"]), rows.shape[1]
    spread = np.log1p(_distances(of, rows) / (array(of["factor"]) * freedom))
    return array(of["scale"])[count] - of["volume"] - 0.5 * (freedom + count) * spread, np.zeros(len(rows))


def distances(density: dict[str, Any], rows: Any) -> Any:
    """Squared distances from the means of Gaussians, of the values that are there; (n, g)."""
    if "variances" in density:
        return _squares(rows, array(density["means"]), array(density["variances"]))
    return _by_pattern(density, rows, lambda of, some: (_distances(of, some), 0.0))[0]


DENSITIES.update(gaussian=gaussian, student=student)
