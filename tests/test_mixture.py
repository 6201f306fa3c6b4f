import math

import numpy as np
import pytest
from scipy.special import comb
from scipy.stats import betabinom, binom

from drurank.mixture import Mixtures, Tally, log_likelihood

pytestmark = pytest.mark.usefixtures("all_draws")


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


# ---- mixtures


def test_drawn_accuracies_have_the_posterior_of_their_component():
    rows = ([0.3, 0.7, *[1e-300] * 4], [0.2, 0.9, *[0.5] * 4], [np.inf, 20.0, *[1.0] * 4])
    drawn = Mixtures(*(np.tile(row, (4000, 1, 1)) for row in rows), np.zeros(0))
    correct, count = np.array([3, 10, 40]), np.array([10, 10, 50])
    found = drawn.draw(correct, count, Tally.of(correct, count), np.random.default_rng(0))
    for i, (right, seen) in enumerate(zip(correct, count, strict=True)):
        point = 0.3 * binom.pmf(right, seen, 0.2)
        spread = 0.7 * betabinom.pmf(right, seen, 18, 2)
        assert (found[:, i] == 0.2).mean() == pytest.approx(point / (point + spread), abs=0.03)
        others = found[found[:, i] != 0.2, i]
        mean = (18 + right) / (20 + seen)
        assert others.mean() == pytest.approx(mean, abs=5 * math.sqrt(mean * (1 - mean) / (21 + seen) / len(others)))
    want = drawn.some(slice(0, 2)).posterior_mean(correct, count)
    np.testing.assert_allclose(found.mean(axis=0), want, atol=0.012)


def test_groups_of_a_range_of_sizes_have_the_mixture_of_that_range():
    point = np.array([[[0.3], [0.9]]]).repeat(6, axis=2)
    drawn = Mixtures(np.full((1, 2, 6), 1 / 6), point, np.full((1, 2, 6), np.inf), np.array([50.0]))
    correct, count = np.array([1, 40, 40]), np.array([5, 49, 50])
    assert drawn.draw(correct, count, Tally.of(correct, count), np.random.default_rng(0)).tolist() == [[0.3, 0.3, 0.9]]
    np.testing.assert_allclose(drawn.posterior_mean(correct, count), [0.3, 0.3, 0.9])
