"""The server of the studio: a page on this machine alone, until Ctrl-C."""

import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from secrets import token_urlsafe
from typing import Any

import uvicorn
from starlette.applications import Starlette

from classwise.serve.server import PatientConnection, listen
from classwise.serve.settings import Limits
from classwise.studio.app import create_studio
from classwise.studio.guard import LOOPBACK, Access
from classwise.studio.state import Open, StudioState

# Where the page is, with the token and the view that it begins with.
ADDRESS = "http://{host}:{port}/?token={token}{view}"

# Seconds that background work has to end, after Ctrl-C.
PATIENCE = 2.0


class _NotifyingServer(uvicorn.Server):
    """uvicorn's server, which calls `when_started` when it answers: from then on, Ctrl-C is its own."""

    when_started: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.when_started is not None:
            self.when_started()


class StudioServer:
    """A server that listens already; its address holds the token."""

    def __init__(
        self, state: StudioState, host: str = "127.0.0.1", port: int = 0, view: str = "", **options: Any
    ) -> None:
        self.token = token_urlsafe(24)
        self.socket: socket.socket = listen(host, port)
        self.port = int(self.socket.getsockname()[1])
        access = Access(self.token, () if host in LOOPBACK else (host.lower(), socket.gethostname().lower()))
        self.app: Starlette = create_studio(state, access, **options)
        self.server = _NotifyingServer(_config(self.app))
        self.url = ADDRESS.format(host=host, port=self.port, token=self.token, view=f"#{view}" if view else "")

    def run(self) -> None:
        """Answer until Ctrl-C."""
        with suppress(KeyboardInterrupt):
            self.server.run(sockets=[self.socket])

    def stop(self) -> None:
        """Stop after the requests under way."""
        self.server.should_exit = True


def _config(app: Starlette) -> uvicorn.Config:
    limits = Limits(body_seconds=600.0, stop_seconds=1)
    return uvicorn.Config(
        app,
        http=partial(PatientConnection, limits=limits),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=limits.stop_seconds,
    )


def run(
    sources: dict[str, Any],
    first: Open,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    view: str = "",
    browser: bool = True,
    say: Callable[[str], None] = print,
    **options: Any,
) -> None:
    """Open the studio and answer until Ctrl-C.

    sources: what may be opened, by name; first: what is opened at once. host: this machine alone, by
    default. port: 0 for any that is free. view: what follows # in an address that was kept. browser: whether to open
    the page there. say: prints a line.
    """
    state = StudioState(sources, first)
    server = StudioServer(state, host, port, view, **options)

    def show_address() -> None:
        say(f"The studio is at {server.url}")
        say("Ctrl-C stops it.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()

    server.server.when_started = show_address
    server.run()
    state.jobs.finish(PATIENCE)
    state.folder.cleanup()
