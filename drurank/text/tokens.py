"""Texts tokenized once, and cached as memory-mapped arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from drurank.cache import FORMAT, bar, cache_folder, check_sums, made_once
from drurank.errors import InputError
from drurank.files import write_json
from drurank.text.pretrained import fingerprint_of

CHUNK, LETTERS = 4096, 1 << 22
"""Texts that are cut at a time, and most bytes of them but for a single one, since a tokenizer notes much of each."""


class Tokens:
    """Tokens of texts, mapped into memory; other processes map the same pages.

    A text that occurs many times is kept once: the ``d`` different texts stand one behind the other.

    Attributes:
        ids: number of each token of the different texts, ``[t]``.
        ends: where each of them begins in ``ids``, and last the end, int64 ``[d + 1]``.
        place: which of them each text is, int32 ``[n]``.
        truncated: whether a text was longer than it may be, bool ``[n]``.
        blank: whether a text has nothing but white space, bool ``[n]``.
        pad: number of the token that fills a batch.
        largest: the largest number of all tokens, that of padding included.
    """

    def __init__(self, folder: Path, *, checked: bool = False) -> None:
        self.folder = folder
        if not checked:
            check_sums(folder)
        try:
            about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
            self.pad, self.largest = int(about["pad"]), int(about["largest"])
            self.ends: np.ndarray = np.load(folder / "ends.npy", mmap_mode="r")
            self.place: np.ndarray = np.load(folder / "place.npy", mmap_mode="r")
            self.truncated: np.ndarray = np.load(folder / "truncated.npy")[self.place]
            self.blank: np.ndarray = np.load(folder / "blank.npy")[self.place]
            self.ids: np.ndarray = np.memmap(folder / "ids", about["dtype"], mode="r", shape=(int(self.ends[-1]),))
        except (OSError, ValueError, EOFError, KeyError, TypeError, IndexError) as error:
            raise InputError(f"the tokens in {folder} cannot be read ({error}); delete that folder") from error

    def __reduce__(self) -> Any:
        """Map the files again in another process instead of copying their contents."""
        return partial(Tokens, checked=True), (self.folder,)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text, int64 ``[n]``."""
        lengths: np.ndarray = np.diff(self.ends)[self.place]
        return lengths

    def contents(self, rows: np.ndarray) -> Iterator[Tensor]:
        """The tokens of some texts, in pieces: the lengths, int64, and then the numbers, one behind the other."""
        lengths, which = self.lengths[rows], self.place[rows]
        yield torch.from_numpy(lengths)
        for begin in range(0, len(rows), CHUNK):
            some, length = which[begin : begin + CHUNK], lengths[begin : begin + CHUNK]
            place = np.arange(length.sum()) + np.repeat(self.ends[some] - (np.cumsum(length) - length), length)
            yield torch.from_numpy(self.ids[place].astype(np.int32))

    def batch(self, rows: np.ndarray) -> dict[str, Tensor]:
        """Some texts, padded to the longest of them.

        Args:
            rows: which, int64 ``[B]``.

        Returns:
            ``input_ids`` int64 ``[B, T]``, and, where any is padded, ``attention_mask`` int64 ``[B, T]``.
        """
        return self.different(self.place[rows])

    def different(self, which: np.ndarray) -> dict[str, Tensor]:
        """The same for some of the different texts, int64 ``[B]``."""
        begin, length = self.ends[which], self.ends[which + 1] - self.ends[which]
        longest = int(length.max(initial=1))
        inside = np.arange(longest) < length[:, None]
        padded = np.full((len(which), longest), self.pad, dtype=np.int64)
        padded[inside] = self.ids[(begin[:, None] + np.arange(longest))[inside]]
        batch = {"input_ids": torch.from_numpy(padded)}
        return batch if inside.all() else {**batch, "attention_mask": torch.from_numpy(inside.astype(np.int64))}


