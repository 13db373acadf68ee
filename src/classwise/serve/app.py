"""The app: addresses, who answers there, and how: read, check, score, write."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from classwise.estimators.scoring import missing_marks
from classwise.rows.sources import Source
from classwise.serve import arrow
from classwise.serve.csv_rows import read_csv, write_csv
from classwise.serve.facts import ModelFacts, brief, explained_row, full, health, prediction
from classwise.serve.models import Models, Served, read_names
from classwise.serve.openapi import document
from classwise.serve.requests import (
    ARROW,
    CSV,
    JSON,
    ExplainRequest,
    Options,
    Problem,
    StreamOptions,
    checked,
    listed,
    media_type,
    read_json,
    read_query,
    shown,
    to_json,
)
from classwise.serve.resources import (
    MEDIA_TYPE,
    CountRequests,
    Metrics,
    RequestDeadline,
    Room,
    Workers,
    held_body,
    left,
)
from classwise.serve.settings import Limits


def create_app(models: Any, limits: Limits | None = None, *, reload_seconds: float = 1.0) -> Starlette:
    """An ASGI app that scores rows.

    models: a file, a list of files ("name=file" gives one a name), or a mapping from name to file or fitted estimator.
        All are loaded now; an error says which cannot be. The first one answers where no name is given.
    limits: of size and time.
    reload_seconds: how often files are looked at; 0 for never.

    >>> import asyncio, httpx
    >>> import classwise as cw
    >>> app = create_app(cw.LDA().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"]))
    >>> client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://local")
    >>> asyncio.run(client.post("/predict", json={"rows": [[3.0]], "output": "label"})).json()["label"]
    ['low']
    """
    limits, metrics = limits or Limits(), Metrics()
    endpoints = Endpoints(Models(read_names(models), metrics), limits, metrics, Workers(limits), Room(limits))
    routes = _routes(endpoints)
    app = Starlette(
        routes=routes,
        lifespan=partial(_running, endpoints, reload_seconds),
        middleware=[Middleware(CountRequests, metrics=metrics, paths=[route.path for route in routes])],
        exception_handlers={
            Problem: _tell_problem,
            HTTPException: partial(_tell_refusal, endpoints.models),
            Exception: _failure_response,
        },
    )
    app.state.models = endpoints.models
    return app


@asynccontextmanager
async def _running(endpoints: "Endpoints", reload_seconds: float, app: Starlette) -> AsyncIterator[None]:
    watching = asyncio.create_task(endpoints.models.watch(reload_seconds)) if reload_seconds else None
    try:
        yield
    finally:
        if watching is not None:
            watching.cancel()
        endpoints.workers.close()


def _routes(endpoints: "Endpoints") -> list[Route]:
    models = endpoints.models
    routes = [
        Route("/models", _json_route(lambda: [brief(served) for served in models.served.values()])),
        Route("/health", _json_route(lambda: health(models))),
        Route("/openapi.json", _json_route(lambda: document(models, endpoints.limits))),
        Route("/metrics", endpoints.count),
        *(Route(path, _page(name)) for path, name in PAGE.items()),
    ]
    for at, name in {"": models.first, **{f"/models/{name}": name for name in models.served}}.items():
        routes.append(Route(f"{at}/predict", partial(endpoints.predict, name=name), methods=["POST"]))
        routes.append(Route(f"{at}/explain", partial(endpoints.explain, name=name), methods=["POST"]))
        routes.append(Route(at or "/model", _json_route(partial(endpoints.describe, name))))
    return routes


def _json_route(describe: Callable[[], Any]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return Response(to_json(describe()), media_type=JSON)

    return answer


# The page where a person tries a row. It sends the same requests as a program.
PAGE = {"/": "index.html", "/static/page.css": "page.css", "/static/page.js": "page.js"}


def _page(name: str) -> Callable[[Request], Awaitable[Response]]:
    path = Path(__file__).parent / "static" / name

    async def answer(request: Request) -> Response:
        return FileResponse(path)

    return answer


async def _tell_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return problem.response()


async def _tell_refusal(models: Models, request: Request, problem: Exception) -> Response:
    """What the router refuses: another address, or another method."""
    assert isinstance(problem, HTTPException)
    path, headers = request.scope["path"], dict(problem.headers or {})
    if problem.status_code == 405:
        detail = f"{shown(path)} does not take {shown(request.method)}; it takes {headers.get('Allow')}."
    elif path.startswith("/models/") and path.split("/")[2] not in models.served:
        detail = f"There is no model {shown(path.split('/')[2])}; the models are {listed(list(models.served))}."
    else:
        detail = f"There is nothing at {shown(path)}; see /openapi.json for what there is."
    return Problem(problem.status_code, detail, headers=headers).response()


async def _failure_response(request: Request, problem: Exception) -> Response:
    return Problem(500, "The server failed to answer; its log says why. Nothing is wrong with the request.").response()


# Requests -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Endpoints:
    """The functions that answer requests, with the models and the limits."""

    models: Models
    limits: Limits
    metrics: Metrics
    workers: Workers
    room: Room

    async def predict(self, request: Request, name: str) -> Response:
        """Labels and posteriors of the rows in a body, which is JSON, CSV or an Arrow stream."""
        kind = media_type(request, JSON, ARROW, CSV)
        query = read_query(request.query_params.multi_items()) if request.scope["query_string"] else {}
        work = {JSON: self._predict_json, ARROW: self._predict_arrow, CSV: self._predict_csv}[kind]
        return await self._answer(request, name, partial(work, query))

    async def explain(self, request: Request, name: str) -> Response:
        """Why one row is taken for one label rather than another."""
        media_type(request, JSON)
        for option in request.query_params:
            raise Problem(422, f"{shown(option)} is not an option; what /explain takes stands in the body.")
        return await self._answer(request, name, self._explain)

    def describe(self, name: str) -> ModelFacts:
        """What a model is, and where it comes from."""
        return full(self.models[name])

    async def count(self, request: Request) -> Response:
        """What was counted."""
        return Response(self.metrics.text(), media_type=MEDIA_TYPE)

    async def _answer(
        self, request: Request, name: str, work: Callable[[Served, bytes, RequestDeadline], Response]
    ) -> Response:
        """Small work at once, large work in a thread."""
        async with held_body(request, self.limits, self.room) as body:
            served = self.models[name]  # from here on, whatever becomes of the file
            if len(body) <= self.limits.inline_bytes:
                return work(served, body, RequestDeadline(self.limits.score_seconds))
            return await self.workers.run(partial(work, served, body), left(request))

    # ----------------------------------------------------------------------------------------------------------------

    def _predict_json(self, query: dict[str, Any], served: Served, body: bytes, deadline: RequestDeadline) -> Response:
        rows, options = self._read_json(served, body, query, deadline)  # the JSON itself is large, and not kept
        answer = served.scorer.answer(rows, options, deadline)
        self.metrics.rows.labels(served.name).inc(len(rows.values))
        return Response(prediction(served, answer, deadline), media_type=JSON)

    def _read_json(
        self, served: Served, body: bytes, query: dict[str, Any], deadline: RequestDeadline
    ) -> tuple[Source, Options]:
        deadline.check()
        content = read_json(body)
        deadline.check()
        if "keep" in query:
            raise Problem(422, "keep is for Arrow streams; a JSON answer has the rows in the order of the request.")
        for name in query.keys() & content.keys():
            raise Problem(422, f"The option {name} stands in the address and in the body; which one is meant?")
        given: dict[str, Any] = {name: content.pop(name) for name in ("rows", "columns") if name in content}
        options = checked({**query, **content}, Options)
        return served.scorer.reader.read(given, self.limits.rows), options

    def _predict_arrow(self, query: dict[str, Any], served: Served, body: bytes, deadline: RequestDeadline) -> Response:
        options, scorer = checked(query, StreamOptions), served.scorer
        arrow.check_names(body, scorer.reader, options.keep, self.limits.extra_columns)
        table = arrow.read_table(body, self.limits.rows, deadline)
        answer = scorer.answer(arrow.read_rows(table, scorer.reader, deadline), options, deadline)
        columns = arrow.answer_columns(answer.labels, answer.posteriors, scorer.classes, scorer.possible_labels)
        content = arrow.write_stream({name: table.column(name) for name in options.keep}, columns)
        self.metrics.rows.labels(served.name).inc(len(table))
        return Response(content, media_type=ARROW)

    def _predict_csv(self, query: dict[str, Any], served: Served, body: bytes, deadline: RequestDeadline) -> Response:
        options, scorer = checked(query, StreamOptions), served.scorer
        rows = read_csv(body, scorer.reader, options.keep, (self.limits.rows, self.limits.extra_columns), deadline)
        source = rows.source(scorer.reader, missing_marks(scorer.inner), self.limits.rows)
        answer = scorer.answer(source, options, deadline)
        columns = arrow.answer_columns(answer.labels, answer.posteriors, scorer.classes, scorer.possible_labels)
        self.metrics.rows.labels(served.name).inc(len(source.values))
        return Response(write_csv(rows.kept(options.keep), columns), media_type=CSV)

    def _explain(self, served: Served, body: bytes, deadline: RequestDeadline) -> Response:
        wanted = checked(read_json(body), ExplainRequest)
        rows = served.scorer.reader.read_rows([wanted.row])
        explained = served.scorer.explain(rows, wanted.label, wanted.against)
        return Response(to_json(explained_row(served, explained)), media_type=JSON)
