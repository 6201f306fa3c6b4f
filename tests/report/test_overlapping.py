"""Groups that overlap: a row counts in each of its groups, and once among all rows."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score

from drurank.errors import InputError
from drurank.report import report_predictions
from drurank.report.tables import criteria_table

pytestmark = pytest.mark.usefixtures("all_draws")

NAMES = ["male", "female", "black"]


@pytest.fixture
def table(tmp_path):
    """Rows of one to three groups or none, with labels, predictions and scores."""
    rng = np.random.default_rng(0)
    member = rng.random((800, 3)) < [0.5, 0.45, 0.2]
    label = (rng.random(800) < 0.4).astype(int)
    score = np.clip(rng.normal(0.35 + 0.3 * label, 0.2 + 0.15 * member[:, 2]), 0, 1)
    said = (score > 0.5).astype(int)
    with (tmp_path / "p.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", "prediction", "score", *NAMES])
        writer.writerows([y, p, s, *map(int, of)] for y, p, s, of in zip(label, said, score, member, strict=True))
    return tmp_path / "p.csv", member, label, said, score


def reported(path, group="male,female,black", **options):
    return report_predictions(str(path), group=group, by="overlapping", overwrite=True, **options)


def test_each_group_has_all_of_its_rows_and_all_rows_count_once(table):
    path, member, label, said, _ = table
    report = reported(path, figure="fpr", criteria="overall,average,worst,p10,qdcg10")
    right = said == label
    groups = [right[of].mean() for of in member.T]
    summary = report["splits"]["all"]
    found = {name: entry["value"] for name, entry in summary["criteria"].items()}
    assert found["overall"] == pytest.approx(right.mean())
    assert found["average"] == pytest.approx(np.mean(groups))
    assert found["worst"] == pytest.approx(min(groups))
    assert (summary["rows"], summary["memberships"], summary["groups"]) == (800, member.sum(), 3)
    answer = max(np.mean(label), 1 - np.mean(label))
    assert summary["constant_answer"]["value"] == pytest.approx(answer)
    of_fpr = report["figures"]["fpr"]["splits"]["all"]
    negative = label == 0
    assert of_fpr["criteria"]["overall"]["value"] == pytest.approx(said[negative].mean())
    assert of_fpr["criteria"]["worst"]["value"] == pytest.approx(max(said[negative & of].mean() for of in member.T))
    assert (of_fpr["rows"], of_fpr["memberships"]) == (negative.sum(), member[negative].sum())


def test_measures_of_all_rows_count_them_once(table):
    path, member, label, _, score = table
    summary = reported(path, figure="auroc", score="score")["figures"]["auroc"]["splits"]["all"]
    assert summary["criteria"]["overall"]["value"] == pytest.approx(roc_auc_score(label, score))
    assert summary["criteria"]["worst"]["value"] == pytest.approx(
        min(roc_auc_score(label[of], score[of]) for of in member.T)
    )
    assert summary["rows"] == 800


def test_the_interval_of_all_rows_is_that_of_as_many(table):
    path, _, label, said, _ = table
    low, high = reported(path)["splits"]["all"]["criteria"]["overall"]["interval"]
    rate = np.mean(said == label)
    wanted = 1.645 * np.sqrt(rate * (1 - rate) / 800)
    assert (high - low) / 2 == pytest.approx(wanted, rel=0.15)


def test_a_column_of_lists_is_the_same(table):
    path, member, *_ = table
    rows = pa.Table.from_pylist(list(csv.DictReader(path.open())))
    lists = [[NAMES[j] for j in np.flatnonzero(of)] * 2 for of in member]  # named twice, counted once
    pq.write_table(rows.append_column("identities", pa.array(lists)), path.with_name("l.parquet"))
    by_list, by_columns = reported(path.with_name("l.parquet"), "identities"), reported(path)
    one, other = (each["splits"]["all"]["criteria"] for each in (by_list, by_columns))
    assert {name: entry["value"] for name, entry in one.items()} == pytest.approx(
        {name: entry["value"] for name, entry in other.items()}
    )


def test_it_is_said_that_groups_overlap(table):
    path, member, *_ = table
    caption = str(criteria_table(reported(path)["splits"]).caption)
    assert f"a row counts in each of its groups, {member.sum():,} times in all for 800 rows" in " ".join(
        caption.split()
    )


@pytest.mark.parametrize(
    ("cells", "said"),
    [(["2", "0"], "is neither 0 nor 1"), (["0", "0"], "no row is in any of the groups a"), (["", "1"], "blank")],
)
def test_cells_that_say_nothing_are_refused(tmp_path, cells, said):
    (tmp_path / "p.csv").write_text("label,prediction,a\n" + "".join(f"{i},0,{c}\n" for i, c in enumerate(cells)))
    with pytest.raises(InputError, match=said):
        reported(tmp_path / "p.csv", "a")


def test_splits_of_groups_that_overlap_are_reported_without_a_drop(table):
    path, member, label, said, _ = table
    lines = path.read_text().splitlines()
    split = ["id_test", "ood_test"] * 400
    path.write_text(
        "\n".join([lines[0] + ",split", *(f"{line},{of}" for line, of in zip(lines[1:], split, strict=True))])
    )
    report = reported(path, split="split")
    assert report["drop"] is None
    here = np.arange(800) % 2 == 1
    assert report["splits"]["ood_test"]["criteria"]["overall"]["value"] == pytest.approx((said == label)[here].mean())
    assert report["splits"]["ood_test"]["memberships"] == member[here].sum()


def invalid_text():
    """Lists of text that is not UTF-8, as other programs may write them."""
    text = pa.Array.from_buffers(
        pa.string(), 4, [None, pa.py_buffer(np.arange(5, dtype=np.int32)), pa.py_buffer(b"a\xffbc")]
    )
    return pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 4], pa.int32()), text)


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ([[["a"]]] * 4, "column 'g' holds list<element: list<element: string>>, whose elements are no names of groups"),
        ([[{"a": 1}]] * 4, "column 'g' holds list<element: struct<a: int64>>, whose elements are no names"),
        (
            [[b"\xff"]] * 4,
            "column 'g' holds list<element: binary>, whose elements are no names of groups .Invalid UTF8",
        ),
        (invalid_text(), "Invalid UTF8"),
    ],
)
def test_lists_of_what_is_no_name_are_refused(lists, said):
    table = {"label": [1, 0, 1, 0], "prediction": [1, 1, 1, 0], "g": lists}
    pq.write_table(pa.table(table), "p.parquet")
    with pytest.raises(InputError, match=rf"p\.parquet.*{said}"):
        report_predictions("p.parquet", group="g", by="overlapping")


@pytest.mark.parametrize("element", [["a"], {"a": 1}, [], [[[["a"]]]]])
def test_lists_of_json_too(element):
    rows = [{"label": place % 2, "prediction": 1, "g": [element]} for place in range(4)]
    Path("p.json").write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"p\.json: .*'g' holds list<.*whose elements are no names|p\.json: no row is in any"
    ):
        report_predictions("p.json", group="g", by="overlapping")
