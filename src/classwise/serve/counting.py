"""Every request is counted and timed, whatever becomes of it."""

from collections.abc import Collection
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classwise.serve.metrics import Metrics


class CountRequests:
    """An ASGI layer. paths: those that are counted by name; all others are one, or a scan would fill the memory."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self.app = app
        self.metrics = metrics
        self.paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, start = 500, perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.metrics.under_way.inc()
        try:
            await self.app(scope, receive, noting)
        finally:
            self.metrics.under_way.dec()
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.observe(path, status, perf_counter() - start)
