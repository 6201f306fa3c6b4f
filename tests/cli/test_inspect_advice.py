"""The command that `inspect` ends with works as it is printed, with every option that the findings name."""

import csv
import shlex
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import yaml

from drurank import __main__ as program
from drurank.cli import main
from drurank.cli.inspect import named_sections
from drurank.yaml_files import read_yaml
from faults import CASES, WORDS, put, rows_of, sound, ten_faults
from random_tables import random_table

ROOT = Path(__file__).resolve().parents[2]
BY_HAND = {"blank_label", "blank_group", "blank_split", "unseen_labels"}
"""Of the single faults, those for which there is no option."""


def look(*words):
    return main(["inspect", *map(str, words)])


def printed(out):
    """The commands that were printed, by name, and the codes of what is to be mended by hand."""
    lines = [line for line in out.splitlines() if ": drurank " in line]
    commands = [shlex.split(line.partition(": drurank ")[2]) for line in lines]
    said = [line for line in out.splitlines() if line.startswith("No option remedies ")]
    by_hand = {code for line in said for code in line.removeprefix("No option remedies ").partition(":")[0].split(", ")}
    asked = {"split_spelling"} if "Only you know what these splits are: add --data.split_names" in out else set()
    return {name: words for name, *words in commands}, by_hand | asked


def errors(inspection):
    return {finding.code for finding in inspection.findings if finding.severity == "error"}


def data_of(fit):
    """The words of the data among those of a fit."""
    return fit[: fit.index("--model")]


def test_all_faults_together_are_remedied(capsys):
    table = ten_faults()
    put(table, "y", {3: " 4"})
    table |= {"id": [f"row {row}" for row in range(720)], "when": [f"2021-{row % 9 + 1:02}-03" for row in range(720)]}
    table |= {"zip": [f"0{row % 7}123" for row in range(720)], "raw": [b"\x00"] * 720}
    pq.write_table(pa.table(table), "t.parquet")
    assert look("--data.path", "t.parquet", *WORDS).exit_status == 1
    commands, by_hand = printed(capsys.readouterr().out)
    fit = commands["fit"]
    assert by_hand == set()
    assert fit[-2:] == ["--model", "DRU"]
    given = dict(zip(fit[8:-2:2], fit[9:-2:2], strict=True))
    assert fit[:8] == ["--data", "Table", "--data.path", "t.parquet", *WORDS[:4]]
    assert {name: yaml.safe_load(value) for name, value in given.items() if name != "--data.split"} == {
        "--data.missing": "indicator",
        "--data.dates": "when",
        "--data.exclude": "id,raw,leak",
        "--data.split_names": {"Trian": "train", "ood_test": "test"},
        "--data.join_twins": True,
    }
    again = look(*data_of(fit))
    assert again.exit_status == 0
    assert printed(capsys.readouterr().out)[0]["fit"] == fit


@pytest.fixture
def messy():
    """A CSV file without a split whose columns need options of all kinds."""
    rng = np.random.default_rng(0)
    rows = range(640)
    table = {
        "id": [f"id{row}" for row in rows],
        "when": [f"2021-{row % 12 + 1:02}-{rng.integers(10, 29)}" for row in rows],
        "paid": [f"{rng.integers(1, 8)},{rng.integers(100, 999)}" for _ in rows],
        "rate": [f"{rng.integers(1, 90)}.5%" for _ in rows],
        "zip": [f"0{rng.integers(1000, 1040)}" for _ in rows],
        "age": ["high" if row % 97 == 3 else str(rng.integers(20, 60)) for row in rows],
        "note": ["" if row % 50 == 7 else "abc"[rng.integers(3)] for row in rows],
        "y, stars": ["Yes" if row == 11 else ("yes", "no")[rng.integers(2)] for row in rows],
        "hospital": [f"{'North' if row % 3 else 'north'} {row % 32}" for row in rows],
    }
    # Only once 'Yes' is 'yes' it determines the label.
    table["leak"] = [f"L{label.lower()}" for label in table["y, stars"]]
    pa_csv.write_csv(pa.table(table), "m.csv")
    return ["--data.path", "m.csv", "--data.label", "y, stars", "--data.group=hospital"]


