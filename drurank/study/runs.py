"""One candidate: a fit, a test of each checkpoint it kept, and what is noted of both."""

from __future__ import annotations

import csv
import ctypes
import hashlib
import io
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import yaml
from filelock import FileLock

from drurank.errors import InputError
from drurank.files import replace_file, write_json
from drurank.imports import import_words
from drurank.study.candidates import Candidate, Draw
from drurank.study.plan import Plan

MANIFEST, GROUPS, PLAN, DRAWS = "manifest.json", "groups.parquet", "plan.json", "draws"
PACKAGES = ("drurank", "torch", "lightning", "torchmetrics", "transformers", "numpy")
QUIET = ["--trainer.enable_progress_bar", "false"]
RUN = "version_0"
NEEDED = {
    "logger": (None, True),
    "enable_checkpointing": (None, True),
    "fast_dev_run": (False, None),
    "barebones": (False, None),
    "limit_val_batches": (None, 1.0),
    "limit_test_batches": (None, 1.0),
}
"""Options of a trainer that a study needs to have one of these values."""
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
PRCTL = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
SAID = 500
"""Letters of a reason that are kept."""


def folder_of(study: Path, candidate: Candidate) -> Path:
    """Where a candidate's run lies."""
    return study / "candidates" / candidate.key


def is_finished(study: Path, candidate: Candidate) -> bool:
    """Whether its manifest is written, which is the last that is done for it."""
    return (folder_of(study, candidate) / MANIFEST).is_file()


def write_shared(study: Path, plan: Plan) -> None:
    """Write what all candidates share."""
    for file, content in zip(_shared(study, plan), (*plan.shared, {"select": ",".join(plan.criteria)}), strict=True):
        text = yaml.safe_dump(content, sort_keys=False)
        replace_file(file, lambda path, text=text: path.write_text(text, encoding="utf-8"))  # type: ignore[misc]


def write_plan(study: Path, plan: Plan) -> None:
    """Write which candidates there are, for the tables."""
    write_json(study / PLAN, {entry.key: f"{entry.setting}, seed {entry.seed}" for entry in plan.candidates})


def note_draw(study: Path, draw: Draw, candidate: Candidate) -> None:
    """Write which candidate a draw became."""
    write_json(study / DRAWS / f"{draw.key}.json", {"key": candidate.key})


def _shared(study: Path, plan: Plan) -> list[Path]:
    # Another plan in this folder may be run at the same time.
    return [study / "shared" / plan.base / f"{number}.yaml" for number in range(len(plan.shared) + 1)]


def check_options(study: Path, plan: Plan) -> None:
    """Refuse options that ``fit`` cannot take, before the first run.

    Raises:
        InputError: naming the first candidate that has one.
    """
    seen = set()
    for entry in plan.candidates:
        candidate = entry.example() if isinstance(entry, Draw) else entry
        if candidate.setting in seen or is_finished(study, candidate):
            continue
        seen.add(candidate.setting)
        words = [*_fit_words(study, plan, candidate, study, apart=False), "--print_config"]
        printed = io.StringIO()
        try:
            with redirect_stdout(printed), redirect_stderr(io.StringIO()):
                _call(words, apart=False)
            _check_trainer(yaml.safe_load(printed.getvalue())["trainer"])
        except InputError as error:
            raise InputError(f"{plan.source}: {candidate.setting}: {str(error).removeprefix('error: ')}") from error


def _check_trainer(options: dict[str, Any]) -> None:
    """Refuse what leaves no run to read."""
    for name, needed in NEEDED.items():
        if options[name] not in needed:
            raise InputError(f"trainer.{name} is {options[name]!r}, which leaves nothing for a table; leave it out")


def run_candidate(study: Path, plan: Plan, candidate: Candidate) -> dict[str, Any]:
    """Fit a candidate, or go on with it, test what it kept, and write its manifest.

    Returns:
        The manifest.

    Raises:
        InputError: saying why it cannot be run.
    """
    folder = folder_of(study, candidate)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A search may draw a setting twice, and a worker that was taken for dead may wake up.
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not is_finished(study, candidate):
            _run(study, plan, candidate, folder)
        if not plan.keep_checkpoints:
            shutil.rmtree(folder / RUN / "checkpoints", ignore_errors=True)
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return manifest


def _run(study: Path, plan: Plan, candidate: Candidate, folder: Path) -> None:
    begun, apart = time.time(), _starts_processes(plan, candidate)
    run, last = folder / RUN, folder / RUN / "checkpoints" / "last.ckpt"
    if _is_whole(last):
        _call(["fit", "--ckpt_path", str(last), *QUIET], apart=apart)
    else:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _call(_fit_words(study, plan, candidate, folder, apart=apart), apart=apart)
    _call(["test", "--run", str(run), *QUIET], apart=apart)
    groups = _groups(run)
    replace_file(folder / GROUPS, lambda path: pa_parquet.write_table(groups, path))
    write_json(folder / MANIFEST, _manifest(plan, candidate, run, groups, time.time() - begun))


