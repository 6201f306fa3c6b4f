"""The command `split`: what is written, and what cannot be split."""

import csv
import datetime
import errno
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from drurank.cli import main
from drurank.cli.program import program
from drurank.data import Table
from drurank.splits import SPLITS
from drurank.tabular.splitting import SplitOptions, split_by_group
from drurank.yaml_files import read_yaml
from runs import read_csv, read_json

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT.parent / "shared" / "data"
PARTS = {"train", "id_val", "ood_val", "id_test", "ood_test"}


HEADER = ["id", "note", "y", "sex", "g"]
NOTES = ["NA", "", " two  blanks ", 'a "quote"', "a, comma", "two\nlines", "é", "007"]


def cells(groups=20, size=6):
    rows = range(groups * size)
    return [[f"{i:05}", NOTES[i % 8], "yes" if i % 3 else "no", "fm"[i // 2 % 2], f"g{i % groups:02}"] for i in rows]


def write(name="t.csv", rows=None, header=HEADER):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t" if name.endswith("tsv") else ",").writerows([header, *(rows or cells())])
    return name


def split(*words, path="t.csv", label="y", group="g", output="out/s.csv"):
    return main(["split", "--path", path, "--label", label, "--group", group, "--output", output, *words])


def refused(capsys, *words, **columns):
    """The one sentence that it ends with."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        split(*words, **columns)
    shown = capsys.readouterr()
    assert stop.value.code == 2
    (line,) = shown.err.splitlines()
    assert line.startswith("error: ")
    assert shown.out == ""
    return line.removeprefix("error: ")


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize("notes", [slice(0, 8), slice(0, 3)], ids=["cells to quote", "none to quote"])
def test_text_is_written_as_it_stood_with_one_column_more(suffix, notes):
    rows = [[row[0], NOTES[notes][i % len(NOTES[notes])], *row[2:]] for i, row in enumerate(cells())]
    split(path=write(f"t.{suffix}", rows), output=f"s.{suffix}")
    with open(f"s.{suffix}", newline="", encoding="utf-8") as file:
        header, *got = csv.reader(file, delimiter="\t" if suffix == "tsv" else ",")
    assert header == [*HEADER, "split"]
    assert [row[:-1] for row in got] == rows
    assert {row[-1] for row in got} == PARTS


def test_parquet_keeps_its_types_and_its_order():
    table = pa.table(
        {
            "y": pa.array([0, 1] * 50, pa.int8()),
            "g": pa.array([f"g{i % 10}" for i in range(100)]).dictionary_encode(),
            "when": pa.array([datetime.datetime(2020, 1, 1), None] * 50, pa.timestamp("us", "UTC")),
            "tags": [[i, i] for i in range(100)],
            "part": ["a"] * 100,
        }
    )
    pq.write_table(table, "t.parquet")
    split("--split", "fold", path="t.parquet", output="s.pq")
    got = pq.read_table("s.pq")
    assert got.column_names == [*table.column_names, "fold"]
    assert got.drop_columns("fold").equals(table)
    assert got.schema.field("g").type == table.schema.field("g").type
    assert set(got["fold"].to_pylist()) == PARTS


def test_typed_columns_may_be_written_as_text():
    pq.write_table(pa.table({"x": [0.5, None] * 20, "y": [True, False] * 20, "g": [*range(10)] * 4}), "t.parquet")
    split(path="t.parquet", output="s.csv")
    assert Path("s.csv").read_text().splitlines()[0].replace('"', "") == "x,y,g,split"
    rows = [{name: row.get(name) for name in "xyg"} for row in read_csv("s.csv")]
    assert rows[:2] == [{"x": "0.5", "y": "true", "g": "0"}, {"x": None, "y": "false", "g": "1"}]


def test_the_order_of_rows_in_the_file_does_not_matter():
    rows = cells()
    split(path=write("a.csv", rows), output="s_a.csv")
    split(path=write("b.csv", rows[::-1]), output="s_b.csv")
    assert read_csv("s_b.csv") == read_csv("s_a.csv")[::-1]
    for part in ("splits", "left_out"):
        assert read_json("s_a.manifest.json")[part] == read_json("s_b.manifest.json")[part]


def test_what_it_says_to_train_on_leaves_out_what_determines_the_label(capsys):
    lines = ["x,grade,y,g"]
    lines += [f"{k % 7},{'AB'[k % 2]},{('no', 'yes')[k % 2]},g{k % 20}" for k in range(400)]
    Path("leak.csv").write_text("\n".join(lines) + "\n")
    split(path="leak.csv")
    assert capsys.readouterr().out.splitlines()[-1].endswith("--data.exclude grade --model DRU")


@pytest.mark.parametrize("group", ["g", "sex,g"])
def test_the_manifest_agrees_with_the_table(group, capsys):
    rows = [*cells(), ["90", "", "no", "f", "tiny"], ["91", "", "no", "m", "tiny 2"], ["92", "", "no", "m", "tiny 2"]]
    returned = split("--min_count", "3", "--stratify", "--seed", "4", path=write(rows=rows), group=group)
    manifest = read_json("out/s.manifest.json")
    assert manifest == returned
    assert manifest["source"] == {
        "name": "t.csv",
        "rows": 123,
        "sha256": hashlib.sha256(Path("t.csv").read_bytes()).hexdigest(),
    }
    assert manifest["output"] == "s.csv"
    assert manifest["columns"] == {"label": "y", "group": group.split(","), "split": "split"}
    options = {"ood_val": 0.15, "ood_test": 0.15, "id_share": 0.2, "min_count": 3, "stratify": True, "seed": 4}
    assert manifest["options"] == options
    name = " | ".join
    keys = [name(row[HEADER.index(column)] for column in group.split(",")) for row in rows]
    small = {key: count for key, count in Counter(keys).items() if count < 3}
    assert manifest["left_out"] == {"rows": 3, "groups": 2, "group_rows": small}
    out = read_csv("out/s.csv")
    assert [row["id"] for row in out] == [row[0] for row in rows[:-3]]
    assert set(manifest["splits"]) == PARTS
    for part, summary in manifest["splits"].items():
        inside = [row for row in out if row["split"] == part]
        sizes = Counter(name(row[column] for column in group.split(",")) for row in inside).values()
        assert (summary["rows"], summary["groups"]) == (len(inside), len(sizes))
        assert (summary["min_group_rows"], summary["median_group_rows"]) == (min(sizes), np.median(list(sizes)))
        yes = sum(row["y"] == "yes" for row in inside) / len(inside)
        assert summary["label_shares"] == pytest.approx({"no": 1 - yes, "yes": yes})
    said = capsys.readouterr().out
    assert "Left out: 3 rows of 2 groups with fewer than 3 rows" in said
    data = f"--data Table --data.path out/s.csv --data.label y --data.group {group} --data.split split"
    data = f"{data} --data.missing indicator --data.exclude id"
    assert f"drurank inspect {data}\n" in said
    assert f"drurank fit {data} --model DRU\n" in said


def test_of_very_many_groups_the_largest_are_named_as_left_out(capsys):
    group = [*(f"a{i}" for i in range(10_001)), *["z1", "z2"] * 2, *(f"g{i % 10}" for i in range(60))]
    rows = [[str(i), "", "yes" if i % 3 else "no", "f", name] for i, name in enumerate(group)]
    left_out = split("--min_count", "3", path=write(rows=rows))["left_out"]
    assert (left_out["rows"], left_out["groups"], len(left_out["group_rows"])) == (10_005, 10_003, 10_000)
    assert {name: rows for name, rows in left_out["group_rows"].items() if rows > 1} == {"z1": 2, "z2": 2}
    assert "names the 10,000 largest groups that are left out" in capsys.readouterr().out


def test_what_is_written_can_be_fitted():
    split(path=write())
    table = Table("out/s.csv", label="y", group="g", split="split", exclude="note")
    table.setup("fit")
    assert set(table.splits()) == PARTS
    for part, unseen in (("ood_val", True), ("ood_test", True), ("id_val", False), ("id_test", False)):
        data = table.dataset(part)
        assert bool((data.group >= data.num_seen).all()) is unseen
        assert bool((data.group < data.num_seen).all()) is not unseen


def test_overwrite_replaces_both_files():
    split(path=write())
    before = Path("out/s.csv").read_bytes()
    split("--overwrite", "--seed", "1")
    assert Path("out/s.csv").read_bytes() != before
    assert read_json("out/s.manifest.json")["options"]["seed"] == 1
    assert sorted(os.listdir("out")) == ["s.csv", "s.manifest.json"]


def test_many_labels_are_in_the_manifest_and_only_some_on_the_terminal(capsys):
    rows = [[*row[:2], f"[b]{i % 12:02}", *row[3:]] for i, row in enumerate(cells(size=42))]
    split(path=write(rows=rows))
    assert len(read_json("out/s.manifest.json")["splits"]["train"]["label_shares"]) == 12
    said = capsys.readouterr().out
    assert "share of y [b]09" in said
    assert "share of y [b]10" not in said
    assert "The shares of all 12 labels stand in the manifest" in said


OPTIONS = {
    "share below 0": (["--ood_val", "-0.1"], ["ood_val is -0.1", "0 or more and below 1"]),
    "share of 1": (["--id_share", "1"], ["id_share is 1", "below 1"]),
    "share that is none": (["--ood_test", "nan"], ["ood_test is 'nan'", "give a number"]),
    "shares that take all": (
        ["--ood_val", "0.5", "--ood_test", "0.5"],
        ["--ood_val 0.5 and --ood_test 0.5", "below 1"],
    ),
    "no shares": (["--ood_val", "0", "--ood_test", "0", "--id_share", "0"], ["all 0", "give one above 0"]),
    "min_count of 0": (["--min_count", "0"], ["min_count is 0", "1 or more"]),
    "seed below 0": (["--seed", "-1"], ["seed is -1", "0 or more"]),
    "seed in words": (["--seed", "two"], ["seed is 'two'", "give a whole number"]),
    "too few groups": (
        ["--ood_val", "0.45", "--ood_test", "0.5"],
        ["t.csv: of 20 groups 9 would go to ood_val and 10 to ood_test", "at least two", "smaller ones"],
    ),
    "min_count above all": (["--min_count", "99"], ["t.csv", "min_count 99", "the largest 6", "lower --min_count"]),
    "split that is there": (["--split", "note"], ["t.csv has a column 'note' already", "--split note_2"]),
    "split without a name": (["--split", " "], ["split is ' '", "give a name"]),
    "misspelt option": (["--idshare", "0.1"], ["--idshare", "'--id_share'"]),
}


@pytest.mark.parametrize(("words", "expected"), OPTIONS.values(), ids=OPTIONS)
def test_options_that_cannot_be_used(capsys, words, expected):
    write()
    message = refused(capsys, *words)
    for piece in expected:
        assert piece in message
    assert os.listdir() == ["t.csv"]


NAMES = {
    "no such label": ({"label": "Y"}, ["t.csv has no column 'Y'", "did you mean 'y'?"]),
    "no such group": ({"group": "g,age"}, ["t.csv has no column 'age'", "known: id, note, y, sex, g"]),
    "no such file": ({"path": "u.csv"}, ["there is no file u.csv", "t.csv"]),
    "unknown suffix": ({"output": "s.xlsx"}, ["output is 's.xlsx'", ".csv, .tsv, .parquet, .pq"]),
    "no suffix": ({"output": "s"}, ["output is 's'", ".csv"]),
    "text to types": (
        {"output": "s.parquet"},
        ["t.csv is a file of text", ".parquet would hold", ".csv or .tsv"],
    ),
    "onto itself": ({"output": "./t.csv"}, ["output is 't.csv', the table itself"]),
    "folder that is a file": (
        {"output": "t.csv/s.csv"},
        ["t.csv is no folder, so t.csv/s.csv cannot be in it", "give another output"],
    ),
    "group that is the label": ({"group": "y"}, ["t.csv: of 2 groups", "smaller ones"]),
}


@pytest.mark.parametrize(("names", "expected"), NAMES.values(), ids=NAMES)
def test_names_that_cannot_be_used(capsys, names, expected):
    write()
    message = refused(capsys, "--overwrite", **names)
    for piece in expected:
        assert piece in message
    assert os.listdir() == ["t.csv"]


@pytest.mark.parametrize("there", ["s.csv", "s.manifest.json"])
def test_what_exists_is_not_replaced_without_a_word(capsys, there):
    write()
    Path(there).write_text("mine")
    message = refused(capsys, output="s.csv")
    assert f"{there} exists" in message
    assert "--overwrite" in message
    assert Path(there).read_text() == "mine"
    assert sorted(os.listdir()) == [there, "t.csv"]


CELLS = {
    "blank label": ("y", "", ["column 'y', row 3 ", "a blank cell is not a label", "give each row one"]),
    "blank group": ("g", "  ", ["column 'g', row 3 ", "a blank cell is not a group", "leave the row out"]),
    "group of one row": ("g", "only", ["group 'only' has one row", "min_count=2", "id_share=0"]),
}


@pytest.mark.parametrize(("column", "value", "expected"), CELLS.values(), ids=CELLS)
def test_cells_that_cannot_be_used(capsys, column, value, expected):
    rows = cells()
    rows[3][HEADER.index(column)] = value
    write(rows=rows)
    message = refused(capsys)
    for piece in ["t.csv: ", *expected]:
        assert piece in message or piece.replace("=", " ") in message
    assert os.listdir() == ["t.csv"]


def test_a_group_of_one_row_may_be_left_out_or_kept_whole():
    rows = [*cells(), ["1", "", "no", "f", "only"]]
    split("--min_count", "2", path=write(rows=rows))
    assert read_json("out/s.manifest.json")["left_out"]["group_rows"] == {"only": 1}
    split("--id_share", "0", output="out/t.csv")
    assert len(read_csv("out/t.csv")) == 121


def test_a_label_that_training_would_lack(capsys):
    # The one row with it is in a group that some seeds send to an OOD part; those are told, the others are written.
    rows = cells()
    rows[0][2] = "once"
    write(rows=rows)
    told = 0
    for seed in range(20):
        part = dict(zip([row[0] for row in rows], parts_by_seed(rows, seed), strict=True))[rows[0][0]]
        if part == "train":
            split("--seed", str(seed), "--overwrite")
        else:
            told += 1
            message = refused(capsys, "--seed", str(seed), "--overwrite")
            assert "t.csv: the label 'once' (rows with it: 1) would be in no training row" in message
            assert "another --seed" in message
    assert 0 < told < 20


def parts_by_seed(rows, seed):
    columns = dict(zip(HEADER, map(list, zip(*rows, strict=True)), strict=True))
    label, group = (np.unique(columns[name], return_inverse=True) for name in ("y", "g"))
    part = split_by_group(pa.table(columns), label[1], group[1], group[0].tolist(), SplitOptions(seed=seed))
    return np.array(SPLITS)[part]


def test_columns_that_are_no_text_are_not_written_as_text(capsys):
    for values, kind in (([[1]] * 40, "list"), ([b"\xff"] * 40, "binary")):
        pq.write_table(pa.table({"x": values, "y": [0, 1] * 20, "g": [*range(10)] * 4}), "t.parquet")
        message = refused(capsys, path="t.parquet", output="s.csv")
        assert f"s.csv: column 'x' holds {kind}" in message
        assert ".parquet" in message
        assert os.listdir() == ["t.parquet"]


def test_a_full_disk_leaves_what_was_there(capsys, monkeypatch):
    split(path=write())
    before = {name: (Path("out") / name).read_bytes() for name in os.listdir("out")}

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    message = refused(capsys, "--overwrite", "--seed", "1")
    assert "no space left to write out/s.csv" in message
    assert {name: (Path("out") / name).read_bytes() for name in os.listdir("out")} == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="every folder may be written to")
def test_a_folder_without_write_permission(capsys):
    write()
    Path("out").mkdir(mode=0o555)
    assert "out/s.csv cannot be written: Permission denied" in refused(capsys)


def test_missing_options_are_named(capsys):
    with pytest.raises(SystemExit):
        main(["split", "--path", "t.csv"])
    assert (
        capsys.readouterr().err
        == "error: --label, --group, --output are missing; give them on the command line or by --config\n"
    )


def test_torch_is_not_imported():
    write()
    code = (
        "import sys; from drurank.cli import main; "
        "main('split --path t.csv --label y --group g --output s.csv'.split()); "
        "print(*[name for name in ('torch', 'lightning') if name in sys.modules], 'imported')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "imported"


@pytest.mark.parametrize(("name", "min_count"), [("insteval", 5), ("wisdm_har", 1), ("compas", 10)])
def test_tables_of_shared_data(name, min_count):
    path = FOLDER / f"{name}.parquet"
    if not path.is_file():
        pytest.skip(f"there is no {path}; it is not part of the repository")
    table = pq.read_table(path).drop_columns("split")
    pq.write_table(table, "t.parquet")
    words = ["--min_count", str(min_count), "--stratify"]
    manifest = split(*words, path="t.parquet", label="label", group="group", output="s.parquet")
    got = pq.read_table("s.parquet")
    group = np.array(table["group"].to_pylist())
    names, count = np.unique(group, return_counts=True)
    kept = np.isin(group, names[count >= min_count])
    assert got.drop_columns("split").equals(table.filter(pa.array(kept)))
    assert manifest["left_out"]["rows"] == (~kept).sum()
    part = np.array(got["split"].to_pylist())
    groups = {split: set(group[kept][part == split]) for split in sorted(PARTS)}
    assert sum(len(groups[split]) for split in ("train", "ood_val", "ood_test")) == (count >= min_count).sum()
    assert groups["id_val"] | groups["id_test"] == groups["train"]
    assert not groups["id_val"] & groups["id_test"]
    label = np.array(got["label"].to_pylist())
    for split_name, summary in manifest["splits"].items():
        shares = {str(y): np.mean(label[part == split_name] == y) for y in np.unique(label)}
        assert summary["label_shares"] == pytest.approx(shares)
    order = np.random.default_rng(0).permutation(table.num_rows)
    pq.write_table(table.take(order), "u.parquet", row_group_size=997)
    split(*words, path="u.parquet", label="label", group="group", output="v.parquet")
    assert Counter(map(str, pq.read_table("v.parquet").to_pylist())) == Counter(map(str, got.to_pylist()))
    assert pc.all(pc.is_valid(got["split"])).as_py()


def test_folder_that_datasets_saved_is_split(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = {"y": [i % 2 for i in range(80)], "g": [f"g{i // 4}" for i in range(80)], "x": list(range(80))}
    datasets.Dataset.from_dict(rows).save_to_disk(tmp_path / "ds")
    manifest = split(path=str(tmp_path / "ds"), output=str(tmp_path / "s.parquet"))
    assert sum(part["rows"] for part in manifest["splits"].values()) == 80
    assert len(manifest["source"]["sha256"]) == 64


def named_rows(names, size=6):
    return [[f"{row}.5", "ab"[row % 2], name] for name in names for row in range(size)]


def test_blanks_at_the_ends_of_groups_are_left_out_and_counted(capsys):
    names = [*(f"Branch {number}" for number in range(12)), "Branch 3 "]
    write(rows=named_rows(names), header=["x", "y", "g"])
    manifest = split()
    assert manifest["padded"] == {"g": 6}
    assert sum(summary["groups"] for name, summary in manifest["splits"].items() if not name.startswith("id")) == 12
    assert "Blanks at the ends of names were left out, so that 'a' and 'a ' are one: g 6 cells" in said(capsys)


TWINS = {"case": "branch 3", "blanks": "Branch  3", "Unicode form": "\uff22ranch 3"}


@pytest.mark.parametrize("kind", TWINS)
def test_groups_that_may_be_one_are_told(capsys, kind):
    write(rows=named_rows([*(f"Branch {number}" for number in range(12)), TWINS[kind]]), header=["x", "y", "g"])
    (twin,) = split()["twins"]
    assert twin["names"] == sorted(["Branch 3", TWINS[kind]])
    assert "Warning: 1 group may be written in several ways" in said(capsys)


@pytest.mark.parametrize(("one", "other"), [("Yes", "yes"), ("Yes", "\uff39es"), ("A b", "A  b"), ("7", "007")])
def test_labels_that_may_be_one_are_told(capsys, one, other):
    labels = [one, "No", one, "No", other]
    rows = [[row, labels[row % 5], f"g{row // 5 % 12}"] for row in range(360)]
    write(rows=rows, header=["x", "y", "g"])
    assert split()["label_twins"] == {other: one}
    shown = said(capsys)
    assert (
        f"Warning: labels differ only by case, blanks, Unicode form or zeros, and each counts apart: {one!r} =" in shown
    )
    assert "if they are one, split again with --relabel" in shown
    write(rows=[[row, "ab"[row % 2], f"g{row // 5 % 12}"] for row in range(360)], header=["x", "y", "g"])
    assert split("--overwrite")["label_twins"] == {}
    assert "labels differ" not in said(capsys)


def test_the_commands_that_split_ends_with_run_as_they_are(run, capsys):
    rng = np.random.default_rng(0)
    header = ["id", "y", "g", "paid", "opened", "rate", "zip, code", "colour"]
    rows = [
        [
            *(f"ID{row}", "ab"[rng.integers(2)], f"g {row % 12}", f"{rng.integers(1, 900)},500"),
            *(f"2021-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}", f"{rng.integers(100)}.5%"),
            *(rng.integers(10000, 10050), ["red", "blue", ""][row % 3]),
        ]
        for row in range(480)
    ]
    for row in rows[:60]:
        row[1], row[2] = row[1].upper(), row[2].replace("g 3", "G 3")
    rows[7][5] = "n/a"
    write(rows=rows, header=header)
    split()
    shown = said(capsys)
    assert "'G 3' = 'g 3'; if they are one, split again with --join_twins true" in shown
    manifest = split("--overwrite", "--relabel", "{A: a, B: b}", "--regroup", "{G 3: g 3}")
    assert (manifest["twins"], manifest["label_twins"]) == ([], {})
    assert sum(summary["groups"] for name, summary in manifest["splits"].items() if not name.startswith("id")) == 12
    assert [row["g"] for row in read_csv("out/s.csv")].count("G 3") == 5
    look, fit = (shlex.split(line.partition(": ")[2]) for line in capsys.readouterr().out.splitlines()[-2:])
    start = len(program())
    assert (look[: start + 1], fit[: start + 1]) == ([*program(), "inspect"], [*program(), "fit"])
    main(look[start:])
    assert "error: " not in capsys.readouterr().out
    run(*fit[start:], "--trainer.max_epochs", "1")
    taken = read_yaml(Path("runs/version_0/config.yaml").read_text())["data"]["init_args"]
    assert (taken["relabel"], taken["regroup"]) == ({"A": "a", "B": "b"}, {"G 3": "g 3"})
    assert [taken[name] for name in ("thousands", "dates", "percents", "categorical", "missing", "exclude")] == [
        *(",", "opened", "rate", ["zip, code"], "indicator", "id")
    ]


def test_the_order_of_day_and_month_is_said(capsys):
    rows = [[f"{1 + row % 28}.{1 + row % 12}.2021", "ab"[row % 2], f"g {row % 12}"] for row in range(240)]
    write(rows=rows, header=["when", "y", "g"])
    split()
    assert "when: date, day first (%d.%m.%Y) Look at it: " in said(capsys)


def test_twins_on_both_sides_are_counted(capsys):
    names = [f"{word} {number}" for number in range(10) for word in ("Branch", "branch")]
    write(rows=named_rows(names), header=["x", "y", "g"])
    twins = split()["twins"]
    side = {row["g"]: row["split"].startswith("ood") for row in read_csv("out/s.csv")}
    across = sum(side[f"Branch {number}"] != side[f"branch {number}"] for number in range(10))
    assert len(twins) == 10
    assert sum(twin["across"] for twin in twins) == across > 0
    assert f"{across} of them in training and in an OOD split" in said(capsys)


def split_apart():
    """Rows of ten branches, three of them in training by one name and in an OOD split by another."""
    part = ["train", "train", "train", "train", "train", "id_val", "ood_val", "ood_val", "ood_test", "ood_test"]
    label = np.random.default_rng(0).integers(0, 2, 400)
    rows = [[row * 77 % 101, "ab"[label[row]], f"Branch {row % 10}", part[row % 10]] for row in range(400)]
    for row in rows[:40]:
        place = int(row[2][-1])
        if place < 3:
            row[2], row[3] = row[2].upper(), "ood_test"
    write(rows=rows, header=["x", "y", "g", "part"])


WORDS = ["--data.path", "t.csv", "--data.label", "y", "--data.group", "g", "--data.split", "part"]


def command_of(shown):
    """The command between the only back quotes of what was shown."""
    (_, command, _) = " ".join(shown.split()).split("`")
    words = shlex.split(command)
    assert words[: len(program())] == program()
    return words[len(program()) :]


def test_twins_that_were_split_apart_are_split_again_with_the_command_that_is_named(run, capsys):
    split_apart()
    main(["inspect", *WORDS])
    shown = capsys.readouterr().out
    text = " ".join(shown.split())
    assert "'BRANCH 2' = 'Branch 2', 3 of these groups in training and in an OOD split; each counts apart" in text
    finding = text[text.index("each counts apart") :].partition(" note: ")[0].partition(" warning: ")[0]
    with pytest.raises(SystemExit):
        main(["fit", "--data", "Table", *WORDS, "--data.join_twins", "true", "--model", "ERM"])
    refused = capsys.readouterr().err
    assert "by --data.join_twins true groups are one that were split apart; split the rows again: `" in refused
    words = command_of(refused[refused.index("error: ") :])
    assert words == command_of(finding)
    assert words[:9] == ["split", "--path", "t.csv", "--label", "y", "--group", "g", "--output", "t_joined.csv"]
    assert words[9:] == ["--split", "part_joined", "--join_twins", "true"]
    main(words)
    sides = {}
    for row in read_csv("t_joined.csv"):
        sides.setdefault(row["g"].lower(), set()).add(row["part_joined"].startswith("ood"))
    assert [*map(len, sides.values())] == [1] * 10
    fit = shlex.split(capsys.readouterr().out.splitlines()[-1].partition(": ")[2])
    assert fit[fit.index("--data.exclude") + 1] == "part"
    run(*fit[len(program()) :], "--trainer.max_epochs", "1")


def test_groups_that_are_in_an_ood_split_by_their_own_name_need_no_join(capsys):
    split_apart()
    text = Path("t.csv").read_text().replace("BRANCH", "Branch")
    Path("t.csv").write_text(text)
    with pytest.raises(SystemExit):
        main(["fit", "--data", "Table", *WORDS, "--data.join_twins", "true", "--model", "ERM"])
    assert "put all rows of a group on one side" in capsys.readouterr().err


def test_twins_are_joined_all_at_once_and_rows_that_min_count_would_leave_out_stay(run, capsys):
    rows = [[row * 77 % 101, "ab"[row % 2], f"Branch {row % 12}"] for row in range(240)]
    for row in rows[:36]:  # three of each branch
        row[2] = row[2].upper()
    write(rows=rows, header=["x", "y", "g"])
    apart = split("--min_count", "5")
    assert [twin["lost"] for twin in apart["twins"]] == [3] * 12
    assert (
        "if they are one, split again with --join_twins true; 36 rows that --min_count 5 leaves out then stay"
        in said(capsys)
    )
    one = split("--overwrite", "--min_count", "5", "--join_twins")
    assert one["twins"] == []
    assert one["left_out"]["rows"] == 0
    sides = {}
    for row in read_csv("out/s.csv"):
        sides.setdefault(row["g"].lower(), set()).add(row["split"].startswith("ood"))
    assert list(map(len, sides.values())) == [1] * 12
    assert len(read_csv("out/s.csv")) == 240
    shown = capsys.readouterr().out
    assert "may be written in several ways" not in shown
    fit = shlex.split(shown.splitlines()[-1].partition(": ")[2])
    assert fit[fit.index("--data.join_twins") + 1] == "true"
    run(*fit[len(program()) :], "--trainer.max_epochs", "1")


def said(capsys):
    return " ".join(capsys.readouterr().out.split())


def test_copies_of_a_row_stay_in_one_split():
    rows = [[f"{group}.{row // 3}", "ab"[row // 3 % 2], f"g{group}"] for group in range(10) for row in range(30)]
    write(rows=rows, header=["x", "y", "g"])
    manifest = split()
    splits = {}
    for row in read_csv("out/s.csv"):
        splits.setdefault((row["x"], row["g"]), set()).add(row["split"])
    assert all(len(found) == 1 for found in splits.values())
    assert manifest["splits"]["id_val"]["rows"] + manifest["splits"]["id_test"]["rows"] == 6 * 2 * 3


INDICES = {"none": [], "one": ["Unnamed: 0"], "two": ["Unnamed: 0", "Unnamed: 0.1"]}


@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
def test_copies_that_an_index_or_blanks_around_a_group_tell_apart_stay_in_one_split(indices, capsys):
    rng = np.random.default_rng(0)
    names = [*indices, "x", "z", "y", "g"]
    once = [[f"{rng.normal():.6f}", row % 7, "ab"[rng.integers(2)], f"g{row % 10}"] for row in range(300)]
    again = [[*row[:3], f" {row[3]} " if place % 2 else row[3]] for place, row in enumerate(once)]
    rows = [[*[place] * len(indices), *row] for place, row in enumerate(once + again)]
    write(rows=rows, header=names)
    split("--stratify")
    splits = {}
    for row in read_csv("out/s.csv"):
        splits.setdefault(row["x"], []).append(row["split"])
    assert [len(set(found)) for found in splits.values()] == [1] * 300
    shuffled = rng.permutation(len(rows))
    write(rows=[rows[place] for place in shuffled], header=names)
    split("--stratify", "--overwrite")
    assert all(row["split"] == splits[row["x"]][0] for row in read_csv("out/s.csv"))
    main(["inspect", "--data.path", "out/s.csv", "--data.label", "y", "--data.group", "g", "--data.split", "split"])
    assert "copies_across_splits" not in capsys.readouterr().out


def test_copies_on_both_sides_are_split_again_with_the_command_that_is_named(capsys):
    """Row 0 has a copy in its group, row 1 one in another; an index tells each copy from its row."""
    rng = np.random.default_rng(0)
    part = {8: "ood_val", 9: "ood_test"}
    rows = [[f"{rng.normal():.6f}", "ab"[rng.integers(2)], f"g{row % 10}", part.get(row % 10)] for row in range(200)]
    rows = [[*row[:3], row[3] or ("id_val" if 100 <= place < 140 else "train")] for place, row in enumerate(rows)]
    rows[100] = [*rows[0][:3], "id_val"]
    write(rows=[[place, *row] for place, row in enumerate(rows)], header=["Unnamed: 0", "x", "y", "g", "part"])
    main(["inspect", *WORDS])
    text = " ".join(capsys.readouterr().out.split())
    assert "`split` keeps copies in one group together: split the rows again: `" in text
    assert "take the copies" not in text
    _, again = text.split("split the rows again: `")
    words = shlex.split(again.partition("`")[0])[len(program()) :]
    assert words[:3] == ["split", "--path", "t.csv"]
    for seed in range(4):
        main([*words, "--overwrite", "--seed", str(seed)])
        written = read_csv("t_again.csv")
        assert written[0]["part_again"] == written[100]["part_again"]
    rows[101] = [*rows[1][:2], "g2", "id_val"]
    write(rows=rows, header=["x", "y", "g", "part"])
    main(["inspect", *WORDS])
    assert "take the copies of other groups out of the file" in " ".join(capsys.readouterr().out.split())


def test_labels_of_a_configuration_are_the_text_that_is_typed(tmp_path):
    rows = [f"{'abcdefgh'[row % 8]},{('yes', 'Yes', 'no')[row // 8 % 3]}" for row in range(96)]
    (tmp_path / "t.csv").write_text("\n".join(["g,y", *rows]) + "\n")
    (tmp_path / "s.yaml").write_text("path: t.csv\nlabel: y\ngroup: g\nrelabel: {yes: Yes, no: No}\noutput: out.csv\n")
    main(["split", "--config", "s.yaml"])
    assert json.loads((tmp_path / "out.manifest.json").read_text())["renames"]["relabel"] == {"yes": "Yes", "no": "No"}


@pytest.mark.parametrize(
    ("groups", "words", "said"),
    [
        # of 20 groups 3 are tested; 20 of 20 cannot be, and .4 of them are 8
        (
            20,
            (),
            "has 3 groups: worst, p10 and qdcg10 hang on its 2 worst, .*; --ood_test 0.4 takes 8 groups; or",
        ),
        # p10 of 13 lies between the second and the third worst; 20 of 60 are 1 in 3
        (60, ("--ood_test", "0.21"), "has 13 groups: .* hang on its 3 worst, .*; --ood_test 0.34 takes 20 groups; or"),
        (20, ("--ood_test", "0.4"), "has 8 groups: .* by more than chance; give a study several splits"),
        (60, ("--ood_test", "0.34"), None),
        (20, ("--ood_test", "0"), None),
    ],
)
def test_of_few_tested_groups_it_is_said_what_that_means(groups, words, said, capsys):
    write(rows=cells(groups))
    split(*words)
    out = capsys.readouterr().out
    assert re.search(f"{said}", out) if said else "worst, p10 and qdcg10 hang on" not in out
