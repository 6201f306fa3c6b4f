"""What can be said of a command line before torch is imported: help, misspelt options, missing files.

What the full parser knows is kept in ``known/``, which ``python -m drurank.cli.make_known`` writes. Whatever is not
certain from that is left to the full parser, as is all where other versions of Lightning or jsonargparse are there.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

from drurank.cli.hints import nearest_argument, nearest_option
from drurank.cli.program import usage
from drurank.cli.words import WEIGHTS, Given, given_options, named_classes, with_recipes
from drurank.errors import InputError, nearest
from drurank.files import refuse_existing
from drurank.tabular.formats import WRITTEN
from drurank.words import as_names

KNOWN = Path(__file__).parent / "known"
CLASSES_FILE = KNOWN / "classes.json"
EVALUATING = ("validate", "test", "predict")
TRAINING = ("fit", *EVALUATING)
COMMANDS = (*TRAINING, "inspect", "export")
VERSIONS = ("lightning", "jsonargparse")
SPEC = ("init_args", "dict_kwargs", "class_path", "help")
NO_FILE = ("best", "last", "hpc")
"""Values of ``ckpt_path`` that are no file."""
FILE = re.compile(r"[^*?\[\],:]+\.(csv|tsv|jsonl|ndjson|json|parquet|feather|arrow)(\.\w+)?")


def check(words: list[str]) -> None:
    """Answer what needs no torch; where nothing is found, return.

    Args:
        words: those after the program's name.

    Raises:
        InputError: of an option or a class that does not exist, or of a file that is missing.
        SystemExit: once the help was printed.
    """
    if words[0] not in COMMANDS:
        return
    words = with_recipes(words)
    given = list(given_options(words))
    _check_configurations(given)
    _check_data(given)
    _check_output(words[0], given)
    _check_split(words[0], given)
    _check_options(words, given)
    _check_weights(words[0], given)


def _check_options(words: list[str], given: list[Given]) -> None:
    if "torch" in sys.modules or "--import" in " ".join(words):
        return  # Nothing is gained, and classes that are not ours may be known by their short names.
    _check_files(given)
    known = _known()
    if known is None:
        return
    if len(words) == 2 and words[1] in ("--help", "-h"):
        _print(words[0])
    classes = {key: _classes(words, key, known[key]) for key in ("model", "data")}
    options = options_of_command(words[0])
    for option in given:
        word = words[option.place].partition("=")[0]
        _refuse_other_commands(words[0], word)
        _check_option(word, options, classes, known)


@cache
def options_of_command(command: str) -> tuple[str, ...]:
    """All options that the help of a command names."""
    lines = re.findall(r"^  (-.*)$", (KNOWN / f"{command}.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return tuple(dict.fromkeys(option for line in lines for option in re.findall(r"(?<!\S)--?[\w.]+\+?", line)))


def options_of_others(command: str) -> dict[str, list[str]]:
    """Options without dots that other commands of training have and this one lacks, and which commands have each."""
    own, found = set(options_of_command(command)), dict[str, list[str]]()
    for other in TRAINING:
        for option in options_of_command(other):
            if option.startswith("--") and "." not in option and option not in own:
                found.setdefault(option.removeprefix("--"), []).append(other)
    return found


def _refuse_other_commands(command: str, word: str) -> None:
    others = options_of_others(command).get(word.removeprefix("--"), []) if command in TRAINING else []
    if others and word != "--run":
        raise InputError(f"{word} is an option of {' and '.join(others)}, not of {command}; leave it out")


def _known() -> dict[str, Any] | None:
    try:
        known: dict[str, Any] = json.loads(CLASSES_FILE.read_text(encoding="utf-8"))
        same = all(version(name) == known["versions"][name] for name in VERSIONS)
    except (OSError, ValueError, PackageNotFoundError):
        return None
    return known if same else None


def _print(command: str) -> NoReturn:
    text = (KNOWN / f"{command}.txt").read_text(encoding="utf-8")
    print(text.replace("usage: drurank", f"usage: {usage()}", 1), end="")
    raise SystemExit(0)


def _classes(words: list[str], key: str, known: dict[str, list[str]]) -> list[str] | None:
    """Import paths of the classes named for an option; ``None`` if none is named, or one is not ours.

    Raises:
        InputError: if a name without a dot is not one of our classes.
    """
    named = named_classes(words, key)
    if not named and key == "data" and words[0] == "inspect":
        named = ["Table"]
    short = {path.rpartition(".")[2]: path for path in known}
    if any("." in name or not name.isidentifier() for name in named if name not in known):
        return None
    for name in named:
        if name not in known and name not in short:
            raise InputError(f"there is no {key} {name!r}: {nearest(name, short)}")
    return [name if name in known else short[name] for name in named] or None


def _check_option(
    word: str, options: Sequence[str], classes: dict[str, list[str] | None], known: dict[str, Any]
) -> None:
    if not word.startswith("--") or word in options:
        return
    head, *rest = word.removeprefix("--").removesuffix("+").split(".")
    if head in classes and rest:
        named = classes[head]
        taken = [name for path in named or () for name in known[head][path]]
        if named is not None and rest[0] not in (*taken, *SPEC):
            cls = named[-1]
            own = nearest_argument(rest[0], known[head][cls])
            raise InputError(f"{cls.rpartition('.')[2]} has no option {rest[0]!r}: {own}")
    elif head not in ("optimizer", "lr_scheduler") and not any(
        option == f"--{'.'.join([head, *rest[:1]])}" for option in options
    ):
        inner = [f"--{key}.{name}" for key in classes for name in _taken(classes[key], known[key])]
        raise InputError(f"there is no option {word}: {nearest_option(word, [*options, *inner])}")


def _taken(named: list[str] | None, known: dict[str, list[str]]) -> list[str]:
    """Names of the arguments of the classes that are named, or of any."""
    return list(dict.fromkeys(name for path in named or known for name in known[path]))


def _check_configurations(given: list[Given]) -> None:
    for option in given:
        named = option.option == "config" and re.fullmatch(r"[\w./~-]+\.ya?ml", option.value)
        if named and not Path(option.value).expanduser().is_file():
            raise InputError(
                f"--config {option.value} cannot be read: there is no such file; give a YAML file of options, or "
                "drurank:<name> for one that comes with the package"
            )


def _check_weights(command: str, given: list[Given]) -> None:
    """Refuse to evaluate no weights; a configuration may name them, and help needs none."""
    named = {part for option in given for part in option.option.split(".")}
    if command in EVALUATING and not named & {*WEIGHTS, "config", "help", "-h", "print_config"}:
        raise InputError(needed_weights(command))


def needed_weights(command: str) -> str:
    """What to give a command that evaluates."""
    return (
        f"{command} needs trained weights; give either --run FOLDER, of a run that `fit` made, as --run "
        "runs/version_0, or --ckpt_path FILE"
    )


def _check_data(given: list[Given]) -> None:
    for option in given:
        if option.option == "data" and FILE.fullmatch(option.value):
            raise InputError(
                f"--data is {option.value!r}, a file; give the kind of data, and the file by its option, as --data "
                f"Table --data.path {option.value}"
            )


def _check_output(command: str, given: list[Given]) -> None:
    """Refuse to write predictions over a file unasked; a configuration may ask for it."""
    said = {option.option: option.value for option in given}
    if command == "predict" and "output" in said and not {"overwrite", "config", "help", "print_config"} & said.keys():
        try:
            refuse_existing([Path(said["output"]).expanduser()], overwrite=False)
        except InputError as error:
            raise InputError(str(error).replace("overwrite=True", "--overwrite true")) from error


def _check_split(command: str, given: list[Given]) -> None:
    """Name the command that splits a table which lacks the column of the split; a configuration may name others."""
    said = {option.option.removeprefix("data."): option.value for option in given}
    path, names = said.get("path", ""), [said.get(name, "") for name in ("label", "group", "split")]
    if command not in ("fit", "inspect") or not (FILE.fullmatch(path) and all(names)) or "config" in said:
        return
    from drurank.cli.commands import command as typed
    from drurank.cli.commands import options
    from drurank.tabular.reading import read_head

    label, group, split = names
    of_file = {name: said[name] for name in ("delimiter", "text_encoding") if name in said}
    try:
        head = read_head(path, delimiter=of_file.get("delimiter"), text_encoding=of_file.get("text_encoding"))
    except (InputError, OSError):
        return  # What is wrong with the file is said where it is read.
    here = [] if head is None else head.column_names
    if split in here or not {label, *as_names(group)} <= set(here):
        return
    file = Path(path)
    output = str(file.with_name(f"{file.stem}_split{file.suffix if file.suffix in WRITTEN else '.parquet'}"))
    words = options({"path": path, "label": label, "group": group, "output": output, "split": split} | of_file)
    raise InputError(
        f"{path} has no column {split!r} that says the split of each row; {nearest(split, here)}; to split the rows, "
        f"run `{typed('split', words)}`"
    )


def _check_files(given: list[Given]) -> None:
    for option in given:
        if option.option == "ckpt_path":
            refuse_missing_checkpoint(option.value)
        missing = not Path(option.value).expanduser().exists()
        if option.option == "data.path" and FILE.fullmatch(option.value) and missing:
            from drurank.tabular.reading import read_table

            read_table(option.value)


def refuse_missing_checkpoint(path: str) -> None:
    """Refuse a checkpoint that is no file.

    Raises:
        InputError: naming it.
    """
    if path and path not in NO_FILE and "://" not in path and not Path(path).is_file():
        raise InputError(f"there is no checkpoint {path}; give a file such as <run>/checkpoints/last.ckpt")
