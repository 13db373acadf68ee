"""A fitted model as a query: a draft of the scores, an answer made of them, and the tree written in a dialect."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from sqlglot import exp

from classwise.classifier.bayes import BayesClassifier, Calibration
from classwise.classifier.decision import Policy
from classwise.classifier.protocol import FittedModel
from classwise.comparison.stack.answers import PooledClassifier
from classwise.diagnostics.advice import listed
from classwise.errors import ClasswiseError, UnansweredRowWarning
from classwise.estimators import Answers, Decision
from classwise.estimators.deciding import read_policy
from classwise.export.sql.answers import decisions_of, labels_of, posteriors_of, scores_of
from classwise.export.sql.arithmetic import Expression
from classwise.export.sql.densities import add_density
from classwise.export.sql.dialects import Dialect, read_dialect
from classwise.export.sql.draft import Draft, check_text
from classwise.export.sql.logistic import add_logistic
from classwise.export.sql.naming import feature_names, key_names, read_table, result_names
from classwise.export.sql.stacks import add_stack
from classwise.logistic import LogisticClassifier


def write_query(
    model: Any, table: Any, dialect: str, columns: Sequence[str], output: str, features: Sequence[str] | None
) -> str:
    """The text of the query; arguments as in to_sql."""
    kind = read_dialect(dialect)
    question = Question.read(model)
    estimator = question.estimator
    names = result_names(output, estimator.classes_.tolist(), kind)
    keys = key_names(columns, names)
    model = estimator._model_seen
    draft = Draft(kind, feature_names(model.schema, features, kind), model.levels, len(estimator.classes_))
    carried = [exp.alias_(exp.column(draft.key(i, key)), key, quoted=True) for i, key in enumerate(keys)]
    question.add_scores(draft, output)
    answers = question.answers(draft, output, kind)
    result = [exp.alias_(answer, name, quoted=True) for answer, name in zip(answers, names, strict=True)]
    text = draft.steps.query(read_table(table), [*carried, *result]).sql(dialect=kind.name, pretty=True)
    if draft.joint and not estimator._strict:
        return f"/* {_warn_of_gaps(draft)} */\n{text}"
    return text


def _warn_of_gaps(draft: Draft) -> str:
    """Say that rows with gaps have no answer here, where they have one in Python; the same as a comment in a query."""
    names = listed(repr(draft.names[j]) for j in draft.joint)
    fact = f"A row with a gap in one of {names} is answered with NULL."
    warnings.warn(
        f"{fact} These columns are described jointly, and SQL does not integrate gaps out of them as predict does: "
        "score such rows with predict; where there are none, set_params(missing='error') says so.",
        UnansweredRowWarning,
        stacklevel=4,
    )
    return fact.replace("*/", "* /").replace("/*", "/ *")  # whatever columns are called, the comment ends at its end


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked: an estimator, and the policy to decide by, where it is not the most probable label."""

    estimator: Answers
    policy: Policy | None = None
    reject_label: Any = None

    @classmethod
    def read(cls, model: Any) -> "Question":
        """From an estimator, or a Decision about one."""
        if isinstance(model, Decision):
            return cls._read_decision(model)
        if not isinstance(model, Answers):
            raise ClasswiseError(
                f"{type(model).__name__} cannot be written as SQL: to_sql takes a fitted Gaussian, naive Bayes "
                "or logistic classifier, an AutoClassifier, or a Decision about one of these; score the rows with "
                "predict."
            )
        return cls(model._fitted())

    @classmethod
    def _read_decision(cls, decision: Decision) -> "Question":
        if decision.novelty is not None:
            raise ClasswiseError(
                "novelty takes densities that SQL has no functions for; write the Decision with novelty=None, and look "
                "for novel rows in Python."
            )
        labels = decision.classes_
        asked = cls.read(getattr(decision, "model_", decision.model)).estimator
        return cls(asked, read_policy(decision.costs, decision.reject, labels), decision.reject_label_)

    def add_scores(self, draft: Draft, output: str) -> None:
        """Scores of which softmax is P(k | x), as terms of a draft."""
        only_label = output == "label" and self.policy is None
        add_classifier(self.estimator._classifier, self.estimator._model_seen, draft, only_label)
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
        *labels, refused = self._labels(dialect)
        return [decisions_of(draft, calibration, self.policy, labels, refused)]

    def _labels(self, dialect: Dialect) -> list[Expression]:
        """The labels as SQL, and that of rows better not decided, where there is one; all of one type."""
        labels = self.estimator.classes_.tolist()
        kinds = {type(label) for label in labels}
        if not (len(kinds) == 1 and kinds <= {str, int, float, bool}):
            names = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise ClasswiseError(f"Labels of type {names} have no type in SQL; fit with text or whole numbers.")
        if self.policy is not None:
            labels.append(self._refused_label(labels[0]))
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
        if self.reject_label in self.estimator.classes_.tolist():
            raise ClasswiseError(f"reject_label={self.reject_label!r} is one of the classes; give another.")
        if type(self.reject_label) is not type(label):
            raise ClasswiseError(
                f"A column of SQL has one type, and reject_label={self.reject_label!r} is not of that of the labels, "
                f"such as {label!r}; give a reject_label of the same type, such as {_example(label)!r}."
            )
        return self.reject_label

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


def _example(label: Any) -> Any:
    return "reject" if isinstance(label, str) else type(label)(-1)
