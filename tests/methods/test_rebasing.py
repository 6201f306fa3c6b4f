"""Which names of a rebased module are ours, and which stay its own."""

import re
from pathlib import Path

import pytest
import torch
from lightning.pytorch import Callback
from torch import nn

from drurank import methods
from drurank.data import evaluation_loader
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.methods.rebasing import ATTRIBUTES
from drurank.training.roll import needed_hooks
from fits import network, own_loaders, own_network, small

PAGE = (Path(__file__).parents[2] / "docs" / "own_code.md").read_text(encoding="utf-8")


def names_after(words):
    """Names in backquotes in the paragraph of the page that begins so."""
    (paragraph,) = [part for part in PAGE.split("\n\n") if part.startswith(words)]
    return set(re.findall(r"`(\w+)`", paragraph))


def test_the_page_lists_the_attributes_that_are_ours():
    assert names_after("These attributes are ours") == set(ATTRIBUTES)


def test_the_page_lists_the_hooks_that_are_needed():
    hooks = {
        hook for name in methods.__all__ if name != "GroupModule" for hook in needed_hooks(getattr(methods, name)())
    }
    assert names_after("Where you override one of these hooks") == hooks


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_of_ours_is_not_replaced_in_silence(name):
    class Theirs(ERM):
        def __init__(self):
            super().__init__(network=network())
            setattr(self, name, "mine")

    with pytest.raises(InputError, match=f"Theirs sets self.{name} to a str.*give yours another name"):
        Theirs()


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("value", [3, lambda self: None, property(lambda self: 3)], ids=["value", "method", "property"])
def test_an_attribute_of_ours_is_not_hidden_by_a_class(name, value):
    with pytest.raises(InputError, match=f"Theirs defines {name}, an attribute of drurank's"):
        type("Theirs", (ERM,), {name: value})


def test_methods_of_ours_are_overridden_with_their_arguments():
    with pytest.raises(InputError, match=r"Theirs.reduce\(self, x\) overrides reduce\(losses, batch, state\)"):

        class Theirs(ERM):
            def reduce(self, x):
                return x.mean()

    with pytest.raises(InputError, match=r"Other.title is a method, and GroupModule.title.* a property"):

        class Other(ERM):
            def title(self):
                return "mine"


def test_names_of_theirs_stay_theirs(trainer):
    """Names that neighbouring projects use."""

    class Theirs(DRU):
        def __init__(self):
            super().__init__(network=own_network(), accuracy_from="training")
            self.criterion, self.begun, self.restored = nn.CrossEntropyLoss(), "mine", "mine"
            self.fingerprint, self.ended_epoch, self.class_count = "mine", "mine", "mine"
            self.model, self.metrics, self.lr = nn.Linear(1, 1), {}, 0.5

    train, val = own_loaders()
    method = Theirs()
    trainer(max_epochs=2).fit(method, train, val)
    assert isinstance(method.criterion, nn.CrossEntropyLoss)
    names = ("begun", "restored", "fingerprint", "ended_epoch", "class_count")
    assert {getattr(method, name) for name in names} == {"mine"}
    assert method.state["weight"].max() > 1


def test_loss_of_theirs_is_the_loss(trainer):
    class Theirs(ERM):
        def __init__(self):
            super().__init__(network=network())
            self.loss = nn.CrossEntropyLoss(reduction="none")

    run = trainer()
    method = Theirs()
    run.fit(method, datamodule=small())
    rows = run.datamodule.dataset("ood_val")
    batch = rows[list(range(len(rows)))]
    with torch.no_grad():
        want = nn.functional.cross_entropy(method(batch["inputs"]), batch["label"])
    assert float(run.callback_metrics["val_loss"]) == pytest.approx(float(want), rel=1e-5)


def logs_in(hook, *names, **options):
    """A module that logs 7 under these names in a hook."""

    def body(self, *args):
        given = getattr(super(theirs, self), hook)(*args)
        for name in names:
            self.log(name, 7.0, **options)
        return given

    theirs = type("Theirs", (ERM,), {hook: body})
    return theirs(network=network())


