"""What a server answers per second on loopback: single rows by wrk over kept connections, Arrow batches by a client.

Then what becomes of it in bad company: how long a request of 200 rows takes beside two clients that send Arrow streams
of a hundred thousand columns, and how much memory it holds before, while and after twelve JSON bodies come at once.

Server and load share the same cores (2 unless told otherwise), as they would on a small machine. wrk is Debian's; `.ci`
does not need it. Other work on the machine makes the numbers worse: the load before the run is kept with them.
"""

import argparse
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pandas as pd
import pyarrow as pa

import classwise as cw

RESULTS = Path(__file__).parent / "results" / "serve.json"
EXAMPLE = "example: python benchmarks/serve.py --seconds 5 --connections 16"
ARROW = "application/vnd.apache.arrow.stream"
COLUMNS, CLASSES = 10, 3
PARTS = ("single", "arrow", "hostile", "burst")

START = "import sys, classwise.serve as s; s.run(sys.argv[1], port=int(sys.argv[2]), log_level='warning')"


def main() -> None:
    options = read_options()
    found = machine.facts()  # the load, before this run adds its own
    cores = sorted(os.sched_getaffinity(0))[: options.cores]
    os.sched_setaffinity(0, cores)  # and, by inheritance, the server's and wrk's
    facts: dict[str, Any] = {"machine": found, "cores": len(cores), "models": {}}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            path = Path(folder) / f"{name}.cw"
            cw.save(models()[name].fit(*draw(5000)), path)
            facts["models"][name] = measure(path, options)
            show(name, facts["models"][name])
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")


def measure(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The parts that were asked for, of the model in a file; a server of its own for the memory."""
    found: dict[str, Any] = {}
    with serving(path) as (port, process):
        if "single" in options.parts:
            found["single"] = [single(port, process, count, options.seconds) for count in options.connections]
        if "arrow" in options.parts:
            found["arrow"] = [batches(port, rows, options.seconds) for rows in options.batch_rows]
        if "hostile" in options.parts:
            found["hostile"] = hostile(port, options.seconds)
    if "burst" in options.parts:
        with serving(path) as (port, process):
            found["burst"] = burst(port, process)
    return found


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement; default: 10")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64], help="default: 1 16 64")
    parser.add_argument("--batch-rows", type=int, nargs="+", default=[10_000, 100_000], help="default: 10000 100000")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="single needs wrk; default: all")
    parser.add_argument("--models", nargs="+", choices=models(), default=[*models()], help="default: all")
    parser.add_argument("--cores", type=int, default=2, help="shared by server and load; default: 2")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    return parser.parse_args()


def models() -> dict[str, Any]:
    return {"LDA": cw.LDA(), "QDA": cw.QDA(), "naive-bayes": cw.NaiveBayes()}


def draw(rows: int) -> tuple[pd.DataFrame, Any]:
    """Rows of so many numbers each, and their labels."""
    generator = np.random.default_rng(0)
    codes = generator.integers(CLASSES, size=rows)
    values = generator.normal(size=(rows, COLUMNS)) + codes[:, None]
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(COLUMNS)]), np.array(["a", "b", "c"])[codes]


@contextmanager
def serving(path: Path) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """A server of the model in a file, ready."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", START, str(path), str(port)])
    try:
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


# Single rows --------------------------------------------------------------------------------------------------------


def single(port: int, process: "subprocess.Popen[bytes]", connections: int, seconds: int) -> dict[str, float]:
    """Requests of one row each, as fast as they are answered."""
    row = draw(1)[0].round(4).iloc[0].to_dict()
    script = Path(tempfile.gettempdir()) / f"classwise-wrk-{port}.lua"
    body = json.dumps({"rows": [row]})
    script.write_text(f'wrk.method="POST"\nwrk.headers["Content-Type"]="application/json"\nwrk.body=[[{body}]]\n')
    command = ["wrk", "-t1", f"-c{connections}", "--latency", "-s", str(script), f"http://127.0.0.1:{port}/predict"]
    subprocess.run([*command, "-d1s"], check=True, capture_output=True)
    before = processor_seconds(process.pid)
    report = subprocess.run([*command, f"-d{seconds}s"], check=True, capture_output=True, text=True).stdout
    spent = processor_seconds(process.pid) - before
    script.unlink()
    if "Non-2xx" in report or "Socket errors" in report:
        raise SystemExit(f"wrk saw errors:\n{report}")
    count = int(re.search(r"(\d+) requests in", report)[1])
    return {
        "connections": connections,
        "per_second": float(re.search(r"Requests/sec: +([\d.]+)", report)[1]),
        "p50_ms": latency(report, "50%"),
        "p99_ms": latency(report, "99%"),
        "server_cpu_us": 1e6 * spent / count,
    }


