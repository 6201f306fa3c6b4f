"""What is wrong in a study's plan is said before its first run."""

import logging
import os
import re

import pytest
import torch

from clashing import Network
from drurank.cli import main, study_run
from drurank.cli.file_hints import in_study_file
from drurank.cli.study_checks import check_plan
from drurank.cli.study_workers import Workers
from drurank.cli.training_parser import RunParser
from drurank.errors import InputError
from drurank.study import Plan
from studies import ERM, rehearse, write_results, written

TABLE = {"class_path": "drurank.data.Table", "init_args": {"path": "t.csv", "label": "y", "group": "g", "split": "s"}}
OPEN = {"search": "random", "trials": 1}


def with_path(path):
    return {**TABLE, "init_args": {**TABLE["init_args"], "path": path}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"candidates": [{"model": "DRU", "cutoff": -5}]}, "DRU cutoff=-5: --model.cutoff is -5.0.*from 0 to 100"),
        ({"candidates": [{"model": "DRU", "cutof": 5}]}, "DRU cutof=5: .*did you mean 'cutoff'"),
        (
            {"candidates": [{"model": "DRU", "cutoff": [5, 7.5, -5.5]}]},
            "DRU cutoff=-5.5: --model.cutoff is -5.5",
        ),
        (
            {"candidates": [{"model": "ERM", "optimizer": "SGD", "model.optimizer.lr": [0.1, 0.2, -1.5]}]},
            "ERM .*lr=-1.5.*Invalid learning rate",
        ),
        (
            {"candidates": [{"model": "JTT", "first_stage_epochs": [1, 2]}]},
            "max_epochs is 2 and --model.first_stage_epochs 2",
        ),
        (
            {
                "candidates": [{"model": "ERM", "model.network.hidden": [4, 0]}],
                "model": {"init_args": {"network": {"class_path": "MLP"}}},
            },
            "ERM network.hidden=0: --model.network.hidden is 0",
        ),
        ({"candidates": [{"model": "DRUU"}]}, "no model 'DRUU': did you mean 'DRU'"),
        ({"candidates": [{"model": "ERM", "optimizer": "Adamm"}]}, "no optimizer 'Adamm': did you mean 'Adam'"),
        ({"candidates": [{"model": "ERM", "model.optimizer.lr": 0.1}]}, "--model.optimizer <class> first"),
        ({"candidates": [{"model": "ERM", "optimizer": "AdamW", "model.optimizer.lr": -1}]}, "Invalid learning rate"),
        (
            {"candidates": [{"model": "JTT", "first_stage_epochs": 2}]},
            "max_epochs is 2 and --model.first_stage_epochs 2",
        ),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 5, "high": 500}}], **OPEN}, "cutoff is 500"),
        ({"candidates": [{"model": "DRU", "cutoff": [5, -1]}], **OPEN}, "cutoff is -1"),
        ({"data": with_path("missing.csv")}, "there is no file missing.csv"),
        ({"data": TABLE}, "t.csv has no rows in split ood_test or test"),
        ({"data": {**TABLE, "init_args": {**TABLE["init_args"], "by": "overlapping"}}}, "add up to all rows"),
        ({"data": {"class_path": "Shortcutt"}}, "no data 'Shortcutt': did you mean 'Shortcut'"),
        ({"trainer": {"max_epochz": 2}}, "did you mean '--trainer.max_epochs'"),
        ({"trainer": {"max_epochs": 0, "accelerator": "cpu"}}, "max_epochs is 0"),
        ({"trainer": {"accelerator": "tpuu"}}, "tpuu"),
        ({"model": {"init_args": {"network": {"class_path": "MLP", "init_args": {"hiden": 4}}}}}, "'hidden'"),
    ],
)
def test_what_is_wrong_in_a_plan_is_said_and_nothing_is_run(tmp_path, changes, said, capfd):
    rows = [
        f"{row / 9},{row % 2},{group},{split}"
        for split, group in (("train", "a"), ("ood_val", "b"))
        for row in range(9)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,g,s", *rows]), encoding="utf-8")
    plan = Plan.read(written(tmp_path / "s.yaml", **{"candidates": ERM, **changes}))
    with pytest.raises(InputError, match=said) as stop:
        rehearse(tmp_path / "study", plan)
    assert str(stop.value).startswith(f"{tmp_path / 's.yaml'}: ")
    assert "\n" not in str(stop.value)
    assert not (tmp_path / "study").exists()
    assert capfd.readouterr() == ("", "")


def test_a_plan_that_is_right_passes_and_leaves_the_process_as_it_was(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml"))
    rehearse(tmp_path / "study", plan)
    assert {path.name for path in (tmp_path / "study").iterdir()} == {"shared", "plan.json"}
    assert "PL_GLOBAL_SEED" not in os.environ
    assert logging.root.manager.disable == logging.NOTSET
    assert re.search("DRU cutoff=100", (tmp_path / "study/plan.json").read_text(encoding="utf-8"))


def test_of_settings_that_differ_by_numbers_one_has_its_options_read_and_each_is_rehearsed_with_its_own(
    tmp_path, monkeypatch
):
    seen = []

    class Read(RunParser):
        def parse_args(self, *args, **kwargs):
            seen.append("parsed")
            return super().parse_args(*args, **kwargs)

    monkeypatch.setattr(
        "drurank.cli.study_checks._RehearsedCLI.fit", lambda cli, **_: seen.append(numbers_of(cli.model))
    )
    monkeypatch.setattr("drurank.cli.group_cli.RunParser", Read)
    grid = {"model": "DRU", "cutoff": [5, 10], "optimizer": "SGD", "model.optimizer.lr": [0.5, 1, 2]}
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=[grid], seeds=[0, 1]))
    rehearse(tmp_path / "study", plan)
    found = [entry for entry in seen if entry != "parsed"]
    assert sorted(found) == [(cutoff, lr) for cutoff in (5.0, 10.0) for lr in (0.5, 1.0, 2.0)]
    once = seen.index(found[0])
    assert seen.count("parsed") == 2 * once  # 0.5 is a number, and 1 and 2 are whole ones


