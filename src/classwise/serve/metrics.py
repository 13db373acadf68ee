"""What a server counts, for Prometheus. Every app has a registry of its own."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

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

        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def observe(self, path: str, status: int, seconds: float) -> None:
        """Count one request."""
        if (path, status) not in self._known:
            self._known[path, status] = self.requests.labels(path, str(status)), self.seconds.labels(path)
        count, timing = self._known[path, status]
        count.inc()
        timing.observe(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)
