"""What is said before a hub is asked: the name may stand in a file of somebody else."""

from __future__ import annotations

from functools import cache


@cache
def say_asked(what: str, name: str) -> None:
    """Say once that a hub is asked, and for what."""
    from lightning.pytorch.utilities.rank_zero import rank_zero_info  # here, since tables are read without torch

    rank_zero_info(f"there is no file or folder {name}: asking the hub for the {what} of that name")
