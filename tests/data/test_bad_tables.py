"""Each bad cell, column or option ends in one sentence that names the place, the value, and what to write instead."""

import datetime
import math
from decimal import Decimal
from types import SimpleNamespace

import pytest

from bad_tables import HEADER, ROLES, ROWS, fit, said, write_csv, write_parquet
from drurank.data import Table
from drurank.errors import InputError
from drurank.tabular.rules import find

BLANK = "(the first is 0) is blank; cells missing by column"


def test_the_tables_that_the_others_spoil_are_good(tmp_path):
    assert (
        fit(write_csv(tmp_path)).splits() == fit(write_parquet(tmp_path)).splits() == ["train", "ood_val", "ood_test"]
    )


# Cells: what is written where, options, and what must be said beside the file.
CELLS = {
    "blank label": ({(1, "y"): ""}, {}, ["column 'y', row 1 ", "a blank cell is not a label", "give each row one"]),
    "blank label in validation": ({(5, "y"): " "}, {}, ["column 'y', row 5 ", "a blank cell is not a label"]),
    "label that training lacks": (
        {(4, "y"): "maybe"},
        {},
        ["column 'y', row 4 ", "'maybe' is a label that training lacks", "known: no, yes", "write one of these"],
    ),
    "label spelt otherwise in the test": ({(7, "y"): "No"}, {}, ["column 'y', row 7 ", "'No'", "did you mean 'no'?"]),
    "fraction as label": (
        {(row, "y"): text for row, text in enumerate(["0", "1", "0.5", "1", "0", "1", "0", "1"])},
        {},
        ["column 'y', row 2 ", "'0.5' is not a whole number", "give whole numbers or else names"],
    ),
    "NA among labels that are numbers": (
        {(row, "y"): text for row, text in enumerate(["0", "1", "0", "NA", "0", "1", "0", "1"])},
        {},
        ["column 'y', row 3 ", "'NA' is not a whole number"],
    ),
    "one class": (
        {(1, "y"): "no", (2, "y"): "no"},
        {},
        ["column 'y' has one label, 'no', in training", "give rows of two or more"],
    ),
    "blank group": ({(2, "g"): ""}, {}, ["column 'g', row 2 ", "a blank cell is not a group", "give each row one"]),
    "blank group in the test": (
        {(6, "g"): "\t"},
        {"group_in": "eval"},
        ["column 'g', row 6 ", "a blank cell is not a group", "give each row one"],
    ),
    "blank part of a group": ({(4, "c"): ""}, {"group": "g,c"}, ["column 'c', row 4 ", "a blank cell is not a group"]),
    "blank split": (
        {(3, "s"): ""},
        {},
        ["column 's', row 3 ", "a blank cell is not a split", "give one of train, id_val"],
    ),
    "unknown split": (
        {(5, "s"): "dev"},
        {},
        [
            "column 's', row 5 ",
            "'dev' is not a split",
            "known: train, ",
            "'dev' (1 row)",
            "split_names={'dev': 'train'}",
        ],
    ),
    "misspelt split": (
        {(0, "s"): "Train"},
        {},
        ["column 's', row 0 ", "'Train' is not a split", "did you mean 'train'?"],
    ),
    "missing number": (
        {(2, "x"): "", (3, "x"): "n/a"},
        {},
        [
            "column 'x', row 2 ",
            BLANK,
            "x 2 (25.0%)",
            "missing='indicator'",
            "exclude='x'",
        ],
    ),
    "missing number in validation": ({(5, "x"): "NA"}, {}, ["column 'x', row 5 ", "'NA' is missing", "x 1 (12.5%)"]),
    "missing category in the test": (
        {(7, "c"): ""},
        {},
        [
            "column 'c', row 7 ",
            BLANK,
            "missing='indicator'",
            "missing='drop'",
        ],
    ),
    "word among numbers": (
        {(1, "x"): "2O"},
        {},
        ["column 'x', row 1 ", "'2O' is not a finite number, as most cells", "write a number", "categorical='x'"],
    ),
    "word among numbers in the test": (
        {(6, "x"): "many"},
        {},
        ["column 'x', row 6 ", "'many' is not a number between -1e+30 and 1e+30", "write one"],
    ),
    "infinite number": (
        {(3, "x"): "-inf"},
        {},
        ["column 'x', row 3 ", "'-inf' is not a finite number", "write a number"],
    ),
    "infinite number in validation": ({(4, "x"): "Infinity"}, {}, ["column 'x', row 4 ", "'Infinity' is not a number"]),
    "number too large": ({(7, "x"): "1e31"}, {}, ["column 'x', row 7 ", "'1e31' is not a number between", "write one"]),
    "number too far from training": (
        {(0, "x"): "1e-9", (1, "x"): "2e-9", (2, "x"): "3e-9", (3, "x"): "4e-9", (5, "x"): "1e29"},
        {},
        ["column 'x', row 5 ", "'1e29' is too far from training's mean 2.5e-09", "write a number nearer to it"],
    ),
    "nothing in training": (
        {(row, "x"): "" for row in range(4)},
        {"missing": "indicator"},
        ["column 'x' has no value in any training row", "exclude='x'"],
    ),
    "each row to be dropped": (
        {(row, "x"): "" for row in range(4)} | {(0, "c"): ""},
        {"missing": "drop"},
        ["each of the 4 train rows lacks a feature (x 4, c 1)", "exclude", "missing='indicator'"],
    ),
    "feature that is the label": (
        {(row, "c"): {"no": "0", "yes": "1"}[cells[2]] for row, cells in enumerate(ROWS)},
        {},
        ["column 'c' determines the label 'y'", "exclude='c'", "allow_leaks='c'"],
    ),
    "no training rows": (
        {(row, "s"): "ood_val" for row in range(4)},
        {},
        ["column 's' has no rows in split train", "found ood_val, ood_test"],
    ),
    "no training rows of which to drop some": (
        {(row, "s"): "ood_val" for row in range(4)},
        {"missing": "drop"},
        ["column 's' has no rows in split train", "assign some rows to it"],
    ),
    "no validation rows": (
        {(4, "s"): "train", (5, "s"): "train"},
        {},
        ["column 's' has no rows in split ood_val or val or id_val", "found train, ood_test"],
    ),
    "group on both sides": (
        {(5, "g"): "g2"},
        {},
        [
            "column 's', row 5 (the first is 0): 'ood_val' is for groups that training lacks",
            "1 of 2 groups of ood_val (1 row) is in train too ('g2')",
            "split_names={'ood_val': 'val'}",
        ],
    ),
    "group on both sides by another name of the split": (
        {(6, "g"): "g1", (7, "g"): "g1", (6, "s"): "eval", (7, "s"): "eval"},
        {"split_names": {"eval": "ood_test"}},
        ["column 's', row 6 ", "'eval' is for groups that training lacks", "(2 rows)", "split_names={'eval': 'test'}"],
    ),
    "crossed group on both sides": (
        {(4, "g"): "g1"},
        {"group": "g,c"},
        ["column 's', row 4 ", "1 of 2 groups of ood_val (1 row) is in train too ('g1 | a')", "on one side"],
    ),
    "group that is the label": (
        {},
        {"group": "y"},
        ["the group, column 'y', says in every row what the label 'y' says", "group='y,<another>'"],
    ),
    "group that is the label in other words": (
        {(row, "g"): {"no": "0", "yes": "1"}[cells[2]] for row, cells in enumerate(ROWS)}
        | {(row, "s"): "val" for row in range(4, 8)},
        {},
        ["the group, column 'g', says in every row what the label 'y' says", "name another"],
    ),
    "cells too few": (
        {(3, "s"): None},
        {},
        ["row 3 (the first is 0) has 4 cells and the header 5", "'4,b,no,g2'", "in quotes"],
    ),
    "cells too many": (
        {(6, "c"): "a,b"},
        {},
        ["row 6 (the first is 0) has 6 cells and the header 5", "'1,a,b,yes,g4,ood_test'", "in quotes"],
    ),
    "open quote": ({(2, "c"): '"a'}, {}, ["row 2 (the first is 0) cannot be read", "close each quote"]),
    "two open quotes": ({(2, "c"): '"a', (4, "c"): '"a'}, {}, ["row 2 (the first is 0) cannot be read", "close each"]),
    "open quote in the last cell": ({(7, "s"): '"ood_test'}, {}, ["row 7 (the first is 0) cannot be read", "close"]),
}


