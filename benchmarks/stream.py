"""How fast a report reads rows of Parquet that do not fit into memory, and how much of that it takes.

python benchmarks/stream.py --rows 1e8 --groups 1000
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from drurank.report import report_predictions
from drurank.tabular.streaming import read_distinct

COLUMNS = ("group", "label", "prediction")
PIECE = 1_000_000


def main() -> None:
    """Write one part, name it often, read all, and report on all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=100_000_000)
    parser.add_argument("--parts", type=int, default=10, help="times that the same part is there, under other names")
    parser.add_argument("--groups", type=lambda text: int(float(text)), default=1000)
    parser.add_argument("--of", choices=("text", "numbers"), default="text", help="what groups are called by")
    parser.add_argument("--figure", default="fpr,tpr")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        parts = Path(folder) / "predictions"
        parts.mkdir()
        _write(parts / "0.parquet", asked.rows // asked.parts, asked.groups, asked.of == "text")
        for number in range(1, asked.parts):
            os.link(parts / "0.parquet", parts / f"{number}.parquet")
        size = (parts / "0.parquet").stat().st_size * asked.parts
        print(f"{asked.rows:,} rows, {asked.groups:,} groups by {asked.of}, {size / 2**20:,.0f} MiB of Parquet")
        _say_peak("before")
        began = time.perf_counter()
        found = read_distinct(str(parts), COLUMNS)
        took = time.perf_counter() - began
        print(
            f"read: {took:.1f} s, {asked.rows / took / 1e6:.1f} million rows a second; {found.table.num_rows:,} differ"
        )
        _say_peak("reading")
        began = time.perf_counter()
        report = report_predictions(str(parts), figure=asked.figure or None)
        print(f"report: {time.perf_counter() - began:.1f} s of {report['splits']['all']['rows']:,} rows")
        _say_peak("report")


def _write(file: Path, rows: int, groups: int, as_text: bool) -> None:
    rng = np.random.default_rng(0)
    rate = rng.beta(20, 5, groups)
    names = np.array([f"group {number}" for number in range(groups)], dtype=object)
    writer = None
    for begin in range(0, rows, PIECE):
        number = min(PIECE, rows - begin)
        group, label = rng.integers(0, groups, number), rng.integers(0, 2, number)
        right = rng.random(number) < rate[group]
        cells = [names[group] if as_text else group, label, np.where(right, label, 1 - label)]
        table = pa.table(dict(zip(COLUMNS, cells, strict=True)))
        writer = writer or pa_parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _say_peak(what: str) -> None:
    print(f"most memory so far ({what}): {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
