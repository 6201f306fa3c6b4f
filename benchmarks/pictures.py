"""What a cache of decoded pictures is worth, and what it holds in memory.

python benchmarks/pictures.py  # 5,000 JPEGs of 256 pixels, cut to 224: decoding in each epoch against cached batches
"""

import argparse
import resource
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from drurank.data import Images

BATCH = 64


def paint(folder: Path, number: int, side: int) -> Path:
    """Pictures of noise upon blurred colours, so that a JPEG of them is as large as a photograph's, and their table."""
    rng = np.random.default_rng(0)
    for row in range(number):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)).resize((side, side))
        grain = rng.integers(-12, 13, (side, side, 3))
        picture = Image.fromarray(np.clip(np.asarray(coarse).astype(int) + grain, 0, 255).astype(np.uint8))
        picture.save(folder / f"{row}.jpg", quality=90)
    rows = {
        "image": [f"{row}.jpg" for row in range(number)],
        "label": [row % 2 for row in range(number)],
        "split": ["ood_val" if row < 2 else "train" for row in range(number)],
    }
    pq.write_table(pa.table(rows), folder / "t.parquet")
    return folder / "t.parquet"


def rows_a_second(data: Images) -> float:
    loader = data.training_loader(None)
    begun, rows = time.perf_counter(), 0
    for batch in loader:
        rows += len(batch["label"])
    return rows / (time.perf_counter() - begun)


def opened(table: Path, **options: object) -> Images:
    data = Images(str(table), split="split", batch_size=BATCH, **options)  # type: ignore[arg-type]
    data.setup("fit")
    return data


def peak() -> float:
    """Most memory of this process so far, in GiB; pages of a file that is mapped count too, once they were read."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def compare() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=5000)
    parser.add_argument("--side", type=int, default=256)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as folder:
        table = paint(Path(folder), options.pictures, options.side)
        kilobytes = sum(file.stat().st_size for file in Path(folder).glob("*.jpg")) / options.pictures / 1e3
        before = peak()
        decoding = opened(table)
        each = [rows_a_second(decoding) for _ in range(2)]
        begun = time.perf_counter()
        cached = opened(table, cache_dir=str(Path(folder) / "cache"))
        built = time.perf_counter() - begun
        after = peak()
        fast = [rows_a_second(cached) for _ in range(4)]
        print(f"{options.pictures:,} JPEGs of {options.side} pixels, {kilobytes:.0f} kB each; batches of {BATCH}")
        print(f"decoding in each epoch, one process: {max(each):,.0f} rows a second")
        print(f"building the cache: {built:.1f} s, {options.pictures / built:,.0f} rows a second")
        print(f"cached: {max(fast):,.0f} rows a second, {max(fast) / max(each):.1f} times as many")
        held = (options.pictures * 3 * 256**2) / 2**30
        print(f"memory to build it, beyond that of the start: {after - before:.2f} GiB for {held:.2f} GiB of pixels")


if __name__ == "__main__":
    compare()
