"""Files as they should not be, in twenty-five kinds of four; each with what is to be said of it, or nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from classwise.rows.sinks import write_rows

N = 200
RNG = np.random.default_rng(3)
X1, X2 = RNG.normal(size=N).round(3), RNG.normal(size=N).round(3)
LABELS = np.array(["a", "b"], dtype=object)[RNG.integers(0, 2, N)]
GOOD = pa.table({"x1": X1, "x2": X2, "y": LABELS.tolist()})


@dataclass(frozen=True)
class Case:
    """files: what to read, made in a folder; words: of the error, about the last of them; rows: or the right answer."""

    kind: str
    number: int
    make: Callable[[Path], list[Path]]
    words: str = ""
    rows: Any = None
    weights: str | None = None


def written(name: str, content: Any) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        path = folder / name
        if isinstance(content, pa.Table):
            write_rows(content, str(path))
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return [path]

    return make


def after_a_good_one(name: str, content: Any) -> Callable[[Path], list[Path]]:
    """The bad file is the second of two."""

    def make(folder: Path) -> list[Path]:
        return [*written("a-good" + Path(name).suffix, GOOD)(folder), *written("b-" + name, content)(folder)]

    return make


def content_of(suffix: str) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows{suffix}"
        write_rows(GOOD, str(path))
        return path.read_bytes()


def lines(rows: Any = None, head: str = "x1,x2,y") -> list[str]:
    rows = zip(X1, X2, LABELS, strict=True) if rows is None else rows
    return [head, *(",".join(map(str, row)) for row in rows)]


def text(parts: list[str]) -> str:
    return "\n".join(parts) + "\n"


def with_line(place: int, line: str) -> str:
    parts = lines()
    parts[place] = line
    return text(parts)


def with_column(values: Any, head: str = "x1,x2,y") -> str:
    return text(lines(zip(values, X2, LABELS, strict=True), head))


SUFFIXES = [".csv", ".tsv", ".jsonl", ".parquet", ".arrow"]


def bad_cases() -> Iterator[Case]:
    for i, share in enumerate((0.1, 0.5, 0.9, 0.99)):
        for kind, suffix in (("cut parquet", ".parquet"), ("cut arrow", ".arrow"), ("cut gzip", ".csv.gz")):
            content = content_of(suffix)
            yield Case(kind, i, written(f"rows{suffix}", content[: int(share * len(content))]), "cannot be read")
        whole = content_of(".parquet")
        damaged = bytearray(whole)
        damaged[-8:-4] = (2**31 - 1 - i).to_bytes(4, "little")
        yield Case("damaged parquet", i, written("rows.parquet", bytes(damaged)), "cannot be read")
        place = (2, 50, 150, N)[i]
        yield Case(
            "not utf-8", i, written("rows.csv", with_line(place, "1,2,é").encode("latin1")), "not written in UTF-8"
        )
        yield Case(
            "too many values", i, written("rows.csv", with_line(place, "1,2,a,b")), f"line {place + 1} has 4 values"
        )
        yield Case("too few values", i, written("rows.csv", with_line(place, "1,2")), f"line {place + 1} has 2 values")
        yield Case("open quote", i, written("rows.csv", with_line(place, '1,2,"a')), "cannot be read|label")
        yield Case(
            "infinity",
            i,
            written("rows.csv", with_line(place, f"{('inf', '-inf', 'Infinity', '1e200')[i]},2,a")),
            "infinity in 'x1'|beyond 1e150",
        )
        broken = [f'{{"x1": {a}, "x2": {b}, "y": "{c}"}}' for a, b, c in zip(X1, X2, LABELS, strict=True)]
        broken[place - 1] = ('{"x1": 1, "x2"', "{{}", '{"x1": 1 "y": 2}', "nonsense")[i]
        yield Case("broken json", i, written("rows.jsonl", text(broken)), "cannot be read")
        other = ("z", "x3", "extra", "of it")[i]
        yield Case(
            "another column", i, after_a_good_one("rows.csv", text(lines(None, f"x1,{other},y"))), f"'{other}'|'x2'"
        )
        more = GOOD.append_column(other, pa.array(X1))
        yield Case("one more column", i, after_a_good_one("rows.parquet", more), f"has the column '{other}', which")
        fewer = GOOD.drop_columns(["x2"])
        suffix = (".parquet", ".arrow", ".csv", ".jsonl")[i]
        yield Case("a column less", i, after_a_good_one(f"rows{suffix}", fewer), "'x2'")
        as_text = GOOD.set_column(0, "x1", pa.array([f"v{k % 3}" for k in range(N)]))
        yield Case("text in the second file", i, after_a_good_one(f"rows{suffix}", as_text), "Column 'x1' is a")
        numbered = GOOD.set_column(2, "y", pa.array([k % 2 for k in range(N)]))
        yield Case("other labels", i, after_a_good_one(f"rows{suffix}", numbered), "Labels must be sortable")
        lists = pa.array([[k] for k in range(N)])
        yield Case(
            "lists",
            i,
            written(f"rows{(suffix, '.jsonl')[suffix == '.csv']}", GOOD.set_column(0, "x1", lists)),
            "'x1' holds (List|Array)",
        )
        yield Case(
            "header only", i, written(f"rows{('.csv', '.tsv', '.parquet', '.arrow')[i]}", GOOD.slice(0, 0)), "no rows"
        )
        yield Case(
            "nothing at all", i, written(f"rows{(*SUFFIXES[:2], *SUFFIXES[3:])[i]}", b""), "empty|cannot be read"
        )
        header = ("x1,x1,y", "x1,y,y", '"y",x2,y', "x2,x2,y")[i]
        yield Case("names twice", i, written("rows.csv", text(lines(None, header))), "twice")
        named = (("rows.csv", content_of(".parquet")), ("rows.parquet", content_of(".csv")))
        named += (("rows.arrow", content_of(".parquet")), ("rows.csv.gz", content_of(".csv")))
        yield Case("another format", i, written(*named[i]), "cannot be read|names|UTF-8|column")
        fractions = pa.array(np.where(np.arange(N) == place - 1, 0.5, 1.0 * (np.arange(N) % 2)))
        yield Case("fractions as labels", i, written(f"rows{suffix}", GOOD.set_column(2, "y", fractions)), "continuous")
        weighted = GOOD.append_column("w", pa.array(np.where(np.arange(N) == place - 1, -1.0, 1.0)))
        yield Case(
            "negative weight", i, written(f"rows{suffix}", weighted), "not negative; the column 'w'", weights="w"
        )
        unlabeled = GOOD.set_column(2, "y", pa.array([None] * N, pa.string()))
        yield Case(
            "no label",
            i,
            written(f"rows{(suffix, '.parquet')[suffix in ('.jsonl', '.csv')]}", unlabeled),
            "no rows to learn from",
        )
        noise = RNG.integers(0, 256, 5000).astype(np.uint8).tobytes()
        yield Case("noise", i, written(f"rows{('.csv', '.parquet', '.arrow', '.csv.gz')[i]}", noise), "rows")


def right_cases() -> Iterator[Case]:
    """Odd, and still readable: the answer must be that of the rows in memory."""
    for i in range(4):
        suffix = (".parquet", ".arrow", ".csv", ".jsonl")[i]
        empty = GOOD.set_column(0, "x1", pa.array([None] * N, pa.float64()))
        yield Case("no value in a column", i, written(f"rows{suffix}", empty), rows=empty)
        huge = pa.table({"x1": [float(10 ** (18 + i) + k) for k in range(N)], "x2": X2, "y": LABELS.tolist()})
        digits = with_column([10 ** (18 + i) + k for k in range(N)])
        yield Case("huge integers", i, written("rows.csv", digits), rows=huge)
        late = [*X1[:-1].tolist(), ("x", "?!", "one", "0x10")[i]]
        reps = 130  # beyond the rows that types are told by
        many = [str(value) for value in X1.tolist()] * reps
        many[-1] = late[-1]
        repeated = pa.table({"x1": many, "x2": np.tile(X2, reps), "y": LABELS.tolist() * reps})
        content = text(lines(zip(many, np.tile(X2, reps), LABELS.tolist() * reps, strict=True)))
        yield Case("text half-way", i, written("rows.csv", content), rows=repeated)
        whole = [k % 7 for k in range(N * reps)]
        whole[-1] = 2.5
        halves = pa.table({"x1": pa.array(whole, pa.float64()), "x2": np.tile(X2, reps), "y": LABELS.tolist() * reps})
        content = text(lines(zip(whole, np.tile(X2, reps), LABELS.tolist() * reps, strict=True)))
        yield Case("a fraction half-way", i, written("rows.csv", content), rows=halves)
        yield Case(
            "an empty file more", i, after_a_good_one(f"rows{(suffix, '.csv')[i == 3]}", GOOD.slice(0, 0)), rows=GOOD
        )
        mark = ("\ufeff", "\n", "", "")[i] + text(lines())
        mark = mark.replace("\n", "\r\n") if i == 2 else mark.rstrip("\n") if i == 3 else mark
        yield Case("marks and ends of lines", i, written("rows.csv", mark), rows=GOOD)


CASES = [*bad_cases(), *right_cases()]
