"""What a newcomer sees: `classwise compare` in a terminal of 80 by 24, as tmux shows it, held against kept screens."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins

SCREENS = Path(__file__).parent / "screens"
COLUMNS, LINES = 80, 24

# The sentence ends here, and the table begins.
HEADER = re.compile(r"^model +accuracy +log loss +against the best$")

# Words of Python, which nobody types in a shell.
PYTHON = re.compile(r"\b(True|False|None)\b|\b[a-z_]+=['\"0-9a-zA-Z]|\b[a-z]+_\b|\.\w+\(")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not here; .ci/debian installs it"),
]


class Terminal:
    """A shell in tmux, of its own server: what it shows, and all that went by."""

    def __init__(self, folder):
        self.name, self.folder = f"classwise-{os.getpid()}-{time.monotonic_ns()}", folder

    def __enter__(self):
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        shell = "env -i PATH=/usr/bin:/bin HOME=/nonexistent TERM=screen LANG=C.UTF-8 PS1='$ ' bash --norc --noprofile"
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(self.folder), shell)
        self._tmux("set-option", "-g", "history-limit", "2000")
        return self

    def __exit__(self, *_):
        self._tmux("kill-server")

    def _tmux(self, *words):
        done = subprocess.run(["tmux", "-L", self.name, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, command, seconds=300):
        """What is on the screen when the command has ended, and everything since the session began, as lines."""
        self._tmux("send-keys", f"clear; {command}; tmux -L {self.name} wait-for -S done", "Enter")
        subprocess.run(["tmux", "-L", self.name, "wait-for", "done"], timeout=seconds, check=True)
        time.sleep(0.5)
        screen = self._tmux("capture-pane", "-p").splitlines()
        return screen, self._tmux("capture-pane", "-p", "-S", "-2000").splitlines()


@pytest.fixture
def terminal(tmp_path):
    program = tmp_path / "classwise"
    source = Path(__file__).parents[1] / "src"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={source} exec {sys.executable} -m classwise "$@"\n')
    program.chmod(0o755)
    with Terminal(tmp_path) as opened:
        opened._tmux("send-keys", f"export PATH={tmp_path}:$PATH", "Enter")
        yield opened


def checked(screen, everything):
    """The answer and all below it, with what holds of every screen: it is all there, whole, and in plain words."""
    assert len(screen) <= LINES
    assert max(map(len, everything)) <= COLUMNS
    assert "…" not in "".join(everything)
    (header,) = [i for i, line in enumerate(screen) if HEADER.match(line)]
    start = next(i for i in range(header - 2, -1, -1) if i == 0 or not screen[i - 1].strip())
    shown = [line.rstrip() for line in screen[start:]]
    sentence = " ".join(shown[: header - start - 1])
    assert re.match(r"\S.* is right on .* unseen rows? \(95 % interval .*\); .*\.$", sentence)
    assert not PYTHON.search("\n".join(shown)), PYTHON.search("\n".join(shown))
    below = shown[header - start + 1 :]
    table = below[: next(i for i, line in enumerate(below) if line.startswith("Best: "))]
    assert 3 <= len(table) <= 8
    assert table[0].endswith("  best")
    line_of_table = r" \d+\.\d %  +\d\.\d{3}  (best|as good|(worse|better) by (.* ± \S+|under 0\.001))$"
    assert all(re.search(line_of_table, line) for line in table)
    return shown


def normalized(lines):
    """Digits beyond the second that counts stand for themselves no more: machines differ in the last ones."""
    text = "\n".join(line.rstrip() for line in lines).rstrip()
    return re.sub(r"(?<=\d\.\d)\d+", lambda found: "#" * len(found[0]), text)


def penguins(folder):
    load_penguins().to_csv(folder / "penguins.csv", index=False)
    return "classwise compare penguins.csv --target species --drop year"


def toy(folder):
    rng = np.random.default_rng(0)
    kind = np.repeat(["left", "right"], 40)
    rows = rng.normal(size=(80, 2)) + 2.0 * (kind == "right")[:, None]
    pd.DataFrame(rows.round(2), columns=["x", "y"]).assign(side=kind).to_csv(folder / "toy.csv", index=False)
    return "classwise compare toy.csv --target side"


@pytest.mark.parametrize("make", [penguins, toy], ids=lambda make: make.__name__)
def test_the_screen_is_as_it_was_kept(terminal, tmp_path, make):
    command = make(tmp_path)
    as_kept(make.__name__, checked(*terminal.run(command)))


def as_kept(name, shown):
    """CLASSWISE_KEEP_SCREENS=1 keeps what is seen now: look at it before you commit it."""
    shown, kept = normalized(shown[:-1]), SCREENS / f"{name}.txt"
    if os.environ.get("CLASSWISE_KEEP_SCREENS"):
        kept.write_text(shown + "\n")
    assert shown == kept.read_text().rstrip("\n")


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("titanic", "--target survived --drop alive"),
        ("titanic, leak", "--target survived"),
        ("adult", "--target income"),
        ("leaf_flavia", "--target species"),
    ],
)
def test_real_tables(terminal, data, name, flags):
    file = f"{name.split(',')[0]}.csv.gz"
    shutil.copy(data / file, terminal.folder)
    shown = checked(*terminal.run(f"classwise compare {file} {flags}", 600))
    assert sum("always the most frequent class" in line for line in shown) == 1
    as_kept(name.replace(", ", "-"), shown)
