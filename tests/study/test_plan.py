"""What the file of a study may say."""

import re

import pytest

import drurank.methods
from drurank.cli.study_checks import Rehearsal
from drurank.errors import InputError
from drurank.study import Plan
from drurank.study.folder import write_shared
from drurank.study.runs import check_options
from runs import CONFIGS
from studies import written


def test_lists_expand_to_all_combinations_with_every_seed(tmp_path):
    entry = {"model": "DRU", "cutoff": [5, 10], "rank_by": ["index", "quantile"]}
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=[entry]))
    assert len(plan.candidates) == 2 * 2 * 2
    assert {(c.options["model.cutoff"], c.options["model.rank_by"], c.seed) for c in plan.candidates} == {
        (cutoff, rank_by, seed) for cutoff in (5, 10) for rank_by in ("index", "quantile") for seed in (0, 1)
    }
    assert len({c.key for c in plan.candidates}) == 8


def test_a_comment_in_a_configuration_changes_no_candidate(tmp_path):
    plans = []
    for text in ("trainer: {max_epochs: 3}\n", "# three\ntrainer:\n  max_epochs: 3\n", "trainer: {max_epochs: 4}\n"):
        (tmp_path / "base.yaml").write_text(text, encoding="utf-8")
        plans.append(Plan.read(written(tmp_path / "s.yaml", configs=["base.yaml"])))
    assert plans[0].digest == plans[1].digest != plans[2].digest


