"""Which groups are told from chance by themselves, and which only together."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from drurank.noise import noise_floor
from drurank.report import SplitCounts
from drurank.report.beyond import OF_FEW, beyond_chance
from drurank.report.page import summary
from drurank.report.remarks import remarks
from drurank.report.worst import on_worst


def split_of(correct, count):
    return SplitCounts("all", [f"g{i}" for i in range(len(count))], np.array(correct), np.array(count))


def told(split, draws=300):
    """What is told of a split, without the spread, which takes long to fit and is not asked."""
    chance = noise_floor(split.count, split.pooled, OF_FEW, draws=draws)
    ends = {name: np.percentile(found, [5, 95]) for name, found in chance.items()}
    return beyond_chance(
        split, {name: SimpleNamespace(floor_low=low, floor_high=high) for name, (low, high) in ends.items()}
    )


def with_a_shared_deficit(seed, alike=28, behind=12, by=0.13):
    rng = np.random.default_rng(seed)
    return rng.binomial(25, np.repeat([0.85 - by, 0.85], [behind, alike]))


@pytest.mark.usefixtures("all_draws")
def test_worst_groups_that_only_a_sum_tells_are_not_named():
    """Of 40 groups of 25 rows at .82 none has 14 right in fewer than .05 / 40 of cases, and one has 14 in over 5 %."""
    split = split_of(with_a_shared_deficit(11), [25] * 40)
    assert binom.cdf(split.correct.min(), 25, split.pooled) > 0.05 / 40
    content = split.summary(["worst", "qdcg10"])
    entry = content["criteria"]["qdcg10"]
    assert entry["value"] == pytest.approx(1.817, abs=5e-4)
    assert entry["floor"]["interval"][1] < entry["value"]
    assert content["beyond_chance"] == {"number": 0, "groups": [], "together": True}
    assert content["served_worst"] == {"group": "g8", "beyond_chance": False}
    assert content["worse_than_chance"] is None
    sentence = (
        "The groups served worst, taken together, are worse than chance alone would make them (qdcg10, at 5 %), though "
        "no single one can be named"
    )
    lines = summary(split, content)
    assert lines[0].endswith("40 groups: that one group by itself may be chance.")
    assert lines[-2].startswith(f"{sentence}; for all groups, a standard deviation of up to .081 is possible")
    assert lines[-1].startswith("Next: look at the rows that are wrong of several of the worst groups")
    assert any(line.startswith(sentence) for line in remarks({"all": content}))
    assert not any("worse than chance alone would make a group" in line for line in lines)


def test_groups_that_share_a_mild_deficit_are_seldom_named_where_they_are_alike_with_others():
    """In 200 draws each: one that is as good as most is named in about 5 %, and often none is but all together."""
    shares = {}
    for by in (0, 0.13):
        found = [told(split_of(with_a_shared_deficit(seed, by=by), [25] * 40)) for seed in range(200)]
        wrong = [any(by == 0 or int(name[1:]) >= 12 for name in one["beyond_chance"]["groups"]) for one in found]
        together = [one["beyond_chance"]["together"] and not one["beyond_chance"]["number"] for one in found]
        shares[by] = np.mean(wrong), np.mean(together)
        for one in found:
            assert (one["worse_than_chance"] is None) == (one["beyond_chance"]["number"] == 0)
    assert shares[0][0] < 0.1
    assert shares[0.13][0] < 0.05
    assert shares[0][1] < 0.06
    assert shares[0.13][1] > 0.15


def test_a_worst_group_that_only_its_floor_tells_is_the_one_to_begin_with():
    """The worst of 40 groups is that low in fewer than 5 % of cases, though its own tail is above .05 / 40."""
    correct = [14, *[21] * 39]
    split = split_of(correct, [25] * 40)
    tail = binom.cdf(14, 25, split.pooled)
    assert tail > 0.05 / 40
    assert 1 - (1 - tail) ** 40 < 0.05
    floor = SimpleNamespace(floor_low=0.57, floor_high=1), SimpleNamespace(floor_low=0, floor_high=9)
    found = beyond_chance(split, dict(zip(OF_FEW, floor, strict=True)))
    assert found["worse_than_chance"] == "g0"
    assert found["beyond_chance"] == {"number": 1, "groups": ["g0"], "together": False}


def test_a_large_group_told_by_itself_is_set_beside_a_worst_figure_within_chance():
    """Groups of two rows are at 0 by chance; one of 300 at .6 is not, where .9 of all are right."""
    split = split_of([0, *[2] * 40, *[270] * 10, 180], [2, *[2] * 40, *[300] * 10, 300])
    content = split.summary(["average", "worst"])
    assert content["criteria"]["worst"]["floor"]["interval"][0] == 0
    assert content["worse_than_chance"] == "g51"
    (line,) = [
        line for line in remarks({"all": content}, said=("all",)) if line.startswith("Worst, of all groups, is within")
    ]
    assert line == (
        "Worst, of all groups, is within chance, though 'g51' by its own rows is not: chance moves small groups most, "
        "and often makes one of them as bad, but hardly one as large as 'g51'."
    )
    said = "Worse than chance alone would make groups of their sizes, even as the worst of 52 groups: 'g51' (.600)."
    assert said in on_worst(split, content)
    without = split_of([*[2] * 40, *[270] * 10], [*[2] * 40, *[300] * 10]).summary(["average", "worst"])
    assert not any("is within chance, though" in line for line in remarks({"all": without}))
