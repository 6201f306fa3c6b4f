import itertools
import math
import pickle

import matplotlib as mpl
import numpy as np
import pytest
import torch
import torch.distributed as dist
from torchmetrics import MetricCollection

import drurank.criteria
from drurank.criteria import Criterion, compute_criteria, default_criteria, register_criterion
from drurank.errors import InputError
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
    criterion_metric,
    is_correct,
)
from drurank.ranking import group_accuracy, group_dcg, rank_groups
from drurank.training.record import EpochRecord
from warm import started

mpl.use("Agg")
NAN = math.nan


def numpy_dcg(error, k, rank_by="quantile"):
    if rank_by == "quantile":
        items = [np.percentile(error, 100 - q) for q in range(k + 1)]
    else:
        items = np.sort(error)[::-1][: math.ceil(k * len(error) / 100)]
    return sum(s / math.log2(i + 1) for i, s in enumerate(items, start=1))


def known(accuracy):
    return accuracy[~np.isnan(accuracy)]


# name: (metric of m groups, its functional twin of accuracy, right and count, the same in numpy)
METRICS = {
    "accuracy": (GroupAccuracy, lambda a, r, n: a, lambda a, r, n: a),
    "overall": (OverallAccuracy, lambda a, r, n: overall_accuracy(r, n), lambda a, r, n: r.sum() / n.sum()),
    "average": (AverageGroupAccuracy, lambda a, r, n: average_group_accuracy(a), lambda a, r, n: known(a).mean()),
    "worst": (WorstGroupAccuracy, lambda a, r, n: worst_group_accuracy(a), lambda a, r, n: known(a).min()),
    "p10": (
        PercentileGroupAccuracy,
        lambda a, r, n: percentile_group_accuracy(a),
        lambda a, r, n: np.percentile(known(a), 10),
    ),
    "p90": (
        lambda m, **options: PercentileGroupAccuracy(m, percentile=90, **options),
        lambda a, r, n: percentile_group_accuracy(a, 90),
        lambda a, r, n: np.percentile(known(a), 90),
    ),
    "tstat": (
        GroupTStat,
        lambda a, r, n: group_tstat(a),
        lambda a, r, n: known(a).mean() / known(a).std(ddof=1) * math.sqrt(len(known(a))),
    ),
    "qdcg10": (GroupDCG, lambda a, r, n: group_dcg(1 - a), lambda a, r, n: numpy_dcg(1 - known(a), 10)),
    "gdcg50": (
        lambda m, **options: GroupDCG(m, 50, rank_by="index", **options),
        lambda a, r, n: group_dcg(1 - a, 50, rank_by="index"),
        lambda a, r, n: numpy_dcg(1 - known(a), 50, "index"),
    ),
}
LOSS_DCG = {"loss": lambda m, **options: GroupDCG(m, 40, score="loss", **options)}
EVERY = {name: make for name, (make, _, _) in METRICS.items()} | LOSS_DCG | {"criteria": GroupCriteria}
every_metric = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def samples(count, correct):
    """Predictions, targets and groups with these counts by group, in a shuffled order."""
    group = torch.arange(len(count)).repeat_interleave(torch.tensor(count))
    right = torch.cat([torch.arange(n) < r for n, r in zip(count, correct, strict=True)])
    order = torch.randperm(len(group), generator=torch.Generator().manual_seed(0))
    target = torch.randint(0, 3, group.shape, generator=torch.Generator().manual_seed(1))
    return torch.where(right, target, (target + 1) % 3)[order], target[order], group[order]


def mixed_batches(batches=6, size=8, m=7):
    """Batches that each hold at most two groups and some rows without one; group 4 is in none of them."""
    rng = np.random.default_rng(0)
    for i in range(batches):
        target = rng.integers(0, 3, size)
        preds = np.where(rng.random(size) < 0.6, target, rng.integers(0, 3, size))
        group = rng.choice([i % 4, 5 + i % 2, -1], size, p=[0.4, 0.4, 0.2])
        yield tuple(torch.from_numpy(x) for x in (preds, target, group))


def feed(metric, batches, losses=None):
    for i, batch in enumerate(batches):
        if getattr(metric, "score", None) == "loss":
            metric.update(*batch, loss=batch[1].float() + 0.5 if losses is None else losses[i])
        else:
            metric.update(*batch)
    return metric


def numbers(value):
    """What ``compute`` gave as one list of numbers."""
    parts = list(value.values()) if isinstance(value, dict) else [value]
    return torch.cat([torch.as_tensor(part).double().flatten() for part in parts])


def assert_same(got, want):
    assert torch.equal(numbers(got).nan_to_num(-9), numbers(want).nan_to_num(-9))


# ---- values worked out beforehand


