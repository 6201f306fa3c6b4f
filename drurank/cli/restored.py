"""The method and the data of a checkpoint, ready to predict, without a trainer."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning.pytorch import LightningDataModule

import drurank.methods
from drurank.cli.class_paths import options_of
from drurank.cli.run_folder import no_run, saved_config
from drurank.cli.training_parser import RunParser
from drurank.cli.trusted import check_kinds
from drurank.data import GroupDataModule, Images, Table, Text
from drurank.data.encoded import saved_state
from drurank.data.file import FileData
from drurank.errors import InputError, nearest
from drurank.imports import why_not_trusted
from drurank.methods import GroupModule
from drurank.methods.group_module import NOT_KEPT
from drurank.run_folder.checkpoint_checks import KEY, REMEDY
from drurank.run_folder.checkpoint_io import read_checkpoint
from drurank.run_folder.layout import CONFIG_FILE, SELECTION_FILE
from drurank.run_folder.links import refuse_links
from drurank.run_folder.place import run_of
from drurank.run_folder.selection import read_selection
from drurank.tabular.columns import THE_ROWS

PLAIN = (bool, int, float, str, type(None))
"""Kinds of the options that a checkpoint keeps."""


@dataclass(frozen=True)
class Restored:
    """What a checkpoint holds.

    Attributes:
        file: the checkpoint.
        folder: of its run, where a fit on the command line made it.
        method: with the network and its weights, in evaluation mode, on the CPU.
        data: as the run reads it, with the encoding; ``None`` where neither the run nor the checkpoint says.
    """

    file: Path
    folder: Path | None
    method: GroupModule
    data: LightningDataModule | None


def restore(given: str | Path, criterion: str | None = None, **options: Any) -> Restored:
    """What a run's folder or a checkpoint holds.

    Args:
        given: folder of a run that `fit` made, or a checkpoint.
        criterion: by which criterion of the run's selection its checkpoint is chosen; the first, if not given.
        **options: of the data, in place of the run's.

    Raises:
        InputError: if it is neither, is damaged, names classes that are not trusted, or has no such criterion.
    """
    file, folder = _checkpoint_of(Path(given).expanduser(), criterion)
    checkpoint = read_checkpoint(file)
    if folder is None or not (folder / CONFIG_FILE).is_file():
        return Restored(file, None, _method_of(file, checkpoint), _data_of(file, checkpoint, options))
    config = saved_config(folder, ["model", "data"], to_fit=False, typed=options)
    config["data"]["init_args"] = {**(config["data"].get("init_args") or {}), **options}
    parser = RunParser()
    parser.add_subclass_arguments(GroupModule, "model", fail_untyped=False, required=True)
    parser.add_subclass_arguments(LightningDataModule, "data", fail_untyped=False, required=True)
    settings = parser.parse_object(config)
    check_kinds(settings)
    made = parser.instantiate(settings)
    _load(file, made.model, checkpoint)
    _encode(made.data, file, checkpoint)
    return Restored(file, folder, made.model, made.data)


def _checkpoint_of(given: Path, criterion: str | None) -> tuple[Path, Path | None]:
    """The checkpoint, and the folder of its run if it has one."""
    if not given.is_dir():
        if not given.is_file():
            raise InputError(f"there is no run or checkpoint {given}; give the folder of a run that `fit` made")
        if criterion is not None:
            raise InputError(f"criterion is {criterion!r} and {given} one checkpoint; leave it out, or give its run")
        folder = run_of(given)
        if folder is not None:
            refuse_links(folder)
        return given, folder
    refuse_links(given)
    if not (given / SELECTION_FILE).is_file():
        raise no_run(given)
    selection = read_selection(given)
    name = next(iter(selection)) if criterion is None else criterion
    if name not in selection:
        raise InputError(f"{given} kept no checkpoint by criterion {name!r}; {nearest(name, selection)}")
    return selection[name]["file"], given


def _load(file: Path, method: GroupModule, checkpoint: dict[str, Any]) -> None:
    method.on_load_checkpoint(checkpoint)
    try:
        method.load_state_dict(checkpoint["state_dict"], strict=method.strict_loading)
    except RuntimeError as error:
        said = " ".join(str(error).split())[:300]
        raise InputError(f"{file}: its weights are not those of its network ({said}); {REMEDY}") from error
    method.eval()


def _encode(data: LightningDataModule, file: Path, checkpoint: dict[str, Any]) -> None:
    state = saved_state(type(data), checkpoint, file)
    if isinstance(data, GroupDataModule) and state is not None:
        data.load_state_dict(state)


def _method_of(file: Path, checkpoint: dict[str, Any]) -> GroupModule:
    """The method of a checkpoint that no configuration describes: ours, or a class that is imported already."""
    path = checkpoint[KEY]["method"]
    module, _, name = path.rpartition(".")
    why = why_not_trusted(path)
    if why is not None:
        raise InputError(f"{file}: {why}")
    found: Any = getattr(drurank.methods if module == drurank.methods.__name__ else sys.modules.get(module), name, None)
    if not (isinstance(found, type) and issubclass(found, GroupModule)):
        raise InputError(f"{file} was made with {path}, which is not imported; import {module} first")
    method = _made(file, found, checkpoint.get(found.CHECKPOINT_HYPER_PARAMS_KEY) or {})
    _load(file, method, checkpoint)
    return method


def _made(file: Path, cls: type[GroupModule], options: Any) -> GroupModule:
    """A method by the options that its checkpoint keeps, which are plain values: what is more may name a class."""
    if not isinstance(options, dict):
        raise InputError(f"{file} keeps options that are no mapping, but a {type(options).__name__}; {REMEDY}")
    known = {*options_of(f"{cls.__module__}.{cls.__qualname__}")} - {*NOT_KEPT}
    for name, value in options.items():
        if name not in known:
            raise InputError(f"{file} keeps the option {name!r}, which {cls.__name__} does not keep; {REMEDY}")
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(one, PLAIN) for one in values):
            raise InputError(f"{file} keeps the option {name} as a {type(value).__name__}, not a plain value; {REMEDY}")
    try:
        return cls(**options)
    except (TypeError, OverflowError) as error:
        raise InputError(f"{file}: {' '.join(str(error).split())}; {REMEDY}") from error


def _data_of(file: Path, checkpoint: dict[str, Any], options: dict[str, Any]) -> FileData | None:
    """Data of a checkpoint that no configuration describes, with these options; its path is to be given."""
    for cls in (Table, Text, Images):
        if cls.__qualname__ in checkpoint:
            known = [name for name in options_of(f"{cls.__module__}.{cls.__qualname__}") if name != "path"]
            for name in options:
                if name not in known:
                    raise InputError(f"{cls.__name__} has no option {name!r}; {nearest(name, known)}")
            data = cls(THE_ROWS, **{"label": "label", **options})
            _encode(data, file, checkpoint)
            return data
    return None
