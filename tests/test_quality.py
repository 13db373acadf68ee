"""The arithmetic of benchmarks/quality.py: calibration and its noise, powers, ranks, sign tests, what is run again."""

import csv
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from classwise.classifier.evaluation import Evaluation

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("The benchmarks are not part of a source distribution.", allow_module_level=True)
# Last, so that no name of a benchmark hides a module that other tests import.
sys.path.append(str(BENCHMARKS))
quality = import_module("quality")
quality_calibrated = import_module("quality_calibrated")
quality_pairs = import_module("quality_pairs")
quality_report = import_module("quality_report")
quality_scores = import_module("quality_scores")
quality_tables = import_module("quality_tables")


@pytest.fixture
def posterior():
    return np.random.default_rng(0).dirichlet(np.full(4, 0.5), 3000)


def drawn(posterior, seed=1):
    """Own classes that are drawn from posteriors (n, g)."""
    return (np.random.default_rng(seed).random((len(posterior), 1)) > posterior.cumsum(axis=1)).sum(axis=1)


def test_scores_agree_with_those_of_the_library(posterior):
    codes = drawn(posterior)
    ours = quality_scores.score(posterior, codes)
    theirs = Evaluation.of(np.log(posterior), codes, np.arange(4))
    expected = (theirs.log_loss, theirs.error, theirs.brier, theirs.calibration_error)
    assert (ours.log_loss, ours.error, ours.brier, ours.ece) == pytest.approx(expected, rel=1e-12)


def test_calibrated_posteriors_lie_within_the_noise_and_oversure_ones_do_not(posterior):
    exact = [quality_scores.score(posterior, drawn(posterior, seed)) for seed in range(100)]
    outside = np.mean([scores.ece > scores.ece_limit for scores in exact])
    assert 0.0 <= outside <= 0.13
    assert np.mean([scores.ece for scores in exact]) == pytest.approx(exact[0].ece_mean, rel=0.1)
    sure = np.exp(quality_calibrated.calibrated(posterior, 0.0, 2.0))
    scores = quality_scores.score(sure, drawn(posterior))
    assert scores.ece > 3 * scores.ece_limit


