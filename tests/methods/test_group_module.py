"""What all methods share: weights by the last epoch's predictions, your own network, loaders and method."""

import copy
import inspect
import re

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.callbacks import StochasticWeightAveraging
from torch import nn
from torch.utils.data import DataLoader, default_collate

from drurank import methods
from drurank.data import GroupedDataset, evaluation_loader
from drurank.methods import DRU, ERM, Const, GroupModule, Worst
from drurank.training.nonfinite import NonFiniteWatch
from fits import Watch, dru_weights, network, own_loaders, own_network, plain_sgd, record_of, small
from reference import accuracies, discounts, ranks, spread, unless_equal

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
    correct[1, 0], correct[2, 1, group > 0] = 1, -1  # groups that are alike, and one group alone
    stacked = method.reweight(record_of(correct, group, 6))
    loop = [[method.reweight(record_of(c, group, 6)) for c in row] for row in correct]
    torch.testing.assert_close(stacked, torch.stack([torch.stack(row) for row in loop]), rtol=0, atol=0)

    losses, index = generator.random((3, 2, 7)), generator.permutation(40)[:7]
    batch = {"index": torch.as_tensor(index), "share": 1 / 7}
    objective = method.reduce(torch.as_tensor(losses), batch, {"weight": stacked})
    by_hand = (np.asarray(stacked)[..., index] * losses).mean(axis=-1)
    np.testing.assert_allclose(objective, by_hand, rtol=1e-6)


def worst_weights(correct, group, upweight):
    accuracy = accuracies(correct, group, group.max() + 1)
    by_group = unless_equal(np.where(accuracy == accuracy.min(), 4.0, 1.0), accuracy)
    return spread(by_group, correct, group, upweight)


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
    watch = Watch(data.dataset("train"))
    module = method(accuracy_from=accuracy_from, network=network(), optimizer=plain_sgd(1.0))
    trainer(max_epochs=3, callbacks=[watch]).fit(module, datamodule=data)
    assert watch.assert_weights_follow(weights, accuracy_from) >= 2


@pytest.mark.parametrize(
    ("method", "weights"),
    [
        (lambda **k: DRU("quantile", "all", **k), lambda a: discounts(ranks(a), 100)),
        (lambda **k: Worst(4, "all", **k), lambda a: np.where(a == a.min(), 4.0, 1.0)),
    ],
    ids=["qDRU+G", "Worst+G"],
)
def test_every_row_of_a_group_weighs_the_same_though_a_sampler_leaves_some_out(trainer, method, weights):
    torch.manual_seed(3)
    module = method(accuracy_from="training", network=network(), optimizer=plain_sgd(1.0))
    trainer().fit(module, datamodule=small(sampler="balanced"))
    correct, group = module.record.correct.numpy(), module.record.group.numpy()
    drawn = correct >= 0
    assert 0 < drawn.sum() < len(drawn)
    assert set(group[~drawn]) == set(group[drawn]) == set(range(6))
    by_group = weights(accuracies(correct[drawn], group[drawn], 6))
    assert by_group.max() > by_group.min()
    np.testing.assert_allclose(module.state["weight"], by_group[group], rtol=1e-6)


@pytest.mark.parametrize("method", [DRU, Worst, Const])
def test_first_epoch_is_erm(trainer, method):
    def parameters(cls):
        torch.manual_seed(2)  # with it the groups differ in accuracy after one epoch
        module = cls(network=network())
        trainer().fit(module, datamodule=small())
        return torch.cat([p.detach().flatten() for p in module.parameters()]), module.state["weight"]

    (erm, _), (other, weight) = parameters(ERM), parameters(method)
    torch.testing.assert_close(other, erm, rtol=0, atol=0)
    assert weight.max() > 1  # and the second is not


@pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true"])
def test_tables_keep_their_types_in_half_precision(trainer, precision):
    torch.manual_seed(2)
    module = DRU(network=network())
    trainer(max_epochs=2, precision=precision).fit(module, datamodule=small())
    assert module.record.correct.dtype == torch.int8
    assert (module.record.correct >= 0).all()
    assert module.state["weight"].dtype == torch.float32
    correct, group = module.record.correct.numpy(), module.record.group.numpy()
    np.testing.assert_allclose(module.state["weight"], dru_weights(correct, group), rtol=1e-6)
    assert module.state["weight"].max() > 1
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


