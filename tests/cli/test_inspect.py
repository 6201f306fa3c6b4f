"""The command `inspect`: what it takes, shows and writes."""

import csv
import io
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from drurank.cli import main
from drurank.cli.inspect import data_words, print_inspection
from drurank.errors import InputError
from drurank.tabular.gathering import gather_rows
from drurank.tabular.inspection import inspect_rows
from drurank.terminal import Terminal
from faults import WORDS, look, sound, ten_faults
from random_tables import random_table

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT.parent / "shared" / "data"


def test_all_ten_planted_faults_are_named(tmp_path):
    pq.write_table(pa.table(ten_faults()), tmp_path / "ten.parquet")
    inspection = main(["inspect", "--data", "Table", "--data.path", str(tmp_path / "ten.parquet"), *WORDS])
    by_kind = {finding.code: finding for finding in inspection.findings}
    planted = {
        "one_class_groups": ("g02", "'g02' (30 rows, all '3')"),
        "label_scale": ("g03", "'g03'"),
        "determines_label": ("leak", "exclude='leak'"),
        "spelling": ("G04", "'G04' = 'g04'"),
        "padded_cells": ("g", "g 15 cells"),
        "shared_groups": ("g05", "1 of 8 groups of ood_test (12 rows) is in train too ('g05')"),
        "tiny_groups": ("lonely", "1 of 8 groups in ood_test, as 'lonely' (2)"),
        "copies_across_splits": ("670", "3 of 180 in ood_test (row 670 is row 130"),
        "missing_cells": ("x", "x 17 (2.4%)"),
        "constant_columns": ("same", "exclude='same'"),
        "split_spelling": ("Trian", "'Trian' (3 rows)"),
    }
    for kind, (name, said) in planted.items():
        assert name in by_kind[kind].names
        assert said in by_kind[kind].sentence
    order = [finding.severity for finding in inspection.findings]
    assert order == sorted(order, key=["error", "warning", "note"].index)
    # What else is said follows from these: labels of the other scale are rare, or training has none of the rare ones.
    assert set(by_kind) - set(planted) == {"rare_labels"}


@pytest.fixture
def written(tmp_path):
    pq.write_table(pa.table(sound()), tmp_path / "t.parquet")
    return str(tmp_path / "t.parquet")


def test_a_bare_path_means_a_table(written, capsys):
    inspection = main(["inspect", "--data.path", written, *WORDS, "--output", "seen"])
    assert inspection.findings == []
    assert sorted(path.name for path in Path("seen").iterdir()) == ["findings.json", "groups.csv"]
    said = capsys.readouterr().out
    assert "Nothing suspicious was found." in said
    assert "37.6 points" in " ".join(said.split())


def test_of_a_configuration_only_the_data_counts(written, tmp_path):
    init_args = {"path": "elsewhere.parquet", "label": "y", "group": "g", "split": "s", "batch_size": 7}
    content = {
        "seed_everything": 3,
        "model": {"class_path": "no.such.Method"},
        "trainer": {"max_epochs": 5},
        "data": {"class_path": "drurank.data.Table", "init_args": init_args},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    (tmp_path / "method.yaml").write_text("model: {class_path: DRU}\n", encoding="utf-8")
    words = ["--config", "config.yaml", "--config=method.yaml", "--data.path", written]
    assert [split.rows for split in main(["inspect", *words]).splits] == [360, 180, 180]


def test_csv_is_looked_at_as_well(tmp_path):
    table = ten_faults()
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    inspection = main(["inspect", "--data.path", "t.csv", *WORDS])
    assert [f.sentence for f in inspection.findings] == [f.sentence for f in look(table).findings]


@pytest.mark.parametrize(("name", "parts"), [("Synthetic", (1000, 500, 500)), ("Shortcut", (200, 100, 100))])
def test_generated_data_is_counted(name, parts):
    inspection = main(["inspect", "--data", name])
    assert tuple(part.groups for part in inspection.splits) == parts
    assert inspection.findings == []
    tiny = main(["inspect", "--data", name, "--data.groups", "[3,2,2]", "--data.group_size", "5"])
    assert "tiny_groups" in {finding.code for finding in tiny.findings}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data.path", "none.csv", *WORDS], "there is no file none.csv"),
        (["--data.path", "t.parquet", "--data.label", "yy"], "t.parquet has no column 'yy'; did you mean 'y'?"),
        (["--data.path", "t.parquet", "--data.label", "raw"], "column 'raw' holds binary"),
        (["--data.path", "t.parquet"], "--data.label is missing"),
        (["--data", "Tabel"], "there is no data 'Tabel': did you mean 'Table'?"),
        (["--data.path", "t.parquet", "--data.lable", "y"], "did you mean"),
        (["--data.path", "t.parquet", *WORDS, "--outptu", "a"], "did you mean '--output'?"),
        (["--config", "none.yaml"], "--config none.yaml cannot be read"),
    ],
)
def test_what_cannot_be_looked_at_is_one_sentence(words, said, refused):
    pq.write_table(pa.table({**sound(), "raw": [b"\x00"] * 720}), "t.parquet")
    assert said in refused("inspect", *words)


