"""The global batch: by hand in one process, and as one of three that are pretended."""

import math

import pytest
import torch
import torch.distributed as dist

from drurank.errors import InputError
from drurank.training.global_batch import (
    GlobalBatch,
    first_in_batch,
    gather_losses,
    gather_predictions,
    gather_rows,
    number_in_batch,
    spread_in_batch,
    sum_in_batch,
    weighted_sum,
)

CPU = torch.device("cpu")


@pytest.fixture
def processes(pretend, monkeypatch):
    """Pretend to be one of several processes, whose rows are told in the order of their gathering."""

    def be(rank, *gathered):
        rounds = iter(gathered)
        rows = gathered[0]
        pretend(rank, len(rows))

        def all_gather(parts, own):
            for part, theirs in zip(parts, next(rounds), strict=True):
                part.copy_(torch.as_tensor(theirs, dtype=part.dtype))
            assert torch.equal(parts[rank], own)

        def all_reduce(value, op=dist.ReduceOp.SUM):
            value.fill_(7 if op == dist.ReduceOp.SUM else 3)

        monkeypatch.setattr(dist, "all_gather", all_gather)
        monkeypatch.setattr(dist, "all_reduce", all_reduce)

    return be


# Three processes with 3, 2 and 2 rows of a global batch of 7: rows 0, 3, 6 and 1, 4 and 2, 5.
THREE = [[1.0, 4.0, 7.0], [2.0, 5.0, -math.inf], [3.0, 6.0, -math.inf]]


def test_one_process_has_the_whole_batch():
    batch = GlobalBatch({"index": torch.arange(4)}, 4, None, CPU)
    assert (batch["rows"], batch["share"], batch["largest"]) == (4, 0.25, None)
    losses = torch.tensor([1.0, 2.0])
    assert gather_rows(losses, fill=0) is losses
    assert gather_losses(losses, batch, fill=0) is losses
    assert weighted_sum(torch.tensor([0.5, 2.0]), losses).item() == 4.5
    GlobalBatch({}, 4, None, CPU).check_use("Own")


def test_share_makes_a_sum_over_the_own_rows_the_mean_of_all(processes):
    processes(0, THREE)
    batch = GlobalBatch({"index": torch.arange(3)}, 3, 3, CPU)
    assert batch["rows"].item() == 7
    assert batch["share"].item() == pytest.approx(3 / 7)


@pytest.mark.parametrize("largest", [3, None])
def test_rows_come_in_the_order_of_the_global_batch(processes, largest):
    processes(1, THREE)
    got = gather_rows(torch.tensor([2.0, 5.0]), fill=-math.inf, largest=largest)
    assert got.tolist() == [1, 2, 3, 4, 5, 6, 7, -math.inf, -math.inf]


def test_predictions_have_the_first_row_where_there_is_none(processes):
    processes(2, [[10, 13, 16], [11, 14, -1], [12, 15, -1]], [[1, 0, 1], [0, 1, -1], [1, 1, -1]])
    index, right = gather_predictions(torch.tensor([12, 15]), torch.tensor([True, True]), 3)
    assert index.tolist() == [10, 11, 12, 13, 14, 15, 16, 10, 10]
    assert right.tolist() == [1, 0, 1, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_losses_of_all_have_the_value_of_the_whole_and_the_gradient_of_the_own_rows(processes, rank):
    # log sum e^l of losses 1 to 7 has the gradient softmax(l); the mean over three processes of three times its part.
    processes(rank, THREE)
    own = torch.tensor([value for value in THREE[rank] if value > -math.inf], requires_grad=True)
    everywhere = gather_losses(own, GlobalBatch({}, len(own), 3, CPU), fill=-math.inf)
    objective = everywhere.logsumexp(dim=-1)
    objective.backward()
    total = sum(math.exp(loss) for loss in range(1, 8))
    assert objective.item() == pytest.approx(math.log(total))
    assert own.grad.tolist() == pytest.approx([3 * math.exp(loss) / total for loss in own.tolist()], rel=1e-5)


def test_weighted_sum_is_of_the_own_rows_times_the_number_of_processes(processes):
    # Rank 1 has rows 1 and 4 with weights 2 and 5: 3 (2 x 10 + 5 x 100)
    processes(1, THREE)
    assert weighted_sum(torch.arange(1.0, 10.0), torch.tensor([10.0, 100.0])).item() == 1560


def test_objective_that_looks_at_its_own_rows_only_is_refused(processes):
    processes(0, THREE)
    batch = GlobalBatch({"index": torch.arange(3)}, 3, 3, CPU)
    assert batch["index"].tolist() == [0, 1, 2]
    assert batch.get("group") is None
    with pytest.raises(InputError, match=r"Own\.reduce looks at this process's rows only.*batch\['share'\]"):
        batch.check_use("Own")
    batch.get("largest")
    batch.check_use("Own")


def test_codes_are_numbered_in_their_order():
    assert number_in_batch(torch.tensor([40, 7, -1, 40, 9])).tolist() == [2, 0, -1, 2, 1]


def test_sums_and_values_by_number():
    number = torch.tensor([2, 0, -1, 2])
    assert sum_in_batch(torch.tensor([1.0, 2, 4, 8]), number).tolist() == [2, 0, 9, 0]
    assert spread_in_batch(torch.tensor([5.0, 6, 7, 8]), number).tolist() == [7, 5, 0, 7]


def test_first_row_of_the_same_number():
    assert first_in_batch(torch.tensor([1, 0, 1, -1, 0])).tolist() == [0, 1, 0, 3, 1]


@pytest.mark.parametrize(
    "look", [lambda batch: batch["share"], lambda batch: batch.get("rows"), lambda batch: {**batch}, dict]
)
def test_who_looks_at_the_global_batch_in_any_way_is_trusted(pretend, monkeypatch, look):
    pretend(0, 2)
    monkeypatch.setattr(dist, "all_reduce", lambda tensor: tensor.mul_(2))
    batch = GlobalBatch({"label": torch.zeros(3)}, 3, 3, CPU)
    with pytest.raises(InputError, match=r"Mine\.reduce looks at this process's rows only"):
        batch.check_use("Mine")
    look(batch)
    batch.check_use("Mine")
    assert float(batch["rows"]) == 6
    assert float(batch["share"]) == pytest.approx(2 / 6)
