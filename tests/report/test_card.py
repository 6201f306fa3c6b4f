"""The section of a model card: its head as the hub reads it, and the same figures as report.json."""

import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from drurank.cli import main
from drurank.errors import InputError
from drurank.report import report_counts, report_predictions
from runs import read_csv, read_json

NAMES = ["a|b", "*x* <script>", "日本", "`c`", "_d_", "---"]


def write(file, groups, rows=20, wrong=1, split=None):
    """Groups of so many rows; of the first half are wrong, of each other so many."""
    cells = [
        {"label": k % 2, "prediction": 1 - k % 2 if k < (wrong if g else rows // 2) else k % 2, "group": name}
        for g, name in enumerate(groups)
        for k in range(rows)
    ]
    frame = pd.DataFrame(cells)
    if split:
        frame = pd.concat([frame.assign(split=name) for name in split])
    frame.to_csv(file, index=False)


def read(folder):
    """The head, and each table of the section as rows of cells, as GitHub reads them."""
    text = (Path(folder) / "model_card.md").read_text(encoding="utf-8")
    _, head, body = re.split(r"^---\n", text, maxsplit=2, flags=re.MULTILINE)
    tables, lines = [], body.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("| "):
            if not before.startswith("|"):
                tables.append([])
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            tables[-1].append([re.sub(r"\\(.)", r"\1", cell.strip()) for cell in cells])
    return yaml.safe_load(head)["model-index"][0], tables, body


def test_the_head_has_the_figures_of_the_report_by_split(tmp_path):
    write("p.csv", ["a", "b", "c"], split=["ood_test", "id_test"])
    report = report_predictions("p.csv", split="split", figure="fpr", positive="1", card=True)
    model, _, _ = read("p_report")
    assert model["name"] == "p"
    assert [one["dataset"] for one in model["results"]] == [
        {"type": "p.csv", "name": "p.csv", "split": split} for split in report["splits"]
    ]
    for one in model["results"]:
        split = one["dataset"]["split"]
        found = {metric["type"]: metric["value"] for metric in one["metrics"]}
        assert found["accuracy"] == pytest.approx(1 - (10 + 1 + 1) / 60)
        assert found["worst"] == 0.5
        assert found["worst_fpr"] == 0.5  # of the 10 negative rows of a, 5 are among its first 10
        criteria = report["splits"][split]["criteria"]
        for name, entry in criteria.items():
            assert found["accuracy" if name == "overall" else name] == entry["value"]
        for name, entry in report["figures"]["fpr"]["splits"][split]["criteria"].items():
            assert found[f"{name}_fpr"] == entry["value"]


def test_the_hub_reads_it():
    hub = pytest.importorskip("huggingface_hub")
    write("p.csv", ["a", "b"])
    report_predictions("p.csv", card=True)
    card = hub.ModelCard.load("p_report/model_card.md")
    assert card.data.model_name == "p"
    values = {one.metric_type: one.metric_value for one in card.data.eval_results}
    assert values["worst"] == 0.5
    assert {one.dataset_name for one in card.data.eval_results} == {"p.csv"}


def test_the_section_says_who_is_served_worst_and_has_the_three_figures(tmp_path):
    write("p.csv", NAMES, rows=40)
    report = report_predictions("p.csv", card=True)
    _, (criteria, groups), body = read("p_report")
    assert "## How groups are served" in body
    said = re.sub(r"\\(.)", r"\1", body)
    assert "Served worst: 'a|b', with 20 of 40 rows right (.500); of all rows together .896 are right." in said
    assert criteria[0] == ["criterion", "split", "better if", "observed", "true, estimated", "by chance alone"]
    (worst,) = [row for row in criteria if row[0] == "worst"]
    entry = report["splits"]["all"]["criteria"]["worst"]
    assert worst[:4] == ["worst", "all rows", "higher", ".500"]
    for cell, value in ((worst[4], entry["estimate"]), (worst[5], entry["floor"]["median"])):
        assert float(cell.split()[0]) == pytest.approx(value, abs=5e-4)
    assert groups[0][:4] == ["group", "rows", "right", "accuracy"]
    table = read_csv("p_report/groups.csv")
    assert sorted(row[0] for row in groups[1:]) == sorted(NAMES)
    assert groups[1][:4] == ["a|b", "40", "20", ".500"]
    assert {row[0]: int(row[2]) for row in groups[1:]} == {row["group"]: int(row["correct"]) for row in table}


@pytest.mark.parametrize(("number", "shown"), [(60, 60), (61, 60), (500, 60)])
def test_of_many_groups_the_ends_are_shown_and_the_rest_is_named(number, shown):
    write("p.csv", [f"g{k:03}" for k in range(number)], rows=4)
    report_predictions("p.csv", card=True)
    _, (_, groups), body = read("p_report")
    assert len(groups) - 1 == shown
    assert groups[1][0] == "g000"
    assert ("the worst 40 and the last 20 are shown. All are in groups.csv." in body) == (number > 60)


def test_counts_have_a_card_too_and_a_figure_that_no_row_of_a_split_has_is_left_out():
    Path("c.csv").write_text("group,count,correct\na,20,10\nb,20,19\n")
    report_counts("c.csv", card=True)
    assert read("c_report")[0]["results"][0]["metrics"][0] == {
        "type": "accuracy",
        "value": 29 / 40,
        "name": "accuracy by group: overall",
    }
    rows = [f"{label},{label},{group},{split}" for split, label in (("val", 0), ("test", 1)) for group in "ab"]
    rows += ["1,1,a,val", "1,0,b,val"]
    Path("p.csv").write_text("\n".join(["label,prediction,group,split", *rows]) + "\n")
    report_predictions("p.csv", split="split", figure="fpr", positive="1", card=True)
    by_split = {one["dataset"]["split"]: one["metrics"] for one in read("p_report")[0]["results"]}
    has_rate = {split: any("fpr" in one["type"] for one in metrics) for split, metrics in by_split.items()}
    assert has_rate == {"val": True, "test": False}


def test_a_card_is_written_if_asked_for_and_replaces_none_unasked(capsys):
    write("p.csv", ["a", "b"])
    report_predictions("p.csv")
    assert not Path("p_report/model_card.md").exists()
    Path("out").mkdir()
    Path("out/model_card.md").write_text("mine")
    with pytest.raises(InputError, match=r"out/model_card\.md exists"):
        report_predictions("p.csv", output="out", card=True)
    assert [path.name for path in Path("out").iterdir()] == ["model_card.md"]
    main(["report", "--predictions", "p.csv", "--output", "out", "--card", "--overwrite"])
    assert Path("out/model_card.md").read_text().startswith("---\nmodel-index:\n")
    assert capsys.readouterr().out.endswith("Model card: out/model_card.md\n")


def test_a_test_of_a_run_writes_one_for_each_criterion(run, fit, tmp_path):
    folder = fit(tmp_path / "runs", "--select", "worst,overall", method="ERM", epochs=1)
    run("test", "--run", folder, "--card")
    for name in ("worst", "overall"):
        model, tables, _ = read(folder / "test" / name)
        report = read_json(folder / "test" / name / "report.json")
        assert model["name"] == "ERM"
        assert [one["dataset"]["split"] for one in model["results"]] == [*report["splits"]]
        found = {metric["type"]: metric["value"] for metric in model["results"][0]["metrics"]}
        assert found["worst"] == next(iter(report["splits"].values()))["criteria"]["worst"]["value"]
        assert len(tables) == 1 + len(report["splits"])
