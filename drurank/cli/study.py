"""study: many candidates on one dataset, run once, and told of as often as one likes."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from drurank.cli.flags import named_as_flags
from drurank.cli.parser import SentenceParser
from drurank.cli.study_shown import draw, show_comparison, show_concordance, show_table, write
from drurank.errors import InputError, is_count, nearest
from drurank.imports import import_words
from drurank.study.candidates import Candidate, Draw
from drurank.study.plan import Plan
from drurank.study.queue import GRACE, Queue
from drurank.study.runs import check_options, folder_of, is_finished, note_draw, run_candidate, write_plan, write_shared
from drurank.study.searching import candidate_of, tell

WORKER = "work"
"""What ``run`` starts in processes of its own."""
LOOK = 1.0
SHORTEST = 3
"""Seconds; a worker gives a sign of life each second then."""
PATIENCE = 30
"""Seconds that a worker has to end when it is told to."""
SHOWN: dict[str, Callable[..., Any]] = {
    "table": show_table,
    "concordance": show_concordance,
    "compare": show_comparison,
    "plot": draw,
    "report": write,
}


def run(words: list[str]) -> Any:
    """Do what the first word says.

    Raises:
        InputError: if there is no such command.
    """
    commands = {"run": run_study, **SHOWN}
    if words[:1] in ([], ["--help"], ["-h"]):
        lines = [f"  {name:<12} {(command.__doc__ or '').splitlines()[0]}" for name, command in commands.items()]
        return print("\n".join(["usage: python cli.py study COMMAND ...", *lines, "COMMAND --help says more."]))
    if words[0] == WORKER and len(words) == 5:
        return _work(*words[1:])
    if words[0] not in commands:
        raise InputError(f"there is no command study {words[0]!r}: {nearest(words[0], commands)}")
    parser = SentenceParser(prog=f"cli.py study {words[0]}")
    parser.add_function_arguments(commands[words[0]])
    parser.let_stand_alone("retry_failed")
    settings = vars(parser.parse_args(words[1:]))
    with named_as_flags(parser.all_options):
        return commands[words[0]](**settings)


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
        workers: processes that run candidates at the same time, each on the next one of the GPUs that there are.
        storage: address of the database that tells who runs what, as postgresql://user@host/name, for workers on
            several machines that share the folder; SQLite in the folder, if not given.
        retry_failed: whether candidates that failed are run once more.
        grace: seconds without a sign of life after which a worker counts as dead and its candidate is taken over.

    Returns:
        Key of each candidate to its state; with exit status 1, if some are not finished.

    Raises:
        InputError: if the file cannot be used.
    """
    if not is_count(workers):
        raise InputError(f"workers is {workers!r}; give a whole number of 1 or more")
    if not is_count(grace) or grace < SHORTEST:
        raise InputError(f"grace is {grace!r}; give a whole number of seconds of {SHORTEST} or more")
    plan, folder = Plan.read(config), Path(output).expanduser()
    write_shared(folder, plan)
    check_options(folder, plan)
    write_plan(folder, plan)
    queue = Queue(folder, plan.digest, storage, grace)
    queue.put(
        plan.candidates,
        lambda entry, state: (
            (retry_failed and state == "FAIL")
            or (state == "COMPLETE" and not is_finished(folder, candidate_of(queue, entry)))
        ),
    )
    words = [sys.executable, "-m", "drurank", *import_words(), "study", WORKER]
    words += [str(Path(config).expanduser().resolve()), str(folder.resolve()), storage or "", str(grace)]
    with _stopped_by(signal.SIGTERM):
        _watch(queue, _Workers(words, folder / "logs", min(workers, len(plan.candidates))), len(plan.candidates))
    states = queue.states()
    _show(plan, states, queue.reasons(), folder)
    if set(states.values()) != {"COMPLETE"}:
        raise SystemExit(1)
    return states


