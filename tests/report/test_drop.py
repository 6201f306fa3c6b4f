import numpy as np
import pytest
from scipy.stats import binom

from drurank.criteria import default_criteria
from drurank.report import SplitCounts
from drurank.report.drop import find_drop


def split_of(name, correct, count):
    groups = [f"g{number}" for number in range(len(count))]
    return SplitCounts(name, groups, np.array(correct), np.array(count))


def drop_of(*splits, names=None, min_count=1, shrink=False):
    names = names or default_criteria()
    summaries = {split.split: split.summary(names, min_count=min_count, shrink=shrink) for split in splits}
    return find_drop(splits, summaries, min_count=min_count), summaries


def worst_by_chance(groups, size, accuracy):
    """The exact median of the worst of groups that are all served alike."""
    at_most = 1 - (1 - binom.cdf(np.arange(size + 1), size, accuracy)) ** groups
    return np.searchsorted(at_most, 0.5) / size


def test_what_is_worse_by_chance_is_that_of_groups_served_alike_in_both_splits():
    rng = np.random.default_rng(0)
    seen = split_of("id_test", rng.binomial(50, 0.9, 20), np.full(20, 50))
    unseen = split_of("ood_test", rng.binomial(50, 0.75, 300), np.full(300, 50))
    drop, summaries = drop_of(seen, unseen)
    assert (drop["from"], drop["to"]) == ("id_test", "ood_test")
    accuracy = (seen.correct.sum() + unseen.correct.sum()) / 16_000
    want = worst_by_chance(20, 50, accuracy) - worst_by_chance(300, 50, accuracy)
    assert want > 0.05
    assert drop["criteria"]["worst"]["by_chance"]["median"] == pytest.approx(want, abs=0.021)  # a row of a group is .02
    # The rows are worse on the whole, which is no chance.
    assert drop["criteria"]["overall"]["value"] > 0.1
    assert drop["criteria"]["overall"]["by_chance"]["median"] == pytest.approx(0, abs=0.005)
    for name in ("worst", "qdcg10"):
        # The estimate is the median of the difference, not the difference of medians; a row of a group is .02.
        for key, error in (("value", 1e-9), ("estimate", 0.02 if name == "worst" else 0.02 * 4.82)):
            sign = 1 if name == "worst" else -1
            before, after = (summaries[split]["criteria"][name][key] for split in ("id_test", "ood_test"))
            assert drop["criteria"][name][key] == pytest.approx(sign * (before - after), abs=error)


def test_ranges_are_those_of_differences_of_two_independent_splits():
    rng = np.random.default_rng(1)
    seen = split_of("id_test", rng.binomial(50, 0.85, 30), np.full(30, 50))
    unseen = split_of("ood_test", rng.binomial(50, 0.8, 40), np.full(40, 50))
    criteria = drop_of(seen, unseen)[0]["criteria"]
    accuracy = (seen.correct.sum() + unseen.correct.sum()) / 3_500
    before, after = (rng.binomial(50, accuracy, (20_000, m)) / 50 for m in (30, 40))
    error = np.sqrt(accuracy * (1 - accuracy) * (1 / 1_500 + 1 / 2_000))
    want = {
        "overall": np.array([-1.645, 1.645]) * error,
        "worst": np.percentile(before.min(axis=1) - after.min(axis=1), (5, 95)),
    }
    for name, ends in want.items():
        by_chance = criteria[name]["by_chance"]
        assert by_chance["interval"] == pytest.approx(list(ends), abs=0.004 if name == "overall" else 0.021), name
        assert by_chance["interval"][0] < by_chance["median"] < by_chance["interval"][1]
    # Of the rows of both splits the standard error is known; groups that are alike add nothing to it.
    low, high = criteria["overall"]["interval"]
    shares = [split.correct.sum() / split.count.sum() for split in (seen, unseen)]
    error = np.sqrt(sum(p * (1 - p) / n for p, n in zip(shares, (1_500, 2_000), strict=True)))
    assert high - low == pytest.approx(2 * 1.645 * error, rel=0.2)
    assert low < criteria["overall"]["estimate"] < high
    assert "tstat" not in criteria


def test_sums_over_unlike_numbers_of_groups_are_left_out():
    drop, _ = drop_of(split_of("id_val", [8] * 20, [10] * 20), split_of("val", [8, 7] * 45, [10] * 90))
    assert not {"gdcg10", "gdcg50"} & drop["criteria"].keys()
    assert drop["left_out"] == ["gdcg10", "gdcg50"]
    drop, _ = drop_of(split_of("id_val", [8, 7], [10, 10]), split_of("val", [8, 6, 1], [10, 10, 2]), min_count=3)
    assert {"gdcg10", "gdcg50"} <= drop["criteria"].keys()
    assert drop["left_out"] == []


def test_what_one_split_lacks_is_not_compared():
    several, single = split_of("id_test", [8, 3, 9], [10, 10, 10]), split_of("ood_test", [1, 0, 1], [1, 1, 1])
    entry = drop_of(several, single)[0]["criteria"]["worst"]
    assert (entry["value"], entry["estimate"], entry["interval"]) == (pytest.approx(0.3), None, None)
    assert entry["by_chance"] is not None
    shrunk = drop_of(several, split_of("ood_test", [8, 4], [10, 10]), shrink=True)[0]["criteria"]["worst"]
    assert shrunk["by_chance"] is None
    assert shrunk["value"] is not None


def test_other_splits_are_not_compared():
    assert drop_of(split_of("ood_test", [8], [10]), split_of("train", [9], [10]))[0] is None


def test_small_groups_are_left_out_but_of_all_rows():
    rng = np.random.default_rng(2)
    large, small = rng.binomial(40, 0.8, 20), np.zeros(200, int)
    seen = split_of("id_test", large, np.full(20, 40))
    unseen = split_of("ood_test", [*large, *small], [40] * 20 + [2] * 200)
    criteria = drop_of(seen, unseen, min_count=5)[0]["criteria"]
    assert criteria["worst"]["value"] == 0
    assert criteria["worst"]["interval"][0] < 0 < criteria["worst"]["interval"][1]
    assert criteria["overall"]["interval"][0] > 0.15  # a third of its rows are of small groups, all wrong
