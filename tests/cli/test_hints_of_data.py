"""A fit that its data stops names the first error, and the command that lists all of them."""

import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from drurank.cli import main
from faults import WORDS, put, sound


@pytest.mark.parametrize("configured", [False, True])
def test_a_fit_that_its_data_stops_names_the_command_that_lists_all_errors(refused, tmp_path, configured):
    table = sound()
    put(table, "y", {3: " "})
    put(table, "g", {5: None})
    pq.write_table(pa.table(table), "two, three.parquet")
    words = ["--data", "Table", "--data.path", "two, three.parquet", *WORDS]
    if configured:
        data = {"class_path": "Table", "init_args": {"path": "two, three.parquet", "label": "y", "group": "g"}}
        (tmp_path / "c.yaml").write_text(yaml.safe_dump({"data": data}))
        words = ["--config", "c.yaml", "--data.split", "s"]
    said = refused("fit", *words, "--model", "ERM", "--model.min_count", "2", "--trainer.max_epochs", "1")
    assert "row 3 (the first is 0): a blank cell is not a label" in said
    advised = shlex.split(said.partition("; to see all that is wrong with the data: ")[2])
    assert advised == ["drurank", "inspect", *words]
    found = [finding.code for finding in main(advised[1:]).findings if finding.severity == "error"]
    assert found == ["blank_label", "blank_group"]


def test_of_a_fit_that_goes_on_the_command_has_the_data_of_its_run(run, refused, tmp_path):
    table = sound()
    pq.write_table(pa.table(table), "t.parquet")
    words = ["--data", "Table", "--data.path", "t.parquet", *WORDS, "--trainer.max_epochs", "1"]
    run("fit", *words, "--model", "ERM", "--trainer.default_root_dir", tmp_path)
    put(table, "y", {3: " "})
    pq.write_table(pa.table(table), "t.parquet")
    last = tmp_path / "version_0/checkpoints/last.ckpt"
    said = refused("fit", "--ckpt_path", last, "--trainer.max_epochs", "2")
    advised = shlex.split(said.partition("; to see all that is wrong with the data: ")[2])
    assert advised == ["drurank", "inspect", "--config", str(tmp_path / "version_0/config.yaml")]
    found = [finding.code for finding in main(advised[1:]).findings if finding.severity == "error"]
    assert found == ["blank_label"]


def test_an_error_of_no_row_has_no_such_hint(refused):
    said = refused("fit", "--data", "Shortcut", "--model", "ERM", "--model.min_count", "0")
    assert "inspect" not in said
