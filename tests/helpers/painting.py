"""Small pictures in files, with a table beside them."""

import csv
from pathlib import Path

import numpy as np
from PIL import Image

SPLITS = {"train": 32, "ood_val": 12, "ood_test": 12}


def noise(side=20, seed=0, wide=None):
    """Pixels of a picture, uint8 ``[side, wide, 3]``."""
    return np.random.default_rng(seed).integers(0, 256, (side, wide or side, 3), dtype=np.uint8)


def red_or_blue(y, seed, side=18):
    """A noisy picture whose colour says its label, which is 0 or 1."""
    pixels = noise(side + seed % 3, seed, side + seed % 5) // 3
    pixels[:, :, 2 * y] += 150
    return Image.fromarray(pixels)


def write_pictures(folder, ending="png", splits=None):
    """A table ``meta.csv`` with the columns file, y, place and split, and its pictures in ``pics``; gives its path."""
    folder = Path(folder)
    (folder / "pics").mkdir(parents=True)
    lines = []
    for split, number in (splits or SPLITS).items():
        for row in range(number):
            seed, place = len(lines), f"{'' if split == 'train' else split}{row // 2 % 3}"
            name = f"pics/{seed}.{ending}"
            red_or_blue(row % 2, seed).save(folder / name)
            lines.append((name, "red" if row % 2 == 0 else "blue", place, split))
    with (folder / "meta.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("file", "y", "place", "split"), *lines])
    return folder / "meta.csv"


NAMES = {"label": "y", "group": "place", "split": "split", "image": "file"}


def words_of(path, *more, size=16):
    """Words of the command line for such a table."""
    data = [f"--data.{name}={value}" for name, value in NAMES.items()]
    return ["--data", "Images", f"--data.path={path}", *data, f"--data.size={size}", "--data.batch_size=8", *more]
