"""Candidates of a stack against the same candidates alone."""

import logging

import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn

from drurank.data import PaintedShortcut, Table
from drurank.errors import InputError
from drurank.methods import DRU, ERM, IRM, JTT, ChiSquare, Const, CVaR, GroupDRO, Worst
from drurank.networks import MLP, ConvNet
from drurank.training.losses import CrossEntropy
from fits import network
from runs import plain, read_json
from side_by_side import Trained, both_ways, distance, fit_alone, fit_stacked, sgd, stacks_seen

METHODS = {
    "ERM": lambda **o: ERM(**o),
    "DRU": lambda **o: DRU(**o),
    "DRU while it trains": lambda **o: DRU(accuracy_from="training", cutoff=5, **o),
    "Worst": lambda **o: Worst(upweight_factor=3, **o),
    "Const": lambda **o: Const(upweight_factor=4, **o),
    "GroupDRO": lambda **o: GroupDRO(step_size=0.1, **o),
    "GroupDRO of Sagawa": lambda **o: GroupDRO("sagawa", generalization_adjustment=1, **o),
    "greedy": lambda **o: GroupDRO("sagawa", alpha=0.5, **o),
    "CVaR": lambda **o: CVaR(0.3, **o),
    "ChiSquare": lambda **o: ChiSquare(0.5, **o),
    "JTT": lambda **o: JTT(first_stage_epochs=2, **o),
}
EPOCHS, STEPS = 5, 12
RATES = [0.001, 0.003]


def adamw(number):
    return lambda params: torch.optim.AdamW(params, lr=RATES[number % 2], weight_decay=0.1 * (number % 3))


def every_method(root):
    return [
        Trained(
            lambda make=make, number=number: make(network=network(), optimizer=adamw(number)),
            root / str(number),
            seed=number,
            epochs=EPOCHS,
        )
        for number, make in enumerate(METHODS.values())
    ]


