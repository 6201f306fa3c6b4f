"""Which files a ModelCheckpoint takes for its own when a run goes on: only checkpoints in its own folder.

It removes the files that its state names, folders with all that is in them too, and a checkpoint may be of somebody
else, or of a run that has been moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor

from drurank.errors import InputError
from drurank.run_folder.checkpoint_checks import REMEDY
from drurank.shapes import MANY, check_shape, wrong

SCORES = ("best_model_score", "current_score", "kth_value")
PATHS = ("best_model_path", "kth_best_model_path", "last_model_path")
BEST = "best_k_models"
OF = "the checkpoint"
SHAPE = {
    **dict.fromkeys(PATHS, str),
    "monitor": str | None,
    "dirpath": str | None,
    "best_model_score": Tensor | None,
    "current_score": Tensor | None,
    "kth_value": Tensor,
    BEST: {MANY: Tensor},
}
"""The state of a ModelCheckpoint, where its class adds nothing."""


def keep_to_own_files(trainer: Any, checkpoint: dict[str, Any]) -> None:
    """Have every ModelCheckpoint of a trainer go on with files of its own folder only, whatever its state names.

    Args:
        trainer: what restores the checkpoint, its callbacks set up.
        checkpoint: the whole of it; changed in place.

    Raises:
        InputError: naming what is no name of a checkpoint.
    """
    states = checkpoint.get("callbacks")
    if not isinstance(states, dict):
        return
    for callback in trainer.checkpoint_callbacks:
        if isinstance(callback, ModelCheckpoint) and callback.state_key in states:
            states[callback.state_key] = _state_of(callback, states[callback.state_key])


def moved_state(state: Mapping[str, Any], folder: str, extension: str = ModelCheckpoint.FILE_EXTENSION) -> Any:
    """The state of a ModelCheckpoint whose files have moved to ``folder``, under the same names.

    Args:
        state: as the callback saved it.
        folder: the callback's own.
        extension: which its files have.

    Returns:
        A copy, in which every path is of a file in that folder.

    Raises:
        InputError: naming what is no name of a checkpoint.
    """
    if not isinstance(state, Mapping) or not isinstance(state.get(BEST, {}), Mapping):
        raise InputError(f"the checkpoint is damaged: it has the state {state!r:.80} of a ModelCheckpoint")

    def here(path: Any) -> str:
        if path == "":
            return ""
        name = path.rpartition("/")[2] if isinstance(path, str) else ""
        if not name.endswith(extension) or name == extension or Path(name).name != name or "\0" in name:
            raise InputError(
                f"the checkpoint is damaged: its ModelCheckpoint names {path!r:.200}, which is not a file {extension}"
            )
        return f"{folder.rstrip('/')}/{name}" if "://" in folder else str(Path(folder) / name)

    paths = {key: here(state[key]) for key in PATHS if key in state}
    best = {here(path): score for path, score in state.get(BEST, {}).items()}
    return {**state, **paths, BEST: best, "dirpath": folder}


def _check_state(state: Any, most: int) -> None:
    """Refuse a state of which one part says another thing than the others, from which training would go on unlike."""
    check_shape(OF, state, SHAPE, REMEDY, "ModelCheckpoint's state")
    best = state[BEST]
    for name, score in {**best, **{name: state[name] for name in SCORES if state[name] is not None}}.items():
        if score.numel() != 1:
            raise wrong(OF, f"ModelCheckpoint's {name}", score, REMEDY)
    is_full = 0 < most == len(best)
    of_worst = [("kth_best_model_path", "kth_value")] if is_full or state["kth_best_model_path"] in best else []
    of_best = (
        [("best_model_path", "best_model_score")] if best or (state["best_model_path"] and state["monitor"]) else []
    )
    for path, score in [*of_best, *of_worst]:
        if state[path] not in best or not _is_same(best[state[path]], state[score]):
            raise InputError(
                f"{OF} is damaged: its ModelCheckpoint has {path} {state[path]!r:.200}, which is not in its {BEST} "
                f"with its {score}; {REMEDY}"
            )


def _is_same(one: Tensor, other: Tensor | None) -> bool:
    return other is not None and one.dtype == other.dtype and torch.equal(one, other)


def _state_of(callback: ModelCheckpoint, state: Any) -> Any:
    moved = moved_state(state, str(callback.dirpath), callback.FILE_EXTENSION)
    if type(callback).state_dict is ModelCheckpoint.state_dict:
        _check_state(state, callback.save_top_k)
    before, best = state.get("dirpath", callback.dirpath), moved.get("best_model_path", "")
    is_lightnings = type(callback).load_state_dict is ModelCheckpoint.load_state_dict
    if before == callback.dirpath or not is_lightnings or (best and Path(best).is_file()):
        return moved
    # The folder is another one: Lightning then says so, and begins anew.
    return {**moved, "dirpath": before, "best_model_path": ""}
