"""Each bad table ends in one sentence that names the file, the place, the value, and what to write instead."""

import datetime
import gzip
import math
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import datasets
import pyarrow as pa
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
import pytest

from drurank.data import Table
from drurank.errors import InputError

HEADER = ["x", "c", "y", "g", "s"]
ROWS = [
    ["1", "a", "no", "g1", "train"],
    ["2", "b", "yes", "g1", "train"],
    ["3", "a", "yes", "g2", "train"],
    ["4", "b", "no", "g2", "train"],
    ["2", "a", "yes", "g3", "ood_val"],
    ["3", "b", "no", "g3", "ood_val"],
    ["1", "a", "yes", "g4", "ood_test"],
    ["4", "b", "no", "g4", "ood_test"],
]
ROLES = {"label": "y", "group": "g", "split": "s"}


def fit(path, **options):
    table = Table(str(path), **{**ROLES, **options})
    table.setup("fit")
    return table


def said(path, **options):
    """What a fit of this table says."""
    with pytest.raises(InputError) as error:
        fit(path, **options)
    message = str(error.value)
    assert "\n" not in message
    return message


def write_csv(tmp_path, cells=(), header=HEADER, rows=ROWS, name="bad.csv"):
    """The good table, with some cells (row, column) written anew."""
    rows = [list(row) for row in rows]
    for (row, column), value in dict(cells).items():
        rows[row][HEADER.index(column)] = value
    text = "\n".join(",".join(cell for cell in row if cell is not None) for row in [header, *rows]) + "\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def write_parquet(tmp_path, **columns):
    """The good table, typed, with some columns anew."""
    table = dict(zip(HEADER, map(list, zip(*ROWS, strict=True)), strict=True))
    pq.write_table(pa.table({**table, "x": [float(x) for x in table["x"]], **columns}), tmp_path / "bad.parquet")
    return tmp_path / "bad.parquet"


def test_the_tables_that_the_others_spoil_are_good(tmp_path):
    assert (
        fit(write_csv(tmp_path)).splits() == fit(write_parquet(tmp_path)).splits() == ["train", "ood_val", "ood_test"]
    )


