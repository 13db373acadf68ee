"""Write what was measured into docs/speed.md and README.md, between their marks, and draw the picture of growth.

Run the benchmarks first: each leaves a file in benchmarks/results. What was not measured stays as it is.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from report import QUIET

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parent.parent
Facts = dict[str, Any]

SHAPES = {"small": "small", "tall": "tall", "wide": "wide", "many": "many classes", "very-tall": "very tall"}
MODELS = {
    "LDA": "`LDA`",
    "QDA": "`QDA`",
    "NaiveBayes": "`NaiveBayes`",
    "NearestMean": "`NearestMean`",
    "NearestMean=": '`NearestMean(priors="uniform")`',
}
COLORS = {"LDA": "#0072b2", "QDA": "#d55e00", "NaiveBayes": "#009e73"}


def main() -> None:
    for name, write in PARTS.items():
        path = RESULTS / f"{name}.json"
        if not path.exists():
            print(f"{path.name} is not there; its part stays as it is.")
            continue
        write(json.loads(path.read_text()))


def core(facts: Facts) -> None:
    parts = [where(facts["machine"])]
    if any(map(is_disturbed, facts["timings"])):
        parts.append("`*`: other processes used more than a fifth of a core meanwhile, so the ratio is less certain.")
    for operation in ("fit", "predict", "predict_proba"):
        parts += [f"`{operation}`", ratios([t for t in facts["timings"] if t["operation"] == operation])]
    replace(ROOT / "docs" / "speed.md", "core", "\n\n".join(parts))
    if facts["memory"]:
        replace(ROOT / "docs" / "speed.md", "memory", memory(facts["memory"]))


def where(machine: Facts) -> str:
    versions = f"NumPy {machine['numpy']} and scikit-learn {machine['sklearn']}"
    return (
        f"Measured on {machine['cores']} cores ({', '.join(machine['blas'])}) with {versions}, in float64, with the "
        f"compiled kernels. The machine reads {machine['bytes_per_s'] / 1e9:.0f} GB and multiplies "
        f"{machine['flops_per_s'] / 1e9:.0f} GFLOP in a second. The load before the run was {machine['load']:.1f}."
    )


def ratios(timings: Sequence[Facts]) -> str:
    found = {(t["model"], t["shape"]): t for t in timings}
    shapes = [shape for shape in SHAPES if any(shape == other for _, other in found)]
    models = [model for model in MODELS if any(model == other for other, _ in found)]
    rows = [[MODELS[model], *(ratio(found.get((model, shape))) for shape in shapes)] for model in models]
    return table(["", *(SHAPES[shape] for shape in shapes)], rows)


def ratio(timing: Facts | None) -> str:
    if timing is None:
        return ""
    low, high = timing["ratio_quartiles"]
    return f"{short(timing['ratio'])} ({short(low)} to {short(high)})" + (" *" if is_disturbed(timing) else "")


def is_disturbed(timing: Facts) -> bool:
    """Whether other processes used the machine meanwhile."""
    return (timing.get("cores_of_others") or 0.0) > QUIET


def memory(memories: Sequence[Facts]) -> str:
    found = {(m["model"], m["operation"]): m for m in memories}
    rows = []
    for model in (model for model in MODELS if (model, "fit") in found):
        fit, proba = found[model, "fit"], found.get((model, "predict_proba"))
        cells = [fit[side]["extra_bytes"] for side in ("ours", "theirs")]
        cells += [proba[side]["beyond_output_bytes"] for side in ("ours", "theirs")] if proba else []
        rows.append([MODELS[model], *(f"{cell / 1e6:.0f}" for cell in cells)])
    return table(["", "`fit`", "scikit-learn", "`predict_proba`", "scikit-learn"], rows)


def scaling(facts: Facts) -> None:
    threads = list(facts["timings"][0]["seconds"])
    rows = []
    for timing in facts["timings"]:
        times = list(timing["seconds"].values())
        rows.append([timing["what"], *map(duration, times), f"{times[0] / min(times):.1f}"])
    replace(ROOT / "docs" / "speed.md", "scaling", table(["threads", *threads, "times as fast"], rows))


def peers(facts: Facts) -> None:
    rows = [
        [t["library"], f"`{t['operation']}`", f"{t['rows']:,}", *map(duration, (t["theirs_s"], t["ours_s"])), ratio(t)]
        for t in facts["timings"]
    ]
    replace(ROOT / "docs" / "speed.md", "peers", table(["library", "", "rows", "theirs", "ours", "ratio"], rows))


def trees(facts: Facts) -> None:
    sizes = [f"{t['rows']:,} x {t['columns']} x {t['classes']}" for t in facts["timings"]]
    rows = [
        [t["cuts"], size, *map(duration, (t["theirs_s"], t["ours_s"])), ratio(t)]
        for size, t in zip(sizes, facts["timings"], strict=True)
    ]
    head = ["cuts", "rows x columns x classes", "scikit-learn", "classwise", "ratio"]
    replace(ROOT / "docs" / "speed.md", "trees", table(head, rows))


def growth(facts: Facts) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for axis, along in zip(axes, ("rows", "columns"), strict=True):
        for model, color in COLORS.items():
            own = [t for t in facts["timings"] if (t["along"], t["model"], t["operation"]) == (along, model, "fit")]
            sizes = [t[along] for t in own]
            axis.loglog(
                sizes, [1e3 * t["ours_s"] for t in own], color=color, marker="o", ms=3, label=f"{model}, classwise"
            )
            theirs = [1e3 * t["theirs_s"] for t in own]
            axis.loglog(sizes, theirs, color=color, ls="--", marker="o", ms=3, label=f"{model}, scikit-learn")
        axis.set_xlabel("rows (20 columns, 5 classes)" if along == "rows" else "columns (100,000 rows, 5 classes)")
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("milliseconds to fit")
    axes[0].legend(fontsize=7, frameon=False)
    figure.savefig(ROOT / "docs" / "_static" / "growth.png", dpi=130)


PARTS: dict[str, Callable[[Facts], None]] = {
    "core": core, "scaling": scaling, "peers": peers, "trees": trees, "growth": growth,
}  # fmt: skip


def replace(path: Path, mark: str, text: str) -> None:
    """Put text between the marks <!-- mark --> and <!-- end of mark -->."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    page = path.read_text()
    if begin not in page:
        raise SystemExit(f"{path} has no {begin}.")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    path.write_text(pattern.sub(lambda _: f"{begin}\n{text}\n{end}", page))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def short(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


if __name__ == "__main__":
    main()
