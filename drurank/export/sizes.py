"""Whether the sizes that a checkpoint names are those of its network and its data, before anything is made of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from drurank.data import GroupDataModule
from drurank.data.file import FileData
from drurank.data.state_checks import MOST_PIXELS
from drurank.errors import InputError
from drurank.export.checking import probabilities
from drurank.export.classifier import FEWEST, inputs_of, random_inputs
from drurank.limits import refuse_growth
from drurank.methods import GroupModule
from drurank.networks import Sizes
from drurank.run_folder.checkpoint_checks import REMEDY

LARGEST = 2**31 - 1
BYTES_OF_NUMBER, BYTES_OF_LABEL = 8, 64


def check_sizes(file: Path, sizes: Sizes, data: Any) -> None:
    """Refuse sizes for which no inputs can be made, or that are not those of the data.

    Args:
        file: the checkpoint.
        sizes: that it names.
        data: as it was restored.

    Raises:
        InputError: naming the checkpoint and the sizes.
    """
    if sizes.image_size > MOST_PIXELS:
        raise InputError(f"{file} is damaged: its sizes.image_size is {sizes.image_size!s:.80}; {REMEDY}")
    of_text = {"vocabulary": sizes.vocabulary, "max_length": sizes.max_length} if sizes.vocabulary else {}
    codes = {f"cardinalities[{place}]": count for place, count in enumerate(sizes.cardinalities)}
    # Of these none may be 0, as the width of numbers may.
    counts = {"num_classes": sizes.num_classes, **of_text, **codes}
    for name, count in {"in_features": sizes.in_features, **counts}.items():
        if count > LARGEST or (count < 1 and name in counts):
            raise InputError(f"{file} is damaged: its sizes.{name} is {count!s:.80}; {REMEDY}")
    if isinstance(data, FileData):
        data.check_encoded()
        # Texts may be cut shorter than those that the network was made for.
        known = replace(data.sizes, max_length=sizes.max_length)
        if known != sizes:
            raise InputError(
                f"{file} is damaged: its network is for {_said(sizes)}, and its {type(data).__name__} has "
                f"{_said(known)}; {REMEDY}"
            )
    held = file.stat().st_size
    refuse_growth(file, held, FEWEST * BYTES_OF_NUMBER * sizes.in_features, "bytes of its network's inputs")


def labels_of(file: Path, sizes: Sizes, data: Any, method: GroupModule) -> list[str]:
    """Label of each class, its number where it has none, once the network was seen to give so many probabilities.

    Args:
        file: the checkpoint.
        sizes: which ``check_sizes`` has looked at.
        data: as it was restored.
        method: with its network.

    Raises:
        InputError: if the network gives another number, or a label is no text.
    """
    found = probabilities(method, random_inputs(sizes, FEWEST), inputs_of(sizes))
    if found.ndim != 2 or found.shape[1] != sizes.num_classes:
        raise InputError(
            f"{file} is damaged: its sizes.num_classes is {sizes.num_classes}, and its network gives probabilities of "
            f"the shape {[*found.shape]} for {FEWEST} rows; {REMEDY}"
        )
    refuse_growth(file, file.stat().st_size, BYTES_OF_LABEL * sizes.num_classes, "bytes of labels")
    names = list(data.label_names) if isinstance(data, GroupDataModule) else []
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"{file} is damaged: {name!r:.80} is among its labels, and no text; {REMEDY}")
    if names and len(names) != sizes.num_classes:
        raise InputError(f"{file} has a network of {sizes.num_classes} classes, and its data {len(names)}; {REMEDY}")
    return names or [str(number) for number in range(sizes.num_classes)]


def _said(sizes: Sizes) -> str:
    plain = {name: value for name, value in sizes.as_plain().items() if name not in ("tokenizer", "largest_token")}
    return f"{', '.join(f'{name} {value}' for name, value in plain.items() if value):.200}"
