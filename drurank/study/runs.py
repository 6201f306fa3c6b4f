"""One candidate: a fit, a test of each checkpoint that it kept, and what is kept of both."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from drurank.errors import InputError
from drurank.files import write_json
from drurank.run_folder.group_counts import write_checked
from drurank.run_folder.layout import CHECKPOINT_FOLDER, LAST_CHECKPOINT
from drurank.study.calling import Command, call, call_apart
from drurank.study.candidates import Candidate, SearchTrial
from drurank.study.figures import counted_figures
from drurank.study.folder import (
    COUNTS_FILE,
    FIGURES_FILE,
    MANIFEST_FILE,
    RUN_FOLDER,
    folder_of,
    is_finished,
    shared_files,
)
from drurank.study.manifest import figure_counts, group_counts, manifest_of
from drurank.study.plan import Plan
from drurank.study.result import Result

Rehearse = Callable[[list[str]], Mapping[str, Any]]
"""Goes through a fit up to its first step, without training; gives the trainer's options."""
QUIET = ["--trainer.enable_progress_bar", "false"]
NO_COUNTS = "without which a candidate leaves nothing to compare"
ALL_ROWS = "but figures are compared over all rows of a split"
NEEDED = {
    "logger": ((None, True), NO_COUNTS),
    "enable_checkpointing": ((None, True), NO_COUNTS),
    "fast_dev_run": ((False, None), "which tries a few batches and keeps nothing"),
    "barebones": ((False, None), "which keeps nothing"),
    "limit_val_batches": ((None, 1.0), ALL_ROWS),
    "limit_test_batches": ((None, 1.0), ALL_ROWS),
    "val_check_interval": (
        (None, 1.0),
        "but a study keeps the counts by group of one validation an epoch, and knows checkpoints by their epoch",
    ),
}
"""Options of a trainer that must have one of these values for a study, and why."""
OF_PLAN = ("data.cache_dir", "data.num_workers")
"""Options of the data that a run's own configuration alone does not decide where it is tested."""
SEVERAL = {"devices", "num_nodes", "strategy"}
"""Options of a trainer with which a run may be of several processes."""


def to_check(study: Path, plan: Plan) -> Iterator[Candidate]:
    """Candidates that are not finished, one of each setting and one of each split of the data."""
    seen, splits = set(), set()
    for entry in plan.candidates:
        for candidate in entry.examples() if isinstance(entry, SearchTrial) else [entry]:
            split = candidate.repeat and candidate.repeat.number
            if (candidate.setting in seen and split in splits) or is_finished(study, candidate):
                continue
            seen.add(candidate.setting)
            splits.add(split)
            yield candidate


def check_options(study: Path, plan: Plan, rehearse: Rehearse, shared: Path) -> None:
    """Refuse settings with which ``fit`` cannot begin, before the first run.

    Args:
        study: folder of the study.
        plan: of the study.
        rehearse: goes through a fit up to its first step, and gives the trainer's options.
        shared: folder in which ``write_shared`` has written the shared configurations.

    Raises:
        InputError: naming the first candidate that has one.
    """
    for candidate in to_check(study, plan):
        try:
            check_trainer(rehearse(_fit_words(shared, plan, candidate, study, several=False)))
        except InputError as error:
            raise InputError(f"{plan.source}: {candidate.setting}: {str(error).removeprefix('error: ')}") from error


def check_trainer(options: Mapping[str, Any]) -> None:
    """Refuse options with which a run leaves nothing to read.

    Args:
        options: of the trainer, by name.

    Raises:
        InputError: naming the option.
    """
    for name, (needed, why) in NEEDED.items():
        # A limit of 1 is one batch, and 1.0 all of them.
        if not any(options[name] == value and type(options[name]) is type(value) for value in needed):
            raise InputError(f"trainer.{name} is {options[name]!r}, {why}; leave it out")


def run_candidate(study: Path, plan: Plan, candidate: Candidate, command: Command) -> dict[str, Any]:
    """Fit a candidate, or resume it, test what it kept, and write its counts and manifest.

    Args:
        study: folder of the study, in which the shared configurations are.
        plan: of the study.
        candidate: the one to run.
        command: what fits and tests.

    Returns:
        The manifest.

    Raises:
        InputError: saying why it cannot be run.
    """
    folder = folder_of(study, candidate)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A search may propose a setting twice, and a worker that was taken for dead may wake up.
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not is_finished(study, candidate):
            _run(study, plan, candidate, command)
        if not plan.keep_checkpoints:
            shutil.rmtree(folder / RUN_FOLDER / CHECKPOINT_FOLDER, ignore_errors=True)
    return dict(Result.read(folder / MANIFEST_FILE).manifest)


def _run(study: Path, plan: Plan, candidate: Candidate, command: Command) -> None:
    folder, begun, several = folder_of(study, candidate), time.time(), _is_of_several(plan, candidate)

    def do(words: list[str]) -> None:
        if several:
            call_apart([*words, *QUIET])
        else:
            call(command, [*words, *QUIET])

    run = folder / RUN_FOLDER
    last = run / CHECKPOINT_FOLDER / LAST_CHECKPOINT
    if _is_whole(last):
        do(["fit", "--ckpt_path", str(last)])
    else:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        do(_fit_words(study, plan, candidate, folder, several=several))
    figures = counted_figures(plan.criteria)
    of_figures = ["--figure", ",".join(figures)] if figures else []
    do(["test", "--run", str(run), *of_figures, *_words_of_data(plan, candidate)])
    counts = group_counts(run)
    write_checked(counts, folder / COUNTS_FILE)
    if figures:
        write_checked(figure_counts(run, figures), folder / FIGURES_FILE)
    write_json(folder / MANIFEST_FILE, manifest_of(candidate, run, counts, time.time() - begun))


def _words_of_data(plan: Plan, candidate: Candidate) -> list[str]:
    """Options of the data that a test takes from no run's configuration, but from the plan, which a person wrote."""
    shared = [section.get("data") for section in plan.shared]
    given = [data.get("init_args") or {} for data in shared if isinstance(data, dict)]
    every = {f"data.{name}": value for one in given for name, value in one.items()}
    every |= {**candidate.options, **(candidate.repeat.options if candidate.repeat else {})}
    return [f"--{name}={every[name]}" for name in OF_PLAN if every.get(name) is not None]


def _is_whole(checkpoint: Path) -> bool:
    if not checkpoint.is_file():
        return False
    from drurank.run_folder.checkpoint_io import read_checkpoint  # here, since torch is slow to import

    try:
        return bool(read_checkpoint(checkpoint))
    except InputError:
        return False


def _is_of_several(plan: Plan, candidate: Candidate) -> bool:
    """Whether a run may be of several processes."""
    names = {name for section in plan.shared for name in section.get("trainer") or {}}
    names |= {name.removeprefix("trainer.") for name in candidate.options}
    return bool(names & SEVERAL)


def _fit_words(study: Path, plan: Plan, candidate: Candidate, root: Path, *, several: bool) -> list[str]:
    shared = [word for file in shared_files(study, plan) for word in ("--config", str(file))]
    callback = ["--trainer.callbacks+", "drurank.callbacks.ValidationCounts"]
    # A worker is one process; on several devices Lightning would start it again for each.
    devices = [] if several else ["--trainer.devices", "1"]
    where = ["--trainer.default_root_dir", str(root)]
    return ["fit", "--model", candidate.method, *shared, *candidate.words(), *devices, *callback, *where]
