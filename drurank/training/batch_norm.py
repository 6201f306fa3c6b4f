"""Batch norm and a last batch of one row, of which it can take no variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from lightning.pytorch.utilities.seed import isolate_rng
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from drurank.data.sampler import GlobalBatchSampler
from drurank.errors import InputError

SAID = "more than 1 value per channel"
"""What torch says of such a batch."""


def last_batch_has_a_variance(method: Any, trainer: Any, datamodule: Any) -> None:
    """Where a network has batch norm, the last batch of an epoch is not too small for it."""
    norms = [module for module in method.modules() if isinstance(module, _BatchNorm)]
    loader = trainer.train_dataloader
    rows = _rows_of_last_batch(loader)
    reads_it = trainer.num_training_batches >= len(loader) if rows is not None else False
    if not norms or rows is None or rows > 1 or not reads_it or not _fails_on_one_row(method, trainer, norms):
        return
    size = getattr(getattr(loader, "sampler", None), "batch_size", None) or loader.batch_size
    here = "one row" if rows else "no row on one of the processes"
    remedy = "give batch_size of 2 or more" if size == 1 else "give drop_last=True, or another batch_size"
    raise InputError(f"the last batch of an epoch has {here}, of which batch norm can take no variance; {remedy}")


def _rows_of_last_batch(loader: Any) -> int | None:
    """The fewest that a process has in it; ``None`` where that is not known."""
    sampler: Any = getattr(loader, "sampler", None)
    if isinstance(sampler, GlobalBatchSampler):
        return sampler.last_share
    size = getattr(loader, "batch_size", None)
    if not isinstance(size, int) or not hasattr(sampler, "__len__"):
        return None
    return size if loader.drop_last else len(sampler) % size or size


def _fails_on_one_row(method: Any, trainer: Any, norms: Sequence[nn.Module]) -> bool:
    """Whether the network as it is refuses a batch of one row; it and all random numbers are left as they were."""
    loader = trainer.train_dataloader
    before = [(buffer, buffer.clone()) for norm in norms for buffer in norm.buffers()]
    try:
        with isolate_rng(), torch.no_grad(), trainer.precision_plugin.train_step_context():
            own = isinstance(loader.sampler, GlobalBatchSampler)
            row = loader.dataset[[0]] if own else loader.collate_fn([loader.dataset[0]])
            method(method.unpack(trainer.strategy.batch_to_device(row))["inputs"])
    except ValueError as error:
        return SAID in str(error)
    except Exception:
        return False  # The run will say what is wrong with it.
    finally:
        for buffer, value in before:
            buffer.copy_(value)
    return False
