"""Tables of several files, in memory, with splits without labels, and with names that are written in several ways."""

import logging
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lightning.pytorch import Trainer

from bad_tables import HEADER, ROLES, ROWS, write_csv
from drurank.data import Table, Text
from drurank.errors import InputError
from drurank.methods import ERM
from drurank.networks import MLP

COLUMNS = {name: list(cells) for name, cells in zip(HEADER, zip(*ROWS, strict=True), strict=True)}
COLUMNS["x"] = [float(x) for x in COLUMNS["x"]]


class OnlyStream:
    """Gives Arrow's C stream, as tables of polars, DuckDB and others do."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class OnlyToArrow:
    def __init__(self, table):
        self.table = table

    def to_arrow(self):
        return self.table


def with_index():
    frame = pd.DataFrame(COLUMNS)
    frame.index = pd.Index([f"row {row}" for row in frame.index], name="id")
    return frame


def of_polars(categories):
    """Text as polars gives it: views, and categories whose names are views."""
    table = pa.table(COLUMNS)
    for place, name in enumerate(table.column_names):
        if name != "x":
            views = table[name].combine_chunks().cast(pa.string_view())
            whole = table[name].combine_chunks().dictionary_encode()
            names = whole.dictionary.cast(pa.string_view())
            coded = pa.DictionaryArray.from_arrays(whole.indices.cast(pa.uint32()), names)
            table = table.set_column(place, name, coded if categories else views)
    return OnlyStream(table)


def by_split():
    table = pa.table(COLUMNS)
    return {
        name: table.filter(pa.compute.equal(table["s"], name)).drop_columns("s")
        for name in ("train", "ood_val", "ood_test")
    }


TABLES = {
    "pandas": with_index,
    "pandas of categories": lambda: pd.DataFrame(COLUMNS).astype({"c": "category"}),
    "Arrow": lambda: pa.table(COLUMNS),
    "record batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "C stream": lambda: OnlyStream(pa.table(COLUMNS)),
    "text of polars": lambda: of_polars(categories=False),
    "categories of polars": lambda: of_polars(categories=True),
    "to_arrow": lambda: OnlyToArrow(pa.table(COLUMNS)),
    "by split": by_split,
}


def contents(data):
    data.setup("fit")
    found = {}
    for split in data.splits():
        rows = data.dataset(split)
        batch = rows[list(range(len(rows)))]
        group = [rows.group_names[code] for code in rows.group.tolist()]
        found[split] = (batch["inputs"], batch["label"].tolist(), group)
    return found


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_in_memory_is_as_one_in_a_file(tmp_path, kind):
    pq.write_table(pa.table(COLUMNS), tmp_path / "t.parquet")
    roles = {**ROLES, "split": None if kind == "by split" else "s"}
    got, expected = contents(Table(TABLES[kind](), **roles)), contents(Table(tmp_path / "t.parquet", **ROLES))
    assert got.keys() == expected.keys()
    for split, (inputs, label, group) in expected.items():
        np.testing.assert_array_equal(got[split][0], inputs)
        assert got[split][1:] == (label, group)


def test_texts_may_be_in_memory_too():
    data = Text(pd.DataFrame(COLUMNS), text="c", **ROLES)
    assert data.raw_rows().texts[0].column.texts == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (7, "the int is not a table; give the path of a file, a DataFrame"),
        (pd.Series([7]), "the Series is not a table; give the path"),
        (pd.DataFrame({"y": [1, "a"], "g": ["a", "b"]}), "the DataFrame is not a table that Arrow can hold"),
        (pd.DataFrame({"y": [], "g": []}), "the DataFrame has no rows"),
        (pd.DataFrame([[1, 2]], columns=["y", "y"]), "'y' twice|Duplicate column names"),
        (pd.DataFrame({"z": [1]}), "the DataFrame has no column 'g'; known: z"),
        (None, "path is None; give a file"),
    ],
    ids=["a number", "a column", "mixed cells", "no rows", "a name twice", "no label", "nothing"],
)
def test_what_is_no_table_is_told(given, said):
    with pytest.raises(InputError, match=said):
        Table(given, "y", "g").raw_rows()


@pytest.mark.parametrize(
    "path",
    [
        *("part-*.csv", "part-a.csv,part-b.csv", "part-b.csv, part-a.csv"),
        *(["part-b.csv", "part-a.csv"], (Path("part-a.csv"), Path("part-b.csv")), ["part-*.csv"]),
    ],
)
def test_several_files_are_one_table(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path, rows=ROWS[:3], name="part-a.csv")
    write_csv(tmp_path, rows=ROWS[3:], name="part-b.csv")
    several = contents(Table(path, **ROLES))
    one = contents(Table(str(write_csv(tmp_path)), **ROLES))
    for split, (inputs, label, group) in one.items():
        np.testing.assert_array_equal(several[split][0], inputs)
        assert several[split][1:] == (label, group)


def test_a_list_of_files_with_a_comma_in_a_name_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"path names 'a,b\.csv', which has a comma; rename it"):
        Table(["a,b.csv", "c.csv"], **ROLES)
    assert contents(Table([write_csv(tmp_path, name="a,b.csv")], **ROLES))


def test_an_error_names_the_file_and_the_row_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path, rows=ROWS[:3], name="part-a.csv")
    write_csv(tmp_path, {(1, "g"): ""}, rows=ROWS[3:], name="part-b.csv")
    with pytest.raises(InputError, match=r"^part-b.csv: column 'g', row 1 \(the first is 0\): a blank cell"):
        Table("part-*.csv", **ROLES).setup("fit")


@pytest.mark.parametrize("unknown", [None, -1, "-1"], ids=str)
def test_a_split_without_labels_is_trained_beside_and_predicted_but_not_tested(tmp_path, unknown):
    text = isinstance(unknown, str)
    number = {"no": "0" if text else 0, "yes": "1" if text else 1}
    label = [number[y] if s != "ood_test" else unknown for y, s in zip(COLUMNS["y"], COLUMNS["s"], strict=True)]
    data = Table(pa.table({**COLUMNS, "y": label}), **ROLES)
    trainer = Trainer(
        max_epochs=1, logger=False, enable_progress_bar=False, accelerator="cpu", default_root_dir=tmp_path
    )
    model = ERM(network=MLP)
    with pytest.warns(UserWarning, match="has no label in any row of ood_test, so that ood_test cannot be tested"):
        trainer.fit(model, data)
    assert data.label_names == ["0", "1"]
    with pytest.raises(InputError, match="ood_test has no labels and cannot be tested; give its labels, or predict"):
        trainer.test(model, data)
    predicted = trainer.predict(model, data)
    assert sum(len(batch["label"]) for batches in predicted for batch in batches) == len(ROWS)


def test_the_split_with_labels_is_tested_beside_one_without(tmp_path):
    rows = [*ROWS, ["1", "a", "", "g5", "test"], ["2", "b", "", "g6", "test"]]
    data = Table(str(write_csv(tmp_path, rows=rows)), **ROLES)
    data.setup("fit")
    with pytest.warns(UserWarning, match="test has no labels and cannot be tested, so only ood_test is"):
        (loader,) = data.test_dataloader()
    assert loader.dataset.split == "ood_test"


def test_labels_of_minus_one_are_labels_where_training_has_them():
    label = [{"no": -1, "yes": 1}[y] for y in COLUMNS["y"]]
    label[-2:] = [-1, -1]
    data = Table(pa.table({**COLUMNS, "y": label}), **ROLES)
    data.setup("fit")
    assert data.unlabelled() == []
    assert data.dataset("ood_test")[[0, 1]]["label"].tolist() == [0, 0]


def test_some_rows_of_a_test_without_labels_are_still_an_error(tmp_path):
    with pytest.raises(InputError, match=r"column 'y', row 6 .*a blank cell is not a label"):
        Table(str(write_csv(tmp_path, {(6, "y"): ""})), **ROLES).setup("fit")


def test_validation_without_labels_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"column 'y', row 4 .*a blank cell is not a label"):
        Table(str(write_csv(tmp_path, {(4, "y"): "", (5, "y"): ""})), **ROLES).setup("fit")


def test_blanks_at_the_ends_of_names_are_left_out_and_counted(tmp_path, caplog):
    path = write_csv(tmp_path, {(1, "g"): " g1", (3, "g"): "g2\u00a0", (2, "y"): "yes ", (5, "s"): " ood_val"})
    with caplog.at_level(logging.INFO):
        got = contents(Table(str(path), **ROLES))
    for split, (_, label, group) in contents(Table(str(write_csv(tmp_path, name="good.csv")), **ROLES)).items():
        assert got[split][1:] == (label, group)
    assert "are left out, so that 'a' and 'a ' are one: g 2 cells, y 1 cell, s 1 cell" in caplog.text


def test_a_fit_says_how_each_column_is_taken_and_warns_of_what_looks_like_something_else(caplog):
    days = {"when": [f"2021-03-0{row + 1}" for row in range(len(ROWS))]}
    said = r"column 'when' looks like a date and is taken as categories.*dates='when'"
    with caplog.at_level(logging.INFO), pytest.warns(UserWarning, match=said):
        Table(pa.table({**COLUMNS, **days}), **ROLES).setup("fit")
    taken = "label: y (class 0: 'no', class 1: 'yes'); group: g; split: s; numbers: x; categories: c (2), when (8)"
    assert f"the Table: {taken}" in caplog.messages


def test_ids_that_became_decimals_in_some_rows_are_the_same(tmp_path):
    cells = {(row, "g"): {"g1": "1.0", "g2": "2.0"}[ROWS[row][3]] for row in range(4)}
    cells |= {(row, "g"): "1" for row in (4, 5)} | {(row, "g"): "7" for row in (6, 7)}
    cells |= {(row, "s"): "id_val" for row in (4, 5)}
    path = str(write_csv(tmp_path, cells))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = contents(Table(path, **ROLES))
    assert got["id_val"][2] == ["1", "1"]


def test_ids_that_are_still_written_in_two_ways_are_warned_of(tmp_path):
    cells = {(row, "g"): {"g1": "a", "g2": "b"}[ROWS[row][3]] for row in range(4)}
    cells |= {(row, "g"): "A" for row in (4, 5)} | {(row, "s"): "id_val" for row in (4, 5)}
    with pytest.warns(UserWarning, match="each counts apart") as told:
        Table(str(write_csv(tmp_path, cells)), **ROLES).setup("fit")
    said = [str(warning.message) for warning in told]
    assert any("'A' = 'a'" in sentence for sentence in said)
    assert any("1 group of id_val with 2 rows has no training row ('A')" in sentence for sentence in said)


@pytest.mark.parametrize("first", ["sep=;", "SEP=;", "\ufeffsep=;"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_that_tells_excel_the_delimiter_is_read(tmp_path, first, end):
    lines = [first, *(";".join(row) for row in [HEADER, *ROWS])]
    (tmp_path / "t.csv").write_bytes((end.join(lines) + end).encode())
    assert contents(Table(str(tmp_path / "t.csv"), **ROLES)).keys() == {"train", "ood_val", "ood_test"}


@pytest.mark.parametrize("name", ["Unnamed: 0", ""])
def test_an_index_is_no_feature_whatever_its_header(tmp_path, name):
    rows = sorted(ROWS, key=lambda row: row[2])  # by label, so that the number tells it
    header, numbered = [name, *HEADER], [[str(place), *row] for place, row in enumerate(rows)]
    path = str(write_csv(tmp_path, header=header, rows=numbered))
    data = Table(path, **ROLES)
    data.setup("fit")
    assert list(data.encoder.kinds) == ["x", "c"]
    if name:
        Table(path, exclude=name, **ROLES).setup("fit")
        chosen = Table(path, features=f"x,{name}", **ROLES)
        chosen.setup("fit")
        assert list(chosen.encoder.kinds) == ["x", name]


@pytest.mark.parametrize(
    ("cell", "wrong", "option"),
    [
        ("{},000", "looks like a number with a comma between thousands; give thousands=','", {"thousands": ","}),
        ("{},5", "looks like a number with a comma before its decimals; give decimal=','", {"decimal": ","}),
        ("{}%", "looks like a number with a percent sign; give percents='x'", {"percents": "x"}),
    ],
)
def test_numbers_written_otherwise_are_named_and_read_by_the_option(tmp_path, cell, wrong, option):
    cells = {(row, "x"): '"' + cell.format(values[0]) + '"' for row, values in enumerate(ROWS)}
    path = str(write_csv(tmp_path, cells))
    with pytest.raises(InputError, match=wrong):
        Table(path, **ROLES).setup("fit")
    got = contents(Table(path, **option, **ROLES))
    plain = contents(Table(str(write_csv(tmp_path, name="good.csv")), **ROLES))
    for split, (inputs, _, _) in plain.items():
        np.testing.assert_allclose(got[split][0], inputs, rtol=1e-6)


def test_times_of_a_typed_file_are_named_and_read_as_days():
    times = pa.array([86400 * (row + 1) for row in range(8)], pa.timestamp("s"))
    with pytest.raises(InputError, match=r"holds timestamp\[s\]; take it as a number of days \(dates='when'\)"):
        Table(pa.table({**COLUMNS, "when": times}), **ROLES).setup("fit")
    data = Table(pa.table({**COLUMNS, "when": times}), dates="when", **ROLES)
    data.setup("fit")
    (feature,) = [feature for feature in data.encoder.numeric if feature.name == "when"]
    assert feature.mean == pytest.approx(2.5)  # days 1 to 4


def test_one_hot_of_very_many_categories_is_refused_and_embedding_is_not():
    n = 3500
    columns = {
        "note": [f"note {row}" for row in range(n)],
        "y": ["a", "b"] * (n // 2),
        "g": [f"g{row // 100}" for row in range(n)],
        "s": ["train" if row < 2500 else "ood_val" for row in range(n)],
    }
    with pytest.raises(InputError, match="column 'note' has 2,500 categories in training, more than the 2,000"):
        Table(pa.table(columns), **ROLES).setup("fit")
    Table(pa.table(columns), encoding="embed", **ROLES).setup("fit")
