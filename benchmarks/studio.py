"""How long a dial of the studio takes to redraw, server and page together, and when the first view of a file is there.

redraw: 1e6 rows of 20 columns and 3 classes in Parquet; a dial is moved a hundred times in Chromium, and the time goes
    from its event to the frame after the picture is drawn; at rest, and while the comparison of all models runs.
first: from the start of the command to the picture of a CSV of 100 MB, and whether progress was shown meanwhile.

Browser and server share the same cores, as on a laptop. Other work on the machine makes the numbers worse: the load
before each part is kept with them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from studio_page import StudioPage, chromium

RESULTS = Path(__file__).parent / "results" / "studio.json"
EXAMPLE = "example: python benchmarks/studio.py redraw --moves 100"
ROWS, COLUMNS, CSV_BYTES = 1_000_000, 20, 100e6

# Move a dial so often, each time waiting until the picture has followed; milliseconds.
MOVE = """async ([id, values]) => {
    const dial = document.getElementById(id), found = [];
    for (const value of values) {
        const before = window.studio.redraws.length;
        if (Number(dial.value) === value) continue;
        dial.value = value;
        dial.dispatchEvent(new Event('input', { bubbles: true }));
        while (window.studio.redraws.length === before) await new Promise((done) => setTimeout(done, 1));
        found.push(window.studio.redraws.at(-1));
        await new Promise((done) => setTimeout(done, 30));
    }
    return found;
}"""


def table(rows: int) -> pa.Table:
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 3, rows)
    means = generator.normal(size=(3, COLUMNS))
    roots = generator.normal(size=(3, COLUMNS, COLUMNS)) / 4 + np.eye(COLUMNS)
    values = np.einsum("ni,nij->nj", generator.normal(size=(rows, COLUMNS)), roots[codes]) + means[codes]
    columns = {f"x{j}": values[:, j].round(4) for j in range(COLUMNS)}
    return pa.table(columns | {"label": np.array(["high", "low", "mid"])[codes]})


@contextmanager
def studio(path: Path) -> Iterator[str]:
    """The command, as a user starts it; its address."""
    command = [sys.executable, "-m", "classwise", "studio", str(path), "--target", "label", "--no-browser"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    try:
        yield running.stderr.readline().split()[-1]
    finally:
        running.terminate()
        running.wait()


def redraw(folder: Path, moves: int) -> dict[str, Any]:
    path = folder / "rows.parquet"
    pa.parquet.write_table(table(ROWS), path)
    shares = np.linspace(0, 1, moves).round(2).tolist()
    with studio(path) as url, chromium() as browser:
        view = StudioPage(browser, folder)
        view.page.goto(url)
        view.page.wait_for_selector("#picture .scatterlayer", state="attached", timeout=120_000)
        busy = view.page.evaluate(MOVE, ["share", shares])
        still = "running" if view.page.is_visible("#opening") else "over"
        view.page.wait_for_selector("#opening", state="hidden", timeout=600_000)
        view.page.wait_for_timeout(3000)
        dials = {"share": shares, "shrink": shares, "reject": np.linspace(0.4, 0.99, moves).tolist()}
        calm = {name: spread(view.page.evaluate(MOVE, [name, values])) for name, values in dials.items()}
        view.close()
    return {"while comparing": spread(busy), "the comparison was then": still, "at rest": calm}


def spread(milliseconds: list[float]) -> dict[str, float]:
    low, middle, high, most = np.quantile(milliseconds, [0.05, 0.5, 0.95, 1.0]).round(1).tolist()
    return {"p5": low, "p50": middle, "p95": high, "max": most}


def first(folder: Path) -> dict[str, Any]:
    path = folder / "rows.csv"
    pa.csv.write_csv(table(10_000), path)
    rows = round(10_000 * CSV_BYTES / path.stat().st_size)
    pa.csv.write_csv(table(rows), path)
    with chromium() as browser:
        view = StudioPage(browser, folder)
        begun = time.perf_counter()
        with studio(path) as url:
            listening = time.perf_counter() - begun
            view.page.goto(url)
            view.page.wait_for_selector("#opening:not([hidden])", timeout=30_000)
            shown = time.perf_counter() - begun
            view.page.wait_for_selector("#picture .scatterlayer", state="attached", timeout=120_000)
            drawn = time.perf_counter() - begun
            view.close()
    seconds = {"listening": listening, "progress shown": shown, "picture": drawn}
    size = {"rows": rows, "megabytes": round(path.stat().st_size / 1e6, 1)}
    return size | {name: round(value, 2) for name, value in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["redraw", "first"], help="redraw, first; by default both")
    parser.add_argument("--moves", type=int, default=100, help="of each dial")
    given = parser.parse_args()
    found: dict[str, Any] = {"machine": machine.facts()}
    with tempfile.TemporaryDirectory() as folder:
        for part in given.parts:
            load = os.getloadavg()[0]
            made = redraw(Path(folder), given.moves) if part == "redraw" else first(Path(folder))
            found[part] = made | {"load before": round(load, 2)}
            print(json.dumps({part: found[part]}, indent=2), flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
