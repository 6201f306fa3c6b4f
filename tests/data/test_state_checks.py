"""What a checkpoint keeps of its training rows is checked by kind, entry by entry, before anything reads it."""

import copy
import re

import pytest
import torch

from drurank.data import WILDS, Table, Text
from drurank.data.encoded import saved_state
from drurank.errors import InputError

NAMES = {"label_names": ["no", "yes"], "group_names": ["g1", "g2"]}
OF_TABLE = {
    **NAMES,
    "numeric": [
        {"name": "a", "mean": 0.5, "scale": 2.0, "indicator": True, "written": "plain", "minimum": -2.5, "maximum": 7},
        {
            "name": "d",
            "mean": 0.0,
            "scale": 1e-9,
            "indicator": False,
            "written": "%d/%m/%Y",
            "minimum": -9,
            "maximum": 5.0,
        },
    ],
    "categorical": [{"name": "c", "values": ["x", "y", None], "is_joined": False}],
    "encoding": "onehot",
}
OF_TOKENS = {
    **NAMES,
    "tokenizer": "digest",
    "name": "tiny",
    "vocabulary": 30,
    "max_length": 16,
    "pooling": None,
    "weights": "",
    "mean": [],
    "scale": [],
}
OF_FEATURES = {**OF_TOKENS, "pooling": "mean", "weights": "digest", "mean": [0.5, -1.0], "scale": [2.0, 1.0]}
STATES = {"table": (Table, OF_TABLE), "tokens": (Text, OF_TOKENS), "features": (WILDS, OF_FEATURES)}
ODD = {
    "none": None,
    "true": True,
    "number": 5,
    "zero": 0,
    "negative": -1,
    "nan": float("nan"),
    "inf": float("inf"),
    "huge": 10**400,
    "text": "xyz",
    "surrogate": "\ud800",
    "empty list": [],
    "texts": ["p", "q"],
    "surrogates": ["\ud800", "q"],
    "twice": ["p", "p"],
    "nones": [None, None],
    "numbers": [1, 2],
    "lists": [["p"], ["q"]],
    "mappings": [{}, {}],
    "mapping": {},
    "tensor": torch.zeros(2),
    "tensors": [torch.zeros(2), torch.zeros(2)],
}
A_NUMBER = {"number", "zero", "negative"}
TAKEN = {
    r"label_names": {"texts"},
    r"group_names": {"texts", "twice", "empty list"},
    r"(label|group)_names\.\d": {"text"},
    r"numeric|categorical": {"empty list"},
    r"(numeric|categorical)\.\d\.name": {"text"},
    r"numeric\.\d\.mean": A_NUMBER,
    r"numeric\.\d\.scale": {"number"},
    r"numeric\.\d\.indicator": {"true"},
    r"numeric\.\d\.written": {"none"},
    r"numeric\.\d\.(minimum|maximum)": A_NUMBER,
    r"categorical\.0\.values": {"texts", "empty list"},
    r"categorical\.0\.values\.[01]": {"text"},
    r"categorical\.0\.values\.2": {"text", "none"},
    r"categorical\.0\.is_joined": {"true"},
    r"tokenizer|name|weights": {"text"},
    r"vocabulary|max_length": {"number"},
    r"mean\.\d": A_NUMBER,
    r"scale\.\d": {"number"},
}
"""Which of the odd values are none in which entry."""
OF_ONE = {
    "table": {},
    "tokens": {r"pooling": {"none"}, r"mean|scale": {"empty list"}},
    "features": {r"mean|scale": {"numbers"}},
}
OPTIONAL = {"written", "is_joined"}


def places(part, *before):
    """The keys that lead to each entry, at any depth."""
    for key in part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ():
        yield (*before, key)
        yield from places(part[key], *before, key)


def changed(state, place, value):
    state = copy.deepcopy(state)
    part = state
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return state


def named(place):
    return ".".join(map(str, place))


EACH = [(kind, place) for kind, (_, state) in STATES.items() for place in places(state)]


@pytest.mark.parametrize(("kind", "place"), EACH, ids=lambda one: one if isinstance(one, str) else named(one))
def test_an_entry_of_another_kind_is_refused_with_its_place(kind, place):
    data, state = STATES[kind]
    taken = {**TAKEN, **OF_ONE[kind]}
    fine = {name for where, names in taken.items() if re.fullmatch(where, named(place)) for name in names}
    for name, value in ODD.items():
        checkpoint = {data.__qualname__: changed(state, place, value)}
        if name in fine:
            assert saved_state(data, checkpoint, "a.ckpt") == checkpoint[data.__qualname__]
            continue
        with pytest.raises(InputError) as error:
            saved_state(data, checkpoint, "a.ckpt")
        said = str(error.value)
        first = place
        if value is None and place == ("pooling",):
            first = ("mean",)  # Without pooling there is none.
        elif value is None and "values" in place:
            first = place[:3]  # One for missing cells is there already.
        assert said.startswith(f"a.ckpt is damaged: its {data.__qualname__}.{named(first)}"), (name, said)
        assert said.endswith("; give another checkpoint of the run"), (name, said)