def test_what_lacks_a_split_is_split_and_then_trained_on(messy, run, capsys):
    assert look(*messy).exit_status == 1
    commands, by_hand = printed(capsys.readouterr().out)
    assert by_hand == set()
    split, fit = commands["split"], commands["fit"]
    assert split[split.index("--output") + 1] == "m_split.csv"
    main(["split", *split])
    capsys.readouterr()
    assert look(*data_of(fit)).exit_status == 0
    run("fit", *fit, "--trainer.max_epochs", "1")
    taken = read_yaml(Path("runs/version_0/config.yaml").read_text())["data"]["init_args"]
    assert (taken["label"], taken["relabel"], taken["join_twins"]) == ("y, stars", {"Yes": "yes"}, True)
    assert taken["exclude"] == "id,leak"
    look(*messy)
    assert "m_split_2.csv" in printed(capsys.readouterr().out)[0]["split"]


def test_rows_that_a_split_leaves_out_need_no_hand(messy, capsys):
    header, *rows = csv.reader(Path("m.csv").read_text().splitlines())
    rows[5][header.index("y, stars")] = rows[6][header.index("hospital")] = ""
    with Path("m.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    look(*messy)
    commands, by_hand = printed(capsys.readouterr().out)
    assert by_hand == set()
    assert commands["split"][-6:] == ["--drop_missing", "true", "--stratify", "true", "--min_count", "5"]
    main(["split", *commands["split"]])
    assert look(*data_of(commands["fit"])).exit_status == 0


@pytest.mark.parametrize(("size", "written"), [(4, "s1,S1"), (2, "s1,S1"), (4, "s1")])
def test_small_groups_are_left_out_where_larger_ones_are_left(size, written, capsys):
    """Of two ways of writing, joined, each group has twice the rows; README's command has the same options."""
    names = written.split(",")
    lines = [f"{row},{row % 2},{names[row % len(names)]}{group}" for group in range(8) for row in range(size * 2)]
    rows = lines if len(names) > 1 else lines[::2]
    Path("t.csv").write_text("\n".join(["x,y,g", *(f"{i}{line}" for i, line in enumerate(rows))]))
    look("--data.path", "t.csv", *WORDS[:4])
    out = capsys.readouterr().out
    least = ["--min_count", "5"] if size * len(names) >= 5 else []
    assert printed(out)[0]["split"][-2 - len(least) :] == ["--stratify", "true", *least]
    assert ("--min_count 5 leaves out groups of fewer rows" in out) is bool(least)
    for file in ("README.md", "docs/tables.md"):
        assert "--min_count 5 --stratify\n" in (ROOT / file).read_text()


def test_a_column_that_says_the_split_is_named(capsys):
    table = sound()
    table["part"] = table.pop("s")
    pq.write_table(pa.table(table), "t.parquet")
    assert look("--data.path", "t.parquet", *WORDS[:4]).exit_status == 0
    commands, _ = printed(capsys.readouterr().out)
    assert commands["fit"][-4:] == ["--data.split", "part", "--model", "DRU"]
    assert "split" not in commands


def test_values_of_features_that_are_one_are_joined_and_counted_both_ways(run, capsys, caplog):
    table = sound()
    put(table, "c", {row: table["c"][row].title() for row in range(0, 700, 7)})
    put(table, "g", {row: table["g"][row].upper() for row in range(0, 700, 7)})
    pq.write_table(pa.table(table), "t.parquet")
    look("--data.path", "t.parquet", *WORDS)
    fit = printed(capsys.readouterr().out)[0]["fit"]
    assert fit[-6:] == ["--data.join_twins", "true", "--data.join_feature_twins", "c", "--model", "DRU"]
    assert look(*data_of(fit)).exit_status == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "48 values, 24 groups after joining" in shown
    assert "6 values, 3 after joining" in shown
    run("fit", *fit, "--trainer.max_epochs", "1")
    said = " ".join(caplog.messages)
    assert "group: g (48 values, 24 groups after joining)" in said
    assert "categories: c (6, 3 after joining)" in said


def test_twins_on_both_sides_are_left_apart(capsys):
    table = sound()
    put(table, "g", dict.fromkeys(rows_of("g20"), "G01"))
    pq.write_table(pa.table(table), "t.parquet")
    look("--data.path", "t.parquet", *WORDS)
    fit = printed(capsys.readouterr().out)[0]["fit"]
    assert "--data.join_twins" not in fit
    assert look(*data_of(fit)).exit_status == 0


@pytest.mark.parametrize("case", CASES)
def test_a_single_fault_is_remedied_by_an_option_or_named(capsys, case):
    table = sound()
    CASES[case][0](table)
    pq.write_table(pa.table(table), "t.parquet")
    look("--data.path", "t.parquet", *WORDS)
    commands, by_hand = printed(capsys.readouterr().out)
    assert by_hand <= BY_HAND
    assert errors(look(*data_of(commands["fit"]))) == by_hand


def test_what_is_printed_for_random_tables_leaves_what_is_to_be_mended_by_hand(capsys):
    tables = [random_table(seed) for seed in range(60)]
    usable = [(table, options) for _, table, options in tables if options["split"] and not options["texts"]]
    assert len(usable) > 10
    for table, options in usable:
        pq.write_table(table, "r.parquet")
        words = ["--data.path", "r.parquet", "--data.label", options["label"], "--data.split", options["split"]]
        words += ["--data.group", ",".join(options["group"])] if options["group"] else []
        capsys.readouterr()
        look(*words)
        commands, by_hand = printed(capsys.readouterr().out)
        assert errors(look(*data_of(commands["fit"]))) == by_hand


def test_options_of_a_configuration_and_typed_ones_are_kept(capsys):
    table = sound()
    table |= {"leak": [f"is {y}" for y in table["y"]], "id": [f"row {row}" for row in range(720)]}
    pq.write_table(pa.table(table), "t.parquet")
    data = {"class_path": "Table", "init_args": {"path": "t.parquet", "label": "y", "group": "g", "exclude": ["id"]}}
    Path("c.yaml").write_text(yaml.safe_dump({"data": data, "model": {"class_path": "ERM"}}))
    words = ["--config", "c.yaml", "--data.split", "s", "--output", "seen", "--overwrite", "--data.batch_size", "8"]
    look(*words)
    fit = printed(capsys.readouterr().out)[0]["fit"]
    assert fit == [*words[:4], *words[-2:], "--data.exclude", "id,leak"]
    assert named_sections(words) == {"data", "model"}


def test_features_that_are_named_are_left_out_there(capsys):
    table = sound()
    table["leak"] = [f"is {y}" for y in table["y"]]
    pq.write_table(pa.table(table), "t.parquet")
    look("--data.path", "t.parquet", *WORDS, "--data.features", "x,leak")
    fit = printed(capsys.readouterr().out)[0]["fit"]
    assert fit[-4:-2] == ["--data.features", "x"]
    assert "--data.exclude" not in fit
    assert look(*data_of(fit)).exit_status == 0


def test_a_remedy_is_said_once(messy, capsys):
    look(*messy)
    said = " ".join(capsys.readouterr().out.partition("No column says")[0].split())
    for remedy in ("--data.thousands ','", "--data.percents rate", "--data.dates when", "--data.exclude id"):
        assert said.count(remedy) == 1, remedy


@pytest.mark.parametrize(("fault", "status"), [("determines_label", 1), ("distinct_columns", 0)])
def test_the_exit_status_says_whether_an_error_was_found(monkeypatch, fault, status):
    table = sound()
    CASES[fault][0](table)
    pq.write_table(pa.table(table), "t.parquet")
    monkeypatch.setattr(sys, "argv", ["drurank", "inspect", "--data.path", "t.parquet", *WORDS])
    if status == 0:
        return program.console()
    with pytest.raises(SystemExit) as stop:
        program.console()
    assert stop.value.code == status
    return None


def patients(rows=300, copies="none", index=False):
    """A table whose six-figure IDs are no categories, of which 20 rows have a copy."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, rows)
    table = {
        "Patient ID": (100000 + rng.permutation(rows)).tolist(),
        "x": (rng.normal(size=rows) + label).round(6).tolist(),
        "y": [("no", "yes")[value] for value in label],
        "g": [f"g {row % 10}" for row in range(rows)],
    }
    again = {"none": [], "in groups": range(20), "of other groups": range(20), "of all": range(rows)}[copies]
    for row in again:
        for name, cells in table.items():
            cells.append(f"g {row % 7}" if (copies, name) == ("of other groups", "g") else cells[row])
    return {**({"Unnamed: 0": [*range(len(table["x"]))]} if index else {}), **table}


TABLES = {
    "few": {},
    "with an index": {"index": True},
    "copies": {"copies": "in groups"},
    "copies with an index": {"copies": "in groups", "index": True},
    "copies in other groups": {"copies": "of other groups", "index": True},
    "each row twice": {"copies": "of all", "index": True},
    "more than one-hot takes": {"rows": 4000},
}


def both_remedies(text, column):
    """Whether a text advises to take a column as categories and to leave it out."""
    given = [f"--data.{option} '{column}'" in " ".join(text.split()) for option in ("categorical", "exclude")]
    return all(given)


@pytest.mark.parametrize("options", TABLES.values(), ids=TABLES)
def test_an_id_is_left_out_however_many_rows_and_copies_there_are(options, run, capsys):
    pa_csv.write_csv(pa.table(patients(**options)), "p.csv")
    main(["split", "--path", "p.csv", "--label", "y", "--group", "g", "--output", "s.csv"])
    commands = [shlex.split(line)[-4:] for line in capsys.readouterr().out.splitlines() if "Train on it" in line]
    assert commands == [["--data.exclude", "Patient ID", "--model", "DRU"]]
    look("--data.path", "s.csv", "--data.label", "y", "--data.group", "g", "--data.split", "split")
    shown = capsys.readouterr().out
    assert "--data.categorical" not in shown
    fit = printed(shown)[0]["fit"]
    assert fit[fit.index("--data.exclude") + 1] == "Patient ID"
    run("fit", *fit, "--trainer.max_epochs", "1")


def test_codes_that_repeat_are_categories_up_to_what_one_hot_takes(capsys):
    for codes, option, other in ((900, "categorical", "exclude"), (2900, "exclude", "categorical")):
        table = patients(6000)
        table["Patient ID"] = [100000 + row % codes for row in range(6000)]
        table["split"] = [{8: "ood_val", 9: "ood_test"}.get(row % 10, "train") for row in range(6000)]
        pa_csv.write_csv(pa.table(table), "p.csv")
        look("--data.path", "p.csv", "--data.label", "y", "--data.group", "g", "--data.split", "split")
        shown = " ".join(capsys.readouterr().out.split())
        assert f"--data.{option} 'Patient ID'" in shown
        assert f"--data.{other} 'Patient ID'" not in shown


@pytest.mark.parametrize("by", ["option", "configuration"])
def test_an_option_for_columns_that_are_left_out_is_taken_back(by, run, capsys):
    table = patients()
    table["split"] = [{8: "ood_val", 9: "ood_test"}.get(row % 10, "train") for row in range(300)]
    pa_csv.write_csv(pa.table(table), "p.csv")
    words = ["--data.path", "p.csv", "--data.label", "y", "--data.group", "g", "--data.split", "split"]
    if by == "option":
        words += ["--data.categorical", "Patient ID"]
    else:
        config = {"class_path": "drurank.data.Table", "init_args": {"categorical": "Patient ID"}}
        Path("c.yaml").write_text(yaml.safe_dump({"data": config}))
        words = ["--config", "c.yaml", *words]
    look(*words)
    shown = capsys.readouterr().out
    assert not both_remedies(shown, "Patient ID")
    fit = printed(shown)[0]["fit"]
    assert fit[fit.index("--data.exclude") + 1] == "Patient ID"
    run("fit", *fit, "--trainer.max_epochs", "1")
    taken = read_yaml(Path("runs/version_0/config.yaml").read_text())["data"]["init_args"]
    assert (taken["categorical"], taken["exclude"]) == (None, "Patient ID")
