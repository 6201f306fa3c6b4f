"""Figures that are no shares: what chance does to them."""

import numpy as np
import pytest
from scipy.stats import norm

from drurank.errors import InputError
from drurank.figures import MEASURES, Outcomes, figure_named
from drurank.noise import group_interval
from drurank.report.remarks import on_differences
from drurank.report.served import figure_table
from drurank.report.values import SplitValues

CRITERIA = ("average", "worst", "p10", "overall", "gap", "ratio", "qdcg10")


def split_of(name, outcomes, group, seen=None):
    figure, groups = figure_named(name), [f"g{number}" for number in range(int(group.max()) + 1)]
    return SplitValues.of_rows("all", groups, figure, figure.prepare(outcomes), group, seen)


def binormal(rng, auroc, rows):
    """Rows of groups with these AUROCs, half of them positive."""
    group = np.repeat(np.arange(len(auroc)), rows)
    label = np.arange(len(group)) % 2
    score = norm.cdf(rng.standard_normal(len(group)) + (label - 0.5) * np.sqrt(2) * norm.ppf(auroc)[group])
    return Outcomes(label, (score > 0.5).astype(int), 1, np.array([0.0, 1.0]), 2, score), group


def calibrated(rng, groups, rows, off=0.0):
    """Rows whose probabilities are right but in the first group, where the event is rarer by so much."""
    group = np.repeat(np.arange(groups), rows)
    score = rng.uniform(0.3, 0.7, len(group))
    label = (rng.random(len(group)) < score - off * (group == 0)).astype(int)
    return Outcomes(label, (score > 0.5).astype(int), 1, np.array([0.0, 1.0]), 2, score), group


@pytest.fixture(scope="module")
def rows():
    return binormal(np.random.default_rng(5), np.array([0.6, 0.75, 0.8, 0.85, 0.9, 0.95]), 80)


@pytest.mark.parametrize("name", MEASURES)
def test_criteria_are_of_the_worse_served_groups(rows, name):
    split = split_of(name, *rows)
    found = split.summary(CRITERIA)["criteria"]
    figure, value = figure_named(name), split.value
    low_is_bad = figure.higher_is_better
    assert found["average"]["value"] == pytest.approx(value.mean())
    assert found["worst"]["value"] == pytest.approx(value.min() if low_is_bad else value.max())
    assert found["p10"]["value"] == pytest.approx(np.percentile(value, 10 if low_is_bad else 90))
    assert found["gap"]["value"] == pytest.approx(np.ptp(value))
    assert found["ratio"]["value"] == pytest.approx(value.min() / value.max())
    outcomes, group = rows
    assert found["overall"]["value"] == pytest.approx(figure.of(figure.prepare(outcomes), 0 * group, 1)[0])
    assert found["overall"]["floor"] is None
    if figure.is_bounded:
        bad = 1 - value if low_is_bad else value
        percentiles = [np.percentile(bad, 100 - q) for q in range(11)]
        assert found["qdcg10"]["value"] == pytest.approx(sum(b / np.log2(q + 2) for q, b in enumerate(percentiles)))
    else:
        assert "qdcg10" not in found
    for by in ("average", "worst", "gap", "overall"):
        low, high = found[by]["interval"]
        assert low < found[by]["estimate"] < high


def test_groups_that_have_no_value_are_named_with_the_reason_and_count_for_all_rows():
    label, score = np.array([1, 0, 1, 0, 1, 1, 0]), np.array([0.9, 0.1, 0.4, 0.6, 0.5, 0.7, 0.3])
    group = np.array([0, 0, 0, 0, 2, 2, 3])
    split = split_of("auroc", Outcomes(label, label, 1, None, 2, score), group, np.array([True, True, False, True]))
    assert (split.groups, split.without, list(split.seen)) == (["g0"], ["g2", "g3"], [True])
    assert split.overall == pytest.approx((3 + 2 + 2 + 3) / 12)  # positives .9, .4, .5, .7 above .1, .6, .3
    table = figure_table(split).to_pylist()
    assert [(row["group"], row["count"], row["value"], row["reason"]) for row in table] == [
        ("g0", 4, 0.75, None),
        ("g2", 0, None, "rows of one class only"),
        ("g3", 0, None, "rows of one class only"),
    ]
    assert {row["events"] for row in table} == {None}
    summary = split.summary(["worst"])
    assert (summary["rows"], summary["groups"], summary["groups_without"]) == (4, 1, 2)


