"""Spam: messages as counts of words, naive Bayes with a multinomial distribution of the words, and the reasons.

The messages are made up, so that the script needs no download.
"""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import classwise as cw

HAM = ["meeting", "report", "lunch", "project", "tomorrow", "thanks", "review", "draft", "team", "call", "results"]
SPAM = ["winner", "prize", "free", "money", "click", "offer", "urgent", "account", "credit", "cash", "bonus", "cheap"]
BOTH = ["please", "your", "the", "we", "you", "now", "today", "new", "time", "for", "send", "and"]

rng = np.random.default_rng(0)


def message(words):
    """Ten to thirty words: half of them of its kind, some of the other kind, as in real messages."""
    length = rng.integers(10, 30)
    other = SPAM if words is HAM else HAM
    kinds = rng.choice(3, length, p=[0.35, 0.55, 0.10])
    return " ".join(rng.choice((words, BOTH, other)[kind]) for kind in kinds)


texts = [message(HAM) for _ in range(600)] + [message(SPAM) for _ in range(200)]
labels = np.array(["ham"] * 600 + ["spam"] * 200)

counter = CountVectorizer()
counts = counter.fit_transform(texts)  # a sparse matrix, which stays sparse
words = counter.get_feature_names_out()
train, test = np.arange(800) % 2 == 0, np.arange(800) % 2 == 1

model = cw.NaiveBayes(families="multinomial", smoothing="evidence").fit(counts[train], labels[train])
print(model.evaluate(counts[test], labels[test]).summary())
print(f"smoothing by evidence: {model.smoothing_:.2f} of a word")

new = "Urgent: please review the free offer and send your account today"
why = model.explain(counter.transform([new]))
print(f"\n{new!r}\n{why.sentences()[0]}")
for column, _, share in (*why.for_, *why.against)[:8]:
    print(f"{words[column]:8} {np.exp(abs(share)):6.1f} times more probable in {why.label if share > 0 else why.other}")

# Fewer ham messages get lost if a false alarm costs ten times as much as spam in the inbox.
careful = cw.Decision(model, costs={"ham": {"spam": 10}})
for name, decided in (("most probable", model.predict(counts[test])), ("careful", careful.predict(counts[test]))):
    lost = ((labels[test] == "ham") & (decided == "spam")).sum()
    passed = ((labels[test] == "spam") & (decided == "ham")).sum()
    print(f"{name:14} {lost} ham lost, {passed} spam passed")
