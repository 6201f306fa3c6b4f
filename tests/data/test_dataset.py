"""Rows get their group and index, whatever dataset they come from."""

import math

import datasets
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from drurank.data import GroupedDataset, InMemory, evaluation_loader
from drurank.data.loading import make_loader
from drurank.errors import InputError
from drurank.methods import DRU
from pairs import pairs

ITEMS = {
    "tuples": pairs(),
    "lists": [[torch.tensor([2.0 * i, 2 * i + 1]), i % 2] for i in range(6)],
    "dicts": [{"inputs": torch.tensor([2.0 * i, 2 * i + 1]), "label": i % 2, "more": "x"} for i in range(6)],
    "tensors in memory": InMemory(*pairs().tensors),
}


@pytest.mark.parametrize("dataset", ITEMS.values(), ids=ITEMS)
def test_rows_get_their_group_and_index(dataset):
    grouped = GroupedDataset(dataset, ["b", "a", "b", "c", "a", "b"])
    assert grouped.group_names == ["a", "b", "c"]
    batch = grouped[[5, 1, 3]]
    assert batch["inputs"].tolist() == [[10, 11], [2, 3], [6, 7]]
    assert batch["label"].tolist() == [1, 1, 1]
    assert batch["group"].tolist() == [1, 0, 2]
    assert batch["index"].tolist() == [5, 1, 3]
    one = grouped[4]
    assert one["inputs"].tolist() == [8, 9]
    assert (int(one["label"]), int(one["group"]), int(one["index"])) == (0, 0, 4)
    assert len(grouped[[]]["label"]) == 0
    assert grouped[[]]["inputs"].shape == (0, 2)


def test_dict_items_are_keywords_of_the_network():
    items = [{"x": torch.ones(2) * i, "code": i, "target": 1} for i in range(4)]
    batch = GroupedDataset(items, [0, 0, 1, 1], label="target")[[2, 3]]
    assert {name: value.tolist() for name, value in batch["inputs"].items()} == {"x": [[2, 2], [3, 3]], "code": [2, 3]}
    assert batch["label"].tolist() == [1, 1]


def test_item_without_the_label_is_refused_with_what_it_has():
    grouped = GroupedDataset([{"x": 1, "lable": 0}], ["a"])
    with pytest.raises(InputError, match=r"no label 'label'.*'lable'"):
        grouped[[0]]


def test_duplicate_rows_are_samples_of_their_own():
    grouped = GroupedDataset(TensorDataset(torch.ones(4, 2), torch.ones(4).long()), ["a"] * 4)
    (batch,) = make_loader(grouped, 4)
    assert len(grouped) == 4
    assert batch["index"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("groups", "number", "names"),
    [
        (["007", "7", "é", "é", "NA", "None"], [0, 1, 4, 4, 2, 3], ["007", "7", "NA", "None", "é"]),
        (np.array(["x", "y", "x", "y", "z", "z"]), [0, 1, 0, 1, 2, 2], ["x", "y", "z"]),
        (np.array(["x", "y", "x", "y", "z", "z"], dtype=object), [0, 1, 0, 1, 2, 2], ["x", "y", "z"]),
        (torch.tensor([3, 0, 0, -1, 1, 3]), [3, 0, 0, -1, 1, 3], ["0", "1", "2", "3"]),
        (np.array([1, 0, 1, 0, 1, 0], dtype=np.int16), [1, 0, 1, 0, 1, 0], ["0", "1"]),
    ],
)
def test_groups_are_numbered_by_sorted_name_or_as_given(groups, number, names):
    grouped = GroupedDataset(pairs(), groups)
    assert grouped.group.tolist() == number
    assert grouped.group.dtype == torch.int64
    assert grouped.group_names == names
    assert grouped.num_groups == len(names)


def test_composed_and_decomposed_letters_are_one_group():
    grouped = GroupedDataset(pairs(2), ["e\u0301", "\u00e9"])
    assert grouped.group.tolist() == [0, 0]


def test_given_names_keep_their_numbers_and_new_ones_follow():
    grouped = GroupedDataset(pairs(4), ["d", "b", "a", "c"], group_names=["c", "b"], num_seen=2)
    assert grouped.group_names == ["c", "b", "a", "d"]
    assert grouped.group.tolist() == [3, 1, 2, 0]
    assert grouped.num_seen == 2


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: GroupedDataset(pairs(), ["a"] * 5), "5 groups for 6 rows"),
        (lambda: GroupedDataset(pairs(2), [["male", "white"], ["male"]]), "one group per row"),
        (lambda: GroupedDataset(pairs(2), [("a",), ("b",)]), "one group per row"),
        (lambda: GroupedDataset(pairs(2), ["a", None]), "row 1.*blank"),
        (lambda: GroupedDataset(pairs(2), ["a", " "]), "row 1.*blank"),
        (lambda: GroupedDataset(pairs(2), ["a", math.nan]), "row 1.*blank"),
        (lambda: GroupedDataset(pairs(2), torch.tensor([0.0, 1.0])), "float32"),
        (lambda: GroupedDataset(pairs(2), torch.tensor([[0], [1]])), r"\[2, 1\]"),
        (lambda: GroupedDataset(pairs(2), torch.tensor([0, 2]), group_names=["a", "b"]), "group"),
        (lambda: GroupedDataset(TensorDataset(torch.zeros(0, 2)), [], split="ood_val"), "'ood_val' has no rows"),
        (lambda: GroupedDataset(pairs(2), ["a", "b"], split="oodval"), "'oodval'.*'ood_val'"),
        (lambda: GroupedDataset(iter([1, 2]), ["a", "b"]), "map-style"),
    ],
)
def test_datasets_that_cannot_be_are_refused(make, named):
    with pytest.raises(InputError, match=named):
        make()


