"""A real server in bad company: huge bodies, clients that dawdle or never read, crowds, and the order to stop."""

import json
import signal
import socket
import threading
import time

import httpx
import numpy as np
import pytest

import classwise as cw
from serving import Server, running


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    generator, codes = np.random.default_rng(0), np.repeat([0, 1, 2], 50)
    model = cw.LDA().fit(generator.normal(size=(150, 4)) + codes[:, None], np.array(list("abc"))[codes])
    file = tmp_path_factory.mktemp("models") / "model.cw"
    cw.save(model, file)
    return str(file)


HASTY = {"header_seconds": 1.0, "body_seconds": 1.0, "write_seconds": 1.0, "body_bytes": 20_000_000}


@pytest.fixture(scope="module")
def server(path):
    with running(path) as started:
        yield started


@pytest.fixture(scope="module")
def hasty(path):
    """A server of little patience."""
    with running(path, HASTY) as started:
        yield started
        assert "Traceback" not in started.stop()


BODY = json.dumps({"rows": [[0.1, 0.2, 0.3, 0.4]]}).encode()


def request(body=BODY, path="/predict", **headers):
    """A request as bytes; headers replace the usual ones, None leaves one out."""
    usual = {"Host": "local", "Content-Type": "application/json", "Content-Length": str(len(body))}
    lines = [f"{name}: {value}" for name, value in (usual | headers).items() if value is not None]
    return "\r\n".join([f"POST {path} HTTP/1.1", *lines, "", ""]).encode() + body


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """The status and the body of an answer; (0, b"") if the connection was closed instead."""
    with connection.makefile("rb") as file:
        line = file.readline()
        if not line:
            return 0, b""
        length = 0
        while (header := file.readline()) not in (b"\r\n", b""):
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return int(line.split()[1]), file.read(length)


def is_well(server: Server) -> None:
    with server.connect() as connection:
        connection.sendall(request())
        status, body = answer(connection)
    assert status == 200
    assert json.loads(body)["label"] == ["a"]


# Bodies -------------------------------------------------------------------------------------------------------------


def test_a_body_announced_as_too_large_is_not_waited_for(server):
    with server.connect() as connection:
        connection.sendall(request(b"", **{"Content-Length": str(2**30)}))
        status, body = answer(connection)
        assert status == 413
        assert json.loads(body)["status"] == 413
        is_well(server)


def test_a_body_that_is_never_announced_is_counted(server):
    with server.connect() as connection:
        connection.sendall(request(b"", **{"Content-Length": None, "Transfer-Encoding": "chunked"}))
        for _ in range(33):
            connection.sendall(b"100000\r\n" + b" " * 2**20 + b"\r\n")
        assert answer(connection)[0] == 413
        is_well(server)


@pytest.mark.slow
@pytest.mark.parametrize("announced", [True, False])
def test_a_gigabyte_is_refused_and_not_kept(path, announced):
    """The whole of it is sent by a client that does not listen meanwhile."""
    with running(path) as server:  # of its own: what counts is the most memory that it ever held
        is_well(server)
        before, chunk = server.memory(), b" " * 2**20
        length = {"Content-Length": str(2**30)}
        if not announced:
            length = {"Content-Length": None, "Transfer-Encoding": "chunked"}
        with server.connect() as connection:
            connection.sendall(request(b"", **length))
            try:
                for _ in range(2**10):
                    connection.sendall(chunk if announced else b"100000\r\n" + chunk + b"\r\n")
            except (ConnectionResetError, BrokenPipeError):
                pass  # it may be told to go away before it is done
            else:
                assert answer(connection)[0] == 413
        is_well(server)
        assert server.memory() - before < 200 * 2**20


# Clients that dawdle ------------------------------------------------------------------------------------------------


def test_a_connection_without_a_request_is_closed(hasty):
    with hasty.connect() as connection:
        assert answer(connection) == (0, b"")
        is_well(hasty)


def test_a_head_that_trickles_in_is_not_waited_for(hasty):
    with hasty.connect() as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\n")
        assert trickle(connection, b"X-Slow: 1\r\n") == (0, b"")
        is_well(hasty)


def test_a_second_head_that_trickles_in_is_not_waited_for(hasty):
    with hasty.connect() as connection:
        connection.sendall(request())
        assert answer(connection)[0] == 200
        connection.sendall(b"POST /predict HTTP/1.1\r\n")
        assert trickle(connection, b"X-Slow: 1\r\n") == (0, b"")


def test_a_body_that_trickles_in_is_a_timeout(hasty):
    with hasty.connect() as connection:
        connection.sendall(request(b"{", **{"Content-Length": "1000"}))
        status, body = trickle(connection, b" ")
        assert status == 408
        assert "1 seconds" in json.loads(body)["detail"]
        is_well(hasty)


def trickle(connection: socket.socket, drop: bytes) -> tuple[int, bytes]:
    """Send a drop now and then, until there is an answer."""
    connection.settimeout(0.2)
    for _ in range(100):
        try:
            return answer(connection)
        except TimeoutError:
            connection.sendall(drop)
        except ConnectionError:
            return 0, b""
    raise AssertionError("The server waits for ever.")


