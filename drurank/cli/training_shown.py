"""What a fit and a validation end with: the checkpoints that were kept, and the criteria."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from drurank.cli.commands import command
from drurank.data import GroupDataModule
from drurank.run_folder.layout import METRICS_FILE, REPORT_FILE
from drurank.run_folder.selection import read_selection
from drurank.splits import TEST
from drurank.study.constant import answer_in, unbeaten, what_to_try
from drurank.study.result import has_equal_weights
from drurank.terminal import Terminal, say
from drurank.words import joined

LOGGED_AS = ("val", "id_val")
"""What begins the names of the figures of the validation splits."""


def show_kept(folder: Path, method: Mapping[str, Any], data: Any) -> None:
    """Show what was kept and where.

    Args:
        folder: of the run.
        method: the method as the configuration has it, with ``class_path`` and ``init_args``.
        data: what was trained on.
    """
    table = Table(title=f"Kept in {folder}")
    for column in ("criterion", "validation", "epoch", "file"):
        table.add_column(column, overflow="fold")
    selection = read_selection(folder)
    for name, entry in selection.items():
        file = Path(os.path.relpath(entry["file"], folder))
        table.add_row(name, f"{entry['value']:.4f}", str(entry["epoch"]), str(file))
    Terminal().print(table)
    _say_where_still_erm(selection, method)
    lacks_tests = isinstance(data, GroupDataModule) and not data.testable()
    said, name = ("Predict with them", "predict") if lacks_tests else ("Test them", "test")
    say(f"{said}: {command(name, ['--run', str(folder)])}")


def show_validation(metrics: Mapping[str, Any]) -> None:
    """Show what was logged of each validation split, by name."""
    found: dict[str, dict[str, float]] = {}
    for name, value in metrics.items():
        split = next((split for split in LOGGED_AS if name.startswith(f"{split}_")), "")
        found.setdefault(name.removeprefix(f"{split}_"), {})[split] = float(value)
    splits = [split for split in ("", *LOGGED_AS) if any(split in values for values in found.values())]
    table = Table("", title="Validation")
    for split in splits:
        table.add_column(split, justify="right")
    for name, values in found.items():
        table.add_row(name, *(f"{values[split]:.4f}" if split in values else "" for split in splits))
    Terminal().print(table)


def say_what_to_try(tests: Mapping[str, Path], selection: Mapping[str, Any], run: Path | None = None) -> None:
    """Say what to try where a tested checkpoint is no better than a constant answer, or of the first epoch.

    Args:
        tests: what each checkpoint is called to the folder of its test.
        selection: criterion to what was noted of its checkpoint; empty where that is not known.
        run: folder of the run that was tested.
    """
    of_constant = [name for name, folder in tests.items() if _is_no_better(folder)]
    of_first = [name for name in tests if name in selection and selection[name]["epoch"] == 0]
    why = [f"{joined(of_constant)} {_is(of_constant)} no better than a constant answer"] if of_constant else []
    why += [f"{joined(of_first)} {_is(of_first)} of epoch 0, the first"] if of_first else []
    if why:
        epochs = [selection[name]["epoch"] for name in {*of_constant, *of_first} & selection.keys()]
        later = _epochs_of(run) - 1 - min(epochs) if run and epochs else 0
        longer, slower = "fit with a larger --trainer.max_epochs", "--model.optimizer.lr of fit"
        found = what_to_try(longer, slower, "--select of fit", later)
        say(f"Best checkpoints: {'; '.join(why)}. {found}")


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _epochs_of(run: Path) -> int:
    """How many epochs a run has trained; 0 if that is not known."""
    file = run / METRICS_FILE
    if not file.is_file():
        return 0
    with file.open(newline="", encoding="utf-8") as lines:
        return 1 + max((int(float(row["epoch"])) for row in csv.DictReader(lines) if row.get("epoch")), default=-1)


def _is_no_better(folder: Path) -> bool:
    """Whether the report of a test says that its first split has a constant answer as good."""
    answers = (answer_in(folder / REPORT_FILE, split) for split in TEST)
    first = next((answer for answer in answers if answer is not None), None)
    return unbeaten(first) is not None


def _say_where_still_erm(selection: Mapping[str, Any], method: Mapping[str, Any]) -> None:
    options = vars(method["init_args"]) if method.get("init_args") else {}
    like = [
        name for name, entry in selection.items() if has_equal_weights(method["class_path"], options, entry["epoch"])
    ]
    if like:
        say(
            f"By {joined(like)} an epoch was kept at which all weights were still equal, so it was trained as ERM is; "
            "later epochs were no better on validation."
        )
