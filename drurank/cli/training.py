"""fit, validate, test and predict: from the words that were typed to the status of the process."""

from __future__ import annotations

import atexit
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from lightning.pytorch.cli import ArgsType
from lightning.pytorch.utilities.exceptions import SIGTERMException
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from drurank.cli.early import TRAINING, options_of_others
from drurank.cli.endings import (
    ended_with,
    ending_of,
    leave_group,
    let_workers_end,
    with_hint,
    with_source,
    without_workers_errors,
)
from drurank.cli.group_cli import LOGGERS, GroupCLI
from drurank.cli.run_folder import with_config_of_run
from drurank.cli.training_parser import takes_text
from drurank.cli.undoing import Begun
from drurank.cli.words import (
    classes_first,
    names_as_text,
    optimizers_of_model,
    refuse_studies,
    with_recipes,
    without_other_commands,
)
from drurank.run_folder.layout import CHECKPOINT_FOLDER
from drurank.run_folder.lock import release_all
from drurank.training.stopping import SIGINT_STATUS, SIGTERM_STATUS, STOPPING

NOISE = (
    ".*does not have many workers.*",
    ".*Experiment logs directory .* exists and is not empty.*",
    ".*LightningCLI's args parameter is intended to run from within Python.*",
    ".*callbacks used to create the checkpoint need to be provided.*",
    f".*Checkpoint directory .*{CHECKPOINT_FOLDER} exists and is not empty.*",
    ".*Couldn't infer the batch indices.*",
    ".*isinstance.treespec, LeafSpec.*",
)

LOGGED = ("Tip:", "Detected KeyboardInterrupt", "TPU available: False")
LOGGED_IN_EVALUATION = (
    "Seed set to",
    "GPU available: False",
    "Restoring states from the checkpoint",
    "Loaded model weights from the checkpoint",
)
"""Messages of Lightning that say nothing; of a fit it is good to know the seed, and that it has no GPU."""
OF_SEEDS = "lightning.fabric.utilities.seed"


def run(words: ArgsType) -> GroupCLI:
    """Train, validate, test or predict.

    Args:
        words: the words after the program's name, or a dict of settings.

    Returns:
        The finished command line, with its ``trainer``, ``model`` and ``datamodule``.

    Raises:
        InputError: if the input cannot be used.
    """
    for message in NOISE:
        warnings.filterwarnings("ignore", message)
    typed, source, begun = words, None, Begun()
    if isinstance(words, list):
        refuse_studies(words)
        words, source = with_config_of_run(with_recipes(words))
        words = without_other_commands(words, options_of_others(words[0]) if words[0] in TRAINING else ())
    STOPPING.begin()
    try:
        if isinstance(words, list):
            words = names_as_text(classes_first(optimizers_of_model(words)), takes_text)
        with without_workers_errors(), _without_noise(words):
            finished = GroupCLI(words, begun)
    except SIGTERMException as stop:
        # Lightning ends with status 0, as if the run were finished.
        STOPPING.say()
        raise ended_with(SIGTERM_STATUS) from stop
    except SystemExit as stop:
        if not isinstance(stop.__context__, KeyboardInterrupt):
            raise
        # Lightning ends with status 1, as of an error.
        rank_zero_only(STOPPING.say_interrupted)("stopped by SIGINT")
        raise ended_with(SIGINT_STATUS) from stop
    except Exception as error:
        let_workers_end()
        ending = with_source(with_hint(ending_of(error), typed, source), typed, source, begun=begun.is_true)
        if ending is error:
            raise
        raise ending from error
    finally:
        STOPPING.end()
        release_all()
    # Not after an error, with which other processes may still wait in the group.
    atexit.register(leave_group)
    return finished


@contextmanager
def _without_noise(words: ArgsType) -> Iterator[None]:
    """Leave out what Lightning logs and is nothing to act on, or said by us."""
    evaluates = isinstance(words, list) and words[:1] != ["fit"]
    left_out = (*LOGGED, *(LOGGED_IN_EVALUATION if evaluates else ()))

    def is_news(record: logging.LogRecord) -> bool:
        return not any(said in record.getMessage() for said in left_out)

    loggers = [logging.getLogger(name) for name in (*LOGGERS, OF_SEEDS)]
    for logger in loggers:
        logger.addFilter(is_news)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_news)
