"""Damaged and hostile files: one clear error, no code, no crash, no hang, no more memory than the file is worth."""

import json
import os
import resource
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import classwise as cw
from data.make_files import rows
from surgery import by_hand, closed, found, nodes, of_class, opened, replaced

FOLDER = Path(__file__).parent / "data" / "files"
FILES = {path.name: path.read_bytes() for path in sorted(FOLDER.glob("*.cw*"))}
PARTS = {name: opened(data) for name, data in FILES.items()}
TABLE, _ = rows()

# CLASSWISE_FUZZ=100000 tries so many files of each sort.
TRIES = int(os.environ.get("CLASSWISE_FUZZ", "300"))
fuzzing = settings(max_examples=TRIES, deadline=None, suppress_health_check=list(HealthCheck), database=None)

# What a file may take in memory beyond the libraries: so many times its size, and room to work.
TIMES, ROOM = 64, 64 << 20


def refused(path, data, match=None):
    """Loading this is an error, and the right one."""
    path.write_bytes(data)
    with pytest.raises(cw.StoredFileError, match=match) as caught:
        cw.load(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).isprintable()


def changed(name, cls, field, change):
    """A file in which a field of the first value of a class is changed: by a node, or by a function of its array."""
    header, content, arrays = opened(FILES[name])
    path = (*of_class(content, cls)[0], "fields", field)
    node = found(content, path)
    if callable(change):
        arrays["changed"] = change(arrays[node["array"]].copy())
        node, change = None, {**node, "array": "changed"}
    return closed(header, replaced(content, path, change), arrays)


def setting(index, value):
    def change(array):
        if array.dtype.kind in "iu":  # small whole numbers are kept in few bytes
            array = array.astype(np.result_type(array, np.min_scalar_type(value)))
        array[index] = value
        return array

    return change


