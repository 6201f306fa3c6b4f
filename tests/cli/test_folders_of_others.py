"""A run, study or checkpoint of somebody else writes, removes and waits nowhere outside of its own folder."""

import contextlib
import inspect
import io
import json
import os
import re
import shutil
import socket
import zipfile

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
import torch
import yaml
from lightning.pytorch import callbacks
from lightning.pytorch.callbacks import ModelCheckpoint

from drurank import Predictor, methods, networks
from drurank import callbacks as own_callbacks
from drurank import data as own_data
from drurank.cli import main, saved_trainer
from drurank.cli.saved_data import data_to_evaluate
from drurank.cli.saved_trainer import to_evaluate
from drurank.cli.study import SHOWN
from drurank.errors import InputError
from drurank.methods import DRU
from drurank.study.comparing_files import compare_runs
from drurank.training.kept_files import moved_state
from encoders import write_tiny
from runs import QUIET, SMALL, plain
from texts import rows, words_of

KEEPER = {"monitor": "epoch", "mode": "max", "save_top_k": 1, "filename": "mine-{epoch}"}
RESUME = ["fit", "--ckpt_path", "{run}/checkpoints/last.ckpt", "--trainer.max_epochs", "4"]
TEST = ["test", "--run", "{run}"]
PREDICT = ["predict", "--ckpt_path", "{run}/checkpoints/last.ckpt"]
VALIDATE = ["validate", "--run", "{run}"]


@pytest.fixture
def victim(tmp_path):
    """A folder of the user's; it must stay as it is."""
    (tmp_path / "victim/tree/deep").mkdir(parents=True)
    (tmp_path / "victim/diary.txt").write_text("dear diary")
    (tmp_path / "victim/tree/deep/f").write_text("f")
    return tmp_path / "victim"