def hugging_face_rows(n=12):
    rows = {"x": [float(i % 3) for i in range(n)], "y": [float(i % 2) for i in range(n)]}
    return datasets.Dataset.from_dict(
        {**rows, "label": [i % 2 for i in range(n)], "who": [f"w{i % 3}" for i in range(n)]}
    )


class Columns(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, y):
        return self.linear(torch.stack([x, y], dim=1).float())


@pytest.mark.parametrize("format_", [None, "torch"])
def test_hugging_face_dataset_and_its_column_are_taken_as_they_are(trainer, format_):
    rows = hugging_face_rows()
    features = rows.remove_columns("who").with_format(format_)
    train = GroupedDataset(features, rows["who"])
    val = GroupedDataset(features, rows["who"], split="val")
    assert train.group_names == ["w0", "w1", "w2"]
    assert train[[4, 2]]["inputs"]["x"].tolist() == [1, 2]
    assert train[[4, 2]]["group"].tolist() == [1, 2]
    module = DRU(network=Columns())
    trainer().fit(module, DataLoader(train, 5, shuffle=True), [DataLoader(val, 5), evaluation_loader(train)])
    with torch.no_grad():
        right = module.network(torch.tensor(rows["x"][:]), torch.tensor(rows["y"][:])).argmax(dim=1)
    assert module.record.correct.tolist() == (right == torch.tensor(rows["label"][:])).int().tolist()


def test_hugging_face_dataset_without_rows_is_refused():
    with pytest.raises(InputError, match="no rows"):
        GroupedDataset(hugging_face_rows().select([]), [], split="train")


def test_fingerprint_tells_training_sets_apart():
    def digest(groups="aabbcc", shift=0.0, label=None):
        x, y = pairs().tensors
        return GroupedDataset(TensorDataset(x + shift, y if label is None else label), list(groups)).fingerprint()

    assert digest() == digest()
    others = {digest("aabbca"), digest("aabbcd"), digest(shift=1e-3), digest(label=1 - pairs().tensors[1])}
    assert len(others | {digest()}) == 5


class Lazy:
    """Rows whose labels are not known before they are read."""

    label = "a name, not the labels"

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return torch.zeros(2), 1


class Flipped(TensorDataset):
    """Rows whose labels are not those of its tensors."""

    def __getitem__(self, index):
        x, label = super().__getitem__(index)
        return x, 1 - label


class FlippedRows(GroupedDataset):
    def __getitem__(self, index):
        row = super().__getitem__(index)
        return {**row, "label": 1 - row["label"]}


X = torch.zeros(5, 2)


@pytest.mark.parametrize(
    ("rows", "want"),
    [
        (TensorDataset(X, torch.tensor([2, 0, 2, 2, 0])), [2, 0, 3]),
        (InMemory(X, torch.tensor([1, 1, 0, 1, 1])), [1, 4]),
        (TensorDataset(X), None),
        (TensorDataset(X, torch.rand(5)), None),
        (TensorDataset(X, torch.zeros(5, 3).long()), None),
        (TensorDataset(X, torch.tensor([0, 1, -1, 0, 1])), None),
        (TensorDataset(X, torch.tensor([0, 1, 10**12, 0, 1])), None),
        (TensorDataset(X, torch.zeros(5).bool()), None),
        (Lazy(), None),
        (Flipped(X, torch.tensor([1, 0, 1, 1, 0])), None),
    ],
    ids=["tensors", "in memory", "no label", "floats", "several", "negative", "huge", "booleans", "lazy", "flipped"],
)
def test_classes_are_counted_where_labels_are_at_hand(rows, want):
    assert GroupedDataset(rows, list("aabbb")).class_count() == want


def test_classes_are_not_counted_where_code_of_your_own_may_change_the_labels():
    rows = TensorDataset(X, torch.tensor([1, 0, 1, 1, 0]))
    assert GroupedDataset(rows, list("aabbb"), collate=lambda items: items).class_count() is None
    assert FlippedRows(rows, list("aabbb")).class_count() is None
