"""A hook of ours that a module of a person's own overrides without ``super()`` stops the run, by name."""

import inspect
import re

import pytest
import torch
from lightning.pytorch import Callback, LightningModule
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from drurank import methods
from drurank.data import GroupedDataset, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DFR, DRU, ERM, IRM, JTT, GroupDRO, GroupModule
from drurank.training.roll import RollCall, needed_hooks
from fits import network, own_loaders, own_network, own_rows, small

METHODS = {
    DRU: {},
    ERM: {},
    GroupDRO: {},
    IRM: {},
    JTT: {"first_stage_epochs": 1},
    DFR: {"subsets": 2},
}
"""Options of small runs."""
FREE = {
    "configure_model": "a network of your own may be made there",
    "configure_callbacks": "looked at in setup and on_fit_start",
    "configure_optimizers": "optimizers of your own",
    "configure_gradient_clipping": "clipping of your own",
    "predict_step": "predictions of your own",
    "log": "no hook",
    "parameters": "no hook",
    "teardown": "gives the trainer back as it was",
}
"""Hooks of ours that may be overridden without a call of ours, and why."""
HOOKS = [
    (cls, hook)
    for cls in METHODS
    for hook, ours in needed_hooks(cls()).items()
    if cls is DRU or not ours.startswith("GroupModule") or hook in ("training_step", "on_train_epoch_end")
]
"""Every hook of one method, and of the others their own and those without which all would be ERM."""


def step_of_theirs(self, batch, batch_idx):
    return cross_entropy(self(batch["inputs"]), batch["label"])


def without_ours(cls, *hooks):
    """The method, with hooks overridden that do not call ours."""
    bodies = {name: step_of_theirs if name.endswith("_step") else lambda self, *args, **kwargs: None for name in hooks}
    return type("Theirs", (cls,), bodies)(**METHODS[cls], network=network())


class Save(Callback):
    """Writes a file at the end of the first epoch."""

    def __init__(self, file):
        self.file = file

    def on_train_epoch_end(self, trainer, module):
        if trainer.current_epoch == 0:
            trainer.save_checkpoint(self.file)


def run_all(make_trainer, method, folder=None, sanity=2):
    """Fit, go on from its file, test and predict."""
    data = small(groups=[4, 4, 4], group_size=8)
    file = None if folder is None else folder / "a.ckpt"
    run = make_trainer(max_epochs=2, num_sanity_val_steps=sanity, callbacks=[] if file is None else [Save(file)])
    run.fit(method, datamodule=data)
    if file is not None:
        again = make_trainer(max_epochs=3, num_sanity_val_steps=sanity)
        again.fit(method, datamodule=data, ckpt_path=file)
    run.test(method, datamodule=data, verbose=False)
    run.predict(method, datamodule=data)


