from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import comb, gammaln
from scipy.stats import betabinom, binom

from drurank import mixture
from drurank.mixture import COMPONENTS, DRAWS, POINT_PRIOR, WEIGHT_PRIOR, Mixtures, Tally, draw_mixtures, log_likelihood


@pytest.mark.parametrize("precision", [0.7, 3.0, 400.0, 1e7])
@pytest.mark.parametrize("mean", [0.1, 0.5, 0.99])
def test_likelihood_is_that_of_scipys_beta_binomial(mean, precision):
    correct, count = np.array([0, 3, 9, 40]), np.array([5, 8, 9, 75])
    found = log_likelihood(correct, count, np.array(mean), np.array(precision))
    want = betabinom.logpmf(correct, count, mean * precision, (1 - mean) * precision) - np.log(comb(count, correct))
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_likelihood_of_a_point_is_the_binomials():
    correct, count = np.array([0, 3, 9]), np.array([5, 8, 9])
    found = log_likelihood(correct[:, None], count[:, None], np.array([0.2, 0.7]), np.array([np.inf, 5.0]))
    np.testing.assert_allclose(found[:, 0], binom.logpmf(correct, count, 0.2) - np.log(comb(count, correct)))
    np.testing.assert_allclose(found[:, 1], log_likelihood(correct, count, np.array(0.7), np.array(5.0)))


# ---- groups counted together


def test_equal_groups_are_counted_together():
    found = Tally.of(np.array([3, 1, 3, 3]), np.array([4, 4, 5, 4]))
    rows = sorted(zip(found.correct, found.count, found.times, strict=True))
    assert rows == [(1, 4, 1), (3, 4, 2), (3, 5, 1)]
    np.testing.assert_array_equal(found.correct[found.place], [3, 1, 3, 3])
    np.testing.assert_array_equal(found.count[found.place], [4, 4, 5, 4])


def test_too_many_different_groups_are_pooled_with_others_that_chance_could_not_tell_apart():
    rng = np.random.default_rng(0)
    count = rng.lognormal(6, 1.5, 20_000).astype(int) + 1
    correct = rng.binomial(count, rng.beta(8, 2, 20_000))
    found = Tally.of(correct, count, limit=1500)
    assert len(found.times) <= 1500
    assert found.times.sum() == 20_000
    assert found.times @ found.correct == pytest.approx(correct.sum())
    assert found.times @ found.count == pytest.approx(count.sum())
    pooled = (found.correct / found.count)[found.place]
    error = np.sqrt(pooled * (1 - pooled) / count).clip(1e-9)
    away = np.abs(correct / count - pooled) / np.maximum(error, 0.5 / count)
    assert ((away < 1) | (np.abs(correct / count - pooled) < 0.02)).all()


# ---- the posterior


def test_one_component_has_its_exact_posterior():
    """The chance that all groups are alike: that of one point against each spread, the mean integrated out."""
    correct, count = np.array([3, 7, 5, 9, 6, 4, 8, 8]), np.full(8, 10)
    tally = Tally.of(correct, count)
    spreads = mixture._candidate_spreads(tally)

    def evidence(relative):
        k = 1 / relative**2 - 1 if relative else np.inf
        likelihood = binom.pmf if not relative else None

        def at(mean):
            if likelihood:
                return np.prod(binom.pmf(correct, count, mean))
            return np.prod(betabinom.pmf(correct, count, mean * k, (1 - mean) * k))

        return quad(at, 1e-4, 1 - 1e-4, epsabs=0, epsrel=1e-6)[0]

    point = POINT_PRIOR * evidence(0)
    spread = (1 - POINT_PRIOR) * np.mean([evidence(one) for one in spreads])
    sampler = mixture._Sampler(tally, np.random.default_rng(0))
    assert sampler.chance_of_a_point() == pytest.approx(point / (point + spread), abs=0.005)
    drawn = [np.isinf(sampler.single().precision[:, 0]) for _ in range(40)]
    assert np.mean(drawn) == pytest.approx(point / (point + spread), abs=0.02)