def values_by_hand(metric, count, correct):
    metric.update(*samples(count, correct))
    return metric.compute().item()


def dcg_of_groups(k, m, **options):
    return GroupDCG(m, k, rank_by="index", k_unit="groups", **options)


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (OverallAccuracy, 0.88),
        (AverageGroupAccuracy, 0.815),
        (WorstGroupAccuracy, 0.6),  # group 2, not the smallest
        (PercentileGroupAccuracy, 0.66),
        (GroupTStat, 10.329705284),
        (lambda m: dcg_of_groups(1, m), 0.4),
        (lambda m: dcg_of_groups(2, m), 0.526186),
        (lambda m: dcg_of_groups(4, m), 0.593413),
        (lambda m: GroupDCG(m), 1.819447432),
        (lambda m: GroupDCG(m, 10, rank_by="index"), 0.4),
        (lambda m: GroupDCG(m, 50, rank_by="index"), 0.526185951),
    ],
)
def test_worst_group_is_not_the_smallest_group(make, want):
    assert values_by_hand(make(4), [50, 30, 15, 5], [48, 27, 9, 4]) == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize(
    ("k", "normalize", "want"),
    [
        (1, False, 0.5),
        (2, False, 0.657732),
        (3, False, 0.707732),
        (4, False, 0.707732),
        (10, False, 0.707732),
        (2, True, 0.403287),
        (4, True, 0.276285),
        (10, True, 0.276285),
    ],
)
def test_dcg_over_more_groups_than_there_are_takes_all_without_padding(k, normalize, want):
    metric = dcg_of_groups(k, 4, normalize=normalize)
    assert values_by_hand(metric, [20] * 4, [10, 15, 20, 18]) == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize("order", list(itertools.permutations([6, 6, 9])))
@pytest.mark.parametrize(("k", "want"), [(2, 0.652372), (3, 0.702372)])
def test_ties_count_in_full_whatever_the_group_numbers(order, k, want):
    assert values_by_hand(dcg_of_groups(k, 3), [10] * 3, order) == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize(
    ("correct", "want"), [([2, 4, 6, 8, 10], 0.28), ([5] * 9 + [0], 0.45), ([3, 3, 3, 9], 0.3), ([5], 0.5)]
)
def test_tenth_percentile_interpolates_between_groups(correct, want):
    metric = PercentileGroupAccuracy(len(correct))
    assert values_by_hand(metric, [10] * len(correct), correct) == pytest.approx(want, abs=1e-6)


def test_epoch_value_pools_samples_instead_of_averaging_batches():
    metric = WorstGroupAccuracy(1)
    feed(metric, [samples([1], [1]), samples([9], [1])])
    assert metric.compute().item() == pytest.approx(0.2)


def test_single_sample_group_counts_unless_min_count_says_otherwise():
    metric, larger = WorstGroupAccuracy(2), WorstGroupAccuracy(2, min_count=2)
    for each in (metric, larger):
        each.update(*samples([30, 1], [30, 0]))
    assert metric.compute() == 0
    assert larger.compute() == 1
    assert [part.tolist() for part in larger.counts()] == [[30, 0], [30, 1]]


def test_batch_of_one_group_is_counted_under_its_own_number():
    metric = GroupAccuracy(3)
    metric.update(torch.tensor([1, 0]), torch.tensor([1, 0]), torch.tensor([2, 2]))
    assert metric.counts()[1].tolist() == [0, 0, 2]
    assert_same(metric.compute(), torch.tensor([NAN, NAN, 1.0]))


def test_group_numbers_may_have_gaps():
    metric = GroupAccuracy(4)
    metric.update(*samples([2, 2, 0, 2], [1, 2, 0, 0]))
    assert_same(metric.compute(), torch.tensor([0.5, 1, NAN, 0]))
    assert_same(rank_groups(metric.compute(), rank_by="index"), torch.tensor([1, 2, NAN, 0]))


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric:UserWarning")
@every_metric
def test_value_before_any_sample_is_nan(make):
    assert numbers(make(3).compute()).isnan().all()


# ---- each criterion: module, functional twin and numpy


@pytest.mark.parametrize("name", METRICS)
def test_metric_over_batches_equals_its_twin_and_numpy_over_all_data(name):
    make, twin, by_numpy = METRICS[name]
    batches = list(mixed_batches())
    got = feed(make(7), batches).compute()
    preds, target, group = (torch.cat(parts) for parts in zip(*batches, strict=True))
    accuracy, count = group_accuracy(preds == target, group, 7)
    right = (accuracy.nan_to_num(0) * count).round().long()
    assert got.dtype == torch.float32
    assert_same(got, twin(accuracy, right, count).float())

    rows = [(preds == target)[group == g].numpy() for g in range(7)]
    n, r = np.array([len(x) for x in rows]), np.array([x.sum() for x in rows])
    a = np.array([x.mean() if len(x) else NAN for x in rows])
    assert np.isnan(a).tolist() == [g == 4 for g in range(7)]
    np.testing.assert_allclose(got.numpy(), by_numpy(a, r, n), rtol=1e-6)


