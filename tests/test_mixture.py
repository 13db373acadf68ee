"""Mixtures within classes: the density, EM, and where it starts."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from scipy.stats import multivariate_normal

import classwise as cw
from classwise.covariance import FullCovariance, read_prior
from classwise.densities import Gaussian, Mixture
from classwise.densities.em import Arranged, ComponentSearch, PseudoRows, component_counts, fit_mixture, learn_mixture
from classwise.densities.em.ascent import MixtureEM, Seeding, as_mixture, clusters, nearest
from classwise.densities.em.expectation import MixtureParameters, expect, log_prior, maximize
from classwise.errors import ClasswiseError
from classwise.statistics import FullScatter, PooledScatter, gather_moments


def clustered(n=120, features=2, seed=0, gaps=0.0):
    """Two classes of two clusters each; rows, codes."""
    rng = np.random.default_rng(seed)
    centers = 3.0 * rng.normal(size=(4, features))
    which = rng.integers(4, size=n)
    rows = centers[which] + rng.normal(size=(n, features)) @ (np.eye(features) + 0.3 * np.ones((features, features)))
    rows[rng.random(rows.shape) < gaps] = np.nan
    return rows, which // 2


def arrange(rows, codes, tied=True, weights=None):
    """Rows arranged for EM, and the weak prior of those that are complete."""
    weights = np.ones(len(rows)) if weights is None else weights
    count, complete = codes.max() + 1, ~np.isnan(rows).any(axis=1)
    form = PooledScatter if tied else FullScatter
    moments = gather_moments(rows[complete], codes[complete], count, weights[complete], form)
    return Arranged.of(rows, codes, weights, moments.mean, 1 if tied else count), PseudoRows.weak(moments)


def objective(rows, codes, mixture, prior):
    """The log posterior up to a constant, straight from its definition, by SciPy."""
    covariances = mixture.components.matrices()
    total = prior.alike * np.log(mixture.share).sum()
    for row, k in zip(rows, codes, strict=True):
        there = np.flatnonzero(~np.isnan(row))
        own = np.flatnonzero(mixture.owner == k)
        if len(there):
            means, part = mixture.components.means[own][:, there], covariances[own][:, there][:, :, there]
            scores = [multivariate_normal(m, c).logpdf(row[there]) for m, c in zip(means, part, strict=True)]
            total += logsumexp(np.array(scores) + np.log(mixture.share[own]))
    first = [int(np.argmax(mixture.owner == k)) for k in range(mixture.count)] if mixture.kinds > 1 else [0]
    for c in first:
        precision = np.linalg.inv(covariances[c])
        total += prior.strength / 2 * np.linalg.slogdet(precision)[1] - np.trace(precision @ prior.scale) / 2
    for mean, covariance in zip(mixture.components.means, covariances, strict=True):
        away = mean - prior.mean
        total -= prior.kappa / 2 * away @ np.linalg.solve(covariance, away)
    return total


class TestDensity:
    mixture = Mixture(
        np.array([0, 0, 1]),
        np.array([0.3, 0.7, 1.0]),
        Gaussian(np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 3.0]]), FullCovariance(np.array([[[2.0, 0.6], [0.6, 1.0]]]))),
        1,
    )
    rows = np.random.default_rng(0).normal(size=(50, 2)) * 3

    def expected(self, rows, columns=(0, 1)):
        columns = list(columns)
        mean, covariance = self.mixture.components.means[:, columns], self.mixture.components.matrices()[0]
        part = covariance[np.ix_(columns, columns)]
        scores = np.array([multivariate_normal(m, part).logpdf(rows[:, columns]) for m in mean])
        return np.array([np.logaddexp(np.log(0.3) + scores[0], np.log(0.7) + scores[1]), scores[2]])

    def test_is_the_sum_over_components(self):
        found = self.mixture.relative(self.rows, np.zeros((2, 1))) + self.mixture.common(self.rows)
        np.testing.assert_allclose(found, self.expected(self.rows), rtol=1e-12)

    def test_a_prior_of_zero_rules_a_class_out(self):
        found = self.mixture.relative(self.rows, np.array([[0.0], [-np.inf]]))
        assert np.isfinite(found[0]).all()
        assert (found[1] == -np.inf).all()

    def test_gaps_are_integrated_out(self):
        rows = self.rows.copy()
        rows[:20, 0], rows[20:30, 1], rows[30] = np.nan, np.nan, np.nan
        found = self.mixture.observed(rows, np.zeros((2, 1)))
        np.testing.assert_allclose(found[:, :20], self.expected(rows[:20], [1]), rtol=1e-12)
        np.testing.assert_allclose(found[:, 20:30], self.expected(rows[20:30], [0]), rtol=1e-12)
        np.testing.assert_allclose(found[:, 30], 0.0, atol=1e-12)
        np.testing.assert_allclose(found[:, 31:], self.expected(rows[31:]), rtol=1e-12)

    def test_samples_have_its_moments(self):
        codes = np.repeat([0, 1], 200_000)
        drawn = self.mixture.sample(codes, np.random.default_rng(0))
        for k in (0, 1):
            own = drawn[codes == k]
            for j, of in enumerate(self.mixture.parameters()):
                np.testing.assert_allclose(own[:, j].mean(), of["mean"][k], atol=0.02)
                np.testing.assert_allclose(own[:, j].var(), of["variance"][k], rtol=0.02)
        first = drawn[codes == 0]
        near = self.mixture.responsibilities(first)[1] > 0.5
        assert abs(near.mean() - 0.7) < 0.02

    def test_samples_of_each_class_are_of_its_own_components(self):
        means = np.array([[0.0], [10.0], [20.0], [30.0]])
        split = Mixture(np.array([0, 0, 1, 1]), np.array([0.25, 0.75, 0.9, 0.1]), Gaussian(means, unit(1)), 1)
        codes = np.repeat([1, 0], 5000)
        drawn = split.sample(codes, np.random.default_rng(0))[:, 0]
        nearest_mean = np.abs(drawn[:, None] - means[:, 0]).argmin(axis=1)
        np.testing.assert_allclose(np.bincount(nearest_mean[:5000]) / 5000, [0, 0, 0.9, 0.1], atol=0.02)
        np.testing.assert_allclose(np.bincount(nearest_mean[5000:]) / 5000, [0.25, 0.75], atol=0.02)

    def test_free_parameters(self):
        assert self.mixture.free_parameters == 6 + 3 + 1
        own = FullCovariance(self.mixture.components.covariance.values[[0, 0, 0]])
        by_class = replace(self.mixture, components=Gaussian(self.mixture.components.means, own), kinds=2)
        assert by_class.free_parameters == 6 + 2 * 3 + 1

    def test_shares_leave_only_what_components_are_worth(self):
        zeros = np.zeros((2, 1))
        for row in self.rows[:10]:
            log_density = self.mixture.observed(row[None], zeros)[:, 0]
            weight = self.mixture.responsibilities(row[None])[:2, 0]
            rest = weight @ np.log(self.mixture.share[:2] / weight)
            shares = self.mixture.shares(row, 0, 1)
            np.testing.assert_allclose(shares.sum() + rest, log_density[0] - log_density[1], rtol=1e-9)

    def test_one_component_each_has_the_shares_of_gaussians(self):
        gaussian = Gaussian(np.array([[0.0, 1.0], [2.0, -1.0]]), self.mixture.components.covariance)
        single = Mixture(np.arange(2), np.ones(2), gaussian, 1)
        row = np.array([0.3, np.nan])
        np.testing.assert_allclose(single.shares(row, 0, 1), gaussian.shares(row, 0, 1))

    def test_sound_or_not(self):
        assert self.mixture._is_sound()
        assert not replace(self.mixture, owner=np.array([0, 1, 0]))._is_sound()
        assert not replace(self.mixture, owner=np.array([1, 1, 2]))._is_sound()
        assert not replace(self.mixture, owner=np.array([0, 0, 2]))._is_sound()
        assert not replace(self.mixture, share=np.array([0.3, 0.6, 1.0]))._is_sound()
        assert not replace(self.mixture, share=np.array([1.0, 1.0]))._is_sound()
        assert not replace(self.mixture, kinds=3)._is_sound()
        assert not replace(self.mixture, kinds=2)._is_sound()


class TestClimbing:
    @pytest.mark.parametrize("tied", [True, False])
    @pytest.mark.parametrize("gaps", [0.0, 0.3])
    def test_the_objective_is_that_of_the_definition(self, tied, gaps):
        rows, codes = clustered(gaps=gaps)
        arranged, prior = arrange(rows, codes, tied)
        climb = MixtureEM(arranged, prior, Seeding.of(arranged, prior).starts([2, 2], 1, np.random.default_rng(0))[0])
        climb.go(3, 0.0)
        here = expect(arranged, climb.parameters).log_likelihood + log_prior(arranged, climb.parameters, prior)
        np.testing.assert_allclose(here, objective(rows, codes, as_mixture(arranged, climb.parameters), prior))

    @pytest.mark.parametrize("tied", [True, False])
    @settings(max_examples=25, deadline=None)
    @given(
        st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 4), st.sampled_from([0.0, 0.25]), st.integers(6, 60)
    )
    def test_it_never_falls(self, tied, seed, features, components, gaps, n):
        rows, codes = clustered(n, features, seed, gaps)
        codes[:2], rows[:2] = [0, 1], np.nan_to_num(rows[:2])
        arranged, prior = arrange(rows, codes, tied)
        counts = component_counts(arranged.weight, components)
        start = Seeding.of(arranged, prior).starts(counts, 1, np.random.default_rng(seed))[0]
        path = np.array(MixtureEM(arranged, prior, start).go(60, -np.inf).path)
        assert (np.diff(path) >= -1e-9 * (1 + np.abs(path[1:]))).all()

    @pytest.mark.parametrize("tied", [True, False])
    @pytest.mark.parametrize("gaps", [0.0, 0.25])
    def test_no_optimizer_climbs_higher(self, tied, gaps):
        rows, codes = clustered(60, 2, 3, gaps)
        arranged, prior = arrange(rows, codes, tied)
        learned = learn_mixture(arranged, prior, ComponentSearch(2, tolerance=1e-14, most=5000))
        mixture = learned.mixture
        kinds, size = mixture.kinds, mixture.components.means.size

        def unpacked(values):
            means, logits, roots = np.split(values, [size, size + 4])
            lower = np.zeros((kinds, 2, 2))
            lower[:, [0, 1, 1], [0, 0, 1]] = roots.reshape(kinds, 3)
            lower[:, [0, 1], [0, 1]] = np.exp(lower[:, [0, 1], [0, 1]])
            share = np.exp(logits - np.repeat(logsumexp(logits.reshape(2, 2), axis=1), 2))
            covariances = lower @ lower.transpose(0, 2, 1)
            covariance = FullCovariance(covariances[mixture.owner] if kinds > 1 else covariances)
            return Mixture(mixture.owner, share, Gaussian(means.reshape(-1, 2), covariance), kinds)

        firsts = [0, 2][:kinds]
        roots = np.linalg.cholesky(mixture.components.matrices()[firsts])
        packed = np.stack([np.log(roots[:, 0, 0]), roots[:, 1, 0], np.log(roots[:, 1, 1])], axis=1)
        start = np.concatenate([mixture.components.means.ravel(), np.log(mixture.share), packed.ravel()])
        here = objective(rows, codes, mixture, prior)
        np.testing.assert_allclose(objective(rows, codes, unpacked(start), prior), here)
        np.testing.assert_allclose(here, learned.ascent.objective[-1], rtol=1e-9)
        found = minimize(lambda values: -objective(rows, codes, unpacked(values), prior), start, method="BFGS")
        assert -found.fun <= here + 1e-6 * abs(here)
        np.testing.assert_allclose(unpacked(found.x).components.means, mixture.components.means, atol=2e-3)

    @pytest.mark.parametrize("tied", [True, False])
    def test_one_component_is_what_the_prior_of_one_gaussian_leads_to_expect(self, tied):
        rows, codes = clustered(80, 3)
        arranged, prior = arrange(rows, codes, tied)
        mixture = learn_mixture(arranged, prior, ComponentSearch(1)).mixture
        statistics = cw.summarize(rows, codes)
        posterior = read_prior("weak", statistics, FullCovariance, tied).updated(statistics, tied)
        expected = posterior.scale / (posterior.freedom() - 3 - 1)[:, :, None]
        np.testing.assert_allclose(mixture.components.means, posterior.means, rtol=1e-10)
        np.testing.assert_allclose(mixture.components.covariance.values, expected, rtol=1e-8, atol=1e-10)

    def test_more_columns_than_rows(self):
        rng = np.random.default_rng(0)
        rows, codes = rng.normal(size=(30, 50)), np.repeat([0, 1], 15)
        rows[codes == 1, :3] += 4
        mixture = fit_mixture(rows, codes, 2, components=3)
        assert mixture.components.count == 6
        assert np.isfinite(mixture.components.covariance.half_log_det).all()
        assert (mixture.relative(rows, np.zeros((2, 1))).argmax(axis=0) == codes).all()

    def test_many_pieces_and_threads_give_the_same(self, monkeypatch):
        rows, codes = clustered(400, 3, gaps=0.1)
        arranged, prior = arrange(rows, codes)
        start = Seeding.of(arranged, prior).starts([2, 2], 1, np.random.default_rng(0))[0]
        whole = expect(arranged, start)
        monkeypatch.setattr("classwise.densities.em.arranged.PIECE", 60)
        monkeypatch.setattr("classwise.densities.em.arranged.BATCH", 40)
        pieces, _ = arrange(rows, codes)
        assert len(pieces.parts) > 20
        assert pieces.is_large
        assert not arranged.is_large
        for name in ("log_likelihood", "by_class", "weight", "sums", "products"):
            np.testing.assert_allclose(getattr(expect(pieces, start), name), getattr(whole, name), rtol=1e-10)


class TestPatterns:
    """Many patterns of gaps: some of one row, one of more rows than columns, some that lack nearly all."""

    def rows(self, scale=1.0):
        rows, codes = clustered(160, 6, gaps=0.15)
        rows[:40, 2], rows[:40, [0, 1, 3, 4, 5]] = np.nan, np.nan_to_num(rows[:40, [0, 1, 3, 4, 5]])
        rows[40:44, 1:] = np.nan
        return rows * scale, codes

    @pytest.mark.parametrize("tied", [True, False])
    @pytest.mark.parametrize("scale", [1.0, np.logspace(-6, 6, 6)], ids=["same units", "other units"])
    def test_rows_are_completed_by_what_each_component_expects(self, tied, scale):
        """Against the definition in one unit, row by row and component by component."""
        rows, codes = self.rows(scale)
        units = np.broadcast_to(scale, 6)
        weights = np.random.default_rng(2).uniform(0.5, 2, len(rows))
        arranged, prior = arrange(rows, codes, tied, weights)
        at = Seeding.of(arranged, prior).starts([2, 2], 1, np.random.default_rng(0))[0]
        found = expect(arranged, at)
        weight, sums, products = np.zeros(4), np.zeros((4, 6)), np.zeros(found.products.shape)
        for row, k, w in zip(rows, codes, weights, strict=True):
            own, covariance = at.of(k), at.covariance.values[arranged.kind(k)] / np.outer(units, units)
            there, missing = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
            if not len(there):
                continue
            r, d = (row - arranged.centers[k]) / units, at.shift[own] / units
            inner = covariance[np.ix_(there, there)]
            scores = [multivariate_normal(m[there], inner).logpdf(r[there]) for m in d]
            responsible = w * np.exp(log_softmax(np.array(scores) + np.log(at.share[own])))
            slope = np.linalg.solve(inner, covariance[np.ix_(there, missing)]).T
            left = covariance[np.ix_(missing, missing)] - slope @ covariance[np.ix_(there, missing)]
            for c, (share, mean) in enumerate(zip(responsible, d, strict=True), own.start):
                whole = r.copy()
                whole[missing] = mean[missing] + slope @ (r - mean)[there]
                weight[c] += share
                sums[c] += share * whole
                products[arranged.kind(k)] += share * np.outer(whole, whole)
                products[arranged.kind(k)][np.ix_(missing, missing)] += share * left
        np.testing.assert_allclose(found.weight, weight, rtol=1e-10)
        np.testing.assert_allclose(found.sums / units, sums, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(found.products / np.outer(units, units), products, rtol=1e-10, atol=1e-9)

    def test_inverses_are_of_what_is_missing(self, monkeypatch):
        """Not of what is there, which is mostly far more: a pattern then costs little more than its rows."""
        rows, codes = clustered(120, 12)
        rows[np.arange(120), np.random.default_rng(0).integers(0, 12, 120)] = np.nan
        rows[:10] = np.nan_to_num(rows[:10])
        rows[20:40, 3] = np.nan
        arranged, prior = arrange(rows, codes)
        at = Seeding.of(arranged, prior).starts([2, 2], 1, np.random.default_rng(0))[0]
        sizes, inverse = [], np.linalg.inv
        monkeypatch.setattr(np.linalg, "inv", lambda matrices: sizes.append(matrices.shape[-1]) or inverse(matrices))
        expect(arranged, at)
        assert max(sizes) == 2


class TestRows:
    def test_weights_are_repeats(self):
        rows, codes = clustered(90, 2)
        times = np.random.default_rng(1).integers(1, 4, size=90)
        weighted = fit_mixture(rows, codes, 2, components=2, weights=times.astype(float))
        repeated = fit_mixture(np.repeat(rows, times, axis=0), np.repeat(codes, times), 2, components=2)
        np.testing.assert_allclose(weighted.components.means, repeated.components.means, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(weighted.share, repeated.share, rtol=1e-6)

    def test_their_order_does_not_matter(self):
        rows, codes = clustered(150, 3)
        order = np.random.default_rng(2).permutation(150)
        one, other = fit_mixture(rows, codes, 2), fit_mixture(rows[order], codes[order], 2)
        np.testing.assert_allclose(one.components.means, other.components.means, rtol=1e-6, atol=1e-8)

    def test_a_seed_gives_the_same_twice(self):
        rows, codes = clustered(150, 3)
        one, other = (fit_mixture(rows, codes, 2, random_state=5) for _ in range(2))
        np.testing.assert_array_equal(one.components.means, other.components.means)

    def test_units_and_origin_do_not_matter(self):
        rows, codes = clustered(150, 3)
        scale, origin = np.array([1e-6, 1.0, 1e5]), np.array([1e3, -1e6, 0.0])
        one, other = fit_mixture(rows, codes, 2), fit_mixture(rows * scale + origin, codes, 2)
        moved = (other.components.means - origin) / scale
        np.testing.assert_allclose(moved, one.components.means, rtol=1e-4, atol=1e-4)

    def test_classes_of_few_rows_have_fewer_components(self):
        assert component_counts(np.array([1.0, 9.0, 10.0, 14.0, 15.0, 900.0]), 3).tolist() == [1, 1, 2, 2, 3, 3]

    def test_equal_rows_are_one_cluster(self):
        rows = np.r_[np.zeros((20, 1)), np.ones((20, 1)), np.linspace(5, 6, 20)[:, None]]
        mixture = fit_mixture(rows, np.repeat([0, 0, 1], 20), 2, components=4)
        assert np.bincount(mixture.owner).tolist() == [2, 4]

    def test_columns_that_never_vary_do_no_harm(self):
        rows, codes = clustered(90, 2)
        flat = np.column_stack([rows, np.full(90, 7.0)])
        found = fit_mixture(flat, codes, 2, components=2)
        assert np.isfinite(found.relative(flat, np.zeros((2, 1)))).all()


class TestStart:
    def test_clusters_are_found(self):
        rng = np.random.default_rng(0)
        truth = np.repeat([0, 1, 2], 50)
        rows = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])[truth] + rng.normal(size=(150, 2))
        for seed in range(5):
            centers = clusters(rows, np.ones(150), 3, np.random.default_rng(seed))
            assert len(np.unique(np.stack([nearest(rows, centers), truth]), axis=1).T) == 3

    def test_the_best_of_several_starts_is_no_worse_than_any(self):
        rows, codes = cw.datasets.banana(300, random_state=1)
        arranged, prior = arrange(rows, codes)
        search = partial(ComponentSearch, 4, tolerance=1e-9)
        several = learn_mixture(arranged, prior, search(starts=6)).ascent.objective[-1]
        single = [learn_mixture(arranged, prior, search(starts=1), seed).ascent.objective[-1] for seed in range(6)]
        assert several >= np.median(single) - 1e-6

    def test_a_prior_must_lead_to_expect_a_covariance(self):
        prior = cw.NormalInverseWishart(mean=0.0, kappa=0.1, nu=3, scale=1.0)
        with pytest.raises(ClasswiseError, match="nu above 3"):
            PseudoRows.of(prior.of(2).within(FullCovariance))

    def test_maximize_keeps_a_component_without_rows_where_the_prior_has_it(self):
        rows, codes = clustered(40, 2)
        arranged, prior = arrange(rows, codes)
        owner = np.array([0, 0, 1])
        far = MixtureParameters(owner, np.full(3, 0.5), np.array([[0.0, 0.0], [1e6, 1e6], [0.0, 0.0]]), unit(2))
        found = maximize(arranged, expect(arranged, far), prior, owner)
        np.testing.assert_allclose(arranged.centers[0] + found.shift[1], prior.mean, atol=1e-9)
        assert 0 < found.share[1] < 0.1


def unit(features):
    return FullCovariance(np.eye(features)[None])
