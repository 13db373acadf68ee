"""What a server counts, for Prometheus: every request, whatever becomes of it. Every app has a registry of its own."""

from collections.abc import Collection
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# From a row that takes half a millisecond to a million of them.
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Requests by path and status, how long they took, rows by model, reloads by outcome."""

    def __init__(self) -> None:
        self.registry = kept = CollectorRegistry()
        self.requests = Counter("classwise_requests", "Requests answered.", ["path", "status"], registry=kept)
        self.seconds = Histogram(
            "classwise_request_seconds", "Time to answer.", ["path"], buckets=SECONDS, registry=kept
        )
        self.under_way = Gauge("classwise_requests_under_way", "Requests being answered.", registry=kept)
        self.rows = Counter("classwise_rows", "Rows scored.", ["model"], registry=kept)
        self.reloads = Counter("classwise_reloads", "Changed files read.", ["model", "outcome"], registry=kept)
        self.loaded = Gauge(
            "classwise_model_loaded_seconds", "When a model was loaded, Unix time.", ["model"], registry=kept
        )
        self.stale = Gauge(
            "classwise_model_stale", "1 if a changed file could not be loaded.", ["model"], registry=kept
        )

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)


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
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(perf_counter() - start)
