import inspect
import math
import re

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.cli import ReduceLROnPlateau
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from drurank import methods
from drurank.callbacks import BestByCriterion
from drurank.data import GroupedDataset, Shortcut, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DRU, ERM, Const, GroupModule, Worst
from drurank.networks import MLP, Sizes
from drurank.training.record import EpochRecord
from reference import accuracies, cross_entropy, discounts, ranks, spread

CASE_1 = ([48, 27, 9, 4], [50, 30, 15, 5])  # accuracies .96, .9, .6, .8
TIED = ([5, 7, 5, 9, 7], [10] * 5)  # accuracies .5, .7, .5, .9, .7


def plain_sgd(lr):
    return lambda params: torch.optim.SGD(params, lr=lr)


def small(**options):
    return Shortcut(**{"groups": [6, 4, 4], "group_size": 10, "batch_size": 16, **options})


def network(**options):
    return lambda sizes: MLP(sizes, **{"hidden": 8, "dropout": 0.0, **options})


def record_of(correct, group, m):
    """A record in force; ``correct`` may have leading dimensions."""
    correct = torch.as_tensor(correct)
    record = EpochRecord(torch.as_tensor(group), m)
    record.correct = correct.to(torch.int8)
    return record


def record_of_counts(right, count):
    group = np.repeat(np.arange(len(count)), count)
    correct = np.concatenate([np.arange(n) < r for r, n in zip(right, count, strict=True)])
    return record_of(correct, group, len(count)), correct, group


# ---- weights by record


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
    (TIED, {"rank_by": "quantile", "cutoff": 100}, [6.672425, 1.237395, 6.672425, 1.049527, 1.237395]),
]


@pytest.mark.parametrize("upweight", ["all", "misclassified"])
@pytest.mark.parametrize(("counts", "options", "by_group"), DRU_TABLE)
def test_dru_weights_of_the_tables_of_right_values(counts, options, by_group, upweight):
    record, correct, group = record_of_counts(*counts)
    weight = DRU(upweight=upweight, **options).reweight(record)
    np.testing.assert_allclose(weight, spread(by_group, correct, group, upweight), atol=1e-6)


@pytest.mark.parametrize("upweight", ["all", "misclassified"])
def test_normalized_weights_have_mean_1_and_the_same_ratios(upweight):
    record, _, _ = record_of_counts(*CASE_1)
    plain = DRU(rank_by="index", cutoff=10, upweight=upweight).reweight(record).double()
    scaled = DRU(rank_by="index", cutoff=10, upweight=upweight, normalize_weights=True).reweight(record).double()
    assert float(plain.mean()) > 1.1
    assert float(scaled.mean()) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(scaled[:, None] / scaled[None, :], plain[:, None] / plain[None, :], rtol=1e-5)


def test_worst_upweights_every_group_tied_for_the_worst():
    record, correct, group = record_of_counts(*TIED)
    by_group = [3, 1, 3, 1, 1]
    np.testing.assert_array_equal(Worst(3, "all").reweight(record), spread(by_group, correct, group, "all"))
    wrong_only = spread(by_group, correct, group, "misclassified")
    np.testing.assert_array_equal(Worst(3, "misclassified").reweight(record), wrong_only)


def test_const_upweights_every_misclassified_sample_and_erm_none():
    correct = [1, 0, -1, 0, 1]  # the third was never seen
    record = record_of(correct, [0, 0, 1, -1, 1], 2)  # the fourth has no group
    assert Const(2.5).reweight(record).tolist() == [1, 2.5, 1, 2.5, 1]
    assert ERM().reweight(record).tolist() == [1, 1, 1, 1, 1]


def test_group_never_drawn_has_no_rank_and_is_not_upweighted():
    # Group 1 was never drawn; of the other three group 2 is worst. m is 3, so the ranks are 66.7, -, 0, 33.3.
    record = record_of([1, 1, -1, -1, 0, 0, 1, 0], [0, 0, -1, -1, 2, 2, 3, 3], 4)
    weight = DRU(upweight="all", cutoff=50).reweight(record)
    top = math.log2(52)
    np.testing.assert_allclose(weight, [1, 1, 1, 1, top, top, *[top / math.log2(2 + 100 / 3)] * 2], rtol=1e-6)


