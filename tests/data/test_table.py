import datetime
import logging
import math
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drurank.data import Table
from drurank.errors import InputError
from drurank.tabular.coding import code_groups, join_names
from drurank.tabular.columns import Column
from drurank.tabular.rules.features import determines

SPLIT = ["train", "train", "val", "train", "test", "train", "val", "test"]
TRAIN, VAL, TEST = [0, 1, 3, 5], [2, 6], [4, 7]
LABEL = ["no", "yes", "yes", "yes", "no", "no", "no", "yes"]
GROUP = ["b", "a", "d", "a", "c", "b", "a", "b"]
CODES = [0, 1, 1, 1, 0, 0, 0, 1]
"""LABEL as classes: no, yes."""


def parquet(tmp_path, name="t.parquet", **columns):
    """A table of the columns above and these, with a label, a group and a split."""
    whole = {"label": LABEL, "group": GROUP, "split": SPLIT, **columns}
    pq.write_table(pa.table(whole), tmp_path / name)
    return str(tmp_path / name)


def written(tmp_path, text, name="t.csv"):
    (tmp_path / name).write_bytes(text.encode())
    return str(tmp_path / name)


def fitted(path, **options):
    table = Table(path, **{"label": "label", "group": "group", "split": "split", **options})
    table.setup("fit")
    return table


def inputs(table, split):
    """What the network gets of all rows of a split."""
    part = table.part(split)
    return part[list(range(len(part)))]["inputs"]


def at_stage(table, fn):
    table.trainer = SimpleNamespace(state=SimpleNamespace(fn=fn), ckpt_path="a.ckpt")
    return table


def restored(state, path, tmp_path, fn="test", **options):
    """Another table, being evaluated, with the encoding of a checkpoint that went through a file."""
    torch.save(state, tmp_path / "state.ckpt")
    table = at_stage(Table(path, **{"label": "label", "group": "group", "split": "split", **options}), fn)
    table.load_state_dict(torch.load(tmp_path / "state.ckpt", weights_only=True))
    return table


def one_hot(values, known):
    """Blocks as documented: place 0 for a value that training lacks, then the sorted values of training."""
    block = np.zeros((len(values), len(known) + 1), dtype=np.float32)
    for row, value in enumerate(values):
        block[row, known.index(value) + 1 if value in known else 0] = 1
    return block


# Encodings


X = np.array([1.0, 2.0, 30.0, 4.0, 5.0, 6.0, 7.0, -8.0])
"""Mean over the training rows (1, 2, 4, 6) is 3.25, their variance 3.6875."""


def test_numbers_are_standardised_by_the_training_rows_alone(tmp_path):
    table = fitted(parquet(tmp_path, x=X))
    for split, rows in (("train", TRAIN), ("val", VAL), ("test", TEST)):
        got = inputs(table, split)
        assert got.dtype == torch.float32
        np.testing.assert_allclose(got.numpy(), ((X[rows] - 3.25) / math.sqrt(3.6875))[:, None], rtol=1e-6)
    assert (table.sizes.in_features, table.sizes.num_classes, table.sizes.cardinalities) == (1, 2, ())


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 30, 4, 5, 6, 7, -8], pa.int8()),
        pa.array([1, 2, 30, 4, 5, 6, 7, -8], pa.float16()),
        pa.array([1, 2, 30, 4, 5, 6, 7, -8], pa.float32()),
        pa.array([Decimal(v) for v in (1, 2, 30, 4, 5, 6, 7, -8)], pa.decimal128(10, 3)),
        pa.array([1, 2, 30, 4, 5, 6, 7, -8]).dictionary_encode(),
    ],
    ids=lambda values: str(values.type)[:20],
)
def test_every_type_of_number_is_a_number(tmp_path, values):
    got = inputs(fitted(parquet(tmp_path, x=values)), "val")
    np.testing.assert_allclose(got.numpy(), [[26.75 / math.sqrt(3.6875)], [3.75 / math.sqrt(3.6875)]], rtol=1e-6)


