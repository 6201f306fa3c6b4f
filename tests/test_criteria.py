import math
import re

import numpy as np
import pytest
import torch

import drurank.criteria
from drurank.criteria import (
    Criterion,
    CriterionFamily,
    compute_criteria,
    criterion,
    default_criteria,
    describe_criteria,
    register_criterion,
)
from drurank.criterion_keys import criterion_of_key, key_of, logged_criterion, resembled_key
from drurank.dcg import group_dcg
from drurank.errors import InputError
from drurank.groups import Groups, group_tstat, percentile_group_accuracy, worst_group_accuracy
from drurank.metrics import GroupTStat
from drurank.metrics.criteria import GroupCriteria, GroupCriterion
from runs import ROOT

NAN = math.nan
CORRECT = torch.tensor([48, 27, 9, 4])  # accuracies .96, .9, .6, .8
COUNT = torch.tensor([50, 30, 15, 5])


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def numpy_criterion(name, correct, count):
    correct, count = correct[count > 0], count[count > 0]
    if name == "overall":
        return correct.sum() / count.sum()
    accuracy = correct / count
    worst_first = np.sort(1 - accuracy)[::-1]
    if name in ("average", "worst"):
        return accuracy.mean() if name == "average" else accuracy.min()
    if name == "tstat":
        return accuracy.mean() / (accuracy.std(ddof=1) / np.sqrt(len(accuracy)))
    k = int("".join(filter(str.isdigit, name)))
    if name.startswith("p"):
        return np.percentile(accuracy, k)
    if name.startswith("q"):
        worst_first = np.array([np.percentile(1 - accuracy, 100 - q) for q in range(k + 1)])
    else:
        worst_first = worst_first[: math.ceil(k * len(accuracy) / 100)]
    return sum(s / math.log2(i + 1) for i, s in enumerate(worst_first, start=1))


@pytest.mark.parametrize(
    ("name", "value", "mode"),
    [
        ("overall", 0.88, "max"),
        ("average", 0.815, "max"),
        ("worst", 0.6, "max"),
        ("p10", 0.66, "max"),
        ("p99", 0.9582, "max"),
        ("gdcg10", 0.4, "min"),
        ("gdcg1", 0.4, "min"),
        ("gdcg50", 0.526185951, "min"),
        ("gdcg100", 0.593413, "min"),
        ("qdcg10", 1.819447432, "min"),
        ("tstat", 10.329705284, "max"),
    ],
)
def test_name_gives_the_criterion_its_value_and_direction(name, value, mode):
    found = criterion(name)
    assert found.name == name
    assert compute_criteria(CORRECT, COUNT, [name])[name].item() == pytest.approx(value, abs=1e-6)
    assert (found.mode, found.higher_is_better) == (mode, mode == "max")


@pytest.mark.parametrize("name", [*default_criteria(), "qdcg25", "qdcg100", "gdcg1", "gdcg33", "p1", "p50"])
def test_criteria_equal_numpy_for_any_leading_dimensions(name):
    rng = np.random.default_rng(0)
    count = rng.integers(0, 20, (2, 3, 12))
    correct = rng.binomial(count, 0.7)
    got = compute_criteria(torch.from_numpy(correct), torch.from_numpy(count), [name])
    assert list(got) == [name]
    want = [[numpy_criterion(name, correct[i, j], count[i, j]) for j in range(3)] for i in range(2)]
    torch.testing.assert_close(got[name], tensor(want), rtol=1e-9, atol=1e-12)


def test_default_criteria_are_the_nine_of_the_table():
    names = ["overall", "average", "worst", "p10", "gdcg10", "gdcg50", "qdcg10", "qdcg50", "tstat"]
    assert list(compute_criteria(CORRECT, COUNT)) == names


