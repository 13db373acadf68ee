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
from classwise.studio.answers import (
    equation,
    generated,
    held_out,
    hover,
    picture,
    points,
    surface,
    why,
)
from classwise.studio.desk import Desk, Open, Pad
from classwise.studio.dials import Dials
from classwise.studio.downloads import Download, command_line, model_file, python_file, report_file, sql_file
from classwise.studio.guard import Access, Guard
from classwise.studio.jobs import reason
from classwise.studio.questions import AddFlags, Begin, Draw, Point, View
from classwise.studio.table_facts import menu, table_facts

STATIC = Path(__file__).parent / "static"

# What a question of the page may take; uploads have a limit of their own.
QUESTION = Limits(body_bytes=2**20)

T = TypeVar("T")


def create_studio(desk: Desk, access: Access, *, upload_bytes: int = 256 * 2**20) -> Starlette:
    """An ASGI app: the page, and the answers that it asks for. upload_bytes: the most that a file may have."""
    uploads = Limits(body_bytes=upload_bytes, held_bytes=upload_bytes, body_seconds=600.0)
    room = Room(uploads)
    app = Starlette(
        routes=[*_pages(), *_questions(desk), *_files(desk, uploads, room)],
        middleware=[Middleware(Guard, access=access)],
        lifespan=partial(_running, desk),
        exception_handlers={
            Problem: _tell_problem,
            ClasswiseError: _tell_words,
            MissingExtraError: _tell_words,
            HTTPException: _tell_refusal,
            Exception: _tell_words,
        },
    )
    app.state.desk = desk
    return app


@asynccontextmanager
async def _running(desk: Desk, app: Starlette) -> AsyncIterator[None]:
    if desk.first.name or desk.first.example:
        _begin(desk)
    try:
        yield
    finally:
        desk.jobs.clear()
        desk.folder.cleanup()


def _begin(desk: Desk) -> None:
    """Open the first table; where this cannot even begin, as without a target, the page asks."""
    try:
        desk.open(desk.first)
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


# Questions: a JSON object in, facts out -------------------------------------------------------------------------------


def _question(kind: type[T], work: Callable[[T], Any]) -> Callable[[Request], Awaitable[Response]]:
    """Read a body of a kind, and answer it in a thread: the page may ask something else meanwhile."""

    async def asked(request: Request) -> Response:
        media_type(request, JSON)
        async with held_body(request, QUESTION, Room(QUESTION)) as body:
            question = checked(read_json(body), kind)
        return await worded(work, question)

    return asked


async def worded(work: Callable[..., Any], *given: Any) -> Response:
    """What work answers, from a thread; where the data do not allow an answer, the reason in words.

    That a class has too few rows is news about the data, and no failure of the request: the page shows it in its place.
    """
    try:
        return answer(await asyncio.to_thread(work, *given))
    except (ClasswiseError, MissingExtraError, np.linalg.LinAlgError) as problem:
        return answer({"cannot": reason(problem)})


def _questions(desk: Desk) -> list[Route]:
    def route(path: str, kind: type[T], work: Callable[[T], Any]) -> Route:
        return Route(f"/api/{path}", _question(kind, work), methods=["POST"])

    async def status(request: Request) -> Response:
        return await worded(_status, desk)

    async def job(request: Request) -> Response:
        return await worded(desk.facts_of, request.path_params["name"])

    async def columns(request: Request) -> Response:
        name = request.query_params.get("name", "")
        return await worded(desk.columns, name)

    return [
        Route("/api/status", status),
        Route("/api/job/{name}", job),
        Route("/api/columns", columns),
        route("open", Open, lambda asked: desk.open(asked).facts()),
        route("mended", AddFlags, lambda asked: asked.opening.with_flags(asked.flag)),
        route("pad", Pad, lambda pad: table_facts(desk.draw(pad)) | {"count": desk.count}),
        route("begin", Begin, lambda asked: desk.begin(asked.job).facts()),
        route("picture", Dials, partial(picture, desk)),
        route("points", Dials, partial(points, desk)),
        route("hover", Point, lambda asked: hover(desk, asked.dials, asked.point)),
        route("why", Point, lambda asked: why(desk, asked.dials, asked.point, asked.row)),
        route("surface", Dials, partial(surface, desk)),
        route("held-out", Dials, partial(held_out, desk)),
        route("equation", Dials, partial(equation, desk)),
        route("sample", Draw, lambda asked: generated(desk, asked.dials, asked.count, asked.seed)),
        route("command", View, lambda asked: {"command": command_line(desk.opened, asked.view)}),
    ]


def _status(desk: Desk) -> dict[str, Any]:
    """What is open, and what goes on."""
    job = desk.jobs["open"]
    return {
        "count": desk.count,
        "opening": None if job is None else job.facts(),
        "table": None if desk.table is None else table_facts(desk.table),
        "menu": menu(desk.sources),
        "first": desk.first,
        "asked": desk.asked,
        "jobs": {name: each.facts() for name in ("examine", "compare", "importance") if (each := desk.jobs[name])},
    }


# Files: uploads and downloads -----------------------------------------------------------------------------------------


def _files(desk: Desk, uploads: Limits, room: Room) -> list[Route]:
    async def upload(request: Request) -> Response:
        name = request.query_params.get("name", "")
        async with held_body(request, uploads, room) as body:
            if not body:
                return answer({"cannot": f"{name or 'The file'} is empty."})
            kept = await asyncio.to_thread(desk.upload, name, body)
        return await worded(lambda: {"name": kept, "columns": desk.columns(kept)})

    makers: dict[str, Callable[[Dials], Download]] = {
        "model": lambda dials: model_file(desk.opened, dials, desk.comparison),
        "sql": lambda dials: sql_file(desk.opened, dials, desk.comparison),
        "python": lambda dials: python_file(desk.opened, dials, desk.comparison),
        "report": lambda dials: report_file(desk.opened, desk.comparison, _known(desk)),
    }

    async def download(request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind not in makers:
            raise Problem(404, f"{shown(kind)} cannot be downloaded; {', '.join(makers)} can.")
        media_type(request, JSON)
        async with held_body(request, QUESTION, Room(QUESTION)) as body:
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


def _known(desk: Desk) -> dict[str, Any]:
    """What the report need not find out again."""
    known = {"examination": desk.result("examine"), "importance": desk.result("importance")}
    return {name: value for name, value in known.items() if value is not None}
