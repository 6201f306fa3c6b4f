"""Damages each file of a run and a study, and calls the commands that read it: ``make test-mutate``.

Each must end with status 2 and a sentence that names the file (or, for parts of a folder, the folder), or give what it
gives of the file as it was. ``python tests/helpers/mutate.py --times N --seed S`` draws N ways of damage a file. Each
way is drawn by the seed, the file, the command and its number alone, so that ``--only`` some finds the same again.
"""

import argparse
import contextlib
import copy
import io
import itertools
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import torch
import yaml

from drurank.cli import main, study_workers
from drurank.report import pictures
from forked import Forked
from runs import QUIET, SELECT, SMALL
from studies import finish, write_results
from studies import written as plan_file

TEXTS = (".json", ".yaml", ".csv", ".id")
SHOWN = ("report.json", "groups.csv", "predictions.csv", "metrics.csv", "selection.json", "weights.csv")
"""Files that a command writes and that are compared."""
LIMIT = 60
"""Seconds that a command may take."""
CHUNK = 10
"""Ways of damage that a process is given at a time."""
ODD = [None, True, -1, 0, 3, 2.5, float("nan"), "", "text", "\x00", "../x", [], [1], {}, {"a": 1}, 10**30]


def damaged_bytes(content, rng):
    """The bytes of a file with one kind of damage, and what it is called."""
    place = rng.randrange(max(len(content), 1))
    kinds = {
        "empty": lambda: b"",
        "truncated": lambda: content[:place],
        "no UTF-8": lambda: content[:place] + b"\xff" + content[place:],
        "NUL": lambda: content[:place] + b"\x00" * 5 + content[place:],
        "zeros": lambda: content[:place] + b"\x00" * min(64, len(content) - place) + content[place + 64 :],
        "flipped": lambda: content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :],
        "other": lambda: rng.choice([b"[]", b"{}", b"null", b"1", b'"x"', b"[[[[", b"{a: [}", b"PK\x03\x04", b"PAR1"]),
        "cut out": lambda: content[:place] + content[place + rng.randrange(1, 40) :],
    }
    name = rng.choice(list(kinds))
    return kinds[name](), name


def places(value, path=()):
    """The place of each value in a nest."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from places(inner, (*path, key))


def damaged_nest(content, rng, odd):
    """A nest of plain values with one value removed or of another kind; and what was done."""
    content = copy.deepcopy(content)
    every = list(places(content))
    path = rng.choice(every)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    if rng.random() < 0.3:
        del holder[path[-1]]
        return content, f"without {path}"
    holder[path[-1]] = rng.choice(odd(holder[path[-1]]))
    return content, f"{path} is {str(holder[path[-1]])[:40]}"


def odd_tensors(value):
    if not isinstance(value, torch.Tensor):
        return [*ODD, torch.zeros(3)]
    other = torch.int64 if value.is_floating_point() else torch.float32
    return [value.to(other), value.reshape(-1)[:1], value.unsqueeze(0), torch.cat([value.reshape(-1)] * 2), *ODD]


def damage(file, rng):
    """Damage a file in place; says how."""
    content = file.read_bytes()
    if file.suffix == ".ckpt" and rng.random() < 0.7:
        saved = torch.load(io.BytesIO(content), weights_only=True)
        if rng.random() < 0.5:
            saved.pop("drurank_written")  # as older ones are, so that it is read all the same
        saved, how = damaged_nest(saved, rng, odd_tensors)
        torch.save(saved, file)
        return how
    if file.suffix in (".json", ".yaml") and rng.random() < 0.6:
        read = json.loads if file.suffix == ".json" else yaml.safe_load
        changed, how = damaged_nest(read(content.decode()), rng, lambda _: ODD)
        file.write_text(json.dumps(changed), encoding="utf-8")
        return how
    changed, how = damaged_bytes(content, rng)
    file.write_bytes(changed)
    return how


class Said(Exception):
    """A command that ended in another way than it should."""


class TooLong(BaseException):
    """A command that takes too long; no handler of errors catches it."""


@contextlib.contextmanager
def limited():
    """Within this a command has ``LIMIT`` seconds."""

    def end(*_):
        raise TooLong

    signal.signal(signal.SIGALRM, end)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)


def call(words):
    """Status, and what a command prints on either stream; a traceback is ``Said``."""
    out, err = io.StringIO(), io.StringIO()
    os.environ.pop("PL_GLOBAL_SEED", None)
    try:
        with limited(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _warned_into(err):
            main([str(word) for word in words])
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue(), err.getvalue()
    except (Exception, TooLong) as error:
        raise Said("".join(traceback.format_exception(error))[-1500:]) from error
    return 0, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def _warned_into(stream):
    """Write each warning of ours as a line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            stream.writelines(f"warning: {one.message}\n" for one in caught if issubclass(one.category, UserWarning))