# Cells: what is written where, options, and what must be said beside the file.
CELLS = {
    "blank label": ({(1, "y"): ""}, {}, ["column 'y', row 1 ", "a blank cell is no label", "give each row one"]),
    "blank label in validation": ({(5, "y"): " "}, {}, ["column 'y', row 5 ", "a blank cell is no label"]),
    "label that training lacks": (
        {(4, "y"): "maybe"},
        {},
        ["column 'y', row 4 ", "'maybe' is a label that training lacks", "known: no, yes", "fix it"],
    ),
    "label spelt otherwise in the test": ({(7, "y"): "No"}, {}, ["column 'y', row 7 ", "'No'", "did you mean 'no'?"]),
    "fraction as label": (
        {(row, "y"): text for row, text in enumerate(["0", "1", "0.5", "1", "0", "1", "0", "1"])},
        {},
        ["column 'y', row 2 ", "'0.5' is no whole number", "give whole numbers or else names"],
    ),
    "NA among labels that are numbers": (
        {(row, "y"): text for row, text in enumerate(["0", "1", "0", "NA", "0", "1", "0", "1"])},
        {},
        ["column 'y', row 3 ", "'NA' is no whole number"],
    ),
    "one class": (
        {(1, "y"): "no", (2, "y"): "no"},
        {},
        ["column 'y' has one label, 'no', in training", "give rows of two or more"],
    ),
    "blank group": ({(2, "g"): ""}, {}, ["column 'g', row 2 ", "a blank cell is no group", "give each row one"]),
    "blank group in the test": (
        {(6, "g"): "\t"},
        {"group_in": "eval"},
        ["column 'g', row 6 ", "a blank cell is no group", "give each row one"],
    ),
    "blank part of a group": ({(4, "c"): ""}, {"group": "g,c"}, ["column 'c', row 4 ", "a blank cell is no group"]),
    "blank split": (
        {(3, "s"): ""},
        {},
        ["column 's', row 3 ", "a blank cell is no split", "give one of train, id_val"],
    ),
    "unknown split": (
        {(5, "s"): "dev"},
        {},
        ["column 's', row 5 ", "'dev' is no split", "known: train, ", "'dev' (1 row)", "split_names={'dev': 'train'}"],
    ),
    "misspelt split": ({(0, "s"): "Train"}, {}, ["column 's', row 0 ", "'Train' is no split", "did you mean 'train'?"]),
    "missing number": (
        {(2, "x"): "", (3, "x"): "n/a"},
        {},
        ["column 'x', row 2 ", "a blank cell is missing", "x 2 (25.0%)", "missing='indicator'", "exclude='x'"],
    ),
    "missing number in validation": ({(5, "x"): "NA"}, {}, ["column 'x', row 5 ", "'NA' is missing", "x 1 (12.5%)"]),
    "missing category in the test": (
        {(7, "c"): ""},
        {},
        ["column 'c', row 7 ", "a blank cell is missing", "missing='indicator'", "missing='drop'"],
    ),
    "word among numbers": (
        {(1, "x"): "2O"},
        {},
        ["column 'x', row 1 ", "'2O' is no finite number, as most cells", "write a number", "categorical='x'"],
    ),
    "word among numbers in the test": (
        {(6, "x"): "many"},
        {},
        ["column 'x', row 6 ", "'many' is no number between -1e+30 and 1e+30", "write one"],
    ),
    "infinite number": ({(3, "x"): "-inf"}, {}, ["column 'x', row 3 ", "'-inf' is no finite number", "write a number"]),
    "infinite number in validation": ({(4, "x"): "Infinity"}, {}, ["column 'x', row 4 ", "'Infinity' is no number"]),
    "number too large": ({(7, "x"): "1e31"}, {}, ["column 'x', row 7 ", "'1e31' is no number between", "write one"]),
    "number too far from training": (
        {(0, "x"): "1e-9", (1, "x"): "2e-9", (2, "x"): "3e-9", (3, "x"): "4e-9", (5, "x"): "1e29"},
        {},
        ["column 'x', row 5 ", "'1e29' is too far from training's mean 2.5e-09", "fix it"],
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
        ["column 's' of ", "has no rows in split train", "found ood_val, ood_test"],
    ),
    "no training rows of which to drop some": (
        {(row, "s"): "ood_val" for row in range(4)},
        {"missing": "drop"},
        ["column 's' of ", "has no rows in split train", "give some rows to it"],
    ),
    "no validation rows": (
        {(4, "s"): "train", (5, "s"): "train"},
        {},
        ["column 's' of ", "has no rows in split ood_val or val or id_val", "found train, ood_test"],
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


@pytest.mark.parametrize(("cells", "options", "parts"), CELLS.values(), ids=CELLS)
def test_cell(tmp_path, cells, options, parts):
    message = said(write_csv(tmp_path, cells), **options)
    for part in ["bad.csv", *parts]:
        assert part in message


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
        ["column 'x', row 2 ", "inf is no number between", "write one, or leave the row out"],
    ),
    "nan": (
        {"x": [1.0, math.nan, 2.0, 3.0] * 2},
        {},
        ["column 'x', row 1 ", "nan is missing", "x 2 (25.0%)"],
    ),
    "null": ({"x": [1, 2, 3, 4, 5, None, 7, 8]}, {}, ["column 'x', row 5 ", "a blank cell is missing", "x 1 (12.5%)"]),
    "boolean gap": (
        {"z": [True, False, None, True] * 2},
        {},
        ["column 'z', row 2 ", "a blank cell is missing", "z 2 (25.0%)"],
    ),
    "column of nothing": (
        {"z": NONE},
        {"missing": "indicator"},
        ["column 'z' has no value in any", "exclude='z'"],
    ),
    "labels of nothing": ({"y": NONE}, {}, ["column 'y' has no label in training", "two or more"]),
    "label gap": ({"y": [1, 0, 0, 1, 0, None, 1, 0]}, {}, ["column 'y', row 5 ", "a blank cell is no label"]),
    "fractions as labels": ({"y": [0.5, 1.0, 1.5, 2.0] * 2}, {}, ["column 'y', row 0 ", "0.5 is no whole number"]),
    "decimals as labels": (
        {"y": [Decimal("0.50"), Decimal("1.00")] * 4},
        {},
        ["column 'y', row 0 ", ": 0.50 is no whole number"],
    ),
    "group gap in numbers": (
        {"g": [1, 2, 1, 2, 3, 3, None, 4]},
        {},
        ["column 'g', row 6 ", "a blank cell is no group"],
    ),
    "split of numbers": (
        {"s": [0, 1] * 4},
        {},
        ["column 's', row 0 ", "0 is no split", "split_names={'0': 'train'}"],
    ),
    "column without a name": ({"": [1] * 8}, {}, ["column 5 (the first is 0) has no name", "name it"]),
}


