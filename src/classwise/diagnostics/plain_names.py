"""The names of models that people read."""

BASELINE = "class shares"

PLAIN = {
    "LDA, OAS": "LDA with OAS shrinkage",
    "LDA, OAS, standardized": "LDA with OAS shrinkage, standardized",
    "LDA, Ledoit-Wolf": "LDA with Ledoit-Wolf shrinkage",
    "LDA, Student-t": "LDA with Student-t classes",
    "diagonal LDA, Student-t": "diagonal LDA with Student-t classes",
    "QDA, OAS": "QDA with OAS shrinkage",
    "QDA, OAS, standardized": "QDA with OAS shrinkage, standardized",
    "QDA, Student-t": "QDA with Student-t classes",
    "QDA, Student-t, evidence": "QDA, Student-t, evidence prior",
    "QDA, Student-t, loo": "QDA, Student-t, leave-one-out prior",
    "naive Bayes, best families": "naive Bayes with chosen families",
    "naive Bayes, Student-t": "naive Bayes with Student-t classes",
    "naive Bayes, Student-t, loo": "naive Bayes, leave-one-out prior",
    "logistic": "logistic regression",
    "logistic, averaged": "logistic regression, averaged",
    "stack": "a stack of several models",
    "softmax regression": "softmax regression of scikit-learn",
    BASELINE: "always the most frequent class",
}


def plain(name: str) -> str:
    """The name that people read.

    >>> plain("logistic"), plain("my forest")
    ('logistic regression', 'my forest')
    """
    return PLAIN.get(name, name)
