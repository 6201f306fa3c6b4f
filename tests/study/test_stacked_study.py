"""A study whose candidates train together leaves what one leaves whose candidates train one after the other."""

import os
import signal

import pytest

from drurank.cli import main
from drurank.cli.study_checks import check_plan
from drurank.cli.study_run import filled_queue
from drurank.cli.study_workers import Workers
from drurank.cli.training import run
from drurank.study import Plan
from drurank.study.finished import Study
from drurank.study.tabulating import default_cells, study_table
from drurank.study.working import StopSignals, work
from side_by_side import stacks_seen
from studies import SMALL, finish, rehearse, words_of, written

FAILING = {"model": "ERM", "model.optimizer.lr": 1e30, "optimizer": "SGD"}


def files_of(study):
    return {str(path.relative_to(study)) for path in study.glob("candidates/*/**/*") if path.is_file()}


def lines_of(study, name):
    return {str(path.relative_to(study)): path.read_text() for path in sorted(study.glob(f"candidates/*/*/{name}"))}


@pytest.fixture(scope="module")
def stacked(tmp_path_factory):
    """Folder of a study whose candidates trained together, its queue, and the stacks of its epochs."""
    folder = tmp_path_factory.mktemp("stacked")
    path = written(folder / "s.yaml", candidates=[*SMALL["candidates"], FAILING])
    with pytest.MonkeyPatch.context() as patch:
        seen = stacks_seen(patch)
        queue = finish(path, folder / "study", stack_size=8)
    return folder / "study", queue, seen


def test_those_that_are_alike_train_together_and_one_that_fails_stops_no_other(stacked):
    states, reasons = stacked[1].states(), stacked[1].reasons()
    assert sorted(states.values()) == ["COMPLETE"] * 6 + ["FAIL"] * 2
    assert all("the training loss became nan or inf in epoch 0" in reason for reason in reasons.values())
    # Two epochs of the four with AdamW and the two with SGD, beside which those that fail begin.
    assert sorted(len(titles) for titles in stacked[2]) == [2, 4, 4, 4]


def test_candidates_leave_the_same_files_as_alone(stacked, undisturbed):
    failed = {key for key, state in stacked[1].states().items() if state == "FAIL"}
    assert {name for name in files_of(stacked[0]) if name.split("/")[1] not in failed} == files_of(undisturbed)
    for name in ("selection.json", "weights.csv", "loggers.json"):
        alone, together = lines_of(undisturbed, name), lines_of(stacked[0], name)
        assert len(alone) == 6
        assert {path: together[path] for path in alone} == alone


def test_both_give_the_same_table(stacked, undisturbed):
    tables = []
    for folder in (stacked[0], undisturbed):
        study = Study.load(folder)
        table = study_table(study, "qdcg10", on=[study.split(None)], cells=default_cells("qdcg10"), test="paired")
        tables.append(table.render("csv"))
    assert tables[0] == tables[1]
    assert tables[0].count("\n") >= 2


def test_a_signal_puts_all_that_are_not_finished_back_and_they_are_finished_later(tmp_path, undisturbed):
    path, study = written(tmp_path / "s.yaml", candidates=SMALL["candidates"][1:]), tmp_path / "study"
    plan, epochs = Plan.read(path), []
    rehearse(study, plan)
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
        alone, together = lines_of(undisturbed, name), lines_of(study, name)
        assert len(together) == 4
        assert {path: alone[path] for path in together} == together


def test_a_signal_ends_a_candidate_that_trains_alone_beside_a_stack_between_two_batches(tmp_path):
    alone = {"model": "ERM", "trainer.accumulate_grad_batches": 2, "trainer.max_epochs": 5000}
    path, study = written(tmp_path / "s.yaml", candidates=[*SMALL["candidates"][1:], alone]), tmp_path / "study"
    plan, batches = Plan.read(path), []
    rehearse(study, plan)
    queue = filled_queue(study, plan)
    with pytest.MonkeyPatch.context() as patch, StopSignals(signal.SIGTERM) as stop:
        from drurank.stacked.member import Member

        advance = Member.advance

        def noted(self, fetcher):
            if self.alone is not None:
                batches.append(self)
                if len(batches) == 6:
                    os.kill(os.getpid(), signal.SIGTERM)
            advance(self, fetcher)

        patch.setattr(Member, "advance", noted)
        with pytest.raises(SystemExit) as end:
            work(queue, study, plan, run, stop, 8)
    assert end.value.code == 128 + signal.SIGTERM
    assert 6 <= len(batches) < 100, "of 20,000"
    assert "WAITING" in queue.states().values()
    assert set(queue.states().values()) <= {"WAITING", "COMPLETE"}


def run_here(monkeypatch, path, folder):
    """Run a study whose worker is this process."""

    def watch(queue, workers, total, stop):
        work(queue, folder, Plan.read(path), run, stop, 8)

    monkeypatch.setattr("drurank.cli.study_run.watch", watch)
    monkeypatch.setattr(Workers, "check", lambda _, shared: check_plan(folder, Plan.read(path), shared))
    main([*words_of(path, folder), "--engine", "stacked"])


@pytest.mark.parametrize("alone", [True, False])
def test_the_terminal_says_why_nothing_was_trained_together(tmp_path, monkeypatch, capfd, alone):
    candidate = {"model": "ERM", **({"model.on_nonfinite": "skip"} if alone else {})}
    path = written(tmp_path / "s.yaml", candidates=[candidate], trainer={"max_epochs": 1}, criteria=["worst"])
    run_here(monkeypatch, path, tmp_path / "study")
    said = " ".join(capfd.readouterr().out.split())
    assert "2 of 2 candidates are finished" in said
    reason = "No candidates were trained together: on_nonfinite='skip' and detect look at each step."
    assert (reason in said) == alone
    assert ("trained together:" in said) == alone
    run_here(monkeypatch, path, tmp_path / "study")  # with nothing left to train nothing is said of it
    assert "trained together" not in capfd.readouterr().out


def test_the_terminal_says_how_many_were_trained_alone_beside_others_that_were_not(tmp_path, monkeypatch, capfd):
    candidates = [{"model": "ERM"}, {"model": "IRM"}]
    path = written(tmp_path / "s.yaml", candidates=candidates, trainer={"max_epochs": 1}, criteria=["worst"])
    run_here(monkeypatch, path, tmp_path / "study")
    said = " ".join(capfd.readouterr().out.split())
    assert "2 of 4 candidates were trained alone: IRM has its own objective." in said