METHODS = [
    *(DRU(rank_by=r, upweight=u, cutoff=30) for r in ("index", "quantile") for u in ("all", "misclassified")),
    *(DRU(ties=ties, cutoff=60, normalize_weights=True) for ties in ("min", "average", "ordinal")),
    Worst(2),
    Worst(2, "all"),
    Const(3),
    ERM(),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.title)
def test_stacked_candidates_are_weighted_and_reduced_as_in_a_loop(method):
    generator = np.random.default_rng(1)
    correct, group = generator.integers(-1, 2, (3, 2, 40)), generator.integers(-1, 6, 40)
    stacked = method.reweight(record_of(correct, group, 6))
    loop = [[method.reweight(record_of(c, group, 6)) for c in row] for row in correct]
    torch.testing.assert_close(stacked, torch.stack([torch.stack(row) for row in loop]), rtol=0, atol=0)

    losses, index = generator.random((3, 2, 7)), generator.permutation(40)[:7]
    batch = {"index": torch.as_tensor(index), "share": 1 / 7}
    objective = method.reduce(torch.as_tensor(losses), batch, {"weight": stacked})
    by_hand = (np.asarray(stacked)[..., index] * losses).mean(axis=-1)
    np.testing.assert_allclose(objective, by_hand, rtol=1e-6)


