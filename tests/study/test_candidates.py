"""Candidates: keys, words, and what is the same whatever else a study holds."""

from drurank.study import Plan
from studies import SMALL, written


def test_a_list_in_a_list_is_one_value(tmp_path):
    entry = {"model": "ERM", "loss": "CrossEntropy", "model.loss.class_weight": [[1, 3]]}
    (candidate, _) = Plan.read(written(tmp_path / "s.yaml", candidates=[entry])).candidates
    words = ["--model.loss", "CrossEntropy", "--model.loss.class_weight", "[1, 3]", "--seed_everything", "0"]
    assert candidate.words() == words


def test_null_is_a_value(tmp_path):
    entry = {"model": "ERM", "data.exclude": None, "exclude": [None, 5]}
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=[entry], seeds=[0]))
    assert [c.options for c in plan.candidates] == [
        {"data.exclude": None, "model.exclude": None},
        {"data.exclude": None, "model.exclude": 5},
    ]
    words = plan.candidates[0].words()
    assert words[words.index("--data.exclude") + 1] == "null"


def test_a_candidate_is_the_same_one_whatever_else_the_study_holds(tmp_path):
    one = Plan.read(written(tmp_path / "a.yaml"))
    other = Plan.read(written(tmp_path / "b.yaml", candidates=SMALL["candidates"][1:], seeds=[1]))
    assert {c.key for c in other.candidates} < {c.key for c in one.candidates}
    longer = Plan.read(written(tmp_path / "c.yaml", trainer={"max_epochs": 3}))
    assert not {c.key for c in longer.candidates} & {c.key for c in one.candidates}
