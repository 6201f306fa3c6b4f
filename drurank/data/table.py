"""Tables of grouped data."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_info
from torch import Tensor

from drurank.data.dataset import SPLITS, GroupedDataset, InMemory
from drurank.data.encoding import Encoder, OneHot, determines_label, sorted_labels
from drurank.data.module import GroupDataModule
from drurank.data.reading import Column, read_table
from drurank.errors import InputError, nearest
from drurank.networks import Sizes
from drurank.ranking import check_choice

Names = str | list[str] | None
Missing = Literal["error", "indicator", "drop"]
Encoding = Literal["onehot", "embed"]
GroupIn = Literal["all", "eval"]
ALL_ROWS = "all"


class Table(GroupDataModule):
    """A table with a label, a group and a split by row, from a CSV, TSV or Parquet file.

    Numbers are standardised by the training rows; text and booleans are categories, of which one that training lacks
    has a slot of its own. In CSV and TSV a column is one of numbers where all its cells are (blank, NA, N/A, NaN, null
    and None count as missing there); groups, labels and categories are taken as written, so 007 and 7 differ.

    Args:
        path: the file.
        label: column of the label; text or whole numbers.
        group: column of the group, or several (with commas), whose combinations are the groups; the label may be one.
            Without any, only the criterion ``overall`` is offered.
        split: column of the split; its values are train, ood_val, id_val, val, ood_test, id_test and test. Without it
            all rows are for testing.
        split_names: what other spellings stand for, as ``{dev: ood_val}``.
        features: columns to learn from; all but label, group and split, if not given.
        exclude: columns not to learn from.
        categorical: columns of numbers that are codes.
        missing: what a missing feature does. ``error`` stops the run; ``indicator`` puts the mean of training and adds
            an input that says so (for a category: a category of its own); ``drop`` leaves the row out and says how many.
        encoding: ``onehot`` gives the network one tensor; ``embed`` gives it numbers and codes, which it embeds.
        group_in: ``eval`` allows training rows without a group, for methods that need none.
        allow_leaks: features that may determine the label.
        batch_size: rows of one process in one batch.
        eval_batch_size: the same in evaluation, where no gradients take room; ``batch_size``, if not given.
        num_workers: worker processes that cut batches.

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
        batch_size: int = 64,
        eval_batch_size: int | None = None,
        num_workers: int = 0,
    ) -> None:
        super().__init__(batch_size, eval_batch_size, num_workers)
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
        self.missing, self.encoding, self.group_in = missing, encoding, group_in
        self._encoder: Encoder | None = None
        self._is_restored = False

    @property
    def grouped(self) -> bool:
        """Whether there is a group column."""
        return bool(self.group)

    @property
    def sizes(self) -> Sizes:
        """Inputs and classes, by the training rows."""
        encoder = self.encoder
        if self.encoding == "embed":
            return Sizes(encoder.width, len(encoder.labels), encoder.cardinalities)
        return Sizes(encoder.width + sum(encoder.cardinalities), len(encoder.labels))

    @property
    def label_names(self) -> list[str]:
        """Labels of training, as written."""
        return self.encoder.labels

    def describe(self) -> str:
        """The file."""
        return self.path

    def splits(self) -> list[str]:
        """Splits that have rows."""
        return [split for split in SPLITS if len(self._rows[split])]

    def make_part(self, split: str) -> GroupedDataset:
        """Encode the rows of one split."""
        rows = self._rows[split]
        encoder = self.encoder
        columns = {name: self._column(name).at(rows) for name in encoder.feature_names}
        inputs: Any = encoder.inputs(columns, len(rows))
        transform = None
        if not encoder.categorical:
            inputs = inputs["numeric"]
        elif self.encoding == "onehot":
            transform = OneHot(encoder.cardinalities)
        group, names = self._number_groups(split, rows)
        data = InMemory(inputs, self._labels(rows), transform)
        seen = len(encoder.groups)
        place = torch.from_numpy(rows)
        return GroupedDataset(data, group, split=split, group_names=names, num_seen=seen, rows=place)

    @property
    def encoder(self) -> Encoder:
        """That of the checkpoint, or else fitted on the training rows.

        Raises:
            InputError: if there is neither, or the training rows cannot be learnt from.
        """
        if self._encoder is None:
            if self._evaluates_checkpoint():
                raise InputError(
                    f"the checkpoint holds no encoding of a table; {self.path} was not what it learnt from"
                )
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
        fitting = self.trainer is not None and self.trainer.state.fn == "fit"
        if fitting and self.encoder.state_dict() != state_dict:
            raise InputError(
                f"the checkpoint was made with other training data than {self.path}; give that, or fit anew"
            )
        if self._encoder is None or self._encoder.state_dict() != state_dict:
            self._encoder = Encoder.from_state(state_dict)
            self.forget_parts()
        self._is_restored = True

    def _evaluates_checkpoint(self) -> bool:
        trainer = self.trainer
        return trainer is not None and trainer.state.fn != "fit" and bool(trainer.ckpt_path) and not self._is_restored

    @cached_property
    def _table(self) -> Any:
        return read_table(self.path)

    def _column(self, name: str) -> Column:
        if name not in self._table.column_names:
            raise InputError(f"{self.path} has no column {name!r}; {nearest(name, self._table.column_names)}")
        return Column(self.path, name, self._table[name])

    @cached_property
    def _rows(self) -> dict[str, np.ndarray]:
        every = np.arange(self._table.num_rows)
        if self.split is None:
            rows = dict.fromkeys(SPLITS, every[:0]) | {"test": every}
        else:
            rows = self._read_splits()
        if self.missing == "drop":
            rows = {split: self._without_missing(split, found) for split, found in rows.items()}
        return rows

    def _read_splits(self) -> dict[str, np.ndarray]:
        column = self._column(str(self.split))
        codes, written = column.codes()
        if (codes < 0).any():
            raise column.error(int(np.argmax(codes < 0)), None, f"is no split; give one of {', '.join(SPLITS)}")
        for code, name in enumerate(written):
            if name not in self.split_names:
                remedy = (
                    f"is no split; {nearest(name, SPLITS)}; other spellings: --data.split_names '{{{name}: train}}'"
                )
                raise column.error(int(np.argmax(codes == code)), name, remedy)
        meant = np.array([SPLITS.index(self.split_names[name]) for name in written])[codes]
        return {split: np.flatnonzero(meant == place) for place, split in enumerate(SPLITS)}

    def _feature_names(self) -> list[str]:
        taken = {self.label, *self.group, self.split}
        for name in [*self.features, *self.exclude, *self.categorical, *self.allow_leaks]:
            self._column(name)
        names = self.features or [n for n in self._table.column_names if n not in taken and n not in self.exclude]
        wrong = [name for name in names if name in taken] or [n for n in self.categorical if n not in names]
        if wrong:
            raise InputError(f"{self.path}: column {wrong[0]!r} is named both as a feature and as something else")
        if not names:
            raise InputError(f"{self.path} has no features left beside label, group and split; exclude fewer columns")
        return names

    def _without_missing(self, split: str, rows: np.ndarray) -> np.ndarray:
        names = self._encoder.feature_names if self._encoder else self._feature_names()
        keep = np.ones(len(rows), dtype=bool)
        for name in names if len(rows) else ():
            keep &= ~self._missing(self._column(name).at(rows))
        if not keep.all():
            rank_zero_info(
                f"{self.path}: {int((~keep).sum()):,} of {len(rows):,} {split} rows lack a feature; left out"
            )
        return rows[keep]

    def _missing(self, column: Column) -> np.ndarray:
        if column.name not in self.categorical and column.holds_numbers():
            return np.isnan(column.numbers())
        return column.codes()[0] < 0

    def _fit_encoder(self) -> Encoder:
        rows = self._rows["train"]
        if len(rows) == 0:
            hint = "; the column 'split' is not named as --data.split" if self._has_unnamed_split() else ""
            raise InputError(f"{self.path} has no training rows to learn its encoding from{hint}")
        columns = [self._column(name).at(rows) for name in self._feature_names()]
        self._refuse_missing(columns)
        label = self._column(self.label).at(rows)
        group, names = self._group_codes(rows, blank=self.group_in == "eval")
        encoder = Encoder.fit(
            columns, self.categorical, sorted_labels(label), [names[i] for i in np.unique(group[group >= 0])]
        )
        self._refuse_leaks(columns, encoder.label(label))
        return encoder

    def _has_unnamed_split(self) -> bool:
        return self.split is None and "split" in self._table.column_names

    def _refuse_missing(self, columns: list[Column]) -> None:
        if self.missing != "error":
            return
        for column in columns:
            missing = np.flatnonzero(self._missing(column))
            if len(missing):
                remedy = f"is missing, one of {len(missing):,}; write --data.missing indicator, or drop, or exclude the column"
                raise column.error(int(missing[0]), None, remedy)

    def _refuse_leaks(self, columns: list[Column], label: Tensor) -> None:
        for column in columns:
            if column.name not in self.allow_leaks and determines_label(column, label):
                raise InputError(
                    f"{self.path}: column {column.name!r} determines the label {self.label!r} in every training row; "
                    f"leave it out (--data.exclude {column.name}) or allow it (--data.allow_leaks {column.name})"
                )

    def _labels(self, rows: np.ndarray) -> Tensor:
        if self._predicts() and self.label not in self._table.column_names:
            return torch.full((len(rows),), -1)
        return self.encoder.label(self._column(self.label).at(rows))

    def _predicts(self) -> bool:
        return self.trainer is not None and self.trainer.state.fn == "predict"

    def _number_groups(self, split: str, rows: np.ndarray) -> tuple[Tensor, list[str]]:
        known = self.encoder.groups
        if self._predicts() and not set(self.group) <= set(self._table.column_names):
            return torch.full((len(rows),), -1), known
        group, found = self._group_codes(rows, blank=split == "train" and self.group_in == "eval")
        present = {found[i] for i in np.unique(group[group >= 0])}
        names = [*known, *sorted(present - set(known))]
        place = {name: number for number, name in enumerate(names)}
        number = np.array([*(place.get(name, -1) for name in found), -1])[group]
        return torch.from_numpy(number), names

    def _group_codes(self, rows: np.ndarray, *, blank: bool) -> tuple[np.ndarray, list[str]]:
        """Code of each row's group, -1 for none, and name by code, sorted."""
        if not self.group:
            return np.zeros(len(rows), dtype=np.int64), [ALL_ROWS]
        columns = [self._column(name).at(rows) for name in self.group]
        coded = [column.codes() for column in columns]
        parts = np.stack([codes for codes, _ in coded])
        missing = (parts < 0).any(axis=0)
        if missing.any() and not blank:
            place = int(np.argmax(missing))
            column = columns[int(np.argmax(parts[:, place] < 0))]
            raise column.error(place, None, "is no group; give each row one, or leave the row out")
        cells, codes = np.unique(parts[:, ~missing], axis=1, return_inverse=True)
        names = [join_names([coded[i][1][code] for i, code in enumerate(cell)]) for cell in cells.T]
        order = np.argsort(np.argsort(np.array(names, dtype=object), kind="stable"))
        group = np.full(len(rows), -1)
        group[~missing] = order[codes.reshape(-1)]
        return group, sorted(names)


def as_names(names: Names) -> list[str]:
    """Column names from a list, or from one string with commas."""
    if names is None:
        return []
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def join_names(parts: list[str]) -> str:
    """The name of a combination of groups, told apart also where a name has a bar in it."""
    return parts[0] if len(parts) == 1 else " | ".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)
