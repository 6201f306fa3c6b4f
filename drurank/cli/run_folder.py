"""The folder of a run, and its configuration as the default for what is not typed."""

from __future__ import annotations

from collections.abc import Container
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.cli.commands import exporting
from drurank.cli.early import NO_FILE, refuse_missing_checkpoint
from drurank.cli.saved_data import data_to_evaluate
from drurank.cli.saved_form import REMEDY, check_form, sections
from drurank.cli.saved_trainer import to_evaluate
from drurank.cli.words import given_options
from drurank.errors import InputError
from drurank.imports import refuse_missing
from drurank.run_folder.checkpoint_io import read_saved
from drurank.run_folder.layout import CONFIG_FILE, SELECTION_FILE
from drurank.run_folder.links import refuse_links
from drurank.run_folder.place import run_of
from drurank.run_folder.selection import read_selection
from drurank.words import joined
from drurank.yaml_files import dump_yaml, read_options

OF_THIS_PROCESS = ("best", "last")
"""Values of ``ckpt_path`` that only make sense in Python, after a fit in the same process."""


def with_config_of_run(words: list[str]) -> tuple[list[str], Path | None]:
    """If a run or a checkpoint of one is given, put the run's configuration before what is typed.

    Args:
        words: the words after the program's name.

    Returns:
        The words, with the model, data, trainer and seed of the run first, without the folder of a study that it is
        part of, and the file that these are read from; the words alone if a ``--config`` or the class of the model is
        typed.
    """
    typed: dict[str, str] = {}
    for given in given_options(words):
        typed.setdefault(given.option, given.value)
    checkpoint, run = typed.get("ckpt_path"), typed.get("run")
    if run:
        refuse_links(Path(run))  # before the parser opens a file that is named in it
    if checkpoint and checkpoint not in NO_FILE:
        refuse_missing_checkpoint(checkpoint)
        found = run_of(checkpoint)
        if found is not None:
            refuse_links(found)
        read_saved(checkpoint)
    if (run or checkpoint) and "model" in typed and not typed.keys() & {"config", "data", "help", "-h"}:
        said = f"--run {run}" if run else f"--ckpt_path {checkpoint}"
        raise InputError(
            f"{said} with --model {typed['model']} lacks --data. Leave --model out to take model and data of that run, "
            "or give --data too"
        )
    if len(words) < 2 or typed.keys() & {"config", "model", "help", "-h"}:
        return words, None
    folder = Path(run) if run else run_of(checkpoint) if checkpoint else None
    if folder is None or not (folder / CONFIG_FILE).is_file():
        if run:
            raise no_run(Path(run))
        return words, None
    kept = ["seed_everything", "trainer", "model", "data"] + (["select"] if words[0] == "fit" else [])
    data = {name.removeprefix("data.") for name in typed}
    config = saved_config(folder, kept, to_fit=words[0] == "fit", typed=data)
    if words[0] != "fit" and not (words[0] == "test" and run):
        config["trainer"] = _outside_of_study(config.get("trainer") or {}, folder)
    if words[0] != "fit":
        config["trainer"], left = to_evaluate(config.get("trainer") or {}, folder)
        if left:
            rank_zero_warn(
                f"{folder / CONFIG_FILE}: of the trainer {', '.join(left)} "
                f"{'is' if len(left) == 1 else 'are'} not taken to {words[0]}; type what you want of it, or give "
                f"config={str(folder / CONFIG_FILE)!r}"
            )
    return [words[0], "--config", dump_yaml(config), *words[1:]], folder / CONFIG_FILE


def saved_config(folder: Path, kept: list[str], *, to_fit: bool, typed: Container[str] = ()) -> dict[str, Any]:
    """Those sections of a run's configuration that are kept.

    Args:
        folder: of the run, which may be of somebody else.
        kept: names of the sections.
        to_fit: whether it is to be trained with, for which a form that `fit` does not write will do, and where its data
            writes to any folder.
        typed: options of the data that a person gave.

    Raises:
        InputError: if it is damaged, or of code that is not imported.
    """
    config = sections(folder / CONFIG_FILE, read_options(folder / CONFIG_FILE, REMEDY), kept)
    if not to_fit:
        check_form(folder / CONFIG_FILE, config)
        data, changed = data_to_evaluate(config.get("data"), folder, typed)
        config |= {"data": data} if "data" in config else {}
        if changed:
            rank_zero_warn(f"{folder / CONFIG_FILE}: of the data {joined(changed)}; give what you want of it")
    for named in (config.get(key) for key in ("model", "data")):
        if isinstance(named, dict):
            refuse_missing(str(named.get("class_path", "")))
    return config


def no_run(folder: Path) -> InputError:
    """What to give in place of a folder that is of no run."""
    from drurank.study.folder import CANDIDATE_FOLDER, PLAN_FILE, RUN_FOLDER  # here, since most runs are of no study

    if not folder.is_dir():
        beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
        alike = get_close_matches(folder.name, [one.name for one in beside if one.is_dir()], n=1)
        meant = f"did you mean {folder.parent / alike[0]}? " if alike else ""
        return InputError(f"there is no folder {folder}; {meant}give the folder of a run that `fit` made")
    runs = sorted(file.parent for file in folder.glob(f"*/{CONFIG_FILE}"))
    if runs == [folder / RUN_FOLDER]:
        return InputError(f"{folder} holds the run, and is not its folder; give {runs[0]}")
    if runs:
        return InputError(f"{folder} holds {len(runs)} runs, and is no run itself; give one of them, as {runs[-1]}")
    if not (folder / PLAN_FILE).is_file():
        return InputError(f"{folder} has no {CONFIG_FILE}; give the folder of a run that `fit` made")
    runs = sorted(folder.glob(f"{CANDIDATE_FOLDER}/*/{RUN_FOLDER}"))
    kept = [*read_selection(runs[0])] if runs and (runs[0] / SELECTION_FILE).is_file() else []
    one = f"; or give that of one run, as {runs[0]}" if runs else ""
    return InputError(
        f"{folder} is the folder of a study, as `fit --seeds` makes one, of several runs; copy the best of them by "
        f"`{exporting(str(folder), kept)}`, and give its folder best{one}"
    )


def _outside_of_study(trainer: dict[str, Any], run: Path) -> dict[str, Any]:
    """The trainer's options, without those by which a candidate of a study writes into the study."""
    from drurank.study.folder import outside_of_study, study_of  # here, since most runs are of no study

    return trainer if study_of(run) is None else outside_of_study(trainer)
