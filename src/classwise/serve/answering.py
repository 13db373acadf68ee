"""From a request to its answer: read, check, score, write."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from classwise.serve import answers, arrow
from classwise.serve.arrow_stream import read_names, read_table, refuse_many
from classwise.serve.bodies import Room, held_body, left
from classwise.serve.limits import Limits
from classwise.serve.metrics import Metrics
from classwise.serve.models import Models, Served
from classwise.serve.problems import Problem, shown
from classwise.serve.reading import Options, read_json, read_query, refuse_unknown
from classwise.serve.rows import Rows
from classwise.serve.work import Deadline, Workers

JSON = "application/json"
OPTIONS = ("output", "priors", "reject", "keep")


@dataclass(frozen=True, eq=False)
class Desk:
    """Where requests are answered: the models, and what is put up with."""

    models: Models
    limits: Limits
    metrics: Metrics
    workers: Workers
    room: Room

    async def predict(self, request: Request, name: str) -> Response:
        """Labels and posteriors of the rows in a body, which is JSON or an Arrow stream."""
        kind = media_type(request, JSON, arrow.MEDIA_TYPE)
        asked = read_query(request.query_params.multi_items()) if request.scope["query_string"] else {}
        work = self._predict_json if kind == JSON else self._predict_arrow
        async with held_body(request, self.limits, self.room) as body:
            served = self.models[name]  # from here on, whatever becomes of the file
            return await self._do(request, len(body), lambda deadline: work(served, body, asked, deadline))

    async def explain(self, request: Request, name: str) -> Response:
        """Why one row is taken for one label rather than another."""
        media_type(request, JSON)
        for option, _ in request.query_params.multi_items():
            raise Problem(422, f"{shown(option)} is not an option; what /explain takes stands in the body.")
        async with held_body(request, self.limits, self.room) as body:
            served = self.models[name]
            return await self._do(request, len(body), lambda deadline: self._explain(served, body))

    # ----------------------------------------------------------------------------------------------------------------

    async def _do(self, request: Request, size: int, work: Callable[[Deadline], Response]) -> Response:
        """Small work at once, large work in a thread."""
        if size <= self.limits.inline_bytes:
            return self.workers.at_once(work)
        return await self.workers.run(work, left(request))

    def _predict_json(self, served: Served, body: bytes, asked: dict[str, Any], deadline: Deadline) -> Response:
        rows, options = self._read_json(served, body, asked, deadline)  # the JSON itself is large, and not kept
        answer = served.scorer.answer(rows, options, deadline)
        self.metrics.rows.labels(served.name).inc(len(rows))
        return Response(answers.predictions(served.opening, answer, deadline), media_type=JSON)

    def _read_json(
        self, served: Served, body: bytes, asked: dict[str, Any], deadline: Deadline
    ) -> tuple[Rows, Options]:
        deadline.check()
        content = read_json(body)
        deadline.check()
        for name in asked.keys() & content.keys():
            raise Problem(422, f"The option {name} stands in the address and in the body; which one is meant?")
        options = Options.read({**asked, **content})
        if options.keep:
            raise Problem(422, "keep is for Arrow streams; a JSON answer has the rows in the order of the request.")
        return self._read_rows(served, content), options

    def _predict_arrow(self, served: Served, body: bytes, asked: dict[str, Any], deadline: Deadline) -> Response:
        options, reader = Options.read(asked), served.scorer.reader
        names = read_names(body, len(reader.columns) + self.limits.extra_columns)
        arrow.check_names(names, reader, options.keep)
        table = read_table(body, self.limits.rows, deadline)
        rows = arrow.read_rows(table, reader, deadline)
        answer = served.scorer.answer(rows, options, deadline)
        content = arrow.write_stream(table, served.scorer.classes, answer, options.keep)
        self.metrics.rows.labels(served.name).inc(len(rows))
        return Response(content, media_type=arrow.MEDIA_TYPE)

    def _read_rows(self, served: Served, content: dict[str, Any]) -> Rows:
        refuse_unknown(content, ("rows", "columns", *OPTIONS))
        if ("rows" in content) == ("columns" in content):
            raise Problem(422, 'Give either "rows", a list, or "columns", an object from name to list.')
        if "rows" in content:
            return served.scorer.reader.read_rows(self._listed(content["rows"]))
        columns = content["columns"]
        if not isinstance(columns, dict):
            raise Problem(422, f"columns is to be an object from name to list, not {shown(columns)}.")
        longest = max((len(values) for values in columns.values() if isinstance(values, list)), default=0)
        refuse_many(longest, self.limits.rows)
        return served.scorer.reader.read_columns(columns)

    def _listed(self, rows: Any) -> list[Any]:
        if not isinstance(rows, list):
            raise Problem(422, f"rows is to be a list of rows, not {shown(rows)}.")
        refuse_many(len(rows), self.limits.rows)
        if not rows:
            raise Problem(422, "rows is empty; give at least one row.")
        return rows

    def _explain(self, served: Served, body: bytes) -> Response:
        content = read_json(body)
        refuse_unknown(content, ("row", "label", "against"))
        if "row" not in content:
            raise Problem(422, 'The body has no "row"; give one, an object from column to value.')
        rows = served.scorer.reader.read_rows([content["row"]])
        explained = served.scorer.explain(rows, content.get("label"), content.get("against"))
        facts = {"model": served.name, "sha256": served.sha256, **answers.explanation(explained)}
        return Response(json.dumps(facts), media_type=JSON)


def media_type(request: Request, *known: str) -> str:
    """The type of the body, which must be one of those known."""
    given = request.headers.get("content-type", "")
    kind = given.partition(";")[0].strip().lower()
    if kind not in known:
        what = f"Content-Type: {shown(given)} is not one that is read here" if given else "There is no Content-Type"
        raise Problem(415, f"{what}; send {' or '.join(known)}.", headers={"Accept": ", ".join(known)})
    return kind
