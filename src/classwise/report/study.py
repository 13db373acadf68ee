"""Pictures for a page: drawn by matplotlib for light and for dark surroundings, as SVG inside the page."""

import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import combinations
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import _safe_indexing

from classwise.arrays import Array, Labels
from classwise.classifier.evaluation import Evaluation, merged
from classwise.comparison import Comparison
from classwise.diagnostics import Diagnosis, diagnose
from classwise.errors import ClasswiseError
from classwise.plot.view import look
from classwise.report.page import Picture
from classwise.rows.labels import is_missing

# Text as outlines, so that no font is needed; the same bytes for the same rows.
SHARED = {"svg.fonttype": "path", "svg.hashsalt": "classwise", "font.size": 10, "savefig.transparent": False}

LIGHT = {"figure.facecolor": "#ffffff", "axes.facecolor": "#ffffff", "savefig.facecolor": "#ffffff"}

INK, PAPER = "#d7dde5", "#161b22"
DARK = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"), PAPER),
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("patch.edgecolor", "lines.color", "grid.color", "boxplot.flierprops.color"), INK),
}

# Shapes for more rows than this are put into the page as pixels: drawn one by one they would make it large.
MANY = 300


def draw(make: Callable[[], Any]) -> Picture:
    """make: draws on Axes of its own, and returns them or their Figure."""
    return Picture(_drawn(make, LIGHT), _drawn(make, DARK))


def _drawn(make: Callable[[], Any], colors: dict[str, str]) -> str:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # "agg" draws without a screen. Fonts lack some signs of some languages: a box stands there.
    settings: Any = {"backend": "agg", **SHARED, **colors}
    with rc_context(settings), catch_warnings():
        simplefilter("ignore")
        made = make()
        figure: Figure = made if isinstance(made, Figure) else made.get_figure()
        _lighten(figure)
        file = BytesIO()
        figure.savefig(file, format="svg", dpi=150, metadata={"Date": None}, bbox_inches="tight")
        _close(figure)
    return "data:image/svg+xml;base64," + b64encode(file.getvalue()).decode()


def _lighten(figure: Any) -> None:
    for axes in figure.axes:
        for shapes in axes.collections:
            if len(shapes.get_offsets()) > MANY:
                shapes.set_rasterized(True)


def _close(figure: Any) -> None:
    from matplotlib import pyplot

    pyplot.close(figure)


# ----------------------------------------------------------------------------------------------------------------------
# The two columns that tell most: those in which the model, all other columns integrated out, has least log loss.

# Pairs are tried among so many columns, those that tell most by themselves.
TRIED = 6

# A category with more levels than this makes no picture.
MOST_LEVELS = 8


def best_pair(m: Any, X: Any, y: Labels) -> list[Any] | None:
    """Two columns of a model by name (or position), or None where it has fewer that can be drawn."""
    losses = {column: _loss(m, X, y, [column]) for column in _drawable(m)}
    tried = sorted(losses, key=lambda column: losses[column])[:TRIED]
    pairs = list(combinations(tried, 2))
    if not pairs:
        return None
    return list(min(pairs, key=lambda pair: _loss(m, X, y, list(pair))))


def _drawable(m: Any) -> list[Any]:
    """Numbers; categories of few levels, where there are fewer than two numbers."""
    used = [column for column in m.schema_ if not column.note.startswith("left out")]
    numbers = [column.name for column in used if column.levels is None]
    return numbers if len(numbers) > 1 else [c.name for c in used if (c.levels or 0) <= MOST_LEVELS]


def _loss(m: Any, X: Any, y: Labels, columns: list[Any]) -> float:
    """Of the rows that have a value in these columns; infinity, where none has."""
    view = look(m, columns, None, len(columns))
    values = view.values(X)
    there = np.isfinite(values).all(axis=1)
    codes = np.searchsorted(m.classes_, y[there])
    return _log_loss(view.classifier.announced(view.rows(values[there])), codes) if there.any() else np.inf


def _log_loss(scores: Array, codes: Any) -> float:
    own = scores[codes, np.arange(len(codes))]
    return float(np.mean(logsumexp(scores, axis=0) - own))


# ----------------------------------------------------------------------------------------------------------------------
# What a report is about: a comparison, the rows it was made from, and a part of them that can be drawn.

# So many rows are drawn, taken at random from all.
DRAWN = 1000


@dataclass(frozen=True, eq=False)
class Study:
    """comparison: of rows X (n, p) with labels y (n,), weights, families; source: where they came from; target: what
    the labels are called; seed: of the folds; model: the file in which the best model was saved.
    """

    comparison: Comparison
    X: Any
    y: Any
    weights: Any = None
    families: Any = "auto"
    source: str | None = None
    target: str | None = None
    seed: int | None = None
    model: str | None = None

    @cached_property
    def labels(self) -> Labels:
        return np.asarray(self.y)

    @cached_property
    def best(self) -> Any:
        with _quiet():
            return self.comparison.best

    @cached_property
    def evaluation(self) -> Evaluation:
        """Of the winner, on rows held out."""
        return merged(self.comparison.winner.final)

    @cached_property
    def drawn(self) -> tuple[Any, Labels]:
        """Rows to draw, and their labels."""
        labeled = np.flatnonzero([not is_missing(label) for label in self.labels.tolist()])
        if len(labeled) > DRAWN:
            labeled = np.sort(np.random.default_rng(0).choice(labeled, DRAWN, replace=False))
        return _safe_indexing(self.X, labeled), self.labels[labeled]

    @cached_property
    def shown(self) -> str:
        """A sentence, where not all rows are drawn."""
        return f" {len(self.drawn[1])} of {len(self.labels)} rows are shown." if len(self.labels) > DRAWN else ""

    @cached_property
    def diagnosis(self) -> Diagnosis | str:
        """What the rows say before a model is fitted, or why they cannot."""
        try:
            with _quiet():
                return diagnose(self.X, self.y, self.weights, families=self.families)
        except ClasswiseError as problem:
            return str(problem)

    @cached_property
    def projector(self) -> Any | None:
        """The LDA that was compared, if there was one: the plain one, or else one that was shrunk."""
        for name in ("LDA", "LDA, OAS", "LDA, Ledoit-Wolf"):
            trials = [trial for trial in self.comparison.members if trial.name == name]
            if trials:
                with _quiet():
                    return self.comparison.fitted(trials[0])
        return None


@contextmanager
def _quiet() -> Iterator[None]:
    """What there was to warn of has been said when the rows were compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