UNREAD = {"cells too few", "cells too many", "open quote", "two open quotes", "open quote in the last cell"}
UNREAD |= {"number too far from training", "each row to be dropped"}
"""Not even a look can read these tables; the last two are about what a fit makes of the rows, not the rows."""


@pytest.mark.parametrize(("cells", "options", "parts"), CELLS.values(), ids=CELLS)
def test_cell(tmp_path, cells, options, parts):
    message = said(write_csv(tmp_path, cells), **options)
    for part in ["bad.csv", *parts]:
        assert part in message


@pytest.mark.parametrize("case", [case for case in CELLS if case not in UNREAD])
def test_inspect_lists_what_a_fit_says(tmp_path, case):
    cells, options, _ = CELLS[case]
    path = write_csv(tmp_path, cells)
    message = said(path, **options)
    findings = find(Table(str(path), **{**ROLES, **options}).raw_rows())
    told = [found for found in findings if message.endswith(found.sentence)]
    assert [found.severity for found in told] == ["error"]
    assert message.startswith(f"{path}: ")


def test_a_finding_says_where_it_is(tmp_path):
    path = write_csv(tmp_path, {(5, "s"): "dev"})
    (found,) = [f for f in find(Table(str(path), **ROLES).raw_rows()) if f.code == "split_spelling"]
    assert (found.file, found.column, found.row, found.value) == (str(path), "s", 5, "dev")


