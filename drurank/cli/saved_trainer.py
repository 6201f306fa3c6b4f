"""What validate, test and predict take from the trainer of a run that may be of somebody else."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DIRPATH = "dirpath"
PATHS = (DIRPATH, "save_dir", "output", "default_root_dir", "root_dir", "log_dir", "exclude_batches_path")
"""Options of callbacks that say where something is written."""
NAME = "filename"
"""An option of callbacks that is the name of a file in such a folder."""
LAUNCHED = frozenset({"LOCAL_RANK", "WORLD_SIZE", "SLURM_NTASKS"})
"""What is set in the environment of one of several processes that something else has launched."""
LIMITS = {
    **dict.fromkeys(("limit_val_batches", "limit_test_batches", "limit_predict_batches"), ("None", "1.0")),
    **dict.fromkeys(("overfit_batches", "fast_dev_run"), ("None", "0.0", "0", "False")),
}
"""Options by which a part of the rows is read, and how their values by which all are print: ``1`` is one batch."""
DECIMAL = re.compile(r"\d{1,18}")
ONLY_FIT = ("profiler", "plugins", "model_registry")


def to_evaluate(trainer: Mapping[str, Any], run: Path) -> tuple[dict[str, Any], list[str]]:
    """Options of a saved trainer without those that write where nobody asked, or start processes.

    Kept are precision, accelerator, strategy and callbacks, which bear on the figures or are a person's own. Left out
    are limits of batches, with which figures of a few rows would pass for those of all; loggers, since these commands
    write to a folder of their own or to one that is typed, and a logger may send figures to any place; the profiler,
    which writes files; plugins and the registry of models, which evaluation does not need; more devices than this
    machine has cores, and several nodes, in place of which there is one, unless this process was launched as one of
    several; and ``default_root_dir`` and options of callbacks that are paths (``PATHS``), where they lead out of the
    run's folder and the current one, or a ``NAME`` with a folder in it. The folder that the run lies in stays the
    ``default_root_dir``, and a ``dirpath`` becomes the run's folder.

    Args:
        trainer: as the run's configuration has it.
        run: the run's folder.

    Returns:
        The options, and the names of those that are left out and were set.
    """
    kept, left = dict(trainer), []
    for name, unlimited in LIMITS.items():
        if repr(kept.pop(name, None)) not in unlimited:
            left.append(name)
    for name in ONLY_FIT:
        if kept.pop(name, None) is not None:
            left.append(name)
    if kept.get("logger") not in (None, True, False):
        del kept["logger"]
        left.append("logger")
    for name, most in (("devices", os.cpu_count() or 1), ("num_nodes", 1)):
        if not LAUNCHED & os.environ.keys() and as_number(kept.get(name)) > most:
            kept[name] = 1
            left.append(name)
    root = kept.get("default_root_dir")
    if root is not None and not (is_inside(root, run, Path.cwd()) or _is_at(root, run.resolve().parent)):
        kept["default_root_dir"] = None
        left.append("default_root_dir")
    given = kept.get("callbacks")
    if isinstance(given, list):
        kept["callbacks"] = [_without_paths(one, run, left) for one in given]
    elif given is not None:
        kept["callbacks"] = _without_paths(given, run, left)
    return kept, left


def as_number(given: Any) -> float:
    """How many devices or nodes a value is: ``[3]`` and ``"3,"`` are the fourth alone, ``auto`` what is there."""
    if isinstance(given, list):
        return len(given)
    text = str(given)
    if given is None or text in ("auto", "-1"):
        return 1
    return len(text.strip(",").split(",")) if "," in text else int(text) if DECIMAL.fullmatch(text) else math.inf


def _without_paths(callback: Any, run: Path, left: list[str]) -> Any:
    """A callback without its arguments that lead elsewhere, nor those of what its arguments are made of."""
    if isinstance(callback, list):
        return [_without_paths(one, run, left) for one in callback]
    if not isinstance(callback, dict):
        return callback
    kept = dict(callback)
    for part in ("init_args", "dict_kwargs"):
        if isinstance(callback.get(part), dict):
            kept[part] = _arguments_inside(callback[part], run, left)
    return kept


def _arguments_inside(arguments: dict[str, Any], run: Path, left: list[str]) -> dict[str, Any]:
    here = (run, Path.cwd())
    away = [name for name in PATHS if arguments.get(name) is not None and not is_inside(arguments[name], *here)]
    away += [NAME] if os.path.basename(str(arguments.get(NAME))) != str(arguments.get(NAME)) else []
    left += [f"callbacks.{name}" for name in away]
    kept = {name: _without_paths(value, run, left) for name, value in arguments.items() if name not in away}
    if DIRPATH in away:  # which a class may need
        kept[DIRPATH] = str(run)
    return kept


def is_inside(path: Any, *folders: Path) -> bool:
    """Whether a path that a run names lies in one of these folders."""
    if not isinstance(path, str) or "://" in path:
        return False
    try:
        place = Path(path).expanduser().resolve()
    except (OSError, ValueError, RuntimeError):  # as with NUL
        return False
    return any(place.is_relative_to(folder.resolve()) for folder in folders)


def _is_at(path: Any, folder: Path) -> bool:
    try:
        return isinstance(path, str) and "://" not in path and Path(path).expanduser().resolve() == folder
    except (OSError, ValueError, RuntimeError):
        return False