def test_a_configuration_that_names_a_method_is_refused(tmp_path):
    (tmp_path / "base.yaml").write_text("model: {class_path: DRU, init_args: {cutoff: 20}}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"base.yaml: model names 'DRU'.*give the method as a candidate"):
        Plan.read(written(tmp_path / "s.yaml", configs=["base.yaml"]))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": [1]}, r"has the unknown key 'seed': did you mean 'seeds'"),
        ({"seed_everything": 1}, "is the configuration of a fit; a study has candidates and seeds, and may name it"),
        ({"seeds": []}, "seeds is "),
        ({"seeds": [-1]}, "a seed is -1"),
        ({"candidates": "ERM"}, "candidates is 'ERM'"),
        ({"candidates": [{"cutoff": 5}]}, "give a mapping with model"),
        ({"candidates": [{"model": "ERM"}, {"model": "ERM"}]}, "ERM, seed 0 is named twice"),
        ({"candidates": [{"model": "ERM", "loss.x": 1}]}, "begin it with model., data., trainer."),
        ({"criteria": "qdgc10"}, "qdgc10"),
        ({"configs": ["none.yaml"]}, "the configuration none.yaml is found neither here nor beside that file"),
        ({"criteria": 5}, "criteria is 5; give a list of names"),
        ({"criteria": []}, "criteria is"),
        ({"criteria": ["worst", "worst"]}, "criteria names worst twice"),
        ({"configs": 5}, "the configuration 5 is found neither"),
        ({"data": "Shortcut"}, "data is 'Shortcut'; give a mapping"),
        ({"trainer": [1]}, r"trainer is \[1\]; give a mapping"),
        ({"trainer": {1: 2, "a": 3}}, "has a value other than text, numbers, lists and mappings"),
        ({"model": {"class_path": "DRU"}}, "model names 'DRU', but each candidate of a study names its own"),
        ({"candidates": [{"model": "../../evil"}]}, "model is '../../evil'; give the class of a method"),
        ({"candidates": [{"model": "DRU", "cutoff": []}]}, "cutoff is an empty list"),
        ({"candidates": [{"model": "DRU", "cutoff": 5, "model.cutoff": 9}]}, "names model.cutoff twice"),
        ({"candidates": [{"model": "DRU", "cutoff": b"5"}]}, "write text in quotes"),
        ({"candidates": [{"model": "DRU", "seed_everything": 5}]}, "cannot vary; give seeds"),
        ({"candidates": [{"model": "DRU", "data": "x"}]}, "cannot vary; give data.<option>"),
        ({"candidates": [{"model": "DRU", "min_count": [1, 5]}]}, "names min_count, which .* is the same for all"),
        ({"candidates": [{"model": "DRU", "model.min_count": 5}]}, "give it under model, as"),
        ({"keep_checkpoints": "no way"}, "keep_checkpoints is 'no way'; give true or false"),
    ],
)
def test_a_plan_that_cannot_be(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        Plan.read(written(tmp_path / "s.yaml", **changes))


OPEN = {"model": "DRU", "cutoff": {"low": 2, "high": 90}, "model.optimizer.lr": {"low": "1e-4", "high": 1, "log": True}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"search": "rnadom"}, "search is 'rnadom': did you mean 'random'"),
        ({"search": "tpe"}, "trials is None; give the number of settings to try"),
        ({"search": "random", "trials": 0}, "trials is 0"),
        ({"search": "tpe", "trials": 2, "by": "p10"}, "by is 'p10', which is not among its criteria"),
        ({"trials": 3}, "has trials, which search: grid does not use"),
        ({"search": "random", "trials": 2, "by": "worst"}, "has by, which search: random does not use"),
        ({"candidates": [OPEN]}, "cutoff is a range, which a grid cannot try"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 5, "high": 2}}]}, "give low below high"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 0, "high": 2, "log": True}}]}, "log a low above 0"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": "a", "high": 2}}]}, "give low below high"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 1, "high": float("inf")}}]}, "give low below high"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 1, "high": 2, "log": "yes please"}}]}, "give low below"),
        ({"candidates": [{"model": ["DRU", "ERM"]}], "search": "random", "trials": 1}, "one method an entry"),
    ],
)
def test_a_search_that_cannot_be(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        Plan.read(written(tmp_path / "s.yaml", **changes))


CONFIGURATIONS = sorted(path.stem for path in (CONFIGS / "study").glob("*.yaml"))
PAPER = {"ERM", "GroupDRO", "JTT", "Const+M", *(f"{rule}+{who}" for rule in ("Worst", "qDRU", "gDRU") for who in "GM")}
"""The methods of the paper's tables."""


def options_of(candidate):
    """Options of the method itself, as it is made in Python."""
    return {name.removeprefix("model."): value for name, value in candidate.options.items() if "model." in name}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_configuration_of_a_study_is_one(name, tmp_path):
    plan = Plan.read(CONFIGS / f"study/{name}.yaml")
    settings = {candidate.setting for candidate in plan.candidates}
    counts = {
        "jtt16": 16,
        "jtt16_insteval": 16,
        "jtt16_synthetic": 16,
        "synthetic": 1 + 20 + 8 + 4 + 1 + 4,
        "text": 1 + 16 + 6 + 3 + 6 + 1,
        "table": 1 + 3 + 2 + 1,
    }
    assert len(settings) == counts[name]
    methods = {
        getattr(drurank.methods, candidate.method)(**options_of(candidate)).title for candidate in plan.candidates
    }
    if name in ("synthetic", "text"):
        assert methods == PAPER
    assert methods <= PAPER


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_second_stage_of_jtt_has_as_many_epochs_whatever_the_first_has(name):
    """As many as the other methods; ``max_epochs`` counts both stages."""
    plan, epochs = Plan.read(CONFIGS / f"study/{name}.yaml"), set()
    shared = [section["trainer"]["max_epochs"] for section in plan.shared if "max_epochs" in section.get("trainer", {})]
    for candidate in plan.candidates:
        total = candidate.options.get("trainer.max_epochs", shared[-1] if shared else None)
        epochs.add(total - (candidate.options["model.first_stage_epochs"] if candidate.method == "JTT" else 0))
    assert len(epochs) == 1


def test_the_file_that_the_documentation_shows_is_one(tmp_path):
    page = (CONFIGS.parent / "docs/studies.md").read_text(encoding="utf-8")
    block, _, repeats = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "s.yaml").write_text(block.replace("../data", str(CONFIGS / "data")), encoding="utf-8")
    plan = Plan.read(tmp_path / "s.yaml")
    assert len(plan.candidates) == (4 + 4) * 3
    assert plan.criteria == ("qdcg10", "worst")
    (tmp_path / "r.yaml").write_text(block.replace("../data", str(CONFIGS / "data")) + repeats, encoding="utf-8")
    assert len(Plan.read(tmp_path / "r.yaml").candidates) == 5 * len(plan.candidates)
    write_shared(tmp_path, plan)
    check_options(tmp_path, plan, Rehearsal(), tmp_path)


def test_names_of_labels_are_text(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(
        "data: {class_path: Table, init_args: {path: t.csv, relabel: {no: 0, 010: ten}}}\n"
        "candidates: [{model: ERM, data.exclude: [[01, on]]}, {model: DRU, cutoff: 2026-01-01}]\n"
        "seeds: [0]\n"
    )
    plan = Plan.read(file)
    assert plan.shared[0]["data"]["init_args"]["relabel"] == {"no": "0", "010": "ten"}
    assert [candidate.options for candidate in plan.candidates] == [
        {"data.exclude": ["01", "on"]},
        {"model.cutoff": "2026-01-01"},
    ]


def test_a_missing_file_is_told_where_one_to_copy_lies(tmp_path):
    with pytest.raises(InputError) as refused:
        Plan.read(tmp_path / "none.yaml")
    said = f"there is no file {tmp_path / 'none.yaml'}; give a YAML file; to begin a study copy "
    assert str(refused.value) == f"{said}{CONFIGS / 'study/table.yaml'}"
