"""Datasets whose rows have a group and an index, and loaders over them.

A batch is a dict: ``inputs`` (a tensor, or a dict that is passed to the network as keywords), ``label``, ``group`` and
``index`` (int64 ``[B]``; the index is the row's place in the dataset).
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, TensorDataset, default_collate

from drurank.checks import NONE
from drurank.data.memberships import Memberships
from drurank.data.numbering import number_groups
from drurank.data.sampler import Places, without_epoch
from drurank.errors import InputError, nearest
from drurank.splits import SPLITS

Batch = dict[str, Any]

MOST_CLASSES = 1_000_000


class GroupedDataset(Dataset[Batch]):
    """Gives each row of any map-style dataset its group and its index.

    Args:
        dataset: has ``__len__`` and ``__getitem__``. An item is a pair of inputs and label, or a dict: with an entry
            ``inputs``, or else every entry but the label is passed to the network as a keyword. One with a method
            ``cut_batch(places)``, an int64 array ``[B]``, is asked for whole batches instead; where it has ``lengths``,
            int64 ``[n]``, rows of similar length share a batch; where ``changes_by_epoch`` is true, batches of training
            are asked for by ``cut_batch(places, epoch)``.
        groups: the group of each row, ``[n]``: names (strings), or numbers as an integer tensor or array; a negative
            number means no group. Where a row may be in several, their ``Memberships``; batches then say of each row
            that it is in none.
        split: ``train``, ``ood_val``, ``id_val``, ``val``, ``ood_test``, ``id_test`` or ``test``; names the criteria
            computed on it.
        group_names: name of each group by number; needed only with numbers.
        num_seen: how many of the groups, from the first, have training rows, where that is known.
        rows: place of each row in the source it was read from, int64 ``[n]``; 0, 1, 2, ..., if not given.
        label: name of the label in items that are dicts.
        flat: leave items that are dicts as they are, beside ``group`` and ``index``, for a module of your own whose
            ``unpack`` makes inputs of them.
        collate: makes a batch of items.

    Raises:
        InputError: if lengths differ, there are no rows, or a group or the split is invalid.
    """

    def __init__(
        self,
        dataset: Any,
        groups: Sequence[Any] | Tensor | np.ndarray | Memberships,
        *,
        split: str | None = None,
        group_names: Sequence[str] | None = None,
        num_seen: int | None = None,
        rows: Tensor | None = None,
        label: str = "label",
        flat: bool = False,
        collate: Callable[[list[Any]], Any] = default_collate,
    ) -> None:
        if split is not None and split not in SPLITS:
            raise InputError(f"there is no split {split!r}: {nearest(split, SPLITS)}")
        check_map_style(dataset)
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise InputError(
                f"{type(dataset).__name__} is not a map-style dataset; give one with __len__ and __getitem__"
            )
        if len(dataset) == 0:
            raise InputError(f"the dataset of split {split!r} has no rows; give at least one")
        self.dataset, self.split, self.label, self.collate, self.flat = dataset, split, label, collate, flat
        self.memberships = groups if isinstance(groups, Memberships) else None
        """The groups of each row where it may be in several; ``group`` is -1 then."""
        if isinstance(groups, Memberships):
            _, self.group_names = number_groups(groups.group, group_names)
            self.group = torch.full((groups.rows,), NONE)
        else:
            self.group, self.group_names = number_groups(groups, group_names)
        if len(self.group) != len(dataset):
            raise InputError(f"{len(self.group)} groups for {len(dataset)} rows; give one group per row")
        self.num_seen = num_seen
        self.rows = torch.arange(len(self.group)) if rows is None else rows

    @property
    def num_groups(self) -> int:
        """Number of groups ``m``, those without a row here included."""
        return len(self.group_names)

    @property
    def num_training_groups(self) -> int:
        """Number of groups that have training rows; all of them, if ``num_seen`` was not given."""
        return self.num_groups if self.num_seen is None else self.num_seen

    @property
    def grouping(self) -> Tensor | Memberships:
        """The group of each row, int64 ``[n]``, -1 for none; or the memberships of rows that may be in several."""
        return self.group if self.memberships is None else self.memberships

    def groups_at(self, places: Tensor) -> list[str]:
        """Names of the groups of the rows at these places, int64 ``[k]``, in the order of their numbers."""
        here = self.group[places]
        if self.memberships is not None:
            here = self.memberships.group[torch.isin(self.memberships.row, places)]
        return [self.group_names[code] for code in sorted({*here[here >= 0].tolist()})]

    @property
    def lengths(self) -> Tensor | None:
        """Length of each row, int64 ``[n]``, where the dataset knows it; rows of similar length share a batch."""
        return getattr(self.dataset, "lengths", None) if hasattr(self.dataset, "cut_batch") else None

    @property
    def changes_by_epoch(self) -> bool:
        """Whether the dataset gives another batch of the same rows in each training epoch."""
        return bool(getattr(self.dataset, "changes_by_epoch", False))

    def held_labels(self) -> Tensor | None:
        """Label of each row, integer ``[n]``, where labels are held in memory as class numbers.

        ``None`` where they are not, or where a ``__getitem__`` or ``collate`` of your own may change them.
        """
        if type(self).__getitem__ is not GroupedDataset.__getitem__:
            return None
        label: Any = None
        if hasattr(self.dataset, "cut_batch"):
            label = getattr(self.dataset, "label", None)
        elif isinstance(self.dataset, TensorDataset) and self.collate is default_collate:
            is_plain = type(self.dataset).__getitem__ is TensorDataset.__getitem__ and len(self.dataset.tensors) > 1
            label = self.dataset.tensors[1] if is_plain else None
        if not isinstance(label, Tensor) or label.shape != self.group.shape:
            return None
        return None if label.is_floating_point() or label.dtype == torch.bool else label

    def class_count(self) -> list[int] | None:
        """Rows of each class, where ``held_labels`` are known and count from 0; else ``None``."""
        label = self.held_labels()
        if label is None:
            return None
        least, most = label.aminmax()
        return torch.bincount(label).tolist() if 0 <= int(least) <= int(most) < MOST_CLASSES else None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.group)

    def __getitem__(self, index: int | list[int] | Places) -> Batch:
        """One row as a dict, or, for a list or an array of indices, the batch of them."""
        if not isinstance(index, list | np.ndarray):
            index = operator.index(index)
            return {**self._split_item(self.dataset[index]), "group": self.group[index], "index": index}
        places, epoch = without_epoch(np.asarray(index, dtype=np.int64))
        where = torch.from_numpy(places)
        return {**self._rows(places, epoch), "group": self.group.index_select(0, where), "index": where}

    def _rows(self, places: Places, epoch: int | None) -> Batch:
        if hasattr(self.dataset, "cut_batch"):
            batch: Batch = self.dataset.cut_batch(places) if epoch is None else self.dataset.cut_batch(places, epoch)
            return batch
        index = places.tolist()
        if hasattr(self.dataset, "__getitems__"):
            items = self.dataset.__getitems__(index)
        else:
            items = [self.dataset[i] for i in index]
        if not items:
            # A share of a batch can be empty; its shapes and dtypes are those of any row.
            none: Batch = _first_rows(self.collate([self._split_item(self.dataset[0])]), 0)
            return none
        collated: Batch = self.collate([self._split_item(item) for item in items])
        return collated

    def _split_item(self, item: Any) -> Batch:
        if self.flat and isinstance(item, dict):
            return item
        if isinstance(item, tuple | list):
            return {"inputs": item[0], "label": item[1]}
        if not isinstance(item, dict) or self.label not in item:
            found = nearest(self.label, item) if isinstance(item, dict) else type(item).__name__
            raise InputError(f"a row has no label {self.label!r}; found {found}; name its key with label=...")
        if "inputs" in item:
            return {"inputs": item["inputs"], "label": item[self.label]}
        return {"inputs": {k: v for k, v in item.items() if k != self.label}, "label": item[self.label]}

    def fingerprint(self) -> str:
        """A short digest of the rows' groups, and of their contents where they are tensors in memory."""
        digest = hashlib.sha256(self.group.numpy().tobytes())
        if self.memberships is not None:
            digest.update(torch.stack([self.memberships.row, self.memberships.group]).numpy().tobytes())
        digest.update("\n".join(self.group_names[: self.num_training_groups]).encode())
        for tensor in getattr(self.dataset, "tensors", ()):
            digest.update(tensor.contiguous().view(torch.uint8).numpy().data if tensor.numel() else b"")
        return digest.hexdigest()[:16]


