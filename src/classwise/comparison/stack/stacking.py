"""Stacking: members are cross-validated, and weighted by their out-of-fold posteriors; and the report."""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.members import SharesMember
from classwise.comparison.stack.pool import MemberPosteriors, Pool
from classwise.comparison.stack.trained import CrossValidated, MadeOfSums, Member, Trained, current_name
from classwise.engines import BLAS, in_threads, kept_threads
from classwise.engines.memory import one_by_one
from classwise.engines.messages import Shared
from classwise.engines.progress import Deadline, progress, silent
from classwise.engines.workers import away
from classwise.errors import ClasswiseError, OutOfTimeWarning
from classwise.storage import stored
from classwise.tabular import Tabular

# What worker processes import when they start.
MODULES = ("classwise.comparison.stack.members",)


@stored("AutoLine", loose=("log_loss", "worth"))
@dataclass(frozen=True)
class MemberLine:
    """One member. weight and temperature: in the pool; log_loss: of the member alone, on held-out rows; worth: the
    increase of the pool's log loss without it; note: the options that were chosen; reason: why it was left out.
    """

    name: str
    weight: float | None = None
    temperature: float | None = None
    log_loss: float | None = None
    worth: float | None = None
    seconds: float = 0.0
    note: str = ""
    reason: str = ""


@stored("AutoReport", loose=("log_loss",))
@dataclass(frozen=True, repr=False)
class AutoReport(Tabular):
    """A line for each member, in the order of their weights; log_loss: of the pool, on rows that were held out from its
    members and weights; temperature: of the pool; combine: "stack" or "pick"; product: of the members, if any; its
    weight is its share beside their average.
    """

    sides: ClassVar[str] = "<>>>>><"

    lines: tuple[MemberLine, ...]
    log_loss: float
    temperature: float
    combine: str
    product: MemberLine | None = None

    def cells(self) -> list[tuple[str, ...]]:
        header = ("member", "weight", "temperature", "log loss", "without it", "seconds", "")
        total = sum(line.seconds for line in self.lines)
        last = (self.combine, "1", f"{self.temperature:.2f}", f"{self.log_loss:.4f}", "", f"{total:.2f}", "")
        lines = [*self.lines, *([] if self.product is None else [self.product])]
        return [header, *map(_cells, lines), last]

    def plot(self, axes: Any = None) -> Any:
        """Draw members by log loss and weight, and the stack; matplotlib axes."""
        from classwise.plot import draw_stack

        return draw_stack(self.lines, self.log_loss, axes)

    def __iter__(self) -> Iterator[MemberLine]:
        return iter(self.lines)


def _cells(line: MemberLine) -> tuple[str, ...]:
    if line.reason:
        return (current_name(line.name), "", "", "", "", f"{line.seconds:.2f}", f"left out: {line.reason}")
    return (
        current_name(line.name),
        _shown(line.weight, ".3f"),
        _shown(line.temperature, ".2f"),
        _shown(line.log_loss, ".4f"),
        _shown(line.worth, "+.4f"),
        f"{line.seconds:.2f}",
        line.note,
    )


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def workers_pay(rows: FoldedRows) -> bool:
    """Whether there is work for much longer than processes take to start."""
    work = rows.rows.size * rows.count * rows.n_folds
    return work > limits.WORKER_WORK and rows.deadline.at - time.monotonic() > limits.WORKER_SECONDS


@dataclass(frozen=True, eq=False)
class LearnedStack:
    """The members with weight, their pool, and the report. log_posterior (n, g): of the tried rows, out-of-fold."""

    members: dict[str, Trained]
    pool: Pool
    report: AutoReport
    log_posterior: Array


def learn(rows: FoldedRows, members: Sequence[Member], combine: str, deadline: Deadline) -> LearnedStack:
    """Cross-validate members until the deadline of the rows, and combine those that were fitted; deadline: of all work.

    A member that is not done in time is left out. If none was fitted in time, the class shares are used.
    """
    some = rows.thinned()
    tried = _try_all(members, some)
    if not any(crossed for _, crossed in tried):
        if not rows.deadline.is_over:
            reasons = " ".join(f"{line.name}: {line.reason}" for line, _ in tried)
            raise ClasswiseError(f"No member could be fitted. {reasons}")
        tried += _try_all([SharesMember()], some)
    learned = _combined(rows, some, tried, combine, deadline)
    if rows.deadline.is_over and set(learned.members) == {SharesMember.name}:
        _warn_of_shares()
    return learned


def _warn_of_shares() -> None:
    warnings.warn(
        "time_limit was over before any member was learned, so the model knows the shares of the classes alone. Give "
        "more time, or members='fast'.",
        OutOfTimeWarning,
        stacklevel=5,
    )


def _try_all(members: Sequence[Member], rows: FoldedRows) -> list[tuple[MemberLine, CrossValidated | None]]:
    """Cross-validate each member, several at a time; the caller's classifiers, which may use all cores, one at a time.

    The slowest members are last in the list, and start first, so that no core waits long for the last one; before those
    that hand out all their tasks at once, which others can take at any time. Under a time limit the quick ones start
    first, so that many are done.
    """
    ours = [member for member in members if member.is_ours]
    slowest_first = ours[::-1]
    order = ours if rows.deadline.at < inf else sorted(slowest_first, key=lambda member: member.is_flat)
    others = [member for member in members if not member.is_ours]
    names = iter([*order, *others])
    with progress("Learning", len(members)) as bar, warnings.catch_warnings(), silent():
        warnings.simplefilter("ignore")  # problems of a member show in its log loss

        def step() -> None:
            bar.step(next(names).name)

        found = dict(zip(order, in_threads(lambda member: _try(member, rows), order, step), strict=True))
        found |= zip(others, one_by_one(lambda member: _try(member, rows), others, step), strict=True)
    return [found[member] for member in members]


