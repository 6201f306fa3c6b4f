"""Arguments that errors of the library name, as flags of the command line.

The library says ``give min_count=5``, which is right in Python; on the command line that is ``--model.min_count 5``.
"""

from __future__ import annotations

import ast
import json
import logging
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from drurank.cli.class_paths import options_of
from drurank.cli.parser import reason_of
from drurank.cli.program import program
from drurank.errors import InputError
from drurank.splits import SPLITS
from drurank.terminal import visible

QUOTED = r"`[^`]*`|\bb'[^']*'|(?<!\w)'[^']*'(?!\w)|(?<!\w)\"[^\"]*\"(?!\w)"
CALL = r"[A-Za-z_][\w.]*\((?:[^()]|\([^()]*\))*\)"
LITERAL = r"'[^']*'|\"[^\"]*\"|\[(?:'[^']*'|\"[^\"]*\"|[^\[\]'\"])*\]|\{[^{}]*\}|\.\.\."
BARE = r"[^\s,;()'\"\[\]{}=](?:[^\s,;()'\"\[\]{}]*[^\s,;:.()'\"\[\]{}])?"
PIECE = re.compile(
    rf"{QUOTED}|{CALL}|(?<![\w./\\=-])(?P<name>[A-Za-z_][\w.]*)=(?P<value>(?>{LITERAL}|{BARE}))(?![\w(])"
    r"|(?<![\w./\\=-])(?P<word>[a-z][a-z0-9_]*)(?![\w=(/-]|\.\w)"
)
"""What is quoted, a call, an argument with its value, or a word; the last two are rewritten."""
IS = r" (is|are|both|names|has no|would|holds)\b"
SUBJECT = re.compile(rf"{IS}|(, \w+)* and \w+{IS}")
"""Follows the name of an argument that a sentence begins with."""
NUMBER = re.compile(r" [\d\[-]")
"""Follows that of an argument with its value, or of another one after ``and``."""
FIRST = re.compile(r"(\S+: )?\w+ is ")
"""Begins a sentence about the values of arguments."""
FILE = re.compile(r"\.(csv|tsv|txt|jsonl?|ndjson|parquet|feather|arrow|gz|bz2|xz)\b", re.IGNORECASE)
"""Ends a value that is rather a part of a file's name."""
PACKAGE = Path(__file__).parents[1]
USUAL = {
    "network": tuple(f"drurank.networks.{name}" for name in ("MLP", "ConvNet", "ImageClassifier", "TextClassifier")),
    "optimizer": ("torch.optim.AdamW",),
}
"""Classes whose options count as known where none is named for an argument."""


def in_flags(message: str, known: Iterable[str], *, words: bool = False) -> str:
    """A message with its arguments ``name=value`` as flags, ``--model.name value``.

    Only a name that is the end of exactly one known flag is rewritten; quoted text and calls, as ``MLP(hidden=4)``,
    stay as they are. Commands, as `` `drurank split ...` ``, begin as the program was called.

    Args:
        message: a sentence of the library.
        known: flags with their dashes, as ``--trainer.max_epochs``.
        words: whether names without a value are rewritten too, as ``min_count is 0`` to ``--model.min_count is 0``.
    """
    flags = [flag for flag in dict.fromkeys(known) if flag.startswith("--") and not flag.endswith(".help")]

    def flag_of(name: str) -> str | None:
        fitting = [flag for flag in flags if flag == f"--{name}" or flag.endswith(f".{name}")]
        return fitting[0] if len(fitting) == 1 else None

    def rewritten(found: re.Match[str]) -> str:
        name, word = found["name"], found["word"]
        if word:
            return (flag_of(word) if words and _is_argument(message, found) else None) or word
        flag = flag_of(name) if name and not FILE.search(found["value"]) else None
        return found[0] if flag is None else f"{flag} {_typed(found['value'])}"

    return PIECE.sub(rewritten, message).replace("`drurank ", f"`{shlex.join(program())} ")