@pytest.mark.parametrize(("columns", "options", "parts"), COLUMNS.values(), ids=COLUMNS)
def test_column(tmp_path, columns, options, parts):
    message = said(write_parquet(tmp_path, **columns), **options)
    for part in ["bad.parquet", *parts]:
        assert part in message


# Files: name, bytes, and what must be said.
GOOD = "x,y,g,s\n1,a,g,train\n"
FILES = {
    "empty": ("bad.csv", b"", ["is empty", "a header and at least one row"]),
    "empty lines": ("bad.csv", b"\n\r\n\n", ["is empty", "at least one row"]),
    "header only": ("bad.csv", b"x,y,g,s\n", ["has no rows", "at least one"]),
    "header without an end": ("bad.tsv", b"x\ty\tg\ts", ["has no rows", "at least one"]),
    "column twice": ("bad.csv", b"x,y,x\n1,a,2\n", ["has the column 'x' twice", "rename one"]),
    "column without a name": (
        "bad.csv",
        b",x,y,g,s\nq,1,a,g,train\n",
        ["column 0 (the first is 0) has no name", "index"],
    ),
    "Latin-1 cell": (
        "bad.csv",
        b"x,y,g,s\n1,a,g,train\n1,a,Zo\xeb,train\n",
        ["column 'g', row 1 ", r"b'Zo\xeb' is not UTF-8", "save the file as UTF-8"],
    ),
    "Latin-1 in a cell too many": (
        "bad.csv",
        b"x,y,g,s\n\n1,a,g,train\n1,a,g,train,\xe9\n",
        ["column 4, row 1 ", r"b'\xe9' is not UTF-8", "save the file as UTF-8"],
    ),
    "Latin-1 in one column": ("bad.csv", b"x\n\n\xe9\n", ["column 'x', row 1 ", r"b'\xe9' is not UTF-8"]),
    "Latin-1 and semicolons": (
        "bad.csv",
        b"x;y;g;s\n1;a;g;train\n1;a;Zo\xeb;train\n",
        ["column 'g', row 1 ", r"b'Zo\xeb' is not UTF-8", "--data.text_encoding cp1252"],
    ),
    "Latin-1 header": ("bad.csv", b"x,y,gr\xf6\xdfe,s\n", ["the header: ", r"b'gr\xf6\xdfe' is not UTF-8", "save"]),
    "UTF-16 without a mark": (
        "bad.csv",
        GOOD.encode("utf-16-le"),
        ["is no text, for it has bytes of 0", "--data.text_encoding utf-16-le"],
    ),
    "UTF-16 cut short": ("bad.csv", GOOD.encode("utf-16")[:-1], ["is not UTF-16 (truncated data)", "save the file"]),
    "workbook by the name of a CSV": (
        "bad.csv",
        b"PK\3\4\0\0",
        ["is no text, for it has bytes of 0", "give a text file"],
    ),
    "gzip by the name of a CSV": ("bad.csv", gzip.compress(GOOD.encode()), ["compressed by gzip", "end in .gz"]),
    "plain by the name of gzip": ("bad.csv.gz", GOOD.encode(), ["cannot be read as csv", "Not a gzipped file", "mend"]),
    "gzip cut short": (
        "bad.csv.gz",
        gzip.compress(GOOD.encode())[:-9],
        ["cannot be read as csv", "ended before", "mend"],
    ),
    "Latin-1 in gzip": (
        "bad.tsv.gz",
        gzip.compress(b"x\ty\tg\ts\n1\ta\t\xfc\ttrain\n"),
        ["column 'g', row 0 ", r"b'\xfc' is not UTF-8", "--data.text_encoding cp1252"],
    ),
    "open quote in the header": ("bad.csv", b'x,y,"g,s\n1,a,g,train\n', ["the header ", "cannot be read", "close"]),
    "other delimiter, a cell too many": (
        "bad.csv",
        b"x;y;g;s\n1;a;g;train\n1;b;g;h;train\n",
        ["row 1 (the first is 0) has 5 cells and the header 4", "put a cell that has a ';' in it in quotes"],
    ),
    "two delimiters": (
        "bad.csv",
        b"x;y|z\n1;a|b\n2;c|d\n",
        ["cut at ',' its header is one column", "--data.delimiter ';', or --data.delimiter '|'"],
    ),
    "commas in numbers": (
        "bad.csv",
        b"x;y;g;s\n1,5;a;g;train\n2,25;b;h;train\n-0,5;a;k;val\n",
        ["column 'x', row 0 ", "'1,5' looks like a number with a comma", "write a point", "categorical='x'"],
    ),
    "commas between thousands": (
        "bad.tsv",
        b"x\ty\tg\ts\n1,500\ta\tg\ttrain\n2,250,000.5\tb\th\ttrain\n3\ta\tk\tval\n",
        ["column 'x', row 0 ", "'1,500' looks like a number with a comma", "nothing between thousands"],
    ),
    "no Parquet": ("bad.parquet", GOOD.encode(), ["cannot be read as parquet", "mend the file"]),
    "empty Parquet": ("bad.parquet", b"", ["cannot be read as parquet", "mend the file"]),
    "Excel": (
        "bad.xlsx",
        b"PK",
        ["is no table that can be read", "ends in .csv, .tsv, .jsonl, .ndjson, .json, .parquet"],
    ),
    "no Arrow": ("bad.arrow", b"ARROW2 and then some", ["cannot be read as arrow", "mend the file"]),
    "Arrow cut short": ("bad.feather", b"ARROW1\0\0", ["cannot be read as feather", "mend the file"]),
    "empty JSON lines": ("bad.jsonl", b"\n\n", ["is empty", 'one line with an object, as {"x": 1}']),
    "JSON line cut short": (
        "bad.jsonl",
        b'{"x": 1, "y": "a"}\n\n{"x": 2, "y": "b"\n',
        ["line 3 (the first is 1) is no JSON", "write one whole object a line"],
    ),
    "JSON array": (
        "bad.jsonl",
        b'[{"x": 1},\n {"x": 2}]\n',
        ["is one JSON array", "one object a line, without brackets", "end in .json"],
    ),
    "JSON array in a line": (
        "bad.jsonl",
        b'[{"x": 1}, {"x": 2}]',
        ["line 1 (the first is 1) is an array", "one object"],
    ),
    "JSON rows without names": (
        "bad.ndjson",
        b'{"x": 1}\n[1, 2]\n',
        ["line 2 (the first is 1) is an array", "with names"],
    ),
    "JSON line of a number": (
        "bad.ndjson",
        b'{"x": 1}\n7\n',
        ["line 2 (the first is 1) is '7'", "write one object a line"],
    ),
    "JSON over several lines": (
        "bad.json",
        b'{\n"x": 1\n}',
        ["line 1 (the first is 1) is no JSON", "whole object a line"],
    ),
    "JSON key twice": ("bad.jsonl", b'{"x": 1, "y": 2, "x": 3}', ["line 1 (the first is 1) has 'x' twice", "object"]),
    "JSON of two kinds": (
        "bad.jsonl",
        b'{"x": null}\n{"x": 1.5}\n{"x": "two"}\n',
        ["column 'x', row 2 (the first is 0)", '"two" is text, and the cells before are each a number', "one kind"],
    ),
    "JSON truth among numbers": (
        "bad.jsonl",
        b'{"x": 1}\n{"x": true}',
        ["column 'x', row 1 ", "true is a truth value"],
    ),
    "JSON list among texts": (
        "bad.jsonl",
        b'{"g": "a"}\n{"g": ["a", "b"]}',
        ["column 'g', row 1 ", '["a", "b"] is a list'],
    ),
    "JSON number too large": (
        "bad.jsonl",
        b'{"x": 1}\n{"x": 1%s}' % (b"0" * 30),
        ["column 'x' cannot be kept", "as plain text"],
    ),
    "JSON half a character": ("bad.jsonl", b'{"x": "\\ud83d"}', ["column 'x', row 0", "half of a letter"]),
    "JSON in Latin-1": ("bad.jsonl", b'{"x": 1}\n{"x": "\xe9"}', ["line 2 (the first is 1)", r"\xe9", "is not UTF-8"]),
    "JSON without names": ("bad.jsonl", b'{"": 1, "y": 2}', ["column 0 (the first is 0) has no name", "name it"]),
    "JSON list of groups": (
        "bad.jsonl",
        b'{"x": 1, "y": "a", "g": ["h", "k"], "s": "train"}\n{"x": 2, "y": "b", "g": ["h"], "s": "val"}\n',
        ["column 'g' holds list", "write one number, boolean or text in each row"],
    ),
    "no ending": ("bad", GOOD.encode(), ["is no table that can be read", "ends in .csv"]),
}