@pytest.mark.parametrize(
    ("method", "title"),
    [
        (lambda: DRU(), "qDRU+M"),
        (lambda: DRU(upweight="all"), "qDRU+G"),
        (lambda: DRU(rank_by="index"), "gDRU+M"),
        (lambda: DRU(rank_by="index", upweight="all"), "gDRU+G"),
        (lambda: Worst(), "Worst+M"),
        (lambda: Worst(upweight="all"), "Worst+G"),
        (lambda: Const(), "Const+M"),
        (lambda: ERM(), "ERM"),
    ],
)
def test_methods_are_called_as_in_the_paper(method, title):
    assert method().title == title


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: DRU(cutoff=101), "cutoff.*101.*0 to 100"),
        (lambda: DRU(cutoff=-1), "cutoff.*-1"),
        (lambda: DRU(cutoff=math.nan), "cutoff.*nan"),
        (lambda: DRU(rank_by="index", cutoff=math.inf), "cutoff.*inf"),
        (lambda: DRU(rank_by="qantile"), "rank_by.*'qantile'.*'quantile'"),
        (lambda: DRU(upweight="wrong"), "upweight.*'misclassified'"),
        (lambda: DRU(ties="max"), "ties.*'average'"),
        (lambda: DRU(accuracy_from="train"), "accuracy_from.*'training'"),
        (lambda: Worst(upweight="wrong"), "upweight.*'misclassified'"),
        (lambda: Worst(0), "upweight_factor.*0"),
        (lambda: Const(-2), "upweight_factor.*-2"),
        (lambda: Const(math.inf), "upweight_factor.*inf"),
        (lambda: Const(math.nan), "upweight_factor.*nan"),
        (lambda: ERM(min_count=0), "min_count.*0"),
        (lambda: ERM(loss=nn.CrossEntropyLoss()), "reduction='mean'.*reduction='none'"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name_and_value(make, named):
    with pytest.raises(InputError, match=named):
        make()


def test_cutoff_by_index_may_be_above_100():
    record, _, _ = record_of_counts([0, 1], [1, 1])
    weight = DRU(rank_by="index", cutoff=1000, upweight="all").reweight(record)
    np.testing.assert_allclose(weight, [math.log2(1002), math.log2(1002) / math.log2(3)], rtol=1e-6)


# ---- training


class Watch(Callback):
    """Notes, by epoch, the objective of each batch beside what it should be made of, and what the network gets right.

    For networks without dropout, whose logits are the same in the training step.
    """

    def __init__(self, train):
        self.rows = train[list(range(len(train)))]
        self.batches, self.right_in_training, self.right_at_end = [], [], []

    def on_train_epoch_start(self, trainer, module):
        self.batches.append([])
        self.right_in_training.append(np.full(len(self.rows["label"]), -1))

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        with torch.no_grad():
            logits = module(batch["inputs"]).numpy()
        index, label = batch["index"].numpy(), batch["label"].numpy()
        self.batches[-1].append({"index": index, "losses": cross_entropy(logits, label)})
        self.right_in_training[-1][index] = logits.argmax(axis=1) == label

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.batches[-1][-1]["objective"] = float(outputs["loss"])

    def on_train_epoch_end(self, trainer, module):
        module.eval()
        with torch.no_grad():
            self.right_at_end.append((module(self.rows["inputs"]).argmax(dim=1) == self.rows["label"]).numpy())
        module.train()

    def assert_weights_follow(self, weights, accuracy_from):
        """Each epoch's objectives use ``weights(correct, group)`` of the epoch before, those of the first use 1."""
        group = self.rows["group"].numpy()
        weight, changed = np.ones(len(group)), 0
        for epoch, batches in enumerate(self.batches):
            drawn = np.concatenate([batch["index"] for batch in batches])
            assert sorted(drawn) == list(range(len(group))), "every sample once an epoch"
            for batch in batches:
                should = (weight[batch["index"]] * batch["losses"]).mean()
                assert batch["objective"] == pytest.approx(should, rel=1e-4), f"epoch {epoch}"
            correct = (self.right_at_end if accuracy_from == "evaluation" else self.right_in_training)[epoch]
            changed += not np.allclose(weight, weights(correct, group))
            weight = weights(correct, group)
        return changed


def dru_weights(correct, group, rank_by="quantile", upweight="misclassified", cutoff=100, ties="min", mean_1=False):
    by_group = discounts(ranks(accuracies(correct, group, group.max() + 1), rank_by, ties), cutoff)
    weight = spread(by_group, correct, group, upweight)
    return weight / weight.mean() if mean_1 else weight


def worst_weights(correct, group, upweight):
    accuracy = accuracies(correct, group, group.max() + 1)
    return spread(np.where(accuracy == accuracy.min(), 4.0, 1.0), correct, group, upweight)


@pytest.mark.parametrize(
    ("method", "weights", "accuracy_from", "workers"),
    [
        (lambda **k: DRU(**k), dru_weights, "evaluation", 0),
        (lambda **k: DRU(**k), dru_weights, "evaluation", 2),  # persistent workers, which see no later weights
        (lambda **k: DRU(**k), dru_weights, "training", 0),
        (
            lambda **k: DRU("index", "all", 3, "average", normalize_weights=True, **k),
            lambda c, g: dru_weights(c, g, "index", "all", 3, "average", mean_1=True),
            "evaluation",
            0,
        ),
        (lambda **k: Worst(4, "all", **k), lambda c, g: worst_weights(c, g, "all"), "evaluation", 0),
        (lambda **k: Worst(4, **k), lambda c, g: worst_weights(c, g, "misclassified"), "training", 0),
        (lambda **k: Const(3, **k), lambda c, g: np.where(c, 1.0, 3.0), "evaluation", 0),
    ],
    ids=["qDRU+M", "workers", "training", "gDRU+G", "Worst+G", "Worst+M", "Const+M"],
)
def test_objective_uses_the_weights_of_the_last_epochs_predictions(trainer, method, weights, accuracy_from, workers):
    torch.manual_seed(3)
    data = small(num_workers=workers)
    watch = Watch(data.part("train"))
    module = method(accuracy_from=accuracy_from, network=network(), optimizer=plain_sgd(1.0))
    trainer(max_epochs=3, callbacks=[watch]).fit(module, datamodule=data)
    assert watch.assert_weights_follow(weights, accuracy_from) >= 2


def test_validation_within_an_epoch_does_not_reweight(trainer):
    data = small()
    watch = Watch(data.part("train"))
    module = DRU(network=network(), optimizer=plain_sgd(1.0))
    trainer(max_epochs=3, val_check_interval=0.5, callbacks=[watch]).fit(module, datamodule=data)
    assert watch.assert_weights_follow(dru_weights, "evaluation") >= 2


def test_erm_weighs_every_sample_1(trainer):
    data = small()
    watch = Watch(data.part("train"))
    trainer(max_epochs=2, callbacks=[watch]).fit(ERM(network=network()), datamodule=data)
    assert watch.assert_weights_follow(lambda correct, group: np.ones(len(group)), "evaluation") == 0


@pytest.mark.parametrize("method", [DRU, Worst, Const])
def test_first_epoch_is_erm(trainer, method):
    def parameters(cls):
        torch.manual_seed(0)
        module = cls(network=network())
        trainer().fit(module, datamodule=small())
        return torch.cat([p.detach().flatten() for p in module.parameters()]), module.state["weight"]

    (erm, _), (other, weight) = parameters(ERM), parameters(method)
    torch.testing.assert_close(other, erm, rtol=0, atol=0)
    assert weight.max() > 1  # and the second is not


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


@pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true"])
def test_tables_keep_their_types_in_half_precision(trainer, precision):
    module = DRU(network=network())
    trainer(max_epochs=2, precision=precision).fit(module, datamodule=small())
    assert module.record.correct.dtype == torch.int8
    assert (module.record.correct >= 0).all()
    assert module.state["weight"].dtype == torch.float32
    correct, group = module.record.correct.numpy(), module.record.group.numpy()
    np.testing.assert_allclose(module.state["weight"], dru_weights(correct, group), rtol=1e-6)
    (split,) = module.evaluation.splits
    assert all(counted.dtype == torch.int64 for counted in split.criteria.counts())
    assert module.sample_losses(torch.zeros(1, 2, dtype=torch.bfloat16), torch.zeros(1).long()).dtype == torch.float32


@pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true"])
@pytest.mark.parametrize("method", [name for name in methods.__all__ if name != "GroupModule"])
def test_every_method_trains_in_half_precision(trainer, method, precision):
    module = getattr(methods, method)()
    trainer(max_epochs=2, precision=precision).fit(module, datamodule=small())
    assert all(value.isfinite().all() for value in module.state_dict().values())
    assert module.state["weight"].dtype == torch.float32


@pytest.mark.parametrize("options", [{"label_smoothing": 0.2}, {"weight": torch.tensor([1.0, 5.0])}])
def test_any_loss_by_sample_trains(trainer, options):
    class First(Callback):
        def on_train_batch_start(self, trainer, module, batch, batch_idx):
            logits = module(batch["inputs"]).detach().double().numpy()
            by_class = np.stack([cross_entropy(logits, np.full(len(logits), c)) for c in (0, 1)], axis=1)
            label = batch["label"].numpy()
            smooth = options.get("label_smoothing", 0.0)
            of_label = (1 - smooth) * by_class[np.arange(len(label)), label] + smooth * by_class.mean(axis=1)
            scale = np.asarray(options.get("weight", [1.0, 1.0]))[label]
            self.should = (scale * of_label).mean()

        def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
            assert float(outputs["loss"]) == pytest.approx(self.should, rel=1e-5)

    first = First()
    loss = nn.CrossEntropyLoss(reduction="none", **options)
    trainer(callbacks=[first]).fit(DRU(network=network(), loss=loss), datamodule=small())
    assert first.should > 0


def test_loss_of_a_whole_batch_is_refused_at_the_first_step(trainer):
    class Mean(nn.Module):
        def forward(self, logits, label):
            return nn.functional.cross_entropy(logits, label)

    with pytest.raises(InputError, match="one value per sample"):
        trainer().fit(ERM(network=network(), loss=Mean()), datamodule=small())


def test_checkpoint_of_a_run_with_class_weights_loads_alone(trainer):
    loss = nn.CrossEntropyLoss(reduction="none", weight=torch.tensor([1.0, 5.0]))
    run = trainer()
    run.fit(DRU(loss=loss), datamodule=small())
    run.save_checkpoint("class_weights.ckpt")
    again = DRU.load_from_checkpoint("class_weights.ckpt")
    torch.testing.assert_close(again.network.head.weight, run.lightning_module.network.head.weight)


@pytest.mark.parametrize(("interval", "steps"), [("epoch", 2), ("step", 8)])  # 60 rows, batch 16: 4 steps an epoch
def test_scheduler_steps_by_its_interval(trainer, interval, steps):
    halve = lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)  # noqa: E731
    module = DRU(network=network(), optimizer=plain_sgd(1.0), lr_scheduler=halve, lr_interval=interval)
    run = trainer(max_epochs=2, gradient_clip_val=1e-6)
    run.fit(module, datamodule=small())
    assert run.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.5**steps)


