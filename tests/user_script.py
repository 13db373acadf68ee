"""A script as a user would write it, for a second type checker (`make lint`): its types are those that users see.

`assert_type` fails where a public name loses its type. The comment on the last line is an error where it is not needed:
a wrong option is found before the script runs.
"""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import classwise as cw
from classwise.classifier.explanation import Explanation

X, y = cw.datasets.penguins()
model = assert_type(cw.LDA(shrink="oas", priors={"Adelie": 0.5, "Chinstrap": 0.2, "Gentoo": 0.3}).fit(X, y), cw.LDA)
assert_type(model.predict_proba(X), NDArray[np.float64])
assert_type(model.evaluate(X, y).accuracy, float)
assert_type(model.explain(X[:1]), Explanation)
assert_type(cw.summarize(X, y) + cw.summarize(X, y), cw.ClassStatistics)
assert_type(cw.compare(X, y), cw.Comparison)
assert_type(cw.Decision(model, costs={"Adelie": {"Gentoo": 3}}, reject=0.2).fit(X, y), cw.Decision)
assert_type(cw.to_sql(model, "penguins"), str)
cw.LDA(shrink="strong")  # pyright: ignore[reportArgumentType]