def _is_whole(checkpoint: Path) -> bool:
    from drurank.run_folder.checkpoint_io import read_checkpoint

    try:
        return checkpoint.is_file() and bool(read_checkpoint(checkpoint))
    except InputError:
        return False


def _starts_processes(plan: Plan, candidate: Candidate) -> bool:
    """Whether a run may itself be of several processes."""
    named = {name for section in plan.shared for name in section.get("trainer") or {}}
    named |= {name.removeprefix("trainer.") for name in candidate.options}
    return bool(named & {"devices", "num_nodes", "strategy"})


def _fit_words(study: Path, plan: Plan, candidate: Candidate, folder: Path, *, apart: bool) -> list[str]:
    shared = [word for file in _shared(study, plan) for word in ("--config", str(file))]
    callback = ["--trainer.callbacks+", "drurank.callbacks.ValidationCounts"]
    where = ["--trainer.default_root_dir", str(folder)]
    # A worker is one process; on several devices it would start itself anew for each.
    alone = [] if apart else ["--trainer.devices", "1"]
    return ["fit", "--model", candidate.method, *shared, *candidate.words(), *alone, *callback, *where, *QUIET]


def _call(words: list[str], *, apart: bool) -> None:
    """Run a command in this process, or apart from it, where it may start processes of its own.

    Raises:
        InputError: if it fails.
    """
    if apart:
        _call_apart(words)
        return
    from drurank.cli.training import run

    said = _Tee(sys.stderr)
    try:
        with redirect_stderr(said):
            run(words)
    except SystemExit as error:
        if error.code in STOPPED:
            raise
        if not error.code:
            return
        raise InputError(said.last[:SAID] or f"exit status {error.code}") from error


def _call_apart(words: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "drurank", *import_words(), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that it can be stopped with the processes that it starts
        preexec_fn=partial(PRCTL, 1, signal.SIGKILL) if PRCTL else None,  # PR_SET_PDEATHSIG: ends if a worker is killed
    )
    last = ""
    try:
        for line in process.stdout or ():
            sys.stdout.write(line)
            last = line.strip() or last
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        raise
    finally:
        status = process.wait()
    if status:
        raise InputError(last[:SAID] or f"exit status {status}")


class _Tee:
    """Writes on, and keeps the last line, in which a parser says what was wrong."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.last = out, ""

    def write(self, text: str) -> int:
        self.last = text.strip().splitlines()[-1] if text.strip() else self.last
        return self.out.write(text)

    def flush(self) -> None:
        self.out.flush()


def _groups(run: Path) -> pa.Table:
    """Counts by group of the checkpoint of each criterion: ``criterion, split, group, count, correct``."""
    selection = json.loads((run / "selection.json").read_text(encoding="utf-8"))
    tables = []
    for name, entry in selection.items():
        validated = run / "validation" / f"epoch_{entry['epoch']:04}.parquet"
        tested = run / "test" / name / "groups.parquet"
        for file in (validated, tested):
            part = pa_parquet.read_table(file, columns=["split", "group", "count", "correct"])
            criterion = pa.array([name] * part.num_rows, pa.string())
            tables.append(part.add_column(0, "criterion", criterion))
    return pa.concat_tables(tables, promote_options="permissive")


def _manifest(plan: Plan, candidate: Candidate, run: Path, groups: pa.Table, seconds: float) -> dict[str, Any]:
    from drurank.run_folder.checkpoint_io import KEY, read_checkpoint

    last = read_checkpoint(run / "checkpoints" / "last.ckpt")
    report = json.loads((run / "test" / plan.criteria[0] / "report.json").read_text(encoding="utf-8"))
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    return {
        "key": candidate.key,
        "method": report["method"],
        "setting": candidate.setting,
        "options": dict(candidate.options),
        "seed": candidate.seed,
        "data": {"source": report["data"], "fingerprint": _data(last[KEY]["training"]["fingerprint"], groups)},
        "budget": {"steps": int(last["global_step"]), "epochs": int(last["epoch"]) + 1},
        "sampler": report["sampler"],
        "selection": json.loads((run / "selection.json").read_text(encoding="utf-8")),
        "history": _history(run / "metrics.csv"),
        "config": config,
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "seconds": round(seconds, 1),
    }


def _data(training: str, groups: pa.Table) -> str:
    """A digest of the training set, and of the sizes of the other parts' groups."""
    sizes = groups.select(["split", "group", "count"]).to_pylist()
    said = sorted({(row["split"], row["group"], row["count"]) for row in sizes})
    return hashlib.sha256(json.dumps([training, said]).encode()).hexdigest()[:16]


def _history(file: Path) -> list[dict[str, float]]:
    """Every criterion at each epoch on validation."""
    with file.open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if any(row[name] for name in row if name.startswith("val_"))]
    kept = [{name: cell for name, cell in row.items() if cell and ("val_" in name or name == "epoch")} for row in rows]
    return [{name: float(cell) for name, cell in row.items()} for row in kept]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
