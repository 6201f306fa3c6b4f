import numpy as np
import pytest

from drawing import shown
from drurank.criteria import default_criteria
from drurank.report import SplitCounts, criteria_table
from drurank.report.classes import ClassCounts
from drurank.report.drop import find_drop
from drurank.report.tables import drop_table, groups_table
from drurank.words import in_range


def split_of(name, accuracy, size=75, classes=None):
    count = np.full(len(accuracy), size)
    correct = np.round(np.array(accuracy) * size).astype(int)
    return SplitCounts(name, [f"g{number}" for number in range(len(count))], correct, count, None, classes)


def summaries(*splits):
    return {split.split: split.summary(default_criteria()) for split in splits}


@pytest.fixture(scope="module")
def two():
    """A thousand groups each of two splits, and their summaries."""
    rng = np.random.default_rng(0)
    one = np.where(np.arange(1334) < 20, 0.4, rng.normal(0.85, 0.04, 1334).clip(0, 1))
    splits = split_of("ood_test", one), split_of("id_test", rng.normal(0.85, 0.05, 1334).clip(0, 1))
    return splits, summaries(*splits)


@pytest.mark.parametrize("width", [80, 100])
def test_two_splits_of_a_thousand_groups_fit_the_terminal(two, width):
    text = shown(criteria_table(two[1]), width)
    lines = [line.split() for line in text.splitlines()]
    assert ["1,334", "groups", "1,334", "groups"] in lines
    assert ["100,050", "rows", "100,050", "rows"] in lines
    assert ["better", "if", *["observed", "estimated", "alone"] * 2] in lines
    assert ["worst", ".400"] in [line[:2] for line in lines]
    worst = lines[[line[:1] == ["worst"] for line in lines].index(True) :][:2]
    assert [len(line) for line in worst] == [7, 5], "three figures a split; an interval and a band below"
    assert "…" not in text


def test_three_figures_of_each_criterion_are_those_of_the_report(two):
    splits, found = two
    text = shown(criteria_table(found), 100)
    worst = next(line for line in text.splitlines() if line.strip().startswith("worst")).split()[1:]
    entries = [found[split.split]["criteria"]["worst"] for split in splits]
    want = [figure for entry in entries for figure in (entry["value"], entry["estimate"], entry["floor"]["median"])]
    assert [float(figure) for figure in worst] == pytest.approx(want, abs=6e-4)


def test_tstat_of_one_group_is_blank():
    text = shown(criteria_table(summaries(split_of("test", [0.8]))), 80)
    (row,) = [line for line in text.splitlines() if line.strip().startswith("tstat")]
    assert row.split() == ["tstat"]


def test_shrunk_report_has_no_column_of_chance():
    split = split_of("test", [0.8, 0.6, 0.7])
    text = shown(criteria_table({"test": split.summary(default_criteria(), shrink=True)}), 80)
    assert "chance alone" not in text.partition("standard deviation")[0]
    assert ["better", "if", "shrunk", "estimated"] in [line.split() for line in text.splitlines()]
    assert "observed" not in text.lower()
    assert "Shrunk: computed from the groups' shrunk accuracies" in " ".join(text.split())


def classes_of(right_of_1, right_of_0, commonest=None):
    label = np.repeat([1, 0], [840, 160])
    right = np.concatenate([np.arange(840) < right_of_1, np.arange(160) < right_of_0])
    return ClassCounts.of_rows(label, right, ["no", "yes"], commonest)


