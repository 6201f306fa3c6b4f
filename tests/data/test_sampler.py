"""Which rows an epoch draws: in proportion, without repeats where that is said, alike for any number of processes."""

from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch.utils.data import TensorDataset

from drurank.data import Shortcut
from drurank.data.orders import _distinct, balanced, groups_per_batch, subsample
from drurank.data.sampler import GlobalBatchSampler
from drurank.errors import InputError
from drurank.methods import ERM
from runs import SMALL, read_json


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def of_sizes(*sizes):
    """Groups of these sizes, their rows mixed."""
    group = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return group[torch.randperm(len(group), generator=seeded(9))]


def sampler(group, batch_size, draw, **options):
    rows = TensorDataset(torch.zeros(len(group)))
    return GlobalBatchSampler(rows, batch_size, shuffle=True, draw=draw, group=group, **options)


def test_balanced_draws_each_group_alike_and_then_each_of_its_rows():
    group = of_sizes(900, 90, 10)
    drawn = torch.cat([balanced(group, seeded(seed)) for seed in range(30)])
    assert len(drawn) == 30 * 1000
    assert chisquare(np.bincount(group[drawn])).pvalue > 1e-3
    small = drawn[group[drawn] == 2]
    assert chisquare(list(Counter(small.tolist()).values())).pvalue > 1e-3
    assert len(set(small.tolist())) == 10


@pytest.mark.parametrize(
    ("sizes", "rows"), [([467, 466, 133, 133], 532), ([100, 10, 1], 3), ([5], 5), ([3, 3], 6)], ids=str
)
def test_subsample_cuts_every_group_to_the_smallest(sizes, rows):
    group = of_sizes(*sizes)
    drawn = subsample(group, seeded())
    assert len(drawn) == len(set(drawn.tolist())) == rows
    assert set(Counter(group[drawn].tolist()).values()) == {min(sizes)}
    others = {tuple(sorted(subsample(group, seeded(seed)).tolist())) for seed in range(1, 5)}
    assert len(others) > 1 or len(set(sizes)) == 1


def test_numbers_of_groups_need_not_follow_each_other():
    group = torch.tensor([7, 7, 7, 2, 2, 30])
    assert Counter(group[subsample(group, seeded())].tolist()) == {2: 1, 7: 1, 30: 1}
    assert set(group[balanced(group, seeded())].tolist()) <= {2, 7, 30}


@pytest.mark.parametrize("sizes", [[40] * 12, [3, 50, 50, 1, 20]], ids=str)
def test_batches_hold_distinct_groups_with_equally_many_rows(sizes):
    group = of_sizes(*sizes)
    drawn = groups_per_batch(group, seeded(), groups=3, rows=4, batches=50)
    assert drawn.shape == (50, 3, 4)
    for batch in drawn:
        assert (group[batch] == group[batch][:, :1]).all()
        assert len(set(group[batch][:, 0].tolist())) == 3
        for part in batch:
            enough = sizes[int(group[part[0]])] >= 4
            assert not enough or len(set(part.tolist())) == 4
    if len(set(sizes)) == 1:
        assert chisquare(np.bincount(group[drawn[:, :, 0]].flatten())).pvalue > 1e-3


