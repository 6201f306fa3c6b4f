import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drurank import spread
from drurank.criteria import compute_criteria
from drurank.errors import InputError
from drurank.noise import criteria_noise
from drurank.spread import fit_spread, shrunk_accuracy

pytestmark = pytest.mark.usefixtures("all_draws")


def drawn_from_beta(rng, groups, size, sd, mean=0.8):
    """Correct and count of groups of one size whose true accuracies are a beta distribution's, and these."""
    k = mean * (1 - mean) / sd**2 - 1 if sd else 0
    true = rng.beta(mean * k, (1 - mean) * k, groups) if sd else np.full(groups, mean)
    return rng.binomial(size, true), np.full(groups, size), true


TRUTHS = {
    "beta .1": lambda rng: drawn_from_beta(rng, 200, 50, 0.1)[2],
    "beta .05": lambda rng: drawn_from_beta(rng, 200, 50, 0.05)[2],
    "alike": lambda rng: np.full(200, 0.8),
    "two clusters": lambda rng: np.where(np.arange(200) < 60, 0.6, 0.85),
    "one broken": lambda rng: np.where(np.arange(200) < 1, 0.0, 0.85),
    "uniform": lambda rng: rng.uniform(0.5, 1, 200),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_interval_of_the_spread_holds_it_and_shrinking_helps(truth):
    held, error, plain = 0, 0.0, 0.0
    for run in range(10):
        rng = np.random.default_rng(run)
        true, count = TRUTHS[truth](rng), np.full(200, 50)
        correct = rng.binomial(50, true)
        found = fit_spread(correct, count)
        assert found.low <= found.sd <= found.high
        assert found.mean == pytest.approx(true.mean(), abs=0.02)
        held += found.low - 0.01 <= true.std() <= found.high + 0.01
        error += np.square(found.posterior_mean(correct, count) - true).mean()
        plain += np.square(correct / count - true).mean()
    assert held >= 8  # of 10 fits 90 % should hold; 7 or fewer have a chance of 7 in 100
    assert error < plain * {"beta .1": 0.95, "uniform": 0.98}.get(truth, 0.7)


def test_groups_less_apart_than_chance_have_no_spread():
    found = fit_spread(np.full(100, 60), np.full(100, 75))
    assert (found.mean, found.sd, found.low) == (0.8, 0, 0)
    assert 0 < found.high < 0.04
    np.testing.assert_allclose(found.posterior_mean(np.array([60, 0]), np.array([75, 0])), [0.8, np.nan], atol=0.005)


@pytest.mark.parametrize(("groups", "size"), [(200, 50), (50, 10), (1300, 25)])
def test_equal_groups_mostly_have_no_spread_and_never_surely_one(groups, size):
    found = [fit_spread(*drawn_from_beta(np.random.default_rng(run), groups, size, 0)[:2]) for run in range(10)]
    assert sum(one.sd == 0 for one in found) >= 5
    assert sum(one.low > 0 for one in found) <= 2
    assert all(one.sd < 0.1 for one in found)


@pytest.mark.parametrize(
    ("correct", "count"),
    [
        ([5], [5]),
        ([0], [4]),
        ([3], [10]),
        ([5, 9], [5, 9]),
        ([0, 0, 0], [1, 2, 3]),
        ([5, 0], [5, 5]),
        ([1, 0], [1, 1]),
        ([0, 0, 1], [50, 50, 50]),
        ([0] * 9 + [10], [10] * 10),
        ([10**9, 5], [2 * 10**9, 5]),
    ],
)
def test_few_or_extreme_groups_are_fitted_all_the_same(correct, count):
    correct, count = np.array(correct), np.array(count)
    found = fit_spread(correct, count)
    assert 0 <= found.low <= found.sd <= found.high <= 0.5
    assert np.isfinite(found.posterior_mean(correct, count)).all()
    for one in criteria_noise(correct, count, ("worst", "p10", "qdcg10"), draws=50).values():
        assert np.isfinite([one.estimate, one.low, one.high, one.floor, one.floor_low, one.floor_high]).all()
        assert one.low <= one.estimate <= one.high


@pytest.mark.parametrize(("groups", "size"), [(50, 10**8), (200, 10**7), (20, 10**9)])
@pytest.mark.parametrize("equal", [True, False])
def test_very_large_groups_are_fitted(groups, size, equal):
    count = np.full(groups, size)
    correct = count // 2 if equal else np.random.default_rng(0).binomial(count, 0.9)
    found = fit_spread(correct, count)
    assert found.low <= found.sd <= found.high < 0.002
    assert found.mean == pytest.approx(0.5 if equal else 0.9, abs=1e-4)


def test_very_large_groups_that_differ_are_told_apart():
    true = np.where(np.arange(100) < 30, 0.6, 0.85)
    found = fit_spread(np.random.default_rng(0).binomial(10**7, true), np.full(100, 10**7))
    assert found.sd == pytest.approx(true.std(), rel=0.15)


def test_all_right_does_not_say_that_groups_cannot_differ():
    assert fit_spread(np.array([10] * 9), np.array([10] * 9)).high > 0.005
    assert fit_spread(np.array([3, 3]), np.array([3, 3])).high > 0.05


@pytest.mark.parametrize("m", [0, 3])
def test_without_a_sample_there_is_no_spread(m):
    found = fit_spread(np.zeros(m, int), np.zeros(m, int))
    assert np.isnan([found.mean, found.sd, found.low, found.high]).all()
    assert np.isnan(found.posterior_mean(np.zeros(m, int), np.zeros(m, int))).all()
    assert shrunk_accuracy(np.zeros((0, 3), int), np.zeros((0, 3), int)).shape == (0, 3)


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=2, max_size=30), st.randoms())
def test_spread_asks_neither_for_the_order_of_groups_nor_for_empty_ones(cells, random):
    if not any(right + wrong for right, wrong in cells):
        return
    moved = [*cells, (0, 0)]
    random.shuffle(moved)
    found = []
    for groups in (cells, moved):
        right, wrong = np.array(groups).T
        found.append(fit_spread(right, right + wrong))
    assert found[0].sd == pytest.approx(found[1].sd, abs=1e-12)
    assert found[0].mean == pytest.approx(found[1].mean, abs=1e-12)


