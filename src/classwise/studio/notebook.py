"""The studio from Python: a page in the browser, and inline where a notebook shows it."""

import atexit
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from html import escape
from typing import Any

import narwhals as nw
import numpy as np

from classwise.errors import ClasswiseError
from classwise.rows.frames import read_labels
from classwise.studio.options import Opening
from classwise.studio.server import StudioServer
from classwise.studio.state import Open, StudioState

# Seconds to wait for the server to answer.
PATIENCE = 20.0

HEIGHT = 900


class Studio:
    """A studio in the background of the program. url: its address, with the token; a notebook shows the page inline."""

    def __init__(self, server: StudioServer, state: StudioState) -> None:
        self._server, self._desk = server, state
        self._thread = threading.Thread(target=server.run, daemon=True, name="classwise studio")
        self._thread.start()
        end = time.monotonic() + PATIENCE
        while not server.server.started and self._thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        atexit.register(self.close)  # work in threads must end before Python does

    @property
    def url(self) -> str:
        """The address of the page."""
        return self._server.url

    def close(self) -> None:
        """Stop it, and its work."""
        atexit.unregister(self.close)
        self._server.stop()
        self._thread.join(PATIENCE)
        self._desk.jobs.finish(PATIENCE)

    def __enter__(self) -> "Studio":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Studio at {self.url}"

    def _repr_html_(self) -> str:
        """The page inline, with its address for a window of its own."""
        link = f'<a href="{escape(self.url)}" target="_blank" rel="noopener">Open the studio in a window of its own</a>'
        style = f"width: 100%; height: {HEIGHT}px; border: 1px solid #8884; border-radius: 8px"
        return f'<p>{link}</p><iframe src="{escape(self.url)}" style="{style}" title="classwise studio"></iframe>'


def studio(
    X: Any = None,
    y: Any = None,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    port: int = 0,
    view: str = "",
    browser: bool | None = None,
) -> Studio:
    """Open the studio: a local page that shows the classes, the boundary and every dial.

    Only this machine can open the page, and only with the token in the address.

    Parameters
    ----------
    X : array, table or source, optional
        Rows, as for all estimators; or a file or a table, with target. Without X, the page opens with the penguins.
    y : array of shape (n,), optional
        The labels of the rows.
    target : str, optional
        The column of labels.
    drop : sequence of str, default=()
        Columns to leave out.
    port : int, default=0
        The port; 0 for any that is free.
    view : str, default=""
        What follows # in an address that was kept.
    browser : bool, optional
        Whether to open a window; by default not in a notebook, which shows the page inline.

    Returns
    -------
    Studio
        Its `url` is the address of the page, and `close()` ends it.

    Examples
    --------
    >>> import classwise as cw
    >>> X, y = cw.datasets.gaussians(60, random_state=0)
    >>> with cw.studio(X, y, browser=False) as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """
    sources: dict[str, Any] = {}
    first = Open(example="penguins")
    if X is not None:
        name, source, labels = _source(X, y, target)
        sources[name] = source
        first = Open(name=name, opening=Opening(labels, drop=list(drop)))
    state = StudioState(sources, first)
    opened = Studio(StudioServer(state, port=port, view=view), state)
    if browser if browser is not None else "ipykernel" not in sys.modules:
        webbrowser.open(opened.url)
    return opened


def _source(X: Any, y: Any, target: str | None) -> tuple[str, Any, str]:
    """What the page calls the rows, the rows with their labels, and the column of these."""
    if target is not None:
        if y is not None:
            raise ClasswiseError(f"target={target!r} names the column of the labels: leave y out.")
        return (str(X) if isinstance(X, str) else "the table"), X, target
    if y is None:
        raise ClasswiseError("y is missing: give the labels, or target='...', the name of their column.")
    return "the table", *_joined(X, y)


def _joined(X: Any, y: Any) -> tuple[Any, str]:
    """One table of pyarrow's, with the labels as its last column."""
    import pyarrow as pa

    labels, missing = read_labels(y)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        table = frame.to_arrow()
    else:
        values = np.asarray(X)
        if values.ndim != 2:
            raise ClasswiseError(f"X has shape {values.shape}; give rows and columns.")
        table = pa.table({f"x{j}": values[:, j] for j in range(values.shape[1])})
    name = str(getattr(y, "name", None) or "label")
    name = name if name not in table.column_names else f"{name} (label)"
    return table.append_column(name, pa.array(labels.tolist(), mask=missing)), name
