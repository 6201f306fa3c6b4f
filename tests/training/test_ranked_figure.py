"""Training groups ranked by another figure than accuracy; the weights worked out anew with numpy."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from drurank.data import GroupedDataset, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DRU, Worst
from drurank.training.record import LARGEST, EpochRecord
from fits import own_loaders, own_network, plain_sgd
from reference import cross_entropy, discounts, ranks


def fitted(trainer, method, epochs=2):
    """The method after some epochs, and of its training rows logits, labels and groups."""
    train, val = own_loaders()
    trainer(max_epochs=epochs).fit(method, train, [val, evaluation_loader(train)])
    x, label = train.dataset.dataset.tensors
    with torch.no_grad():
        logits = method(x).numpy()
    return logits, label.numpy(), train.dataset.group.numpy()


def by_first_input():
    """A network that begins with the sign of the first input, so that both classes are named and groups differ."""
    made = nn.Linear(3, 2)
    with torch.no_grad():
        made.weight.copy_(torch.tensor([[-1.0, 0, 0], [1.0, 0, 0]]))
        made.bias.zero_()
    return made


def by_group(value, rows, group):
    return np.array([value[rows & (group == g)].mean() for g in range(4)])


@pytest.mark.parametrize(("figure", "of"), [("fnr", 1), ("fpr", 0)])
@pytest.mark.parametrize("upweight", ["misclassified", "all"])
@pytest.mark.parametrize("positive", [None, "0"])
def test_a_rate_ranks_by_the_rows_of_its_class_and_weighs_them_alone(trainer, figure, of, upweight, positive):
    of = of if positive is None else 1 - of
    method = DRU(
        network=by_first_input(), optimizer=plain_sgd(0.01), rank_by_figure=figure, upweight=upweight, positive=positive
    )
    logits, label, group = fitted(trainer, method)
    right, rows = logits.argmax(axis=1) == label, label == of
    weight = discounts(ranks(by_group(right, rows, group), "quantile", "min"), 100)
    takes = rows & ~right if upweight == "misclassified" else rows
    assert len(set(weight)) > 1
    assert takes.any()
    np.testing.assert_allclose(method.state["weight"], np.where(takes, weight[group], 1), rtol=1e-6)


def test_loss_ranks_by_the_mean_over_the_rows_of_a_group(trainer):
    method = DRU(network=own_network(), rank_by_figure="loss", upweight="all", rank_by="index", cutoff=3)
    logits, label, group = fitted(trainer, method)
    loss = by_group(cross_entropy(logits, label), np.ones(len(label), bool), group)
    np.testing.assert_allclose(method.state["weight"], discounts(ranks(-loss, "index", "min"), 3)[group], rtol=1e-6)
    np.testing.assert_allclose(method.record.group_loss(), loss, rtol=1e-5)


def test_the_worst_group_by_loss_alone_is_upweighted(trainer):
    method = Worst(network=own_network(), rank_by_figure="loss", upweight="all", upweight_factor=3)
    logits, label, group = fitted(trainer, method)
    loss = by_group(cross_entropy(logits, label), np.ones(len(label), bool), group)
    assert method.state["weight"].tolist() == np.where(group == loss.argmax(), 3.0, 1.0).tolist()


def test_a_loss_that_is_no_number_is_the_largest():
    record = EpochRecord(torch.tensor([0, 0, 1]), 2, keeps_loss=True)
    record.write(torch.arange(3), torch.tensor([True, False, True]), torch.tensor([1.0, float("nan"), 7.0]))
    record.commit()
    assert record.group_loss().tolist() == [pytest.approx((1 + LARGEST) / 2), 7.0]


def test_groups_are_ranked_by_what_was_last_known_of_each_row():
    record = EpochRecord(torch.tensor([0, 0, 1, 1, 2]), 3, keeps_loss=True)
    record.write(torch.tensor([0, 2]), torch.tensor([True, True]), torch.tensor([1.0, 2.0]))
    record.commit()
    record.write(torch.tensor([1, 2]), torch.tensor([True, True]), torch.tensor([5.0, 4.0]))
    record.commit()
    loss = record.group_loss()
    assert loss[:2].tolist() == [3.0, 4.0]
    assert loss[2].isnan()


def test_losses_are_kept_in_a_checkpoint():
    record, other = (EpochRecord(torch.tensor([0, 0, 1]), 2, keeps_loss=True) for _ in range(2))
    record.write(torch.tensor([0, 2]), torch.tensor([True, False]), torch.tensor([1.0, 2.0]))
    record.commit()
    other.load_state_dict(record.state_dict())
    assert other.group_loss().tolist() == record.group_loss().tolist() == [1.0, 2.0]


def test_the_figure_stands_in_the_name():
    assert DRU(rank_by_figure="fnr").title == "qDRU+M by fnr"
    assert Worst(rank_by_figure="loss", upweight="all").title == "Worst+G by loss"
    assert DRU().title == "qDRU+M"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rank_by_figure": "recall"}, "rank_by_figure is 'recall'"),
        ({"rank_by_figure": "loss", "accuracy_from": "training"}, "give accuracy_from='evaluation'"),
        ({"rank_by_figure": "loss", "shrink": True}, "ranks by losses; give one of them"),
    ],
)
@pytest.mark.parametrize("method", [DRU, Worst])
def test_options_that_do_not_go_together_are_refused(method, options, said):
    with pytest.raises(InputError, match=said):
        method(**options)


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, place):
        return torch.ones(3), place % 2


def test_labels_that_are_not_held_cannot_be_told_apart(trainer):
    train = DataLoader(GroupedDataset(Rows(), [f"g{i % 2}" for i in range(8)]), batch_size=4)
    val = DataLoader(GroupedDataset(Rows(), ["g0"] * 8, split="val"), batch_size=4)
    with pytest.raises(InputError, match="does not hold its labels in memory"):
        trainer().fit(DRU(network=nn.Linear(3, 2), rank_by_figure="fnr"), train, [val, evaluation_loader(train)])


@pytest.mark.parametrize(
    ("positive", "said"), [(None, "needs a positive class"), ("3", "positive is '3', which is no")]
)
def test_a_rate_needs_a_positive_class(trainer, positive, said):
    train, val = own_loaders()
    train.dataset.dataset.tensors[1][0] = 2  # three classes
    method = DRU(network=nn.Linear(3, 3), rank_by_figure="fnr", positive=positive)
    with pytest.raises(InputError, match=said):
        trainer().fit(method, train, [val, evaluation_loader(train)])