def test_several_criteria_by_name_equal_each_alone():
    batches = list(mixed_batches())
    metric = feed(GroupCriteria(7, ["worst", "qdcg25", "overall"], min_count=4), batches)
    got, (right, count) = metric.compute(), metric.counts()
    assert list(got) == ["worst", "qdcg25", "overall"]
    kept = torch.where(count >= 4, count, 0)
    assert 0 < (kept > 0).sum() < (count > 0).sum()
    assert_same(got["worst"], compute_criteria(right, kept, ["worst"])["worst"].float())
    assert_same(got["qdcg25"], compute_criteria(right, kept, ["qdcg25"])["qdcg25"].float())
    assert got["overall"].item() == pytest.approx((right.sum() / count.sum()).item())


def test_several_criteria_are_the_defaults_when_not_named():
    metric = feed(GroupCriteria(7), mixed_batches())
    assert list(metric.compute()) == list(default_criteria())
    assert_same(metric.compute(), {k: v.float() for k, v in compute_criteria(*metric.counts()).items()})


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (AverageGroupAccuracy, 0.93),
        (WorstGroupAccuracy, 0.9),
        (PercentileGroupAccuracy, 0.906),
        (GroupTStat, 31.0),
        (lambda m, **options: GroupDCG(m, 100, rank_by="index", **options), 0.1 + 0.04 / math.log2(3)),
        (OverallAccuracy, 0.88),  # of all samples
    ],
)
def test_min_count_leaves_small_groups_out(make, want):
    assert values_by_hand(make(4, min_count=16), [50, 30, 15, 5], [48, 27, 9, 4]) == pytest.approx(want, abs=1e-5)


@pytest.mark.parametrize("same_state", [True, False])
def test_collection_counts_once_for_all_metrics_of_one_state(same_state):
    chosen = ["overall", "average", "worst", "p10", "tstat", "qdcg10"] + ([] if same_state else ["loss"])
    collection = MetricCollection({name: EVERY[name](7) for name in chosen})
    batches = list(mixed_batches())
    for batch in batches:
        collection.update(*batch, loss=batch[1].float() + 0.5)
    groups = sorted(map(sorted, collection.compute_groups.values()))
    assert groups == sorted([sorted(set(chosen) - {"loss"})] + ([] if same_state else [["loss"]]))
    alone = {name: feed(EVERY[name](7), batches).compute() for name in chosen}
    for name, value in collection.compute().items():
        assert_same(value, alone[name])
    collection.reset()
    collection.update(*batches[0], loss=batches[0][1].float() + 0.5)
    for name, value in collection.compute().items():
        assert_same(value, feed(EVERY[name](7), batches[:1]).compute())


def test_forward_gives_the_value_of_the_batch_and_keeps_the_total():
    metric = WorstGroupAccuracy(2)
    assert metric(*samples([2, 2], [1, 2])) == 0.5
    assert metric(*samples([0, 4], [0, 1])) == 0.25
    assert metric.compute() == 0.5  # 1 of 2 and 3 of 6


@every_metric
def test_known_rightness_is_counted_as_predictions_are(make):
    if make in LOSS_DCG.values():
        return
    direct, by_classes = make(7), make(7)
    for preds, target, group in mixed_batches():
        direct.update_correct(preds == target, group)
        by_classes.update(preds, target, group)
        assert_same(direct.compute(), by_classes.compute())  # not that of the batch before
    assert direct.update_count == by_classes.update_count == 6


def test_known_rightness_goes_with_losses():
    metric = dcg_of_groups(2, 3, score="loss")
    metric.update_correct(torch.ones(4).bool(), torch.tensor([0, 0, 1, 2]), loss=torch.tensor([0.1, 0.3, 1.5, 0.7]))
    assert metric.compute().item() == pytest.approx(1.941651, abs=1e-6)
    with pytest.raises(InputError, match=r"loss is None; score='loss' needs one per sample"):
        metric.update_correct(torch.ones(4).bool(), torch.arange(4) % 3)


@pytest.mark.parametrize(
    ("correct", "group", "said"),
    [
        (torch.ones(3), torch.arange(3), "correct is torch.float32"),
        (torch.ones(3).long(), torch.arange(3), "correct is torch.int64"),
        (torch.ones(3).bool(), torch.ones(3), "group is torch.float32"),
        (torch.ones(2).bool(), torch.arange(3), "correct [2], group [3]"),
        (torch.ones(3).bool(), torch.arange(3), "group 2 is not below num_groups=2"),
    ],
)
def test_rightness_that_is_none_is_refused_and_not_counted(correct, group, said):
    metric = GroupCriteria(2)
    with pytest.raises(InputError) as caught:
        metric.update_correct(correct, group)
    assert said in str(caught.value)
    assert metric.count.tolist() == [0, 0]


