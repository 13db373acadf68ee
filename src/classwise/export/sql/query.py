"""A fitted model as a query: names, a draft of the scores, an answer made of them, and its text in a dialect."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from sqlglot import exp

from classwise.classifier.bayes import BayesClassifier, Calibration, FittedModel
from classwise.classifier.decision import Policy
from classwise.comparison.stack.stack_model import PooledClassifier
from classwise.diagnostics.advice import listed
from classwise.errors import ClasswiseError, UnansweredRowWarning
from classwise.estimators import Answers, Decision
from classwise.estimators.answers import refuse_wide
from classwise.estimators.decisions import read_policy
from classwise.export.novelty import DistanceRule, EvidenceRule, novelty_rule, seen_gaps
from classwise.export.sql.arithmetic import Expression, case
from classwise.export.sql.bayes_rule import decisions_of, labels_of, posteriors_of, scores_of
from classwise.export.sql.densities import add_density
from classwise.export.sql.dialects import Dialect, read_dialect
from classwise.export.sql.draft import Draft, Unanswered, check_text
from classwise.export.sql.logistic import add_logistic
from classwise.export.sql.novelty import novelty_of
from classwise.export.sql.stacks import add_stack
from classwise.export.sql.trees import add_forest
from classwise.forest.forest import Forest
from classwise.logistic import LogisticClassifier
from classwise.rows.codes import label_columns
from classwise.rows.schema import Schema

# Names of the table, of its columns, and of the result. All are quoted, so that any name is safe ----------------------

OUTPUTS = {"label": "", "posteriors": "posterior_", "scores": "score_"}


def read_table(table: Any) -> exp.Table:
    """A table by its name; dots separate catalog, schema and name, unless the parts come one by one.

    >>> read_table("main.people").sql(), read_table(["odd.name"]).sql()
    ('"main"."people"', '"odd.name"')
    """
    parts = table.split(".") if isinstance(table, str) else list(table) if isinstance(table, Sequence) else []
    if not (1 <= len(parts) <= 3 and all(isinstance(part, str) and part for part in parts)):
        raise ClasswiseError(
            f"table={table!r} is not a name; give one such as 'people' or 'main.people', or its parts, such as "
            "('main', 'odd.name')."
        )
    for part in parts:
        check_text(part, "a part of table")
    name, *outer = [exp.to_identifier(part, quoted=True) for part in reversed(parts)]
    return exp.Table(this=name, **dict(zip(("db", "catalog"), outer, strict=False)))


def feature_names(schema: Schema, features: Sequence[str] | None, dialect: Dialect) -> list[str]:
    """What the model's columns are called in the table: each another column of it."""
    refuse_wide(schema)
    if features is None and schema.names is None:
        raise ClasswiseError(
            f"The model was fitted on {len(schema)} columns without names: say what they are called in the table, such "
            "as features=['height', 'weight']."
        )
    names = _texts("features", schema.names if features is None else features)
    if len(names) != len(schema):
        raise ClasswiseError(f"features has {len(names)} names, and the model has {len(schema)} columns.")
    _refuse_same_names(names, dialect)
    return names


def _refuse_same_names(names: Sequence[str], dialect: Dialect) -> None:
    """Refuse columns of the model that are one to the engine: both would be read from it, and the answers be wrong."""
    known: dict[str, str] = {}
    for name in names:
        key = name.lower() if dialect.folds_case else name
        if key in known:
            raise ClasswiseError(
                f"The model has the columns {known[key]!r} and {name!r}, and {dialect.name} takes these names for one; "
                "call one of them otherwise, such as in a view of the table, and say so with features=[...]."
            )
        known[key] = name


def key_names(columns: Sequence[str], results: Sequence[str]) -> list[str]:
    """The columns to carry along: no name twice, and none that the result has."""
    names = _texts("columns", columns)
    known = {name.lower() for name in results}
    for name in names:
        if name.lower() in known:
            raise ClasswiseError(
                f"columns names {name!r}, and the result has a column of that name already; rename it in a view, or "
                "leave it out."
            )
        known.add(name.lower())
    return names


def result_names(output: Any, labels: Sequence[Any], dialect: Dialect) -> list[str]:
    """The columns of the result after those that are carried."""
    if not isinstance(output, str) or output not in OUTPUTS:
        raise ClasswiseError(f"output={output!r} is not an option; choose {', '.join(map(repr, OUTPUTS))}.")
    if output == "label":
        return ["label"]
    names = label_columns(OUTPUTS[output], labels)
    for name in names:
        check_text(name, "a column of the result")
        size, most = len(name.encode()), dialect.longest_name
        if most is not None and size > most:
            raise ClasswiseError(
                f"The column {name!r} of the result has {size} bytes, and {dialect.name} cuts names after {most}; fit "
                "with shorter labels, or ask for output='label'."
            )
    return names


