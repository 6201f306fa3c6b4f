"""Weights that a network starts from, of a file that some other project wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn
from torch import Tensor, nn

from drurank.errors import InputError
from drurank.run_folder.checkpoint_nest import refuse_odd_nest
from drurank.words import some

UNDER = ("state_dict", "model_state_dict", "model")
"""Where files of other projects keep the weights, if not at the top."""
SHOWN = 5


class StartingWeights:
    """Loads a file's weights into a network, once.

    Args:
        file: a checkpoint or ``state_dict``; ``None`` loads nothing.

    Raises:
        InputError: if there is no such file.
    """

    def __init__(self, file: str | None) -> None:
        if file is not None and not Path(file).is_file():
            raise InputError(f"init_from={file}: the file was not found")
        self._file = file

    def load(self, target: nn.Module) -> None:
        """Load what fits, and say what does not; nothing the second time.

        Raises:
            InputError: if nothing of the file fits.
        """
        file, self._file = self._file, None
        if file is None:
            return
        found, own = _read(file), target.state_dict()
        prefix = max(_prefixes(found), key=lambda prefix: len(_matching(found, own, prefix)))
        names = _matching(found, own, prefix)
        if not names:
            raise InputError(
                f"init_from={file} has nothing for this network: its entries are {_named(found)}, and the network's "
                f"{_named(own)}"
            )
        with torch.no_grad():
            for name in names:
                own[name].copy_(found[prefix + name])
        missing = [name for name in own if name not in names]
        shapes = [name for name in missing if prefix + name in found]
        unused = [name for name in found if name.removeprefix(prefix) not in own or not name.startswith(prefix)]
        said = f"init_from={file}: {len(names)} of the network's {len(own)} tensors are taken from it"
        if missing or unused:
            rank_zero_warn(
                f"{said}; left as they were made: {_named(missing)}; of another shape among these: {_named(shapes)}; "
                f"in the file and not in the network: {_named(unused)}"
            )
        else:
            rank_zero_info(said)


def _read(file: str) -> dict[str, Tensor]:
    try:
        if file.endswith(".safetensors"):
            from safetensors.torch import load_file

            content: Any = load_file(file)
        else:
            content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        said = " ".join(str(error).split())
        raise InputError(f"init_from={file} cannot be read as weights: {said[:200]}") from error
    refuse_odd_nest(f"init_from={file}", content, "give a checkpoint or a state_dict")
    while isinstance(content, Mapping) and (key := next((key for key in UNDER if key in content), None)) is not None:
        content = content[key]
    held = content if isinstance(content, Mapping) else {}
    tensors = {name: value for name, value in held.items() if isinstance(name, str) and isinstance(value, Tensor)}
    if not tensors:
        raise InputError(f"init_from={file} has no tensors; give a checkpoint or a state_dict")
    return tensors


def _prefixes(names: Iterable[str]) -> list[str]:
    """What may stand before the names of a network's own, as ``model.`` or ``module.net.``."""
    found = {""}
    for name in names:
        parts = name.split(".")[:-1]
        found |= {".".join(parts[: place + 1]) + "." for place in range(min(len(parts), 3))}
    return sorted(found, key=len)


def _matching(found: Mapping[str, Tensor], own: Mapping[str, Tensor], prefix: str) -> list[str]:
    return [
        name for name, value in own.items() if (it := found.get(prefix + name)) is not None and it.shape == value.shape
    ]


def _named(names: Iterable[str]) -> str:
    return some(names, shown=SHOWN) or "nothing"
