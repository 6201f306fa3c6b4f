"""Fits in Python, alone and in a stack, and what each leaves."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from lightning.pytorch import Trainer, seed_everything

from drurank.callbacks import best_by
from drurank.data import Shortcut
from drurank.stacked.engine import Fit, run_together

DATA = {"groups": [6, 4, 4], "group_size": 16, "batch_size": 8}


def shortcut(**options):
    return Shortcut(**DATA | options)


@dataclass
class Trained:
    """A fit: what makes its method and data, and afterwards the method, its trainer and the error that ended it."""

    make: Callable[[], Any]
    folder: Any
    seed: int = 0
    epochs: int = 3
    data: dict[str, Any] = field(default_factory=dict)
    data_class: Callable[..., Any] = shortcut
    options: dict[str, Any] = field(default_factory=dict)
    resumed: Any = None
    method: Any = None
    trainer: Any = None
    error: BaseException | None = None

    def fit(self):
        seed_everything(self.seed)
        self.method = self.make()
        callbacks = [*best_by("worst", self.folder), *self.options.get("callbacks", [])]
        self.trainer = Trainer(
            accelerator="cpu",
            max_epochs=self.epochs,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **{**self.options, "callbacks": callbacks},
        )
        self.trainer.fit(self.method, datamodule=self.data_class(**self.data), ckpt_path=self.resumed)

    def end(self, error):
        self.error = error


def fit_alone(fits):
    """One after the other, each to its end."""
    for one in fits:
        try:
            one.fit()
        except Exception as error:
            one.end(error)
    return fits


def fit_stacked(fits, **options):
    """Side by side."""
    run_together([Fit(one.fit, one.end, **options) for one in fits])
    return fits


def both_ways(make, number, root, monkeypatch, **options):
    """So many fits alone, the same in a stack, and the sizes of the stacks of each epoch.

    Args:
        make: the method of the fit of that number, which is its seed too.
    """

    def fits(folder):
        return [Trained(partial(make, k), folder / str(k), seed=k, **options) for k in range(number)]

    alone = fit_alone(fits(root / "alone"))
    with monkeypatch.context() as patch:
        seen = stacks_seen(patch)
        stacked = fit_stacked(fits(root / "stacked"))
    return alone, stacked, [len(titles) for titles in seen]


def distance(one, other):
    """Largest difference of the parameters of two methods."""
    pairs = zip(one.network.state_dict().items(), other.network.state_dict().items(), strict=True)
    return max(float((mine - theirs).abs().max()) for (_, mine), (_, theirs) in pairs)


def stacks_seen(monkeypatch):
    """Titles of the methods of each epoch that is trained as a stack from now on."""
    from drurank.stacked import engine

    seen, train = [], engine.Epoch.train

    def noting(self):
        seen.append([member.method.title for member in self.members])
        train(self)

    monkeypatch.setattr(engine.Epoch, "train", noting)
    return seen


def sgd(rate, **options):
    return partial(torch.optim.SGD, lr=rate, **options)
