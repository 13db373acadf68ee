"""From a request to its answer: read, check, score, write."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from classwise.rows.reading import Source
from classwise.serve import arrow
from classwise.serve.facts import explained_row, prediction
from classwise.serve.metrics import Metrics
from classwise.serve.models import Models, Served
from classwise.serve.problems import Problem, shown, to_json
from classwise.serve.requests import (
    ARROW,
    JSON,
    ExplainRequest,
    Options,
    StreamOptions,
    checked,
    media_type,
    read_json,
    read_query,
)
from classwise.serve.resources import Deadline, Room, Workers, held_body, left
from classwise.serve.settings import Limits


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
        kind = media_type(request, JSON, ARROW)
        asked = read_query(request.query_params.multi_items()) if request.scope["query_string"] else {}
        work = self._predict_json if kind == JSON else self._predict_arrow
        return await self._answer(request, name, partial(work, asked))

    async def explain(self, request: Request, name: str) -> Response:
        """Why one row is taken for one label rather than another."""
        media_type(request, JSON)
        for option in request.query_params:
            raise Problem(422, f"{shown(option)} is not an option; what /explain takes stands in the body.")
        return await self._answer(request, name, self._explain)

    async def _answer(
        self, request: Request, name: str, work: Callable[[Served, bytes, Deadline], Response]
    ) -> Response:
        """Small work at once, large work in a thread."""
        async with held_body(request, self.limits, self.room) as body:
            served = self.models[name]  # from here on, whatever becomes of the file
            if len(body) <= self.limits.inline_bytes:
                return self.workers.at_once(lambda deadline: work(served, body, deadline))
            return await self.workers.run(lambda deadline: work(served, body, deadline), left(request))

    # ----------------------------------------------------------------------------------------------------------------

    def _predict_json(self, asked: dict[str, Any], served: Served, body: bytes, deadline: Deadline) -> Response:
        rows, options = self._read_json(served, body, asked, deadline)  # the JSON itself is large, and not kept
        answer = served.scorer.answer(rows, options, deadline)
        self.metrics.rows.labels(served.name).inc(len(rows.values))
        return Response(prediction(served, answer, deadline), media_type=JSON)

    def _read_json(
        self, served: Served, body: bytes, asked: dict[str, Any], deadline: Deadline
    ) -> tuple[Source, Options]:
        deadline.check()
        content = read_json(body)
        deadline.check()
        if "keep" in asked:
            raise Problem(422, "keep is for Arrow streams; a JSON answer has the rows in the order of the request.")
        for name in asked.keys() & content.keys():
            raise Problem(422, f"The option {name} stands in the address and in the body; which one is meant?")
        given: dict[str, Any] = {name: content.pop(name) for name in ("rows", "columns") if name in content}
        return self._read_rows(served, given), checked({**asked, **content}, Options)

    def _read_rows(self, served: Served, given: dict[str, Any]) -> Source:
        if len(given) != 1:
            raise Problem(422, 'Give either "rows", a list, or "columns", an object from name to list.')
        if "rows" in given:
            rows = checked_shape("rows", given["rows"], list, "a list of rows")
            arrow.refuse_many(len(rows), self.limits.rows)
            if not rows:
                raise Problem(422, "rows is empty; give at least one row.")
            return served.scorer.reader.read_rows(rows)
        columns = checked_shape("columns", given["columns"], dict, "an object from name to list")
        longest = max((len(values) for values in columns.values() if isinstance(values, list)), default=0)
        arrow.refuse_many(longest, self.limits.rows)
        return served.scorer.reader.read_columns(columns)

    def _predict_arrow(self, asked: dict[str, Any], served: Served, body: bytes, deadline: Deadline) -> Response:
        options, scorer = checked(asked, StreamOptions), served.scorer
        arrow.check_names(body, scorer.reader, options.keep, self.limits.extra_columns)
        table = arrow.read_table(body, self.limits.rows, deadline)
        answer = scorer.answer(arrow.read_rows(table, scorer.reader, deadline), options, deadline)
        columns = arrow.answer_columns(answer.labels, answer.posteriors, scorer.classes, scorer.announced)
        content = arrow.write_stream({name: table.column(name) for name in options.keep}, columns)
        self.metrics.rows.labels(served.name).inc(len(table))
        return Response(content, media_type=ARROW)

    def _explain(self, served: Served, body: bytes, deadline: Deadline) -> Response:
        asked = checked(read_json(body), ExplainRequest)
        rows = served.scorer.reader.read_rows([asked.row])
        explained = served.scorer.explain(rows, asked.label, asked.against)
        return Response(to_json(explained_row(served, explained)), media_type=JSON)


def checked_shape(name: str, value: Any, shape: type, words: str) -> Any:
    """A part of a request that is a list or an object; its items are checked against the model, all at once."""
    if not isinstance(value, shape):
        raise Problem(422, f"{name} is to be {words}, not {shown(value)}.")
    return value
