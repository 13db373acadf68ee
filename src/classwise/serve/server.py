"""The server: one process that listens until a signal stops it.

Connections do not wait for ever: not for the head of a request, nor its body, nor a client that never reads. uvicorn
limits none of these. A client that sends a byte a minute would else keep its connection, and enough of them would keep
everybody out.
"""

import logging
import socket
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from classwise.errors import ClasswiseError
from classwise.serve.app import create_app
from classwise.serve.settings import Limits

LOG = logging.getLogger("classwise.serve")

# The longest head of a request, its address included.
LONGEST_HEAD = 64 * 1024

# The app says 408 first; a little later the connection is closed even if the client goes on sending.
GRACE = 2.0


def run(
    models: Any,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    limits: Limits | None = None,
    reload_seconds: float = 1.0,
    log_level: str = "info",
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve models until the process is interrupted or terminated; requests under way are then answered first.

    models, limits, reload_seconds: as in `create_app`. host: this machine alone, by default; there is no
    password, so give another only behind something that has one. port: 0 for any that is free. log_level: "debug",
    "info", "warning" or "error". ready: called with the address, once the models are loaded.
    """
    limits = limits or Limits()
    app = create_app(models, limits, reload_seconds=reload_seconds)
    listening = listen(host, port)
    config = uvicorn.Config(
        app,
        http=partial(PatientConnection, limits=limits),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=_logging(log_level),
        log_level=log_level,
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=limits.stop_seconds,
    )
    LOG.info("Listening at http://%s:%d.", *listening.getsockname()[:2])
    if ready:
        ready(f"http://{host}:{listening.getsockname()[1]}")
    # Once all is answered, uvicorn hands on the signal that stopped it; Ctrl-C is how one is meant to stop a server.
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _logging(level: str) -> dict[str, Any]:
    """uvicorn's own loggers, and that of the models. Neither ever holds a row."""
    logger = {"handlers": ["default"], "level": level.upper(), "propagate": False}
    loggers = {**uvicorn.config.LOGGING_CONFIG["loggers"], "classwise.serve": logger}
    return {**uvicorn.config.LOGGING_CONFIG, "loggers": loggers}


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; an error that says why it cannot."""
    if type(port) is not int or not 0 <= port <= 65535:
        raise ClasswiseError(f"port={port!r} is not a port; give a whole number from 0 to 65535.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as problem:
        reason = f"{problem.strerror or problem}"
        raise ClasswiseError(f"Cannot listen at {host}, port {port}: {reason}; choose another port.") from problem


class PatientConnection(HttpToolsProtocol):
    """uvicorn's connection with a clock: patience for the head, then for the body, then for the answer to be read."""

    def __init__(self, *, limits: Limits, **given: Any) -> None:
        super().__init__(**given)
        self._limits = limits
        self._clock: TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = True

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(self._limits.header_seconds)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > LONGEST_HEAD and not self.transport.is_closing():
            self.send_400_response(f"The head of the request is longer than {LONGEST_HEAD} bytes.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._wait(self._limits.header_seconds)

    def on_headers_complete(self) -> None:
        self._in_head = False
        # A large body has its time once until there is room for it, and once more for the rest.
        self._wait(2 * self._limits.body_seconds + self._limits.room_seconds + GRACE)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._wait(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self.loop.call_later(self._limits.write_seconds, self._drop_if_unread)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        super().connection_lost(exc)

    # ----------------------------------------------------------------------------------------------------------------

    def _wait(self, seconds: float | None) -> None:
        """Wait at most this many seconds from now; None: without a limit."""
        if self._clock is not None:
            self._clock.cancel()
        self._clock = None if seconds is None else self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        if self._in_head and self.cycle is not None and not self.cycle.response_complete:
            self._wait(self._limits.header_seconds)  # a request before this one is still being answered
        elif not self.transport.is_closing():
            self.transport.close()

    def _drop_if_unread(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()
