"""Full Bayes: mean and covariance integrated out; priors, predictive densities, evidence."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import classwise as cw
from classwise.covariance import STRUCTURES, PriorForm
from classwise.covariance.conjugate import weak_form
from classwise.covariance.named_priors import EvidencePoint, PlainEvidence, evidence_of
from classwise.selection import Predictives, StrengthPath

RNG = np.random.default_rng(11)
P = 3
y = np.array([0] * 9 + [1] * 14 + [2] * 4)
X = RNG.normal(size=(len(y), P)) @ RNG.normal(size=(P, P)) + y[:, None]
SCALE = np.array([[2.0, 0.3, 0.0], [0.3, 1.5, -0.2], [0.0, -0.2, 1.0]])
PRIOR = cw.NormalInverseWishart(mean=[0.5, 0.0, 1.0], kappa=0.7, nu=5.5, scale=SCALE)
CASES = [(structure, share) for structure in ("full", "diagonal", "spherical") for share in (0, 1)]
each_case = pytest.mark.parametrize(("structure", "share"), CASES, ids=str)


def bayes(structure, share, prior=PRIOR, **options):
    return cw.GaussianClassifier(structure=structure, share=share, estimate="bayes", prior=prior, **options)


class TestPredictive:
    def test_own_covariances_are_student_t(self):
        m = bayes("full", 0).fit(X, y)
        for k in range(3):
            own = X[y == k]
            n, mean = len(own), own.mean(axis=0)
            kappa, nu = 0.7 + n, 5.5 + n
            away = mean - PRIOR.mean
            scale = SCALE + np.cov(own.T, bias=True) * n + 0.7 * n / kappa * np.outer(away, away)
            center = (0.7 * np.array(PRIOR.mean) + n * mean) / kappa
            v = nu - P + 1
            t = stats.multivariate_t(center, scale * (kappa + 1) / (kappa * v), df=v)
            np.testing.assert_allclose(m.log_density(X)[:, k], t.logpdf(X), rtol=1e-10)
            np.testing.assert_allclose(m.means_[k], center, rtol=1e-12)

    def test_a_shared_covariance(self):
        m = bayes("full", 1).fit(X, y)
        scale, nu = SCALE.copy(), 5.5 + len(y)
        for k in range(3):
            own = X[y == k]
            away = own.mean(axis=0) - PRIOR.mean
            scale += np.cov(own.T, bias=True) * len(own) + 0.7 * len(own) / (0.7 + len(own)) * np.outer(away, away)
        for k in range(3):
            own = X[y == k]
            kappa, v = 0.7 + len(own), nu - P + 1
            center = (0.7 * np.array(PRIOR.mean) + own.sum(axis=0)) / kappa
            t = stats.multivariate_t(center, scale * (kappa + 1) / (kappa * v), df=v)
            np.testing.assert_allclose(m.log_density(X)[:, k], t.logpdf(X), rtol=1e-10)

    def test_diagonal_covariances_are_a_student_t_for_each_feature(self):
        m = bayes("diagonal", 0).fit(X, y)
        expected = np.zeros((len(y), 3))
        for k in range(3):
            own = X[y == k]
            n, mean = len(own), own.mean(axis=0)
            kappa, nu = 0.7 + n, 5.5 - P + 1 + n
            psi = np.diag(SCALE) + own.var(axis=0) * n + 0.7 * n / kappa * (mean - PRIOR.mean) ** 2
            center = (0.7 * np.array(PRIOR.mean) + n * mean) / kappa
            expected[:, k] = stats.t(nu, center, np.sqrt(psi / nu * (kappa + 1) / kappa)).logpdf(X).sum(axis=1)
        np.testing.assert_allclose(m.log_density(X), expected, rtol=1e-10)

    @each_case
    def test_the_average_over_the_posterior(self, structure, share):
        """Draw mean and covariance from the posterior, average the Gaussian densities: that is the predictive."""
        rng = np.random.default_rng(1)
        hyper = weak_form(P, STRUCTURES[structure]).of(cw.summarize(X, y).moments)
        m = bayes(structure, share, "weak").fit(X, y)
        conjugate = hyper.within(STRUCTURES[structure]).updated(cw.summarize(X, y), share == 1)
        draws, row = 40_000, X.mean(axis=0)  # near all classes: in the tails an average would take too long
        for k in range(3):
            j = 0 if share else k
            nu, kappa, center = conjugate.freedom()[j], conjugate.kappa[k], conjugate.means[k]
            if structure == "full":
                covariances = stats.invwishart(nu[0], conjugate.scale[j]).rvs(draws, random_state=rng)
            elif structure == "diagonal":
                variances = conjugate.scale[j] / rng.chisquare(np.broadcast_to(nu, (draws, P)))
                covariances = variances[:, :, None] * np.eye(P)
            else:
                covariances = (P * conjugate.scale[j, 0] / rng.chisquare(nu[0], draws))[:, None, None] * np.eye(P)
            roots = np.linalg.cholesky(covariances)
            means = center + np.einsum("nij,nj->ni", roots, rng.normal(size=(draws, P))) / np.sqrt(kappa[0])
            white = np.linalg.solve(roots, (row - means)[:, :, None])[:, :, 0]
            log_det = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
            densities = np.exp(-0.5 * (white**2).sum(axis=1) - log_det - P / 2 * np.log(2 * np.pi))
            error = densities.std() / np.sqrt(draws)
            assert abs(np.exp(m.log_density(row[None])[0, k]) - densities.mean()) < 4.5 * error

    @pytest.mark.parametrize(("model", "name"), [(cw.LDA, "lda"), (cw.QDA, "qda")])
    def test_the_limiting_prior_of_geisser(self, reference, model, name):
        rows, labels = load_iris(return_X_y=True)
        m = model(estimate="bayes", prior="geisser").fit(rows, labels)
        expected = pd.read_csv(reference / "predictive" / f"iris_{name}_predictive_posterior.csv").to_numpy()
        np.testing.assert_allclose(m.predict_log_proba(rows), np.log(expected), rtol=1e-10, atol=1e-10)

    def test_each_mean_takes_a_degree_of_freedom_from_the_limiting_prior(self):
        shared, own = bayes("full", 1, "geisser").fit(X, y), bayes("full", 0, "geisser").fit(X, y)
        assert shared.parameters_[0]["freedom"].tolist() == [len(y) - 3 - P + 1] * 3
        assert own.parameters_[0]["freedom"].tolist() == [9 - P, 14 - P, 4 - P]

    @each_case
    def test_samples_have_the_law_of_the_model(self, structure, share):
        m = bayes(structure, share, "weak").fit(X, y)
        rows, labels = m.sample(40_000, random_state=0)
        for k in range(3):
            own = rows[labels == k]
            location, shape = m.parameters_[1]["location"][k], m.parameters_[1]["shape"][k]
            t = stats.t(m.parameters_[1]["freedom"][k], location, np.sqrt(shape))
            assert stats.kstest(own[:, 1], t.cdf).pvalue > 1e-4


@each_case
class TestEvidence:
    def test_is_the_chain_of_predictives(self, structure, share):
        """Row after row: what the rows before it predict. A class not seen yet has the prior alone."""
        m = bayes(structure, share).fit(X, y)
        order = np.random.default_rng(0).permutation(len(y))
        total = 0.0
        for i, row in enumerate(order):
            before = order[:i]
            # Every class takes part from the start, with a row of hardly any weight.
            tiny = np.r_[np.ones(i), np.full(3, 1e-13)]
            rows, labels = np.vstack([X[before], np.zeros((3, P))]), np.r_[y[before], [0, 1, 2]]
            step = bayes(structure, share).fit(rows, labels, tiny)
            total += step.log_density(X[row][None])[0, y[row]]
        np.testing.assert_allclose(m.log_marginal_likelihood_, total, rtol=1e-9)

    def test_slopes_match_finite_differences(self, structure, share):
        statistics = cw.summarize(X, y, scatter="diagonal" if structure != "full" else "full")
        point = np.array([-0.7, 0.9, 0.2])
        evidence = evidence_of(statistics, STRUCTURES[structure], share == 1)
        _, slope = evidence.at(EvidencePoint(*point))
        for i in range(3):
            step = np.zeros(3)
            step[i] = 1e-5
            up, down = (evidence.at(EvidencePoint(*(point + sign * step)))[0] for sign in (1, -1))
            np.testing.assert_allclose(slope[i], (up - down) / 2e-5, rtol=1e-6, atol=1e-7)

    def test_the_surface_is_the_evidence_of_the_model(self, structure, share):
        statistics = cw.summarize(X, y, scatter="diagonal" if structure != "full" else "full")
        point = EvidencePoint(-0.7, 0.9, 0.2)
        value, _ = evidence_of(statistics, STRUCTURES[structure], share == 1).at(point)
        m = bayes(structure, share, point.form()).fit(X, y)
        np.testing.assert_allclose(value, m.log_marginal_likelihood_, rtol=1e-10)

    def test_any_structure_has_the_plain_way(self, structure, share):
        statistics, point = cw.summarize(X, y), EvidencePoint(-0.7, 0.9, 0.2)
        evidence = evidence_of(statistics, STRUCTURES[structure], share == 1)
        plain = PlainEvidence(statistics, STRUCTURES[structure], share == 1)
        for ours, theirs in zip(evidence.at(point), plain.at(point), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10)

    def test_evidence_chooses_no_worse_than_weak(self, structure, share):
        best, weak = bayes(structure, share, "evidence").fit(X, y), bayes(structure, share, "weak").fit(X, y)
        assert best.log_marginal_likelihood_ >= weak.log_marginal_likelihood_ - 1e-9


class TestFewRows:
    @each_case
    @pytest.mark.parametrize("prior", ["weak", "evidence"])
    def test_one_row_for_each_class(self, structure, share, prior):
        m = bayes(structure, share, prior).fit(X[[0, 9, 23]], [0, 1, 2])
        assert np.isfinite(m.predict_log_proba(X)).all()
        assert m.predict(X[[0, 9, 23]]).tolist() == [0, 1, 2]

    @each_case
    def test_more_features_than_rows(self, structure, share):
        rng = np.random.default_rng(0)
        labels = np.arange(12) % 2
        rows = rng.normal(size=(12, 40)) + labels[:, None]
        m = bayes(structure, share, "weak").fit(rows, labels)
        assert m.score(rng.normal(size=(40, 40)) + (np.arange(40) % 2)[:, None], np.arange(40) % 2) > 0.8

    @each_case
    def test_a_class_without_a_value_lies_where_all_rows_do(self, structure, share):
        gappy = X.copy()
        gappy[y == 1, 2] = np.nan
        with pytest.warns(cw.DegenerateColumnWarning, match="gave the values of all rows .*: 1 in column 2"):
            m = bayes(structure, share, "weak").fit(gappy, y)
        np.testing.assert_allclose(m.means_[1, 2], np.nanmean(gappy[:, 2]))
        assert np.isfinite(m.log_joint(gappy)).all()

    @pytest.mark.filterwarnings("ignore::classwise.IgnoredColumnWarning")
    def test_a_constant_column_is_no_obstacle(self):
        rows = np.column_stack([X, np.full(len(y), 0.3)])
        for structure, share in CASES:
            m = bayes(structure, share, "weak").fit(rows, y)
            assert np.isfinite(m.predict_log_proba(rows)).all()

    def test_too_few_for_the_limiting_prior(self):
        with pytest.raises(
            cw.ClasswiseError, match="Class 2 has weight 4, too little for prior='geisser' with 4 features"
        ):
            bayes("full", 0, "geisser").fit(np.column_stack([X, X[:, 0] ** 2]), y)


class TestTables:
    def test_class_priors_count_one_more_row_each(self):
        np.testing.assert_allclose(bayes("full", 0).fit(X, y).priors_, np.array([10, 15, 5]) / 30)
        np.testing.assert_allclose(bayes("full", 0, priors="uniform").fit(X, y).priors_, [1 / 3] * 3)

    def test_naive_bayes_with_categories_beside(self):
        table = pd.DataFrame(X, columns=list("abc")).assign(city=np.array(["R", "O"])[y % 2], size=np.exp(X[:, 0]))
        m = cw.NaiveBayes(estimate="bayes", families={"size": "lognormal"}).fit(table, y)
        plain = bayes("diagonal", 0, "weak").fit(table[list("abc")], y)
        city = cw.NaiveBayes().fit(table[["city"]], y)
        logs = bayes("diagonal", 0, "weak").fit(X[:, :1], y)
        expected = plain.log_density(table[list("abc")]) + city.log_density(table[["city"]])
        expected += logs.log_density(X[:, :1]) - X[:, :1]
        np.testing.assert_allclose(m.log_density(table), expected, rtol=1e-10)
        assert np.isfinite(m.log_marginal_likelihood_)
        why = m.explain(table[:1])
        np.testing.assert_allclose(why.prior + sum(why.shares.values()), why.log_odds, rtol=1e-9)

    @each_case
    def test_missing_values_are_integrated_out(self, structure, share):
        s = cw.summarize(X, y)
        m = bayes(structure, share).fit_statistics(s)
        rows = X.copy()
        rows[:, 1] = np.nan
        part = cw.NormalInverseWishart([0.5, 1.0], 0.7, 5.5 - 1, SCALE[np.ix_([0, 2], [0, 2])])
        if structure == "spherical":
            return  # its one variance is learned from all features, also those that a row lacks
        few = bayes(structure, share, part).fit_statistics(s.restrict([0, 2]))
        np.testing.assert_allclose(m.log_joint(rows), few.log_joint(X[:, [0, 2]]), rtol=1e-9)
        np.testing.assert_allclose(m.predict_proba(np.full((1, P), np.nan))[0], m.priors_, rtol=1e-12)

    @each_case
    def test_learning_with_gaps(self, structure, share):
        rng = np.random.default_rng(5)
        gappy = np.where(rng.random(X.shape) < 0.3, np.nan, X)
        m = bayes(structure, share, "weak").fit(gappy, y)
        assert np.isfinite(m.predict_log_proba(gappy)).all()
        assert m.em_ is None or m.em_.converged

    @each_case
    def test_shares_add_up(self, structure, share):
        m = bayes(structure, share, "weak").fit(X, y)
        why = m.explain(X[5])
        posterior = m.predict_log_proba(X[5][None])[0]
        np.testing.assert_allclose(why.log_odds, posterior[why.label] - posterior[why.other], rtol=1e-9)

    def test_partial_fit_is_fit(self):
        whole = cw.QDA(estimate="bayes").fit(X, y)
        steps = cw.QDA(estimate="bayes")
        for part in np.array_split(np.random.default_rng(0).permutation(len(y)), 4):
            steps.partial_fit(X[part], y[part])
        np.testing.assert_allclose(steps.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-12)

    def test_units_do_not_matter(self):
        scale = np.array([1e-6, 1.0, 1e5])
        for prior in ("weak", "geisser", "evidence"):
            m, scaled = (cw.LDA(estimate="bayes", prior=prior).fit(rows, y) for rows in (X, X * scale))
            np.testing.assert_allclose(scaled.predict_log_proba(X * scale), m.predict_log_proba(X), atol=1e-4)


@each_case
def test_covariances_are_the_shapes(structure, share):
    m = bayes(structure, share, "weak").fit(X, y)
    shapes = np.column_stack([m.parameters_[j]["shape"] for j in range(P)])
    np.testing.assert_allclose(np.diagonal(m.covariances_, axis1=1, axis2=2), shapes, rtol=1e-12)
    with pytest.raises(cw.ClasswiseError, match="with estimate='bayes' classes are Student-t"):
        m.boundary(0, 1)


def test_naive_bayes_shows_its_parameters():
    m, same = cw.NaiveBayes(estimate="bayes").fit(X, y), bayes("diagonal", 0, "weak").fit(X, y)
    np.testing.assert_allclose(m.means_, same.means_)
    np.testing.assert_allclose(m.variances_, np.diagonal(same.covariances_, axis1=1, axis2=2))


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"share": 0.5}, "estimate='bayes' has share=0 or share=1 and shrink=0, not share=0.5"),
            ({"shrink": "oas"}, "not share=0.0 and shrink='oas'"),
            (
                {"prior": "strong"},
                "prior='strong' is not an option; choose 'weak', 'geisser', 'evidence', 'cv', 'loo' or a Normal",
            ),
            ({"standardize": True}, "estimate='bayes' has standardize=False"),
            ({"prior": cw.NormalInverseWishart([0, 1], 1, 9, 1.0)}, "mean must be a number, or 3 of them"),
            ({"prior": cw.NormalInverseWishart(np.nan, 1, 9, 1.0)}, "mean must be a number, or 3 of them"),
            ({"prior": cw.NormalInverseWishart(0, 1, 9, [1.0, 2.0])}, r"shape \(2,\), and there are 3 features"),
            ({"prior": cw.NormalInverseWishart(0, 0, 9, 1.0)}, "kappa must be positive"),
            ({"prior": cw.NormalInverseWishart(0, 1, 2, 1.0)}, "nu must be more than 2 for 3 features, not 2"),
            ({"prior": cw.NormalInverseWishart(0, 1, 9, -1.0)}, "positive eigenvalues"),
            ({"prior": cw.NormalInverseWishart(0, 1, 9, np.eye(2))}, r"shape \(2, 2\), and there are 3 features"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.GaussianClassifier(estimate="bayes", **options).fit(X, y)

    @pytest.mark.parametrize("m", [cw.QDA(prior="strong"), cw.NaiveBayes(prior="strong")], ids=repr)
    def test_a_prior_that_is_none_is_refused_even_where_none_is_needed(self, m):
        with pytest.raises(cw.ClasswiseError, match="prior='strong' is not an option"):
            m.fit(X, y)

    @pytest.mark.parametrize("m", [cw.QDA(), cw.QDA(estimate="bayes", prior="geisser")], ids=repr)
    def test_models_without_evidence(self, m):
        with pytest.raises(cw.ClasswiseError, match="no closed-form marginal likelihood"):
            _ = m.fit(X, y).log_marginal_likelihood_


class TestChosenPriors:
    """prior="cv" and prior="loo": the strength under which rows held out are classified best."""

    weights = np.random.default_rng(5).choice([0.5, 1.0, 2.0], len(y))

    @each_case
    @pytest.mark.parametrize("weighted", [False, True])
    def test_leaving_out_by_formula_equals_fitting_without_each_row(self, structure, share, weighted):
        """Under a prior that was given."""
        weights = self.weights if weighted else np.ones(len(y))
        form = "full" if structure == "full" else "diagonal"
        statistics = cw.summarize(X, y, weights, scatter=form)
        posterior = PRIOR.of(P).within(STRUCTURES[structure]).updated(statistics, share == 1)
        predictives = Predictives(posterior, statistics.weight)
        for row in range(len(y)):
            rest = np.arange(len(y)) != row
            part = bayes(structure, share, PRIOR).fit(X[rest], y[rest], weights[rest])
            ours = predictives.log_density(X[row : row + 1], y[row], weights[row])[:, 0]
            np.testing.assert_allclose(ours, part.log_density(X[row : row + 1])[0], rtol=1e-9)

    def test_all_strengths_at_once_equal_one_by_one(self):
        statistics = cw.summarize(X, y, self.weights)
        strengths = np.array([1.0, 10.0, 1000.0])
        for diagonal in (0.1, 1.0):
            path = replace(StrengthPath.of(statistics, strengths, diagonal), held=0.0)
            for i, rows in enumerate(strengths):
                form = PriorForm.of_strength(rows, diagonal).of(statistics.moments)
                posterior = form.within(STRUCTURES["full"]).updated(statistics, False)
                for k in range(3):
                    weight = float(self.weights[y == k][0])
                    one = Predictives(posterior, statistics.weight).log_density(X[y == k], k, weight)
                    np.testing.assert_allclose(path.log_density(X[y == k], k, weight)[:, :, i], one, rtol=1e-9)

    @each_case
    def test_a_prior_that_rows_have_made_is_without_the_row_too(self, structure, share):
        """Nearly: its mean stays, and where it is diagonal in a full covariance, variances stay."""
        m = bayes(structure, share, "loo").fit(X, y)
        for i, form in enumerate(m.prior_choice_.priors):
            if form.freedom < 100 and (structure != "full" or form.diagonal < 0.2):
                lost = 0.0
                for row in range(len(y)):
                    rest = np.arange(len(y)) != row
                    part = bayes(structure, share, form).fit(X[rest], y[rest])
                    scores = part.log_density(X[row : row + 1])[0] + np.log(m.priors_)
                    lost += np.logaddexp.reduce(scores) - scores[y[row]]
                assert m.prior_choice_.log_loss[i] == pytest.approx(lost / len(y), rel=0.08), form

    def test_a_strong_prior_does_not_know_the_rows_it_is_judged_by(self):
        """Eight wines of each kind, thirteen features: what a prior promises is near to what it keeps."""
        rows, labels = load_wine(return_X_y=True)
        kept, promised = [], []
        for seed in range(4):
            generator = np.random.default_rng(seed)
            few = np.concatenate([generator.permutation(np.flatnonzero(labels == k))[:8] for k in range(3)])
            others = np.setdiff1d(np.arange(len(labels)), few)
            m = bayes("full", 0, "loo").fit(rows[few], labels[few])
            covariance = m.prior_choice_.log_loss[:7]  # towards the pooled covariance, which has seen every row
            promised.append(covariance.min())
            kept.append(m.evaluate(rows[others], labels[others]).log_loss)
        assert np.mean(promised) > 0.05
        assert np.mean(kept) < 0.5

    def test_in_folds(self):
        folds = StratifiedKFold(4, shuffle=True, random_state=0)
        m = bayes("full", 0, "cv").set_params(folds=folds).fit(X, y)
        form = m.prior_choice_.priors[5]
        logs = cross_val_predict(bayes("full", 0, form), X, y, cv=folds, method="predict_log_proba")
        assert m.prior_choice_.log_loss[5] == pytest.approx(-logs[np.arange(len(y)), y].mean(), rel=1e-9)

    @pytest.mark.parametrize("prior", ["cv", "loo"])
    def test_the_model_is_that_of_the_best(self, prior):
        m = bayes("full", 0, prior).fit(X, y)
        choice = m.prior_choice_
        assert choice.log_loss[choice.priors.index(choice.best)] == choice.log_loss.min()
        plain = bayes("full", 0, choice.best).fit(X, y)
        np.testing.assert_allclose(m.predict_log_proba(X), plain.predict_log_proba(X), rtol=1e-12)
        np.testing.assert_allclose(m.leave_one_out(X, y), plain.leave_one_out(X, y), rtol=1e-9)
        assert "rows, " in repr(choice)

    def test_few_rows_are_shared_and_many_are_not(self):
        rng = np.random.default_rng(0)
        turns = [np.eye(4), np.linalg.qr(rng.normal(size=(4, 4)))[0]]

        def strength(size):
            labels = np.repeat([0, 1], size)
            rows = rng.normal(size=(2 * size, 4)) * [3.0, 1.0, 1.0, 0.3]
            rows = np.concatenate([rows[:size] @ turns[0], rows[size:] @ turns[1] + 0.5])
            return bayes("full", 0, "loo").fit(rows, labels).prior_choice_.best.freedom

        assert strength(2000) < strength(6)

    def test_other_columns_and_gaps_take_folds(self):
        rng = np.random.default_rng(0)
        rows = X.copy()
        rows[rng.random(X.shape) < 0.1] = np.nan
        one, other = (bayes("full", 0, prior).fit(rows, y).prior_choice_ for prior in ("loo", "cv"))
        np.testing.assert_array_equal(one.log_loss, other.log_loss)
        assert len(one.priors) == 12

    def test_naive_bayes(self):
        m = cw.NaiveBayes(estimate="bayes", prior="loo").fit(X, y)
        same = cw.GaussianClassifier(structure="diagonal", estimate="bayes", prior="loo").fit(X, y)
        np.testing.assert_allclose(m.prior_choice_.log_loss, same.prior_choice_.log_loss, rtol=1e-12)
        np.testing.assert_allclose(m.predict_proba(X), same.predict_proba(X), rtol=1e-9)

    def test_the_rows_are_needed(self):
        m = bayes("full", 0, "loo")
        with pytest.raises(cw.ClasswiseError, match="prior='loo' needs the rows: call fit"):
            m.fit_statistics(cw.summarize(X, y))
        assert not hasattr(m, "partial_fit")

    def test_without_bayes_the_prior_is_not_chosen(self):
        assert not hasattr(cw.QDA(prior="loo").fit(X, y), "prior_choice_")
