"""What JSON cannot hold is named, and what it holds is read again as it was."""

import json

import pytest
import torch

from drurank.errors import InputError
from drurank.export.plain import json_text
from drurank.terminal import CONTROL


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"columns": [{"mean": 0.5}, {"mean": float("nan")}]}, "columns[1].mean is nan, no finite number"),
        ({"mean": [1.0, float("-inf")]}, "mean[1] is -inf, no finite number"),
        ({"network": {"init_args": {"a": torch.ones(2)}}}, "network.init_args.a is tensor([1., 1.]), a Tensor"),
        ({"labels": ("a", "b\ud800")}, "labels[1] is 'b\\ud800', no Unicode text"),
        ({"network": {"init_args": {"\udfff": 1}}}, "a name in network.init_args is '\\udfff', no Unicode text"),
        ({"network": {1: 2}}, "a name in network is 1, no text"),
        ({"size": 2**63}, "size has more than 64 bits"),
        ({"size": -(10**5000)}, "size has more than 64 bits"),
        ({"name": b"x"}, "name is b'x', a bytes"),
    ],
)
def test_what_json_cannot_hold_is_named_with_its_place(content, said):
    with pytest.raises(InputError) as refused:
        json_text(content, "x.ckpt")
    assert str(refused.value) == f"x.ckpt cannot be exported: {said}; give another checkpoint"


def test_a_text_can_be_looked_at_and_is_read_as_it_was():
    whole = {
        "labels": ["a\nb\t", "\x1b[31m\x7f\x9b", "\u202e\u2028", "café 😀", '\\"'],
        "n": [None, True, 1.5, -(2**63)],
    }
    text = json_text(whole, "x.ckpt")
    assert json.loads(text) == whole
    assert not CONTROL.search(text)
    assert "café 😀" in text
