"""Progress: shown where somebody is looking and only for long work; interrupting leaves nothing behind."""

import os
import pty
import signal
import subprocess
import sys
import threading
import time

import pytest

from classwise.engines import in_threads
from classwise.engines import progress as module
from classwise.engines.progress import Progress, TerminalLine, progress, silent


class Recorder:
    def __init__(self, what):
        self.what, self.shown, self.is_open = what, [], True

    def show(self, share, about):
        self.shown.append((share, about))

    def close(self):
        self.is_open = False


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_short_work_shows_nothing(clock):
    made = []
    with Progress("Working", 10, lambda what: made.append(what)) as bar:
        for _ in range(10):
            clock[0] += 0.1
            bar.step()
    assert not made


def test_long_work_is_shown_after_two_seconds_and_goes_away(clock):
    made = []

    def make(what):
        made.append(Recorder(what))
        return made[-1]

    with Progress("Working", 10, make) as bar:
        for i in range(10):
            clock[0] += 0.5
            bar.step(f"part {i}")
    (recorder,) = made
    assert [about for _, about in recorder.shown] == [f"part {i}" for i in range(3, 10)]
    assert recorder.shown[-1][0] == 1.0
    assert not recorder.is_open


def test_it_goes_away_when_work_is_interrupted(clock):
    recorder = Recorder("Working")

    def work():
        with Progress("Working", 10, lambda what: recorder) as bar:
            clock[0] += 3
            bar.step()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert recorder.shown
    assert not recorder.is_open


def test_nothing_is_shown_without_a_terminal(clock, capsys):
    with progress("Working", 2) as bar:
        clock[0] += 5
        bar.step()
    assert capsys.readouterr().err == ""


def test_inner_work_is_silent(clock, monkeypatch):
    monkeypatch.setattr(module, "_display", lambda: Recorder)
    with silent(), progress("Inner", 2) as bar:
        clock[0] += 5
        bar.step()
        assert bar._shown is None
    with progress("Outer", 2) as bar:
        clock[0] += 5
        bar.step()
        assert bar._shown.shown


def test_a_line_is_erased(capsys):
    line = TerminalLine("Working")
    line.show(0.5, "half")
    line.close()
    shown = capsys.readouterr().err
    assert " 50 % half" in shown
    assert shown.endswith("\r")


def test_tasks_that_have_not_begun_when_interrupted_never_do_and_no_thread_is_left():
    begun, done, before = [], [], threading.active_count()

    def work(i):
        begun.append(i)
        time.sleep(0.01)

    def step():
        done.append(1)
        if len(done) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, list(range(200)), step)
    assert threading.active_count() == before
    assert len(begun) < 50


SCRIPT = """
import threading, sys, numpy as np, classwise as cw
rng = np.random.default_rng(0)
y = rng.integers(0, 10, 15_000)
X = rng.normal(size=(15_000, 40)) + 0.2 * y[:, None]
print("begun", flush=True)
try:
    cw.compare(X, y, 20, references=False)
except KeyboardInterrupt:
    print("interrupted,", threading.active_count(), "thread left", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_compare_shows_progress_and_can_be_interrupted():
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        assert process.stdout.readline() == "begun\n"
        shown = b""
        while b"%" not in shown:
            shown += os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted, 1 thread left\n"
        assert process.wait(timeout=20) == 0
    os.close(ours)
    assert b"Comparing" in shown