def test_a_class_that_a_candidate_names_has_its_own_defaults(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "drurank.cli.study_checks._RehearsedCLI.fit",
        lambda cli, **_: seen.append(cli.config["fit"]["model"].init_args.network.init_args.as_dict()),
    )
    shared = {"init_args": {"network": {"class_path": "MLP", "init_args": {"hidden": 4}}}}
    networks = ["MLP", f"{Network.__module__}.{Network.__name__}"]
    plan = Plan.read(written(tmp_path / "s.yaml", model=shared, candidates=[{"model": "ERM", "network": networks}]))
    rehearse(tmp_path / "study", plan)
    usual, own = seen
    assert (usual["hidden"], usual["layers"], usual["dropout"]) == (4, 3, 0.5)
    # What the plan says itself is meant for both.
    assert own == {"hidden": 4, "layers": 1, "dropout": 0.0, "activation": "tanh"}


def numbers_of(method):
    return method.cutoff, method.optimization.optimizer([torch.zeros(1, requires_grad=True)]).defaults["lr"]


def test_what_fits_warn_of_in_the_data_is_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    part = {8: "ood_val", 9: "ood_test"}
    rows = [
        f"{100000 + row * 7 % 401},2021-{row % 12 + 1:02}-{row % 28 + 1:02},{row % 13},"
        f"{(row * row + row // 7) % 5 % 2},{'G' if row == 3 else 'g'} {row % 10},{part.get(row % 10, 'train')}"
        for row in range(400)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["id,when,x,y,g,s", *rows]), encoding="utf-8")
    candidates = [{"model": "ERM"}, {"model": "DRU", "cutoff": [5, 50]}]
    plan = written(tmp_path / "s.yaml", data=TABLE, candidates=candidates, seeds=[0, 1], trainer={"max_epochs": 1})
    warned = rehearse(tmp_path / "study", Plan.read(plan))
    text = "\n".join(warned)
    assert len(warned) == len(set(warned)) == 3, warned
    assert re.search("t.csv: columns whose value differs in .* row: 'id' .*--data.exclude id", text)
    assert re.search("t.csv: column 'when' looks like a date.*--data.dates when", text)
    assert re.search("'G 3' = 'g 3'", text)
    read = Plan.read(plan)
    monkeypatch.setattr(Workers, "check", lambda _, shared: check_plan(tmp_path / "other", read, shared))
    monkeypatch.setattr(study_run, "run_plan", lambda *_: {})
    main(["study", "run", "--config", str(plan), "--output", "other"])
    shown = capsys.readouterr().err
    assert shown.splitlines() == [f"warning: {in_study_file(sentence)}" for sentence in warned]
    assert '`data: {init_args: {exclude: "id"}}`' in shown


def test_candidates_of_an_earlier_plan_are_counted(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "study"
    write_results(folder)
    monkeypatch.setattr(Workers, "check", lambda *_: [])
    monkeypatch.setattr(study_run, "run_plan", lambda *_: {})
    plan = written(tmp_path / "other.yaml", candidates=ERM, seeds=[7])
    main(["study", "run", "--config", str(plan), "--output", str(folder)])
    said = capsys.readouterr().err
    assert f"warning: {folder} has 12 finished candidates of earlier plans, which its tables leave out" in said