# Options that do not fit the good table: file options, and what must be said.
OPTIONS = {
    "no such label": ({"label": "why"}, ["no column 'why'", "known: x, c, y, g, s"]),
    "near label": ({"label": "Y"}, ["no column 'Y'", "did you mean 'y'?"]),
    "no such group": ({"group": "g,h"}, ["no column 'h'", "known: x, c, y, g, s"]),
    "no such split": ({"split": "split"}, ["no column 'split'", "known: x, c, y, g, s"]),
    "no such feature": ({"features": "x,z"}, ["no column 'z'", "known: x, c, y, g, s"]),
    "no such column to exclude": ({"exclude": "z"}, ["no column 'z'"]),
    "no such categorical": ({"categorical": "z"}, ["no column 'z'"]),
    "no such leak": ({"allow_leaks": "z"}, ["no column 'z'"]),
    "label as feature": ({"features": "x,y"}, ["features names the column 'y', which is the label", "leave it out"]),
    "group as feature": ({"features": "x,g"}, ["features names the column 'g', which is the group", "leave it out"]),
    "split as feature": ({"features": "s"}, ["features names the column 's', which is the split", "leave it out"]),
    "group as category": ({"categorical": "g"}, ["categorical names the column 'g', which is the group"]),
    "excluded and categorical": (
        {"categorical": "x", "exclude": "x"},
        ["categorical names the column 'x', which is not among the features", "leave it out"],
    ),
    "no leak of a column not chosen": (
        {"allow_leaks": "c", "features": "x"},
        ["allow_leaks names the column 'c', which is not among the features"],
    ),
    "nothing left to learn from": ({"exclude": "x,c"}, ["no features left beside label, group and split", "fewer"]),
    "no split named": (
        {"split": None},
        ["which rows to train on", "name the column that does as split=", "known: x, c, y, g, s"],
    ),
}


@pytest.mark.parametrize(("options", "parts"), OPTIONS.values(), ids=OPTIONS)
def test_option(tmp_path, options, parts):
    message = said(write_csv(tmp_path), **options)
    for part in ["bad.csv", *parts]:
        assert part in message


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"missing": "mean"}, ["missing", "'mean'", "give one of 'error', 'indicator', 'drop'"]),
        ({"encoding": "one-hot"}, ["encoding", "'one-hot'", "give one of 'onehot', 'embed'"]),
        ({"group_in": "train"}, ["group_in", "'train'", "give one of 'all', 'eval'"]),
        ({"split_names": {"dev": "valid"}}, ["split_names", "'dev' stands for 'valid'", "did you mean 'val'?"]),
        ({"features": "x", "exclude": "c"}, ["features is 'x' and exclude 'c'", "give one"]),
        ({"split": "g"}, ["split is 'g', and so is the label or the group", "three different columns"]),
        ({"split": "y"}, ["split is 'y', and so is the label or the group"]),
        ({"delimiter": ""}, ["delimiter is ''", "give one character"]),
        ({"delimiter": ";;"}, ["delimiter is ';;'", "give one character"]),
        ({"delimiter": "x"}, ["delimiter is 'x'", "e.g. ',', ';', '|'"]),
        ({"delimiter": '"'}, ["delimiter is '\"'", "give one character"]),
        ({"text_encoding": "utf-9"}, ["text_encoding is 'utf-9'", "cp1252"]),
        ({"text_encoding": "rot13"}, ["text_encoding is 'rot13'", "give one of Python's"]),
        ({"batch_size": 0}, ["batch_size is 0", "1 or more"]),
    ],
)
def test_option_that_no_file_is_needed_for(options, parts):
    with pytest.raises(InputError) as error:
        Table("there is none.csv", **{**ROLES, **options})
    for part in parts:
        assert part in str(error.value)