def test_scheduler_may_follow_a_criterion(trainer):
    plateau = lambda optimizer: ReduceLROnPlateau(optimizer, monitor="val_qdcg25", factor=0.1, patience=0)  # noqa: E731
    module = DRU(network=network(), optimizer=plain_sgd(1e-12), lr_scheduler=plateau)
    run = trainer(max_epochs=3)
    run.fit(module, datamodule=small())  # nothing is learnt, so the second and third epoch are no better
    assert run.optimizers[0].param_groups[0]["lr"] == pytest.approx(1e-14, rel=1e-3)


def test_network_may_say_its_parameter_groups(trainer):
    class Grouped(MLP):
        def parameter_groups(self):
            weights = [p for p in self.parameters() if p.ndim > 1]
            return [{"params": weights}, {"params": [p for p in self.parameters() if p.ndim == 1], "weight_decay": 0.0}]

    module = DRU(network=Grouped, optimizer=lambda params: torch.optim.AdamW(params, weight_decay=0.3))
    run = trainer()
    run.fit(module, datamodule=small())
    decay, none = run.optimizers[0].param_groups
    assert (decay["weight_decay"], none["weight_decay"]) == (0.3, 0.0)
    assert len(decay["params"]) == len(none["params"]) == 3


# ---- your own network, data and loaders


