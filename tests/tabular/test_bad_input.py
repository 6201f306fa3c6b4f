"""Each file that cannot be read ends in one sentence that names the file, the place, and what to write instead."""

import gzip
import json
import shutil
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
import pytest

from bad_tables import HEADER, ROWS, said, write_csv, write_parquet

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
        ["line 3 (the first is 1)", r"b'1,a,Zo\xeb,train' is not UTF-8", "save the file as UTF-8"],
    ),
    "Latin-1 in a cell too many": (
        "bad.csv",
        b"x,y,g,s\n\n1,a,g,train\n1,a,g,train,\xe9\n",
        ["line 4 (the first is 1)", r"b'1,a,g,train,\xe9' is not UTF-8", "save the file as UTF-8"],
    ),
    "Latin-1 in one column": ("bad.csv", b"x\n\n\xe9\n", ["line 3 (the first is 1)", r"b'\xe9' is not UTF-8"]),
    "Latin-1 and semicolons": (
        "bad.csv",
        b"x;y;g;s\n1;a;g;train\n1;a;Zo\xeb;train\n",
        ["line 3 (the first is 1)", r"b'1;a;Zo\xeb;train' is not UTF-8", "text_encoding=cp1252"],
    ),
    "Latin-1 header": (
        "bad.csv",
        b"x,y,gr\xf6\xdfe,s\n",
        ["line 1 (the first is 1)", r"b'x,y,gr\xf6\xdfe,s' is not UTF-8", "save"],
    ),
    "UTF-16 without a mark": (
        "bad.csv",
        GOOD.encode("utf-16-le"),
        ["is not text: it contains zero bytes", "text_encoding=utf-16-le"],
    ),
    "UTF-16 cut short": ("bad.csv", GOOD.encode("utf-16")[:-1], ["is not UTF-16 (truncated data)", "save the file"]),
    "workbook by the name of a CSV": (
        "bad.csv",
        b"PK\3\4\0\0",
        ["is not text: it contains zero bytes", "give a text file"],
    ),
    "gzip by the name of a CSV": ("bad.csv", gzip.compress(GOOD.encode()), ["compressed by gzip", "end in .gz"]),
    "plain by the name of gzip": ("bad.csv.gz", GOOD.encode(), ["cannot be read as csv", "Not a gzipped file", "fix"]),
    "gzip cut short": (
        "bad.csv.gz",
        gzip.compress(GOOD.encode())[:-9],
        ["cannot be read as csv", "ended before", "fix"],
    ),
    "Latin-1 in gzip": (
        "bad.tsv.gz",
        gzip.compress(b"x\ty\tg\ts\n1\ta\t\xfc\ttrain\n"),
        ["line 2 (the first is 1)", r"b'1\ta\t\xfc\ttrain' is not UTF-8", "text_encoding=cp1252"],
    ),
    "open quote in the header": ("bad.csv", b'x,y,"g,s\n1,a,g,train\n', ["the header ", "cannot be read", "close"]),
    "other delimiter, a cell too many": (
        "bad.csv",
        b"x;y;g;s\n1;a;g;train\n1;b;g;h;train\n",
        ["row 1 (the first is 0) has 5 cells and the header 4", "put a cell that has a ';' in it in quotes"],
    ),
    "no delimiter that cuts each row alike": (
        "bad.csv",
        b"x;y, z;s\n1;2;train\n1;train\n",
        ["row 0 (the first is 0) has 1 cell and the header 2", "a ',' in it in quotes, or, if ';' is", "delimiter=';'"],
    ),
    "two delimiters": (
        "bad.csv",
        b"x;y|z\n1;a|b\n2;c|d\n",
        ["cut at ',' its header is one column", "give delimiter=';' or delimiter='|'"],
    ),
    "commas in numbers": (
        "bad.csv",
        b"x;y;g;s\n1,5;a;g;train\n2,25;b;h;train\n-0,5;a;k;val\n",
        ["column 'x', row 0 ", "'1,5' looks like a number with a comma", "give decimal=','", "categorical='x'"],
    ),
    "commas between thousands": (
        "bad.tsv",
        b"x\ty\tg\ts\n1,500\ta\tg\ttrain\n2,250,000.5\tb\th\ttrain\n3\ta\tk\tval\n",
        ["column 'x', row 0 ", "'1,500' looks like a number with a comma between thousands", "give thousands=','"],
    ),
    "no Parquet": ("bad.parquet", GOOD.encode(), ["cannot be read as parquet", "fix the file"]),
    "empty Parquet": ("bad.parquet", b"", ["cannot be read as parquet", "fix the file"]),
    "Excel": (
        "bad.xlsx",
        b"PK",
        ["is not a table that can be read", "ends in .csv, .tsv, .jsonl, .ndjson, .json, .parquet"],
    ),
    "no Arrow": ("bad.arrow", b"ARROW2 and then some", ["cannot be read as arrow", "fix the file"]),
    "Arrow cut short": ("bad.feather", b"ARROW1\0\0", ["cannot be read as feather", "fix the file"]),
    "empty JSON lines": ("bad.jsonl", b"\n\n", ["is empty", 'one object a line, as {"x": 1}']),
    "JSON line cut short": (
        "bad.jsonl",
        b'{"x": 1, "y": "a"}\n\n{"x": 2, "y": "b"\n',
        ["line 3 (the first is 1) is not JSON: Expecting ',' delimiter at the end", "write one object a line"],
    ),
    "JSON goes on after an object": (
        "bad.jsonl",
        b'{"x": 1}\n{"x": 2} {"x": 3}\n',
        ["line 2 (the first is 1) goes on after its object with ' {\"x\": 3}'", "write one object a line"],
    ),
    "JSON line with a comma": (
        "bad.jsonl",
        b'{"x": 1},\n{"x": 2}\n',
        ["line 1 (the first is 1) goes on after its object with ','", "write one object a line"],
    ),
    "JSON rows without names": (
        "bad.ndjson",
        b'{"x": 1}\n[1, 2]\n',
        ["line 2 (the first is 1) is '[1, 2]', not an object", "write one object a line"],
    ),
    "JSON line of a number": (
        "bad.ndjson",
        b'{"x": 1}\n7\n',
        ["line 2 (the first is 1) is '7'", "write one object a line"],
    ),
    "JSON over several lines": (
        "bad.json",
        b'{\n"x": 1\n}',
        ["line 1 (the first is 1) is not JSON", "one object a line"],
    ),
    "JSON key twice": (
        "bad.jsonl",
        b'{"x": 1, "y": 2, "x": 3}',
        ["line 1 (the first is 1) has 'x' twice", "name each value once"],
    ),
    "JSON of two kinds": (
        "bad.jsonl",
        b'{"x": null}\n{"x": 1.5}\n{"x": "two"}\n',
        ["column 'x', row 2 (the first is 0)", '"two" is text, and the cells before are each a number', "one kind"],
    ),
    "JSON truth among numbers": (
        "bad.jsonl",
        b'{"x": 1}\n{"x": true}',
        ["column 'x', row 1 ", "true is a boolean"],
    ),
    "JSON truth among decimals": (
        "bad.jsonl",
        b'{"x": 1.5}\n{"x": 2}\n{"x": true}',
        ["column 'x', row 2 ", "true is a boolean, and the cells before are each a number"],
    ),
    "JSON list among texts": (
        "bad.jsonl",
        b'{"g": "a"}\n{"g": ["a", "b"]}',
        ["column 'g', row 1 ", '["a", "b"] is a list'],
    ),
    "JSON number too large": (
        "bad.jsonl",
        b'{"x": 1}\n{"x": 1%s}' % (b"0" * 30),
        ["column 'x', row 1 (the first is 0): 1" + "0" * 30 + " is too large", "write such numbers as text"],
    ),
    "JSON half a character": ("bad.jsonl", b'{"x": "\\ud83d"}', ["column 'x', row 0", "half a letter"]),
    "JSON in Latin-1": ("bad.jsonl", b'{"x": 1}\n{"x": "\xe9"}', ["line 2 (the first is 1)", r"\xe9", "is not UTF-8"]),
    "JSON without names": ("bad.jsonl", b'{"": 1, "y": 2}', ["column 0 (the first is 0) has no name", "name it"]),
    "JSON list of groups": (
        "bad.jsonl",
        b'{"x": 1, "y": "a", "g": ["h", "k"], "s": "train"}\n{"x": 2, "y": "b", "g": ["h"], "s": "val"}\n',
        ["column 'g' holds list", "write one number, boolean or text in each row"],
    ),
    "no ending": ("bad", GOOD.encode(), ["is not a table that can be read", "ends in .csv"]),
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
        ["cut at ';' its header is one column, and cut at ',' it is more", "give delimiter=','"],
    ),
    "wrong tab": ("bad.csv", GOOD.encode(), {"delimiter": "\\t"}, ["cut at '\\t' its header is one column", "give"]),
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
        ["line 2 (the first is 1)", r"b'1,a,Z\xfcrich,train' is not ASCII", "save the file as UTF-8"],
    ),
    "UTF-8 as Latin-1": (
        "bad.csv",
        UMLAUT.encode(),
        {"text_encoding": "latin-1"},
        ["is UTF-8, and you gave text_encoding=iso8859-1", "leave it out"],
    ),
    "UTF-16 as UTF-8": (
        "bad.csv",
        UMLAUT.encode("utf-16"),
        {"text_encoding": "utf-8"},
        ["is UTF-16, and you gave text_encoding=utf-8", "leave it out"],
    ),
    "Latin-1 as Japanese": (
        "bad.csv",
        UMLAUT.encode("latin-1"),
        {"text_encoding": "shift_jis"},
        ["line 2 (the first is 1)", r"b'1,a,Z\xfcrich,train' is not SHIFT_JIS"],
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
        ["delimiter=, is only for files that end in .csv, .tsv; leave it out"],
    ),
    "encoding of Parquet": (
        "bad.parquet",
        b"",
        {"text_encoding": "utf-8"},
        ["text_encoding=utf-8 is only for files that end in .csv, .tsv, .jsonl", "leave it out"],
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
    assert "bad.csv cannot be read as csv: [Errno 13] Permission denied; fix the file or its permissions" in message


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
    assert "bad cannot be read as a folder of `datasets`: " in message
    assert "data-00000-of-00001.arrow" in message


@pytest.mark.parametrize("text", ["", "{}", "[]"])
def test_folder_whose_list_of_shards_is_broken(folder, text):
    (folder / "train" / "state.json").write_text(text)
    assert "bad cannot be read as a folder of `datasets`: " in said(folder)


@pytest.mark.parametrize("name", ["../other/train", "{other}/train", "..", "", "a\\b", "a\0", 5, None])
def test_folder_that_names_another_one(folder, tmp_path, name):
    shutil.copytree(folder, tmp_path / "other")
    name = name.format(other=tmp_path / "other") if isinstance(name, str) else name
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": ["train", name]}))
    assert f"dataset_dict.json names {name!r:.80}, which is nothing in its own folder; save it again" in said(folder)


@pytest.mark.parametrize("name", ["../../other/train/{file}", "{other}/train/{file}", "../test/{file}", 5, None])
@pytest.mark.parametrize("part", ["train", ""])
def test_folder_that_names_a_file_elsewhere(folder, tmp_path, name, part):
    shutil.copytree(folder, tmp_path / "other")
    state = (folder if part else folder / "train") / part / "state.json"
    content = json.loads(state.read_text())
    file = content["_data_files"][0]["filename"]
    name = name.format(other=tmp_path / "other", file=file) if isinstance(name, str) else name
    state.write_text(json.dumps({**content, "_data_files": [{"filename": file}, {"filename": name}]}))
    message = said(folder if part else folder / "train")
    assert "cannot be read as a folder of `datasets`: " in message
    assert "which is nothing in its own folder" in message or "filename is " in message


def test_folder_whose_parts_differ(folder):
    part = datasets.load_from_disk(folder / "test").rename_column("c", "d")
    part.save_to_disk(folder / "new")
    (folder / "test").rename(folder / "old")
    (folder / "new").rename(folder / "test")
    assert "bad: its splits train and test differ in c: string; save them alike" in said(folder)


def test_folder_with_a_part_of_another_name(folder):
    (folder / "test").rename(folder / "held")
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "held"]}')
    assert "column 's', row 4 (the first is 0): 'held' is not a split" in said(folder)


def test_label_that_the_file_does_not_name(tmp_path):
    features = datasets.Features(x=datasets.Value("int64"), y=datasets.ClassLabel(names=["no", "yes"]))
    part = datasets.Dataset.from_dict({"x": [1, 2, 3], "y": [0, 1, 1]}, features=features)
    table = part.data.table.set_column(1, "y", pa.array([0, 1, 2]))
    for name in ("g", "s"):
        table = table.append_column(name, pa.array(["a", "b", "train"]))
    pq.write_table(table, tmp_path / "bad.parquet")
    message = said(tmp_path / "bad.parquet")
    assert (
        "bad.parquet: column 'y', row 2 (the first is 0): 2 is not one of the 2 labels that the file names" in message
    )
