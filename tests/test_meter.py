"""The meter of rows: what it says on a terminal, in a log, and that it is quiet elsewhere."""

import logging
import os
import pty
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import classwise as cw
from classwise.engines import progress as module
from classwise.engines.progress import Meter, metered
from classwise.rows.streams import open_stream


class Part:
    def __init__(self, size, rows):
        self.size, self._rows = size, rows

    def count(self):
        return self._rows


class Recorder:
    def __init__(self, what):
        self.shown = []

    def show(self, share, about):
        self.shown.append((share, about))

    def close(self):
        self.shown.append("closed")


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_rows_bytes_rate_and_time_left(clock):
    recorder = Recorder("")
    parts = [Part(6e9, 3_000_000), Part(2e9, 1_000_000)]
    with Meter("Learning", parts, lambda what: recorder) as meter:
        clock[0] = 1.0
        meter.advance(500_000)  # nothing is shown before two seconds have passed
        clock[0] = 10.0
        meter.advance(500_000)
    assert recorder.shown == [(0.25, "1 M rows, 2 GB of 8 GB, 100 k rows/s, 30 s left"), "closed"]


def test_where_rows_are_not_known_before_finished_parts_tell(clock):
    recorder = Recorder("")
    parts = [Part(3e6, None), Part(1e6, 10)]
    with Meter("Learning", parts, lambda what: recorder) as meter:
        clock[0] = 3.0
        meter.advance(100)
        meter.finish(parts[0])
        clock[0] = 6.0
        meter.advance(20)
    assert [about for _, about in recorder.shown[:2]] == [
        "100 rows, 0 B of 4 MB, 33 rows/s",
        "120 rows, 3 MB of 4 MB, 20 rows/s, 2 s left",
    ]


def test_a_part_that_is_begun_again_counts_once(clock):
    recorder = Recorder("")
    with Meter("Learning", [Part(0, None)], lambda what: recorder) as meter:
        meter.advance(700)
        meter.forget()
        clock[0] = 10.0
        meter.advance(100)
    assert recorder.shown[0] == (0.0, "100 rows, 10 rows/s")


def test_a_log_that_listens_is_told(clock, caplog, tmp_path):
    with caplog.at_level(logging.INFO, "classwise"), metered("Learning", [Part(100, 10)]) as meter:
        for second in range(1, 26):
            clock[0] = float(second)
            meter.advance(1)
    assert [record.getMessage() for record in caplog.records] == [
        "Learning: 2 rows, 20 B of 100 B, 1 rows/s, 8 s left",
        "Learning: 12 rows, 100 B of 100 B, 1 rows/s, 0 s left",
        "Learning: 22 rows, 100 B of 100 B, 1 rows/s, 0 s left",
    ]


def test_rows_are_estimated_at_a_glance(tmp_path):
    rows = pd.DataFrame({"x": np.random.default_rng(0).normal(size=20_000), "y": 1})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_csv(tmp_path / "rows.csv.gz", index=False)
    counts = {name: open_stream(tmp_path / name).pieces[0].count() for name in os.listdir(tmp_path)}  # noqa: PTH208
    assert counts["rows.parquet"] == 20_000
    assert counts["rows.csv"] == pytest.approx(20_000, rel=0.02)
    assert counts["rows.csv.gz"] is None


SCRIPT = """
import sys, classwise as cw, pandas as pd
from classwise.engines import progress
progress.PATIENCE = progress.PACE = 0.0
tables = (pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}) for _ in range(50))
print(cw.summarize(tables, target="y").rows)
"""


def test_on_a_terminal_and_through_a_pipe():
    piped = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert (piped.stdout, piped.stderr) == ("100\n", "")
    ours, theirs = pty.openpty()
    child = subprocess.run([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert child.stdout == "100\n"
    assert "Learning" in shown
    assert "rows/s" in shown
    assert shown.rstrip(" ").endswith("\r")  # the line is gone when the work is done


def test_statistics_are_the_same_with_a_log(caplog, tmp_path):
    rows = pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50) % 2})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with caplog.at_level(logging.INFO, "classwise"):
        found = cw.summarize(tmp_path / "rows.csv", target="y")
    assert found.rows == 50
