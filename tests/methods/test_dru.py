"""DRU: weights by the tables of right values, and what a training makes of them."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from drurank.data import GroupedDataset, Synthetic, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from fits import (
    ALIKE,
    CASE_1,
    HALF_DRAWN,
    TIED,
    Watch,
    dru_weights,
    network,
    plain_sgd,
    record_of,
    record_of_counts,
    small,
)
from reference import spread

DRU_TABLE = [
    (CASE_1, {"rank_by": "index", "cutoff": 2}, [1, 1, 2, 1.261860]),
    (CASE_1, {"rank_by": "index", "cutoff": 10}, [1.543959, 1.792481, 3.584963, 2.261860]),
    (CASE_1, {"rank_by": "quantile", "cutoff": 20}, [1, 1, 4.459432, 1]),
    (CASE_1, {"rank_by": "quantile", "cutoff": 50}, [1, 1, 5.700440, 1.198859]),
    (CASE_1, {"rank_by": "quantile", "cutoff": 0}, [1, 1, 1, 1]),
    (TIED, {"rank_by": "index", "cutoff": 3}, [2.321928, 1.160964, 2.321928, 1, 1.160964]),
    (TIED, {"rank_by": "index", "cutoff": 3, "ties": "average"}, [1.756471, 1.070050, 1.756471, 1, 1.070050]),
    (TIED, {"rank_by": "index", "cutoff": 3, "ties": "ordinal"}, [2.321928, 1.160964, 1.464974, 1, 1]),
    (TIED, {"rank_by": "quantile", "cutoff": 60}, [5.954196, 1.104200, 5.954196, 1, 1.104200]),
    (([5, 5, 9], [10] * 3), {"rank_by": "index", "cutoff": 2}, [2, 2, 1]),
    (TIED, {"rank_by": "quantile", "cutoff": 100}, [6.672425, 1.237395, 6.672425, 1.049527, 1.237395]),
]


@pytest.mark.parametrize("upweight", ["all", "misclassified"])
@pytest.mark.parametrize(("counts", "options", "by_group"), DRU_TABLE)
def test_dru_weights_of_the_tables_of_right_values(counts, options, by_group, upweight):
    record, correct, group = record_of_counts(*counts)
    weight = DRU(upweight=upweight, **options).reweight(record)
    np.testing.assert_allclose(weight, spread(by_group, correct, group, upweight), atol=1e-6)


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("counts", ALIKE.values(), ids=ALIKE)
def test_all_samples_weigh_1_where_no_group_is_worse_than_another(counts, shrink, caplog):
    record, _, _ = record_of_counts(*counts)
    cutoffs = (20,) if shrink else (0, 20, 100)  # shrinking takes its time, and does not look at the cutoff
    for cutoff, ties, upweight in product(cutoffs, ("min", "average", "ordinal"), ("all", "misclassified")):
        caplog.clear()
        weight = DRU(cutoff=cutoff, ties=ties, upweight=upweight, shrink=shrink).reweight(record)
        np.testing.assert_array_equal(weight, np.ones(sum(counts[1])))
        assert "no training group is worse than another, so none is upweighted" in caplog.text
    assert (DRU("index", cutoff=500, shrink=shrink, normalize_weights=True).reweight(record) == 1).all()


def test_groups_that_differ_less_than_by_chance_are_alike_if_shrunk(caplog):
    record, correct, group = record_of_counts([39, 40, 41] * 20, [50] * 60)
    assert (DRU(shrink=True).reweight(record) == 1).all()
    assert "so none is upweighted" in caplog.text
    caplog.clear()
    top = math.log2(102)  # ranks are 0, 33.3 and 66.7
    by_group = [top, top / math.log2(2 + 100 / 3), top / math.log2(2 + 200 / 3)] * 20
    np.testing.assert_allclose(DRU().reweight(record), spread(by_group, correct, group, "misclassified"), rtol=1e-6)
    assert "upweighted" not in caplog.text


@pytest.mark.parametrize(
    ("upweight", "want"), [("all", [2] * 4 + [1.261860] * 4), ("misclassified", [1, 2, 2, 1, 1, 1, 1, 1])]
)
def test_row_never_drawn_weighs_as_its_group_where_all_samples_do(upweight, want):
    weight = DRU("index", upweight, cutoff=2).reweight(record_of(*HALF_DRAWN, 2))
    np.testing.assert_allclose(weight, want, atol=1e-6)


@pytest.mark.parametrize("upweight", ["all", "misclassified"])
def test_normalized_weights_have_mean_1_and_the_same_ratios(upweight):
    record, _, _ = record_of_counts(*CASE_1)
    plain = DRU(rank_by="index", cutoff=10, upweight=upweight).reweight(record).double()
    scaled = DRU(rank_by="index", cutoff=10, upweight=upweight, normalize_weights=True).reweight(record).double()
    assert float(plain.mean()) > 1.1
    assert float(scaled.mean()) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(scaled[:, None] / scaled[None, :], plain[:, None] / plain[None, :], rtol=1e-5)


def test_group_never_drawn_has_no_rank_and_is_not_upweighted():
    # Group 1 was never drawn; of the other three group 2 is worst. m is 3, so the ranks are 66.7, -, 0, 33.3.
    record = record_of([1, 1, -1, -1, 0, 0, 1, 0], [0, 0, -1, -1, 2, 2, 3, 3], 4)
    weight = DRU(upweight="all", cutoff=50).reweight(record)
    top = math.log2(52)
    np.testing.assert_allclose(weight, [1, 1, 1, 1, top, top, *[top / math.log2(2 + 100 / 3)] * 2], rtol=1e-6)


def test_cutoff_by_index_may_be_above_100():
    record, _, _ = record_of_counts([0, 1], [1, 1])
    weight = DRU(rank_by="index", cutoff=1000, upweight="all").reweight(record)
    np.testing.assert_allclose(weight, [math.log2(1002), math.log2(1002) / math.log2(3)], rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: DRU(cutoff=101), "cutoff is 101; with rank_by='quantile' give a number from 0 to 100"),
        (lambda: DRU(cutoff=-1), "cutoff.*-1"),
        (lambda: DRU(cutoff=math.nan), "cutoff.*nan"),
        (lambda: DRU(rank_by="index", cutoff=math.inf), "cutoff.*inf"),
        (lambda: DRU(rank_by="qantile"), "rank_by.*'qantile'.*'quantile'"),
        (lambda: DRU(upweight="wrong"), "upweight.*'misclassified'"),
        (lambda: DRU(ties="max"), "ties.*'average'"),
        (lambda: DRU(accuracy_from="train"), "accuracy_from.*'training'"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name_and_value(make, named):
    with pytest.raises(InputError, match=named):
        make()


@pytest.mark.parametrize(
    ("method", "title"),
    [
        (lambda: DRU(), "qDRU+M"),
        (lambda: DRU(upweight="all"), "qDRU+G"),
        (lambda: DRU(rank_by="index"), "gDRU+M"),
        (lambda: DRU(rank_by="index", upweight="all"), "gDRU+G"),
    ],
)
def test_methods_are_called_as_in_the_paper(method, title):
    assert method().title == title


def test_validation_within_an_epoch_does_not_reweight(trainer):
    torch.manual_seed(3)
    data = small()
    watch = Watch(data.dataset("train"))
    module = DRU(network=network(), optimizer=plain_sgd(1.0))
    trainer(max_epochs=3, val_check_interval=0.5, callbacks=[watch]).fit(module, datamodule=data)
    assert watch.assert_weights_follow(dru_weights, "evaluation") >= 2


class Scaled(nn.Module):
    """Logits are the inputs times one parameter."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, inputs):
        return self.scale * inputs


