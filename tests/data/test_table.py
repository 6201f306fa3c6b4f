"""Labels, groups, splits and rows of a table are those of its file."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
import torch

from small_tables import GROUP, LABEL, SPLIT, TEST, TRAIN, VAL, C, X, fitted, inputs, parquet, written

# Labels


@pytest.mark.parametrize(
    ("values", "order"),
    [
        ([10, 2, 2, 2, 10, 10, 10, 2], ["2", "10"]),
        ([1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -1.0], ["-1", "1"]),
        (["10", "2", "2", "2", "10", "10", "10", "2"], ["2", "10"]),
        ([True, False, False, False, True, True, True, False], ["false", "true"]),
        (["b", "B", "B", "B", "b", "b", "b", "B"], ["B", "b"]),
        ([Decimal(v) for v in ("3.00", "0.00", "0.00", "0.00", "3.00", "3.00", "3.00", "0.00")], ["0", "3"]),
    ],
    ids=["ints", "floats", "texts of numbers", "booleans", "case differs", "decimals"],
)
def test_labels_are_in_the_order_of_numbers_or_the_alphabet(tmp_path, values, order):
    table = fitted(parquet(tmp_path, x=X, label=values))
    assert table.label_names == order
    label = table.dataset("train")[[0, 1, 2, 3]]["label"]
    assert label.tolist() == [1, 0, 0, 1]
    assert label.dtype == torch.int64


def test_a_class_that_only_training_has_counts(tmp_path):
    table = fitted(parquet(tmp_path, x=X, label=["c", "a", "a", "b", "a", "c", "b", "a"]))
    assert table.sizes.num_classes == 3
    assert table.dataset("val")[[0, 1]]["label"].tolist() == [0, 1]


# Groups


def groups(table, split):
    part = table.dataset(split)
    return [part.group_names[number] if number >= 0 else None for number in part.group.tolist()]


def test_training_groups_are_numbered_by_name_and_new_ones_follow(tmp_path):
    table = fitted(parquet(tmp_path, x=X))
    train, val, test = (table.dataset(split) for split in ("train", "val", "test"))
    assert (train.group_names, train.group.tolist()) == (["a", "b"], [1, 0, 0, 1])
    assert (val.group_names, val.group.tolist()) == (["a", "b", "d"], [2, 0])
    assert (test.group_names, test.group.tolist()) == (["a", "b", "c"], [2, 1])
    assert train.num_seen == val.num_seen == test.num_seen == 2
    assert table.grouped


def test_new_groups_are_numbered_by_name_too(tmp_path):
    names = [*"ab", *"wrqztypx"]
    lines = [f"{i},{'ab'[i % 3 == 0]},{name},{'train' if i < 3 else 'val'}" for i, name in enumerate(["a", *names])]
    part = fitted(written(tmp_path, "x,label,group,split\n" + "\n".join(lines))).dataset("val")
    assert part.group_names == [*"ab", *"pqrtwxyz"]
    assert part.group.tolist() == [6, 4, 3, 9, 5, 8, 2, 7]


def test_groups_of_a_csv_are_taken_as_written(tmp_path):
    names = ["007", "NA", "None", "7", "e\u0301", "\u00e9", "null", "1.0", "1", "nan"]
    lines = [f"{i},{'ab'[i % 2]},{name},train" for i, name in enumerate(names)]
    lines += [f"{i},{'ab'[i % 2]},{name},val" for i, name in enumerate(names)]
    table = fitted(written(tmp_path, "x,label,group,split\n" + "\n".join(lines)))
    expected = ["007", "NA", "None", "7", "\u00e9", "\u00e9", "null", "1.0", "1", "nan"]
    assert groups(table, "train") == groups(table, "val") == expected
    assert table.dataset("train").num_groups == 9


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([2**60 + 1, 2**60, 2**60 + 1, 2**60] * 2, [str(2**60 + 1), str(2**60)] * 4),
        ([3.0, 4.0, 3.5, 1e20] * 2, ["3", "4", "3.5", "1e+20"] * 2),
        ([Decimal(10**25 + 1), Decimal(10**25)] * 4, [str(10**25 + 1), str(10**25)] * 4),
        ([True, False] * 4, ["true", "false"] * 4),
        ([Decimal("2.50"), Decimal("3.00")] * 4, ["2.5", "3"] * 4),
        (pa.array([0.5, 1, 0.5, 1] * 2, pa.float16()), ["0.5", "1"] * 4),
        (pa.array([1, 2, 1, 2] * 2).dictionary_encode(), ["1", "2", "1", "2"] * 2),
    ],
    ids=["ids over 2**53", "floats", "decimal ids", "booleans", "decimals", "half floats", "dictionary"],
)
def test_groups_of_every_type_keep_their_names(tmp_path, values, names):
    table = fitted(parquet(tmp_path, x=X, group=values))
    for split, rows in (("train", TRAIN), ("val", VAL), ("test", TEST)):
        assert groups(table, split) == [names[row] for row in rows]


def test_several_group_columns_cross_and_the_label_may_be_one(tmp_path):
    path = parquet(tmp_path, x=X, age=[1, 2, 1, 1, 2, 2, 1, 2])
    assert groups(fitted(path, group="group,age"), "train") == ["b | 1", "a | 2", "a | 1", "b | 2"]
    table = fitted(path, group=["age", "label"], exclude="group")
    assert groups(table, "val") == ["1 | yes", "1 | no"]
    # Training has 1 no, 2 yes, 1 yes, 2 no.
    assert table.dataset("train").group.tolist() == [0, 3, 1, 2]


def test_names_with_the_joiner_in_them_stay_apart(tmp_path):
    path = parquet(tmp_path, x=X, g=["a | b", "a"] * 4, h=["c", "b | c"] * 4)
    assert len(set(fitted(path, group="g,h", exclude="group").dataset("train").group.tolist())) == 2


def test_group_in_eval_allows_blank_groups_in_training_alone(tmp_path):
    group = [None, "a", "d", "", "c", "b", "a", "b"]
    table = fitted(parquet(tmp_path, x=X, group=group), group_in="eval")
    assert table.dataset("train").group.tolist() == [-1, 0, -1, 1]
    assert groups(table, "test") == ["c", "b"]


def test_group_in_eval_allows_that_no_training_row_has_a_group(tmp_path):
    group = [None if split == "train" else name for split, name in zip(SPLIT, GROUP, strict=True)]
    table = fitted(parquet(tmp_path, x=X, group=group), group_in="eval")
    assert table.dataset("train").group.tolist() == [-1] * 4
    assert (groups(table, "val"), table.dataset("val").num_seen) == (["d", "a"], 0)


def test_without_a_group_column_all_rows_are_one(tmp_path):
    table = fitted(parquet(tmp_path, x=X), group=None, exclude="group")
    assert not table.grouped
    assert table.dataset("train").group.tolist() == [0] * 4
    assert table.dataset("train").num_groups == 1


# Splits and rows


def test_rows_of_a_split_know_their_place_in_the_file(tmp_path):
    table = fitted(parquet(tmp_path, x=X))
    assert table.splits() == ["train", "val", "test"]
    assert [table.dataset(split).rows.tolist() for split in table.splits()] == [TRAIN, VAL, TEST]
    assert table.dataset("val")[[1]]["index"].tolist() == [1]


@pytest.mark.parametrize("values", [[0, 1, 2], ["0", "1", "2"], [0.0, 1.0, 2.0]], ids=["ints", "texts", "floats"])
@pytest.mark.parametrize("kind", [int, str])
def test_split_names_may_be_numbers(tmp_path, values, kind):
    split = [values[["train", "val", "test"].index(name)] for name in SPLIT]
    names = {kind(number): name for number, name in enumerate(["train", "val", "test"])}
    table = fitted(parquet(tmp_path, x=X, split=split), split_names=names)
    assert [table.dataset(name).rows.tolist() for name in ("train", "val", "test")] == [TRAIN, VAL, TEST]


def test_all_split_names_and_other_spellings(tmp_path):
    split = ["train", "id_val", "dev", "train", "val", "id_test", "ood_test", "test"]
    group = ["b", "a", "d", "a", "c", "b", "e", "b"]
    table = fitted(parquet(tmp_path, x=X, split=split, group=group), split_names={"dev": "ood_val"})
    assert {name: table.dataset(name).rows.tolist() for name in table.splits()} == {
        "train": [0, 3],
        "id_val": [1],
        "ood_val": [2],
        "val": [4],
        "id_test": [5],
        "ood_test": [6],
        "test": [7],
    }


def test_identical_rows_are_as_many_samples(tmp_path):
    lines = ["1,a,g,train"] * 4 + ["1,b,g,train", "2,b,g,train"] + ["1,a,g,val"] * 2
    table = fitted(written(tmp_path, "x,label,group,split\n" + "\n".join(lines)))
    assert table.dataset("train").rows.tolist() == [0, 1, 2, 3, 4, 5]
    assert len(table.dataset("val")) == 2


def test_the_order_of_rows_does_not_matter(tmp_path):
    order = np.random.default_rng(0).permutation(8)
    columns = {"label": LABEL, "group": GROUP, "split": SPLIT, "x": X, "c": C}
    shuffled = {name: [values[row] for row in order] for name, values in columns.items()}
    straight = fitted(parquet(tmp_path, x=X, c=C))
    mixed = fitted(parquet(tmp_path, "mixed.parquet", **shuffled))
    assert mixed.state_dict()["categorical"] == straight.state_dict()["categorical"]
    for split in straight.splits():
        one, other = straight.dataset(split), mixed.dataset(split)
        back = {int(order[row]): place for place, row in enumerate(other.rows.tolist())}
        where = [back[row] for row in one.rows.tolist()]
        torch.testing.assert_close(inputs(mixed, split)[where], inputs(straight, split))
        assert other.group[where].tolist() == one.group.tolist()


# Text files


ROWS = "x,c,label,group,split\n1,u,no,b,train\n2,v,yes,a,train\n4,v,yes,a,train\n6,v,no,b,train\n30,w,yes,d,val\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (ROWS, "t.csv"),
        (ROWS, "T.CSV"),
        (ROWS.replace(",", "\t"), "t.tsv"),
        ("\ufeff" + ROWS, "t.csv"),
        (ROWS.replace("\n", "\r\n"), "t.csv"),
        (ROWS.replace("\n", "\r"), "t.csv"),
        (ROWS.removesuffix("\n"), "t.csv"),
        ("\n\n" + ROWS.replace("\n4", "\n\n4") + "\n\n", "t.csv"),
        ("\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in ROWS.splitlines()), "t.csv"),
        (ROWS.replace("\n1,", "\n +1.0e0 ,").replace("\n6,", "\n6.,"), "t.csv"),
    ],
    ids=["csv", "upper case", "tsv", "BOM", "CRLF", "CR", "no end", "empty lines", "quoted", "spelt otherwise"],
)
def test_text_files_of_all_manners_say_the_same(tmp_path, text, name):
    table = fitted(written(tmp_path, text, name))
    expected = [(30 - 3.25) / math.sqrt(3.6875), 1, 0, 0]
    np.testing.assert_allclose(inputs(table, "val").numpy(), [expected], rtol=1e-6)
    assert table.dataset("val").rows.tolist() == [4]
    assert table.dataset("train")[[0, 1, 2, 3]]["label"].tolist() == [0, 1, 1, 0]


def test_a_cell_may_have_delimiters_quotes_and_newlines(tmp_path):
    text = 'x,label,group,split\n1,a,"g,1",train\n2,b,"g""2",train\n3,a,"g\n3",train\n4,b,g4,val\n'
    table = fitted(written(tmp_path, text))
    assert groups(table, "train") == ["g,1", 'g"2', "g\n3"]
    assert table.dataset("val").rows.tolist() == [3]


def test_a_text_column_is_of_numbers_where_training_says_so(tmp_path):
    text = "n,m,k,label,group,split\n1,NA,a,no,g,train\n2,3,1,yes,g,train\n4,5,a,yes,g,train\n5,,NA,yes,g,val\n"
    table = fitted(written(tmp_path, text), missing="indicator", encoding="embed")
    got = inputs(table, "val")
    # n by (1, 2, 4); m is missing, so its mean of 3 and 5, which is 0, and the indicator; k is not in training.
    np.testing.assert_allclose(got["numeric"].numpy(), [[(5 - 7 / 3) / math.sqrt(14 / 9), 0, 1]], rtol=1e-6)
    assert got["categorical"].tolist() == [[0]]
    assert table.sizes.cardinalities == (3,)


def test_a_word_that_python_takes_for_a_number_is_none(tmp_path):
    text = "k,label,group,split\n1_0,no,g,train\n2_0,yes,g,train\n2_0,no,g,train\n20,no,g,val\n"
    assert inputs(fitted(written(tmp_path, text)), "val").tolist() == [[1, 0, 0]]


def test_rows_of_any_length_are_read(tmp_path):
    header = ["label", "group", "split", *(f"c{i}" for i in range(12))]
    rest = ["long" * 30_000] * 12
    rows = [["a", "g", "train", *rest], ["b", "g", "train", *rest], ["a", "g", "val", *rest]]
    table = fitted(written(tmp_path, "\n".join(",".join(cells) for cells in [header, *rows])))
    assert table.sizes.in_features == 24


def test_number_codes_of_a_csv_are_categories_by_option(tmp_path):
    text = "zip,label,group,split\n007,no,g,train\n7,yes,g,train\n7,no,g,train\n007,yes,g,val\n"
    table = fitted(written(tmp_path, text), categorical="zip", encoding="embed")
    assert inputs(table, "train")["categorical"].tolist() == [[1], [2], [2]]
    assert inputs(table, "val")["categorical"].tolist() == [[1]]
