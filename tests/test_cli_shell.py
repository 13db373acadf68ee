"""The command line as a shell runs it: pipelines, signals, colors, a server; its page is run when docs are built."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from palmerpenguins import load_penguins

import classwise as cw
from classwise.rows.files import read_rows

BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def shell(command, folder, code=0, **more):
    """Run by bash; a pipeline fails if any of its parts does."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env={**ENVIRONMENT, **more},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("shell")
    penguins = load_penguins().drop(columns="year")
    penguins.to_csv(path / "penguins.csv", index=False)
    X, y = read_rows(path / "penguins.csv").drop_columns(["species"]), penguins["species"].to_numpy()
    cw.save(cw.LDA().fit(X, y), path / "model.cw")
    return path


class TestPipes:
    def test_from_standard_input_to_standard_output(self, folder):
        whole = shell("classwise predict model.cw penguins.csv", folder).stdout
        assert shell("cat penguins.csv | classwise predict model.cw - | cat", folder).stdout == whole
        assert shell("gzip -c penguins.csv | classwise predict model.cw", folder).stdout == whole
        lines = (
            "classwise sample model.cw -n 9 --format jsonl | classwise predict model.cw - --drop label --format parquet"
        )
        assert shell(f"{lines} > out.parquet", folder).stdout == ""
        assert read_rows(folder / "out.parquet").num_rows == 9

    def test_models_and_statistics_go_to_pipes(self, folder, tmp_path):
        shell(f"classwise fit penguins.csv -t species -m lda -o - | cat > {tmp_path}/m.cw", folder)
        assert type(cw.load(tmp_path / "m.cw")) is cw.LDA
        assert not (folder / "-").exists()

    def test_fit_and_compare_read_standard_input(self, folder):
        command = "classwise fit - -t species -m lda -o again.cw < penguins.csv && classwise info again.cw"
        assert "model       LDA\n" in shell(command, folder).stdout
        command = "classwise compare - -t species --no-references -m lda,qda --folds 3 --json < penguins.csv"
        assert json.loads(shell(command, folder).stdout)["data"]["source"] == "standard input"

    def test_whoever_stops_reading_is_no_error_worth_a_word(self, folder):
        command = "classwise sample model.cw -n 200000 | head -n 1"
        assert shell(command, folder, code=141).stderr == ""

    @pytest.mark.parametrize("streams", ["", "2>&1 "])
    def test_nor_is_a_comparison_that_nobody_reads_to_the_end(self, folder, streams):
        """Whichever of the two is closed, and whenever: no words, no traceback, and not the exit code of an error."""
        command = (
            f"classwise compare penguins.csv -t species --no-references -m lda,qda --folds 3 --json {streams}| true"
        )
        assert "Broken" not in shell(command, folder, code=141).stderr

    def test_a_model_is_saved_whoever_listens(self, folder):
        command = "classwise compare penguins.csv -t species --no-references -m lda,qda --folds 3 --save kept.cw | true"
        shell(command, folder, code=141)
        assert cw.load(folder / "kept.cw").classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]

    def test_python_m_is_the_same(self, folder):
        assert shell(f"{sys.executable} -m classwise --version", folder).stdout == f"classwise {cw.__version__}\n"


class TestExitCodes:
    def test_bad_data(self, folder):
        done = shell("classwise compare penguins.csv -t nothing", folder, code=1)
        assert done.stderr.startswith("classwise: penguins.csv has no column 'nothing'")
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""

    def test_usage(self, folder):
        assert "--target" in shell("classwise compare penguins.csv", folder, code=2).stderr

    def test_interrupted(self, folder):
        """Ctrl-C in the middle of a comparison: exit code 130, no traceback, and nothing written."""
        command = [str(BIN / "classwise"), "compare", "penguins.csv", "-t", "species", "--save", "never.cw"]
        with started(command, folder) as process:
            read_until(process, "from 6 columns")  # the rows have been read, and the comparison begins
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        assert process.returncode == 130, err
        assert "Traceback" not in err
        assert out == ""
        assert not (folder / "never.cw").exists()


class TestColors:
    @staticmethod
    def on_a_terminal(command, folder, **more):
        """What a terminal would be sent."""
        main, side = pty.openpty()
        environment = {**ENVIRONMENT, "TERM": "xterm-256color", **more}
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=side, stderr=side, stdin=side)
        os.close(side)
        sent = b""
        try:
            while chunk := os.read(main, 4096):
                sent += chunk
        except OSError:  # the other side is closed
            pass
        os.close(main)
        process.wait(timeout=60)
        return sent.decode()

    def test_what_is_no_text_is_not_for_a_terminal(self, folder):
        command = [str(BIN / "classwise"), "export", "onnx", "model.cw", "-o", "-"]
        assert "is not for reading on a terminal" in self.on_a_terminal(command, folder, COLUMNS="200")

    def test_on_a_terminal_only_and_not_with_no_color(self, folder):
        command = [
            str(BIN / "classwise"),
            "compare",
            "penguins.csv",
            "-t",
            "species",
            "--no-references",
            "--models",
            "lda,qda",
            "--folds",
            "3",
        ]
        environment = {key: value for key, value in ENVIRONMENT.items() if key != "NO_COLOR"}
        colored = re.compile(r"\x1b\[[0-9;]*3[0-9]m")
        assert colored.search(self.on_a_terminal(command, folder, **environment))
        assert not colored.search(self.on_a_terminal(command, folder, NO_COLOR="1"))
        done = shell(" ".join(command), folder)
        assert "\x1b" not in done.stdout + done.stderr


