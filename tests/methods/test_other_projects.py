"""What batches, outputs, loaders and trainers of other projects look like, and that they do."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from lightning.pytorch import LightningDataModule, LightningModule
from lightning.pytorch.cli import LightningCLI
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, default_collate

from drurank.callbacks import GroupHistory, GroupReport, PredictionWriter
from drurank.data import GroupedDataset, evaluation_loader, make_loader
from drurank.errors import InputError
from drurank.methods import DRU, ERM, JTT, Const, Worst
from drurank.training.losses import BinaryCrossEntropy
from fits import Watch, dru_weights, network, own_loaders, own_network, own_rows, plain_sgd, small


class Output(SimpleNamespace):
    """As transformers' outputs."""


class Wrapped(nn.Module):
    def __init__(self, kind, outputs=2):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.kind = nn.Linear(3, outputs), kind

    def forward(self, x):
        logits = self.linear(x)
        kinds = {"object": lambda: Output(logits=logits, loss=None), "dict": lambda: {"logits": logits}}
        return kinds.get(self.kind, lambda: logits)()


@pytest.mark.parametrize("kind", ["object", "dict"])
def test_outputs_that_hold_logits(trainer, kind):
    found = []
    for one in (kind, "tensor"):
        train, val = own_loaders()
        run, method = trainer(), DRU(network=Wrapped(one), optimizer=plain_sgd(0.1))
        torch.manual_seed(1)
        run.fit(method, train, [val, evaluation_loader(train)])
        loss = run.callback_metrics["val_loss"]
        found.append((method.network.linear.weight, loss, run.predict(method, val)[0]["probability"]))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_an_output_of_something_else_is_refused(trainer):
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2)

        def forward(self, x):
            return self.linear(x), x

    with pytest.raises(InputError, match="the network gave a tuple; it must give a tensor of scores, or an object"):
        trainer().fit(ERM(network=Pair()), *own_loaders())


@pytest.mark.parametrize("shape", [(), (1,)])
def test_one_logit_with_a_binary_loss(trainer, shape):
    class One(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.linear = nn.Linear(3, 1)

        def forward(self, x):
            return self.linear(x).reshape(len(x), *shape)

    train, val = own_loaders()
    run, method = trainer(), DRU(network=One(), loss=BinaryCrossEntropy(positive_weight=2))
    run.fit(method, train, [val, evaluation_loader(train)])
    x, label = val.dataset.dataset.tensors
    with torch.no_grad():
        logit = method.network.linear(x)[:, 0]
    right = (logit > 0) == label.bool()
    assert float(run.callback_metrics["val_overall"]) == pytest.approx(float(right.float().mean()))
    p = logit.sigmoid()
    losses = torch.where(label == 1, -2 * p.log(), -(1 - p).log())
    assert float(run.callback_metrics["val_loss"]) == pytest.approx(float(losses.mean()), rel=1e-5)
    assert torch.cat([rows["prediction"] for rows in run.predict(method, val)]).tolist() == (logit > 0).int().tolist()


def test_a_binary_loss_takes_one_logit_and_labels_0_and_1(trainer):
    train, val = own_loaders()
    with pytest.raises(InputError, match=r"gave \[\d, 2\].*give a network with one output"):
        trainer().fit(ERM(network=own_network(), loss=BinaryCrossEntropy()), train, val)
    rows = GroupedDataset(TensorDataset(torch.randn(4, 3), torch.tensor([0, 1, 2, 1])), list("aabb"))
    with pytest.raises(InputError, match="training row 2 has the label 2; BinaryCrossEntropy takes 0 and 1"):
        trainer().fit(ERM(network=nn.Linear(3, 1), loss=BinaryCrossEntropy()), make_loader(rows, 2))


@pytest.mark.parametrize("last", [nn.Sigmoid(), nn.Identity()])
def test_probabilities_in_place_of_logits_are_noticed(trainer, recwarn, last):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 1), last)
    trainer().fit(ERM(network=model, loss=BinaryCrossEntropy()), *own_loaders())
    said = [str(one.message) for one in recwarn if "as if it ended in a sigmoid" in str(one.message)]
    assert len(said) == isinstance(last, nn.Sigmoid)


def test_items_stay_flat_if_asked(trainer):
    items = [{"image": torch.randn(3), "label": i % 2, "path": f"{i}.png"} for i in range(12)]

    class Theirs(DRU):
        def unpack(self, batch):
            assert {*batch} == {"image", "label", "path", "group", "index"}
            return {"inputs": batch["image"], **{key: batch[key] for key in ("label", "group", "index")}}

    rows = GroupedDataset(items, ["a", "b", "c"] * 4, flat=True)
    train = make_loader(rows, 4)
    method = Theirs(network=nn.Linear(3, 2))
    trainer().fit(method, train, [evaluation_loader(train)])
    assert (method.record.correct >= 0).all()