@pytest.mark.parametrize(("name", "content", "parts"), FILES.values(), ids=FILES)
def test_file(tmp_path, name, content, parts):
    (tmp_path / name).write_bytes(content)
    message = said(tmp_path / name)
    for part in [name, *parts]:
        assert part in message


# Text files whose delimiter or encoding is asked for: name, bytes, options, and what must be said.
UMLAUT = "x,y,g,s\n1,a,Z\u00fcrich,train\n"
ASKED = {
    "wrong delimiter": (
        "bad.csv",
        GOOD.encode(),
        {"delimiter": ";"},
        ["cut at ';' its header is one column, and cut at ',' it is more", "write --data.delimiter ','"],
    ),
    "wrong tab": ("bad.csv", GOOD.encode(), {"delimiter": "\\t"}, ["cut at '\\t' its header is one column", "write"]),
    "delimiter that cuts unevenly": (
        "bad.csv",
        b"x y,z\n1 2,3\n1,2 3 4\n",
        {"delimiter": " "},
        ["row 1 ", "has 3 cells"],
    ),
    "Latin-1 as ASCII": (
        "bad.csv",
        UMLAUT.encode("latin-1"),
        {"text_encoding": "ascii"},
        ["column 'g', row 0 ", r"b'Z\xfcrich' is not ascii", "save the file as UTF-8"],
    ),
    "UTF-8 as Latin-1": (
        "bad.csv",
        UMLAUT.encode(),
        {"text_encoding": "latin-1"},
        ["is UTF-8, and text_encoding says iso8859-1", "leave --data.text_encoding out"],
    ),
    "UTF-16 as UTF-8": (
        "bad.csv",
        UMLAUT.encode("utf-16"),
        {"text_encoding": "utf-8"},
        ["is UTF-16, and text_encoding says utf-8", "leave --data.text_encoding out"],
    ),
    "Latin-1 as Japanese": (
        "bad.csv",
        UMLAUT.encode("latin-1"),
        {"text_encoding": "shift_jis"},
        ["column 'g', row 0 ", r"b'Z\xfcrich' is not shift_jis"],
    ),
    "UTF-8 as UTF-7": ("bad.csv", UMLAUT.encode(), {"text_encoding": "utf-7"}, ["is not UTF-7", "save the file"]),
    "UTF-8 as UTF-16": (
        "bad.csv",
        (UMLAUT * 2).encode(),
        {"text_encoding": "utf-16"},
        ["is not UTF-16", "save the file as UTF-8"],
    ),
    "delimiter of JSON lines": (
        "bad.jsonl",
        b'{"x": 1}',
        {"delimiter": ","},
        ["no use for delimiter ','", "leave it out"],
    ),
    "encoding of Parquet": (
        "bad.parquet",
        b"",
        {"text_encoding": "utf-8"},
        ["no use for text_encoding 'utf-8'", "leave"],
    ),
}


