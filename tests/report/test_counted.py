"""Reports of tables of counts against those of the rows themselves."""

import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from scipy.special import gammaincinv, ndtri

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


def report_of(correct, rows):
    """What report.json says, and the columns of groups.parquet."""
    lines = [f"g{place},{rows},{right}" for place, right in enumerate(correct)]
    Path("c.csv").write_text("\n".join(["group,count,correct", *lines, ""]), encoding="utf-8")
    found = report_counts("c.csv")["splits"]["all"]
    groups = pa_parquet.read_table("c_report/groups.parquet")
    return found, {
        name: np.array(groups[name]) for name in ("group", "low", "high", "shrunk", "chance_low", "chance_high")
    }


@pytest.mark.usefixtures("all_draws")
@pytest.mark.parametrize("rows", [2**31 - 1, 2**31 + 10, 2**40, 2**50])
def test_figures_of_large_counts_are_those_of_the_normal_distribution(rows):
    accuracy = np.array([0.95, 0.9, 0.85, 0.3, 0.2, 0.1])
    found, groups = report_of([int(rows * one) for one in accuracy], rows)
    assert groups["group"].tolist() == [f"g{place}" for place in range(6)]
    assert (found["worse_than_chance"], found["served_worst"]) == ("g5", {"group": "g5", "beyond_chance": True})
    assert found["beyond_chance"] == {"groups": ["g3", "g4", "g5"], "number": 3, "together": True}
    sd, of_all = np.sqrt(accuracy * (1 - accuracy) / rows), np.sqrt(0.55 * 0.45 / rows)
    off = 0.01 * of_all
    np.testing.assert_allclose(groups["low"], accuracy - 1.6449 * sd, atol=off, rtol=0)
    np.testing.assert_allclose(groups["high"], accuracy + 1.6449 * sd, atol=off, rtol=0)
    np.testing.assert_allclose(groups["chance_low"], np.full(6, 0.55 - 1.6449 * of_all), atol=off, rtol=0)
    np.testing.assert_allclose(groups["chance_high"], np.full(6, 0.55 + 1.6449 * of_all), atol=off, rtol=0)
    np.testing.assert_allclose(groups["shrunk"], accuracy, atol=of_all / 2, rtol=0)
    assert found["spread"]["sd"] == pytest.approx(accuracy.std(), abs=of_all)
    worst = found["criteria"]["worst"]
    np.testing.assert_allclose(worst["interval"], 0.1 + np.array([-1.6449, 1.6449]) * sd[5], atol=of_all / 2, rtol=0)
    # The least of six normal variables is below .95 ** (1 / 6) of them in 5 % of cases, and above .05 ** (1 / 6).
    wanted = 0.55 - of_all * ndtri([0.95 ** (1 / 6), 0.05 ** (1 / 6)])
    np.testing.assert_allclose(worst["floor"]["interval"], wanted, atol=of_all / 2, rtol=0)


@pytest.mark.parametrize("rows", [2**36, 2**40, 2**50])
def test_large_counts_of_which_nearly_all_are_right_are_reported(rows):
    wrong = np.arange(6)
    found, groups = report_of(rows - wrong, rows)
    of_errors = (1 - groups["low"]) * rows, (1 - groups["high"]) * rows
    off = 0.2 if rows == 2**50 else 1e-3  # doubles near 1 are an eighth of a row apart
    np.testing.assert_allclose(of_errors[0], gammaincinv(wrong + 1, 0.95), atol=off)
    np.testing.assert_allclose(of_errors[1], np.append(0, gammaincinv(wrong[1:], 0.05)), atol=off)
    shrunk = (1 - groups["shrunk"]) * rows
    assert (np.diff(shrunk) >= 0).all()
    assert shrunk.mean() == pytest.approx(2.5, abs=0.7)
    assert shrunk[0] >= 0
    assert shrunk[5] <= 5.5
    assert (found["worse_than_chance"], found["served_worst"]["group"]) == (None, "g5")
    assert 0 <= found["spread"]["sd"] * rows < 3


@pytest.mark.parametrize("rows", [2**40, 2**53 - 5])
def test_a_large_group_without_an_error_may_stand_beside_a_small_one(rows):
    Path("c.csv").write_text(f"group,count,correct\na,{rows},{rows}\nb,5,5\n", encoding="utf-8")
    report = report_counts("c.csv")["splits"]["all"]
    assert report["criteria"]["worst"]["value"] == 1
    assert report["spread"]["sd"] == 0
    assert report["worse_than_chance"] is None


def test_figures_of_each_row_refuse_counts_of_too_many(monkeypatch):
    lines = [
        f"{i % 2},{i % 3 % 2},g{i % 3},0.{i},{s},{n}" for s, n in (("a", 5), ("b", 30_000_000)) for i in range(1, 9)
    ]
    Path("p.csv").write_text("\n".join(["label,prediction,group,score,split,n", *lines, ""]), encoding="utf-8")
    given = {"count": "n", "split": "split", "score": "score", "positive": "1", "overwrite": True}
    for figure in ("auroc", "mae", "f1"):
        with pytest.raises(
            InputError, match=rf"figure '{figure}' needs each row .* 240,000,000 in split 'b', more than 20"
        ):
            report_predictions("p.csv", figure=figure, **given)
    assert not Path("p_report").exists()
    assert report_predictions("p.csv", figure="tpr,error", **given)["figures"]["tpr"]["splits"]["b"]["rows"] == 12e7
    assert report_predictions("p.csv", figure="auroc", on="a", **given)["figures"]["auroc"]["splits"]["a"]["rows"] == 40
    monkeypatch.setattr("drurank.limits.MOST_REPEATED", 39)
    with pytest.raises(InputError, match="which are 40 in split 'a', more than 39"):
        report_predictions("p.csv", figure="auroc", on="a", **given)
    monkeypatch.setenv("DRURANK_LIMITS", "off")
    assert report_predictions("p.csv", figure="auroc", on="a", **given)["figures"]["auroc"]["splits"]["a"]["rows"] == 40


@pytest.mark.parametrize("rows", ["a,0,0\n", "a,0,0\nb,0,0\n"])
@pytest.mark.parametrize("split", [None, "group"])
def test_counts_of_nothing_but_zeros_are_refused(rows, split):
    Path("c.csv").write_text(f"group,count,correct\n{rows}", encoding="utf-8")
    with pytest.raises(InputError, match=r"c\.csv: 'count' is 0 in every row; give counts"):
        report_counts("c.csv", split=split)
    assert not Path("c_report").exists()
