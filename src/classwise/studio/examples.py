"""Tables that come with classwise, for the page: the penguins, worked examples, and classes drawn at random."""

from typing import Any, NamedTuple

from classwise import datasets
from classwise.errors import ClasswiseError

ROWS = 400


class MenuEntry(NamedTuple):
    """about: a sentence for the menu; target: the column of the labels."""

    about: str
    target: str = "label"


EXAMPLES = {
    "penguins": MenuEntry("344 penguins of three species: numbers, text and missing values", "species"),
    "petals": MenuEntry("8 petal lengths of two kinds, small enough to work by hand"),
    "banana": MenuEntry("Two half moons, which no Gaussian fits"),
    "line": MenuEntry("Two Gaussians of one covariance: the boundary is a line"),
    "circle": MenuEntry("One Gaussian inside another: the boundary is a circle"),
    "parabola": MenuEntry("Two Gaussians, one taller: the boundary is a parabola"),
    "hyperbola": MenuEntry("Two crossed Gaussians: the boundary is a hyperbola"),
}


def example_table(name: str) -> Any:
    """The table, as one of pyarrow's, with its labels."""
    import pyarrow as pa

    if name not in EXAMPLES:
        raise ClasswiseError(f"There is no example {name!r}; there are {', '.join(EXAMPLES)}.")
    if name == "penguins":
        return datasets.load_penguins("pyarrow")
    if name == "petals":
        X, y = datasets.petals()
    elif name == "banana":
        X, y = datasets.banana(ROWS, random_state=0)
    else:
        X, y = datasets.gaussians(ROWS, covariances=name, random_state=0)
    names = ["x", "y"] if X.shape[1] == 2 else ["length"]
    return pa.table(dict(zip(names, X.T, strict=True)) | {"label": [f"class {label}" for label in y.tolist()]})


def pad_table(points: list[tuple[float, float, str]]) -> Any:
    """Points that were clicked in, as a table: x, y and the label."""
    import pyarrow as pa

    x, y, labels = ([point[i] for point in points] for i in range(3))
    return pa.table(
        {"x": pa.array(x, pa.float64()), "y": pa.array(y, pa.float64()), "label": pa.array(labels, pa.string())}
    )