@pytest.mark.parametrize(("name", "content", "options", "parts"), ASKED.values(), ids=ASKED)
def test_file_that_is_not_as_it_is_said_to_be(tmp_path, name, content, options, parts):
    (tmp_path / name).write_bytes(content)
    message = said(tmp_path / name, **options)
    for part in [name, *parts]:
        assert part in message


def test_file_that_is_not_there_names_the_nearest(tmp_path):
    write_csv(tmp_path, name="hospital.csv")
    assert f"there is no file {tmp_path}/hopsital.csv; did you mean '{tmp_path}/hospital.csv'?" in said(
        tmp_path / "hopsital.csv"
    )
    assert "there is no file /no/such/folder/t.csv" in said("/no/such/folder/t.csv")


def test_folder_is_no_table(tmp_path):
    (tmp_path / "parts.parquet").mkdir()
    message = said(tmp_path / "parts.parquet")
    assert "parts.parquet is a folder; give one file" in message
    assert "or a folder that `datasets` saved" in message


def test_file_without_permission(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = write_csv(tmp_path)
    monkeypatch.setattr(Path, "open", refuse)
    message = said(path)
    assert "bad.csv cannot be read as csv: [Errno 13] Permission denied; mend the file or its permissions" in message


def test_text_that_is_no_utf8_in_parquet(tmp_path):
    offsets = pa.py_buffer(b"".join(i.to_bytes(4, "little") for i in range(9)))
    broken = pa.Array.from_buffers(pa.string(), 8, [None, offsets, pa.py_buffer(b"abc\xe9abcd")])
    message = said(write_parquet(tmp_path, c=broken))
    assert "bad.parquet cannot be read as parquet" in message
    assert "Invalid UTF8 sequence at string index 3" in message


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_typed_table_of_no_rows(tmp_path, suffix):
    write = {"parquet": pq.write_table, "arrow": pa_feather.write_feather}[suffix]
    write(pa.table({name: pa.array([], pa.string()) for name in HEADER}), str(tmp_path / f"bad.{suffix}"))
    assert f"bad.{suffix} has no rows; give a table with at least one" in said(tmp_path / f"bad.{suffix}")


def test_column_twice_in_parquet(tmp_path):
    table = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    pq.write_table(table, tmp_path / "bad.parquet")
    assert "bad.parquet has the column 'x' twice; rename one of them" in said(tmp_path / "bad.parquet")


# Evaluation with what a checkpoint holds.


def evaluated(tmp_path, cells=(), header=HEADER, rows=ROWS, fn="test", **options):
    """What is said when a table is tested with the encoding of the good one."""
    state = fit(write_csv(tmp_path, name="good.csv")).state_dict()
    table = Table(str(write_csv(tmp_path, cells, header, rows)), **{**ROLES, **options})
    table.trainer = SimpleNamespace(state=SimpleNamespace(fn=fn))
    table.load_state_dict(state)
    with pytest.raises(InputError) as error:
        table.part("ood_test")
    return str(error.value)


def test_tested_table_lacks_a_feature(tmp_path):
    rows = [row[1:] for row in ROWS]
    assert "bad.csv has no column 'x'; known: c, y, g, s" in evaluated(tmp_path, header=HEADER[1:], rows=rows)


def test_tested_table_has_words_where_training_had_numbers(tmp_path):
    cells = {(row, "x"): "low" for row in range(8)}
    message = evaluated(tmp_path, cells)
    assert "bad.csv: column 'x', row 6 (the first is 0): 'low' is no number between" in message


def test_tested_table_has_another_label(tmp_path):
    message = evaluated(tmp_path, {(7, "y"): "unknown"})
    assert "bad.csv: column 'y', row 7 (the first is 0): 'unknown' is a label that training lacks" in message


def test_tested_table_has_blank_cells(tmp_path):
    assert "column 'x', row 6 (the first is 0): a blank cell is missing" in evaluated(tmp_path, {(6, "x"): ""})
    assert "column 'y', row 6 (the first is 0): a blank cell is no label" in evaluated(tmp_path, {(6, "y"): ""})
    assert "column 'g', row 6 (the first is 0): a blank cell is no group" in evaluated(tmp_path, {(6, "g"): ""})


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
        table.part("ood_test")


@pytest.mark.parametrize("fn", ["validate", "test", "predict"])
def test_nothing_is_evaluated_without_the_encoding_of_training(tmp_path, fn):
    table = Table(str(write_csv(tmp_path)), **ROLES)
    table.trainer = SimpleNamespace(state=SimpleNamespace(fn=fn))
    with pytest.raises(InputError, match=r"bad\.csv: no encoding of a table came with the model; give a checkpoint"):
        table.splits()


def test_tested_table_has_groups_of_training_where_it_must_not(tmp_path):
    message = evaluated(tmp_path, {(6, "g"): "g2"})
    assert "bad.csv: column 's', row 6 (the first is 0): 'ood_test' is for groups that training lacks" in message


# Folders that `datasets` saved, spoilt.


@pytest.fixture
def folder(tmp_path):
    columns = dict(zip(HEADER, map(list, zip(*ROWS, strict=True)), strict=True))
    part = datasets.Dataset.from_dict({name: cells for name, cells in columns.items() if name != "s"})
    datasets.DatasetDict(train=part.select(range(4)), test=part.select(range(4, 8))).save_to_disk(tmp_path / "bad")
    return tmp_path / "bad"


def test_folder_that_lacks_a_shard(folder):
    (folder / "test" / "data-00000-of-00001.arrow").unlink()
    message = said(folder)
    assert "bad cannot be read as a datasets folder: " in message
    assert "data-00000-of-00001.arrow" in message


@pytest.mark.parametrize("text", ["", "{}", "[]"])
def test_folder_whose_list_of_shards_is_broken(folder, text):
    (folder / "train" / "state.json").write_text(text)
    assert "bad: state.json does not say _data_files; save the folder anew by save_to_disk" in said(folder)


def test_folder_whose_parts_differ(folder):
    part = datasets.load_from_disk(folder / "test").rename_column("c", "d")
    part.save_to_disk(folder / "new")
    (folder / "test").rename(folder / "old")
    (folder / "new").rename(folder / "test")
    assert "bad: its parts train and test differ in c: string; save them alike" in said(folder)


def test_folder_with_a_part_of_another_name(folder):
    (folder / "test").rename(folder / "held")
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "held"]}')
    assert "column 's', row 4 (the first is 0): 'held' is no split" in said(folder)


def test_label_that_the_file_does_not_name(tmp_path):
    features = datasets.Features(x=datasets.Value("int64"), y=datasets.ClassLabel(names=["no", "yes"]))
    part = datasets.Dataset.from_dict({"x": [1, 2, 3], "y": [0, 1, 1]}, features=features)
    table = part.data.table.set_column(1, "y", pa.array([0, 1, 2]))
    pq.write_table(table, tmp_path / "bad.parquet")
    message = said(tmp_path / "bad.parquet")
    assert "bad.parquet: column 'y', row 2 (the first is 0): 2 is none of the 2 labels that the file names" in message