HOOKS = ["training_step", "on_train_batch_start", "on_train_epoch_end", "validation_step", "on_validation_epoch_end"]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("sanity", [0, 2])
def test_no_hook_logs_under_the_name_of_a_criterion(trainer, hook, sanity):
    with pytest.raises(InputError, match="the module logs 'val_worst', the name of a criterion of ours"):
        trainer(num_sanity_val_steps=sanity).fit(logs_in(hook, "val_worst"), datamodule=small())


@pytest.mark.parametrize("options", [{}, {"on_epoch": True, "on_step": False}, {"on_epoch": True}])
def test_a_training_loss_of_theirs_is_kept(trainer, options):
    run = trainer()
    run.fit(logs_in("training_step", "train_loss", **options), datamodule=small())
    assert float(run.callback_metrics["train_loss"]) == 7.0


class Logs(Callback):
    """Logs in hooks of a callback that comes before ours."""

    def on_validation_epoch_start(self, trainer, module):
        module.log("val_at_start", 1.0)

    def on_validation_batch_end(self, trainer, module, outputs, batch, *args):
        module.log("val_mean", batch["inputs"].mean())

    def on_validation_epoch_end(self, trainer, module):
        module.log_dict({"val_at_end": 3.0})


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("sanity", [0, 2])
def test_what_callbacks_log_beside_the_training_pass_keeps_its_name(trainer, first, sanity):
    class Theirs(DRU):
        def validation_step(self, batch, batch_idx):
            super().validation_step(batch, batch_idx)
            self.log_dict({"val_several": 2.0, "val_loss": 5.0})

    train, val = own_loaders()
    run = trainer(max_epochs=2, callbacks=[Logs()], num_sanity_val_steps=sanity)
    loaders = [evaluation_loader(train), val] if first else [val, evaluation_loader(train)]
    run.fit(Theirs(network=own_network()), train, loaders)
    found = {name: float(run.callback_metrics[name]) for name in ("val_at_start", "val_several", "val_at_end")}
    assert found == {"val_at_start": 1.0, "val_several": 2.0, "val_at_end": 3.0}
    assert float(run.callback_metrics["val_loss"]) == 5.0
    mean = float(val.dataset.dataset.tensors[0].mean())
    assert float(run.callback_metrics["val_mean"]) == pytest.approx(mean, abs=1e-6)
    assert not any("dataloader_idx" in name for name in run.callback_metrics)


def seen_by(step):
    """Rows that a hook of theirs sees in each evaluation, by the method that it is called with."""
    seen = []

    def with_ours(self, batch, *rest, **named):
        seen.append(len(batch["label"]))
        return DRU.validation_step(self, batch, *(rest or (0,)), **named)

    return seen, step(with_ours)


def bare(step):
    return lambda *given, **named: step(*given, **named)


