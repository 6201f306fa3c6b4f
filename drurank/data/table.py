"""Tables of grouped data."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn

from drurank.data.dataset import InMemory
from drurank.data.encoding import CategoricalFeature, Encoder, Encoding, NumericFeature, trained_names
from drurank.data.file import FileData
from drurank.data.options import TablePath
from drurank.data.outside import say_outside
from drurank.data.state_checks import check_columns
from drurank.data.unseen import say_joined, say_unseen
from drurank.errors import InputError, check_choice
from drurank.networks import Sizes
from drurank.tabular.columns import Names, as_option
from drurank.tabular.converting import Reading
from drurank.tabular.feature import MOST_CATEGORIES
from drurank.tabular.rows import GroupedRows, Missing
from drurank.tabular.rules.features import distinct_columns
from drurank.tabular.writings import Marks
from drurank.words import as_names, some

"""Of a feature that one-hot encoding takes: each is an input of the network."""


class Table(FileData):
    """A table with a label, a group and a split by row, from a file or a folder; all other columns are features.

    CSV, TSV, JSON lines (``.jsonl``, ``.ndjson``, ``.json``; all three also compressed, as ``.csv.gz``), one JSON array
    of objects (``.json``), Parquet, Arrow and Feather are read, and what the library ``datasets`` saved or has on the
    hub (see ``FileData``).

    Numbers are standardised by the training rows; text and booleans are categories, of which one that training lacks
    has a slot of its own. In CSV and TSV a column is one of numbers where all its training cells are (blank, NA, N/A,
    NaN, null and None count as missing there); where only most are, the run stops and names the first that is not.
    Groups, labels and categories are taken as written, so 007 and 7 differ, but for blanks at their ends. Before it
    begins a fit says how each column is taken.

    Args:
        path: the file or folder, several files by commas or a pattern, or in Python a table in memory (see
            ``FileData``).
        label: column of the label; text or whole numbers.
        group: column of the group, or several (with commas), whose combinations are the groups; the label may be one.
            Without any, only the criterion ``overall`` is offered.
        split: column of the split; its values are train, ood_val, id_val, val, ood_test, id_test and test. Without it
            all rows are for testing.
        features: columns to learn from; all but label, group and split, if not given.
        exclude: columns not to learn from.
        categorical: columns of numbers that are codes.
        missing: how to treat missing features: ``error`` stops the run; ``indicator`` fills in the training mean and,
            if training has missing cells, adds a 0/1 input (a category gets a code of its own for them); ``drop``
            leaves the row out and reports how many.
        encoding: ``onehot`` gives the network one tensor; ``embed`` gives it numbers and codes, which it embeds.
        allow_leaks: features that may determine the label; any other that does, by the training rows, stops the run.
        thousands: what stands between the thousands of numbers that are text, as ``,`` in 1,234.5; ``.`` is for
            1.234,5. Columns most of whose cells are such numbers are read so, except codes.
        decimal: what stands before their decimals, if not a point (or, with ``thousands=.``, a comma).
        join_feature_twins: columns of categories in which values that differ only by case, blanks, Unicode form or
            zeros of a number are one, called as in most training rows; of other data as in training.
        percents: columns of percentages, as 36.2%, to be read as numbers.
        dates: columns of dates or times, which become numbers of days. Of 3/4/2021 the order of day and month is that
            which fits all cells; where both do, the run stops. Other data is read in the order of training.
        date_format: how the dates are written, by the codes of Python's ``strptime``, as ``%d.%m.%Y``.
        **kwargs: those of ``FileData``.

    Raises:
        InputError: if an option is not one of these; bad data stops a run as it starts.
    """

    def __init__(
        self,
        path: TablePath,
        label: str,
        group: Names = None,
        split: str | None = None,
        features: Names = None,
        exclude: Names = None,
        categorical: Names = None,
        missing: Missing = "error",
        encoding: Encoding = "onehot",
        allow_leaks: Names = None,
        thousands: str | None = None,
        decimal: str | None = None,
        join_feature_twins: Names = None,
        percents: Names = None,
        dates: Names = None,
        date_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, label, group, split, **kwargs)
        check_choice("missing", missing, Missing)
        check_choice("encoding", encoding, Encoding)
        self.features, self.exclude = as_names(features), as_names(exclude)
        self.categorical, self.allow_leaks = as_names(categorical), as_names(allow_leaks)
        self.join_feature_twins = as_names(join_feature_twins)
        if self.features and self.exclude:
            raise InputError(f"features is {features!r} and exclude {exclude!r}; give one of them")
        self.missing, self.encoding = missing, encoding
        self.reading = Reading(Marks(thousands, decimal), as_names(percents), as_names(dates), date_format)
        self._written: dict[str, str] = {}

    @property
    def named_columns(self) -> list[str]:
        """Columns that the options name."""
        features = [*self.features, *self.exclude, *self.categorical, *self.allow_leaks, *self.join_feature_twins]
        return [*super().named_columns, *self.reading.percents, *self.reading.dates, *features]

    @property
    def sizes(self) -> Sizes:
        """Inputs and classes, by the training rows."""
        sizes: Sizes = self.encoder.sizes
        return sizes

    def raw_rows(self) -> GroupedRows:
        """The columns as they stand in the file, nothing refused, to be looked at before a run."""
        self._table  # noqa: B018 - its conversion says how cells are written
        return self._gather(
            features=self.features,
            exclude=self.exclude,
            categorical=self.categorical,
            allow_leaks=self.allow_leaks,
            numbers=[*self.reading.percents, *self.reading.dates],
            dates=self.reading.dates,
            written=self._written,
            joined=dict.fromkeys(self.join_feature_twins, ()) if self._encoder is None else self._encoder.joined,
            missing=self.missing,
            most_categories=MOST_CATEGORIES if self.encoding == "onehot" else None,
            kinds=None if self._encoder is None else self._encoder.kinds,
        )

    def _converted(self, table: pa.Table) -> pa.Table:
        kept = {self.label, *self.group, *self.categorical, *([self.split] if self.split else [])}
        trained = None if self._encoder is None else self._encoder.written
        converted = self.reading.convert(self._source.path, table, kept, self._source.several, trained)
        self._written = converted.written
        return converted.table

    def fit_encoder(self, data: GroupedRows) -> Encoder:
        """Fit the features on the training rows."""
        for finding in distinct_columns(data):
            rank_zero_warn(f"{self.path}: {finding.sentence}")
        return self._encoder_of(data)

    def _encoder_of(self, data: GroupedRows) -> Encoder:
        return Encoder(
            *trained_names(data),
            [NumericFeature.fit(f.column, data.learnt, f.written) for f in data.features if f.is_number],
            [CategoricalFeature.fit(f.column, data.learnt, f.is_joined) for f in data.features if not f.is_number],
            self.encoding,
        )

    @classmethod
    def check_state(cls, of: str, state: Any, key: str) -> None:
        """As of all data that is encoded."""
        check_columns(of, state, key)

    def read_encoder(self, state: dict[str, Any]) -> Encoder:
        """The encoder of a checkpoint."""
        encoder = Encoder.from_state(state)
        apart = [name for name in self.join_feature_twins if name not in encoder.joined]
        if apart:
            rank_zero_warn(
                f"{as_option('join_feature_twins', apart)} has no effect: values are read as in training, which joined "
                f"none of {'it' if len(apart) == 1 else 'them'}; fit with it"
            )
        return encoder

    def make_rows(self, data: GroupedRows, rows: np.ndarray, where: str) -> InMemory:
        """Encoded features and labels of the rows at these places."""
        encoder, columns = self.encoder, {feature.name: feature.column for feature in data.features}
        inputs: Any = encoder.inputs(columns, rows)
        if self._stage() not in (None, "fit"):
            if not self._is_of_training:  # of which the fit has said it
                self._say_missing(where, data, rows)
                say_joined(where, data.features, rows)
            say_unseen(where, encoder.categorical, columns, rows, inputs["categorical"].numpy())
            say_outside(where, encoder.numeric, data.features, rows)
        inputs = inputs if encoder.categorical else inputs["numeric"]
        return InMemory(inputs, encoder.label(data, rows), encoder.transform())

    def setup(self, stage: str) -> None:
        """As of every file; whether its rows are those of training is found anew."""
        self.__dict__.pop("_is_of_training", None)
        super().setup(stage)

    @cached_property
    def _is_of_training(self) -> bool:
        """Whether the file has the training rows that the encoding of a checkpoint was fitted on."""
        return self._rows.trains and self._encoder_of(self._rows).agrees(self.encoder.state_dict())

    @cached_property
    def _rows(self) -> GroupedRows:
        """The rows that are used, those that are to be dropped in no split."""
        data = super()._rows
        if self.missing != "drop":
            return data
        missing = np.array([feature.missing for feature in data.features]).reshape(-1, len(data.split))
        for split in data.splits:
            self._say_dropped(data, split, missing)
        return replace(data, split=np.where(missing.any(axis=0), -1, data.split))

    def _say_dropped(self, data: GroupedRows, split: str, missing: np.ndarray) -> None:
        """Say how many rows of a split are dropped, by which features are missing, bool ``[features, n]``."""
        cells = missing[:, data.rows_of(split)]
        dropped, total = int(cells.any(axis=0).sum()), cells.shape[1]
        counts = cells.sum(axis=1).tolist()
        lacking = ", ".join(f"{f.name} {count:,}" for f, count in zip(data.features, counts, strict=True) if count)
        if dropped and dropped == total:
            raise InputError(
                f"{self.path}: each of the {total:,} {split} rows lacks a feature ({lacking}) and would be dropped; "
                "exclude such columns, or give missing='indicator'"
            )
        if dropped:
            rank_zero_info(
                f"{self.path}: left out {dropped:,} of {total:,} {split} rows, which lack a feature ({lacking})"
            )

    def _say_missing(self, where: str, data: GroupedRows, rows: np.ndarray) -> None:
        """Say how many of these rows lack features that are filled in, by column.

        A blank category that training did not have is read as unknown, and told with such.
        """
        unknown = {feature.name for feature in self.encoder.categorical if None not in feature.values}
        missing = {feature.name: feature.missing[rows] for feature in data.features if feature.name not in unknown}
        found = np.any([*missing.values(), np.zeros(len(rows), dtype=bool)], axis=0).sum()
        if found:
            said = some((f"{name} {cells.sum():,}" for name, cells in missing.items() if cells.any()), shown=10)
            rank_zero_info(
                f"{where}: {found:,} of {len(rows):,} rows lack a feature, which is filled in as in training, by "
                f"column: {said}"
            )
