"""What predict writes: columns of the data beside it, the format of the ending, a column a class."""

import csv
import logging
import shlex

import numpy as np
import pyarrow.parquet as pq
import pytest

from drurank.callbacks import PredictionWriter
from drurank.cli import main
from drurank.cli.program import program
from drurank.errors import InputError
from drurank.tabular.reading import read_table
from runs import read_json

HEADER = ["row", "split", "group", "seen_in_training", "label", "prediction"]


@pytest.fixture(scope="module")
def trained(run, tmp_path_factory):
    """A table whose rows are in no order of their splits, and the last checkpoint of a run on it."""
    folder = tmp_path_factory.mktemp("trained")
    rng = np.random.default_rng(0)
    with (folder / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "note", "x", "y", "g", "split"])
        for i in range(90):
            split = ["train", "val", "train"][i % 3]
            writer.writerow([f"00{i}", f'said "{i}", and more', rng.normal(), "no" if i % 2 else "yes", i % 5, split])
    columns = ["--data", "Table", "--data.path", folder / "t.csv", "--data.exclude", "id,note", "--data.label", "y"]
    columns += ["--data.group", "g", "--data.split", "split", "--model", "ERM", "--trainer.max_epochs", "1"]
    run("fit", *columns, "--trainer.default_root_dir", folder / "runs")
    return folder / "t.csv", folder / "runs/version_0/checkpoints/last.ckpt"