def test_min_count_leaves_small_groups_out_of_all_but_overall():
    got = compute_criteria(CORRECT, COUNT, min_count=15)
    assert got["overall"].item() == pytest.approx(0.88)
    assert got["average"].item() == pytest.approx((0.96 + 0.9 + 0.6) / 3)
    got = compute_criteria(CORRECT, COUNT, min_count=16)
    assert got["worst"].item() == pytest.approx(0.9)
    assert got["tstat"].item() == pytest.approx(0.93 / 0.03)


def test_without_groups_every_criterion_is_nan():
    none = torch.zeros(3, dtype=torch.int64)
    assert all(value.isnan() for value in compute_criteria(none, none).values())
    left = compute_criteria(CORRECT, COUNT, min_count=51)
    assert [name for name, value in left.items() if not value.isnan()] == ["overall"]


# ---- the single criteria


@pytest.mark.parametrize(
    ("accuracy", "want"),
    [
        ([0.7], 0.7e6),
        ([NAN, 0.7, NAN], 0.7e6),
        ([0.5] * 4, 0.5e6),
        ([0.0] * 4, 0.0),
        ([0.5 - 5e-7, 0.5 + 5e-7], 0.5e6),  # standard error 5e-7 is raised to the floor
        ([0.5 - 2e-6, 0.5 + 2e-6], 0.25e6),  # standard error 2e-6 is not
    ],
)
def test_tstat_has_a_standard_error_of_at_least_a_millionth(accuracy, want):
    assert group_tstat(tensor(accuracy)).item() == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("m", [1, 2, 9, 10, 11, 200])
def test_tenth_percentile_is_that_of_numpy_over_groups_with_samples(m):
    accuracy = np.random.default_rng(m).random(m)
    with_empty = np.insert(accuracy, m // 2, NAN)
    assert percentile_group_accuracy(tensor(with_empty)).item() == pytest.approx(np.percentile(accuracy, 10), abs=1e-12)


@pytest.mark.parametrize(("accuracy", "want"), [([NAN, 0.3, 0.2], 0.2), ([1.0, NAN], 1.0), ([0.0, NAN], 0.0)])
def test_worst_skips_groups_without_samples(accuracy, want):
    assert worst_group_accuracy(tensor(accuracy)).item() == want


# ---- names and keys


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("worts", "did you mean 'worst'?"),
        ("avrage", "did you mean 'average'?"),
        ("QDCG10", "did you mean 'qdcg10'?"),
        ("qdgc50", "did you mean 'qdcg50'?"),
        ("t-stat", "did you mean 'tstat'?"),
        ("p10.5", "did you mean 'p10'?"),
        ("qdcg", "qdcg10"),
        ("p010", "known: overall, average, worst"),
        ("qdcg-1", "known: overall, average, worst"),
        ("", "known: overall, average, worst"),
    ],
)
def test_unknown_name_is_answered_with_the_nearest(name, hint):
    with pytest.raises(InputError) as caught:
        criterion(name)
    assert repr(name) in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("name", "limit"), [("p0", 99), ("p100", 99), ("qdcg0", 100), ("qdcg101", 100), ("gdcg0", 100), ("gdcg1000", 100)]
)
def test_number_out_of_range_is_refused_with_the_range(name, limit):
    with pytest.raises(InputError, match=f"{name}.*from 1 to {limit}"):
        criterion(name)


@pytest.mark.parametrize("digits", [19, 20, 400, 5000])
@pytest.mark.parametrize("family", ["p", "qdcg", "gdcg"])
def test_number_that_no_machine_holds_is_none(family, digits):
    with pytest.raises(InputError, match=f"{family}9"):
        criterion(family + "9" * digits)


@pytest.mark.parametrize("prefix", ["val", "id_val"])
@pytest.mark.parametrize("name", [*default_criteria(), "qdcg25"])
def test_key_leads_back_to_its_criterion(prefix, name):
    assert key_of(name, prefix) == f"{prefix}_{name}"
    assert criterion_of_key(key_of(name, prefix)).name == name


