"""Bad input to metrics and to their functional forms: the same answer from both, in one sentence."""

import math

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from drurank.criteria import compute_criteria
from drurank.dcg import group_dcg
from drurank.errors import InputError, letters_apart, nearest
from drurank.groups import (
    average_group_accuracy,
    group_tstat,
    overall_accuracy,
    percentile_group_accuracy,
    worst_group_accuracy,
)
from drurank.metrics import (
    AverageGroupAccuracy,
    GroupAccuracy,
    GroupCriteria,
    GroupDCG,
    GroupTStat,
    OverallAccuracy,
    PercentileGroupAccuracy,
    WorstGroupAccuracy,
    is_correct,
    predicted_class,
)
from drurank.noise import chance_band, criteria_noise, group_interval, noise_floor, true_criteria
from drurank.ranking import discounted_weights, group_accuracy, groups_differ, rank_groups
from drurank.spread import fit_spread, shrunk_accuracy
from drurank.training.record import EpochRecord

NAN = math.nan
KINDS = [
    GroupAccuracy,
    OverallAccuracy,
    AverageGroupAccuracy,
    WorstGroupAccuracy,
    PercentileGroupAccuracy,
    GroupTStat,
    GroupDCG,
    GroupCriteria,
]
LABEL = torch.tensor([1, 0, 1])
GROUP = torch.tensor([0, 1, 2])


def with_loss(num_groups):
    return GroupDCG(num_groups, score="loss")


def losses_of(metric, group):
    return {"loss": torch.ones(len(group))} if getattr(metric, "score", None) == "loss" else {}


def by_update(make):
    def count(correct, group):
        metric = make(3)
        metric.update(
            torch.as_tensor(correct).long(), torch.ones(len(correct)).long(), group, **losses_of(metric, group)
        )
        return metric.counts()

    return count


def by_update_correct(make):
    def count(correct, group):
        metric = make(3)
        metric.update_correct(correct, group, **losses_of(metric, group))
        return metric.counts()

    return count


FORMS = {"group_accuracy": lambda correct, group: group_accuracy(correct, group, 3)}
FORMS |= {f"{make.__name__}.update": by_update(make) for make in [*KINDS, with_loss]}
FORMS |= {f"{make.__name__}.update_correct": by_update_correct(make) for make in [*KINDS, with_loss]}
every_form = pytest.mark.parametrize("count", FORMS.values(), ids=FORMS)


# ---- the groups of samples


@every_form
@pytest.mark.parametrize(
    ("group", "said"),
    [
        (torch.tensor([0, 3, 1]), r"group 3 is not below num_groups=3"),
        (torch.tensor([0, 99, -1], dtype=torch.int8), r"group 99 is not below num_groups=3"),
        (torch.tensor([0, -2, 1]), r"group -2 is negative; groups count from 0, and only -1"),
        (torch.tensor([-100, -1, 1], dtype=torch.int32), r"group -100 is negative"),
        (torch.tensor([0.0, 1, 2]), r"group is torch.float32; give groups as integers"),
        (torch.tensor([True, False, True]), r"group is torch.bool; give groups as integers"),
        ([0, 1, 2], r"group is a list; give a tensor"),
        (np.array([0, 1, 2]), r"group is a ndarray; give a tensor"),
    ],
)
def test_group_that_is_none_is_refused_by_metric_and_function(count, group, said):
    with pytest.raises(InputError, match=said):
        count(torch.tensor([True, False, True]), group)


@every_form
@pytest.mark.parametrize("length", [0, 1, 2, 4])
def test_unequal_lengths_are_refused_with_both(count, length):
    with pytest.raises(InputError, match=rf"\[3\].*\[{length}\]"):
        count(torch.tensor([True, False, True]), torch.zeros(length, dtype=torch.int64))