def held(folder):
    return {str(path): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def changed(run, change):
    """Have a run's configuration changed."""
    content = yaml.safe_load((run / "config.yaml").read_text())
    change(content["trainer"])
    (run / "config.yaml").write_text(yaml.safe_dump(content))


def words_for(words, run):
    return [word.format(run=run) for word in words]


PATHS = [
    "local://{victim}/tree",
    "{run}/checkpoints/../../victim/tree",
    "{victim}/tree",
    "http://127.0.0.1:9/x",
    "evil://x",
    "..",
    ".",
    "{run}/checkpoints/",
    "{run}/checkpoints/.ckpt",
    "a\0.ckpt",
    5,
]


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_a_checkpoint_names_nothing_that_is_removed(copied, refused, victim, path):
    init = {"class_path": "lightning.pytorch.callbacks.ModelCheckpoint", "init_args": KEEPER}
    changed(copied, lambda trainer: trainer.update(callbacks=[init]))
    before, to = held(victim), path.format(run=copied, victim=victim) if isinstance(path, str) else path
    score, file = torch.tensor(-9.0), copied / "checkpoints/last.ckpt"
    state = {"monitor": "epoch", "best_model_score": score, "current_score": score, "kth_value": score}
    paths = dict.fromkeys(("best_model_path", "kth_best_model_path", "last_model_path"), to)
    saved = plain(file)
    saved["callbacks"][ModelCheckpoint(**KEEPER).state_key] = {**state, **paths, "best_k_models": {to: score}}
    del saved["drurank_written"]  # by which the change would be found first
    torch.save(saved, file)
    said = refused(*words_for(RESUME, copied))
    assert f"{file}: the checkpoint is damaged: its ModelCheckpoint names {to!r}, which is not a file .ckpt" == said
    assert held(victim) == before


@pytest.mark.parametrize("folder", ["/new/checkpoints", "s3://bucket/new"])
def test_files_of_a_run_that_moved_keep_their_names(folder):
    paths = {name: f"/old/{name}.ckpt" for name in ("best_model_path", "kth_best_model_path")}
    state = {**paths, "last_model_path": "", "best_k_models": {"/old/a.ckpt": 1.0}, "dirpath": "/old", "kth_value": 2}
    assert moved_state(state, folder) == {
        "best_model_path": f"{folder}/best_model_path.ckpt",
        "kth_best_model_path": f"{folder}/kth_best_model_path.ckpt",
        "last_model_path": "",
        "best_k_models": {f"{folder}/a.ckpt": 1.0},
        "dirpath": folder,
        "kth_value": 2,
    }


def test_a_keeper_of_lightnings_goes_on_in_a_run_that_moved(fit, run, tmp_path):
    callback = ["--trainer.callbacks", "ModelCheckpoint"]
    callback += [f"--trainer.callbacks.{name}={value}" for name, value in KEEPER.items()]
    made = fit(tmp_path / "runs", *callback, epochs=1)
    moved = shutil.move(made, tmp_path / "moved")
    run(*words_for(RESUME, moved))
    files = sorted(file.name for file in (moved / "checkpoints").glob("mine*"))
    assert files == ["mine-epoch=3.ckpt"]  # that of epoch 0 was removed in its new place


LINKS = [
    ("test", "tree", TEST),
    ("test/qdcg10", "tree", TEST),
    ("test/.drurank.lock", "new.txt", TEST),
    ("test/qdcg10/hparams.yaml", "diary.txt", TEST),
    ("metrics.csv", "diary.txt", RESUME),
    ("checkpoints/worst.ckpt", "new", RESUME),
    ("weights.csv", "../victim/new", VALIDATE),
    (".weights.csv.77.drurank", "diary.txt", RESUME),
    ("predictions.parquet", "diary.txt", PREDICT),
]


@pytest.mark.parametrize(("at", "to", "words"), LINKS, ids=[at for at, *_ in LINKS])
def test_a_link_that_leads_out_of_a_run_is_refused(copied, refused, victim, at, to, words):
    before, place = held(victim), copied / at
    place.parent.mkdir(exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(victim / to)
    said = refused(*words_for(words, copied))
    assert said.startswith(f"{place} is a link to {(victim / to).resolve()}, outside of {copied}, where it would")
    assert held(victim) == before


def test_links_within_a_run_and_to_it_are_followed(copied, run, tmp_path):
    shutil.move(copied / "checkpoints/qdcg10.ckpt", copied / "other.ckpt")
    (copied / "checkpoints/qdcg10.ckpt").symlink_to("../other.ckpt")
    (tmp_path / "link").symlink_to(copied)
    (tmp_path / "p.csv").symlink_to("named.csv")
    run("predict", "--run", tmp_path / "link", "--output", tmp_path / "p.csv")
    assert (tmp_path / "named.csv").is_file()


@pytest.mark.parametrize(
    "at", ["test/.drurank.lock", "test/qdcg10/metrics.csv", "config.yaml", "selection.json", "x/fifo.yaml"]
)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_pipe_in_a_run_is_not_waited_for(copied, refused, at):
    (copied / at).parent.mkdir(exist_ok=True)
    (copied / at).unlink(missing_ok=True)
    os.mkfifo(copied / at)
    said = refused(*words_for(TEST, copied))
    assert said == f"{copied / at} is neither a file nor a folder, but a pipe or a device; remove it"


@pytest.mark.parametrize("at", ["candidates", "logs", "queue.lock", "candidates/x/version_0"])
def test_a_link_that_leads_out_of_a_study_is_refused(capsys, victim, tmp_path, at):
    plan = {"data": {"class_path": "Shortcut", "init_args": {"groups": [6, 4, 4]}}, "seeds": [0]}
    plan["candidates"] = [{"model": "ERM"}]
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    before, place = held(victim), tmp_path / "study" / at
    place.parent.mkdir(parents=True)
    place.symlink_to(victim / "tree")
    with pytest.raises(SystemExit) as stop:
        main(["study", "run", "--config", str(tmp_path / "plan.yaml"), "--output", str(tmp_path / "study")])
    assert stop.value.code == 2
    assert f"{place} is a link to {victim / 'tree'}, outside of" in capsys.readouterr().err
    assert held(victim) == before


OF_STUDY = {
    "table": [],
    "seeds": [],
    "concordance": [],
    "compare": ["--first", "ERM", "--second", "DRU"],
    "export-best": ["--output", "best"],
    "plot": ["--output", "pictures"],
    "report": [],
}
"""Commands that read a study, and what they need."""
READ = ["candidates/*/version_0/checkpoints/*.ckpt", "candidates/*/version_0/config.yaml", "candidates/*/manifest.json"]
READ += ["candidates/*/groups.parquet", "plan.json", "report.md"]


def refused_of_study(study, command, capsys, folder):
    os.chdir(folder)
    with pytest.raises(SystemExit) as stop:
        main(["study", command, "--folder", str(study), *OF_STUDY[command]])
    assert stop.value.code == 2
    assert sorted(path.name for path in folder.iterdir()) == ["study", "victim"]
    return capsys.readouterr().err


def in_study(study, pattern):
    """A place of a study, whose file is removed."""
    place = next(study.glob(pattern), study / pattern.replace("*", "x"))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    return place


def test_every_command_that_reads_a_study_is_known():
    assert [*OF_STUDY] == [*SHOWN]


@pytest.mark.parametrize("command", OF_STUDY)
@pytest.mark.parametrize("at", READ)
def test_a_link_out_of_a_study_is_neither_read_nor_written_to(results, victim, capsys, tmp_path, command, at):
    study, before = shutil.copytree(results, tmp_path / "study"), held(victim)
    place = in_study(study, at)
    place.symlink_to(victim / "diary.txt")
    said = refused_of_study(study, command, capsys, tmp_path)
    assert f"error: {place} is a link to {victim / 'diary.txt'}, outside of {study}, where it would be read" in said
    assert held(victim) == before


@pytest.mark.parametrize("command", OF_STUDY)
@pytest.mark.parametrize("at", READ)
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_pipe_in_a_study_is_not_waited_for(results, victim, capsys, tmp_path, command, at, kind):
    study = shutil.copytree(results, tmp_path / "study")
    place = in_study(study, at)
    if kind == "pipe":
        os.mkfifo(place)
    else:
        os.chdir(place.parent)  # the path of a socket is short
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(place.name)
    said = refused_of_study(study, command, capsys, tmp_path)
    assert f"error: {place} is neither a file nor a folder, but a pipe or a device" in said


@pytest.mark.parametrize("at", ["test/qdcg10/groups.parquet", "test/qdcg10/report.json"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_run_that_is_compared_leads_nowhere_else(copied, done, victim, capsys, at, kind):
    (copied / at).unlink()
    if kind == "pipe":
        os.mkfifo(copied / at)
    else:
        (copied / at).symlink_to(victim / "diary.txt")
    for runs in ([copied, done], [done, copied], [copied / "test/qdcg10", done]):
        with pytest.raises(SystemExit) as stop:
            main(["study", "compare", f"--runs=[{runs[0]},{runs[1]}]"])
        assert stop.value.code == 2
        assert f"error: {copied / at} is " in capsys.readouterr().err


DEEP = {"folders": "a/" * 400, "long names": f"{'a' * 250}/" * 20}


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
def test_folders_in_folders_of_a_run_are_not_looked_through_for_ever(copied, refused, deep):
    os.chdir(copied)
    for name in deep.split("/")[:-1]:
        os.mkdir(name)
        os.chdir(name)
    os.chdir(copied.parent)
    said = refused(*words_for(TEST, copied))
    assert said.startswith(f"{copied} holds folders in folders, too many to be looked through; remove what is not of")


READS_TABLE = [
    ["inspect", "--data.path", "{}", "--data.label", "y", "--data.group", "g", "--data.split", "s"],
    ["split", "--path", "{}", "--label", "y", "--group", "g", "--output", "o.csv"],
    ["report", "--predictions", "{}", "--label", "y", "--prediction", "p", "--group", "g"],
    ["report", "--counts", "{}", "--group", "g"],
    ["fit", "--model", "ERM", "--data", "Table", "--data.path", "{}", "--data.label", "y", "--data.group", "g"],
]


@pytest.mark.parametrize("words", READS_TABLE, ids=lambda words: " ".join(words[:2]))
@pytest.mark.parametrize("name", ["pipe.csv", "pipe.csv.gz", "pipe.jsonl", "pipe.parquet", "pipe.arrow"])
def test_a_pipe_for_a_table_is_not_waited_for(tmp_path, capsys, words, name):
    os.chdir(tmp_path)
    os.mkfifo(tmp_path / name)
    with pytest.raises(SystemExit) as stop:
        main([word.format(tmp_path / name) for word in words])
    assert stop.value.code == 2
    assert f"{name} is not a file; write what it gives into a file, and give that" in capsys.readouterr().err


def of_a_job(copied, noted):
    """A checkpoint alone, of a job that SLURM starts again, that notes this."""
    file = copied.parent / "alone/hpc_ckpt_1.ckpt"
    file.parent.mkdir()
    saved = plain(copied / "checkpoints/last.ckpt")
    torch.save({name: saved[name] for name in saved if name != "drurank_written"} | {"drurank_job": noted}, file)
    return file


def test_a_checkpoint_of_another_job_goes_on_in_no_other_run(copied, run, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "8")
    before, file = held(copied), of_a_job(copied, {"job": "7", "seed": "0", "folder": str(copied)})
    where = ["--trainer.default_root_dir", tmp_path / "new", "--trainer.max_epochs", "4"]
    rate = ["--model.optimizer", "AdamW", "--model.optimizer.lr", "0.01"]
    run("fit", "--model", "DRU", *SMALL, *rate, "--ckpt_path", file, *where)
    assert held(copied) == before
    assert (tmp_path / "new/version_0/weights.csv").is_file()


@pytest.mark.parametrize("noted", [5, ["x"], {"folder": 5}, {"job": "7", "seed": "0", "folder": {}}], ids=str)
def test_what_a_checkpoint_notes_of_its_job_has_a_shape(copied, refused, noted):
    file = of_a_job(copied, noted)
    said = refused("predict", "--model", "DRU", *SMALL, "--ckpt_path", file)
    assert said.startswith(f"{file} is damaged: its drurank_job")


@pytest.mark.parametrize("version", ["/victim", "../x", "..", "a/b"])
def test_a_noted_version_is_no_path(copied, refused, victim, version):
    changed(copied, lambda trainer: trainer.update(logger={"class_path": "TensorBoardLogger", "init_args": {}}))
    (copied / "loggers.json").write_text(json.dumps([{"logger": "TensorBoardLogger", "version": version}]))
    words = [*words_for(RESUME, copied), "--trainer.logger.save_dir", victim]
    assert f"loggers.json has the version {version!r}, which is a path" in refused(*words)


KEEPS = "lightning.pytorch.callbacks.ModelCheckpoint"
AWAY = {
    "profiler": {"class_path": "lightning.pytorch.profilers.SimpleProfiler", "init_args": {"dirpath": "{}"}},
    "logger": {"class_path": "lightning.pytorch.loggers.CSVLogger", "init_args": {"save_dir": "{}"}},
    "default_root_dir": "{}",
    "devices": 40,
    "num_nodes": 2,
    "callbacks": [
        {"class_path": "drurank.callbacks.PredictionWriter", "init_args": {"output": "{}/diary.csv"}},
        {"class_path": KEEPS, "init_args": {"dirpath": "{}", "filename": "x"}},
        {"class_path": KEEPS, "init_args": {"filename": "{}/x", "monitor": "a"}},
        {"class_path": "lightning.pytorch.callbacks.OnExceptionCheckpoint", "init_args": {"dirpath": "{}"}},
    ],
}


@pytest.mark.parametrize("words", [TEST, PREDICT, VALIDATE], ids=lambda words: words[0])
def test_a_runs_configuration_writes_nowhere_else_in_evaluation(copied, tmp_path, victim, words, recwarn):
    away, before = json.loads(json.dumps(AWAY).replace("{}", str(victim))), held(victim)
    changed(copied, lambda trainer: trainer.update(away))
    (tmp_path / "here").mkdir()
    os.chdir(tmp_path / "here")
    main([*words_for(words, copied), *QUIET])
    assert held(victim) == before
    left = "profiler, logger, devices, num_nodes, default_root_dir, callbacks.output, callbacks.dirpath"
    left += ", callbacks.filename, callbacks.dirpath"
    said = next(str(one.message) for one in recwarn if "of the trainer" in str(one.message))
    assert f"of the trainer {left} are not taken to {words[0]}; type what you want of it" in said


@pytest.mark.parametrize("name", ["../victim/evil", "{victim}/evil", "a/../../victim/evil", "victim/../../victim/evil"])
def test_a_callback_that_writes_when_a_test_fails_writes_nowhere_else(copied, refused, victim, name):
    init = {"dirpath": str(copied), "filename": name.format(victim=victim)}
    callback = {"class_path": "lightning.pytorch.callbacks.OnExceptionCheckpoint", "init_args": init}
    changed(copied, lambda trainer: trainer.update(callbacks=[callback]))
    file, before = copied / "checkpoints/qdcg10.ckpt", held(victim)
    saved = plain(file)
    saved["state_dict"]["network.more"] = torch.zeros(3)
    del saved["drurank_written"]
    torch.save(saved, file)
    assert "cannot be restored" in refused("test", "--run", copied)
    assert held(victim) == before


def test_each_option_of_a_callback_that_names_a_file_is_known():
    kinds = [kind for of in (callbacks, own_callbacks) for kind in vars(of).values() if isinstance(kind, type)]
    names = {name for kind in kinds for name in inspect.signature(kind).parameters}
    known = {*saved_trainer.PATHS, saved_trainer.NAME, "auto_insert_metric_name"}
    assert {name for name in names if re.search("path|dir|file|output|root|url", name)} <= known


def test_what_bears_on_evaluation_is_taken(tmp_path):
    own = {"class_path": "mine.Counter", "init_args": {"output": str(tmp_path / "here/x.csv"), "size": 3}}
    trainer = {"devices": [3], "num_nodes": 1, "precision": "16-mixed", "callbacks": [own]}
    trainer |= {"default_root_dir": str(tmp_path), "logger": False, "strategy": "ddp", "profiler": None}
    os.chdir(tmp_path)
    assert to_evaluate(trainer, tmp_path / "version_0") == (
        {name: value for name, value in trainer.items() if name != "profiler"},
        [],
    )


EXPORT = ["export", "--run", "{run}", "--to", "safetensors"]


@pytest.fixture(scope="module")
def of_texts(tmp_path_factory, run):
    """A run on texts."""
    folder = tmp_path_factory.mktemp("of_texts")
    pa_parquet.write_table(pa.table(rows()), folder / "t.parquet")
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        write_tiny(folder / "tiny")
        run("fit", *words_of(str(folder / "t.parquet"), folder / "tiny"))
    return folder / "runs/version_0"


@pytest.mark.parametrize("words", [TEST, PREDICT, VALIDATE, EXPORT, None], ids=lambda words: words and words[0])
def test_the_data_of_a_run_write_and_start_no_more_than_was_typed(
    of_texts, run, tmp_path, victim, words, recwarn, monkeypatch
):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copied, before = shutil.copytree(of_texts, tmp_path / "copied"), held(victim)
    content = yaml.safe_load((copied / "config.yaml").read_text())
    content["data"]["init_args"] |= {"cache_dir": str(victim / "new"), "num_workers": 40}
    (copied / "config.yaml").write_text(yaml.safe_dump(content))
    (tmp_path / "here").mkdir()
    os.chdir(tmp_path / "here")
    if words is None:
        assert Predictor.load(copied).data.num_workers == 1
    else:
        run(*words_for(words, copied), *(QUIET if words is not EXPORT else []))
    assert held(victim) == before
    said = next(str(one.message) for one in recwarn if "of the data" in str(one.message))
    cache = f"cache_dir {victim / 'new'} leads elsewhere and is left out"
    workers = "num_workers 40 becomes 1, as many as there are cores"
    assert said == f"{copied / 'config.yaml'}: of the data {cache} and {workers}; give what you want of it"


def test_a_cache_that_is_typed_or_in_the_runs_folder_is_used(of_texts, run, tmp_path, victim, recwarn):
    copied = shutil.copytree(of_texts, tmp_path / "copied")
    content = yaml.safe_load((copied / "config.yaml").read_text())
    for cache, more in ((copied / "own", []), (victim / "evil", ["--data.cache_dir", "typed"])):
        content["data"]["init_args"]["cache_dir"] = str(cache)
        (copied / "config.yaml").write_text(yaml.safe_dump(content))
        run("test", "--run", copied, *more, *QUIET)
    assert (copied / "own/tokens").is_dir()
    assert (tmp_path / "typed/tokens").is_dir()
    assert not (victim / "evil").exists()
    assert not [one for one in recwarn if "of the data" in str(one.message)]


@pytest.mark.parametrize("part", ["init_args", "dict_kwargs"])
@pytest.mark.parametrize(("cache", "left"), [("{run}/a", 0), ("here", 1), ("..", 1), ("s3://x", 1), ("a\0", 1), (5, 1)])
def test_a_cache_elsewhere_is_left_out_in_any_form(tmp_path, part, cache, left):
    cache = cache.format(run=tmp_path / "run") if isinstance(cache, str) else cache
    given = {"class_path": "drurank.data.WILDS", part: {"path": "x", "cache_dir": cache}}
    kept, said = data_to_evaluate(given, tmp_path / "run")
    assert ("cache_dir" not in kept[part], len(said)) == (left, left)
    assert data_to_evaluate(given, tmp_path / "run", typed={"cache_dir"}) == (kept, [])
    assert given[part]["cache_dir"] == cache


def test_each_option_of_data_and_networks_that_names_a_file_is_known():
    kinds = [kind for of in (own_data, networks, methods) for kind in vars(of).values() if isinstance(kind, type)]
    names = {name for kind in kinds for one in kind.__mro__ for name in inspect.signature(one.__init__).parameters}
    found = {name for name in names if re.search("path|dir|file|output|root|url|cache", name)}
    assert found == {"path", "root", "cache_dir"}  # of which two are only read


WRITES = {
    "class_path": "drurank.callbacks.PredictionWriter",
    "init_args": {"output": "{}/diary.csv", "overwrite": True},
}
TIMED = {"class_path": "lightning.pytorch.profilers.SimpleProfiler", "init_args": {"dirpath": "{}", "filename": "p"}}
LOGS = {"class_path": "lightning.pytorch.loggers.CSVLogger", "init_args": {"save_dir": "{}"}}
OVERWRITES = {"class_path": WRITES["class_path"], "init_args": {"overwrite": True}}
SPELT = {
    "callbacks": [
        {"callbacks": json.dumps([WRITES])},
        {"callbacks": json.dumps(WRITES)},
        {"callbacks": [json.dumps(WRITES)]},
        {"callbacks": "{}/callbacks.yaml"},
        {"callbacks": ["{}/callback.yaml"]},
        {"callbacks": {"a": WRITES}},
    ],
    "callbacks+": [{"callbacks+": [WRITES]}, {"callbacks": [OVERWRITES], "callbacks+": WRITES}],
    "callbacks.output": [
        {"callbacks": [{"class_path": WRITES["class_path"], **WRITES["init_args"]}]},
        {"callbacks": [OVERWRITES], "callbacks.output": "{}/diary.csv"},
    ],
    "callbacks.init_args": [
        {"callbacks": [{**WRITES, "init_args": json.dumps(WRITES["init_args"])}]},
        {"callbacks": [{**WRITES, "init_args": "{}/arguments.yaml"}]},
        {"callbacks": {**WRITES, "init_args": "{}/arguments.yaml"}},
    ],
    "callbacks.init_args.output": [
        {"callbacks": [OVERWRITES], "callbacks.init_args.output": "{}/diary.csv"},
        {"callbacks": [{"class_path": WRITES["class_path"], "init_args.output": "{}/diary.csv"}]},
    ],
    "callbacks.output.x": [{"callbacks": [{**WRITES, "init_args": {"output.x": "{}/diary.csv"}}]}],
    "profiler.class_path": [
        {f"profiler.{part}": value for part, value in TIMED.items()},
        {"profiler.class_path": TIMED["class_path"], "profiler.init_args.dirpath": "{}"},
    ],
    "profiler+": [{"profiler+": TIMED}],
    "logger+": [{"logger+": [LOGS]}],
    "logger.class_path": [{"logger.class_path": LOGS["class_path"], "logger.init_args.save_dir": "{}"}],
    "plugins+": [{"plugins+": [{"class_path": "lightning.pytorch.plugins.io.AsyncCheckpointIO"}]}],
    "devices+": [{"devices+": [0, 0, 0, 0]}],
    "strategy": [{"strategy": "{}/callback.yaml"}, {"strategy": ["ddp"]}],
    "default_root_dir.x": [{"default_root_dir.x": "{}"}],
    "5": [{5: 5}],
}
"""Spellings of options of a trainer that the parser reads and a fit does not write, by the name that is refused."""


@pytest.mark.parametrize(
    ("option", "spelt"), [(option, spelt) for option, several in SPELT.items() for spelt in several], ids=str
)
@pytest.mark.parametrize("words", [PREDICT, TEST], ids=lambda words: words[0])
def test_options_of_a_runs_trainer_are_read_in_the_form_that_fit_writes(copied, refused, victim, option, spelt, words):
    def filled(value):
        if isinstance(value, dict):
            return {name: filled(one) for name, one in value.items()}
        if isinstance(value, list):
            return [filled(one) for one in value]
        return value.replace("{}", str(victim)) if isinstance(value, str) else value

    (victim / "diary.csv").write_text("mine")
    (victim / "callbacks.yaml").write_text(yaml.safe_dump([filled(WRITES)]))
    (victim / "callback.yaml").write_text(yaml.safe_dump(filled(WRITES)))
    (victim / "arguments.yaml").write_text(yaml.safe_dump(filled(WRITES["init_args"])))
    before = held(victim)
    changed(copied, lambda trainer: trainer.update(filled(spelt)))
    assert refused(*words_for(words, copied)).startswith(
        f"{copied / 'config.yaml'} is damaged: its trainer.{option} is "
    )
    assert held(victim) == before


@pytest.mark.parametrize(
    "callbacks",
    [
        WRITES,
        [{"class_path": WRITES["class_path"], "dict_kwargs": WRITES["init_args"]}],
        {"class_path": "mine.Both", "init_args": {"inner": WRITES, "more": [WRITES]}},
    ],
    ids=str,
)
def test_a_callback_writes_nowhere_else_in_any_form(tmp_path, callbacks):
    kept, left = to_evaluate({"callbacks": json.loads(json.dumps(callbacks).replace("{}", "/victim"))}, tmp_path)
    assert "victim" not in str(kept)
    assert set(left) == {"callbacks.output"}


@pytest.mark.parametrize(
    ("section", "change", "option"),
    [
        ("model", {"init_args.network": {"class_path": "torch.nn.Identity"}}, "model.init_args.network"),
        ("model", {"network": "mine.yaml"}, "model.network"),
        ("model", {"init_args": "mine.yaml"}, "model.init_args"),
        ("model", {"init_args": {"network.class_path": "torch.nn.Identity"}}, "model.network.class_path"),
        ("model", {"init_args": {"network": {"class_path": "a.B", "init_args.x": 1}}}, "model.network.init_args.x"),
        ("data", {"init_args": {"groups+": [1]}}, "data.groups+"),
        ("data", {"class_path": None}, "data"),
        ("data", "{here}/mine.yaml", "data"),
        ("model", "{here}/mine.yaml", "model"),
    ],
    ids=str,
)
def test_model_and_data_of_a_run_are_read_in_the_form_that_fit_writes(copied, refused, section, change, option):
    file = copied / "config.yaml"
    content = yaml.safe_load(file.read_text())
    content[section] = {**content[section], **change} if isinstance(change, dict) else change
    file.write_text(yaml.safe_dump(content))
    assert refused(*words_for(TEST, copied)).startswith(f"{file} is damaged: its {option} is ")


PART = {
    "limit_val_batches": 0.5,
    "limit_test_batches": 1,
    "limit_predict_batches": 1,
    "overfit_batches": 1,
    "fast_dev_run": True,
}


@pytest.mark.parametrize("words", [TEST, PREDICT, VALIDATE], ids=lambda words: words[0])
def test_figures_are_of_all_rows_whatever_a_run_says(copied, run, words, recwarn):
    changed(copied, lambda trainer: trainer.update(PART))
    done = run(*words_for(words, copied))
    assert [getattr(done.trainer, name) for name in list(PART)[:4]] == [1.0, 1.0, 1.0, 0.0]
    said = next(str(one.message) for one in recwarn if "of the trainer" in str(one.message))
    assert ", ".join(PART) in said
    assert f"not taken to {words[0]}" in said


@pytest.mark.parametrize(
    "unset", [{}, dict.fromkeys(PART), {"limit_test_batches": 1.0, "overfit_batches": 0.0}], ids=str
)
def test_limits_that_are_none_are_not_spoken_of(tmp_path, unset):
    assert to_evaluate({**unset, "fast_dev_run": False}, tmp_path) == ({}, [])


@pytest.mark.parametrize("limit", [1, 0, 0.0, 0.5, True, "x"])
def test_limits_of_one_batch_and_none_are(tmp_path, limit):
    assert to_evaluate({"limit_test_batches": limit}, tmp_path) == ({}, ["limit_test_batches"])


@pytest.mark.parametrize("given", ["9" * 5000, 10**30, "x", [0] * 10**5])
def test_a_number_of_devices_that_no_machine_has_is_one(tmp_path, given):
    assert to_evaluate({"devices": given}, tmp_path) == ({"devices": 1}, ["devices"])


def test_a_limit_that_is_typed_is_taken(copied, run):
    assert run("test", "--run", copied, "--trainer.limit_test_batches", 1).trainer.limit_test_batches == 1


@pytest.mark.parametrize("devices", [None, "auto", 1, "1", "3,", [3], 2, -1, "2", "-1", "0,1", [0, 1]])
def test_devices_that_a_machine_may_have_stay(tmp_path, monkeypatch, devices):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert to_evaluate({"devices": devices}, tmp_path) == ({"devices": devices}, [])


@pytest.mark.parametrize("devices", [3, "40", "0,1,2", [0, 1, 2], "x"])
def test_more_devices_become_one_but_where_processes_are_launched(tmp_path, monkeypatch, devices):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert to_evaluate({"devices": devices}, tmp_path) == ({"devices": 1}, ["devices"])
    monkeypatch.setenv("LOCAL_RANK", "0")
    saved = {"devices": devices, "num_nodes": 2}
    assert to_evaluate(saved, tmp_path) == (saved, [])


@pytest.mark.parametrize(
    "network",
    [
        {"class_path": "drurank.networks.MLP", "init_args": {"hidden": 10**9}},
        {"class_path": "drurank.networks.MLP", "init_args": {"hidden": 1, "layers": 10**9}},
        {"class_path": "torch.nn.Embedding", "init_args": {"num_embeddings": 10**12, "embedding_dim": 10}},
        {"class_path": "torch.nn.LSTM", "init_args": {"input_size": 10**6, "hidden_size": 10**6}},
        {"class_path": "torch.nn.Transformer", "init_args": {"d_model": 512, "num_encoder_layers": 3000}},
        {"class_path": "torch.nn.Transformer", "init_args": {"d_model": 8, "num_decoder_layers": 10**6}},
    ],
    ids=str,
)
def test_a_checkpoints_network_is_no_larger_than_its_weights(copied, refused, network):
    file = copied / "checkpoints/qdcg10.ckpt"
    saved = plain(file)
    saved["drurank"]["network"] = network
    del saved["drurank_written"]
    torch.save(saved, file)
    said = refused("test", "--ckpt_path", file)
    assert f"network {network['class_path']} cannot be built from what it holds (" in said
    assert "far larger than the weights that the checkpoint holds" in said


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_checkpoint_that_is_compressed_is_not_unpacked(copied, refused, method):
    file = copied / "checkpoints/qdcg10.ckpt"
    whole = file.read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as parts, zipfile.ZipFile(file, "w", method) as smaller:
        for name in parts.namelist():
            smaller.writestr(name, parts.read(name))
    for words in (["test", "--ckpt_path", file], ["predict", "--ckpt_path", file], ["fit", "--ckpt_path", file]):
        said = refused(*words)
        assert said.startswith(f"{file} is compressed, as no checkpoint of torch's is; if it is right, set DRURANK_LIM")


@pytest.mark.parametrize("where", ["state_dict", "optimizer_states", "anything"])
@pytest.mark.parametrize("large", [lambda: torch.zeros(1).expand(10**12), lambda: torch.zeros(9, 1).expand(9, 10**9)])
def test_one_number_of_a_checkpoint_does_not_stand_for_many(copied, refused, where, large):
    file = copied / "checkpoints/last.ckpt"
    saved = plain(file)
    place = saved["optimizer_states"][0] if where == "optimizer_states" else saved.setdefault(where, {})
    place["more"] = large()
    del saved["drurank_written"]
    torch.save(saved, file)
    assert file.stat().st_size < 10**6
    for words in (RESUME, PREDICT):
        said = refused(*words_for(words, copied))
        assert said.startswith(f"{file} has ")
        assert "as files do that are made to fill the memory" in said
    with pytest.raises(InputError, match="made to fill the memory"):
        DRU.load_from_checkpoint(file)


STATES = [5, [1], {"more": 5}, {"history": 5}, {"history": [1]}, {"history": {"a": {}}}, {"history": {-1: {}}}]
STATES += [
    {"history": {10**400: {}}},
    {"history": {0: 5}},
    {"history": {0: {"val_worst": "x"}}},
    {"history": {0: {1: 0.5}}},
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: str(state)[:40])
def test_what_a_checkpoint_holds_of_a_report_has_a_shape(copied, refused, state):
    file = copied / "checkpoints/last.ckpt"
    saved = plain(file)
    (key,) = (key for key in saved["callbacks"] if key.startswith("GroupReport"))
    saved["callbacks"][key] = state
    del saved["drurank_written"]
    torch.save(saved, file)
    said = refused(*words_for(RESUME, copied))
    assert said.startswith(f"{file}: the checkpoint is damaged: its GroupReport")
    assert said.endswith("; give another checkpoint of the run")


def test_each_callback_that_takes_a_state_of_a_checkpoint_is_known():
    kinds = {kind for kind in vars(own_callbacks).values() if isinstance(kind, type)}
    kinds |= {type(one) for one in own_callbacks.best_by("worst")}
    found = {kind.__name__ for kind in kinds if "drurank" in kind.load_state_dict.__module__}
    # Those of the first two are a ModelCheckpoint's, see above.
    assert found == {"BestByCriterion", "LastCheckpoint", "GroupReport"}


@pytest.mark.parametrize("damage", ["groups.parquet", "manifest.json"])
@pytest.mark.parametrize("command", ["table", "concordance", "export-best"])
def test_a_candidate_without_groups_or_criteria_is_refused(results, capsys, tmp_path, damage, command):
    study = shutil.copytree(results, tmp_path / "study")
    for file in study.rglob(damage):
        if damage == "manifest.json":
            file.write_text(json.dumps({**json.loads(file.read_text()), "selection": {}}))
        else:
            pa_parquet.write_table(pa_parquet.read_table(file).slice(0, 0), file)
    words = ["--output", "best"] if command == "export-best" else []
    with pytest.raises(SystemExit) as stop:
        main(["study", command, "--folder", str(study), *words])
    assert stop.value.code == 2
    assert f"{damage} is damaged: it" in capsys.readouterr().err


@pytest.mark.parametrize("least", [10**30, -(10**30), 2**63])
@pytest.mark.parametrize("command", ["table", "concordance"])
def test_a_candidate_with_a_number_that_nothing_holds_is_refused(results, capsys, tmp_path, least, command):
    study = shutil.copytree(results, tmp_path / "study")
    file = sorted(study.rglob("manifest.json"))[0]
    config = {"model": {"class_path": "DRU", "init_args": {"min_count": least}}}
    file.write_text(json.dumps({**json.loads(file.read_text()), "config": config}))
    with pytest.raises(SystemExit) as stop:
        main(["study", command, "--folder", str(study)])
    assert stop.value.code == 2
    assert f"{file} is damaged: its config.model.init_args.min_count is {least}; remove" in capsys.readouterr().err


OPTIONS = [
    "model.{victim}/diary",
    "model.../../victim/new",
    "model.a\0",
    "model.x](javascript:1) [y",
    "model.\x1b",
    "",
    "a..b",
]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("command", ["plot", "report"])
def test_an_option_of_a_candidate_is_no_path(results, victim, refused, tmp_path, option, command):
    study = shutil.copytree(results, tmp_path / "study")
    (victim / "diary.png").write_text("mine")
    before = held(victim)
    option = option.format(victim=victim)
    for number, file in enumerate(sorted(study.rglob("manifest.json"))):
        file.write_text(json.dumps({**json.loads(file.read_text()), "options": {option: number}}))
    said = refused("study", command, "--folder", study)
    assert said.startswith(f"{min(study.rglob('manifest.json'))} is damaged: its options key is ")
    assert held(victim) == before
    assert not list(study.glob("*.png"))


SPLITS = ["x/../../victim/own", "{victim}/abs", "..", "a/b", "\x1b[31m", "n" * 300, "a:b", "ood_test"]


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_of_a_table_is_no_path(run, victim, tmp_path, split):
    before, split = held(victim), split.format(victim=victim)
    rows = {"label": [0, 1] * 8, "group": ["a", "b", "c", "d"] * 4, "split": [split, "a_b"] * 8}
    for name, prediction in (("a", [0, 1, 1, 0] * 4), ("b", [0, 0, 1, 1] * 4)):
        pa_parquet.write_table(pa.table({**rows, "prediction": prediction}), f"{name}.parquet")
    run("report", "--predictions", "a.parquet", "b.parquet", "--split", "split", "--output", tmp_path / "out")
    assert held(victim) == before
    made = [file.name for file in (tmp_path / "out").iterdir()]
    assert len(made) == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.parquet", "b.parquet", "out", "victim"]
    assert all(re.fullmatch(r"comparison_[\w.]+\.csv", name) and len(name) < 60 for name in made)
    assert ("comparison_ood_test.csv" in made) == (split == "ood_test")


def test_a_report_with_a_number_that_nothing_holds_is_refused(copied, done):
    file = copied / "test/worst/report.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "min_count": 10**30}))
    with pytest.raises(InputError, match=f"{file} is damaged: its min_count is {10**30}; test"):
        compare_runs(done, copied, "worst")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("optimization", {"optimizer": {"class_path": "torch.optim.SGD"}}),
        ("optimization", {"optimizer": 5}),
        ("unlogged", {"step": "x"}),
        ("unlogged", {"step": 5, "epoch": 0, "train_loss": "x"}),
        ("unlogged", {"step": 5, "epoch": 0, 3: 0.5}),
    ],
    ids=str,
)
def test_a_checkpoints_parts_have_a_shape(copied, refused, where, value):
    file = copied / "checkpoints/last.ckpt"
    saved = plain(file)
    (saved["drurank"] if where == "optimization" else saved["drurank"]["training"])[where] = value
    del saved["drurank_written"]
    torch.save(saved, file)
    assert refused(*words_for(RESUME, copied)).startswith(f"{file} is damaged: its drurank.")


STEPS = {"missing": "a,b\n1,2\n", "text": "step\nx\n", "long": f"step\n{'9' * 5000}\n", "twice": "step,step\n1,2\n"}


@pytest.mark.parametrize("text", STEPS.values(), ids=STEPS)
def test_figures_without_steps_are_refused(copied, refused, text):
    (copied / "metrics.csv").write_text(text)
    assert f"{copied / 'metrics.csv'} is damaged (" in refused(*words_for(RESUME, copied))


ODD = [{"file": "a\0b"}, {"file": "\ud800"}, {"value": 10**400}, {"value": -(10**400)}]


@pytest.mark.parametrize("entry", ODD, ids=["nul", "surrogate", "large", "small"])
def test_a_selection_with_odd_values_is_refused(copied, refused, entry):
    file = copied / "selection.json"
    noted = json.loads(file.read_text())
    file.write_text(json.dumps({**noted, "qdcg10": {**noted["qdcg10"], **entry}}))
    assert str(file) in refused(*words_for(TEST, copied))
