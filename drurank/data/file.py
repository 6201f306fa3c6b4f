"""What tables and texts do alike: a file with columns for the label, the group and the part of each row."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from drurank.data.dataset import GroupedDataset
from drurank.data.module import GroupDataModule
from drurank.data.names import Names
from drurank.errors import InputError, check_choice, nearest
from drurank.splits import SPLITS
from drurank.tabular.arrow import from_datasets
from drurank.tabular.checks import refuse_seen_groups
from drurank.tabular.columns import Column, as_names, code_groups, read_splits, refuse_unknown, relabelled
from drurank.tabular.columns import Names as ColumnNames
from drurank.tabular.reading import read_table
from drurank.tabular.text import check_delimiter, check_encoding

GroupIn = Literal["all", "eval"]


class FileData(GroupDataModule):
    """Rows of a file or a folder, with columns for the label, the group and the split.

    CSV, TSV, JSON lines (``.jsonl``, ``.ndjson``, ``.json``; all three also compressed, as ``.csv.gz``), one JSON array
    of objects (``.json``), Parquet, Arrow and Feather are read, folders that the library ``datasets`` saved, and data
    sets by their name on the hub: of a ``DatasetDict`` the parts' names are the column of the split where there is none
    of its name (``validation`` is ``val``), and a ``ClassLabel`` is read as the names of its labels. Groups and labels
    are taken as written, so 007 and 7 differ.

    Args:
        path: the file or folder.
        label: column of the label; text or whole numbers.
        group: column of the group, or several (with commas), whose combinations are the groups; the label may be one.
            Without any, only the criterion ``overall`` is offered.
        split: column of the split; its values are train, ood_val, id_val, val, ood_test, id_test and test. Without it
            all rows are for testing.
        split_names: what other spellings stand for, as ``{dev: ood_val}``.
        relabel: labels that stand for others, as ``{9: 5, 10: 5}``; the rest stay as they are. Of one that no row has
            a fit warns.
        group_in: ``eval`` allows training rows without a group, for methods that need none.
        delimiter: what cuts the cells of CSV and TSV; if not given, what the file's name says, or, where that leaves
            the header whole, the only one of ``, ; tab |`` that cuts each row alike.
        text_encoding: encoding of a text file, as ``cp1252``; if not given, what its byte order mark says, else UTF-8.
        **kwargs: those of ``GroupDataModule``.

    Raises:
        InputError: if an option is not one of these; bad data is told when a run starts.
    """

    required: ClassVar[str] = "path=..., label=..."
    """What its constructor cannot do without, for messages."""

    def __init__(
        self,
        path: str,
        label: str,
        group: ColumnNames = None,
        split: str | None = None,
        split_names: dict[str, str] | None = None,
        relabel: dict[str | int, str | int] | None = None,
        group_in: GroupIn = "all",
        delimiter: str | None = None,
        text_encoding: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("group_in", group_in, GroupIn)
        self.path, self.label, self.split, self.group = path, label, split, as_names(group)
        self.split_names = {**{name: name for name in SPLITS}, **(split_names or {})}
        for written, meant in self.split_names.items():
            if meant not in SPLITS:
                raise InputError(f"split_names: {written!r} stands for {meant!r}, no split: {nearest(meant, SPLITS)}")
        if split in (label, *self.group):
            raise InputError(f"split is {split!r}, and so is the label or the group; name three different columns")
        for label_written, label_meant in (relabel or {}).items():
            if label_meant is None or not str(label_meant).strip():
                raise InputError(f"relabel: {label_written!r} stands for {label_meant!r}; give the label it stands for")
        self.relabel = {str(written): str(meant) for written, meant in (relabel or {}).items()}
        for written, meant in self.relabel.items():
            if not meant.strip():
                raise InputError(f"relabel: {written!r} stands for a blank, which is no label; give a label")
        self.group_in = group_in
        self.delimiter = None if delimiter is None else check_delimiter(delimiter)
        self.text_encoding = None if text_encoding is None else check_encoding(text_encoding)
        self._encoder: Any = None
        self._columns: dict[str, Column] = {}
        self._given: pa.Table | None = None

    @classmethod
    def from_dataset(cls, dataset: Any, *, label: str, split: str | None = None, **kwargs: Any) -> Self:
        """The rows of a ``Dataset`` or ``DatasetDict`` of the library ``datasets``, in place of a file's.

        Args:
            dataset: with rows; of a ``DatasetDict`` the parts' names are the column of the split where there is none.
            label: column of the label.
            split: column of the split; ``split`` for a ``DatasetDict``.
            **kwargs: other arguments of the class but ``path``.

        Raises:
            InputError: if it is neither, or a part differs from the others in its columns.
        """
        source = f"the {type(dataset).__name__}"
        table = from_datasets(source, dataset, split or "split")
        data = cls(path=source, label=label, split=split or ("split" if hasattr(dataset, "keys") else None), **kwargs)
        data._given = table
        return data

    @property
    def grouped(self) -> bool:
        """Whether there is a group column."""
        return bool(self.group)

    @property
    def label_names(self) -> list[str]:
        """Labels of training, as written."""
        return list(self.encoder.labels)

    def describe(self) -> str:
        """The file, and the column that splits it."""
        return f"column {self.split!r} of {self.path}" if self.split else self.path

    def setup(self, stage: str) -> None:
        """Read and check what a run needs before it begins; before a fit, every row of the file.

        Raises:
            InputError: if the file cannot be used.
        """
        if stage == "fit" and self.split is None:
            raise InputError(
                f"{self.path}: nothing says which rows to train on; name with --data.split the column that does, whose "
                f"values are {', '.join(SPLITS)}; {nearest('split', self._table.column_names)}"
            )
        if stage == "fit":
            refuse_unknown(self.path, self._table, [self.label, *self.group])
        super().setup(stage)
        self._columns.clear()

    def splits(self) -> list[str]:
        """Splits that have rows.

        Raises:
            InputError: if they are to be evaluated and nothing says how training encoded them.
        """
        if self._encoder is None and self._stage() not in (None, "fit"):
            kind = type(self).__name__
            raise InputError(
                f"{self.path}: no encoding of a {kind.lower()} came with the model; give a checkpoint that learnt from "
                f"one, as ckpt_path=..., or {kind}.load_from_checkpoint(<checkpoint>, {self.required})"
            )
        return [split for split in SPLITS if len(self._rows[split])]

    @abstractmethod
    def make_rows(self, split: str, rows: np.ndarray) -> Any:
        """A map-style dataset of the inputs and labels of the rows at these places."""

    @abstractmethod
    def fit_encoder(self) -> Names:
        """Fit on the training rows what is kept of them."""

    @abstractmethod
    def read_encoder(self, state: dict[str, Any]) -> Names:
        """What was fitted, from what its ``state_dict`` gave."""

    def make_part(self, split: str) -> GroupedDataset:
        """Encode the rows of one split."""
        rows = self._rows[split]
        dataset = self.make_rows(split, rows)
        group, names = self._number_groups(split, rows)
        return GroupedDataset(
            dataset,
            group,
            split=split,
            group_names=names,
            num_seen=len(self.encoder.groups),
            rows=torch.from_numpy(rows if self._places is None else self._places[rows]),
        )

    @property
    def encoder(self) -> Any:
        """That of the checkpoint, or else fitted on the training rows.

        Raises:
            InputError: if these cannot be learnt from.
        """
        if self._encoder is None:
            self._encoder = self.fit_encoder()
        return self._encoder

    def state_dict(self) -> dict[str, Any]:
        """What was fitted on the training rows; it travels in checkpoints."""
        state: dict[str, Any] = self.encoder.state_dict()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what was fitted.

        Raises:
            InputError: if training is to go on and these training rows give another encoding.
        """
        if self._stage() == "fit" and not self.encoder.agrees(state_dict):
            raise InputError(
                f"the checkpoint was made with other training data or options than {self.path} now; give those, or fit "
                "anew"
            )
        if self._encoder is None or self._encoder.state_dict() != state_dict:
            self._encoder = self.read_encoder(state_dict)
            self.forget_parts()

    @cached_property
    def _table(self) -> pa.Table:
        table = self._read_table() if self._given is None else self._given
        if not self.relabel or self.label not in table.column_names:
            return table
        new = relabelled(
            Column(self.path, self.label, table[self.label]), self.relabel, every=self._stage() in (None, "fit")
        )
        return table.set_column(table.column_names.index(self.label), self.label, new)

    def _read_table(self) -> pa.Table:
        return read_table(
            self.path, delimiter=self.delimiter, text_encoding=self.text_encoding, split=self.split or "split"
        )

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            refuse_unknown(self.path, self._table, [name])
            self._columns[name] = Column(self._file(name), name, self._table[name], self._places)
        return self._columns[name]

    def _file(self, column: str) -> str:
        """The file that a column is of, for messages."""
        return self.path

    @property
    def _places(self) -> np.ndarray | None:
        """Places in the file of the table's rows, int64 ``[n]``, where it lacks some of them."""
        return None

    @property
    def _rows(self) -> dict[str, np.ndarray]:
        """Places in the table of the rows that are used, by split."""
        return self._split_rows

    @cached_property
    def _split_rows(self) -> dict[str, np.ndarray]:
        every = np.arange(self._table.num_rows)
        if self.split is None or (self._predicts() and self.split not in self._table.column_names):
            return {split: every if split == "test" else every[:0] for split in SPLITS}
        if self.split not in self._table.column_names and self._stage() not in (None, "fit"):
            raise InputError(
                f"{self.path} has no column {self.split!r} that says the part of each row; to test all rows write "
                f"--data.split null, or name it: {nearest(self.split, self._table.column_names)}"
            )
        return read_splits(self._column(self.split), self.split_names)

    def _training_rows(self) -> np.ndarray:
        rows = self._split_rows["train"]
        if len(rows) == 0:
            raise InputError(f"{self.describe()} has no row in split train, to learn from; say train in some rows")
        return rows

    def _training_groups(self, rows: np.ndarray) -> list[str]:
        return code_groups([self._column(name) for name in self.group], rows, blank=self.group_in == "eval")[1]

    def _labels(self, rows: np.ndarray) -> Tensor:
        if self._predicts() and self.label not in self._table.column_names:
            return torch.full((len(rows),), -1)
        label: Tensor = self.encoder.label(self._column(self.label), rows, blank=self._predicts())
        return label

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
            self._refuse_seen(split, rows, number, names)
        return torch.from_numpy(number), names

    def _refuse_seen(self, split: str, rows: np.ndarray, number: np.ndarray, names: list[str]) -> None:
        """Stop if a part for groups that training lacks holds one of training's."""
        assert self.split is not None
        refuse_seen_groups(self._column(self.split), split, rows, number, names, len(self.encoder.groups))
