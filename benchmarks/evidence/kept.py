"""What is kept of the studies: counts by group of each candidate, small enough for the repository.

``NAME.parquet`` has a row a candidate and split: ``piece, variant, is_drawn, method, setting, options, seed, epoch,
plain, steps, seconds, split, correct``, where ``correct`` are the rows answered correctly by group.
``NAME.groups.parquet`` has a row a piece and split: ``piece, split, count``, where ``count`` are the rows by group.
``manifest.json`` says of each piece when, where and from what it was made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from drurank.study import Study

BY = "qdcg10"
STUDIES = Path("studies/evidence")
KEPT_SPLITS = ("ood_val", "ood_test", "id_val", "id_test")
COUNTS = pa.list_(pa.field("element", pa.uint16()))


def digest(study: Mapping[str, Any]) -> str:
    """Of what a piece is made from."""
    return hashlib.sha256(json.dumps(study, sort_keys=True, default=str).encode()).hexdigest()[:16]


def results_of(size: str) -> Path:
    """Folder of what is kept: in the repository, but for size small."""
    return Path(__file__).parent / "results" if size == "full" else STUDIES / size / "results"


def keep(folder: Path, piece: str, variant: str, is_drawn: bool, study: Study) -> None:
    """Add a finished study to the files of its experiment, in place of what was kept of it.

    Args:
        folder: of the experiment's files, whose names begin with it.
        piece: name of the study.
        variant: of the data.
        is_drawn: whether each seed has rows of its own.
        study: all of whose candidates are finished.
    """
    splits = study.results[0].splits
    kept = [split for split in KEPT_SPLITS if split in splits]
    if any(split.startswith("ood") for split in kept):
        kept = [split for split in kept if split.startswith("ood")]
    rows, groups = [], {}
    for result in study.results:
        for split in kept:
            counts = result.counts(BY, split)
            groups[split] = {"piece": piece, "split": split, "count": counts.count}
            rows.append(
                {
                    "piece": piece,
                    "variant": variant,
                    "is_drawn": is_drawn,
                    "method": result.method,
                    "setting": result.setting,
                    "options": json.dumps(result.manifest["options"], sort_keys=True),
                    "seed": result.seed,
                    "epoch": result.epoch(BY),
                    "plain": result.has_equal_weights(BY),
                    "steps": result.manifest["budget"]["steps"],
                    "seconds": result.manifest["seconds"],
                    "split": split,
                    "correct": counts.correct,
                }
            )
    _replace(folder.with_suffix(".parquet"), piece, rows, {"correct": COUNTS})
    _replace(folder.with_suffix(".groups.parquet"), piece, list(groups.values()), {"count": COUNTS})


def _replace(file: Path, piece: str, rows: list[dict[str, Any]], types: Mapping[str, pa.DataType]) -> None:
    """Write a file anew with other rows of a piece."""
    names = list(rows[0])
    columns = {name: pa.array([row[name] for row in rows], types.get(name)) for name in names}
    table = pa.table(columns)
    if file.is_file():
        old = pa_parquet.read_table(file)
        table = pa.concat_tables([old.filter(pa.compute.not_equal(old["piece"], piece)), table])
    table = table.sort_by(
        [(name, "ascending") for name in ("piece", "method", "setting", "seed", "split") if name in names]
    )
    beside = file.with_suffix(".new")
    pa_parquet.write_table(table, beside, compression="zstd", compression_level=19)
    beside.replace(file)


@dataclass(frozen=True, eq=False)
class Kept:
    """What was kept of an experiment.

    Attributes:
        rows: a row a candidate and split.
        counts: rows by group, by piece and split.
    """

    rows: pd.DataFrame
    counts: Mapping[tuple[str, str], np.ndarray]

    @classmethod
    def read(cls, folder: Path, name: str) -> Kept | None:
        """That of an experiment; None where nothing was kept of it."""
        file = folder / f"{name}.parquet"
        if not file.is_file():
            return None
        groups = pd.read_parquet(folder / f"{name}.groups.parquet")
        counts = {(row.piece, row.split): row.count.astype(np.int64) for row in groups.itertuples(index=False)}
        return cls(pd.read_parquet(file), counts)
