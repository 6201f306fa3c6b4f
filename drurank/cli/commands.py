"""Commands that are printed to be copied."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from drurank.cli.program import program
from drurank.cli.words import given_options
from drurank.imports import import_words
from drurank.tabular.columns import as_value

METHOD = ("--model", "DRU")
OF_TEXTS = ("--model.network", "TextClassifier", "--model.optimizer", "AdamW", "--model.optimizer.lr", "1e-5")
"""What a method is given to be trained on texts."""
OF_PICTURES = ("--model.network", "ImageClassifier", "--model.optimizer", "AdamW", "--model.optimizer.lr", "1e-4")
"""The same of pictures."""
OF_SMALL_PICTURES = ("--model.network", "ConvNet")
"""The same of pictures that are too small for networks that were made for large ones."""


def command(name: str, words: Iterable[str]) -> str:
    """A command as it is typed in a shell."""
    return shlex.join([*program(), *import_words(), name, *words])


def inspecting(words: list[str]) -> str:
    """The command that looks at the data of a ``fit``.

    Args:
        words: those of the fit, as typed.
    """
    of_data = (
        given for given in given_options(words) if given.option == "config" or given.option.split(".")[0] == "data"
    )
    return command("inspect", [word for given in of_data for word in words[given.place : given.end]])


def exporting(folder: str, criteria: Sequence[str]) -> str:
    """The command that copies the best checkpoint of a study, by its first criterion unless the default is one."""
    by = [] if "qdcg10" in criteria or not criteria else ["--by", criteria[0]]
    return command("study", ["export-best", "--folder", folder, *by, "--output", "best"])


def options(values: Mapping[str, Any], of: str = "") -> list[str]:
    """The words of options; names by commas or as a list, mappings in braces."""
    return [word for name, value in values.items() for word in (f"--{of}{name}", _typed(value))]


def _typed(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return as_value(value) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def report_words(table: pa.Table, file: Path) -> list[str]:
    """The words of ``report`` for a table of predictions; none where a row lacks the label or the group.

    Args:
        table: what ``PredictionWriter`` wrote.
        file: where.
    """
    names = table.column_names
    if any(name not in names or table[name].null_count for name in ("label", "group")):
        return []
    words = ["--predictions", str(file)]
    words += ["--split", "split"] if "split" in names and not table["split"].null_count else []
    labels = table["label"].unique().to_pylist()
    more = sorted(set(table["prediction"].to_pylist()) - set(labels))
    return [*words, *(["--labels", as_value([*labels, *more])] if more else [])]
