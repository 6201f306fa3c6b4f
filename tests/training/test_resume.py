"""A run resumed from a file that was written between the last batch of an epoch and its end is the undisturbed one."""

import shutil

import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.callbacks import EarlyStopping, EMAWeightAveraging
from lightning.pytorch.cli import ReduceLROnPlateau
from lightning.pytorch.loggers.logger import DummyLogger
from torch.utils.data import DataLoader

from drurank.data import GroupedDataset, Shortcut, evaluation_loader
from drurank.methods import DFR, DRU, ERM, JTT, Const, GroupDRO, Worst
from drurank.networks import MLP
from fits import own_network, own_rows
from runs import plain, read_csv, read_json, same

EPOCHS = 4
METHODS = {
    "ERM": ERM,
    "qDRU+M": DRU,
    "qDRU+G": lambda **k: DRU(upweight="all", **k),
    "DRU of training": lambda **k: DRU(accuracy_from="training", **k),
    "Worst": lambda **k: Worst(4, **k),
    "Const": lambda **k: Const(3, **k),
    "JTT": lambda **k: JTT(first_stage_epochs=2, **k),
    "JTT of training": lambda **k: JTT(first_stage_epochs=2, accuracy_from="training", **k),
    "GroupDRO": lambda **k: GroupDRO(step_size=0.3, **k),
    "DFR": lambda **k: DFR(subsets=2, **k),
}
HOOKS = {
    "the last batch": "on_train_batch_end",
    "the start of validation": "on_validation_start",
    "a batch of validation": "on_validation_batch_end",
    "the batches of validation": "on_validation_epoch_end",
    "the end of validation": "on_validation_end",
    "the end of the epoch": "on_train_epoch_end",
}


class Save(Callback):
    """Writes ``<epoch>.ckpt`` in one hook of each epoch, in the third batch of five where the hook has batches."""

    def __init__(self, hook, folder):
        self.folder = folder
        setattr(self, hook, self.save)

    def save(self, trainer, module, outputs=None, batch=None, batch_idx=0, dataloader_idx=0):
        if trainer.sanity_checking or not trainer.is_last_batch:
            return
        if trainer.validating and batch is not None and batch_idx != 2:
            return
        trainer.save_checkpoint(self.folder / f"{trainer.current_epoch}.ckpt")


class Watch(Callback):
    """Notes what is in force before each epoch's first batch, rows drawn, rates and criteria, by epoch."""

    def __init__(self):
        self.seen = {}

    def of(self, trainer):
        return self.seen.setdefault(trainer.current_epoch, {"drawn": []})

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        self.of(trainer)["drawn"] += batch["index"].tolist()
        self.of(trainer).setdefault("weight", module.state["weight"].clone())
        self.of(trainer)["rate"] = trainer.optimizers[0].param_groups[0]["lr"]

    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking and trainer.is_last_batch:
            logged = trainer.callback_metrics.items()
            self.of(trainer)["criteria"] = {name: float(value) for name, value in logged if name.startswith("val_")}


def fit(trainer, make, *callbacks, ckpt_path=None, workers=0, lr_scheduler=None, epochs=EPOCHS, **options):
    """60 training rows in batches of 16, 50 validation rows in five batches, without dropout."""
    seed_everything(3, verbose=False)
    watch = Watch()
    method = make(
        network=lambda sizes: MLP(sizes, hidden=8, dropout=0.0),
        optimizer=lambda params: torch.optim.SGD(params, lr=0.3, momentum=0.5),
        lr_scheduler=lr_scheduler,
    )
    run = trainer(max_epochs=epochs, callbacks=[watch, *callbacks], **options)
    data = Shortcut(groups=[6, 5, 4], group_size=10, batch_size=16, eval_batch_size=10, agreement=0.5)
    data.num_workers = workers
    run.fit(method, datamodule=data, ckpt_path=ckpt_path)
    made = {
        **method.state_dict(),
        **method.state,
        **({"correct": method.record.correct} if method.progress.begun else {}),
    }
    return made, watch.seen, run


