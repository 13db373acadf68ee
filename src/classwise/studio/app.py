"""The app: addresses, and what each of them answers; all of it from the library, as plain values."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from classwise.errors import ClasswiseError, MissingExtraError
from classwise.serve.requests import JSON, Problem, checked, media_type, read_json, shown
from classwise.serve.resources import Room, held_body
from classwise.serve.settings import Limits
from classwise.studio.dials import Dials
from classwise.studio.downloads import Download, command_line, model_file, python_file, report_file, sql_file
from classwise.studio.guard import Access, Guard
from classwise.studio.jobs import reason
from classwise.studio.page_answers import (
    equation,
    generated,
    held_out,
    hover,
    picture,
    points,
    surface,
    why,
)
from classwise.studio.page_requests import FlagRequest, JobRequest, PointRequest, SampleRequest, ViewRequest
from classwise.studio.state import Open, Pad, StudioState
from classwise.studio.table_facts import menu, table_facts

STATIC = Path(__file__).parent / "static"

# Limits of a request of the page; uploads have a limit of their own.
API_LIMITS = Limits(body_bytes=2**20)

T = TypeVar("T")


def create_studio(state: StudioState, access: Access, *, upload_bytes: int = 256 * 2**20) -> Starlette:
    """An ASGI app: the page, and the answers to its requests. upload_bytes: the most that a file may have."""
    uploads = Limits(body_bytes=upload_bytes, held_bytes=upload_bytes, body_seconds=600.0)
    room = Room(uploads)
    app = Starlette(
        routes=[*_pages(), *_api_routes(state), *_files(state, uploads, room)],
        middleware=[Middleware(Guard, access=access)],
        lifespan=partial(_running, state),
        exception_handlers={
            Problem: _tell_problem,
            ClasswiseError: _tell_words,
            MissingExtraError: _tell_words,
            HTTPException: _tell_refusal,
            Exception: _tell_words,
        },
    )
    app.state.studio = state
    return app


@asynccontextmanager
async def _running(state: StudioState, app: Starlette) -> AsyncIterator[None]:
    if state.first.name or state.first.example:
        _begin(state)
    try:
        yield
    finally:
        state.jobs.clear()
        state.folder.cleanup()


def _begin(state: StudioState) -> None:
    """Open the first table; where this cannot even begin, as without a target, the page asks."""
    try:
        state.open(state.first)
    except ClasswiseError:
        return


# Errors in words ------------------------------------------------------------------------------------------------------


async def _tell_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return problem.response()


async def _tell_words(request: Request, problem: Exception) -> Response:
    return Problem(422, reason(problem)).response()


async def _tell_refusal(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return Problem(problem.status_code, f"There is nothing at {shown(request.scope['path'])} to be had so.").response()


def answer(facts: Any) -> Response:
    """Facts as JSON; NaN is null."""
    return Response(msgspec.json.encode(facts, enc_hook=_plain), media_type=JSON)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


# The page -------------------------------------------------------------------------------------------------------------


def _pages() -> list[Route | Mount]:
    plotly = Path(str(files("plotly"))) / "package_data" / "plotly.min.js"

    async def page(request: Request) -> Response:
        return FileResponse(STATIC / "index.html", media_type="text/html")

    async def drawing(request: Request) -> Response:
        return FileResponse(plotly, media_type="text/javascript")

    return [
        Route("/", page),
        Route("/static/plotly.min.js", drawing),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]


# Requests of the page: a JSON object in, facts out --------------------------------------------------------------------


def _api_handler(kind: type[T], work: Callable[[T], Any]) -> Callable[[Request], Awaitable[Response]]:
    """Read a body of a kind, and answer it in a thread: the page may ask something else meanwhile."""

    async def handle(request: Request) -> Response:
        media_type(request, JSON)
        async with held_body(request, API_LIMITS, Room(API_LIMITS)) as body:
            content = checked(read_json(body), kind)
        return await worded(work, content)

    return handle


async def worded(work: Callable[..., Any], *given: Any) -> Response:
    """What work answers, from a thread; where the data do not allow an answer, the reason in words.

    That a class has too few rows is news about the data, and no failure of the request: the page shows it in its place.
    """
    try:
        return answer(await asyncio.to_thread(work, *given))
    except (ClasswiseError, MissingExtraError, np.linalg.LinAlgError) as problem:
        return answer({"cannot": reason(problem)})


def _api_routes(state: StudioState) -> list[Route]:
    def route(path: str, kind: type[T], work: Callable[[T], Any]) -> Route:
        return Route(f"/api/{path}", _api_handler(kind, work), methods=["POST"])

    async def status(request: Request) -> Response:
        return await worded(_status, state)

    async def job(request: Request) -> Response:
        return await worded(state.facts_of, request.path_params["name"])

    async def columns(request: Request) -> Response:
        name = request.query_params.get("name", "")
        return await worded(state.columns, name)

    return [
        Route("/api/status", status),
        Route("/api/job/{name}", job),
        Route("/api/columns", columns),
        route("open", Open, lambda request: state.open(request).facts()),
        route("mended", FlagRequest, lambda request: request.opening.with_flags(request.flag)),
        route("pad", Pad, lambda pad: table_facts(state.draw(pad)) | {"count": state.count}),
        route("begin", JobRequest, lambda request: state.begin(request.job).facts()),
        route("picture", Dials, partial(picture, state)),
        route("points", Dials, partial(points, state)),
        route("hover", PointRequest, lambda request: hover(state, request.dials, request.point)),
        route("why", PointRequest, lambda request: why(state, request.dials, request.point, request.row)),
        route("surface", Dials, partial(surface, state)),
        route("held-out", Dials, partial(held_out, state)),
        route("equation", Dials, partial(equation, state)),
        route("sample", SampleRequest, lambda request: generated(state, request.dials, request.count, request.seed)),
        route("command", ViewRequest, lambda request: {"command": command_line(state.opened, request.view)}),
    ]


def _status(state: StudioState) -> dict[str, Any]:
    """What is open, and what goes on."""
    job = state.jobs["open"]
    return {
        "count": state.count,
        "opening": None if job is None else job.facts(),
        "table": None if state.table is None else table_facts(state.table),
        "menu": menu(state.sources),
        "first": state.first,
        "asked": state.opened_last,
        "jobs": {name: each.facts() for name in ("examine", "compare", "importance") if (each := state.jobs[name])},
    }


# Files: uploads and downloads -----------------------------------------------------------------------------------------


def _files(state: StudioState, uploads: Limits, room: Room) -> list[Route]:
    async def upload(request: Request) -> Response:
        name = request.query_params.get("name", "")
        async with held_body(request, uploads, room) as body:
            if not body:
                return answer({"cannot": f"{name or 'The file'} is empty."})
            kept = await asyncio.to_thread(state.upload, name, body)
        return await worded(lambda: {"name": kept, "columns": state.columns(kept)})

    makers: dict[str, Callable[[Dials], Download]] = {
        "model": lambda dials: model_file(state.opened, dials, state.comparison),
        "sql": lambda dials: sql_file(state.opened, dials, state.comparison),
        "python": lambda dials: python_file(state.opened, dials, state.comparison),
        "report": lambda dials: report_file(state.opened, state.comparison, _known(state)),
    }

    async def download(request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind not in makers:
            raise Problem(404, f"{shown(kind)} cannot be downloaded; {', '.join(makers)} can.")
        media_type(request, JSON)
        async with held_body(request, API_LIMITS, Room(API_LIMITS)) as body:
            dials = checked(read_json(body), Dials)
        try:
            made = await asyncio.to_thread(makers[kind], dials)
        except (ClasswiseError, MissingExtraError) as problem:
            return answer({"cannot": reason(problem)})
        named = {"Content-Disposition": f'attachment; filename="{made.name}"'}
        return Response(made.body, headers=named, media_type=made.media)

    return [
        Route("/api/upload", upload, methods=["POST"]),
        Route("/api/download/{kind}", download, methods=["POST"]),
    ]


def _known(state: StudioState) -> dict[str, Any]:
    """What the report need not find out again."""
    known = {"examination": state.result("examine"), "importance": state.result("importance")}
    return {name: value for name, value in known.items() if value is not None}
