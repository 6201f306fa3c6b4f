"""What is shown of a study: tables, comparisons, pictures."""

import csv
import io
import json
import re

import numpy as np
import pytest
from matplotlib.image import imread

from drurank.cli import main
from drurank.study import Study
from drurank.study.comparing import compare
from drurank.study.results import Counts
from runs import read_json
from studies import SMALL, written


def test_checkpoints_are_removed_when_asked_and_the_tables_stay(undisturbed, tmp_path):
    path = written(tmp_path / "s.yaml", keep_checkpoints=False, candidates=SMALL["candidates"][1:2], seeds=[0])
    for _ in range(2):
        main(["study", "run", "--config", str(path), "--output", str(tmp_path / "study")])
    assert not list(tmp_path.glob("study/**/*.ckpt"))
    found, should = (Study.load(folder) for folder in (tmp_path / "study", undisturbed))
    same = {result.manifest["key"]: result for result in should}
    for result in found:
        assert result.groups.equals(same[result.manifest["key"]].groups)


def test_a_table_by_hand(undisturbed):
    study = Study.load(undisturbed)
    table = study.table("qdcg10", cells=["average", "worst"])
    assert [row.method for row in table.rows] == ["Const+M", "ERM", "qDRU+M"]
    for row in table.rows:
        for place, seed in enumerate((0, 1)):
            mine = [r for r in study if r.method == row.method and r.seed == seed]
            best = min(mine, key=lambda result: result.validation("qdcg10"))
            assert row.settings[place] == best.setting
            counts = best.counts("qdcg10", "ood_test")
            assert row.cells["ood_test", "average"].values[place] == pytest.approx(
                np.mean(counts.correct / counts.count)
            )
            assert row.cells["ood_test", "worst"].values[place] == pytest.approx(np.min(counts.correct / counts.count))
    rows = list(csv.DictReader(io.StringIO(table.render("csv"))))
    assert len(rows) == 6
    assert float(rows[0]["average"]) == table.rows[0].cells["ood_test", "average"].values[0]


