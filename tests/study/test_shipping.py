"""Which checkpoint to take from a study."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from drurank.cli import main
from drurank.cli.compare_shown import verdict
from drurank.errors import InputError
from drurank.files import write_json
from drurank.study import Study, export_best, recommend, study_table
from drurank.study.comparing_candidates import compare_in_study
from drurank.study.shipping import _measured
from drurank.words import joined
from runs import read_json
from studies import write_counts


def study_of(folder, rates, seeds=3, groups=60, size=40):
    rng = np.random.default_rng(0)
    true = rng.normal(0.7, 0.05, groups)
    return write_counts(
        folder,
        {name: rng.binomial(size, np.clip(true + more, 0, 1), (seeds, groups)) for name, more in rates.items()},
        size,
    )


@pytest.mark.parametrize(
    ("rates", "taken", "said"),
    [
        ({"ERM": 0, "qDRU+M": 0.15}, "qDRU+M", r"Take qDRU\+M: .* better than ERM by \d\.\d+ \(95 %: .*; p < .001"),
        ({"ERM": 0, "A": 0.15, "B": 0.2}, "B", "Better than ERM too: A; of these B is best on validation"),
        (
            {"ERM": 0, "qDRU+M": 0},
            "ERM",
            r"None beats ERM by qdcg10 .* qDRU\+M is (better|worse) by \d\.\d+ on .* is better by up to \d\.\d+",
        ),
        ({"ERM": 0.2, "qDRU+M": 0}, "ERM", "None beats ERM by qdcg10"),
        (
            {"A": 0, "B": 0.15},
            "B",
            "Take B: by qdcg10 it is best on validation, and on ood_test better",
        ),
        ({"ERM": 0}, "ERM", "Only ERM was run"),
    ],
)
def test_the_last_lines_of_a_table_say_what_to_take(tmp_path, rates, taken, said):
    folder = study_of(tmp_path / "study", rates)
    study = Study.load(folder)
    found = recommend(study, "qdcg10")
    assert found.method == taken
    assert found.result.method == taken
    best = min((r for r in study if r.method == taken), key=lambda result: result.validation("qdcg10"))
    assert found.result is best
    assert re.search(said, found.why), found.why
    if len(rates) > 1:
        assert study_table(study, "qdcg10", cells=["average"]).remarks[-2:] == found.sentences()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-0.0231, "As measured, A is worse by 2.3 percentage points"),
        (0.0004, "As measured, A is just as good"),
        (0.016, "As measured, A is better by 1.6 percentage points"),
    ],
)
def test_what_remains_possible_follows_what_was_measured(value, said):
    assert _measured("worst", value, "A") == said


@pytest.mark.parametrize(
    ("by", "amount"), [("worst", r"\d+\.\d percentage points"), ("qdcg10", r"\d\.\d+")], ids=["share", "sum"]
)
def test_what_remains_possible_has_a_unit_and_the_split_it_is_of(tmp_path, by, amount):
    study = study_of(tmp_path / "study", {"ERM": 0, "qDRU+M": 0})
    why = recommend(Study.load(study), by).why
    possible = rf"; chance leaves it possible that it is better by up to {amount} \(95 %\)"
    is_so = rf"is ((better|worse) by {amount}|just as good)"
    assert re.search(rf"As measured, qDRU\+M {is_so} on ood_test{possible}", why), why
    other = study_of(tmp_path / "other", {"A": 0, "B": 0})
    why = recommend(Study.load(other), by).why
    assert re.search(rf"As measured, [AB] {is_so} there{possible}", why), why
    (said,) = verdict(compare_in_study(Study.load(study), "ERM", "qDRU+M", cells=[by]))
    between = rf"[+-]?{amount.partition(' ')[0]} to [+-]?{amount}"
    said_of = (
        rf"ERM and qDRU\+M: no difference larger than chance on ood_test, but still possible: {by} \({between}\)\."
    )
    assert re.fullmatch(said_of, said), said


def test_a_method_that_is_taken_is_shown_with_what_it_costs_on_average(tmp_path):
    """The worst five of sixty groups gain 12 of 40 rows, all others lose one: (5 * 12 - 55) / 60 / 40 more."""
    erm = np.tile(np.where(np.arange(60) < 5, 10, 30), (3, 1))
    other = np.tile(np.where(np.arange(60) < 5, 22, 29), (3, 1))
    study = Study.load(write_counts(tmp_path / "study", {"ERM": erm, "qDRU+M": other}, 40))
    why = recommend(study, "qdcg10").why
    assert "Its average group accuracy differs from ERM's by +0.2 percentage points (95 %: " in why
    assert "Another --by may take another method: decide on qdcg10" in why
    assert "all methods together" not in why
    assert "average group accuracy" not in recommend(study, "qdcg10", method="ERM").why


def test_of_several_splits_the_run_is_one_of_the_first(tmp_path):
    """Runs of the second split have the better values, on validation groups that the first lacks."""
    correct = {"ERM": [[[20] * 9, [22] * 9], [[30] * 9] * 2], "A": [[[19] * 9, [18] * 9], [[29] * 9] * 2]}
    rows = {name: np.array(one) + np.arange(9) % 3 for name, one in correct.items()}
    study = Study.load(write_counts(tmp_path / "study", rows, 40, repeats=(1200, 40)))
    found = recommend(study, "qdcg10")
    assert found.method == "ERM"
    assert found.result.run == (0, 1)
    assert (
        "the best of its 2 runs by qdcg10 on validation on split 0; runs on other splits are validated on other"
        in (found.sentences()[1])
    )


def test_with_one_seed_nothing_can_be_told_and_few_groups_are_named(tmp_path):
    study = Study.load(study_of(tmp_path / "one", {"ERM": 0, "qDRU+M": 0.15}, seeds=1))
    assert "with one seed no difference between methods can be told from chance" in recommend(study).why
    study = Study.load(study_of(tmp_path / "few", {"ERM": 0, "qDRU+M": 0.15}, groups=9))
    assert "ood_test has 9 groups; another split of the data may say otherwise" in recommend(study).why
    with pytest.raises(InputError, match="has no method 'qDRU': did you mean"):
        recommend(study, method="qDRU")


def test_the_checkpoint_is_named_and_copied(undisturbed, tmp_path, run, capsys):
    study = Study.load(undisturbed)
    found = recommend(study, "worst")
    assert found.checkpoint.is_file()
    assert any(str(found.checkpoint) in said for said in study_table(study, "worst", cells=["worst"]).remarks)
    main(["study", "export-best", "--folder", str(undisturbed), "--by", "worst", "--output", "best"])
    (copied,) = Path("best/checkpoints").iterdir()
    assert copied.read_bytes() == found.checkpoint.read_bytes()
    assert "predict --run best\n" in capsys.readouterr().out
    assert read_json("best/selection.json")["worst"]["epoch"] == found.result.manifest["selection"]["worst"]["epoch"]
    before = {file: file.stat().st_mtime_ns for file in undisturbed.rglob("*")}
    run("predict", "--ckpt_path", copied)
    assert Path("runs/version_0/predictions.parquet").is_file()
    assert {file: file.stat().st_mtime_ns for file in undisturbed.rglob("*")} == before
    with pytest.raises(SystemExit):
        main(["study", "export-best", "--folder", str(undisturbed), "--by", "worst", "--output", "best"])
    said = capsys.readouterr().err
    assert "best exists; give another output, or --overwrite true to replace it" in said
    Path("full").mkdir()
    Path("full/mine.txt").touch()
    with pytest.raises(SystemExit):
        main(["study", "export-best", "--folder", str(undisturbed), "--by", "worst", "--output", "full"])
    assert "output is 'full', which exists and holds more than a copy" in capsys.readouterr().err


def test_only_what_was_copied_earlier_is_replaced(undisturbed, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["study", "export-best", "--folder", str(undisturbed), "--output"]
    main([*words, "best", "--by", "worst"])
    main([*words, "best", "--by", "qdcg10", "--overwrite"])
    (copied,) = Path("best/checkpoints").iterdir()
    assert copied.read_bytes() == recommend(Study.load(undisturbed), "qdcg10").checkpoint.read_bytes()
    assert list(read_json("best/selection.json")) == ["qdcg10"]
    own = recommend(Study.load(undisturbed), "worst").checkpoint.parent.parent
    Path("best/mine.txt").touch()
    Path("linked").mkdir()
    for name in ("config.yaml", "selection.json", "manifest.json", "checkpoints"):
        Path("linked", name).symlink_to(Path("best", name).absolute())
    for output in ("best", "linked", str(own), str(undisturbed)):
        before = {file: file.stat().st_mtime_ns for file in Path(output).rglob("*")}
        with pytest.raises(SystemExit) as stop:
            main([*words, output, "--by", "worst", "--overwrite"])
        assert stop.value.code == 2
        assert {file: file.stat().st_mtime_ns for file in Path(output).rglob("*")} == before


@pytest.mark.parametrize("stop", range(4))
@pytest.mark.parametrize("there", [False, True])
def test_a_copy_that_is_stopped_is_the_earlier_one_or_none_and_can_be_repeated(
    undisturbed, tmp_path, monkeypatch, stop, there
):
    study, output, put = Study.load(undisturbed), tmp_path / "best", []
    if there:
        export_best(study, output, "worst")
    before, replace = held(tmp_path), Path.replace

    def stopped(path, target):
        put.append(target)
        if len(put) == stop + 1:
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            export_best(study, output, "qdcg10", overwrite=there)
    assert held(tmp_path) == before
    export_best(study, output, "qdcg10", overwrite=there)
    assert list(read_json(output / "selection.json")) == ["qdcg10"]
    assert [file.name for file in (output / "checkpoints").iterdir()] == ["qdcg10.ckpt"]


def test_a_copy_that_was_killed_can_be_repeated(undisturbed, tmp_path):
    (tmp_path / "best/checkpoints").mkdir(parents=True)
    for name in (".config.yaml.5.drurank", "checkpoints/.worst.ckpt.77.drurank"):
        (tmp_path / "best" / name).write_text("half")
    export_best(Study.load(undisturbed), tmp_path / "best", "worst")
    found = sorted(str(path.relative_to(tmp_path / "best")) for path in (tmp_path / "best").rglob("*.*"))
    assert found == ["checkpoints/worst.ckpt", "config.yaml", "manifest.json", "selection.json"]


def held(folder):
    return {str(path): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def test_the_command_under_a_table_copies_the_checkpoint_that_the_table_names(undisturbed, monkeypatch, capsys):
    """By each criterion, and for a table of another split than that of unseen groups."""
    monkeypatch.setattr("sys.argv", ["cli.py"])
    study, number = Study.load(undisturbed), 0
    for by in study.results[0].criteria:
        for on in ((), ("--on", "ood_val")):
            main(["study", "table", "--folder", str(undisturbed), "--by", by, *on])
            typed = shlex.split(re.search("^Copy it: python cli.py (.*)$", capsys.readouterr().out, re.MULTILINE)[1])
            assert typed[-2:] == ["--output", "best"]
            main([*typed[:-1], f"best{number}"])
            (copied,) = Path(f"best{number}/checkpoints").iterdir()
            named = recommend(study, by, *on[1:]).checkpoint
            assert (copied.name, copied.read_bytes()) == (named.name, named.read_bytes())
            number += 1


def test_a_command_has_all_options_of_a_choice(tmp_path):
    study = Study.load(study_of(tmp_path / "study", {"ERM": 0, "A": 0}))
    asked = recommend(study, "worst", "ood_val", "A").options
    assert asked == ("--folder", str(study.folder), "--by", "worst", "--on", "ood_val", "--method", "A")


@pytest.mark.parametrize(("epoch", "epochs"), [(0, 1), (0, 2), (0, 3), (0, 9), (1, 2)])
def test_of_a_model_of_the_first_epoch_it_is_said_what_to_try(tmp_path, epoch, epochs):
    folder = write_counts(tmp_path / "study", {"ERM": np.full((2, 6), 12)}, 40)
    for file in folder.glob("candidates/*/manifest.json"):
        content = read_json(file)
        for entry in content["selection"].values():
            entry["epoch"] = epoch
        content["budget"]["epochs"] = epochs
        write_json(file, content)
    study = Study.load(folder)
    found, others = recommend(study, "worst"), [name for name in study.results[0].criteria if name != "worst"]
    longer = "longer training (a larger max_epochs of its trainer)"
    first = "a lower learning rate (model.optimizer.lr)" if epochs > 2 else longer
    said = (
        f"{found.result.name} was best on validation at epoch 0, the first.",
        f"To try: {first}, or another criterion (--by {joined(others, 'or')}).",
    )
    assert found.warnings == (said if epoch == 0 else ())


def test_settings_of_one_method_are_to_be_compared(tmp_path):
    """And what they learn from differs by an option of the data, which is no fault of the study."""
    folder = study_of(tmp_path / "study", {"ERM": 0, "other": 0.1}, seeds=2)
    for file in folder.glob("candidates/*/manifest.json"):
        manifest = read_json(file)
        left_out = ["id"] if manifest["method"] == "ERM" else ["id", "score"]
        manifest |= {"method": "ERM", "setting": f"ERM data.exclude={left_out}", "options": {"data.exclude": left_out}}
        manifest["data"]["fingerprint"] = str(len(left_out))
        write_json(file, manifest)
    table = study_table(Study.load(folder))
    (said,) = [line for line in table.remarks if line.startswith("Only ERM was run")]
    best = "ERM data.exclude=['id', 'score']"
    assert said.startswith(f"Only ERM was run, with 2 settings, of which {best} is best by qdcg10 on validation; ")
    pair = shlex.split(said.partition("tells two apart: ")[2].removesuffix("."))
    assert pair == ["--first", best, "--second", "ERM data.exclude=['id']"]
    assert compare_in_study(Study.load(folder), pair[1], pair[3]).criteria
    assert "Candidates differ in data.exclude, so they learn from other data." in table.remarks


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"trainer": "x"}, "trainer"),
        ({"trainer": ["a"]}, "trainer"),
        ({"trainer": {"callbacks": "x"}}, "trainer.callbacks"),
        ({"trainer": {"callbacks": {"class_path": "x"}}}, "trainer.callbacks"),
        ({"trainer": {"callbacks": 5}}, "trainer.callbacks"),
        ({"trainer": {"callbacks": ["x"]}}, "trainer.callbacks.0"),
        ({"trainer": {"callbacks": [{"class_path": 5}]}}, "trainer.callbacks.0.class_path"),
        ({"data": "x"}, "data"),
        ({"data": [1]}, "data"),
        ({"data": None}, "data"),
        ({"data": {"init_args": "path"}}, "data.init_args"),
        ({"data": {"init_args": None}}, "data.init_args"),
    ],
)
def test_a_configuration_that_is_none_is_named_and_nothing_copied(undisturbed, tmp_path, changes, place):
    shutil.copytree(undisturbed, tmp_path / "study")
    for file in tmp_path.glob("study/candidates/*/version_*/config.yaml"):
        file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text("utf-8")), **changes}), encoding="utf-8")
    with pytest.raises(InputError, match=rf"config\.yaml is damaged: its {re.escape(place)} is .*run the study again"):
        export_best(Study.load(tmp_path / "study"), tmp_path / "best", "worst")
    assert not (tmp_path / "best").exists()
