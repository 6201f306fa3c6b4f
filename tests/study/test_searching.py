"""Settings that a search proposes."""

import numpy as np

from drurank.study import Plan, Study, study_table
from drurank.study.queue import Queue
from drurank.study.searching import candidate_of, tell
from studies import finish, manifests, written

OPEN = {"model": "DRU", "cutoff": {"low": 2, "high": 90}, "model.optimizer.lr": {"low": "1e-4", "high": 1, "log": True}}


def test_random_proposals_are_the_same_for_each_seed_whoever_asks_and_lie_in_their_ranges(tmp_path):
    entry = {**OPEN, "rank_by": ["index", "quantile"], "model.optimizer": "AdamW"}
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=[entry], search="random", trials=16))
    assert len({trial.key for trial in plan.candidates}) == 32
    found = {}
    for name, trials in (("one", plan.candidates), ("other", plan.candidates[::-1])):
        queue = Queue(tmp_path / name, plan.digest)
        settled = {trial.key: candidate_of(queue, trial) for trial in trials}
        assert {key: c.options for key, c in settled.items()} == found.setdefault(
            "options", {key: c.options for key, c in settled.items()}
        )
    by_number = {}
    for trial in plan.candidates:
        by_number.setdefault(trial.number, []).append((settled[trial.key].seed, settled[trial.key].options))
    assert all(dict(pairs)[0] == dict(pairs)[1] for pairs in by_number.values())
    options = [pairs[0][1] for pairs in by_number.values()]
    assert {type(o["model.cutoff"]) for o in options} == {int}
    assert 2 <= min(o["model.cutoff"] for o in options) < 30 < 60 < max(o["model.cutoff"] for o in options) <= 90
    rates = [o["model.optimizer.lr"] for o in options]
    assert 1e-4 <= min(rates) < 1e-3 < 1e-1 < max(rates) <= 1
    assert 1e-3 < np.median(rates) < 1e-1
    assert {o["model.rank_by"] for o in options} == {"index", "quantile"}
    assert {o["model.optimizer"] for o in options} == {"AdamW"}


def test_tpe_goes_where_the_criterion_was_best(tmp_path):
    entry, seeds = {"model": "DRU", "cutoff": {"low": 1, "high": 1000}}, [0, 1, 2]
    path = written(tmp_path / "s.yaml", candidates=[entry], search="tpe", trials=30, by="worst", seeds=seeds)
    queue, cutoffs = Queue(tmp_path / "study", "plan"), {seed: [] for seed in seeds}
    for trial in Plan.read(path).candidates:
        settled = candidate_of(queue, trial)
        cutoff = settled.options["model.cutoff"]
        if trial.number == 12:  # past those that are drawn at random
            assert candidate_of(queue, trial).options["model.cutoff"] == cutoff  # as after a worker's death
        tell(queue, trial, {"selection": {"worst": {"value": -abs(cutoff - 700) / 1000}}})
        cutoffs[settled.seed].append(cutoff)
    near = [abs(cutoff - 700) <= 150 for of_seed in cutoffs.values() for cutoff in of_seed[-10:]]
    # Random proposals are near in 30 % of cases, and 16 or more of 30 in 1 %.
    assert len(near) == 30
    assert sum(near) >= 16


def test_a_search_is_run_and_its_candidates_stand_in_the_table(tmp_path):
    candidates = [{**OPEN, "model.optimizer": "AdamW"}, {"model": "Const", "upweight_factor": [2, 5]}]
    search = {"search": "tpe", "trials": 2, "by": "worst", "criteria": ["worst"]}
    path = written(tmp_path / "s.yaml", candidates=candidates, seeds=[0], **search)
    for _ in range(2):
        assert set(finish(path, tmp_path / "study").states().values()) == {"COMPLETE"}
    found = manifests(tmp_path / "study").values()
    assert sum(m["method"] == "qDRU+M" for m in found) == 2
    assert 1 <= sum(m["method"] == "Const+M" for m in found) <= 2  # a setting may be drawn twice, and is run once
    for manifest in found:
        assert manifest["config"]["model"]["init_args"].items() >= {
            name.removeprefix("model."): value for name, value in manifest["options"].items() if name.count(".") == 1
        }.items() - {("optimizer", "AdamW")}
    study = Study.load(tmp_path / "study")
    assert (len(study.results), study.unfinished, study.others) == (len(found), (), 0)
    assert len(study_table(study, "worst").rows) == 2
