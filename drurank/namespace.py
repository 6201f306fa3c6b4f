"""The package of the same code as ``lightning.pytorch``, with classes of its own."""

from __future__ import annotations

import sys

from lightning.pytorch.utilities.rank_zero import rank_zero_warn

OTHER = "pytorch_lightning"


def warn_of_other_namespace() -> None:
    """Warn where the program has imported the other package, whose trainer refuses our methods and data."""
    if OTHER in sys.modules:
        rank_zero_warn(
            f"{OTHER} is imported here; its Trainer, modules and callbacks do not work with drurank's, which "
            "are of lightning.pytorch: import lightning.pytorch as pl"
        )
