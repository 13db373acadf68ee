"""Faults: what is killed, full, cut off or interrupted leaves no wrong answer and no half result; real processes."""

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import classwise as cw
from classwise import limits
from classwise.rows.files import RowFile, read_rows
from classwise.rows.sinks import open_sink, write_rows, writing
from clusters import dask_cluster
from sql_engines import spark_session

RNG = np.random.default_rng(11)


def make_rows(n):
    X = RNG.normal(size=(n, 3))
    y = RNG.integers(0, 3, n)
    return pd.DataFrame({"a": X[:, 0] + y, "b": X[:, 1], "c": X[:, 2] * (1 + y), "y": y})


def make_files(folder, count=12, n=300, suffix=".csv"):
    rows = make_rows(count * n)
    for i in range(count):
        table = pa.Table.from_pandas(rows[i * n : (i + 1) * n], preserve_index=False)
        write_rows(table, str(folder / f"part-{i:03}{suffix}"))
    return rows


def same(found, expected):
    np.testing.assert_array_equal(found.weight, expected.weight)
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.scatter, expected.scatter)


class TestCheckpoints:
    def test_finished_files_are_not_read_again(self, tmp_path, monkeypatch):
        rows = make_files(tmp_path)
        plain = cw.summarize(str(tmp_path / "*.csv"), target="y")
        read = []
        opened = RowFile.opened

        def watched(self, *arguments):
            read.append(self.path)
            if len(set(read)) > 7:
                raise RuntimeError("power cut")
            return opened(self, *arguments)

        monkeypatch.setattr(limits, "CHECKPOINT_SECONDS", 0.0)
        monkeypatch.setattr(RowFile, "opened", watched)
        with pytest.raises(RuntimeError, match="power cut"):
            cw.summarize(str(tmp_path / "*.csv"), target="y", checkpoint=tmp_path / "s.cws")
        monkeypatch.setattr(RowFile, "opened", opened)
        done = cw.load(tmp_path / "s.cws")
        assert 0 < done.rows < len(rows)
        assert done.rows % 300 == 0
        monkeypatch.setattr(RowFile, "opened", lambda self, *a: (read.append(self.path), opened(self, *a))[1])
        read.clear()
        same(cw.summarize(str(tmp_path / "*.csv"), target="y", checkpoint=tmp_path / "s.cws"), plain)
        first = str(tmp_path / "part-000.csv")  # looked at for the names of its columns
        assert len(set(read) - {first}) == 12 - done.rows // 300

    def test_new_files_are_added_and_changed_ones_refused(self, tmp_path):
        make_files(tmp_path, count=3)
        call = partial(cw.summarize, str(tmp_path / "*.csv"), target="y", checkpoint=tmp_path / "s.cws")
        assert call().rows == 900
        write_rows(read_rows(tmp_path / "part-000.csv"), str(tmp_path / "part-999.csv"))
        assert call().rows == 1200
        with pytest.raises(cw.ClasswiseError, match=r"holds what summarize.*columns=.*; give another file"):
            call(columns=["a"])
        with (tmp_path / "part-001.csv").open("a") as file:
            file.write("1,2,3,0\n")
        with pytest.raises(cw.ClasswiseError, match=r"part-001\.csv has changed since it was counted"):
            call()

    def test_only_files_have_checkpoints(self, tmp_path):
        with pytest.raises(cw.ClasswiseError, match="checkpoint is for files"):
            cw.summarize("SELECT 1 AS x, 2 AS y", target="y", checkpoint=tmp_path / "s.cws")
        with pytest.raises(cw.ClasswiseError, match="checkpoint are for files"):
            cw.summarize(make_rows(10), target="y", checkpoint=tmp_path / "s.cws")


