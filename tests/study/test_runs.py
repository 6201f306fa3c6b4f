"""Studies: what a plan says, and that each candidate is run once."""

import datetime
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drurank.cli import main
from drurank.cli.study import device_of
from drurank.errors import InputError
from drurank.study import Plan, Study
from drurank.study.queue import Queue
from drurank.study.runs import check_options, write_shared
from runs import CONFIGS, read_json
from studies import SMALL, manifests, without_times, written


def test_lists_expand_to_all_combinations_with_every_seed(tmp_path):
    entry = {"model": "DRU", "cutoff": [5, 10], "rank_by": ["index", "quantile"]}
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=[entry]))
    assert len(plan.candidates) == 2 * 2 * 2
    assert {(c.options["model.cutoff"], c.options["model.rank_by"], c.seed) for c in plan.candidates} == {
        (cutoff, rank_by, seed) for cutoff in (5, 10) for rank_by in ("index", "quantile") for seed in (0, 1)
    }
    assert len({c.key for c in plan.candidates}) == 8


def test_a_list_in_a_list_is_one_value(tmp_path):
    entry = {"model": "ERM", "loss": "CrossEntropy", "model.loss.class_weight": [[1, 3]]}
    (candidate, _) = Plan.read(written(tmp_path / "s.yaml", candidates=[entry])).candidates
    words = ["--model.loss", "CrossEntropy", "--model.loss.class_weight", "[1, 3]", "--seed_everything", "0"]
    assert candidate.words() == words


def test_null_is_a_value(tmp_path):
    entry = {"model": "ERM", "data.exclude": None, "min_count": [None, 5]}
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=[entry], seeds=[0]))
    assert [c.options for c in plan.candidates] == [
        {"data.exclude": None, "model.min_count": None},
        {"data.exclude": None, "model.min_count": 5},
    ]
    words = plan.candidates[0].words()
    assert words[words.index("--data.exclude") + 1] == "null"


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