@pytest.mark.parametrize(("limit", "number"), [(5, 5), (5, 2), (1000, 3), (10**9, 6)])
def test_distinct_numbers_are_distinct_and_each_is_as_likely(limit, number):
    drawn = [_distinct(limit, number, seeded(seed)).tolist() for seed in range(300)]
    assert all(len(set(one)) == number and min(one) >= 0 and max(one) < limit for one in drawn)
    halves = np.bincount([2 * value // limit for one in drawn for value in one[:1]], minlength=2)
    expected = [300 * -(-limit // 2) / limit, 300 * (limit // 2) / limit]
    assert chisquare(halves, expected).pvalue > 1e-3


def test_too_few_groups_for_a_batch_are_refused():
    with pytest.raises(InputError, match=r"3 groups and training has 2.*groups_per_batch"):
        groups_per_batch(torch.tensor([0, 0, 1]), seeded(), groups=3, rows=1, batches=1)


# ---- as batches of processes


def by_rank(pretend, world, group, size, draw, **options):
    found = []
    for rank in range(world):
        pretend(rank, world)
        one = sampler(group, size, draw, **options)
        one.set_epoch(3)
        found.append(list(one))
        assert len(one) == len(found[-1])
    pretend(0, 1)
    return found


@pytest.mark.parametrize("draw", ["balanced", "subsample", "groups_per_batch"])
def test_global_batches_are_those_of_one_process(pretend, draw):
    group = of_sizes(13, 9, 8, 20, 8)
    groups = {"groups_per_batch": 4} if draw == "groups_per_batch" else {}
    (alone,) = by_rank(pretend, 1, group, 8, draw, **groups)
    groups = {"groups_per_batch": 2} if draw == "groups_per_batch" else {}
    two = by_rank(pretend, 2, group, 4, draw, **groups)
    assert [len(batches) for batches in two] == [len(alone)] * 2
    for together, *parts in zip(alone, *two, strict=True):
        assert sorted(index for part in parts for index in part) == sorted(together)
        if draw == "groups_per_batch":
            first, second = ({int(group[i]) for i in part} for part in parts)
            assert len(first) == len(second) == 2
            assert not first & second


def test_subsample_is_the_same_in_every_epoch_in_another_order():
    one = sampler(of_sizes(5, 3, 9), 4, "subsample")
    orders = []
    for epoch in range(3):
        one.set_epoch(epoch)
        orders.append(one.order().tolist())
    assert len({tuple(order) for order in orders}) == 3
    assert len({tuple(sorted(order)) for order in orders}) == 1
    assert len(one) == 3  # nine rows by four


def test_balanced_epochs_differ():
    one = sampler(of_sizes(5, 3, 9), 4, "balanced")
    first = one.order().tolist()
    one.set_epoch(1)
    assert one.order().tolist() != first


# ---- through data modules and the command line


@pytest.mark.parametrize("draw", ["shuffle", "balanced", "subsample", "groups_per_batch"])
def test_run_draws_as_told_and_its_report_says_so(fit, run, tmp_path, draw):
    folder = fit(tmp_path, "--data.sampler", draw, epochs=1)
    run("test", "--run", folder)
    assert read_json(folder / "test/qdcg10/report.json")["sampler"] == draw


def test_method_is_asked_where_nothing_else_is_said(trainer):
    class Balanced(ERM):
        sampler = "balanced"

    data = Shortcut(groups=[6, 4, 4], group_size=10)
    assert data.draw_of(ERM()) == "shuffle"
    assert data.draw_of(Balanced()) == "balanced"
    assert Shortcut(sampler="subsample").draw_of(Balanced()) == "subsample"
    method = Balanced()
    one = trainer()
    one.fit(method, datamodule=data)
    assert one.train_dataloader.sampler.draw == "balanced"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data.sampler", "groups_per_batch", "--data.drop_last", "true"], ["drop_last has no effect"]),
        (["--data.drop_last", "true", "--data.batch_size", "64"], ["drop_last leaves no batch", "60 rows"]),
        (["--data.sampler", "balance"], ["'balance'", "did you mean 'balanced'"]),
        (["--data.groups_per_batch", "4"], ["groups_per_batch is 4", "'shuffle'", "does not use it"]),
        (["--data.sampler", "groups_per_batch", "--data.groups_per_batch", "5"], ["5", "batch_size 16", "divides"]),
        (["--data.sampler", "groups_per_batch", "--data.groups_per_batch", "0"], ["groups_per_batch is 0"]),
        (["--data.sampler", "groups_per_batch", "--data.groups_per_batch", "16"], ["16 groups", "training has 6"]),
    ],
)
def test_sampler_that_cannot_be_is_refused_before_anything_is_written(refused, tmp_path, words, said):
    error = refused("fit", "--model", "ERM", *SMALL, *words, "--trainer.default_root_dir", tmp_path)
    for part in said:
        assert part in error, error
    assert not list(tmp_path.iterdir())


def test_rows_without_a_group_cannot_be_balanced():
    with pytest.raises(InputError, match=r"sampler='balanced' needs the group of every training row"):
        sampler(torch.tensor([0, -1, 1]), 2, "balanced")


# ---- the last batch


@pytest.mark.parametrize("rows", [16, 17, 24, 31])
@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("draw", ["shuffle", "balanced", "subsample"])
def test_batches_are_all_of_one_size_without_the_last(pretend, draw, world, rows):
    found = by_rank(pretend, world, torch.zeros(rows, dtype=torch.int64), 8 // world, draw, drop_last=True)
    assert [len(batch) for batches in found for batch in batches] == [8 // world] * (rows // 8 * world)


def test_another_row_is_left_out_in_each_epoch():
    one = sampler(torch.zeros(9, dtype=torch.int64), 4, "shuffle", drop_last=True)
    left = set()
    for epoch in range(60):
        one.set_epoch(epoch)
        (row,) = set(range(9)) - {row for batch in one for row in batch}
        left.add(row)
    assert left == set(range(9))


@pytest.mark.parametrize(("rows", "world", "least"), [(17, 1, 1), (16, 1, 8), (17, 2, 0), (19, 2, 1), (24, 2, 4)])
def test_fewest_rows_of_a_process_in_the_last_batch(pretend, rows, world, least):
    pretend(0, world)
    assert sampler(torch.zeros(rows, dtype=torch.int64), 8 // world, "shuffle").last_share == least


def test_a_set_of_less_than_a_batch_has_none_without_the_last():
    with pytest.raises(InputError, match="drop_last leaves no batch: an epoch has 7 rows"):
        len(sampler(torch.zeros(7, dtype=torch.int64), 8, "shuffle", drop_last=True))


def test_the_last_batch_of_a_run_is_left_out_as_asked(trainer):
    data = Shortcut(groups=[3, 2, 2], group_size=11, batch_size=16, drop_last=True)
    one = trainer()
    one.fit(ERM(), datamodule=data)
    assert one.global_step == 2