class TestDamage:
    @pytest.mark.parametrize("name", FILES)
    def test_truncated_anywhere(self, tmp_path, name):
        data = FILES[name]
        for length in sorted({0, 1, 7, 8, 9, 100, len(data) // 2, len(data) - 8, len(data) - 1}):
            refused(tmp_path / "f", data[:length])

    @pytest.mark.parametrize("name", FILES)
    def test_too_long(self, tmp_path, name):
        refused(tmp_path / "f", FILES[name] + b"\0")

    @pytest.mark.parametrize(
        "data",
        [b"", b"\0" * 100, b"\xff" * 100, b"species,bill\n", json.dumps({}).encode(), b"\2\0\0\0\0\0\0\0{}"],
    )
    def test_other_files(self, tmp_path, data):
        refused(tmp_path / "f", data, "is not a classwise file, or is damaged")

    def test_what_is_no_file(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
            for use in (cw.load, cw.describe):
                with pytest.raises(cw.StoredFileError, match="not even a plain file"):
                    use(path)
        with pytest.raises(FileNotFoundError):
            cw.load(tmp_path / "nothing.cw")

    def test_a_terminal_is_not_told_what_to_do(self, tmp_path):
        header, content, arrays = opened(FILES["qda-2.cw"])
        refused(tmp_path / "f", closed(header, {**content, "class": "\x1b[31mred\n"}, arrays), "holds a ")
        facts = {**header["facts"], "sources": ["\x1b[31mred\n"], "library": "1\x1b[2J"}
        (tmp_path / "f").write_bytes(closed({**header, "facts": facts}, content, arrays))
        assert "\x1b" not in str(cw.describe(tmp_path / "f"))


class TestHostileValues:
    @pytest.mark.parametrize(
        ("name", "cls", "field", "change"),
        [
            # Numbers that no fit makes.
            ("qda-2.cw", "BayesClassifier", "priors", setting(0, np.nan)),
            ("qda-2.cw", "BayesClassifier", "priors", setting(0, -0.2)),
            ("qda-2.cw", "BayesClassifier", "priors", setting(0, 7.0)),
            ("qda-2.cw", "Gaussian", "means", setting((0, 0), np.inf)),
            ("qda-2.cw", "FullCovariance", "values", setting((0, 0, 0), -1.0)),
            ("qda-2.cw", "FullCovariance", "values", setting((0, 0, 1), 1e9)),
            ("qda-2.cw", "Poisson", "values", setting((0, 0), -1.0)),
            ("qda-2.cw", "Poisson", "values", setting((0, 0), 1e30)),
            ("qda-2.cw", "Binomial", "values", setting((0, 0), 1.5)),
            ("qda-2.cw", "Binomial", "trials", setting(0, 1e30)),
            ("qda-2.cw", "Levels", "probability", setting((0, 0), 2.0)),
            ("naive-bayes-2.cw", "IndependentStudent", "freedom", setting((0, 0), 0.0)),
            ("naive-bayes-2.cw", "Presence", "missing", setting((0, 0), -3.0)),
            ("statistics-2.cws", "ClassStatistics", "weight", setting(0, -1.0)),
            ("statistics-2.cws", "Moments", "weight", setting(0, -1.0)),
            ("statistics-2.cws", "LevelCounts", "weight", setting((0, 0), -1.0)),
            ("statistics-2.cws", "Gaps", "codes", setting(0, 99)),
            ("statistics-2.cws", "ClassStatistics", "rows", -4),
            ("statistics-2.cws", "FullScatter", "values", setting((0, 0, 0), -5.0)),
            ("statistics-2.cws", "FullScatter", "values", setting((0, 0, 1), 1e6)),
            ("statistics-2.cws", "FullScatter", "values", setting((0, 0, 0), 1e308)),
            ("statistics-2.cws", "Moments", "mean", setting((0, 0), 1e308)),
            ("logistic-2.cw", "LogisticDesign", "scale", setting(0, 0.0)),
            ("logistic-2.cw", "LogisticDesign", "source", setting(0, -1)),
            ("logistic-2.cw", "LogisticDesign", "source", setting(0, 99)),
            ("logistic-2.cw", "LogisticDesign", "level", setting(-1, 7)),
            ("logistic-2.cw", "LogisticDesign", "level", setting(0, 0)),
            ("logistic-2.cw", "Laplace", "mode", setting((0, 0), np.nan)),
            ("logistic-2.cw", "Laplace", "factor", setting((0, 0), 0.0)),
            ("logistic-2.cw", "Laplace", "factor", setting((0, 0), 1e-200)),
            ("logistic-2.cw", "PrecisionGroups", "codes", setting(0, 9)),
            ("logistic-2.cw", "LogisticModel", "shares", setting(0, np.nan)),
            # Shapes that do not fit together.
            ("qda-2.cw", "Gaussian", "means", lambda a: a[:2]),
            ("qda-2.cw", "Gaussian", "means", lambda a: a[:, :1]),
            ("qda-2.cw", "Gaussian", "means", lambda a: a[0]),
            ("qda-2.cw", "BayesClassifier", "priors", lambda a: np.full(2, 0.5)),
            ("qda-2.cw", "Model", "missing", lambda a: a[:1]),
            ("qda-2.cw", "Block", "columns", lambda a: a[::-1].copy()),
            ("qda-2.cw", "Block", "columns", lambda a: a + 1),
            ("qda-2.cw", "Levels", "within", lambda a: a[:1]),
            ("logistic-2.cw", "Laplace", "mode", lambda a: a[:1]),
            ("logistic-2.cw", "Laplace", "factor", lambda a: a[:9, :9]),
            ("logistic-2.cw", "LogisticDesign", "mean", lambda a: a[:1]),
            ("logistic-2.cw", "PrecisionGroups", "codes", lambda a: a[:1]),
            ("logistic-2.cw", "LogisticModel", "values", lambda a: np.repeat(a, 2)),
            ("rda-2.cw", "DialChoice", "by_fold", lambda a: a[:, :2]),
            ("rda-2.cw", "DialChoice", "by_fold", lambda a: a * np.inf),
            ("statistics-2.cws", "Moments", "mean", lambda a: a[:1]),
            ("statistics-2.cws", "FullScatter", "values", lambda a: a[:, :1]),
            ("statistics-2.cws", "LevelCounts", "weight", lambda a: a[:, :1]),
            # Other types.
            ("qda-2.cw", "Gaussian", "means", lambda a: a.astype(np.float32)),
            ("qda-2.cw", "Gaussian", "means", 3),
            ("qda-2.cw", "Gaussian", "covariance", None),
            ("qda-2.cw", "QDA", "_model", {"class": "Family", "fields": {"name": "gaussian"}}),
            ("qda-2.cw", "QDA", "_model", [1, 2]),
            ("qda-2.cw", "QDA", "statistics_", "many"),
            ("qda-2.cw", "QDA", "smoothing", {"tuple": [1, 2]}),
            ("qda-2.cw", "QDA", "smoothing", -1.0),
            ("qda-2.cw", "QDA", "share", "a lot"),
            ("qda-2.cw", "QDA", "random_state", "now"),
            ("qda-2.cw", "QDA", "n_features_in_", 10**9),
            ("qda-2.cw", "Family", "name", "weibull"),
            ("qda-2.cw", "Column", "type", "show_versions"),
            ("qda-2.cw", "Column", "type", "from_native"),
            ("qda-2.cw", "Schema", "backend", "os"),
            ("qda-2.cw", "Schema", "columns", {"tuple": []}),
            ("qda-2.cw", "Model", "levels", {"dict": []}),
            ("qda-2.cw", "Model", "levels", {"dict": [[{"tuple": []}, 1]]}),
            ("logistic-2.cw", "Softmax", "classes", 10**9),
            ("logistic-2.cw", "LogisticClassifier", "likelihood", {"class": "Logit", "fields": {}}),
            ("logistic-2.cw", "LogisticClassifier", "predictive", "guessed"),
            ("logistic-2.cw", "LogisticModel", "deviations", {"dict": []}),
            ("logistic-2.cw", "BayesianLogistic", "predictive", 3),
            ("logistic-2.cw", "BayesianLogistic", "draws", "many"),
            ("logistic-2.cw", "BayesianLogistic", "n_features_in_", 10**9),
            ("auto-2.cw", "Pool", "weights", setting(0, -0.5)),
            ("auto-2.cw", "Pool", "weights", setting(0, 9.0)),
            ("auto-2.cw", "Pool", "weights", lambda a: a[:2]),
            ("auto-2.cw", "Pool", "powers", setting(0, 0.0)),
            ("auto-2.cw", "Pool", "power", -1.0),
            ("auto-2.cw", "EncodedNumbers", "columns", setting(0, 99)),
            ("auto-2.cw", "EncodedNumbers", "columns", setting(0, -1)),
            ("auto-2.cw", "EncodedNumbers", "scale", setting(0, 0.0)),
            ("auto-2.cw", "EncodedNumbers", "powers", lambda a: a[:1]),
            ("auto-2.cw", "EncodedCategory", "column", 99),
            ("auto-2.cw", "EncodedCategory", "values", lambda a: a[::-1].copy()),
            ("auto-2.cw", "EncodedCategory", "values", lambda a: np.append(a, a[-1] + 1)),
            ("auto-2.cw", "EncodedRange", "values", lambda a: np.append(a, a[-1] + 1)),
            ("auto-2.cw", "Encoding", "width", 10**9),
            ("auto-2.cw", "Encoding", "width", 5),
            ("auto-2.cw", "Encoding", "is_plain", False),
            ("auto-2.cw", "Encoding", "categories", {"tuple": []}),
            ("auto-2.cw", "MemberSums", "weight", setting(0, -1.0)),
            ("auto-2.cw", "MemberSums", "weight", setting(0, 0.0)),
            ("auto-2.cw", "MemberSums", "weight", lambda a: a[:2]),
            ("auto-2.cw", "MemberSums", "moments", None),
            ("auto-2.cw", "MemberSums", "counts", {"tuple": []}),
            ("auto-2.cw", "OwnCovariances", "rows", 0.0),
            ("auto-2.cw", "OneDependenceRecipe", "backoff", -1.0),
            ("auto-2.cw", "Generative", "recipe", {"class": "OneDependenceRecipe", "fields": {"backoff": 1.0}}),
            ("auto-2.cw", "Linear", "weights", lambda a: a[:, :1]),
            ("auto-2.cw", "Linear", "weights", lambda a: a[:2]),
            ("auto-2.cw", "Linear", "center", lambda a: a[:1]),
            ("auto-2.cw", "FixedMember", "classifier", None),
            ("auto-2.cw", "AutoClassifier", "members_", {"dict": []}),
            ("auto-2.cw", "AutoClassifier", "members_", {"dict": [["a", 1]]}),
            ("auto-2.cw", "AutoClassifier", "_shift", setting(0, np.nan)),
            ("auto-2.cw", "AutoClassifier", "_shift", setting(slice(None), -np.inf)),
            ("auto-2.cw", "AutoClassifier", "_totals", setting(0, 0.0)),
            ("auto-2.cw", "AutoClassifier", "_totals", lambda a: a[:1]),
            ("auto-2.cw", "AutoClassifier", "_levels", {"dict": []}),
            ("auto-2.cw", "AutoClassifier", "n_features_in_", 10**9),
            ("auto-2.cw", "AutoClassifier", "rows_", "many"),
            ("auto-2.cw", "AutoReport", "lines", [1]),
            ("forest-2.cw", "Trees", "starts", setting(0, 1)),
            ("forest-2.cw", "Trees", "starts", setting(1, 10**6)),
            ("forest-2.cw", "Trees", "starts", lambda a: a[:1]),
            ("forest-2.cw", "Trees", "starts", lambda a: a.astype(np.float64)),
            ("forest-2.cw", "Trees", "column", setting(0, 4)),
            ("forest-2.cw", "Trees", "column", setting(0, -2)),
            ("forest-2.cw", "Trees", "column", lambda a: a[:-1]),
            ("forest-2.cw", "Trees", "column", lambda a: a[:, None]),
            ("forest-2.cw", "Trees", "cut", setting(0, 10**6)),
            ("forest-2.cw", "Trees", "cut", setting(0, -1)),
            ("forest-2.cw", "Trees", "column", setting(0, -1)),  # a tree that ends with its root, and goes on
            ("forest-2.cw", "Trees", "column", setting(-1, 0)),  # a tree that does not end
            ("forest-2.cw", "Trees", "cuts", {"tuple": [{"array": "weight"}]}),
            ("forest-2.cw", "Trees", "cuts", {"tuple": []}),
            ("forest-2.cw", "Trees", "means", setting(0, np.nan)),
            ("forest-2.cw", "Trees", "means", lambda a: a[:1]),
            ("forest-2.cw", "Trees", "levels", {"dict": []}),
            ("forest-2.cw", "LeafCounts", "weight", setting((0, 0), -1.0)),
            ("forest-2.cw", "LeafCounts", "weight", setting((0, 0), np.inf)),
            ("forest-2.cw", "LeafCounts", "weight", setting((0, 0), 99.0)),
            ("forest-2.cw", "LeafCounts", "weight", lambda a: a[:, :-1]),
            ("forest-2.cw", "LeafCounts", "weight", lambda a: a[:2]),
            ("forest-2.cw", "Calibration", "power", -1.0),
            ("forest-2.cw", "ForestClassifier", "belief_", "rumors"),
            ("forest-2.cw", "ForestClassifier", "trees", 0),
            ("forest-2.cw", "ForestClassifier", "cuts", "none"),
            ("forest-2.cw", "ForestClassifier", "n_features_in_", 10**9),
            ("stack-2.cw", "KernelFeatures", "landmarks", lambda a: a[:-1]),
            ("stack-2.cw", "KernelFeatures", "projection", lambda a: a[:, 0]),
            ("stack-2.cw", "KernelFeatures", "kernel_width", 0.0),
            ("stack-2.cw", "KernelLinear", "center", lambda a: a[:-1]),
            ("stack-2.cw", "Trees", "column", setting(0, -1)),
            ("stack-2.cw", "LeafCounts", "weight", lambda a: a[:, :-1]),
            ("stack-2.cw", "LeafCounts", "weight", setting((0, 0), -1.0)),
            ("decision-2.cw", "Decision", "model_", 5),
            ("decision-2.cw", "Decision", "costs", "high"),
            ("decision-2.cw", "Decision", "law", 4),
            ("decision-2.cw", "Decision", "reject_label", []),
            ("statistics-2.cws", "ClassStatistics", "labels", {"array": "weight"}),
        ],
    )
    def test_what_no_fit_can_have_made(self, tmp_path, name, cls, field, change):
        refused(tmp_path / "f", changed(name, cls, field, change), "damaged")

    @pytest.mark.parametrize(
        ("name", "place"),
        [
            ("aode-2.cw", ("statistics_",)),
            ("auto-2.cw", ("pool_",)),
            ("forest-2.cw", ("statistics_",)),
            ("logistic-2.cw", ("model_",)),
            ("naive-bayes-2.cw", ("statistics_",)),
            ("qda-2.cw", ("statistics_",)),
            ("rda-2.cw", ("statistics_",)),
            ("decision-2.cw", ("model_",)),
            ("decision-2.cw", ("model_", "fields", "statistics_")),
        ],
    )
    def test_a_model_that_lost_what_a_fit_learned(self, tmp_path, name, place):
        header, content, arrays = opened(FILES[name])
        *above, field = ("fields", *place)
        del found(content, above)[field]
        refused(tmp_path / "f", closed(header, content, arrays), "its .* is not fitted")

    @pytest.mark.parametrize("field", ["predict", "__class__", "__dict__", "classes_", "get_params", "_fitted"])
    def test_no_other_attribute_can_be_set(self, tmp_path, field):
        header, content, arrays = opened(FILES["qda-2.cw"])
        content["fields"][field] = "x"
        refused(tmp_path / "f", closed(header, content, arrays), "does not know")

    @pytest.mark.parametrize(
        "cls", ["os.system", "builtins.eval", "object", "Comparison", "Gaussian", "ClassStatistics"]
    )
    def test_no_other_class_is_built(self, tmp_path, cls):
        header, _, arrays = opened(FILES["qda-2.cw"])
        refused(tmp_path / "f", closed(header, {"class": cls, "fields": {}}, arrays))

    @pytest.mark.parametrize(
        "labels", [["b", "a", "c"], ["a", "a", "b"], ["a", 1, "b"], ["a", None, "c"], "abc", [["a"]]]
    )
    def test_labels_that_are_none(self, tmp_path, labels):
        header, content, arrays = opened(FILES["statistics-2.cws"])
        arrays["changed"] = np.frombuffer(json.dumps(labels).encode(), dtype=np.uint8)
        content["fields"]["labels"] = {"text": "changed", "dtype": "O"}
        refused(tmp_path / "f", closed(header, content, arrays), "damaged")

    def test_a_yes_that_is_neither(self, tmp_path):
        """A byte of 2 in an array of booleans counts as two to some of NumPy, and as one to the rest."""
        data = FILES["statistics-2.cws"]
        _, content, arrays = opened(data)
        name = found(content, (*of_class(content, "Gaps")[0], "fields", "present"))["array"]
        start = data.index(arrays[name].tobytes(), 8 + int.from_bytes(data[:8], "little"))
        refused(tmp_path / "f", data[:start] + b"\x02" + data[start + 1 :], "neither yes nor no")


METADATA = {"classwise": json.dumps({"kind": "model", "version": 2, "facts": {}})}
GOOD = json.loads(json.dumps(opened(FILES["statistics-2.cws"])[0]))


def bomb(content, **arrays):
    return closed(GOOD, content, arrays)


def text(values):
    return np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)


LONG_AND_MANY = ["a" * 1_000_000, *(f"b{i}" for i in range(50_000))]
BOMBS = {
    "a header longer than anything": lambda: b"\xff" * 8 + b"{}",
    "a header longer than the file": lambda: (10**8).to_bytes(8, "little") + b"{}",
    "an array larger than the file": lambda: by_hand(
        METADATA, {"content": {"dtype": "F64", "shape": [10**12], "data_offsets": [0, 8 * 10**12]}}
    ),
    "a shape that overflows": lambda: by_hand(
        METADATA, {"content": {"dtype": "F64", "shape": [2**62, 2**62], "data_offsets": [0, 0]}}
    ),
    "an empty array of endless shape": lambda: closed(GOOD, {}, {"x": np.empty((0, 10**15))}),
    "a million lists": lambda: bomb([[] for _ in range(1_000_000)]),
    "a million lists in the header": lambda: by_hand({"classwise": json.dumps([[] for _ in range(1_000_000)])}, {}),
    "lists in lists": lambda: closed(GOOD, "BOMB", {}).replace(b'"BOMB"', b"[[[]]]"),
    "very deep lists": lambda: by_hand({"classwise": "[" * 100_000}, {}),
    "deep values": lambda: bomb(json.loads('{"tuple": [' * 300 + "1" + "]}" * 300)),
    "a number of a million digits": lambda: by_hand({"classwise": "1" * 1_000_000}, {}),
    "one long label among many": lambda: bomb({"text": "t", "dtype": "U1000000"}, t=text(LONG_AND_MANY)),
    "labels said to be long": lambda: bomb({"text": "t", "dtype": f"U{10**9}"}, t=text(["a"])),
    "one text in many widths": lambda: bomb(
        [{"text": "t", "dtype": f"U{width}"} for width in range(1000, 3000)], t=text(["a" * 1000] * 100)
    ),
    "one array in many places": lambda: bomb([{"array": "x"}] * 100_000, x=np.zeros(100_000)),
}


# Loads each file in a process of its own, and tells how much the memory grew, and what was said.
MEASURE = """
import os, resource, sys
import classwise as cw

def grown(path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        cw.load(path)
    except cw.StoredFileError as problem:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, problem

cw.load(sys.argv[1])
for path in sys.argv[2:]:
    if not os.fork():
        print(*grown(path), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def exploded(tmp_path_factory):
    """What became of each bomb: its size, how much memory it took, and the error."""
    folder = tmp_path_factory.mktemp("bombs")
    paths = [folder / f"{i}.cw" for i in range(len(BOMBS))]
    for path, make in zip(paths, BOMBS.values(), strict=True):
        path.write_bytes(make())
    command = [sys.executable, "-c", MEASURE, str(FOLDER / "statistics-2.cws"), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    found = zip(BOMBS, paths, lines, strict=True)
    return {name: (path.stat().st_size, int(grown) * 1024, message) for name, path, (grown, message) in found}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="memory is measured in processes that are forked")
class TestBombs:
    @pytest.mark.parametrize("name", BOMBS)
    def test_memory_is_bounded(self, exploded, name):
        size, grown, message = exploded[name]
        assert "is not a classwise file, or is damaged" in message
        assert grown <= TIMES * size + ROOM, f"{grown} bytes for {size}"


# Fuzzing --------------------------------------------------------------------------------------------------------------


def use(value):
    """Ask a few things of what could be loaded all the same: an answer, or a clear error, and nothing else.

    That a model is not fitted is no such error: it should not have been loaded.
    """
    for question in of_statistics() if isinstance(value, cw.ClassStatistics) else of_models(value):
        with suppress(cw.ClasswiseError):
            question(value)


def of_statistics():
    yield from (repr, lambda s: s + s, lambda s: s - s, lambda s: s.mean)
    yield from (cw.NaiveBayes().fit_statistics, cw.QDA().fit_statistics)


def of_models(value):
    X = TABLE[[name for name in TABLE.columns if name in list(getattr(value, "feature_names_in_", TABLE.columns))]]
    yield from (repr, lambda m: m.predict(X), lambda m: m.predict_proba(X), lambda m: m.get_params())
    model = getattr(value, "model_", value) if isinstance(value, cw.Decision) else value
    questions = {
        "sample": lambda m: model.sample(5, random_state=0),
        "explain": lambda m: model.explain(X[:1]),
        "schema_": lambda m: str(model.schema_),
        "parameters_": lambda m: model.parameters_,
        "coefficients": lambda m: str(model.coefficients()),
        "predict_interval": lambda m: model.predict_interval(X),
        "boundary": lambda m: model.boundary("a", "b"),
        "log_evidence": lambda m: model.log_evidence(X),
        "with_priors": lambda m: model.with_priors("uniform").predict(X),
    }
    yield from (question for name, question in questions.items() if hasattr(type(model), name))


def check(data, path):
    """Loading these bytes gives a value that can be used, or one clear error, and takes no more memory than it may."""
    path.write_bytes(data)
    held, peak = memory()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with suppress(cw.StoredFileError):
            str(cw.describe(path))
        with suppress(cw.StoredFileError):
            value = cw.load(path)
            highest = memory()[1]
            assert highest == peak or highest - held <= TIMES * len(data) + ROOM, f"{highest - held} for {len(data)}"
            use(value)


def memory():
    """The memory held now, and the most that was ever held; in bytes."""
    statistics = Path("/proc/self/statm")
    held = int(statistics.read_text().split()[1]) * resource.getpagesize() if statistics.exists() else 0
    return held, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "fuzzed.cw"


positions = st.integers(0, 10**6)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 1, 2**31, 2**63, 10**30, 1e308, -1e308, 5e-324, 0.5]),
    st.sampled_from(["", "a", "gaussian", "bayes", "cv", "U3", "O", "Float64", "_model", "\x00", "é"]),
    st.text(max_size=5),
)
json_values = st.one_of(
    plain,
    st.lists(plain, max_size=3),
    st.builds(lambda items: {"tuple": items}, st.lists(plain, max_size=3)),
    st.builds(lambda pairs: {"dict": pairs}, st.lists(st.lists(plain, min_size=2, max_size=2), max_size=2)),
    st.builds(lambda name: {"array": name}, st.text(max_size=3)),
    st.builds(lambda word: {"float": word}, st.sampled_from(["nan", "inf", "-inf", "x"])),
)
numbers = st.sampled_from([0.0, -1.0, 1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 1e150, 0.5, 3.0])


@st.composite
def damaged_bytes(draw):
    """Some bytes overwritten, removed, added or repeated."""
    data = bytearray(FILES[draw(st.sampled_from(sorted(FILES)))])
    for _ in range(draw(st.integers(1, 4))):
        start = draw(positions) % len(data)
        if draw(st.booleans()):  # the header is where most can be done
            start %= 8 + int.from_bytes(data[:8], "little") if len(data) > 8 and data[4:8] == b"\0" * 4 else len(data)
            start = min(start, len(data) - 1)
        stop = start + draw(st.integers(0, 16))
        data[start:stop] = draw(st.one_of(st.binary(max_size=16), st.just(bytes(data[start:stop]) * 2)))
        data = data or bytearray(b"\0")
    return bytes(data)


@st.composite
def damaged_content(draw):
    """A value replaced by another in the JSON: of the content, or of the header."""
    name = draw(st.sampled_from(sorted(PARTS)))
    header, content, arrays = PARTS[name]
    for _ in range(draw(st.integers(1, 3))):
        in_header = draw(st.integers(0, 9)) == 0
        tree = header if in_header else content
        places = list(nodes(tree))
        place = places[draw(positions) % len(places)]
        other = found(tree, places[draw(positions) % len(places)])
        tree = replaced(tree, place, other if draw(st.booleans()) else draw(json_values))
        header, content = (tree, content) if in_header else (header, tree)
    return closed(header, content, arrays)


@st.composite
def damaged_arrays(draw):
    """Numbers, shapes and types of arrays that no fit has made."""
    header, content, arrays = PARTS[draw(st.sampled_from(sorted(PARTS)))]
    arrays = dict(arrays)
    for _ in range(draw(st.integers(1, 3))):
        names = sorted(arrays)
        name = names[draw(positions) % len(names)]
        change, position, number = draw(st.sampled_from(CHANGES)), draw(positions), draw(numbers)
        with np.errstate(all="ignore"):
            arrays[name] = change(arrays[name], position, number, arrays)
    return closed(header, content, arrays)


def put(array, position, number, arrays):
    """One number replaced."""
    changed = array.copy()
    if changed.size:
        number = number if changed.dtype.kind == "f" else int(np.clip(np.nan_to_num(number), -(2**31), 2**31))
        changed.ravel()[position % changed.size] = np.array(number).astype(changed.dtype)
    return changed


CHANGES = [
    put,
    put,
    put,
    lambda array, position, number, arrays: arrays[sorted(arrays)[position % len(arrays)]],
    lambda array, position, number, arrays: array.ravel(),
    lambda array, position, number, arrays: array[None],
    lambda array, position, number, arrays: array[:0],
    lambda array, position, number, arrays: array[:1],
    lambda array, position, number, arrays: np.concatenate([array, array]) if array.ndim else array,
    lambda array, position, number, arrays: array.T,
    lambda array, position, number, arrays: array * np.array(number).astype(array.dtype),
    lambda array, position, number, arrays: np.roll(array, position),
    lambda array, position, number, arrays: array.astype([np.float32, np.int64, bool, np.uint8][position % 4]),
]


@pytest.mark.slow
class TestFuzzing:
    @fuzzing
    @given(data=damaged_bytes())
    def test_damaged_bytes(self, path, data):
        check(data, path)

    @fuzzing
    @given(data=damaged_content())
    def test_damaged_content(self, path, data):
        check(data, path)

    @fuzzing
    @given(data=damaged_arrays())
    def test_damaged_arrays(self, path, data):
        check(data, path)