def test_criteria_go_through_their_metrics(monkeypatch):
    metric = GroupCriteria(7, "overall, average,worst,p25,gdcg50,qdcg10,tstat")
    kinds = [OverallAccuracy, AverageGroupAccuracy, WorstGroupAccuracy, PercentileGroupAccuracy, GroupDCG, GroupDCG]
    assert [type(one) for one in metric.metrics.values()] == [*kinds, GroupTStat]
    monkeypatch.setattr(GroupDCG, "of", lambda self, groups: torch.tensor(float(self.k)))
    got = feed(metric, mixed_batches()).compute()
    assert (got["gdcg50"], got["qdcg10"]) == (50, 10)


def test_registered_criterion_has_a_metric(monkeypatch):
    monkeypatch.setattr(drurank.criteria, "_registry", dict(drurank.criteria._registry))
    register_criterion(Criterion("below80", lambda groups: groups.mean(groups.accuracy < 0.8), higher_is_better=False))
    several, alone = GroupCriteria(4, ["worst", "below80"]), criterion_metric("below80", 4)
    batch = samples([50, 30, 15, 5], [48, 27, 9, 3])
    for metric in (several, alone):
        metric.update(*batch)
    assert several.compute() == {"worst": pytest.approx(0.6), "below80": 0.5}
    assert pickle.loads(pickle.dumps(alone)).compute() == alone.compute() == 0.5
    assert (alone.higher_is_better, alone.compute().dtype) == (False, torch.float32)


# ---- scores instead of classes


@pytest.mark.parametrize("bad", [NAN, math.inf, -math.inf])
def test_sample_with_a_score_that_is_not_finite_is_wrong(bad):
    metric = GroupAccuracy(1)
    scores = torch.tensor([[0.0, 1], [bad, 1], [0, bad], [1, 0]])
    metric.update(scores, torch.tensor([1, 1, 1, 0]), torch.zeros(4, dtype=torch.int64))
    assert [part.tolist() for part in metric.counts()] == [[2], [4]]


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
@pytest.mark.parametrize(
    ("threshold", "scores", "target", "want"),
    [
        (0, [0.1, -0.1, 0.0, NAN], [1, 1, 0, 0], [1, 0, 1, 0]),
        (0, [0.1, 0.2, 0.9, 5.0], [1, 1, 1, 1], [1, 1, 1, 1]),  # logits that look like probabilities
        (0.5, [0.6, 0.4, 0.5, NAN], [1, 0, 0, 0], [1, 1, 1, 0]),
        (0.25, [0.6, 0.4, 0.125, 0.25], [1, 0, 0, 0], [1, 0, 1, 1]),
    ],
)
def test_one_score_is_cut_where_told(threshold, scores, target, want, shape):
    metric = GroupAccuracy(4, threshold=threshold)
    scores = torch.tensor(scores, dtype=torch.bfloat16).reshape(shape)
    metric.update(scores, torch.tensor(target), torch.arange(4))
    assert metric.compute().tolist() == want
    assert is_correct(scores, torch.tensor(target), threshold=threshold).tolist() == [bool(right) for right in want]


@every_metric
@pytest.mark.parametrize("scores", [[[0.6], [0.4]], [[2.5], [-3.0]]])
def test_one_score_a_sample_is_refused_where_nothing_says_what_it_is(make, scores):
    metric, label = make(2), torch.tensor([1, 0])
    said = "threshold=0 if they are logits, threshold=0.5 if they are probabilities"
    with pytest.raises(InputError, match=said):
        feed(metric, [(torch.tensor(scores), label, label)])
    feed(make(2, threshold=0.5), [(torch.tensor(scores), label, label)])
    with pytest.raises(InputError, match=said):
        is_correct(torch.tensor(scores), label)


@pytest.mark.parametrize("thresholds", [(0, 0.5), (0.5, None), (0, 0)])
def test_collection_does_not_mix_thresholds(thresholds):
    both = MetricCollection({str(i): GroupAccuracy(1, threshold=cut) for i, cut in enumerate(thresholds)})
    far, near, label = torch.tensor([9.0]), torch.tensor([0.25]), torch.tensor([1])
    if None in thresholds:
        far, near = far.long() // 9, near.long()
    both.update(far, label, label - 1)  # right by any threshold
    both.update(near, label, label - 1)
    want = [1.0 if cut == 0 else 0.5 for cut in thresholds]
    assert [value.item() for value in both.compute().values()] == want


