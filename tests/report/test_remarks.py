from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from drurank.criteria import default_criteria
from drurank.figures import FIGURES, Outcomes
from drurank.report import SplitCounts
from drurank.report.count_tables import accuracy_table
from drurank.report.remarks import remarks, said_drop
from drurank.report.values import SplitValues
from drurank.report.worst import on_worst
from drurank.spread import fit_spread
from drurank.words import in_digits, in_range


def split_of(correct, count, name="s"):
    return SplitCounts(name, [f"g{number}" for number in range(len(count))], np.array(correct), np.array(count))


def said(split, names=None, **options):
    return " ".join(remarks({split.split: split.summary(names or default_criteria(), **options)}))


def alike(*more):
    """Sixty groups of 25 by chance alone at .8, and others."""
    correct = np.random.default_rng(1).binomial(25, 0.8, 60)
    return split_of([*correct, *(right for right, _ in more)], [25] * 60 + [size for _, size in more])


def test_where_no_difference_is_found_it_says_what_is_possible():
    split = split_of([20, 21, 19] * 20, [25] * 60)
    assert split.spread.sd == 0
    text = said(split)
    assert "no difference between groups beyond chance was found; a standard deviation of up to ." in text
    assert "differ by more than chance" not in text


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("names", [None, ["overall"]])
def test_groups_worse_than_chance_are_named_even_where_the_spread_does_not_show_them(names, shrink):
    # Chance alone gives a worst of .52 to .68; here it is .44, of a group that the tiny one at 0 does not hide.
    split = split_of([11] + [20, 21, 19] * 20 + [0], [25] * 61 + [1])
    split.__dict__["spread"] = fit_spread(np.array([20, 21, 19] * 20), np.full(60, 25))
    assert split.spread.sd == 0
    text = said(split, names, shrink=shrink)
    assert "no difference" not in text
    assert "one or a few groups, above all 'g0', are worse than chance alone would make them" in text


def test_figures_that_chance_explains_are_listed_unless_perfect():
    split = alike()
    low, high = (1 - (1 - binom.cdf(split.correct.min() - at, 25, split.correct.sum() / 1500)) ** 60 for at in (1, 0))
    assert (low < 0.95) & (high > 0.05)
    listed = "the observed worst, p10, gdcg10, gdcg50, qdcg10 and qdcg50 are consistent with chance alone"
    assert listed in said(split)
    assert "consistent with chance" not in said(split_of([20] * 60, [25] * 60))  # better than chance makes them
    assert "consistent with chance" not in said(split_of([25] * 30, [25] * 30))
    # p10 is perfect, the worst is not: one wrong row of 600.
    text = said(split_of([24] + [25] * 23, [25] * 24), ["worst", "p10"])
    assert "the observed worst is consistent with chance alone" in text


FOUND = ("taken together, groups differ by more than chance", "are worse than chance alone would make them")
NOT_FOUND = ("no difference between groups", "it is unclear whether", "consistent with chance")


def sentence_on_differences(split, names=None):
    """The one sentence on how groups differ, which must not say both that they do and that it is unclear."""
    (found,) = [line for line in remarks({"s": split.summary(names or default_criteria())}) if line.startswith("s: ")]
    assert any(words in found for words in FOUND) != any(words in found for words in NOT_FOUND), found
    return found


def test_figure_that_chance_alone_makes_as_bad_does_not_speak_against_a_difference_that_is_found():
    """Thirty groups of 5 all wrong: the worst of a hundred such groups is 0 by chance too, but not 30 of them."""
    split = split_of([5] * 70 + [0] * 30, [5] * 100)
    floor = split.summary(["worst"])["criteria"]["worst"]["floor"]["interval"]
    assert floor[0] == 0
    low, high = split.spread.low, split.spread.high
    assert sentence_on_differences(split, ["worst"]) == (
        "s: taken together, groups differ by more than chance: true accuracies have a standard deviation of "
        f"{in_digits(split.spread.sd)} (5 to 95 %: {in_range((low, high))}); the observed worst alone would not show "
        "it, since chance makes it as bad where groups of these sizes are served alike."
    )