def test_small_groups_are_left_out_of_criteria_but_not_of_all_rows(rows):
    outcomes, group = rows
    group = np.where(np.arange(len(group)) % 80 < 2 * group, 5, group)  # the last is the largest
    split = split_of("auroc", outcomes, group)
    found = split.summary(["worst", "overall"], min_count=75)
    kept = split.count >= 75
    assert 0 < found["groups_left_out"] == (~kept).sum()
    assert found["criteria"]["worst"]["value"] == split.value[kept].min()
    assert found["criteria"]["overall"]["value"] == split_of("auroc", *rows).overall
    with pytest.raises(InputError, match="min_count is 500 and the largest group of all has"):
        split.summary(["worst"], min_count=500)


def test_a_share_has_the_interval_of_one():
    """Brier's score of sure answers is the share of the wrong ones."""
    right = np.tile([1, 1, 1, 0], 30)
    outcomes = Outcomes(right, np.ones(120, int), 1, None, 2, np.ones(120))
    low, high = split_of("brier", outcomes, np.repeat(np.arange(3), 40)).value_interval
    wanted = group_interval(np.full(3, 10), np.full(3, 40))
    assert low == pytest.approx(wanted[0], abs=0.015)
    assert high == pytest.approx(wanted[1], abs=0.015)


def test_groups_that_are_perfect_may_not_be():
    label = np.tile([0, 1], 20)
    split = split_of("auroc", Outcomes(label, label, 1, None, 2, label * 0.8 + 0.1), np.repeat([0, 1], 20))
    low, high = split.value_interval
    assert (low < 0.97).all()
    assert (high == 1).all()
    assert split.summary(["worst"])["criteria"]["worst"]["interval"][0] < 0.99


def test_of_groups_with_a_single_row_each_nothing_is_known():
    outcomes, _ = calibrated(np.random.default_rng(0), 1, 30)
    split = split_of("brier", outcomes, np.arange(30))
    found = split.summary(["worst", "average", "overall"])
    assert found["spread"] is None
    assert found["criteria"]["worst"]["interval"] is None
    assert found["criteria"]["overall"]["interval"] is not None
    assert np.isnan(split.shrunk).all()
    assert not split.contradicts.any()


def test_of_groups_with_a_pair_of_rows_each_nothing_is_known():
    label, score = np.tile([0, 1], 6), np.random.default_rng(0).random(12)
    split = split_of("auroc", Outcomes(label, label, 1, None, 2, score), np.repeat(np.arange(6), 2))
    found = split.summary(["worst"])
    assert on_differences(found, ["worst"]) == "every group has too few rows, so nothing is known of how they differ."
    assert found["criteria"]["worst"]["interval"] is None
    assert np.isnan(split.value_interval).all()
    assert split.summary(["worst", "overall"], shrink=True)["criteria"]["worst"]["value"] is None


def test_intervals_hold_true_aurocs():
    """In 90 % of cases, of groups and of criteria; within what 40 simulations of 8 groups tell."""
    groups, worst, gap = [], [], []
    for run in range(40):
        rng = np.random.default_rng(run)
        true = norm.cdf(rng.normal(0.9, 0.35, 8))
        split = split_of("auroc", *binormal(rng, true, rng.integers(20, 120, 8)))
        low, high = split.value_interval
        groups.append((low <= true) & (true <= high))
        found = split.summary(["worst", "gap"])["criteria"]
        for name, value, hits in (("worst", true.min(), worst), ("gap", np.ptp(true), gap)):
            low, high = found[name]["interval"]
            hits.append(low <= value <= high)
    assert 0.85 < np.mean(groups) < 0.97
    assert np.mean(worst) > 0.7
    assert np.mean(gap) > 0.7