# Columns of Parquet: what they hold, options, and what must be said beside the file.
NONE = [None] * 8
DAY = datetime.date(2020, 2, 29)
COLUMNS = {
    "list of groups": (
        {"g": [["a"], ["b", "c"]] * 4},
        {},
        ["column 'g' holds list", "write one number, boolean or text"],
    ),
    "bytes": ({"z": [b"a"] * 8}, {}, ["column 'z' holds binary", "exclude='z'"]),
    "date": ({"z": [DAY] * 8}, {}, ["column 'z' holds date32[day]", "exclude='z'"]),
    "structs as label": ({"y": [{"a": 1}] * 8}, {}, ["column 'y' holds struct", "in each row"]),
    "infinite number": (
        {"x": [1.0, 2.0, math.inf, 3.0] * 2},
        {},
        ["column 'x', row 2 ", "inf is not a number between", "write one, or leave the row out"],
    ),
    "nan": (
        {"x": [1.0, math.nan, 2.0, 3.0] * 2},
        {},
        ["column 'x', row 1 ", "nan is missing", "x 2 (25.0%)"],
    ),
    "null": (
        {"x": [1, 2, 3, 4, 5, None, 7, 8]},
        {},
        ["column 'x', row 5 ", BLANK, "x 1 (12.5%)"],
    ),
    "boolean gap": (
        {"z": [True, False, None, True] * 2},
        {},
        ["column 'z', row 2 ", BLANK, "z 2 (25.0%)"],
    ),
    "column of nothing": (
        {"z": NONE},
        {"missing": "indicator"},
        ["column 'z' has no value in any", "exclude='z'"],
    ),
    "labels of nothing": ({"y": NONE}, {}, ["column 'y' has no label in training", "two or more"]),
    "label gap": ({"y": [1, 0, 0, 1, 0, None, 1, 0]}, {}, ["column 'y', row 5 ", "a blank cell is not a label"]),
    "fractions as labels": ({"y": [0.5, 1.0, 1.5, 2.0] * 2}, {}, ["column 'y', row 0 ", "0.5 is not a whole number"]),
    "decimals as labels": (
        {"y": [Decimal("0.50"), Decimal("1.00")] * 4},
        {},
        ["column 'y', row 0 ", ": 0.50 is not a whole number"],
    ),
    "group gap in numbers": (
        {"g": [1, 2, 1, 2, 3, 3, None, 4]},
        {},
        ["column 'g', row 6 ", "a blank cell is not a group"],
    ),
    "split of numbers": (
        {"s": [0, 1] * 4},
        {},
        ["column 's', row 0 ", "0 is not a split", "split_names={'0': 'train'}"],
    ),
    "column without a name": ({"": [1] * 8}, {}, ["column 5 (the first is 0) has no name", "name it"]),
}


@pytest.mark.parametrize(("columns", "options", "parts"), COLUMNS.values(), ids=COLUMNS)
def test_column(tmp_path, columns, options, parts):
    message = said(write_parquet(tmp_path, **columns), **options)
    for part in ["bad.parquet", *parts]:
        assert part in message


# Evaluation with what a checkpoint holds.


