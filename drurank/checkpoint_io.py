"""Checkpoints that are written whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins import TorchCheckpointIO

from drurank.files import replace_file


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
        if storage_options is not None or "://" in str(path):
            super().save_checkpoint(checkpoint, path, storage_options)
            return
        content = io.BytesIO()
        torch.save(checkpoint, content)
        replace_file(Path(path), lambda beside: beside.write_bytes(content.getbuffer()))
