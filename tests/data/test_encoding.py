"""How columns become inputs, and what a checkpoint keeps of that."""

import datetime
import logging
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from drurank.data import Table
from drurank.errors import InputError
from small_tables import (
    GROUP,
    LABEL,
    SPLIT,
    TEST,
    TRAIN,
    VAL,
    C,
    X,
    at_stage,
    fitted,
    inputs,
    one_hot,
    parquet,
    restored,
    written,
)


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
    assert [table.dataset(split).rows.tolist() for split in table.splits()] == [[0, 3], [2, 6], [4]]
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
    part = table.dataset("test")
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
    assert len(restored(state, other, tmp_path, missing="drop").dataset("val")) == 2


def test_another_checkpoint_after_the_first_counts(tmp_path):
    path = parquet(tmp_path, x=X, c=C)
    other = parquet(tmp_path, "other.parquet", x=[*X[:7], None], c=[None] * 3 + C[3:])
    table = restored(fitted(path, features="x").state_dict(), other, tmp_path, missing="drop")
    assert [table.dataset(split).rows.tolist() for split in ("val", "test")] == [[2, 6], [4]]
    table.load_state_dict(fitted(path, features="c").state_dict())
    assert [table.dataset(split).rows.tolist() for split in ("val", "test")] == [[6], [4, 7]]
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
    batch = table.dataset("new")[[0, 1]]
    assert (table.splits(), batch["label"].tolist(), batch["group"].tolist()) == (["new"], [-1, -1], [-1, -1])


def test_an_empty_line_of_a_single_column_is_a_row(tmp_path):
    state = fitted(parquet(tmp_path, x=GAPS), missing="indicator").state_dict()
    table = restored(state, written(tmp_path, "x\n4\n\n4\n", "new.csv"), tmp_path, fn="predict", missing="indicator")
    assert inputs(table, "new").tolist() == [[0, 0], [0, 1], [0, 0]]


def test_predicting_takes_blank_labels_and_groups(tmp_path):
    state = fitted(parquet(tmp_path, x=X)).state_dict()
    path = written(tmp_path, "x,label,group,split\n1,,b,test\n5,yes,,test\n", "new.csv")
    batch = restored(state, path, tmp_path, fn="predict").dataset("test")[[0, 1]]
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
    with pytest.warns(UserWarning, match="have a category that training did not have") as caught:
        restored(state, path, tmp_path).dataset("test")
    (warning,) = caught
    other = f", '{said.upper()}', in training '{known}'" if said != said.upper() else ""
    assert f"by column: c 3 ('{said}', in training '{known}'{other}, 'q'); write" in str(warning.message)
    assert str(warning.message).startswith(f"{path}, test: 3 of 3 rows have a category")
    assert str(warning.message).endswith("write them as training has them, or fit with join_feature_twins='c'")


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
    inputs = restored(dm.state_dict(), path, tmp_path).dataset("test")[[0, 1]]["inputs"]
    assert inputs[:, -3:].tolist() == [[0, 0, 1], [0, 1, 0]]  # the slots of unseen, false, true
    assert not recwarn.list


def test_other_unseen_categories_are_no_news(tmp_path, recwarn):
    fitted(parquet(tmp_path, c=["u", "v", "w", "u", "x", "v", "y", "z"]))
    assert not recwarn.list


def test_text_that_differs_in_every_row_is_warned_of(tmp_path):
    rows = {"x": np.arange(24) / 7, "label": LABEL * 3, "group": GROUP * 3, "split": SPLIT * 3}
    with pytest.warns(UserWarning, match=r"differs in \(almost\) every row.*'c' \(24 values\).*exclude='c'"):
        fitted(parquet(tmp_path, **rows, c=[f"note {i}" for i in range(24)]))


def test_a_resumed_run_goes_on_with_its_own_data_alone(tmp_path):
    state = fitted(parquet(tmp_path, x=X)).state_dict()
    same = at_stage(fitted(parquet(tmp_path, x=X)), "fit")
    same.load_state_dict(state)
    other = at_stage(fitted(parquet(tmp_path, "other.parquet", x=X + 1)), "fit")
    with pytest.raises(InputError, match=r"made with other training data or options than .*other\.parquet"):
        other.load_state_dict(state)


DATES = ["1/2/1970", "13/1/1970", "3/2/1970", "2/1/1970", "5/2/1970", "4/1/1970", "7/2/1970", "8/2/1970"]
"""Day first; those of training are 31, 12, 1 and 3 days after 1970-01-01."""


