"""Whether an exported network gives the probabilities of the one that it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drurank.data.file import FileData
from drurank.data.new_rows import with_rows
from drurank.errors import InputError
from drurank.export.classifier import Input, as_tensors, inputs_of, random_inputs
from drurank.export.formats import Function
from drurank.methods import GroupModule
from drurank.networks import Sizes

ROWS = 1000
LIMIT = 1e-4
"""Most that a probability may differ by."""
RANDOM = "random inputs"


@dataclass(frozen=True)
class Sample:
    """Inputs to compare by.

    Attributes:
        inputs: what they are called.
        batches: tensors in that order.
        kind: what they are, without a word of where the data lies.
        said: where they are of, for who exports.
    """

    inputs: list[Input]
    batches: list[tuple[Tensor, ...]]
    kind: str
    said: str

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(len(batch[0]) for batch in self.batches)


def sample_of(data: Any, method: GroupModule, sizes: Sizes) -> Sample:
    """Rows of the run's data, at most ``ROWS``; random inputs where it cannot be read.

    Args:
        data: of the run; ``None`` where nothing says where it lies.
        method: with its network.
        sizes: of the network.
    """
    inputs = inputs_of(sizes)
    try:
        if not isinstance(data, FileData):
            raise InputError("nothing names a file of it")
        new = with_rows(data, data.path, method)
        new.setup("predict")
        loaders = new.predict_dataloader()
        batches = list(_first(as_tensors(batch["inputs"], inputs) for loader in loaders for batch in loader))
        return Sample(inputs, batches, "rows of the run's data", " ".join(data.path.split()))
    except (InputError, OSError) as error:
        said = f"{RANDOM}, since the run's data cannot be read ({' '.join(str(error).split())})"
        return Sample(inputs, [random_inputs(sizes, ROWS)], RANDOM, said)


def _first(batches: Iterable[tuple[Tensor, ...]]) -> Iterator[tuple[Tensor, ...]]:
    left = ROWS
    for batch in batches:
        yield tuple(part[:left] for part in batch)
        left -= len(batch[0])
        if left <= 0:
            return


def largest_difference(method: GroupModule, exported: Function, sample: Sample) -> float:
    """The most by which a probability of an exported network differs; one row alone is tried too.

    Raises:
        InputError: if it cannot be run on inputs of these.
    """
    worst = 0.0
    for batch in (*sample.batches, tuple(part[:1] for part in sample.batches[0])):
        expected = probabilities(method, batch, sample.inputs)
        try:
            found = exported(batch)
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise InputError(f"the exported network cannot be run on {len(batch[0])} rows: {said}") from error
        if found.shape != expected.shape:
            raise InputError(f"the exported network gives the shape {found.shape}, and the checkpoint {expected.shape}")
        same = np.isnan(found) & np.isnan(expected)
        difference = np.where(same, 0.0, np.abs(found.astype(np.float64) - expected))
        worst = max(worst, float(np.nan_to_num(difference, nan=np.inf).max()))
    return worst


def probabilities(method: GroupModule, batch: tuple[Tensor, ...], inputs: Sequence[Input]) -> np.ndarray:
    """What the method itself predicts."""
    given: Any = batch[0] if len(batch) == 1 else dict(zip((one.name for one in inputs), batch, strict=True))
    row = torch.arange(len(batch[0]))
    try:
        with torch.inference_mode():
            found = method.predict_step({"inputs": given, "label": row, "group": row, "index": row}, 0)
    except Exception as error:
        shapes = ", ".join(f"{one.name} {one.shape}" for one in inputs)
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise InputError(
            f"the network takes other inputs than those of tables, texts and pictures ({shapes}): {said}"
        ) from error
    probability: np.ndarray = found["probability"].numpy()
    return probability