@pytest.mark.parametrize("signature", ["keywords", "rest", "dict"])
def test_a_dict_goes_to_a_forward_of_ones_own_as_it_takes_it(trainer, signature):
    class Base(DRU):
        def __init__(self):
            super().__init__(accuracy_from="training")
            self.linear = nn.Linear(3, 2)

    class Keywords(Base):
        def forward(self, x, mask=None):
            return self.linear(x * mask)

    class Rest(Base):
        def forward(self, **inputs):
            return self.linear(inputs["x"] * inputs["mask"])

    class Dict(Base):
        def forward(self, inputs):
            return self.linear(inputs["x"] * inputs["mask"])

    cls = {"keywords": Keywords, "rest": Rest, "dict": Dict}[signature]
    items = [{"x": torch.randn(3), "mask": torch.ones(3), "label": i % 2} for i in range(8)]
    method = cls()
    trainer().fit(method, make_loader(GroupedDataset(items, list("aabbaabb")), 4))
    assert (method.record.correct >= 0).all()


@pytest.mark.parametrize("accuracy_from", ["evaluation", "training"])
def test_two_fits_of_one_trainer_go_on(trainer, accuracy_from):
    torch.manual_seed(3)
    data = small()
    watch = Watch(data.dataset("train"))
    method = DRU(network=network(), accuracy_from=accuracy_from, optimizer=plain_sgd(1.0))
    run = trainer(max_epochs=2, callbacks=[watch])
    run.fit(method, datamodule=data)
    run.fit_loop.max_epochs = 4
    run.fit(method, datamodule=data)
    assert len(watch.batches) == 4
    assert watch.assert_weights_follow(dru_weights, accuracy_from) >= 3


def test_the_second_stage_of_jtt_goes_on_in_a_second_fit(trainer):
    method = JTT(first_stage_epochs=1, network=network(), optimizer=plain_sgd(0.5))
    run, data = trainer(max_epochs=2), small()
    run.fit(method, datamodule=data)
    weight, trained = method.state["weight"].clone(), [value.clone() for value in method.parameters()]
    assert weight.max() > 1
    run.fit_loop.max_epochs = 3
    method.optimization.optimizer = plain_sgd(0.0)
    run.fit(method, datamodule=data)
    assert run.current_epoch == 3
    assert torch.equal(method.state["weight"], weight)
    assert all(torch.equal(one, other) for one, other in zip(trained, method.parameters(), strict=True))


def test_another_trainer_or_other_data_begin_anew(trainer):
    method = Const(3, network=network(), optimizer=plain_sgd(0.0))
    run = trainer(max_epochs=2)
    run.fit(method, datamodule=small())
    assert method.state["weight"].max() > 1
    run.fit_loop.max_epochs = 3
    run.fit(method, datamodule=small(groups=[4, 4, 4]))
    assert len(method.record.correct) == 40
    seen = []
    method.reweight = lambda record: seen.append(record) or torch.ones_like(record.correct, dtype=torch.float32)
    trainer().fit(method, datamodule=small())
    assert method.progress.ended_epoch == 0


def test_overfit_batches_with_plain_loaders(trainer):
    train, val = own_loaders()
    method = DRU(network=own_network(), accuracy_from="training")
    trainer(max_epochs=2, overfit_batches=2).fit(method, train, val)
    assert int((method.record.correct >= 0).sum()) == 10  # two batches of five
    refused = pytest.raises(InputError, match="overfit_batches would replace the sampler of evaluation_loader")
    with refused:
        trainer(overfit_batches=2).fit(DRU(network=own_network()), train, [val, evaluation_loader(train)])
    with pytest.raises(InputError, match="gives single rows and not batches, as where overfit_batches replaced it"):
        trainer(overfit_batches=2).fit(ERM(network=own_network()), make_loader(train.dataset, 5))
    with pytest.raises(InputError, match="sampler that knows the rows; use limit_train_batches"):
        trainer(overfit_batches=2).fit(ERM(network=network()), datamodule=small())


