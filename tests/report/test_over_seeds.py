import math
import re

import numpy as np
import pytest
from scipy.stats import t as student

from drawing import shown
from drurank.errors import InputError
from drurank.report.counts import SplitCounts
from drurank.report.over_seeds import over_seeds, seeds_table

NAMES = ["overall", "worst", "qdcg10", "tstat"]
COUNT = np.array([20, 20, 40])
CORRECT = [np.array([18, 12, 30]), np.array([16, 14, 34]), np.array([17, 10, 33])]


def summary(correct, count=COUNT, **options):
    groups = [f"g{number}" for number in range(len(count))]
    return SplitCounts("test", groups, np.asarray(correct), np.asarray(count)).summary(NAMES, **options)


@pytest.fixture(scope="module")
def summaries():
    return [summary(correct) for correct in CORRECT]


def test_mean_and_spread_are_those_of_the_seeds(summaries):
    found = over_seeds(summaries)
    assert (found["seeds"], found["rows"], found["groups"]) == (3, 80, 3)
    worst = found["criteria"]["worst"]
    assert worst["values"] == pytest.approx([0.6, 0.7, 0.5])
    assert worst["mean"] == pytest.approx(0.6)
    assert worst["sd"] == pytest.approx(0.1)
    overall = np.array([60, 64, 60]) / 80
    assert found["criteria"]["overall"]["mean"] == pytest.approx(overall.mean())
    assert found["criteria"]["overall"]["sd"] == pytest.approx(math.sqrt(sum((overall - overall.mean()) ** 2) / 2))


def test_interval_has_chance_in_the_rows_and_in_training(summaries):
    found = over_seeds(summaries)["criteria"]["worst"]
    entries = [one["criteria"]["worst"] for one in summaries]
    estimates = [entry["estimate"] for entry in entries]
    mean = sum(estimates) / 3
    of_training = student.ppf(0.95, 2) * math.sqrt(sum((e - mean) ** 2 for e in estimates) / 2 / 3)
    below = sum(entry["estimate"] - entry["interval"][0] for entry in entries) / 3
    above = sum(entry["interval"][1] - entry["estimate"] for entry in entries) / 3
    assert found["estimate"] == pytest.approx(mean)
    assert found["interval"] == pytest.approx(
        [mean - math.sqrt(below**2 + of_training**2), mean + math.sqrt(above**2 + of_training**2)]
    )


def test_seeds_that_agree_have_the_interval_of_one(summaries):
    one = summaries[0]["criteria"]
    for name, entry in over_seeds([summaries[0]] * 4)["criteria"].items():
        assert entry["sd"] == pytest.approx(0)
        assert entry["interval"] == (one[name]["interval"] and pytest.approx(one[name]["interval"]))


def test_interval_ends_at_what_is_possible():
    # Of two seeds one gets all right and one all wrong, so chance in training reaches beyond 0 and 1.
    found = over_seeds([summary(COUNT), summary(0 * COUNT)])["criteria"]
    assert found["overall"]["interval"] == [0.0, 1.0]
    # 1 + 1/log2(3) + ... + 1/log2(12): the ten worst percentiles and the first, all wrong.
    assert found["qdcg10"]["interval"] == [0.0, pytest.approx(sum(1 / math.log2(rank + 1) for rank in range(1, 12)))]


def test_criterion_that_says_nothing_with_one_seed_has_no_mean():
    found = over_seeds([summary(CORRECT[0]), summary(COUNT)])["criteria"]["tstat"]
    assert (found["mean"], found["sd"], found["interval"]) == (None, None, None)
    assert found["values"][1] is None


@pytest.mark.parametrize(
    ("some", "said"),
    [
        ([summary(CORRECT[0])], "there is one seed; give two or more"),
        ([summary(CORRECT[0]), summary([1, 1, 1], [20, 20, 41])], "tested on 80 and 81 rows"),
        ([summary(CORRECT[0]), summary([1, 1], [40, 40])], "tested on 3 and 2 groups"),
    ],
)
def test_what_cannot_be_put_together_is_refused(some, said):
    with pytest.raises(InputError, match=said):
        over_seeds(some)


def test_table_has_a_column_a_split_and_says_how_to_read_it(summaries):
    report = over_seeds(summaries)
    text = shown(seeds_table({"ood_test": report, "id_test": report}), 80)
    assert re.search(r"worst +\.600 .* \.600 .*\nhigher +± \.100 .* ± \.100 ", text)
    assert "mean and standard deviation over 3 seeds" in " ".join(text.split())
    assert "ood_test" in text
    assert "80 rows" in text


def test_chance_alone_is_the_mean_over_seeds_and_is_left_out_where_a_seed_has_none(summaries):
    floors = [one["criteria"]["worst"]["floor"] for one in summaries]
    found = over_seeds(summaries)["criteria"]["worst"]["floor"]
    assert found["median"] == pytest.approx(sum(floor["median"] for floor in floors) / 3)
    assert found["interval"] == pytest.approx([sum(floor["interval"][end] for floor in floors) / 3 for end in (0, 1)])
    assert over_seeds([summary(one, shrink=True) for one in CORRECT])["criteria"]["worst"]["floor"] is None
