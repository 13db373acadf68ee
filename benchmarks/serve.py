"""What a server answers per second on loopback: single rows by wrk over kept connections, Arrow batches by a client.

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

START = "import sys, classwise.serve as s; s.run(sys.argv[1], port=int(sys.argv[2]), log_level='warning')"


def main() -> None:
    options = read_options()
    found = machine.facts()  # the load, before this run adds its own
    cores = sorted(os.sched_getaffinity(0))[: options.cores]
    os.sched_setaffinity(0, cores)  # and, by inheritance, the server's and wrk's
    facts: dict[str, Any] = {"machine": found, "cores": len(cores), "models": {}}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models().items():
            path = Path(folder) / f"{name}.cw"
            cw.save(model.fit(*draw(5000)), path)
            with serving(path) as (port, process):
                facts["models"][name] = {
                    "single": [single(port, process, count, options.seconds) for count in options.connections],
                    "arrow": [batches(port, rows, options.seconds) for rows in options.batch_rows],
                }
            show(name, facts["models"][name])
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement; default: 10")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64], help="default: 1 16 64")
    parser.add_argument("--batch-rows", type=int, nargs="+", default=[10_000, 100_000], help="default: 10000 100000")
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
    table = pa.Table.from_pandas(draw(rows)[0], preserve_index=False)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body, times, start = sink.getvalue().to_pybytes(), [], time.perf_counter()
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


def send(port: int, body: bytes, end: float, times: list[float]) -> None:
    """One client, until the time is up."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while (start := time.perf_counter()) < end:
        connection.request("POST", "/predict", body, {"Content-Type": ARROW})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{answer.status}: {content[:300]!r}")
        times.append(time.perf_counter() - start)


def show(name: str, facts: dict[str, Any]) -> None:
    for found in facts["single"]:
        print(
            f"{name:12} {found['connections']:>4} connections  {found['per_second']:>8,.0f} rows/s one by one  "
            f"p50 {found['p50_ms']:.2f} ms  p99 {found['p99_ms']:.2f} ms  server {found['server_cpu_us']:.0f} us each"
        )
    for found in facts["arrow"]:
        print(
            f"{name:12} batches of {found['batch_rows']:>7,}  {found['rows_per_second']:>10,.0f} rows/s  "
            f"p50 {found['p50_ms']:.1f} ms  p99 {found['p99_ms']:.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
