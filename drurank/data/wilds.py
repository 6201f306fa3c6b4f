"""The data set WILDS-Amazon, as it lies on disk."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from lightning.pytorch.utilities.rank_zero import rank_zero_info

from drurank.data.text import Text
from drurank.errors import InputError
from drurank.tabular.columns import Column, refuse_unknown, to_number
from drurank.tabular.picking import pick_rows
from drurank.tabular.reading import read_table
from drurank.tabular.rows import GroupedRows
from drurank.tabular.several import Source
from drurank.tabular.text import TextFile

REVIEWS, SPLITS = "reviews.csv", "splits/user.csv"
TEXT, LABEL, GROUP, SPLIT = "reviewText", "overall", "reviewerID", "split"
LEFT_OUT = -1
NAMES = {0: "train", 1: "ood_val", 2: "id_val", 3: "ood_test", 4: "id_test"}
STARS = range(1, 6)
REMEDIES = {
    "blank_group": "give each row one, or leave the row out",
    "shared_groups": f"take {REVIEWS} and {SPLITS} from one archive, their rows in one order",
}
"""Code of a finding to what to do about it, since the files of the data set are not to be changed."""
VERSION = re.compile(r"amazon_v(\d+(?:\.\d+)*)")
SOURCE = "pangwei/wilds-amazon on the Hugging Face hub, its author's mirror"


class WILDS(Text):
    """WILDS-Amazon: the stars of a review, from 1 to 5, by its text; a group is the reviewer.

    Its folder is read as it lies on disk, without the package ``wilds``; nothing is downloaded. Get it from
    ``pangwei/wilds-amazon`` on the Hugging Face hub, its author's mirror: extract the archive so that
    ``<path>/amazon_v2.1/reviews.csv`` is there. The splits are those of ``splits/user.csv`` (0 train, 1 ood_val, 2
    id_val, 3 ood_test, 4 id_test; -1 is left out), so ``p10`` of ``ood_test`` is the official metric. The rows that
    messages and predictions name are those of ``reviews.csv``.

    Args:
        path: the folder with ``amazon_v2.1`` (of several versions the newest is read), or that with ``reviews.csv``.
        **kwargs: those of ``Text`` but the columns and what else says how a file is read.

    Raises:
        InputError: if an option is not one of these; bad data stops a run as it starts.
    """

    required: ClassVar[str] = "path=..."
    one_table: ClassVar[bool] = False
    fixed = (
        "label",
        "group",
        "split",
        "text",
        "split_names",
        "relabel",
        "regroup",
        "join_twins",
        "group_in",
        "by",
        "delimiter",
        "text_encoding",
    )
    """Options of its parents that it lacks; the command line learns that from the call below."""

    def __init__(self, path: str, **kwargs: Any) -> None:
        super().__init__(
            path,
            label=LABEL,
            group=GROUP,
            split=SPLIT,
            text=TEXT,
            split_names=None,
            relabel=None,
            regroup=None,
            join_twins=False,
            group_in="all",
            by="crossed",
            delimiter=None,
            text_encoding=None,
            **kwargs,
        )

    @classmethod
    def from_dataset(cls, dataset: Any, **kwargs: Any) -> Any:
        """Refused: these are the files of one data set.

        Raises:
            InputError: always.
        """
        raise InputError("WILDS reads the folder of WILDS-Amazon and no other rows; give Text.from_dataset yours")

    def raw_rows(self) -> GroupedRows:
        """Stars, reviewer, split and text of the reviews that are not left out, nothing refused."""
        files = {name: self._file(name) for name in (LABEL, GROUP, SPLIT, TEXT)}
        return self._gather(texts=self.text, file_of=files, remedies=REMEDIES)

    def describe(self) -> str:
        """The file that splits the reviews."""
        return self._file(SPLIT)

    def _file(self, column: str) -> str:
        return str(self._folder / (SPLITS if column == SPLIT else REVIEWS))

    @cached_property
    def _folder(self) -> Path:
        """The folder of the two files.

        Raises:
            InputError: if one of them is missing.
        """
        root = Path(self.path).expanduser()
        folder = root if (root / REVIEWS).is_file() else _newest(root)
        if folder is None:
            raise _missing(f"{root / REVIEWS} and no {root}/amazon_v*/{REVIEWS}")
        for file in (REVIEWS, SPLITS):
            if not (folder / file).is_file():
                raise _missing(str(folder / file))
        return folder

    @property
    def _places(self) -> np.ndarray:
        return np.flatnonzero(self._codes != LEFT_OUT)

    @cached_property
    def _codes(self) -> np.ndarray:
        """What ``splits/user.csv`` says of each review, int8 ``[n]``.

        Raises:
            InputError: if that is not one of the codes.
        """
        file = self._file(SPLIT)
        table = read_table(file)
        refuse_unknown(file, table, [SPLIT])
        column = Column(file, SPLIT, table[SPLIT])
        numbers = np.array([*map(to_number, column.texts), np.nan])
        wrong = ~np.isin(numbers, [LEFT_OUT, *NAMES])[column.codes]
        if wrong.any():
            known = ", ".join(f"{code} ({name})" for code, name in NAMES.items())
            raise column.error(int(np.argmax(wrong)), f"is not a split; write {known} or {LEFT_OUT} (left out)")
        codes: np.ndarray = numbers[column.codes].astype(np.int8)
        return codes

    @cached_property
    def _source(self) -> Source:
        """Text, label, group and split of the reviews that are not left out, in their order."""
        file, codes = self._file(TEXT), self._codes
        kept = codes != LEFT_OUT
        if not kept.any():
            raise InputError(f"{self._file(SPLIT)} leaves out every row; give one that says which to train on")
        table, count = pick_rows(TextFile(file, Path(file), None), [TEXT, LABEL, GROUP], kept)
        if count != len(codes):
            raise InputError(
                f"{file} has {count:,} rows and {self._file(SPLIT)} {len(codes):,}, and row by row one says the split "
                "of the other; take both from one archive"
            )
        rank_zero_info(f"{file}: {table.num_rows:,} of {count:,} reviews are in a split of {SPLITS}")
        names = pa.array([NAMES.get(code) for code in codes[kept].tolist()], pa.string())
        stars = _stars(Column(file, LABEL, table[LABEL], self._places))
        table = table.set_column(table.column_names.index(LABEL), LABEL, stars).append_column(SPLIT, names)
        return Source.given(self.path, table)


def _missing(file: str) -> InputError:
    return InputError(
        f"there is no {file}; get {SOURCE}, extract the archive so that <path>/amazon_v2.1/{REVIEWS} and "
        f"<path>/amazon_v2.1/{SPLITS} are there, and give that path"
    )


def _newest(root: Path) -> Path | None:
    """The folder of the newest version of the data set, where there is one."""
    found = {tuple(map(int, match[1].split("."))): path for path in root.glob("amazon_v*") if (match := _version(path))}
    return found[max(found)] if found else None


def _version(path: Path) -> re.Match[str] | None:
    return VERSION.fullmatch(path.name) if path.is_dir() else None


def _stars(column: Column) -> pa.Array:
    """The stars of each review as ``1`` to ``5``, also where they are written 5.0; blank where there are none.

    Raises:
        InputError: if a cell is not a number of stars.
    """
    written = {text: to_number(text) for text in column.texts}
    for code, number in enumerate(written.values()):
        if number not in STARS:
            row = int(np.argmax(column.codes == code))
            raise column.error(row, "is not a number of stars; write 1, 2, 3, 4 or 5")
    stars = np.array([*(str(int(number)) for number in written.values()), None], dtype=object)
    return pa.array(stars[column.codes], pa.string())