class FirstLogit(nn.Module):
    """The loss of a sample is its first logit."""

    def forward(self, logits, label):
        return logits[:, 0]


@pytest.mark.parametrize(("batch_size", "accumulate"), [(4, 1), (2, 2), (1, 4)])
@pytest.mark.parametrize(("normalize", "second_step"), [(False, 2.25), (True, 1.5)])
def test_accumulation_takes_the_step_of_one_big_batch(trainer, batch_size, accumulate, normalize, second_step):
    # Losses are scale times [2, 1, 1, 1]; only the first row is wrong, and its group the worst. gDRU+M with C=6 gives
    # it log2(8) / log2(2) = 3. The gradient is 5/4 in the first epoch and (3*2+1+1+1)/4 = 2.25 in the second, or, with
    # weights of mean 1 ([2, 2/3, 2/3, 2/3]), 1.5.
    inputs, label = torch.tensor([[2.0, 0], [1, 0], [1, 0], [1, 0]]), torch.tensor([1, 0, 0, 0])
    train = GroupedDataset(TensorDataset(inputs, label), ["a", "b", "b", "b"])
    val = GroupedDataset(TensorDataset(inputs, label), ["a", "b", "b", "b"], split="val")
    loaders = [DataLoader(val), evaluation_loader(train)]
    module = DRU(
        "index", cutoff=6, normalize_weights=normalize, network=Scaled(), loss=FirstLogit(), optimizer=plain_sgd(0.1)
    )
    trainer(max_epochs=2, accumulate_grad_batches=accumulate).fit(
        module, DataLoader(train, batch_size, shuffle=True), loaders
    )
    assert float(module.network.scale.detach()) == pytest.approx(1 - 0.1 * 1.25 - 0.1 * second_step, abs=1e-6)


