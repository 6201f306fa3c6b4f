"""Features of texts by a pretrained encoder, computed once and cached."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from drurank.cache import bar, cache_folder, check_sums, made_once
from drurank.errors import InputError
from drurank.text.pooling import Pooling, pool, refuse_longer
from drurank.text.pretrained import load_encoder, load_tokenizer, refuse_unknown_tokens
from drurank.text.tokens import Tokens, tokenise

TOKENS_AT_ONCE = 16384
"""Most tokens of a batch, padding included."""
OF_THE_FILE = ("_name_or_path", "transformers_version", "dtype", "architectures")
"""What a configuration says of the file that it was read from."""


def embed_texts(
    texts: pa.ChunkedArray,
    pretrained: str,
    *,
    source: str,
    pooling: Pooling = "mean",
    max_length: int = 512,
    cache_dir: str | None = None,
) -> np.ndarray:
    """One vector a text by a pretrained encoder in evaluation mode, on a GPU where there is one.

    A text that occurs many times is encoded once.

    Args:
        texts: cells of text, a missing one being an empty text, ``[n]``.
        pretrained: local folder, or name on the hub.
        source: what the texts are of, for the progress bar.
        pooling: the ``first`` token's vector, or the ``mean`` over tokens.
        max_length: most tokens of a text.
        cache_dir: where tokens and vectors are cached; ``~/.cache/drurank``, if not given.

    Returns:
        Float32 ``[n, d]``, mapped into memory where all texts differ.

    Raises:
        InputError: if the encoder is not found, or takes shorter texts.
    """
    cells = pc.fill_null(texts.cast(pa.large_string()).combine_chunks(), "")
    tokens = tokenise(cells, load_tokenizer(pretrained), max_length, source=source, cache_dir=cache_dir)
    made = embed_tokens(tokens, pretrained, source=source, pooling=pooling, max_length=max_length, cache_dir=cache_dir)
    features: np.ndarray = made[0]
    return features if len(features) == len(cells) else features[tokens.place]


def embed_tokens(
    tokens: Tokens, pretrained: str, *, source: str, pooling: Pooling, max_length: int, cache_dir: str | None
) -> tuple[np.ndarray, str]:
    """One vector for each different text (``tokens.place`` says which each text is), and a digest of the weights."""
    encoder = load_encoder(pretrained).eval()
    refuse_longer(max_length, encoder, pretrained)
    weights = _weights_of(encoder)
    key = f"{tokens.folder.name} {weights} {_config_of(encoder)} {pooling}"
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    folder = cache_folder(cache_dir) / "features" / name
    check_sums(made_once(folder, lambda beside: _write(beside, tokens, encoder, pretrained, pooling, source)))
    try:
        features: np.ndarray = np.load(folder / "features.npy", mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"the features in {folder} cannot be read ({error}); delete that folder") from error
    return features, weights


@torch.inference_mode()
def _write(folder: Path, tokens: Tokens, encoder: Any, name: str, pooling: Pooling, source: str) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    encoder.to(device)
    lengths = np.diff(tokens.ends)
    shape = (len(lengths), encoder.config.hidden_size)
    refuse_unknown_tokens(tokens.largest, encoder, name, name)
    features = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, shape)
    if hasattr(os, "posix_fallocate"):
        with (folder / "features.npy").open("r+b") as file:
            # A full disk fails here, with an error, instead of with a signal as the pages are written.
            os.posix_fallocate(file.fileno(), 0, features.offset + features.nbytes)
    with bar(f"Encoding {source}", int(lengths.sum()), "tokens") as advance:
        for rows in _batches(lengths):
            batch = {key: tensor.to(device) for key, tensor in tokens.different(rows).items()}
            vectors = pool(encoder(**batch).last_hidden_state, batch.get("attention_mask"), pooling)
            features[rows] = vectors.float().cpu().numpy()
            advance(int(lengths[rows].sum()))
    features.flush()


def _batches(lengths: np.ndarray) -> list[np.ndarray]:
    """Rows in batches of about as many tokens, the longest texts first, so that too little memory shows at once."""
    order = np.argsort(-lengths, kind="stable")
    batches, begin = [], 0
    while begin < len(order):
        size = max(1, TOKENS_AT_ONCE // int(lengths[order[begin]]))
        batches.append(order[begin : begin + size])
        begin += size
    return batches


def _config_of(encoder: Any) -> str:
    """What else decides what an encoder computes; other releases of ``transformers`` may say it in another way."""
    config = {key: value for key, value in encoder.config.to_dict().items() if key not in OF_THE_FILE}
    return json.dumps(config, sort_keys=True, default=str)


def _weights_of(encoder: Any) -> str:
    """A digest of an encoder's weights, wherever they were loaded from."""
    digest = hashlib.sha256()
    for name, tensor in sorted(encoder.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().view(torch.uint8).numpy().data if tensor.ndim else str(tensor).encode())
    return digest.hexdigest()