def test_groups_served_alike_are_within_what_chance_gives():
    """In 95 % of cases no group is worse than chance, and no difference is found; within what 60 simulations tell."""
    worse, differ, within = [], [], []
    for run in range(60):
        rng = np.random.default_rng(run)
        split = split_of("auroc", *binormal(rng, np.full(10, 0.8), rng.integers(20, 60, 10)))
        found = split.summary(["worst"])
        worse.append(found["worse_than_chance"] is not None)
        assert worse[-1] or not found["served_worst"]["beyond_chance"]
        differ.append(found["spread"]["sd"] > 0)
        low, high = found["criteria"]["worst"]["floor"]["interval"]
        within.append(low <= split.value.min() <= high)
    assert np.mean(worse) < 0.16
    assert np.mean(differ) < 0.16
    assert np.mean(within) > 0.78


def test_a_group_that_is_worse_by_far_is_named(rows):
    found = split_of("auroc", *rows).summary(["worst"])
    assert found["worse_than_chance"] == "g0"
    assert found["served_worst"] == {"group": "g0", "beyond_chance": True}
    assert found["spread"]["interval"][0] > 0


def test_chance_for_calibration_is_a_perfect_model():
    rng = np.random.default_rng(0)
    split = split_of("calibration_error", *calibrated(rng, 20, 40, off=0.3))
    low, high = split.chance
    # Four bins of ten rows: of each the mean of |events - probabilities| is near sqrt(2 / pi * .23 / 10).
    wanted = np.sqrt(2 / np.pi * (0.25 - 0.4**2 / 12) / 10)
    assert (low < wanted).all()
    assert (high > wanted).all()
    assert np.mean(split.value[1:]) == pytest.approx(wanted, rel=0.15)  # as bad as that though they are perfect
    found = split.summary(["worst", "average"])
    assert found["worse_than_chance"] == "g0"
    assert found["criteria"]["average"]["estimate"] < 0.6 * found["criteria"]["average"]["value"]
    assert split.value_interval[0][0] > 0.1
    assert np.mean(split.value_interval[0][1:] == 0) > 0.8


def test_shrunk_values_are_nearer_to_the_truth():
    rng = np.random.default_rng(2)
    true = norm.cdf(rng.normal(0.9, 0.15, 60))
    split = split_of("auroc", *binormal(rng, true, np.full(60, 20)))
    assert np.abs(split.shrunk - true).mean() < 0.7 * np.abs(split.value - true).mean()
    of_shrunk = split.summary(["worst"], shrink=True)["criteria"]["worst"]
    assert of_shrunk["value"] == pytest.approx(split.shrunk.min())
    assert of_shrunk["floor"] is None


def test_the_same_rows_give_the_same_report(rows):
    first, again = (split_of("auroc", *rows).summary(CRITERIA) for _ in range(2))
    assert first == again


@pytest.mark.filterwarnings("error")
def test_the_band_ends_where_no_deal_has_a_value():
    """Each of 60 groups has one positive row of four; dealt at random some groups have none, and so no F1."""
    group, label = np.repeat(np.arange(60), 4), np.tile([1, 0, 0, 0], 60)
    split = split_of("f1", Outcomes(label, label, 1, np.array([0.0, 1.0]), 2), group)
    at, low, high = split.band(100)
    assert 30 < len(at) < 60
    np.testing.assert_array_equal(at, np.arange(len(at)))
    assert low.tolist() == high.tolist() == [1] * len(at)
