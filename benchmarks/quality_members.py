"""Which members and options of AutoClassifier pay, on the tables of the study that choices are made by.

    python benchmarks/quality_members.py choose --data FOLDER --out FOLDER [--workers 15] [--folds 0,1,2] [--only iris]
    python benchmarks/quality_members.py report --data FOLDER --out FOLDER
    python benchmarks/quality_members.py judge --data FOLDER [--workers 15] [--seconds 12]

`choose` cross-validates every member and variant on the rows of four folds, and keeps its out-of-fold posteriors and
those of the fifth fold, in one file each: pools of any of them are then compared without another fit (`report`). The
tables are every other one of the study, in the order of names; or all of the folder, with --all (`further_tables.py`
writes a folder of such tables). Each fit has one core, and what has a file is not run again. `judge` fits the default
stack to the first fold of the other tables with 500 rows or more, once the choice is made; --seconds: its time limit.
"""

import argparse
import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from quality_scores import normalized
from quality_tables import FOLDS, Table, folds, read_tables

from classwise import AutoClassifier, limits
from classwise.comparison.stack import NAMED, SETS, boosted_members, layers, network_members, softmax
from classwise.comparison.stack.boosted_members import GROWER
from classwise.comparison.stack.pool import MemberPosteriors
from classwise.engines.progress import Deadline
from classwise.rows.sources import open_source, read_counted

FEWEST_JUDGED = 500


class Variant(NamedTuple):
    """A member with other options: (module, name, value) each."""

    member: str
    options: tuple[tuple[Any, str, Any], ...] = ()


# The members of the default stack, and variants of them.
VARIANTS: dict[str, Variant] = {name: Variant(name) for name in SETS["default"]}
VARIANTS |= {
    "kernel 600": Variant("kernel softmax", ((limits, "MOST_LANDMARKS", 600),)),
    "kernel 1000": Variant("kernel softmax", ((limits, "MOST_LANDMARKS", 1000), (limits, "KERNEL_WORK", 5e7))),
    "kernel strong": Variant("kernel softmax", ((softmax, "KERNEL_RIDGES", (3.0, 0.3, 0.03, 0.003)),)),
    "kernel weak": Variant("kernel softmax", ((softmax, "KERNEL_RIDGES", (3.0, 0.3, 0.03, 0.003, 0.0003)),)),
    "kernel narrow": Variant("kernel softmax", ((softmax, "KERNEL_WIDTHS", (1.0, 0.25, 0.06)),)),
    "network 128": Variant("network", ((limits, "NETWORK_UNITS", (128,)),)),
    "network 150 steps": Variant("network", ((layers, "MOST_STEPS", 150),)),
    "network ridges": Variant(
        "network", ((network_members, "NETWORK_RIDGES", (50.0, 20.0, 5.0, 1.2, 0.3, 0.07, 0.02)),)
    ),
    "deep network 64": Variant("deep network", ((limits, "DEEP_NETWORK_UNITS", (64, 64)),)),
    "deep network 32, 16": Variant("deep network", ((limits, "DEEP_NETWORK_UNITS", (32, 16)),)),
    "best trees, all cuts": Variant("best trees", ((limits, "BINNED_ROWS", limits.MANY_GROWN_ROWS),)),
    "best trees, 64 bins": Variant("best trees", ((limits, "MOST_CUTS", 63),)),
    "boosted 0.05": Variant("boosted trees", ((boosted_members, "RATE", 0.05), (boosted_members, "MOST_ROUNDS", 600))),
    "boosted 8": Variant("boosted trees", ((boosted_members, "GROWER", replace(GROWER, leaves=8)),)),
    "boosted 31": Variant("boosted trees", ((boosted_members, "GROWER", replace(GROWER, leaves=31)),)),
    "boosted 1 row": Variant("boosted trees", ((boosted_members, "GROWER", replace(GROWER, least=1)),)),
    "boosted 20 rows": Variant("boosted trees", ((boosted_members, "GROWER", replace(GROWER, least=20)),)),
    "boosted all columns": Variant("boosted trees", ((boosted_members, "COLUMNS", 1.0),)),
    "boosted few columns": Variant("boosted trees", ((boosted_members, "COLUMNS", 0.25),)),
    "boosted 64 bins": Variant("boosted trees", ((boosted_members, "GROWER", replace(GROWER, bins=64)),)),
    "boosted ridge 5": Variant("boosted trees", ((boosted_members, "GROWER", replace(GROWER, ridge=5.0)),)),
    "boosted ridge 1": Variant("boosted trees", ((boosted_members, "GROWER", replace(GROWER, ridge=1.0)),)),
}

