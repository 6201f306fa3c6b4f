"""Shares of rows by group against numpy's own counts."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from scipy.stats import beta

from drurank.criteria import compute_criteria
from drurank.errors import InputError
from drurank.figures import SHARES, figure_named
from drurank.report.answers import Answers
from drurank.report.served import figure_table
from drurank.tabular.several import Source

LOWER = {"error", "fnr", "fpr", "off_by_more_than_one"}


def share(name, label, said):
    """A figure of rows with classes 0 and 1, as fraction's two numbers; written down by its definition."""
    label, said = np.asarray(label), np.asarray(said)
    tp, fp, fn, tn = (((label == a) & (said == b)).sum() for a, b in ((1, 1), (0, 1), (1, 0), (0, 0)))
    return {
        "accuracy": (tp + tn, tp + fp + fn + tn),
        "error": (fp + fn, tp + fp + fn + tn),
        "selection_rate": (tp + fp, tp + fp + fn + tn),
        "tpr": (tp, tp + fn),
        "fnr": (fn, tp + fn),
        "tnr": (tn, tn + fp),
        "fpr": (fp, tn + fp),
        "precision": (tp, tp + fp),
        "npv": (tn, tn + fn),
        "off_by_more_than_one": (0, len(label)),
    }[name]


def answers(label, said, group, *, split=None, positive=None, labels=()):
    columns = {"label": label, "prediction": said, "group": group, **({"split": split} if split else {})}
    table = pa.table({name: [str(cell) for cell in cells] for name, cells in columns.items()})
    return Answers.of_table(
        Source.given("t", table), "label", "prediction", ["group"], split and "split", labels, positive
    )


def counts(name, *of_rows, **options):
    (split,) = answers(*of_rows, **options).counts(figure_named(name))
    return split


@pytest.mark.parametrize("name", SHARES)
def test_each_is_its_definition_group_by_group(name):
    for seed in range(50):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(8, 80))
        group = rng.integers(0, 9, rows)  # with groups of one row, and of one class
        label, said = (rng.random(rows) < 0.2 + 0.07 * group).astype(int), rng.integers(0, 2, rows)
        label[:2], said[:2] = (0, 1), (1, 0)
        split = counts(name, label, said, group)
        found = dict(zip(split.groups, zip(split.events, split.count, strict=True), strict=True))
        for one in np.unique(group):
            here = group == one
            events, count = share(name, label[here], said[here])
            assert found.pop(str(one), (0, 0)) == (events, count), (seed, one)
            assert (count == 0) == (str(one) in split.without)
        assert not found


def test_the_positive_class_may_be_any_of_several():
    label, said = ["a", "b", "c", "a", "b"], ["a", "a", "b", "c", "b"]
    split = counts("fpr", label, said, ["g"] * 5, positive="a")
    assert (int(split.events[0]), int(split.count[0])) == (1, 3)  # of b, c, b one is called a
    split = counts("precision", label, said, ["g"] * 5, positive="b")
    assert (int(split.events[0]), int(split.count[0])) == (1, 2)


def test_stars_are_off_by_more_than_one():
    split = counts("off_by_more_than_one", [1, 2, 5, 4, 3], [3, 1, 5, 2, 3], ["g"] * 5)
    assert (int(split.events[0]), int(split.count[0])) == (2, 5)
    # Of labels 0, 2, 10 all wrong ones are, though their numbers as classes are neighbours.
    split = counts("off_by_more_than_one", [0, 2, 10], [2, 10, 10], ["g"] * 3)
    assert int(split.events[0]) == 2


ROWS = 400


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    group = rng.integers(0, 6, ROWS)
    label = (rng.random(ROWS) < 0.5).astype(int)
    return label, (rng.random(ROWS) < 0.25 + 0.3 * label + 0.05 * group).astype(int), group


@pytest.mark.parametrize("name", [name for name in SHARES if name != "off_by_more_than_one"])
def test_criteria_are_of_the_worse_served_groups(rows, name):
    label, said, group = rows
    found = counts(name, *rows).summary(["average", "worst", "p10", "overall", "gap", "ratio", "qdcg10"])["criteria"]
    pairs = np.array([share(name, label[group == one], said[group == one]) for one in range(6)])
    value = pairs[:, 0] / pairs[:, 1]
    bad = value if name in LOWER else 1 - value
    assert found["average"]["value"] == pytest.approx(value.mean())
    assert found["worst"]["value"] == pytest.approx(value.max() if name in LOWER else value.min())
    assert found["p10"]["value"] == pytest.approx(np.percentile(value, 90 if name in LOWER else 10))
    assert found["overall"]["value"] == pytest.approx(pairs[:, 0].sum() / pairs[:, 1].sum())
    assert found["gap"]["value"] == pytest.approx(value.max() - value.min())
    assert found["ratio"]["value"] == pytest.approx(value.min() / value.max())
    percentiles = [np.percentile(bad, 100 - q) for q in range(11)]
    assert found["qdcg10"]["value"] == pytest.approx(sum(b / np.log2(q + 2) for q, b in enumerate(percentiles)))
    for by, better in (("worst", "min" if name in LOWER else "max"), ("gap", "min"), ("ratio", "max")):
        assert found[by]["better"] == better
        low, high = found[by]["interval"]
        assert low < found[by]["estimate"] < high


