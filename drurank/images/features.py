"""Features of pictures by a backbone that stays as it is, computed once and cached."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import torch

from drurank.cache import FORMAT, bar, cache_folder, check_sums, made_once
from drurank.images.backbones import Backbone, digest_of, load_backbone
from drurank.images.normalising import middle, normalised
from drurank.images.pixels import Decoded, decoded_in_parallel, mapped_array

AT_ONCE = 64


def embed_pictures(
    decoded: Decoded, rows: np.ndarray, *, backbone: str, weights: str, size: int, cache_dir: str | None, source: str
) -> tuple[np.ndarray, str]:
    """One vector for each of these rows' pictures, in evaluation mode, on a GPU where there is one.

    Args:
        decoded: gives their squares.
        rows: int64 ``[k]``, ascending.
        backbone: as of ``load_backbone``.
        weights: likewise.
        size: side of what the backbone sees, in pixels: the middle of a square.
        cache_dir: folder of the cache; the user's, if not given.
        source: of the rows, for the progress bar.

    Returns:
        Float32 ``[k, width]``, mapped into memory, and a digest of the weights.

    Raises:
        InputError: if a picture cannot be read, or there is no such backbone.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # random weights are the same for all who read the data
        made = load_backbone(backbone, weights, size)
    digest = digest_of(made.module)
    facts = f"{FORMAT} {backbone} {digest} {size} {decoded.side} {made.mean} {made.std} "
    key = hashlib.sha256(facts.encode() + decoded.pictures.stamps(rows).digest()).hexdigest()[:32]
    folder = cache_folder(cache_dir) / "picture_features" / key
    check_sums(made_once(folder, lambda beside: _write(beside, decoded, rows, made, size, source)))
    return mapped_array(folder / "features.npy", np.dtype(np.float32), (len(rows), made.width)), digest


@torch.inference_mode()
def _write(folder: Path, decoded: Decoded, rows: np.ndarray, made: Backbone, size: int, source: str) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = made.module.eval().to(device)
    mean, std = (torch.tensor(values, device=device).view(3, 1, 1) for values in (made.mean, made.std))
    features = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, (len(rows), made.width))
    if hasattr(os, "posix_fallocate"):
        with (folder / "features.npy").open("r+b") as file:
            # A full disk fails here, with an error, instead of with a signal as the pages are written.
            os.posix_fallocate(file.fileno(), 0, features.offset + features.nbytes)
    with bar(f"Encoding {source}", len(rows), "pictures") as advance:
        done = 0
        for squares in decoded_in_parallel(decoded, rows, AT_ONCE):
            pixels = torch.from_numpy(np.ascontiguousarray(middle(np.stack(squares), size))).to(device)
            features[done : done + len(squares)] = network(normalised(pixels, mean, std)).float().cpu().numpy()
            done += len(squares)
            advance(len(squares))
    features.flush()
