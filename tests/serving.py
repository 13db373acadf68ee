"""Servers to test: in this process, and real ones in processes of their own."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

from classwise.serve.app import create_app

ARROW = "application/vnd.apache.arrow.stream"
PROBLEM = "application/problem+json"


class Client:
    """Asks an app in this process; what fails inside is an answer of 500, as it would be on the net."""

    def __init__(self, models: Any, *given: Any, **options: Any) -> None:
        self.app = create_app(models, *given, **options)

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def asking() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://local") as client:
                return await client.request(method, path, **given)

        return asyncio.run(asking())

    def get(self, path: str) -> httpx.Response:
        return self.ask("GET", path)

    def post(self, path: str, content: Any, kind: str | None = "application/json", **given: Any) -> httpx.Response:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        headers = {} if kind is None else {"content-type": kind}
        return self.ask("POST", path, content=body, headers=headers, **given)


def stream(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


START = """
import sys, json, classwise.serve as serve
given = json.loads(sys.argv[1])
serve.run(given["models"], port=given["port"], limits=serve.Limits(**given["limits"]), reload_seconds=given["reload"])
"""


class Server:
    """A server in a process of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.process = process
        self.port = port
        self.address = f"http://127.0.0.1:{port}"

    def connect(self, timeout: float = 30.0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def memory(self) -> int:
        """The most memory it ever held, in bytes."""
        with Path(f"/proc/{self.process.pid}/status").open() as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

    def open_files(self) -> int:
        """How many files and connections it has open."""
        return len([*Path(f"/proc/{self.process.pid}/fd").iterdir()])

    def stop(self) -> str:
        """Tell it to stop, wait until it has; what it logged."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=60)[0].decode()


@contextmanager
def running(models: Any, limits: dict[str, Any] | None = None, reload_seconds: float = 0.05) -> Iterator[Server]:
    """A server that answers."""
    port = free_port()
    given = {"models": models, "port": port, "limits": limits or {}, "reload": reload_seconds}
    command = [sys.executable, "-c", START, json.dumps(given)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    server = Server(process, port)
    try:
        wait_for(server)
        yield server
    finally:
        server.stop()


def wait_for(server: Server) -> None:
    for _ in range(600):
        if server.process.poll() is not None:
            raise AssertionError(f"The server ended: {server.process.communicate()[0].decode()}")
        try:
            server.connect().close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("The server does not answer.")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])
