"""The measurements of mixed tables as text."""

from report import QUIET, Facts, aligned, duration, is_disturbed, megabytes, others

# What a ratio, and the memory of a fit, are to reach.
TARGETS = {"fit": 5.0, "predict_proba": 3.0}
MOST_BYTES = 64e6


def speed_part(speed: Facts) -> str:
    head = ["table", "operation", "peer", "ours", "theirs", "ratio", "quartiles", "range", "of best", "others"]
    lines = [[*head, "max |Δp|", "target"], *map(_speed_line, speed["timings"])]
    return "\n".join([f"NaiveBayes on {speed['shape']}", aligned(lines), *_speed_notes(speed)])


def _speed_line(t: Facts) -> list[str]:
    spreads = [f"{low:.2f}..{high:.2f}" for low, high in (t["ratio_quartiles"], t["ratio_range"])]
    times = [duration(t["ours_s"]), duration(t["theirs_s"])]
    ratios = [f"{t['ratio']:.2f}", *spreads, f"{t['ratio_of_best']:.2f}"]
    target = TARGETS[t["operation"]]
    verdict = f"{target:g} {'met' if t['ratio'] >= target else 'MISSED'}"
    which = [t["table"], t["operation"], t["peer"]]
    return [*which, *times, *ratios, others(t), f"{t['max_difference']:.0e}", verdict]


def _speed_notes(speed: Facts) -> list[str]:
    timings = speed["timings"]
    repeats = max(t["repeats"] for t in timings)
    lines = [f"ratio: theirs / ours, median of {repeats} repeats in turns; of best: best of theirs / best of ours"]
    lines.append(f"others: cores that other processes kept busy; above {QUIET}, BUSY, the ratio is not to be trusted")
    lines.append("scikit-learn: GaussianNB(var_smoothing=0) + CategoricalNB(alpha=1), log joints added")
    lines.append("encoded before: without the time to turn the table into one array of numbers and codes")
    disturbed = sum(map(is_disturbed, timings))
    lines.append(f"Disturbed by other processes: {disturbed} of {len(timings)} timings")
    return lines + _mixed_notes(speed)


def _mixed_notes(speed: Facts) -> list[str]:
    if speed["left_out"]:
        return [speed["left_out"]]
    unanswered = max(t["unanswered"] for t in speed["timings"])
    apart = speed["by_default"]["max_difference"]
    return [
        "mixed-naive-bayes: timed with alpha=1, var_smoothing=0, the same model. By its own defaults (alpha=0.5, and "
        f"1e-9 of the largest variance added to each) posteriors are up to {apart:.0e} apart.",
        f"It multiplies probabilities where others add logs; rows where that left 0/0 here: {unanswered}.",
    ]


def memory_part(memory: Facts) -> str:
    head = ["table", "rows", "columns", "labels", "table MB", "resident MB", "tracemalloc MB", "target"]
    resident, traced = memory["resident_bytes"], memory["traced_bytes"]
    verdict = f"{megabytes(MOST_BYTES)} {'met' if max(resident + traced) < MOST_BYTES else 'MISSED'}"
    shape = [f"{memory['rows']:,}", str(memory["columns"]), str(memory["labels"]), megabytes(memory["table_bytes"])]
    peaks = [", ".join(map(megabytes, each)) for each in (resident, traced)]
    title = "Peak memory of NaiveBayes().fit beyond the table, in fresh processes"
    return f"{title}\n{aligned([head, [memory['table'], *shape, *peaks, verdict]])}"


def loss_part(missing: Facts) -> str:
    pairs = missing["pairs"]
    lines = [["data", "ours", "theirs, after imputing means", "ours", "theirs", "won"], *map(_loss_line, pairs)]
    title = (
        f"Held-out log loss, {missing['deleted']:.0%} of the cells deleted at random: median of {missing['repeats']} "
        f"repeats of {missing['folds']} folds, and in how many of them ours was lower"
    )
    return "\n".join([title, aligned(lines), *_refusals(pairs)])


def _loss_line(pair: Facts) -> list[str]:
    sides = pair["ours"], pair["theirs"]
    won = f"{pair['won']} of {len(pair['ours']['losses'])}"
    return [pair["data"], pair["ours_name"], pair["theirs_name"], *map(_loss, sides), won]


def _loss(side: Facts) -> str:
    return f"refused {side['refused']} times" if side["refused"] else f"{side['median']:.4f}"


def _refusals(pairs: list[Facts]) -> list[str]:
    """What was said, once for each model."""
    lines = [
        f"{pair[f'{side}_name']} on {pair['data']} refused {pair[side]['refused']} times: {_why(pair[side]['refusal'])}"
        for pair in pairs
        for side in ("ours", "theirs")
        if pair[side]["refused"]
    ]
    note = ["A repeat that one side refuses is not won, and leaves that side without a median."] if lines else []
    return note + list(dict.fromkeys(lines))


def _why(message: str) -> str:
    """The first two sentences: what was given, and what is wrong with it."""
    return ". ".join(message.split(". ")[:2]).rstrip(".") + "."
