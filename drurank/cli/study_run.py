"""study run: all candidates of a study that are not finished, by processes that take one after the other."""

from __future__ import annotations

import shlex
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from drurank.cli.file_hints import in_study_file
from drurank.cli.program import program
from drurank.cli.study_workers import Workers, wait_to_begin, watch
from drurank.cli.words import trust_named
from drurank.errors import InputError, check_count, is_count
from drurank.imports import import_words, own_program, trust
from drurank.recipes import find_config
from drurank.run_folder.links import refuse_links
from drurank.study.database import database_of, naming_database, optuna_installed
from drurank.study.finished import left_out
from drurank.study.folder import LOG_FOLDER, is_finished, refuse_other_files, write_plan, write_shared
from drurank.study.plan import Plan
from drurank.study.queue import GRACE, Queue
from drurank.study.runs import to_check
from drurank.study.searching import candidate_of
from drurank.study.working import StopSignals, end_with_parent, work
from drurank.terminal import say
from drurank.words import counted

Engine = Literal["auto", "stacked", "single"]
WORKER = "work"
"""What ``run`` starts in processes of its own."""
STACK_SIZE = 32
SMALL_NETWORK = 1_000_000
"""Parameters up to which ``auto`` trains candidates together: a step of larger networks keeps the machine busy."""
TAKEN_ALONE = (
    "a worker had one at a time, as of a search, of runs of several processes, or where there are as many workers as "
    "candidates"
)
SHORTEST = 3
"""Least ``grace`` in seconds; a worker then gives a sign of life each second."""
STOP = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class Options:
    """How a study is run; see ``run_study``.

    Raises:
        InputError: naming the option that has no such value.
    """

    workers: int = 1
    storage: str | None = None
    grace: int = GRACE
    engine: Engine = "auto"
    stack_size: int = STACK_SIZE
    retry_failed: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers that are none."""
        check_count("workers", self.workers)
        check_count("stack_size", self.stack_size)
        if not is_count(self.grace) or self.grace < SHORTEST:
            raise InputError(f"grace is {self.grace!r}; give a whole number of seconds of {SHORTEST} or more")

    def workers_of(self, plan: Plan, file: Path, folder: Path) -> Workers:
        """The workers of a plan, none of which is started yet.

        Args:
            plan: of the study.
            file: of the plan.
            folder: of the study.
        """
        number = min(self.workers, len(plan.candidates))
        together = 1 if self.engine == "single" else min(self.stack_size, -(-len(plan.candidates) // number))
        words = [*own_program(), "study", WORKER, str(file), str(folder.resolve())]
        words += [self.storage or "", str(self.grace), self.engine, str(together)]
        return Workers(words, folder / LOG_FOLDER, number)


def run_study(
    config: str,
    output: str,
    workers: int = 1,
    storage: str | None = None,
    retry_failed: bool = False,
    grace: int = GRACE,
    engine: Engine = "auto",
    stack_size: int = STACK_SIZE,
) -> dict[str, str]:
    """Run all candidates of a study that are not finished yet.

    Args:
        config: YAML file of the study, as configs/study/table.yaml.
        output: folder of the study; if it exists, the study in it goes on.
        workers: processes that run candidates at the same time; with several GPUs each worker uses the next one.
        storage: URL of the database that assigns candidates to workers, as postgresql://user@host/name, for workers on
            several machines that share the folder; SQLite in the folder, if not given.
        retry_failed: whether candidates that failed are run once more.
        grace: seconds without a sign of life after which a worker counts as dead and its candidate is run by another.
        engine: how a worker trains its candidates. ``stacked``: candidates with the same network, data, batches and
            class of optimizer train together, their parameters stacked; what cannot be stacked trains alone, and its
            log says why. ``single``: one after the other. ``auto``: stacked where that is known to be faster.
        stack_size: most candidates that a worker trains together.

    Returns:
        Key of each candidate to its state.

    Raises:
        InputError: if the file cannot be used, or Optuna is not installed.
        SystemExit: with status 1, if some candidates are not finished.
    """
    options = Options(workers, storage, grace, engine, stack_size, retry_failed)
    optuna_installed()
    plan, folder = Plan.read(config), Path(output).expanduser()
    trust(plan.shared)  # of the configurations that the plan names
    file = Path(find_config(config)).expanduser().resolve()
    if folder.is_dir():
        refuse_links(folder)
    refuse_other_files(folder, str(file))
    with options.workers_of(plan, file, folder) as started:
        try:
            warned = prepare(folder, plan, started.check)
        except InputError as error:
            raise InputError(in_study_file(str(error))) from error
        for sentence in warned:
            say(f"warning: {in_study_file(sentence)}", error=True)
        others = left_out(folder)
        if others:
            say(
                f"warning: {folder} has {counted(others, 'finished candidate')} of earlier plans, which its tables "
                "leave out from now on; to compare all, put the candidates of both plans into one file (what is "
                "finished with the same settings is not run again), or give this plan another --output",
                error=True,
            )
        return run_plan(plan, folder, options, started)


def run_plan(plan: Plan, folder: Path, options: Options, workers: Workers) -> dict[str, str]:
    """Run what is not finished of a plan, whose folder is prepared; see ``run_study``."""
    with naming_database(database_of(folder, options.storage)):
        queue = filled_queue(folder, plan, options)
    with naming_database(database_of(folder, options.storage)), StopSignals(*STOP) as stop:
        before = queue.states()
        watch(queue, workers, len(plan.candidates), stop)
        states, reasons = queue.states(), queue.reasons()
        alone = queue.alone()
    _show(plan, states, reasons, folder)
    if options.engine == "stacked":
        _show_alone(alone, [key for key in states if states[key] == "COMPLETE" != before.get(key)])
    if set(states.values()) != {"COMPLETE"}:
        raise SystemExit(1)
    return states


def prepare(folder: Path, plan: Plan, check: Callable[[Path], list[str]] | None = None) -> list[str]:
    """Write what workers and tables read, after a check of all settings.

    Args:
        folder: of the study.
        plan: of the study.
        check: rehearses the settings, with shared configurations in the folder that it is given, and gives warnings;
            none, if not given.

    Returns:
        The warnings.

    Raises:
        InputError: naming the first candidate whose ``fit`` cannot begin.
    """
    warned: list[str] = []
    if check is not None and next(to_check(folder, plan), None) is not None:
        with TemporaryDirectory() as beside:  # a plan that is refused leaves nothing in the folder
            write_shared(Path(beside), plan)
            warned = check(Path(beside))
    write_shared(folder, plan)
    write_plan(folder, plan)
    return warned


def filled_queue(folder: Path, plan: Plan, options: Options | None = None) -> Queue:
    """The queue of a plan, with every candidate in it that is still to be run."""
    options = options or Options()
    queue = Queue(folder, plan.digest, options.storage, options.grace)
    queue.put(
        plan.candidates,
        lambda entry, state: (
            (options.retry_failed and state == "FAIL")
            or (state == "COMPLETE" and not is_finished(folder, candidate_of(queue, entry)))
        ),
    )
    return queue


def work_for(config: str, output: str, storage: str, grace: str, engine: str, stack_size: str, connection: str) -> None:
    """Be a worker: check the plan, if asked, and take candidates and run them until none is left.

    Args:
        config: file of the plan.
        output: folder of the study.
        storage: as of ``run_study``; empty, if not given.
        grace: as of ``run_study``.
        engine: as of ``run_study``.
        stack_size: most candidates that train together; 1 if none do.
        connection: number of the file by which the first process is reached.
    """
    from drurank.cli.study_checks import check_plan  # here, since they are slow to import
    from drurank.cli.training import run as train

    with StopSignals(*STOP) as stop:
        end_with_parent()
        plan, folder = Plan.read(config), Path(output)
        trust_named(["--config", config])
        trust(plan.shared)
        with stop.interrupting():
            wait_to_begin(int(connection), partial(check_plan, folder, plan))
        with naming_database(database_of(folder, storage)):
            queue = Queue(folder, plan.digest, storage or None, int(grace))
            largest = SMALL_NETWORK if engine == "auto" else None
            work(queue, folder, plan, train, stop, int(stack_size), largest)


def _show_alone(alone: dict[str, str | None], ended: list[str]) -> None:
    """Say whether candidates that were to train together did not, and why.

    Args:
        alone: see ``Queue.alone``.
        ended: keys of the candidates that were trained now.
    """
    why = [alone[key] for key in ended if key in alone]
    reasons = "; ".join(dict.fromkeys(filter(None, why)))
    if ended and None not in why:
        say(f"No candidates were trained together: {reasons or TAKEN_ALONE}.")
    elif reasons:
        say(f"{sum(map(bool, why)):,} of {counted(len(ended), 'candidate')} were trained alone: {reasons}.")


def _show(plan: Plan, states: dict[str, str], reasons: dict[str, str], folder: Path) -> None:
    counts = Counter(states.values())
    say(f"\n{counts['COMPLETE']} of {len(plan.candidates)} candidates are finished in {folder}")
    for candidate in plan.candidates:
        if states[candidate.key] == "FAIL":
            say(f"failed: {candidate.name}: {reasons[candidate.key]}")
    if counts["FAIL"]:
        say(f"Their output is in {folder / LOG_FOLDER}; --retry_failed runs them once more.")
    if counts["WAITING"] + counts["RUNNING"]:
        say(f"The workers ended before the others were run; see {folder / LOG_FOLDER}, and run the command again.")
    if counts["COMPLETE"]:
        words = [*program(), *import_words(), "study", "table", "--folder", str(folder)]
        say(f"Compare them: {shlex.join(words)}")
