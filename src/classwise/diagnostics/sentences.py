"""Advice from facts: one sentence for each part of a diagnosis, none of which held-out rows contradict.

Before a comparison a sentence says what to try. After it, it says what came out and why; what the outcome speaks
against is left out, or is said with that.
"""

from classwise.diagnostics.advice import Advice, Claim, capitalized, classes, counted, listed, percent
from classwise.diagnostics.facts import Facts, NumberFacts, Outcome, Result
from classwise.diagnostics.overlap import Overlap
from classwise.diagnostics.plain_names import plain

# Classes of equal weight with no more errors than RARE are well apart; below a distance of ALIKE, errors may be 45 %.
RARE, ALIKE = 0.01, 0.1

# Two classes of equal weight are mistaken often from this share of their rows on; of the rows of a pair, a share near
# that of the rarer class is no better than a guess.
OFTEN, GUESS = 0.05, 0.9

# Of a class with fewer rows than this nothing is said, nor of fewer rows that are mistaken than the second.
FEWEST_ROWS, FEWEST_MISTAKEN = 20.0, 5.0

# Sentences that are shown.
MOST = 3

HOW_MUCH = "which finds out how much to"

GAUSSIANS = ("LDA", "QDA", "RDA")
SHRUNK = ("LDA, OAS", "LDA, Ledoit-Wolf")
UNLIKE = {"logistic": "Logistic regression", "naive Bayes, best families": "Naive Bayes with the best families"}


def compose(facts: Facts) -> dict[str, Advice]:
    """The advice of each part of the report."""
    numbers, outcome, found = facts.numbers, facts.outcome, dict[str, Advice]()
    if numbers is not None:
        found["equality"] = (outcome and _compared(outcome, numbers)) or _about_covariances(numbers, outcome)
        found["normality"] = _about_tails(numbers, outcome)
        found["spectrum"] = _about_rows(numbers, outcome)
    found["overlap"] = (outcome and _mistaken_most(facts, outcome)) or _expected(facts)
    return found


def _against(first: Result, second: Result) -> str:
    return f"(log loss {first.loss:.3g} against {second.loss:.3g} on held-out rows)"


# One covariance or several --------------------------------------------------------------------------------------------


def _compared(outcome: Outcome, numbers: NumberFacts) -> Advice | None:
    """What a comparison of shared and own covariances has shown, or None where there was none."""
    shared, own, quadratic = outcome.best("LDA"), outcome.best("QDA", "RDA"), outcome.best("QDA")
    if shared is None or own is None:
        return None
    if own.beats(shared):
        kinds = [kind for kind in ("QDA", "RDA") if (one := outcome.best(kind)) and one.loss < shared.loss]
        why = (
            ", as the covariances of the number columns differ between classes"
            if numbers.covariances in ("differ", "costly")
            else ""
        )
        text = f"{' and '.join(kinds)} did better than LDA {_against(own, shared)}{why}."
        return Advice.say(Claim("own covariances", tuple(kinds), ("LDA",)), text, 1)
    if shared.beats(quadratic):
        assert quadratic is not None
        alike = (
            ", as the covariances of the number columns are alike in all classes"
            if numbers.covariances == "alike"
            else ""
        )
        scarce = numbers.few and not numbers.strong  # else values far out may be the reason
        few = ", as some classes have few rows for a covariance of their own" if scarce else ""
        text = f"LDA did better than QDA {_against(shared, quadratic)}{alike or few}."
        return Advice.say(Claim("shared covariance", ("LDA",), ("QDA",)), text, 1)
    text = "One covariance for all classes or one for each: on held-out rows it made little difference."
    return Advice.say(Claim("no difference"), text)


def _about_covariances(numbers: NumberFacts, outcome: Outcome | None) -> Advice:
    """What the rows alone say; after a comparison in which there were no such models, without advising them."""
    suited, found = numbers.suited, numbers.covariances
    subject = {
        "alike": "The covariances of the number columns are much the same in all classes, so one for all will do",
        "costly": "The covariances of the number columns differ between classes, but rows are too few to estimate each",
        "differ": f"The covariances of the number columns {_how_they_differ(numbers)}",
        "unclear": "The covariances of the number columns may be alike in all classes, as far as so few rows show",
        "unknown": "Fewer than two classes have rows enough for a covariance of their own, so one must do for all",
    }[found]
    if outcome is not None:
        return Advice.say(Claim("covariances"), f"{subject}.")
    # Where even the shared covariance needs shrinking, the sentence about rows says what to do.
    rank = 2 if found in ("alike", "costly", "differ") and numbers.rows in ("enough", "few for own") else 0
    own = "LDA" not in suited
    claim = Claim("own covariances" if own else "shared covariance", suited, ("LDA",) if own else ("QDA",))
    shares = f", {HOW_MUCH} share" if own and "QDA" not in suited else ""
    return Advice.say(claim, lambda words: f"{subject}: try {words.models(suited)}{shares}.", rank)


