"""Worker processes: the same numbers as threads, errors as they are, and nothing left behind."""

import multiprocessing
import operator
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import pytest

import classwise as cw
from classwise import limits
from classwise.comparison.stack.stacking import _try
from classwise.comparison.stack.trained import Member
from classwise.engines import workers
from classwise.engines.messages import Shared, pack, unpack
from classwise.engines.workers import WORKERS, are_possible, away, kept_workers
from classwise.errors import ClasswiseError, OutOfTimeError

pytestmark = pytest.mark.skipif(not are_possible(), reason="needs memory without a name")


@pytest.fixture
def forced(monkeypatch):
    """Workers on any machine, and for tables of any size."""
    monkeypatch.setattr(workers, "cpu_count", lambda: 2)
    monkeypatch.setattr(limits, "FEWEST_WORKERS", 2)
    for name in ("WORKER_WORK", "COMPARE_WORKER_VALUES"):
        monkeypatch.setattr(limits, name, 0)
    yield
    WORKERS.close()


@pytest.fixture
def kept(forced):
    with kept_workers(2, True):
        wait_for_workers()
        yield


def wait_for_workers(count=2):
    """Until so many are ready."""
    end = time.monotonic() + 60
    workers.STAFF.get().is_started()
    while sum(worker.is_ready() for worker in WORKERS._idle) < count:
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(pid):
    """Whether a process is there, and not merely waiting for its parent to hear of its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_until_ended(pids):
    end = time.monotonic() + 20
    while any(map(is_running, pids)):
        assert time.monotonic() < end, "a worker is left"
        time.sleep(0.02)


def draw_rows(n=400, columns=6, classes=3):
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, columns)) + 0.7 * y[:, None], y


class TestMessages:
    @pytest.mark.parametrize(
        "array", [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((3, 4))), np.zeros((0, 2)), np.arange(9)[::2]]
    )
    def test_arrays_arrive_as_they_lie(self, array):
        found, text = unpack(b"".join(pack((array, "text"))))
        assert text == "text"
        np.testing.assert_array_equal(found, array)
        assert found.flags.f_contiguous == array.flags.f_contiguous or not array.flags.forc

    def test_a_shared_value_is_written_once_and_its_memory_is_freed(self, kept):
        shared = Shared(np.arange(1000.0))
        assert away(operator.attrgetter("value"), shared).sum() == shared.value.sum()
        file = shared._file
        assert away(operator.attrgetter("value.flags.writeable"), shared) is False
        assert shared._file == file
        del shared
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(file)

    def test_it_is_freed_with_the_work(self, forced):
        shared = Shared(np.arange(9))
        with kept_workers(2, True):
            pack(shared)
            assert shared._file is not None
        assert shared._file is None


class TestCalls:
    def test_a_call_is_done_elsewhere_and_its_errors_are_raised_here(self, kept):
        assert away(os.getpid) != os.getpid()
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            away(np.linalg.inv, np.zeros((2, 2)))
        with pytest.raises(OutOfTimeError):
            away(operator.methodcaller("check"), cw.engines.progress.Deadline(0.0))
        assert away(os.getpid) != os.getpid()

    def test_without_workers_it_is_done_here(self, forced):
        assert away(os.getpid) == os.getpid()
        with kept_workers(2, False):
            assert away(os.getpid) == os.getpid()

    def test_what_cannot_be_pickled_is_done_here(self, kept):
        assert away(lambda: os.getpid()) == os.getpid()
        assert away(os.getpid) == os.getpid()  # nor is it tried again

    def test_the_end_of_a_worker_is_an_error_and_others_continue(self, kept):
        with pytest.raises(ClasswiseError, match="worker process ended unexpectedly"):
            away(os._exit, 3)
        assert away(os.getpid) != os.getpid()

    def test_one_that_ends_while_it_is_idle_is_not_used(self, kept):
        for worker in WORKERS._idle:
            os.kill(worker.pid, signal.SIGKILL)
        wait_until_ended([worker.pid for worker in WORKERS._idle])
        with pytest.raises(ClasswiseError, match="worker process ended unexpectedly"):
            away(os.getpid)

    def test_no_program_to_start(self, forced, monkeypatch):
        monkeypatch.setattr(sys, "executable", "/none")
        with kept_workers(2, True):
            assert away(os.getpid) == os.getpid()

    def test_a_copy_of_this_process_has_none(self, kept):
        if not (child := os.fork()):
            os._exit(bool(WORKERS._idle) or away(os.getpid) != os.getpid())
        assert os.waitpid(child, 0)[1] == 0
        assert away(os.getpid) != os.getpid()


def test_none_in_workers_of_others():
    assert joblib.Parallel(2)(joblib.delayed(are_possible)() for _ in range(2)) == [False, False]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(are_possible) is False


def test_few_cores_need_none(monkeypatch):
    monkeypatch.setattr(workers, "cpu_count", lambda: limits.FEWEST_WORKERS - 1)
    with kept_workers(8, True):
        assert workers.STAFF.get() is None


@dataclass(frozen=True, eq=False)
class Away(Member):
    """A member that hands a call to a worker."""

    name: str
    function: object
    argument: object

    def cross(self, rows):
        return away(self.function, self.argument)


class TestStack:
    @pytest.mark.parametrize("classes", [2, 3])
    def test_the_numbers_are_those_of_threads(self, forced, monkeypatch, classes):
        X, y = draw_rows(classes=classes)
        members = ["softmax", "kernel softmax", "network", "deep network", "boosted trees", "random trees"]
        threads = cw.AutoClassifier(members=members, n_jobs=2).fit(X, y)
        calls, asked = [], workers._asked
        monkeypatch.setattr(workers, "_asked", lambda *given: calls.append(given[1].__name__) or asked(*given))
        with kept_workers(2, True):
            wait_for_workers()
        processes = cw.AutoClassifier(members=members, n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(processes.predict_proba(X), threads.predict_proba(X))
        assert {"_fitted", "_fold_answers", "_of_fold", "_loss_without"} <= set(calls)
        facts = [[(line.name, line.weight, line.log_loss, line.worth, line.note) for line in m.report_]
                 for m in (processes, threads)]  # fmt: skip
        assert facts[0] == facts[1]

    @pytest.mark.parametrize(
        ("member", "reason"),
        [
            (Away("gone", os._exit, 1), "A worker process ended unexpectedly, perhaps for lack of memory."),
            (Away("singular", np.linalg.inv, np.zeros((2, 2))), "Singular matrix"),
        ],
    )
    def test_a_member_that_fails_in_a_worker_is_left_out_with_the_reason(self, kept, member, reason):
        class Rows:
            deadline = cw.engines.progress.Deadline()

        line, crossed = _try(member, Rows())
        assert (line.reason, crossed) == (reason, None)

    def test_a_time_limit_holds_in_workers(self, kept, monkeypatch):
        monkeypatch.setattr(limits, "WORKER_SECONDS", 0.0)
        X, y = draw_rows(4000, 20, 5)
        start = time.monotonic()
        report = cw.AutoClassifier(n_jobs=2, time_limit=1.0).fit(X, y).report_
        assert time.monotonic() - start < 20
        assert any("time limit" in line.reason for line in report)


class TestCompare:
    def test_the_numbers_are_those_of_threads(self, forced, monkeypatch):
        X, y = draw_rows(600)
        monkeypatch.setattr(limits, "FEWEST_WORKERS", 99)
        threads = cw.compare(X, y, references=False, n_jobs=2)
        monkeypatch.setattr(limits, "FEWEST_WORKERS", 2)
        calls, asked = [], workers._asked
        monkeypatch.setattr(workers, "_asked", lambda *given: calls.append(given[1].__name__) or asked(*given))
        with kept_workers(2, True):
            wait_for_workers()
        processes = cw.compare(X, y, references=False, n_jobs=2)
        assert {"_tried", "path_losses", "_logistic_without"} <= set(calls)
        assert str(processes) == str(threads)
        for trial in processes.trials:
            other = threads[trial.name]
            np.testing.assert_array_equal(trial.log_posterior, other.log_posterior)
            assert (trial.log_evidence, trial.power, trial.reason) == (other.log_evidence, other.power, other.reason)
        np.testing.assert_array_equal(processes.best.predict_proba(X), threads.best.predict_proba(X))

    def test_a_candidate_that_cannot_be_fitted(self, forced):
        X, y = draw_rows(60, 30)
        with kept_workers(2, True):
            wait_for_workers()
        processes = cw.compare(X, y, references=False, n_jobs=2)
        assert "has rank" in processes["QDA"].reason


def test_shared_values_are_pickled_as_others_outside_of_such_work():
    """Spark and Dask send them to other machines."""
    shared = pickle.loads(pickle.dumps(Shared([1, 2])))
    assert shared.value == [1, 2]


SCRIPT = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have turned off
sys.path.insert(0, {tests!r})
from test_workers import *

workers.cpu_count = lambda: 2
limits.FEWEST_WORKERS = 2
limits.WORKER_WORK = 0
X, y = draw_rows(20_000, 20, 5)
with kept_workers(2, True):
    wait_for_workers()
print(*(worker.pid for worker in WORKERS._idle), WORKERS._nursery._process.pid, flush=True)
try:
    cw.AutoClassifier(n_jobs=2, members=["network", "boosted trees"]).fit(X, y)
except KeyboardInterrupt:
    print("interrupted,", threading.active_count(), "thread left", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def script():
    """A process that learns with workers, and the processes that it has started."""
    text = SCRIPT.format(tests=str(Path(__file__).parent))
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        pids = [int(number) for number in process.stdout.readline().split()]
        assert all(map(is_running, pids))
        time.sleep(1.0)
        yield process, pids
        process.kill()


@pytest.mark.slow
def test_an_interruption_leaves_no_worker(script):
    process, pids = script
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted, 1 thread left\n"
    wait_until_ended(pids)


@pytest.mark.slow
def test_workers_end_with_the_process_that_has_started_them(script):
    process, pids = script
    process.kill()
    wait_until_ended(pids)
