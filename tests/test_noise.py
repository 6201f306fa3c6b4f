import math
import tracemalloc

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import drurank.noise_draws
from drurank.criteria import compute_criteria, values_of
from drurank.dcg import group_dcg
from drurank.errors import InputError
from drurank.groups import Groups
from drurank.noise import chance_band, chance_range, criteria_noise, group_interval, noise_floor

pytestmark = pytest.mark.usefixtures("all_draws")

LED = ("worst", "p10", "qdcg10")


def draw(rng, groups, size, mean, sd):
    """Correct, count and true accuracy of groups; sizes are Poisson, 2 at least."""
    k = mean * (1 - mean) / sd**2 - 1 if sd else 0
    true = rng.beta(mean * k, (1 - mean) * k, groups) if sd else np.full(groups, mean)
    count = rng.poisson(size, groups).clip(2)
    return rng.binomial(count, true), count, true


def test_without_a_sample_there_is_nothing_to_draw():
    with pytest.raises(InputError, match="no group has a sample"):
        criteria_noise(np.zeros(3, int), np.zeros(3, int))
    with pytest.raises(InputError, match="draws is 0"):
        criteria_noise(np.ones(3, int), np.ones(3, int), draws=0)


# ---- noise floor


@pytest.mark.parametrize(
    ("groups", "accuracy", "worst", "p10"),
    [(1334, 0.719, (0.538, 0.01), (0.653, 0.003)), (500, 0.81, (0.663, 0.01), (0.751, 0.004))],
)
def test_floors_of_the_specification(groups, accuracy, worst, p10):
    found = noise_floor(np.full(groups, 75), accuracy)
    assert found["worst"].mean() == pytest.approx(worst[0], abs=worst[1])
    assert found["p10"].mean() == pytest.approx(p10[0], abs=p10[1])
    assert len(found["worst"]) == 1000


def test_one_draw_of_the_worst_group_has_the_specifications_standard_deviation():
    assert noise_floor(np.full(500, 75), 0.81)["worst"].std() == pytest.approx(0.020, abs=0.002)


@pytest.mark.parametrize(
    "count",
    [np.repeat([10, 40], 20), np.arange(1, 60), np.array([*[30] * 9, 1, 2, 5000, 7])],
    ids=["few", "all", "mixed"],
)
def test_floor_is_that_of_binomial_draws_of_every_group(count):
    rng = np.random.default_rng(123)
    correct = rng.binomial(count, 0.7, (4000, len(count)))
    want = compute_criteria(correct, np.broadcast_to(count, correct.shape), (*LED, "average", "overall"))
    got = noise_floor(count, 0.7, (*LED, "average", "overall"), draws=4000)
    for name, values in want.items():
        error = values.std() / math.sqrt(2000)
        assert got[name].mean() == pytest.approx(values.mean(), abs=5 * error), name
        assert got[name].std() == pytest.approx(values.std(), rel=0.1), name


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_floor_of_perfect_or_hopeless_groups_is_what_they_are(accuracy):
    assert set(noise_floor(np.array([3, 3, 50]), accuracy, ["worst"], draws=20)["worst"]) == {accuracy}


def test_band_of_a_single_group_is_the_binomials():
    at, low, high = chance_band(np.array([40]), 0.7, draws=20_000)
    assert at.tolist() == [0]
    assert low[0] == binom.ppf(0.05, 40, 0.7) / 40
    assert high[0] == binom.ppf(0.95, 40, 0.7) / 40


def test_band_follows_the_order_of_groups():
    at, low, high = chance_band(np.full(2000, 50), 0.7, places=100)
    assert len(at) == 100
    assert (at[0], at[-1]) == (0, 1999)
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    worst = noise_floor(np.full(2000, 50), 0.7, ["worst"])["worst"]
    assert low[0] == pytest.approx(np.percentile(worst, 5), abs=0.021)


def test_draws_are_the_same_however_they_are_shared_out(monkeypatch):
    correct, count, _ = draw(np.random.default_rng(8), 50, 30, 0.8, 0.1)
    monkeypatch.setattr(drurank.noise_draws, "CHUNK", 1000)
    first = criteria_noise(correct, count, LED, draws=200)
    monkeypatch.setattr(drurank.noise_draws, "THREADS", 1)
    assert criteria_noise(correct, count, LED, draws=200) == first
    assert criteria_noise(correct, count, LED, draws=200, seed=1) != first


def test_heavy_draws_show_their_progress(monkeypatch):
    shown = []
    monkeypatch.setattr(drurank.noise_draws, "track", lambda parts, title, **options: shown.append(title) or parts)
    few = noise_floor(np.full(10, 5), 0.5, ["worst"], draws=10)["worst"]
    monkeypatch.setattr(drurank.noise_draws, "CHUNK", 20)
    assert len(noise_floor(np.full(10, 5), 0.5, ["worst"], draws=10)["worst"]) == len(few) == 10
    assert shown == []
    monkeypatch.setattr(drurank.noise_draws, "HEAVY", 100)
    noise_floor(np.full(10, 5), 0.5, ["worst"], draws=10)
    assert shown == ["Noise floor"]


