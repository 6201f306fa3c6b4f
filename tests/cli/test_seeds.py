"""fit --seeds: a study of one method, and one report of all its seeds."""

import shlex
from pathlib import Path

import numpy as np
import pytest
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from drurank.cli import main
from drurank.cli.commands import exporting
from drurank.cli.seeds_shown import show_seeds
from drurank.errors import InputError
from drurank.study import Study
from drurank.yaml_files import read_yaml
from runs import FIT, QUIET, read_csv, read_json
from warm import Program

PLAIN = ["--model.network", "MLP", "--model.network.dropout", "0", "--model.network.hidden", "8"]
TWO = ["--seeds", "2", "--trainer.max_epochs", "2"]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Folder of a fit with the seeds 3 and 4."""
    root = tmp_path_factory.mktemp("seeds")
    words = [*FIT, *PLAIN, *TWO, *QUIET, "--seed_everything", "3", "--select", "worst,qdcg10"]
    with Program(["-m", "drurank", *words, "--trainer.default_root_dir", root], root / "log") as process:
        assert process.wait(100) == 0, (root / "log").read_text()
    return root / "version_0"


def test_it_leaves_a_study_of_the_seeds(seeds):
    study = Study.load(seeds)
    assert [(result.method, result.setting, result.seed) for result in study] == [
        ("qDRU+M", "DRU", 3),
        ("qDRU+M", "DRU", 4),
    ]
    assert study.results[0].criteria == ("worst", "qdcg10")


@pytest.mark.parametrize("command", ["predict", "test", "validate"])
def test_its_folder_is_answered_with_what_to_give(seeds, refused, run, tmp_path, command):
    said = refused(command, "--run", seeds)
    assert said.startswith(f"{seeds} is the folder of a study, as `fit --seeds` makes one, of several runs")
    words = shlex.split(said.split("`")[3])
    assert words == ["drurank", "study", "export-best", "--folder", str(seeds), "--output", "best"]
    folder = said.partition("or give that of one run, as ")[2]
    candidate = Path(folder).parent
    assert refused(command, "--run", candidate) == f"{candidate} holds the run, and is not its folder; give {folder}"
    if command == "predict":
        main(words[1:])
        for made in ("best", folder):
            run(command, "--run", made, "--output", f"{Path(made).name}.csv")
            run("report", "--predictions", f"{Path(made).name}.csv", "--split", "split")


@pytest.mark.parametrize(
    ("criteria", "by"), [(["worst", "qdcg10"], []), (["worst", "average"], ["--by", "worst"]), ([], [])]
)
def test_the_best_is_by_a_criterion_that_was_kept(criteria, by):
    words = ["drurank", "study", "export-best", "--folder", "runs/a b", *by, "--output", "best"]
    assert shlex.split(exporting("runs/a b", criteria)) == words


def test_report_is_of_the_groups_of_all_seeds(seeds):
    found = read_json(seeds / "seeds.json")
    assert (found["method"], found["by"]) == ("qDRU+M", "worst")
    report = found["splits"]
    assert [*report] == ["ood_test"]
    worst = []
    for result in Study.load(seeds):
        rows = [
            row for row in read_csv(result.folder / "version_0/test/worst/groups.csv") if row["split"] == "ood_test"
        ]
        worst.append(min(int(row["correct"]) / int(row["count"]) for row in rows))
    found = report["ood_test"]["criteria"]["worst"]
    assert found["values"] == pytest.approx(worst)
    assert found["mean"] == pytest.approx(np.mean(worst))
    assert found["sd"] == pytest.approx(np.std(worst, ddof=1))


def test_each_seed_is_the_fit_with_that_seed(seeds, tmp_path):
    where = ["--trainer.max_epochs", "2", "--trainer.default_root_dir", str(tmp_path)]
    main([*FIT, *PLAIN, *QUIET, *where, "--seed_everything", "4", "--select", "worst,qdcg10"])
    of_study = next(result.folder for result in Study.load(seeds) if result.seed == 4) / "version_0"
    alone = read_json(tmp_path / "version_0/selection.json")
    assert {name: {**entry, "file": ""} for name, entry in read_json(of_study / "selection.json").items()} == {
        name: {**entry, "file": ""} for name, entry in alone.items()
    }
    assert (of_study / "weights.csv").read_text() == (tmp_path / "version_0/weights.csv").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seeds", "1"], "--seeds is 1; give a whole number of 2 or more"),
        (["--seeds", "2", "--seed_everything", "false"], "is False; with --seeds give the first seed"),
        (["--seeds", "2", "--seed_everything", str(2**32 - 1)], "below 2**32"),
        (["--seeds", "2", "--trainer.logger", "false"], "leave --trainer.logger and --trainer.fast_dev_run out"),
        (
            ["--seeds", "2", "--trainer.logger", "TensorBoardLogger", "--trainer.logger.save_dir", "x"],
            "leave --trainer.logger",
        ),
        (["--seeds", "2", "--trainer.limit_val_batches", "1"], "trainer.limit_val_batches is 1"),
        (["--seeds", "2", "--trainer.fast_dev_run", "true"], "and --trainer.fast_dev_run out"),
    ],
)
def test_what_cannot_be_a_study_is_refused_and_leaves_nothing(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main([*FIT, *QUIET, *words])
    assert stop.value.code == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert [*tmp_path.iterdir()] == []


def test_one_of_several_processes_makes_no_study(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    launched = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "GROUP_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    for name, value in (launched | {"TORCHELASTIC_RUN_ID": "x"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    with pytest.raises(SystemExit) as stop:
        main([*FIT, *QUIET, "--seeds", "2", "--trainer.devices", "2"])
    assert stop.value.code == 2
    assert "call it once, without torchrun or srun" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_seeds_begin_anew(seeds, capsys):
    last = next(seeds.glob("candidates/*/version_0/checkpoints/last.ckpt"))
    before = set(seeds.rglob("*"))
    with pytest.raises(SystemExit) as stop:
        main([*FIT, *QUIET, "--seeds", "2", "--ckpt_path", str(last)])
    assert stop.value.code == 2
    assert "--seeds begins anew, but --ckpt_path is given" in capsys.readouterr().err
    assert set(seeds.rglob("*")) == before


def test_names_and_labels_stay_the_text_that_was_typed(tmp_path, monkeypatch):
    lines = ["2e5,on,010,split", *(f"{k % 2},g{k % 4},{k},{'train' if k < 16 else 'test'}" for k in range(24))]
    lines[1:] = [line.replace("test", "id_test" if k % 2 else "id_val") for k, line in enumerate(lines[1:])]
    (tmp_path / "a: b.csv").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("drurank.cli.seeds.run_plan", lambda *_: {})
    monkeypatch.setattr("drurank.cli.seeds.show_seeds", lambda *_: {})
    names = ["--data.label", "2e5", "--data.group", "on", "--data.split", "split", "--data.relabel", "{0: no, 1: yes}"]
    main(["fit", "--model", "ERM", "--data", "Table", "--data.path", "a: b.csv", *names, *QUIET, "--seeds", "2"])
    (file,) = tmp_path.glob("runs/*/study.yaml")
    options = read_yaml(file.read_text())["data"]["init_args"]
    assert (options["label"], options["group"], options["path"]) == ("2e5", "on", "a: b.csv")
    assert options["relabel"] == {"0": "no", "1": "yes"}


def test_a_method_of_a_study_is_named(results):
    with pytest.raises(InputError, match="has several methods; give one of Const"):
        show_seeds(str(results))
    with pytest.raises(InputError, match="no method 'DRUM'"):
        show_seeds(str(results), method="DRUM")
    assert show_seeds(str(results), "worst", "ERM")["ood_test"]["seeds"] == 2
    assert show_seeds(str(results), "worst", "DRU") == show_seeds(str(results), "worst", "qDRU+M")
    assert read_json(results / "seeds.json")["method"] == "qDRU+M"
