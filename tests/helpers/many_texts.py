"""DRU on texts in several processes, which share one cache of tokens."""

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import torch.distributed as dist

from drurank.data import Text
from drurank.methods import DRU
from drurank.networks import TextClassifier
from drurank.processes import rank_and_world
from drurank.text import tokens
from encoders import write_tiny
from many_data import GLOBAL_BATCH, Watch, python_trainer

TRAIN = 37  # the last global batch has a single row, so that a process has none
EPOCHS = 3


def table(path):
    rng, columns = np.random.default_rng(0), {name: [] for name in ("text", "label", "group", "split")}
    for split, number in (("train", TRAIN), ("val", 25)):
        for row in range(number):
            words = rng.choice(["good", "bad", "a", "b"], rng.integers(0, 20))
            values = (" ".join(words), int(rng.integers(0, 2)), f"g{row % 5}", split)
            for cells, value in zip(columns.values(), values, strict=True):
                cells.append(value)
    pq.write_table(pa.table(columns), path)


def of_texts(devices, folder):
    """Batches, weights, criteria, parameters, and how many texts this process cut into tokens."""
    encoder, rows = folder / "encoder", folder / "t.parquet"
    if rank_and_world()[0] == 0:
        torch.manual_seed(0)
        write_tiny(encoder, dropout=0.0)
        table(rows)
    if devices > 1:
        dist.barrier()  # those before have started the processes
    cut, real = [], tokens._cut
    tokens._cut = lambda texts, *rest: cut.append(len(texts)) or real(texts, *rest)
    data = Text(
        str(rows),
        "label",
        "group",
        "split",
        tokenizer=str(encoder),
        max_length=32,
        batch_size=GLOBAL_BATCH // devices,
        cache_dir=str(folder / "cache"),
    )
    watch = Watch()
    torch.manual_seed(0)
    method = DRU(
        network=partial(TextClassifier, dropout=0.0), optimizer=lambda params: torch.optim.SGD(params, lr=0.01)
    )
    python_trainer(devices, EPOCHS, callbacks=[watch]).fit(method, datamodule=data)
    tokens._cut = real
    parameters = {name: value.detach().clone() for name, value in method.network.named_parameters()}
    return {**watch.seen(), "parameters": parameters, "cut": sum(cut)}
