"""The same table in every format, encoding and manner of cutting says the same."""

import csv
import gzip
import io
import json
import logging
import random
import subprocess
import sys

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.feather as pa_feather
import pyarrow.parquet as pa_parquet
import pytest

from drurank.data import Table
from drurank.errors import InputError
from drurank.splits import SplitColumn
from drurank.tabular.columns import Column
from drurank.tabular.reading import read_table, suffix_of
from runs import CONFIGS

ROWS = [
    {"x": 1.5, "c": "Zürich", "y": "no", "g": "a", "s": "train"},
    {"x": -2.0, "c": "Łódź; centre", "y": "yes", "g": "b", "s": "train"},
    {"x": 4.0, "c": 'say "x"', "y": "yes", "g": "a", "s": "ood_val"},
]
TEXTS = {
    "x": ["1.5", "-2", "4"],
    "c": ["Zürich", "Łódź; centre", 'say "x"'],
    "y": ["no", "yes", "yes"],
    "g": ["a", "b", "a"],
    "s": ["train", "train", "ood_val"],
}
"""What a text file says of these rows."""
TYPED = {name: [row[name] for row in ROWS] for name in ROWS[0]}
CSV = 'x,c,y,g,s\n1.5,Zürich,no,a,train\n-2,"Łódź; centre",yes,b,train\n4,"say ""x""",yes,a,ood_val\n'
JSON = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)


def read(tmp_path, name, content, **options):
    (tmp_path / name).write_bytes(content)
    return read_table(str(tmp_path / name), **options).to_pydict()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [("t.csv", CSV, TEXTS), ("t.tsv", CSV.replace(",", "\t"), TEXTS), ("t.jsonl", JSON, TYPED)],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_encodings_with_a_mark_are_found(tmp_path, name, text, expected, encoding, zipped):
    content = text.encode(encoding)
    content, name = (gzip.compress(content), f"{name}.gz") if zipped else (content, name)
    assert read(tmp_path, name, content) == expected


@pytest.mark.parametrize("asked", ["utf-8", "UTF8", "utf_8_sig"])
@pytest.mark.parametrize("written", ["utf-8", "utf-8-sig"])
def test_utf8_may_be_asked_for_with_or_without_a_mark(tmp_path, asked, written):
    assert read(tmp_path, "t.csv", CSV.encode(written), text_encoding=asked) == TEXTS


@pytest.mark.parametrize("encoding", ["cp1250", "iso8859-2", "utf-16-be", "gb18030"])
def test_encodings_without_a_mark_are_asked_for(tmp_path, encoding):
    assert read(tmp_path, "t.csv", CSV.encode(encoding), text_encoding=encoding) == TEXTS
    assert read(tmp_path, "t.json", JSON.encode(encoding), text_encoding=encoding) == TYPED


def test_ascii_is_whatever_is_asked_for(tmp_path):
    assert read(tmp_path, "t.csv", b"x,y\n1,a\n", text_encoding="latin-1") == {"x": ["1"], "y": ["a"]}


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "T.JSON"])
def test_json_lines_keep_their_types_and_lack_what_they_do_not_say(tmp_path, name):
    text = '{"x": 1, "t": true}\n\n{"x": 2.5, "late": "2020-01-01"}\r\n{"t": null, "g": "007", "x": null}'
    table = read(tmp_path, name, text.encode())
    assert table == {
        "x": [1.0, 2.5, None],
        "t": [True, None, None],
        "late": [None, "2020-01-01", None],
        "g": [None, None, "007"],
    }


ARRAYS = {
    "one line": (", ", "[", "]"),
    "a line each": (",\n", "[\n", "\n]\n"),
    "blanks everywhere": (" \t,\r\n\n ", "\n  [ ", " ]\n \n"),
}