def test_a_configuration_that_is_a_list_is_refused(tmp_path):
    (tmp_path / "list.yaml").write_text("- data\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"list\.yaml holds no sections"):
        data_words(["--config", "list.yaml"])


NAMES = [
    "plain",
    "two words",
    "a, b",
    "a,b",
    " edge",
    "Unnamed: 0",
    "[kg]",
    "[kg], m",
    "null",
    "it's",
    "- x",
    "-x",
    "#",
    "a (b)",
]
NAMES += ["100 %", "012", "{a: b}", 'say "x"', "~"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("flag", ["--data.exclude", "--data.allow_leaks"])
def test_what_is_advised_works_when_it_is_pasted(name, flag, capsys):
    table = sound()
    table[name] = [f"is {y}" for y in table["y"]]
    pq.write_table(pa.table(table), "t.parquet")
    main(["inspect", "--data.path", "t.parquet", *WORDS])
    said = " ".join(capsys.readouterr().out.split("error: determines_label")[1].split())
    advice = shlex.shlex(said.partition(f"({flag} ")[2], posix=True)
    advice.whitespace, advice.commenters, advice.whitespace_split = " )", "", True
    inspection = main(["inspect", "--data.path", "t.parquet", *WORDS, flag, next(advice)])
    assert inspection.findings == []


def test_cells_that_keep_a_column_from_numbers_are_advised_about_by_a_flag_that_works(capsys):
    table = {name: [str(cell) for cell in cells] for name, cells in sound().items()}
    table["x"][3] = "high"
    table["height, cm"] = table.pop("x")
    with open("t.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    inspection = main(["inspect", "--data.path", "t.csv", *WORDS])
    (finding,) = [f for f in inspection.findings if f.code == "unusable_columns"]
    assert "categorical=['height, cm']" in finding.sentence
    inspection = main(["inspect", "--data.path", "t.csv", *WORDS, "--data.categorical", "['height, cm']"])
    assert "unusable_columns" not in {f.code for f in inspection.findings}


@pytest.mark.filterwarnings("error")
def test_no_random_small_table_ends_in_a_traceback():
    for seed in [*range(200), 1238]:
        name, table, options = random_table(seed)
        inspection = inspect_rows(gather_rows(name, table, **options))
        print_inspection(inspection, Terminal(file=io.StringIO(), width=80))
        assert inspection.groups_table().num_rows == len(inspection.cells.count)
        assert all("\n" not in finding.sentence for finding in inspection.findings)


def test_how_each_column_is_taken_is_shown_and_the_odd_are_marked(tmp_path, capsys):
    table = sound()
    n = len(table["x"])
    table["when"] = [f"2021-{row % 12 + 1:02}-{row % 28 + 1:02}" for row in range(n)]
    table |= {f"x{number}": table["x"] for number in range(45)}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    main(["inspect", "--data.path", str(tmp_path / "t.parquet"), *WORDS])
    said = " ".join(capsys.readouterr().out.split())
    assert "How each column is taken" in said
    assert "--data.dates when" in said
    assert "And 12 more columns, none of which looks odd" in said  # of x, k, c, y, g, s, when and 45 more, 40 are shown
