"""The study as a page of Markdown: ranks, pairs, calibration, time, and every table on which a peer is better."""

from pathlib import Path

import numpy as np
import pandas as pd
from quality_pairs import bootstrapped, pair, ranks

SMALL = 1000
SIZES = {"below 1,000 rows": (0, SMALL), "1,000 rows and more": (SMALL, np.inf), "all": (0, np.inf)}
NAMES = {
    "auto": "`AutoClassifier()`",
    "logreg": "`LogisticRegression()`",
    "rf": "`RandomForestClassifier(200)`",
    "hgb": "`HistGradientBoostingClassifier()`",
    "lda": "`LinearDiscriminantAnalysis()`",
    "lda-auto": '`LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")`',
    "qda-0.01": "`QuadraticDiscriminantAnalysis(reg_param=0.01)`",
    "qda-0.1": "`QuadraticDiscriminantAnalysis(reg_param=0.1)`",
    "knn": "`KNeighborsClassifier(15)`",
    "gnb": "`GaussianNB()`",
    "nc": "`NearestCentroid()`",
    "rf-calibrated": "random forest, calibrated",
    "lightgbm": "LightGBM, calibrated",
    "flaml": "FLAML, 20 seconds a fit",
}

Rows = list[list[str]]


def report(auto_files: list[Path], peers_file: Path, folds_file: Path, autogluon_file: Path | None = None) -> str:
    """The whole page."""
    own, peers = median_of(auto_files), pd.read_csv(peers_file)
    recorded = of_folds(pd.read_csv(folds_file))
    losses = by_model(peers).reindex(own.index).assign(auto=own["log_loss"])
    trees = by_model(recorded).reindex(own.index).assign(auto=own["log_loss"])
    parts = [
        scope(own, by_model(peers), len(auto_files)),
        "## Ranks by log loss\n\n" + rank_part(losses),
        "## Against each peer\n\n" + pair_part(losses, own["n"]),
        "## Against calibrated trees, and FLAML\n\n" + tree_part(trees, own["n"]),
        "## Tables that nothing was chosen by\n\n" + half_part(losses, trees),
        *([f"## Against AutoGluon\n\n{autogluon_part(auto_files, autogluon_file)}"] if autogluon_file else ()),
        "## Calibration\n\n" + calibration_part(own),
        "## Time\n\n" + time_part(own, recorded),
        "## Where a peer is better\n\n" + loss_part(losses, trees),
        "## Every table\n\n" + table_part(own, losses, trees),
    ]
    return "\n\n".join(parts) + "\n"


def median_of(files: list[Path]) -> pd.DataFrame:
    """A line for each table, by name: the median over the files of every number. A failure in one is a failure."""
    results = pd.concat([last_lines(file) for file in files])
    numbers = results.groupby("name", sort=False).median(numeric_only=True)
    worst = results.groupby("name")["log_loss"].max()
    numbers["log_loss"] = numbers["log_loss"].where(np.isfinite(worst), np.inf)
    whole = ["n", "p", "g"]
    return numbers.astype(dict.fromkeys(whole, int))


def of_folds(folds: pd.DataFrame) -> pd.DataFrame:
    """From sums of each fold to the log loss of all rows, and the processor seconds of one fit."""
    names = {"forest, calibrated": "rf-calibrated", "LightGBM, calibrated": "lightgbm", "FLAML, 20 s": "flaml"}
    folds = folds[folds["model"].isin(names)].assign(model=lambda f: f["model"].map(names))
    sums = folds.groupby(["table", "model"]).agg(loss=("loss", "sum"), rows=("rows", "sum"), cpu=("cpu", "mean"))
    lines = sums.reset_index().rename(columns={"table": "name", "cpu": "cpu_seconds"})
    return lines.assign(log_loss=lines["loss"] / lines["rows"])


def last_lines(file: Path) -> pd.DataFrame:
    """Results, the last of each table and model, so that a failure that was run again is forgotten.

    A failure has an infinite log loss; what has no line was not run.
    """
    results = pd.read_csv(file).drop_duplicates(["name", "model"], keep="last")
    return results.assign(log_loss=results["log_loss"].fillna(np.inf))


def by_model(results: pd.DataFrame) -> pd.DataFrame:
    """Log losses with a line for each table and a column for each model."""
    return results.pivot(index="name", columns="model", values="log_loss")


def scope(own: pd.DataFrame, peers: pd.DataFrame, seeds: int) -> str:
    absent = [name for name in peers.index if name not in own.index]
    failed = own.index[np.isinf(own["log_loss"])].tolist()
    told = f"{len(own)} of {len(peers)} tables, {int((own['n'] < SMALL).sum())} of them below 1,000 rows. "
    told += f"`AutoClassifier` failed on {listed(failed)}." if failed else "`AutoClassifier` failed on none."
    told += f" Its log loss is the median of {seeds} seeds." if seeds > 1 else ""
    return told + (f" Not run: {listed(absent)}." if absent else "")