def own_rows(n=24, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=generator)
    label = (x[:, 0] + 0.7 * torch.randn(n, generator=generator) > 0).long()
    return TensorDataset(x, label), [f"g{i % 4}" for i in range(n)]


def own_network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def own_loaders():
    train = GroupedDataset(*own_rows())
    val = GroupedDataset(*own_rows(seed=1), split="val")
    return DataLoader(train, batch_size=5, shuffle=True), DataLoader(val, batch_size=7)


@pytest.mark.parametrize("accuracy_from", ["evaluation", "training"])
def test_own_network_and_loaders_are_weighted_alike(trainer, accuracy_from):
    train, val = own_loaders()
    vals = [val, evaluation_loader(train)] if accuracy_from == "evaluation" else val
    watch = Watch(train.dataset)
    module = DRU(network=own_network(), accuracy_from=accuracy_from, optimizer=plain_sgd(0.5))
    run = trainer(max_epochs=3, callbacks=[watch])
    run.fit(module, train, vals)
    assert watch.assert_weights_follow(dru_weights, accuracy_from) >= 2
    assert not any("train_" in key and key != "train_loss" for key in run.callback_metrics)


def test_training_pass_may_stand_anywhere_among_the_loaders(trainer):
    train, val = own_loaders()
    watch = Watch(train.dataset)
    run = trainer(callbacks=[watch])
    module = DRU(network=own_network())
    run.fit(module, train, [evaluation_loader(train), val])
    watch.assert_weights_follow(dru_weights, "evaluation")
    with torch.no_grad():
        right = module(val.dataset.dataset.tensors[0]).argmax(dim=1) == val.dataset.dataset.tensors[1]
    assert float(run.callback_metrics["val_overall"]) == pytest.approx(float(right.float().mean()))


def test_own_network_is_saved_once(trainer):
    train, _ = own_loaders()
    module = DRU(network=own_network(), accuracy_from="training")
    run = trainer()
    run.fit(module, train)
    run.save_checkpoint("own.ckpt")
    saved = torch.load("own.ckpt", weights_only=True)["state_dict"]
    assert sorted(saved) == ["network.0.bias", "network.0.weight", "network.2.bias", "network.2.weight"]