def latency(report: str, share: str) -> float:
    """A quantile of wrk's report, in milliseconds."""
    number, unit = re.search(rf"{share} +([\d.]+)(us|ms|s)", report).groups()
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def processor_seconds(pid: int) -> float:
    """What a process has had of processors so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Arrow batches ------------------------------------------------------------------------------------------------------


def batches(port: int, rows: int, seconds: int, clients: int = 2) -> dict[str, float]:
    """Batches over two kept connections; what comes back is read, not unpacked."""
    body, times = stream(pa.Table.from_pandas(draw(rows)[0], preserve_index=False)), []
    start = time.perf_counter()
    threads = [threading.Thread(target=send, args=(port, body, start + seconds, times)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - start
    return {
        "batch_rows": rows,
        "connections": clients,
        "rows_per_second": rows * len(times) / spent,
        "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
    }


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def send(port: int, body: bytes, end: float, times: list[float], kind: str = ARROW, is_fine: bool = True) -> None:
    """One client, until the time is up; is_fine: whether the body deserves an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while (start := time.perf_counter()) < end:
        status, content = post(connection, body, kind)
        if (status == 200) != is_fine:
            raise SystemExit(f"{status}: {content[:300]!r}")
        times.append(time.perf_counter() - start)


def post(connection: http.client.HTTPConnection, body: bytes, kind: str) -> tuple[int, bytes]:
    connection.request("POST", "/predict", body, {"Content-Type": kind})
    answer = connection.getresponse()
    return answer.status, answer.read()


# Bad company --------------------------------------------------------------------------------------------------------


def hostile(port: int, seconds: int, columns: int = 100_000) -> dict[str, float]:
    """Requests of 200 rows, beside two clients that send streams of many columns."""
    body = stream(pa.table({f"c{j}": [1.0] for j in range(columns)}))
    rows = json.dumps({"rows": draw(200)[0].round(4).to_dict("records")}).encode()
    times: list[float] = []
    refused: list[float] = []
    end = time.perf_counter() + seconds
    threads = [threading.Thread(target=send, args=(port, body, end, refused, ARROW, False)) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    send(port, rows, end, times, "application/json")
    for thread in threads:
        thread.join()
    return {
        "columns": columns,
        "stream_megabytes": len(body) / 1e6,
        "refused": len(refused),
        "requests": len(times),
        "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
        "longest_ms": 1e3 * max(times),
    }


def burst(port: int, process: "subprocess.Popen[bytes]", clients: int = 12, megabytes: int = 29) -> dict[str, Any]:
    """Resident memory before, while and after so many large JSON bodies at once."""
    part = json.dumps(draw(10_000)[0].round(1).values.tolist())[1:-1]  # short numbers: the most rows, and objects
    body = f'{{"rows": [{", ".join([part] * (megabytes * 10**6 // len(part)))}]}}'.encode()
    small = json.dumps({"rows": draw(200)[0].to_dict("records")}).encode()
    post(http.client.HTTPConnection("127.0.0.1", port), small, "application/json")  # which loads what is loaded late
    before, start = resident(process.pid, "VmRSS"), time.perf_counter()
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(post(http.client.HTTPConnection("127.0.0.1", port), body, "application/json")[0])

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    time.sleep(2)
    return {
        "clients": clients,
        "body_megabytes": len(body) / 1e6,
        "seconds": seconds,
        "answered": statuses.count(200),
        "told_to_come_again": statuses.count(503),
        "before_mb": before,
        "peak_mb": resident(process.pid, "VmHWM"),
        "after_mb": resident(process.pid, "VmRSS"),
    }


def resident(pid: int, what: str) -> float:
    """Memory of a process in megabytes: what is held now (VmRSS), or the most that ever was (VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(what))


def show(name: str, facts: dict[str, Any]) -> None:
    for found in facts.get("single", []):
        print(
            f"{name:12} {found['connections']:>4} connections  {found['per_second']:>8,.0f} rows/s one by one  "
            f"p50 {found['p50_ms']:.2f} ms  p99 {found['p99_ms']:.2f} ms  server {found['server_cpu_us']:.0f} us each"
        )
    for found in facts.get("arrow", []):
        print(
            f"{name:12} batches of {found['batch_rows']:>7,}  {found['rows_per_second']:>10,.0f} rows/s  "
            f"p50 {found['p50_ms']:.1f} ms  p99 {found['p99_ms']:.1f} ms",
            flush=True,
        )
    if "hostile" in facts:
        found = facts["hostile"]
        print(
            f"{name:12} 200 rows beside two streams of {found['columns']:,} columns: p50 {found['p50_ms']:.0f} ms, "
            f"longest {found['longest_ms']:.0f} ms ({found['requests']} requests, {found['refused']} streams refused)",
            flush=True,
        )
    if "burst" in facts:
        found = facts["burst"]
        print(
            f"{name:12} {found['clients']} JSON bodies of {found['body_megabytes']:.0f} MB at once: "
            f"{found['before_mb']:.0f} MB before, {found['peak_mb']:.0f} MB at most, {found['after_mb']:.0f} MB after; "
            f"{found['answered']} answered, {found['told_to_come_again']} told to come again, {found['seconds']:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