def test_the_layout_of_splits_holds_the_table_of_each(undisturbed, capsys):
    study = Study.load(undisturbed)
    both = study.table("qdcg10", on=["ood_val", "ood_test"], cells=["average", "worst"])
    for split in ("ood_val", "ood_test"):
        one = study.table("qdcg10", on=split, cells=["average", "worst"])
        for row, same in zip(one.rows, both.rows, strict=True):
            for name in ("average", "worst"):
                assert row.cells[split, name] == same.cells[split, name]
    words = ["study", "table", "--folder", str(undisturbed), "--layout", "splits", "--cells", "average,worst"]
    main([*words, "--format", "markdown"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| method | ood_val | ood_test | chosen |"
    number = r"(?:\*\*|<u>)?[\d.]+ ± [\d.]+(?:\*\*|</u>)?"
    assert re.match(rf"\| Const\+M \| {number} / {number} \| {number} / {number} \| ", lines[4])
    main([*words, "--on", "ood_test,ood_val", "--format", "csv"])
    head = capsys.readouterr().out.splitlines()[0]
    assert head.split(",")[4:] == ["ood_test average", "ood_test worst", "ood_val average", "ood_val worst"]


def test_a_frame_holds_every_count(undisturbed):
    pytest.importorskip("pandas")
    study = Study.load(undisturbed)
    frame = study.frame()
    columns = ["method", "setting", "seed", "key", "criterion", "split", "group", "count", "correct"]
    assert list(frame.columns) == columns
    for result in study:
        mine = frame[(frame.key == result.manifest["key"]) & (frame.criterion == "worst") & (frame.split == "ood_test")]
        counts = result.counts("worst", "ood_test")
        assert dict(zip(mine.group, mine.correct, strict=True)) == dict(zip(counts.groups, counts.correct, strict=True))
        assert set(mine.seed) == {result.seed}


def test_data_or_budgets_that_differ_are_said(undisturbed, tmp_path):
    for number, file in enumerate(undisturbed.glob("candidates/*/manifest.json")):
        target = tmp_path / "study/candidates" / file.parent.name
        target.mkdir(parents=True)
        manifest = read_json(file)
        if number == 0:
            manifest["data"]["fingerprint"], manifest["budget"]["steps"] = "other", 9
        (target / "manifest.json").write_text(json.dumps(manifest))
        (target / "groups.parquet").write_bytes((file.parent / "groups.parquet").read_bytes())
    said = Study.load(tmp_path / "study").table("qdcg10").remarks
    assert any(sentence.startswith("data differ") and "other (1)" in sentence for sentence in said)
    assert any(sentence.startswith("optimizer steps differ") for sentence in said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", "p25"], "kept no checkpoint by 'p25'"),
        (["--on", "ood"], "has no groups of split 'ood'"),
        (["--cells", "wrost"], "wrost"),
        (["--format", "html"], "html"),
        (["--on", "ood_val,ood_test"], "give one split, or --layout splits"),
        (["--test", "z"], "z"),
    ],
)
def test_a_table_that_cannot_be(undisturbed, words, said, capsys):
    with pytest.raises(SystemExit):
        main(["study", "table", "--folder", str(undisturbed), *words])
    assert said in capsys.readouterr().err


def test_a_folder_without_a_study(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["study", "table", "--folder", str(tmp_path)])
    assert "has no finished candidate" in capsys.readouterr().err


def test_concordance_is_shown(undisturbed, capsys):
    main(["study", "concordance", "--folder", str(undisturbed)])
    said = capsys.readouterr().out
    assert "qdcg10" in said
    assert "12 candidates" in said


def test_two_candidates_are_compared_group_by_group(undisturbed, tmp_path, capsys):
    one, other = list(Study.load(undisturbed))[:2]
    words = ["--first", one.manifest["key"], "--second", f"{other.setting} seed={other.seed}"]
    main(["study", "compare", "--folder", str(undisturbed), *words, "--output", str(tmp_path / "c.csv")])
    rows = list(csv.DictReader((tmp_path / "c.csv").open()))
    before, after = (result.counts("qdcg10", "ood_test") for result in (one, other))
    assert sorted(row["group"] for row in rows) == list(before.groups)
    for row in rows:
        place = before.groups.index(row["group"])
        difference = (after.correct[place] - before.correct[place]) / before.count[place]
        assert float(row["difference"]) == pytest.approx(difference)
        assert float(row["low"]) < difference < float(row["high"]) or difference == 0
    assert "Of 4 groups" in capsys.readouterr().out


def test_the_interval_of_a_group_is_that_of_two_posteriors():
    first = Counts(("a", "b"), np.array([10, 20]), np.array([40, 40]))
    second = Counts(("a", "b"), np.array([30, 21]), np.array([40, 40]))
    table = compare(first, second).to_pydict()
    assert table["group"] == ["b", "a"]
    assert table["verdict"] == ["like", "better"]
    # Normal approximation of two independent posteriors.
    for place, (one, other) in enumerate([(20, 21), (10, 30)]):
        p, q = (one + 0.5) / 41, (other + 0.5) / 41
        sd = np.sqrt(p * (1 - p) / 42 + q * (1 - q) / 42)
        assert table["low"][place] == pytest.approx(q - p - 1.96 * sd, abs=0.02)
        assert table["high"][place] == pytest.approx(q - p + 1.96 * sd, abs=0.02)


def test_candidates_that_are_not_there(undisturbed, capsys):
    with pytest.raises(SystemExit):
        main(["study", "compare", "--folder", str(undisturbed), "--first", "DRU cutoff=5 seed=9", "--second", "x"])
    assert "did you mean 'DRU cutoff=5 seed=" in capsys.readouterr().err


def test_pictures_and_report_are_made_again_without_training(undisturbed, tmp_path):
    for file in undisturbed.glob("candidates/*/*"):
        if file.suffix in (".json", ".parquet"):
            target = tmp_path / "study" / file.relative_to(undisturbed)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    main(["study", "report", "--folder", str(tmp_path / "study")])
    text = (tmp_path / "study/report.md").read_text(encoding="utf-8")
    assert Study.load(undisturbed).table("qdcg10").render("markdown") in text
    drawn = re.findall(r"\((\w+\.png)\)", text)
    assert drawn == ["choosing.png", "methods.png", "groups.png", "upweight_factor.png", "cutoff.png"]
    for name in drawn:
        assert imread(tmp_path / "study" / name).std() > 0.01
