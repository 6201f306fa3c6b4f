"""split: a table with a column that says which split each row is in, by group, and a manifest of the splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from drurank.cli.commands import METHOD, OF_TEXTS, command, options
from drurank.cli.flags import named_as_flags
from drurank.cli.parser import SentenceParser
from drurank.cli.program import usage
from drurank.cli.split_file import TextOptions, options_of_output, split_file
from drurank.cli.split_shown import show
from drurank.cli.words import with_recipes
from drurank.errors import InputError
from drurank.tabular.columns import as_value
from drurank.tabular.splitting import SplitOptions
from drurank.terminal import say
from drurank.yaml_files import read_text

RENAMES = {
    "relabel": "labels that stand for others, as '{9: 5, 10: 5}'; they stay as written in the output, and the commands "
    "that are printed have the option",
    "regroup": "the same of groups, as '{branch 17: Branch 17}', in each column of the group",
}


class _Names:
    """Reads a mapping of names, all of them text as it is typed; the help shows it as its type."""

    def __call__(self, value: Any) -> dict[str, str | None]:
        """The mapping.

        Raises:
            ValueError: if it is none.
        """
        read = read_text(value) if isinstance(value, str) else value
        if not isinstance(read, dict):
            raise ValueError("give a mapping, as '{old: new}'")
        return {str(written): meant if meant is None else str(meant) for written, meant in read.items()}

    def __repr__(self) -> str:
        return "dict[str, str] | null"


NAMES = _Names()
SHARED = {"min_count", "seed"}
OPTIONS: dict[str, type[SplitOptions | TextOptions]] = {"group": SplitOptions, "cluster": TextOptions}
"""Method to the class of its options."""


def run(words: list[str]) -> dict[str, Any]:
    """Split a table as these words say, and show the splits.

    Returns:
        The manifest.
    """
    parser = _parser()
    # Without defaults, so that an option of the other method is known to be given.
    given = vars(parser.parse_args(with_recipes(words), defaults=False))
    given.pop("config", None)
    method = given.pop("method", "group")
    _refuse_others(method, given)
    of_method = {name: given.pop(name) for name in _names(method) & given.keys()}
    with named_as_flags(parser.all_options):
        how = OPTIONS[method](**{name: value for name, value in of_method.items() if value is not None})
        manifest = split_file(**given, options=how)
    show(manifest, given["output"])
    suggested, dates = options_of_output(manifest, Path(given["output"]).expanduser())
    for sentence in dates:
        say(sentence)
    data = _data(manifest, given["output"], suggested)
    of_texts = OF_TEXTS if manifest["method"] == "cluster" else ()
    say(f"Look at it: {command('inspect', data)}")
    say(f"Train on it: {command('fit', [*data, *METHOD, *of_texts])}")
    return manifest


def _parser() -> SentenceParser:
    # A configuration printed whole would give options of both methods.
    parser = SentenceParser(prog=usage("split"), description="Split a table by group.", print_config=None)
    parser.add_argument("--config", action="config", help="A YAML file of these options, as configs/split/imdb.yaml.")
    parser.add_argument(
        "--method",
        type=Literal["group", "cluster"],
        default="group",
        help="What goes to the OOD splits: groups drawn by the seed, or a cluster of groups whose texts are alike",
    )
    parser.add_function_arguments(split_file, skip={"options", *RENAMES})
    for name, what in RENAMES.items():
        parser.add_argument(f"--{name}", type=NAMES, default=None, help=what)
    parser.add_argument(
        "--min_count",
        type=int | None,
        default=None,
        help="groups with fewer rows are left out of the output; the manifest names them; if not "
        f"given, {SplitOptions.min_count} by --method group and {TextOptions.min_count} by --method cluster",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=SplitOptions.seed,
        help="another one gives another split; one seed always the same, in whatever order the rows are",
    )
    for made in OPTIONS.values():
        parser.add_class_arguments(made, skip=SHARED)
    parser.let_stand_alone("overwrite", "join_twins", "stratify", "drop_missing")
    return parser


def _names(method: str) -> set[str]:
    return {field.name for field in fields(OPTIONS[method])}


def _refuse_others(method: str, given: Mapping[str, Any]) -> None:
    for other in OPTIONS:
        for name in given:
            if name in _names(other) - _names(method):
                raise InputError(
                    f"{name} is an option of --method {other}, and the method is {method}; leave {name} out, or write "
                    f"--method {other}"
                )


def _data(manifest: Mapping[str, Any], output: str, suggested: Mapping[str, str | list[str]]) -> list[str]:
    """The words that name what was written, with the encoder of the split if one was used."""
    columns, recorded, clusters = manifest["columns"], manifest["options"], manifest["method"] == "cluster"
    words = ["--data", "Text" if clusters else "Table", "--data.path", output]
    if clusters:
        words += ["--data.text", as_value(columns["text"])]
    words += ["--data.label", columns["label"], "--data.group", as_value(columns["group"])]
    words += ["--data.split", columns["split"]]
    if clusters:
        words += ["--data.tokenizer", recorded["pretrained"], "--data.max_length", str(recorded["max_length"])]
    renames = {name: meant for name, meant in manifest["renames"].items() if meant}
    return [*words, *options({**renames, **suggested}, of="data.")]
