"""Data sets by their name on the hub, through the library ``datasets``."""

from __future__ import annotations

import pyarrow as pa

from drurank.errors import InputError
from drurank.extras import check_installed
from drurank.hub import say_asked
from drurank.splits import SplitColumn
from drurank.tabular.arrow import from_datasets

SECONDS = 10
"""How long the hub is given to say whether it has a data set."""


def read_hub(name: str, split: SplitColumn) -> pa.Table:
    """Load a data set from the hub, or from the local cache where it was loaded before; says so first.

    Args:
        name: as ``yelp_review_full`` or ``owner/name``.
        split: column that is to say which split a row is in, where there is none of that name.

    Raises:
        InputError: if it is not found or cannot be loaded.
    """
    say_asked("data set", name)
    why = _why_not(name)
    try:
        if why is None:
            from datasets import load_dataset  # here, since it is slow to import

            return from_datasets(name, load_dataset(name), split)
    except InputError:
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:200]
    raise InputError(
        f"there is no file or folder {name!r}, nor could a data set of that name be loaded from the hub: {why}; give a "
        "file, or a folder that save_to_disk wrote"
    )


def _why_not(name: str) -> str | None:
    """Why the hub does not give a data set, asked once in place of retries for each file."""
    try:
        check_installed("datasets", "text", "the hub")
    except InputError as error:
        return str(error)
    from huggingface_hub import HfApi
    from huggingface_hub.errors import OfflineModeIsEnabled, RepositoryNotFoundError

    try:
        HfApi().dataset_info(name, timeout=SECONDS)
    except OfflineModeIsEnabled:
        return None  # What is in the local cache is enough.
    except RepositoryNotFoundError:
        return "not found there"
    except Exception as error:
        return f"it cannot be reached ({type(error).__name__}; HF_HUB_OFFLINE=1 reads what was loaded before)"
    return None
