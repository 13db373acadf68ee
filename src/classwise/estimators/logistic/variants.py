"""The same posterior of the weights put to another use: new estimators, and nothing is fitted again."""

from copy import copy
from dataclasses import replace
from typing import Literal, Self

from classwise.classifier.bayes import Priors, class_priors
from classwise.errors import ClasswiseError, choose
from classwise.estimators.logistic.weights import LogisticWeights
from classwise.logistic import PREDICTIVES, Near


class LogisticVariants(LogisticWeights):
    """Other averages, other priors, and a place to start from for other rows."""

    link: str

    def near(self) -> Near:
        """Where to look first for the weights of almost the same rows."""
        return Near(self.classifier_.beliefs.mean, self.model_.values)

    def predicting(self, predictive: Literal["integrated", "plugin", "moderated"]) -> Self:
        """The same posterior of the weights, averaged over in another way: a new estimator, nothing is fitted again."""
        choose("predictive", predictive, PREDICTIVES)
        other = copy(self)
        other.predictive = predictive
        other.model_ = replace(self.model_, classifier=self.classifier_.predicting(predictive))
        return other

    def with_priors(self, priors: Priors) -> Self:
        """The same model where classes are mixed in other shares than those learned from: a new estimator.

        P(k | x) is multiplied by the ratio of the new prior to the share of the class in the rows learned from, and
        divided by the sum; nothing is fitted again. priors: as in the other estimators, none of them zero.
        """
        if self.link == "probit":
            raise ClasswiseError(
                "Other priors shift log odds, and link='probit' has none that are linear; use 'logit'."
            )
        given = class_priors(priors, self.classes_, self.model_.shares)
        if not given.all():
            never = self.classes_[given == 0].tolist()[0]
            raise ClasswiseError(f"The prior of {never!r} is 0; leave its rows out and fit again.")
        other = copy(self)
        classifier = replace(self.model_.classifier, shift=()).with_priors(self.model_.shares, given)
        other.model_ = replace(self.model_, classifier=classifier)
        return other