@pytest.mark.parametrize("comma", ARRAYS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_json_array_of_objects_is_a_table(tmp_path, comma, encoding, zipped):
    between, start, end = ARRAYS[comma]
    text = start + between.join(json.dumps(row, ensure_ascii=False) for row in ROWS) + end
    content = text.encode(encoding)
    content, name = (gzip.compress(content), "t.json.gz") if zipped else (content, "T.JSON")
    assert read(tmp_path, name, content) == TYPED


@pytest.mark.parametrize("indent", [None, 0, 7])
def test_a_json_array_keeps_what_its_cells_hold(tmp_path, indent):
    rows = [
        {"t": 'a "quote", a \\ and ]}', "x": -1.5e-3, "b": True, "n": None, "l": [{"k": "]"}]},
        {"t": "\u00e9\u2028\n" * 30, "x": 12345678901, "b": False, "n": None, "l": []},
        {"late": "\U0001f600"},
    ]
    table = read(tmp_path, "t.json", json.dumps(rows, indent=indent).encode())
    assert table == {
        "t": [rows[0]["t"], rows[1]["t"], None],
        "x": [-1.5e-3, 12345678901.0, None],
        "b": [True, False, None],
        "n": [None] * 3,
        "l": [[{"k": "]"}], [], None],
        "late": [None, None, "\U0001f600"],
    }


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_blocks_of_json_rows_are_one_table(tmp_path, monkeypatch, name):
    # In blocks of two rows each column's kind is found anew, and a column may come late or be null for long.
    monkeypatch.setattr("drurank.tabular.jsonrows.BLOCK", 2)
    rows = [{}, {}, {"x": 1}, {"x": 2, "t": None}, {}, {"x": None}, {"x": 0.5, "t": "a"}, {"l": [1]}, {"l": []}]
    lines = list(map(json.dumps, rows))
    text = f"[{','.join(lines)}]" if name.endswith("json") else "\n".join(lines)
    assert read(tmp_path, name, text.encode()) == {
        "x": [None, None, 1.0, 2.0, None, None, 0.5, None, None],
        "t": [None] * 6 + ["a", None, None],
        "l": [None] * 7 + [[1], []],
    }


@pytest.mark.parametrize(("cell", "kind"), [('"two"', "text"), ("true", "a boolean"), ("[1]", "a list")])
def test_another_kind_in_a_later_block_is_refused(tmp_path, monkeypatch, cell, kind):
    monkeypatch.setattr("drurank.tabular.jsonrows.BLOCK", 2)
    text = '{"x": null}\n{}\n{"x": 1}\n{"x": 2.5}\n{"x": null}\n{"x": CELL}\n'.replace("CELL", cell)
    with pytest.raises(InputError) as caught:
        read(tmp_path, "t.jsonl", text.encode())
    assert f"column 'x', row 5 (the first is 0): {cell} is {kind}, and the cells before are each a number" in str(
        caught.value
    )


def test_whole_numbers_too_large_for_decimals_are_refused_in_a_later_block_too(tmp_path, monkeypatch):
    monkeypatch.setattr("drurank.tabular.jsonrows.BLOCK", 1)
    with pytest.raises(InputError, match=r"column 'x', row 0 \(the first is 0\): 1152921504606846977 is too large"):
        read(tmp_path, "t.json", b'[{"x": 1152921504606846977}, {"x": 0.5}]')


@pytest.mark.parametrize(("name", "form"), [("t.jsonl", "lines"), ("t.jsonl", "array"), ("t.json", "array")])
def test_json_cells_stay_as_they_are_written(tmp_path, name, form):
    columns = {
        "date": ["2020-01-01 10:00:00+02:00", "2021-01-01 00:00:00+00:00"],
        "id": [9007199254740993, -9223372036854775808],
        "code": ["007", "NA"],
        "text": ["null", "a\0b\u2028c\td"],
        "float": [0.1, 1e300],
        "late": [None, "x"],
        "nested": [{"a": "2020-01-01"}, {"a": "2021-01-01"}],
    }
    rows = [{key: cells[i] for key, cells in columns.items() if cells[i] is not None} for i in range(2)]
    text = json.dumps(rows) if form == "array" else "\n".join(map(json.dumps, rows))
    assert read(tmp_path, name, text.encode()) == columns | {"late": [None, "x"]}


def test_json_numbers_that_are_none_are_read(tmp_path):
    # As Python's json writes them; stricter parsers refuse the file.
    cells = read(tmp_path, "t.jsonl", b'{"x": NaN}\n{"x": -Infinity}\n{"x": 1}\n')["x"]
    assert np.isnan(cells[0])
    assert cells[1:] == [-np.inf, 1.0]


BAD_ARRAYS = {
    "empty": (b"[ ]\n", ["is empty", "one array of objects"]),
    "numbers": (b'[{"x": 1}, 7]', ["row 1 (the first is 0) is '7', not an object"]),
    "arrays": (b"[[1, 2], [3, 4]]", ["row 0 (the first is 0) is '[1, 2]', not an object"]),
    "no comma": (b'[{"x": 1} {"x": 2}]', ["row 0 (the first is 0) is followed by '{\"x\": 2}]', not a comma or ']'"]),
    "comma at the end": (b'[{"x": 1}, {"x": 2},]', ["row 2 (the first is 0) is not JSON: Expecting value at ']'"]),
    "not closed": (b'[{"x": 1}, {"x": 2}\n', ["row 1 (the first is 0) is followed by the end, not a comma"]),
    "cut in an object": (b'[{"x": 1}, {"x": ', ["row 1 (the first is 0) is not JSON", "at the end"]),
    "cut in a text": (b'[{"x": "a"}, {"x": "b', ["row 1 (the first is 0) is not JSON: Unterminated string"]),
    "more after it": (b'[{"x": 1}]\n[{"x": 2}]', ["after its array comes '[{\"x\": 2}]'"]),
    "twice": (b'[{"x": 1}, {"x": 1, "y": 2, "x": 3}]', ["row 1 (the first is 0) has 'x' twice"]),
    "two kinds": (b'[{"x": 1}, {"x": "two"}]', ["column 'x', row 1 (the first is 0)", '"two" is text']),
    "Latin-1": (b'[{"x": "a"},\n{"x": "\xe9"}]', ["line 2 (the first is 1)", "is not UTF-8"]),
    "twice within": (b'[{"x": {"a": 1, "a": 2}}]', ["row 0 (the first is 0) has 'a' twice"]),
    "no names": (b"[{}, {}]", ["has no rows"]),
    "open": (b"[", ["row 0 (the first is 0) is not JSON", "at the end"]),
}


@pytest.mark.parametrize(("content", "expected"), BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_an_array_that_is_no_table(tmp_path, content, expected):
    with pytest.raises(InputError) as caught:
        read(tmp_path, "bad.json", content)
    assert all(piece in str(caught.value) for piece in ["bad.json", *expected]), str(caught.value)
    assert "\n" not in str(caught.value)


def test_nested_values_of_json_lines_are_no_hindrance_where_they_are_not_used(tmp_path):
    rows = [{**row, "tokens": ["a"] * i, "meta": {"i": i}} for i, row in enumerate([*ROWS, {**ROWS[2], "g": "d"}])]
    rows[2]["g"] = "c"
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    table = Table(str(tmp_path / "t.jsonl"), label="y", group="g", split="s", exclude="tokens,meta,c")
    table.setup("fit")
    # By the mean -0.25 and the deviation 1.75 of 1.5 and -2.
    np.testing.assert_allclose(table.dataset("ood_val")[[0, 1]]["inputs"].numpy(), [[4.25 / 1.75]] * 2, rtol=1e-6)


@pytest.mark.parametrize("kind", ["file", "stream", "lz4", "zstd"])
@pytest.mark.parametrize("name", ["t.arrow", "t.feather"])
def test_arrow_of_every_manner(tmp_path, kind, name):
    table, path = pa.table({**TYPED, "__index_level_0__": [7, 8, 9]}), str(tmp_path / name)
    if kind == "stream":
        with pa.ipc.new_stream(path, table.schema) as out:
            out.write_table(table, max_chunksize=2)
    else:
        pa_feather.write_feather(table, path, compression={"file": "uncompressed"}.get(kind, kind))
    assert read_table(path).to_pydict() == TYPED


def test_tables_are_read_without_torch():
    words = "import sys, drurank.cli, drurank.tabular.reading, drurank.tabular.rules"
    found = "print([name for name in ('torch', 'lightning', 'datasets', 'pandas') if name in sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-c", f"{words}; {found}"], cwd=CONFIGS.parent, capture_output=True, text=True, timeout=60
    )
    assert (shown.stdout, shown.stderr) == ("[]\n", "")


