"""Files that are damaged, odd or unlike each other: a line that names file and cause, or the right answer."""

import warnings

import numpy as np
import pytest

import classwise as cw
from bad_files import CASES, GOOD
from classwise.rows.sinks import write_rows

BAD = [case for case in CASES if case.rows is None]
RIGHT = [case for case in CASES if case.rows is not None]


def name_of(case):
    return f"{case.kind} {case.number}"


def test_there_are_a_hundred_of_twenty_kinds():
    assert len(CASES) >= 100
    assert len({case.kind for case in CASES}) >= 20


@pytest.mark.parametrize("case", BAD, ids=name_of)
def test_bad(tmp_path, case):
    *_, path = paths = case.make(tmp_path)
    with pytest.raises(cw.ClasswiseError, match=case.words) as problem:
        cw.summarize(paths, target="y", weights=case.weights)
    assert "\n" not in str(problem.value)
    assert path.name in str(problem.value)


@pytest.mark.parametrize("case", RIGHT, ids=name_of)
def test_right(tmp_path, case):
    found = cw.summarize(case.make(tmp_path), target="y")
    expected = cw.summarize(case.rows.select(["x1", "x2"]), case.rows["y"].to_pylist())
    assert found.labels.tolist() == expected.labels.tolist()
    assert [str(column.family) for column in found.schema] == [str(column.family) for column in expected.schema]
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.missing_weight(), expected.missing_weight())
    for ours, theirs in zip(found.levels.columns, expected.levels.columns, strict=True) if found.schema.levels else ():
        assert ours.levels.tolist() == theirs.levels.tolist()


@pytest.mark.parametrize("case", BAD, ids=name_of)
def test_skipped(tmp_path, case):
    """Bad files among good ones are left out whole, and counted."""
    *others, bad = case.make(tmp_path)
    good = [tmp_path / "good-1.parquet", tmp_path / "good-2.parquet"]
    rows = GOOD if case.weights is None else GOOD.append_column("w", [[1.0] * GOOD.num_rows])
    for path in good:
        write_rows(rows, str(path))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        # What is bad only beside others cannot come first: the first file that can be read tells the columns.
        paths = [good[0], bad, good[1]] if case.number % 2 or others else [bad, *good]
        found = cw.summarize(paths, target="y", on_error="skip", weights=case.weights)
    assert found.rows == 2 * GOOD.num_rows
    if case.kind not in ("header only", "no label"):  # these can be read, and add nothing
        message = str(next(one.message for one in told if one.category is cw.SkippedFileWarning))
        assert message.startswith("1 of 3 files could not be read and were left out: ")
        assert bad.name in message
