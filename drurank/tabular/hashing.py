"""Hashes of rows, by which they are drawn whatever their order, and rows that are alike."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.tabular.alike import looks_like_chance

BATCH = 1 << 16


def hash_rows(rows: pa.Table, seed: int) -> np.ndarray:
    """A hash of the cells of each row and the seed, uint64 ``[n]``, the same wherever the row stands."""
    start = blake2b(digest_size=8, key=str(seed).encode())
    digests = []
    for batch in rows.to_batches(max_chunksize=BATCH):
        for cells in _joined(batch).to_pylist():
            digest = start.copy()
            digest.update(cells)
            digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8")


def copies_as_one(
    rows: pa.Table, laid: np.ndarray, hashes: np.ndarray, label: np.ndarray, label_name: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Units of rows that are to stay together: copies of one another, by no chance, in one group.

    Args:
        rows: every column of the table.
        laid: group of each row that is laid out, int64 ``[k]``, by which they are in order, and then by hash.
        hashes: of these rows, uint64 ``[k]``.
        label: class number of each row of the table, int64 ``[n]``.
        label_name: column of the label, if it is one of the table's.

    Returns:
        Places of the first row of each unit, int64 ``[u]``, and the unit of each row, int64 ``[k]``.
    """
    new = np.ones(len(laid), dtype=bool)
    new[1:] = (np.diff(laid) != 0) | (hashes[1:] != hashes[:-1])
    if not new.all() and _by_chance(rows, label, label_name):
        new[:] = True
    return np.flatnonzero(new), np.cumsum(new) - 1


def _by_chance(rows: pa.Table, label: np.ndarray, label_name: str | None) -> bool:
    """Whether rows that are alike in all cells are no more than chance makes."""
    names = [name for name in rows.column_names if name != label_name]
    others = [_codes(rows[name].combine_chunks()) for name in names]
    return looks_like_chance(label, others)


def _codes(cells: pa.Array) -> np.ndarray:
    """Code of each cell's value, int64 ``[n]``, -1 where it is missing."""
    coded = _as_bytes(cells).dictionary_encode()
    codes: np.ndarray = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _joined(batch: pa.RecordBatch) -> pa.Array:
    """The cells of each row as bytes, each with its length before it, so that no two rows are joined alike."""
    pieces = []
    for column in batch.columns:
        cells = _as_bytes(column)
        pieces += [pc.binary_length(cells).cast(pa.large_string()).cast(pa.large_binary()), cells]
    colon = pa.scalar(b":", pa.large_binary())
    return pc.binary_join_element_wise(*pieces, colon, null_handling="replace", null_replacement=b"-")


def _as_bytes(cells: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    try:
        text = cells.cast(pa.large_binary() if pa.types.is_binary(cells.type) else pa.large_string())
    except pa.ArrowException:
        # Lists, structs and their like have no text in Arrow.
        text = pa.array([None if cell is None else repr(cell) for cell in cells.to_pylist()], pa.large_string())
    return text.cast(pa.large_binary())
