"""Write the penguins that come with classwise, as the PyPI package palmerpenguins has them.

    pip install palmerpenguins
    python scripts/make_penguins.py

The measurements were made by Dr. Kristen Gorman and the Palmer Station LTER. Horst, Hill and Gorman (2020) put them
together in the R package palmerpenguins, and gave them away under CC0.
"""

from importlib.resources import files
from pathlib import Path

PLACE = Path(__file__).parents[1] / "src" / "classwise" / "data" / "penguins.csv"


def main() -> None:
    text = (files("palmerpenguins") / "data" / "penguins.csv").read_text(encoding="utf-8")
    lines = [",".join("" if cell == "NA" else cell for cell in line.split(",")) for line in text.splitlines()]
    PLACE.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    print(f"{len(lines) - 1} penguins are in {PLACE}.")


if __name__ == "__main__":
    main()
