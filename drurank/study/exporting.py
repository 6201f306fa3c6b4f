"""Copying the checkpoint to take out of a study."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any

from drurank.errors import InputError
from drurank.files import as_json, missing_folders, refuse_existing, remove_empty, remove_leftovers, replace_files
from drurank.run_folder.layout import CHECKPOINT_FOLDER, CONFIG_FILE, SELECTION_FILE
from drurank.shapes import check_shape
from drurank.study.finished import Study
from drurank.study.folder import MANIFEST_FILE, outside_of_study
from drurank.study.shipping import Recommendation, recommend
from drurank.yaml_files import dump_yaml, read_options


def export_best(
    study: Study,
    output: Path,
    by: str = "qdcg10",
    on: str | None = None,
    method: str | None = None,
    *,
    overwrite: bool = False,
) -> Recommendation:
    """Copy the checkpoint to take into a folder of its own, which commands take like that of a run.

    Args:
        study: finished candidates.
        output: the folder, which is made.
        by: criterion that chooses, see ``recommend``.
        on: split of the comparison.
        method: take this one.
        overwrite: whether a folder that holds an earlier copy, and nothing else, is replaced.

    Raises:
        InputError: if the folder is not empty, or the checkpoint was not kept.
    """
    found = recommend(study, by, on, method)
    name = f"{CHECKPOINT_FOLDER}/{found.checkpoint.name}"
    for folder in (output / CHECKPOINT_FOLDER, output):
        remove_leftovers(folder)
    earlier = _earlier_copy(output)
    if earlier is None:
        refuse_existing((output / file for file in (CONFIG_FILE, name, SELECTION_FILE, MANIFEST_FILE)), overwrite=None)
        if output.exists() and not _is_empty(output):
            raise InputError(
                f"output is {str(output)!r}, which exists and holds more than a copy of a checkpoint, or none; "
                "give a new folder"
            )
    elif not overwrite:
        raise InputError(f"{output} exists; give another output, or overwrite=True to replace it")
    if not found.checkpoint.is_file():
        raise InputError(
            f"{found.checkpoint} was not kept; set keep_checkpoints: true, remove {found.result.folder} and run the "
            "study again"
        )
    run = found.checkpoint.parent.parent
    remedy = f"remove {found.result.folder} and run the study again"
    config = read_options(run / CONFIG_FILE, remedy)
    _check_config(str(run / CONFIG_FILE), config, remedy)
    text = dump_yaml({**config, "trainer": outside_of_study(config.get("trainer") or {})})
    selection = as_json({by: {**found.result.manifest["selection"][by], "file": name}})
    missing = missing_folders(output / CHECKPOINT_FOLDER)
    try:
        replace_files(
            {
                output / CONFIG_FILE: lambda path: path.write_text(text, encoding="utf-8"),
                output / name: lambda path: shutil.copyfile(found.checkpoint, path),
                output / SELECTION_FILE: lambda path: path.write_text(selection, encoding="utf-8"),
                output / MANIFEST_FILE: lambda path: shutil.copyfile(found.result.folder / MANIFEST_FILE, path),
            },
            removed=[file for file in earlier or () if file != output / name],  # the checkpoint by another criterion
        )
    except BaseException:
        remove_empty(missing)
        raise
    return found


def _is_empty(output: Path) -> bool:
    """Whether a folder holds nothing but what a copy that was killed leaves: an empty folder for its checkpoint."""
    inner = output / CHECKPOINT_FOLDER
    return output.is_dir() and all(
        path == inner and path.is_dir() and not path.is_symlink() and not any(path.iterdir())
        for path in output.iterdir()
    )


def _check_config(file: str, config: Mapping[str, Any], remedy: str) -> None:
    """Refuse a configuration that is not of the kind that ``fit`` writes, as far as it is looked into here."""
    check_shape(file, config, {"trainer": dict | NoneType} if "trainer" in config else {}, remedy)
    trainer = config.get("trainer") or {}
    check_shape(file, trainer, {"callbacks": list | NoneType} if "callbacks" in trainer else {}, remedy, "trainer")
    for place, callback in enumerate(trainer.get("callbacks") or []):
        check_shape(file, callback, {"class_path": str}, remedy, f"trainer.callbacks.{place}")
    check_shape(file, config, {"data": dict} if "data" in config else {}, remedy)
    data = config.get("data", {})
    check_shape(file, data, {"init_args": dict} if "init_args" in data else {}, remedy, "data")


def _earlier_copy(output: Path) -> list[Path] | None:
    """The checkpoints in a folder that ``export_best`` wrote and nobody else wrote into; ``None`` if it is no such."""
    files = {CONFIG_FILE, SELECTION_FILE, MANIFEST_FILE}
    inner = output / CHECKPOINT_FOLDER
    if output.is_symlink() or not inner.is_dir() or {path.name for path in output.iterdir()} != {*files, inner.name}:
        return None
    checkpoints = list(inner.iterdir())
    paths = [*(output / name for name in files), *checkpoints]
    is_copy = len(checkpoints) == 1 and checkpoints[0].suffix == ".ckpt"
    is_copy &= not inner.is_symlink() and all(path.is_file() and not path.is_symlink() for path in paths)
    return checkpoints if is_copy else None