def half_part(losses: pd.DataFrame, trees: pd.DataFrame) -> str:
    """Won, tied, lost against each of the strongest, on the tables that members were chosen by, and on the others."""
    names = sorted(losses.index)
    halves = {"members were chosen by": names[::2], "only judged on": names[1::2]}
    lines = []
    for model in trees.drop(columns="auto"):
        for half, own in halves.items():
            lines.append([NAMES.get(model, model), half, str(len(own)), *pair_cells(trees.loc[own], model)])
    placed = {half: ranks(losses.loc[own])["auto"].mean() for half, own in halves.items()}
    told = ", ".join(f"{rank:.2f} on tables {half}" for half, rank in placed.items())
    head = ["peer", "tables", "count", "median ratio of log loss", "won, tied, lost", "p"]
    return f"{markdown(head, lines)}\n\nMean rank among the eleven: {told}."


def rank_part(losses: pd.DataFrame) -> str:
    placed = ranks(losses)
    lines = []
    for model in placed.mean().sort_values().index:
        low, high = bootstrapped(placed[model].to_numpy())
        first = int((placed[model] == 1).sum())
        lines.append([NAMES.get(model, model), f"{placed[model].mean():.2f}", f"{low:.2f} to {high:.2f}", str(first)])
    told = (
        f"1 is best, {losses.shape[1]} is worst; a failure counts as worst. Intervals: 95 %, over tables drawn again."
    )
    return markdown(["", "mean rank", "interval", "first"], lines) + "\n\n" + told


def pair_part(losses: pd.DataFrame, rows: pd.Series) -> str:
    peers = losses.drop(columns="auto").columns
    order = ranks(losses)[peers].mean().sort_values().index
    small = losses[rows < SMALL]
    lines = [[NAMES.get(m, m), *pair_cells(losses, m), *pair_cells(small, m)[1:]] for m in order]
    head = ["peer", "median ratio of log loss", "won, tied, lost", "p", "the same below 1,000 rows", "p"]
    return markdown(head, lines) + "\n\n" + PAIRS_TOLD


PAIRS_TOLD = (
    "The ratio is ours over theirs. p is that of the two-sided sign test without ties. Some tables come from one "
    "source (three of mfeat; train and test of vowel, waveform and zip), so that p is somewhat too small."
)


def pair_cells(losses: pd.DataFrame, peer: str) -> list[str]:
    """Median ratio; won, tied, lost; p."""
    found = pair(losses["auto"], losses[peer])
    return [f"{found.ratio:.2f}", f"{found.won}, {found.tied}, {found.lost}", small_number(found.p_value)]


def tree_part(trees: pd.DataFrame, rows: pd.Series) -> str:
    lines = []
    for model in trees.drop(columns="auto"):
        for size, (least, limit) in SIZES.items():
            both = trees[(rows >= least) & (rows < limit) & trees[model].notna()]
            if len(both):
                lines.append([NAMES.get(model, model), size, str(len(both)), *pair_cells(both, model)])
    return markdown(["peer", "tables", "count", "median ratio of log loss", "won, tied, lost", "p"], lines)


def calibration_part(own: pd.DataFrame) -> str:
    scored = own[own["ece"].notna()]
    outside = scored[scored["ece"] > scored["ece_limit"]]
    within = len(scored) - len(outside)
    told = f"The expected calibration error lies within its sampling noise on {within} of {len(own)} tables"
    told += f" ({within / len(own):.0%}). Noise: the 95 % quantile if the posteriors were exactly right."
    lines = [[n, *(f"{r[c]:.4f}" for c in ("ece", "ece_mean", "ece_limit"))] for n, r in outside.iterrows()]
    head = ["outside", "calibration error", "if exact, on average", "if exact, 95 %"]
    return told + ("\n\n" + markdown(head, lines) if lines else "")


def autogluon_part(auto_files: list[Path], file: Path) -> str:
    """Log losses on the folds that every table has been asked for, and how long a fit takes."""
    own, recorded = pd.concat([last_lines(each) for each in auto_files]), pd.read_csv(file)
    parts = []
    for model, theirs in recorded.groupby("model", sort=False):
        tables = theirs["table"].nunique()
        asked = theirs.groupby("fold")["table"].nunique()
        theirs = theirs[theirs["fold"].isin(asked.index[asked == tables])]
        if len(theirs):
            parts.append(autogluon_table(own[own["name"].isin(theirs["table"])], theirs, str(model)))
    return "\n\n".join(parts)


