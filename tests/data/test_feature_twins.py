"""Values of features that are written in several ways are one where that is asked for, as training decides."""

import logging

import numpy as np
import pyarrow as pa
import pytest

from drurank.data import Table
from drurank.errors import InputError
from drurank.tabular.columns import Column
from small_tables import fitted, inputs, one_hot, parquet, restored

SIZE = ["mini", "Mini", "Mini", "mini", "Mini", "max", " MAX ", "huge"]
"""Of the training rows (0, 1, 3, 5) mini is commoner, of all rows Mini."""
MEANT = ["mini", "mini", "mini", "mini", "mini", "max", "max", "huge"]
OTHER = ["MINI", "mini ", "Max", "max", "mi ni", "ma\u200bx", "max", "Huge"]
OTHER_MEANT = ["mini", "mini", "max", "max", "mi ni", "max", "max", "Huge"]
JOINED = "values that differ only by how they are written are joined"


def joined(path, **options):
    return fitted(path, join_feature_twins="size", **options)


def said_of(caplog):
    return [record.getMessage() for record in caplog.records if JOINED in record.getMessage()]


def test_values_are_one_and_called_as_in_most_training_rows(tmp_path):
    path = parquet(tmp_path, size=SIZE)
    table = joined(path)
    assert table.encoder.categorical[0].values == ["max", "mini"]
    for split, rows in (("train", [0, 1, 3, 5]), ("val", [2, 6]), ("test", [4, 7])):
        assert np.array_equal(inputs(table, split), one_hot([MEANT[row] for row in rows], ["max", "mini"]))
    assert fitted(path).encoder.categorical[0].values == ["Mini", "max", "mini"]
    assert joined(path, encoding="embed").sizes.cardinalities == (3,)


@pytest.mark.parametrize("stage", ["test", "validate", "predict"])
@pytest.mark.parametrize("asked", [{}, {"join_feature_twins": "size"}], ids=["by the checkpoint", "asked again"])
def test_other_data_is_read_as_in_training_and_what_was_joined_is_said(tmp_path, caplog, stage, asked):
    state = joined(parquet(tmp_path, size=SIZE)).state_dict()
    path = parquet(tmp_path, "o.parquet", size=OTHER)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        table = restored(state, path, tmp_path, stage, split=None, **asked)
        found = inputs(table, "new" if stage == "predict" else "test")
    assert np.array_equal(found, one_hot(OTHER_MEANT, ["max", "mini"]))
    (said,) = said_of(caplog)
    assert said == f"{path}: {JOINED}: size 3 cells ('MINI' as 'mini', 'Max' as 'max', 'ma\\u200bx' as 'max')"


def test_a_fit_says_what_it_joins_and_nothing_where_it_joins_nothing(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        joined(parquet(tmp_path, size=SIZE))
        assert said_of(caplog) == [
            f"{tmp_path / 't.parquet'}: {JOINED}: size 4 cells ('Mini' as 'mini', 'MAX' as 'max')"
        ]
        caplog.clear()
        joined(parquet(tmp_path, size=MEANT))
        assert said_of(caplog) == []


def test_a_checkpoint_that_joined_nothing_is_followed_and_that_is_said(tmp_path, recwarn):
    path = parquet(tmp_path, size=SIZE)
    table = restored(fitted(path).state_dict(), path, tmp_path, join_feature_twins="size")
    (said,) = [str(warning.message) for warning in recwarn if "has no effect" in str(warning.message)]
    assert said.startswith("join_feature_twins='size' has no effect: values are read as in training")
    assert np.array_equal(inputs(table, "test"), one_hot(["Mini", "huge"], ["Mini", "max", "mini"]))


def test_a_resume_takes_checkpoints_of_older_versions_and_refuses_others(tmp_path):
    path = parquet(tmp_path, size=SIZE)
    plain, one = fitted(path), joined(path)
    old = plain.state_dict()
    for feature in old["categorical"]:
        del feature["is_joined"]
    assert plain.encoder.agrees(old)
    assert one.encoder.agrees(one.state_dict())
    assert not one.encoder.agrees(old)
    assert not joined(parquet(tmp_path, size=MEANT)).encoder.agrees(fitted(path).state_dict())
    assert restored(old, path, tmp_path).encoder.joined == {}


def test_codes_of_numbers_are_joined_where_they_are_categories(tmp_path):
    path = parquet(tmp_path, zip=["07", "7", "8", "07", "7", "8", "8", "9"])
    assert fitted(path, join_feature_twins="zip").encoder.categorical[0].values == ["07", "8"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"join_feature_twins": "x"},
            "join_feature_twins names the column 'x', which is one of numbers.*categorical='x'",
        ),
        ({"join_feature_twins": "label"}, "join_feature_twins names the column 'label', which is the label"),
        ({"join_feature_twins": "sizes"}, "has no column 'sizes'; did you mean 'size'"),
        ({"join_feature_twins": "size", "features": "x"}, "which is not among the features"),
    ],
)
def test_columns_that_have_no_categories_are_refused(tmp_path, options, said):
    table = Table(parquet(tmp_path, size=SIZE, x=[1.0] * 8), "label", "group", "split", **options)
    with pytest.raises(InputError, match=said):
        table.setup("fit")


def test_cells_stay_as_they_are_written_in_messages():
    cells = pa.chunked_array([[" Mini", "mini", None, "MINI", "Mini", "max"]])
    column = Column("t.csv", "size", cells, meant={"Mini": "mini", "MINI": "mini"})
    assert column.texts == ["mini", "max"]
    assert column.codes.tolist() == [0, 0, -1, 0, 0, 1]
    assert column.ways == 4
    assert column.reread(np.arange(6)) == {("Mini", "mini"): 2, ("MINI", "mini"): 1}
    assert column.reread(np.array([1, 2, 5])) == {}
    assert column.said(0) == "column 'size', row 0 (the first is 0): ' Mini'"
    assert column.plain("MINI ") == "mini"
