"""Time of a training step, in turns within one run: python benchmarks/steps.py.

Synthetic setting 3, the default network and optimizer, no validation. A minimal LightningModule (cross-entropy, nothing
logged) stands for what Lightning costs, and a bare loop for what PyTorch costs.
"""

import argparse
import logging
import statistics
import time
import warnings

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from drurank.data import Synthetic
from drurank.data.loading import make_loader
from drurank.methods import DRU, ERM, ChiSquare, Const, CVaR, GroupDRO, Worst
from drurank.networks import MLP

RATE = 1e-3


class Minimal(LightningModule):
    """What everybody writes first."""

    def __init__(self, sizes):
        super().__init__()
        self.network = MLP(sizes)

    def training_step(self, batch, batch_idx):
        inputs, label = (batch["inputs"], batch["label"]) if isinstance(batch, dict) else batch
        return cross_entropy(self.network(inputs), label)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=RATE)


def bare(data, loader):
    """Seconds of an epoch of the loop without Lightning."""
    network = MLP(data.sizes)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    begun = time.process_time()
    for inputs, label in loader:
        optimizer.zero_grad()
        cross_entropy(network(inputs), label).backward()
        optimizer.step()
    return time.process_time() - begun


class Clock:
    """Seconds of the epoch, without the start of the fit."""


def fitted(method, loader, steps):
    """Seconds of an epoch of a fit, from the first step's end to the last one's."""
    from lightning.pytorch import Callback

    class Watch(Callback):
        def on_train_batch_start(self, trainer, module, batch, batch_idx):
            if batch_idx == 1:
                self.begun = time.process_time()

        def on_train_epoch_end(self, trainer, module):
            self.taken = time.process_time() - self.begun

    watch = Watch()
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(
        accelerator="cpu",
        max_epochs=1,
        limit_train_batches=steps,
        enable_checkpointing=False,
        callbacks=[watch],
        **quiet,
    )
    trainer.fit(method, loader)
    return watch.taken


def ways(data, batch, steps):
    """What is timed, by name; each gives the milliseconds of a step."""
    rows = data.dataset("train")
    inputs, label = rows.dataset.inputs, rows.dataset.label
    tensors = DataLoader(TensorDataset(inputs[: batch * steps], label[: batch * steps]), batch_size=batch, shuffle=True)
    ours = lambda: make_loader(rows, batch, shuffle=True)  # noqa: E731
    optimizer = lambda parameters: torch.optim.Adam(parameters, lr=RATE)  # noqa: E731

    def method(make):
        return lambda: fitted(make(), ours(), steps)

    return {
        "bare loop": lambda: bare(data, tensors),
        "minimal module, TensorDataset": lambda: fitted(Minimal(data.sizes), tensors, steps),
        "minimal module, our loader": lambda: fitted(Minimal(data.sizes), ours(), steps),
        "ERM": method(lambda: ERM(network=MLP(data.sizes), optimizer=optimizer)),
        "DRU": method(lambda: DRU(network=MLP(data.sizes), optimizer=optimizer, accuracy_from="training")),
        "Worst": method(lambda: Worst(network=MLP(data.sizes), optimizer=optimizer, accuracy_from="training")),
        "Const": method(lambda: Const(network=MLP(data.sizes), optimizer=optimizer)),
        "GroupDRO": method(lambda: GroupDRO(network=MLP(data.sizes), optimizer=optimizer)),
        "CVaR": method(lambda: CVaR(network=MLP(data.sizes), optimizer=optimizer)),
        "ChiSquare": method(lambda: ChiSquare(network=MLP(data.sizes), optimizer=optimizer)),
    }


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=9)
    options.add_argument("--steps", type=int, default=250)
    options.add_argument("--only", default="")
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    for name in ("lightning.pytorch", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.ERROR)
    torch.set_num_threads(1)
    data = Synthetic(setting=3)
    for batch in (16, 256):
        every = {k: v for k, v in ways(data, batch, chosen.steps).items() if chosen.only in k}
        taken = {name: [] for name in every}
        for turn in range(chosen.repeats + 1):
            for name, way in every.items():
                seed_everything(0, verbose=False)
                seconds = way()
                if turn:  # the first meets what is imported on first use
                    taken[name].append(1000 * seconds / chosen.steps)
        print(f"batch {batch}")
        for name, times in taken.items():
            print(f"  {name:<32}{statistics.median(times):6.2f} ms, least {min(times):6.2f}")
