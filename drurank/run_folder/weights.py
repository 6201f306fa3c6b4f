"""The weights of a run's training groups by epoch: one CSV file, or a folder with a Parquet file an epoch."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from drurank.errors import InputError
from drurank.files import begins_with, replace_file
from drurank.parquet import BROKEN, opened_parquet
from drurank.run_folder.layout import WEIGHTS_FILE, WEIGHTS_FOLDER

Form = Literal["csv", "parquet"]
Epoch = tuple[int, np.ndarray, np.ndarray]
"""An epoch, and rank and mean weight by group, float64 ``[m]``, ``nan`` where there is none."""
COLUMNS = ("epoch", "group", "count", "accuracy", "rank", "mean_weight", "max_weight")
WEIGHED = ("rank", "mean_weight")
REMEDY = "move it away to go on without earlier epochs"
BLOCK = 1 << 22
"""Bytes that are read at a time."""


class WeightsTable(Protocol):
    """Rows by epoch and group, in a run's folder."""

    path: Path
    """Of the file or the folder."""

    def begin(self, epoch: int) -> None:
        """Keep the rows of earlier epochs only, and be there.

        Raises:
            InputError: if what is there is damaged.
        """

    def write(self, epoch: int, rows: pa.Table) -> int:
        """Add the rows of an epoch, ``COLUMNS``; gives their bytes in the file."""
        ...

    def count(self, epoch: int) -> int:
        """Number of rows of an epoch."""
        ...

    def groups(self) -> int:
        """Number of groups in the first epoch that is there; 0 if there is none."""
        ...

    def epochs(self) -> Iterator[Epoch]:
        """Each epoch in its order; one at a time is held in memory."""
        ...


class WeightsCsv:
    """All epochs in ``weights.csv``."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / WEIGHTS_FILE

    def begin(self, epoch: int) -> None:
        """Write the file again without the rows of epochs that are trained again, and without one torn by a kill."""
        # Row by row, since a run of many groups and epochs has a file of gigabytes.
        replace_file(self.path, lambda beside: self._copy_before(epoch, beside))

    def write(self, epoch: int, rows: pa.Table) -> int:
        """Add the rows at the end."""
        if not begins_with(self.path, ",".join(COLUMNS)):
            from lightning.pytorch.utilities.rank_zero import rank_zero_warn  # here, since it is slow to import

            rank_zero_warn(
                f"{self.path} was removed or changed while the run trained; it is written anew from epoch {epoch} on, "
                "with what could be read of it"
            )
            self.begin(epoch)
        before = self.path.stat().st_size
        with self.path.open("ab") as out:
            pa_csv.write_csv(rows, out, pa_csv.WriteOptions(include_header=False))
        return self.path.stat().st_size - before

    def count(self, epoch: int) -> int:
        """Number of rows of an epoch."""
        return sum(len(rank) for one, rank, _ in self.epochs() if one == epoch)

    def groups(self) -> int:
        """Number of groups in the first epoch."""
        return next((len(rank) for _, rank, _ in self.epochs()), 0)

    def epochs(self) -> Iterator[Epoch]:
        """Each epoch in its order.

        Raises:
            InputError: if the file is damaged.
        """
        parts: list[Epoch] = []
        for epoch, rank, weight in self._pieces() if self.path.is_file() else ():
            if parts and parts[0][0] != epoch:
                yield _joined(parts)
                parts = []
            parts.append((epoch, rank, weight))
        if parts:
            yield _joined(parts)

    def _pieces(self) -> Iterator[Epoch]:
        kinds = dict.fromkeys(COLUMNS, pa.string()) | {"epoch": pa.int64()}
        kinds |= dict.fromkeys(WEIGHED, pa.float64())
        try:
            with pa_csv.open_csv(
                self.path,
                pa_csv.ReadOptions(block_size=BLOCK),
                pa_csv.ParseOptions(newlines_in_values=True),
                pa_csv.ConvertOptions(column_types=kinds, include_columns=["epoch", *WEIGHED]),
            ) as blocks:
                for block in blocks:
                    epoch, rank, weight = (block[name].to_numpy(zero_copy_only=False) for name in ("epoch", *WEIGHED))
                    edges = [0, *(np.flatnonzero(np.diff(epoch)) + 1), len(epoch)]
                    for low, high in pairwise(edges):
                        if high > low:
                            yield int(epoch[low]), rank[low:high], weight[low:high]
        except (pa.ArrowException, ValueError, KeyError) as error:
            raise _damaged(self.path, error) from error

    def _copy_before(self, epoch: int, beside: Path) -> None:
        with beside.open("w", newline="", encoding="utf-8") as kept:
            kept.write(f"{','.join(COLUMNS)}\n")
            try:
                kept.writelines(map(_line, self._rows_before(epoch)))
            except (ValueError, csv.Error) as error:
                if isinstance(error, InputError):
                    raise
                raise _damaged(self.path, error) from error

    def _rows_before(self, epoch: int) -> Iterator[list[str]]:
        if not self.path.is_file():
            return
        in_epoch: dict[int, int] = {}
        with self.path.open(newline="", encoding="utf-8") as lines:
            rows = csv.reader(lines)
            header, torn = next(rows, list(COLUMNS)), False
            if header != list(COLUMNS):
                raise _damaged(self.path, f"its first line is {','.join(header)[:80]!r}")
            for number, row in enumerate(rows, start=1):
                if torn:
                    raise _damaged(self.path, f"row {number - 1} has other than {len(COLUMNS)} cells")
                torn = len(row) != len(COLUMNS)
                if torn:
                    # A kill tears a row that is being written, not one of an epoch before the checkpoint's end.
                    if not row[:1] or not _is_number(row[0]) or (len(row) > 1 and int(row[0]) < epoch):
                        raise _damaged(self.path, f"row {number} has {len(row)} of {len(COLUMNS)} cells")
                    continue
                here = _epoch_of(row)
                if here < epoch:
                    in_epoch[here] = in_epoch.get(here, 0) + 1
                    yield row
        odd = next((one for one, count in in_epoch.items() if count != max(in_epoch.values())), None)
        if odd is not None:
            raise _damaged(self.path, f"epoch {odd} has {in_epoch[odd]} rows, others {max(in_epoch.values())}")


class WeightsParquet:
    """Each epoch in a file of its own, ``weights/epoch_<t>.parquet``."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / WEIGHTS_FOLDER

    def begin(self, epoch: int) -> None:
        """Remove the files of epochs that are trained again."""
        self.path.mkdir(parents=True, exist_ok=True)
        for one, file in self._files():
            if one >= epoch:
                file.unlink()

    def write(self, epoch: int, rows: pa.Table) -> int:
        """Write the file of an epoch."""
        file = self.path / f"epoch_{epoch:04}.parquet"
        replace_file(file, lambda beside: pa_parquet.write_table(rows, beside, write_page_checksum=True))
        return file.stat().st_size

    def count(self, epoch: int) -> int:
        """Number of rows of an epoch."""
        return sum(len(self._read(file)) for one, file in self._files() if one == epoch)

    def groups(self) -> int:
        """Number of groups in the first epoch."""
        return next((len(self._read(file)) for _, file in self._files()), 0)

    def epochs(self) -> Iterator[Epoch]:
        """Each epoch in its order.

        Raises:
            InputError: if a file is damaged.
        """
        for epoch, file in self._files():
            table = self._read(file)
            yield epoch, *(table[name].cast(pa.float64()).to_numpy() for name in WEIGHED)

    def _read(self, file: Path) -> pa.Table:
        try:
            with opened_parquet(file, file, WEIGHED.__contains__) as (opened, known):
                if lacking := [name for name in WEIGHED if name not in known]:
                    raise _damaged(file, f"its column {lacking[0]} is missing")
                return opened.read(list(WEIGHED))
        except BROKEN as error:
            raise _damaged(file, error) from error

    def _files(self) -> list[tuple[int, Path]]:
        found = [(file.stem.removeprefix("epoch_"), file) for file in self.path.glob("epoch_*.parquet")]
        return sorted((int(number), file) for number, file in found if number.isascii() and number.isdigit())