def test_threshold_is_for_one_score_alone():
    with pytest.raises(InputError, match=r"threshold=0.5 is for one score a sample, and preds are \[3, 2\]"):
        GroupAccuracy(2, threshold=0.5).update(torch.rand(3, 2), ZEROS, ZEROS)


def test_predicted_class_is_that_of_the_highest_score():
    metric = GroupAccuracy(3)
    metric.update(torch.eye(3)[[2, 0, 1]], torch.tensor([2, 0, 2]), torch.arange(3))
    assert metric.compute().tolist() == [1, 1, 0]


# ---- losses


def loss_dcg(k, m, losses, group, **options):
    metric = dcg_of_groups(k, m, score="loss", **options)
    none = torch.zeros(len(group), dtype=torch.int64)
    metric.update(none, none, torch.tensor(group), loss=torch.tensor(losses))
    return metric.compute().item()


@pytest.mark.parametrize(
    ("k", "losses", "group", "want"),
    [
        (2, [0.1, 0.3, 1.5, 0.7], [0, 0, 1, 2], 1.941651),
        (3, [0.1, 0.3, 1.5, 0.7], [0, 0, 1, 2], 2.041651),
        (2, [-1.0, 0.5], [0, 1], 0.5 - 1 / math.log2(3)),
        (1, [-1.0, 0.5], [0, -1], -1.0),
    ],
)
def test_dcg_of_known_mean_losses(k, losses, group, want):
    assert loss_dcg(k, 3, losses, group) == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize("bad", [NAN, math.inf, -math.inf, 1e30, -(2.0**33)])
@pytest.mark.parametrize(("group", "batches"), [([0, 1, 2, 1], 1), ([0, 1, 2, 1], 4), ([0, 1, 2, 0], 1)])
def test_group_with_a_loss_that_cannot_be_used_is_left_out_and_named(bad, group, batches):
    metric = GroupDCG(4, 100, rank_by="index", score="loss")
    rows, losses = torch.tensor(group), torch.tensor([0.2, bad, 0.7, 0.2])
    for some in torch.arange(4).chunk(batches):
        metric.update(rows[some], rows[some], rows[some], loss=losses[some])
    with pytest.warns(UserWarning, match=r"GroupDCG leaves out 1 of 4 groups, .* nan, infinite .*: group 1$"):
        assert metric.compute().item() == pytest.approx(0.826186, abs=1e-6)
    metric.reset()
    metric.update(rows, rows, rows, loss=torch.ones(4))
    assert metric.compute().item() == pytest.approx(1 + 1 / math.log2(3) + 1 / 2)


@pytest.mark.filterwarnings("error")
def test_unusable_loss_of_a_row_or_group_that_does_not_count_says_nothing():
    metric = GroupDCG(2, 100, rank_by="index", score="loss", min_count=2)
    rows = torch.tensor([0, 0, 1, -1])
    metric.update(rows.clamp(min=0), rows.clamp(min=0), rows, loss=torch.tensor([0.25, 0.75, NAN, NAN]))
    assert metric.compute() == 0.5


def test_dcg_of_no_usable_losses_is_nan():
    metric = GroupDCG(2, score="loss")
    metric.update(torch.arange(2), torch.arange(2), torch.arange(2), loss=torch.tensor([NAN, math.inf]))
    with pytest.warns(UserWarning, match=r"2 of 2 groups, .*: group 0, 1$"):
        assert metric.compute().isnan()


@pytest.mark.parametrize("losses", [[8192.5, 0.5], [2.0**32, 0.0], [-(2.0**32), 2.0**32], [1e9 + 64, 1.0]])
def test_large_losses_count_in_full(losses):
    assert loss_dcg(1, 1, losses, [0, 0]) == np.float32(np.mean(losses))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_losses_of_half_precision_are_summed_exactly(dtype):
    metric = dcg_of_groups(2, 2, score="loss").half().set_dtype(dtype)
    none, losses = torch.zeros(3000, dtype=torch.int64), torch.full((3000,), 60000.0).to(dtype)
    for _ in range(2):
        metric.update(torch.zeros(3000, 2, dtype=dtype), none, none, loss=losses)
    assert metric.counts()[1].tolist() == [6000, 0]
    assert metric.compute().item() == losses[0].item()
    assert metric.loss_sum.dtype == torch.int64


def test_loss_is_rounded_to_the_nearest_unit():
    assert loss_dcg(1, 2, [0.75 * 2**-32, 0.25 * 2**-32], [0, 1]) == 2**-32
    assert loss_dcg(1, 2, [-0.75 * 2**-32, -5.0], [0, 1]) == -(2**-32)


