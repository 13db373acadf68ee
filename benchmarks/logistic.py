"""Bayesian logistic regression against scikit-learn: the precision by evidence against cross-validation, and speed.

python benchmarks/logistic.py quality --data FOLDER [--only vowel waveform]
    ten tables: precision, log loss and time by 10 folds
python benchmarks/logistic.py speed --rows 1000000 [--precision evidence]
    time to the same objective value as lbfgs, in turns: seconds of the clock, and of all processors together
"""

import argparse
import warnings
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import classwise as cw

BUNDLED = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
FILES = {
    "SAheart": ("esl_SAheart", "chd"),
    "seeds": ("wheat_seeds", None),
    "ecoli": ("ecoli", None),
    "banknote": ("banknote_authentication", None),
    "haberman": ("haberman", None),
    "vowel": ("esl_vowel_train", "y"),
    "waveform": ("esl_waveform_train", "y"),
}
PRECISIONS = 10.0 ** np.arange(-4, 3.1, 0.5)


def tables(folder: Path | None):
    """Name, numbers and labels; classes of fewer than ten rows are left out."""
    for name, load in BUNDLED.items():
        yield name, *load(return_X_y=True)
    for name, (file, target) in FILES.items() if folder else ():
        table = pd.read_csv(folder / f"{file}.csv.gz")
        target = target if target in table.columns else table.columns[-1]
        X = pd.get_dummies(table.drop(columns=target)).to_numpy(np.float64)
        labels, counts = np.unique(table[target].astype(str), return_counts=True)
        kept = np.isin(table[target].astype(str), labels[counts >= 10])
        yield name, X[kept], table[target].astype(str).to_numpy()[kept]


def crossed(make, X, y, folds):
    """Mean log loss of rows held out, and seconds for all fits."""
    losses, seconds = [], 0.0
    for train, test in folds:
        start = perf_counter()
        model = make().fit(X[train], y[train])
        seconds += perf_counter() - start
        losses.append(log_loss(y[test], model.predict_proba(X[test]), labels=np.unique(y)))
    return float(np.mean(losses)), seconds


def quality(folder: Path | None, only: list[str]) -> None:
    print(
        "table           evidence  best cv   log loss: integrated  plugin  variational  LogisticRegressionCV   "
        "seconds: ours  variational  theirs"
    )
    rows = []
    for name, X, y in tables(folder):
        if only and name not in only:
            continue
        folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
        chosen = next(iter(cw.BayesianLogistic().fit(X, y).precision_.values()))
        tried = [crossed(lambda t=t: cw.BayesianLogistic(precision=t), X, y, folds)[0] for t in PRECISIONS]
        best = PRECISIONS[int(np.argmin(tried))]
        integrated, seconds = crossed(cw.BayesianLogistic, X, y, folds)
        plugin, _ = crossed(lambda: cw.BayesianLogistic(predictive="plugin"), X, y, folds)
        nearest, longer = crossed(lambda: cw.BayesianLogistic(posterior="variational"), X, y, folds)
        peer, theirs = crossed(_cross_validated, X, y, folds)
        rows.append((integrated, plugin, nearest, peer, seconds, longer, theirs, abs(np.log10(chosen / best))))
        print(f"{name:14} {chosen:9.3g} {best:9.3g} {_columns(rows[-1])}", flush=True)
    print(f"{'mean':34} {_columns(np.mean(rows, axis=0))}")
    print(f"farthest from the best precision: {max(row[-1] for row in rows):.2f} orders of magnitude")


def _columns(row) -> str:
    """Log losses and seconds, under their names."""
    losses = f"{row[0]:21.4f} {row[1]:7.4f} {row[2]:12.4f} {row[3]:21.4f}"
    return f"{losses} {row[4]:15.2f} {row[5]:12.2f} {row[6]:7.2f}"


def _cross_validated():
    return make_pipeline(StandardScaler(), LogisticRegressionCV(cv=5, scoring="neg_log_loss", max_iter=2000))


def objective(coefficients, intercept, X, y, precision: float) -> float:
    """Loss and penalty, a block of rows at a time."""
    total = 0.5 * precision * float((coefficients**2).sum())
    for start in range(0, len(X), 100_000):
        part = slice(start, start + 100_000)
        scores = X[part] @ coefficients.T + intercept
        peak = scores.max(axis=1)
        logs = peak + np.log(np.exp(scores - peak[:, None]).sum(axis=1))
        total += float((logs - scores[np.arange(len(logs)), y[part]]).sum())
    return total


def timed(fit):
    """What a fit gives, and its seconds: of the clock, and of all processors."""
    clock, processors = perf_counter(), process_time()
    model = fit()
    return model, np.array([perf_counter() - clock, process_time() - processors])


def speed(rows: int, columns: int, classes: int, precision: str, rounds: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = (X @ rng.normal(size=(columns, classes)) + rng.gumbel(size=(rows, classes))).argmax(axis=1)
    given = precision if precision == "evidence" else float(precision)

    def ours():
        return cw.BayesianLogistic(precision=given, standardize=False).fit(X, y)

    ours()  # the first fit pays for what is loaded when it is first used
    for tolerance in (1e-4, 1e-5, 1e-6) * rounds:
        m, own = timed(ours)
        used = next(iter(m.precision_.values()))
        lbfgs = LogisticRegression(C=1 / used, tol=tolerance, max_iter=1000)
        peer, theirs = timed(partial(lbfgs.fit, X, y))
        own = (own + timed(ours)[1]) / 2  # before and after, so that a busy machine is as busy for both
        found = objective(m.coef_, m.intercept_, X, y, used)
        more = objective(peer.coef_, peer.intercept_, X, y, used) - found
        print(
            f"classwise {own[0]:6.2f} s ({own[1]:6.2f} s of processors), objective {found:.6f}, passes {m.passes_}   "
            f"lbfgs tol {tolerance:g} {theirs[0]:6.2f} s ({theirs[1]:6.2f} s), objective {more:+.1e}   "
            f"ratio {theirs[0] / own[0]:.1f} ({theirs[1] / own[1]:.1f})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["quality", "speed"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--precision", default="1.0")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--classes", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "quality":
        quality(options.data, options.only)
    else:
        speed(options.rows, options.columns, options.classes, options.precision, options.rounds)


if __name__ == "__main__":
    main()