def _is_argument(message: str, word: re.Match[str]) -> bool:
    """Whether a word is rather the name of an argument than a word of the sentence, or a split."""
    before, after = message[: word.start()], message[word.end() :]
    begins = not before or before.endswith(": ")
    if begins and (SUBJECT.match(after) or NUMBER.match(after)):
        return True
    if before.endswith((" and ", ", ")):
        is_text = after.startswith((" '", ' "')) and FIRST.match(message) is not None
        if is_text or re.match(IS, after) or NUMBER.match(after):
            return True
    return "_" in word[0] and word[0] not in SPLITS


@contextmanager
def named_as_flags(known: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Reword what the library refuses inside, its arguments as flags.

    Args:
        known: gives the flags; called only when there is something to reword.

    Raises:
        InputError: the reworded one.
    """
    try:
        yield
    except Exception as error:
        reason = reason_of(error)
        if reason is None:
            raise
        raise InputError(in_flags(str(reason), known(), words=True)) from error


@contextmanager
def logged_as_flags(loggers: Iterable[str], known: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Reword what is logged inside, as ``named_as_flags`` does errors.

    Args:
        loggers: names of the loggers.
        known: gives the flags.
    """

    def reword(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if "=" in message:
            record.msg, record.args = in_flags(message, known()), ()
        return True

    for name in loggers:
        logging.getLogger(name).addFilter(reword)
    try:
        yield
    finally:
        for name in loggers:
            logging.getLogger(name).removeFilter(reword)


@contextmanager
def warned_as_flags(known: Callable[[], Iterable[str]] = tuple) -> Iterator[None]:
    """Show warnings of the package in one plain line, their arguments as flags; others as ever.

    No control characters are among them.

    Args:
        known: gives the flags.
    """
    before = warnings.formatwarning

    def plain(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if not Path(filename).is_relative_to(PACKAGE):
            return visible(before(message, category, filename, lineno, line))
        said = visible(" ".join(str(message).split()))
        return f"warning: {in_flags(said, known()) if '=' in said else said}\n"

    warnings.formatwarning = plain
    try:
        yield
    finally:
        warnings.formatwarning = before


def class_flags(key: str, setting: Any) -> Iterator[str]:
    """Flags of a class that the settings name, and of the classes that its own arguments name.

    Args:
        key: the argument's name with dots, as ``model``.
        setting: its value, with ``class_path`` and ``init_args`` where a class is named.
    """
    path = setting.get("class_path") if isinstance(setting, dict) else None
    if path is None:
        for usual in USUAL.get(key.rpartition(".")[2], ()):
            yield from (f"--{key}.{name}" for name in options_of(usual))
        return
    given = setting.get("init_args") or {}
    for name in options_of(path):
        yield f"--{key}.{name}"
        yield from class_flags(f"{key}.{name}", given.get(name))


def _typed(value: str) -> str:
    """A value as it is typed in a shell."""
    try:
        read = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value  # A word as it is, as MLP or <file>.
    if "..." in value and not isinstance(read, str):
        return value  # Something to fill in.
    if isinstance(read, str):
        # A bare mark, as in `--data.thousands ,`, would run into the sentence.
        is_mark = bool(re.fullmatch(r"[,.:]+", read))
        return f"'{read}'" if is_mark else shlex.quote(read if read.isprintable() else value[1:-1])
    if isinstance(read, list | tuple) and all(
        isinstance(entry, str) and re.fullmatch(r"(?!-|(?i:null)$)[\w.-]+", entry) for entry in read
    ):
        return ",".join(read) or "[]"
    if isinstance(read, list | tuple | dict):
        plain = list(read) if isinstance(read, tuple) else read
        written = yaml.safe_dump(plain, default_flow_style=True, width=10**6, allow_unicode=True).strip()
        if "'" in written and yaml.safe_load(as_json := json.dumps(plain, ensure_ascii=False)) == plain:
            written = as_json  # Quotes of the shell's own kind would have to be written as '"'"'.
        return shlex.quote(written)
    return {"True": "true", "False": "false", "None": "null"}.get(value, value)