def written(root):
    """Numbers that stand in the files of results, without names of folders."""
    found = {}
    for file in sorted(root.rglob("*")):
        if file.name in SHOWN and file.is_file():
            text = file.read_bytes().decode("utf-8", "replace")
            found[str(file.relative_to(root))] = re.sub(r'"(checkpoint|predictions)": .*', "", text)
    return found


class Bench:
    """A folder that is whole, and a command that reads one of its files.

    Args:
        whole: the folder.
        file: name of the file in it.
        words: of the command, where ``{}`` stands for the folder.
        names: what a sentence names instead of the file.
    """

    def __init__(self, whole, file, words, names=()):
        self.whole, self.file, self.words = Path(whole), file, words
        self.names = (Path(file).name, *names)
        self.right = None

    def __str__(self):
        return f"{self.file} by {' '.join(map(str, self.words))[:60]}"

    def run(self, root, change=None):
        """Status, sentence and results after a change of the file in a copy."""
        folder = root / "copied"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.whole, folder)
        how = change(folder / self.file) if change else None
        before = written(folder)
        status, out, err = call([str(word).format(folder) for word in self.words])
        after = written(folder)
        results = {name: text for name, text in after.items() if before.get(name) != text}
        return how, status, err, (results, _numbers(out) if self.words[0] in ("study", "validate", "report") else None)

    def trial(self, root, rng):
        """What is wrong after one way of damage; nothing where all is well."""
        how = None

        def change(file):
            nonlocal how
            how = damage(file, rng)
            return how

        try:
            _, status, err, results = self.run(root, change)
        except Said as said:
            return f"{self} ({how}): traceback\n{said}"
        if status == 2:
            lines = [line for line in err.strip().splitlines() if not line.startswith("warning: ")]
            last = lines[-1] if lines else ""
            if not last.startswith("error: ") or "Traceback" in err:
                return f"{self} ({how}): no sentence: {last[:300]}"
            return None if any(name in last for name in self.names) else f"{self} ({how}): unnamed: {last[:300]}"
        if status:
            return f"{self} ({how}): status {status}"
        if Path(self.file).suffix in TEXTS:
            return None  # What a text says instead of what it said is taken at its word.
        if self.right is None:
            _, status, err, self.right = self.run(root)
            assert status == 0, err
        said = any(line.startswith("warning: ") and "drurank_written" in line for line in err.splitlines())
        return None if said or results == self.right else f"{self} ({how}): another result"


def _numbers(text):
    return re.findall(r"\d*\.\d+", text)


def benches(run, study=None):
    """Each file with each command that reads it."""
    last, best = "{}/checkpoints/last.ckpt", "{}/checkpoints/worst.ckpt"
    test = ["test", "--run", "{}", *QUIET]
    resume = ["fit", "--ckpt_path", last, "--trainer.max_epochs", "3", *QUIET]
    found = [Bench(run, file, test) for file in ("config.yaml", "selection.json", "checkpoints/worst.ckpt")]
    found += [
        Bench(run, file, resume) for file in ("config.yaml", "weights.csv", "metrics.csv", "checkpoints/last.ckpt")
    ]
    found += [
        Bench(run, "checkpoints/worst.ckpt", ["validate", "--ckpt_path", best, *QUIET]),
        Bench(run, "config.yaml", ["validate", "--ckpt_path", best, *QUIET]),
        Bench(
            run,
            "checkpoints/worst.ckpt",
            ["predict", "--ckpt_path", best, "--output", "{}/predictions.csv", *QUIET],
        ),
        Bench(run, "predictions.parquet", ["report", "--predictions", "{}/predictions.parquet", "--output", "{}/r"]),
        Bench(run, "loggers.json", [*resume, "--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", "{}/l"]),
    ]
    compare = ["study", "compare", "--runs", "{}", run, "--by", "worst"]
    found += [Bench(run, f"test/worst/{name}", compare) for name in ("groups.parquet", "report.json")]
    if study is not None:
        candidate = sorted(file.parent.name for file in Path(study).glob("candidates/*/manifest.json"))[0]
        table = ["study", "table", "--folder", "{}"]
        found += [
            Bench(study, file, table, (candidate,))
            for file in ("plan.json", f"candidates/{candidate}/manifest.json", f"candidates/{candidate}/groups.parquet")
        ]
    return found