@pytest.mark.parametrize("seed", range(3))
def test_loss_sums_do_not_depend_on_order_or_batches(seed):
    rng = np.random.default_rng(seed)
    loss = np.float32(10.0 ** rng.uniform(-6, 3.5, 400))
    group = rng.integers(0, 5, 400)
    want = numpy_dcg(np.array([loss[group == g].astype(float).mean() for g in range(5)]), 40)
    values = set()
    for size in (400, 37, 1):
        order = rng.permutation(400)
        cut = torch.from_numpy(order).split(size)
        none = torch.zeros(400, dtype=torch.int64)
        batches = [(none[rows], none[rows], torch.from_numpy(group)[rows]) for rows in cut]
        metric = feed(EVERY["loss"](5), batches, [torch.from_numpy(loss)[rows] for rows in cut])
        values.add((metric.compute().item(), *metric.loss_sum.flatten().tolist()))
    assert len(values) == 1
    assert values.pop()[0] == pytest.approx(want, rel=1e-6)


def test_losses_are_left_alone_and_need_no_gradient():
    loss = torch.tensor([NAN, 2.0], requires_grad=True)
    none = torch.zeros(2, dtype=torch.int64)
    metric = EVERY["loss"](1)
    metric.update(none, none, none, loss=loss * 1)
    with pytest.warns(UserWarning, match="leaves out"):
        assert not metric.compute().requires_grad
    assert loss.isnan().tolist() == [True, False]


# ---- what every torchmetrics module can do


@every_metric
def test_pickled_and_cloned_metrics_go_on_by_themselves(make):
    batches = list(mixed_batches())
    metric = feed(make(7), batches[:3])
    copies = [pickle.loads(pickle.dumps(metric)), metric.clone()]
    before = metric.compute()
    for copy in copies:
        assert_same(feed(copy, batches[3:]).compute(), feed(make(7), batches).compute())
    assert_same(metric.compute(), before)


@every_metric
def test_reset_forgets_what_was_counted(make):
    batches = list(mixed_batches())
    metric = feed(make(7), batches)
    metric.reset()
    assert_same(feed(metric, batches[:2]).compute(), feed(make(7), batches[:2]).compute())


@every_metric
def test_counts_stay_out_of_checkpoints(make):
    assert feed(make(7), mixed_batches()).state_dict() == {}


@every_metric
def test_counts_stay_exact_in_a_module_of_low_precision(make):
    once, half = samples([700, 300], [600, 100]), torch.nn.ModuleList([make(2)]).to(torch.bfloat16)
    metric = feed(half[0], [once, once, once])
    assert (metric.count.dtype, metric.correct.dtype) == (torch.int64, torch.int64)
    assert [part.tolist() for part in metric.counts()] == [[1800, 300], [2100, 900]]
    assert_same(metric.compute(), feed(make(2), [once] * 3).compute())


@every_metric
def test_plot_gives_a_figure_of_one_value_and_of_several(make):
    from matplotlib import pyplot

    metric = feed(make(7), mixed_batches())
    steps = [metric.compute()] * 3
    for figure, axis in (metric.plot(), metric.plot(steps)):
        assert isinstance(figure, mpl.figure.Figure)
        assert axis.has_data()
        pyplot.close(figure)


def test_direction_is_known_to_torchmetrics():
    names = [name for name, make in EVERY.items() if make(3).higher_is_better is False]
    assert names == ["qdcg10", "gdcg50", "loss"]
    assert GroupCriteria(3).higher_is_better is None


@every_metric
def test_metric_used_in_inference_mode_goes_on_outside(make):
    batches = list(mixed_batches())
    metric = make(7)
    with torch.inference_mode():
        feed(metric, batches[:3])
        metric.reset()
    assert_same(feed(metric, batches).compute(), feed(make(7), batches).compute())


# ---- bad arguments


@pytest.mark.parametrize(
    ("call", "value", "remedy"),
    [
        *[(lambda k=k: GroupDCG(4, k), f"k is {k!r}", "1 to 100") for k in (0, -1, 2.5, 101)],
        *[(lambda k=k: dcg_of_groups(k, 4), f"k is {k!r}", "1 or more") for k in (0, -1, 2.5)],
        (lambda: GroupDCG(4, k_unit="groups"), "k_unit='groups'", "rank_by='index'"),
        (lambda: GroupDCG(4, rank_by="ratio"), "rank_by is 'ratio'", "'index', 'quantile'"),
        (lambda: GroupDCG(4, score="accuracy"), "score is 'accuracy'", "'error', 'loss'"),
        *[(lambda m=m: GroupAccuracy(m), f"num_groups is {m!r}", "1 or more") for m in (0, -1, 2.0, "3", True)],
        *[(lambda n=n: GroupDCG(4, min_count=n), f"min_count is {n!r}", "1 or more") for n in (0, 1.5)],
        *[(lambda p=p: PercentileGroupAccuracy(4, p), f"percentile is {p!r}", "0 to 100") for p in (-1, 100.5, NAN)],
        (lambda: GroupCriteria(4, ["worst", "qdgc10"]), "'qdgc10'", "did you mean 'qdcg10'"),
    ],
)
def test_bad_argument_is_refused_at_construction(call, value, remedy):
    with pytest.raises(InputError) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert value in str(caught.value)
    assert remedy in str(caught.value)


