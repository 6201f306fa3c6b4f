"""Errors of a study's settings name options as the file of the study has them."""

import pytest
import yaml

from drurank.cli import main
from drurank.cli.file_hints import in_study_file
from studies import ERM, words_of, written
from warm import ended


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("give --data.thousands ','; or not", 'give `data: {init_args: {thousands: ","}}`; or not'),
        ("leave them out (--data.exclude id,name)", 'leave them out (`data: {init_args: {exclude: "id,name"}}`)'),
        ("set --trainer.max_epochs 4, or less", "set `trainer: {max_epochs: 4}`, or less"),
        ("give --model.optimizer.lr 0.1.", "give `model.optimizer.lr: 0.1`."),
        ("--model.min_count is 0; give 1", "model.min_count is 0; give 1"),
        ("--data.path and --data.label are both 'a'", "data.path and data.label are both 'a'"),
        ("give --output x", "give --output x"),
    ],
)
def test_options_of_fit_are_entries_of_the_file(said, written):
    assert in_study_file(said) == written
    for entry in written.split("`")[1::2]:
        assert yaml.safe_load(entry)


def test_study_run_names_them_so(tmp_path):
    """Numbers with commas between thousands: the hint, put into the file, lifts the error."""
    rows = [f'{s},g{s}{n % 2},{n % 2},"1,{n:03}"' for s in ("train", "ood_val", "ood_test") for n in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["split,group,y,x", *rows]) + "\n", encoding="utf-8")
    options = {"path": str(tmp_path / "t.csv"), "label": "y", "group": "group", "split": "split"}
    data = {"class_path": "Table", "init_args": options}
    path = written(tmp_path / "s.yaml", data=data, candidates=ERM, seeds=[0])
    _, said = ended(["-m", "drurank", *words_of(path, tmp_path / "study")], tmp_path / "log")
    assert '`data: {init_args: {thousands: ","}}`' in said
    assert "--data" not in said


def test_study_run_names_all_errors_of_the_data_and_the_command_that_lists_them(tmp_path):
    """A wrong split, a blank group and marked numbers; what the message says makes the table one that can be learnt."""
    rows = [[s, f"g{s}{n % 2}", n % 2, f'"1,{n:03}"'] for s in ("train", "ood_val", "ood_test") for n in range(20)]
    rows[0][0], rows[1][1] = "trian", ""
    lines = [",".join(map(str, row)) for row in rows]
    (tmp_path / "t.csv").write_text("\n".join(["split,group,y,x", *lines]) + "\n", encoding="utf-8")
    options = {"path": str(tmp_path / "t.csv"), "label": "y", "group": "group", "split": "split"}
    path = written(tmp_path / "s.yaml", data={"class_path": "Table", "init_args": options}, candidates=ERM, seeds=[0])
    _, said = ended(["-m", "drurank", *words_of(path, tmp_path / "study")], tmp_path / "log")
    assert said.startswith(
        f"error: {path}: ERM: the data has 3 errors: (1) {tmp_path / 't.csv'}: column 'split', row 0"
    )
    assert "(2) column 'x', row 1 (the first is 0): '1,001' looks like a number" in said
    assert "(3) column 'group', row 1 (the first is 0): a blank cell is not a group" in said
    entries = [yaml.safe_load(entry) for entry in said.split("`")[1::2] if entry.startswith("data: ")]
    assert {"data": {"init_args": {"thousands": ","}}} in entries
    assert {"data": {"init_args": {"split_names": {"trian": "train"}}}} in entries
    advised = said.strip().partition("; to see all that is wrong with the data: ")[2]
    assert advised.endswith(f" inspect --config {path}`")
    found = main(["inspect", "--config", str(path)]).findings
    assert [one.code for one in found if one.severity == "error"] == [
        "split_spelling", "unusable_columns", "blank_group"
    ]  # fmt: skip


def test_options_in_commands_stay_as_they_are():
    said = "give --data.decimal ','; to see all: `drurank inspect --data.path t.csv`"
    assert in_study_file(said) == (
        'give `data: {init_args: {decimal: ","}}`; to see all: `drurank inspect --data.path t.csv`'
    )
