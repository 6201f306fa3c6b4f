"""One vector a text from those of its tokens, by hand."""

from types import SimpleNamespace

import pytest
import torch

from drurank.text.pooling import longest_text, pool

ENCODED = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [100.0, 100.0]], [[5.0, 6.0], [7.0, 8.0], [9.0, 13.0]]])


def test_the_first_tokens_vector():
    assert pool(ENCODED, torch.tensor([[1, 1, 0], [1, 1, 1]]), "first").tolist() == [[1, 2], [5, 6]]


def test_the_mean_leaves_padding_out():
    assert pool(ENCODED, torch.tensor([[1, 1, 0], [1, 1, 1]]), "mean").tolist() == [[2, 3], [7, 9]]
    assert pool(ENCODED[:, :2], None, "mean").tolist() == [[2, 3], [6, 7]]


def test_the_mean_of_no_token_is_zero():
    assert pool(ENCODED[:1], torch.tensor([[0, 0, 0]]), "mean").tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("positions", "padding", "longest"), [(512, None, 512), (514, 1, 512), (None, None, None), (-1, None, None)]
)
def test_the_longest_text_ends_with_the_positions(positions, padding, longest):
    """Positions of RoBERTa are numbered from behind that of the padding, 514 of them for 512 tokens."""
    config = SimpleNamespace(max_position_embeddings=positions)
    table = SimpleNamespace(position_embeddings=SimpleNamespace(padding_idx=padding))
    assert longest_text(SimpleNamespace(config=config, embeddings=table)) == longest