def _try(member: Member, rows: FoldedRows) -> tuple[MemberLine, CrossValidated | None]:
    if member.is_instant:
        rows = replace(rows, deadline=Deadline())
    if rows.deadline.is_over:
        return MemberLine(member.name, reason="the time limit was over."), None
    start = time.perf_counter()
    with BLAS.held():
        try:
            crossed = member.cross(rows)
        except Exception as problem:  # the others continue, and the report gives the reason
            text = str(problem).strip().split("\n")[0] or type(problem).__name__
            return MemberLine(member.name, seconds=time.perf_counter() - start, reason=text), None
    return MemberLine(member.name, seconds=time.perf_counter() - start, note=crossed.note), crossed


def _combined(
    rows: FoldedRows,
    some: FoldedRows,
    tried: list[tuple[MemberLine, CrossValidated | None]],
    combine: str,
    deadline: Deadline,
) -> LearnedStack:
    taking_part = [(line, crossed) for line, crossed in tried if crossed is not None]
    weights = some.scored_weights
    counted = np.flatnonzero(weights)
    members = [crossed.log_posterior for _, crossed in taking_part]
    of_all = MemberPosteriors(members, some.codes, some.folds, weights, deadline)
    posteriors = of_all.of_rows(counted)
    with np.errstate(divide="ignore"), kept_threads():
        pool = posteriors.combined(combine, posteriors.powers())
        logs = _out_of_fold(of_all, counted, combine, pool, posteriors.powers_by_fold())
        lines = _described([line for line, _ in taking_part], pool, posteriors, combine)
        product = _described_product(pool, posteriors)
    left_out = [line for line, crossed in tried if crossed is None]
    log_loss = -float(weights[counted] @ logs[counted, some.codes[counted]] / weights[counted].sum())
    report = AutoReport((*lines, *left_out), log_loss, 1 / pool.power, combine, product)
    weighed = zip(taking_part, pool.weights.tolist(), strict=True)
    trained = {line.name: crossed.trained for (line, crossed), weight in weighed if weight > 0}
    if some is not rows:
        trained = {name: _of_all_rows(member, rows, deadline) for name, member in trained.items()}
    return LearnedStack(trained, pool.trimmed(), report, logs)


def _out_of_fold(posteriors: MemberPosteriors, counted: Codes, combine: str, pool: Pool, by_fold: Array) -> Array:
    """Log posteriors of each row, under powers (folds, k) and weights fitted without its fold; (n, g).

    The pool of all rows is used for folds without weight, and for folds for which there is no time left.
    """
    logs, shared = np.empty_like(posteriors.members[0]), Shared(posteriors)

    def answer(fold: int) -> None:
        powers = by_fold[fold] if fold < len(by_fold) else None
        logs[posteriors.folds == fold] = away(_of_fold, shared, counted, combine, pool, powers, fold)

    in_threads(answer, range(int(posteriors.folds.max()) + 1))
    return logs


def _of_fold(
    shared: Shared[MemberPosteriors], counted: Codes, combine: str, pool: Pool, powers: Array | None, fold: int
) -> Array:
    """The log posteriors of the rows of a fold, under weights fitted without them; (m, g)."""
    posteriors = shared.value
    rows, others = np.flatnonzero(posteriors.folds == fold), counted[posteriors.folds[counted] != fold]
    if powers is not None and not posteriors.deadline.is_over:
        pool = posteriors.of_rows(others if len(others) else counted).combined(combine, powers, pool)
    return pool(posteriors.of_rows(rows).members)


def _described(lines: Sequence[MemberLine], pool: Pool, posteriors: MemberPosteriors, combine: str) -> list[MemberLine]:
    """Each member with its weight, and how much the log loss rises without it; in the order of weights."""
    least, shared = posteriors.log_loss(pool), Shared(posteriors)

    def described(i: int) -> MemberLine:
        alone = Pool(np.eye(len(pool.weights))[i], pool.powers, 1.0)
        worth: float | None = 0.0
        if pool.weights[i] and len(lines) > 1:
            worth = None if posteriors.deadline.is_over else away(_loss_without, i, pool, shared, combine) - least
        return replace(
            lines[i],
            weight=float(pool.weights[i]),
            temperature=float(1 / pool.powers[i]),
            log_loss=posteriors.log_loss(alone),
            worth=worth,
        )

    return sorted(in_threads(described, range(len(lines))), key=lambda line: -(line.weight or 0.0))


def _described_product(pool: Pool, posteriors: MemberPosteriors) -> MemberLine | None:
    if pool.product is None:
        return None
    over = posteriors.deadline.is_over
    worth = None if over else posteriors.loss_without_product(pool) - posteriors.log_loss(pool)
    return MemberLine("product of members", pool.product.share, worth=worth, note="beside their average")


def _loss_without(member: int, pool: Pool, posteriors: Shared[MemberPosteriors], combine: str) -> float:
    """The log loss of a pool of all members except one."""
    others = posteriors.value.without_member(member)
    left = pool.of_members(np.delete(np.arange(len(pool.weights)), member))
    return others.log_loss(others.combined(combine, left.powers, left))


def _of_all_rows(trained: Trained, rows: FoldedRows, deadline: Deadline) -> Trained:
    """The member fitted on all rows, if it learns from sums and there is time; else as it is."""
    if not isinstance(trained, MadeOfSums) or deadline.is_over:
        return trained
    return trained.relearned(trained.summarize(rows.rows, rows.codes, rows.count, rows.weights))