@pytest.mark.parametrize(("kind", "place"), EACH, ids=lambda one: one if isinstance(one, str) else named(one))
def test_a_key_that_is_missing_is_named(kind, place):
    data, state = STATES[kind]
    if isinstance(place[-1], int):
        return
    state = copy.deepcopy(state)
    part = state
    for key in place[:-1]:
        part = part[key]
    del part[place[-1]]
    if place[-1] in OPTIONAL:
        assert saved_state(data, {data.__qualname__: state}, "a.ckpt") is state
        return
    with pytest.raises(InputError, match=rf"its {data.__qualname__}\.{re.escape(named(place))} is missing; give"):
        saved_state(data, {data.__qualname__: state}, "a.ckpt")


@pytest.mark.parametrize("value", [value for name, value in ODD.items() if name != "mapping"])
@pytest.mark.parametrize("data", [Table, Text, WILDS])
def test_what_is_no_mapping_is_no_encoding(data, value):
    with pytest.raises(InputError, match=rf"^a\.ckpt is damaged: its {data.__qualname__} is "):
        saved_state(data, {data.__qualname__: value}, "a.ckpt")


@pytest.mark.parametrize("name", ["extra", "\ud800", 5])
@pytest.mark.parametrize(("data", "place"), [(Table, "numeric"), (Table, "categorical"), (Text, None)])
def test_a_key_that_nothing_reads_is_named(data, place, name):
    state = copy.deepcopy(OF_TABLE if data is Table else OF_TOKENS)
    (state if place is None else state[place][0])[name] = 1
    where = data.__qualname__ if place is None else f"Table.{place}.0"
    with pytest.raises(InputError, match=re.escape(f"its {where} has {name!a}, which is not known; ")):
        saved_state(data, {data.__qualname__: state}, "a.ckpt")


@pytest.mark.parametrize("written", ["plain", "marked", "percent", "date", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d", None])
def test_every_way_of_writing_numbers_is_known(written):
    state = changed(OF_TABLE, ("numeric", 0, "written"), written)
    assert saved_state(Table, {"Table": state}, "a.ckpt") is state


@pytest.mark.parametrize("ends", [(1, 0), (7.5, 7), (-2, -2.5)])
def test_the_least_number_is_not_above_the_largest(ends):
    state = changed(changed(OF_TABLE, ("numeric", 1, "minimum"), ends[0]), ("numeric", 1, "maximum"), ends[1])
    with pytest.raises(InputError, match=rf"a\.ckpt is damaged: its Table\.numeric\.1\.maximum is {ends[1]}; give"):
        saved_state(Table, {"Table": state}, "a.ckpt")


def test_older_checkpoints_know_neither_least_nor_largest_number():
    state = copy.deepcopy(OF_TABLE)
    state["numeric"][0] |= {"minimum": None, "maximum": None}
    del state["numeric"][1]["minimum"], state["numeric"][1]["maximum"]
    assert saved_state(Table, {"Table": state}, "a.ckpt") is state
    assert Table("t.csv", "y").read_encoder(state).numeric[1].minimum is None


def test_two_columns_have_two_names():
    state = changed(OF_TABLE, ("categorical", 0, "name"), "d")
    with pytest.raises(InputError, match=r"its Table\.numeric and Table\.categorical has 'd' twice"):
        saved_state(Table, {"Table": state}, "a.ckpt")


@pytest.mark.parametrize("labels", [["a"], ["a", "b", "c"]])
def test_there_is_a_label_for_each_class_of_the_network(labels):
    checkpoint = {"Table": {**OF_TABLE, "label_names": labels}, "drurank": {"sizes": {"num_classes": 2}}}
    with pytest.raises(InputError, match=rf"a\.ckpt .* Table\.label_names are {len(labels)}, and .* classes 2; give"):
        saved_state(Table, checkpoint, "a.ckpt")
    assert saved_state(Table, {**checkpoint, "Table": OF_TABLE}, "a.ckpt") is OF_TABLE


@pytest.mark.parametrize("data", [lambda: Table("t.csv", "y"), lambda: Text("t.csv", "y")], ids=["Table", "Text"])
def test_what_a_trainer_passes_on_is_checked_too(data):
    made = data()
    with pytest.raises(InputError, match=r"^the checkpoint is damaged: its \w+\.label_names is \[\]; "):
        made.load_state_dict({**(OF_TABLE if isinstance(made, Table) else OF_TOKENS), "label_names": []})


def test_who_takes_over_something_else_checks_it():
    class Own(Table):
        def load_state_dict(self, state_dict):
            super().load_state_dict(state_dict["inner"])

    assert saved_state(Own, {Own.__qualname__: {"inner": 5}}, "a.ckpt") == {"inner": 5}
    with pytest.raises(InputError, match=r"^the checkpoint is damaged: its .*Own is 5; "):
        Own("t.csv", "y").load_state_dict({"inner": 5})
