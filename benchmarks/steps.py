"""Time of a training step against a minimal LightningModule and a bare loop: python benchmarks/steps.py.

Synthetic setting 3, the default network, Adam, no validation. Each way runs in a thread of its own, and they take turns
of a hundred steps, so that whatever else the machine does slows all of them alike. (In turns of ten, the first steps of
each, which find nothing of their own in the caches, weigh more than in any fit: `ERM` was then at 1.11, not at 1.06.)
Times are CPU times of a thread. A figure is the quickest tenth of a way's turns; a ratio is the median of those of two
turns of one round.
"""

from __future__ import annotations

import argparse
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer, seed_everything
from shown import Row, be_quiet, print_rows
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from drurank.data import Synthetic
from drurank.data.loading import make_loader
from drurank.methods import DRU, ERM, ChiSquare, Const, CVaR, GroupDRO, Worst
from drurank.networks import MLP

BATCHES = (16, 256)
BLOCK = 100
"""Steps that are timed as one."""
PLAIN, PLAIN_TENSORS = "minimal module, our loader", "minimal module, DataLoader(TensorDataset)"
OURS, TENSORS = "our loader alone", "DataLoader(TensorDataset) alone"
METHODS = {
    "ERM": ERM,
    "DRU": partial(DRU, accuracy_from="training"),
    "Worst": partial(Worst, accuracy_from="training"),
    "Const": partial(Const, accuracy_from="training"),
    "GroupDRO": GroupDRO,
    "CVaR": CVaR,
    "ChiSquare": ChiSquare,
}
COMPARED = {"ERM": (PLAIN, 1.10), PLAIN: (PLAIN_TENSORS, None), OURS: (TENSORS, None)}
COMPARED |= dict.fromkeys(("DRU", "Worst", "Const"), ("ERM", 1.03))
COMPARED |= dict.fromkeys(("GroupDRO", "CVaR", "ChiSquare"), ("ERM", 1.15))
"""What a way is compared with, and the most that the ratio is to be, where that is no matter of the batch size."""


class Minimal(LightningModule):
    """What everybody writes first."""

    def __init__(self, sizes):
        super().__init__()
        self.network = MLP(sizes)

    def training_step(self, batch, batch_idx):
        inputs, label = (batch["inputs"], batch["label"]) if isinstance(batch, dict) else batch
        return cross_entropy(self.network(inputs), label)

    def configure_optimizers(self):
        return adam(self.parameters())


BeforeStep = Callable[[], None]
"""Called before each step of what is timed."""


class Turns:
    """Lets several threads run one after the other, a block of steps each, and notes what a block took.

    Args:
        ways: what runs, by name; it is given what to call before each step.
    """

    def __init__(self, ways: dict[str, Callable[[BeforeStep], None]]) -> None:
        self.taken: dict[str, list[float]] = {name: [] for name in ways}
        self._begin = [threading.Event() for _ in ways]
        self._running = [*range(len(ways))]
        self._threads = [
            threading.Thread(target=self._run, args=(place, name, way))
            for place, (name, way) in enumerate(ways.items())
        ]

    def run(self) -> dict[str, np.ndarray]:
        """Seconds of every block by way; the first, which meets what is done on first use, is left out."""
        for thread in self._threads:
            thread.start()
        self._begin[0].set()
        for thread in self._threads:
            thread.join()
        return {name: np.array(taken[1:]) for name, taken in self.taken.items()}

    def _run(self, place: int, name: str, way: Callable[[BeforeStep], None]) -> None:
        torch.set_num_threads(1)
        self._begin[place].wait()
        steps, begun = itertools.count(), 0.0

        def before_step() -> None:
            nonlocal begun
            if (number := next(steps)) % BLOCK == 0:
                if number:
                    self.taken[name].append(time.thread_time() - begun)
                    self._pass_on(place)
                    self._begin[place].wait()
                begun = time.thread_time()

        try:
            way(before_step)
        finally:
            self._pass_on(place)
            self._running.remove(place)

    def _pass_on(self, place: int) -> None:
        self._begin[place].clear()
        following = [other for other in self._running if other > place]
        self._begin[(following or self._running)[0]].set()


class CallBeforeStep(Callback):
    """Calls a function before each step."""

    def __init__(self, function: BeforeStep) -> None:
        self.function = function

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        self.function()


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-3)


def fitted(make: Callable[[], LightningModule], loader: DataLoader, steps: int, before_step: BeforeStep) -> None:
    """A fit of so many steps."""
    trainer = Trainer(
        accelerator="cpu",
        max_epochs=-1,
        max_steps=steps,
        callbacks=[CallBeforeStep(before_step)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(make(), loader)


def looped(sizes, loader: DataLoader, steps: int, before_step: BeforeStep) -> None:
    """As many steps without Lightning."""
    network = MLP(sizes)
    optimizer = adam(network.parameters())
    for inputs, label in taken_from(loader, steps):
        before_step()
        optimizer.zero_grad()
        cross_entropy(network(inputs), label).backward()
        optimizer.step()


def walked(loader: DataLoader, steps: int, before_step: BeforeStep) -> None:
    """As many batches, and nothing done with them."""
    for _ in taken_from(loader, steps):
        before_step()


def taken_from(loader: DataLoader, steps: int) -> Iterator[Any]:
    """So many batches, of as many epochs as that takes."""
    return itertools.islice(itertools.chain.from_iterable(itertools.repeat(loader)), steps)


def trained_by(method: Callable[..., LightningModule], sizes) -> LightningModule:
    """A method with a fresh network."""
    return method(network=MLP(sizes), optimizer=adam)


def ways(data: Synthetic, batch: int, steps: int) -> dict[str, Callable[[BeforeStep], None]]:
    """What is timed, by name."""
    rows = data.dataset("train")
    tensors = DataLoader(TensorDataset(rows.dataset.inputs, rows.dataset.label), batch_size=batch, shuffle=True)
    ours = make_loader(rows, batch, shuffle=True)
    minimal = partial(Minimal, data.sizes)
    methods = {
        name: partial(fitted, partial(trained_by, method, data.sizes), ours, steps) for name, method in METHODS.items()
    }
    return {
        "bare loop": partial(looped, data.sizes, tensors, steps),
        PLAIN_TENSORS: partial(fitted, minimal, tensors, steps),
        PLAIN: partial(fitted, minimal, ours, steps),
        **methods,
        TENSORS: partial(walked, tensors, steps),
        OURS: partial(walked, ours, steps),
    }


def measure(rounds: int, batches: Iterable[int] = BATCHES) -> list[Row]:
    """All figures, and the ratios that have a limit."""
    data, rows = Synthetic(setting=3), []
    for batch in batches:
        seed_everything(0, verbose=False)
        taken = Turns(ways(data, batch, BLOCK * (rounds + 1) + 1)).run()
        for name, seconds in taken.items():
            to, limit = COMPARED.get(name, ("", None))
            if to in (TENSORS, PLAIN_TENSORS):
                limit = 1.0 if batch == min(BATCHES) else 1 / 1.5
            figure = 1000 / BLOCK * float(np.quantile(seconds, 0.1))
            ratio = float(np.median(seconds / taken[to])) if limit else None
            rows.append(Row(f"step, batch {batch}: {name}", figure, "ms", to if limit else "", ratio, limit))
    return rows


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=12, help="turns of a hundred steps that each way has")
    options.add_argument("--batches", type=int, nargs="+", default=BATCHES, help="rows of a batch")
    given = options.parse_args()
    be_quiet()
    print_rows(measure(given.rounds, given.batches))