def test_a_group_that_is_worse_than_chance_is_not_called_into_question_by_other_figures():
    """One group of 300 is right in 195; by chance alone at .8 about one report in 10^9 has such a group."""
    split = alike((195, 300))
    assert split.summary(["p10"])["worse_than_chance"] == "g60"
    split.__dict__["spread"] = replace(split.spread, sd=0.02, low=0.0, high=0.06)
    assert sentence_on_differences(split, ["p10"]) == (
        "s: one or a few groups, above all 'g60', are worse than chance alone would make them (at 5 %); for all "
        "groups, a standard deviation of up to .060 is possible; the observed p10 alone would not show it, since "
        "chance makes it as bad where groups of these sizes are served alike."
    )


@pytest.mark.parametrize(
    ("sd", "said"), [(0.02, "it is unclear whether groups differ by more than chance"), (0, "no difference between")]
)
def test_where_no_difference_is_found_figures_agree_with_that(sd, said):
    split = alike()
    split.__dict__["spread"] = replace(split.spread, sd=sd, low=0.0, high=0.06)
    text = sentence_on_differences(split, ["worst", "p10"])
    assert said in text
    assert text.endswith("; the observed worst and p10 are consistent with chance alone.")


def test_of_groups_of_one_row_only_all_rows_are_estimated():
    split = split_of([1] * 40 + [0] * 10, [1] * 50)
    summary = split.summary(default_criteria())
    assert summary["spread"] is None
    has_estimate = [name for name, entry in summary["criteria"].items() if entry["estimate"] or entry["interval"]]
    assert has_estimate == ["overall"]
    assert summary["criteria"]["worst"]["value"] == 0
    assert accuracy_table(split)["shrunk"].to_pylist() == [None] * 50
    shrunk = split.summary(default_criteria(), shrink=True)["criteria"]
    assert [name for name, entry in shrunk.items() if entry["value"] is not None] == ["overall"]
    text = said(split)
    assert "every group has a single row, so nothing is known of how they differ" in text
    assert "standard deviation" not in text
    assert split_of([1] * 40 + [0] * 10, [1] * 49 + [2]).summary(["worst"])["spread"] is not None


def test_scale_of_sums_of_errors_is_explained():
    # All groups wrong: the sum of 1 / log2(i + 1) over the 11 percentiles 100, 99, ..., 90.
    assert sum(1 / np.log2(i + 1) for i in range(1, 12)) == pytest.approx(4.82, abs=0.005)
    text = said(alike(), ["qdcg10", "gdcg10"])
    assert (
        "qdcg10 and gdcg10: sums of the worst groups' errors; 0 is best; if all rows were wrong, 4.82 for qdcg10."
        in text
    )
    assert "qdcg" not in said(alike(), ["worst"])


def test_tstat_without_an_estimate_is_explained_where_others_have_one():
    assert "tstat has no estimate" in said(alike(), ["worst", "tstat"])
    assert "tstat has no estimate" not in said(alike(), ["tstat"])


def test_groups_that_min_count_leaves_out_are_counted():
    assert "2 of 62 groups left out for having too few rows" in said(alike((1, 2), (0, 2)), min_count=3)


def test_every_group_that_is_told_from_chance_is_named():
    # Of 200 rows each, .9 right but in two groups, where half and six tenths are; a third of 10 rows may be chance.
    split = SplitCounts(
        "s", [f"g{i}" for i in range(8)], np.array([180, 100, 120, 180, 180, 180, 180, 8]), np.array([200] * 7 + [10])
    )
    summary = split.summary(["average", "worst"])
    assert summary["beyond_chance"] == {"number": 2, "groups": ["g1", "g2"], "together": True}
    said = on_worst(split, summary)
    assert "'g1', with 100 of 200 rows right (.500)" in said
    assert said.endswith(
        "worse than chance alone would make a group of its size, even as the worst of 8 groups. So is 'g2' (.600)."
    )


