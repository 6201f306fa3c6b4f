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
    assert drop["criteria"]["worst"]["by_chance"] == pytest.approx(want, abs=0.021)  # a row of a group is .02
    # The rows are worse on the whole, which is no chance.
    assert drop["criteria"]["overall"]["value"] > 0.1
    assert drop["criteria"]["overall"]["by_chance"] == pytest.approx(0, abs=0.005)
    for name in ("worst", "qdcg10"):
        for key in ("value", "estimate"):
            sign = 1 if name == "worst" else -1
            before, after = (summaries[split]["criteria"][name][key] for split in ("id_test", "ood_test"))
            assert drop["criteria"][name][key] == pytest.approx(sign * (before - after))


def test_sums_over_unlike_numbers_of_groups_are_left_out():
    drop, _ = drop_of(split_of("id_val", [8] * 20, [10] * 20), split_of("val", [8, 7] * 45, [10] * 90))
    assert not {"gdcg10", "gdcg50"} & drop["criteria"].keys()
    drop, _ = drop_of(split_of("id_val", [8, 7], [10, 10]), split_of("val", [8, 6, 1], [10, 10, 2]), min_count=3)
    assert {"gdcg10", "gdcg50"} <= drop["criteria"].keys()


def test_what_one_split_lacks_is_not_compared():
    one, several = split_of("id_test", [8], [10]), split_of("ood_test", [8, 3, 9], [10, 10, 10])
    entry = drop_of(one, several)[0]["criteria"]["tstat"]
    assert entry == {"value": None, "estimate": None, "by_chance": None}
    shrunk = drop_of(one, several, shrink=True)[0]["criteria"]["worst"]
    assert shrunk["by_chance"] is None
    assert shrunk["value"] is not None


def test_other_splits_are_not_compared():
    assert drop_of(split_of("ood_test", [8], [10]), split_of("train", [9], [10]))[0] is None