@pytest.fixture(scope="module")
def alone_and_stacked(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        alone = fit_alone(every_method(tmp_path_factory.mktemp("alone")))
        seen = stacks_seen(patch)
        return alone, fit_stacked(every_method(tmp_path_factory.mktemp("stacked"))), seen


def test_all_methods_share_one_stack(alone_and_stacked):
    assert [len(titles) for titles in alone_and_stacked[2]] == [len(METHODS)] * EPOCHS


@pytest.mark.parametrize("number", range(len(METHODS)), ids=[*METHODS])
def test_candidate_of_a_stack_equals_the_same_candidate_alone(alone_and_stacked, number):
    alone, stacked = (fits[number] for fits in alone_and_stacked[:2])
    assert alone.error is None
    assert stacked.error is None
    assert stacked.trainer.global_step == alone.trainer.global_step == STEPS * EPOCHS == 60
    assert distance(alone.method, stacked.method) < 1e-5
    torch.testing.assert_close(alone.method.state, stacked.method.state, rtol=1e-4, atol=1e-5)
    assert torch.equal(alone.method.record.correct, stacked.method.record.correct)
    kept, other = (read_json(one.folder / "selection.json") for one in (alone, stacked))
    assert kept == other
    one, other = (plain(one.folder / "last.ckpt") for one in (alone, stacked))
    assert one["loops"] == other["loops"]
    assert one.keys() == other.keys()
    torch.testing.assert_close(one["optimizer_states"], other["optimizer_states"], rtol=1e-3, atol=1e-5)
    first, second = (one.trainer.callback_metrics for one in (alone, stacked))
    assert first.keys() == second.keys()
    for key, value in first.items():
        assert value == pytest.approx(float(second[key]), rel=1e-4), key


def test_a_stack_goes_on_from_its_last_checkpoints(tmp_path, alone_and_stacked):
    numbers = (0, 2, 5, 10)
    half = [every_method(tmp_path)[number] for number in numbers]
    for one in half:
        one.epochs = 3
    fit_stacked(half)
    again = [every_method(tmp_path)[number] for number in numbers]
    for one in again:
        one.resumed = one.folder / "last.ckpt"
    fit_stacked(again)
    for number, one in zip(numbers, again, strict=True):
        assert one.error is None
        assert distance(one.method, alone_and_stacked[0][number].method) < 1e-5, [*METHODS][number]
        assert one.trainer.global_step == STEPS * EPOCHS


def test_candidate_that_turns_nan_leaves_and_the_others_stay_as_they_are(tmp_path, monkeypatch):
    def method(k):
        return ERM(network=network(), optimizer=sgd([0.1, 1e30, 0.1][k]))

    alone, stacked, _ = both_ways(method, 3, tmp_path, monkeypatch)
    assert isinstance(stacked[1].error, InputError)
    assert str(stacked[1].error) == str(alone[1].error)
    for k in (0, 2):
        assert stacked[k].error is None
        assert distance(alone[k].method, stacked[k].method) < 1e-5


def test_candidate_that_stops_early_leaves_and_the_others_go_on(tmp_path, monkeypatch):
    seen = stacks_seen(monkeypatch)
    stop = {"callbacks": [EarlyStopping("val_worst", mode="max", patience=1, min_delta=1.0)]}
    fits = [
        Trained(
            lambda: ERM(network=network()),
            tmp_path / str(k),
            seed=k,
            epochs=5,
            options=stop if k == 0 else {},
            data={"group_size": 10},
        )
        for k in range(3)
    ]
    fit_stacked(fits)
    assert [one.trainer.current_epoch for one in fits] == [2, 5, 5]
    assert [len(titles) for titles in seen] == [3, 3, 2, 2, 2]


@pytest.mark.parametrize(
    ("options", "make"),
    [
        ({"gradient_clip_val": 0.5}, lambda k: sgd(0.1, momentum=0.9)),
        (
            {"gradient_clip_val": 0.05, "gradient_clip_algorithm": "value"},
            lambda k: sgd(0.5, nesterov=True, momentum=0.5),
        ),
        ({}, lambda k: lambda params: torch.optim.Adam(params, lr=0.01 * (k + 1), amsgrad=True)),
        ({}, lambda k: lambda params: torch.optim.RMSprop(params, lr=0.01, weight_decay=0.1 * k)),
        ({}, lambda k: lambda params: torch.optim.Adagrad(params, lr=0.1)),
    ],
)
def test_optimizers_and_clipping_keep_to_their_own_candidate(tmp_path, monkeypatch, options, make):
    def method(k):
        return ERM(network=network(), optimizer=make(k))

    alone, stacked, sizes = both_ways(method, 3, tmp_path, monkeypatch, options=dict(options))
    assert sizes == [3] * 3
    for one, other in zip(alone, stacked, strict=True):
        assert one.error is None
        assert distance(one.method, other.method) < 1e-5


def test_schedule_by_epoch_moves_each_candidate_at_its_own_rate(tmp_path, monkeypatch):
    def method(k):
        return ERM(
            network=network(),
            optimizer=sgd(0.1 * (k + 1)),
            lr_scheduler=lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1 * (k + 1)),
        )

    alone, stacked, sizes = both_ways(method, 2, tmp_path, monkeypatch)
    assert sizes == [2] * 3
    for one, other in zip(alone, stacked, strict=True):
        assert distance(one.method, other.method) < 1e-5
        assert one.trainer.optimizers[0].param_groups[0]["lr"] == other.trainer.optimizers[0].param_groups[0]["lr"]


class Norm(nn.Module):
    """A network with buffers that change as it trains."""

    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(sizes.in_features, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))

    def forward(self, inputs):
        return self.layers(inputs)


def test_buffers_are_those_of_the_candidate(tmp_path, monkeypatch):
    alone, stacked, sizes = both_ways(lambda k: ERM(network=Norm, optimizer=sgd(0.1)), 2, tmp_path, monkeypatch)
    assert sizes == [2] * 3
    for one, other in zip(alone, stacked, strict=True):
        assert distance(one.method, other.method) < 1e-5
    assert int(stacked[0].method.network.layers[1].num_batches_tracked) == 36


