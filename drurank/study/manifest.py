"""What is kept of a finished candidate: counts by group, and a manifest of where they come from."""

from __future__ import annotations

import csv
import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet

from drurank.figures import SHARES
from drurank.files import read_json
from drurank.report.write import figure_files
from drurank.run_folder.group_counts import read_counts
from drurank.run_folder.layout import (
    CHECKPOINT_FOLDER,
    CONFIG_FILE,
    GROUPS_PARQUET,
    LAST_CHECKPOINT,
    METRICS_FILE,
    REPORT_FILE,
    SELECTION_FILE,
    TEST_FOLDER,
    validation_file,
)
from drurank.run_folder.weights import weights_of
from drurank.study.candidates import Candidate
from drurank.yaml_files import read_options

REMEDY = "remove the candidate's folder and run the study again"
PACKAGES = ("drurank", "torch", "lightning", "torchmetrics", "transformers", "numpy")


def group_counts(run: Path) -> pa.Table:
    """Counts by group of the best checkpoint by each criterion: ``criterion, split, group, count, correct``.

    Args:
        run: folder of a run, fitted and tested.
    """
    tables = []
    for name, entry in read_json(run / SELECTION_FILE, REMEDY).items():
        validated = validation_file(run, entry["epoch"])
        tested = run / TEST_FOLDER / name / GROUPS_PARQUET
        for file in (validated, tested):
            counts = read_counts(file, ("split", "group"), REMEDY)
            tables.append(counts.add_column(0, "criterion", pa.array([name] * counts.num_rows, pa.string())))
    return pa.concat_tables(tables, promote_options="permissive")


def figure_counts(run: Path, figures: Sequence[str]) -> pa.Table:
    """Counts by group of figures that are shares: ``criterion, figure, split, group, count, correct``.

    Those of test of the best checkpoint by each criterion; ``correct`` are rows that went well.

    Args:
        run: folder of a run, fitted and tested with these figures.
        figures: their names, of one or more.
    """
    tables = []
    for name in read_json(run / SELECTION_FILE, REMEDY):
        for figure in figures:
            found = pa_parquet.read_table(run / TEST_FOLDER / name / figure_files(figure)[1])
            found = found.filter(pc.greater(found["count"], 0))
            good = found["events"]
            if not SHARES[figure].higher_is_better:
                good = pc.subtract(found["count"], good)
            each = {"criterion": name, "figure": figure}
            texts = {key: pa.array([text] * found.num_rows, pa.string()) for key, text in each.items()}
            columns = {key: found[key].cast(pa.string()) for key in ("split", "group")}
            counts = {"count": found["count"].cast(pa.int64()), "correct": good.cast(pa.int64())}
            tables.append(pa.table({**texts, **columns, **counts}))
    return pa.concat_tables(tables)


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
    from drurank.run_folder.checkpoint_checks import KEY
    from drurank.run_folder.checkpoint_io import read_checkpoint  # here, since torch is slow to import

    last = read_checkpoint(run / CHECKPOINT_FOLDER / LAST_CHECKPOINT)
    selection = read_json(run / SELECTION_FILE, REMEDY)
    training = last[KEY]["training"]
    report = read_json(run / TEST_FOLDER / next(iter(selection)) / REPORT_FILE, REMEDY)
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
            "training_groups": weights_of(run).groups(),
        },
        "budget": {"steps": int(last["global_step"]), "epochs": int(last["epoch"]) + 1},
        "sampler": report["sampler"],
        "selection": selection,
        "history": _history(run / METRICS_FILE),
        "config": read_options(run / CONFIG_FILE, REMEDY),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "seconds": round(seconds, 1),
    }


def _fingerprint(training: str, counts: pa.Table) -> str:
    """A digest of the training set, and of the sizes of the groups of the other splits."""
    sizes = counts.select(["split", "group", "count"]).to_pylist()
    content = sorted({(row["split"], row["group"], row["count"]) for row in sizes})
    return hashlib.sha256(json.dumps([training, content]).encode()).hexdigest()[:16]


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
