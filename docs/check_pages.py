"""Open every built page in a browser, wide and on a phone, and look for what a reader would stumble over.

    python docs/check_pages.py docs/_build/html [FOLDER FOR PICTURES]

Errors are messages on the console, requests to a network, TeX that is not typeset, and a page or a formula that is
wider than its screen (on a phone a formula may scroll). Without Chromium nothing is checked.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from browser import CHROMIUM, Browser

SCREENS = {"wide": {"width": 1400}, "phone": {"width": 390, "height": 800, "phone": True}}
PICTURED = ("index", "gaussians", "gallery", "howto", "reference/LDA", "story_hospitals")

# Dollars or backslashes in the text of the page, apart from code.
RAW = r"""(() => {
    const text = document.querySelector("article").cloneNode(true);
    text.querySelectorAll("pre, code, math, script").forEach(element => element.remove());
    return (text.innerText.match(/\$[^$\n]{1,80}\$|\\[a-z]{2,}/g) || []).slice(0, 3);
})()"""
WIDE = """[...document.querySelectorAll("div.math")].filter(formula => formula.scrollWidth > formula.clientWidth + 1)
    .map(formula => formula.innerText.slice(0, 60))"""


def faults(browser, screen):
    """What is wrong with the page that is open."""
    yield from (f"console: {complaint}" for complaint in browser.complaints)
    yield from (f"request: {url}" for url in browser.requests if not url.startswith(("file:", "data:")))
    yield from (f"TeX: {text}" for text in browser.ask(RAW))
    if browser.ask("document.documentElement.scrollWidth > window.innerWidth + 1"):
        yield "the page is wider than the screen"
    if screen == "wide":
        yield from (f"a formula is wider than the page: {text!r}" for text in browser.ask(WIDE))


def main(root, pictures=None):
    pages = [path for path in sorted(root.rglob("*.html")) if path.name not in ("genindex.html", "search.html")]
    found = []
    with Browser() as browser:
        for path in pages:
            name = path.relative_to(root).with_suffix("")
            for screen, size in SCREENS.items():
                browser.open(path, **size)
                if browser.ask("document.querySelector('article') !== null"):
                    found += [f"{name} ({screen}): {fault}" for fault in faults(browser, screen)]
                if pictures and str(name) in PICTURED:
                    browser.picture(pictures / f"{str(name).replace('/', '-')}.{screen}.png")
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(pages)} pages opened, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    if CHROMIUM is None:
        raise SystemExit(print("There is no Chromium: pages are not checked."))
    raise SystemExit(main(*map(Path, sys.argv[1:])))