ZEROS = torch.zeros(3, dtype=torch.int64)


@pytest.mark.parametrize(
    ("batch", "value"),
    [
        ((torch.rand(3), ZEROS, ZEROS), "float32 [3]"),
        ((ZEROS, ZEROS, ZEROS[:2]), "group [2]"),
        ((torch.rand(3, 2), ZEROS, ZEROS[:1]), "group [1]"),
        ((ZEROS[:2], ZEROS, ZEROS), "preds [2]"),
        ((ZEROS[:1], ZEROS, ZEROS), "preds [1]"),
        ((torch.rand(1, 2), ZEROS, ZEROS), "preds [1, 2]"),
        ((ZEROS, ZEROS, torch.tensor([0, 1, 2])), "group 2 is not below num_groups=2"),
    ],
)
def test_bad_batch_is_refused_and_not_counted(batch, value):
    metric = GroupAccuracy(2)
    with pytest.raises(InputError) as caught:
        metric.update(*batch)
    assert value in str(caught.value)
    assert metric.count.tolist() == [0, 0]


@pytest.mark.parametrize("loss", [None, torch.zeros(2), torch.zeros(3, 1)])
def test_loss_must_be_given_for_each_sample(loss):
    metric = GroupDCG(2, score="loss")
    with pytest.raises(InputError, match=r"loss is .* one per sample"):
        metric.update(ZEROS, ZEROS, ZEROS, loss)


def test_batch_with_a_bad_loss_is_not_counted():
    metric = GroupDCG(2, score="loss")
    with pytest.raises(InputError):
        metric.update(ZEROS, ZEROS, ZEROS, torch.zeros(2))
    assert metric.count.tolist() == [0, 0]


# ---- Lightning


def test_logged_metric_pools_each_epoch_and_starts_the_next_afresh():
    import lightning

    right = torch.tensor([[1, 0, 0, 1, 1], [1, 1, 1, 1, 0]])  # by epoch and row; worst 1/3, then 1/2
    rows = torch.utils.data.TensorDataset(torch.arange(5), torch.tensor([0, 0, 0, 1, 1]))

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.train_worst, self.val_worst = WorstGroupAccuracy(2), WorstGroupAccuracy(2)
            self.weight = torch.nn.Parameter(torch.zeros(()))
            self.seen = []

        def training_step(self, batch):
            self.train_worst(right[self.current_epoch, batch[0]], torch.ones_like(batch[0]), batch[1])
            self.log("train/worst", self.train_worst, on_step=True, on_epoch=True)
            return self.weight

        def validation_step(self, batch):
            self.val_worst.update(right[self.current_epoch, batch[0]], torch.ones_like(batch[0]), batch[1])
            self.log("val/worst", self.val_worst)

        def on_train_epoch_start(self):
            if self.current_epoch:
                self.note()

        def on_train_end(self):
            self.note()

        def note(self):
            logged = self.trainer.callback_metrics
            self.seen.append((logged["train/worst_epoch"].item(), logged["val/worst"].item()))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    module, loader = Module(), torch.utils.data.DataLoader(rows, batch_size=2)
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, loader, loader)
    assert module.seen == [pytest.approx((1 / 3, 1 / 3)), pytest.approx((1 / 2, 1 / 2))]


# ---- two processes

SHARES = {
    "other groups": ([(0, 1), (1, 0), (0, 0)], [(2, 1), (4, 0), (4, 1), (-1, 0)]),  # (group, right) by sample
    "no data": ([(0, 1), (1, 0), (0, 0), (3, 1), (3, 1)], []),
    "no data at first": ([], [(2, 0), (1, 1), (1, 0)]),
}


def batch_of(rows):
    group, right = torch.tensor(rows, dtype=torch.int64).reshape(-1, 2).unbind(dim=1)
    return right, torch.ones_like(right), group


def value_on(name, shares):
    metric = EVERY[name](5)
    for rows in shares:
        if rows:
            right, target, group = batch_of(rows)
            feed(metric, [(right, target, group)], [group + 2.5 - right])
    return {"value": metric.compute(), "counts": metric.counts(), "own": metric.count}