def evaluated(tmp_path, cells=(), header=HEADER, rows=ROWS, fn="test", **options):
    """What is said when a table is tested with the encoding of the good one."""
    state = fit(write_csv(tmp_path, name="good.csv")).state_dict()
    table = Table(str(write_csv(tmp_path, cells, header, rows)), **{**ROLES, **options})
    table.trainer = SimpleNamespace(state=SimpleNamespace(fn=fn))
    table.load_state_dict(state)
    with pytest.raises(InputError) as error:
        table.dataset("ood_test")
    return str(error.value)


def test_tested_table_lacks_a_feature(tmp_path):
    rows = [row[1:] for row in ROWS]
    assert "bad.csv has no column 'x'; known: c, y, g, s" in evaluated(tmp_path, header=HEADER[1:], rows=rows)


def test_tested_table_has_words_where_training_had_numbers(tmp_path):
    cells = {(row, "x"): "low" for row in range(8)}
    message = evaluated(tmp_path, cells)
    assert "bad.csv: column 'x', row 6 (the first is 0): 'low' is not a number between" in message


def test_all_cells_that_are_no_numbers_are_counted_and_the_first_few_named(tmp_path):
    cells = {(row, "x"): f"low{row}" for row in range(6)}
    rows = [row[:-1] for row in ROWS]
    state = fit(write_csv(tmp_path, name="good.csv")).state_dict()
    table = Table(str(write_csv(tmp_path, cells, HEADER[:-1], rows)), **{**ROLES, "split": None})
    table.trainer = SimpleNamespace(state=SimpleNamespace(fn="predict"))
    table.load_state_dict(state)
    assert table.splits() == ["new"]
    with pytest.raises(InputError) as error:
        table.dataset("new")
    assert "row 0 (the first is 0): 'low0' is not a number between -1e+30 and 1e+30 (nor are row 1 'low1', " in str(
        error.value
    )
    assert "row 3 'low3' and 2 more); write one" in str(error.value)


def test_who_tests_a_table_without_labels_is_told_to_predict(tmp_path):
    rows = [[cell for name, cell in zip(HEADER, row, strict=True) if name != "y"] for row in ROWS]
    said = evaluated(tmp_path, header=[name for name in HEADER if name != "y"], rows=rows)
    assert "bad.csv has no column 'y' of the label, without which nothing can be scored; " in said
    assert said.endswith("for rows without labels run `predict`")


def test_tested_table_has_another_label(tmp_path):
    message = evaluated(tmp_path, {(7, "y"): "unknown"})
    assert "bad.csv: column 'y', row 7 (the first is 0): 'unknown' is a label that training lacks" in message


def test_tested_table_has_blank_cells(tmp_path):
    assert "column 'x', row 6 (the first is 0) is blank; cells missing" in evaluated(tmp_path, {(6, "x"): ""})
    assert "column 'y', row 6 (the first is 0): a blank cell is not a label" in evaluated(tmp_path, {(6, "y"): ""})
    assert "column 'g', row 6 (the first is 0): a blank cell is not a group" in evaluated(tmp_path, {(6, "g"): ""})


def test_predicted_label_that_is_there_must_be_one(tmp_path):
    message = evaluated(tmp_path, {(7, "y"): "unknown"}, fn="predict")
    assert "bad.csv: column 'y', row 7 (the first is 0): 'unknown' is a label that training lacks" in message


def test_booleans_where_training_had_numbers(tmp_path):
    state = fit(write_csv(tmp_path, name="good.csv")).state_dict()
    table = Table(str(write_parquet(tmp_path, x=[True, False] * 4)), **ROLES)
    table.load_state_dict(state)
    with pytest.raises(
        InputError, match=r"bad\.parquet: column 'x' held numbers in training and holds bool here; write"
    ):
        table.dataset("ood_test")


@pytest.mark.parametrize("fn", ["validate", "test", "predict"])
def test_nothing_is_evaluated_without_the_encoding_of_training(tmp_path, fn):
    table = Table(str(write_csv(tmp_path)), **ROLES)
    table.trainer = SimpleNamespace(state=SimpleNamespace(fn=fn))
    with pytest.raises(InputError, match=r"bad\.csv: no encoding of a table came with the model; give a checkpoint"):
        table.splits()


def test_tested_table_has_groups_of_training_where_it_must_not(tmp_path):
    message = evaluated(tmp_path, {(6, "g"): "g2"})
    assert "bad.csv: column 's', row 6 (the first is 0): 'ood_test' is for groups that training lacks" in message
