"""Checkpoint files: written whole or not at all, and read without running code."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins import TorchCheckpointIO

from drurank.errors import InputError
from drurank.files import replace_file
from drurank.run_folder.checkpoint_checks import (
    KEY,
    check_bytes,
    check_structure,
    check_values,
    note_structure,
    refuse_compressed,
)


class ReplacingCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint beside the old one, then puts it in its place.

    Lightning writes it into the system's temporary folder and copies it over the old one where that is on another disk;
    if the disk is full then, both are lost.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Save to a local path in one step; to any other as Lightning does.

        Raises:
            OSError: naming the file, if it cannot be written; the old one is then as it was.
        """
        note_structure(checkpoint)
        if storage_options is not None or "://" in str(path):
            super().save_checkpoint(checkpoint, path, storage_options)
            return
        content = io.BytesIO()
        torch.save(checkpoint, content)
        replace_file(Path(path), lambda beside: beside.write_bytes(content.getbuffer()))


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """A checkpoint file, mapped, so that only what is looked at is read, and not the weights.

    Raises:
        InputError: if it cannot be read, was not made by drurank, is compressed, or is not as it was written.
    """
    try:
        refuse_compressed(path)
        checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        checkpoint[KEY].keys()
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path} is not a checkpoint of drurank; give one that `fit` wrote") from error
    check_bytes(path, checkpoint)
    check_structure(str(path), checkpoint)
    check_values(str(path), checkpoint)
    return checkpoint


def read_saved(path: str | Path) -> dict[str, Any]:
    """What a checkpoint file holds under the key ``drurank``; see ``read_checkpoint``."""
    saved: dict[str, Any] = read_checkpoint(path)[KEY]
    return saved