# ---- delimiters


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_delimiter_that_cuts_each_row_alike_is_found_and_said(tmp_path, caplog, name, delimiter):
    text = 'x|y|z\n1||\'\n2|"a|b"|\n\n3|c|d\n'.replace("|", delimiter)
    expected = {"x": ["1", "2", "3"], "y": ["", f"a{delimiter}b", "c"], "z": ["'", "", "d"]}
    with caplog.at_level(logging.WARNING):
        assert read(tmp_path, name, text.encode()) == expected
    usual = {"t.csv": ",", "t.tsv": "\t"}[name]
    said = (
        []
        if delimiter == usual
        else [f"{tmp_path / name}: its cells are cut at {delimiter!r}, which gives each row 3 of them"]
    )
    assert caplog.messages == said
    caplog.clear()
    assert read(tmp_path, name, text.encode(), delimiter=delimiter) == expected
    assert caplog.messages == []


def test_decimal_commas_do_not_hide_the_delimiter(tmp_path):
    assert read(tmp_path, "t.csv", b"x;y\n1,5;a\n2,5;b\n") == {"x": ["1,5", "2,5"], "y": ["a", "b"]}


@pytest.mark.parametrize(
    "text",
    [
        "id;income, yearly;age\n1;;30\n2;41,274.3;31\n",
        "id;a, b;c, d\n1,5;2;3\n4;5;6\n",
        "id;a, b, c, d;e\n1,5;2;3\n4;5;6\n",
        "id|income, yearly|age\n1|41,274.3|30\n2||31\n",
    ],
)
def test_a_name_with_the_usual_delimiter_does_not_hide_the_right_one(tmp_path, caplog, text):
    delimiter = text[2]
    names, *rows = [line.split(delimiter) for line in text.splitlines()]
    expected = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    with caplog.at_level(logging.WARNING):
        assert read(tmp_path, "t.csv", text.encode()) == expected
    assert caplog.messages == [
        f"{tmp_path / 't.csv'}: its cells are cut at {delimiter!r}, which gives each row 3 of them"
    ]


