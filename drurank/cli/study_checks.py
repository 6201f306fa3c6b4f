"""What a study checks before its first run: each setting goes through all of a fit but the training."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import torch
from jsonargparse import Namespace
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from drurank import data
from drurank.cli.commands import command
from drurank.cli.flags import class_flags, in_flags, named_as_flags
from drurank.cli.group_cli import GroupCLI
from drurank.cli.parser import finding_of, reason_of
from drurank.cli.undoing import Begun
from drurank.cli.words import given_options
from drurank.data import GroupDataModule
from drurank.errors import FindingError, InputError
from drurank.study.calling import call
from drurank.study.plan import Plan
from drurank.study.runs import check_options
from drurank.words import counted

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DATA = Path(data.__file__).parent
SEEDS = ("PL_GLOBAL_SEED", "PL_SEED_WORKERS")


def check_plan(study: Path, plan: Plan, shared: Path) -> list[str]:
    """Refuse settings with which ``fit`` cannot begin, as ``check_options``.

    Args:
        study: folder of the study.
        plan: of the study.
        shared: folder in which ``write_shared`` has written the shared configurations.

    Returns:
        What a fit warns of in the data, each sentence once.

    Raises:
        InputError: naming the first candidate that has one.
    """
    rehearsal = Rehearsal(plan.of_data)
    with _quiet() as warned:
        check_options(study, plan, rehearsal, shared)
    of_data = (warning for warning in warned if Path(warning.filename).is_relative_to(DATA))
    return [rehearsal.as_typed(said) for said in dict.fromkeys(str(warning.message) for warning in of_data)]


class Rehearsal:
    """Goes through a fit up to its first step.

    Settings that share their data read it once, and of those that differ by numbers of the method the first one alone
    has all options read.

    Args:
        of_data: files of the plan that name the data.
    """

    def __init__(self, of_data: Sequence[str] = ()) -> None:
        self._of_data = of_data
        self._modules: dict[str, GroupDataModule] = {}
        self._known: dict[tuple[str, ...], _RehearsedCLI] = {}

    def __call__(self, words: list[str]) -> Mapping[str, Any]:
        """Rehearse a fit.

        Args:
            words: its command line.

        Returns:
            The trainer's options.

        Raises:
            InputError: saying in one sentence why the fit cannot begin.
        """
        kind, found = _without_numbers(words), list[_RehearsedCLI]()

        def rehearse(line: list[str]) -> None:
            if kind in self._known:
                self._known[kind].rehearse_with(_numbers(line))
            else:
                self._known[kind] = _RehearsedCLI(line, self._modules)
            found.append(self._known[kind])

        try:
            call(rehearse, words)
        except InputError as error:
            if finding_of(error) is None:
                raise
            raise InputError(f"{error}; to see all that is wrong with the data: `{self._inspecting(words)}`") from error
        except Exception as error:
            reason = reason_of(error)
            said = " ".join(str(error).split())
            named = "" if isinstance(error, MisconfigurationException) else f"{type(error).__name__}: "
            raise reason or InputError(f"{named}{said}") from error
        (cli,) = found
        return cast(Mapping[str, Any], cli.config["fit"]["trainer"].as_dict())

    def as_typed(self, said: str) -> str:
        """A sentence with its arguments as flags."""
        return in_flags(" ".join(said.split()), [flag for cli in self._known.values() for flag in cli.data_flags()])

    def _inspecting(self, words: list[str]) -> str:
        """The command that looks at the data of a fit, which files of the plan name and options of the candidate."""
        named = [word for file in self._of_data for word in ("--config", file)]
        own = (given for given in given_options(words) if given.option.split(".")[0] == "data")
        return command("inspect", [*named, *(word for given in own for word in words[given.place : given.end])])


def refuse_overlap(data: Any) -> None:
    """Refuse data whose groups overlap, for a study.

    Raises:
        InputError: saying why.
    """
    if getattr(data, "overlap", False):
        raise InputError(
            "a study takes counts of groups to add up to all rows, and with by='overlapping' they do not; fit and test "
            "each run by itself, or give groups of which a row is in one"
        )


class _RehearsedCLI(GroupCLI):
    def __init__(self, words: list[str], modules: dict[str, GroupDataModule]) -> None:
        self._modules = modules
        super().__init__(words, Begun())

    def instantiate_classes(self) -> None:
        """Take the data that an earlier rehearsal has read, if it is the same."""
        super().instantiate_classes()
        key = json.dumps(self.config["fit"]["data"].as_dict(), sort_keys=True, default=repr)
        self.datamodule = self._modules.setdefault(key, self.datamodule)

    def before_fit(self) -> None:
        """Check all as a fit does, and name every error of the data, since each start of a study takes long."""
        refuse_overlap(self.datamodule)
        try:
            super().before_fit()
        except FindingError as error:
            others = error.others()
            if not others:
                raise
            every = "; ".join(f"({number}) {said}" for number, said in enumerate((str(error), *others), start=1))
            raise InputError(f"the data has {counted(1 + len(others), 'error')}: {every}") from error

    def data_flags(self) -> Iterator[str]:
        """The flags of the data."""
        return class_flags("data", self.config["fit"]["data"].as_dict())

    def rehearse_with(self, numbers: Mapping[str, str]) -> None:
        """Rehearse again with other numbers among the options of the method; reading all options takes far longer.

        Args:
            numbers: option to number, as typed.
        """
        config = self.config["fit"]["model"].clone()
        for option, value in numbers.items():
            _put(config, option.removeprefix("--model.").split("."), value)
        with named_as_flags(self._flags):
            parser: Any = self._parser("fit")
            settings: Any = Namespace(model=config)  # type: ignore[no-untyped-call]
            self.model = parser.instantiate_classes(settings)["model"]
            self.before_fit()
            self.fit()

    def fit(self, **_: Any) -> None:
        """Make what a fit and a test make last, and stop there."""
        made = self.model.optimization
        optimizer = made.optimizer([torch.nn.Parameter(torch.zeros(1))])
        if made.lr_scheduler is not None:
            made.lr_scheduler(optimizer)
        self.datamodule.test_dataloader()

    def after_fit(self) -> None:
        """Nothing was kept."""


def _numbers(words: list[str]) -> dict[str, str]:
    """Options of the method whose values are numbers, and these."""
    return {
        option: value for option, value in pairwise(words) if option.startswith("--model.") and NUMBER.fullmatch(value)
    }


def _without_numbers(words: list[str]) -> tuple[str, ...]:
    """A command line with kinds in place of the numbers of the method, and without its seed."""
    numbers, kept = _numbers(words), list[str]()
    for option, word in zip(["", *words], words, strict=False):
        if option in numbers:
            kept.append("a whole number" if word.lstrip("+-").isdigit() else "a number")
        else:
            kept.append("" if option == "--seed_everything" else word)
    return tuple(kept)


def _put(config: Any, names: list[str], value: str) -> None:
    """Put a number where an option is, in the type that it has there."""
    for name in names[:-1]:
        config = _inner(config)[name]
    inner = _inner(config)
    inner[names[-1]] = type(inner[names[-1]])(float(value) if isinstance(inner[names[-1]], float) else value)


def _inner(config: Any) -> Any:
    return config["init_args"] if "class_path" in config else config


@contextmanager
def _quiet() -> Iterator[list[warnings.WarningMessage]]:
    """Leave the seed of this process as it is, and say nothing: the run itself says it again; gives the warnings."""
    before = {name: os.environ.get(name) for name in SEEDS}
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        nowhere = io.StringIO()
        with (
            warnings.catch_warnings(record=True, action="always") as warned,
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
        ):
            yield warned
    finally:
        logging.disable(level)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