def assert_resumed_is_whole(trainer, folder, make, hook, *callbacks, raised=1, nothing_left=False, **options):
    """From the first file and the last, but for one after which nothing is left."""
    made, seen, run = fit(trainer, make, *(c() for c in callbacks), Save(HOOKS[hook], folder), **options)
    assert sum(of["weight"].max() > 1 for of in seen.values()) >= raised, "so that the weights matter"
    files = sorted(folder.glob("*.ckpt"))
    if nothing_left:
        files.pop()
    assert len(files) >= 2
    for file in (files[0], files[-1]):
        its, its_seen, its_run = fit(trainer, make, *(c() for c in callbacks), ckpt_path=file, **options)
        for name, value in made.items():
            assert torch.equal(its[name], value), (file.name, name)
        assert (its_run.global_step, its_run.current_epoch) == (run.global_step, run.current_epoch)
        epoch = int(file.stem)
        for later in range(epoch, max(seen) + 1):
            for name in ("weight", "drawn", "rate") if later > epoch else ():
                one, other = its_seen[later][name], seen[later][name]
                assert torch.equal(one, other) if name == "weight" else one == other, (file.name, later, name)
            if "criteria" in its_seen.get(later, {}):
                assert its_seen[later]["criteria"] == seen[later]["criteria"], (file.name, later)
        if HOOKS[hook] not in ("on_validation_end", "on_train_epoch_end") and "criteria" in seen[epoch]:
            assert "criteria" in its_seen[epoch], "what was not validated to its end is validated anew"


OPTIONS = {
    "half of the validations": {"val_check_interval": 0.5},
    "two batches a validation": {"val_check_interval": 2},
    "every second validation": {"check_val_every_n_epoch": 2},
    "some batches": {"limit_train_batches": 3},
    "accumulation": {"accumulate_grad_batches": 3},
    "a limit of steps": {"max_steps": 15},
    "a limit of steps at the end of an epoch": {"max_steps": 12},
    "all of the sanity check": {"num_sanity_val_steps": -1},
    "no sanity check": {"num_sanity_val_steps": 0},
    "workers": {"workers": 2},
    "loaders anew": {"reload_dataloaders_every_n_epochs": 1},
    "plateau": {"lr_scheduler": lambda optimizer: ReduceLROnPlateau(optimizer, "val_qdcg10", patience=0, factor=0.5)},
    "rates by epoch": {"lr_scheduler": lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)},
}
SELDOM = ("every second validation",)
CALLBACKS = {
    "EarlyStopping": lambda: EarlyStopping("val_qdcg10", patience=1),
    "EarlyStopping at each validation": lambda: EarlyStopping("val_qdcg10", patience=1, check_on_train_epoch_end=False),
    "EMAWeightAveraging": EMAWeightAveraging,
}


pytestmark = pytest.mark.filterwarnings("ignore:.*callbacks used to create the checkpoint", "ignore:epoch . gave no")


@pytest.mark.parametrize(
    ("method", "hook"),
    [
        *((method, "the last batch") for method in METHODS),
        *((method, hook) for method in ("qDRU+M", "JTT", "DFR") for hook in list(HOOKS)[1:]),
    ],
)
def test_methods_and_moments(trainer, tmp_path, method, hook):
    raised, nothing_left = method not in ("ERM", "GroupDRO", "DFR"), hook == "the end of the epoch"
    assert_resumed_is_whole(trainer, tmp_path, METHODS[method], hook, raised=raised, nothing_left=nothing_left)


@pytest.mark.parametrize(
    ("name", "hook", "method"),
    [
        *((name, "the last batch", "qDRU+M") for name in OPTIONS),
        *((name, "the last batch", "DRU of training") for name in ("every second validation", "a limit of steps")),
        *((name, "a batch of validation", "qDRU+M") for name in ("half of the validations", "plateau")),
        *((name, "the end of validation", "qDRU+M") for name in ("every second validation", "plateau")),
        ("every second validation", "the end of validation", "DRU of training"),
    ],
)
def test_options(trainer, tmp_path, name, hook, method):
    # Where only some validations rank, some methods raise no weight in so few epochs.
    assert_resumed_is_whole(trainer, tmp_path, METHODS[method], hook, raised=name not in SELDOM, **OPTIONS[name])


