"""What tables and texts do alike: a file with columns for the label, the group and the split of each row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import torch

from drurank.data.dataset import GroupedDataset
from drurank.data.encoded import EncodedData
from drurank.data.memberships import Memberships
from drurank.data.options import TablePath, check_evaluated, check_overlapping, checked_splits, named, no_split
from drurank.data.saying import say_taken
from drurank.data.unseen import say_blank_groups, say_twins, say_unseen_groups
from drurank.errors import InputError, check_choice
from drurank.splits import TEST, SplitColumn
from drurank.tabular.arrow import from_datasets
from drurank.tabular.columns import Names as ColumnNames
from drurank.tabular.columns import refuse_unknown
from drurank.tabular.delimited import check_delimiter
from drurank.tabular.gathering import gather_rows
from drurank.tabular.reading import checked_names
from drurank.tabular.renaming import checked_labels, with_names
from drurank.tabular.rows import By, GroupedRows, GroupIn
from drurank.tabular.rules import refuse
from drurank.tabular.several import Source, check_head
from drurank.tabular.text import check_encoding
from drurank.words import as_names

NEW = "new"
"""What messages call rows to predict whose split no column says."""


class FileData(EncodedData):
    """Rows of a file, several files, a folder or a table in memory, with columns for the label, group and split.

    CSV, TSV, JSON lines (``.jsonl``, ``.ndjson``, ``.json``; all three also compressed, as ``.csv.gz``), one JSON array
    of objects (``.json``), Parquet, Arrow and Feather are read, folders that the library ``datasets`` saved, and data
    sets by their name on the hub: of a ``DatasetDict`` the splits' names are the column of the split where there is
    none of its name (``validation`` is ``val``), and a ``ClassLabel`` is read as the names of its labels. Groups and
    labels are taken as written, so 007 and 7 differ, but for blanks at their ends.

    Args:
        path: the file or folder; several files with the same columns by commas or a pattern, as ``part-*.csv``, are one
            table, in the order of their names. In Python also a list of files, a DataFrame (pandas, polars), an Arrow
            table, or a ``Dataset`` or ``DatasetDict``.
        label: column of the label; text or whole numbers.
        group: column of the group, or several (with commas), whose combinations are the groups; the label may be one.
            Without any, only the criterion ``overall`` is offered.
        by: what several group columns mean: ``crossed`` makes groups of their combinations; ``overlapping`` of each
            column, of 0 and 1, those rows that it says 1 of, so that a row is in any number of groups. A single column
            then holds lists of names of groups, or says 0 or 1. Accuracies of groups are over all of their rows.
        split: column of the split; its values are train, ood_val, id_val, val, ood_test, id_test and test. Without it
            all rows are for testing.
        split_names: what other spellings stand for, as ``{dev: ood_val}``.
        relabel: labels that stand for others, as ``{9: 5, 10: 5}``; the rest stay as they are. A fit warns of one that
            no row has.
        regroup: the same of groups, as ``{branch 17: Branch 17}``, in each column of the group.
        join_twins: whether groups whose names differ only by case, blanks, Unicode form or zeros of a number are one,
            called as in most rows; of other data as in training.
        group_in: ``eval`` allows training rows without a group, for methods that need none.
        delimiter: delimiter of a CSV or TSV file. If not given, the one the file name implies; if that does not split
            the header, the one of ``, ; tab |`` that splits all rows into equally many cells.
        text_encoding: encoding of a text file, as ``cp1252``; if not given, what its byte order mark says, else UTF-8.
        **kwargs: those of ``GroupDataModule``.

    Raises:
        InputError: if an option is not one of these; bad data stops a run as it starts.
    """

    required: ClassVar[str] = "path=..., label=..."
    one_table: ClassVar[bool] = True
    """Whether each file that ``path`` names has all of its columns."""

    def __init__(
        self,
        path: TablePath,
        label: str,
        group: ColumnNames = None,
        split: str | None = None,
        by: By = "crossed",
        split_names: dict[str, str] | None = None,
        relabel: dict[str | int, str | int] | None = None,
        regroup: dict[str | int, str | int] | None = None,
        join_twins: bool = False,
        group_in: GroupIn = "all",
        delimiter: str | None = None,
        text_encoding: str | None = None,
        **kwargs: Any,
    ) -> None:
        name, self._given = named(path)
        self._is_told = False
        super().__init__(name, **kwargs)
        check_choice("group_in", group_in, GroupIn)
        check_choice("by", by, By)
        if split is None and isinstance(self._given, dict):
            split = "split"  # its keys, as of a DatasetDict
        self.label, self.split, self.group = label, split, as_names(group)
        self.split_names, self.relabel = checked_splits(split_names), checked_labels(relabel)
        self.regroup = checked_labels(regroup, "regroup")
        if split in (label, *self.group):
            raise InputError(f"split is {split!r}, and so is the label or the group; name three different columns")
        self.join_twins, self.group_in, self.by = join_twins, group_in, by
        if by == "overlapping":
            given = {"regroup": self.regroup, "join_twins": join_twins, "group_in": group_in == "eval"}
            check_overlapping(self.label, self.group, given)
        self.delimiter = None if delimiter is None else check_delimiter(delimiter)
        self.text_encoding = None if text_encoding is None else check_encoding(text_encoding)

    @classmethod
    def from_dataset(cls, dataset: Any, *, label: str, **kwargs: Any) -> Self:
        """The rows of a ``Dataset`` or ``DatasetDict`` of the library ``datasets``, in place of a file's.

        Args:
            dataset: what ``path`` may be but a file.
            label: column of the label.
            **kwargs: other arguments of the class but ``path``.

        Raises:
            InputError: if it is no table, or a part differs from the others in its columns.
        """
        data = cls(dataset, label=label, **kwargs)
        data._source  # noqa: B018 - read now, so that what is wrong is said here
        return data

    @property
    def grouped(self) -> bool:
        """Whether there is a group column."""
        return bool(self.group)

    @property
    def overlap(self) -> bool:
        """Whether rows may be in several groups."""
        return self.by == "overlapping"

    def describe(self) -> str:
        """The file, and the column that splits it."""
        return f"column {self.split!r} of {self.path}" if self.split else self.path

    def setup(self, stage: str) -> None:
        """Read and check what a run needs before it begins; before a fit, every row of the file.

        Raises:
            InputError: if the file cannot be used.
        """
        self.__dict__.pop("_index", None)  # Rows to test may be rows to predict now.
        if stage == "fit" and self.split is None:
            raise no_split(self.path, self._table.column_names)
        if stage == "fit":
            self.refuse_unknown(self.named_columns)
            refuse(self._rows, "start")
        super().setup(stage)
        if stage == "fit" and self._unlabelled is None:
            self.unlabelled()
            say_taken(self._rows)
        self.__dict__.pop("_rows", None)  # It holds each column once more.

    @property
    def named_columns(self) -> list[str]:
        """Columns that the options name."""
        return [self.label, *self.group, *([self.split] if self.split else [])]

    def refuse_unknown(self, names: Sequence[str]) -> None:
        """Refuse names that are no columns of the file, as far as that is known without reading its rows.

        Raises:
            InputError: naming the first.
        """
        if self.one_table and self._given is None:
            check = partial(refuse_unknown, self.path, names=names)
            check_head(self.path, check, delimiter=self.delimiter, text_encoding=self.text_encoding)

    @abstractmethod
    def make_rows(self, data: GroupedRows, rows: np.ndarray, where: str) -> Any:
        """A map-style dataset of the inputs and labels of the rows at these places, which messages call ``where``."""

    @abstractmethod
    def raw_rows(self) -> GroupedRows:
        """The rows as they stand in the file, nothing refused."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the file."""
        return list(self._source.table.column_names)

    def take_source(self, other: FileData) -> None:
        """Take the rows that another one has read of the same file and told of, in place of reading them once more."""
        self._source, self._is_told = other._source, True

    def source_columns(self, names: Sequence[str], rows: np.ndarray) -> pa.Table:
        """Columns of the file as they stand there.

        Args:
            names: of the columns.
            rows: places in the file, int64 ``[k]``.

        Raises:
            InputError: if there is no such column.
        """
        table = self._source.table
        refuse_unknown(self.path, table, names)
        places = rows if self._places is None else np.searchsorted(self._places, rows)
        return table.select(list(names)).take(pa.array(places))

    def make_dataset(self, split: str) -> GroupedDataset:
        """Check and encode the rows of one split."""
        encoder, data, rows = self.encoder, self._rows, self._index[split]
        if not self._checked:
            refuse(data.only(split), "predict" if self._predicts() else "evaluate")
        where = self.path if self.split is None or split == NEW else f"{self.path}, {split}"
        group, group_names = encoder.group(data, rows)
        if isinstance(group, Memberships):
            group.refuse_empty(where, self.group)
        elif self._predicts() and data.group_columns:
            say_blank_groups(where, group, [column.name for column in data.group_columns])
        if (
            self._predicts() and not self.overlap and not split.startswith("ood_")
        ):  # whose groups are unseen by its name
            say_unseen_groups(where, group, group_names, len(encoder.group_names))
        is_reported = (self._stage() == "test" and split in TEST) or (self._predicts() and split in (*TEST, NEW))
        if is_reported and not isinstance(group, Memberships):
            say_twins(where, group, group_names)
        return GroupedDataset(
            self.make_rows(data, rows, where),
            group,
            split=None if split == NEW else split,
            group_names=group_names,
            num_seen=len(encoder.group_names),
            rows=torch.from_numpy(rows if self._places is None else self._places[rows]),
        )

    @cached_property
    def _table(self) -> pa.Table:
        warn = self._stage() in (None, "fit") and not self._is_told
        return self._converted(with_names(self._source, self.label, self.group, self.relabel, self.regroup, warn=warn))

    def _converted(self, table: pa.Table) -> pa.Table:
        """The table with what is asked for read as numbers."""
        return table

    @cached_property
    def _source(self) -> Source:
        split = SplitColumn(self.split or "split", self.split_names)
        if self._given is None:
            return Source.read(self.path, delimiter=self.delimiter, text_encoding=self.text_encoding, split=split)
        table = from_datasets(self.path, self._given, split)
        return Source.given(self.path, checked_names(self.path, table))

    @property
    def _places(self) -> np.ndarray | None:
        """Places in the file of the table's rows, int64 ``[n]``, where it lacks some of them."""
        return None

    @cached_property
    def _rows(self) -> GroupedRows:
        """The rows that are used.

        Raises:
            InputError: if the split of one is blank or unknown.
        """
        rows = self.raw_rows()
        refuse(rows, "read")
        return rows if rows.split_column is not None else replace(rows, splits=[NEW if self._predicts() else "test"])

    def _gather(self, **options: Any) -> GroupedRows:
        """The rows by the columns of the label, the group and the split, and what is learnt from by these options."""
        here = self._table.column_names
        label: str | None = self.label
        split, group = self.split, self.group
        if self._predicts():
            # Who predicts need know nothing of the rows but their features.
            label, split = (name if name in here else None for name in (label, split))
            # Where groups overlap, predictions have no column of the one group of a row.
            group = group if set(group) <= set(here) and not self.overlap else []
        if self._stage() not in (None, "fit"):
            check_evaluated(self.path, here, label=label, split=split)
        rows = gather_rows(
            self._source.path,
            self._table,
            label=label,
            group=group,
            by=self.by,
            split=split,
            split_names=self.split_names,
            files=self._source.several,
            places=self._places,
            join_twins=self.join_twins,
            group_in=self.group_in,
            trained_labels=None if self._encoder is None else self._encoder.label_names,
            trained_groups=None if self._encoder is None else self._encoder.group_names,
            **options,
        )
        return rows if group == self.group else replace(rows, group=np.full_like(rows.group, -1), group_names=[])
