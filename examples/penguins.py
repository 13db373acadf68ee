"""The penguins as a file, for the command line: `make demo` compares the family on it.

    python examples/penguins.py penguins.csv
    classwise compare penguins.csv --target species --drop year --html report.html

Data: palmerpenguins (Horst, Hill and Gorman 2020, CC0), from the PyPI package of that name.
"""

import sys
from pathlib import Path

from palmerpenguins import load_penguins


def main(path: str = "penguins.csv") -> None:
    penguins = load_penguins()
    penguins.to_csv(path, index=False)
    print(f"{len(penguins)} penguins are in {Path(path)}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
