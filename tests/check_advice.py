"""Whether advice is true: every claim of a diagnosis beside what models did on held-out rows of the same table.

    CLASSWISE_DATA=~/tables python tests/check_advice.py [NAME ...]

goes over the tables of a manifest (`name`, `file`, `target`), small ones first, and prints what each is told.
"""

import os
import sys
import warnings
from itertools import combinations, permutations
from pathlib import Path
from time import perf_counter

import pandas as pd

import classwise as cw
from classwise.diagnostics.facts import WORTH, Outcome, is_of
from classwise.diagnostics.sentences import FEWEST_MISTAKEN

# Larger tables are checked by so many of their rows, and tables with more columns than this are cut.
ROWS, COLUMNS = 5000, 100

# A claim is broken beyond so many standard errors.
ERRORS = 2.0


def broken(diagnosis, comparison):
    """What is wrong with the advice of a diagnosis, in sentences; nothing, one hopes."""
    told = list(diagnosis.found.values())
    found = [
        f"{first.python} | {second.python}" for first, second in permutations(told, 2) if contradict(first, second)
    ]
    for advice in told:
        found += [
            f"{advice.python} | {wrong}"
            for wrong in (_models(advice.claim, comparison), _errors(advice.claim, comparison))
            if wrong
        ]
    for shell in (False, True):
        found += [] if len(diagnosis.sentences(shell)) <= 3 else ["more than three sentences"]
    return found


def contradict(first, second):
    """Whether one prefers models to others, and the other these to them."""
    ours, theirs = first.claim, second.claim
    return bool(set(ours.better) & set(theirs.worse)) and bool(set(ours.worse) & set(theirs.better))


def _best(comparison, kinds):
    trials = [trial for trial in comparison.members if any(is_of(trial.name, kind) for kind in kinds)]
    return min(trials, key=lambda trial: trial.estimate("log_loss").value, default=None)


def _models(claim, comparison):
    """What is advised must not do clearly worse than what it is advised against, by differences in pairs of folds."""
    better, worse = _best(comparison, claim.better), _best(comparison, claim.worse)
    if better is None or worse is None:
        return ""
    above = better.above(worse)
    if above.value > max(WORTH, ERRORS * above.error):
        return f"{better.name} is worse than {worse.name} by {above.value:.3g} ± {above.error:.2g}"
    return ""


def _errors(claim, comparison):
    """As many rows of two classes are taken for the other as was said, up to chance."""
    if not claim.classes:
        return ""
    outcome = Outcome(comparison.evaluations)
    share, error, _ = outcome.mistaken(*claim.classes)
    if claim.kind == "alike":  # among others, both may be taken for a third: of rows that are taken for either
        share, error = _within(comparison.evaluations[outcome.winner], claim.classes)
    if claim.kind == "overlap" and claim.least == claim.most:
        others = [outcome.mistaken(*pair) for pair in combinations(comparison.labels.tolist(), 2)]
        worst = max((other.share for other in others if other.weight >= FEWEST_MISTAKEN), default=share)
        return f"{worst:.3g} is more than {share:.3g}" if worst > share + 1e-12 else ""
    if not claim.least - ERRORS * error <= share <= claim.most + ERRORS * error:
        return f"{share:.3g} ± {error:.2g} is not from {claim.least:.3g} to {claim.most:.3g}"
    return ""


def _within(evaluation, classes):
    pair = [evaluation.labels.tolist().index(label) for label in classes]
    block = evaluation.confusion[pair][:, pair]
    weight = max(block.sum(), 1.0)
    share = (block[0, 1] + block[1, 0]) / weight
    return share, max(share * (1 - share), 1 / weight) ** 0.5 / weight**0.5


def both(X, y, **options):
    """A comparison, and the diagnoses before and after it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison = cw.compare(X, y, references=False, **options)
        return comparison, cw.diagnose(X, y), cw.diagnose(X, y, held_out=comparison.evaluations)


def read(folder, file, target):
    """The rows of a table that have a label, a sample of them where they are many."""
    table = pd.read_csv(Path(folder) / file)
    table = table[table[target].notna()]
    if len(table) > ROWS:
        table = table.sample(ROWS, random_state=0)
    common = table[target].map(table[target].value_counts()) > 1
    table = table[common]
    X = table.drop(columns=target).dropna(axis=1, how="all")
    return X.iloc[:, :COLUMNS], table[target].to_numpy()


def manifest(folder):
    """Name, file and target of every table, small ones and those without gaps first."""
    listed = pd.read_csv(Path(folder) / "manifest.csv")
    listed = listed.assign(gappy=listed["missing"] > 0).sort_values(["gappy", "bytes"])
    return list(listed[["name", "file", "target"]].itertuples(index=False, name=None))


def main(names):
    """Check each table, and say how many claims are broken."""
    folder, wrong = os.environ["CLASSWISE_DATA"], 0
    for name, file, target in manifest(folder):
        if names and name not in names:
            continue
        start = perf_counter()
        try:
            X, y = read(folder, file, target)
            comparison, before, after = both(X, y, folds=5)
        except cw.ClasswiseError as problem:
            print(f"{name}: {problem}", flush=True)
            continue
        print(
            f"\n{name} ({len(y)} rows, {X.shape[1]} columns, {perf_counter() - start:.0f} s): {comparison.winner.name}"
        )
        for title, diagnosis in ("before", before), ("after", after):
            print(f"  {title}:", *(f"\n    - {sentence}" for sentence in diagnosis.sentences(shell=title == "after")))
            faults = broken(diagnosis, comparison)
            wrong += len(faults)
            print(*(f"    BROKEN {fault}\n" for fault in faults), end="", flush=True)
    print(f"\n{wrong} broken")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