def test_network_may_take_several_named_inputs(trainer):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.numbers, self.codes = nn.Linear(2, 2), nn.Embedding(3, 2)

        def forward(self, x, code):
            return self.numbers(x) + self.codes(code)

    def rows(split=None):
        items = [{"x": torch.randn(2), "code": i % 3, "label": int(i < 4)} for i in range(12)]
        return GroupedDataset(items, ["a", "b", "b"] * 4, split=split)

    torch.manual_seed(0)
    train, val = rows(), rows("val")
    module = DRU(network=Two())
    trainer(max_epochs=2).fit(module, DataLoader(train, 4), [DataLoader(val, 4), evaluation_loader(train)])
    correct, group = module.record.correct.numpy(), module.record.group.numpy()
    assert group.tolist() == [0, 1, 1] * 4
    np.testing.assert_allclose(module.state["weight"], dru_weights(correct, group), rtol=1e-6)
    assert module.state["weight"].max() > 1


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
    torch.manual_seed(2)
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


def test_two_seeds_differ_and_one_repeats_itself(trainer):
    def parameters(seed):
        seed_everything(seed)
        module = DRU()
        trainer(max_epochs=2).fit(module, datamodule=small())
        return torch.cat([p.detach().flatten() for p in module.parameters()])

    first, again, other = parameters(1), parameters(1), parameters(2)
    torch.testing.assert_close(again, first, rtol=0, atol=0)
    assert (first - other).abs().max() > 1e-3


def test_first_validation_may_be_that_of_the_second_epoch(trainer):
    run = trainer(max_epochs=2, num_sanity_val_steps=0, check_val_every_n_epoch=2)
    method = DRU(network=own_network())
    train, val = own_loaders()
    with pytest.warns(UserWarning, match="epoch 0 gave no predictions"):
        run.fit(method, train, [val, evaluation_loader(train)])
    assert (method.record.correct >= 0).all()


def test_watch_is_attached_once_and_only_that_of_the_method(trainer):
    run, first, second = trainer(), ERM(), DRU()
    for method in (first, first, second):
        run.fit_loop.max_epochs = run.current_epoch + 1
        run.fit(method, datamodule=small())
        assert [callback for callback in run.callbacks if isinstance(callback, NonFiniteWatch)] == [method.watch]


def flipped(batch):
    return {**batch, "label": 1 - batch["label"]}


class Unpacking(ERM):
    def unpack(self, batch):
        return flipped(super().unpack(batch))


class Transferring(ERM):
    def on_after_batch_transfer(self, batch, dataloader_idx):
        return flipped(batch)


@pytest.mark.parametrize(
    ("method", "options"),
    [(Unpacking, {}), (Transferring, {}), (ERM, {"collate_fn": lambda items: flipped(default_collate(items))})],
    ids=["unpack", "transfer", "collate_fn"],
)
def test_training_classes_are_not_counted_where_labels_may_be_others(trainer, tmp_path, method, options):
    plain, module, train = ERM(network=own_network()), method(network=own_network()), own_loaders()[0].dataset
    run = trainer()
    run.fit(plain, DataLoader(train, 5))
    assert plain.progress.class_count == train.dataset.tensors[1].bincount().tolist()
    run.save_checkpoint(tmp_path / "plain.ckpt")
    trainer().fit(module, DataLoader(train, 5, **options))
    assert module.progress.class_count is None
    loaded = method.load_from_checkpoint(tmp_path / "plain.ckpt", network=own_network())
    assert loaded.progress.class_count == (plain.progress.class_count if method is ERM else None)


class Weights(Callback):
    """Keeps the network's weights of each epoch's end, as training left them."""

    def __init__(self):
        self.seen = []

    def on_train_epoch_end(self, trainer, module):
        self.seen.append([weight.detach().clone() for weight in module.network.parameters()])


@pytest.mark.parametrize("made", ["by a factory", "before"])
def test_averages_of_weights_are_of_the_network_that_trains(trainer, made):
    torch.manual_seed(0)
    built, weights = network()(small().sizes), Weights()
    average = StochasticWeightAveraging(swa_lrs=0.1, swa_epoch_start=2, annealing_epochs=1)
    method = ERM(network=built if made == "before" else lambda sizes: copy.deepcopy(built), optimizer=plain_sgd(0.1))
    trainer(max_epochs=4, callbacks=[weights, average]).fit(method, datamodule=small())
    # Taken as each epoch from the second on begins.
    expected = [torch.stack(ends).mean(dim=0) for ends in zip(*weights.seen[:3], strict=True)]
    moved = [torch.equal(first, last) for first, last in zip(weights.seen[0], weights.seen[2], strict=True)]
    assert not any(moved)
    torch.testing.assert_close([*method.network.parameters()], expected, check_device=False)