@pytest.fixture(scope="module")
def categories(tmp_path_factory):
    """A table with a number and two columns of categories, of which one has missing cells."""
    path = tmp_path_factory.mktemp("table") / "t.csv"
    lines = [
        f"{row % 7},{'abc'[row % 3]},{'xy'[row % 2] if row % 5 else ''},{int(row % 11 > 4)},g{row % 10}{part[0]},{part}"
        for part in ("train", "ood_val", "ood_test")
        for row in range(60)
    ]
    path.write_text("\n".join(["a,b,c,y,g,s", *lines]) + "\n", encoding="utf-8")
    return {"path": str(path), "label": "y", "group": "g", "split": "s", "missing": "indicator", "batch_size": 8}


@pytest.mark.parametrize("encoding", ["onehot", "embed"])
def test_columns_of_categories_are_stacked_too(tmp_path, monkeypatch, categories, encoding):
    def method(k):
        kind = (ERM, DRU, JTT)[k]
        stage = {"first_stage_epochs": 1} if kind is JTT else {}
        return kind(network=lambda sizes: MLP(sizes, hidden=8, dropout=0), optimizer=sgd(0.1, momentum=0.5), **stage)

    data = {"data_class": Table, "data": {**categories, "encoding": encoding}}
    alone, stacked, sizes = both_ways(method, 3, tmp_path, monkeypatch, **data)
    assert [one.error for one in (*alone, *stacked)] == [None] * 6
    assert sizes == [3] * 3
    for one, other in zip(alone, stacked, strict=True):
        assert distance(one.method, other.method) < 1e-5
        assert torch.equal(one.method.record.correct, other.method.record.correct)
    tables = stacked[0].method.network.embeddings
    assert [tuple(table.weight.shape) for table in tables] == ([(4, 16), (4, 16)] if encoding == "embed" else [])


class Keywords(nn.Module):
    """Takes what its data names, and gives its scores as Hugging Face's models do."""

    def __init__(self, sizes):
        super().__init__()
        self.embedding, self.head = nn.Embedding(8, 3), nn.Linear(4, 2)

    def forward(self, *, categorical, numeric):
        return {"logits": self.head(torch.cat([numeric, self.embedding(categorical).mean(dim=1)], dim=1))}


def test_a_network_of_keywords_is_stacked_too(tmp_path, monkeypatch, categories):
    data = {"data_class": Table, "data": {**categories, "encoding": "embed"}}
    alone, stacked, sizes = both_ways(
        lambda k: ERM(network=Keywords, optimizer=sgd(0.1 * (k + 1))), 2, tmp_path, monkeypatch, epochs=2, **data
    )
    assert [one.error for one in (*alone, *stacked)] == [None] * 4
    assert sizes == [2] * 2
    for one, other in zip(alone, stacked, strict=True):
        assert distance(one.method, other.method) < 1e-5


# ---- methods of a person's own


class Power(ERM):
    """Weights losses by a power of themselves, and keeps a running mean of them."""

    def first_state(self):
        return {**super().first_state(), "mean": torch.zeros(())}

    def reduce(self, losses, batch, state):
        share = losses.detach() ** 2
        state["mean"] = 0.9 * state["mean"] + 0.1 * losses.detach().mean()
        return (share / share.sum() * losses).sum() + 0 * state["mean"]


class Looks(ERM):
    """Decides in Python by the values of losses."""

    def reduce(self, losses, batch, state):
        return losses.mean() if losses.mean() > 0.5 else losses.max()


class Steps(ERM):
    def training_step(self, batch, batch_idx):
        return super().training_step(batch, batch_idx)


