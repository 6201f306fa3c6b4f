"""Checkpoints whose values have no end, or hide what torch calls."""

from collections import OrderedDict

import pytest
import torch

from drurank.errors import InputError
from drurank.methods import DRU
from drurank.run_folder.checkpoint_io import read_checkpoint
from drurank.run_folder.checkpoint_nest import refuse_odd_nest
from drurank.training.starting import StartingWeights


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, fit):
    return fit(tmp_path_factory.mktemp("runs")) / "checkpoints/last.ckpt"


def doubled(make, times=60):
    """A list of twice a list, of twice a list."""
    part = make(1)
    for _ in range(times):
        part = make(part)
    return part


def in_itself(part):
    (part.append(part) if isinstance(part, list) else part.update(a=part))
    return part


def nested(depth):
    part = []
    for _ in range(depth):
        part = [part]
    return part


def reached_late():
    """Of two lists of lists neither is too deep, but the one at the end of the other is."""
    inner = nested(60)
    outer = inner
    for _ in range(60):
        outer = (outer,)
    return [inner, outer]


def with_own(part, **own):
    for name, value in own.items():
        setattr(part, name, value)
    return part


ODD = {
    "lists": (lambda: doubled(lambda one: [one, one]), "becomes .* as files do that are made to fill the day"),
    "tuples": (lambda: doubled(lambda one: (one, one)), "made to fill the day"),
    "mappings": (lambda: doubled(lambda one: {"a": one, "b": one}), "made to fill the day"),
    "mixed": (lambda: doubled(lambda one: [{"a": one}, (one,)], 40), "made to fill the day"),
    "list in itself": (lambda: in_itself([]), "a list in itself"),
    "mapping in itself": (lambda: in_itself({}), "a dict in itself"),
    "deep": (lambda: nested(200), "lists in lists, 100 deep and more"),
    "reached late": (reached_late, "lists in lists, 100 deep and more"),
    "numel": (lambda: with_own(torch.zeros(3), numel=5), r"an attribute in place of Tensor\.numel"),
    "isnan": (lambda: with_own(torch.zeros(3), isnan=5), r"an attribute in place of Tensor\.isnan"),
    "values": (lambda: with_own(OrderedDict(a=1), values=5), r"an attribute in place of OrderedDict\.values"),
}


@pytest.mark.parametrize("where", ["anything", "callbacks", "drurank_hyper_parameters", "state_dict", "drurank"])
@pytest.mark.parametrize("name", ODD)
def test_odd_values_of_a_checkpoint_are_refused_at_once(checkpoint, tmp_path, name, where):
    make, expected = ODD[name]
    saved = torch.load(checkpoint, weights_only=True)
    saved.pop("drurank_written")
    saved.setdefault(where, {})["x"] = make()
    torch.save(saved, tmp_path / "c.ckpt")
    # Lightning gives options to the class before it lets us see the whole.
    for read in (read_checkpoint, *([] if where == "drurank_hyper_parameters" else [DRU.load_from_checkpoint])):
        with pytest.raises(InputError, match=expected):
            read(tmp_path / "c.ckpt")


@pytest.mark.parametrize("name", ODD)
def test_odd_values_of_weights_to_start_from_are_refused_at_once(tmp_path, name):
    torch.save({"x": ODD[name][0]()}, tmp_path / "w.pt")
    with pytest.raises(InputError, match=ODD[name][1]):
        StartingWeights(str(tmp_path / "w.pt")).load(torch.nn.Linear(1, 1))


@pytest.mark.parametrize("content", [[1], "text", {3: torch.zeros(1)}, in_itself({"state_dict": 0})], ids=repr)
def test_weights_to_start_from_are_a_mapping_of_names(tmp_path, content):
    if isinstance(content, dict) and "state_dict" in content:
        content["state_dict"] = content
    torch.save(content, tmp_path / "w.pt")
    with pytest.raises(InputError, match=r"has no tensors; give a checkpoint|in itself"):
        StartingWeights(str(tmp_path / "w.pt")).load(torch.nn.Linear(1, 1))


def test_large_and_repeated_values_that_are_held_are_taken():
    row = [0.5] * 10
    many = {"held": [*range(2_000_000)], "repeated": [row] * 1_000, "deep": nested(90)}
    many["weights"] = with_own(OrderedDict(a=with_own(torch.zeros(3), note=5)), _metadata={"": {"version": 1}})
    refuse_odd_nest("c.ckpt", many, "")