C = ["u", "v", "w", "v", "u", "v", "v", "z"]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_is_one_hot_with_a_slot_for_what_training_lacks(tmp_path, kind):
    values = pa.array(C).dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else pa.array(C).cast(kind)
    table = fitted(parquet(tmp_path, c=values))
    assert table.sizes.in_features == 3
    for split, rows in (("train", TRAIN), ("val", VAL), ("test", TEST)):
        np.testing.assert_array_equal(inputs(table, split).numpy(), one_hot([C[row] for row in rows], ["u", "v"]))


def test_columns_of_all_kinds_come_in_order_numbers_first(tmp_path):
    b = [True, False, True, True, False, True, True, False]
    n = [7, 10, 7, 7, 10, 10, 8, 10]
    table = fitted(parquet(tmp_path, c=C, x=X, b=b, n=n), categorical="n")
    rows = np.array(VAL)
    blocks = [
        (X[rows] - 3.25)[:, None] / math.sqrt(3.6875),
        one_hot([C[row] for row in rows], ["u", "v"]),
        one_hot([b[row] for row in rows], [False, True]),
        one_hot([str(n[row]) for row in rows], ["10", "7"]),
    ]
    np.testing.assert_allclose(inputs(table, "val").numpy(), np.concatenate(blocks, axis=1), rtol=1e-6)
    assert table.sizes.in_features == 1 + 3 + 3 + 3


def test_embed_gives_numbers_and_codes_apart(tmp_path):
    table = fitted(parquet(tmp_path, c=C, x=X), encoding="embed")
    got = inputs(table, "test")
    assert got["categorical"].tolist() == [[1], [0]]
    assert got["categorical"].dtype == torch.int64
    np.testing.assert_allclose(got["numeric"].numpy(), (X[TEST] - 3.25)[:, None] / math.sqrt(3.6875), rtol=1e-6)
    assert (table.sizes.in_features, table.sizes.cardinalities) == (1, (3,))


@pytest.mark.parametrize("value", [0.1, 0.0, 1e9 + 0.1, -3.7e-20])
def test_constant_feature_is_0_in_training_and_keeps_its_unit(tmp_path, value):
    # The mean of three tenths is not a tenth.
    values, split = np.full(8, value), ["id_val", *SPLIT[1:]]
    values[2] = value + 2
    table = fitted(parquet(tmp_path, x=values, k=X, split=split, label=["no", *LABEL[1:]]))
    np.testing.assert_allclose(inputs(table, "train")[:, 0].numpy(), np.zeros(3), atol=1e-5)
    np.testing.assert_allclose(inputs(table, "val")[:, 0].numpy(), [2, 0], atol=1e-5)


def test_whole_numbers_beyond_float64_are_features(tmp_path):
    big = [2**60 + 1, 2**60 + 2**20, 2**60, 2**60, 5, 2**60, 2**60, 2**60]
    train = np.array([float(big[row]) for row in TRAIN])
    got = inputs(fitted(parquet(tmp_path, x=big)), "train")
    np.testing.assert_allclose(got[:, 0].numpy(), (train - train.mean()) / train.std(), rtol=1e-5)


def test_text_that_looks_like_numbers_is_text_in_parquet(tmp_path):
    table = fitted(parquet(tmp_path, c=["1", "2", "3", "2", "1", "2", "2", "9"]), encoding="embed")
    assert inputs(table, "test")["categorical"].tolist() == [[1], [0]]


def test_features_and_exclude_choose(tmp_path):
    path = parquet(tmp_path, x=X, y=X[::-1].copy(), c=C)
    assert fitted(path, features="y, x").sizes.in_features == 2
    assert fitted(path, features="x,x").sizes.in_features == 1
    assert fitted(path, features=["c"]).sizes.in_features == 3
    assert fitted(path, exclude="x,c").sizes.in_features == 1
    assert fitted(path).sizes.in_features == 5


def test_a_column_that_is_excluded_may_hold_anything(tmp_path):
    when = [datetime.datetime(2020, 1, 1)] * 8
    table = fitted(parquet(tmp_path, x=X, when=when, tags=[[1]] * 8), exclude="when,tags")
    assert table.sizes.in_features == 1


def test_the_index_that_pandas_writes_is_no_feature(tmp_path):
    assert fitted(parquet(tmp_path, x=X, **{"__index_level_0__": [3, 1, 4, 1, 5, 9, 2, 6]})).sizes.in_features == 1


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
    label = table.part("train")[[0, 1, 2, 3]]["label"]
    assert label.tolist() == [1, 0, 0, 1]
    assert label.dtype == torch.int64