class InMemory:
    """Rows held as tensors, so that a batch is one indexing step.

    Args:
        inputs: float ``[n, ...]``, or a dict of tensors that are passed to the network as keywords.
        label: int64 ``[n]``.
        transform: applied to the inputs of each batch, to keep wide encodings out of memory.
    """

    def __init__(
        self,
        inputs: Tensor | dict[str, Tensor],
        label: Tensor,
        transform: Callable[[Any], Tensor] | None = None,
    ) -> None:
        self.inputs, self.label, self.transform = inputs, label, transform

    @property
    def tensors(self) -> Iterable[Tensor]:
        """All tensors."""
        inputs = tuple(self.inputs.values()) if isinstance(self.inputs, dict) else (self.inputs,)
        return (*inputs, self.label)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.label)

    def __getitem__(self, index: int) -> Batch:
        """One row as a dict of inputs and label."""
        row: Batch = _first_rows(self.cut_batch(np.array([range(len(self))[index]])), None)
        return row

    def cut_batch(self, places: Places) -> Batch:
        """Rows as a dict of inputs and label."""
        where, inputs = torch.from_numpy(places), self.inputs
        cut: Any = (
            {name: value.index_select(0, where) for name, value in inputs.items()}
            if isinstance(inputs, dict)
            else inputs.index_select(0, where)
        )
        return {"inputs": self.transform(cut) if self.transform else cut, "label": self.label.index_select(0, where)}


def check_map_style(dataset: Any) -> None:
    """Refuse a dataset that is read in one go, whose rows have no place to be known by.

    Raises:
        InputError: naming it.
    """
    if isinstance(dataset, IterableDataset) or (hasattr(dataset, "__iter__") and not hasattr(dataset, "__getitem__")):
        raise InputError(
            f"{type(dataset).__name__} is an iterable dataset, whose rows have no index, and weights are kept by row; "
            "give a map-style one, with __len__ and __getitem__, such as list(dataset)"
        )


def _first_rows(batch: Any, take: int | None) -> Any:
    if isinstance(batch, dict):
        return {key: _first_rows(value, take) for key, value in batch.items()}
    return batch[0] if take is None else batch[:take]


def not_grouped(what: str, dataset: object) -> InputError:
    """That the rows of a dataset lack their group and index.

    Args:
        what: begins the sentence, as ``the training set is``.
        dataset: no ``GroupedDataset``.
    """
    return InputError(
        f"{what} a {type(dataset).__name__}, of whose rows no group and no index is known; wrap it as "
        "GroupedDataset(dataset, groups), which adds both"
    )
