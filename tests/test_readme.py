"""What the README says: links lead somewhere, its example needs no pandas, and its claims about scikit-learn hold."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

import classwise as cw
from classwise import tabular

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\(\s*(?!https?:)([^)#\s]+)?(?:#([^)\s]+))?\)")
PAGES = sorted(ROOT.glob("*.md"))


def anchors(page):
    """Headings as links name them: small letters, words joined by hyphens."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = ROOT / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), (path, anchor)


def test_the_example_needs_no_pandas(monkeypatch):
    monkeypatch.setattr(tabular, "find_spec", lambda name: None if name in ("pandas", "polars") else name)
    X, y = cw.datasets.penguins()
    assert isinstance(X, pa.Table)
    assert cw.LDA().fit(X, y).predict(X[:1]).tolist() == ["Adelie"]


class TestTableOfLibraries:
    PEERS = (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB)

    @pytest.mark.parametrize("peer", PEERS)
    @pytest.mark.parametrize("cell", [np.nan, "red"])
    def test_text_and_gaps_are_left_to_the_user(self, peer, cell):
        X = np.array([[0.0], [1.0], [2.0], [cell]], dtype=object)
        with pytest.raises(ValueError, match=r"NaN|could not convert"):
            peer().fit(X, [0, 0, 1, 1])

    def test_only_naive_bayes_learns_in_parts(self):
        assert [hasattr(peer, "partial_fit") for peer in self.PEERS] == [False, False, True]