def test_a_class_that_only_training_has_counts(tmp_path):
    table = fitted(parquet(tmp_path, x=X, label=["c", "a", "a", "b", "a", "c", "b", "a"]))
    assert table.sizes.num_classes == 3
    assert table.part("val")[[0, 1]]["label"].tolist() == [0, 1]


# Groups


def groups(table, split):
    part = table.part(split)
    return [part.group_names[number] if number >= 0 else None for number in part.group.tolist()]


def test_training_groups_are_numbered_by_name_and_new_ones_follow(tmp_path):
    table = fitted(parquet(tmp_path, x=X))
    train, val, test = (table.part(split) for split in ("train", "val", "test"))
    assert (train.group_names, train.group.tolist()) == (["a", "b"], [1, 0, 0, 1])
    assert (val.group_names, val.group.tolist()) == (["a", "b", "d"], [2, 0])
    assert (test.group_names, test.group.tolist()) == (["a", "b", "c"], [2, 1])
    assert train.num_seen == val.num_seen == test.num_seen == 2
    assert table.grouped


def test_new_groups_are_numbered_by_name_too(tmp_path):
    names = [*"ab", *"wrqztypx"]
    lines = [f"{i},{'ab'[i % 3 == 0]},{name},{'train' if i < 3 else 'val'}" for i, name in enumerate(["a", *names])]
    part = fitted(written(tmp_path, "x,label,group,split\n" + "\n".join(lines))).part("val")
    assert part.group_names == [*"ab", *"pqrtwxyz"]
    assert part.group.tolist() == [6, 4, 3, 9, 5, 8, 2, 7]


def test_groups_of_a_csv_are_taken_as_written(tmp_path):
    names = ["007", "NA", "None", "7", "e\u0301", "\u00e9", "null", "1.0", "1", "nan"]
    lines = [f"{i},{'ab'[i % 2]},{name},train" for i, name in enumerate(names)]
    lines += [f"{i},{'ab'[i % 2]},{name},val" for i, name in enumerate(names)]
    table = fitted(written(tmp_path, "x,label,group,split\n" + "\n".join(lines)))
    expected = ["007", "NA", "None", "7", "\u00e9", "\u00e9", "null", "1.0", "1", "nan"]
    assert groups(table, "train") == groups(table, "val") == expected
    assert table.part("train").num_groups == 9


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
    assert table.part("train").group.tolist() == [0, 3, 1, 2]


def test_names_with_the_joiner_in_them_stay_apart(tmp_path):
    path = parquet(tmp_path, x=X, g=["a | b", "a"] * 4, h=["c", "b | c"] * 4)
    assert len(set(fitted(path, group="g,h", exclude="group").part("train").group.tolist())) == 2


NAME = st.lists(st.sampled_from(["a", "|", " ", "\\", " | "]), max_size=4).map("".join)


@given(st.lists(st.tuples(NAME, NAME), min_size=2))
def test_joined_names_are_as_distinct_as_their_parts(pairs):
    assert len({join_names(list(pair)) for pair in pairs}) == len(set(pairs))


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from(["x", "y", "", None])] * 3), min_size=1, max_size=12), st.data())
def test_groups_are_the_combinations_of_cells(cells, data):
    columns = [
        Column("t.parquet", "g", pa.chunked_array([pa.array(part, pa.string())])) for part in zip(*cells, strict=True)
    ]
    rows = np.array(data.draw(st.lists(st.integers(0, len(cells) - 1), max_size=12)), dtype=np.int64)
    code, names = code_groups(columns, rows)
    expected = [" | ".join(cells[row]) if all(cells[row]) else None for row in rows]
    assert [names[c] if c >= 0 else None for c in code] == expected
    assert names == sorted({name for name in expected if name is not None})


def test_group_in_eval_allows_blank_groups_in_training_alone(tmp_path):
    group = [None, "a", "d", "", "c", "b", "a", "b"]
    table = fitted(parquet(tmp_path, x=X, group=group), group_in="eval")
    assert table.part("train").group.tolist() == [-1, 0, -1, 1]
    assert groups(table, "test") == ["c", "b"]


