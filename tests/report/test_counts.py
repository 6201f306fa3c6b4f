import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, binom

import drurank.criteria
from drurank.criteria import Criterion, default_criteria, register_criterion
from drurank.figures import SHARES
from drurank.report import SplitCounts
from drurank.report.count_tables import accuracy_table

pytestmark = pytest.mark.usefixtures("all_draws")


def split_of(correct, count, **options):
    groups = [f"g{number}" for number in range(len(count))]
    return SplitCounts("ood_test", groups, np.array(correct), np.array(count), **options)


def median_tstat(size, groups, accuracy):
    """The exact median of mean over standard error, of groups that are all served alike."""
    chance = binom.pmf(np.arange(size + 1), size, accuracy)
    outcomes = np.array(list(product(range(size + 1), repeat=groups)))
    weight = chance[outcomes].prod(axis=1)
    value = outcomes.mean(axis=1) / np.maximum(outcomes.std(axis=1, ddof=1) / math.sqrt(groups), 1e-6 * size)
    order = np.argsort(value)
    return value[order][np.searchsorted(np.cumsum(weight[order]), 0.5)]


# Case T6.
@pytest.mark.parametrize(
    ("size", "correct", "median"), [(20, [16, 13, 12, 15], 15.3), (50, [42, 38], 27.7)], ids=["four", "two"]
)
def test_tstat_by_chance_alone_is_the_median(size, correct, median):
    accuracy = sum(correct) / size / len(correct)
    exact = median_tstat(size, len(correct), accuracy)
    assert exact == pytest.approx(median, abs=0.05)
    entry = split_of(correct, [size] * len(correct)).summary(["tstat"])["criteria"]["tstat"]
    assert entry["floor"]["median"] == pytest.approx(exact, rel=0.1)
    share = np.array(correct) / size
    assert entry["value"] == pytest.approx(share.mean() / share.std(ddof=1) * math.sqrt(len(share)))
    assert entry["estimate"] is entry["interval"] is None


@pytest.mark.parametrize(
    ("split", "min_count"),
    [
        (split_of([7], [10]), 1),
        (split_of([8, 8, 8], [10, 10, 10]), 1),
        (split_of([8, 2, 1], [10, 4, 4]), 5),
        (split_of([10, 4], [10, 4]), 1),
    ],
    ids=["one group", "equal groups", "one group of min_count", "perfect groups"],
)
def test_tstat_of_groups_that_do_not_differ_is_left_out(split, min_count):
    summary = split.summary(default_criteria(), min_count=min_count)
    entry = summary["criteria"]["tstat"]
    assert entry["value"] is entry["estimate"] is entry["interval"] is None
    if summary["groups"] - summary["groups_left_out"] == 1:
        assert entry["floor"] is None
    assert all(value["value"] is not None for name, value in summary["criteria"].items() if name != "tstat")


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize(
    ("correct", "count"),
    [([1, 2, 0], [2, 2, 2]), ([40, 41], [50, 50]), ([3, 1, 1], [3, 1, 1]), ([5, 9, 9], [10, 10, 10]), ([0, 0], [3, 4])],
)
def test_no_figure_explodes(correct, count, shrink):
    found = split_of(correct, count).summary(default_criteria(), shrink=shrink)["criteria"]
    for name, entry in found.items():
        floor = entry["floor"] or {"median": None, "interval": None}
        figures = [entry["value"], entry["estimate"], floor["median"], *(entry["interval"] or [])]
        figures += floor["interval"] or []
        assert all(figure is None or (math.isfinite(figure) and figure < 10_000) for figure in figures), (name, entry)


def test_interval_is_shown_with_the_estimate_in_it_or_not_at_all():
    rng = np.random.default_rng(3)
    count = np.full(60, 25)
    correct = rng.binomial(count, np.where(np.arange(60) < 6, 0.4, 0.85))
    found = split_of(correct, count).summary(default_criteria())["criteria"]
    for name, entry in found.items():
        assert (entry["interval"] is None) == (entry["estimate"] is None), name
        assert entry["interval"] is None or entry["interval"][0] <= entry["estimate"] <= entry["interval"][1], name
    assert found["worst"]["value"] == (correct / count).min()


def test_criterion_without_an_interval_has_its_figure_and_its_floor(monkeypatch):
    monkeypatch.setattr(drurank.criteria, "_registry", dict(drurank.criteria._registry))
    register_criterion(Criterion("rough", lambda g: g.mean(g.accuracy), True, has_interval=False, logged=False))
    entry = split_of([8, 5, 9], [10, 10, 10]).summary(["rough"])["criteria"]["rough"]
    assert entry["value"] == pytest.approx(22 / 30)
    assert entry["estimate"] is entry["interval"] is None
    assert entry["floor"]["median"] == pytest.approx(22 / 30, abs=0.04)