def commit_on(rank):
    """Row 0 and 1 are seen by both, 2 and 3 by one each, 4 by none until the second epoch; returns three states."""
    record, states = EpochRecord(torch.arange(5) % 3, 3), []
    for rows, right, whole in (
        (([0, 1, 2], [0, 1, 3])[rank], ([1, 0, 1], [0, 0, 0])[rank], False),
        (([0, 1, 2], [0, 1, 3])[rank], ([0, 1, 0], [0, 0, 1])[rank], True),
        (([0, 1, 2], [3, 4])[rank], ([0, 0, 0], [1, 0])[rank], True),
    ):
        rows = torch.tensor(rows)
        record.write(rows, torch.tensor(right).bool())
        taken = record.commit(whole=whole)
        states.append((taken, record.correct.tolist(), record.known_group().tolist()))
    return states


def work(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    found = {(name, case): value_on(name, [SHARES[case][rank]]) for name in EVERY for case in SHARES}
    full = GroupCriteria(5, sync_on_compute=False)
    for rows in SHARES["other groups"]:  # all rows, on each process
        right, _, group = batch_of(rows)
        full.update_correct(right.bool(), group)
    # Only the first process asks: nothing may wait for the others.
    whole = (full.compute(), full.counts()) if rank == 0 else None
    torch.save({"metrics": found, "record": commit_on(rank), "whole": whole}, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    processes = started(work, [(rank, str(folder)) for rank in range(2)])
    for process in processes:
        process.join(100)
    assert [process.exitcode for process in processes] == [0, 0]
    return [torch.load(folder / f"{rank}.pt") for rank in range(2)]


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric:UserWarning")
@pytest.mark.parametrize("case", SHARES)
@pytest.mark.parametrize("name", EVERY)
def test_two_processes_have_the_value_of_one(two_processes, name, case):
    alone = value_on(name, SHARES[case])
    assert not numbers(alone["value"]).isnan().all()
    for rank, found in enumerate(two_processes):
        got = found["metrics"][name, case]
        assert_same(got["value"], alone["value"])
        assert [x.tolist() for x in got["counts"]] == [x.tolist() for x in alone["counts"]]
        assert got["own"].sum() == sum(g >= 0 for g, _ in SHARES[case][rank])


def test_counts_that_are_whole_already_are_not_summed_over_processes(two_processes):
    value, counts = two_processes[0]["whole"]
    alone = value_on("criteria", SHARES["other groups"])
    assert_same(value, alone["value"])
    assert [x.tolist() for x in counts] == [[1, 0, 1, 0, 1], [2, 1, 1, 0, 2]]


def test_two_processes_combine_records_and_count_a_sample_as_right_if_either_had_it_right(two_processes):
    first = (True, [1, 0, 1, 0, -1], [0, 1, 2, 0, -1])
    second = (False, *first[1:])  # row 4 was not seen
    third = (True, [0, 0, 0, 1, 0], [0, 1, 2, 0, 1])
    assert [found["record"] for found in two_processes] == [[first, second, third]] * 2


@pytest.mark.parametrize("loss", [2.0**32, -(2.0**32), 2.0**32 - 2**-20])
def test_sum_of_as_many_losses_as_are_allowed_does_not_overflow(loss):
    metric = dcg_of_groups(1, 1, score="loss")
    none = torch.zeros(2**20, dtype=torch.int64)
    metric.update(none, none, none, torch.full((2**20,), loss, dtype=torch.float64))
    for name in ("correct", "count", "loss_sum"):
        setattr(metric, name, getattr(metric, name) * 2**10)  # as of 2**30 samples
    assert metric.compute() == np.float32(loss)


def test_names_of_criteria_may_be_one_string_but_not_none():
    assert GroupCriteria(2, "worst,p20").names == ("worst", "p20")
    with pytest.raises(InputError, match="at least one criterion"):
        GroupCriteria(2, ())


@pytest.mark.parametrize("which", [1, 2])
def test_fractions_are_no_classes_and_no_groups(which):
    batch = [ZEROS, ZEROS, ZEROS]
    batch[which] = batch[which].float()
    with pytest.raises(InputError, match="as integers"):
        GroupAccuracy(2).update(*batch)


def test_sizes_may_be_integers_of_numpy():
    assert GroupDCG(np.int64(3), np.int64(10)).compute().isnan()


@pytest.mark.parametrize(("one", "other"), [(0.0, 0.5), (None, 0.5), (0.5, None)])
def test_counts_by_another_threshold_are_not_added_or_loaded(one, other):
    mine, its = (WorstGroupAccuracy(2, threshold=threshold) for threshold in (one, other))
    its.persistent(True)
    mine.persistent(True)
    for incoming in (its, its.state_dict()):
        with pytest.raises(InputError, match=f"threshold={other}, this one threshold={one}"):
            mine.merge_state(incoming)
    with pytest.raises(InputError, match=f"threshold={other}, this one threshold={one}"):
        mine.load_state_dict(its.state_dict())