def test_group_in_eval_allows_that_no_training_row_has_a_group(tmp_path):
    group = [None if split == "train" else name for split, name in zip(SPLIT, GROUP, strict=True)]
    table = fitted(parquet(tmp_path, x=X, group=group), group_in="eval")
    assert table.part("train").group.tolist() == [-1] * 4
    assert (groups(table, "val"), table.part("val").num_seen) == (["d", "a"], 0)


def test_without_a_group_column_all_rows_are_one(tmp_path):
    table = fitted(parquet(tmp_path, x=X), group=None, exclude="group")
    assert not table.grouped
    assert table.part("train").group.tolist() == [0] * 4
    assert table.part("train").num_groups == 1


# Splits and rows


def test_rows_of_a_split_know_their_place_in_the_file(tmp_path):
    table = fitted(parquet(tmp_path, x=X))
    assert table.splits() == ["train", "val", "test"]
    assert [table.part(split).rows.tolist() for split in table.splits()] == [TRAIN, VAL, TEST]
    assert table.part("val")[[1]]["index"].tolist() == [1]


def test_all_split_names_and_other_spellings(tmp_path):
    split = ["train", "id_val", "dev", "train", "val", "id_test", "ood_test", "test"]
    group = ["b", "a", "d", "a", "c", "b", "e", "b"]
    table = fitted(parquet(tmp_path, x=X, split=split, group=group), split_names={"dev": "ood_val"})
    assert {name: table.part(name).rows.tolist() for name in table.splits()} == {
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
    assert table.part("train").rows.tolist() == [0, 1, 2, 3, 4, 5]
    assert len(table.part("val")) == 2


def test_the_order_of_rows_does_not_matter(tmp_path):
    order = np.random.default_rng(0).permutation(8)
    columns = {"label": LABEL, "group": GROUP, "split": SPLIT, "x": X, "c": C}
    shuffled = {name: [values[row] for row in order] for name, values in columns.items()}
    straight = fitted(parquet(tmp_path, x=X, c=C))
    mixed = fitted(parquet(tmp_path, "mixed.parquet", **shuffled))
    assert mixed.state_dict()["categorical"] == straight.state_dict()["categorical"]
    for split in straight.splits():
        one, other = straight.part(split), mixed.part(split)
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
    assert table.part("val").rows.tolist() == [4]
    assert table.part("train")[[0, 1, 2, 3]]["label"].tolist() == [0, 1, 1, 0]


def test_a_cell_may_have_delimiters_quotes_and_newlines(tmp_path):
    text = 'x,label,group,split\n1,a,"g,1",train\n2,b,"g""2",train\n3,a,"g\n3",train\n4,b,g4,val\n'
    table = fitted(written(tmp_path, text))
    assert groups(table, "train") == ["g,1", 'g"2', "g\n3"]
    assert table.part("val").rows.tolist() == [3]


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


# Missing cells


GAPS = [1.0, None, 30.0, 4.0, math.nan, 7.0, 7.0, None]
"""Training has 1, 4 and 7: mean 4, variance 6."""
HOLES = ["u", "v", "u", "", "v", "v", None, "z"]


def test_indicator_puts_the_mean_and_says_so(tmp_path):
    table = fitted(parquet(tmp_path, x=GAPS, c=HOLES), missing="indicator", encoding="embed")
    train, test = inputs(table, "train"), inputs(table, "test")
    scale = math.sqrt(6)
    np.testing.assert_allclose(train["numeric"].numpy(), [[-3 / scale, 0], [0, 1], [0, 0], [3 / scale, 0]], atol=1e-6)
    assert test["numeric"].tolist() == [[0, 1], [0, 1]]
    # u, v, then missing.
    assert train["categorical"].tolist() == [[1], [2], [3], [2]]
    assert inputs(table, "val")["categorical"].tolist() == [[1], [3]]
    assert test["categorical"].tolist() == [[2], [0]]
    assert (table.sizes.in_features, table.sizes.cardinalities) == (2, (4,))


def test_indicator_has_no_input_where_training_lacks_nothing(tmp_path):
    x, c = [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0, 8.0], ["u", "v", None, "u", "v", "u", "v", "v"]
    table = fitted(parquet(tmp_path, x=x, c=c), missing="indicator")
    assert table.sizes.in_features == 1 + 3
    assert inputs(table, "val")[0].tolist() == [0, 1, 0, 0]


def test_drop_says_how_many_of_which_split_and_column(tmp_path, caplog):
    x, c = [1.0, None, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], ["u", "", "v", "u", "v", "", "v", None]
    with caplog.at_level(logging.INFO):
        table = fitted(parquet(tmp_path, x=x, c=c), missing="drop")
    assert [table.part(split).rows.tolist() for split in table.splits()] == [[0, 3], [2, 6], [4]]
    assert "left out 2 of 4 train rows, which lack a feature (x 1, c 2)" in caplog.text
    assert "left out 1 of 2 test rows, which lack a feature (c 1)" in caplog.text
    assert "val" not in caplog.text
    # By the rows that are left.
    np.testing.assert_allclose(inputs(table, "train")[:, 0].numpy(), [-1, 1], rtol=1e-6)


# What a checkpoint keeps


def test_the_encoding_of_a_checkpoint_is_used_on_a_table_of_test_rows(tmp_path):
    state = fitted(parquet(tmp_path, x=X, c=C)).state_dict()
    new = {"x": [3, 30], "c": ["z", "v"], "label": ["yes", "no"], "group": ["new", "b"], "split": ["test", "test"]}
    pq.write_table(pa.table(new), tmp_path / "new.parquet")
    table = restored(state, str(tmp_path / "new.parquet"), tmp_path)
    expected = [[-0.25 / math.sqrt(3.6875), 1, 0, 0], [26.75 / math.sqrt(3.6875), 0, 0, 1]]
    np.testing.assert_allclose(inputs(table, "test").numpy(), expected, rtol=1e-6)
    part = table.part("test")
    assert (part[[0, 1]]["label"].tolist(), part.group_names, part.group.tolist()) == (
        [1, 0],
        ["a", "b", "new"],
        [2, 1],
    )
    assert table.splits() == ["test"]
    assert (table.sizes.in_features, table.sizes.num_classes, table.label_names) == (4, 2, ["no", "yes"])


def test_a_checkpoint_brings_back_the_same_inputs(tmp_path):
    path = parquet(tmp_path, x=GAPS, c=HOLES, b=[True, False] * 4)
    table = fitted(path, missing="indicator")
    again = restored(table.state_dict(), path, tmp_path, missing="indicator", categorical=None)
    for split in table.splits():
        assert torch.equal(inputs(again, split), inputs(table, split))


def test_a_checkpoint_knows_whether_its_network_embeds(tmp_path):
    path = parquet(tmp_path, x=X, c=C)
    table = restored(fitted(path, encoding="embed").state_dict(), path, tmp_path)
    assert table.sizes.cardinalities == (3,)
    assert set(inputs(table, "test")) == {"numeric", "categorical"}


def test_rows_that_training_would_not_miss_are_not_dropped(tmp_path):
    path = parquet(tmp_path, x=X, c=C)
    state = fitted(path, features="x").state_dict()
    other = parquet(tmp_path, "other.parquet", x=X, c=[None] * 8)
    assert len(restored(state, other, tmp_path, missing="drop").part("val")) == 2


def test_another_checkpoint_after_the_first_counts(tmp_path):
    path = parquet(tmp_path, x=X, c=C)
    other = parquet(tmp_path, "other.parquet", x=[*X[:7], None], c=[None] * 3 + C[3:])
    table = restored(fitted(path, features="x").state_dict(), other, tmp_path, missing="drop")
    assert [table.part(split).rows.tolist() for split in ("val", "test")] == [[2, 6], [4]]
    table.load_state_dict(fitted(path, features="c").state_dict())
    assert [table.part(split).rows.tolist() for split in ("val", "test")] == [[6], [4, 7]]
    assert inputs(table, "test").tolist() == [[0, 1, 0], [1, 0, 0]]


def test_columns_that_are_not_features_need_not_be_there(tmp_path):
    state = fitted(parquet(tmp_path, x=X, c=C), exclude="c").state_dict()
    table = restored(state, parquet(tmp_path, "other.parquet", x=X), tmp_path, exclude="c")
    assert inputs(table, "train").shape == (4, 1)


def test_a_table_of_one_row_is_evaluated(tmp_path):
    state = fitted(parquet(tmp_path, x=X, c=C)).state_dict()
    path = written(tmp_path, "x,c,label,group,split\n,u,yes,q,test\n", "one.csv")
    assert inputs(restored(state, path, tmp_path, missing="indicator"), "test").tolist() == [[0, 0, 1, 0]]


def test_a_column_of_nothing_is_missing_where_training_had_numbers(tmp_path):
    state = fitted(parquet(tmp_path, x=GAPS), missing="indicator").state_dict()
    other = parquet(tmp_path, "other.parquet", x=pa.nulls(8))
    assert inputs(restored(state, other, tmp_path, missing="indicator"), "val").tolist() == [[0, 1], [0, 1]]


def test_predicting_needs_neither_label_nor_group_nor_split(tmp_path):
    state = fitted(parquet(tmp_path, x=X)).state_dict()
    path = written(tmp_path, "x\n1\n5\n", "new.csv")
    table = restored(state, path, tmp_path, fn="predict")
    batch = table.part("test")[[0, 1]]
    assert (table.splits(), batch["label"].tolist(), batch["group"].tolist()) == (["test"], [-1, -1], [-1, -1])


def test_an_empty_line_of_a_single_column_is_a_row(tmp_path):
    state = fitted(parquet(tmp_path, x=GAPS), missing="indicator").state_dict()
    table = restored(state, written(tmp_path, "x\n4\n\n4\n", "new.csv"), tmp_path, fn="predict", missing="indicator")
    assert inputs(table, "test").tolist() == [[0, 0], [0, 1], [0, 0]]


def test_predicting_takes_blank_labels_and_groups(tmp_path):
    state = fitted(parquet(tmp_path, x=X)).state_dict()
    path = written(tmp_path, "x,label,group,split\n1,,b,test\n5,yes,,test\n", "new.csv")
    batch = restored(state, path, tmp_path, fn="predict").part("test")[[0, 1]]
    assert (batch["label"].tolist(), batch["group"].tolist()) == ([-1, 1], [1, -1])


@pytest.mark.parametrize(
    ("trained", "said", "known"),
    [
        (["Yes", "No"] * 4, "yes", "Yes"),
        (["Ann ", "Bob"] * 4, "bob", "Bob"),
        ([1, 2] * 4, "1.0", "1"),
    ],
)
def test_a_category_spelt_almost_as_in_training_is_warned_of(tmp_path, trained, said, known):
    state = fitted(parquet(tmp_path, x=X, c=trained), categorical="c").state_dict()
    path = written(
        tmp_path, f"x,c,label,group,split\n2,q,no,b,test\n1,{said},no,b,test\n1,{said.upper()},no,b,test\n", "new.csv"
    )
    with pytest.warns(UserWarning, match="counts as unseen") as caught:
        restored(state, path, tmp_path).part("test")
    expected = f"new.csv: column 'c', row 1 (the first is 0): '{said}' counts as unseen; training has '{known}'"
    assert [expected in str(warning.message) for warning in caught] == [True]


@pytest.mark.parametrize("words", ["true false", "True False", "TRUE FALSE"])
def test_booleans_are_the_same_in_every_format(tmp_path, words, recwarn):
    yes, no = words.split()
    other = written(tmp_path, f"c,label,group,split\n{yes},no,b,test\n{no},no,b,test\n", "new.csv")
    state = fitted(parquet(tmp_path, c=[True, True, False, False] * 2)).state_dict()
    # Unseen, false, true.
    assert inputs(restored(state, other, tmp_path), "test").tolist() == [[0, 0, 1], [0, 1, 0]]
    lines = [f"{(yes, no)[i // 2 % 2]},{LABEL[i]},{GROUP[i]},{SPLIT[i]}" for i in range(8)]
    text = fitted(written(tmp_path, "\n".join(["c,label,group,split", *lines]), "t.csv"))
    assert text.state_dict()["categorical"] == state["categorical"]
    assert not recwarn.list


@pytest.mark.parametrize(("yes", "no"), [("True", "False"), ("true", "false"), ("TRUE", "FALSE")])
def test_booleans_are_alike_however_a_file_writes_them(tmp_path, recwarn, yes, no):
    dm = fitted(parquet(tmp_path, x=X, c=[True, False] * 4), categorical="c")
    path = written(tmp_path, f"x,c,label,group,split\n1,{yes},no,b,test\n1,{no},no,b,test\n", "new.csv")
    inputs = restored(dm.state_dict(), path, tmp_path).part("test")[[0, 1]]["inputs"]
    assert inputs[:, -3:].tolist() == [[0, 0, 1], [0, 1, 0]]  # the slots of unseen, false, true
    assert not recwarn.list


def test_other_unseen_categories_are_no_news(tmp_path, recwarn):
    fitted(parquet(tmp_path, c=["u", "v", "w", "u", "x", "v", "y", "z"]))
    assert not recwarn.list


def test_text_that_differs_in_every_row_is_warned_of(tmp_path):
    rows = {"x": np.arange(24) / 7, "label": LABEL * 3, "group": GROUP * 3, "split": SPLIT * 3}
    with pytest.warns(UserWarning, match=r"another value in each row or in most.*'c' \(24 values\).*exclude='c'"):
        fitted(parquet(tmp_path, **rows, c=[f"note {i}" for i in range(24)]))


def test_a_resumed_run_goes_on_with_its_own_data_alone(tmp_path):
    state = fitted(parquet(tmp_path, x=X)).state_dict()
    same = at_stage(fitted(parquet(tmp_path, x=X)), "fit")
    same.load_state_dict(state)
    other = at_stage(fitted(parquet(tmp_path, "other.parquet", x=X + 1)), "fit")
    with pytest.raises(InputError, match=r"made with other training data or options than .*other\.parquet"):
        other.load_state_dict(state)


# Features that determine the label


@pytest.mark.parametrize(
    ("value", "label", "leaks"),
    [
        ([1, 1, 2, 2], [0, 0, 1, 1], True),
        ([1, 1, 2, 2], [0, 0, 1, 0], False),
        ([5, 5, 5, 5], [0, 0, 1, 1], False),
        ([1, 2, 3, 4], [0, 0, 1, 1], False),
        ([1, 1, 3, 4], [0, 0, 1, 1], True),
        ([1, 1, 3, 4, 5], [0, 0, 1, 1, 1], False),
        ([1, 1, 2, 2, 5, 6, 7, 8], [0, 0, 1, 1, 1, 0, 1, 0], True),
        ([math.nan, math.nan, 1.0, 1.0], [0, 0, 1, 1], True),
        ([math.nan, math.nan, 1.0, 1.0], [0, 1, 1, 1], False),
        ([-1, -1, 0, 0], [2, 2, 0, 0], True),
    ],
    ids=[
        "each value one label",
        "a value with two",
        "constant",
        "all distinct",
        "half of the rows repeat",
        "less than half",
        "half of eight",
        "missing is a value",
        "missing has two labels",
        "codes with missing",
    ],
)
def test_a_leak_is_a_value_with_one_label_in_half_of_the_rows(value, label, leaks):
    assert determines(np.array(value), np.array(label)) is leaks


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 2)), min_size=1, max_size=15))
def test_the_rule_of_leaks_as_written_in_the_specification(rows):
    value, label = zip(*rows, strict=True)
    labels_of = {v: {y for w, y in rows if w == v} for v in value}
    repeated = sum(value.count(v) >= 2 for v in value)
    expected = all(len(found) == 1 for found in labels_of.values()) and repeated >= len(rows) / 2
    assert determines(np.array(value), np.array(label)) is expected


def test_a_leak_is_looked_for_in_training_alone_and_may_be_allowed(tmp_path):
    leak = ["n", "y", "n", "y", "y", "n", "n", "n"]
    with pytest.raises(InputError, match="column 'c' determines the label 'label'"):
        fitted(parquet(tmp_path, x=X, c=leak))
    assert fitted(parquet(tmp_path, x=X, c=leak), allow_leaks="c").sizes.in_features == 4
    leak[0] = "y"
    assert fitted(parquet(tmp_path, x=X, c=leak)).sizes.in_features == 4


def test_numbers_leak_by_value_not_by_spelling(tmp_path):
    text = "x,label,group,split\n1,no,g,train\n1.0,yes,g,train\n2,no,g,train\n2,no,g,train\n3,no,g,val\n"
    assert fitted(written(tmp_path, text)).sizes.in_features == 1