class TestSinks:
    MODEL = cw.LDA().fit(make_rows(500)[["a", "b", "c"]], make_rows(500)["y"])

    @pytest.mark.parametrize("name", ["o.parquet", "o.csv", "o.csv.gz", "o.jsonl", "o.arrow"])
    def test_a_bad_file_half_way_leaves_nothing(self, tmp_path, name):
        make_files(tmp_path, count=4)
        with (tmp_path / "part-003.csv").open("a") as file:
            file.write("1,2\n")
        out = tmp_path / "out"
        out.mkdir()
        with pytest.raises(cw.ClasswiseError, match=r"part-003\.csv"):
            cw.predict(self.MODEL, str(tmp_path / "*.csv"), out / name)
        assert list(out.iterdir()) == []

    def test_what_was_there_stays(self, tmp_path):
        make_files(tmp_path, count=1)
        old = tmp_path / "old.parquet"
        old.write_text("old")
        with pytest.raises(cw.ClasswiseError, match="exists already; overwrite=True replaces it"):
            cw.predict(self.MODEL, str(tmp_path / "part-000.csv"), old)
        assert old.read_text() == "old"
        assert cw.predict(self.MODEL, str(tmp_path / "part-000.csv"), old, overwrite=True) == 300
        assert pq.read_table(old).num_rows == 300

    def test_a_table_is_made_whole_or_not_at_all(self, tmp_path):
        import duckdb

        path = tmp_path / "shop.duckdb"
        table = pa.table({"x": [1, 2]})
        with pytest.raises(cw.ClasswiseError, match="unlike the first"), open_sink(f"{path}#answers") as write:
            [write(rows) for rows in (table, table, pa.table({"z": ["a"]}))]
        with duckdb.connect(str(path)) as connection:
            assert connection.sql("SHOW TABLES").fetchall() == []
        with open_sink(f"{path}#answers") as write:
            write(table)
            write(table)
        with duckdb.connect(str(path)) as connection:
            assert connection.sql("SELECT sum(x) FROM answers").fetchall() == [(6,)]
        with pytest.raises(cw.ClasswiseError, match="cannot be written"), open_sink(f"{path}#answers") as write:
            write(table)

    @pytest.mark.parametrize("name", ["o.parquet", "o.csv", "o.csv.gz"])
    def test_a_full_disk(self, tmp_path, name):
        """The file may not grow beyond 50 kB, which to a writer is the same as a full disk."""
        rows = make_rows(60_000)
        pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), tmp_path / "rows.parquet")
        cw.save(self.MODEL, tmp_path / "m.cw")
        out = tmp_path / "out"
        out.mkdir()
        script = f"""
import resource, signal, classwise as cw
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    cw.predict(cw.load({str(tmp_path / "m.cw")!r}), {str(tmp_path / "rows.parquet")!r}, {str(out / name)!r})
except cw.ClasswiseError as problem:
    print(problem)
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert f"{name}' cannot be written: " in done.stdout, done.stdout + done.stderr
        assert list(out.iterdir()) == []

    def test_interrupted(self, tmp_path):
        """In the midst of rows that have no end."""
        write_rows(pa.Table.from_pandas(make_rows(20_000), preserve_index=False), str(tmp_path / "rows.parquet"))
        cw.save(self.MODEL, tmp_path / "m.cw")
        out = tmp_path / "out"
        out.mkdir()
        script = f"""
import itertools, classwise as cw, pyarrow.parquet as pq
m, rows = cw.load({str(tmp_path / "m.cw")!r}), pq.read_table({str(tmp_path / "rows.parquet")!r})
cw.predict(m, rows, {str(out / "o.parquet")!r})
print("ready", flush=True)
cw.predict(m, itertools.repeat(rows), {str(out / "o.parquet")!r}, overwrite=True)
"""
        child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        wait_for(lambda: list(out.glob(".classwise-*")))
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        assert child.returncode != 0
        assert [path.name for path in out.iterdir()] == ["o.parquet"]
        assert pq.read_metadata(out / "o.parquet").num_rows == 20_000  # what was there before

    @pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # It is open, and not yet anybody's.
    def test_interrupted_anywhere(self, tmp_path):
        """At its first step, its second, and so on: a name that is not known yet cannot be taken away."""
        path = tmp_path / "o.csv"

        def write():
            with writing(str(path), force=True) as file:
                file.write(b"whole")

        steps = 0
        while is_interrupted(write, steps):
            assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] in ([], [("o.csv", "whole")]), steps
            path.unlink(missing_ok=True)
            steps += 1
        assert steps > 30
        assert path.read_text() == "whole"


def is_interrupted(work, steps):
    """Whether work, interrupted after so many calls and lines of Python, had that many."""
    left = steps

    def trace(frame, event, argument):
        nonlocal left
        left -= event in ("call", "line")  # Where Python looks for signals.
        if left < 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


# Killed workers -------------------------------------------------------------------------------------------------------


def die_once(table, marker, victim):
    """A step before ours that kills its process the first time it meets a certain row."""
    if victim in set(np.asarray(table["c"]).tolist()) and not os.path.exists(marker):  # noqa: PTH110
        with open(marker, "w") as file:  # noqa: PTH123
            file.write("dead")
        os.kill(os.getpid(), signal.SIGKILL)
    return table


def die_once_arrow(batches, marker, victim):
    for batch in batches:
        yield die_once(batch, marker, victim)


def close(found, expected):
    assert found.rows == expected.rows
    np.testing.assert_allclose(found.weight, expected.weight, rtol=1e-12)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-12)


@pytest.mark.slow
def test_a_worker_of_dask_is_killed(tmp_path):
    import dask.dataframe as dd

    rows = make_rows(4000)
    marker, victim = str(tmp_path / "dead"), float(rows["c"].iloc[2500])
    with dask_cluster():
        frame = dd.from_pandas(rows, npartitions=8, sort=False)
        fragile = frame.map_partitions(die_once, marker, victim, meta=frame._meta)
        close(cw.summarize(fragile, target="y"), cw.summarize(rows, target="y"))
    assert os.path.exists(marker)  # noqa: PTH110


@pytest.mark.slow
@pytest.mark.xdist_group("engines")  # with the other tests of Spark, in a process where Java runs already
def test_a_task_of_spark_fails(tmp_path):
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(sys.modules[__name__])  # Spark's workers do not know where tests are
    rows = make_rows(4000)
    marker, victim = str(tmp_path / "dead"), float(rows["c"].iloc[2500])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = spark_session().createDataFrame(pa.Table.from_pandas(rows, preserve_index=False)).repartition(6)
        fragile = frame.mapInArrow(partial(die_once_arrow, marker=marker, victim=victim), frame.schema)
        close(cw.summarize(fragile, target="y"), cw.summarize(rows, target="y"))
    assert os.path.exists(marker)  # noqa: PTH110


# Killed at random moments ---------------------------------------------------------------------------------------------

ROUNDS = int(os.environ.get("CLASSWISE_KILLS", "6"))

# However fast the machine is, a kill comes in the middle: the work has no end, and each result has a number. For each
# folder that it is told of, this process, which has imported all there is to import, starts another that works there.
NURSERY = """
import itertools, os, sys
from pathlib import Path
import classwise as cw
from classwise import limits
import classwise.estimators.scoring, pyarrow.parquet, duckdb