@pytest.mark.parametrize("every", [2, 3, 0.4])
def test_an_interval_of_validation_that_does_not_divide_the_epoch(trainer, every):
    # five batches an epoch: the last validation is after batch 4 or 3
    train, val = own_loaders()
    method = DRU(network=own_network(), optimizer=plain_sgd(0.5))
    seen = []

    class Theirs(DRU):
        def on_validation_epoch_end(self):
            reads = self.evaluation.reads_training_set
            super().on_validation_epoch_end()
            if reads:
                rows = train.dataset.dataset.tensors
                seen.append((self.global_step, self(rows[0]).argmax(dim=1) == rows[1], self.record.correct.clone()))

    method = Theirs(network=own_network(), optimizer=plain_sgd(0.5))
    trainer(max_epochs=3, val_check_interval=every).fit(method, train, [val, evaluation_loader(train)])
    last = 4 if every in (2, 0.4) else 3
    assert [step for step, _, _ in seen] == [last, 5 + last, 10 + last]
    for _, right, noted in seen:
        assert noted.tolist() == right.int().tolist()
    group = train.dataset.group.numpy()
    want = dru_weights(seen[-1][2].numpy(), group)
    assert method.state["weight"].tolist() == pytest.approx(want.tolist(), rel=1e-6)


@pytest.mark.parametrize("cls", [DRU, Worst, Const, JTT])
def test_accuracy_from_may_stand_in_the_class(trainer, cls):
    theirs = type("Theirs", (cls,), {"accuracy_from": "training"})
    assert theirs().accuracy_from == "training"
    assert cls().accuracy_from == "evaluation"
    assert theirs(accuracy_from="evaluation").accuracy_from == "evaluation"
    with pytest.raises(InputError, match="accuracy_from"):
        type("Wrong", (cls,), {"accuracy_from": "tests"})()


def test_history_of_a_plain_module_is_refused(trainer):
    class Plain(LightningModule):
        def training_step(self, batch, batch_idx):
            return None

        def configure_optimizers(self):
            return None

    with pytest.raises(InputError, match="GroupHistory writes the weights of a GroupModule, and the model is a Plain"):
        trainer(callbacks=[GroupHistory()]).fit(Plain(), DataLoader(torch.zeros(2, 1)))


class Evaluated(LightningModule):
    def test_step(self, batch, batch_idx):
        return None

    def predict_step(self, batch, batch_idx):
        return batch


@pytest.mark.parametrize(("callback", "stage"), [(GroupReport, "test"), (PredictionWriter, "predict")])
def test_reports_and_predictions_of_a_plain_module_are_refused(trainer, callback, stage):
    run = getattr(trainer(callbacks=[callback()]), stage)
    with pytest.raises(InputError, match=rf"{callback.__name__} .*GroupModule.*, and the model is a Evaluated"):
        run(Evaluated(), DataLoader(torch.zeros(2, 1)))


class Stream(IterableDataset):
    def __iter__(self):
        return iter([(torch.zeros(3), 0)] * 8)

    def __len__(self):
        return 8


def test_iterable_datasets_are_refused(trainer):
    said = "Stream is an iterable dataset, whose rows have no index"
    with pytest.raises(InputError, match=said):
        GroupedDataset(Stream(), ["a"] * 8)
    train, val = own_loaders()
    with pytest.raises(InputError, match=said):
        trainer().fit(ERM(network=own_network()), DataLoader(Stream(), 4))
    with pytest.raises(InputError, match=said):
        trainer().fit(ERM(network=own_network()), train, DataLoader(Stream(), 4))
    assert val is not None


@pytest.mark.parametrize(
    ("several", "kind"),
    [
        (lambda loader: [loader, loader], "list"),
        (lambda loader: {"a": loader, "b": loader}, "dict"),
        (lambda loader: list(loader), "list"),
    ],
    ids=["list", "dict", "batches"],
)
def test_several_training_loaders_are_refused(trainer, several, kind):
    train, _ = own_loaders()
    with pytest.raises(InputError, match=f"^the training loader is a {kind}; give one DataLoader, of a GroupedDataset"):
        trainer().fit(ERM(network=own_network()), several(train))


def test_an_evaluation_loader_that_is_none_is_refused(trainer):
    train, val = own_loaders()
    with pytest.raises(InputError, match="an evaluation loader is a list; give one DataLoader, of a GroupedDataset"):
        trainer().fit(ERM(network=own_network()), train, [list(val)])