def test_the_usual_delimiter_stays_where_it_cuts_each_row_alike(tmp_path, caplog):
    expected = {"x": ["1", "2"], "a;b;c": ["1;2;3", "4;5;6"]}
    assert read(tmp_path, "t.csv", b"x,a;b;c\n1,1;2;3\n2,4;5;6\n") == expected
    assert caplog.messages == []


@pytest.mark.parametrize("text", ["x\na;b\nc\n", "x\n1\n", '"x;y"\n1;2\n'])
def test_a_single_column_is_one(tmp_path, caplog, text):
    name = text.splitlines()[0].strip('"')
    assert read(tmp_path, "t.csv", text.encode()) == {name: text.splitlines()[1:]}
    assert caplog.messages == []


def test_any_other_delimiter_is_asked_for(tmp_path):
    expected = {"x": ["1"], "y": ["a b"]}
    assert read(tmp_path, "t.csv", b'x y\n1 "a b"\n', delimiter=" ") == expected
    assert read(tmp_path, "t.tsv", b"x\ty\n1\ta b\n", delimiter="\\t") == expected
    assert read(tmp_path, "t.csv", b"x~y\n1~a b\n", delimiter="~") == expected


def test_a_single_column_whose_name_could_be_cut_is_asked_for(tmp_path):
    assert read(tmp_path, "t.csv", b"price; net\n1\n2\n", delimiter=",") == {"price; net": ["1", "2"]}


# ---- CSV as Python reads it


def expected_cells(text):
    """Columns of a CSV with the header x,y,z as Python's csv module reads them; None where it must be refused."""
    try:
        header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None
    if not rows or any(len(row) != 3 for row in rows):
        return None
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("seed", range(2))
def test_spoilt_csv_is_read_as_python_reads_it_or_refused(tmp_path, monkeypatch, seed):
    monkeypatch.setattr("drurank.tabular.delimited.BATCH", 3)
    draw = random.Random(seed)
    cells = ["", "1", "007", "NA", "null", "é", " a ", '"a,b"', '"a""b"', '"a\r\nb"', '"\n"', "a'b", '""', "1;2"]
    path, refused = tmp_path / "t.csv", 0
    for _ in range(300):
        rows = [",".join(draw.choices(cells, k=3)) for _ in range(draw.randint(1, 8))]
        body = list(draw.choice(["\n", "\r\n", "\r"]).join(rows))
        for _ in range(draw.randint(0, 3)):
            place = draw.randrange(len(body) + 1)
            body[place : place + draw.randint(0, 2)] = draw.choice([*'",\n\r ;a', "", "\n\n"])
        text = "x,y,z\n" + "".join(body)
        path.write_bytes(text.encode())
        expected = expected_cells(text)
        if expected is None:
            refused += 1
            with pytest.raises(InputError):
                read_table(str(path))
        else:
            assert read_table(str(path)).to_pydict() == expected
    assert 50 < refused < 250