limits.CHECKPOINT_SECONDS = 0.0

def work(home, number):
    {work}

for line in sys.stdin:
    home = Path(line.strip())
    if (pid := os.fork()) == 0:
        work(home, "first")
        print("at work", os.getpid(), flush=True)
        for number in itertools.count():
            work(home, number)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def killed_at_random_moments(folder, work, longest=0.3):
    """Folders in which a process worked until it was killed."""
    script = NURSERY.format(work=work)
    moments = random.Random(0)
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as nursery:
        for i in range(ROUNDS):
            home = folder / f"round-{i}"
            home.mkdir()
            nursery.stdin.write(f"{home}\n".encode())
            nursery.stdin.flush()
            told, _, worker = nursery.stdout.readline().rpartition(b" ")
            assert told == b"at work"
            time.sleep(moments.uniform(0, longest))
            os.kill(int(worker), signal.SIGKILL)
            assert int(nursery.stdout.readline()) == -signal.SIGKILL
            yield home
        nursery.stdin.close()


@pytest.mark.slow
def test_predictions_killed_at_random_moments(tmp_path):
    rows = make_rows(60_000)
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), tmp_path / "rows.parquet")
    cw.save(TestSinks.MODEL, tmp_path / "m.cw")
    cw.predict(TestSinks.MODEL, tmp_path / "rows.parquet", tmp_path / "expected.parquet")
    expected = pq.read_table(tmp_path / "expected.parquet")
    work = """cw.predict(cw.load(home.parent / "m.cw"), home.parent / "rows.parquet", home / f"{number}.parquet")"""
    broken_off = 0
    for home in killed_at_random_moments(tmp_path, work):
        complete = list(home.glob("[!.]*.parquet"))
        assert complete
        assert all(pq.read_table(path).equals(expected) for path in complete)
        broken_off += len(list(home.glob(".classwise-*")))
    assert broken_off  # some were killed while they wrote


@pytest.mark.slow
def test_fits_killed_at_random_moments(tmp_path):
    make_files(tmp_path, count=30, n=100, suffix=".parquet")
    files = str(tmp_path / "part-*.parquet")
    plain = cw.summarize(files, target="y")
    work = """cw.summarize(str(home.parent / "part-*.parquet"), target="y", checkpoint=home / f"{number}.cws")"""
    half_way = 0
    for home in killed_at_random_moments(tmp_path, work):
        for saved in home.glob("[!.]*.cws"):
            held = cw.load(saved)
            assert held.rows % 100 == 0  # whole files only
            half_way += held.rows < plain.rows
            same(cw.summarize(files, target="y", checkpoint=saved), plain)
    assert half_way  # some went on from the middle