def weights_table(folder: Path, form: Form = "csv") -> WeightsTable:
    """The table of a run, to be written in this form.

    Raises:
        InputError: if the run has one in the other form.
    """
    tables: dict[Form, WeightsTable] = {"csv": WeightsCsv(folder), "parquet": WeightsParquet(folder)}
    other: Form = "csv" if form == "parquet" else "parquet"
    if tables[other].path.exists():
        raise InputError(
            f"{tables[other].path} has the weights of this run as {other}; give GroupHistory form={other!r}, or move "
            "it away"
        )
    return tables[form]


def weights_of(folder: Path) -> WeightsTable:
    """The table that a run has, in whichever form."""
    parquet = WeightsParquet(folder)
    return parquet if parquet.path.is_dir() else WeightsCsv(folder)


def _line(row: list[str]) -> str:
    """A row as Arrow writes it, so that a run that was resumed has the same bytes: of its cells the group is text."""
    epoch, group, *figures = row
    return ",".join([epoch, '"' + group.replace('"', '""') + '"', *figures]) + "\n"


def _epoch_of(row: list[str]) -> int:
    if not _is_number(row[0]):
        raise ValueError(f"an epoch is {row[0]!r}")
    for cell in row[2:]:
        if cell:
            float(cell)
    return int(row[0])


def _is_number(cell: str) -> bool:
    return cell.isascii() and cell.isdigit()


def _joined(parts: list[Epoch]) -> Epoch:
    rank, weight = (np.concatenate(arrays) for arrays in zip(*(part[1:] for part in parts), strict=True))
    return parts[0][0], rank, weight


def _damaged(path: Path, why: object) -> InputError:
    return InputError(f"{path} is damaged: {' '.join(str(why).split())[:200]}; {REMEDY}")