STEPS = {
    "batch": lambda seen: lambda self, batch: seen(self, batch),
    "batch and number": lambda seen: lambda self, batch, batch_idx: seen(self, batch, batch_idx),
    "loader": lambda seen: lambda self, batch, batch_idx, dataloader_idx=0: seen(self, batch, batch_idx),
    "loader by name": lambda seen: lambda self, batch, batch_idx, *, dataloader_idx: seen(self, batch, batch_idx),
    "another name": lambda seen: lambda self, batch, number, *, tag="a": seen(self, batch, number),
    "any": lambda seen: lambda self, *given: seen(self, *given),
    "any, by name too": lambda seen: lambda self, batch, *given, **named: seen(self, batch, *given, **named),
    "wrapped": lambda seen: bare(lambda self, batch, batch_idx: seen(self, batch, batch_idx)),
    "without gradient": lambda seen: torch.no_grad()(lambda self, batch, batch_idx: seen(self, batch, batch_idx)),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("place", ["class", "mixin", "base"])
def test_a_validation_step_of_any_shape_never_sees_the_training_rows(trainer, step, place):
    seen, body = seen_by(STEPS[step])
    hooks = {"validation_step": body}
    if place == "class":
        theirs = type("Theirs", (DRU,), hooks)
    elif place == "mixin":
        theirs = type("Theirs", (type("Mixin", (), hooks), DRU), {})
    else:
        theirs = type("Theirs", (type("Base", (DRU,), hooks),), {})
    train, val = own_loaders()
    method = theirs(network=own_network())
    trainer(num_sanity_val_steps=0).fit(method, train, [evaluation_loader(train), val])
    assert sum(seen) == len(val.dataset)
    assert (method.record.correct >= 0).all(), "ours read them"


@pytest.mark.parametrize("with_loader", [True, False])
def test_hooks_of_a_validation_batch_never_see_the_training_rows(trainer, with_loader):
    seen = []

    class Theirs(DRU):
        if with_loader:

            def on_validation_batch_start(self, batch, batch_idx, dataloader_idx=0):
                seen.append((len(batch["label"]), dataloader_idx))

            def on_validation_batch_end(self, outputs, batch, batch_idx, dataloader_idx=0):
                seen.append((len(batch["label"]), dataloader_idx))

        else:

            def on_validation_batch_start(self, batch, batch_idx):
                seen.append((len(batch["label"]), 0))

            def on_validation_batch_end(self, outputs, batch, batch_idx):
                seen.append((len(batch["label"]), 0))

    train, val = own_loaders()
    trainer(num_sanity_val_steps=0).fit(Theirs(network=own_network()), train, [val, evaluation_loader(train)])
    assert sum(rows for rows, _ in seen) == 2 * len(val.dataset)
    assert {loader for _, loader in seen} == {0}


@pytest.mark.parametrize(
    "given", [lambda output, label: output, torch.nn.functional.cross_entropy], ids=["lambda", "function"]
)
@pytest.mark.parametrize(
    "route",
    [lambda given: DRU(network=network(), loss=given), lambda given: setattr(DRU(network=network()), "loss", given)],
    ids=["argument", "attribute"],
)
def test_a_loss_that_is_no_module_is_refused(given, route):
    with pytest.raises(InputError, match=r"the loss of DRU is a function; give an nn.Module .*reduction='none'"):
        route(given)


@pytest.mark.parametrize("losses", [lambda each: each.mean(), lambda each: each[1:], lambda each: each[:, None]])
def test_losses_of_ones_own_are_one_a_sample(trainer, losses):
    class Theirs(ERM):
        def sample_losses(self, output, label):
            return losses(super().sample_losses(output, label))

    with pytest.raises(InputError, match=r"^sample_losses gave \[.*\] for labels \[16\]; it must give one value per"):
        trainer(num_sanity_val_steps=0).fit(Theirs(network=network()), datamodule=small())


WEIGHTED = {"weight": torch.tensor([1.0, 9.0])}


@pytest.mark.parametrize(
    ("criterion", "steps", "is_unused"),
    [
        (nn.CrossEntropyLoss(**WEIGHTED), (), True),
        (nn.CrossEntropyLoss(label_smoothing=0.1), (), True),
        (nn.BCEWithLogitsLoss(), (), True),
        (nn.CrossEntropyLoss(), (), False),
        (nn.CrossEntropyLoss(reduction="none"), (), False),
        (nn.CrossEntropyLoss(**WEIGHTED), ("sample_losses",), False),
        (nn.CrossEntropyLoss(**WEIGHTED), ("training_step",), False),
    ],
)
def test_a_loss_of_theirs_that_nothing_uses_is_told(trainer, recwarn, criterion, steps, is_unused):
    def as_ours(name):
        return lambda self, *given: getattr(super(theirs, self), name)(*given)

    theirs = type("Theirs", (DRU,), {name: as_ours(name) for name in steps})
    method = theirs(network=network())
    method.criterion = criterion
    trainer(limit_train_batches=1).fit(method, datamodule=small())
    said = [str(one.message) for one in recwarn if "never on self.criterion" in str(one.message)]
    assert len(said) == is_unused
