"""Screenshots of reports, to be looked at: wide, on a phone, in the dark, and as they are printed.

    python docs/screenshots.py FOLDER

The report is of the penguins, and, where CLASSWISE_DATA names a folder of tables, of adult and leaf_flavia. It needs
Chromium; pdftoppm (poppler-utils) makes pictures of the printed pages, where it is there.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
from palmerpenguins import load_penguins

import classwise as cw

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from browser import Browser

TABLES = {"adult": ("income", ["split", "fnlwgt"]), "leaf_flavia": ("species", [])}
WAYS = {"wide": {}, "phone": {"width": 390, "height": 800, "phone": True}, "dark": {"dark": True}}


def reports(folder):
    """Write the reports, and the page of an evaluation; their paths."""
    tables = {"penguins": (load_penguins(), "species")}
    data = Path(os.environ.get("CLASSWISE_DATA", folder))
    for name, (target, drop) in TABLES.items():
        if (data / f"{name}.csv.gz").exists():
            tables[name] = pd.read_csv(data / f"{name}.csv.gz").drop(columns=drop), target
    for name, (table, target) in tables.items():
        X, y = table.drop(columns=target), table[target].to_numpy()
        comparison = cw.compare(X, y)
        cw.write_report(comparison, X, y, folder / f"{name}.html", source=name, target=target, seed=0)
        evaluation = comparison.best.evaluate(X, y)
        cw.report.write_evaluation(evaluation, folder / f"{name}-evaluation.html", f"How good is it on {name}?")
        yield from (folder / f"{name}.html", folder / f"{name}-evaluation.html")


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        for path in reports(folder):
            for name, way in WAYS.items():
                browser.open(path, **way)
                browser.picture(path.with_suffix(f".{name}.png"))
                print(path.with_suffix(f".{name}.png"), *browser.complaints)
            browser.open(path)
            browser.print(path.with_suffix(".pdf"))
            if shutil.which("pdftoppm"):
                subprocess.run(
                    ["pdftoppm", "-r", "70", "-png", path.with_suffix(".pdf"), path.with_suffix("")], check=True
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
