"""docs/reference/files.md names the files that a run and a study write, and their columns."""

import re
import shutil
from pathlib import Path

import pyarrow.parquet as pa_parquet
import pytest

from drurank.study.manifest import figure_counts
from runs import read_csv, read_json

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
KINDS = {"int64": "int64", "float64": "double", "text": "string", "bool": "bool", "list": "fixed_size_list"}


def tables(heading):
    """Cells of the tables below a heading, up to the next one."""
    (body,) = re.findall(rf"^##+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    found = re.findall(r"^\|[-|]+\|\n((?:\|.*\n?)+)", body, re.MULTILINE)
    return [[[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()] for table in found]


def columns(heading):
    """Name to type of the columns below a heading."""
    return {row[0].strip("`"): KINDS[row[1]] for row in tables(heading)[0]}


def assert_files(heading, folder):
    """A folder has the files below a heading, but those that are written sometimes only, and no other."""
    (rows,) = tables(heading)
    names = {row[0].strip("`"): "only" in f"{row[1]} {row[2]}" for row in rows}
    parts = {name: re.sub(r"<\w+>", r"[\\w-]+", re.escape(name)) + (".*" if name[-1] == "/" else "") for name in names}
    found = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    unknown = [file for file in found if not any(re.fullmatch(part, file) for part in parts.values())]
    assert unknown == []
    missing = [
        name for name, rare in names.items() if not rare and not any(re.fullmatch(parts[name], f) for f in found)
    ]
    assert missing == []


def assert_columns(heading, file):
    found = file if isinstance(file, dict) else {field.name: str(field.type) for field in pa_parquet.read_schema(file)}
    should = columns(heading)
    assert list(found) == list(should)
    for name, kind in found.items():
        assert kind.startswith(should[name]), name


@pytest.fixture(scope="module")
def with_figure(done, run, tmp_path_factory):
    """A copy of the run, tested by the false positive rate too, and its predictions."""
    folder = shutil.copytree(done, tmp_path_factory.mktemp("figure") / "version_0")
    run("test", "--run", folder, "--figure", "fpr", "--model.positive", "1")
    run("predict", "--run", folder, "--output", folder.parent / "p.parquet")
    return folder


def test_files_of_a_run(done, with_figure):
    assert_files("Files of a run", done)
    assert_files("Files of a run", with_figure)


def test_columns_of_a_run(done, with_figure):
    test = with_figure / "test" / "qdcg10"
    assert_columns("groups.parquet", test / "groups.parquet")
    assert_columns("groups_figure.parquet", test / "groups_fpr.parquet")
    assert_columns("predictions.parquet", with_figure.parent / "p.parquet")
    for table in ("groups.csv", "groups_fpr.csv"):
        head = (test / table).read_text(encoding="utf-8").partition("\n")[0].replace('"', "").split(",")
        assert head == list(columns({"groups.csv": "groups.parquet"}.get(table, "groups_figure.parquet"))), table
    assert (done / "weights.csv").read_text(encoding="utf-8").partition("\n")[0].split(",") == list(
        columns("weights.csv")
    )


def test_keys_of_metrics(done):
    named = {re.sub(r"<\w+>", r"\\w+", name) for name in columns("metrics.csv")}
    logged = set().union(*read_csv(done / "metrics.csv"))
    assert [key for key in logged if not any(re.fullmatch(f"(id_)?{name}", key) for name in named)] == []


def test_keys_of_a_report(with_figure):
    report = read_json(with_figure / "test" / "qdcg10" / "report.json")
    top, of_split = ({row[0].strip("`") for row in table} for table in tables("report.json"))
    assert set(report) == top
    assert set().union(*report["splits"].values()) == of_split


def test_files_and_columns_of_a_study(undisturbed, with_figure):
    assert_files("Files of a study", undisturbed)
    candidate = next(file.parent for file in undisturbed.glob("candidates/*/manifest.json"))
    assert_columns("groups.parquet of a candidate", candidate / "groups.parquet")
    assert_files("Files of a run", candidate / "version_0")
    made = figure_counts(with_figure, ["fpr"]).schema
    assert_columns("figures.parquet of a candidate", {field.name: str(field.type) for field in made})
    keys = [row[0].strip("`") for row in tables("manifest.json")[0]]
    assert list(read_json(candidate / "manifest.json")) == [key for key in keys if key != "repeat"]
