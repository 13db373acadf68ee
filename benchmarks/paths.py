"""Which way to sum is faster, by the numbers of features and classes: the fused kernel, or NumPy's products by BLAS.

The kernel reads a row once and adds its products of pairs where they lie: p (p + 1) / 2 products a row, nothing of the
size of the table in between. BLAS needs rows that are sorted by class and centered, and then multiplies faster, where
matrices fill its blocks. So the kernel wins up to some number of features, `kernels.sums.MOST_FEATURES`, whatever the
number of classes. Each line has both times, in turns, and the way that a fit would take.

    python benchmarks/paths.py [--numbers 20000000]
"""

import argparse
from unittest.mock import patch

import numpy as np
from report import aligned, duration
from timing import seconds

import classwise as cw
from classwise.kernels import sums
from classwise.statistics import moments

FEATURES = (16, 128, 512, 1024, 2000)
CLASSES = (2, 10, 1000)
# Scatters of more numbers than this are not measured.
MOST_SUMS = 2e7
FORMS = ("full", "pooled")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numbers", type=int, default=20_000_000, help="rows times features; default: 20,000,000")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    lines = [["form", "features", "classes", "kernel", "BLAS", "kernel / BLAS", "a fit takes"]]
    for features in FEATURES:
        rows = np.random.default_rng(0).normal(size=(max(options.numbers // features, 4000), features))
        for count in CLASSES:
            codes = np.random.default_rng(1).integers(0, count, len(rows))
            for form in FORMS:
                if form == "pooled" or count * features**2 <= MOST_SUMS:
                    kernel, blas = both(rows, codes, form, options.repeats)
                    taken = "kernel" if features <= sums.MOST_FEATURES else "BLAS"
                    facts = [duration(kernel), duration(blas), f"{kernel / blas:.2f}", taken]
                    lines.append([form, str(features), str(count), *facts])
                    print(aligned([lines[0], lines[-1]]), flush=True)
    print(aligned(lines))


def both(rows: np.ndarray, codes: np.ndarray, form: str, repeats: int) -> tuple[float, float]:
    """The median seconds of the kernel, and of BLAS."""

    def gather() -> object:
        return cw.summarize(rows, codes, scatter=form)

    times = []
    for _ in range(repeats + 1):
        with patch.object(sums, "MOST_FEATURES", 10**9):
            kernel = seconds(gather)
        with patch.object(moments, "class_moments", lambda *of: None):
            times.append((kernel, seconds(gather)))
    kernel, blas = np.median(times[1:], axis=0)
    return float(kernel), float(blas)


if __name__ == "__main__":
    main()