def test_a_worst_group_of_few_rows_does_not_hide_one_that_is_told():
    split = SplitCounts("s", ["small", "large", "a", "b"], np.array([0, 60, 180, 180]), np.array([1, 200, 200, 200]))
    said = on_worst(split, split.summary(["average"]))
    assert said.endswith(
        "Worse than chance alone would make groups of their sizes, even as the worst of 4 groups: 'large' (.300)."
    )


def test_a_group_outside_of_its_own_range_may_be_the_worst_of_many_by_chance():
    # Of 100 groups of 20 rows, .9 right, one has 14: at most that in 1.1 % of cases, and so one of 100 in most.
    correct = np.array([14, *[18] * 99])
    split = SplitCounts("s", [f"g{i}" for i in range(100)], correct, np.full(100, 20))
    low, high = (int(binom.ppf(level, 20, correct.sum() / 2000)) / 20 for level in (0.05, 0.95))
    said = on_worst(split, split.summary(["average"]))
    ends = f"{low:.3f}-{high:.3f}".replace("0.", ".").replace("1.000", "1.00")
    assert said.endswith(
        f"Chance alone would rarely put a single group of its size there ({ends}, 5 to 95 %), but often enough one of "
        "100 groups: that one group by itself may be chance."
    )


def test_a_name_is_told_from_the_sentence_around_it():
    names = ["none", "afternoon reading and homework help"]
    split = SplitCounts("s", names, np.array([10, 18]), np.array([20, 20]))
    assert "Served worst in s: 'none', with 10 of 20 rows right" in on_worst(split, split.summary(["average"]))
    split = SplitCounts("s", names, np.array([18, 10]), np.array([20, 20]))
    assert f"Served worst in s: {names[1]!r}, with" in on_worst(split, split.summary(["average"]))


def test_probabilities_that_are_off_everywhere_are_not_called_chance():
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(16), 60)
    score = rng.uniform(0.4, 0.6, len(code))
    label = (rng.random(len(code)) < np.clip(score + 0.25, 0, 1)).astype(np.int64)  # a quarter more often than said
    rows = Outcomes(label, np.ones_like(label), 1, None, 2, score, np.stack([1 - score, score], axis=1))
    figure = FIGURES["calibration_error"]
    split = SplitValues.of_rows("s", [f"g{i}" for i in range(16)], figure, figure.prepare(rows), code)
    said = on_worst(split, split.summary(["average", "worst"]))
    assert "Probabilities are off in the groups as a whole: their mean calibration error is .2" in said
    assert "where right ones would give .1" in said
    label = (rng.random(len(code)) < score).astype(np.int64)
    rows = Outcomes(label, np.ones_like(label), 1, None, 2, score, np.stack([1 - score, score], axis=1))
    split = SplitValues.of_rows("s", [f"g{i}" for i in range(16)], figure, figure.prepare(rows), code)
    assert "as a whole" not in on_worst(split, split.summary(["average", "worst"]))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.06, "is served worse than id_test, groups that it had, by .060: more than chance alone"),
        (-0.06, "is served better than id_test, groups that it had, by .060: more than chance alone"),
        (0.01, "is served worse than id_test, groups that it had, by .010: no more than chance alone"),
    ],
)
def test_it_says_whether_unseen_groups_are_served_worse(value, said):
    overall = {"value": value, "by_chance": {"interval": [-0.02, 0.02]}}
    (line,) = said_drop({"from": "id_test", "to": "ood_test", "criteria": {"overall": overall}})
    assert line.startswith("Over all rows, ood_test, groups that training lacked, ")
    assert said in line
    assert line.endswith("than chance alone would give, between .020 better and .020 worse.")
    assert said_drop(None) == said_drop({"from": "id_test", "to": "ood_test", "criteria": {}}) == []
    without = {"from": "id_test", "to": "ood_test", "criteria": {"overall": {"value": value, "by_chance": None}}}
    assert said_drop(without) == []
