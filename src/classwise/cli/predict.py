"""classwise predict and sample: add labels and posteriors to rows, and draw new rows from a model."""

from collections.abc import Sequence
from copy import copy
from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.files import find_label, load_model, model_within, refuse_absent
from classwise.cli.verbs import called, kept, note
from classwise.errors import ClasswiseError
from classwise.rows.files import read_rows
from classwise.rows.formats import Format
from classwise.rows.sinks import refuse_sink, write_rows
from classwise.rows.streams import Stream, open_stream


def predict(
    model: o.ModelFile,
    data: o.Data = "-",
    proba: Annotated[
        bool, typer.Option("--proba", "-p", help="Add a column with the probability of every class.")
    ] = False,
    sets: Annotated[
        float | None,
        typer.Option(
            help="Add a column with the prediction set of this coverage, such as 0.9, of a model fitted with --sets.",
            metavar="COVERAGE",
        ),
    ] = None,
    reject: Annotated[
        float | None,
        typer.Option(help="Leave a row undecided if the posterior of its label is below this.", min=0, max=1),
    ] = None,
    reject_cost: Annotated[
        float | None, typer.Option(help="The cost of leaving a row undecided, which is done if deciding costs more.")
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            help="A file with the cost of each error: true classes down the first column, decisions along the top."
        ),
    ] = None,
    priors: Annotated[
        str | None,
        typer.Option(help="Other class priors: uniform, or ill=0.1,well=0.9, or estimate, from these rows."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", "-k", help="Columns to copy to the output, separated by commas; by default all."),
    ] = None,
    drop: o.Drop = None,
    missing: o.ModelsMissing = None,
    output: o.Output = "-",
    format: o.OutputFormat = None,
    force: o.Force = False,
) -> None:
    """Add the predicted label and its probability to any number of rows.

    The added columns are label, posterior (the probability of that label), and with --proba one posterior_CLASS for
    each class. With --sets, the column set holds the classes that the row may belong to, separated by |. Undecided
    rows have the label "reject", or, if labels are numbers, a negative number that is no label. A
    Decision saved from Python uses its own costs, reject and novelty, unless --costs, --reject, --reject-cost or
    --priors replace them.

    Example: classwise predict model.cw new.csv --proba --reject 0.9 -o predicted.csv
    """
    import classwise as cw
    from classwise.estimators.scoring import missing_marks, text_columns

    fitted = load_model(model)
    known = model_within(fitted)
    if reject is not None and reject_cost is not None:
        raise typer.BadParameter("Give a least posterior or a cost, not both.", param_hint="--reject")
    if sets is not None:
        _refuse_no_sets(known, called(model), priors)
    refuse_sink(output, None if format is None else Format(format), force)
    refusing: Any = reject_cost if reject is None else {"posterior": reject}
    with kept(data) as path:
        stream = open_stream(path, missing=missing or missing_marks(known), text=text_columns(known))
        assert stream is not None
        keys = _carried(stream.names, known, o.names(key), o.names(drop), (proba, sets is not None), called(data))
        features = list(getattr(known, "feature_names_in_", keys))
        decision = _deciding_by(
            _with_priors(fitted, priors, stream, features), read_costs(costs, fitted.classes_), refusing
        )
        options: dict[str, Any] = {"proba": proba, "sets": sets, "overwrite": force, "format": format}
        cw.predict(decision, stream, output, keys=keys, columns=features, **options)


def _refuse_no_sets(model: Any, name: str, priors: str | None) -> None:
    """Raise an error if a model gives no prediction sets, or is used under other priors than those of its fit."""
    if not hasattr(model, "sets_"):
        raise ClasswiseError(f"{name} has no scores of training rows, which prediction sets need: fit it with --sets.")
    if priors is not None:
        raise ClasswiseError("--sets compares rows with scores under the priors of the fit; leave --priors out.")


def _carried(
    there: Sequence[str], model: Any, key: Sequence[str], drop: Sequence[str], adding: tuple[bool, bool], where: str
) -> list[str]:
    """The columns to copy to the output; adding: whether posteriors and sets are added."""
    from classwise.estimators.scoring import answer_columns

    refuse_absent([*key, *drop, *getattr(model, "feature_names_in_", ())], there, where)
    carried = [name for name in key or there if name not in drop]
    for name in answer_columns(model.classes_, *adding):
        if name in carried:
            raise ClasswiseError(f"The rows have a column {name!r} already; leave it out with --drop {name}.")
    return carried


# Priors and costs -----------------------------------------------------------------------------------------------------


def _with_priors(model: Any, priors: str | None, stream: Stream, features: list[str]) -> Any:
    """The model with other priors: "uniform", "empirical", "a=0.1,b=0.9", or "estimate", from these rows."""
    if priors is None:
        return model
    if priors == "estimate":
        shift = model_within(model).estimate_priors(_all_rows(stream, features))
        note(" ".join(str(shift).split()))
        return model.with_priors(shift)
    if "=" not in priors:
        return model.with_priors(priors)
    given = o.pairs([priors], "--priors")
    return model.with_priors({find_label(name, model.classes_): _number(value) for name, value in given.items()})


def _all_rows(stream: Stream, features: list[str]) -> Any:
    """All rows in memory, with these columns."""
    from classwise.engines import open_rows
    from classwise.engines.drawn_rows import Keeping

    rows = open_rows(stream, columns=features)
    kept = rows.gather(Keeping(rows.roles, float("inf")), "Reading")
    if kept is None:
        raise ClasswiseError("There are no rows to estimate priors from.")
    return kept.whole()


def _deciding_by(model: Any, costs: Any, reject: Any) -> Any:
    """A Decision with these costs and this reject rule; None keeps those of the model."""
    import classwise as cw

    given = {name: value for name, value in {"costs": costs, "reject": reject}.items() if value is not None}
    if not given:
        return model
    return (copy(model) if isinstance(model, cw.Decision) else cw.Decision(model)).set_params(**given)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ClasswiseError(f"A prior is a number, not {text!r}.") from None


def read_costs(path: str | None, labels: Any) -> dict[Any, dict[Any, float]] | None:
    """costs[true][decided], from a file: true classes in the first column, then a column for each decision."""
    if path is None:
        return None
    with kept(path) as file:
        table = read_rows(file)
    trues, *decisions = table.column_names
    costs: dict[Any, dict[Any, float]] = {}
    for row in table.to_pylist():
        true = find_label(str(row[trues]), labels)
        costs[true] = {find_label(name, labels): _cost(row[name], called(path)) for name in decisions}
    return costs


def _cost(value: Any, path: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise ClasswiseError(f"{path} must have a number for every true class and decision, not {value!r}.")


# New rows -------------------------------------------------------------------------------------------------------------


def sample(
    model: o.ModelFile,
    rows: Annotated[int, typer.Option("--rows", "-n", help="How many rows to draw.", min=0)] = 100,
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