# ---- folders of `datasets`


FEATURES = datasets.Features(
    x=datasets.Value("float64"),
    c=datasets.Value("string"),
    y=datasets.ClassLabel(names=["no", "yes"]),
    g=datasets.Value("string"),
)
LABELLED = {"x": TYPED["x"], "c": TYPED["c"], "y": [0, 1, 1], "g": ["a", "b", "c"]}
NAMED = {**LABELLED, "y": TYPED["y"]}


def part(*rows):
    return datasets.Dataset.from_dict(LABELLED, features=FEATURES).select(rows)


def test_a_folder_of_shards_is_one_table_with_the_names_of_its_labels(tmp_path):
    part(2, 0, 1).save_to_disk(tmp_path / "d", num_shards=2)
    expected = {name: [cells[2], *cells[:2]] for name, cells in NAMED.items()}
    assert read_table(str(tmp_path / "d")).to_pydict() == expected


def test_labels_that_are_not_known_are_missing(tmp_path):
    datasets.Dataset.from_dict({**LABELLED, "y": [1, -1, None]}, features=FEATURES).save_to_disk(tmp_path / "d")
    assert read_table(str(tmp_path / "d"))["y"].to_pylist() == ["yes", None, None]


def test_parquet_that_datasets_wrote_names_its_labels_too(tmp_path):
    part(0, 1, 2).to_parquet(tmp_path / "t.parquet")
    assert read_table(str(tmp_path / "t.parquet")).to_pydict() == NAMED
    part(0, 1, 2).save_to_disk(tmp_path / "d")
    (shard,) = (tmp_path / "d").glob("*.arrow")
    assert read_table(str(shard)).to_pydict() == NAMED


def test_the_names_of_the_parts_are_the_split(tmp_path, caplog):
    datasets.DatasetDict(train=part(0, 1), validation=part(2), test=part(2)).save_to_disk(tmp_path / "d")
    rows = [0, 1, 2, 2]
    expected = {name: [cells[row] for row in rows] for name, cells in NAMED.items()}
    names = ["train", "train", "val", "test"]
    assert read_table(str(tmp_path / "d")).to_pydict() == {**expected, "split": names}
    assert read_table(str(tmp_path / "d"), split=SplitColumn("part")).to_pydict() == {**expected, "part": names}
    assert caplog.messages == []
    table = Table(str(tmp_path / "d"), label="y", group="g", split="part", features="x")
    table.setup("fit")
    assert (table.splits(), table.label_names) == (["train", "val", "test"], ["no", "yes"])
    assert table.dataset("val").rows.tolist() == [2]


@pytest.mark.parametrize("given", ["a folder", "a DatasetDict", "a dict of data frames"])
@pytest.mark.parametrize("name", ["dev", "valid", "Validation"])
def test_a_part_that_split_names_gives_a_meaning_to(tmp_path, given, name):
    parts = datasets.DatasetDict({"train": part(0, 1), name: part(2)})
    parts.save_to_disk(tmp_path / "d")
    frames = {split: rows.to_pandas() for split, rows in parts.items()}
    path = {"a folder": str(tmp_path / "d"), "a DatasetDict": parts, "a dict of data frames": frames}[given]
    table = Table(path, label="y", group="g", split="split", features="x", split_names={name: "ood_val"})
    table.setup("fit")
    assert table.splits() == ["train", "ood_val"]
    usual = Table(path, label="y", group="g", split="split", features="x")
    usual.setup("fit")
    assert usual.splits() == ["train", "val"]


def test_a_split_column_that_is_there_counts(tmp_path, caplog):
    with_split = part(0, 1, 2).add_column("s", TYPED["s"])
    datasets.DatasetDict(train=with_split, test=with_split).save_to_disk(tmp_path / "d")
    assert read_table(str(tmp_path / "d"), split=SplitColumn("s"))["s"].to_pylist() == TYPED["s"] * 2
    assert caplog.messages == [
        f"{tmp_path / 'd'}: the split is taken from its column 's', not from the names of its splits"
    ]


