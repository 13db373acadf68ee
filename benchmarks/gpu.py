"""Rows on a CUDA device: time beside the memory floor and beside plain torch, and errors against float64.

    python benchmarks/gpu.py [--rows 100000000] [--columns 16] [--classes 5]

Rows are float32, made on the device: classes with covariances of their own, means a deviation or so apart. The floor is
the time to read the rows once and to write the answer, at the rate at which torch adds up the rows. Plain torch is what
one would write without classwise: a product of the rows of each class, and log densities one class after another. Whole
calls are timed: labels are coded, rows sorted, models made. Last come whole calls on fewer rows, beside the same calls
on NumPy's rows, with all cores of the machine.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import machine
import numpy as np

import classwise as cw
from classwise.engines.device_sums import ClassedRows

RESULTS = Path(__file__).parent / "results" / "gpu.json"

# Rows of which errors are measured: float64 takes room.
CHECKED = 10_000_000
SCORED = 1_000_000
# Rows that are made at a time.
PART = 10_000_000
# Deviations of the means from zero, in the second half of the errors.
FAR = 1e3
# Rows of whole calls that are timed beside NumPy, once.
FEWER = 1_000_000


def main() -> None:
    options = read_options()
    torch = cuda_or_exit()
    X, y = make_rows(torch, options.rows, options.columns, options.classes, 0.0)
    rate = X.nbytes / milliseconds(torch, X.sum)
    found = [timed | over(timed, rate) for timed in times(torch, X, y, options.classes)]
    del X, y
    errors = {}
    for offset in (0.0, FAR):
        rows = make_rows(torch, min(options.rows, CHECKED), options.columns, options.classes, offset)
        errors[f"{offset:g}"] = measure_errors(torch, *rows, options.classes)
    beside = beside_numpy(torch, options.columns, options.classes)
    device = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "read_GB_per_s": rate / 1e6}
    shape = {"rows": options.rows, "columns": options.columns, "classes": options.classes}
    facts = {
        "machine": {**machine.facts(), **device},
        **shape,
        "times": found,
        "errors": errors,
        "beside_numpy": beside,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")
    show(facts)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    return parser.parse_args()


def cuda_or_exit() -> Any:
    """torch, or the end of the program where it finds no device."""
    try:
        import torch
    except ImportError:
        sys.exit("benchmarks/gpu.py measures torch on a CUDA device, and torch is not installed.")
    if not torch.cuda.is_available():
        sys.exit("benchmarks/gpu.py measures a CUDA device, and torch finds none here.")
    return torch


def make_rows(torch: Any, rows: int, columns: int, classes: int, offset: float) -> tuple[Any, Any]:
    """X (n, p) and y (n,), on the device."""
    maker = torch.Generator("cuda").manual_seed(0)
    options: dict[str, Any] = {"device": "cuda", "generator": maker}
    turns = torch.eye(columns, device="cuda") + 0.3 * torch.randn(classes, columns, columns, **options) / columns**0.5
    means = torch.randn(classes, columns, **options) + offset * turns.square().sum(1).sqrt().mean(0)
    X, y = torch.empty(rows, columns, device="cuda"), torch.randint(0, classes, (rows,), **options)
    for start in range(0, rows, PART):
        own = y[start : start + PART]
        noise = torch.randn(len(own), columns, **options)
        for k in range(classes):
            X[start : start + PART][own == k] = noise[own == k] @ turns[k] + means[k]
    return X, y


def milliseconds(torch: Any, call: Callable[[], Any], repeats: int = 20) -> float:
    """The median time of a call, by the device's clock; the first calls compile."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    spent = []
    for _ in range(repeats):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        stop.record()
        torch.cuda.synchronize()
        spent.append(start.elapsed_time(stop))
    return float(np.median(spent))