def _how_they_differ(numbers: NumberFacts) -> str:
    if "QDA" in numbers.suited:
        return "differ between classes, and there are rows enough to estimate one for each"
    if numbers.few:
        return "differ between classes, but not every class has rows enough for one of its own"
    if numbers.strong:
        return "seem to differ between classes, though values far out can look like that, too"
    return "seem to differ between classes, though values far out, which few rows do not show, can look like that, too"


# Gaussian or not ------------------------------------------------------------------------------------------------------


def _about_tails(numbers: NumberFacts, outcome: Outcome | None) -> Advice:
    if not any(test.tested for test in numbers.tests):
        text = "No class can be tested: rows are too few, or number columns follow from each other."
        return Advice.say(Claim("not tested"), text)
    if not numbers.strong:
        return Advice.say(Claim("gaussian"), _if_gaussian(numbers))
    shape = _shape(numbers)
    if outcome is None:
        text = f"The number columns are not Gaussian: {shape}. {capitalized(_remedy(numbers))}."
        return Advice.say(Claim("not gaussian"), text, 2)
    gaussian = outcome.best(*GAUSSIANS)
    for kind, name in UNLIKE.items():
        other = outcome.best(kind)
        if other is not None and other.beats(gaussian):
            assert gaussian is not None
            did = f"{name} did better than LDA, QDA and RDA {_against(other, gaussian)}"
            text = f"{did}, which fits number columns that are not Gaussian: {shape}."
            return Advice.say(Claim("not gaussian", (kind,), GAUSSIANS), text, 2)
    winner = outcome.winner.split(",")[0]
    yet = f", yet {plain(outcome.winner)} won" if winner in GAUSSIANS else ""
    return Advice.say(Claim("not gaussian"), f"The number columns are not Gaussian{yet}: {shape}.")


def _if_gaussian(numbers: NumberFacts) -> str:
    blind = [test.label for test in numbers.tests if test.is_blind]
    if blind:
        return f"Nothing speaks against Gaussian classes, but {classes(blind)} could show only gross deviations."
    if numbers.mild:
        return f"{capitalized(classes(numbers.mild))}: not exactly Gaussian, but by too little to matter."
    return "Nothing speaks against Gaussian classes, which LDA, QDA and RDA assume."


def _shape(numbers: NumberFacts) -> str:
    """How classes deviate from Gaussians, in a clause."""
    clauses = {
        "more values far out than a Gaussian expects in": numbers.heavy,
        "fewer values far out than a Gaussian expects in": numbers.light,
        "a longer tail on one side in": numbers.lopsided,
    }
    return "; ".join(f"{clause} {classes(labels)}" for clause, labels in clauses.items() if labels)


def _remedy(numbers: NumberFacts) -> str:
    logs = "logarithms of columns with a long tail may help, where values are positive"
    groups = "there may be several groups within a class"
    return "; ".join([logs] * bool(numbers.heavy or numbers.lopsided) + [groups] * bool(numbers.light))


# Rows enough or not ---------------------------------------------------------------------------------------------------


def _about_rows(numbers: NumberFacts, outcome: Outcome | None) -> Advice:
    if numbers.follow:
        return _about_followers(numbers)
    if numbers.rows in ("singular", "few for shared"):
        return _about_shrinking(numbers, outcome)
    if numbers.rows == "few for own":
        has, own = ("has", "its") if len(numbers.few) == 1 else ("have", "their")
        text = f"{capitalized(classes(numbers.few))} {has} few rows for {own} own covariance of {_sized(numbers)}."
        return Advice.say(Claim("few rows"), text)
    return _about_relations(numbers, outcome)


def _sized(numbers: NumberFacts) -> str:
    return counted(numbers.pooled.features, "number column")


def _about_followers(numbers: NumberFacts) -> Advice:
    names = numbers.follow
    adds = (
        "follows exactly from other number columns, and adds"
        if len(names) == 1
        else "follow exactly from others, and add"
    )
    return Advice.say(
        Claim("columns that follow"),
        lambda words: f"{capitalized(listed(names))} {adds} nothing to them: {words.drop(names)}.",
        2,
    )


def _about_shrinking(numbers: NumberFacts, outcome: Outcome | None) -> Advice:
    size = f"{numbers.pooled.weight:.10g} rows are few for the covariance of {_sized(numbers)}, even a shared one"
    if numbers.pooled.is_bound:
        size = "Within a class some number columns follow from others, so that even a shared covariance has no inverse"
    if outcome is None:
        suited = numbers.suited
        return Advice.say(
            Claim("shrunk covariance", suited, ("LDA",)),
            lambda words: (
                f"{size}: try {words.models(suited)}, with and without {words.standardizing()}, {HOW_MUCH} shrink it."
            ),
            1,
        )
    plain, best = outcome.best("plain LDA"), outcome.best(*SHRUNK)
    if best is not None and best.beats(plain):
        assert plain is not None
        text = f"Shrinking its covariance helped LDA {_against(best, plain)}: {size}."
        return Advice.say(Claim("shrunk covariance", SHRUNK, ("plain LDA",)), text, 2)
    return Advice.say(Claim("few rows"), f"{size}.")


