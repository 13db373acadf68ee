"""Models and statistics on the command line: made by name, loaded from files, saved to files."""

from typing import Any

from classwise.cli.options import read_value
from classwise.cli.verbs import say
from classwise.errors import ClasswiseError

MODELS = {
    "auto": "AutoClassifier",
    "lda": "LDA",
    "qda": "QDA",
    "rda": "RDA",
    "nearest-mean": "NearestMean",
    "naive-bayes": "NaiveBayes",
    "aode": "AODE",
    "mixture": "MixtureClassifier",
    "gaussian": "GaussianClassifier",
    "logistic": "BayesianLogistic",
}


def make_model(name: str, options: dict[str, str], families: dict[str, str]) -> Any:
    """An estimator that is not fitted yet."""
    import classwise as cw

    if name not in MODELS:
        raise ClasswiseError(f"--model {name!r} is not one of {', '.join(MODELS)}.")
    given = {key: read_value(text) for key, text in options.items()}
    if families:
        given["families"] = families
    cls = getattr(cw, MODELS[name])
    unknown = [key for key in given if key not in cls().get_params()]
    if unknown:
        known = ", ".join(cls().get_params())
        raise ClasswiseError(f"{MODELS[name]} has no option {unknown[0]!r}; it has {known}.")
    return cls(**given)


def load_model(path: str) -> Any:
    """A fitted model from a file; statistics are an error that says what to do with them."""
    import classwise as cw

    value = cw.load(path)
    if isinstance(value, cw.ClassStatistics):
        raise ClasswiseError(
            f"{path} holds statistics, not a model; classwise fit {path} -o model.cw makes one of them."
        )
    return value


def model_within(model: Any) -> Any:
    """The model itself: that of a Decision, or the one given."""
    from classwise.estimators import model_within as found

    return found(model)


def load_statistics(path: str) -> Any:
    """Statistics from a file; from a model's file, those it was made from."""
    import classwise as cw

    value = cw.load(path)
    if isinstance(value, cw.ClassStatistics):
        return value
    kept = getattr(model_within(value), "statistics_", None)
    if not isinstance(kept, cw.ClassStatistics):
        what = "a stack, whose members have statistics of their own kinds" if kept else "a model without its statistics"
        raise ClasswiseError(f"{path} holds {what}.")
    return kept


def refuse_output(path: str, force: bool) -> None:
    """Before any work: raise an error if the file exists, or if a terminal would be sent a model."""
    from classwise.rows.sinks import refuse_existing, refuse_terminal

    refuse_existing(path, force)
    refuse_terminal(path, "A file of classwise")


def keep(value: Any, path: str, **options: Any) -> None:
    """Save a model or statistics, and say where; "-" is standard output."""
    from classwise.rows.sinks import STANDARD, writing
    from classwise.storage import as_bytes, save

    if path == STANDARD:
        with writing(path) as file:
            file.write(as_bytes(value, **options))
    else:
        save(value, path, **options)
    say(f"{' '.join(repr(value).split())} is {'on standard output' if path == STANDARD else f'in {path}'}.")


def refuse_standard(path: str | None, option: str) -> None:
    """Raise an error if an option that needs a file names standard output."""
    if path == "-":
        raise ClasswiseError(f"{option} takes the name of a file, and - is standard output, where other things go.")


def find_label(text: str, labels: Any) -> Any:
    """The label with this text."""
    for label in labels.tolist():
        if str(label) == text:
            return label
    raise ClasswiseError(f"{text!r} is not a class; the classes are {', '.join(map(str, labels.tolist()))}.")
