"""What a surprise means, in words, and what may be done about it."""

from typing import NamedTuple


class Words(NamedTuple):
    """above, below: what the rows do where the measure is larger, or smaller, than in samples; and what may help."""

    above: str
    below: str
    mend_above: str
    mend_below: str


SHIFTED = "are these rows like those that the model was fitted on? If so, its prior or smoothing is too strong"
OWN = "if classes share a covariance, let each have its own (share=0, as QDA has)"
LIMITED = "it may end at a limit: a column above 0 may be 'lognormal', whole numbers 'poisson' or 'binomial(N)'"
FAR = "look at the rows farthest out, which m.leave_one_out_evidence(X, y) finds"
FEW_VALUES = "take it for 'categorical', if its values are few"

WORDS = {
    "mean": Words("is larger than in the model", "is smaller than in the model", SHIFTED, SHIFTED),
    "deviation": Words("varies more than in the model", "varies less than in the model", OWN, OWN),
    "skewness": Words(
        "is more skewed to the right than the model allows",
        "is more skewed to the left than the model allows",
        "if its values are positive, families={{{column}: 'lognormal'}} takes logarithms; else transform it",
        "transform it so that the long tail becomes shorter, by its square for example",
    ),
    "kurtosis": Words(
        "has more values far out than the model allows",
        "has fewer values far out than in the model",
        FAR,
        "it may be two groups in one class, which deserve labels of their own, or end at limits",
    ),
    "smallest": Words("stops higher than in the model", "reaches lower than the model allows", LIMITED, FAR),
    "largest": Words("reaches higher than the model allows", "stops lower than in the model", FAR, LIMITED),
    "rate": Words("is larger than in the model", "is smaller than in the model", SHIFTED, SHIFTED),
    "dispersion": Words(
        "varies more than its family can",
        "varies less than its family can",
        "take it for 'categorical' if its values are few, for 'gaussian' if not, or let families='best' choose",
        "take it for 'binomial(N)' if there is a largest number N, or for 'categorical'",
    ),
    "share of zeros": Words(
        "has more zeros than the model allows",
        "has fewer zeros than in the model",
        f"add a column that tells zeros from the rest, or {FEW_VALUES}",
        FEW_VALUES,
    ),
    "share": Words(
        "is more often {level} than in the model", "is less often {level} than in the model", SHIFTED, SHIFTED
    ),
}

# Two columns that depend on each other in another way than the model has it: together or apart, of numbers or levels.
DEPENDENT = {
    ("together", "correlation"): "if covariances are shared or shrunk, let each class have its own (QDA), or use RDA",
    ("apart", "correlation"): "the model has them independent within a class; let them share a Gaussian (LDA, QDA)",
    ("apart", "correlation ratio"): "the model has them independent within a class; leave one out, or fit a model for "
    "each level",
    ("apart", "Cramér's V"): "the model has them independent within a class; leave one out, or make one column of both",
}


def dependence(measure: str, observed: float, is_above: bool) -> str:
    """What two columns do.

    >>> dependence("correlation", -0.8, False), dependence("Cramér's V", 0.4, True)
    ('run against each other more than in the model', 'depend on each other more than in the model')
    """
    way = "depend on each other"
    if measure == "correlation":
        way = "rise together" if observed > 0 else "run against each other"
    more = is_above == (observed > 0 or measure != "correlation")
    return f"{way} {'more' if more else 'less'} than in the model"
