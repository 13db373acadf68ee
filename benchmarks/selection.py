"""Choosing among models: one comparison of the whole family, beside scikit-learn's search over the values of shrink.

    python benchmarks/selection.py [--rows 100000] [--values 14] [--repeats 3]

Both sides get the same rows and the same folds. scikit-learn searches LinearDiscriminantAnalysis(solver="lsqr") and
QuadraticDiscriminantAnalysis(solver="eigen") over shrinkage: the same models, and so the same log losses, as the ends
share=1 and share=0 of RDA's path. It also searches QuadraticDiscriminantAnalysis as it comes, whose solver "svd" is
slower and has reg_param instead, over as many values. All calls are timed in turns, repeat by repeat.

The unit of work is a model and a fold: a model of the other folds has scored the rows of this one. A comparison has
one for each member and fold, and one for each pair of dials or prior that a member tried and each fold; a prior tried
by leaving out one row after the other has scored every row once, as all folds together do. Calibration, error, Brier
score, evidence and the fit on all rows are not counted as work, and take their time.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import machine
import numpy as np
from contention import cores_of_others, now
from memory import peak, restart_peak
from report import QUIET, aligned, duration, megabytes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold
from timing import seconds

from classwise import LDA, QDA, RDA, compare
from classwise.selection.dials import SHARES, SHRINKS

RESULTS = Path(__file__).parent / "results" / "selection.json"

# How far apart means and covariances of the classes are: with 100,000 x 50 x 5 the log loss of QDA is about 0.3.
MEANS, COVARIANCES = 0.3, 0.2

# So many rows go first, untimed: what is imported or started on the first call is there afterwards.
FIRST_ROWS = 2000

PEERS = {
    "LDA grid": LinearDiscriminantAnalysis(solver="lsqr"),
    "QDA grid": QuadraticDiscriminantAnalysis(solver="eigen"),
    "QDA grid, svd": QuadraticDiscriminantAnalysis(),
}
PARAMETER_OF = {"LDA grid": "shrinkage", "QDA grid": "shrinkage", "QDA grid, svd": "reg_param"}
SHARE_OF = {"LDA grid": 1.0, "QDA grid": 0.0}
OURS = ("compare", "RDA path", "LDA path", "QDA path")


def main():
    options = read_options()
    if options.weigh:
        weigh(options)
        return
    start, found = perf_counter(), machine.facts()  # the load, before this run adds its own
    X, y, folds = draw(options)
    values = chosen_values(options.values)
    for call in calls(X[:FIRST_ROWS], y[:FIRST_ROWS], folds[:FIRST_ROWS], values[:2]).values():
        call()
    results, times, busy = in_turns(calls(X, y, folds, values), options.repeats)
    facts = {
        "shape": f"{options.rows:,} rows x {options.features} features x {options.classes} classes",
        "folds": options.folds,
        "values": values,
        "seconds": times,
        "cores_of_others": busy,
        "units": units(results["compare"], options.folds, len(values)),
        "differences": {name: difference(results["compare"], name, results[name], values) for name in SHARE_OF},
        "extra_bytes": None if options.no_memory else in_a_process(options),
    }
    facts["machine"] = {**found, "wall_s": perf_counter() - start}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")
    print(results["compare"].table(), report(facts), sep="\n\n")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"rows": 100_000, "features": 50, "classes": 5, "folds": 10, "repeats": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
    parser.add_argument(
        "--values", type=int, default=len(SHRINKS), help="of shrink that the grid has, ends included; default: all"
    )
    parser.add_argument("--no-memory", action="store_true", help="measure time only")
    parser.add_argument("--weigh", action="store_true", help="measure memory only, in this process")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    return parser.parse_args()


def draw(options):
    """Gaussian classes with means and covariances of their own, labels, and the fold of each row."""
    generator, p = np.random.default_rng(0), options.features
    means = MEANS * generator.standard_normal((options.classes, p))
    maps = np.eye(p) + COVARIANCES * generator.standard_normal((options.classes, p, p)) / np.sqrt(p)
    y = generator.integers(options.classes, size=options.rows)
    X, folds = generator.standard_normal((options.rows, p)), np.empty(options.rows, dtype=int)
    for k in range(options.classes):
        X[y == k] = X[y == k] @ maps[k] + means[k]
    splits = StratifiedKFold(options.folds, shuffle=True, random_state=0).split(X, y)
    for fold, (_, held_out) in enumerate(splits):
        folds[held_out] = fold
    return X, y, folds


def chosen_values(count):
    """So many of the values of shrink on RDA's path, both ends among them."""
    return [SHRINKS[i] for i in np.unique(np.linspace(0, len(SHRINKS) - 1, max(count, 2)).round().astype(int))]


# Calls ----------------------------------------------------------------------------------------------------------------


def calls(X, y, folds, values):
    """What is timed, by name."""
    ours = {
        "compare": lambda: compare(X, y, folds, references=False),
        "RDA path": lambda: RDA(folds=folds).fit(X, y),
        "LDA path": lambda: LDA(shrink="cv", folds=folds).fit(X, y),
        "QDA path": lambda: QDA(shrink="cv", folds=folds).fit(X, y),
    }
    return ours | {name: lambda name=name: search(name, X, y, folds, values) for name in PEERS}


def search(name, X, y, folds, values):
    peer, grid, cv = PEERS[name], {PARAMETER_OF[name]: values}, PredefinedSplit(folds)
    return GridSearchCV(peer, grid, scoring="neg_log_loss", n_jobs=2, refit=False, cv=cv).fit(X, y)


