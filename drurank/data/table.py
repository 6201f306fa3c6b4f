"""Tables of grouped data."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
from lightning.pytorch.utilities.rank_zero import rank_zero_info

from drurank.data.dataset import InMemory
from drurank.data.encoding import CategoricalFeature, Encoder, Encoding, NumericFeature
from drurank.data.file import FileData
from drurank.data.names import sorted_labels
from drurank.errors import InputError, check_choice
from drurank.networks import Sizes
from drurank.tabular.checks import refuse_label_as_group
from drurank.tabular.columns import Names, as_names, refuse_unknown
from drurank.tabular.rows import GroupedRows, gather_rows

Missing = Literal["error", "indicator", "drop"]


class Table(FileData):
    """A table with a label, a group and a split by row, from a file or a folder; all other columns are features.

    CSV, TSV, JSON lines (``.jsonl``, ``.ndjson``, ``.json``; all three also compressed, as ``.csv.gz``), one JSON array
    of objects (``.json``), Parquet, Arrow and Feather are read, and what the library ``datasets`` saved or has on the
    hub (see ``FileData``).

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
        features: columns to learn from; all but label, group and split, if not given.
        exclude: columns not to learn from.
        categorical: columns of numbers that are codes.
        missing: what a missing feature does. ``error`` stops the run; ``indicator`` puts the mean of training and,
            where training has such cells, adds an input that says so (for a category: one of its own); ``drop`` leaves
            the row out and says how many.
        encoding: ``onehot`` gives the network one tensor; ``embed`` gives it numbers and codes, which it embeds.
        allow_leaks: features that may determine the label; any other that does, by the training rows, stops the run.
        **kwargs: those of ``FileData``.

    Raises:
        InputError: if an option is not one of these; bad data is told when a run starts.
    """

    def __init__(
        self,
        path: str,
        label: str,
        group: Names = None,
        split: str | None = None,
        features: Names = None,
        exclude: Names = None,
        categorical: Names = None,
        missing: Missing = "error",
        encoding: Encoding = "onehot",
        allow_leaks: Names = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, label, group, split, **kwargs)
        check_choice("missing", missing, Missing)
        check_choice("encoding", encoding, Encoding)
        self.features, self.exclude = as_names(features), as_names(exclude)
        self.categorical, self.allow_leaks = as_names(categorical), as_names(allow_leaks)
        if self.features and self.exclude:
            raise InputError(f"features is {features!r} and exclude {exclude!r}; give one of them")
        self.missing, self.encoding = missing, encoding

    @property
    def sizes(self) -> Sizes:
        """Inputs and classes, by the training rows."""
        sizes: Sizes = self.encoder.sizes
        return sizes

    def make_rows(self, split: str, rows: np.ndarray) -> InMemory:
        """Encoded features and labels of the rows at these places."""
        encoder = self.encoder
        if self.missing == "error":
            self._refuse_missing(encoder.kinds, rows)
        inputs: Any = encoder.inputs({name: self._column(name) for name in encoder.kinds}, rows)
        inputs = inputs if encoder.categorical else inputs["numeric"]
        return InMemory(inputs, self._labels(rows), encoder.transform())

    def read_encoder(self, state: dict[str, Any]) -> Encoder:
        """The encoder of a checkpoint."""
        self.__dict__.pop("_rows", None)  # Which rows lack a feature depends on the features.
        return Encoder.from_state(state)

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
    def _rows(self) -> dict[str, np.ndarray]:
        """Places in the file by split, without the rows that are to be dropped."""
        if self.missing != "drop":
            return self._split_rows
        missing = {name: self._column(name).missing(as_numbers=numbers) for name, numbers in self._kinds().items()}
        return {split: self._without_missing(split, rows, missing) for split, rows in self._split_rows.items()}

    def _kinds(self) -> dict[str, bool]:
        """Name of each feature, and whether it is one of numbers, by the encoder or else the training rows."""
        if self._encoder is not None:
            kinds: dict[str, bool] = self._encoder.kinds
            return kinds
        rows, names = self._training_rows(), self._feature_names()
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

    def fit_encoder(self) -> Encoder:
        """Fit the features on the training rows."""
        kinds = self._kinds()
        columns = {name: self._column(name) for name in kinds}
        rows, label = self._rows["train"], self._column(self.label)
        if self.missing == "error":
            self._refuse_missing(kinds, rows)
        if len(self.group) == 1:
            refuse_label_as_group(self._column(self.group[0]), label)
        encoder = Encoder(
            sorted_labels(label, rows),
            self._training_groups(rows),
            [NumericFeature.fit(columns[name], rows) for name in kinds if kinds[name]],
            [CategoricalFeature.fit(columns[name], rows) for name in kinds if not kinds[name]],
            self.encoding,
        )
        suspects = {name: column for name, column in columns.items() if name not in self.allow_leaks}
        encoder.refuse_leaks(suspects, rows, label)
        return encoder
