"""Learning: every member tried on rows held out, and weighed by what it says of them."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from classwise.arrays import Array, Codes
from classwise.comparison.stack.member import Crossed, Member, Trained
from classwise.comparison.stack.pooling import HeldOut, Pool
from classwise.comparison.stack.report import AutoReport, Line
from classwise.comparison.stack.shares import ClassShares
from classwise.comparison.stack.study import Study
from classwise.engines import BLAS
from classwise.engines.progress import Deadline, progress, silent
from classwise.errors import ClasswiseError, OutOfTimeWarning

# Members are tried on at most so many rows; those made of sums then learn from all.
MOST_ROWS = 50_000

# Of each class at least so many rows are among them.
FEWEST_ROWS = 50


@dataclass(frozen=True, eq=False)
class Learned:
    """The members that took part, their pool, and the report. log_posterior (n, g): of each row tried, under a pool
    that had not seen its fold.
    """

    members: dict[str, Trained]
    pool: Pool
    report: AutoReport
    log_posterior: Array


def learn(study: Study, members: Sequence[Member], combine: str) -> Learned:
    """Try members until the time is over, and combine those that could be fitted.

    A member whose time is over in its middle is given up. Where none was fitted in time, the class shares stand in.
    """
    some = sampled(study)
    tried: list[tuple[Line, Crossed | None]] = []
    with progress("Learning", len(members)) as bar:
        for member in members:
            tried.append(_try(member, some))
            bar.step(member.name)
    if not any(crossed for _, crossed in tried):
        if not study.deadline.is_over:
            reasons = " ".join(f"{line.name}: {line.reason}" for line, _ in tried)
            raise ClasswiseError(f"No member could be fitted. {reasons}")
        tried.append(_try(ClassShares(), some))
    learned = _combined(study, some, tried, combine)
    if study.deadline.is_over and set(learned.members) == {ClassShares.name}:
        _warn_of_shares()
    return learned


def _warn_of_shares() -> None:
    warnings.warn(
        "time_limit was over before any member was learned, so the model knows the shares of the classes alone. Give "
        "more time, or members='fast'.",
        OutOfTimeWarning,
        stacklevel=5,
    )


def sampled(study: Study) -> Study:
    """The same study of no more rows than are needed; a row of a class that is thinned out stands for several."""
    if len(study.codes) <= MOST_ROWS:
        return study
    kept, weights = [], study.weights.copy()
    for k in range(study.count):
        own = np.flatnonzero(study.codes == k)
        count = min(max(round(MOST_ROWS * len(own) / len(study.codes)), FEWEST_ROWS), len(own))
        taken = own[np.linspace(0, len(own) - 1, count).astype(np.intp)]
        weights[taken] *= weights[own].sum() / weights[taken].sum()
        kept.append(taken)
    return study.of_rows(np.sort(np.concatenate(kept)), weights)


def _try(member: Member, study: Study) -> tuple[Line, Crossed | None]:
    if member.is_instant:
        study = replace(study, deadline=Deadline())
    if study.deadline.is_over:
        return Line(member.name, reason="the time limit was over."), None
    start = time.perf_counter()
    with warnings.catch_warnings(), silent(), BLAS.held():
        warnings.simplefilter("ignore")  # a member that has something to complain of shows it in its log loss
        try:
            crossed = member.cross(study)
        except Exception as problem:  # whatever it is, the others go on, and the report tells
            text = str(problem).strip().split("\n")[0] or type(problem).__name__
            return Line(member.name, seconds=time.perf_counter() - start, reason=text), None
    return Line(member.name, seconds=time.perf_counter() - start, note=crossed.note), crossed


def _combined(study: Study, some: Study, tried: list[tuple[Line, Crossed | None]], combine: str) -> Learned:
    taking_part = [(line, crossed) for line, crossed in tried if crossed is not None]
    told = np.flatnonzero(some.telling)
    members = [crossed.log_posterior for _, crossed in taking_part]
    held_out = HeldOut(members, some.codes, some.folds, some.telling)
    with np.errstate(divide="ignore"), BLAS.held():
        pool = _pooled(held_out.of_rows(told), combine)
        answers = _by_fold(held_out, told, combine, pool)
        lines = _described(taking_part, pool, held_out.of_rows(told), combine)
    left_out = [line for line, crossed in tried if crossed is None]
    own = answers[told, some.codes[told]]
    log_loss = -float(some.telling[told] @ own / some.telling[told].sum())
    report = AutoReport((*lines, *left_out), log_loss, 1 / pool.power, combine)
    trained = {line.name: _of_all(crossed.trained, study, some) for line, crossed in taking_part}
    return Learned(trained, pool, report, answers)


def _pooled(held_out: HeldOut, combine: str, powers: Array | None = None, near: Array | None = None) -> Pool:
    return held_out.stack(powers, near) if combine == "stack" else held_out.pick(powers)


def _by_fold(held_out: HeldOut, told: Codes, combine: str, near: Pool) -> Array:
    """Log posteriors of each row, under powers and weights that had not seen its fold; (n, g)."""
    answers = np.empty_like(held_out.members[0])
    for fold, powers in enumerate(held_out.of_rows(told).powers_by_fold()):
        rows, others = np.flatnonzero(held_out.folds == fold), told[held_out.folds[told] != fold]
        pool = _pooled(held_out.of_rows(others if len(others) else told), combine, powers, near.weights)
        answers[rows] = pool(held_out.of_rows(rows).members)
    return answers


def _described(taking_part: Sequence[tuple[Line, Crossed]], pool: Pool, held_out: HeldOut, combine: str) -> list[Line]:
    """Each member with its weight and worth, the weightiest first."""
    least, lines = held_out.log_loss(pool), []
    for i, (line, _) in enumerate(taking_part):
        alone = Pool(np.eye(len(pool.weights))[i], pool.powers, 1.0)
        worth = 0.0
        if pool.weights[i] and len(taking_part) > 1:
            others = held_out.without_member(i)
            less = _pooled(others, combine, np.delete(pool.powers, i), np.delete(pool.weights, i))
            worth = others.log_loss(less) - least
        lines.append(
            replace(
                line,
                weight=float(pool.weights[i]),
                temperature=float(1 / pool.powers[i]),
                log_loss=held_out.log_loss(alone),
                worth=worth,
            )
        )
    return sorted(lines, key=lambda line: -(line.weight or 0.0))


def _of_all(trained: Trained, study: Study, some: Study) -> Trained:
    """The member of all rows, where it was tried on some of them and is made of sums."""
    if some is study or trained.statistics is None:
        return trained
    sums = trained.summarize(study.rows, study.codes, study.count, study.weights)
    return trained if sums is None else trained.relearned(sums)
