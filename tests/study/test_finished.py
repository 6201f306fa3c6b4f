"""What a study found, read from its folder."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drurank.cli import main
from drurank.errors import InputError
from drurank.study import Result, Study, study_table
from runs import read_json


def test_what_is_not_in_the_plan_any_more_is_left_out_and_said(results, tmp_path):
    shutil.copytree(results, tmp_path / "study")
    plan = read_json(results / "plan.json")
    kept = dict(list(plan.items())[3:])
    (tmp_path / "study/plan.json").write_text(json.dumps(kept), encoding="utf-8")
    study = Study.load(tmp_path / "study")
    assert {result.manifest["key"] for result in study} == set(kept)
    assert "Left out: 3 finished candidates of earlier plans in this folder." in study.caveats()
    (tmp_path / "study/plan.json").write_text('{"other": "ERM, seed 0"}', encoding="utf-8")
    with pytest.raises(InputError, match="has no finished candidate, and 12 of earlier plans"):
        Study.load(tmp_path / "study")


def test_a_trial_that_has_become_no_candidate_yet_is_named(results, tmp_path):
    shutil.copytree(results, tmp_path / "study")
    (one, *_) = read_json(results / "plan.json")
    trials = {"DRU-x-0-0": "DRU trial 0, seed 0", "DRU-x-0-1": "DRU trial 1, seed 0"}
    (tmp_path / "study/plan.json").write_text(json.dumps(trials), encoding="utf-8")
    (tmp_path / "study/trials").mkdir()
    (tmp_path / "study/trials/DRU-x-0-0.json").write_text(json.dumps({"key": one}), encoding="utf-8")
    study = Study.load(tmp_path / "study")
    assert [result.manifest["key"] for result in study] == [one]
    assert study.unfinished == ("DRU trial 1, seed 0",)


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
def test_a_damaged_candidate_is_named(results, tmp_path, name, content, capsys):
    shutil.copytree(results, tmp_path / "study")
    file = sorted(tmp_path.glob(f"study/candidates/*/{name}"))[0]
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(SystemExit) as stop:
        main(["study", "concordance", "--folder", str(tmp_path / "study")])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert str(file) in said
    assert f"remove {file.parent} and run the study again" in said


@pytest.mark.parametrize("command", ["table", "seeds", "concordance", "plot", "report", "export-best"])
def test_counts_that_no_data_set_has_are_refused(results, tmp_path, command, capsys):
    study = shutil.copytree(results, tmp_path / "study")
    for file in study.rglob("groups.parquet"):
        table, many = pa_parquet.read_table(file), pa.array([2**62], pa.int64())
        for name in ("count", "correct"):
            cells = pa.concat_arrays([many, table[name].combine_chunks().cast(pa.int64())[1:]])
            table = table.set_column(table.column_names.index(name), name, cells)
        pa_parquet.write_table(table, file)
    words = {"export-best": ["--output", str(tmp_path / "best")], "seeds": ["--method", "ERM"]}.get(command, [])
    with pytest.raises(SystemExit) as stop:
        main(["study", command, "--folder", str(study), *words])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "groups.parquet is damaged: it has more than 9,007,199,254,740,992 rows, as no data set has" in said


def test_the_split_of_unseen_groups_is_shown_or_else_that_of_test(results):
    (one, *_) = Study.load(results).results
    names = pa.array([name.removeprefix("ood_") for name in one.groups["split"].to_pylist()])
    other = Result(one.folder, one.manifest)
    other.__dict__["groups"] = one.groups.set_column(one.groups.column_names.index("split"), "split", names)
    assert Study(one.folder, (one,)).split(None) == "ood_test"
    assert Study(one.folder, (other,)).split(None) == "test"
    assert Study(one.folder, (one,)).split("ood_val") == "ood_val"


def test_a_frame_holds_every_count(results):
    pytest.importorskip("pandas")
    study = Study.load(results)
    frame = study.frame()
    columns = ["method", "setting", "seed", "key", "criterion", "split", "group", "count", "correct"]
    assert list(frame.columns) == columns
    for result in study:
        mine = frame[(frame.key == result.manifest["key"]) & (frame.criterion == "worst") & (frame.split == "ood_test")]
        counts = result.counts("worst", "ood_test")
        assert dict(zip(mine.group, mine.correct, strict=True)) == dict(zip(counts.groups, counts.correct, strict=True))
        assert set(mine.seed) == {result.seed}


def test_data_or_budgets_that_differ_are_said(results, tmp_path):
    shutil.copytree(results, tmp_path / "study")
    (file, *_) = tmp_path.glob("study/candidates/*/manifest.json")
    manifest = read_json(file)
    manifest["data"]["fingerprint"], manifest["budget"]["steps"] = "other", 9
    file.write_text(json.dumps(manifest), encoding="utf-8")
    said = study_table(Study.load(tmp_path / "study"), "qdcg10").remarks
    assert any(sentence.startswith("data differ") and "other: " in sentence for sentence in said)
    (steps,) = [sentence for sentence in said if sentence.startswith("optimizer steps differ")]
    assert steps == "optimizer steps differ between candidates: 8 to 9."
    manifest["options"]["trainer.max_epochs"] = 13
    file.write_text(json.dumps(manifest), encoding="utf-8")
    assert not any("optimizer steps" in one for one in study_table(Study.load(tmp_path / "study"), "qdcg10").remarks)


def test_a_folder_without_a_study(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["study", "table", "--folder", str(tmp_path)])
    assert "has no finished candidate" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["table", "report", "export-best"])
@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("data", "source"), 5),
        (("data", "source"), ["a"]),
        (("data", "source"), ...),
        (("budget",), []),
        (("budget", "epochs"), ...),
        (("budget", "epochs"), None),
        (("budget", "epochs"), "2"),
        (("budget", "epochs"), 1.5),
        (("budget", "epochs"), 10**400),
        (("budget", "steps"), -1),
    ],
)
def test_a_manifest_of_another_shape_is_named(results, tmp_path, command, place, value, capsys):
    shutil.copytree(results, tmp_path / "study")
    file = sorted(tmp_path.glob("study/candidates/*/manifest.json"))[0]
    manifest = read_json(file)
    part = manifest[place[0]] if len(place) > 1 else manifest
    if value is ...:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    file.write_text(json.dumps(manifest), encoding="utf-8")
    output = ["--output", str(tmp_path / "best")] if command == "export-best" else []
    with pytest.raises(SystemExit) as stop:
        main(["study", command, "--folder", str(tmp_path / "study"), *output])
    assert stop.value.code == 2
    assert f"{file} is damaged: its {'.'.join(place)} is" in capsys.readouterr().err
    assert not (tmp_path / "best").exists()