NEW = ("network", "deep network", "boosted trees")


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["choose", "report", "judge"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=15)
    parser.add_argument("--folds", default="0,1,2,3,4")
    parser.add_argument("--only", default="", help="names of tables, with commas")
    parser.add_argument("--all", action="store_true", help="choose by all tables of the folder")
    parser.add_argument("--variants", default="", help="names, with semicolons; members of the stack always are")
    parser.add_argument("--seconds", type=float, help="the time limit of a fit that is judged")
    parser.add_argument("--budget", type=float, default=450.0, help="seconds after which nothing more is begun")
    options = parser.parse_args()
    match options.command:
        case "choose":
            choose(options)
            report(options)
        case "report":
            report(options)
        case "judge":
            judge(options)


def chosen_by(options: argparse.Namespace) -> list[Table]:
    tables = by_name(options.data)[:: 1 if options.all else 2]
    return [table for table in tables if table.name in (options.only or table.name).split(",")]


def judged_on(options: argparse.Namespace) -> list[Table]:
    return [t for t in by_name(options.data)[1::2] if len(t.y) >= FEWEST_JUDGED]


@cache
def by_name(folder: Path) -> list[Table]:
    return sorted(read_tables(folder), key=lambda table: table.name)


# Fits -----------------------------------------------------------------------------------------------------------------


class Fit(NamedTuple):
    """What one worker is asked for."""

    data: Path
    out: Path
    table: str
    fold: int
    variant: str

    @property
    def file(self) -> Path:
        return self.out / f"{self.table}.{self.fold}.{self.variant}.npz"


