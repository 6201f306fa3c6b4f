"""Every plan of the evidence is a study that can be run, in both sizes."""

import pytest
import yaml

from benchmarks.evidence.experiments import ORDER, PLANS, Experiment
from benchmarks.evidence.kept import digest
from drurank import imports
from drurank.imports import trust
from drurank.study.plan import Plan
from drurank.yaml_files import dump_yaml
from studies import rehearse

PLACES = {"data": "table.parquet", "encoder": "encoder", "cache": "cache"}


def test_all_plans_are_run():
    assert {file.stem for file in PLANS.glob("*.yaml")} - {"methods"} == set(ORDER)


@pytest.mark.parametrize("size", ["full", "small"])
@pytest.mark.parametrize("name", ORDER)
def test_each_piece_is_a_study(name, size):
    experiment = Experiment.read(name, size)
    pieces = list(experiment.pieces(size))
    assert len({piece.name for piece in pieces}) == len(pieces) == experiment.seeds[size] * len(experiment.variants)
    for piece in pieces[:: max(len(pieces) - 1, 1)]:
        study = piece.study(PLACES)
        plan = Plan.of(name, study, [])
        assert {candidate.seed for candidate in plan.candidates} == {piece.seed}
        if experiment.data is None:
            assert study["data"]["init_args"]["seed"] == piece.seed, "generated data is drawn anew with each seed"
        else:
            assert study["data"]["init_args"]["path"] == "table.parquet"


@pytest.mark.parametrize("size", ["full", "small"])
@pytest.mark.parametrize("name", [name for name in ORDER if Experiment.read(name, "full").data is None])
def test_every_setting_of_generated_data_may_be_trained(name, size, tmp_path, monkeypatch):
    """As before a study begins; a budget in small may be too short for a method's first stage, say."""
    piece = next(Experiment.read(name, size).pieces(size))
    monkeypatch.setattr(imports, "_named", set())
    trust([{"model": entry["model"]} for entry in piece.experiment.candidates])
    file = tmp_path / "study.yaml"
    file.write_text(dump_yaml(piece.study(PLACES)), encoding="utf-8")
    rehearse(tmp_path / "checked", Plan.read(file))


def test_every_method_has_the_same_number_of_settings():
    """But for qDRU+M's curve over the cutoff, which the comparison leaves out, and the rule that is on trial."""
    study = next(Experiment.read("insteval", "full").pieces("full")).study(PLACES)
    plan = Plan.of("insteval", study, [])
    number = {}
    for candidate in plan.candidates:
        options = dict(candidate.options)
        if options.get("model.cutoff") in (0, 2, 10, 50):
            continue
        kind = (candidate.method, options.get("model.rank_by"), options.get("model.upweight"))
        number[kind] = number.get(kind, 0) + 1
    trial = number.pop(("benchmarks.evidence.reliable.ReliableDRU", None, None))
    assert trial == 2
    assert set(number.values()) == {6}, number
    assert len(number) == 14


def test_a_piece_is_known_by_what_it_is_made_of_and_not_by_folders():
    first, second = (
        next(Experiment.read("insteval", "full").pieces("full")).study(PLACES | {"data": path}) for path in "ab"
    )
    assert digest(first) != digest(second)
    bare = [
        next(Experiment.read(name, "full").pieces("full")).study(dict.fromkeys(PLACES, ""))
        for name in ("insteval",) * 2
    ]
    assert digest(bare[0]) == digest(bare[1])


def test_the_methods_of_the_paper_have_its_grids():
    entries = yaml.safe_load((PLANS / "synthetic_short.yaml").read_text())["study"]["candidates"]
    by = {entry["model"]: entry for entry in entries}
    assert by["DRU"]["cutoff"] == [5, 10, 20, 50, 100]
    assert (
        by["Worst"]["upweight_factor"] == by["Const"]["upweight_factor"] == by["JTT"]["upweight_factor"] == [2, 3, 4, 5]
    )
    assert by["GroupDRO"]["step_size"] == 0.01