def test_missing_training_pass_is_refused_with_both_remedies(trainer):
    train, val = own_loaders()
    with pytest.raises(InputError, match=r"evaluation_loader\(train\).*accuracy_from='training'"):
        trainer().fit(DRU(network=own_network()), train, val)


def test_network_may_take_several_named_inputs(trainer):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.numbers, self.codes = nn.Linear(2, 2), nn.Embedding(3, 2)

        def forward(self, x, code):
            return self.numbers(x) + self.codes(code)

    def rows(split=None):
        items = [{"x": torch.randn(2), "code": i % 3, "label": i % 2} for i in range(12)]
        return GroupedDataset(items, ["a", "b", "b"] * 4, split=split)

    train, val = rows(), rows("val")
    module = DRU(network=Two())
    trainer(max_epochs=2).fit(module, DataLoader(train, 4), [DataLoader(val, 4), evaluation_loader(train)])
    correct, group = module.record.correct.numpy(), module.record.group.numpy()
    assert group.tolist() == [0, 1, 1] * 4
    np.testing.assert_allclose(module.state["weight"], dru_weights(correct, group), rtol=1e-6)


class OneScore(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 1)

    def forward(self, x):
        return self.linear(x)


class Logistic(nn.Module):
    def forward(self, logits, label):
        return nn.functional.binary_cross_entropy_with_logits(logits[:, 0], label.float(), reduction="none")


def test_network_of_one_score_is_cut_at_0(trainer):
    train, val = own_loaders()
    module = DRU(network=OneScore(), loss=Logistic())
    trainer().fit(module, train, [val, evaluation_loader(train)])
    x, label = train.dataset.dataset.tensors
    with torch.no_grad():
        right = (module.network(x)[:, 0] > 0).long() == label
    assert module.record.correct.tolist() == right.int().tolist()


@pytest.mark.parametrize(
    ("which", "named"),
    [("train", "training set is a TensorDataset.*GroupedDataset"), ("val", "TensorDataset.*GroupedDataset")],
)
def test_datasets_without_groups_are_refused(trainer, which, named):
    train, val = own_loaders()
    plain = DataLoader(own_rows()[0])
    train, vals = (plain, [val]) if which == "train" else (train, [plain, evaluation_loader(train)])
    with pytest.raises(InputError, match=named):
        trainer().fit(DRU(network=own_network()), train, vals)


@pytest.mark.parametrize(
    ("groups", "named"),
    [(["a"] * 24, "one"), (torch.tensor([-1, 0, 1, 2] * 6), "group of every row it trains on")],
)
def test_dru_needs_groups_and_several(trainer, groups, named):
    train = GroupedDataset(own_rows()[0], groups)
    with pytest.raises(InputError, match=f"DRU.*{named}"):
        trainer().fit(DRU(network=own_network(), accuracy_from="training"), DataLoader(train, 4))


def test_rows_without_a_group_are_upweighted_by_const(trainer):
    rows, groups = own_rows()[0], torch.tensor([-1, 0, 1, 2] * 6)
    module = Const(3, accuracy_from="training", network=own_network())
    trainer().fit(module, DataLoader(GroupedDataset(rows, groups), 4))
    assert module.record.correct.min() == 0
    np.testing.assert_array_equal(module.state["weight"], np.where(module.record.correct == 0, 3.0, 1.0))


def test_network_class_without_a_data_module_is_refused(trainer):
    train, val = own_loaders()
    with pytest.raises(InputError, match="sizes"):
        trainer().fit(ERM(network=MLP), train, val)


def test_two_validation_sets_of_one_kind_are_refused(trainer):
    train, val = own_loaders()
    with pytest.raises(InputError, match="at most one"):
        trainer().fit(ERM(network=own_network()), train, [val, val])


