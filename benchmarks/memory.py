"""Peak memory beyond the data, each call in a process of its own.

Run as a script, this is that process:

    python benchmarks/memory.py very-tall LDA fit classwise
"""

import ctypes
import json
import resource
import subprocess
import sys
from pathlib import Path

from pairs import PAIRS
from shapes import SHAPES, draw

WEIGHED = ("fit", "predict_proba")

CLEAR = Path("/proc/self/clear_refs")
STATUS = Path("/proc/self/status")

# Enough rows of every class for any model; fitting them first also loads what is imported on the first call.
FIRST_ROWS = 100_000


def measure_memory(shape: str, model: str, operation: str, side: str) -> dict[str, int]:
    """Peak bytes of one call beyond the data, and beyond the data and the answer, from a fresh process."""
    command = [sys.executable, __file__, shape, model, operation, side]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def main(name: str, model: str, operation: str, side: str) -> None:
    shape, estimator = SHAPES[name], PAIRS[model].make(side)
    X, y = draw(shape)
    estimator.fit(X[:FIRST_ROWS], y[:FIRST_ROWS])
    scored = X[: shape.scored]
    estimator.predict_proba(scored[:1000])
    before = restart_peak()
    result = estimator.fit(X, y) if operation == "fit" else estimator.predict_proba(scored)
    extra = peak() - before
    output = 0 if operation == "fit" else result.nbytes
    print(json.dumps({"extra_bytes": extra, "beyond_output_bytes": extra - output}))


def restart_peak() -> int:
    """Lower the high-water mark to what is in use, where the system allows it, and return the mark; bytes."""
    if CLEAR.exists():
        # Freed memory that malloc holds on to would be used again without counting as extra.
        library = ctypes.CDLL(None)
        if hasattr(library, "malloc_trim"):
            library.malloc_trim(0)
        CLEAR.write_text("5")
    return peak()


def peak() -> int:
    """The high-water mark of resident memory; bytes."""
    if STATUS.exists():
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main(*sys.argv[1:])