def test_a_head_without_end_is_refused(server):
    with server.connect() as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\n")
        try:
            for number in range(2000):
                connection.sendall(f"X-{number}: {'x' * 100}\r\n".encode())
            status = answer(connection)[0]
        except ConnectionError:
            status = 400
        assert status == 400
        is_well(server)


def test_an_answer_that_is_never_read_is_dropped(hasty):
    rows = json.dumps({"rows": [[0.1, 0.2, 0.3, 0.4]] * 100_000}).encode()
    before = hasty.open_files()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that the answer has no room here
        connection.connect(("127.0.0.1", hasty.port))
        connection.sendall(request(rows))
        assert hasty.open_files() > before
        for _ in range(100):
            if hasty.open_files() <= before:
                break
            time.sleep(0.2)
        assert hasty.open_files() <= before
    is_well(hasty)


NONSENSE = [
    b"hello\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),  # a client that speaks TLS
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"POST /predict HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n",
    b"CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
]


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense(hasty, nonsense):
    with hasty.connect() as connection:
        connection.sendall(nonsense)
        status, _ = answer(connection)
    assert status in (0, 200) or 400 <= status < 500
    is_well(hasty)


# Many at once -------------------------------------------------------------------------------------------------------


def test_two_hundred_connections_are_all_served(server):
    connections = [server.connect() for _ in range(200)]
    try:
        for _ in range(5):
            for connection in connections:
                connection.sendall(request())
            assert {answer(connection)[0] for connection in connections} == {200}
    finally:
        for connection in connections:
            connection.close()


def test_two_hundred_idle_connections_keep_nobody_out(hasty):
    idle = [hasty.connect() for _ in range(200)]
    is_well(hasty)
    assert {answer(connection) for connection in idle} == {(0, b"")}
    for connection in idle:
        connection.close()


def test_beyond_the_limit_of_connections_there_is_a_reason(path):
    with running(path, {"connections": 5, "header_seconds": 2.0}) as server:
        idle = [server.connect() for _ in range(6)]
        with server.connect() as connection:
            connection.sendall(request())
            assert answer(connection)[0] == 503
        for connection in idle:
            connection.close()
        time.sleep(0.5)
        is_well(server)


def test_too_much_at_once_is_refused_with_a_reason(path):
    """One thread, nobody may wait: of several large requests at once some are told to come again."""
    rows = json.dumps({"rows": [[0.1, 0.2, 0.3, 0.4]] * 60_000}).encode()
    statuses: list[int] = []
    with running(path, {"workers": 1, "waiting": 0}) as server:

        def ask():
            with server.connect(60) as connection:
                connection.sendall(request(rows))
                statuses.append(answer(connection)[0])

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) <= {200, 503}
        assert 200 in statuses
        assert 503 in statuses
        is_well(server)


def test_large_requests_do_not_hold_up_small_ones(server):
    rows = json.dumps({"rows": [[0.1, 0.2, 0.3, 0.4]] * 100_000}).encode()
    with server.connect(60) as large:
        large.sendall(request(rows))
        is_well(server)
        status, body = answer(large)
        assert status == 200
        assert len(json.loads(body)["label"]) == 100_000


def test_scoring_that_takes_too_long_is_given_up(path):
    rows = json.dumps({"rows": [[0.1, 0.2, 0.3, 0.4]] * 100_000}).encode()
    with running(path, {"score_seconds": 0.01}) as server, server.connect(60) as connection:
        connection.sendall(request(rows))
        status, body = answer(connection)
        assert status == 503
        assert "too long" in json.loads(body)["detail"]


# The end ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [signal.SIGTERM, signal.SIGINT])
def test_what_is_under_way_is_answered_before_the_end(path, order):
    """The body is still coming when the order to stop comes; a connection that only idles is closed."""
    with running(path) as server, server.connect() as busy, server.connect() as idle:
        idle.sendall(request())
        assert answer(idle)[0] == 200
        busy.sendall(request()[:-5])
        time.sleep(0.5)
        server.process.send_signal(order)
        time.sleep(0.5)
        with pytest.raises(OSError):
            server.connect()
        busy.sendall(request()[-5:])
        assert answer(busy)[0] == 200
        assert answer(idle) == (0, b"")
        log = server.process.communicate(timeout=60)[0].decode()
        assert server.process.returncode == (0 if order == signal.SIGINT else -order)
        assert "Traceback" not in log


def test_the_log_has_no_rows(path):
    with running(path) as server:
        secret = json.dumps({"rows": [[0.123456, "Mrs. Secret", 1, 2]]}).encode()
        assert httpx.post(f"{server.address}/predict", content=secret).status_code == 415
        kind = {"content-type": "application/json"}
        assert httpx.post(f"{server.address}/predict", content=secret, headers=kind).status_code == 422
        log = server.stop()
    assert f"Listening at {server.address}." in log
    assert "Secret" not in log
    assert "0.123456" not in log
