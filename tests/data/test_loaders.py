"""Global batches are the same for any number of processes, and every row is read once."""

import pytest
import torch
from torch.utils.data import DataLoader

from drurank.data import GroupedDataset, evaluation_loader
from drurank.data.loading import make_loader
from drurank.data.sampler import GlobalBatchSampler
from drurank.errors import InputError
from pairs import pairs


def shares(pretend, n, batch_size, world, *, epoch=0, shuffle=True):
    """Batches by process."""
    by_rank = []
    for rank in range(world):
        pretend(rank, world)
        sampler = GlobalBatchSampler(pairs(n), batch_size, shuffle=shuffle)
        sampler.set_epoch(epoch)
        by_rank.append([places.tolist() for places in sampler])
        assert len(sampler) == len(by_rank[-1])
    pretend(0, 1)
    return by_rank


@pytest.mark.parametrize("n", [12, 13, 25, 101])
def test_global_batches_are_the_same_for_1_2_and_3_processes(pretend, n):
    one, two, three = (shares(pretend, n, 12 // world, world, epoch=4) for world in (1, 2, 3))
    for by_rank in (two, three):
        assert {len(batches) for batches in by_rank} == {len(one[0])}
        for together, parts in zip(one[0], zip(*by_rank, strict=True), strict=True):
            drawn = [index for part in parts for index in part]
            assert sorted(drawn) == sorted(together)
            assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert sorted(index for batch in one[0] for index in batch) == list(range(n))


def test_share_of_the_last_batch_may_be_empty(pretend):
    by_rank = shares(pretend, 13, 4, 3)
    assert [len(batches) for batches in by_rank] == [2, 2, 2]
    assert sorted(len(batches[-1]) for batches in by_rank) == [0, 0, 1]


def test_order_depends_on_epoch_and_seed_alone(pretend, monkeypatch):
    def order(seed, epoch):
        monkeypatch.setenv("PL_GLOBAL_SEED", str(seed))
        torch.manual_seed(int(torch.randint(1000, ())))  # the state of the generator does not matter
        return shares(pretend, 40, 40, 1, epoch=epoch)[0][0]

    orders = [order(seed, epoch) for seed in (0, 1) for epoch in (0, 1, 2)]
    assert len({tuple(o) for o in orders}) == 6
    assert order(1, 2) == orders[-1]
    assert list(range(40)) not in orders


def test_order_of_the_rows_without_shuffling(pretend):
    assert shares(pretend, 7, 3, 1, shuffle=False) == [[[0, 1, 2], [3, 4, 5], [6]]]


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_batch_size_that_is_none_is_refused(size):
    with pytest.raises(InputError, match="batch_size"):
        GlobalBatchSampler(pairs(), size, shuffle=False)


@pytest.mark.parametrize("workers", [0, 2])
def test_loader_gives_every_row_once_in_whole_batches(workers):
    grouped = GroupedDataset(pairs(11), list("aabbccddeef"))
    batches = list(make_loader(grouped, 4, shuffle=True, num_workers=workers))
    assert [len(batch["index"]) for batch in batches] == [4, 4, 3]
    index = torch.cat([batch["index"] for batch in batches])
    assert sorted(index.tolist()) == list(range(11))
    torch.testing.assert_close(torch.cat([batch["inputs"] for batch in batches])[:, 0], index * 2.0)


def test_evaluation_loader_reads_the_training_set_as_its_loader_does():
    def collate(items):
        return {
            **torch.utils.data.default_collate(items),
            "inputs": torch.stack([item["inputs"] for item in items]) + 1,
        }

    grouped = GroupedDataset(pairs(5), list("aabbc"))
    batches = list(evaluation_loader(DataLoader(grouped, batch_size=2, shuffle=True, collate_fn=collate)))
    assert [batch["index"].tolist() for batch in batches] == [[0, 1], [2, 3], [4]]
    assert batches[2]["inputs"].tolist() == [[9, 10]]
    assert [len(batch["index"]) for batch in evaluation_loader(grouped, batch_size=3)] == [3, 2]
    with pytest.raises(InputError, match=r"TensorDataset.*GroupedDataset"):
        evaluation_loader(DataLoader(pairs()))


def test_lengths_of_a_dataset_that_cuts_no_batches_are_its_own_business():
    class Own(list):
        lengths = "cm"

    rows = GroupedDataset(Own([(torch.zeros(1), 0)] * 5), ["a"] * 5)
    assert [row for batch in make_loader(rows, 2).sampler for row in batch] == [0, 1, 2, 3, 4]
