"""What a run noted of its best checkpoint by each criterion, in ``selection.json``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from drurank.errors import InputError
from drurank.figures.selecting import selectable_criterion
from drurank.files import read_json, write_json
from drurank.run_folder.checkpoint_io import read_checkpoint
from drurank.run_folder.layout import REPORT_FILE, SELECTION_FILE

AGAIN = "fit again"
REMEDY = f"give the folder of a run that `fit` made, or {AGAIN}"
NOTED = {"*": {"file": str, "value": int | float, "epoch": int}}


def read_selection(run: Path) -> dict[str, dict[str, Any]]:
    """What ``selection.json`` of a run says: criterion to file (a path), value and epoch.

    Raises:
        InputError: if the run has no ``selection.json``, it is damaged or names a file outside of the run, a file it
            names is gone, or a criterion is not known here.
    """
    file = run / SELECTION_FILE
    if not file.is_file():
        raise InputError(f"{run} has no {SELECTION_FILE}; give the folder of a run that `fit` made")
    noted = {name: {**entry, "file": run / entry["file"]} for name, entry in read_noted(file).items()}
    if not noted:
        raise InputError(f"{file} names no checkpoint; fit again, with at least one criterion in select")
    for name, entry in noted.items():
        try:
            selectable_criterion(name)  # refuses one that is not registered: the report would lack it
            inside = entry["file"].resolve().is_relative_to(run.resolve())
        except (ValueError, OSError, RuntimeError) as error:  # the last of a link that leads to itself
            raise InputError(f"{file}: {' '.join(str(error).split())}; {REMEDY}") from error
        if not inside:
            raise InputError(f"{file} names {entry['file']}, a file outside of the run; give a run that `fit` made")
        if not entry["file"].is_file():
            raise InputError(f"{file} names {entry['file']} as the best by {name}, which is missing; fit again")
    return noted


def read_noted(file: Path) -> dict[str, dict[str, Any]]:
    """What a ``selection.json`` holds: criterion to file (from the folder of that file), value and epoch.

    Raises:
        InputError: if it is damaged.
    """
    noted: dict[str, dict[str, Any]] = read_json(file, REMEDY, NOTED)
    return noted


def alike_in_weights(selection: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Criteria whose checkpoints hold the same weights together, so that each set of weights is tested once.

    Args:
        selection: what ``read_selection`` gave.

    Returns:
        Names of criteria, in the order of the selection.
    """
    found: list[list[str]] = []
    for name, entry in selection.items():
        for names in found:
            first = selection[names[0]]
            if first["epoch"] == entry["epoch"] and _same_weights(first["file"], entry["file"]):
                names.append(name)
                break
        else:
            found.append([name])
    return found


def _same_weights(one: Path, other: Path) -> bool:
    # In one epoch there may be several validations, and a run that is killed may train an epoch again.
    mine, theirs = (read_checkpoint(file)["state_dict"] for file in (one, other))
    return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)


def copy_test(folder: Path, names: Sequence[str], selection: Mapping[str, Mapping[str, Any]]) -> None:
    """Give the test of the first of these criteria to the others too, whose checkpoints hold the same weights.

    Args:
        folder: where each criterion has a folder with its test.
        names: of the criteria.
        selection: what ``read_selection`` gave.
    """
    tested = folder / names[0]
    for name in names[1:]:
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(tested, folder / name)
        report = folder / name / REPORT_FILE
        if report.is_file():
            content = json.loads(report.read_text(encoding="utf-8"))
            write_json(report, {**content, "checkpoint": str(selection[name]["file"])})