@pytest.mark.parametrize(
    "options", [{"limit_val_batches": 0}, {"check_val_every_n_epoch": None, "val_check_interval": 3}], ids=str
)
def test_last_batch_without_validation_after_it(trainer, tmp_path, options):
    make = METHODS["DRU of training"]
    assert_resumed_is_whole(trainer, tmp_path, make, "the last batch", nothing_left=True, **options)


@pytest.mark.parametrize(
    ("name", "hook"),
    [
        *((name, "the last batch") for name in CALLBACKS),
        ("EarlyStopping", "the end of validation"),
        ("EarlyStopping at each validation", "a batch of validation"),
    ],
)
def test_callbacks(trainer, tmp_path, name, hook):
    assert_resumed_is_whole(trainer, tmp_path, METHODS["qDRU+M"], hook, CALLBACKS[name])


class SavingInStep(DRU):
    """Writes a file in the third step of five of validation, as a signal that arrives in it does."""

    folder = None

    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        super().validation_step(batch, batch_idx, dataloader_idx)
        if self.folder is not None and not self.trainer.sanity_checking and (dataloader_idx, batch_idx) == (0, 2):
            self.trainer.save_checkpoint(self.folder / f"{self.trainer.global_step}.ckpt")


class Criteria(Callback):
    """Notes the criteria of each validation."""

    def __init__(self):
        self.found = []

    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking:
            logged = trainer.callback_metrics.items()
            self.found.append({name: float(value) for name, value in logged if name.startswith("val_")})


def test_validation_that_was_stopped_in_a_step_counts_all_rows(trainer, tmp_path, monkeypatch):
    whole, within, at_end = Criteria(), Criteria(), Criteria()
    options = {"epochs": 3, "val_check_interval": 2}  # two validations an epoch, of five batches each
    monkeypatch.setattr(SavingInStep, "folder", tmp_path)
    made, _, _ = fit(trainer, SavingInStep, whole, **options)
    monkeypatch.undo()
    its, _, _ = fit(trainer, SavingInStep, at_end, ckpt_path=tmp_path / "8.ckpt", **options)
    assert at_end.found == whole.found[3:]
    assert same(its, made)
    with pytest.warns(UserWarning, match="written within epoch 1, after 2 of 4 batches"):
        fit(trainer, SavingInStep, within, ckpt_path=tmp_path / "6.ckpt", **options)
    assert within.found[0] == whole.found[2]
    assert len(within.found) == len(whole.found[2:])


def test_own_loaders_in_a_fixed_order(trainer, tmp_path):
    def trained(*callbacks, **options):
        torch.manual_seed(0)
        train = GroupedDataset(*own_rows())
        loaders = [DataLoader(GroupedDataset(*own_rows(seed=1), split="val"), batch_size=7), evaluation_loader(train)]
        method = DRU(network=own_network(), optimizer=lambda params: torch.optim.SGD(params, lr=0.5))
        trainer(max_epochs=3, callbacks=list(callbacks)).fit(method, DataLoader(train, 5), loaders, **options)
        return {**method.state_dict(), **method.state}

    made = trained(Save("on_train_batch_end", tmp_path))
    assert made["weight"].max() > 1
    for epoch in range(3):
        assert same(trained(ckpt_path=tmp_path / f"{epoch}.ckpt"), made)


def test_run_that_was_resumed_is_resumed_again(trainer, tmp_path):
    made, _, _ = fit(trainer, DRU, Save("on_train_batch_end", tmp_path / "a"))
    fit(trainer, DRU, Save("on_train_batch_end", tmp_path / "b"), ckpt_path=tmp_path / "a/0.ckpt")
    again, _, _ = fit(trainer, DRU, ckpt_path=tmp_path / "b/1.ckpt")
    for name, value in made.items():
        assert torch.equal(again[name], value), name


class Losses(DummyLogger):
    """Notes the mean loss of each epoch, with its step."""

    def __init__(self):
        super().__init__()
        self.found = []

    def log_metrics(self, metrics, step=None):
        if "train_loss" in metrics:
            self.found.append((metrics["epoch"], step, metrics["train_loss"]))


