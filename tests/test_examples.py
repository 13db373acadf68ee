"""The scripts in examples/ run without a warning, and print what their pages say."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
WORDS = {
    "hospitals": "wards in the rows ['annex', 'north', 'south'], in the file ['north']",
    "in_database": "344 of 344 labels are those of Python.",
    "lecture_lda_qda": "from 1280 rows on, QDA wins.",
    "medical_test": "the same, or a specialist       0",
    "sensor_stream": "after a month: {'broken': 0.02, 'ok': 0.9, 'worn': 0.08}",
    "spam": "0 ham lost",
}


def test_every_script_is_here():
    assert [path.stem for path in EXAMPLES] == sorted(WORDS)


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_it_runs(path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert WORDS[path.stem] in capsys.readouterr().out