def rows_of(file):
    with open(file, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_kept_columns_are_those_of_the_row(trained, run):
    table, checkpoint = trained
    source = rows_of(table)
    run("predict", "--ckpt_path", checkpoint, "--keep", "id,note", "--output", "p.csv")
    found = rows_of("p.csv")
    assert list(found[0]) == ["row", "id", "note", *HEADER[1:], "probability_no", "probability_yes"]
    assert len(found) == 90
    for row in found:
        said = source[int(row["row"])]
        assert [row["id"], row["note"], row["label"], row["split"]] == [said[k] for k in ("id", "note", "y", "split")]
        share = [float(row[f"probability_{name}"]) for name in ("no", "yes")]
        assert sum(share) == pytest.approx(1, abs=1e-5)
        assert row["prediction"] == ("no", "yes")[int(np.argmax(share))]


@pytest.mark.parametrize("columns", [["x", "g"], ["x"], ["x", "g", "split"]])
def test_rows_of_groups_that_training_lacks_are_counted_once(trained, run, caplog, columns):
    rows = [
        {"x": 0.5, "g": group, "split": split}
        for group, split in [("1", "val"), ("8", "val"), ("9", "val"), ("9", "val"), ("7", "ood_test")]
    ]
    with open("new.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    with caplog.at_level(logging.INFO):
        run("predict", "--ckpt_path", trained[1], "--data.path", "new.csv", "--output", "new_p.csv")
    said = [record.getMessage() for record in caplog.records if "of groups that" in record.getMessage()]
    # Those of ood_test are unseen by its name.
    counted = {2: "4 of 5 rows (3 of 4 groups) are of groups that training did not have: '7', '8', '9'", 1: None}
    counted[3] = "3 of 4 rows (2 of 3 groups) are of groups that training did not have: '8', '9'"
    where = "new.csv, val" if "split" in columns else "new.csv"
    assert said == [f"{where}: {counted[len(columns)]}"] * (len(columns) > 1)
    seen = [row.get("seen_in_training") for row in rows_of("new_p.csv")]
    assert seen == (["true", *["false"] * 4] if len(columns) > 1 else [None] * 5)


@pytest.mark.parametrize("columns", ["x,g,y,split", "x,g,y", "x,g", "x,y", "x,g,label"])
def test_the_command_that_reports_is_named_where_rows_have_labels_and_works(trained, run, capsys, columns):
    names = columns.split(",")
    with open("new.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        cells = {"split": "ood_test", "y": "no", "label": "no"}
        writer.writerows(
            [[{"x": row - 3.5, "g": ["1", "8", "9"][row % 3], **cells}[name] for name in names] for row in range(9)]
        )
    run("predict", "--ckpt_path", trained[1], "--data.path", "new.csv", "--output", "q.csv")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Report on them: ")]
    assert len(lines) == ({"g", "y"} <= set(names))
    if not lines:
        return
    words = shlex.split(lines[0].partition(": ")[2])[len(program()) :]
    assert words[:3] == ["report", "--predictions", "q.csv"]
    report = main(words)
    (content,) = report["splits"].values()
    assert (content["rows"], content["groups"], content["groups_unseen_in_training"]) == (9, 3, 2)
    assert "2 of 3 groups unseen in training." in " ".join(capsys.readouterr().out.split())
    groups = {row["group"]: row["seen_in_training"] for row in rows_of("q_report/groups.csv")}
    assert groups == {"1": "true", "8": "false", "9": "false"}


@pytest.mark.parametrize("name", ["p.parquet", "p.tsv"])
def test_the_ending_says_the_format(trained, run, name):
    run("predict", "--ckpt_path", trained[1], "--output", name)
    if name.endswith("tsv"):
        with open(name, encoding="utf-8") as lines:
            assert len(next(lines).split("\t")) == 8
    else:
        assert pq.read_table(name).column_names == [*HEADER, "probabilities"]


def test_a_column_a_class_and_the_list_are_the_same_figures(trained, run):
    run("predict", "--ckpt_path", trained[1], "--output", "list.parquet")
    run("predict", "--ckpt_path", trained[1], "--output", "columns.parquet", "--by_class", "true")
    listed, apart = pq.read_table("list.parquet"), pq.read_table("columns.parquet")
    assert apart.column_names == [*HEADER, "probability_no", "probability_yes"]
    columns = np.stack([apart["probability_no"], apart["probability_yes"]], axis=1)
    assert np.array_equal(np.stack(listed["probabilities"].to_numpy(zero_copy_only=False)), columns)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--keep", "idd"], "has no column 'idd'; did you mean 'id'?"),
        (["--keep", "id,split"], "keep names 'split', as predictions call a column of their own"),
        (["--keep", "probability_no"], "keep names 'probability_no'"),
        (["--output", "p.xlsx"], "give a name that ends in"),
        (["--output", "{table}"], "t.csv exists; give another output, or --overwrite true to replace it"),
        (["--output", "{table}", "--overwrite", "true"], "is what is read; give another output"),
    ],
)
def test_what_cannot_be_is_refused_before_a_folder_is_made(trained, refused, tmp_path, words, said):
    given = [word.format(table=trained[0]) for word in words]
    before = trained[0].read_bytes()
    assert said in refused("predict", "--ckpt_path", trained[1], *given, "--trainer.default_root_dir", tmp_path / "r")
    assert not (tmp_path / "r").exists()
    assert trained[0].read_bytes() == before


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.tsv"])
@pytest.mark.parametrize("lacking", [["label"], ["group"], ["split"], ["label", "group", "split"]])
def test_what_no_row_has_is_no_column(trained, run, name, lacking):
    with open("new.csv", "w", newline="", encoding="utf-8") as file:
        called = {"x": "x", "label": "y", "group": "g", "split": "split"}
        writer = csv.writer(file)
        writer.writerow([called[column] for column in called if column not in lacking])
        for row in ({"x": 0.5, "label": "no", "group": "1", "split": "val"}, {"x": 1, "label": "", "group": "2"}):
            writer.writerow([row.get(column, "train") for column in called if column not in lacking])
    run("predict", "--ckpt_path", trained[1], "--data.path", "new.csv", "--output", name)
    found = read_table(name)
    without = {*lacking, *(["seen_in_training"] if "group" in lacking else [])}
    assert found.column_names[: 6 - len(without)] == [column for column in HEADER if column not in without]
    assert found.num_rows == 2
    if "label" not in lacking:
        assert [label or None for label in found["label"].to_pylist()] == ["no", None]


def test_report_and_comparison_take_what_predict_writes_and_say_what_it_lacks(trained, run, refused):
    run("predict", "--ckpt_path", trained[1], "--output", "p.csv")
    run("report", "--predictions", "p.csv", "--split", "split")
    assert read_json("p_report/report.json")["splits"].keys() == {"train", "val"}
    with open("new.csv", "w", encoding="utf-8") as file:
        file.write("x,g\n0.5,1\n0.7,2\n")
    for name in ("a.csv", "b.csv"):
        run("predict", "--ckpt_path", trained[1], "--data.path", "new.csv", "--output", name)
    said = "a.csv has no column 'label'; known: row, group, seen_in_training, prediction, "
    said += "probability_no, probability_yes; without the "
    said += "right class of each row nothing can be scored: name its column as --label ..., or predict rows that have"
    assert refused("report", "--predictions", "a.csv").startswith(said)
    assert refused("report", "--predictions", "a.csv", "b.csv").startswith(said)


def test_data_without_columns_keeps_none():
    with pytest.raises(InputError, match="keep is 'id', and object has no columns; leave it out"):
        PredictionWriter(keep="id").check_kept(object())


def test_the_output_is_checked_once_and_again_for_a_second_prediction(trained, run, monkeypatch):
    checked = []
    before = PredictionWriter.check_early
    monkeypatch.setattr(PredictionWriter, "check_early", lambda self, data: (checked.append(data), before(self, data)))
    done = run("predict", "--ckpt_path", trained[1], "--output", "once.csv")
    assert checked == [done.datamodule]
    with pytest.raises(InputError, match=r"once\.csv exists"):
        done.trainer.predict(done.model, datamodule=done.datamodule)