@pytest.mark.parametrize("options", [{}, {"check_val_every_n_epoch": 2}, {"accumulate_grad_batches": 2}], ids=str)
@pytest.mark.parametrize("hook", ["the last batch", "the end of the epoch"])
def test_mean_loss_of_each_epoch_is_logged_once(trainer, tmp_path, hook, options):
    straight = Losses()
    fit(trainer, ERM, Save(HOOKS[hook], tmp_path), logger=straight, **options)
    assert [epoch for epoch, _, _ in straight.found] == list(range(EPOCHS))
    for epoch in (0, 2):
        resumed = Losses()
        fit(trainer, ERM, ckpt_path=tmp_path / f"{epoch}.ckpt", logger=resumed, **options)
        assert resumed.found == straight.found[epoch:]


def test_end_of_an_epoch_that_max_steps_leaves_out_is_named(trainer, tmp_path):
    options = {"epochs": 3, "max_steps": 12, "check_val_every_n_epoch": 2}
    fit(trainer, ERM, Save("on_train_batch_end", tmp_path), **options)
    with pytest.warns(UserWarning, match="after the last of max_steps=12 steps and before the end of its epoch"):
        fit(trainer, ERM, ckpt_path=tmp_path / "2.ckpt", **options)


@pytest.mark.parametrize("hook", ["on_train_batch_end", "on_validation_batch_end", "on_validation_end"])
def test_figures_of_an_epoch_of_which_only_the_end_is_left(trainer, tmp_path, hook):
    _, _, straight = fit(trainer, DRU, Save(hook, tmp_path), epochs=1)
    _, _, resumed = fit(trainer, DRU, ckpt_path=tmp_path / "0.ckpt", epochs=1)
    was, now = ({name: float(value) for name, value in run.callback_metrics.items()} for run in (straight, resumed))
    assert was["train_loss"] > 0
    assert now == was


def test_pass_that_cannot_be_run_leaves_the_weights_and_says_so(trainer, tmp_path):
    fit(trainer, DRU, Save("on_train_batch_end", tmp_path), epochs=2)
    with pytest.warns(UserWarning, match="epoch 0 gave no predictions for every training row.*weights stay"):
        made, _, _ = fit(trainer, DRU, ckpt_path=tmp_path / "0.ckpt", epochs=2, limit_val_batches=0)
    assert (made["weight"] == 1).all()


def test_network_that_an_average_stood_in_for_is_lost_and_that_is_said(trainer, tmp_path):
    fit(trainer, DRU, EMAWeightAveraging(), Save("on_validation_batch_end", tmp_path), epochs=2)
    with pytest.warns(UserWarning, match="training goes on from the average"):
        fit(trainer, DRU, EMAWeightAveraging(), ckpt_path=tmp_path / "0.ckpt", epochs=2)


@pytest.mark.parametrize("method", ["DRU", "JTT"])
def test_command_line_goes_on_from_the_last_batch_of_an_epoch(run, fit, tmp_path, method):
    keep = "lightning.pytorch.callbacks.ModelCheckpoint"
    words = {"every_n_train_steps": 4, "save_top_k": -1, "filename": "{step}", "dirpath": tmp_path}
    flags = [word for name, value in words.items() for word in (f"--trainer.callbacks.{name}", value)]
    options = ["--select", "worst,qdcg10", "--seed_everything", 1]
    straight = fit(tmp_path / "a", *options, "--trainer.callbacks", keep, *flags, method=method)
    stopped = fit(tmp_path / "b", *options, method=method, epochs=1 if method == "DRU" else 2)
    file = stopped / f"checkpoints/{'4' if method == 'DRU' else '8'}.ckpt"
    shutil.copy(tmp_path / f"step={file.name}", file)
    run("fit", "--ckpt_path", file, "--trainer.max_epochs", 3)
    for table in ("weights.csv", "metrics.csv"):
        assert read_csv(stopped / table) == read_csv(straight / table), table
    assert read_json(stopped / "selection.json") == read_json(straight / "selection.json")
    one, other = (plain(folder / "checkpoints/last.ckpt") for folder in (stopped, straight))
    for key in ("epoch", "global_step", "state_dict", "optimizer_states", "drurank"):
        assert same(one[key], other[key]), key
