"""Translate messages of the library for the command line: arguments become flags, and functions become commands.

The library writes share=1, overwrite=True or summarize(X, y); on the command line these are --set share=1, --force and
classwise summarize. The translation uses the flags of the running command, and the options of the models.
"""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from shlex import quote
from typing import Any

# Arguments whose flags are named differently.
OTHER_NAMES = {"overwrite": "force", "random_state": "seed", "sink": "output", "sample_weight": "weights"}

# An argument with its value in Python's syntax: not in a path, and not after a flag.
VALUE = r"""'[^']*'|"[^"]*"|\{[^{}]*\}|\[[^][]*\]|True\b|False\b|-?\d[\d.]*(?:e[-+]?\d+)?(?<!\.)"""
ARGUMENT = re.compile(rf"(?<![-\w./=])(?<!--set )([a-z]\w*)=({VALUE})")
CALL = re.compile(r"(?:\bcw\.)?\b([A-Za-z]\w*)\(((?:[^()]|\([^()]*\))*)\)")

# Functions that are commands.
VERBS = {"summarize": "summarize", "compare": "compare", "to_sql": "export sql", "to_onnx": "export onnx"}

# Other phrases that are replaced.
PHRASES = {
    re.compile(r", or give Query\([^()]*\)"): "",
    re.compile(r"gather (?:it|them)(?: with|:) summarize\(X, y, (?:pairs|quartics)=\w+\)"): "fit the rows themselves",
    re.compile(r"gather them with a fitted forest: m\.summarize\(X, y\)"): "fit the rows themselves",
    re.compile(r"Call fit_statistics of the forest that gathered them, or choose"): "Fit the rows, or choose",
    re.compile(r"\bcalibrate=None\b"): "--set calibrate=null",
    re.compile(r"gather it with summarize\(X, y, families='best'\)"): "summarize it with --families COLUMN=best",
    re.compile(r", a mapping from label to probability, or a seq[a-z ]*labels"): ", or the probability of every class",
    re.compile(r"\b(choose|or|give) None\b"): r"\1 null",
    re.compile(r"; time_limit=None scores all"): "",
    re.compile(r", or its parts, such as \([^()]*\)"): "",
    re.compile(r": see (?:schema_|families_|statistics_\.weight)(?=\W|$)"): "; classwise info MODEL shows them",
    re.compile(r"; see schema_(?=\W|$)"): "; classwise info MODEL shows which columns it reads",
    re.compile(r"(score (?:\w+ )?rows) (?:in Python|with predict)"): r"\1 with classwise predict",
    re.compile(r"(?:call |use )?(?:model\.)?set_params\(([^()]*)\)"): r"\1",
    re.compile(r",? (?:which )?needs no new fit"): "",
    re.compile(r"\bto_(sql|onnx)\b(?!\()"): r"classwise export \1",
    re.compile(r"^y (has|contains)\b"): r"The column of labels \1",
    re.compile(r"^X (has|contains)\b"): r"The table \1",
}


@dataclass(frozen=True)
class Wording:
    """The flags of one command. flags: by argument, the flag for True or a value, and the flag for False."""

    flags: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, params: Iterable[Any]) -> "Wording":
        """The wording of a command with these typer parameters."""
        flags = {p.name: (p.opts[0], *p.secondary_opts, "")[:2] for p in params if p.param_type_name == "option"}
        for name in ("missing", "families"):  # their flags take other values than the arguments
            flags.pop(name, None)
        return cls(flags | {name: flags[own] for name, own in OTHER_NAMES.items() if own in flags})

    def said(self, text: str) -> str:
        """A message of the library, translated for this command."""
        for pattern, phrase in PHRASES.items():
            text = pattern.sub(phrase, text)
        return ARGUMENT.sub(self._argument, CALL.sub(_call, text))

    def _argument(self, found: re.Match[str]) -> str:
        name, value = found[1], _read(found[2])
        if name == "families" and isinstance(value, dict):
            return f"--families {quote(_typed(value))}"
        if name in self.flags:
            on, off = self.flags[name]
            if isinstance(value, bool):
                return (on if value else off) or found[0]
            return f"{on} {quote(_typed(value))}"
        if name in _model_options():
            return f"{'' if 'option' in self.flags else 'fit '}{_set(name, value)}"
        return found[0]


# The wording of the running command; outside of commands there are no flags.
WORDING: ContextVar[Wording] = ContextVar("classwise.wording")
OUTSIDE = Wording({})


def in_shell(text: str) -> str:
    """A message of the library, translated for the running command.

    >>> in_shell("Share it (share=1), or use LDA(shrink='oas').")
    'Share it (fit --set share=1), or use classwise fit --model lda --set shrink=oas.'
    """
    return WORDING.get(OUTSIDE).said(text)


def _call(found: re.Match[str]) -> str:
    """A function as a command, an estimator as a model to fit; any other call stays as it is."""
    from classwise.cli.files import MODELS

    if found[1] in VERBS:
        return f"classwise {VERBS[found[1]]}"
    model = next((name for name, estimator in MODELS.items() if estimator == found[1]), None)
    if model is None:
        return found[0]
    options = [_set(name, _read(value)) for name, value in ARGUMENT.findall(found[2])]
    return " ".join([f"classwise fit --model {model}", *options])


def _set(name: str, value: Any) -> str:
    """An option of a model, as a flag of `fit`."""
    return f"--set {quote(f'{name}={value if isinstance(value, str) else json.dumps(value)}')}"


def _typed(value: Any) -> str:
    """The value of a flag as text: a mapping as NAME=VALUE, several values separated by commas."""
    if isinstance(value, dict):
        return ",".join(f"{name}={each}" for name, each in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@cache
def _model_options() -> frozenset[str]:
    """The options of all models, which --set of fit takes."""
    import classwise as cw
    from classwise.cli.files import MODELS

    return frozenset(name for model in MODELS.values() for name in getattr(cw, model)().get_params())
