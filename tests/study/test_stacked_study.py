"""A study whose candidates train together leaves what one leaves whose candidates train one after the other."""

import os
import signal

import pytest

from drurank.cli.study import filled_queue, prepare
from drurank.cli.training import run
from drurank.study import Plan
from drurank.study.finished import Study
from drurank.study.tabulating import default_cells, study_table
from drurank.study.working import StopSignals, work
from side_by_side import stacks_seen
from studies import finish, written

NETWORK = {"class_path": "drurank.networks.MLP", "init_args": {"hidden": 8, "dropout": 0.0}}
CHANGES = {
    "model": {"init_args": {"network": NETWORK}},
    "candidates": [{"model": "ERM"}, {"model": "DRU"}, {"model": "GroupDRO"}],
    "seeds": [0],
}
FAILING = [{"model": "ERM", "model.optimizer.lr": 1e30, "optimizer": "SGD"}]


def files_of(study):
    return sorted(str(path.relative_to(study)) for path in study.rglob("*") if path.is_file())


def lines_of(study, name):
    return {str(path.relative_to(study)): path.read_text() for path in sorted(study.glob(f"candidates/*/*/{name}"))}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    path = written(folder / "s.yaml", **CHANGES | {"candidates": CHANGES["candidates"] + FAILING})
    finish(path, folder / "single")
    with pytest.MonkeyPatch.context() as patch:
        seen = stacks_seen(patch)
        queue = finish(path, folder / "stacked", stack_size=8)
    return folder / "single", folder / "stacked", queue, seen


def test_all_candidates_train_together_and_one_that_fails_stops_no_other(both):
    states, (reason,) = both[2].states(), both[2].reasons().values()
    assert sorted(states.values()) == ["COMPLETE"] * 3 + ["FAIL"]
    assert "the training loss became nan or inf in epoch 0" in reason
    # GroupDRO draws other rows, in as many batches; another class of optimizer is another stack.
    assert [len(titles) for titles in both[3]] == [3, 3]


def test_both_leave_the_same_files(both):
    single, stacked = (set(files_of(study)) for study in both[:2])
    assert {name for name in single ^ stacked if "queue" not in name and ".db" not in name} == set()
    for name in ("selection.json", "weights.csv", "loggers.json"):
        assert lines_of(both[0], name) == lines_of(both[1], name)
        assert lines_of(both[0], name)


def test_both_give_the_same_table(both):
    tables = []
    for folder in both[:2]:
        study = Study.load(folder)
        table = study_table(study, "qdcg10", on=[study.split(None)], cells=default_cells("qdcg10"), test="paired")
        tables.append(table.render("csv"))
    assert tables[0] == tables[1]
    assert tables[0].count("\n") >= 3


def test_a_signal_puts_all_that_are_not_finished_back_and_they_are_finished_later(tmp_path, both):
    path, study = written(tmp_path / "s.yaml", **CHANGES), tmp_path / "study"
    plan, epochs = Plan.read(path), []
    prepare(study, plan)
    queue = filled_queue(study, plan)
    with pytest.MonkeyPatch.context() as patch, StopSignals(signal.SIGTERM) as stop:
        from drurank.stacked import engine

        train = engine.Epoch.train

        def stopped(self):
            epochs.append(len(self.members))
            if len(epochs) == 2:  # all have kept an epoch
                os.kill(os.getpid(), signal.SIGTERM)
            train(self)

        patch.setattr(engine.Epoch, "train", stopped)
        with pytest.raises(SystemExit) as end:
            work(queue, study, plan, run, stop, 8)
    assert end.value.code == 128 + signal.SIGTERM
    assert set(queue.states().values()) == {"WAITING"}
    work(queue, study, plan, run, StopSignals(), 8)
    assert set(queue.states().values()) == {"COMPLETE"}
    for name in ("selection.json", "weights.csv"):
        assert lines_of(study, name) == lines_of(both[0], name)
