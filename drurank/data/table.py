"""Tables of grouped data."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_info
from torch import Tensor

from drurank.data.dataset import GroupedDataset, InMemory
from drurank.data.encoding import (
    CategoricalFeature,
    Encoder,
    Encoding,
    NumericFeature,
    sorted_labels,
)
from drurank.data.module import GroupDataModule, Sampler
from drurank.errors import InputError, check_choice, nearest
from drurank.networks import Sizes
from drurank.splits import SPLITS
from drurank.tabular.checks import refuse_label_as_group, refuse_seen_groups
from drurank.tabular.columns import Column, Names, as_names, code_groups, read_splits, refuse_unknown
from drurank.tabular.reading import read_table
from drurank.tabular.rows import GroupedRows, gather_rows
from drurank.tabular.text import check_delimiter, check_encoding

Missing = Literal["error", "indicator", "drop"]
GroupIn = Literal["all", "eval"]


class Table(GroupDataModule):
    """A table with a label, a group and a split by row, from a file or a folder.

    CSV, TSV, JSON lines (``.jsonl``, ``.ndjson``, ``.json``; all three also compressed, as ``.csv.gz``), one JSON array
    of objects (``.json``), Parquet, Arrow and Feather are read, and folders that the library ``datasets`` saved: of a
    ``DatasetDict`` the parts' names are the column of the split where there is none of its name (``validation`` is
    ``val``), and a ``ClassLabel`` is read as the names of its labels.

    Numbers are standardised by the training rows; text and booleans are categories, of which one that training lacks
    has a slot of its own. In CSV and TSV a column is one of numbers where all its training cells are (blank, NA, N/A,
    NaN, null and None count as missing there); where only most are, the run stops and names the first that is not.
    Groups, labels and categories are taken as written, so 007 and 7 differ.

    Args:
        path: the file or folder.
        label: column of the label; text or whole numbers.
        group: column of the group, or several (with commas), whose combinations are the groups; the label may be one.
            Without any, only the criterion ``overall`` is offered.
        split: column of the split; its values are train, ood_val, id_val, val, ood_test, id_test and test. Without it
            all rows are for testing.
        split_names: what other spellings stand for, as ``{dev: ood_val}``.
        features: columns to learn from; all but label, group and split, if not given.
        exclude: columns not to learn from.
        categorical: columns of numbers that are codes.
        missing: what a missing feature does. ``error`` stops the run; ``indicator`` puts the mean of training and,
            where training has such cells, adds an input that says so (for a category: one of its own); ``drop`` leaves
            the row out and says how many.
        encoding: ``onehot`` gives the network one tensor; ``embed`` gives it numbers and codes, which it embeds.
        group_in: ``eval`` allows training rows without a group, for methods that need none.
        allow_leaks: features that may determine the label; any other that does, by the training rows, stops the run.
        delimiter: what cuts the cells of CSV and TSV; if not given, what the file's name says, or, where that leaves
            the header whole, the only one of ``, ; tab |`` that cuts each row alike.
        text_encoding: encoding of a text file, as ``cp1252``; if not given, what its byte order mark says, else UTF-8.
        batch_size: rows of one process in one batch.
        eval_batch_size: the same in evaluation, where no gradients take room; ``batch_size``, if not given.
        num_workers: worker processes that cut batches.
        sampler: which rows an epoch draws. ``auto`` asks the method; ``shuffle``: every row once; ``balanced``: as many
            rows, with replacement, each group being equally likely; ``subsample``: as many rows of each group as the
            smallest has; ``groups_per_batch``: in each batch some groups with equally many rows.
        groups_per_batch: distinct groups in a batch of one process, with that sampler; 2, if not given.

    Raises:
        InputError: if an option is not one of these; bad data is told when a run starts.
    """

    def __init__(
        self,
        path: str,
        label: str,
        group: Names = None,
        split: str | None = None,
        split_names: dict[str, str] | None = None,
        features: Names = None,
        exclude: Names = None,
        categorical: Names = None,
        missing: Missing = "error",
        encoding: Encoding = "onehot",
        group_in: GroupIn = "all",
        allow_leaks: Names = None,
        delimiter: str | None = None,
        text_encoding: str | None = None,
        batch_size: int = 64,
        eval_batch_size: int | None = None,
        num_workers: int = 0,
        sampler: Sampler = "auto",
        groups_per_batch: int | None = None,
    ) -> None:
        super().__init__(batch_size, eval_batch_size, num_workers, sampler, groups_per_batch)
        for name, value, choices in (
            ("missing", missing, Missing),
            ("encoding", encoding, Encoding),
            ("group_in", group_in, GroupIn),
        ):
            check_choice(name, value, choices)
        self.path, self.label, self.split = path, label, split
        self.group, self.features, self.exclude = as_names(group), as_names(features), as_names(exclude)
        self.categorical, self.allow_leaks = as_names(categorical), as_names(allow_leaks)
        self.split_names = {**{name: name for name in SPLITS}, **(split_names or {})}
        for written, meant in self.split_names.items():
            if meant not in SPLITS:
                raise InputError(f"split_names: {written!r} stands for {meant!r}, no split: {nearest(meant, SPLITS)}")
        if self.features and self.exclude:
            raise InputError(f"features is {features!r} and exclude {exclude!r}; give one of them")
        if split in (label, *self.group):
            raise InputError(f"split is {split!r}, and so is the label or the group; name three different columns")
        self.missing, self.encoding, self.group_in = missing, encoding, group_in
        self.delimiter = None if delimiter is None else check_delimiter(delimiter)
        self.text_encoding = None if text_encoding is None else check_encoding(text_encoding)
        self._encoder: Encoder | None = None
        self._columns: dict[str, Column] = {}

    @property
    def grouped(self) -> bool:
        """Whether there is a group column."""
        return bool(self.group)

    @property
    def sizes(self) -> Sizes:
        """Inputs and classes, by the training rows."""
        return self.encoder.sizes

    @property
    def label_names(self) -> list[str]:
        """Labels of training, as written."""
        return self.encoder.labels

    def describe(self) -> str:
        """The file, and the column that splits it."""
        return f"column {self.split!r} of {self.path}" if self.split else self.path

    def setup(self, stage: str) -> None:
        """Read and check what a run needs before it begins; before a fit, every row of the file.

        Raises:
            InputError: if the table cannot be used.
        """
        if stage == "fit" and self.split is None:
            raise InputError(
                f"{self.path}: nothing says which rows to train on; name with --data.split the column that does, whose "
                f"values are {', '.join(SPLITS)}; {nearest('split', self._table.column_names)}"
            )
        super().setup(stage)
        self._columns.clear()

    def splits(self) -> list[str]:
        """Splits that have rows.

        Raises:
            InputError: if they are to be evaluated and nothing says how training encoded them.
        """
        if self._encoder is None and self._stage() not in (None, "fit"):
            raise InputError(
                f"{self.path}: no encoding of a table came with the model; give a checkpoint that learnt from one, "
                "as ckpt_path=..., or Table.load_from_checkpoint(<checkpoint>, path=..., label=...)"
            )
        return [split for split in SPLITS if len(self._rows[split])]

    def make_part(self, split: str) -> GroupedDataset:
        """Encode the rows of one split."""
        rows, encoder = self._rows[split], self.encoder
        if self.missing == "error":
            self._refuse_missing(encoder.kinds, rows)
        inputs: Any = encoder.inputs({name: self._column(name) for name in encoder.kinds}, rows)
        inputs = inputs if encoder.categorical else inputs["numeric"]
        group, names = self._number_groups(split, rows)
        return GroupedDataset(
            InMemory(inputs, self._labels(rows), encoder.transform()),
            group,
            split=split,
            group_names=names,
            num_seen=len(encoder.groups),
            rows=torch.from_numpy(rows),
        )

    @property
    def encoder(self) -> Encoder:
        """That of the checkpoint, or else fitted on the training rows.

        Raises:
            InputError: if these cannot be learnt from.
        """
        if self._encoder is None:
            self._encoder = self._fit_encoder()
        return self._encoder

    def state_dict(self) -> dict[str, Any]:
        """What was fitted on the training rows; it travels in checkpoints."""
        return self.encoder.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what was fitted.

        Raises:
            InputError: if training is to go on and these training rows give another encoding.
        """
        if self._stage() == "fit" and self.encoder.state_dict() != state_dict:
            raise InputError(
                f"the checkpoint was made with other training data or options than {self.path} now; give those, or fit "
                "anew"
            )
        if self._encoder is None or self._encoder.state_dict() != state_dict:
            self._encoder = Encoder.from_state(state_dict)
            self.forget_parts()
            self.__dict__.pop("_rows", None)  # Which rows lack a feature depends on the features.

    def raw_rows(self) -> GroupedRows:
        """The columns as they stand in the file, nothing refused, to be looked at before a run."""
        return gather_rows(
            self.path,
            self._table,
            label=self.label,
            group=self.group,
            split=self.split,
            split_names=self.split_names,
            features=self.features,
            exclude=self.exclude,
            categorical=self.categorical,
        )

    @cached_property
    def _table(self) -> pa.Table:
        return read_table(
            self.path, delimiter=self.delimiter, text_encoding=self.text_encoding, split=self.split or "split"
        )

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            refuse_unknown(self.path, self._table, [name])
            self._columns[name] = Column(self.path, name, self._table[name])
        return self._columns[name]

    @cached_property
    def _rows(self) -> dict[str, np.ndarray]:
        """Places in the file by split, without the rows that are to be dropped."""
        if self.missing != "drop":
            return self._split_rows
        missing = {name: self._column(name).missing(as_numbers=numbers) for name, numbers in self._kinds().items()}
        return {split: self._without_missing(split, rows, missing) for split, rows in self._split_rows.items()}

    @cached_property
    def _split_rows(self) -> dict[str, np.ndarray]:
        every = np.arange(self._table.num_rows)
        if self.split is None or (self._predicts() and self.split not in self._table.column_names):
            return {split: every if split == "test" else every[:0] for split in SPLITS}
        return read_splits(self._column(self.split), self.split_names)

    def _kinds(self) -> dict[str, bool]:
        """Name of each feature, and whether it is one of numbers, by the encoder or else the training rows."""
        if self._encoder is not None:
            return self._encoder.kinds
        rows = self._split_rows["train"]
        if len(rows) == 0:
            raise InputError(f"{self.describe()} has no row in split train, to learn from; say train in some rows")
        names = self._feature_names()
        return {name: name not in self.categorical and self._column(name).holds_numbers(rows) for name in names}

    def _feature_names(self) -> list[str]:
        refuse_unknown(self.path, self._table, [self.label, *self.group, *self.features, *self.exclude])
        role = dict.fromkeys(self.group, "the group") | {self.label: "the label"}
        if self.split is not None:
            role[self.split] = "the split"
        names = self.features or [n for n in self._table.column_names if n not in role and n not in self.exclude]
        if not names:
            raise InputError(f"{self.path} has no features left beside label, group and split; exclude fewer columns")
        for option in ("features", "categorical", "allow_leaks"):
            for name in getattr(self, option):
                refuse_unknown(self.path, self._table, [name])
                if name in role or name not in names:
                    why = role.get(name, "not among the features")
                    raise InputError(
                        f"{self.path}: {option} names the column {name!r}, which is {why}; leave it out there"
                    )
        return names

    def _without_missing(self, split: str, rows: np.ndarray, missing: dict[str, np.ndarray]) -> np.ndarray:
        counts = {name: int(cells[rows].sum()) for name, cells in missing.items()}
        lacking = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
        if not lacking:
            return rows
        kept: np.ndarray = rows[~np.logical_or.reduce([cells[rows] for cells in missing.values()])]
        if len(kept) == 0:
            raise InputError(
                f"{self.path}: each of the {len(rows):,} {split} rows lacks a feature ({lacking}) and would be "
                "dropped; exclude such columns, or write --data.missing indicator"
            )
        rank_zero_info(
            f"{self.path}: left out {len(rows) - len(kept):,} of {len(rows):,} {split} rows, which lack a feature "
            f"({lacking})"
        )
        return kept

    def _refuse_missing(self, kinds: dict[str, bool], rows: np.ndarray) -> None:
        for name, is_numeric in kinds.items():
            column = self._column(name)
            missing = column.missing(as_numbers=is_numeric)[rows]
            if missing.any():
                raise column.error(
                    int(rows[np.argmax(missing)]),
                    f"is missing, one of {missing.sum():,} such cells; write --data.missing indicator, or drop, or "
                    f"leave the column out (--data.exclude {name})",
                )

    def _fit_encoder(self) -> Encoder:
        kinds = self._kinds()
        columns = {name: self._column(name) for name in kinds}
        rows, label = self._rows["train"], self._column(self.label)
        if self.missing == "error":
            self._refuse_missing(kinds, rows)
        if len(self.group) == 1:
            refuse_label_as_group(self._column(self.group[0]), label)
        encoder = Encoder(
            [NumericFeature.fit(columns[name], rows) for name in kinds if kinds[name]],
            [CategoricalFeature.fit(columns[name], rows) for name in kinds if not kinds[name]],
            sorted_labels(label, rows),
            code_groups([self._column(name) for name in self.group], rows, blank=self.group_in == "eval")[1],
            self.encoding,
        )
        suspects = {name: column for name, column in columns.items() if name not in self.allow_leaks}
        encoder.refuse_leaks(suspects, rows, label)
        return encoder

    def _labels(self, rows: np.ndarray) -> Tensor:
        if self._predicts() and self.label not in self._table.column_names:
            return torch.full((len(rows),), -1)
        return self.encoder.label(self._column(self.label), rows, blank=self._predicts())

    def _stage(self) -> str | None:
        return None if self.trainer is None else self.trainer.state.fn

    def _predicts(self) -> bool:
        return self._stage() == "predict"

    def _number_groups(self, split: str, rows: np.ndarray) -> tuple[Tensor, list[str]]:
        """Number of each row's group, int64 ``[n]``, and name by number, those of training first."""
        known = self.encoder.groups
        if self._predicts() and not set(self.group) <= set(self._table.column_names):
            return torch.full((len(rows),), -1), known
        blank = self._predicts() or (split == "train" and self.group_in == "eval")
        code, found = code_groups([self._column(name) for name in self.group], rows, blank=blank)
        names = [*known, *sorted(set(found) - set(known))]
        place = {name: number for number, name in enumerate(names)}
        number = np.array([*(place[name] for name in found), -1], dtype=np.int64)[code]
        if self.group and self.split is not None and not self._predicts():
            refuse_seen_groups(self._column(self.split), split, rows, number, names, len(known))
        return torch.from_numpy(number), names
