"""Learning curves: what a model is worth, against the number of rows it has learned from.

A generative model, such as LDA, assumes more than a discriminative one, such as softmax regression. So it needs fewer
rows to come near its best; the other one's best is no worse, and better where the assumptions are wrong (Ng and Jordan
2002). Which of the two is ahead depends on the number of rows.
"""

from classwise.learning.curve import LearningCurve
from classwise.learning.trying import learning_curve

__all__ = ["LearningCurve", "learning_curve"]
