"""Which names of a rebased module are ours, and which stay its own."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from drurank import methods
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