@pytest.mark.parametrize("fn", ["test", "predict", "validate"])
def test_dates_of_other_rows_are_read_in_the_order_of_training(tmp_path, fn):
    state = fitted(parquet(tmp_path, d=DATES), dates="d").state_dict()
    assert state["numeric"][0]["written"] == "%d/%m/%Y"
    # Of these alone nothing says the order, or all of them but one would say another one.
    other = parquet(tmp_path, "other.parquet", d=["4/1/1970"] * 8)
    train = np.array([31.0, 12, 1, 3])
    got = inputs(restored(state, other, tmp_path, fn, dates="d"), "val")
    np.testing.assert_allclose(got.numpy(), [[(3 - train.mean()) / train.std()]] * 2, rtol=1e-6)
    month_first = parquet(tmp_path, "month.parquet", d=["1/2/1970"] * 7 + ["1/13/1970"])
    with pytest.raises(InputError, match=r"row 7 .*'1/13/1970' is not a date of training's form, day first"):
        inputs(restored(state, month_first, tmp_path, fn, dates="d"), "val")
    asked = restored(state, month_first, tmp_path, fn, dates="d", date_format="%m/%d/%Y")
    np.testing.assert_allclose(inputs(asked, "val")[0, 0], (1 - train.mean()) / train.std(), rtol=1e-6)


def test_a_table_that_was_read_before_its_checkpoint_is_read_again(tmp_path):
    state = fitted(parquet(tmp_path, d=DATES), dates="d").state_dict()
    month_first = parquet(tmp_path, "other.parquet", d=["1/2/1970"] * 7 + ["1/13/1970"])
    table = at_stage(Table(month_first, "label", "group", "split", dates="d"), "test")
    assert table.raw_rows().features[0].column.numbers.tolist() == [1] * 7 + [12]
    table.load_state_dict(state)
    with pytest.raises(InputError, match="not a date of training's form"):
        table.dataset("val")


def test_a_checkpoint_of_an_older_version_does_not_say_how_dates_are_written(tmp_path):
    path = parquet(tmp_path, d=DATES)
    state = fitted(path, dates="d").state_dict()
    del state["numeric"][0]["written"]
    month_first = parquet(tmp_path, "other.parquet", d=["1/2/1970"] * 7 + ["1/13/1970"])
    got = inputs(restored(state, month_first, tmp_path, dates="d"), "val")
    np.testing.assert_allclose(got[0, 0], (1 - 11.75) / np.std([31, 12, 1, 3]), rtol=1e-6)
    again = at_stage(Table(path, "label", "group", "split", dates="d"), "fit")
    again.setup("fit")
    again.load_state_dict(state)  # to resume


def test_marks_of_other_rows_are_those_of_training(tmp_path):
    marked = ["1.234", "2.000", "30", "4.000", "5", "6.000", "7", "8"]
    plain = ["1.5", "2.25", "30", "4.5", "5", "6.5", "7", "8"]
    state = fitted(csv_of(tmp_path, marked, plain), thousands=".").state_dict()
    assert [feature["written"] for feature in state["numeric"]] == ["marked", "plain"]
    other = csv_of(tmp_path, ["1.000"] * 8, ["1.125"] * 8)
    got = restored(state, other, tmp_path, thousands=".")
    columns = {feature.name: feature.column.numbers for feature in got.raw_rows().features}
    assert columns["m"].tolist() == [1000] * 8
    assert columns["p"].tolist() == [1.125] * 8
    with pytest.raises(InputError, match=r"'1.5' is not a number with thousands='.', as those of training are"):
        restored(state, csv_of(tmp_path, ["1.5"] * 8, plain), tmp_path, thousands=".").raw_rows()


def csv_of(tmp_path, m, p):
    lines = [",".join(cells) for cells in zip(LABEL, GROUP, SPLIT, m, p, strict=True)]
    return written(tmp_path, "\n".join(["label,group,split,m,p", *lines]))


def test_cells_that_are_kept_are_as_they_stand_in_the_file(tmp_path):
    table = fitted(parquet(tmp_path, d=DATES), dates="d", relabel={"no": "yes", "yes": "no"})
    kept = table.source_columns(["d", "label"], np.array([1, 2]))
    assert kept.to_pydict() == {"d": DATES[1:3], "label": LABEL[1:3]}
