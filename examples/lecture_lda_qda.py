"""A lecture: LDA or QDA? The bias of a shared covariance against the variance of separate ones."""

import sys

import numpy as np

import classwise as cw

# Two classes in ten dimensions. Their covariances differ a little: QDA is right, and LDA is not quite.
P = 10
MEANS = np.array([np.zeros(P), np.full(P, 0.6)])
COVARIANCES = np.stack([np.eye(P), np.diag(np.linspace(0.6, 1.8, P))])
X_test, y_test = cw.datasets.gaussians(5000, MEANS, COVARIANCES, random_state=0)

models = {"LDA": cw.LDA(), "QDA": cw.QDA(), "RDA": cw.RDA(folds=5)}
SIZES = [40, 80, 160, 320, 1280]
losses = {name: [] for name in models}
print(f"{'rows':>5}" + "".join(f"{name:>8}" for name in models) + "   log loss on new rows, median of 5 samples")
for n in SIZES:
    for name, model in models.items():
        found = []
        for seed in range(5):
            X, y = cw.datasets.gaussians(n, MEANS, COVARIANCES, random_state=seed + 1)
            found.append(model.fit(X, y).evaluate(X_test, y_test).log_loss)
        losses[name].append(np.median(found))
    print(f"{n:5}" + "".join(f"{losses[name][-1]:8.3f}" for name in models))

first = next(n for n, lda, qda in zip(SIZES, losses["LDA"], losses["QDA"], strict=True) if qda < lda)
print(f"\nWith fewer rows the wrong but simple model is better; from {first} rows on, QDA wins.")
print(f"QDA has {P * (P + 3) + 1} free numbers, LDA {2 * P + P * (P + 1) // 2 + 1}. RDA chooses between them.")

if len(sys.argv) > 1:  # a picture for a slide: python lecture_lda_qda.py curve.png
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for name, values in losses.items():
        axes.plot(SIZES, values, "o-", label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(SIZES, [str(n) for n in SIZES])
    axes.set_ylim(0.3, 0.8)  # QDA comes in from far above
    axes.set(xlabel="training rows", ylabel="log loss on new rows", title="LDA or QDA?")
    axes.legend()
    figure.savefig(sys.argv[1], dpi=150)
