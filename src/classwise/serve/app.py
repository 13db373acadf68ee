"""The app: addresses, and who answers there."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from classwise.serve import metrics as counted
from classwise.serve.facts import brief, full, health
from classwise.serve.handlers import Desk
from classwise.serve.metrics import CountRequests, Metrics
from classwise.serve.models import Models, read_names, watch
from classwise.serve.openapi import document
from classwise.serve.problems import Problem, listed, shown, to_json
from classwise.serve.requests import JSON
from classwise.serve.resources import Room, Workers
from classwise.serve.settings import Limits

Answer = Callable[[Request], Awaitable[Response]]


def create_app(models: Any, limits: Limits | None = None, *, reload_seconds: float = 1.0) -> Starlette:
    """An ASGI app that scores rows.

    models: a file, a list of files ("name=file" gives one a name), or a mapping from name to file or fitted estimator.
        All are loaded now; an error says which cannot be. The first one answers where no name is given.
    limits: what is put up with.
    reload_seconds: how often files are looked at; 0 for never.

    >>> import asyncio, httpx
    >>> import classwise as cw
    >>> app = create_app(cw.LDA().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"]))
    >>> client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://local")
    >>> asyncio.run(client.post("/predict", json={"rows": [[3.0]], "output": "label"})).json()["label"]
    ['low']
    """
    limits, metrics = limits or Limits(), Metrics()
    desk = Desk(Models(read_names(models), metrics), limits, metrics, Workers(limits), Room(limits))
    routes = _routes(desk)
    paths = [route.path for route in routes]
    app = Starlette(
        routes=routes,
        lifespan=partial(_running, desk, reload_seconds),
        middleware=[Middleware(CountRequests, metrics=metrics, paths=paths)],
        exception_handlers={
            Problem: _tell_problem,
            HTTPException: partial(_tell_refusal, desk.models),
            Exception: _tell_failure,
        },
    )
    app.state.models = desk.models
    return app


@asynccontextmanager
async def _running(desk: Desk, reload_seconds: float, app: Starlette) -> AsyncIterator[None]:
    watching = asyncio.create_task(watch(desk.models, reload_seconds)) if reload_seconds else None
    try:
        yield
    finally:
        if watching is not None:
            watching.cancel()
        desk.workers.close()


def _routes(desk: Desk) -> list[Route]:
    models = desk.models
    told: dict[str, Callable[[], Any]] = {
        "/models": lambda: [brief(served) for served in models.served.values()],
        "/health": lambda: health(models),
        "/openapi.json": lambda: document(models, desk.limits),
    }
    routes = _of_model(desk, models.first, "", "/model")
    for name in models.served:
        routes += _of_model(desk, name, f"/models/{name}", f"/models/{name}")
    routes += [Route(path, _telling(facts)) for path, facts in told.items()]
    return [*routes, Route("/metrics", partial(_count, desk.metrics))]


def _of_model(desk: Desk, name: str, at: str, home: str) -> list[Route]:
    """The addresses of one model: at: before the verbs; home: where it is described."""
    return [
        Route(f"{at}/predict", partial(desk.predict, name=name), methods=["POST"]),
        Route(f"{at}/explain", partial(desk.explain, name=name), methods=["POST"]),
        Route(home, _telling(lambda: full(desk.models[name]))),
    ]


def _telling(tell: Callable[[], Any]) -> Answer:
    async def answer(request: Request) -> Response:
        return Response(to_json(tell()), media_type=JSON)

    return answer


async def _count(metrics: Metrics, request: Request) -> Response:
    return Response(metrics.text(), media_type=counted.MEDIA_TYPE)


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


async def _tell_failure(request: Request, problem: Exception) -> Response:
    return Problem(500, "The server failed to answer; its log says why. Nothing is wrong with the request.").response()
