"""The normal model of random effects."""

import numpy as np
import pytest

from drurank.normal import NormalGroups, variances


def test_variance_of_large_groups_is_their_own():
    rng = np.random.default_rng(0)
    rows = rng.normal(0, [[1.0], [3.0]], (2, 4000))
    draws = np.array([[one[rng.integers(0, 4000, 4000)].mean() for one in rows] for _ in range(2000)])
    assert variances(draws, np.array([4000, 4000])) == pytest.approx(rows.var(axis=1, ddof=1) / 4000, rel=0.1)


def test_variance_of_a_single_row_is_that_of_all():
    # Two groups of 101 rows with a variance of 2 / 101 * 100 / 101, as the bootstrap has it, and one of a single row.
    draws = np.random.default_rng(0).standard_normal((40000, 2)) * np.sqrt(200 / 101**2)
    found = variances(np.column_stack([draws, np.full(40000, 7.0)]), np.array([101, 101, 1]))
    assert found == pytest.approx([2 / 101, 2 / 101, 2.0], rel=0.05)


def test_of_single_rows_nothing_is_known():
    assert np.isnan(variances(np.zeros((5, 3)), np.ones(3))).all()


def test_groups_that_differ_by_far_are_what_they_seem():
    model = NormalGroups.fit(np.array([0.0, 10.0, 20.0]), np.full(3, 0.01))
    drawn = model.draw(4000, np.random.default_rng(0))
    assert drawn.mean(axis=0) == pytest.approx([0, 10, 20], abs=0.02)
    assert drawn.std(axis=0) == pytest.approx(0.1, rel=0.1)
    assert model.posterior_mean() == pytest.approx([0, 10, 20], abs=0.02)


def test_groups_that_differ_as_their_errors_do_are_drawn_together():
    value = np.random.default_rng(1).normal(3, 1, 200)
    model = NormalGroups.fit(value, np.ones(200))
    assert model.posterior_mean().std() < 0.3
    assert model.draw(2000, np.random.default_rng(0)).mean() == pytest.approx(value.mean(), abs=0.05)


@pytest.mark.parametrize("sd", [0.5, 2.0])
def test_standard_deviation_of_true_values_is_found(sd):
    rng, found = np.random.default_rng(0), []
    for _ in range(60):
        true = rng.normal(0, sd, 40)
        model = NormalGroups.fit(true + rng.standard_normal(40), np.ones(40))
        low, high = np.percentile(model.draw(400, rng).std(axis=1), (5, 95))
        found.append(low <= true.std() <= high)
    assert np.mean(found) > 0.8


def test_a_single_group_is_what_it_seems():
    model = NormalGroups.fit(np.array([4.0]), np.array([0.25]))
    drawn = model.draw(4000, np.random.default_rng(0))
    assert (drawn.mean(), drawn.std()) == (pytest.approx(4, abs=0.03), pytest.approx(0.5, rel=0.05))
    assert model.posterior_mean() == [4.0]
