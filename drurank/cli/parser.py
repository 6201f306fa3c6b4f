"""Parsers whose errors are one sentence and suggest the closest known option."""

from __future__ import annotations

from typing import Any, NoReturn

from jsonargparse import ArgumentParser, set_dumper, set_loader
from yaml import YAMLError

from drurank.cli.explaining import explain
from drurank.errors import FindingError, InputError
from drurank.terminal import visible
from drurank.yaml_files import dump_yaml, read_yaml

MODE = "drurank"
"""How values and configurations are read."""


def read_value(content: str) -> Any:
    """As ``read_yaml``; but a pattern such as ``{step}`` or ``{epoch}, {step}``, of which YAML makes a set, is text.

    Raises:
        yaml.YAMLError: if it is not YAML.
    """
    read = read_yaml(content)
    pattern = isinstance(read, dict) and set(content.strip(" {}").replace(" ", "").split(",")) == set(read)
    return content if pattern else read


set_loader(MODE, read_value, (YAMLError,))
set_dumper(MODE, dump_yaml)


class SentenceParser(ArgumentParser):
    """Ends on an error with one sentence, and accepts no abbreviated options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("allow_abbrev", False)
        kwargs.setdefault("parser_mode", MODE)
        super().__init__(*args, **kwargs)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """End the process with one sentence; while the parser only tries a value, raise as it expects."""
        if not self.exit_on_error:
            super().error(message, ex)
        self.refuse(explain(message, self.all_options(), self.class_names))

    def refuse(self, sentence: str) -> NoReturn:
        """End the process with a sentence."""
        self.exit(2, f"error: {visible(sentence)}\n")
        raise AssertionError("unreachable")

    def class_names(self, key: str) -> list[str]:
        """Names of the classes that this option takes; empty if it takes none."""
        return []

    def let_stand_alone(self, *names: str) -> None:
        """Let these boolean options be given without a value, which then means true."""
        for action in self._actions:
            if action.dest in names:
                action.nargs, action.const = "?", True

    def all_options(self) -> list[str]:
        """All options with their dashes, those of subcommands too."""
        parsers = [self]
        for action in self._actions:
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
        return list(dict.fromkeys(option for parser in parsers for option in parser._option_string_actions))


def reason_of(error: BaseException | None) -> InputError | None:
    """The ``InputError`` in an exception's chain of causes, if there is one."""
    while error is not None and not isinstance(error, InputError):
        error = error.__cause__ or error.__context__
    return error


def finding_of(error: BaseException | None) -> FindingError | None:
    """The error of the data that an exception was made of, if it was of one."""
    while error is not None and not isinstance(error, FindingError):
        error = error.__cause__
    return error