def times(torch: Any, X: Any, y: Any, classes: int) -> list[dict[str, Any]]:
    """Each operation: our time, that of plain torch, and the bytes that it must move."""
    lda, qda, bayes = (model.fit(X, y) for model in (cw.LDA(), cw.QDA(), cw.NaiveBayes()))
    codes, provisional = y.to(torch.int8), np.asarray(lda.means_, dtype=np.float32).astype(np.float64)
    answers = 4 * len(X) * classes
    operations = {
        "scatter by class, sort included": (lambda: sums(X, codes, provisional, False), plain_scatter, None, 0),
        "squares by class, sort included": (lambda: sums(X, codes, provisional, True), plain_squares, None, 0),
        "LDA fit": (lambda: cw.LDA().fit(X, y), None, None, 0),
        "QDA fit": (lambda: cw.QDA().fit(X, y), plain_scatter, None, 0),
        "naive Bayes fit": (lambda: cw.NaiveBayes().fit(X, y), plain_squares, None, 0),
        "LDA posterior": (lambda: lda.predict_proba(X), plain_linear, lda, answers),
        "QDA posterior": (lambda: qda.predict_proba(X), plain_quadratic, qda, answers),
        "naive Bayes posterior": (lambda: bayes.predict_proba(X), plain_diagonal, bayes, answers),
        "QDA log joint": (lambda: qda.log_joint(X), None, qda, answers),
        "QDA predict": (lambda: qda.predict(X), None, qda, 8 * len(X)),
    }
    found = []
    for name, (ours, plain, model, written) in operations.items():
        peer = None if plain is None else milliseconds(torch, lambda p=plain, m=model: p(torch, X, y, classes, m), 5)
        found.append(
            {"operation": name, "ms": milliseconds(torch, ours), "plain_ms": peer, "bytes": X.nbytes + written}
        )
        print(f"{name}: {found[-1]['ms']:.2f} ms", file=sys.stderr, flush=True)
    return found


def over(timed: dict[str, Any], rate: float) -> dict[str, Any]:
    """Ratios to the floor, and of plain torch to ours."""
    floor, peer = timed["bytes"] / rate, timed["plain_ms"]
    return {"floor_ms": floor, "over_floor": timed["ms"] / floor, "plain_over_ours": peer and peer / timed["ms"]}


def sums(X: Any, codes: Any, provisional: Any, diagonal: bool) -> Any:
    return ClassedRows(X, codes, len(provisional)).sums(provisional, diagonal)


# Plain torch, in float32 ----------------------------------------------------------------------------------------------


def plain_scatter(torch: Any, X: Any, y: Any, classes: int, model: Any) -> list[Any]:
    away = [X[y == k] for k in range(classes)]
    away = [rows - rows.mean(0) for rows in away]
    return [rows.T @ rows for rows in away]


def plain_squares(torch: Any, X: Any, y: Any, classes: int, model: Any) -> list[Any]:
    return [X[y == k].var(0) for k in range(classes)]


def plain_linear(torch: Any, X: Any, y: Any, classes: int, model: Any) -> Any:
    means, precision = (torch.tensor(v, device="cuda") for v in (model.means_, np.linalg.inv(model.covariances_[0])))
    slopes = (means @ precision).float()
    constants = (-0.5 * (means @ precision * means).sum(1)).float()
    return torch.softmax(X @ slopes.T + constants, dim=1)


def plain_quadratic(torch: Any, X: Any, y: Any, classes: int, model: Any) -> Any:
    whitening = np.linalg.inv(np.linalg.cholesky(model.covariances_)).transpose(0, 2, 1)
    return _plain_distances(torch, X, model.means_, whitening)


def plain_diagonal(torch: Any, X: Any, y: Any, classes: int, model: Any) -> Any:
    density = model.classifier_.density
    return _plain_distances(torch, X, density.means, 1 / np.sqrt(density.covariance.variances()))


def _plain_distances(torch: Any, X: Any, means: Any, whitening: Any) -> Any:
    scores = torch.empty(len(X), len(means), device="cuda")
    for k, (mean, own) in enumerate(zip(means, whitening, strict=True)):
        mean, own = (torch.tensor(v, device="cuda", dtype=torch.float32) for v in (mean, own))
        white = (X - mean) * own if own.ndim == 1 else (X - mean) @ own
        scores[:, k] = -0.5 * white.square().sum(1)
    return torch.softmax(scores, dim=1)


