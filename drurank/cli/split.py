"""split: a table with a column that says which part each row is in, by group, and a manifest of the parts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal

from drurank.cli.parser import SentenceParser
from drurank.cli.split_file import TextOptions, split_file
from drurank.cli.split_shown import show
from drurank.errors import InputError
from drurank.tabular.clustering import ClusterOptions
from drurank.tabular.columns import as_names
from drurank.tabular.splitting import SplitOptions

SHARED = {"min_count", "seed"}
OPTIONS: dict[str, tuple[type, ...]] = {"group": (SplitOptions,), "cluster": (ClusterOptions, TextOptions)}
"""Method to the classes of its options."""


def run(words: list[str]) -> dict[str, Any]:
    """Split a table as these words say, and show the parts.

    Returns:
        The manifest.
    """
    parser = _parser()
    # Without defaults, so that an option of the other method is known to be given.
    given = vars(parser.parse_args(words, defaults=False))
    given.pop("config", None)
    method = given.pop("method", "group")
    _refuse_others(method, given)
    of_method = {name: given.pop(name) for name in _names(method) & given.keys()}
    options, *texts = [
        made(**{name: of_method[name] for name in _fields(made) & of_method.keys() if of_method[name] is not None})
        for made in OPTIONS[method]
    ]
    manifest = split_file(**given, options=options, texts=texts[0] if texts else None)
    show(manifest, given["output"])
    print(f"Train on it: {shlex.join(_fit(given, texts[0] if texts else None))}")
    return manifest


def _parser() -> SentenceParser:
    # A configuration printed whole would give options of both methods.
    parser = SentenceParser(prog="cli.py split", description="Split a table by group.", print_config=None)
    parser.add_argument("--config", action="config", help="A YAML file of these options, as configs/split/imdb.yaml.")
    parser.add_argument(
        "--method",
        type=Literal["group", "cluster"],
        default="group",
        help="What goes to the OOD parts: groups drawn by the seed, or a cluster of groups whose texts are alike",
    )
    parser.add_function_arguments(split_file, skip={"options", "texts"})
    parser.add_argument(
        "--min_count",
        type=int | None,
        default=None,
        help="groups with fewer rows are left out of the output, which is said there and in the manifest; if not "
        f"given, {SplitOptions.min_count} by --method group and {ClusterOptions.min_count} by --method cluster",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=SplitOptions.seed,
        help="another one gives another split; one seed always the same, in whatever order the rows are",
    )
    for made in (made for classes in OPTIONS.values() for made in classes):
        parser.add_class_arguments(made, skip=SHARED & _fields(made))
    parser.let_stand_alone("overwrite", "stratify", "drop_missing")
    return parser


def _fields(made: type) -> set[str]:
    return {field.name for field in fields(made)}


def _names(method: str) -> set[str]:
    return set().union(*map(_fields, OPTIONS[method]))


def _refuse_others(method: str, given: Mapping[str, Any]) -> None:
    for other in OPTIONS:
        for name in given:
            if name in _names(other) - _names(method):
                raise InputError(
                    f"{name} is an option of --method {other}, and the method is {method}; leave {name} out, or write "
                    f"--method {other}"
                )


def _fit(given: Mapping[str, Any], texts: TextOptions | None) -> list[str]:
    """The words of a fit on what was written."""
    words = ["python", "cli.py", "fit", "--data", "Text" if texts else "Table", "--data.path", given["output"]]
    if texts:
        words += ["--data.text", ",".join(as_names(texts.text))]
    words += ["--data.label", given["label"], "--data.group", ",".join(as_names(given["group"]))]
    return [*words, "--data.split", given.get("split", "split"), "--model", "DRU"]
