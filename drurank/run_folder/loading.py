"""How a class of ours is made again from a checkpoint by Lightning."""

from __future__ import annotations

from typing import Any, Self


class MadeByItself:
    """Made by its own constructor by ``load_from_checkpoint``, whatever the checkpoint names.

    Lightning would else hand what a checkpoint says of the constructor's arguments to LightningCLI's parser, if the
    checkpoint asks for it (``_instantiator``), which imports and makes any class that is named there.
    """

    @classmethod
    def load_from_checkpoint(cls, checkpoint_path: Any, *args: Any, **kwargs: Any) -> Self:
        """As Lightning's; a checkpoint that you trust may have its ``_instantiator`` if you give it here."""
        made: Self = super().load_from_checkpoint(  # type: ignore[misc]
            checkpoint_path, *args, **{"_instantiator": None, **kwargs}
        )
        return made