def test_method_with_a_reduce_of_its_own_is_stacked_too(tmp_path, monkeypatch):
    def method(k):
        return (Power, Power, ERM)[k](network=network(), optimizer=sgd(0.1))

    alone, stacked, sizes = both_ways(method, 3, tmp_path, monkeypatch)
    assert sizes == [3] * 3
    for one, other in zip(alone, stacked, strict=True):
        assert distance(one.method, other.method) < 1e-5
        torch.testing.assert_close(one.method.state, other.method.state)


def test_large_networks_train_alone_where_that_is_asked(tmp_path, monkeypatch):
    seen = stacks_seen(monkeypatch)
    made = [Trained(lambda: ERM(network=network()), tmp_path / str(k), epochs=1) for k in range(2)]
    fit_stacked(made, largest=10)
    assert seen == []
    assert [one.error for one in made] == [None, None]


class AtBatches(Callback):
    def on_train_batch_end(self, *args):
        pass


def of_pictures(network, optimizer):
    return ERM(network=lambda sizes: ConvNet(sizes, [4]), optimizer=optimizer)


PICTURES = {"data_class": PaintedShortcut, "data": {"groups": [4, 4, 4], "group_size": 4, "batch_size": 8}}


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (Looks, {}, "data-dependent control flow"),
        (Steps, {}, "Steps has its own training_step"),
        (IRM, {}, "IRM has its own objective"),
        (ERM, {"options": {"callbacks": [AtBatches()]}}, "AtBatches has on_train_batch_end"),
        (ERM, {"options": {"accumulate_grad_batches": 2}}, "accumulate_grad_batches"),
        (of_pictures, PICTURES, "the network has convolutions"),
        (ERM, {"data": {"num_workers": 1}}, "not drawn by the library's sampler in this process"),
    ],
)
def test_what_cannot_be_stacked_trains_alone_and_says_why(tmp_path, monkeypatch, caplog, kind, options, said):
    def method(k):
        return kind(network=network(), optimizer=sgd(0.1))

    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        alone, stacked, _ = both_ways(method, 2, tmp_path, monkeypatch, epochs=1, **options)
    told = [record.getMessage() for record in caplog.records if "trains alone" in record.getMessage()]
    assert len(told) == 2
    assert said in told[0]
    assert [distance(one.method, other.method) for one, other in zip(alone, stacked, strict=True)] == [0, 0]


class Scaled(ERM):
    """An option that Lightning does not know as a hyperparameter."""

    def __init__(self, scale, **kwargs):
        super().__init__(**kwargs)
        self.times = scale

    def reduce(self, losses, batch, state):
        return self.times * losses.mean()


class Warm(nn.Module):
    """A network with an option that its printed form does not show."""

    def __init__(self, sizes, temperature):
        super().__init__()
        self.layer, self.temperature = nn.Linear(sizes.in_features, 2), temperature

    def forward(self, inputs):
        return self.layer(inputs) / self.temperature


class Begins(ERM):
    def on_train_batch_start(self, batch, batch_idx):
        super().on_train_batch_start(batch, batch_idx)
        self.rows = len(batch["index"])


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (lambda k: Scaled(k + 1, network=network(), optimizer=sgd(0.1)), [2]),
        (lambda k: ERM(network=lambda sizes: Warm(sizes, k + 1.0), optimizer=sgd(0.1)), []),
        (lambda k: ERM(network=network(), optimizer=sgd(0.1), loss=CrossEntropy([1.0, k + 1.0])), []),
        (lambda k: Begins(network=network(), optimizer=sgd(0.1)), []),
    ],
    ids=["method", "network", "loss", "hook"],
)
def test_options_that_no_list_has_stay_those_of_the_candidate(tmp_path, monkeypatch, make, sizes):
    alone, stacked, found = both_ways(make, 2, tmp_path, monkeypatch, epochs=1)
    assert found == sizes
    for one, other in zip(alone, stacked, strict=True):
        assert (one.error, other.error) == (None, None)
        assert distance(one.method, other.method) < 1e-5
