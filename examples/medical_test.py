"""A medical test: a missed tumor costs twenty times as much as a false alarm, and doubtful cases go to a specialist."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import classwise as cw

# 569 cell samples with 30 measurements each; a third of them are kept for the test.
data = load_breast_cancer(as_frame=True)
labels = data.target.map({0: "malignant", 1: "benign"})
X, X_test, y, y_test = train_test_split(data.data, labels, test_size=1 / 3, random_state=0, stratify=labels)

model = cw.LDA(shrink="oas", standardize=True, calibrate="temperature").fit(X, y)
print(model.evaluate(X_test, y_test).summary())

# Three ways to decide. A specialist costs as much as half a false alarm.
COSTS = {"malignant": {"benign": 20}, "benign": {"malignant": 1}}
ways = {
    "the most probable class": cw.Decision(model),
    "the least expected cost": cw.Decision(model, costs=COSTS),
    "the same, or a specialist": cw.Decision(model, costs=COSTS, reject=0.5),
}
print(f"\n{'decided by':26} missed  false alarms  specialist   cost")
for name, decision in ways.items():
    decided = decision.predict(X_test)
    missed = ((y_test == "malignant") & (decided == "benign")).sum()
    alarms = ((y_test == "benign") & (decided == "malignant")).sum()
    passed_on = (decided == "reject").sum()
    print(f"{name:26} {missed:6} {alarms:13} {passed_on:11} {20 * missed + alarms + 0.5 * passed_on:6.1f}")

# Why is the most doubtful sample doubtful?
doubtful = model.predict_proba(X_test).max(axis=1).argmin()
print("\n" + str(model.explain(X_test.iloc[[doubtful]])).split("\n")[0])
