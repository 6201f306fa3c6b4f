"""Trains some models of the evidence again, each by a fit of its own, and compares them with what is kept.

python -m benchmarks.evidence.alone --data FOLDER [--cells 10] [--draw 0]

Most of what is kept was trained in stacks, many models in one step. The models are drawn by lot from all that is kept.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.evidence.experiments import ORDER, Experiment, Piece
from benchmarks.evidence.kept import BY, STUDIES, Kept, results_of
from benchmarks.evidence.markdown import figure, table
from benchmarks.evidence.train import places_of, trained
from benchmarks.evidence.values import in_points
from drurank.criteria import compute_criteria

FILE = "alone.parquet"
COMPARED = ("average", "p10")
REDRAWS = 2000


def main() -> None:
    """Train, and keep the comparison for the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the tables of real data")
    parser.add_argument("--cells", type=int, default=10)
    parser.add_argument("--draw", type=int, default=0, help="seed of the lot")
    options = parser.parse_args()
    results = results_of("full")
    found = {name: kept for name in ORDER if (kept := Kept.read(results, name)) is not None}
    lines = []
    for name, row in drawn(found, options.cells, options.draw):
        experiment = Experiment.read(name, "full")
        places = places_of(experiment, options.data, "full")
        if places is None:
            continue
        print(f"{row['piece']}: {row['setting']}", flush=True)
        trained_alone = again(piece_of(experiment, row["piece"]), row, places)
        lines.append(compared(row, found[name].counts[row["piece"], row["split"]], *trained_alone))
        pd.DataFrame(lines).to_parquet(results / FILE)


def drawn(found: Mapping[str, Kept], number: int, seed: int) -> list[tuple[str, pd.Series]]:
    """Models by lot: the experiment, and the row of the test split."""
    every = [
        (name, row)
        for name, kept in found.items()
        for _, row in kept.rows[kept.rows["split"].str.endswith("test")].iterrows()
    ]
    places = np.random.default_rng(seed).choice(len(every), number, replace=False)
    return [every[place] for place in sorted(places)]


def piece_of(experiment: Experiment, name: str) -> Piece:
    """The piece of this name."""
    return next(piece for piece in experiment.pieces("full") if piece.name == name)


def again(piece: Piece, row: pd.Series, places: Mapping[str, str]) -> tuple[int, np.ndarray]:
    """Epoch that is chosen, and correct rows by group, int64 ``[m]``, of one model that is trained alone."""
    folder = STUDIES / "alone"
    shutil.rmtree(folder, ignore_errors=True)
    study = piece.study(places) | {"candidates": [entry_of(row)]}
    (result,) = trained(study, folder, "--engine", "single").results
    assert result.manifest["options"] == json.loads(row["options"]), result.setting
    return result.epoch(BY), result.counts(BY, row["split"]).correct


def entry_of(row: pd.Series) -> dict[str, Any]:
    """The entry of a study that is this model alone."""
    return {"model": row["setting"].split()[0], **json.loads(row["options"])}


def compared(row: pd.Series, count: np.ndarray, epoch: int, correct: np.ndarray) -> dict[str, Any]:
    """What is kept of a model beside what it is when trained alone.

    Args:
        row: as it is kept.
        count: rows by group, int64 ``[m]``.
        epoch: of the other training.
        correct: its correct rows by group, int64 ``[m]``.
    """
    kept = np.asarray(row["correct"], dtype=np.int64)
    redrawn = np.random.default_rng(0).binomial(count, kept / count, (REDRAWS, len(count)))
    values = compute_criteria(np.stack([kept, correct]), count, COMPARED)
    spread = compute_criteria(redrawn, count, COMPARED)
    line = {"piece": row["piece"], "setting": row["setting"], "epoch": int(row["epoch"]), "epoch_alone": epoch}
    line["moved"] = int(np.abs(kept - correct).sum())
    line["rows"] = int(count.sum())
    for name in COMPARED:
        first, second = in_points(name, np.asarray(values[name]))
        low, high = in_points(name, np.percentile(np.asarray(spread[name]), [2.5, 97.5]))
        line |= {name: first, f"{name}_alone": second, f"{name}_half": (high - low) / 2}
    return line


def alone_table(lines: pd.DataFrame) -> str:
    """The comparison, a row a model."""
    rows = []
    for line in lines.to_dict("records"):
        cells = [
            f"{figure(name, line[name])} ± {figure(name, line[f'{name}_half'])} | {figure(name, line[f'{name}_alone'])}"
            for name in COMPARED
        ]
        moved = f"{line['moved']:,} of {line['rows']:,}"
        rows.append([f"{line['piece']}: {line['setting']}", f"{line['epoch']}, {line['epoch_alone']}", *cells, moved])
    return table(["model", "best epoch, both", "average", "alone", "p10", "alone", "answers changed"], rows)


if __name__ == "__main__":
    main()
