"""Measurements as text: aligned tables, and a summary that hides nothing."""

from collections.abc import Iterable, Sequence
from typing import Any

from shapes import SHAPES

AGREEING = 0.999

# Cores that others use; more than this, and a ratio is not to be trusted.
QUIET = 0.2

HEAD = ["shape", "model", "operation", "ours", "theirs", "ratio", "quartiles", "of best", "x limit", "others"]
HEAD += ["same labels", "max |Δp|", "peer"]

Facts = dict[str, Any]


def machine_lines(machine: Facts) -> str:
    rates = f"reads {machine['bytes_per_s'] / 1e9:.1f} GB/s, multiplies {machine['flops_per_s'] / 1e9:.0f} GFLOP/s"
    versions = ", ".join(f"{name} {machine[name]}" for name in ("python", "classwise", "numpy", "scipy", "sklearn"))
    spent = f"measured in {machine['wall_s'] / 60:.1f} minutes, load {machine['load']:.1f} before"
    return f"{machine['cores']} cores: {rates}; {spent}\n{versions}\nBLAS: {', '.join(machine['blas'])}"


def timing_table(timings: Sequence[Facts]) -> str:
    return aligned([HEAD, *map(_timing_line, timings)])


def _timing_line(t: Facts) -> list[str]:
    low, high = t["ratio_quartiles"]
    agree = f"{t['same_labels']:.4%}" + ("" if t["same_labels"] >= AGREEING else " DIFFER")
    ratios = [_ratio(t["ratio"]), f"{low:.2f}..{high:.2f}", _ratio(t["ratio_of_best"])]
    times = [duration(t["ours_s"]), duration(t["theirs_s"]), *ratios]
    which = [t["shape"], t["model"], t["operation"]]
    return [*which, *times, f"{t['over_limit']:.1f}", others(t), agree, f"{t['max_difference']:.0e}", t["peer"]]


def memory_table(memories: Sequence[Facts]) -> str:
    head = ["shape", "model", "operation", "ours MB", "theirs MB", "ours beyond output", "theirs beyond output"]
    return aligned([head, *map(_memory_line, memories)])


def _memory_line(m: Facts) -> list[str]:
    sides = [m["ours"], m["theirs"]]
    extra = [megabytes(side["extra_bytes"]) for side in sides]
    beyond = [megabytes(side["beyond_output_bytes"]) for side in sides]
    return [m["shape"], m["model"], m["operation"], *extra, *beyond]


def notes(timings: Sequence[Facts]) -> str:
    lines = [f"ratio: theirs / ours, median of the repeats; same labels: {AGREEING:.1%} of rows or more, else DIFFER"]
    lines.append("of best: best of theirs / best of ours")
    lines.append(f"others: cores that other processes kept busy; above {QUIET}, BUSY, the ratio is not to be trusted")
    lines.append("x limit: ours / the time to read the rows or to multiply them at this machine's rates")
    for name in dict.fromkeys(t["shape"] for t in timings):
        shape = SHAPES[name]
        repeats = [t["repeats"] for t in timings if t["shape"] == name]
        line = f"{shape}: {min(repeats)} to {max(repeats)} repeats"
        if shape.scored < shape.rows:
            whole = shape.rows * shape.classes * 8 / 1e9
            line += f"; predictions of {shape.scored:,} rows only, since all posteriors would take {whole:.0f} GB"
        lines.append(line)
    return "\n".join(lines)


def summary(timings: Sequence[Facts]) -> str:
    lines = ["Worst ratio of each operation"]
    for operation in dict.fromkeys(t["operation"] for t in timings):
        worst = min((t for t in timings if t["operation"] == operation), key=lambda t: t["ratio"])
        lines.append(f"  {operation:14} {worst['ratio']:.2f}  {_name(worst)}")
    slower = [_both(t) for t in timings if min(t["ratio"], t["ratio_of_best"]) < 1]
    differing = dict.fromkeys(_name(t) for t in timings if t["same_labels"] < AGREEING)
    lines.append(_listed("Slower than scikit-learn, by the median or by the best times", slower))
    disturbed = sum(map(is_disturbed, timings))
    lines.append(f"Disturbed by other processes: {disturbed} of {len(timings)} timings")
    lines.append(_listed("Labels that differ from scikit-learn's", differing))
    return "\n".join(lines)


def is_disturbed(t: Facts) -> bool:
    return t["cores_of_others"] is not None and t["cores_of_others"] > QUIET


def others(t: Facts) -> str:
    cores = t["cores_of_others"]
    return "unknown" if cores is None else f"{cores:.2f}" + (" BUSY" if is_disturbed(t) else "")


def _both(t: Facts) -> str:
    return f"{_name(t)} {t['operation']} {t['ratio']:.2f}, of best {t['ratio_of_best']:.2f}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" + ("" if value >= 1 else " SLOWER")


def _name(t: Facts) -> str:
    return f"{t['model']} on {t['shape']}"


def _listed(title: str, names: Iterable[str]) -> str:
    return f"{title}: " + ("; ".join(names) or "none")


def duration(seconds: float) -> str:
    for unit, size in [("s", 1.0), ("ms", 1e-3)]:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def megabytes(count: int) -> str:
    return f"{count / 1e6:.1f}"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
