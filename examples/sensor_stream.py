"""A sensor stream: the model learns batch by batch, and notices when faults become more frequent."""

import numpy as np

import classwise as cw

LABELS = np.array(["ok", "worn", "broken"])
MEANS = np.array([[20.0, 1.0], [24.0, 1.8], [30.0, 2.5]])  # temperature, vibration
COVARIANCE = np.array([[9.0, 0.6], [0.6, 0.25]])
rng = np.random.default_rng(0)


def batch(n, shares):
    """Readings of one hour: rows (n, 2), and the state of the machine for each."""
    states = rng.choice(3, n, p=shares)
    return MEANS[states] + rng.multivariate_normal([0, 0], COVARIANCE, n), LABELS[states]


# A month with labels, hour by hour. No row is kept: the model is a few sums.
model = cw.LDA()
for _hour in range(24 * 30):
    model.partial_fit(*batch(50, [0.9, 0.08, 0.02]), classes=LABELS)
print("after a month:", dict(zip(model.classes_.tolist(), model.priors_.round(3).tolist(), strict=True)))

# Then labels stop, and wear goes up. Rows without labels show by how much.
print(f"\n{'week':5} {'true share worn':>15} {'estimated':>18} {'error before':>13} {'error after':>12}")
for week, worn in enumerate([0.08, 0.12, 0.25, 0.40], start=1):
    X, y = batch(4000, [0.98 - worn, worn, 0.02])
    shift = model.estimate_priors(X)
    error = shift.error[shift.labels.tolist().index("worn")]
    adapted = model.with_priors(shift)
    wrong = [(m.predict(X) != y).mean() for m in (model, adapted)]
    estimated = f"{shift['worn']:.3f} ± {error:.3f}"
    print(f"{week:5} {worn:15.2f} {estimated:>18} {wrong[0]:13.3f} {wrong[1]:12.3f}")