class _Workers:
    """Processes that are ended when one leaves."""

    def __init__(self, words: list[str], logs: Path, number: int) -> None:
        self.words, self.logs, self.number = words, logs, number
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        self.logs.mkdir(exist_ok=True)
        for place in range(self.number):
            log = self.logs / f"worker_{os.uname().nodename}_{os.getpid()}_{place}.log"
            with log.open("w", encoding="utf-8") as out:
                environment = {**os.environ, **device_of(place)}
                self.started.append(subprocess.Popen(self.words, stdout=out, stderr=subprocess.STDOUT, env=environment))

    def are_ended(self) -> bool:
        return all(process.poll() is not None for process in self.started)

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.started:
            process.terminate()
        for process in self.started:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def device_of(place: int) -> dict[str, str]:
    """Environment in which a worker sees one of several GPUs, the next one for the next worker."""
    import torch

    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = named.split(",") if named else [str(number) for number in range(torch.cuda.device_count())]
    return {"CUDA_VISIBLE_DEVICES": devices[place % len(devices)]} if len(devices) > 1 else {}


@contextmanager
def _stopped_by(*signals: int) -> Iterator[list[int]]:
    """End with the status of the first of these signals, having cleaned up; gives a list that then holds it."""
    status: list[int] = []

    def stop(number: int, frame: object) -> None:
        # From a terminal come two, and the second must not end the cleaning up.
        if not status:
            status.append(128 + number)
            raise SystemExit(128 + number)

    before = {number: signal.signal(number, stop) for number in signals}
    try:
        yield status
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _work(config: str, output: str, storage: str, grace: str) -> None:
    """Take candidates and run them until none is left."""
    plan, folder = Plan.read(config), Path(output)
    queue, known = Queue(folder, plan.digest, storage or None, int(grace)), {c.key: c for c in plan.candidates}
    with _stopped_by(signal.SIGTERM, signal.SIGINT) as status:
        while True:
            taken = queue.take()
            if taken is not None:
                _run_taken(queue, folder, plan, taken[0], known[taken[1]], status)
            elif not queue.wait():
                return


def _run_taken(queue: Queue, folder: Path, plan: Plan, number: int, entry: Candidate | Draw, status: list[int]) -> None:
    with queue.alive(number):
        try:
            candidate = candidate_of(queue, entry)
            if isinstance(entry, Draw):
                note_draw(folder, entry, candidate)
            print(f"== {candidate.setting}, seed {candidate.seed}: {folder_of(folder, candidate)}", flush=True)
            manifest = run_candidate(folder, plan, candidate)
        except Exception as error:
            if status:  # A library may have made another error of it.
                queue.put_back(number)
                raise SystemExit(status[0]) from error
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            print(reason, flush=True)
            queue.end(number, reason)
            tell(queue, entry, None)
        except BaseException:
            queue.put_back(number)
            raise
        else:
            tell(queue, entry, manifest)
            queue.end(number)


def _watch(queue: Queue, workers: _Workers, total: int) -> None:
    """Show how far the study is until all workers have ended."""
    begun, first = time.time(), None
    with workers, Live(console=Console(), refresh_per_second=1) as live:
        workers.start()
        while True:
            counts = queue.count()
            done = counts["COMPLETE"] + counts["FAIL"]
            first = done if first is None else first
            live.update(_progress(counts, total, done - first, time.time() - begun))
            if workers.are_ended():
                return
            time.sleep(LOOK)


def _progress(counts: Counter[str], total: int, done: int, seconds: float) -> Table:
    table = Table()
    for column in ("finished", "failed", "running", "waiting", "of", "time left"):
        table.add_column(column, justify="right")
    left = counts["RUNNING"] + counts["WAITING"]
    estimate = str(timedelta(seconds=round(seconds / done * left))) if done else "?"
    said = [counts[state] for state in ("COMPLETE", "FAIL", "RUNNING", "WAITING")]
    table.add_row(*map(str, said), str(total), estimate if left else "none")
    return table


def _show(plan: Plan, states: dict[str, str], reasons: dict[str, str], folder: Path) -> None:
    counts = Counter(states.values())
    print(f"\n{counts['COMPLETE']} of {len(plan.candidates)} candidates are finished in {folder}")
    for candidate in plan.candidates:
        if states[candidate.key] == "FAIL":
            print(f"failed: {candidate.setting}, seed {candidate.seed}: {reasons[candidate.key]}")
    if counts["FAIL"]:
        print(f"What they said stands in {folder / 'logs'}; --retry_failed runs them once more.")
    if counts["WAITING"] + counts["RUNNING"]:
        print(f"The workers have ended before the others were run; see {folder / 'logs'}, and call it again.")
    if counts["COMPLETE"]:
        print(f"Look at them: python cli.py study table --folder {shlex.quote(str(folder))}")
