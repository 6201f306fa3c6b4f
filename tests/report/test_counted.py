"""Reports of tables of counts against those of the rows themselves."""

import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drurank.cli import main
from drurank.errors import InputError
from drurank.report import report_counts, report_predictions
from runs import read_json

SQL = re.findall(r"```sql\n(.*?)```", Path(__file__).parents[2].joinpath("docs/figures.md").read_text("utf-8"), re.S)


@pytest.fixture
def rows():
    """Predictions in two files, with groups of one row and of one class, and the same in one table."""
    rng = np.random.default_rng(3)
    group = rng.integers(0, 12, 600) // 3 * rng.integers(1, 3, 600)
    label = rng.integers(0, 2, 600) * (group > 0)
    said = np.where(rng.random(600) < 0.7, label, 1 - label)
    table = pa.table({"race": [f"r{one}" for one in group], "y": label, "yhat": said})
    Path("predictions").mkdir()
    pa_parquet.write_table(table.slice(0, 250), "predictions/a.parquet")
    pa_parquet.write_table(table.slice(250), "predictions/b.parquet")
    pa_parquet.write_table(table, "rows.parquet")
    return report_predictions("rows.parquet", "y", "yhat", "race", figure="fpr,precision")


def figures_of(report):
    return {key: report[key] for key in ("splits", "drop", "figures") if key in report}


def test_counts_by_class_of_the_documented_query_give_the_report_of_the_rows(rows):
    duckdb.sql(SQL[0])
    assert pa_parquet.read_table("counts.parquet").num_rows < 40
    words = "--label y --prediction yhat --group race --count n --figure fpr,precision --overwrite"
    main(["report", "--predictions", "counts.parquet", *words.split()])
    assert figures_of(read_json("counts_report/report.json")) == figures_of(rows)


def test_counts_of_the_documented_query_give_the_accuracies_of_the_rows(rows):
    duckdb.sql(SQL[1])
    main(["report", "--counts", "counts.parquet", "--group", "race"])
    found, wanted = read_json("counts_report/report.json")["splits"]["all"], rows["splits"]["all"]
    assert found["criteria"] == wanted["criteria"]
    assert (found["rows"], found["spread"]) == (600, wanted["spread"])
    assert found["constant_answer"] is None  # classes are not known


def test_rows_of_a_group_are_added_and_splits_told_apart():
    Path("c.csv").write_text("g,s,n,k\na,test,4,1\na,test,6,4\nb,test,0,0\nc,id_test,5,5\n", encoding="utf-8")
    report = report_counts("c.csv", "g", "n", "k", "s")
    splits = report["splits"]
    assert list(splits) == ["test", "id_test"]
    assert (splits["test"]["rows"], splits["test"]["groups"]) == (10, 1)
    assert splits["test"]["criteria"]["worst"]["value"] == 0.5
    assert splits["id_test"]["criteria"]["worst"]["value"] == 1.0
    alone = report_counts("c.csv", "g", "n", "k", "s", on="id_test", overwrite=True)["splits"]
    assert alone == {"id_test": splits["id_test"]}
    with pytest.raises(InputError, match=r"column 's' has no split 'ood_test': .*known: test, id_test"):
        report_counts("c.csv", "g", "n", "k", "s", on="ood_test", overwrite=True)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("a,4,5", "is more than 'count' has there, 4"),
        ("a,4,-1", "is not a count; give whole numbers of 0 or more"),
        ("a,4.5,2", "is not a count"),
        ("a,4,", "is not a count"),
        ("a,x,1", "is not a count"),
        (",4,1", "is not a group"),
        (f"a,{2**62},1", "is too large: with the others it is above 9,007,199,254,740,992 rows"),
        ("a,1e30,1", "is too large"),
    ],
)
def test_what_is_no_count_is_refused(cells, said):
    Path("c.csv").write_text(f"group,count,correct\nb,3,2\n{cells}\n", encoding="utf-8")
    with pytest.raises(InputError, match=said):
        report_counts("c.csv")
    assert not Path("c_report").exists()


def test_a_count_that_is_none_is_refused_beside_predictions():
    Path("p.csv").write_text("g,y,yhat,n\na,1,1,3\na,0,1,-2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"'n', row 1 .* is not a count"):
        report_predictions("p.csv", "y", "yhat", "g", count="n")