def test_model_hardly_better_than_the_commonest_class_is_told_so():
    alike, better = classes_of(820, 32), classes_of(830, 60)  # .852 and .890 right; always "yes": .840
    columns = summaries(split_of("hard", [0.8, 0.9], classes=alike), split_of("easy", [0.8, 0.9], classes=better))
    text = shown(criteria_table(columns), 100)
    lines = [line.split() for line in text.splitlines()]
    assert ["balanced", ".588", ".682"] in lines  # (820/840 + 32/160) / 2, (830/840 + 60/160) / 2
    assert ["constant", ".840", ".840"] in lines
    text = " ".join(text.split())
    assert "hard: not significantly better than always answering 'yes' (.840): McNemar's exact test, one-sided" in text
    assert "easy: not" not in text
    assert "always 'yes', the commonest class here, since the training rows are not known" in text
    trained = summaries(split_of("hard", [0.8, 0.9], classes=classes_of(820, 32, commonest=0)))
    text = " ".join(shown(criteria_table(trained), 100).split())
    assert "constant .160" in text
    assert "always 'no', the commonest class of the training rows" in text


def test_commonest_classes_of_several_splits_are_named():
    label = np.repeat([0, 1], [60, 40])
    other = ClassCounts.of_rows(label, label == 0, ["no", "yes"])
    columns = summaries(
        split_of("a", [0.8, 0.9], classes=classes_of(840, 100)), split_of("b", [0.8, 0.9], classes=other)
    )
    text = " ".join(shown(criteria_table(columns), 100).split())
    assert "the commonest class here, since the training rows are not known; 'yes' in a and 'no' in b." in text
    trained = {
        name: split_of(name, [0.8, 0.9], classes=classes_of(840, 100, place)) for name, place in (("a", 0), ("b", 1))
    }
    text = " ".join(shown(criteria_table(summaries(*trained.values())), 100).split())
    assert "always the commonest class of the training rows; 'no' in a and 'yes' in b." in text
    assert "not known" not in text


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ((820, 10), "worse than always answering 'yes' (.840)."),  # .830
        ((840, 0), "no better than always answering 'yes' (.840)."),
        ((830, 10), "no better than always answering 'yes' (.840)."),
        ((820, 32), "not significantly better than always answering 'yes' (.840): McNemar"),  # .852
        ((840, 5), ""),  # .845, and never worse: p is 1/32
    ],
)
def test_what_is_said_of_the_constant_answer_is_true(right, said):
    found = summaries(split_of("s", [0.8, 0.9], classes=classes_of(*right)))
    text = " ".join(shown(criteria_table(found), 100).split())
    assert (f"s: {said}" in text) if said else ("than always" not in text)


@pytest.mark.parametrize(("right", "is_said"), [((10, 500), True), ((100, 700), False)])
def test_model_no_better_than_the_commonest_class_here_is_told_so_though_training_has_another(right, is_said):
    classes = ClassCounts(["no", "yes"], np.array(right), np.array([300, 700]), 0)
    text = " ".join(shown(criteria_table(summaries(split_of("s", [0.8, 0.9], classes=classes))), 100).split())
    said = "s: worse than always answering 'yes' (.700). That is the commonest class here, though not of the training"
    assert (said in text) == is_said


def test_drop_of_shrunk_figures_says_so_and_has_no_column_of_chance():
    splits = split_of("ood_test", [0.5, 0.7, 0.6]), split_of("id_test", [0.8, 0.9, 0.7])
    found = {split.split: split.summary(["worst"], shrink=True) for split in splits}
    text = shown(drop_table(find_drop(splits, found, min_count=1), shrink=True), 80)
    assert "shrunk" in text
    assert "observed" not in text
    assert "chance alone" not in text


def test_without_classes_there_are_no_lines_of_them():
    text = shown(criteria_table(summaries(split_of("test", [0.8, 0.9]))), 80)
    assert "constant" not in text
    assert "balanced" not in text.lower()