def _about_relations(numbers: NumberFacts, outcome: Outcome | None) -> Advice:
    """Whether columns vary together, which naive Bayes leaves out."""
    naive, joint = (outcome.best("naive Bayes"), outcome.preferred(*GAUSSIANS)) if outcome else (None, None)
    loses = joint is not None and joint.beats(naive)
    if numbers.vary_together and loses:
        assert joint is not None
        assert naive is not None
        kind = joint.name.split(",")[0]
        did = f"{kind} did better than naive Bayes {_against(joint, naive)}"
        text = f"{did}, as the number columns vary together within classes."
        return Advice.say(Claim("columns vary together", (kind,), ("naive Bayes",)), text, 3)
    if numbers.are_unrelated and numbers.is_gaussian and not loses:
        text = (
            "Within a class the number columns hardly vary together, so naive Bayes loses little by leaving that out."
        )
        claim = Claim("columns unrelated", ("naive Bayes", "diagonal LDA"), GAUSSIANS)
        return Advice.say(claim, text, 0 if outcome else 3)
    return Advice.say(
        Claim("rows enough"), f"There are rows enough for a covariance in every class{_relation(numbers)}."
    )


def _relation(numbers: NumberFacts) -> str:
    if numbers.repeats:
        directions = f"vary in about {numbers.pooled.effective_rank:.0f} directions"
        return f"; the {_sized(numbers)} repeat each other, and {directions}"
    return "; within a class the number columns vary together, which naive Bayes leaves out" * numbers.vary_together


# Which classes overlap ------------------------------------------------------------------------------------------------


def _mistaken_most(facts: Facts, outcome: Outcome) -> Advice | None:
    """The two classes that the winner mistakes for each other most often."""
    seen = [(pair, outcome.mistaken(pair.first, pair.second)) for pair in facts.pairs]
    found = [(pair, mistaken) for pair, mistaken in seen if mistaken and mistaken.weight >= FEWEST_MISTAKEN]
    if not found:
        return Advice.say(Claim("apart"), "On held-out rows no two classes are mistaken for each other often.")
    pair, worst = max(found, key=lambda one: one[1].share)
    takes = (
        f"the winner, {plain(outcome.winner)}, takes {percent(worst.share)} of their held-out rows for the other one"
    )
    claim = Claim("overlap", (), (), (pair.first, pair.second), worst.share, worst.share)
    names = classes([pair.first, pair.second])
    if worst.share < 2 * OFTEN * pair.rarer:
        return Advice.say(claim, f"No two classes are mistaken often: even of {names}, {takes}.")
    text = f"{capitalized(names)} are mistaken for each other{' most often' * (len(facts.pairs) > 1)}: {takes}"
    if worst.share > GUESS * pair.rarer:
        return Advice.say(claim, f"{text}, about as many as always deciding for the more frequent would.", 1)
    return Advice.say(claim, f"{text}.", 3 if len(facts.pairs) > 1 else 0)


def _expected(facts: Facts) -> Advice:
    """The two classes that are closest, before any model is fitted."""
    sizable = [pair for pair in facts.pairs if pair.weight * pair.rarer >= FEWEST_ROWS]
    closest, rank = (sizable or facts.pairs)[0], int(bool(sizable))
    pair, names = (closest.first, closest.second), classes([closest.first, closest.second])
    if closest.beyond_chance < ALIKE:
        together = ", nor do the number columns together" if facts.are_together else ""
        text = (
            f"No column by itself tells {names} apart{together}: look for other columns, or take the two for one class."
        )
        return Advice.say(Claim("alike", (), (), pair, closest.least), text, rank)
    hardest = max(facts.pairs, key=lambda one: one.expected / one.rarer)
    if hardest.expected < 2 * RARE * hardest.rarer:
        of = classes([hardest.first, hardest.second])
        text = f"All classes are well apart: expect up to {percent(hardest.expected)} errors between {of}."
        return Advice.say(
            Claim("apart", (), (), (hardest.first, hardest.second), 0.0, hardest.expected), text, 3 * rank
        )
    overlap = "lie closest together" if len(facts.pairs) > 1 else "overlap"
    text = f"{capitalized(names)} {overlap}{_spread(closest)}"
    if closest.expected > GUESS * closest.rarer:
        return Advice.say(Claim("overlap", (), (), pair), f"{text}.")
    claim = Claim("overlap", (), (), pair, 0.0, closest.expected)
    return Advice.say(claim, f"{text}: expect up to {percent(closest.expected)} errors between them.", 3 * rank)


def _spread(pair: Overlap) -> str:
    differ = pair.by_spread > pair.by_means + pair.by_levels
    return ", and differ in spread more than in mean" if differ else ""
