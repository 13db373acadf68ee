"""Running: one process that listens, until it is told to stop."""

import logging
import socket
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn

from classwise.errors import ClasswiseError
from classwise.serve.app import create_app
from classwise.serve.connections import PatientConnection
from classwise.serve.limits import Limits

LOG = logging.getLogger("classwise.serve")


def run(
    models: Any,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    limits: Limits | None = None,
    reload_seconds: float = 1.0,
    log_level: str = "info",
) -> None:
    """Serve models until the process is interrupted or terminated; requests under way are then answered first.

    models, limits, reload_seconds: as in `create_app`. host: this machine alone, unless told otherwise; there is no
    password, so give another only behind something that has one. port: 0 for any that is free. log_level: "debug",
    "info", "warning" or "error".
    """
    limits = limits or Limits()
    app = create_app(models, limits, reload_seconds=reload_seconds)
    listening = _listen(host, port)
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
    # Once all is answered, uvicorn hands on the signal that stopped it; Ctrl-C is how one is meant to stop a server.
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _logging(level: str) -> dict[str, Any]:
    """uvicorn's own, and what the models have to tell beside it. Neither ever holds a row."""
    told = {"handlers": ["default"], "level": level.upper(), "propagate": False}
    loggers = {**uvicorn.config.LOGGING_CONFIG["loggers"], "classwise.serve": told}
    return {**uvicorn.config.LOGGING_CONFIG, "loggers": loggers}


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens; an error that says why it cannot."""
    if type(port) is not int or not 0 <= port <= 65535:
        raise ClasswiseError(f"port={port!r} is not a port; give a whole number from 0 to 65535.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as problem:
        reason = f"{problem.strerror or problem}"
        raise ClasswiseError(f"Cannot listen at {host}, port {port}: {reason}; choose another port.") from problem