def tokenise(
    texts: pa.LargeStringArray, tokenizer: Any, max_length: int, *, source: str, cache_dir: str | None = None
) -> Tokens:
    """Tokenize texts, or take the cached tokens of the same texts by the same tokenizer.

    Args:
        texts: none of them null, ``[n]``.
        tokenizer: that of ``transformers``.
        max_length: most tokens of a text, those included that stand at its ends; the rest of a longer text is left out.
        source: what is cut, for the progress bar.
        cache_dir: where tokens are kept; see ``cache_folder``.
    """
    around = tokenizer.num_special_tokens_to_add()
    if max_length < around:
        # Such a tokenizer cuts nothing off at all.
        raise InputError(
            f"max_length is {max_length} tokens and the tokenizer adds {around} special tokens to each text; give more "
            f"than {around}"
        )
    name = digest_of(texts, "tokens", fingerprint_of(tokenizer), max_length)
    folder = cache_folder(cache_dir) / "tokens" / name
    return Tokens(made_once(folder, lambda beside: _write(beside, texts, tokenizer, max_length, source)))


def _write(folder: Path, texts: pa.LargeStringArray, tokenizer: Any, max_length: int, source: str) -> None:
    dtype = "uint16" if len(tokenizer) <= 2**16 else "int32"
    place, known = np.zeros(len(texts), np.int32), dict[bytes, int]()
    lengths, truncated, blank, largest = [0], [np.zeros(0, bool)], list[bool](), tokenizer.pad_token_id
    with (folder / "ids").open("wb") as file, bar(f"Tokenizing {source}", len(texts), "texts") as advance:
        for here in _chunks(texts):
            new, place[here] = _new_texts(texts[here].to_pylist(), known)
            if new:
                ids, cut = _cut(new, tokenizer, max_length)
                lengths += [len(row) for row in ids]
                truncated.append(cut)
                blank += [not text.strip() for text in new]
                numbers = np.array([number for row in ids for number in row], dtype)
                largest = max(largest, int(numbers.max()))
                file.write(numbers.data)
            advance(here.stop - here.start)
    np.save(folder / "ends.npy", np.cumsum(lengths, dtype=np.int64))
    np.save(folder / "place.npy", place)
    np.save(folder / "truncated.npy", np.concatenate(truncated))
    np.save(folder / "blank.npy", np.array(blank, bool))
    write_json(folder / "about.json", {"dtype": dtype, "pad": tokenizer.pad_token_id, "largest": largest})


def _new_texts(texts: list[str], known: dict[bytes, int]) -> tuple[list[str], list[int]]:
    """Those of the texts that are not known yet, and the number of each text; the new ones become known.

    Args:
        texts: some of all.
        known: digest of a text to its number. A digest, since the texts themselves may fill the memory.
    """
    new, numbers = [], []
    for text in texts:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest not in known:
            known[digest] = len(known)
            new.append(text)
        numbers.append(known[digest])
    return new, numbers


def _chunks(texts: pa.LargeStringArray) -> Iterator[slice]:
    """Places of texts that are cut together, in their order."""
    letters = np.cumsum(pc.binary_length(texts).to_numpy())
    begin = 0
    while begin < len(texts):
        before = letters[begin - 1] if begin else 0
        fit = int(np.searchsorted(letters, before + LETTERS, side="right"))
        end = min(max(fit, begin + 1), begin + CHUNK)
        yield slice(begin, min(end, len(texts)))
        begin = end


def _cut(texts: list[str], tokenizer: Any, max_length: int) -> tuple[list[list[int]], np.ndarray]:
    """Tokens of each text, and whether it was longer."""
    found = tokenizer(texts, truncation=True, max_length=max_length)["input_ids"]
    full = [place for place, ids in enumerate(found) if len(ids) == max_length]
    truncated = np.zeros(len(texts), bool)
    if full:
        # Whether a text that fills all room was longer only shows where there is more of it.
        more = tokenizer([texts[place] for place in full], truncation=True, max_length=max_length + 1)["input_ids"]
        truncated[full] = [len(ids) > max_length for ids in more]
    # Some tokenizers put nothing around an empty text, and a network needs something to look at.
    return [ids or [tokenizer.pad_token_id] for ids in found], truncated


def digest_of(texts: pa.LargeStringArray, *facts: object) -> str:
    """A digest of texts, none of them null, and of whatever else decides what is made of them."""
    digest = hashlib.sha256("\n".join(map(str, (FORMAT, *facts, len(texts)))).encode())
    if len(texts):
        _, offsets, letters = texts.buffers()
        ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        digest.update(np.diff(ends).data)
        if letters is not None:
            digest.update(memoryview(letters)[ends[0] : ends[-1]])
    return digest.hexdigest()[:32]