def test_how_much_worse_shows_three_figures(two):
    drop = find_drop(*two, min_count=1)
    text = shown(drop_table(drop), 80)
    assert "How much worse ood_test is than id_test" in text
    lines = [line.split() for line in text.splitlines()]
    at = [line[:1] == ["worst"] for line in lines].index(True)
    entry = drop["criteria"]["worst"]
    want = [entry["value"], entry["estimate"], entry["by_chance"]["median"]]
    assert [float(figure) for figure in lines[at][1:]] == pytest.approx(want, abs=6e-4)
    assert lines[at + 1] == " ".join([in_range(entry["interval"]), in_range(entry["by_chance"]["interval"])]).split()
    assert "left out" not in text
    assert "observed" in text
    drop["left_out"] = ["gdcg10", "gdcg50"]
    said = " ".join(shown(drop_table(drop), 80).split())
    assert "gdcg10 and gdcg50 are left out: more groups give more" in said


class Marked(SplitCounts):
    """Counts of which it is given which groups' own rows contradict the shrunk value."""

    @property
    def contradicts(self):
        return np.arange(len(self.count)) < 7


def test_groups_that_contradict_their_shrunk_value_are_marked_and_named_the_worst_first():
    accuracy = np.concatenate([np.linspace(0.6, 0, 7), np.full(20, 0.9)])
    given = split_of("test", accuracy, size=50)
    text = shown(groups_table(Marked(given.split, given.groups, given.correct, given.count)), 80)
    rows = [line for line in text.splitlines() if line.startswith("│ g")]
    assert [row.split()[1] for row in rows if "*" in row] == ["g6", "g5", "g4", "g3", "g2", "g1", "g0"]
    said = " ".join(text.split())
    named = "'g6' (.000), 'g5' (.100), 'g4' (.200), 'g3' (.300), 'g2' (.400) and 2 more"
    assert f"* 7 of 27 groups ({named}): their own rows contradict the shrunk value" in said
    assert "Rely on their own 5 to 95 %" in said
    assert "Shrunk: the group's true accuracy, estimated from the rows of all groups" in said


def test_groups_that_their_shrunk_value_fits_are_not_marked():
    assert "*" not in shown(groups_table(split_of("test", [0.8, 0.82, 0.78])), 80)


def test_heading_says_how_many_groups_are_used():
    split = SplitCounts("test", ["a", "b", "c"], np.array([8, 9, 1]), np.array([10, 10, 2]))
    text = shown(criteria_table({"test": split.summary(["worst"], min_count=3)}), 80)
    lines = [line.split() for line in text.splitlines()]
    at = lines.index(["2", "of", "3"])
    assert lines[at - 1 : at + 3] == [["test"], ["2", "of", "3"], ["groups", "used"], ["22", "rows"]]


def test_groups_of_a_single_row_have_no_shrunk_value():
    text = shown(groups_table(SplitCounts("test", list("abc"), np.array([1, 0, 1]), np.ones(3, int))), 80)
    assert "shrunk" not in text.lower()
    assert "nan" not in text


@pytest.mark.parametrize("place", ["begin", "middle", "end"])
def test_names_of_groups_that_differ_anywhere_are_told_apart_at_80_columns(place):
    same = "a hospital of a long name in a region of a long name "
    names = {
        "begin": [f"{i}{same * 2}" for i in (1, 2)],
        "middle": [f"{same}{i} {same}" for i in (1, 2)],
        "end": [f"{same * 2}{i}" for i in (1, 2)],
    }[place]
    text = shown(groups_table(SplitCounts("test", names, np.array([8, 9]), np.array([10, 10]))), 80)
    assert "…" not in text
    cells = "".join(line.split("│")[1].strip() for line in text.splitlines() if line.startswith("│"))
    for name in names:
        assert name.replace(" ", "") in cells.replace(" ", "")
    assert ".800" in text
    assert max(map(len, text.splitlines())) <= 80


def test_headings_of_splits_that_differ_in_their_middle_are_told_apart():
    names = [f"the_test_split_number_{i}_of_the_others" for i in (1, 2)]
    text = shown(criteria_table(summaries(*(split_of(name, [0.8, 0.9]) for name in names))), 80)
    assert "number_1" in text
    assert "number_2" in text
