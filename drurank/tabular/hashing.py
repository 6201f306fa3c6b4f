"""Hashes of rows, by which they are drawn whatever their order, and rows that are alike."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.tabular.alike import alike_rows, looks_like_chance

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
    rows: pa.Table,
    group: np.ndarray,
    label: np.ndarray,
    hashes: np.ndarray,
    first_by: np.ndarray | None = None,
    aside: Collection[str] = (),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows laid out by group and then by hash, in units that are to stay together: copies of one another, by no chance.

    Args:
        rows: every column of the table, ``n`` rows.
        group: number of each row's group, int64 ``[n]``.
        label: class number of each row, int64 ``[n]``.
        hashes: of the rows, uint64 ``[n]``.
        first_by: what the rows of a group are laid out by before the hash, int64 ``[n]``, the same for copies.
        aside: columns that tell no copies apart: those of label and group, and those that only number the rows.

    Returns:
        Places of the rows as they are laid out, int64 ``[n]``, where among these each unit begins, int64 ``[u]``, and
        the unit of each of them, int64 ``[n]``.
    """
    unit, first_hash = np.arange(len(group)), hashes.copy()
    alike, copy = _alike(rows, group, label, aside)
    if len(alike) and not _by_chance(rows, group, label, aside):
        first = alike[np.unique(copy, return_index=True)[1]]
        unit[alike] = first[copy]
        np.minimum.at(first_hash, unit[alike], hashes[alike])
    keys = [hashes, unit, first_hash[unit], *([] if first_by is None else [first_by]), group]
    order = np.lexsort(keys)
    new = np.append(True, np.diff(unit[order]) != 0)[: len(order)]
    return order, np.flatnonzero(new), np.cumsum(new) - 1


def _alike(
    rows: pa.Table, group: np.ndarray, label: np.ndarray, aside: Collection[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that another one equals, see ``alike_rows``, by one column after the other."""
    places, copy = alike_rows([group, label])
    for name in rows.column_names:
        if name not in aside and len(places):
            again, copy = alike_rows([copy, _codes(rows[name].combine_chunks())[places]])
            places = places[again]
    return places, copy


def _by_chance(rows: pa.Table, group: np.ndarray, label: np.ndarray, aside: Collection[str]) -> bool:
    """Whether rows that are alike are no more than chance makes."""
    others = [_codes(rows[name].combine_chunks()) for name in rows.column_names if name not in aside]
    return looks_like_chance(label, [group, *others])


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
