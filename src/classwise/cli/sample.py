"""classwise sample: new rows, drawn from a model."""

from typing import Annotated

import typer

from classwise.cli import options as o
from classwise.cli.modeling import load_model, model_within
from classwise.errors import ClasswiseError
from classwise.rows.formats import Format
from classwise.rows.writing import write_rows


def sample(
    model: o.ModelFile,
    rows: Annotated[int, typer.Option("--rows", "-n", help="How many.", min=0)] = 100,
    seed: o.Seed = 0,
    target: Annotated[str, typer.Option("--target", "-t", help="What to call the column of labels.")] = "label",
    output: o.Output = "-",
    format: o.OutputFormat = None,
    force: o.Force = False,
) -> None:
    """Draw new rows and their labels from a model.

    Example: classwise sample lda.cw --rows 5 --seed 1 --target species
    """
    import narwhals as nw
    import pyarrow as pa

    fitted = model_within(load_model(model))
    if not hasattr(fitted, "sample"):
        raise ClasswiseError(f"A {type(fitted).__name__} models labels, not rows; there is nothing to draw rows from.")
    X, labels = fitted.sample(rows, random_state=seed)
    table = nw.from_native(X, pass_through=True)
    arrow = (
        table.to_arrow() if isinstance(table, nw.DataFrame) else pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})
    )
    arrow = arrow.append_column(target, pa.array(labels.tolist()))
    write_rows(arrow, output, format=None if format is None else Format(format), force=force)