class Signed(nn.Module):
    """Logits are the inputs times a sign that the test sets: it decides what is right."""

    def __init__(self):
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(()))
        self.sign = 1

    def forward(self, inputs):
        return self.sign * inputs + 0 * self.unused


class Scripted:
    """One batch of rows an epoch, as the test says."""

    def __init__(self, epochs):
        self.epochs = list(epochs)

    def __iter__(self):
        yield self.epochs.pop(0)

    def __len__(self):
        return 1


def signed_rows(right):
    """Rows that a network of sign 1 gets right where told; two rows a group."""
    right = torch.tensor(right)
    inputs = torch.stack([torch.where(right, 1.0, -1.0), torch.zeros(len(right))], dim=1)
    return GroupedDataset(TensorDataset(inputs, torch.zeros(len(right)).long()), torch.arange(len(right)) // 2)


class Turn(Callback):
    def __init__(self):
        self.weights = []

    def on_train_epoch_start(self, trainer, module):
        module.network.sign = 1 if trainer.current_epoch == 0 else -1
        self.weights.append(module.state["weight"].numpy().copy())


def test_group_that_was_not_drawn_keeps_what_was_known_of_it(trainer):
    # Epoch 0 draws all rows: accuracies 0, 1/2, 1/2, 1. Epoch 1 turns the network round and draws no row of the last
    # group: 1, 1/2, 1/2, and 1 as before. So ranks are 0, 25, 25, 75 and then 50, 0, 0, 50.
    train = signed_rows([False, False, True, False, False, True, True, True])
    turn = Turn()
    module = DRU(upweight="all", accuracy_from="training", network=Signed(), optimizer=plain_sgd(0.0))
    loader = DataLoader(train, batch_sampler=Scripted([list(range(8)), list(range(6))]))
    trainer(max_epochs=2, limit_train_batches=1, callbacks=[turn]).fit(module, loader)
    top = math.log2(102)
    first, second = (np.repeat([top / math.log2(r + 2) for r in rank], 2) for rank in ([0, 25, 25, 75], [50, 0, 0, 50]))
    np.testing.assert_allclose(turn.weights[1], first, rtol=1e-6)
    np.testing.assert_allclose(module.state["weight"], second, rtol=1e-6)


def test_group_never_drawn_weighs_1_and_does_not_count_among_the_groups(trainer):
    train = signed_rows([False, False, True, False, False, True, True, True])
    module = DRU(upweight="all", accuracy_from="training", network=Signed(), optimizer=plain_sgd(0.0))
    trainer(limit_train_batches=1).fit(module, DataLoader(train, batch_sampler=Scripted([list(range(6))])))
    top = math.log2(102)  # ranks of three groups: 0, 33.3, 33.3
    by_group = [top, *[top / math.log2(2 + 100 / 3)] * 2, 1]
    np.testing.assert_allclose(module.state["weight"], np.repeat(by_group, 2), rtol=1e-6)


def test_shrink_does_not_train_worse_than_erm_where_groups_do_not_differ(trainer):
    """Setting 3 of the paper's data, in which no group effect exists: noise alone would rank the groups."""
    averages = {}
    for name, method in (("erm", ERM()), ("shrink", DRU(shrink=True)), ("plain", DRU())):
        seed_everything(0)
        fit = trainer(max_epochs=2)
        fit.fit(method, Synthetic(setting=3, groups=[120, 60, 60], group_size=50, batch_size=64))
        averages[name] = float(fit.callback_metrics["val_average"])
    # An epoch in which some difference seems to be found moves the average by less than a row in 300.
    assert averages["shrink"] >= averages["erm"] - 0.003
    assert averages["plain"] != averages["erm"]