@pytest.mark.parametrize(
    ("cls", "hook", "sanity"),
    [(cls, hook, sanity) for cls, hook in HOOKS for sanity in ([0, 2] if "validation" in hook else [2])],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_hook_without_super_is_named(trainer, tmp_path, cls, hook, sanity):
    method = without_ours(cls, hook)
    with pytest.raises(InputError) as refused:
        run_all(trainer, method, tmp_path if "checkpoint" in hook else None, sanity)
    assert f"Theirs.{hook} " in str(refused.value)
    assert f"`super().{hook}(" in str(refused.value)


@pytest.mark.parametrize("cls", METHODS)
def test_a_method_as_it_is_answers(trainer, tmp_path, cls):
    run_all(trainer, cls(**METHODS[cls], network=network()), tmp_path)


@pytest.mark.parametrize("cls", METHODS)
def test_hooks_that_call_ours_pass(trainer, tmp_path, cls):
    def calls(hook):
        def with_super(self, *args, **kwargs):
            return getattr(super(theirs, self), hook)(*args, **kwargs)

        return with_super

    theirs = type("Theirs", (cls,), {hook: calls(hook) for hook in needed_hooks(cls())})
    run_all(trainer, theirs(**METHODS[cls], network=network()), tmp_path)


def test_every_hook_of_ours_is_needed_or_free():
    for name in methods.__all__:
        cls = getattr(methods, name)
        for hook, value in vars(cls).items():
            is_hook = inspect.isfunction(value) and hasattr(LightningModule, hook) and not hook.startswith("_")
            if is_hook and hook not in ("forward", *FREE):
                assert hasattr(value, "is_needed"), f"{name}.{hook}"


def test_what_a_module_may_skip_in_the_sanity_check(trainer):
    class Theirs(DRU):
        def validation_step(self, batch, batch_idx):
            if not self.trainer.sanity_checking:
                super().validation_step(batch, batch_idx)

        def on_validation_epoch_end(self):
            if not self.trainer.sanity_checking:
                super().on_validation_epoch_end()

    run = trainer()
    run.fit(Theirs(network=network()), datamodule=small())
    assert "val_qdcg10" in run.callback_metrics


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_an_epoch_in_which_a_hook_is_left_out_is_noticed(trainer, epoch):
    class Theirs(DRU):
        def on_train_epoch_end(self):
            if self.current_epoch != epoch:
                super().on_train_epoch_end()

    run = trainer(max_epochs=3)
    with pytest.raises(InputError, match=re.escape("Theirs.on_train_epoch_end overrides GroupModule.on_train_epoch_")):
        run.fit(Theirs(network=network()), datamodule=small())


@pytest.mark.parametrize("others", [(), ("setup",), ("setup", "on_fit_start", "training_step")])
def test_callbacks_of_ones_own_without_ours_are_noticed(trainer, others):
    bodies = {name: (lambda self, *args, **kwargs: None) for name in others}
    theirs = type("Theirs", (ERM,), {"configure_callbacks": lambda self: [], **bodies})
    with pytest.raises(InputError, match=r"Theirs has a configure_callbacks of its own .*super\(\)"):
        trainer().fit(theirs(network=network()), datamodule=small())


def test_the_base_of_a_base_is_named(trainer):
    class Base(DRU):
        def on_train_start(self):
            pass

    class Theirs(Base):
        pass

    with pytest.raises(InputError, match=r"Base\.on_train_start overrides GroupModule\.on_train_start"):
        trainer().fit(Theirs(network=network()), datamodule=small())


def test_a_way_round_the_methods_own_hook_is_noticed(trainer):
    class Theirs(JTT):
        def on_train_batch_start(self, batch, batch_idx):
            GroupModule.on_train_batch_start(self, batch, batch_idx)

    with pytest.raises(InputError, match=r"Theirs\.on_train_batch_start overrides JTT\.on_train_batch_start"):
        trainer(max_epochs=2).fit(Theirs(network=network()), datamodule=small())


def test_marks_are_set_without_a_look_at_the_device():
    # What answers is a name in a set.
    roll = RollCall()
    assert roll.answered == set()
    assert {type(name) for name in needed_hooks(DRU())} == {str}


def test_hooks_of_a_batch_are_called_at_the_first_batches_of_every_epoch(trainer, monkeypatch):
    called = []
    noted = RollCall.on_train_batch_start

    def note(self, trainer, module, batch, batch_idx):
        called.append((trainer.current_epoch, batch_idx))
        noted(self, trainer, module, batch, batch_idx)

    monkeypatch.setattr(RollCall, "on_train_batch_start", note)
    trainer(max_epochs=2).fit(ERM(network=network()), datamodule=small(groups=[4, 2, 2], batch_size=2))
    # Ten are looked at; at the eleventh it is known that no other need be.
    assert called == [(epoch, batch) for epoch in range(2) for batch in range(11)]


@pytest.mark.parametrize("first", [True, False])
def test_training_rows_are_kept_from_a_validation_step_of_ones_own(trainer, first):
    seen = []

    class Theirs(DRU):
        def validation_step(self, batch, batch_idx):
            super().validation_step(batch, batch_idx)
            seen.append((self.current_epoch, batch["inputs"]))
            self.log("val_mean", batch["inputs"].mean())

    train, val = own_loaders()
    loaders = [evaluation_loader(train), val] if first else [val, evaluation_loader(train)]
    run = trainer(num_sanity_val_steps=0)
    method = Theirs(network=own_network())
    run.fit(method, train, loaders)
    inputs = torch.cat([rows for _, rows in seen])
    assert torch.equal(inputs, val.dataset.dataset.tensors[0]), "and no row of the training set"
    # Lightning weighs the means of batches by their sizes
    assert float(run.callback_metrics["val_mean"]) == pytest.approx(float(inputs.mean()), abs=1e-6)
    assert not any("dataloader_idx" in key for key in run.callback_metrics)
    assert (method.record.correct >= 0).all()
    x, label = val.dataset.dataset.tensors
    with torch.no_grad():
        right = method(x).argmax(dim=1) == label
    assert float(run.callback_metrics["val_overall"]) == pytest.approx(float(right.float().mean()))


@pytest.mark.parametrize("hook", ["on_train_epoch_end", "training_step", "setup"])
def test_a_hook_that_is_set_on_the_module_is_named(trainer, hook):
    method = DRU(network=network())
    is_step = hook == "training_step"
    setattr(method, hook, lambda *given, **named: step_of_theirs(method, *given) if is_step else None)
    with pytest.raises(InputError, match=rf"^the {hook} that was set on a DRU hides GroupModule.{hook}; leave it out"):
        trainer().fit(method, datamodule=small())


def test_what_a_validation_step_logs_has_the_name_of_the_part_that_is_read(trainer):
    class Own(ERM):
        def validation_step(self, batch, batch_idx):
            super().validation_step(batch, batch_idx)
            self.log("val_f1", 0.5)
            self.log_dict({"id_val/size": 1.0, "value": 2.0, "val_loss": 7.0})

    run = trainer()
    method, (train, val) = Own(network=own_network()), own_loaders()
    run.fit(method, train, val)
    assert {"val_f1", "id_val/size", "value"} <= run.callback_metrics.keys()
    rows = GroupedDataset(*own_rows(seed=2), split="test")
    (tested,) = run.test(method, DataLoader(rows, 6), verbose=False)
    assert {name: tested[name] for name in ("test_f1", "id_test/size", "value", "test_loss")} == {
        "test_f1": 0.5,
        "id_test/size": 1.0,
        "value": 2.0,
        "test_loss": 7.0,
    }
    assert not [name for name in tested if "val" in name.removeprefix("value")]