def in_turns(calls, repeats):
    """The last result of each call, the seconds of each repeat, and the cores that others used meanwhile."""
    results, times, busy = {}, {name: [] for name in calls}, {name: [] for name in calls}
    for repeat in range(repeats):
        for name in list(calls)[:: -1 if repeat % 2 else 1]:
            start = now()
            times[name].append(seconds(lambda name=name: results.update({name: calls[name]()})))
            busy[name].append(cores_of_others(start, now()))
            print(f"repeat {repeat + 1}, {name}: {duration(times[name][-1])}", file=sys.stderr, flush=True)
    return results, times, {name: max(busy[name]) for name in OURS if None not in busy[name]}


def units(comparison, folds, values):
    """How many models and folds each call scores; of a comparison, by kind too."""
    tried = [trial for trial in comparison.tried if not trial.reason]
    kinds = {"members": folds * len(tried), "dials_": 0, "prior_choice_": 0}
    for trial in tried:
        for name, choice in (trial.tuned.record if trial.tuned else {}).items():  # logistic regression has none
            kinds[name] += choice.by_fold.size
    paths = {"RDA path": folds * len(SHARES) * len(SHRINKS), "LDA path": folds * len(SHRINKS)}
    grids = dict.fromkeys(PEERS, folds * values)
    return {"compare": sum(kinds.values()), **paths, "QDA path": paths["LDA path"], **grids, "by kind": kinds}


def difference(comparison, name, search, values):
    """The largest difference between log losses of the path and of the grid."""
    dials = comparison["RDA"].tuned.record["dials_"]
    ours = dials.log_loss[dials.shares.index(SHARE_OF[name]), [dials.shrinks.index(value) for value in values]]
    by_fold = [search.cv_results_[f"split{fold}_test_score"] for fold in range(len(dials.weight))]
    theirs = -np.average(by_fold, axis=0, weights=dials.weight)
    return float(np.abs(ours - theirs).max())


# Memory ---------------------------------------------------------------------------------------------------------------


def in_a_process(options):
    """Peak bytes of a comparison beyond the data, from a fresh process."""
    shape = [f"--{name}={getattr(options, name)}" for name in ("rows", "features", "classes", "folds")]
    command = [sys.executable, __file__, "--weigh", *shape]
    return int(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def weigh(options):
    X, y, folds = draw(options)
    compare(X[:FIRST_ROWS], y[:FIRST_ROWS], folds[:FIRST_ROWS], references=False)
    before = restart_peak()
    compare(X, y, folds, references=False)
    print(peak() - before)


# Text -----------------------------------------------------------------------------------------------------------------


def report(facts):
    found = facts["machine"]
    head = f"{facts['shape']}, {facts['folds']} folds; {found['cores']} cores, load {found['load']:.1f} before"
    versions = ", ".join(f"{name} {found[name]}" for name in ("classwise", "numpy", "sklearn"))
    searched = f"the grids have {len(facts['values'])} of the path's {len(SHRINKS)} values: {facts['values']}"
    parts = [f"{head}; {versions}; {found['wall_s'] / 60:.1f} minutes in all\n{searched}", time_table(facts)]
    parts += [ratio_table(facts), *notes(facts)]
    return "\n\n".join(parts)


def time_table(facts):
    lines = [["call", "time", "least", "most", "models and folds", "each", "least", "most", "others"]]
    for name, times in facts["seconds"].items():
        count, spread = facts["units"][name], np.array([np.median(times), min(times), max(times)])
        busy = facts["cores_of_others"].get(name)
        shown = "" if busy is None else f"{busy:.2f}" + (" BUSY" if busy > QUIET else "")
        lines.append([name, *map(duration, spread), f"{count:,}", *map(duration, spread / count), shown])
    return aligned(lines)


def ratio_table(facts):
    """For each model and fold, how many times as long the grids take."""
    each = {name: np.array(times) / facts["units"][name] for name, times in facts["seconds"].items()}
    each["both grids"] = np.mean([each["LDA grid"], each["QDA grid"]], axis=0)
    each["both grids, QDA as it comes"] = np.mean([each["LDA grid"], each["QDA grid, svd"]], axis=0)
    each["both paths"] = np.mean([each["LDA path"], each["QDA path"]], axis=0)
    lines = [["for each model and fold, times as long as", "compare", "RDA path", "the same values, by path"]]
    paths = {"LDA grid": "LDA path", "QDA grid": "QDA path", "both grids": "both paths"}
    paths |= {"QDA grid, svd": "QDA path", "both grids, QDA as it comes": "both paths"}
    for grid, path in paths.items():
        lines.append([grid, *(spread(each[grid] / each[ours]) for ours in ("compare", "RDA path", path))])
    return aligned(lines)


def spread(ratios):
    return f"{np.median(ratios):.3g} ({ratios.min():.3g} to {ratios.max():.3g})"


def notes(facts):
    kinds = facts["units"]["by kind"]
    counted = f"{kinds['members']:,} of members, {kinds['dials_']:,} of dials, {kinds['prior_choice_']:,} of priors"
    apart = ", ".join(f"{name} {value:.1e}" for name, value in facts["differences"].items())
    yield f"models and folds of a comparison: {counted}\nlargest difference to the path's log losses: {apart}"
    if facts["extra_bytes"] is not None:
        yield f"peak memory of a comparison beyond the data, in a fresh process: {megabytes(facts['extra_bytes'])} MB"


if __name__ == "__main__":
    main()