def test_a_collate_of_the_dataset_that_the_loader_does_not_call_is_noticed(trainer):
    def doubled(items):
        batch = default_collate(items)
        return {**batch, "inputs": 2 * batch["inputs"]}

    rows, groups = own_rows()
    train = GroupedDataset(rows, groups, collate=doubled)
    val = GroupedDataset(rows, groups, collate=doubled, split="val")
    said = "the dataset has a collate of its own, which a plain DataLoader does not call"
    with pytest.raises(InputError, match=said):
        trainer().fit(ERM(network=own_network()), DataLoader(train, 5))
    with pytest.raises(InputError, match=said):
        trainer().fit(ERM(network=own_network()), make_loader(train, 5), DataLoader(val, 5))
    trainer().fit(ERM(network=own_network()), DataLoader(train, 5, collate_fn=doubled), make_loader(val, 5))


@pytest.mark.parametrize("ours", [ERM, small], ids=["method", "data"])
def test_the_other_namespace_is_named(monkeypatch, recwarn, ours):
    monkeypatch.delitem(sys.modules, "pytorch_lightning", raising=False)
    ours()
    assert not [one for one in recwarn if "pytorch_lightning" in str(one.message)]
    other = ModuleType("pytorch_lightning")
    other.LightningModule = type("LightningModule", (nn.Module,), {"__module__": "pytorch_lightning.core.module"})
    monkeypatch.setitem(sys.modules, "pytorch_lightning", other)
    with pytest.warns(UserWarning, match=r"pytorch_lightning is imported here.*import lightning.pytorch as pl"):
        ours()
    with pytest.raises(InputError, match=r"Theirs derives from LightningModule of pytorch_lightning.*import lightning"):
        type("Theirs", (ERM, other.LightningModule), {})


class Reloaded(LightningDataModule):
    """Makes its loaders anew in each epoch, of rows in an order of that epoch, or fewer or more."""

    def __init__(self, change):
        super().__init__()
        self.change, self.train, self.loads = change, None, 0

    def train_dataloader(self):
        tensors, groups = own_rows()
        rows = {
            "none": list(range(24)),
            "order": torch.randperm(24, generator=torch.Generator().manual_seed(self.loads)).tolist(),
            "fewer": list(range(24 - self.loads)),
            "more": [*range(24), *range(self.loads)],
        }[self.change]
        self.loads += 1
        self.train = GroupedDataset(
            TensorDataset(*(tensor[rows] for tensor in tensors.tensors)), [groups[row] for row in rows]
        )
        return DataLoader(self.train, batch_size=5)

    def val_dataloader(self):
        train = DataLoader(self.train, batch_size=5)
        return [DataLoader(GroupedDataset(*own_rows(seed=1), split="val"), batch_size=7), evaluation_loader(train)]


@pytest.mark.parametrize("accuracy_from", ["training", "evaluation"])
@pytest.mark.parametrize("change", ["none", "order", "fewer", "more"])
def test_loaders_made_anew_read_the_same_rows(trainer, change, accuracy_from):
    run = trainer(max_epochs=3, reload_dataloaders_every_n_epochs=1, num_sanity_val_steps=0)
    method, data = DRU(network=own_network(), accuracy_from=accuracy_from), Reloaded(change)
    if change == "none":
        run.fit(method, datamodule=data)
        assert (data.loads, method.progress.ended_epoch) == (3, 2)
        return
    with pytest.raises(InputError, match=r"the training loader of epoch 1 reads other rows .* reload_dataloaders"):
        run.fit(method, datamodule=data)


class ThreeColumns(LightningDataModule):
    def train_dataloader(self):
        return DataLoader(GroupedDataset(TensorDataset(torch.randn(8, 3), torch.arange(8) % 2), [0] * 8), batch_size=4)


OF_CLI = ["fit", "--model.network", "torch.nn.Linear", "--model.network.in_features", "3"]
OF_CLI += ["--model.network.out_features", "2", "--trainer.max_epochs", "1", "--trainer.accelerator", "cpu"]
OF_CLI += ["--trainer.logger", "false", "--trainer.enable_checkpointing", "false"]


@pytest.mark.parametrize("option", ["--optimizer", "--model.optimizer"])
def test_the_optimizer_of_a_stock_lightning_cli(option):
    def call():
        words = [*OF_CLI, option, "SGD", f"{option}.lr", "0.3"]
        return LightningCLI(ERM, ThreeColumns, args=words, save_config_callback=None)

    if option == "--optimizer":
        with pytest.raises(InputError, match=r"write --model\.optimizer <class> and --model\.optimizer\.lr"):
            call()
    else:
        (optimizer,) = call().trainer.optimizers
        assert isinstance(optimizer, torch.optim.SGD)
        assert optimizer.defaults["lr"] == 0.3
        assert sum(p.numel() for p in optimizer.param_groups[0]["params"]) == 8