class Shrunk(SplitCounts):
    """Counts of which every group has the accuracy of all rows as its shrunk value."""

    @property
    def shrunk(self):
        return np.full(len(self.count), self.correct.sum() / self.count.sum())


def test_group_is_marked_where_its_own_interval_at_a_level_for_all_groups_excludes_its_shrunk_value():
    # Of 40 groups of 25: none right, 17 right and all right are outside of 5 to 95 %; after correction only the first.
    correct, count = np.array([0, 17, 25, *[22, 23] * 18, 22]), np.full(40, 25)
    groups = [f"g{number}" for number in range(40)]
    split = Shrunk("ood_test", groups, correct, count)
    pooled = correct.sum() / 1000
    low, high = (accuracy_table(split)[name].to_numpy() for name in ("low", "high"))
    assert list(np.flatnonzero((pooled < low) | (pooled > high))) == [0, 1, 2]
    widest = [beta.ppf(1 - 0.05 / 40, right + 1, 25 - right) for right in (0, 17)]
    assert widest[0] < pooled < widest[1]
    assert 25 * math.log(pooled) > math.log(0.05 / 40)  # all right: not too unlikely among 40
    assert accuracy_table(split)["contradicts_shrunk"].to_pylist() == [True] + [False] * 39


def test_at_most_one_report_in_ten_marks_any_group_where_the_shrunk_values_are_right():
    rng = np.random.default_rng(0)
    count = np.full(60, 25)
    marked = [Shrunk("s", [""] * 60, rng.binomial(count, 0.85), count).contradicts.any() for _ in range(500)]
    assert np.mean(marked) < 0.1


def test_broken_group_among_good_ones_is_not_pulled_so_far_that_it_is_marked():
    split = split_of([0] + [21, 22] * 30, [25] * 61)
    assert split.shrunk[0] < 0.2
    assert not split.contradicts.any()


@pytest.mark.parametrize(
    ("correct", "count", "min_count", "wanted"),
    [
        ([0, 60, 160, 160, 160], [1, 200, 200, 200, 200], 1, {"group": "g0", "beyond_chance": False}),
        ([0, 60, 160, 160, 160], [1, 200, 200, 200, 200], 2, {"group": "g1", "beyond_chance": True}),
        ([15, 16, 17, 16], [20, 20, 20, 20], 1, {"group": "g0", "beyond_chance": False}),
        ([15, 16], [20, 20], 1, {"group": "g0", "beyond_chance": False}),
        ([15], [20], 1, None),
        ([1, 15], [2, 20], 3, None),
    ],
    ids=["a single row", "that is left out", "alike", "two", "one group", "one that is not left out"],
)
def test_of_the_worst_group_it_is_told_whether_it_is_so_beyond_chance(correct, count, min_count, wanted):
    summary = split_of(correct, count).summary(["average"], min_count=min_count)
    assert summary["served_worst"] == wanted
    assert summary["worse_than_chance"] == ("g1" if 60 in correct else None)


def test_groups_served_alike_have_a_worst_that_is_seldom_beyond_chance():
    rng = np.random.default_rng(0)
    splits = [split_of(rng.binomial(30, 0.8, 20), [30] * 20) for _ in range(100)]
    told = [split.summary(["worst"])["served_worst"] for split in splits[:4]]
    for split in splits:
        split.__dict__["spread"] = splits[0].spread  # slow to fit, and what chance gives asks nothing of it
    rates = [split.summary(["worst"])["served_worst"] for split in splits]
    assert rates[:4] == told
    assert np.mean([one["beyond_chance"] for one in rates]) < 0.16


def test_chance_of_a_group_is_that_of_its_size():
    split = split_of([3, 8, 30], [5, 10, 40])  # 41 of 55 are right
    low, high = (binom.ppf(level, split.count, 41 / 55) / split.count for level in (0.05, 0.95))
    np.testing.assert_allclose(split.chance, (low, high))
    table = accuracy_table(split)
    np.testing.assert_allclose([table["chance_low"], table["chance_high"]], (low, high))
    error = split_of([3, 8, 30], [5, 10, 40], figure=SHARES["error"])
    np.testing.assert_allclose(error.chance, (1 - high, 1 - low))
