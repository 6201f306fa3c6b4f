"""A parser whose errors name the nearest right option."""

from __future__ import annotations

from lightning.pytorch.cli import LightningArgumentParser


class FriendlyParser(LightningArgumentParser):
    """LightningArgumentParser with errors in one sentence."""
