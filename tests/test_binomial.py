"""Tails and likelihoods of counts of any size, against exact sums and integers, mpmath and the normal distribution."""

import math
from fractions import Fraction
from itertools import accumulate

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from drurank.binomial import at_least, at_most, ends, quantile, relative_likelihood
from drurank.checks import MOST_ROWS

SIZES = [2**31 - 1, 2**31 + 10, 2**40, MOST_ROWS]


def exact_share(number, count, chance):
    return math.comb(count, number) * chance**number * (1 - chance) ** (count - number)


def exact_at_most(number, count, chance):
    return float(sum(exact_share(k, count, chance) for k in range(number + 1)))


@pytest.mark.parametrize("chance", [Fraction(1, 64), Fraction(1, 2), Fraction(7, 8)])
def test_tails_are_the_exact_sums(chance):
    for count in (1, 2, 7, 40):
        number = np.arange(-1, count + 1)
        wanted = np.array([exact_at_most(int(k), count, chance) for k in number])
        np.testing.assert_allclose(at_most(number, count, float(chance)), wanted, rtol=1e-12)
        np.testing.assert_allclose(at_least(number + 1, count, float(chance)), 1 - wanted, rtol=1e-9, atol=1e-15)
    assert (at_most([0, 3, 4], 4, 0.0) == 1).all()
    assert at_most([3, 4], 4, 1.0).tolist() == [0, 1]
    assert at_least([0, 4], 4, 1.0).tolist() == [1, 1]


@pytest.mark.parametrize("count", [10**7, 10**8, *SIZES])
@pytest.mark.parametrize("chance", [0.5, 0.95, 1 - 1e-3])
def test_tails_of_large_counts_are_those_of_the_normal_distribution(count, chance):
    sd = math.sqrt(count * chance * (1 - chance))
    number = np.round(count * chance + np.array([-3.0, -1, 0, 1, 3]) * sd)
    near = (number + 0.5 - count * chance) / sd
    off = 0.1 / sd * (1 + abs(1 - 2 * chance)) / math.sqrt(chance * (1 - chance)) + 1e-6  # more than Edgeworth's term
    np.testing.assert_allclose(at_most(number, count, chance), ndtr(near), atol=off * 5)
    np.testing.assert_allclose(at_least(number + 1, count, chance), ndtr(-near), atol=off * 5)


@pytest.mark.parametrize("chance", [0.02, 0.5, 0.777, 0.999])
def test_the_quantile_is_the_least_number(chance):
    count, levels = np.arange(1, 60), (0.05, 0.95)
    found = np.stack([quantile(level, count, chance) for level in levels])
    for n, numbers in zip(count.tolist(), found.T, strict=True):
        exact = accumulate(exact_share(k, n, Fraction(chance)) for k in range(n + 1))
        below = [float(tail) for tail in exact]
        assert [*numbers] == [next(k for k, tail in enumerate(below) if tail >= level) for level in levels]


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("chance", [1e-6, 0.3, 0.95, 1 - 1e-6, 1 - 1e-9])
def test_the_quantile_of_large_counts(count, chance):
    if count * (1 - chance) < 100:
        return  # nothing of a normal distribution
    found = np.array([quantile(level, np.array([count]), chance)[0] for level in (0.05, 0.95)])
    # The tail at the chosen number, or next to it, is the level: the share of one number is the most it may be off.
    sd = math.sqrt(count * chance * (1 - chance))
    away = (found - count * chance) / sd
    np.testing.assert_allclose(away, ndtri([0.05, 0.95]), atol=2 / sd + 0.02)


def exact_likelihood(correct, count, mean, precision):
    with mpmath.workdps(60):
        right, wrong = mpmath.mpf(correct), mpmath.mpf(count - correct)
        own = sum(each * mpmath.log(each / count) for each in (right, wrong) if each)
        mean = mpmath.mpf(mean)
        if math.isinf(precision):
            return float(right * mpmath.log(mean) + wrong * mpmath.log(1 - mean) - own)
        a = mean * mpmath.mpf(precision)
        b = mpmath.mpf(precision) - a

        def log_beta(x, y):
            return mpmath.loggamma(x) + mpmath.loggamma(y) - mpmath.loggamma(x + y)

        return float(log_beta(a + right, b + wrong) - log_beta(a, b) - own)


@pytest.mark.parametrize("count", [1, 40, *SIZES])
@pytest.mark.parametrize("share", [0, 1e-12, 0.3, 0.95, 1 - 1e-12, 1])
def test_likelihoods_are_those_of_long_numbers(count, share):
    correct = round(count * Fraction(share))
    for mean in (1e-6, 0.3, 0.5, 0.95 + 1e-9, min((correct + 0.5) / (count + 1), 1 - 2**-53)):
        for precision in (1.04, 2.0, 50.0, 1e12, math.inf):
            found = float(relative_likelihood(np.array(correct), np.array(count), mean, precision))
            assert found == pytest.approx(exact_likelihood(correct, count, mean, precision), rel=1e-8, abs=1e-7)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("share", [1e-6, 0.3, 0.5, 0.95, 1 - 1e-6])
@pytest.mark.parametrize("tail", [0.05, 5e-5])
def test_ends_of_intervals_are_where_the_tails_are_so_large(count, share, tail):
    correct = np.array([round(count * Fraction(share))])
    low, high = ends(correct, np.array([count]), tail)
    assert at_least(correct, count, low)[0] == pytest.approx(tail, rel=1e-3)
    assert at_most(correct, count, high)[0] == pytest.approx(tail, rel=1e-3)
    if count * share * (1 - share) > 1e6:
        wanted = ndtri(1 - tail) * math.sqrt(share * (1 - share) / count)
        assert (share - low[0], high[0] - share) == pytest.approx((wanted, wanted), rel=0.01)


def test_what_cannot_be_is_infinitely_unlikely_and_what_must_be_is_certain():
    counts = np.array([0, 5]), np.array([5, 5])
    assert relative_likelihood(*counts, 1.0, math.inf).tolist() == [-math.inf, 0]
    assert relative_likelihood(*counts, 0.0, math.inf).tolist() == [0, -math.inf]