@every_form
def test_minus_one_leaves_a_sample_out_and_an_empty_batch_counts_nothing(count):
    first, number = count(torch.tensor([True, True, False]), torch.tensor([2, -1, 0], dtype=torch.int8))
    assert number.tolist() == [1, 0, 1]
    assert first.nan_to_num(0).tolist() == [0, 0, 1]  # right in each group, or the accuracy
    none = torch.zeros(0, dtype=torch.int64)
    assert count(none.bool(), none)[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("num_groups", [0, -1, 2.0, "3", True, None])
def test_number_of_groups_is_checked_alike(num_groups):
    for make in (*KINDS, lambda m: group_accuracy(LABEL, GROUP, m)):
        with pytest.raises(InputError, match=r"num_groups is .*; give a whole number of 1 or more"):
            make(num_groups)


@pytest.mark.parametrize(
    ("correct", "said"),
    [
        (torch.tensor([0.7, 1, 0]), "correct holds 0.7"),
        (torch.tensor([NAN, 1, 0]), "correct holds nan"),
        (torch.tensor([2, 1, 0]), "correct holds 2; give bool or 0 and 1"),
        ([True, False, True], "correct is a list; give a tensor"),
        (torch.tensor(True), "correct is a single number"),
    ],
)
def test_correct_that_is_neither_right_nor_wrong_is_refused(correct, said):
    with pytest.raises(InputError, match=said):
        group_accuracy(correct, GROUP, 3)


def test_groups_of_several_rows_must_go_with_them():
    with pytest.raises(InputError, match=r"correct \[2, 3\], group \[4, 3\]"):
        group_accuracy(torch.ones(2, 3), torch.zeros(4, 3).long(), 2)
    with pytest.raises(InputError, match=r"correct \[3\], group \[2, 3\]"):
        group_accuracy(torch.ones(3), torch.zeros(2, 3).long(), 2)


def test_record_takes_any_negative_group_as_none():
    record = EpochRecord(torch.tensor([0, -5, 1]), 2)
    record.write(torch.arange(3), torch.tensor([True, True, False]))
    record.commit()
    assert record.known_group().tolist() == [0, -1, 1]
    assert [part.tolist() for part in record.group_accuracy()] == [[1, 0], [1, 1]]


# ---- predictions and targets


def updated(preds, target):
    metric = GroupAccuracy(3)
    metric.update(preds, target, GROUP)
    return metric.compute().tolist()


@pytest.mark.parametrize("form", [updated, is_correct], ids=["metric", "function"])
@pytest.mark.parametrize(
    ("preds", "target", "said"),
    [
        (LABEL[:2], LABEL, r"preds \[2\], target \[3\]"),
        (torch.rand(2, 2), LABEL, r"preds \[2, 2\], target \[3\]"),
        (torch.rand(3, 2, 1), LABEL, r"preds \[3, 2, 1\], target \[3\]"),
        (LABEL, LABEL.float(), r"target is torch.float32; give classes as integers"),
        (torch.rand(3), LABEL, r"preds is torch.float32 \[3\]; give classes as integers \[N\]"),
        (LABEL[:, None], LABEL, r"preds is torch.int64 \[3, 1\]; give classes as integers \[N\]"),
        (torch.eye(3).long(), LABEL, r"preds is torch.int64 \[3, 3\]"),
        (torch.rand(3, 1), LABEL, r"preds \[3, 1\] are one score a sample"),
        (torch.rand(3, 0), LABEL, r"preds \[3, 0\] hold no score"),
        (torch.rand(3, 2), torch.tensor([1, 0, 2]), r"target holds class 2, and preds has no score for it"),
        (torch.rand(3, 2), torch.tensor([1, 0, 255], dtype=torch.uint8), r"target holds class 255"),
        (torch.rand(3, 2), torch.tensor([1, 0, -100]), r"class -100; classes count from 0"),
        (LABEL, torch.tensor([1, -1, 1]), r"class -1; classes count from 0"),
        (torch.tensor([1, -1, 1]), LABEL, r"class -1; classes count from 0"),
        ([1, 0, 1], LABEL, r"preds is a list; give a tensor"),
        (LABEL, LABEL.numpy(), r"target is a ndarray; give a tensor"),
        (LABEL + 0j, LABEL, r"preds is torch.complex64; give numbers"),
    ],
)
def test_bad_predictions_and_targets_are_refused(form, preds, target, said):
    with pytest.raises(InputError, match=said):
        form(preds, target)


@pytest.mark.parametrize("form", [updated, lambda *batch: is_correct(*batch).float().tolist()])
@pytest.mark.parametrize(
    ("preds", "target", "want"),
    [
        (LABEL, LABEL.bool(), [1, 1, 1]),
        (LABEL.bool(), torch.tensor([1, 1, 0]), [1, 0, 0]),
        (LABEL.to(torch.uint8), LABEL.int(), [1, 1, 1]),
        (torch.eye(3)[LABEL], LABEL.bool(), [1, 1, 1]),
        (torch.eye(3)[LABEL].softmax(1), LABEL, [1, 1, 1]),  # probabilities have the order of logits
        (torch.tensor([[NAN, 0], [1, NAN], [0, math.inf]]), torch.tensor([1, 0, 1]), [0, 0, 0]),
        (torch.zeros(3, 2), torch.tensor([0, 1, 0]), [1, 0, 1]),  # of equal scores the first
    ],
)
def test_unusual_predictions_and_targets_have_a_documented_value(form, preds, target, want):
    assert form(preds, target) == want


@pytest.mark.parametrize("threshold", ["0.5", NAN, math.inf, True])
def test_threshold_that_is_no_number_is_refused(threshold):
    for call in (lambda: GroupAccuracy(3, threshold=threshold), lambda: is_correct(LABEL, LABEL, threshold=threshold)):
        with pytest.raises(InputError, match=r"threshold is .*; give threshold=0 for logits"):
            call()


def test_class_of_one_score_needs_a_threshold():
    with pytest.raises(InputError, match="give threshold=0 if they are logits"):
        predicted_class(torch.rand(3, 1))
    assert predicted_class(torch.tensor([[0.5], [0.75]]), threshold=0.5)[0].tolist() == [0, 1]


# ---- on a device, where reading a value would wait


class NoReading(TorchFunctionMode):
    """An error where a value is read from a tensor."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        reads = {"item", "tolist", "__bool__", "__int__", "__float__", "__index__", "nonzero", "cpu", "numpy", "unique"}
        assert getattr(func, "__name__", "") not in reads, func
        return func(*args, **(kwargs or {}))


@pytest.fixture
def on_device(monkeypatch):
    for module in ("drurank.metrics.accuracy", "drurank.metrics.inputs"):
        monkeypatch.setattr(f"{module}.on_host", lambda array: False)


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("make", [*KINDS, with_loss])
@pytest.mark.parametrize(
    ("preds", "target", "group", "said"),
    [
        (LABEL, LABEL, torch.tensor([0, 3, -1]), "group 3 is not below num_groups=3"),
        (LABEL, LABEL, torch.tensor([0, 2, -2]), "group -2 is negative"),
        (torch.rand(3, 2), torch.tensor([0, 2, 1]), GROUP, "target holds class 2"),
        (torch.rand(3, 2), torch.tensor([0, -7, 1]), GROUP, "class -7; classes count from 0"),
        (torch.tensor([0, -7, 1]), LABEL, GROUP, "class -7; classes count from 0"),
    ],
)
def test_update_on_a_device_waits_for_nothing_and_compute_tells(make, preds, target, group, said):
    metric = make(3)
    with NoReading():
        metric.update(preds, target, group, **losses_of(metric, group))
        metric.update(LABEL, LABEL, GROUP, **losses_of(metric, group))
    with pytest.raises(InputError, match=said):
        metric.compute()
    metric.reset()
    metric.update(LABEL, LABEL, GROUP, **losses_of(metric, group))
    metric.compute()
    assert metric.counts()[1].tolist() == [1, 1, 1]


@pytest.mark.usefixtures("on_device")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [*KINDS, with_loss])
def test_forward_on_a_device_waits_for_nothing_and_compute_tells(make):
    metric, group = make(3), torch.tensor([0, 3, -2])
    with NoReading():
        metric(LABEL, LABEL, group, **losses_of(metric, group))
        metric(LABEL, LABEL, GROUP, **losses_of(metric, group))
    assert metric.counts()[1].tolist() == [2, 1, 1]
    with pytest.raises(InputError, match="group -2 is negative"):
        metric.compute()


@pytest.mark.usefixtures("on_device")
def test_unusable_losses_on_a_device_are_named_by_compute():
    metric = GroupDCG(3, 100, rank_by="index", score="loss")
    with NoReading():
        metric(LABEL, LABEL, GROUP, loss=torch.tensor([0.2, NAN, 0.7]))
    with pytest.warns(UserWarning, match=r"1 of 3 groups.*: group 1$"):
        assert metric.compute().item() == pytest.approx(0.826186, abs=1e-6)


# ---- metrics of different groups


def test_metric_that_counted_less_is_not_taken_over():
    """Accuracies say nothing of losses, which would all be 0."""
    losses, errors = GroupDCG(3, score="loss"), GroupDCG(3)
    for metric in (losses, errors):
        metric.persistent(True)
    errors.update(LABEL, LABEL, torch.zeros(3, dtype=torch.int64))
    for take in (lambda: losses.load_state_dict(errors.state_dict()), lambda: losses.merge_state(errors)):
        with pytest.raises(InputError, match="has not counted loss_sum, unusable; make both with the same options"):
            take()
    wider = GroupDCG(4)
    wider.persistent(True)
    with pytest.raises(InputError, match="the other metric has num_groups=4, this one num_groups=3"):
        errors.load_state_dict(wider.state_dict())


def test_metric_of_other_groups_is_not_merged():
    one, other = GroupAccuracy(3), GroupAccuracy(1)
    for metric in (one, other):
        metric.update(LABEL, LABEL, torch.zeros(3, dtype=torch.int64))
    for state in (other, {"correct": other.correct, "count": other.count, "extremes": other.extremes}):
        with pytest.raises(InputError, match="the other metric has num_groups=1, this one num_groups=3"):
            one.merge_state(state)
    one.merge_state(one.clone())
    assert one.counts()[1].tolist() == [6, 0, 0]
    with pytest.raises(AttributeError):
        one.num_groups = 5


# ---- counts of groups

OF_COUNTS = [compute_criteria, overall_accuracy, fit_spread, shrunk_accuracy, criteria_noise, group_interval]
RIGHT, SEEN = np.array([1, 2, 0]), np.array([2, 2, 5])


@pytest.mark.parametrize("form", OF_COUNTS)
@pytest.mark.parametrize("make", [np.array, torch.tensor])
@pytest.mark.parametrize(
    ("correct", "count", "said"),
    [
        ([1, 2], [2, 2, 5], r"correct \[2\], count \[3\]; give one of each per group"),
        ([1], [2, 2, 5], r"correct \[1\], count \[3\]"),
        ([1, 2, 0], [5], r"correct \[3\], count \[1\]"),
        ([[1, 2], [0, 1]], [[2, 2]] * 3, r"correct \[2, 2\], count \[3, 2\]"),
        ([1, 2, 6], [2, 2, 5], r"correct is 6 and count 5 in group 2"),
        ([[1, 2], [3, 1]], [2, 2], r"correct is 3 and count 2 in group 0"),
        ([2, 2, 5], [1, 2, 0], r"correct is 2 and count 1 in group 0; give correct, then count"),
        ([1, -2, 0], [2, 2, 5], r"correct is -2 in a group; give counts of 0 or more"),
        ([1, 2, 0], [2, 2, -1], r"count is -1 in a group"),
        ([0.5, 1.0, 0.0], [2, 2, 5], r"correct is .*float.*; give counts as integers"),
        ([1, 2, 0], [2.0, 2.0, 5.0], r"count is .*float.*; give counts as integers"),
        ([True, True, False], [2, 2, 5], r"correct is .*bool.*; give counts as integers"),
        (1, 2, r"correct is a single number; give one for each group"),
    ],
)
def test_counts_that_cannot_be_are_refused(form, make, correct, count, said):
    with pytest.raises(InputError, match=said):
        form(make(correct), make(count))


@pytest.mark.parametrize("form", OF_COUNTS)
@pytest.mark.parametrize(
    ("correct", "count", "said"),
    [
        ([1, 2, 0], SEEN, r"correct is a list; give an array of numpy or torch"),
        (RIGHT, (2, 2, 5), r"count is a tuple; give an array of numpy or torch"),
        (RIGHT, torch.from_numpy(SEEN), r"correct is a ndarray, count a Tensor; give both of one library"),
        (np.array(["1", "2", "0"]), SEEN, r"correct is <U1; give numbers"),
        (np.array([1, None, 0]), SEEN, r"correct is object; give numbers"),
    ],
)
def test_counts_that_are_no_arrays_are_refused(form, correct, count, said):
    with pytest.raises(InputError, match=said):
        form(correct, count)


@pytest.mark.parametrize("form", [fit_spread, criteria_noise, group_interval])
def test_counts_of_several_rows_are_refused_where_one_set_of_groups_is_looked_at(form):
    with pytest.raises(InputError, match=r"correct \[2, 3\], count \[3\]; give one of each per group, \[m\]"):
        form(np.stack([RIGHT, RIGHT]), SEEN)


@pytest.mark.parametrize("form", [fit_spread, criteria_noise, group_interval])
def test_counts_of_torch_give_what_those_of_numpy_give(form):
    found, want = (form(make(RIGHT), make(SEEN)) for make in (torch.tensor, np.array))
    if form is fit_spread:
        found, want = ((one.mean, one.sd, one.low, one.high) for one in (found, want))
    assert str(found) == str(want)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: group_interval(np.array([2, 0]), np.array([5, 0])), r"count is 0 in group 1; leave out groups"),
        (lambda: true_criteria(RIGHT * 0, SEEN * 0, fit_spread(RIGHT, SEEN)), r"count is 0 in group 0"),
        (lambda: noise_floor(np.array([5, 0]), 0.5), r"count is 0 in group 1"),
        (lambda: noise_floor(np.zeros(0, int), 0.5), r"count is \[0\]; give one number for each of one group or more"),
        (lambda: noise_floor(np.array([2.5, 3.0]), 0.5), r"give counts as integers"),
        (lambda: noise_floor(SEEN, 2.0), r"accuracy is 2.0; give a number from 0 to 1"),
        (lambda: noise_floor(SEEN, math.nan), r"accuracy is nan"),
        (lambda: chance_band(np.zeros(0, int), 0.5), r"count is \[0\]"),
        (lambda: chance_band(SEEN, -0.5), r"accuracy is -0.5"),
        (lambda: fit_spread(RIGHT, SEEN).posterior_mean(np.array([11]), np.array([10])), r"correct is 11 and count 10"),
        (lambda: criteria_noise(RIGHT, SEEN, "wurst"), r"wurst.*did you mean 'worst'"),
        (
            lambda: compute_criteria(torch.tensor(RIGHT).to(torch.uint16), torch.tensor(SEEN)),
            r"torch.uint16.*give torch.int64",
        ),
    ],
)
def test_what_no_chance_can_be_told_of_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


@pytest.mark.parametrize("make", [np.zeros, torch.zeros])
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_no_groups_have_no_value_with_shrink_as_without(make, shape):
    none = make(shape, dtype=np.int64 if make is np.zeros else torch.int64)
    for shrink in (False, True):
        found = np.asarray(compute_criteria(none, none, ["worst"], shrink=shrink)["worst"])
        assert found.shape == shape[:-1]
        assert np.isnan(found).all()


@pytest.mark.parametrize("min_count", [0, -1, 1.5, "2", True])
def test_smallest_group_is_checked_alike(min_count):
    for call in (GroupCriteria, lambda m, **options: compute_criteria(RIGHT, SEEN, **options)):
        with pytest.raises(InputError, match=r"min_count is .*; give a whole number of 1 or more"):
            call(3, min_count=min_count)


def test_names_may_be_one_string_in_metric_and_function():
    got = compute_criteria(RIGHT, SEEN, "worst, overall")
    assert {name: float(value) for name, value in got.items()} == {"worst": 0, "overall": pytest.approx(1 / 3)}
    assert GroupCriteria(3, "worst, overall").names == tuple(got)


def test_one_set_of_counts_goes_with_many_of_what_was_right():
    got = compute_criteria(np.stack([RIGHT, SEEN]), SEEN, ["worst", "overall"])
    assert got["worst"].tolist() == [0, 1]
    assert got["overall"].tolist() == [1 / 3, 1]


# ---- values of groups


@pytest.mark.parametrize(
    "function",
    [
        average_group_accuracy,
        worst_group_accuracy,
        percentile_group_accuracy,
        group_tstat,
        group_dcg,
        rank_groups,
        groups_differ,
        lambda value: discounted_weights(value, 2),
    ],
)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([0.5, 0.75], r"is a list; give"),
        (0.5, r"is a float; give"),
        (torch.tensor(0.5), r"is a single number; give one for each group"),
        (torch.tensor([0.5 + 1j]), r"is torch.complex64; give numbers"),
    ],
)
def test_values_that_are_no_array_of_groups_are_refused(function, value, said):
    with pytest.raises(InputError, match=said):
        function(value)


@pytest.mark.parametrize("percentile", [-1, 100.5, NAN, "10", True])
def test_percentile_is_checked_alike(percentile):
    for call in (
        lambda: PercentileGroupAccuracy(3, percentile),
        lambda: percentile_group_accuracy(np.array([0.5, 0.75]), percentile),
    ):
        with pytest.raises(InputError, match=r"percentile is .*; give a finite number from 0 to 100"):
            call()


def test_negative_rank_has_no_weight():
    with pytest.raises(InputError, match="rank is -3; ranks count from 0"):
        discounted_weights(torch.tensor([0.0, -3, NAN, 1]), 10)


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("DRO", ["DFR", "DRU", "GroupDRO"], "did you mean 'DRU'? "),  # one letter; of DFR two, of GroupDRO five
        ("DUR", ["DFR", "DRU"], "did you mean 'DRU'? "),  # two letters swapped
        (
            "cat",
            ["cars", "scat", "cut"],
            "did you mean 'scat'? ",
        ),  # one letter, as cut, and it contains the name
        ("rate1", ["rate2", "rate3", "rate4"], "did you mean 'rate2' or 'rate3'? "),
        ("--lr", ["--lx", "--rate"], ""),
    ],
)
def test_the_name_with_the_fewest_letters_to_change_is_meant(name, known, hint):
    assert nearest(name, known) == f"{hint}known: {', '.join(known)}"


@pytest.mark.parametrize(
    ("one", "other", "apart"), [("abc", "abc", 0), ("", "ab", 2), ("kitten", "sitting", 3), ("lable", "label", 1)]
)
def test_letters_apart(one, other, apart):
    assert letters_apart(one, other) == letters_apart(other, one) == apart
