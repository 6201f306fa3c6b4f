"""Scores and probabilities beside predictions, and reports of the figures that need them."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.pyplot import imread
from sklearn import metrics

from drawing import RENDER, saved_by
from drurank.cli import main
from drurank.errors import InputError
from drurank.report import report_predictions
from runs import read_csv, read_json

FIGURES = "auroc,brier,log_loss,calibration_error,f1,balanced_accuracy,mae,fpr"
SCORE = np.round(np.random.default_rng(3).beta(2, 2, 240), 3)
LABEL = (np.random.default_rng(4).random(240) < SCORE).astype(int)
GROUP = np.array(["a", "b", "c"])[np.arange(240) % 3]


def table(**more):
    named = {"label": LABEL, "prediction": (SCORE > 0.5).astype(int), "group": GROUP, **more}
    return pa.table(named)


def saved(columns, name="p.csv"):
    header = ",".join(columns.column_names)
    lines = [",".join(str(cell) for cell in row.values()) for row in columns.to_pylist()]
    Path(name).write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


def values(report, name, by="overall"):
    return report["figures"][name]["splits"]["all"]["criteria"][by]["value"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scores")
    with contextlib.chdir(folder), saved_by(RENDER):
        saved(table(p=SCORE))
        main(["report", "--predictions", "p.csv", "--score", "p", "--figure", FIGURES, "--html", "out.html"])
    return folder


@pytest.fixture
def report(written):
    return read_json(written / "p_report/report.json")


def test_report_has_each_figure_with_its_files(report, written):
    assert list(report["figures"]) == FIGURES.split(",")
    by_group = [metrics.roc_auc_score(LABEL[one == GROUP], SCORE[one == GROUP]) for one in "abc"]
    assert values(report, "auroc") == pytest.approx(metrics.roc_auc_score(LABEL, SCORE))
    assert values(report, "auroc", "worst") == pytest.approx(min(by_group))
    assert values(report, "auroc", "gap") == pytest.approx(max(by_group) - min(by_group))
    assert values(report, "brier") == pytest.approx(metrics.brier_score_loss(LABEL, SCORE))
    assert values(report, "log_loss") == pytest.approx(metrics.log_loss(LABEL, SCORE))
    rows = {row["group"]: row for row in read_csv(written / "p_report/groups_auroc.csv")}
    assert [float(rows[one]["value"]) for one in "abc"] == pytest.approx(by_group)
    for row in rows.values():
        assert float(row["low"]) < float(row["value"]) < float(row["high"])
        assert float(row["chance_low"]) < float(row["chance_high"])
    for name in report["figures"]:
        assert imread(written / f"p_report/groups_{name}.png").std() > 0
        assert pq.read_table(written / f"p_report/groups_{name}.parquet").num_rows == 3
    page = (written / "out.html").read_text("utf-8")
    of_class = ("AUROC", "Brier score", "Log loss", "Calibration error", "F1", "False positive rate")
    for words in (*(f"{name} (positive: 1)" for name in of_class), "Balanced accuracy", "Mean absolute error"):
        assert f"<h2>{words}</h2>" in page
    assert len(re.findall("by chance from", page)) == 9
    about = {
        name
        for name in report["figures"]
        if read_csv(written / f"p_report/groups_{name}.csv")[0].get("positive") == "1"
    }
    assert about == {*FIGURES.split(",")} - {"balanced_accuracy", "mae"}


def test_it_is_said_what_is_compared(capsys):
    saved(table(p=SCORE))
    report_predictions("p.csv", score="p", figure="auroc,calibration_error")
    shown = " ".join(capsys.readouterr().out.split())
    assert "Criteria of the AUROC" in shown
    assert "if all rows were dealt to the groups at random, those of each class by themselves" in shown
    assert "if every probability were right (labels drawn from them)" in shown


def test_what_predict_writes_is_read_without_being_named(report):
    both = np.stack([1 - SCORE, SCORE], axis=1)
    saved(table(probability_0=both[:, 0], probability_1=both[:, 1]), "c.csv")
    listed = pa.FixedSizeListArray.from_arrays(pa.array(both.astype(np.float32).reshape(-1)), 2)
    field = pa.field("probabilities", listed.type, metadata={"labels": "0\n1"})
    pq.write_table(table().append_column(field, listed), "l.parquet")
    for name in ("c.csv", "l.parquet"):
        found = report_predictions(name, figure="auroc,brier,log_loss,calibration_error")
        for figure in found["figures"]:
            assert values(found, figure, "worst") == pytest.approx(values(report, figure, "worst"), abs=1e-5)


def test_of_several_classes_each_has_its_probability():
    rng = np.random.default_rng(0)
    probability = np.round(rng.dirichlet(np.ones(3), 90), 4)
    probability[:, 2] = 1 - probability[:, 0] - probability[:, 1]
    label = np.array([rng.choice(3, p=one) for one in probability])
    names = np.array(["x", "y", "z"])
    columns = {f"probability_{name}": probability[:, place] for place, name in enumerate(names)}
    said = names[probability.argmax(axis=1)]
    saved(pa.table({"label": names[label], "prediction": said, "group": ["g", "h"] * 45, **columns}))
    report = report_predictions("p.csv", figure="log_loss,brier,f1,calibration_error")
    assert values(report, "log_loss") == pytest.approx(metrics.log_loss(label, probability))
    assert values(report, "brier") == pytest.approx(((probability - np.eye(3)[label]) ** 2).sum() / 180)
    assert values(report, "f1") == pytest.approx(metrics.f1_score(names[label], said, average="macro"))
    one = report_predictions("p.csv", figure="auroc", positive="y", overwrite=True)
    assert values(one, "auroc") == pytest.approx(metrics.roc_auc_score(label == 1, probability[:, 1]))


def test_rows_that_stand_for_several_count_as_such():
    times = np.arange(240) % 4
    saved(table(p=SCORE, n=times))
    report = report_predictions("p.csv", score="p", count="n", figure="auroc,brier")
    assert values(report, "auroc") == pytest.approx(metrics.roc_auc_score(LABEL, SCORE, sample_weight=times))
    assert report["figures"]["brier"]["splits"]["all"]["rows"] == times.sum()


def test_unseen_groups_are_compared_with_seen_ones():
    split = np.array(["ood_test", "id_test"])[np.arange(240) % 2]
    saved(table(p=SCORE, split=split))
    report = report_predictions("p.csv", score="p", split="split", figure="auroc,mae")
    drop = report["figures"]["auroc"]["drop"]["criteria"]["overall"]
    of = {one: metrics.roc_auc_score(LABEL[split == one], SCORE[split == one]) for one in ("ood_test", "id_test")}
    assert drop["value"] == pytest.approx(of["id_test"] - of["ood_test"])
    assert drop["interval"][0] < drop["estimate"] < drop["interval"][1]
    assert drop["by_chance"] is None


ONE = np.full(240, 0.5)


@pytest.mark.parametrize(
    ("more", "options", "said"),
    [
        ({}, {"figure": "auroc"}, "figure 'auroc' needs probabilities; name the column"),
        ({"p": SCORE}, {"figure": "auroc", "score": "q"}, "has no column 'q'"),
        ({"p": SCORE * 3}, {"figure": "brier", "score": "p"}, "from 0 to 1, and a score is"),
        ({"p": ["x"] * 240}, {"figure": "auroc", "score": "p"}, "is not a number; give a score in each row"),
        ({"probability_1": ONE}, {"figure": "brier"}, "there is no probability of the label '0', but of 1"),
        (
            {"probability_1": ONE, "probability_0": ONE / 2},
            {"figure": "brier"},
            r"row 1: the probabilities are 0\.5, 0\.25, which add up to 0\.75",
        ),
        ({"probabilities": ["0.5 0.5"] * 240}, {"figure": "brier"}, "give it as predict writes it"),
        ({"label": ["no"] * 120 + ["yes"] * 120, "prediction": ["no"] * 240}, {"figure": "f1"}, "labels: 'no', 'yes'"),
        (
            {"label": ["no"] * 120 + ["yes"] * 120, "prediction": ["no"] * 240, "p": SCORE},
            {"score": "p"},
            "score is 'p', and no class is known to be the positive one; say which of the labels it is with positive=",
        ),
        (
            {"label": [1] * 240, "p": SCORE},
            {"figure": "auroc", "score": "p", "labels": "0,1"},
            "every group has rows of one class only",
        ),
    ],
)
def test_what_cannot_be_had_is_refused(more, options, said):
    saved(table(**more))
    with pytest.raises(InputError, match=said):
        report_predictions("p.csv", **options)


def test_any_score_ranks():
    saved(table(s=SCORE * 7 - 3))
    report = report_predictions("p.csv", figure="auroc", score="s")
    assert values(report, "auroc") == pytest.approx(metrics.roc_auc_score(LABEL, SCORE))
