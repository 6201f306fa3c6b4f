"""What is kept of a finished candidate: counts by group, and a manifest of where they come from."""

from __future__ import annotations

import csv
import hashlib
import json
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import yaml

from drurank.run_folder.layout import (
    CHECKPOINT_FOLDER,
    CONFIG_FILE,
    GROUPS_PARQUET,
    LAST_CHECKPOINT,
    METRICS_FILE,
    REPORT_FILE,
    SELECTION_FILE,
    TEST_FOLDER,
    WEIGHTS_FILE,
    validation_file,
)
from drurank.study.candidates import Candidate

PACKAGES = ("drurank", "torch", "lightning", "torchmetrics", "transformers", "numpy")


def group_counts(run: Path) -> pa.Table:
    """Counts by group of the best checkpoint by each criterion: ``criterion, split, group, count, correct``.

    Args:
        run: folder of a run, fitted and tested.
    """
    tables = []
    for name, entry in _json(run / SELECTION_FILE).items():
        validated = validation_file(run, entry["epoch"])
        tested = run / TEST_FOLDER / name / GROUPS_PARQUET
        for file in (validated, tested):
            counts = pa_parquet.read_table(file, columns=["split", "group", "count", "correct"])
            tables.append(counts.add_column(0, "criterion", pa.array([name] * counts.num_rows, pa.string())))
    return pa.concat_tables(tables, promote_options="permissive")


def manifest_of(candidate: Candidate, run: Path, counts: pa.Table, seconds: float) -> dict[str, Any]:
    """The manifest of a candidate.

    Args:
        candidate: the one that was run.
        run: folder of its run, fitted and tested.
        counts: by group, see ``group_counts``.
        seconds: how long it took.

    Returns:
        Plain values; ``selection`` is criterion to value and epoch of its best checkpoint, ``history`` every criterion
        on validation by epoch.
    """
    from drurank.run_folder.checkpoint_io import KEY, read_checkpoint  # here, since torch is slow to import

    last, selection = read_checkpoint(run / CHECKPOINT_FOLDER / LAST_CHECKPOINT), _json(run / SELECTION_FILE)
    training = last[KEY]["training"]
    report = _json(run / TEST_FOLDER / next(iter(selection)) / REPORT_FILE)
    return {
        "key": candidate.key,
        "method": report["method"],
        "setting": candidate.setting,
        "options": dict(candidate.options),
        "seed": candidate.seed,
        **({} if candidate.repeat is None else {"repeat": asdict(candidate.repeat)}),
        "data": {
            "source": report["data"],
            "fingerprint": _fingerprint(training["fingerprint"], counts),
            "training_rows": len(training["record"]["correct"]),
            "training_groups": _training_groups(run / WEIGHTS_FILE),
        },
        "budget": {"steps": int(last["global_step"]), "epochs": int(last["epoch"]) + 1},
        "sampler": report["sampler"],
        "selection": selection,
        "history": _history(run / METRICS_FILE),
        "config": yaml.safe_load((run / CONFIG_FILE).read_text(encoding="utf-8")),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "seconds": round(seconds, 1),
    }


def _json(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def _fingerprint(training: str, counts: pa.Table) -> str:
    """A digest of the training set, and of the sizes of the groups of the other splits."""
    sizes = counts.select(["split", "group", "count"]).to_pylist()
    content = sorted({(row["split"], row["group"], row["count"]) for row in sizes})
    return hashlib.sha256(json.dumps([training, content]).encode()).hexdigest()[:16]


def _training_groups(weights: Path) -> int:
    """Number of groups that were trained on; 0 where the data names none."""
    return len(pa_csv.read_csv(weights)["group"].unique()) if weights.is_file() else 0


def _history(file: Path) -> list[dict[str, float]]:
    """Every criterion on validation by epoch."""
    with file.open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if any(row[name] for name in row if name.startswith("val_"))]
    kept = [{name: cell for name, cell in row.items() if cell and ("val_" in name or name == "epoch")} for row in rows]
    return [{name: float(cell) for name, cell in row.items()} for row in kept]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
