"""True values of groups, of what is observed."""

import numpy as np
import pytest

from drurank.unimodal import draw_true


def drawn(value, variance, draws=2000, seed=0):
    value = np.asarray(value, dtype=float)
    return draw_true(value, np.broadcast_to(float(variance), value.shape), draws, np.random.default_rng(seed))


def test_groups_that_differ_by_far_are_what_they_seem():
    draws, means = drawn([0, 10, 20], 0.01)
    assert draws.mean(axis=0) == pytest.approx([0, 10, 20], abs=0.02)
    assert draws.std(axis=0) == pytest.approx(0.1, rel=0.15)
    assert means == pytest.approx([0, 10, 20], abs=0.02)


def test_groups_that_differ_as_their_errors_do_are_drawn_together():
    value = np.random.default_rng(1).normal(3, 1, 200)
    draws, means = drawn(value, 1)
    assert means.std() < 0.3
    assert draws.mean() == pytest.approx(value.mean(), abs=0.05)


def test_groups_that_seem_alike_may_be():
    draws, _ = drawn(np.random.default_rng(2).normal(0, 1, 10), 1)
    assert np.percentile(np.ptp(draws, axis=1), 5) < 0.01


def test_one_broken_group_is_not_drawn_to_the_others():
    value = np.append(np.random.default_rng(1).normal(0, 1, 60), -9.0)
    draws, means = drawn(value, 1)
    assert means[-1] == pytest.approx(-9, abs=0.5)
    assert means[:-1].std() < 0.4
    assert draws[:, -1].std() == pytest.approx(1, rel=0.15)


@pytest.mark.parametrize("sd", [0.5, 2.0])
def test_standard_deviation_of_true_values_is_found(sd):
    rng, found = np.random.default_rng(0), []
    for seed in range(40):
        true = rng.normal(0, sd, 40)
        draws, _ = drawn(true + rng.standard_normal(40), 1, 200, seed)
        low, high = np.percentile(draws.std(axis=1), (5, 95))
        found.append(low <= true.std() <= high)
    assert np.mean(found) > 0.75


def test_posterior_means_are_those_of_the_draws():
    value = np.random.default_rng(1).normal(3, 2, 20)
    draws, means = drawn(value, 1, 8000)
    assert means == pytest.approx(draws.mean(axis=0), abs=0.08)


def test_a_single_group_is_what_it_seems():
    draws, means = drawn([4], 0.25, 4000)
    assert (draws.mean(), draws.std()) == (pytest.approx(4, abs=0.03), pytest.approx(0.5, rel=0.05))
    assert means == [4.0]
