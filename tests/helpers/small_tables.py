"""A small table of eight rows, and what a fit makes of it."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from drurank.data import Table

SPLIT = ["train", "train", "val", "train", "test", "train", "val", "test"]
TRAIN, VAL, TEST = [0, 1, 3, 5], [2, 6], [4, 7]
LABEL = ["no", "yes", "yes", "yes", "no", "no", "no", "yes"]
GROUP = ["b", "a", "d", "a", "c", "b", "a", "b"]
CODES = [0, 1, 1, 1, 0, 0, 0, 1]
"""LABEL as classes: no, yes."""


def parquet(tmp_path, name="t.parquet", **columns):
    """A table of the columns above and these, with a label, a group and a split."""
    whole = {"label": LABEL, "group": GROUP, "split": SPLIT, **columns}
    pq.write_table(pa.table(whole), tmp_path / name)
    return str(tmp_path / name)


def written(tmp_path, text, name="t.csv"):
    (tmp_path / name).write_bytes(text.encode())
    return str(tmp_path / name)


def fitted(path, **options):
    table = Table(path, **{"label": "label", "group": "group", "split": "split", **options})
    table.setup("fit")
    return table


def inputs(table, split):
    """What the network gets of all rows of a split."""
    part = table.dataset(split)
    return part[list(range(len(part)))]["inputs"]


def at_stage(table, fn):
    table.trainer = SimpleNamespace(state=SimpleNamespace(fn=fn), ckpt_path="a.ckpt")
    return table


def restored(state, path, tmp_path, fn="test", **options):
    """Another table, being evaluated, with the encoding of a checkpoint that went through a file."""
    torch.save(state, tmp_path / "state.ckpt")
    table = at_stage(Table(path, **{"label": "label", "group": "group", "split": "split", **options}), fn)
    table.load_state_dict(torch.load(tmp_path / "state.ckpt", weights_only=True))
    return table


def one_hot(values, known):
    """Blocks as documented: place 0 for a value that training lacks, then the sorted values of training."""
    block = np.zeros((len(values), len(known) + 1), dtype=np.float32)
    for row, value in enumerate(values):
        block[row, known.index(value) + 1 if value in known else 0] = 1
    return block


X = np.array([1.0, 2.0, 30.0, 4.0, 5.0, 6.0, 7.0, -8.0])
"""Mean over the training rows (1, 2, 4, 6) is 3.25, their variance 3.6875."""

C = ["u", "v", "w", "v", "u", "v", "v", "z"]
