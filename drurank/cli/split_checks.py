"""What split refuses."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.files import refuse_existing
from drurank.splits import SPLITS
from drurank.tabular.columns import refuse_unknown
from drurank.tabular.formats import DELIMITERS, WRITTEN
from drurank.tabular.reading import may_be_on_hub, suffix_of
from drurank.tabular.several import files_of
from drurank.tabular.spellings import plain_group, twins
from drurank.tabular.splitting import OOD_TEST, OOD_VAL, TRAIN


def refuse_output(path: str, target: Path, manifest_file: Path, overwrite: bool) -> None:
    """Refuse a name of the hub, and an output that cannot be written, is the table or would replace a file unasked."""
    suffix, files = target.suffix.lower(), files_of(path)
    for name in files:
        if may_be_on_hub(name) and not Path(name).expanduser().exists():
            raise InputError(
                f"there is no file or folder {name}; give one, of a data set of the hub what its save_to_disk writes"
            )
    if suffix not in WRITTEN:
        raise InputError(f"output is {str(target)!r}; give a file that ends in {', '.join(WRITTEN)}")
    if any(suffix_of(file) in DELIMITERS for file in files) and suffix not in DELIMITERS:
        raise InputError(
            f"{path} is a file of text, whose cells split copies as they are; {suffix} would hold its numbers as text, "
            f"which are no numbers when it is read; give an --output that ends in {' or '.join(DELIMITERS)}"
        )
    if target.resolve() in [Path(file).expanduser().resolve() for file in files]:
        itself = "the table itself" if len(files) == 1 else f"one of the files of {path}"
        raise InputError(f"output is {str(target)!r}, {itself}; give another file")
    longest = 255 - len(os.fsencode(manifest_file.name)) + len(os.fsencode(target.name))
    if len(os.fsencode(target.name)) > longest:
        raise InputError(
            f"output is {str(target)!r}, and the manifest beside it, <output>.manifest.json, would have a name of more "
            f"than 255 bytes; give a name of {longest} at most"
        )
    read = [os.path.expanduser(file) for file in files]
    refuse_existing((target, manifest_file), overwrite=overwrite, inputs=read)


def refuse_columns(path: str, table: pa.Table, wanted: list[str], split: str) -> None:
    """Refuse columns that are not there, and a name of the new one that is."""
    refuse_unknown(path, table, wanted)
    if not split.strip():
        raise InputError(f"split is {split!r}; give a name for the new column")
    if split in table.column_names:
        raise InputError(
            f"{path} has a column {split!r} already; give the new one another name, as --split "
            f"{shlex.quote(split + '_2')}, or take the old one out of the file"
        )


def refuse_lost_label(path: str, split: np.ndarray, label: np.ndarray, label_names: list[str]) -> None:
    """Refuse a split whose training rows lack a label that others have."""
    rows = np.bincount(label[split >= 0], minlength=len(label_names))
    lost = np.flatnonzero((rows > 0) & (np.bincount(label[split == TRAIN], minlength=len(label_names)) == 0))
    if len(lost):
        raise InputError(
            f"{path}: the label {label_names[lost[0]]!r} (rows with it: {rows[lost[0]]:,}) would be in no training "
            "row, since these are drawn for other splits; give another --seed, or leave its rows out"
        )


def twins_of(split: np.ndarray, group: np.ndarray, group_names: Sequence[str], least: int) -> list[dict[str, Any]]:
    """Groups whose names differ only by case, blanks, Unicode form or zeros, those on both sides first.

    Args:
        split: code of each row's split, its place in ``SPLITS``, int64 ``[n]``; -1 for none.
        group: group number, int64 ``[n]``.
        group_names: name by group number.
        least: rows that a group has at least, or it is left out.

    Returns:
        Of each name that is written in several ways ``names``, the ``splits`` that these have rows in, whether both
        training and an OOD split are among them, ``across``, and how many rows are left out that would not be if the
        names were one, ``lost``.
    """
    alike, count = twins(group_names, plain_group), np.bincount(group, minlength=len(group_names))
    place = {name: number for number, name in enumerate(group_names)}
    present = np.zeros((len(group_names), len(SPLITS) + 1), dtype=bool)
    present[group, split] = True
    found = []
    for names in alike:
        here = {code for name in names for code in np.flatnonzero(present[place[name]]).tolist()}
        across = TRAIN in here and bool(here & {OOD_VAL, OOD_TEST})
        splits = [name for code, name in enumerate(SPLITS) if code in here]
        sizes = count[[place[name] for name in names]]
        lost = int(sizes[sizes < least].sum()) if sizes.sum() >= least else 0
        found.append({"names": sorted(names), "splits": splits, "across": across, "lost": lost})
    return sorted(found, key=lambda twin: not twin["across"])