def test_posteriors_are_clipped_as_the_recorded_ones():
    found = quality_scores.normalized(np.array([[1.0, 0.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, [[1, 1e-15], [0.5, 0.5]], rtol=1e-12)


def test_the_power_that_spoiled_posteriors_is_found(posterior):
    spoiled = np.exp(quality_calibrated.calibrated(posterior, 0.0, 2.5))
    loss, power = quality_calibrated.best_power(spoiled, drawn(posterior), 1e-15)
    assert power == pytest.approx(1 / 2.5, rel=0.1)
    powers = np.linspace(0.2, 0.8, 601)
    rows = np.arange(len(posterior))
    log_posteriors = [quality_calibrated.calibrated(spoiled, 1e-15, each) for each in powers]
    assert loss <= min(-each[rows, drawn(posterior)].mean() for each in log_posteriors) + 1e-9


def test_zeros_of_a_forest_are_smoothed_before_the_power():
    votes = np.array([[1.0, 0.0]] * 9 + [[0.0, 1.0]])
    codes = np.zeros(10, dtype=int)
    share, power = quality_calibrated.calibrate(votes, codes, (0.01, 0.1))
    answers = quality_calibrated.calibrated(votes, share, power)
    assert np.isfinite(answers).all()
    np.testing.assert_allclose(np.exp(answers).sum(axis=1), 1)
    assert -answers[np.arange(10), codes].mean() == pytest.approx(-0.9 * np.log(0.9) - 0.1 * np.log(0.1), rel=1e-4)


def test_out_of_fold_posteriors_of_the_calibrated_trees_are_of_rows_not_seen():
    """Labels that are noise: a tree that has seen the row would know its label."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.choice(["a", "b"], 120)
    model = quality_calibrated.Calibrated(quality_calibrated.PEERS["rf-calibrated"]).fit(pd.DataFrame(X), y)
    assert model.power < 0.5
    assert model.predict_proba(pd.DataFrame(X)).max() < 0.9


def test_missing_losses_are_the_worst():
    losses = pd.DataFrame({"a": [1.0, np.nan, 1.0], "b": [2.0, 5.0, 1.0], "c": [3.0, 4.0, 7.0]})
    assert quality_pairs.ranks(losses).to_numpy().tolist() == [[1, 2, 3], [3, 2, 1], [1.5, 1.5, 3]]
    found = quality_pairs.pair(losses["a"], losses["b"])
    assert (found.won, found.tied, found.lost, found.ratio) == (1, 1, 1, 0.75)


def test_sign_test_is_the_binomial_tail():
    ours, theirs = pd.Series([1.0] * 6), pd.Series([2.0] * 5 + [1.0])
    assert quality_pairs.pair(ours, theirs).p_value == pytest.approx(2 / 2**5)
    assert quality_pairs.pair(ours, ours).p_value == 1


def test_bootstrap_interval_is_that_of_a_mean():
    values = np.random.default_rng(0).normal(size=400)
    low, high = quality_pairs.bootstrapped(values)
    half = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.01)
    assert (low, high) == quality_pairs.bootstrapped(values)


@pytest.mark.parametrize(
    "weights", [{"aode": 0.75, "prior": 0.25}, np.array([0.75, 0.25]), pd.Series([0.75, 0.25], ["aode", "prior"])]
)
def test_weights_are_read_in_any_form(weights):
    model = SimpleNamespace(weights_=weights, members_={"aode": None, "prior": None})
    other = SimpleNamespace(weights_={"aode": 1.0})
    assert quality.carried([model, other]) == "aode 0.88, prior 0.12"
    assert quality.carried([SimpleNamespace()]) == ""


def test_members_are_passed_on_only_if_asked_for():
    assert quality.members(None) == {}
    assert quality.members("full") == {"members": "full"}
    assert quality.members("aode,prior") == {"members": ["aode", "prior"]}


class Stubborn:
    def fit(self, X, y):
        raise ValueError("no")


def small_table():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 20)
    X = pd.DataFrame({"x": rng.normal(size=40) + 2 * (y == "b"), "c": rng.choice(["u", "v"], 40)})
    return quality_tables.Table("small", X, y)


def test_failures_are_written_and_run_again(tmp_path):
    out = tmp_path / "auto.csv"
    failed = quality.line(small_table(), "auto", Stubborn)
    assert failed["failure"] == "ValueError: no"
    quality.write(out, failed)
    assert quality.finished(out) == set()
    quality.write(out, {**failed, "failure": "", "log_loss": 0.5})
    assert quality.finished(out) == {("small", "auto")}
    assert quality_report.last_lines(out)["log_loss"].tolist() == [0.5]
    with out.open() as file:
        assert len(list(csv.DictReader(file))) == 2


def results_file(path, model, losses, **facts):
    """A file of results: the log loss by table; None is a failure."""
    for name, loss in losses.items():
        scores = {"log_loss": loss, "error": 0.1, "ece": 0.05, "ece_mean": 0.02, "ece_limit": 0.04}
        seconds = {"seconds": 2.0, "cpu_seconds": 1.0}
        outcome = {"failure": "ValueError: no"} if loss is None else {**scores, **seconds, **facts}
        quality.write(path, {"name": name, "model": model, "n": 100, "p": 2, "g": 2, **outcome})
    return path


def test_report_names_losses_failures_and_what_was_not_run(tmp_path):
    auto = results_file(tmp_path / "auto.csv", "auto", {"u": 0.5, "v": 0.25, "w": None})
    again = results_file(tmp_path / "again.csv", "auto", {"u": 0.5, "v": 0.25, "w": 0.1})
    folds = tmp_path / "trees.csv"
    sums = {"table": ["u", "u", "v"], "fold": [0, 1, 0], "loss": [30.0, 10.0, 40.0], "rows": [50, 50, 100]}
    pd.DataFrame({**sums, "model": "forest, calibrated", "errors": 1, "cpu": [3.0, 5.0, 4.0]}).to_csv(
        folds, index=False
    )
    peers = tmp_path / "peers.csv"
    losses = {"logreg": [0.6, 0.2, 0.3, 0.1], "nc": [0.7, np.nan, 0.4, 0.1]}
    frames = [pd.DataFrame({"name": list("uvwx"), "model": m, "log_loss": each}) for m, each in losses.items()]
    pd.concat(frames).to_csv(peers, index=False)
    page = quality_report.report([auto, auto, again], peers, folds)
    assert "3 of 4 tables, 3 of them below 1,000 rows. `AutoClassifier` failed on w." in page
    assert "Its log loss is the median of 3 seeds. Not run: x." in page
    assert "| `AutoClassifier()` | 2.00 |" in page
    assert "| `LogisticRegression()` | 1.25 | 1, 0, 2 | 1.000 |" in page
    assert "| `NearestCentroid()` | inf | 2, 0, 1 | 1.000 |" in page
    assert "| random forest, calibrated | all | 2 | 0.94 | 1, 0, 1 | 1.000 |" in page
    assert "| random forest, calibrated | members were chosen by | 2 |" in page
    assert "| random forest, calibrated | only judged on | 1 | 0.62 | 1, 0, 0 | 1.000 |" in page
    assert "within its sampling noise on 0 of 3 tables (0%)" in page
    assert "| random forest, calibrated | 2 | 2.0 | 8.0 | 0.25 |" in page
    assert "| u | 0.5000 | rf-calibrated 0.4000 |" in page
    assert "| v | 0.2500 | logreg 0.2000 |" in page
    assert "| v | 100 | 2 | 2 | 0.2500 | **0.2000** logreg | 0.4000 |" in page
    assert "| w | 100 | 2 | 2 | inf | **0.3000** logreg | - |" in page
    assert "| w | inf | logreg 0.3000, nc 0.4000 |" in page


def test_tables_are_those_of_the_recorded_peers(data, reference):
    recorded = pd.read_csv(reference / "quality_peers.csv").drop_duplicates("name").set_index("name")
    found = {table.name: table.shape() for table in quality_tables.read_tables(data)}
    assert found == recorded[["n", "p", "g"]].T.to_dict()