def chunk(number, places, seed):
    """Some of the ways of damage of one of ``EVERY``: what is wrong, and the seconds that they took."""
    begun, bench, found = time.monotonic(), EVERY[number], []
    for place in places:
        # Not by all words, of which some name a folder.
        rng = random.Random(f"{seed} {bench.file} {' '.join(bench.words[:2])} {place}")
        fault = bench.trial(Path.cwd() / str(os.getpid()), rng)
        found += [f"{place}: {fault}"] if fault else []
    return number, len(places), found, time.monotonic() - begun


EVERY = []
"""What is damaged, in this process and those that are forked from it."""


def faults(times, seed, processes):
    """What is wrong with any of ``EVERY``; says how far it is."""
    found, left, seconds = defaultdict(list), dict.fromkeys(range(len(EVERY)), times), Counter()
    parts = [range(first, min(first + CHUNK, times)) for first in range(0, times, CHUNK)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("fork")) as pool:
        tasks = [pool.submit(chunk, number, part, seed) for number in left for part in parts]
        for task in as_completed(tasks):
            number, done, wrong, took = task.result()
            found[number] += wrong
            seconds[number] += took
            left[number] -= done
            if left[number] == 0:
                said = f"{len(found[number])} faults, {seconds[number]:.0f} s: {EVERY[number]}"
                print("\n".join([said, *found[number]]), flush=True)
    return list(itertools.chain.from_iterable(found.values()))


def made_run(root):
    """A run, tested and with predictions."""
    where = ["--trainer.default_root_dir", root, "--trainer.max_epochs", "2", "--select", ",".join(SELECT)]
    for words in (["fit", "--model", "DRU", *SMALL, *where], ["test", "--run", root / "version_0"]):
        status, _, err = call([*words, *QUIET])
        assert status == 0, err
    file = root / "version_0/checkpoints/worst.ckpt"
    status, _, err = call(["predict", "--ckpt_path", file, "--output", root / "version_0/predictions.parquet", *QUIET])
    assert status == 0, err
    return root / "version_0"


def whole(root, with_study):
    """What is damaged; made in a process of its own, so that others are forked from one that has run nothing yet."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        run = pool.submit(made_run, root / "runs").result()
        study = pool.submit(write_results, root / "study").result()
        if with_study:
            file = plan_file(root / "s.yaml", candidates=[{"model": "ERM"}], seeds=[0])
            pool.submit(_finished, file, root / "real").result()
    every = benches(run, study)
    if with_study:
        words = ["study", "run", "--config", file, "--output", "{}"]
        every += [
            Bench(root / "real", name, words, ("sqlite", "queue.id")) for name in ("study.db", "queue.id", "plan.json")
        ]
    return every


def _finished(file, folder):
    with contextlib.redirect_stdout(io.StringIO()):
        finish(file, folder)


def _save_nothing(figure, path):
    """In place of a picture, which takes longer than a small fit, and which nobody reads here."""
    path.write_bytes(b"")


def hand():
    """Many ways of damage; prints what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--study", action="store_true", help="run a study too")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    begun, root = time.monotonic(), Path(tempfile.mkdtemp())
    torch.set_num_threads(1)
    os.chdir(root)
    pictures.save_picture, study_workers.LOOK = _save_nothing, 0.05
    subprocess.Popen = Forked  # A worker of a study takes longer to import torch than to look at a finished candidate.
    EVERY[:] = [bench for bench in whole(root, given.study) if given.only in str(bench)]
    found = faults(given.times, given.seed, given.processes)
    print(
        f"{len(EVERY)} files and commands, {given.times * len(EVERY):,} ways of damage, {len(found)} faults, "
        f"{time.monotonic() - begun:.0f} s, seed {given.seed}"
    )
    shutil.rmtree(root)
    return bool(found)


if __name__ == "__main__":
    sys.exit(hand())
