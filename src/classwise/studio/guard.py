"""Who has access: this machine's browser, from this page, with the token that the terminal showed.

Other pages in the same browser can send requests to any port of this machine. They cannot read the token, they bring
their own Origin, and after DNS rebinding their own Host. Each of the three is checked, and any one is enough to refuse.
"""

from secrets import compare_digest
from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from classwise.serve.requests import Problem

# The header that the page sends the token in; a foreign page cannot set it without asking first, and is refused then.
TOKEN = "x-studio-token"

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self' http://127.0.0.1:* http://localhost:* https://localhost:*"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class Access(NamedTuple):
    """token: what a request has to bring; hosts: names that the server may be called by, besides this machine's."""

    token: str
    hosts: tuple[str, ...] = ()


class Guard:
    """Refuses requests before anything else is done with them; adds the headers that keep a page to itself."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sending(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*_cleared(message), *HEADERS]}
            await send(message)

        try:
            self.check(Headers(scope=scope), scope["path"], scope["query_string"].decode("latin-1"))
        except Problem as problem:
            await problem.response()(scope, receive, sending)  # type: ignore[arg-type]
            return
        await self.app(scope, receive, sending)  # type: ignore[arg-type]

    def check(self, headers: Headers, path: str, query: str) -> None:
        """A Problem that says why a request is refused."""
        host = headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if name.lower() not in (*LOOPBACK, *self.access.hosts):
            raise Problem(
                403, "The Host of this request is another machine's; open the address that the terminal shows."
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise Problem(403, "This request comes from another page, which may not ask here.")
        if path.startswith("/api/") and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise Problem(403, "This request comes from another site, which may not ask here.")
        if not path.startswith("/static/"):
            self._check_token(headers, path, query)

    def _check_token(self, headers: Headers, path: str, query: str) -> None:
        """In a header; the page itself is opened by its address, which holds it."""
        given = headers.get(TOKEN, "") if path.startswith("/api/") else parse_qs(query).get("token", [""])[0]
        if not compare_digest(given.encode(), self.access.token.encode()):
            raise Problem(
                403,
                "The token is missing or old; open the address that the terminal shows. To open a view that you have "
                "kept, add it to the command: classwise studio FILE --target COLUMN --view '...', with what follows # "
                "in the address.",
            )


def _cleared(message: dict[str, object]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer without those that are set here."""
    named = {name for name, _ in HEADERS}
    given: list[tuple[bytes, bytes]] = list(message["headers"])  # type: ignore[call-overload]
    return [(name, value) for name, value in given if name.lower() not in named]