def _texts(option: str, names: Any) -> list[str]:
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise ClasswiseError(f"{option}={names!r} must be a list of column names.")
    for name in names:
        check_text(name, f"among {option}")
    return list(names)


# PostgreSQL compiles queries that it takes for costly; that of a long one takes far longer than to run it.
LONG = 200_000
COMPILED = "SET jit = off before this query: to compile it would take minutes."

# The query ------------------------------------------------------------------------------------------------------------


def write_query(
    model: Any, table: Any, dialect: str, columns: Sequence[str], output: str, features: Sequence[str] | None
) -> str:
    """The text of the query; arguments as in to_sql."""
    kind = read_dialect(dialect)
    question = Question.read(model)
    estimator = question.estimator
    names = result_names(output, estimator.classes_.tolist(), kind)
    keys = key_names(columns, names)
    model = estimator._fitted_model
    rules = {j: column.conversion for j, column in enumerate(model.schema) if column.conversion is not None}
    draft = Draft(kind, feature_names(model.schema, features, kind), model.levels, len(estimator.classes_), rules)
    draft.strict, draft.seen = estimator._strict, seen_gaps(estimator)
    carried = [exp.alias_(exp.column(draft.key(i, key)), key, quoted=True) for i, key in enumerate(keys)]
    question.add_scores(draft, output)
    answers = question.answers(draft, output, kind)
    result = [exp.alias_(answer, name, quoted=True) for answer, name in zip(answers, names, strict=True)]
    if draft.unanswered:
        key_names(columns, [*names, UNANSWERED])
        result.append(exp.alias_(_why_unanswered(draft), UNANSWERED, quoted=True))
    text = draft.steps.query(read_table(table), [*carried, *result]).sql(dialect=kind.name, pretty=True, copy=False)
    notes = [_warn_of_gaps(draft)] if draft.unanswered else []
    notes += [COMPILED] if kind.name == "postgres" and len(text) > LONG else []
    return "".join(f"/* {note} */\n" for note in notes) + text


def _warn_of_gaps(draft: Draft) -> str:
    """Say which rows have no answer here, where they have one in Python; the same as a comment in a query."""
    fact = " ".join(_described(gaps, draft) for gaps in draft.unanswered)
    because = " ".join(dict.fromkeys(f"{gaps.because}." for gaps in draft.unanswered))
    warnings.warn(
        f"{fact} {because} The column {UNANSWERED!r} marks such rows: score them with predict. Where there are none, "
        "set_params(missing='error') says so.",
        UnansweredRowWarning,
        stacklevel=4,
    )
    return fact.replace("*/", "* /").replace("/*", "/ *")  # whatever columns are called, the comment ends at its end


def _described(gaps: Unanswered, draft: Draft) -> str:
    names = listed(repr(draft.names[j]) for j in gaps.columns)
    if not gaps.most:
        return f"A row with a missing value in one of {names} is answered with NULL."
    values = "value" if gaps.most == 1 else "values"
    fact = f"A row with more than {gaps.most} missing {values} among {names}, but not all, is answered with NULL"
    count = len(gaps.seen)
    known = "most frequent combination" if count == 1 else f"{count} most frequent combinations"
    return f"{fact}, unless rows of the fit lacked the same ones (the {known})." if count else f"{fact}."


# The column that says why there is no answer, where too many values are missing.
UNANSWERED, TOO_MANY = "unanswered", "too many missing values"


