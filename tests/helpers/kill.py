"""Kills runs at random moments, goes on with them, and compares with a run that was left alone: ``make test-kill``.

It sends others, of one and of two processes, SIGTERM, and looks at their statuses, sentences and files.

Prints the seed of the moments; ``python tests/helpers/kill.py --seed N`` draws the same again.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
import yaml
from lightning.pytorch import Callback

from drurank.errors import InputError
from drurank.files import TEMPORARY
from drurank.study import Study, study_table
from runs import QUIET, ROOT, SMALL, read_csv, read_json
from studies import manifests, without_times, words_of, written
from warm import Program

PROGRAM = ROOT / "cli.py"
PATH = os.pathsep.join(map(str, (ROOT, Path(__file__).parent)))
OWN = ["--import", "kill"]  # the callbacks below, which a run's configuration may name
PACE = "SECONDS_BEFORE_AN_EPOCH"
# A file of some MB, so that writing it takes a while; the default MLP has dropout.
NETWORK = ["--model.network", "MLP", "--model.network.hidden", "512"]
COMPARED = ("epoch", "global_step", "state_dict", "optimizer_states", "lr_schedulers", "drurank")
OFTEN, PATIENCE = 0.0005, 200  # a file is half written for a moment only
MOST_KILLS = 4


@dataclass
class Case:
    """What is trained."""

    method: str
    epochs: int
    workers: int = 0
    words: list[str] = field(default_factory=list)

    def __str__(self):
        return f"{self.method}, {self.workers} workers"

    def start(self, root):
        """Words of a new run."""
        where = ["--trainer.default_root_dir", str(root), "--trainer.max_epochs", str(self.epochs)]
        loading = ["--data.num_workers", str(self.workers), "--seed_everything", "3"]
        return ["fit", "--model", self.method, *NETWORK, *SMALL, *where, *loading, *self.words, *QUIET]

    def go_on(self, root):
        """Words that go on from the last checkpoint, or begin anew where there is none."""
        run = latest(root)
        last = run / "checkpoints/last.ckpt" if run else None
        return ["fit", "--ckpt_path", str(last), *OWN, *QUIET] if last and last.is_file() else self.start(root)


CASES = [
    Case("DRU", 40),
    Case("JTT", 40, words=["--model.first_stage_epochs", "20"]),
    Case("DRU", 12, workers=2),
    Case("JTT", 12, workers=2, words=["--model.first_stage_epochs", "5"]),
]


def latest(root):
    """The folder of the run that was started last, if one was."""
    return max(Path(root).glob("version_*"), key=lambda folder: int(folder.name.partition("_")[2]), default=None)


# ---- processes


class Paced(Callback):
    """Waits before each epoch for as many seconds as the environment says, so that a signal finds the run at work."""

    def on_train_epoch_start(self, trainer, pl_module):
        time.sleep(float(os.environ.get(PACE, 0)))


class Refused(Callback):
    """Raises an error of input on one rank only, which the environment names, in epoch 1."""

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.current_epoch == 1 and trainer.global_rank == int(os.environ["REFUSED_RANK"]):
            raise InputError(f"rank {trainer.global_rank} is refused")


class ToWorkers(Callback):
    """Sends the workers of loaders the signal that the environment names, and then one to this process, in epoch 2."""

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.current_epoch == 2 and batch_idx == 0:
            # Apart, since the end of a worker raises an error here.
            threading.Thread(target=self.send).start()

    @staticmethod
    def send():
        for worker in multiprocessing.active_children():
            os.kill(worker.pid, getattr(signal, os.environ["WORKERS_GET"]))
        if "RUN_GETS" in os.environ:
            os.kill(os.getpid(), getattr(signal, os.environ["RUN_GETS"]))


def process(words, log, pace=0, *, anew=False, **environment):
    """The command line as a process that writes into ``log``; a context that kills it and its workers in the end."""
    environment = {"OMP_NUM_THREADS": "1", "PYTHONPATH": PATH, PACE: str(pace), **environment}
    return Program([PROGRAM, *words], log, env={**os.environ, **environment}, anew=anew)


def wait_until(happened, running, poll=0.01):
    """Wait until a function gives true; gives false if the process ends before."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        if happened():
            return True
        if running.poll() is not None:
            return False
        time.sleep(poll)
    raise TimeoutError(f"waited {PATIENCE} s")