def autogluon_table(own: pd.DataFrame, theirs: pd.DataFrame, model: str) -> str:
    folds = sorted(theirs["fold"].unique())
    sums = own["by_fold"].str.split(" ", expand=True)[folds].astype(float).sum(axis=1)
    ours = sums.groupby(own["name"]).median()
    per_table = theirs.groupby("table").agg(loss=("loss", "sum"), rows=("rows", "sum"), cpu=("cpu", "mean"))
    losses = pd.DataFrame({"auto": ours / per_table["rows"], "peer": per_table["loss"] / per_table["rows"]})
    seconds = own.groupby("name")["cpu_seconds"].median()
    found = pair(losses["auto"], losses["peer"])
    lines = [
        [name, *bold_least(line["auto"], line["peer"]), f"{seconds[name]:.1f}", f"{per_table['cpu'][name]:.1f}"]
        for name, line in losses.iterrows()
    ]
    told = (
        f"{model}, on {len(folds)} of the five folds: `AutoClassifier` is better on {found.won} of {len(losses)} "
        f"tables, worse on {found.lost}; median ratio of log loss {found.ratio:.2f}. Processor seconds of a fit, "
        f"summed over tables: {seconds.sum():.0f} against {per_table['cpu'].sum():.0f}."
    )
    return told + "\n\n" + markdown(["table", "ours", "theirs", "our seconds", "their seconds"], lines)


def bold_least(ours: float, theirs: float) -> list[str]:
    return [f"**{one:.4f}**" if one <= other else f"{one:.4f}" for one, other in ((ours, theirs), (theirs, ours))]


def time_part(own: pd.DataFrame, recorded: pd.DataFrame) -> str:
    """Totals of processor seconds over the tables that both have, and the tables that take longest."""
    lines = []
    for model, theirs in recorded.set_index("name").groupby("model"):
        names = own.index[own["cpu_seconds"].notna()].intersection(theirs.index)
        ours, their = own.loc[names, "cpu_seconds"].sum(), theirs.loc[names, "cpu_seconds"].sum()
        lines.append([NAMES.get(model, model), str(len(names)), f"{ours:.1f}", f"{their:.1f}", f"{ours / their:.2f}"])
    slowest = own["cpu_seconds"].nlargest(5)
    told = "Slowest fits: " + listed([f"{name} {time:.1f} s" for name, time in slowest.items()]) + "."
    return f"{TIME_TOLD}\n\n{markdown(['peer', 'tables', 'ours, s', 'theirs, s', 'ratio'], lines)}\n\n{told}"


TIME_TOLD = "Processor seconds, summed over tables, of one fit each, calibration included."


def loss_part(losses: pd.DataFrame, trees: pd.DataFrame) -> str:
    """Each table with the peers that have the smaller log loss, best first."""
    everyone = losses.drop(columns="auto").join(trees.drop(columns="auto"))
    lines = []
    for name, theirs in everyone.iterrows():
        own = losses.loc[name, "auto"]
        better = theirs[theirs < own].sort_values()
        if len(better):
            lines.append([name, f"{own:.4f}", ", ".join(f"{m} {loss:.4f}" for m, loss in better.items())])
    told = f"A peer, calibrated ones among them, is better on {len(lines)} of {len(losses)} tables."
    return told + "\n\n" + markdown(["table", "ours", "better"], lines)


def table_part(own: pd.DataFrame, losses: pd.DataFrame, trees: pd.DataFrame) -> str:
    """Log loss of ours, the best recorded peer and the calibrated trees; the best of a line in bold."""
    recorded = losses.drop(columns="auto")
    lines = []
    for name, facts in own.iterrows():
        best = recorded.loc[name].idxmin()
        values = [facts["log_loss"], recorded.loc[name, best], *trees.drop(columns="auto").loc[name]]
        shown = [in_bold(value, np.nanmin(values)) for value in values]
        shape = [f"{int(facts[key]):,}" for key in ("n", "p", "g")]
        ends = [f"{facts['error']:.3f}", f"{facts['ece']:.3f}", f"{facts['cpu_seconds']:.2f}"]
        lines.append([name, *shape, shown[0], f"{shown[1]} {best}", *shown[2:], *ends])
    head = ["table", "rows", "columns", "classes", "ours", "best recorded peer", *trees.drop(columns="auto").columns]
    return markdown([*head, "our error", "our calibration error", "our processor seconds"], lines)


def markdown(head: list[str], lines: Rows) -> str:
    rules = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rules, *lines])


def in_bold(value: float, best: float) -> str:
    """A loss, in bold if it is the best, and a dash where a model was not run."""
    if np.isnan(value):
        return "-"
    return f"**{value:.4f}**" if value == best else f"{value:.4f}"


def listed(names: list[str]) -> str:
    return ", ".join(names)


def small_number(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"
