"""Other data than a fit's has categories that training lacks: how many rows is said."""

import logging

import pytest

from drurank.data import Table
from small_tables import fitted, parquet, restored

SEEN = {"color": ["red", "blue", "red", "red", "blue", "blue", "red", "blue"], "size": ["s"] * 8, "x": [1.0] * 8}
OTHER = {"color": ["red", "mauve", "red", "red", "red", "teal", "red", "mauve"], "size": [*["s"] * 7, "xl"]}


def said_of(caplog):
    return [
        record.getMessage() for record in caplog.records if "category that training did not have" in record.getMessage()
    ]


@pytest.mark.parametrize("stage", ["test", "validate", "predict"])
def test_rows_with_an_unseen_category_are_counted(tmp_path, caplog, stage):
    state = fitted(parquet(tmp_path, **SEEN)).state_dict()
    path = parquet(tmp_path, "o.parquet", **{**SEEN, **OTHER})
    with caplog.at_level(logging.INFO):
        table = restored(state, path, tmp_path, stage, split=None)
        table.dataset("new" if stage == "predict" else "test")
    (said,) = said_of(caplog)
    assert said.startswith(f"{path}: 3 of 8 rows have a category that training did not have")
    assert said.endswith("color 3 ('mauve', 'teal'); size 1 ('xl')")


@pytest.mark.parametrize("has", [False, True])
def test_missing_cells_of_other_data_are_counted_once(tmp_path, caplog, has):
    """As filled in where training had such cells, or in numbers; else as a category that it did not have."""
    color = [None, *SEEN["color"][1:]] if has else SEEN["color"]
    state = fitted(parquet(tmp_path, **{**SEEN, "color": color}), missing="indicator").state_dict()
    other = {**SEEN, "color": [None, None, *SEEN["color"][2:]], "x": [None, *SEEN["x"][:5], None, 1.0]}
    with caplog.at_level(logging.INFO):
        path = parquet(tmp_path, "o.parquet", **other)
        restored(state, path, tmp_path, "predict", missing="indicator", split=None).dataset("new")
    (found,) = [record.getMessage() for record in caplog.records if "lack a feature" in record.getMessage()]
    rows, columns = (3, "x 2, color 2") if has else (2, "x 2")
    assert found == f"{path}: {rows} of 8 rows lack a feature, which is filled in as in training, by column: {columns}"
    assert [said.rpartition(": ")[2] for said in said_of(caplog)] == ([] if has else ["color 2 (blank)"])


def test_of_many_values_the_commonest_are_named(tmp_path, caplog):
    state = fitted(parquet(tmp_path, **SEEN)).state_dict()
    other = {**SEEN, "color": ["a", "b", "c", "d", "e", "e", "red", "red"]}
    with caplog.at_level(logging.INFO):
        restored(state, parquet(tmp_path, "o.parquet", **other), tmp_path, "predict", split=None).dataset("new")
    assert said_of(caplog)[0].endswith("color 6 ('e', 'a', 'b' and 2 more values)")


@pytest.mark.parametrize(("stage", "part"), [("test", "test"), ("predict", "new")])
@pytest.mark.parametrize(
    ("groups", "rows", "said"),
    [
        (["B", "a", "c", "b", "B ", "e", "É", "b"], 4, ["'B' = 'b'"]),
        (["x", "X", "c", "x", "007", "7", "a", "a"], 5, ["'007' = '7'", "'X' = 'x'"]),
        (["a", "b", "c", "d", "e", "007", "a", "b"], 0, []),
    ],
    ids=["of training", "among themselves", "none"],
)
def test_groups_that_are_written_otherwise_are_warned_of(tmp_path, recwarn, groups, rows, said, stage, part):
    state = fitted(parquet(tmp_path, group=[*"abababab"], **SEEN)).state_dict()
    path = parquet(tmp_path, "o.parquet", group=groups, **SEEN)
    restored(state, path, tmp_path, stage, split=None).dataset(part)
    found = [str(warning.message) for warning in recwarn if "names differ only by" in str(warning.message)]
    assert len(found) == bool(said)
    for message in found:
        assert message.startswith(f"{path}: {rows} of 8 rows are of groups whose names differ only by case")
        assert f": {', '.join(said)}; each counts apart" in message
        assert message.endswith("fit with join_twins=True")
    recwarn.clear()
    restored(state, path, tmp_path, stage, split=None, join_twins=True).dataset(part)
    restored(state, path, tmp_path, "validate", split=None).dataset("test")
    assert not [warning for warning in recwarn if "names differ only by" in str(warning.message)]


def test_nothing_is_said_of_known_categories_or_in_a_fit(tmp_path, caplog):
    path = parquet(tmp_path, **SEEN)
    with caplog.at_level(logging.INFO):
        state = fitted(path).state_dict()
        restored(state, path, tmp_path, "predict").dataset("test")
        table = Table(parquet(tmp_path, "o.parquet", **{**SEEN, **OTHER}), "label", "group", "split")
        table.setup("fit")
    assert not said_of(caplog)


@pytest.mark.parametrize(
    ("groups", "said"), [(["a", None, "b", " ", "a", "a", "b", "b"], "2 of 8 rows have"), (None, "")]
)
def test_rows_to_predict_without_a_group_are_counted(tmp_path, caplog, groups, said):
    state = fitted(parquet(tmp_path, **SEEN)).state_dict()
    path = parquet(tmp_path, "o.parquet", **(SEEN if groups is None else {**SEEN, "group": groups}))
    with caplog.at_level(logging.INFO):
        restored(state, path, tmp_path, "predict", split=None).dataset("new")
    found = [record.getMessage() for record in caplog.records if "no group" in record.getMessage()]
    blank = f"{path}: {said} no group, where group is blank; predicted all the same, and in no group of a report"
    assert found == ([blank] if said else [])