def test_help_waits_for_nothing(folder):
    code = (
        "import sys\nfrom classwise.cli.program import app\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'duckdb', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_shells_complete_verbs(folder):
    more = {"_CLASSWISE_COMPLETE": "complete_bash", "COMP_WORDS": "classwise su", "COMP_CWORD": "1"}
    assert shell("classwise", folder, **more).stdout.split() == ["summarize", "subtract"]
    # The shell must stay the parent, for its kind to be found out.
    assert "classwise" in shell("classwise --show-completion; true", folder).stdout


def test_serve_announces_nothing_that_it_cannot_serve(folder):
    said = shell("classwise serve nothing.cw", folder, code=1).stderr
    assert said == "classwise: There is no file 'nothing.cw'.\n"


def test_serve_answers_until_it_is_interrupted(folder):
    port = free_port()
    command = [str(BIN / "classwise"), "serve", "model.cw", "--port", str(port)]
    with started(command, folder) as process:
        seen = read_until(process, "startup complete")
        assert f"Answering at http://127.0.0.1:{port} until interrupted." in seen
        row = {"island": "Dream", "bill_length_mm": 50, "bill_depth_mm": 19, "flipper_length_mm": 200}
        body = {"rows": [{**row, "body_mass_g": 3800, "sex": "male"}], "output": "label"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/predict", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert json.load(answer)["label"] == ["Chinstrap"]
        process.send_signal(signal.SIGINT)
        err = process.communicate()[1]
    assert "Traceback" not in err
    assert process.returncode in (0, 130)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@contextmanager
def started(command, folder):
    """A process that is ended after a while, whatever happens."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True)
    end = threading.Timer(100, process.kill)
    end.start()
    try:
        yield process
    finally:
        end.cancel()
        process.kill()
        process.communicate()


def read_until(process, words):
    seen = ""
    while words not in seen:
        line = process.stderr.readline()
        assert line, f"ended without saying {words!r}: {seen}"
        seen += line
    return seen


# Real tables from raw CSV -------------------------------------------------------------------------------------------

TABLES = {"penguins": ("species", "year"), "titanic": ("survived", "alive"), "adult": ("income", "split")}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_every_verb_on_real_tables(tmp_path, name):
    data = Path(os.environ.get("CLASSWISE_DATA", "")) / f"{name}.csv.gz"
    if "CLASSWISE_DATA" not in os.environ or not data.exists():
        pytest.skip("CLASSWISE_DATA does not name a folder with these tables")
    target, drop = TABLES[name]
    roles = f"-t {target} -d {drop}"
    start = time.perf_counter()
    found = shell(f"classwise compare {data} {roles} --save m.cw --html r.html --json --no-references", tmp_path).stdout
    print(f"{name}: compared in {time.perf_counter() - start:.1f} s")
    assert json.loads(found)["best"]
    for command in (
        f"classwise fit {data} {roles} -m lda -o lda.cw",
        f"classwise predict m.cw {data} --proba --reject 0.8 -o p.parquet",
        f"zcat {data} | classwise predict lda.cw - --priors uniform | tail -n 3",
        f"classwise explain m.cw {data} --row 5",
        "classwise explain m.cw",
        "classwise sample lda.cw -n 100 -o s.csv && classwise predict m.cw s.csv --drop label > again.csv",
        f"classwise plot m.cw {data} -t {target} -o regions.png",
        f"classwise plot lda.cw {data} -t {target} --kind projection -o projection.svg",
        f"classwise plot m.cw {data} -t {target} --kind reliability -o reliability.png",
        f"classwise summarize {data} {roles} -o a.cws && classwise merge a.cws a.cws -o b.cws",
        "classwise subtract b.cws a.cws -o c.cws && classwise fit c.cws -m naive-bayes -o nb.cw",
        "classwise export json nb.cw -o nb.json && classwise export onnx nb.cw -o nb.onnx",
        "classwise export sql nb.cw --table t -o nb.sql",
        "classwise info nb.cw && classwise info c.cws",
    ):
        shell(command, tmp_path)
    predicted = read_rows(tmp_path / "p.parquet")
    labels = predicted[target].to_pylist()
    pairs = zip(labels, predicted["label"].to_pylist(), strict=True)
    right = [str(a) == str(b) for a, b in pairs if b not in ("reject", -1)]
    assert sum(right) / len(right) > 0.8
    assert len(right) < len(labels)