def test_shrunk_accuracy_rises_with_the_samples_that_are_right():
    rng = np.random.default_rng(2)
    correct, count, _ = drawn_from_beta(rng, 150, 30, 0.12)
    found = fit_spread(correct, count).posterior_mean(np.arange(31), np.full(31, 30))
    assert (np.diff(found) > 0).all()
    assert found[0] > 0
    assert found[-1] < 1


def test_one_broken_group_among_good_ones_stays_broken():
    rng = np.random.default_rng(0)
    count = np.full(300, 25)
    correct = np.where(np.arange(300) == 0, 0, rng.binomial(25, 0.85, 300))
    found = fit_spread(correct, count).posterior_mean(correct, count)
    assert found[0] < 0.1
    assert found[1:].min() > 0.7


@pytest.mark.parametrize("count", [10, 1000])
@pytest.mark.parametrize("right", [0.0, 0.8, 1.0])
def test_groups_of_equal_accuracy_stay_equal_whatever_their_size(right, count):
    count = np.array([count, 5 * count, 10])
    correct = (right * count).astype(int)
    assert fit_spread(correct, count).sd == 0
    np.testing.assert_array_equal(shrunk_accuracy(correct, count, equal_if_alike=True), np.full(3, right))


def test_counts_that_cannot_be_are_refused():
    for correct, count in (([3, 2], [2, 2]), ([-1, 2], [2, 2]), ([1.5, 2], [2, 2]), ([1, 2, 3], [2, 2])):
        for function in (fit_spread, criteria_noise):
            with pytest.raises(InputError):
                function(np.array(correct), np.array(count))


@pytest.mark.parametrize(("groups", "rows", "errors"), [(200, 5000, 0.001), (50, 1000, 0.003)])
def test_accuracies_near_1_are_told_apart(groups, rows, errors):
    held = 0
    for run in range(6):
        rng = np.random.default_rng(run)
        wrong = rng.exponential(errors, groups)
        found = fit_spread(rows - rng.binomial(rows, wrong), np.full(groups, rows))
        assert found.sd == pytest.approx(wrong.std(), rel=0.5)
        assert found.mean == pytest.approx(1 - wrong.mean(), abs=errors / 3)
        held += found.low <= wrong.std() <= found.high
    assert held >= 3