def training_begun(root):
    """Tells from now on whether a run has written its configuration, which it does just before it trains."""
    before = {path: path.stat().st_mtime_ns for path in root.glob("version_*/config.yaml")}
    return lambda: {path: path.stat().st_mtime_ns for path in root.glob("version_*/config.yaml")} != before


def finish(words, root):
    """Run to the end.

    Raises:
        RuntimeError: with what it printed, if its exit status is not 0.
    """
    with process(words, root / "log") as running:
        if running.wait(PATIENCE):
            raise RuntimeError(f"{' '.join(words)} ended with {running.poll()}:\n{(root / 'log').read_text()}")


# ---- kills


def kill(words, root, *, seconds=None, write=None, pace=0):
    """Kill a run so many seconds after its training began, or while it writes a checkpoint for the ``write``-th time.

    It waits ``pace`` seconds before each epoch if it has the callback.

    Returns:
        In words what it was doing; ``None`` if it ended before.
    """
    begun, before = training_begun(root), half_written(root)
    with process(words, root / "log", pace) as running:
        if write is None:
            if wait_until(begun, running):
                with suppress(subprocess.TimeoutExpired):
                    running.wait(seconds)
        else:
            wait_until(_writes(root, write), running, OFTEN)
        ended = running.poll()
        running.kill()
        running.wait()
    if ended:
        raise RuntimeError(f"{' '.join(words)} ended with {ended}:\n{(root / 'log').read_text()}")
    if ended == 0:
        return None
    half = [path.name.split(".")[1] for path in half_written(root) - before]
    when = f"{seconds:.2f} s into training" if write is None else f"at write {write}"
    return f"{when}, {half[0] if half else 'no'} checkpoint half written"


def half_written(root):
    """Checkpoints of the latest run that are being written, or were when it was killed."""
    run = latest(root)
    return {*run.glob(f"checkpoints/.*.ckpt.*{TEMPORARY}")} if run else set()


def _writes(root, count):
    """Tells whether a checkpoint is written for the ``count``-th time that is seen from now on."""
    before, seen = half_written(root), set()

    def reached():
        now = half_written(root) - before
        seen.update(now)
        return bool(now) and len(seen) >= count

    return reached


def faults_of_files(root):
    """What of a killed run cannot be read, in words."""
    readers = {
        "version_*/checkpoints/*.ckpt": lambda path: torch.load(path, weights_only=True),
        "version_*/selection.json": read_json,
        "version_*/*.yaml": lambda path: dict(yaml.safe_load(path.read_text(encoding="utf-8"))),
    }
    found = []
    for pattern, read in readers.items():
        for path in root.glob(pattern):
            try:
                read(path)
            except Exception as error:
                found.append(f"{path} cannot be read: {error}")
    return found


# ---- comparing