def test_in_and_out_of_distribution_parts_have_keys_of_their_own(trainer):
    train, _ = own_loaders()
    parts = {s: GroupedDataset(*own_rows(seed=k), split=s) for k, s in enumerate(("id_val", "ood_val"), start=1)}
    run, module = trainer(), ERM(network=own_network())
    run.fit(module, train, [DataLoader(part, 8) for part in parts.values()])
    for key, part in (("val", parts["ood_val"]), ("id_val", parts["id_val"])):
        x, label = part.dataset.tensors
        with torch.no_grad():
            right = module(x).argmax(dim=1) == label
        assert float(run.callback_metrics[f"{key}_overall"]) == pytest.approx(float(right.float().mean()))


# ---- epochs that see only some rows


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


@pytest.mark.parametrize("limit", [0, 1])
def test_pass_that_is_cut_short_leaves_the_weights_and_warns(trainer, limit):
    module = DRU(network=network())
    with pytest.warns(UserWarning, match="weights stay"):
        trainer(limit_val_batches=limit).fit(module, datamodule=small())
    assert (module.state["weight"] == 1).all()


def test_epoch_without_validation_leaves_the_weights_of_the_last(trainer):
    class Weights(Callback):
        def __init__(self):
            self.by_epoch = []

        def on_train_epoch_start(self, trainer, module):
            self.by_epoch.append(module.state["weight"].clone())

    weights = Weights()
    module = DRU(network=network())
    with pytest.warns(UserWarning, match="gave no predictions") as caught:
        trainer(max_epochs=4, check_val_every_n_epoch=2, callbacks=[weights]).fit(module, datamodule=small())
    said = " ".join(str(warning.message) for warning in caught)
    assert re.findall(r"epoch (\d) gave no predictions", said) == ["0", "2"]
    zero, one, two, three = weights.by_epoch
    assert (zero == 1).all()
    assert (one == 1).all()
    assert two.max() > 1
    torch.testing.assert_close(three, two, rtol=0, atol=0)


def test_sanity_check_is_no_prediction_of_the_first_epoch(trainer):
    # The check before training may read all batches; if they counted, an epoch without validation would have news.
    module = DRU(network=network())
    with pytest.warns(UserWarning, match="weights stay"):
        trainer(num_sanity_val_steps=-1, check_val_every_n_epoch=2).fit(module, datamodule=small())
    assert (module.state["weight"] == 1).all()


# ---- numbers that are not finite


class Failing(nn.Module):
    """Gives nan in training, or, in evaluation, for rows whose first input is negative."""

    def __init__(self, training):
        super().__init__()
        self.linear, self.in_training = nn.Linear(3, 2), training

    def forward(self, x):
        if self.training:
            return self.linear(x) * (math.nan if self.in_training else 1)
        return torch.where(x[:, :1] < 0, math.nan, self.linear(x))


def test_run_stops_when_the_loss_is_nan_and_keeps_no_best(trainer, tmp_path):
    train, val = own_loaders()
    best = BestByCriterion("worst", dirpath=str(tmp_path / "checkpoints"))
    module = DRU(network=Failing(training=True))
    with pytest.raises(InputError, match="loss became nan or inf in epoch 0"):
        trainer(max_epochs=3, callbacks=[best], enable_checkpointing=True).fit(
            module, train, [val, evaluation_loader(train)]
        )
    assert module.state["weight"].isfinite().all()
    assert best.best_model_path == ""
    assert not list(tmp_path.rglob("*.ckpt"))


@pytest.mark.parametrize("every", [0, 1, 50])
def test_logging_interval_does_not_matter_for_that(trainer, every):
    train, _ = own_loaders()
    with pytest.raises(InputError, match="loss became nan or inf in epoch 0"):
        trainer(log_every_n_steps=every).fit(ERM(network=Failing(training=True)), train)


def test_prediction_that_is_nan_counts_as_wrong(trainer):
    train, val = own_loaders()
    run, module = trainer(), DRU(network=Failing(training=False))
    run.fit(module, train, [val, evaluation_loader(train)])
    for part in (train.dataset, val.dataset):
        x, label = part.dataset.tensors
        with torch.no_grad():
            right = (module.network.linear(x).argmax(dim=1) == label) & (x[:, 0] >= 0)
        if part is train.dataset:
            assert module.record.correct.tolist() == right.int().tolist()
        else:
            assert float(run.callback_metrics["val_overall"]) == pytest.approx(float(right.float().mean()))
    assert all(value.isfinite() for value in run.callback_metrics.values())