def test_key_is_that_of_the_validation_part_by_default():
    assert key_of("qdcg10") == "val_qdcg10"


@pytest.mark.parametrize("key", ["val_loss", "id_val_loss", "train_loss", "loss", "epoch"])
def test_key_of_something_else_stands_for_no_criterion(key):
    assert criterion_of_key(key) is None


@pytest.mark.parametrize(
    ("key", "instead"),
    [("test_qdcg10", "val_qdcg10"), ("id_test_worst", "id_val_worst"), ("test_loss", "val_loss")],
)
def test_key_of_a_test_part_is_refused_naming_the_validation_key(key, instead):
    with pytest.raises(InputError) as caught:
        criterion_of_key(key)
    assert repr(key) in str(caught.value)
    assert repr(instead) in str(caught.value)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("val_qdgc10", "val_qdcg10"),
        ("val_ndcg10", "val_qdcg10"),
        ("id_val_wrost", "id_val_worst"),
        ("val_stat", "val_tstat"),
        ("val_worst", None),
        ("val_loss", None),
        ("val_auroc", None),
        ("worst", None),
    ],
)
def test_key_that_is_nearly_one_of_ours_is_the_users_and_ours_is_known(key, meant):
    assert resembled_key(key) == meant
    if meant is not None:
        assert criterion_of_key(key) is None


@pytest.mark.parametrize("key", ["val_auroc", "val_loss", "id_val_my_score", "train_loss", "f1"])
def test_keys_of_others_are_left_to_them(key):
    assert criterion_of_key(key) is None


@pytest.mark.parametrize(
    "key",
    [
        *("val_worst_acc", "val_my_average", "val_worst5", "id_val_overall_f1", "val_top10", "val_ndcg10", "val_stat"),
        *("val_p100", "val_qdcg0", "test_auroc", "test_worst_acc", "test_ndcg10"),
    ],
)
def test_key_that_only_resembles_a_criterion_is_the_users(key):
    assert criterion_of_key(key) is None
    assert logged_criterion(key) is None


@pytest.mark.parametrize("key", ["test_worst", "id_test_worst", "val_wrost", "val_p100", "worst", "val_loss"])
def test_only_validation_keys_of_criteria_are_logged_criteria(key):
    assert logged_criterion(key) is None
    assert logged_criterion("id_val_qdcg25").name == "qdcg25"


@pytest.mark.parametrize("make", [np.array, torch.tensor])
@pytest.mark.filterwarnings("error")
def test_batches_that_have_no_group_left_are_nan_beside_others_that_have(make):
    correct, count = make([[1, 2], [10, 20]]), make([[2, 3], [20, 30]])
    got = compute_criteria(correct, count, min_count=10)
    for name, values in got.items():
        assert bool(np.isnan(float(values[0]))) == (name != "overall"), name
        alone = compute_criteria(correct[1:], count[1:], [name])[name]
        assert float(values[1]) == float(alone[0]), name
    none = compute_criteria(make([[0, 0]])[:, :0], make([[0, 0]])[:, :0])
    assert all(np.isnan(float(values[0])) for values in none.values())


@pytest.mark.parametrize("make", [np.array, torch.tensor])
@pytest.mark.filterwarnings("error")
def test_percentile_of_infinite_values_is_that_of_numpy(make):
    assert float(percentile_group_accuracy(make([-math.inf, 1.0, 2.0]), 50)) == 1.0
    got = float(group_dcg(make([NAN, 0.5, 0.25]), 100, rank_by="index"))
    assert got == pytest.approx(0.5 + 0.25 / math.log2(3), rel=1e-6)


@pytest.mark.parametrize("name", [*default_criteria(), "qdcg25", "p50"])
def test_numpy_and_torch_agree(name):
    rng = np.random.default_rng(3)
    count = rng.integers(0, 30, (4, 50))
    correct = rng.binomial(count, 0.7)
    ours = compute_criteria(correct, count, [name])[name]
    theirs = compute_criteria(torch.from_numpy(correct), torch.from_numpy(count), [name])[name]
    assert isinstance(ours, np.ndarray)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-13)