def differences(one, other, where=""):
    """Places where two nests of plain values and tensors are not equal to the bit."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        same = one.dtype == other.dtype and torch.equal(one, other)
    elif isinstance(one, dict) and isinstance(other, dict):
        keys = [*one, *(key for key in other if key not in one)]
        missing = [f"{where}.{key}" for key in keys if key not in one or key not in other]
        both = [key for key in keys if key in one and key in other]
        return missing + [place for key in both for place in differences(one[key], other[key], f"{where}.{key}")]
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [place for number, pair in pairs for place in differences(*pair, f"{where}.{number}")]
    else:
        same = type(one) is type(other) and one == other
    return [] if same else [where]


def contents(run):
    """Every file of a finished run, as it must be whether it was killed or not."""
    found = {}
    for path in sorted(path for path in run.rglob("*") if path.is_file()):
        name = str(path.relative_to(run))
        if path.suffix == ".ckpt":
            whole = torch.load(path, weights_only=True)
            found[name] = {key: whole[key] for key in COMPARED}
        elif path.suffix == ".csv":
            found[name] = read_csv(path)
        elif path.suffix == ".json":
            # A run killed before its first checkpoint begins anew in the next folder, after which it is called.
            found[name] = json.loads(path.read_text("utf-8").replace(f'"{run.name}"', '"<run>"'))
        elif path.suffix == ".yaml":
            # Where a run was begun; a copy of it is elsewhere.
            found[name] = [line for line in path.read_text("utf-8").splitlines() if "default_root_dir" not in line]
        else:
            found[name] = None  # pictures, whose bytes depend on the machine: that they are there
    return found


# ---- the whole


@dataclass
class Straight:
    """The run that was left alone: what it left, and the seconds from its configuration to its last checkpoint."""

    contents: dict
    seconds: float

    @classmethod
    def of(cls, run):
        """Read a finished run."""
        begun, ended = (run / name for name in ("config.yaml", "checkpoints/last.ckpt"))
        return cls(contents(run), ended.stat().st_mtime - begun.stat().st_mtime)


def trial(case, root, kills, straight, draw, end=finish, pace=0):
    """Start a run, kill it at most so often, and let it end.

    Args:
        case: what is trained.
        root: folder of the runs.
        kills: how often it is killed, unless it is at its end before.
        straight: the run that was left alone.
        draw: where moments are drawn from.
        end: runs the words that it is given to their end.
        pace: seconds before each epoch of a run that is to be killed.

    Returns:
        Faults and differences, and the number of kills.
    """
    found, done = [], 0
    while done < kills and epochs_kept(root) < case.epochs:
        left = case.epochs - epochs_kept(root)
        # A little more than what is left, so that some fall into what comes after the last checkpoint.
        seconds = draw.uniform(0, 1.1 * straight.seconds * left / case.epochs)
        moment = {"write": draw.randint(1, left)} if draw.random() < 0.5 else {"seconds": seconds}
        happened = kill(case.go_on(root), root, pace=pace, **moment)
        if happened is None:
            break
        done += 1
        found += faults_of_files(root)
        print(f"{case}: killed {happened}; {epochs_kept(root)} of {case.epochs} epochs kept", flush=True)
    end(case.go_on(root), root)
    return found + differences(contents(latest(root)), straight.contents), done


# ---- a study


def stacked_study(root, stops, draw):
    """Stop a study whose candidates train together, by each of some signals at a moment; gives what is wrong.

    Args:
        root: an empty folder.
        stops: signals, one after the other; the study is run again after each.
        draw: where moments are drawn from.
    """
    plan = written(root / "s.yaml", candidates=[{"model": "DRU", "cutoff": [5, 20, 50, 100]}], seeds=[0])
    alone, folder, found = root / "alone", root / "study", []

    def words(output):
        return [*words_of(plan, output), "--engine", "stacked", "--grace", "3"]

    finish(words(folder), root)
    folder.rename(alone)  # made in the same place, which its files name
    for stop in stops:
        before = {*folder.glob("logs/*")}
        with process(words(folder), root / "log") as running:
            wait_until(partial(_has_begun, folder, before), running)
            with suppress(subprocess.TimeoutExpired):
                running.wait(draw.uniform(0, 3))
            if running.poll() is None:
                os.killpg(running.pid, stop)
            status = running.wait(60)
        whole = {file.parent.name for file in folder.glob("candidates/*/manifest.json")}
        print(f"a stacked study: {stop.name}, status {status}; {len(whole)} of 4 candidates finished", flush=True)
        if "Traceback" in (root / "log").read_text():
            found.append(f"a stacked study, {stop.name}:\n{(root / 'log').read_text()}")
    finish(words(folder), root)
    for one in sorted(path.relative_to(alone) for path in alone.glob("candidates/*/version_0")):
        found += differences(contents(folder / one), contents(alone / one), str(one))
    one, other = (
        {key: without_times(manifest) for key, manifest in manifests(place).items()} for place in (folder, alone)
    )
    tables = [study_table(Study.load(place), "qdcg10").render("csv") for place in (folder, alone)]
    return found + differences(one, other, "manifests") + differences(*tables, "table")


def _has_begun(study, before):
    """Whether a worker has begun its candidates, by the logs that were not there before."""
    return any("== " in log.read_text() for log in {*study.glob("logs/*")} - before)


# ---- signals


SIGNALLED = {
    "one process": (1, 0, "first"),
    "one process and its workers": (1, 2, "all"),
    "rank 0": (2, 0, "first"),
    "rank 1": (2, 0, "second"),
    "two processes": (2, 0, "all"),
    "two processes and their workers": (2, 1, "all"),
}


def signalled(kind, root, draw):
    """Send a run SIGTERM at a moment that is drawn, half of the time while a file is written; gives what is wrong."""
    number, workers, whom = SIGNALLED[kind]
    words = ["--trainer.callbacks", "kill.Paced"]
    words += ["--trainer.devices", str(number), "--trainer.strategy", "ddp"] if number > 1 else []
    case, last = Case("DRU", 5000, workers=workers, words=words), root / "version_0/checkpoints/last.ckpt"
    with process([*case.start(root), *OWN], root / "log") as running:
        wait_until(last.is_file, running)
        time.sleep(draw.uniform(0, 1))
        if draw.random() < 0.5:
            wait_until(_writes(root, 1), running, OFTEN)
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        begun = time.monotonic()
        if whom == "all":
            os.killpg(running.pid, signal.SIGTERM)
        else:
            os.kill(running.pid if whom == "first" else int(children[0]), signal.SIGTERM)
        try:
            status = running.wait(30)
        except subprocess.TimeoutExpired:
            return [f"{kind}: has not ended in 30 s"]
        seconds = time.monotonic() - begun
        time.sleep(3)
        with suppress(ProcessLookupError):
            os.killpg(running.pid, 0)
            return [f"{kind}: a process is left"]
    said = (root / "log").read_text()
    lines = [line for line in said.splitlines() if line.startswith("stopped by SIGTERM") and str(last) in line]
    print(f"{kind}: status {status} after {seconds:.1f} s, {len(lines)} sentences", flush=True)
    right = status == 128 + signal.SIGTERM and len(lines) == number and "Traceback" not in said
    return faults_of_files(root) + ([] if right else [f"{kind}: status {status}:\n{said}"])


def epochs_kept(root):
    """Epochs that need not be trained again."""
    run = latest(root)
    file = run / "checkpoints/last.ckpt" if run else None
    return torch.load(file, weights_only=True)["epoch"] + 1 if file and file.is_file() else 0


def main():
    """Kill runs of each case in turn; gives 1 if one of them differs from the run that was left alone."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--signals", type=int, default=0)
    parser.add_argument("--study-stops", type=int, default=0, help="kills and signals of a stacked study, in turn")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    draw, left, bad, straight = random.Random(options.seed), options.kills, [], {}
    with tempfile.TemporaryDirectory() as folder:
        if options.study_stops:
            stops = itertools.islice(itertools.cycle([signal.SIGKILL, signal.SIGTERM]), options.study_stops)
            (Path(folder) / "studied").mkdir()
            bad += stacked_study(Path(folder) / "studied", stops, draw)
        for number in range(options.signals):
            root = Path(folder) / f"signalled{number}"
            root.mkdir()
            bad += signalled([*SIGNALLED][number % len(SIGNALLED)], root, draw)
        for number in itertools.count() if options.kills else ():
            place, root = number % len(CASES), Path(folder) / f"killed{number}"
            case, alone = CASES[place], Path(folder) / f"straight{place}"
            if place not in straight:
                alone.mkdir()
                finish(case.start(alone), alone)
                straight[place] = Straight.of(latest(alone))
            root.mkdir()
            found, done = trial(case, root, min(left, draw.randint(1, MOST_KILLS)), straight[place], draw)
            bad, left = bad + found, left - done
            print(f"{case}: " + (f"DIFFERENT (seed {options.seed}): {found}" if found else "the same"), flush=True)
            if left == 0:
                break
    print("\n".join(bad))
    counts = f"{options.kills} kills, {options.signals} signals, {options.study_stops} of a study"
    print(f"{counts}, {len(bad)} faults or differences, seed {options.seed}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