# Errors ---------------------------------------------------------------------------------------------------------------


def measure_errors(torch: Any, X: Any, y: Any, classes: int) -> dict[str, float]:
    """The largest error of a scatter, in units of sqrt(S_ii S_jj), and of log posteriors, against float64."""
    found: dict[str, float] = {}
    wide = X.double()
    models = {"LDA": cw.LDA, "QDA": cw.QDA, "naive Bayes": cw.NaiveBayes}
    full, diagonal = (cw.summarize(rows, y) for rows in (X, wide)), (cw.NaiveBayes().fit(r, y) for r in (X, wide))
    short, exact = (statistics.scatter for statistics in full)
    scale = np.sqrt(np.einsum("kii->ki", exact))
    found["scatter"] = float(np.abs((short - exact) / (scale[:, :, None] * scale[:, None, :])).max())
    squares = [model.statistics_.scatter for model in diagonal]
    found["squares"] = float(np.abs(squares[0] / squares[1] - 1).max())
    for name, model in models.items():
        fitted = model().fit(wide, y)
        logs = [fitted.predict_log_proba(rows[:SCORED]).double() for rows in (X, wide)]
        error, size = (logs[0] - logs[1]).abs(), logs[1].abs().clamp(min=1)
        found[f"{name} log posterior"] = float((error / size).max())
        found[f"{name} log posterior, absolute"] = float(error.max())
        found[f"{name} posterior"] = float((logs[0].exp() - logs[1].exp()).abs().max())
    return found


# Beside NumPy ---------------------------------------------------------------------------------------------------------


def beside_numpy(torch: Any, columns: int, classes: int) -> list[dict[str, Any]]:
    """Whole calls on the device and on the processor: seconds each, the second of two calls."""
    X, y = make_rows(torch, FEWER, columns, classes, 0.0)
    options: dict[str, Any] = {"folds": 5, "only": ["LDA", "QDA"], "references": False, "time_limit": None}
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "QDA fit": lambda rows, labels: cw.QDA().fit(rows, labels),
        "QDA fit and posterior": lambda rows, labels: cw.QDA().fit(rows, labels).predict_proba(rows),
        "logistic regression fit": lambda rows, labels: cw.BayesianLogistic().fit(rows, labels),
        "compare, kinds LDA and QDA": lambda rows, labels: cw.compare(rows, labels, **options),
    }
    found = []
    for name, call in calls.items():
        ours, theirs = seconds(torch, call, X, y), seconds(torch, call, X.cpu().numpy(), y.cpu().numpy())
        found.append({"call": name, "rows": FEWER, "device_s": ours, "numpy_s": theirs})
        print(f"{name}: {ours:.3f} s, NumPy {theirs:.3f} s", file=sys.stderr, flush=True)
    return found


def seconds(torch: Any, call: Callable[[Any, Any], Any], X: Any, y: Any) -> float:
    call(X, y)
    torch.cuda.synchronize()
    start = perf_counter()
    call(X, y)
    torch.cuda.synchronize()
    return perf_counter() - start


def show(facts: dict[str, Any]) -> None:
    about = facts["machine"]
    print(f"{about['device']}, torch {about['torch']}: {facts['rows']:,} x {facts['columns']} x {facts['classes']}")
    print(f"{'operation':34}{'ms':>8}{'floor':>8}{'x floor':>9}{'torch ms':>10}")
    for row in facts["times"]:
        peer = "-" if row["plain_ms"] is None else f"{row['plain_ms']:.1f}"
        print(f"{row['operation']:34}{row['ms']:8.2f}{row['floor_ms']:8.2f}{row['over_floor']:9.2f}{peer:>10}")
    for offset, errors in facts["errors"].items():
        print(f"means {offset} deviations from zero:", ", ".join(f"{k} {v:.1e}" for k, v in errors.items()))
    for row in facts["beside_numpy"]:
        print(f"{row['call']}, {row['rows']:,} rows: {row['device_s']:.3f} s, NumPy {row['numpy_s']:.3f} s")


if __name__ == "__main__":
    main()