# ---- criteria of one's own


@pytest.fixture
def own(monkeypatch):
    """A registry that is put back as it was."""
    monkeypatch.setattr(drurank.criteria, "_registry", dict(drurank.criteria._registry))


def below(percent):
    return lambda groups: groups.mean(groups.accuracy < percent / 100)


@pytest.mark.parametrize("make", [np.array, torch.tensor])
@pytest.mark.filterwarnings("error")
def test_registered_criterion_is_one_like_any_other(own, make):
    before = default_criteria()
    register_criterion(Criterion("below80", below(80), higher_is_better=False))
    correct, count = make([[7, 9, 0, 79], [8, 8, 0, 80]]), make([[10, 10, 0, 100], [10, 10, 0, 100]])
    got = compute_criteria(correct, count, ["below80", "worst"])
    assert np.asarray(got["below80"]).tolist() == [2 / 3, 0]  # 0.8 is not below it, and a group without samples is out
    assert np.asarray(compute_criteria(correct, count, min_count=100)["below80"]).tolist() == [1, 0]
    assert np.isnan(np.asarray(compute_criteria(correct, count, min_count=101)["below80"])).all()
    assert default_criteria() == (*before, "below80")
    assert criterion_of_key("val_below80").mode == "min"
    assert "below80" in describe_criteria()
    with pytest.raises(InputError, match="did you mean 'below80'"):
        criterion("bellow80")


def test_registered_family_has_a_criterion_for_each_number(own):
    family = CriterionFamily("below", lambda k: Criterion(f"below{k}", below(k), False), limit=99, logged=(80,))
    before = default_criteria()
    register_criterion(family)
    assert default_criteria() == (*before, "below80")
    found = compute_criteria(CORRECT, COUNT, ["below61", "below80", "below95"])  # accuracies .96, .9, .6, .8
    assert {name: float(value) for name, value in found.items()} == {"below61": 0.25, "below80": 0.25, "below95": 0.75}
    with pytest.raises(InputError, match=r"'below100': the number must be from 1 to 99, e\.g\. below80"):
        criterion("below100")


def test_criterion_that_is_not_logged_is_there_when_asked_for(own):
    before = default_criteria()
    register_criterion(Criterion("rare", below(50), False, logged=False))
    assert default_criteria() == before
    assert float(compute_criteria(CORRECT, COUNT, ["rare"])["rare"]) == 0


def test_without_groups_only_criteria_of_samples_are_logged(own):
    assert default_criteria(grouped=False) == ("overall",)
    register_criterion(Criterion("errors", lambda groups: 1 - groups.overall, False, of_samples=True))
    assert default_criteria(grouped=False) == ("overall", "errors")
    assert float(compute_criteria(CORRECT, COUNT, ["errors"], min_count=50)["errors"]) == pytest.approx(0.12)


def test_criterion_registered_again_replaces_the_former(own):
    register_criterion(Criterion("mine", below(80), False))
    register_criterion(Criterion("mine", below(95), True))
    assert float(compute_criteria(CORRECT, COUNT, ["mine"])["mine"]) == 0.75
    assert criterion("mine").mode == "max"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("worst", "'worst' is taken"),
        ("gdcg", "'gdcg' is taken"),
        ("p25", "'p25' is taken"),
        ("loss", "'loss' is taken"),
        ("below 80", "'below 80'; give letters"),
        ("80below", "'80below'; give letters"),
        ("", "''; give letters"),
    ],
)
def test_name_that_cannot_be_one_is_refused(own, name, said):
    with pytest.raises(InputError, match=said):
        register_criterion(Criterion(name, below(80), False))