# ---- intervals


TRUTHS = {
    "alike": lambda rng: np.full(100, 0.8),
    "beta": lambda rng: rng.beta(12, 3, 100),
    "a third worse": lambda rng: np.where(np.arange(100) < 30, 0.6, 0.85) + 0.02 * rng.standard_normal(100),
    "a tenth broken": lambda rng: np.where(np.arange(100) < 10, 0.5, 0.85),
    "five broken": lambda rng: np.where(np.arange(100) < 5, 0.3, 0.85),
    "one at 0": lambda rng: np.where(np.arange(100) < 1, 0.0, 0.85),
    "uniform": lambda rng: rng.uniform(0.5, 1, 100),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_interval_holds_the_true_criterion_whatever_the_shape(truth):
    """A miss below half a row counts as held. The whole table stands in benchmarks/RESULTS.md."""
    held, runs = dict.fromkeys(LED, 0), 16
    near = {"worst": 0.5 / 25, "p10": 0.5 / 25, "qdcg10": 0.5 / 25 * 4.822502}
    for run in range(runs):
        rng = np.random.default_rng(run)
        true, count = TRUTHS[truth](rng), np.full(100, 25)
        noise = criteria_noise(rng.binomial(count, true), count, LED, draws=200, seed=run)
        for name, value in values_of(Groups(true), LED).items():
            held[name] += noise[name].low - near[name] <= value <= noise[name].high + near[name]
            assert noise[name].low <= noise[name].estimate <= noise[name].high
    if truth == "uniform":
        del held["worst"]  # It has a sharp edge, which no mixture of smooth distributions has; see RESULTS.md.
    assert min(held.values()) >= 12, held  # 85 % or more in the long run; 11 or fewer have a chance of 4 in 100


def test_interval_asks_not_for_the_order_of_groups():
    rng = np.random.default_rng(0)
    count = rng.integers(0, 40, 30)
    correct, order = rng.binomial(count, 0.7), rng.permutation(30)
    assert criteria_noise(correct, count, LED) == criteria_noise(correct[order], count[order], LED)


def test_interval_is_of_the_groups_at_hand():
    """Of groups with 10,000 samples each, their own accuracies are known, whatever others would have."""
    true = np.linspace(0.5, 0.9, 20)
    count = np.full(20, 10_000)
    found = criteria_noise((true * count).astype(int), count, ["worst", "average", "overall"])
    assert found["worst"].estimate == pytest.approx(0.5, abs=0.005)
    assert found["average"].high - found["average"].low < 0.005
    assert found["overall"].estimate == pytest.approx(0.7, abs=0.002)


def test_interval_is_about_true_accuracies_and_not_about_counts():
    # Every group has the same chance: what is seen of the worst is far below it, and the interval must not follow.
    correct, count, _ = draw(np.random.default_rng(0), 1000, 50, 0.8, 0.0)
    found = criteria_noise(correct, count, ["worst", "qdcg10"])
    worst = found["worst"]
    assert worst.floor_low < (correct / count).min() < 0.61 < worst.low < worst.high < 0.81
    assert worst.estimate == pytest.approx(0.8, abs=0.025)
    assert found["qdcg10"].high < group_dcg(1 - correct / count)


def test_interval_of_a_group_is_clopper_and_pearsons():
    correct, count = np.array([0, 3, 40, 7]), np.array([5, 4, 75, 7])
    low, high = group_interval(correct, count)
    for i, (right, seen) in enumerate(zip(correct, count, strict=True)):
        want = binomtest(int(right), int(seen)).proportion_ci(0.9, method="exact")
        assert (low[i], high[i]) == pytest.approx((want.low, want.high), abs=1e-9)
    assert (low[0], high[3]) == (0, 1)


@pytest.mark.parametrize("accuracy", [0, 0.001, 0.2, 0.5, 0.777, 0.999, 1])
def test_range_of_a_group_by_chance_is_the_binomials(accuracy):
    count = np.array([*range(1, 300), 5000, 99_999, 3_000_000])
    wanted = [binom.ppf(level, count, accuracy) / count for level in (0.05, 0.95)]
    np.testing.assert_allclose(chance_range(count, accuracy), wanted)


def test_draws_are_let_go_one_after_another(monkeypatch):
    """Of a million groups a thousand draws would fill the memory of most machines."""
    groups = 20_000
    monkeypatch.setattr(drurank.noise_draws, "CHUNK", groups)
    tracemalloc.start()
    noise_floor(np.full(groups, 10), 0.8, draws=60)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60 * groups * 8