def test_several_components_have_the_posterior_of_all_ways_to_share_out_the_groups():
    """Exact by enumeration: every assignment of three groups to the components, weighed by its evidence."""
    correct, count = np.array([2, 17, 18]), np.array([20, 20, 20])
    tally = Tally.of(correct, count)
    sampler = mixture._Sampler(tally, np.random.default_rng(1))
    height, k = sampler.height[tally.place], sampler.precisions

    def of_members(members):
        """Log evidence of one component with these groups, and the expected accuracy of each group in it."""
        right, wrong = correct[members].sum(), (count - correct)[members].sum()
        point = np.log(POINT_PRIOR) + gammaln(right + 1) + gammaln(wrong + 1) - gammaln(right + wrong + 2)
        total = np.append(height[members].sum(axis=0) + sampler.prior, point)
        log = np.logaddexp.reduce(total)
        share = np.exp(total - log)
        of_grid = (sampler.means * k + correct[:, None]) / (k + count[:, None])
        return log, of_grid @ share[:-1] + share[-1] * (right + 1) / (right + wrong + 2)

    logs, means = [], []
    for assigned in product(range(COMPONENTS), repeat=3):
        log, mean = 0.0, np.zeros(3)
        for component in set(assigned):
            members = np.array(assigned) == component
            log += gammaln(WEIGHT_PRIOR + members.sum()) - gammaln(WEIGHT_PRIOR)
            evidence, expected = of_members(members)
            log, mean = log + evidence, np.where(members, expected, mean)
        logs.append(log)
        means.append(mean)
    share = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    want = share @ np.array(means)

    found = []
    for seed in range(12):
        drawn = mixture._Sampler(tally, np.random.default_rng(seed)).several()
        for part, mean, precision in zip(drawn.responsibility(tally), drawn.mean, drawn.precision, strict=True):
            point = np.isinf(precision)
            kept = np.where(point, 0, precision)
            each = (mean * kept + tally.correct[:, None]) / (kept + tally.count[:, None])
            found.append((part * np.where(point, mean, each)).sum(axis=1)[tally.place])
    np.testing.assert_allclose(np.mean(found, axis=0), want, atol=0.012)
    assert want[0] < 0.2 < 0.8 < want[1] < want[2]


def test_prediction_is_scored_by_waic():
    tally = Tally.of(np.array([3, 3, 9]), np.array([10, 10, 10]))
    drawn = Mixtures(
        np.array([[0.5, 0.5], [0.1, 0.9]]),
        np.array([[0.3, 0.9], [0.4, 0.8]]),
        np.array([[np.inf, 5.0], [8.0, 9.0]]),
        np.zeros(2),
    )
    want = 0.0
    for correct, count, times in ((3, 10, 2), (9, 10, 1)):
        density = []
        for weights, means, precisions in zip(drawn.weight, drawn.mean, drawn.precision, strict=True):
            parts = [
                w * (binom.pmf(correct, count, m) if np.isinf(k) else betabinom.pmf(correct, count, m * k, k - m * k))
                for w, m, k in zip(weights, means, precisions, strict=True)
            ]
            density.append(sum(parts) / comb(count, correct))
        want += times * (np.log(np.mean(density)) - np.var(np.log(density), ddof=1))
    assert mixture._predicts(drawn, tally) == pytest.approx(want)


def test_drawn_accuracies_have_the_posterior_of_their_component():
    drawn = Mixtures(
        *(
            np.repeat(np.array([row]), 4000, axis=0)
            for row in ([0.3, 0.7, *[1e-300] * 4], [0.2, 0.9, *[0.5] * 4], [np.inf, 20.0, *[1.0] * 4])
        )
    )
    correct, count = np.array([3, 10, 40]), np.array([10, 10, 50])
    found = drawn.draw(correct, count, Tally.of(correct, count), np.random.default_rng(0))
    for i, (right, seen) in enumerate(zip(correct, count, strict=True)):
        point = 0.3 * binom.pmf(right, seen, 0.2)
        spread = 0.7 * betabinom.pmf(right, seen, 18, 2)
        assert (found[:, i] == 0.2).mean() == pytest.approx(point / (point + spread), abs=0.03)
        others = found[found[:, i] != 0.2, i]
        assert others.mean() == pytest.approx((18 + right) / (20 + seen), abs=0.01)


def test_there_are_as_many_mixtures_whatever_their_kind():
    rng = np.random.default_rng(3)
    for true in (np.full(60, 0.8), np.where(np.arange(60) < 20, 0.3, 0.9)):
        drawn, _ = draw_mixtures(Tally.of(rng.binomial(50, true), np.full(60, 50)), np.random.default_rng(0))
        assert drawn.weight.shape == drawn.mean.shape == drawn.precision.shape == (DRAWS, COMPONENTS)
        np.testing.assert_allclose(drawn.weight.sum(axis=1), 1)
        assert ((drawn.mean > 0) & (drawn.mean < 1)).all()
