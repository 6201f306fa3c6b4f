"""What a study checks before its first run: each setting goes through all of a fit but the training."""

from __future__ import annotations

import io
import json
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, cast

import torch
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from drurank.cli.parser import reason_of
from drurank.cli.training import GroupCLI
from drurank.data import GroupDataModule
from drurank.errors import InputError
from drurank.study.calling import call

SEEDS = ("PL_GLOBAL_SEED", "PL_SEED_WORKERS")


class Rehearsal:
    """Goes through a fit up to its first step; settings that share their data read it once."""

    def __init__(self) -> None:
        self._modules: dict[str, GroupDataModule] = {}

    def __call__(self, words: list[str]) -> Mapping[str, Any]:
        """Rehearse a fit.

        Args:
            words: its command line.

        Returns:
            The trainer's options.

        Raises:
            InputError: saying in one sentence why the fit cannot begin.
        """
        found: list[_RehearsedCLI] = []
        try:
            with _quiet():
                call(lambda line: found.append(_RehearsedCLI(line, self._modules)), words)
        except InputError:
            raise
        except Exception as error:
            reason = reason_of(error)
            said = " ".join(str(error).split())
            kind = "" if isinstance(error, MisconfigurationException) else f"{type(error).__name__}: "
            raise reason or InputError(f"{kind}{said}") from error
        (cli,) = found
        return cast(Mapping[str, Any], cli.config["fit"]["trainer"].as_dict())


class _RehearsedCLI(GroupCLI):
    def __init__(self, words: list[str], modules: dict[str, GroupDataModule]) -> None:
        self._modules = modules
        super().__init__(words)

    def instantiate_classes(self) -> None:
        """Take the data that an earlier rehearsal has read, if it is the same."""
        super().instantiate_classes()
        key = json.dumps(self.config["fit"]["data"].as_dict(), sort_keys=True, default=repr)
        self.datamodule = self._modules.setdefault(key, self.datamodule)

    def fit(self, **_: Any) -> None:
        """Make what a fit and a test make last, and stop there."""
        made = self.model.optimization
        optimizer = made.optimizer([torch.nn.Parameter(torch.zeros(1))])
        if made.lr_scheduler is not None:
            made.lr_scheduler(optimizer)
        self.datamodule.test_dataloader()

    def after_fit(self) -> None:
        """Nothing was kept."""


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave the seed of this process as it is, and say nothing: the run itself says it again."""
    before = {name: os.environ.get(name) for name in SEEDS}
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        nowhere = io.StringIO()
        with warnings.catch_warnings(), redirect_stdout(nowhere), redirect_stderr(nowhere):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
