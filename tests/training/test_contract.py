"""What your own batches, losses, notion of right and weights must be."""

import math

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from drurank.data import GroupedDataset
from drurank.data.loading import make_loader
from drurank.errors import InputError
from drurank.methods import ERM
from drurank.training.contract import check_classes, checked_batch, class_correct
from fits import network, small


def test_method_that_gives_nan_weights_is_stopped(trainer):
    class Broken(ERM):
        def reweight(self, record):
            return super().reweight(record) * math.nan

    with pytest.raises(InputError, match=r"Broken.*nan"):
        trainer(max_epochs=2).fit(Broken(network=network()), datamodule=small())


def test_loss_of_a_whole_batch_is_refused_at_the_first_step(trainer):
    class Mean(nn.Module):
        def forward(self, logits, label):
            return nn.functional.cross_entropy(logits, label)

    with pytest.raises(InputError, match="one value per sample"):
        trainer().fit(ERM(network=network(), loss=Mean()), datamodule=small())


@pytest.mark.parametrize("loss", [None, nn.CrossEntropyLoss(reduction="none")], ids=["ours", "torch's"])
@pytest.mark.parametrize("place", [0, 40], ids=["first", "later"])
def test_a_label_that_the_network_has_no_output_for_is_named(trainer, loss, place):
    label = torch.arange(48) % 2
    label[place] = 7
    rows = GroupedDataset(TensorDataset(torch.zeros(48, 3), label), torch.arange(48) % 3, split="train")
    method = ERM(network=nn.Linear(3, 2), **({} if loss is None else {"loss": loss}))
    said = "a training row has the label 7, and the network has 2 outputs, for classes 0 to 1; give it an output for"
    with pytest.raises(InputError, match=said):
        trainer(limit_val_batches=0).fit(method, make_loader(rows, 8, shuffle=True))


@pytest.mark.parametrize(
    ("label", "wrong"),
    [([0, 1, 2], None), ([0, 3, 5], 3), ([-1, 0, 9], -1), ([-100, 0, 1], None), ([0.5, 7.0, 1.0], None)],
)
def test_classes_are_looked_at_once_where_a_loss_would_not_say_what_is_wrong(label, wrong):
    if wrong is None:
        check_classes(torch.zeros(3, 3), torch.tensor(label))
        return
    with pytest.raises(InputError, match=f"the label {wrong}, and the network has 3 outputs"):
        check_classes(torch.zeros(3, 3), torch.tensor(label))


def test_batches_that_are_tuples():
    batch = (torch.zeros(2, 3), torch.tensor([0, 1]), torch.tensor([4, 5]), torch.tensor([6, 7]))
    assert ERM().unpack(batch)["index"].tolist() == [6, 7]
    assert ERM().unpack(list(batch))["group"].tolist() == [4, 5]


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ((torch.zeros(2), torch.zeros(2)), "a batch is a tuple, not a dict with inputs, label, group, index"),
        ({"x": 1, "label": 2}, "a batch is a dict with x, label, not"),
        ("abc", "a batch is a str"),
    ],
)
def test_other_batches_are_refused_with_the_remedy(batch, said):
    with pytest.raises(InputError, match=said) as error:
        ERM().unpack(batch)
    assert "override unpack(batch)" in str(error.value)


@pytest.mark.parametrize(
    ("right", "said"),
    [
        (lambda output, label: (output.argmax(1) == label).float(), r"is_correct gave torch\.float32 \[4\]"),
        (lambda output, label: (output.argmax(1) == label)[:, None], r"is_correct gave torch\.bool \[4, 1\]"),
        (lambda output, label: (output.argmax(1) == label).all(), r"is_correct gave torch\.bool \[\]"),
    ],
)
def test_is_correct_must_give_one_bool_a_sample(trainer, right, said):
    class Other(ERM):
        def is_correct(self, output, label):
            return right(output, label)

    rows = GroupedDataset(TensorDataset(torch.randn(8, 2), torch.arange(8) % 2), torch.arange(8) % 4)
    with pytest.raises(InputError, match=said):
        trainer().fit(Other(network=nn.Linear(2, 2)), make_loader(rows, 4))


@pytest.mark.parametrize("name", ["index", "group"])
@pytest.mark.parametrize("change", [lambda v: v.int(), lambda v: v[:, None], lambda v: v[:1], lambda v: v.tolist()])
def test_what_unpack_gives_is_looked_at(name, change):
    class Other(ERM):
        def unpack(self, batch):
            return {**batch, name: change(batch[name])}

    batch = {"inputs": torch.zeros(2, 3), "label": torch.zeros(2), "group": torch.arange(2), "index": torch.arange(2)}
    with pytest.raises(InputError, match=f"as {name}; it must give a dict"):
        checked_batch(Other().unpack(batch))


@pytest.mark.parametrize("weight", [None, torch.ones(3), [1.0] * 8])
def test_weights_of_another_length_are_refused(trainer, weight):
    class Other(ERM):
        def reweight(self, record):
            return weight

    rows = GroupedDataset(TensorDataset(torch.randn(8, 2), torch.arange(8) % 2), torch.arange(8) % 4)
    with pytest.raises(InputError, match="must give a tensor of 8 weights"):
        trainer().fit(Other(network=nn.Linear(2, 2)), make_loader(rows, 4))


def test_labels_that_are_floats_ask_for_a_notion_of_right(trainer):
    rows = GroupedDataset(TensorDataset(torch.randn(8, 2), torch.randn(8)), torch.arange(8) % 4)

    class Squared(nn.Module):
        def forward(self, output, label):
            return (output[:, 0] - label) ** 2

    with pytest.raises(InputError, match="override is_correct"):
        trainer().fit(ERM(network=nn.Linear(2, 1), loss=Squared()), make_loader(rows, 4))


def test_network_without_a_score_by_class_is_refused():
    with pytest.raises(InputError, match=r"the network gave \[3\] for labels \[3\].*\[B, 1\]"):
        class_correct(torch.zeros(3), torch.tensor([0, 1, 0]))
