"""study: many candidates on one dataset, run once, and told of as often as one likes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from drurank.cli.parser import SentenceParser
from drurank.cli.study_shown import draw, show_comparison, show_concordance, show_table, write
from drurank.errors import InputError, is_count, nearest
from drurank.study.candidates import Candidate, Draw
from drurank.study.plan import Plan
from drurank.study.queue import GRACE, Queue
from drurank.study.runs import check_options, folder_of, run_candidate, write_shared
from drurank.study.searching import Search

WORKER = "work"
"""What ``run`` starts in processes of its own."""
LOOK = 1.0


def run(words: list[str]) -> Any:
    """Do what the first word says.

    Raises:
        InputError: if there is no such command.
    """
    if words[:1] == [WORKER]:
        return _work(*words[1:])
    shown: dict[str, Callable[..., Any]] = {
        "run": run_study,
        "table": show_table,
        "concordance": show_concordance,
        "compare": show_comparison,
        "plot": draw,
        "report": write,
    }
    command = shown.get(words[0] if words else "")
    if command is None:
        given = words[0] if words else ""
        raise InputError(f"there is no command study {given!r}: {nearest(given, shown)}")
    parser = SentenceParser(prog=f"cli.py study {words[0]}")
    parser.add_function_arguments(command)
    parser.let_stand_alone("retry_failed")
    return command(**vars(parser.parse_args(words[1:])))


def run_study(
    config: str,
    output: str,
    workers: int = 1,
    storage: str | None = None,
    retry_failed: bool = False,
    grace: int = GRACE,
) -> dict[str, str]:
    """Run all candidates of a study that are not finished yet.

    Args:
        config: YAML file of the study, as configs/study/table.yaml.
        output: folder of the study; one that exists is gone on with.
        workers: processes that run candidates at the same time.
        storage: address of the database that tells who runs what, as postgresql://user@host/name, for workers on
            several machines that share the folder; SQLite in the folder, if not given.
        retry_failed: whether candidates that failed are run once more.
        grace: seconds without a sign of life after which a worker counts as dead and its candidate is taken over.

    Returns:
        Key of each candidate to its state.

    Raises:
        InputError: if the file cannot be used.
    """
    if not is_count(workers):
        raise InputError(f"workers is {workers!r}; give a whole number of 1 or more")
    if not is_count(grace):
        raise InputError(f"grace is {grace!r}; give a whole number of seconds of 1 or more")
    plan, folder = Plan.read(config), Path(output).expanduser()
    queue = Queue(folder, storage, grace)
    write_shared(folder, plan)
    check_options(folder, plan)
    queue.put(list(plan.candidates), again=retry_failed)
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    words = [sys.executable, "-m", "drurank", "study", WORKER, str(Path(config).expanduser().resolve())]
    words += [str(folder.resolve()), storage or "", str(grace)]
    started = []
    for number in range(workers):
        log = (logs / f"worker_{os.uname().nodename}_{os.getpid()}_{number}.log").open("w", encoding="utf-8")
        started.append(subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT))
    try:
        _watch(queue, started, len(plan.candidates))
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()
    states = {key: state for key, state in queue.states().items() if key in {c.key for c in plan.candidates}}
    _show(plan, states, queue.reasons(), folder)
    return states


def _work(config: str, output: str, storage: str, grace: str) -> None:
    """Take candidates and run them until none is left."""
    plan, folder = Plan.read(config), Path(output)
    queue, known = Queue(folder, storage or None, int(grace)), {c.key: c for c in plan.candidates}
    while True:
        taken = queue.take()
        if taken is None:
            if not queue.wait():
                return
            continue
        number, key = taken
        candidate = known.get(key)
        if candidate is None:
            queue.end(number, "it is not in the study's file any more")
            continue
        with queue.alive(number):
            queue.end(number, _reason_of(queue, folder, plan, candidate))


def _reason_of(queue: Queue, folder: Path, plan: Plan, entry: Candidate | Draw) -> str | None:
    """Run one; why it failed, if it did."""
    search = None
    if isinstance(entry, Draw):
        search = Search(queue, entry)
        candidate = search.candidate()
    else:
        candidate = entry
    print(f"== {candidate.setting}, seed {candidate.seed}: {folder_of(folder, candidate)}", flush=True)
    try:
        manifest = run_candidate(folder, plan, candidate)
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        print(reason, flush=True)
        if search:
            search.tell(None)
        return reason
    if search:
        search.tell(manifest)
    return None


def _watch(queue: Queue, started: list[subprocess.Popen[bytes]], total: int) -> None:
    """Show how far the study is until all workers have ended."""
    begun, first = time.time(), None
    with Live(console=Console(), refresh_per_second=1) as live:
        while True:
            counts = queue.count()
            done = counts["COMPLETE"] + counts["FAIL"]
            first = done if first is None else first
            live.update(_progress(counts, total, done - first, time.time() - begun))
            if all(process.poll() is not None for process in started):
                return
            time.sleep(LOOK)


def _progress(counts: Counter[str], total: int, done: int, seconds: float) -> Table:
    table = Table()
    for column in ("finished", "failed", "running", "waiting", "of", "time left"):
        table.add_column(column, justify="right")
    left = counts["RUNNING"] + counts["WAITING"]
    estimate = time.strftime("%H:%M:%S", time.gmtime(seconds / done * left)) if done else "?"
    said = [counts[state] for state in ("COMPLETE", "FAIL", "RUNNING", "WAITING")]
    table.add_row(*map(str, said), str(total), estimate if left else "none")
    return table


def _show(plan: Plan, states: dict[str, str], reasons: dict[str, str], folder: Path) -> None:
    counts = Counter(states.values())
    print(f"{counts['COMPLETE']} of {len(plan.candidates)} candidates are finished in {folder}")
    for candidate in plan.candidates:
        if states[candidate.key] == "FAIL":
            print(f"failed: {candidate.setting}, seed {candidate.seed}: {reasons[candidate.key]}")