def _why_unanswered(draft: Draft) -> Expression:
    is_so = exp.or_(*(gaps.is_so for gaps in draft.unanswered), copy=False, wrap=False)
    return case((is_so, exp.Literal.string(TOO_MANY)))


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked: an estimator, the policy to decide by, where it is not the most probable label, and which rows are
    novel.
    """

    estimator: Answers
    policy: Policy | None = None
    reject_label: Any = None
    novelty: EvidenceRule | DistanceRule | None = None
    novel_label: Any = None

    @classmethod
    def read(cls, model: Any) -> "Question":
        """From an estimator, or a Decision about one."""
        if isinstance(model, Decision):
            return cls._read_decision(model)
        if not isinstance(model, Answers):
            raise ClasswiseError(
                f"{type(model).__name__} cannot be written as SQL: to_sql takes a fitted Gaussian, naive Bayes, "
                "logistic or forest classifier, an AutoClassifier, or a Decision about one of these; score the rows "
                "with predict."
            )
        return cls(model._fitted())

    @classmethod
    def _read_decision(cls, decision: Decision) -> "Question":
        labels = decision.classes_
        asked = cls.read(getattr(decision, "model_", decision.model)).estimator
        policy, rule = read_policy(decision.costs, decision.reject, labels), novelty_rule(decision)
        return cls(asked, policy, decision.reject_label_, rule, decision.novel_label_)

    def add_scores(self, draft: Draft, output: str) -> None:
        """Scores of which softmax is P(k | x), as terms of a draft."""
        only_label = output == "label" and self.policy is None
        draft.whole = output == "label" and isinstance(self.novelty, EvidenceRule)
        add_classifier(self.estimator._classifier, self.estimator._fitted_model, draft, only_label)
        if self.estimator._strict:
            draft.refusals += draft.missing

    @property
    def _calibration(self) -> Calibration | None:
        return getattr(self.estimator._classifier, "calibration", None)

    def answers(self, draft: Draft, output: str, dialect: Dialect) -> list[Expression]:
        """The columns of the result."""
        calibration = self._calibration
        if output == "posteriors":
            return posteriors_of(draft, calibration)
        if output == "scores":
            return scores_of(draft, calibration)
        if self.policy is None:
            self._refuse_chance()
            return [labels_of(draft, calibration, self._labels(dialect))]
        *labels, refused, new = self._labels(dialect)
        novel = None if self.novelty is None else (novelty_of(self.novelty, draft), new)
        return [decisions_of(draft, calibration, self.policy, labels, refused, novel)]

    def _labels(self, dialect: Dialect) -> list[Expression]:
        """The labels as SQL, and those of rows better not decided, and of novel ones; all of one type."""
        labels = self.estimator.classes_.tolist()
        kinds = {type(label) for label in labels}
        if not (len(kinds) == 1 and kinds <= {str, int, float, bool}):
            names = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise ClasswiseError(f"Labels of type {names} have no type in SQL; fit with text or whole numbers.")
        if self.policy is not None:
            labels += [self._refused_label(labels[0]), self._novel_label(labels[0])]
        for label in labels:
            if isinstance(label, str):
                check_text(label, "a label")
        return [dialect.literal(label) for label in labels]

    def _refused_label(self, label: Any) -> Any:
        """The label of rows better not decided; any other, where all rows are decided."""
        policy = self.policy
        assert policy is not None
        if policy.refusing == float("inf") and policy.least_posterior == 0:
            return label
        return self._extra_label("reject_label", self.reject_label, label, -1)

    def _novel_label(self, label: Any) -> Any:
        return label if self.novelty is None else self._extra_label("novel_label", self.novel_label, label, -2)

    def _extra_label(self, name: str, given: Any, label: Any, example: int) -> Any:
        """A label that is none of the classes, and of their type."""
        if given in self.estimator.classes_.tolist():
            raise ClasswiseError(f"{name}={given!r} is one of the classes; give another.")
        if type(given) is type(label):
            return given
        other = name.removesuffix("_label") if isinstance(label, str) else type(label)(example)
        remedy = f"give a {name} of the same type, such as {other!r}"
        raise ClasswiseError(
            f"A column of SQL has one type, and {name}={given!r} is not of that of the labels, such as {label!r}; "
            f"{'fit with labels of text' if isinstance(label, bool) else remedy}."
        )

    def _refuse_chance(self) -> None:
        if getattr(self.estimator, "ties", "first") == "random":
            raise ClasswiseError(
                "ties='random' draws lots, and SQL would draw others; set_params(ties='first') needs no new fit."
            )


@singledispatch
def add_classifier(classifier: Any, model: FittedModel, draft: Draft, only_label: bool) -> None:
    """Add scores of which softmax is P(k | x). A classifier of a new kind is added here, and nowhere else.

    only_label: posteriors are not asked for.
    """
    raise ClasswiseError(f"A {type(classifier).__name__} cannot be written as SQL; score the rows with predict.")


@add_classifier.register
def _(classifier: BayesClassifier, model: FittedModel, draft: Draft, only_label: bool) -> None:
    """log prior + log density."""
    draft.add_constants(classifier.log_prior[:, 0])
    add_density(classifier.density, range(len(draft.names)), draft)


add_classifier.register(LogisticClassifier)(add_logistic)
add_classifier.register(PooledClassifier)(add_stack)
add_classifier.register(Forest)(add_forest)
