"""Figures of an accelerator: python benchmarks/gpu.py, or sh benchmarks/gpu.sh. With --small on the CPU.

A step of DRU against one of ERM with a network of DistilBERT's size in bf16-mixed, where nothing may wait for the
device between the beginning of a step and the end of its backward; batches of rows of about one length in bf16 against
float32 padded to the longest; all criteria of 1,000,000 groups; 256 candidates that train together. Weights and tokens
are random, so that no files are needed.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import stacked
import torch
from lightning.pytorch import Callback, Trainer, seed_everything
from shown import Row, be_quiet, print_rows
from torch import nn
from transformers import DistilBertConfig, DistilBertModel

from drurank.data import GroupedDataset
from drurank.data.dataset import InMemory
from drurank.data.loading import make_loader
from drurank.data.orders import pooled
from drurank.methods import DRU, ERM
from drurank.metrics import GroupCriteria


@dataclass(frozen=True)
class Size:
    """How much is done."""

    width: int = 768
    layers: int = 6
    rows: int = 3_200
    tokens: int = 128
    longest: int = 512
    batch: int = 32
    turns: int = 3
    groups: int = 1_000_000
    stack: int = 256


SMALL = Size(width=32, layers=1, rows=64, tokens=16, longest=32, batch=8, turns=1, groups=10_000, stack=4)
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Encoder(nn.Module):
    """A DistilBERT of random weights with a last layer."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        shape = {"dim": size.width, "hidden_dim": 4 * size.width, "n_layers": size.layers}
        self.encoder = DistilBertModel(DistilBertConfig(**shape, n_heads=max(1, size.width // 64)))
        self.head = nn.Linear(size.width, 2)

    def forward(self, tokens):
        return self.head(self.encoder(tokens).last_hidden_state[:, 0])


class NoWait(Callback):
    """Makes a wait for the device an error from the beginning of a step to the end of its backward; notes the times."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        wait()
        self.times.append(time.perf_counter())
        forbid_waits("error")

    def on_after_backward(self, trainer, module):
        forbid_waits("default")


def forbid_waits(mode: str) -> None:
    if DEVICE.type == "cuda":
        torch.cuda.set_sync_debug_mode(mode)


def wait() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def random_tokens(rows: int, length: int) -> torch.Tensor:
    return torch.randint(1_000, 30_000, (rows, length), generator=torch.Generator().manual_seed(0))


def step_seconds(make: Callable[..., ERM | DRU], size: Size) -> np.ndarray:
    """Seconds of every step of an epoch but the first ones."""
    seed_everything(0, verbose=False)
    rows = InMemory(random_tokens(size.rows, size.tokens), torch.arange(size.rows) % 2)
    loader = make_loader(GroupedDataset(rows, torch.arange(size.rows) % 50, split="train"), size.batch, shuffle=True)
    watch = NoWait()
    trainer = Trainer(
        accelerator="gpu" if DEVICE.type == "cuda" else "cpu",
        devices=1,
        precision="bf16-mixed",
        max_epochs=1,
        callbacks=[watch],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(make(network=Encoder(size)), loader)
    return np.diff(watch.times)[len(watch.times) // 5 :]


def steps_of_methods(size: Size) -> list[Row]:
    """DRU against ERM, in turns."""
    taken: dict[str, list[float]] = {"ERM": [], "DRU": []}
    for _ in range(size.turns):
        for name, make in (("ERM", ERM), ("DRU", partial(DRU, accuracy_from="training"))):
            taken[name] += step_seconds(make, size).tolist()
    erm, dru = (1000 * float(np.median(taken[name])) for name in ("ERM", "DRU"))
    return [
        Row("step in bf16-mixed: ERM", erm, "ms"),
        Row("step in bf16-mixed: DRU", dru, "ms", "ERM", dru / erm, 1.01),
    ]


def lengths_of(size: Size) -> torch.Tensor:
    """Lengths as of reviews: most are short, some as long as can be."""
    drawn = np.random.default_rng(0).lognormal(np.log(size.longest / 5), 0.8, size.rows)
    return torch.from_numpy(drawn.astype(np.int64)).clamp(8, size.longest)


def batches_by_length(size: Size) -> list[Row]:
    """Rows of about one length in bf16, against float32 padded to the longest."""
    lengths, generator = lengths_of(size), torch.Generator().manual_seed(0)
    order = pooled(
        torch.randperm(size.rows, generator=generator), lengths, generator, batch=size.batch, pool_batches=50
    )
    widths = [int(lengths[rows].max()) for rows in order.split(size.batch)]
    network = Encoder(size).to(DEVICE)

    def rows_a_second(widths: list[int], half: bool) -> float:
        for number, width in enumerate([widths[0], *widths]):
            if number == 1:  # the first one chooses kernels
                wait()
                begun = time.perf_counter()
            tokens = random_tokens(size.batch, width).to(DEVICE)
            with torch.autocast(DEVICE.type, torch.bfloat16) if half else contextlib.nullcontext():
                loss = nn.functional.cross_entropy(network(tokens), torch.zeros_like(tokens[:, 0]))
            loss.backward()
            network.zero_grad()
        wait()
        return size.batch * len(widths) / (time.perf_counter() - begun)

    plain = rows_a_second([size.longest] * max(2, len(widths) // 5), half=False)
    fast = rows_a_second(widths, half=True)
    return [
        Row(f"float32, padded to {size.longest}", plain, "rows/s"),
        Row("bf16, batches by length", fast, "rows/s", f"float32, padded to {size.longest}", fast / plain),
    ]


def criteria(size: Size) -> list[Row]:
    """All criteria from the counts of so many groups."""
    metric = GroupCriteria(size.groups).to(DEVICE)
    rows = 3 * size.groups
    group = torch.randint(size.groups, (rows,), device=DEVICE)
    metric.update_correct(torch.rand(rows, device=DEVICE) < 0.7, group)
    taken = []
    for _ in range(6):
        wait()
        begun = time.perf_counter()
        values = metric.of(metric.groups())
        wait()
        taken.append(1000 * (time.perf_counter() - begun))
    what = f"{len(values)} criteria of {size.groups:,} groups"
    return [Row(what, min(taken), "ms", "5 ms", min(taken) / 5, 1.0)]


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--small", action="store_true", help="sizes for a CPU")
    size = SMALL if options.parse_args().small else Size()
    be_quiet()
    name = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}", flush=True)
    print_rows([*criteria(size), *steps_of_methods(size), *batches_by_length(size)])
    print_rows(stacked.rows([size.stack], groups=stacked.FEWER_GROUPS, accelerator="auto"))
