"""One vector a text from those of its tokens, and how long a text an encoder takes."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from drurank.errors import InputError

Pooling = Literal["first", "mean"]


def pool(encoded: Tensor, attention_mask: Tensor | None, pooling: Pooling) -> Tensor:
    """One vector a text from those of its tokens.

    Args:
        encoded: float ``[B, T, d]``.
        attention_mask: 1 at tokens and 0 at padding, ``[B, T]``; ``None`` where nothing is padded.
        pooling: the ``first`` token's, or the ``mean`` over tokens.

    Returns:
        Float ``[B, d]``.
    """
    if pooling == "first":
        return encoded[:, 0]
    if attention_mask is None:
        return encoded.mean(dim=1)
    mask = attention_mask[..., None].to(encoded.dtype)
    return (encoded * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def longest_text(encoder: Any) -> int | None:
    """Most tokens that an encoder takes, where its positions end."""
    positions: int | None = getattr(encoder.config, "max_position_embeddings", None)
    if positions is None or positions < 1:
        return None
    table = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    # RoBERTa and its kin number positions from behind that of the padding.
    padding = getattr(table, "padding_idx", None)
    return positions if padding is None else positions - padding - 1


def refuse_longer(max_length: int, encoder: Any, name: str) -> None:
    """Refuse texts of more tokens than an encoder takes.

    Args:
        max_length: most tokens of a text.
        encoder: the encoder.
        name: of the encoder.

    Raises:
        InputError: naming the most that it takes.
    """
    longest = longest_text(encoder)
    if longest is not None and max_length > longest:
        raise InputError(
            f"max_length is {max_length:,} tokens and the encoder {name} takes {longest:,}; give max_length={longest}"
        )