def test_spread_is_that_of_the_groups_at_hand():
    """Of few groups with many samples each, the standard deviation is known, whatever others would have."""
    true = np.linspace(0.5, 0.8, 10)
    found = fit_spread((10_000 * true).astype(int), np.full(10, 10_000))
    assert found.low < true.std() < found.high
    assert found.high - found.low < 0.01
    assert found.mean == pytest.approx(true.mean(), abs=0.003)


def test_one_set_of_counts_goes_with_many():
    rng = np.random.default_rng(0)
    count = rng.integers(5, 30, 12)
    correct = rng.binomial(count, 0.7, (2, 12))
    found = shrunk_accuracy(correct, count)
    np.testing.assert_array_equal(found[1], shrunk_accuracy(correct[1], count))
    assert shrunk_accuracy(correct[0] // 2, np.stack([count, count + 5])).shape == (2, 12)


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_shrunk_accuracies_of_many_are_those_of_each(make):
    rng = np.random.default_rng(5)
    count = rng.integers(0, 30, (2, 1, 25))
    correct = rng.binomial(count, rng.beta(8, 2, count.shape))
    got = shrunk_accuracy(make(correct.tolist()), make(count.tolist()))
    assert got.shape == (2, 1, 25)
    assert str(got.dtype).endswith("float64")
    for i, j in np.ndindex(2, 1):
        want = fit_spread(correct[i, j], count[i, j]).posterior_mean(correct[i, j], count[i, j])
        np.testing.assert_array_equal(np.asarray(got[i, j]), want)
    assert np.isnan(np.asarray(got)[count == 0]).all()


def test_many_different_groups_have_shrunk_accuracies_of_their_own():
    rng = np.random.default_rng(6)
    count = rng.integers(100, 5000, 3000)
    correct = rng.binomial(count, rng.beta(8, 2, 3000))
    found = shrunk_accuracy(correct, count)
    assert len(np.unique(found)) > 2990
    assert np.abs(found - correct / count).max() < 0.1


def test_a_tiny_group_does_not_lead_the_ranking_by_luck():
    count = np.array([*[75] * 30, 2])
    correct = np.array([*np.linspace(38, 70, 30).astype(int), 0])
    found = shrunk_accuracy(correct, count)
    assert np.argmin(correct / count) == 30
    assert np.argmin(found) == 0
    shrunk = compute_criteria(correct, count, ["worst", "overall"], shrink=True)
    assert shrunk["worst"] == found.min()
    assert shrunk["overall"] == correct.sum() / count.sum()


def test_what_is_kept_of_counts_is_what_is_drawn_anew():
    rng = np.random.default_rng(3)
    count = rng.integers(5, 30, 20)
    sets = [rng.binomial(count, 0.7) for _ in range(2)]
    spread._draw.cache_clear()
    first = [fit_spread(correct, count) for correct in sets]
    again = [fit_spread(correct.astype(np.int32), count) for correct in sets]
    assert spread._draw.cache_info().hits == 2
    spread._draw.cache_clear()
    anew = [fit_spread(correct, count) for correct in sets]
    for one, other, last, correct in zip(first, again, anew, sets, strict=True):
        assert (one.mean, one.sd, one.low, one.high) == (other.mean, other.sd, other.low, other.high)
        assert (one.mean, one.sd, one.low, one.high) == (last.mean, last.sd, last.low, last.high)
        np.testing.assert_array_equal(one.posterior_mean(correct, count), last.posterior_mean(correct, count))
    assert first[0].mean != first[1].mean
    with pytest.raises(ValueError, match="read-only"):
        first[0].mixtures.mean[0] = 0


def test_counts_of_very_many_groups_are_not_kept(monkeypatch):
    monkeypatch.setattr(spread, "LARGEST", 3)
    spread._draw.cache_clear()
    fit_spread(np.array([3, 5, 5]), np.array([5, 5, 9]))
    fit_spread(np.array([3, 5, 5, 1]), np.array([5, 5, 9, 4]))
    assert spread._draw.cache_info().currsize == 1


@pytest.mark.parametrize(("rows", "right", "groups"), [(100, 14, 20), (100, 18, 30), (50, 11, 12)])
def test_where_all_may_be_equal_the_interval_begins_at_0(rows, right, groups):
    """Equal accuracies are not apart by what rounding makes of their mean: the report would call that a difference."""
    correct = np.full(groups, int(0.8 * rows))
    correct[:2] += [-right, right // 2]
    low = fit_spread(correct, np.full(groups, rows)).low
    assert low == 0 or low > 1e-6
