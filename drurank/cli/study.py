"""study: many candidates on one dataset, run once, and compared as often as you like."""

from __future__ import annotations

import shlex
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from drurank.cli.compare_shown import gathered, show_comparison
from drurank.cli.concordance_shown import show_concordance
from drurank.cli.file_hints import in_study_file
from drurank.cli.flags import named_as_flags
from drurank.cli.parser import SentenceParser
from drurank.cli.program import program, usage
from drurank.cli.seeds_shown import show_seeds
from drurank.cli.study_shown import draw, export, show_table, write
from drurank.cli.study_workers import Workers, watch
from drurank.cli.words import trust_named
from drurank.errors import InputError, check_count, is_count, nearest
from drurank.imports import import_words, trust
from drurank.recipes import find_config
from drurank.run_folder.links import refuse_links
from drurank.study.folder import LOG_FOLDER, is_finished, write_plan, write_shared
from drurank.study.plan import Plan
from drurank.study.queue import GRACE, Queue, database_of, naming_database, optuna_installed
from drurank.study.runs import Rehearse, check_options
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
SHOWN: dict[str, Callable[..., Any]] = {
    "table": show_table,
    "seeds": show_seeds,
    "concordance": show_concordance,
    "compare": show_comparison,
    "export-best": export,
    "plot": draw,
    "report": write,
}


def run(words: list[str]) -> Any:
    """Run the command that the first word names.

    Raises:
        InputError: if there is no such command.
    """
    commands = {"run": run_study, **SHOWN}
    if words[:1] in ([], ["--help"], ["-h"]):
        lines = [f"  {name:<12} {(command.__doc__ or '').splitlines()[0]}" for name, command in commands.items()]
        return print("\n".join([f"usage: {usage('study')} COMMAND ...", *lines, "COMMAND --help says more."]))
    if words[0] == WORKER and len(words) == 7:
        return _work(*words[1:])
    if words[0] not in commands:
        raise InputError(f"there is no command study {words[0]!r}: {nearest(words[0], commands)}")
    parser = SentenceParser(prog=usage("study", words[0]))
    parser.add_function_arguments(commands[words[0]])
    parser.let_stand_alone("retry_failed", "overwrite")
    settings = vars(parser.parse_args(gathered(words[1:], "--runs")))
    with named_as_flags(parser.all_options):
        return commands[words[0]](**settings)


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
    check_count("workers", workers)
    check_count("stack_size", stack_size)
    if not is_count(grace) or grace < SHORTEST:
        raise InputError(f"grace is {grace!r}; give a whole number of seconds of {SHORTEST} or more")
    optuna_installed()
    plan, folder = Plan.read(config), Path(output).expanduser()
    trust(plan.shared)  # of the configurations that the plan names
    try:
        prepare(folder, plan)
    except InputError as error:
        raise InputError(in_study_file(str(error))) from error
    file = Path(find_config(config)).expanduser().resolve()
    return run_plan(plan, file, folder, workers, storage, grace, engine, stack_size, retry_failed=retry_failed)


def run_plan(
    plan: Plan,
    file: Path,
    folder: Path,
    workers: int = 1,
    storage: str | None = None,
    grace: int = GRACE,
    engine: Engine = "auto",
    stack_size: int = STACK_SIZE,
    *,
    retry_failed: bool = False,
) -> dict[str, str]:
    """Run what is not finished of a plan, in a ``file``, whose ``folder`` is prepared; the rest as of ``run_study``."""
    with naming_database(database_of(folder, storage)):
        queue = filled_queue(folder, plan, storage, grace, retry_failed=retry_failed)
    with naming_database(database_of(folder, storage)), StopSignals(*STOP) as stop:
        words = [sys.executable, "-m", "drurank", *import_words(), "study", WORKER]
        number = min(workers, len(plan.candidates))
        together = 1 if engine == "single" else min(stack_size, -(-len(plan.candidates) // number))
        words += [
            str(file),
            str(folder.resolve()),
            storage or "",
            str(grace),
            engine,
            str(together),
        ]
        before = queue.states()
        watch(queue, Workers(words, folder / LOG_FOLDER, number), len(plan.candidates), stop)
        states, reasons = queue.states(), queue.reasons()
        alone = queue.alone()
    _show(plan, states, reasons, folder)
    if engine == "stacked":
        _show_alone(alone, [key for key in states if states[key] == "COMPLETE" != before.get(key)])
    if set(states.values()) != {"COMPLETE"}:
        raise SystemExit(1)
    return states


def prepare(folder: Path, plan: Plan) -> None:
    """Rehearse the settings of all candidates, and write what workers and tables read.

    Raises:
        InputError: naming the first candidate whose ``fit`` cannot begin, or a link that leads out of the folder.
    """
    if folder.is_dir():
        refuse_links(folder)
    with TemporaryDirectory() as beside:  # a plan that is refused leaves nothing in the folder
        write_shared(Path(beside), plan)
        check_options(folder, plan, _rehearsal(), Path(beside))
    write_shared(folder, plan)
    write_plan(folder, plan)


def filled_queue(
    folder: Path, plan: Plan, storage: str | None = None, grace: int = GRACE, *, retry_failed: bool = False
) -> Queue:
    """The queue of a plan, with every candidate in it that is still to be run; arguments as of ``run_study``."""
    queue = Queue(folder, plan.digest, storage, grace)
    queue.put(
        plan.candidates,
        lambda entry, state: (
            (retry_failed and state == "FAIL")
            or (state == "COMPLETE" and not is_finished(folder, candidate_of(queue, entry)))
        ),
    )
    return queue


def _work(config: str, output: str, storage: str, grace: str, engine: str, stack_size: str) -> None:
    """Take candidates and run them until none is left."""
    with StopSignals(*STOP) as stop:
        end_with_parent()
        plan, folder = Plan.read(config), Path(output)
        trust_named(["--config", config])
        trust(plan.shared)
        with naming_database(database_of(folder, storage)):
            queue = Queue(folder, plan.digest, storage or None, int(grace))
            largest = SMALL_NETWORK if engine == "auto" else None
            work(queue, folder, plan, _train, stop, int(stack_size), largest)


def _train(words: list[str]) -> object:
    from drurank.cli.training import run as train  # here, since it is slow to import

    return train(words)


def _rehearsal() -> Rehearse:
    from drurank.cli.study_checks import Rehearsal  # here, since it is slow to import

    return Rehearsal()


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
        by = ["--by", plan.criteria[0]] if "qdcg10" not in plan.criteria else []  # the default of table
        words = [*program(), *import_words(), "study", "table", "--folder", str(folder), *by]
        say(f"Compare them: {shlex.join(words)}")
