"""Other data than a fit's has numbers that lie outside of what training had: how many rows is said."""

import datetime
import logging

import numpy as np
import pytest

from small_tables import SPLIT, X, at_stage, fitted, inputs, parquet, restored

CONSTANT = [3] * 8
DAYS = [datetime.date(2021, 1, day) for day in range(1, 9)]
"""Training has rows 0, 1, 3 and 5: X from 1 to 6, and 2021-01-01 to 2021-01-06."""
LIE = "lie outside of what training had, by column: "
CHECK = "; check that they are written as in training, and in its unit"


def said_of(caplog, recwarn):
    """The sentences, and whether each is a warning."""
    logged = [(record.getMessage(), False) for record in caplog.records]
    warned = [(str(warning.message), True) for warning in recwarn]
    return [(said, is_warning) for said, is_warning in [*logged, *warned] if LIE in said]


def other(tmp_path, caplog, state, stage, missing="indicator", dates=None, **columns):
    with caplog.at_level(logging.INFO):
        path = parquet(tmp_path, "o.parquet", **columns)
        table = restored(state, path, tmp_path, stage, split=None, missing=missing, dates=dates)
        table.dataset("new" if stage == "predict" else "test")
    return path


@pytest.mark.parametrize("stage", ["test", "validate", "predict"])
@pytest.mark.parametrize(
    ("numbers", "rows", "column", "is_warning"),
    [
        ([1, 6, 3, 2, 5, 4, 1, 2], 0, "", False),
        ([1, 6, 3, 2, 5, 4, 1, 6.5], 1, "x 1 (6.5; training 1 to 6)", False),
        ([0.5, 6, 3, 2, 5, 4, 7, 6.5], 3, "x 3 (0.5 to 7; training 1 to 6)", False),
        ([7, 8, 9, 10, 5, 4, 3, 2], 4, "x 4 (7 to 10; training 1 to 6)", False),
        ([7, 8, 9, 10, 11, 4, 3, 2], 5, "x 5 (7 to 11; training 1 to 6)", True),
        ([-9, -8, None, None, None, None, None, 2], 2, "x 2 (-9 to -8; training 1 to 6)", True),
        ([9999] * 8, 8, "x 8 (9999; training 1 to 6)", True),
        ([np.float32(1) - np.float32(1e-7), 6.0000001, *[2] * 6], 0, "", False),
        ([None] * 7 + [2], 0, "", False),
    ],
    ids=["within", "one", "both ends", "half", "more", "of those that have it", "one value", "rounding", "missing"],
)
def test_rows_outside_are_counted(tmp_path, caplog, recwarn, stage, numbers, rows, column, is_warning):
    state = fitted(parquet(tmp_path, x=X)).state_dict()
    path = other(tmp_path, caplog, state, stage, x=[None if one is None else float(one) for one in numbers])
    expected = f"{path}: {rows} of 8 rows {LIE}{column}{CHECK if is_warning else ''}"
    assert said_of(caplog, recwarn) == ([(expected, is_warning)] if rows else [])


def test_columns_are_in_one_line_and_the_one_of_most_rows_first(tmp_path, caplog, recwarn):
    state = fitted(parquet(tmp_path, k=CONSTANT, x=X, d=DAYS), dates="d").state_dict()
    days = [datetime.date(2020, 12, 31), *DAYS[1:6], DAYS[1], datetime.date(2022, 3, 4)]
    columns = {"k": [3] * 7 + [4], "x": [1.0] * 5 + [7, 7, 7], "d": days}
    path = other(tmp_path, caplog, state, "predict", dates="d", **columns)
    of_days = "d 2 (2020-12-31 to 2022-03-04; training 2021-01-01 to 2021-01-06)"
    said = f"x 3 (7; training 1 to 6), {of_days}, k 1 (4; training 3)"
    assert said_of(caplog, recwarn) == [(f"{path}: 4 of 8 rows {LIE}{said}", False)]


def test_of_many_columns_ten_are_named(tmp_path, caplog, recwarn):
    state = fitted(parquet(tmp_path, **{f"x{place}": X for place in range(12)})).state_dict()
    other(tmp_path, caplog, state, "predict", **{f"x{place}": [99.0] * 8 for place in range(12)})
    ((said, is_warning),) = said_of(caplog, recwarn)
    assert is_warning
    assert said.count("(99; training 1 to 6)") == 10
    assert said.endswith(f" and 2 more{CHECK}")


def test_decimal_commas_that_are_read_as_thousands_the_wrong_way_are_warned_of(tmp_path, caplog, recwarn):
    state = fitted(parquet(tmp_path, fees=[11805.0, 2997, 368, 55850, 1, 16476, 2, 3])).state_dict()
    other(tmp_path, caplog, state, "predict", fees=[16.476, 6.728, 11.8, 30.2, 12, 13, 14, 15])
    ((said, is_warning),) = said_of(caplog, recwarn)
    assert is_warning
    assert f"8 of 8 rows {LIE}fees 8 (6.728 to 30.2; training 2997 to 55850)" in said


def test_a_checkpoint_of_an_older_version_says_nothing_and_goes_on(tmp_path, caplog, recwarn):
    percents = [f"{number:g}%" for number in X]
    path = parquet(tmp_path, x=X, p=percents, d=DAYS)
    options = {"percents": "p", "dates": "d"}
    now = fitted(path, **options).state_dict()
    assert [feature["written"] for feature in now["numeric"]] == ["plain", "percent", "date"]
    older = {**now, "numeric": [{**feature, "written": "plain"} for feature in now["numeric"]]}
    for feature in older["numeric"]:
        del feature["minimum"], feature["maximum"]
    again = at_stage(fitted(path, **options), "fit")
    again.load_state_dict(older)  # to resume
    other(tmp_path, caplog, older, "predict", x=[99.0] * 8, p=[0.5] * 8, d=[400] * 8)
    assert said_of(caplog, recwarn) == []
    table = restored(older, path, tmp_path, **options)
    kept = table.encoder
    table.load_state_dict(older)
    assert table.encoder is kept
    assert table.state_dict() == older


@pytest.mark.parametrize("entry", ["minimum", "maximum"])
def test_a_resumed_run_has_the_same_ends(tmp_path, entry):
    table = at_stage(fitted(parquet(tmp_path, x=X)), "fit")
    state = table.state_dict()
    assert (state["numeric"][0]["minimum"], state["numeric"][0]["maximum"]) == (1, 6)
    state["numeric"][0][entry] += 0.5
    with pytest.raises(ValueError, match="other training data or options"):
        table.load_state_dict(state)


def test_a_fit_says_nothing_of_it(tmp_path, caplog, recwarn):
    with caplog.at_level(logging.INFO):
        table = fitted(parquet(tmp_path, x=X, split=SPLIT))
        inputs(table, "val")
    assert said_of(caplog, recwarn) == []
