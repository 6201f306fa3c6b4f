"""One candidate: fitted, tested and noted, from the start or from where it was stopped."""

import math
import re
import shlex
import shutil

import pytest

from drurank.errors import InputError
from drurank.study import Plan, Study
from drurank.study.folder import write_shared
from drurank.study.runs import run_candidate
from runs import CONFIGS, plain, read_json, same
from studies import ERM, SMALL, finish, manifests, rehearse, words_of, written
from warm import Program, ended


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
        assert (manifest["data"]["training_rows"], manifest["data"]["training_groups"]) == (60, 6)
        assert manifest["config"]["seed_everything"] == manifest["seed"]
        assert (undisturbed / "candidates" / key / "groups.parquet").is_file()
    assert len({manifest["data"]["fingerprint"] for manifest in found.values()}) == 1


def test_counts_give_the_criteria_again(undisturbed):
    for result in Study.load(undisturbed):
        for by in ("qdcg10", "worst"):
            assert result.counts(by, "ood_val").value(by) == pytest.approx(result.validation(by), rel=1e-6)
            report = read_json(result.folder / f"version_0/test/{by}/report.json")
            for name, entry in report["splits"]["ood_test"]["criteria"].items():
                value = math.nan if entry["value"] is None else entry["value"]  # tstat of groups that do not differ
                assert result.counts(by, "ood_test").shown(name) == pytest.approx(value, rel=1e-9, nan_ok=True)


@pytest.fixture
def one(tmp_path):
    """File of a study of one candidate, its folder, and that of the candidate."""
    path = written(tmp_path / "s.yaml", candidates=ERM, seeds=[0], criteria=["worst"])
    (candidate,) = Plan.read(path).candidates
    return path, tmp_path / "study", tmp_path / "study/candidates" / candidate.key


def test_a_candidate_is_tested_with_the_cache_and_workers_that_its_plan_gives(tmp_path):
    data = {**SMALL["data"], "init_args": {**SMALL["data"]["init_args"], "cache_dir": "/far/cache", "num_workers": 2}}
    path = written(tmp_path / "s.yaml", candidates=[{"model": "ERM", "data.num_workers": 3}], data=data)
    plan, called = Plan.read(path), []
    write_shared(tmp_path / "study", plan)

    def command(words):
        called.append(words)
        if words[0] == "test":
            raise InputError("enough is seen")

    with pytest.raises(InputError, match="enough"):
        run_candidate(tmp_path / "study", plan, plan.candidates[0], command)
    assert [words for words in called[1] if words.startswith("--data")] == [
        "--data.cache_dir=/far/cache",
        "--data.num_workers=3",
    ]


def test_a_finished_candidate_whose_folder_is_gone_is_run_again_also_from_a_damaged_checkpoint(one):
    path, folder, candidate = one
    finish(path, folder)
    before = Study.load(folder).results[0].groups
    shutil.rmtree(candidate)
    last = candidate / "version_0/checkpoints/last.ckpt"
    last.parent.mkdir(parents=True)
    last.write_bytes(b"damaged")
    finish(path, folder)
    assert Study.load(folder).results[0].groups.equals(before)


def test_checkpoints_are_removed_when_asked_and_the_tables_stay(undisturbed, tmp_path):
    entry = {**SMALL["candidates"][1], "cutoff": 5}
    path = written(tmp_path / "s.yaml", keep_checkpoints=False, candidates=[entry], seeds=[0])
    for _ in range(2):
        finish(path, tmp_path / "study")
    assert not list(tmp_path.glob("study/**/*.ckpt"))
    (found,) = Study.load(tmp_path / "study")
    same = {result.manifest["key"]: result for result in Study.load(undisturbed)}
    assert found.groups.equals(same[found.manifest["key"]].groups)


def test_an_option_that_a_method_lacks_is_said_before_anything_is_run(tmp_path):
    candidates = [{"model": "ERM"}, {"model": "DRU", "cutof": [5, 10]}]
    path = written(tmp_path / "s.yaml", candidates=candidates)
    status, said = ended(["-m", "drurank", *words_of(path, tmp_path / "study")], tmp_path / "log")
    assert status == 2
    (said,) = said.strip().splitlines()
    assert re.search("s.yaml: DRU cutof=5: .*did you mean 'cutoff'", said)
    assert not list(tmp_path.glob("study/candidates/*"))


@pytest.mark.parametrize(
    "trainer",
    [
        {"logger": False},
        {"fast_dev_run": True},
        {"enable_checkpointing": False},
        {"limit_val_batches": 0},
        {"limit_val_batches": 1},  # one batch, where 1.0 is all of them
        {"limit_test_batches": 1},
        {"val_check_interval": 0.5},
    ],
)
def test_a_trainer_that_leaves_nothing_to_read_is_refused_before_anything_is_run(tmp_path, trainer):
    plan = Plan.read(written(tmp_path / "s.yaml", trainer={**SMALL["trainer"], **trainer}))
    with pytest.raises(InputError) as refused:
        rehearse(tmp_path / "study", plan)
    (name,) = trainer
    said = str(refused.value)
    assert f"trainer.{name} is {trainer[name]}" in said
    if name == "val_check_interval":
        assert "a study keeps the counts by group of one validation an epoch" in said


def test_a_candidate_may_be_a_run_of_several_processes(tmp_path):
    trainer = {"max_epochs": 2, "accelerator": "cpu", "devices": 2, "strategy": "ddp"}
    data = {"class_path": SMALL["data"]["class_path"], "init_args": {**SMALL["data"]["init_args"], "batch_size": 8}}
    # A criterion, and so a test, each costs two processes more.
    path = written(tmp_path / "s.yaml", trainer=trainer, data=data, candidates=ERM, seeds=[0], criteria=["worst"])
    with Program(["-m", "drurank", *words_of(path, tmp_path / "study")], tmp_path / "log") as process:
        assert process.wait(100) == 0, (tmp_path / "log").read_text()
    (manifest,) = manifests(tmp_path / "study").values()
    assert manifest["budget"] == {"steps": 2 * 4, "epochs": 2}  # of 60 rows, 16 in the batches of both
    assert manifest["config"]["trainer"]["devices"] == 2
    (result,) = Study.load(tmp_path / "study")
    for split in ("ood_val", "ood_test"):
        assert result.counts("worst", split).count.tolist() == [10] * 4  # each row once, whoever saw it


def test_a_fit_written_as_a_study_as_the_documentation_shows_is_the_same_run(run, tmp_path):
    page = (CONFIGS.parent / "docs/studies.md").read_text(encoding="utf-8")
    section = page.partition("### From a fit to a study")[2].partition("\n### ")[0]
    (command,) = re.findall(r"```sh\n(python .*?)```\n\nis the candidate", section, re.DOTALL)
    (content,) = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    rows = [
        f"{row * 7 % 31},{1 + row % 5},{split}{row % 4},{split}"
        for split in ("train", "ood_val", "ood_test")
        for row in range(60)
    ]
    (tmp_path / "reviews.csv").write_text("\n".join(["words,stars,writer,split", *rows]) + "\n")
    (tmp_path / "s.yaml").write_text(content)
    run(*shlex.split(command.replace("\\\n", " "))[2:])
    finish(tmp_path / "s.yaml", tmp_path / "study")
    (made,) = tmp_path.glob("study/candidates/*/version_0")
    fitted, studied = (plain(folder / "checkpoints/last.ckpt") for folder in (tmp_path / "runs/version_0", made))
    assert same(fitted["state_dict"], studied["state_dict"])
    assert read_json(made / "selection.json") == read_json(tmp_path / "runs/version_0/selection.json")