@pytest.mark.parametrize(
    ("path", "suffix"),
    [
        ("a/t.CSV", ".csv"),
        ("t.csv.gz", ".csv"),
        ("t.ndjson.GZ", ".ndjson"),
        ("t.parquet.gz", ".gz"),
        ("t.v1.pq", ".pq"),
        ("a.csv/t", ""),
    ],
)
def test_the_ending_that_says_the_format(path, suffix):
    assert suffix_of(path) == suffix


def test_compressed_text_is_text(tmp_path):
    # In a typed file the column k would be of text; here its cells say that it is of numbers.
    text = "k,label,group,split\n1,no,a,train\n3,yes,b,train\n5,no,c,val\n"
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    table = Table(str(tmp_path / "t.csv.gz"), label="label", group="group", split="split")
    table.setup("fit")
    assert table.dataset("val")[[0]]["inputs"].tolist() == [[3.0]]


def test_options_reach_the_file(tmp_path):
    text = "k;label;group;split\n1;no;ä;train\n3;yes;b;train\n5;no;c;val\n"
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    options = {"delimiter": ";", "text_encoding": "latin-1"}
    table = Table(str(tmp_path / "t.csv"), label="label", group="group", split="split", **options)
    table.setup("fit")
    assert table.dataset("train").group_names == ["b", "ä"]


def test_parquet_keeps_its_columns(tmp_path):
    pa_parquet.write_table(pa.table(TYPED), tmp_path / "t.pq")
    assert read_table(str(tmp_path / "t.pq")).to_pydict() == TYPED


# ---- what was found by trying to break it


@pytest.mark.parametrize("first", [["0", "1", "2"], ["0", "2", "1"], ["a", "b", "c"]], ids=str)
def test_index_that_pandas_writes_is_left_out_and_said(tmp_path, caplog, first):
    path = tmp_path / "t.csv"
    path.write_text(",x,y\n" + "".join(f"{i},{i}7,a\n" for i in first))
    if first != ["0", "1", "2"]:
        with pytest.raises(InputError, match=r"column 0 .* has no name"):
            read_table(str(path))
        return
    assert read_table(str(path)).to_pydict() == {"x": ["07", "17", "27"], "y": ["a"] * 3}
    assert "counts the rows; it is left out" in caplog.text


def test_cell_may_hold_a_long_text(tmp_path):
    (tmp_path / "t.csv").write_text(f"x,y\n{'g' * 200_000},1\n")
    assert len(read_table(str(tmp_path / "t.csv"))["x"][0].as_py()) == 200_000


ODD = {
    "nested beyond reason": ("t.jsonl", "[" * 100_000 + "\n", {}),
    "a cell nested beyond reason": ("t.jsonl", '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", {}),
    "half of a letter": ("t.jsonl", '{"\\ud800": 1}\n', {}),
    "encoding undefined": ("t.csv", "x\n1\n", {"text_encoding": "undefined"}),
    "encoding punycode": ("t.jsonl", '{"x": 1}\n', {"text_encoding": "punycode"}),
    "state of a number": ("ds/state.json", '{"_data_files": [{"filename": 5}]}', {}),
    "state without names": ("ds/state.json", '{"_data_files": [{"file": "x"}]}', {}),
    "dict of numbers": ("ds/dataset_dict.json", '{"splits": [1]}', {}),
}


@pytest.mark.parametrize("case", ODD)
def test_damaged_file_is_answered_in_a_sentence(tmp_path, case):
    name, content, options = ODD[case]
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(content)
    if name == "ds/state.json":
        (file.parent / "dataset_info.json").write_text("{}")
    with pytest.raises(InputError) as caught:
        read_table(str(file.parent if "/" in name else file), **options)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value) or "text_encoding" in str(caught.value)


@pytest.mark.parametrize("kind", [pa.decimal32(5, 1), pa.decimal64(9, 1), pa.decimal128(12, 1)], ids=str)
def test_decimals_of_any_width_are_numbers(kind):
    cells = pa.array(["1.0", "2.5"]).cast(pa.decimal128(5, 1)).cast(kind)
    column = Column("t.parquet", "x", pa.chunked_array([cells]))
    assert column.texts == ["1", "2.5"]
    assert column.numbers.tolist() == [1, 2.5]
