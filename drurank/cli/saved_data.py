"""What commands that evaluate or export take from the data of a run that may be of somebody else."""

from __future__ import annotations

import os
from collections.abc import Container
from pathlib import Path
from typing import Any

from drurank.cli.saved_trainer import as_number, is_inside

CACHE, WORKERS = LIMITED = "cache_dir", "num_workers"
"""The option that says where something is written, and that of how many processes are started."""


def data_to_evaluate(data: Any, run: Path, typed: Container[str] = ()) -> tuple[Any, list[str]]:
    """The data of a saved configuration without a cache elsewhere, and with no more workers than there are cores.

    Args:
        data: as the run's configuration has it.
        run: the run's folder.
        typed: options of the data that a person gave, which replace its own.

    Returns:
        The data, and sentences' parts about what is changed and was not typed.
    """
    if not isinstance(data, dict):
        return data, []
    kept, changed, cores = dict(data), [], os.cpu_count() or 1
    for part in ("init_args", "dict_kwargs"):
        if not isinstance(data.get(part), dict):
            continue
        arguments = kept[part] = dict(data[part])
        if arguments.get(CACHE) is not None and not is_inside(arguments[CACHE], run):
            changed += [f"{CACHE} {arguments.pop(CACHE)} leads elsewhere and is left out"]
        if as_number(arguments.get(WORKERS)) > cores:
            changed += [f"{WORKERS} {arguments[WORKERS]} becomes {cores}, as many as there are cores"]
            arguments[WORKERS] = cores
    return kept, [one for one in changed if one.partition(" ")[0] not in typed]
