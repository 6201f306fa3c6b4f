"""What is shown of a study: tables, comparisons, pictures."""

import csv
import io
import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from matplotlib.image import imread

from drurank.cli import main
from drurank.errors import InputError
from drurank.study import Result, Study, compare, find
from drurank.study.pictures import options_with_grid
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


def test_what_is_not_in_the_plan_any_more_is_left_out_and_said(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "study")
    plan = read_json(undisturbed / "plan.json")
    kept = dict(list(plan.items())[3:])
    (tmp_path / "study/plan.json").write_text(json.dumps(kept), encoding="utf-8")
    study = Study.load(tmp_path / "study")
    assert {result.manifest["key"] for result in study} == set(kept)
    assert "Left out: 3 finished candidates of earlier plans in this folder." in study.unlike()
    (tmp_path / "study/plan.json").write_text('{"other": "ERM, seed 0"}', encoding="utf-8")
    with pytest.raises(InputError, match="has no finished candidate, and 12 of earlier plans"):
        Study.load(tmp_path / "study")


def test_a_draw_that_has_become_no_candidate_yet_is_named(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "study")
    (one, *_) = read_json(undisturbed / "plan.json")
    draws = {"DRU-x-0-0": "DRU draw 0, seed 0", "DRU-x-0-1": "DRU draw 1, seed 0"}
    (tmp_path / "study/plan.json").write_text(json.dumps(draws), encoding="utf-8")
    (tmp_path / "study/draws").mkdir()
    (tmp_path / "study/draws/DRU-x-0-0.json").write_text(json.dumps({"key": one}), encoding="utf-8")
    study = Study.load(tmp_path / "study")
    assert [result.manifest["key"] for result in study] == [one]
    assert study.unfinished == ("DRU draw 1, seed 0",)


def test_a_seed_that_a_method_lacks_is_left_out_and_said(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "study")
    for result in Study.load(undisturbed):
        if result.method == "ERM" and result.seed == 1:
            shutil.rmtree(tmp_path / "study/candidates" / result.manifest["key"])
    table = Study.load(tmp_path / "study").table("qdcg10")
    assert table.seeds == (0,)
    assert [len(row.cells["ood_test", "worst"].values) for row in table.rows] == [1, 1, 1]
    assert "Left out: seed 1, with which ERM is not finished." in table.remarks
    assert any(r.startswith("Not finished: ") and r.count("ERM") == 2 for r in table.remarks)
    assert "Nothing is bold: of one seed, chance in training is not seen." in table.remarks


def test_methods_that_were_tested_on_other_groups_are_not_compared(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "study")
    for result in Study.load(tmp_path / "study"):
        if result.method == "ERM":
            names = pa.array([f"other_{name}" for name in result.groups["group"].to_pylist()])
            place = result.groups.column_names.index("group")
            pa_parquet.write_table(result.groups.set_column(place, "group", names), result.folder / "groups.parquet")
    with pytest.raises(InputError, match=r"has other groups of ood_test than .*; compare like with like"):
        Study.load(tmp_path / "study").table("qdcg10")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", b""),
        ("manifest.json", b'{"key": "x"'),
        ("manifest.json", b"{}"),
        ("manifest.json", b"[]"),
        ("manifest.json", b"\xff\xfe"),
        ("groups.parquet", b""),
        ("groups.parquet", b"PAR1 half"),
        ("groups.parquet", None),
    ],
)
def test_a_damaged_candidate_is_named(undisturbed, tmp_path, name, content, capsys):
    shutil.copytree(undisturbed, tmp_path / "study")
    file = sorted(tmp_path.glob(f"study/candidates/*/{name}"))[0]
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(SystemExit) as stop:
        main(["study", "concordance", "--folder", str(tmp_path / "study")])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert str(file) in said
    assert f"remove {file.parent} and run the study again" in said


def test_names_with_marks_of_markdown_and_latex_break_no_table(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "study")
    for file in tmp_path.glob("study/candidates/*/manifest.json"):
        manifest = read_json(file)
        content = {**manifest, "setting": f"{manifest['setting']} a|b\nc", "method": manifest["method"] + "_5%&#"}
        file.write_text(json.dumps(content), encoding="utf-8")
    table = Study.load(tmp_path / "study").table("qdcg10")
    rows = [line for line in table.render("markdown").splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 3
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert r"Const+M\_5\%\&\#" in table.render("latex")
    assert str(table) == table.render("markdown")


def test_a_setting_and_seed_that_several_have_needs_a_key(undisturbed):
    study = Study.load(undisturbed)
    one = study.results[0]
    with pytest.raises(InputError, match=f"has several candidates .*: {one.manifest['key']}, {one.manifest['key']}"):
        find(Study(study.folder, (one, one)), f"{one.setting} seed={one.seed}")
    assert repr(study) == f"Study({str(undisturbed)!r}, 12 finished candidates)"


def test_the_split_of_unseen_groups_is_shown_or_else_that_of_test(undisturbed):
    (one, *_) = Study.load(undisturbed).results
    names = pa.array([name.removeprefix("ood_") for name in one.groups["split"].to_pylist()])
    other = Result(one.folder, one.manifest)
    other.__dict__["groups"] = one.groups.set_column(one.groups.column_names.index("split"), "split", names)
    assert Study(one.folder, (one,)).split(None) == "ood_test"
    assert Study(one.folder, (other,)).split(None) == "test"
    assert Study(one.folder, (one,)).split("ood_val") == "ood_val"


def test_options_of_words_or_null_have_no_picture(undisturbed):
    study = Study.load(undisturbed)
    results = []
    for place, value in enumerate((0.1, None, "auto", [1])):
        one = study.results[place]
        results.append(Result(one.folder, {**one.manifest, "options": {"model.x": value, "model.y": place}}))
    assert options_with_grid(Study(study.folder, tuple(results))) == ["y"]


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
    assert any(sentence.startswith("data differ") and "other: " in sentence for sentence in said)
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


def test_pictures_and_report_are_made_again_without_training(undisturbed, pictures, tmp_path):
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
