"""A test reports other figures than accuracy as ``report`` does of the rows that ``predict`` writes."""

import csv

import numpy as np
import pytest

from drurank.cli import main
from runs import read_json

FIGURES = "fpr,tpr,f1,auroc,calibration_error"


@pytest.fixture(scope="module")
def tested(run, tmp_path_factory):
    """A run that chose by a figure and was tested with figures and a page; its folder, and its data."""
    folder = tmp_path_factory.mktemp("tested")
    rng = np.random.default_rng(0)
    splits = ["train", "train", "id_val", "ood_val", "id_test", "ood_test"]
    with (folder / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y", "g", "split"])
        for row in range(600):
            split = splits[row % 6]
            x, group = rng.normal(), rng.integers(0, 6) + 6 * split.startswith("ood")
            writer.writerow([x, "no" if x + rng.normal() < 0 else "yes", f"g{group}", split])
    data = ["--data", "Table", "--data.path", folder / "t.csv", "--data.label", "y", "--data.group", "g"]
    words = ["--data.split", "split", "--model", "DRU", "--model.positive", "yes", "--select", "worst-fpr,p10"]
    root = ["--trainer.max_epochs", "2", "--trainer.default_root_dir", folder / "runs"]
    run("fit", *data, *words, *root)
    made = folder / "runs/version_0"
    run("test", "--run", made, "--figure", FIGURES, "--html")
    return made, folder / "t.csv"


def test_a_test_reports_what_report_says_of_its_rows(tested, run, tmp_path):
    made, _ = tested
    file = made / "checkpoints/worst-fpr.ckpt"
    run("predict", "--ckpt_path", file, "--output", tmp_path / "p.csv")
    words = ["--predictions", tmp_path / "p.csv", "--split", "split", "--on", "ood_test,id_test", "--figure", FIGURES]
    of_rows = main(["report", *map(str, words), "--positive", "yes"])
    of_test = read_json(made / "test/worst-fpr/report.json")
    for name in FIGURES.split(","):
        for split in ("ood_test", "id_test"):
            before, after = (report["figures"][name]["splits"][split] for report in (of_test, of_rows))
            assert before["positive"] == after["positive"] == "yes"
            assert before["groups_unseen_in_training"] == after["groups_unseen_in_training"]
            assert before["groups"] == after["groups"] == 6
            for criterion, entry in before["criteria"].items():
                assert entry["value"] == pytest.approx(after["criteria"][criterion]["value"], abs=1e-6), criterion
    groups = (made / "test/worst-fpr/groups_fpr.csv").read_text().splitlines()
    of_report = (tmp_path / "p_report/groups_fpr.csv").read_text().splitlines()
    assert sorted(groups) == sorted(of_report)


def test_the_page_stands_beside_the_report(tested):
    made, _ = tested
    page = (made / "test/worst-fpr/report.html").read_text(encoding="utf-8")
    assert "false positive rate (positive: yes)" in page.lower()
    assert "ood_test" in page


def test_the_value_that_chose_is_that_of_the_rows(tested, run, tmp_path):
    made, _ = tested
    noted = read_json(made / "selection.json")["worst-fpr"]
    run("predict", "--ckpt_path", made / noted["file"], "--output", tmp_path / "p.csv")
    with (tmp_path / "p.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "ood_val" and row["label"] == "no"]
    wrong = {}
    for row in rows:
        wrong.setdefault(row["group"], []).append(row["prediction"] == "yes")
    assert noted["value"] == pytest.approx(max(np.mean(some) for some in wrong.values()))


def test_a_test_without_figures_leaves_none_of_an_earlier_one(tested, run):
    made, _ = tested
    run("test", "--run", made)
    left = {file.name for file in (made / "test/worst-fpr").iterdir()}
    assert {"report.json", "groups.csv", "groups.png"} <= left
    assert not [name for name in left if name.startswith("groups_") or name == "report.html"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--figure", "fprr"], "there is no figure 'fprr': did you mean 'fpr'"),
        (["--figure", "mae"], "figure 'mae' needs labels that are numbers"),
        (["--figure", "fpr", "--model.positive", "yess"], "--model.positive is 'yess', which is no label"),
    ],
)
def test_figures_that_cannot_be_had_are_refused_before_the_test(tested, refused, words, said):
    made, _ = tested
    before = read_json(made / "test/worst-fpr/report.json")
    assert said in refused("test", "--run", made, *words)
    assert read_json(made / "test/worst-fpr/report.json") == before


def test_a_fit_without_a_positive_class_says_so_and_leaves_nothing(tested, refused, tmp_path):
    _, table = tested
    words = ["--data", "Table", "--data.path", table, "--data.label", "y", "--data.group", "g", "--data.split", "split"]
    root = ["--model", "ERM", "--select", "worst-fpr", "--trainer.default_root_dir", tmp_path / "runs"]
    said = refused("fit", *words, *root)
    assert said.startswith("figure 'fpr' needs a positive class; say which of the labels it is with --model.positive")
    assert not (tmp_path / "runs").exists()
