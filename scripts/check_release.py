"""Build a wheel and an sdist, check their metadata, and try the wheel in clean environments.

    python scripts/check_release.py bare cli all

Each environment is new, and gets the wheel with the extras of that name. Then a script of its own runs in an empty
folder: `bare` fits arrays, `cli` runs what the README shows, and `all` imports what every extra is for.
"""

import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent

BARE = """
import classwise as cw
X, y = [[1.8], [2.1], [2.5], [5.8], [6.7], [7.0]], [0, 0, 0, 1, 1, 1]
assert cw.LDA().fit(X, y).predict([[3.0], [6.0]]).tolist() == [0, 1]
try:
    cw.datasets.penguins()
except cw.MissingExtraError as error:
    assert "pip install" in str(error)
else:
    raise SystemExit("a bare installation has a library of tables: the check is of no use")
"""
README = f"""
import doctest, pathlib
text = pathlib.Path({str(ROOT / "README.md")!r}).read_text(encoding="utf-8")
test = doctest.DocTestParser().get_doctest(text, {{}}, "README", "README.md", 0)
found = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
raise SystemExit(found.failed or not found.attempted)
"""
ALL = """
import importlib, classwise as cw
for name in "duckdb matplotlib onnx polyagamma python_calamine pyarrow safetensors sqlglot starlette typer".split():
    importlib.import_module(name)
for name in cw.__all__:
    getattr(cw, name)
"""
SCRIPTS = {"bare": BARE, "cli": README, "all": ALL}
# The three lines of the README for the shell, without the installation.
SHELL = (
    "classwise datasets penguins --output penguins.csv",
    "classwise compare penguins.csv --target species --drop year --html report.html",
)


def run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command[:4]))} ...\n{done.stdout}{done.stderr}")


def build(folder: Path) -> Path:
    """The wheel, built from the sdist, so that the sdist is known to be complete."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *folder.iterdir())
    return next(folder.glob("*.whl"))


def attempt(name: str, wheel: Path, folder: Path) -> None:
    """Install the wheel with extras in a new environment, and run its script there."""
    place = folder / name
    place.mkdir()
    venv.create(place / "venv", with_pip=True)
    binaries = place / "venv" / "bin"
    extras = "" if name == "bare" else f"[{name}]"
    run(binaries / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}{extras}")
    run(binaries / "python", "-I", "-c", SCRIPTS[name], cwd=place)
    for line in SHELL if name == "cli" else ():
        program, *arguments = line.split()
        run(binaries / program, *arguments, cwd=place)


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        wheel = build(Path(folder) / "dist")
        print(f"{wheel.name}: built and checked in {time.perf_counter() - start:.0f} s", flush=True)
        for name in names:
            start = time.perf_counter()
            attempt(name, wheel, Path(folder))
            print(f"{name}: installed and tried in {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["bare"])