def test_method_that_gives_nan_weights_is_stopped(trainer):
    class Broken(ERM):
        def reweight(self, record):
            return super().reweight(record) * math.nan

    with pytest.raises(InputError, match=r"Broken.*nan"):
        trainer(max_epochs=2).fit(Broken(network=network()), datamodule=small())


def test_run_stops_where_min_count_leaves_no_group(trainer):
    with pytest.raises(InputError, match="min_count=11"):
        trainer().fit(DRU(network=network(), min_count=11), datamodule=small())  # groups have 10 rows


def test_monitored_test_key_is_refused(trainer):
    with pytest.raises(InputError, match=r"'test_worst'.*'val_worst'"):
        trainer(callbacks=[EarlyStopping("test_worst")]).fit(ERM(network=network()), datamodule=small())


@pytest.mark.parametrize(("key", "mode"), [("val_worst", "min"), ("id_val_qdcg25", "max")])
def test_monitoring_a_criterion_the_wrong_way_round_is_refused(trainer, key, mode):
    right = "max" if mode == "min" else "min"
    with pytest.raises(InputError, match=f"{key}.*mode='{mode}'.*mode='{right}'"):
        trainer(callbacks=[EarlyStopping(key, mode=mode)]).fit(ERM(network=network()), datamodule=small())


def test_overfit_batches_is_refused(trainer):
    with pytest.raises(InputError, match="overfit_batches"):
        trainer(overfit_batches=1).fit(DRU(network=network()), datamodule=small())


# ---- a method of your own


class HalfWorst(GroupModule):
    """The worse half of the groups by accuracy weighs 2, and the loss is the batch's greatest."""

    needs_groups = True
    accuracy_from = "evaluation"

    def reweight(self, record):
        accuracy = record.group_accuracy()[0]
        worse = accuracy <= accuracy.nanmedian(dim=-1, keepdim=True).values
        return record.to_samples(worse * 1.0 + 1, only_wrong=False)

    def reduce(self, losses, batch, state):
        state["batches"] = state.get("batches", torch.zeros(losses.shape[:-1])) + 1
        return (state["weight"][..., batch["index"]] * losses).amax(dim=-1)


def test_method_of_your_own_is_short_and_trains(trainer):
    assert len(inspect.getsource(HalfWorst).splitlines()) < 40
    data = small()
    module = HalfWorst(network=network())
    trainer(max_epochs=2).fit(module, datamodule=data)
    correct, group = module.record.correct.numpy(), module.record.group.numpy()
    accuracy = accuracies(correct, group, 6)
    worse = accuracy <= np.sort(accuracy)[2]  # the lower median of six
    np.testing.assert_array_equal(module.state["weight"], np.where(worse, 2.0, 1.0)[group])
    assert float(module.state["batches"]) == 8
    losses = torch.tensor([[1.0, 3.0], [5.0, 2.0]])
    state = {"weight": torch.tensor([[1.0, 2.0, 1.0], [1.0, 2.0, 2.0]])}
    assert module.reduce(losses, {"index": torch.tensor([2, 1])}, state).tolist() == [6, 10]


def test_sizes_come_from_the_data(trainer):
    seen = []

    def factory(sizes):
        seen.append(sizes)
        return MLP(sizes)

    trainer().fit(ERM(network=factory), datamodule=small())
    assert seen == [Sizes(in_features=2, num_classes=2, cardinalities=())]


def test_two_seeds_differ_and_one_repeats_itself(trainer):
    def parameters(seed):
        seed_everything(seed)
        module = DRU()
        trainer(max_epochs=2).fit(module, datamodule=small())
        return torch.cat([p.detach().flatten() for p in module.parameters()])

    first, again, other = parameters(1), parameters(1), parameters(2)
    torch.testing.assert_close(again, first, rtol=0, atol=0)
    assert (first - other).abs().max() > 1e-3