def test_family_whose_members_have_other_names_is_refused(own):
    with pytest.raises(InputError, match="made a criterion 'below'; its name must be 'below100'"):
        register_criterion(CriterionFamily("below", lambda k: Criterion("below", below(k), False)))
    with pytest.raises(InputError, match="the last no digit"):
        register_criterion(CriterionFamily("below8", lambda k: Criterion(f"below8{k}", below(k), False)))


DISCOUNT = 1 / np.log2(np.arange(2, 60))


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("overall", 1),
        ("average", 1),
        ("worst", 1),
        ("p10", 1),
        ("gdcg10", DISCOUNT[:2].sum()),  # the 2 worst of 20 groups
        ("gdcg50", DISCOUNT[:10].sum()),
        ("qdcg10", DISCOUNT[:11].sum()),
        ("qdcg50", DISCOUNT[:51].sum()),
        ("tstat", np.inf),
    ],
)
def test_two_may_differ_by_all_rows_of_20_groups_at_the_most(name, most):
    assert criterion(name).largest_difference(np.arange(1, 21)) == pytest.approx(most)


def test_of_a_criterion_of_ones_own_it_is_known_if_that_is_said(own):
    for known in (False, True):
        found = Criterion("missed", lambda groups: 1 - groups.mean(groups.accuracy), False, is_monotone=known)
        assert found.largest_difference(np.array([5, 5])) == (1 if known else np.inf)


def test_function_that_keeps_the_groups_is_refused(own):
    register_criterion(Criterion("mine", lambda groups: groups.accuracy, True))
    with pytest.raises(InputError, match=r"'mine' gave an array of \[4\].*must reduce the last dimension"):
        compute_criteria(CORRECT, COUNT, ["mine"])


def test_mean_of_a_value_is_over_the_groups_that_are_left():
    groups = Groups.of_counts(CORRECT, COUNT, min_count=15)  # accuracies .96, .9, .6
    assert float(groups.mean(groups.count)) == pytest.approx((50 + 30 + 15) / 3)
    assert float(groups.overall) == pytest.approx(0.88)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda groups: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda groups: "much", "Error"),
    ],
)
def test_a_criterion_whose_function_fails_is_named(function, said):
    groups = Groups.of_counts(np.array([4, 6]), np.array([10, 10]))
    with pytest.raises(InputError, match=f"criterion 'mine' failed \\(.*{said}"):
        Criterion("mine", function, True).of(groups)


def test_tstat_measures_the_observed_differences_also_where_accuracies_are_shrunk():
    # Accuracies .5, .6, .7 of 10 rows, which shrink together. The mean .6, sd .1, so tstat = .6 / (.1 / sqrt(3)).
    correct, count, want = [5, 6, 7], [10, 10, 10], 0.6 * math.sqrt(3) / 0.1
    found = compute_criteria(np.array(correct), np.array(count), "tstat,worst", shrink=True)
    assert 0.52 < found["worst"] < 0.6, "it is shrunk"
    assert found["tstat"] == pytest.approx(want)
    for metric in (GroupTStat(3, shrink=True), GroupCriterion(3, "tstat", shrink=True), GroupCriteria(3, shrink=True)):
        for group in range(3):
            metric.update_correct(torch.arange(10) < correct[group], torch.full((10,), group))
        value = metric.compute()
        assert float(value["tstat"] if isinstance(value, dict) else value) == pytest.approx(want)
    of = Criterion("spread_seen", lambda g: g.mean(g.accuracy < 0.55), higher_is_better=False, of_differences=True)
    groups = Groups.of_counts(np.array(correct), np.array(count), shrink=True)
    assert of.of(groups) == pytest.approx(1 / 3)


def test_every_criterion_stands_in_the_docs():
    text = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "docs").glob("*.md"))
    text += (ROOT / "README.md").read_text(encoding="utf-8")
    ours = [entry.name for entry in drurank.criteria._BUILT_IN]
    assert len(ours) > 8
    assert [name for name in ours if not re.search(rf"`{name}\d*`", text)] == []
