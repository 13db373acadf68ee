"""What a worker process does: it answers one call after the other, until its parent closes the channel, or is silent.

The first process of ours imports what workers need, and splits them off on request: they share its memory, and are
there at once. All work of a worker is in one thread, as in a pool of threads, and the numbers are the same.
"""

import gc
import os
import select
import signal
import socket
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, BinaryIO

from threadpoolctl import threadpool_limits

from classwise.engines.messages import OPEN, pack, receive, send, unpack
from classwise.kernels import OURS

# Seconds without a call after which a worker lets shared values go, and after which it ends.
REST = 1.0
PATIENCE = 60.0

# How a call ended: with a value, with an error, or not begun, because it could not be read here.
VALUE, PROBLEM, UNREAD = "value", "problem", "unread"


def split_off_workers(requests: socket.socket, modules: Sequence[str]) -> None:
    """Start a worker for each channel that comes, until the other end is closed, or all workers have ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that has started this one ends it
    warnings.simplefilter("ignore")
    OURS.begin()
    for module in modules:
        import_module(module)
    gc.freeze()
    with threadpool_limits(1):
        while has_input(requests, PATIENCE) or _has_workers():
            if has_input(requests, 0):
                byte, channels, *_ = socket.recv_fds(requests, 1, 1)
                if not byte:
                    break
                _split_off(requests, channels)
    os._exit(0)  # at once: there is nothing to put away


def _has_workers() -> bool:
    """Whether a worker is there; those that have ended are let go."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _split_off(requests: socket.socket, channels: Sequence[int]) -> None:
    if not os.fork():
        requests.close()
        for channel in channels:
            serve(socket.socket(fileno=channel))
    for channel in channels:
        os.close(channel)


def serve(channel: socket.socket) -> None:
    """Answer calls; the first message says which process this is."""
    stream: Any = channel.makefile("rwb")
    try:
        send(stream, pack(os.getpid()))
        while _has_call(channel):
            send(stream, _answer(stream))
    except (EOFError, BrokenPipeError, ConnectionError):
        pass
    finally:
        os._exit(0)


def _has_call(channel: socket.socket) -> bool:
    if has_input(channel, REST):
        return True
    OPEN.clear()
    gc.collect()
    return has_input(channel, PATIENCE)


def has_input(stream: Any, seconds: float) -> bool:
    """Whether there is something to read, or the other end is closed, within this time."""
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def _answer(calls: BinaryIO) -> list[memoryview]:
    try:
        function, arguments = receive(calls)
    except EOFError:
        raise
    except Exception as problem:
        return pack((UNREAD, str(problem)))
    try:
        return pack((VALUE, function(*arguments)))
    except Exception as problem:
        return _packed(problem)


def _packed(problem: Exception) -> list[memoryview]:
    """An error, or its text where its class is not to be had elsewhere."""
    try:
        parts = pack((PROBLEM, problem))
        unpack(b"".join(parts))
    except Exception:
        return pack((PROBLEM, RuntimeError(f"{type(problem).__name__}: {problem}")))
    return parts
