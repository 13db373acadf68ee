"""The app: addresses, and who answers there."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from classwise.serve import metrics as counted
from classwise.serve.answering import JSON, Desk
from classwise.serve.bodies import Room
from classwise.serve.counting import CountRequests
from classwise.serve.describing import brief, full, health
from classwise.serve.limits import Limits
from classwise.serve.metrics import Metrics
from classwise.serve.models import Models, read_names
from classwise.serve.openapi import document
from classwise.serve.problems import Problem, shown
from classwise.serve.rows import listed
from classwise.serve.watching import watch
from classwise.serve.work import Workers

Answer = Callable[[Request], Awaitable[Response]]


def create_app(models: Any, limits: Limits | None = None, *, reload_seconds: float = 1.0) -> FastAPI:
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
    # The pages that FastAPI would make of the OpenAPI document load scripts from elsewhere; there are none.
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=partial(_running, desk, reload_seconds))
    _add_routes(app, desk)
    app.openapi = lambda: document(app, desk.models, limits)  # type: ignore[method-assign]
    app.add_exception_handler(Problem, _tell_problem)
    app.add_exception_handler(HTTPException, partial(_tell_refusal, desk.models))
    app.add_exception_handler(Exception, _tell_failure)
    paths = [route.path for route in app.routes if hasattr(route, "path") and "{" not in route.path]
    app.add_middleware(CountRequests, metrics=metrics, paths=paths)
    app.state.models = desk.models
    return app


@asynccontextmanager
async def _running(desk: Desk, reload_seconds: float, app: FastAPI) -> AsyncIterator[None]:
    watching = asyncio.create_task(watch(desk.models, reload_seconds)) if reload_seconds else None
    try:
        yield
    finally:
        if watching is not None:
            watching.cancel()
        desk.workers.close()


def _add_routes(app: FastAPI, desk: Desk) -> None:
    models = desk.models
    _add_model(app, desk, models.first, "", "/model")
    for name in models.served:
        _add_model(app, desk, name, f"/models/{name}", f"/models/{name}")
    listing = _telling(lambda: [brief(served) for served in models.served.values()])
    _add(app, "GET", "/models", listing, "All models, by name.")
    _add(app, "GET", "/health", _telling(lambda: health(models)), "Whether all models are those of their files.")
    _add(app, "GET", "/metrics", partial(_count, desk.metrics), "What was counted, for Prometheus.")
    app.add_route("/openapi.json", _telling(lambda: app.openapi()), ["GET"])


def _add_model(app: FastAPI, desk: Desk, name: str, at: str, home: str) -> None:
    """The addresses of one model: at: before the verbs; home: where it is described."""
    _add(app, "POST", f"{at}/predict", partial(desk.predict, name=name), f"Labels and posteriors of rows, by {name}.")
    _add(app, "POST", f"{at}/explain", partial(desk.explain, name=name), f"Why {name} takes a row for one label.")
    _add(app, "GET", home, _telling(lambda: full(desk.models[name])), f"What {name} is, and where it comes from.")


def _add(app: FastAPI, method: str, path: str, answer: Answer, summary: str) -> None:
    async def endpoint(request: Request) -> Response:
        return await answer(request)

    id = f"{method.lower()} {path}"
    app.add_api_route(path, endpoint, methods=[method], summary=summary, operation_id=id, response_model=None)


def _telling(tell: Callable[[], Any]) -> Answer:
    async def answer(request: Request) -> Response:
        return Response(json.dumps(tell()), media_type=JSON)

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