def test_chance_alone_is_that_of_groups_with_the_same_rate(rows):
    label, said, group = rows
    pairs = np.array([share("fpr", label[group == one], said[group == one]) for one in range(6)])
    rng, rate = np.random.default_rng(0), pairs[:, 0].sum() / pairs[:, 1].sum()
    drawn = rng.binomial(pairs[:, 1], rate, (20000, 6)) / pairs[:, 1]
    found = counts("fpr", *rows).summary(["worst", "gap", "ratio"])["criteria"]
    wanted = {
        "worst": drawn.max(axis=1),
        "gap": drawn.max(axis=1) - drawn.min(axis=1),
        "ratio": drawn.min(axis=1) / drawn.max(axis=1),
    }
    for by, values in wanted.items():
        low, middle, high = np.percentile(values, (5, 50, 95))
        assert found[by]["floor"]["median"] == pytest.approx(middle, abs=0.015)
        assert found[by]["floor"]["interval"] == pytest.approx([low, high], abs=0.03)


def test_tables_have_the_figure_with_its_interval_and_why_a_group_has_none():
    label, said = [0] * 10 + [1] * 10 + [1], [1] * 3 + [0] * 7 + [1] * 10 + [0]
    split = counts("fpr", label, said, ["a"] * 10 + ["b"] * 10 + ["c"])
    table = figure_table(split).to_pylist()
    first = table[0]
    assert [row["group"] for row in table] == ["a", "b", "c"]
    assert (first["count"], first["events"], first["value"]) == (10, 3, pytest.approx(0.3))
    assert first["low"] == pytest.approx(beta.ppf(0.05, 3, 8))
    assert first["high"] == pytest.approx(beta.ppf(0.95, 4, 7))
    for row in table[1:]:
        assert (row["count"], row["value"], row["low"], row["shrunk"]) == (0, None, None, None)
        assert row["reason"] == "no rows of the negative class"
    assert split.summary(["worst"])["groups_without"] == 2


def test_a_rate_and_its_complement_are_shrunk_alike(rows):
    of_errors, well = (figure_table(counts(name, *rows)) for name in ("fpr", "tnr"))
    assert of_errors["shrunk"].to_numpy() == pytest.approx(1 - well["shrunk"].to_numpy())
    assert of_errors["low"].to_numpy() == pytest.approx(1 - well["high"].to_numpy())
    assert of_errors["contradicts_shrunk"] == well["contradicts_shrunk"]


@pytest.mark.parametrize(
    ("name", "of_rows", "options", "said"),
    [
        ("fpt", ([0, 1], [0, 1]), {}, "there is no figure 'fpt': did you mean 'fpr'"),
        (
            "fpr",
            (["no", "yes"], ["no", "yes"]),
            {},
            r"needs a positive class; say which of the labels it is with positive=\.\.\. \(labels: 'no', 'yes'\)",
        ),
        ("fpr", (["no", "yes"], ["no", "yes"]), {"positive": "Yes"}, "positive is 'Yes', which is no label: did you"),
        ("off_by_more_than_one", (["no", "yes"], ["no", "yes"]), {}, "needs labels that are numbers"),
        ("fpr", ([1, 1], [0, 1]), {"labels": ["0"]}, "figure 'fpr': there are no rows of the negative class"),
    ],
)
def test_what_cannot_be_had_is_refused(name, of_rows, options, said):
    with pytest.raises(InputError, match=said):
        counts(name, *of_rows, ["g", "h"], **options)


@pytest.mark.parametrize("make", [np.array, torch.tensor], ids=["numpy", "torch"])
def test_gap_and_ratios_of_accuracies(make):
    correct, count = [[9, 4, 0, 0], [0, 0, 0, 0]], [[10, 8, 5, 0], [3, 2, 1, 0]]
    found = compute_criteria(make(correct), make(count), ["gap", "ratio", "error_ratio"])
    assert [float(value) for value in found["gap"]] == [pytest.approx(0.9), 0.0]
    assert [float(value) for value in found["ratio"]] == [0.0, 1.0]  # of accuracies that are all 0 too
    assert [float(value) for value in found["error_ratio"]] == [pytest.approx(0.1), 1.0]
    none = compute_criteria(make([0, 0]), make([0, 0]), ["gap", "ratio", "error_ratio"])
    assert all(np.isnan(float(value)) for value in none.values())


def test_equal_numbers_are_one_class_however_they_are_written():
    label, said = ["1", "1.0", "0", "0.0", "1.0"], ["1.0", "0", "1", "0.0", "1"]
    for positive in (None, "1", "1.0", "1.00"):
        split = counts("tpr", label, said, ["g"] * 5, positive=positive)
        assert (int(split.events[0]), int(split.count[0])) == (2, 3), positive