def test_a_candidate_is_the_same_one_whatever_else_the_study_holds(tmp_path):
    one = Plan.read(written(tmp_path / "a.yaml"))
    other = Plan.read(written(tmp_path / "b.yaml", candidates=SMALL["candidates"][1:], seeds=[1]))
    assert {c.key for c in other.candidates} < {c.key for c in one.candidates}
    longer = Plan.read(written(tmp_path / "c.yaml", trainer={"max_epochs": 3}))
    assert not {c.key for c in longer.candidates} & {c.key for c in one.candidates}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": [1]}, r"key 'seed', which a study has not: did you mean 'seeds'"),
        ({"seeds": []}, "seeds is "),
        ({"seeds": [-1]}, "a seed is -1"),
        ({"candidates": "ERM"}, "candidates is 'ERM'"),
        ({"candidates": [{"cutoff": 5}]}, "give a mapping with model"),
        ({"candidates": [{"model": "ERM"}, {"model": "ERM"}]}, "ERM with seed 0 is named twice"),
        ({"candidates": [{"model": "ERM", "loss.x": 1}]}, "begin it with model., data., trainer."),
        ({"criteria": "qdgc10"}, "qdgc10"),
        ({"configs": ["none.yaml"]}, "there is no configuration none.yaml"),
        ({"criteria": 5}, "criteria is 5; give a list of names"),
        ({"criteria": []}, "criteria is"),
        ({"criteria": ["worst", "worst"]}, "criteria names worst twice"),
        ({"configs": 5}, "there is no configuration 5"),
        ({"data": "Shortcut"}, "data is 'Shortcut'; give a mapping"),
        ({"trainer": [1]}, r"trainer is \[1\]; give a mapping"),
        ({"trainer": {1: 2, "a": 3}}, "holds what is no word, number, list or mapping"),
        ({"model": {"class_path": "DRU"}}, "model names 'DRU', but each candidate of a study names its own"),
        ({"candidates": [{"model": "../../evil"}]}, "model is '../../evil'; give the class of a method"),
        ({"candidates": [{"model": "DRU", "cutoff": []}]}, "cutoff is an empty list"),
        ({"candidates": [{"model": "DRU", "cutoff": 5, "model.cutoff": 9}]}, "names model.cutoff twice"),
        ({"candidates": [{"model": "DRU", "cutoff": datetime.date(2026, 1, 1)}]}, "put dates and the like in quotes"),
        ({"candidates": [{"model": "DRU", "seed_everything": 5}]}, "cannot vary; give seeds"),
        ({"candidates": [{"model": "DRU", "data": "x"}]}, "cannot vary; give data.<option>"),
        ({"keep_checkpoints": "no way"}, "keep_checkpoints is 'no way'; give true or false"),
    ],
)
def test_a_plan_that_cannot_be(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        Plan.read(written(tmp_path / "s.yaml", **changes))


def test_every_candidate_is_run_and_noted(undisturbed, tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml"))
    found = manifests(undisturbed)
    assert set(found) == {c.key for c in plan.candidates}
    for key, manifest in found.items():
        assert manifest["budget"] == {"steps": 2 * 4, "epochs": 2}
        assert [row["epoch"] for row in manifest["history"]] == [0, 1]
        for name, entry in manifest["selection"].items():
            assert manifest["history"][entry["epoch"]][f"val_{name}"] == pytest.approx(entry["value"])
        assert manifest["versions"]["torch"]
        assert manifest["config"]["seed_everything"] == manifest["seed"]
        assert (undisturbed / "candidates" / key / "groups.parquet").is_file()
    assert len({manifest["data"]["fingerprint"] for manifest in found.values()}) == 1


def test_counts_give_the_criteria_again(undisturbed):
    for result in Study.load(undisturbed):
        for by in ("qdcg10", "worst"):
            assert result.counts(by, "ood_val").value(by) == pytest.approx(result.validation(by), rel=1e-6)
            report = read_json(result.folder / f"version_0/test/{by}/report.json")
            for name, entry in report["splits"]["ood_test"]["criteria"].items():
                assert result.counts(by, "ood_test").value(name) == pytest.approx(entry["value"], rel=1e-9)


def test_a_finished_study_is_not_run_again(undisturbed, capfd):
    before = {file: file.stat().st_mtime_ns for file in undisturbed.glob("candidates/*/manifest.json")}
    main(["study", "run", "--config", str(undisturbed.parent / "s.yaml"), "--output", str(undisturbed)])
    assert {file: file.stat().st_mtime_ns for file in undisturbed.glob("candidates/*/manifest.json")} == before
    assert "12 of 12 candidates are finished" in capfd.readouterr().out


@pytest.mark.timeout(500)
def test_killed_in_the_middle_and_run_again_it_is_the_undisturbed_study(undisturbed, tmp_path):
    words = ["study", "run", "--config", str(written(tmp_path / "s.yaml")), "--output", str(tmp_path / "study")]
    command = [sys.executable, "-m", "drurank", *words, "--workers", "2", "--grace", "3"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.time() + 100
    while len(manifests(tmp_path / "study")) < 3 and time.time() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    killed = manifests(tmp_path / "study")
    assert 3 <= len(killed) < 12
    subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
    found, should = manifests(tmp_path / "study"), manifests(undisturbed)
    assert {key: without_times(m) for key, m in found.items()} == {key: without_times(m) for key, m in should.items()}
    assert {key: found[key] for key in killed} == killed
    one, other = (Study.load(folder).table("qdcg10").render("csv") for folder in (tmp_path / "study", undisturbed))
    assert one == other


@pytest.fixture
def one(tmp_path):
    """Words of a study of one candidate, its folder, and that of the candidate."""
    path = written(tmp_path / "s.yaml", candidates=[{"model": "ERM"}], seeds=[0])
    (candidate,) = Plan.read(path).candidates
    words = ["study", "run", "--config", str(path), "--output", str(tmp_path / "study")]
    return words, tmp_path / "study", tmp_path / "study/candidates" / candidate.key


def test_a_finished_candidate_whose_folder_is_gone_is_run_again(one):
    words, folder, candidate = one
    main(words)
    before = Study.load(folder).results[0].groups
    shutil.rmtree(candidate)
    main(words)
    assert Study.load(folder).results[0].groups.equals(before)


def test_a_damaged_checkpoint_is_begun_anew(one):
    words, folder, candidate = one
    last = candidate / "version_0/checkpoints/last.ckpt"
    last.parent.mkdir(parents=True)
    last.write_bytes(b"damaged")
    main(words)
    assert len(manifests(folder)) == 1


def processes_of(folder):
    """Ids of the processes that have a folder among their words."""
    words = ["ps", "-eww", "-o", "pid,args"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if str(folder) in line]


@pytest.fixture
def endless(tmp_path):
    """Gives the process of a study whose only candidate has ended an epoch, and its queue."""

    def start(**trainer):
        trainer = {"max_epochs": 5000, "accelerator": "cpu", **trainer}
        path = written(tmp_path / "s.yaml", candidates=[{"model": "ERM"}], seeds=[0], trainer=trainer)
        words = ["study", "run", "--config", str(path), "--output", str(tmp_path / "study")]
        command = [sys.executable, "-m", "drurank", *words]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        deadline = time.time() + 100
        while not list(tmp_path.glob("study/candidates/*/version_0/checkpoints/last.ckpt")) and time.time() < deadline:
            time.sleep(0.1)
        assert len(processes_of(tmp_path)) >= 2
        return process, Queue(tmp_path / "study", Plan.read(path).digest)

    yield start
    for pid in processes_of(tmp_path):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("to_all", [False, True], ids=["first", "all"])
def test_a_signal_ends_all_processes_and_fails_no_candidate(endless, tmp_path, stop, to_all):
    """Of Ctrl-C the workers get one signal from the terminal and another from the first process."""
    process, queue = endless()
    if to_all:
        os.killpg(process.pid, stop)
    else:
        process.send_signal(stop)
    assert process.wait(60) == 128 + stop
    assert not processes_of(tmp_path)
    assert list(queue.states().values()) == ["WAITING"]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells a process of its parent's end")
def test_the_processes_of_a_candidate_end_with_a_worker_that_is_killed(endless, tmp_path):
    process, _ = endless(devices=2, strategy="ddp")
    words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in processes_of(tmp_path)}
    (worker,) = [pid for pid, said in words.items() if b"work" in said]
    os.kill(worker, signal.SIGKILL)
    assert process.wait(60) == 1
    deadline = time.time() + 60
    while processes_of(tmp_path) and time.time() < deadline:
        time.sleep(0.2)
    assert not processes_of(tmp_path)


def test_a_plan_that_is_refused_changes_no_table(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "study")
    before = Study.load(tmp_path / "study").table("qdcg10").render("csv")
    path = written(tmp_path / "s.yaml", trainer={"max_epochz": 3})
    with pytest.raises(SystemExit):
        main(["study", "run", "--config", str(path), "--output", str(tmp_path / "study")])
    assert Study.load(tmp_path / "study").table("qdcg10").render("csv") == before


def test_a_failed_candidate_is_recorded_with_its_reason_and_stops_no_other(tmp_path, capfd):
    candidates = [{"model": "DRU", "cutoff": [-1, 5]}, {"model": "ERM"}]
    words = ["--config", str(written(tmp_path / "s.yaml", candidates=candidates, seeds=[0]))]
    with pytest.raises(SystemExit) as stop:
        main(["study", "run", *words, "--output", str(tmp_path / "study")])
    assert stop.value.code == 1
    said = capfd.readouterr().out
    assert "2 of 3 candidates are finished" in said
    assert "--retry_failed" in said
    assert "failed: DRU cutoff=-1, seed 0: " in said
    assert "cutoff is -1" in said.rpartition("seed 0: ")[2]
    assert len(manifests(tmp_path / "study")) == 2
    assert "Not finished: DRU cutoff=-1, seed 0." in Study.load(tmp_path / "study").table("qdcg10").remarks


def test_two_started_apart_share_the_work(tmp_path):
    path, folder = written(tmp_path / "s.yaml"), tmp_path / "study"
    words = [sys.executable, "-m", "drurank", "study", "run", "--config", str(path), "--output", str(folder)]
    storage = ["--storage", f"sqlite:///{tmp_path / 'shared.db'}"]
    both = [subprocess.Popen([*words, *storage], stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(200) for process in both] == [0, 0]
    assert len(manifests(folder)) == 12
    taken = [re.findall("^== ", log.read_text(encoding="utf-8"), re.MULTILINE) for log in folder.glob("logs/*")]
    assert sum(map(len, taken)) == 12
    assert min(map(len, taken)) > 0


def test_an_option_that_a_method_lacks_is_said_before_anything_is_run(tmp_path, capsys):
    candidates = [{"model": "ERM"}, {"model": "DRU", "cutof": [5, 10]}]
    path = written(tmp_path / "s.yaml", candidates=candidates)
    with pytest.raises(SystemExit) as stop:
        main(["study", "run", "--config", str(path), "--output", str(tmp_path / "study")])
    assert stop.value.code == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert re.search("s.yaml: DRU cutof=5: .*did you mean 'cutoff'", said)
    assert not list(tmp_path.glob("study/candidates/*"))


@pytest.mark.parametrize(
    "trainer", [{"logger": False}, {"fast_dev_run": True}, {"enable_checkpointing": False}, {"limit_val_batches": 0}]
)
def test_a_trainer_that_leaves_nothing_to_read_is_refused_before_anything_is_run(tmp_path, trainer, capsys):
    path = written(tmp_path / "s.yaml", trainer={**SMALL["trainer"], **trainer})
    with pytest.raises(SystemExit):
        main(["study", "run", "--config", str(path), "--output", str(tmp_path / "study")])
    (name,) = trainer
    assert f"trainer.{name} is {trainer[name]}" in capsys.readouterr().err


def test_each_worker_sees_one_of_the_devices(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert [device_of(place)["CUDA_VISIBLE_DEVICES"] for place in range(3)] == ["3", "5", "3"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert device_of(1) == {}


def test_the_commands_are_listed(capsys):
    for words in (["study"], ["study", "--help"]):
        main(words)
        said = capsys.readouterr().out
        for command in ("run", "table", "concordance", "compare", "plot", "report"):
            assert re.search(rf"^  {command} +\w", said, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONFIGS / "study").glob("*.yaml")))
def test_every_configuration_of_a_study_is_one(name):
    plan = Plan.read(CONFIGS / f"study/{name}.yaml")
    settings = {candidate.setting for candidate in plan.candidates}
    counts = {
        "jtt16": 16,
        "jtt16_insteval": 16,
        "jtt16_synthetic": 16,
        "synthetic": 1 + 10 + 4 + 4 + 1 + 4,
        "text": 1 + 8 + 6 + 6 + 1,
        "table": 1 + 3 + 2 + 1,
    }
    assert len(settings) == counts[name]


def test_the_file_that_the_documentation_shows_is_one(tmp_path):
    page = (CONFIGS.parent / "docs/studies.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "s.yaml").write_text(block.replace("../data", str(CONFIGS / "data")), encoding="utf-8")
    plan = Plan.read(tmp_path / "s.yaml")
    assert len(plan.candidates) == (16 + 4) * 3
    assert plan.criteria == ("qdcg10", "worst")
    write_shared(tmp_path, plan)
    check_options(tmp_path, plan)


def test_a_candidate_may_be_a_run_of_several_processes(tmp_path):
    trainer = {"max_epochs": 2, "accelerator": "cpu", "devices": 2, "strategy": "ddp"}
    data = {"class_path": SMALL["data"]["class_path"], "init_args": {**SMALL["data"]["init_args"], "batch_size": 8}}
    path = written(tmp_path / "s.yaml", trainer=trainer, data=data, candidates=[{"model": "ERM"}], seeds=[0])
    main(["study", "run", "--config", str(path), "--output", str(tmp_path / "study")])
    (manifest,) = manifests(tmp_path / "study").values()
    assert manifest["budget"] == {"steps": 2 * 4, "epochs": 2}  # of 60 rows, 16 in the batches of both
    assert manifest["config"]["trainer"]["devices"] == 2
    (result,) = Study.load(tmp_path / "study")
    for split in ("ood_val", "ood_test"):
        assert result.counts("worst", split).count.tolist() == [10] * 4  # each row once, whoever saw it