def choose(options: argparse.Namespace) -> None:
    """Fit what has no file yet, the largest tables first."""
    options.out.mkdir(parents=True, exist_ok=True)
    start, tables = time.monotonic(), sorted(chosen_by(options), key=lambda t: -t.X.size * len(t.labels))
    asked = [
        Fit(options.data, options.out, table.name, fold, variant)
        for fold in map(int, options.folds.split(","))
        for table in tables
        for variant, of in VARIANTS.items()
        if not (options.variants and of.options) or variant in options.variants.split(";")
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        running = [pool.submit(fit, one, start + options.budget) for one in asked if not one.file.exists()]
        done = [future.result() for future in as_completed(running)]
    print(f"{sum(done)} of {len(running)} fits in {time.monotonic() - start:.0f} s")


def fit(asked: Fit, end: float) -> bool:
    """Cross-validate one member, and keep what it says; nothing where there is no time left."""
    if time.monotonic() > end:
        return False
    warnings.simplefilter("ignore")
    rows, new, of_new = rows_of(asked.data, asked.table, asked.fold)
    variant = VARIANTS[asked.variant]
    facts = {"codes": rows.codes, "folds": rows.folds, "weights": rows.scored_weights, "of_new": of_new}
    if not NAMED[variant.member].suits(rows):
        np.savez_compressed(asked.file, reason="does not suit", seconds=0.0, **facts)
        return True
    start = time.process_time()
    try:
        with patched(variant), np.errstate(all="ignore"):
            crossed = NAMED[variant.member].cross(rows)
            seconds = time.process_time() - start
            logs, on_new = crossed.log_posterior, crossed.trained.log_posterior(new).T
    except Exception as problem:
        np.savez_compressed(asked.file, reason=f"{type(problem).__name__}: {problem}", seconds=0.0, **facts)
        return True
    kept = {"logs": logs.astype(np.float32), "on_new": on_new.astype(np.float32), "note": crossed.note}
    np.savez_compressed(asked.file, seconds=seconds, **kept, **facts)
    return True


@contextmanager
def patched(variant: Variant) -> Iterator[None]:
    with ExitStack() as patches:
        for option in variant.options:
            patches.enter_context(patch.object(*option))
        yield


@cache
def rows_of(data: Path, name: str, fold: int) -> tuple[Any, Any, Any]:
    """The rows to learn from as members see them, held-out rows, and the classes of these."""
    (table,) = read_tables(data, name)
    training, held_out = list(folds(table.y))[fold]
    _, read, counted = read_counted(table.X.iloc[training], table.y[training], None, "auto")
    rows = AutoClassifier()._training_rows(read, None, counted, Deadline())
    new = open_source(table.X.iloc[held_out]).read_like(read.schema, read.levels)
    of_new = np.searchsorted(rows.labels.astype(str), table.y[held_out])
    return rows, np.asarray(new.rows, dtype=np.float64), of_new


# Pools ----------------------------------------------------------------------------------------------------------------


def sets() -> dict[str, list[str]]:
    """The pools that are compared, by name."""
    default = list(SETS["default"])
    found = {"former": [name for name in default if name not in NEW]}
    found |= {f"+ {name}": [*found["former"], name] for name in NEW}
    found["default"] = default
    for name, variant in VARIANTS.items():
        if variant.options:
            found[name] = [name if of == variant.member else of for of in default]
    for name in default:
        if name != "class shares":
            found[f"- {name}"] = [of for of in default if of != name]
    return found


def report(options: argparse.Namespace) -> None:
    """Log losses of the default, of pools relative to it, by table; then geometric means, and seconds."""
    compared, tables = sets(), [table.name for table in chosen_by(options)]
    asked = [(options.out, table, members) for table in tables for members in compared.values()]
    with ProcessPoolExecutor(options.workers) as pool:
        losses = iter(np.log(np.maximum([*pool.map(pooled_loss, *zip(*asked, strict=True), chunksize=8)], 1e-6)))
    logs = {table: {name: next(losses) for name in compared} for table in tables}
    for part in np.array_split(list(compared), 4):
        print(f"\n{'':24} default  " + " ".join(f"{name[:10]:>10}" for name in part))
        for table, own in logs.items():
            ratios = " ".join(f"{np.exp(own[name] - own['default']):10.3f}" for name in part)
            print(f"{table:24} {np.exp(own['default']):.4f}   {ratios}")
    print(
        "\ngeometric mean over tables relative to default, tables better and worse by 0.5 %, the same from 500 rows on"
    )
    for name in compared:
        apart = np.array([logs[table][name] - logs[table]["default"] for table in tables])
        large = np.array([rows_in(options.out, table) >= FEWEST_JUDGED for table in tables])
        better, worse = int((apart < -0.005).sum()), int((apart > 0.005).sum())
        of_large = np.exp(apart[large].mean()) if large.any() else np.nan
        print(f"{name:28} {np.exp(apart.mean()):.4f}  {better:3} {worse:3}  {of_large:.4f}")
    print("\nprocessor seconds of a fit, summed over tables")
    for name in VARIANTS:
        seconds = [np.mean([float(of["seconds"]) for of in kept(options.out, table, name)] or [0]) for table in tables]
        print(f"{name:28} {sum(seconds):8.1f}   most {max(seconds):6.1f} on {tables[int(np.argmax(seconds))]}")


def rows_in(out: Path, table: str) -> int:
    return sum(len(of[key]) for of in kept(out, table, "class shares")[:1] for key in ("codes", "of_new"))


@cache
def kept(out: Path, table: str, variant: str) -> list[dict[str, Any]]:
    """What one variant said, fold by fold."""
    files = [out / f"{table}.{fold}.{variant}.npz" for fold in range(FOLDS)]
    return [dict(np.load(file)) for file in files if file.exists()]


def pooled_loss(out: Path, table: str, members: list[str]) -> float:
    """The mean log loss of held-out rows under the pool of some members, over the folds that all of them have."""
    found = [kept(out, table, name) for name in members]
    losses = []
    for of_fold in zip(*found, strict=False):
        took_part = [of for of in of_fold if "logs" in of]
        own = took_part[0]
        counted = np.flatnonzero(own["weights"])
        logs = [of["logs"].astype(float) for of in took_part]
        with np.errstate(all="ignore"):
            pool = MemberPosteriors(logs, own["codes"], own["folds"], own["weights"]).of_rows(counted).stack()
            posterior = normalized(np.exp(pool([of["on_new"].astype(float) for of in took_part])))
        losses.append(-np.log(posterior[np.arange(len(posterior)), own["of_new"]]).mean())
    return float(np.mean(losses)) if losses else np.nan


# The judgement --------------------------------------------------------------------------------------------------------


def judge(options: argparse.Namespace) -> None:
    """The default stack on the first fold of each table that nothing was chosen by."""
    tables = sorted(judged_on(options), key=lambda t: -t.X.size * len(t.labels))
    with ProcessPoolExecutor(options.workers) as pool:
        found = pool.map(judged, [(options.data, table.name, options.seconds) for table in tables])
        lines = sorted(found)
    print(f"{'table':24} log loss  cpu seconds  predict  left out")
    for name, loss, seconds, predicting, left_out in lines:
        print(f"{name:24} {loss:.4f}   {seconds:6.1f}  {predicting:6.2f}  {left_out}")


def judged(asked: tuple[Path, str, float | None]) -> tuple[str, float, float, float, str]:
    warnings.simplefilter("ignore")
    data, name, limit = asked
    (table,) = read_tables(data, name)
    training, held_out = next(iter(folds(table.y)))
    start = time.process_time()
    model = AutoClassifier(time_limit=limit).fit(table.X.iloc[training], table.y[training])
    fitted = time.process_time()
    posterior = np.zeros((len(held_out), len(table.labels)))
    posterior[:, np.searchsorted(table.labels, model.classes_)] = model.predict_proba(table.X.iloc[held_out])
    predicted = time.process_time()
    own = normalized(posterior)[np.arange(len(held_out)), table.codes[held_out]]
    weights = ", ".join(f"{of} {weight:.2f}" for of, weight in model.weights_.items() if weight > 0.05)
    left_out = ", ".join(f"without {line.name}: {line.reason}" for line in model.report_ if line.reason)
    return name, float(-np.log(own).mean()), fitted - start, predicted - fitted, f"{weights}; {left_out}"


if __name__ == "__main__":
    main()
