"""Damaged files of a run and a study end in a sentence that names them, or in the result: `make test-mutate` does more.

The files are read here by what the commands read them with; of each file a few are read by the commands themselves.
"""

import copy
import math
import random
import re
import shutil

import pytest
import torch
import yaml

from drurank.cli.run_folder import with_config_of_run
from drurank.errors import InputError
from drurank.methods import DRU
from drurank.report import report_predictions
from drurank.run_folder.checkpoint_checks import WRITTEN, check_structure
from drurank.run_folder.checkpoint_io import read_checkpoint
from drurank.run_folder.checkpoint_numbers import refuse_nonfinite
from drurank.run_folder.logger import _metrics_in
from drurank.run_folder.loggers import _noted
from drurank.run_folder.selection import read_selection
from drurank.run_folder.weights import WeightsCsv
from drurank.study import Study
from drurank.study.comparing_files import compare_runs
from mutate import TEXTS, benches, call, damage, damaged_nest, odd_tensors
from runs import QUIET

CHECKPOINT = "checkpoints/worst.ckpt"
TIMES = 200
SLOW = {"predictions.parquet": 15, "config.yaml": 60, "test/worst/report.json": 40}
"""Fewer of what takes longer to read."""


@pytest.fixture(scope="module")
def whole(done, tmp_path_factory):
    """A run, tested and with predictions."""
    folder = shutil.copytree(done, tmp_path_factory.mktemp("whole") / "run")
    file = folder / "predictions.parquet"
    assert call(["predict", "--ckpt_path", folder / CHECKPOINT, "--output", file, *QUIET])[0] == 0
    return folder


def weights(folder):
    WeightsCsv(folder).begin(2)
    return (folder / "weights.csv").read_bytes()


def studied(folder):
    study = Study.load(folder)
    return [(one.name, one.shrink, one.min_count, one.groups.to_pylist()) for one in study]


def loaded(file):
    read_checkpoint(file)
    try:
        found = DRU.load_from_checkpoint(file).state_dict()
    except RuntimeError as error:
        if "state_dict" not in str(error):
            raise
        raise InputError(str(error)) from error  # torch names what does not fit the network
    return {name: value.tolist() for name, value in found.items()}


def outcome(read, place):
    """What is read, and ``None``; or ``None``, and the sentence."""
    try:
        return read(place), None
    except InputError as error:
        return None, str(error)


READERS = {
    "config.yaml": lambda folder: with_config_of_run(["test", "--run", str(folder)]),
    "selection.json": read_selection,
    "metrics.csv": lambda folder: _metrics_in(folder, 8),
    "loggers.json": _noted,
    "weights.csv": weights,
    CHECKPOINT: lambda folder: sorted(read_checkpoint(folder / CHECKPOINT)),
    "test/worst/groups.parquet": lambda folder: vars(compare_runs(folder, folder, "worst")),
    "test/worst/report.json": lambda folder: compare_runs(folder, folder, "worst"),
    "predictions.parquet": lambda folder: report_predictions(str(folder / "predictions.parquet"), overwrite=True)[
        "splits"
    ],
}


@pytest.mark.parametrize("name", READERS)
def test_reader_names_the_damaged_file_or_reads_what_was_written(whole, tmp_path, name, capsys):
    folder, rng = shutil.copytree(whole, tmp_path / "run"), random.Random(name)
    content, right, refused = (folder / name).read_bytes(), None, 0
    times = SLOW.get(name, TIMES)
    for _ in range(times):
        (folder / name).write_bytes(content)
        how = damage(folder / name, rng)
        found, said = outcome(READERS[name], folder)
        refused += said is not None
        assert said is None or (folder / name).name in said, how
        if said is None and not name.endswith((*TEXTS, ".ckpt")):
            (folder / name).write_bytes(content)
            right = right or repr(READERS[name](folder))
            assert repr(found) == right, how
    assert refused > times / 20


@pytest.mark.parametrize("name", ["manifest.json", "groups.parquet", "plan.json"])
def test_damaged_file_of_a_study_is_named(results, tmp_path, name):
    folder, rng = shutil.copytree(results, tmp_path / "study"), random.Random(name)
    file = sorted(folder.rglob(name))[0]
    content, right = file.read_bytes(), repr(studied(folder))
    for _ in range(TIMES // 2):
        file.write_bytes(content)
        how = damage(file, rng)
        found, said = outcome(studied, folder)
        assert said is None or name in said or "no finished candidate" in said, how
        assert said is not None or file.suffix == ".json" or repr(found) == right, how


@pytest.mark.parametrize("bench", benches("run"), ids=str)
def test_command_ends_in_a_sentence_or_the_result(whole, tmp_path, bench):
    bench.whole, bench.words = whole, [whole if word == "run" else word for word in bench.words]
    rng = random.Random(str(bench))
    assert [fault for fault in (bench.trial(tmp_path, rng) for _ in range(1)) if fault] == []


def test_a_flipped_bit_of_a_checkpoint_is_found(whole, tmp_path):
    file, rng = shutil.copy(whole / CHECKPOINT, tmp_path / "c.ckpt"), random.Random(3)
    content = file.read_bytes()
    state, at = torch.load(file, weights_only=True)["state_dict"], 0
    weight = state["network.hidden_layers.3.weight"].numpy().tobytes()
    at = content.index(weight)
    for _ in range(20):
        place = at + rng.randrange(len(weight))
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(InputError, match=r"c\.ckpt is damaged \(Bad CRC-32"):
            read_checkpoint(file)


@pytest.mark.parametrize("keeps_note", [True, False])
def test_checkpoint_with_another_structure_is_loaded_in_no_traceback(whole, tmp_path, keeps_note):
    saved, rng = torch.load(whole / CHECKPOINT, weights_only=True), random.Random(4)
    right = {name: value.tolist() for name, value in saved["state_dict"].items()}
    only = {name: saved[name] for name in saved if keeps_note or name != "drurank_written"}
    for _ in range(60):
        changed, how = damaged_nest(only, rng, odd_tensors)
        torch.save(changed, tmp_path / "c.ckpt")
        found, said = outcome(loaded, tmp_path / "c.ckpt")
        assert said is not None or found == right or "('state_dict'" in how, how


def test_network_of_another_class_is_said(whole, tmp_path, refused):
    folder = shutil.copytree(whole, tmp_path / "run")
    saved = torch.load(folder / CHECKPOINT, weights_only=True)
    saved["drurank"]["network"] = {"class_path": "torch.nn.modules.linear.Linear", "init_args": {"bias": True}}
    torch.save(saved, folder / CHECKPOINT)
    said = refused("validate", "--ckpt_path", folder / CHECKPOINT)
    assert "worst.ckpt is damaged: its drurank is not as it was written" in said
    del saved["drurank_written"]
    torch.save(saved, folder / CHECKPOINT)
    said = refused("validate", "--ckpt_path", folder / CHECKPOINT)
    assert "worst.ckpt: the checkpoint's network torch.nn.modules.linear.Linear cannot be built" in said
    sizes = {"in_features": 10, "out_features": 2, "device": "meta"}
    saved["drurank"]["network"] = {"class_path": "torch.nn.Linear", "init_args": sizes}
    torch.save(saved, folder / CHECKPOINT)
    said = refused("validate", "--ckpt_path", folder / CHECKPOINT)
    assert (
        "the checkpoint's network torch.nn.Linear cannot be built from what it holds (InputError: its weights are on"
        in said
    )


def resumed(whole, folder, change, *, keeps_note=False):
    """Words that resume a copy of a run whose last checkpoint is changed, and that checkpoint."""
    file = shutil.copytree(whole, folder) / "checkpoints/last.ckpt"
    saved = torch.load(file, weights_only=True)
    if not keeps_note:
        del saved["drurank_written"]
    change(saved)
    torch.save(saved, file)
    return ["fit", "--ckpt_path", file, "--trainer.max_epochs", "3", *QUIET], file


def best(saved):
    """The state of a callback that keeps the best."""
    return next(state for name, state in saved["callbacks"].items() if "val_worst" in name)


def counts(saved):
    return saved["loops"]["fit_loop"]["epoch_loop.automatic_optimization.optim_progress"]["optimizer"]["step"]["total"]


UNLIKE = {
    "best_k_models": (lambda saved: best(saved)["best_k_models"].clear(), "has best_model_path "),
    "kth": (lambda saved: best(saved).pop("kth_best_model_path"), "state.kth_best_model_path is missing"),
    "no kth": (lambda saved: best(saved).update(kth_best_model_path=""), "has kth_best_model_path ''"),
    "score": (lambda saved: best(saved).update(best_model_score=torch.tensor(0.1)), "with its best_model_score"),
    "scores": (lambda saved: best(saved).update(best_k_models={"/a/worst.ckpt": [1]}), "worst.ckpt is [1]"),
    "count": (lambda saved: counts(saved).update(completed={}), "step.total.completed is {}"),
    "no count": (lambda saved: counts(saved).pop("ready"), "step.total.ready is missing"),
    "loops": (lambda saved: saved.pop("loops"), "its loops is missing"),
    "optimizer": (
        lambda saved: saved["drurank"]["optimization"]["optimizer"]["init_args"].pop("amsgrad"),
        ": the checkpoint was made with optimizer AdamW(), this run's is AdamW(amsgrad=False)",
    ),
    "network": (
        lambda saved: saved["drurank"]["network"]["init_args"].update(activation="x"),
        ": the checkpoint's network is MLP(activation='x')",
    ),
}
"""What a checkpoint without its note is changed by, and what is said of it."""


@pytest.mark.parametrize("name", UNLIKE)
def test_resume_refuses_what_contradicts_itself_in_a_checkpoint_without_a_note(whole, tmp_path, refused, name):
    change, expected = UNLIKE[name]
    words, file = resumed(whole, tmp_path / "run", change)
    said = refused(*words)
    assert str(file) in said
    assert expected in said


def optimizer(saved):
    """The state of an optimizer, of the first parameter."""
    return saved["optimizer_states"][0]["state"][0]


def schedule(saved):
    """A schedule that follows a criterion, which has had no value yet."""
    saved["lr_schedulers"] = [{"best": math.inf, "mode_worse": math.inf, "num_bad_epochs": 0, "_last_lr": [0.01]}]
    return saved["lr_schedulers"][0]


def progress(saved):
    """What counts the epochs."""
    return saved["loops"]["fit_loop"]["epoch_progress"]["current"]


COUNTERS = {
    "epoch": (lambda saved, value: saved.update(epoch=value), "epoch"),
    "global_step": (lambda saved, value: saved.update(global_step=value), "global_step"),
    "loops": (
        lambda saved, value: progress(saved).update(dict.fromkeys(progress(saved), value)),
        "loops.fit_loop.epoch_progress.current.",
    ),
    "steps": (lambda saved, value: counts(saved).update(completed=value), "optimizer.step.total.completed"),
    "batches": (
        lambda saved, value: saved["loops"]["fit_loop"]["epoch_loop.state_dict"].update(_batches_that_stepped=value),
        "_batches_that_stepped",
    ),
    "ended": (lambda saved, value: saved["drurank"]["training"].update(ended_epoch=value), "training.ended_epoch"),
    "unlogged": (
        lambda saved, value: saved["drurank"]["training"].update(unlogged={"step": value, "epoch": 0}),
        "drurank.training.unlogged.step",
    ),
}
"""A count of a checkpoint, and its name."""


@pytest.mark.parametrize("value", [-2, -(10**9), 2**53 + 2, 10**30, 10**600], ids=["-2", "low", "high", "more", "huge"])
@pytest.mark.parametrize("name", COUNTERS)
def test_resume_refuses_a_count_that_is_none(whole, tmp_path, refused, name, value):
    change, entry = COUNTERS[name]
    words, file = resumed(whole, tmp_path / "run", lambda saved: change(saved, value))
    said = refused(*words)
    assert said.startswith(f"{file} is damaged: its ")
    assert entry in said.partition(" is damaged: its ")[2].partition(" is ")[0]
    assert ", and no count of epochs or steps; give another" in said


NONFINITE = {
    "step": (lambda saved: optimizer(saved)["step"].fill_(math.nan), "optimizer_states.0.state.0.step is nan or inf"),
    "exp_avg": (lambda saved: optimizer(saved)["exp_avg"][0].fill_(math.nan), "state.0.exp_avg holds nan or inf"),
    "exp_avg_sq": (lambda saved: optimizer(saved)["exp_avg_sq"][0].fill_(math.inf), "exp_avg_sq holds nan or inf"),
    "rate": (lambda saved: saved["optimizer_states"][0]["param_groups"][0].update(lr=math.nan), "param_groups.0.lr is"),
    "betas": (lambda saved: saved["optimizer_states"][0]["param_groups"][0].update(betas=(0.9, math.nan)), ".betas.1"),
    "schedule": (lambda saved: schedule(saved).update(best=math.nan), "lr_schedulers.0.best is nan or inf"),
    "last rate": (lambda saved: schedule(saved).update(_last_lr=[math.inf]), "lr_schedulers.0._last_lr.0 is nan"),
    "counter": (lambda saved: counts(saved).update(ready=math.nan), "step.total.ready is nan"),
    "epoch": (lambda saved: saved.update(epoch=math.nan), "its epoch is nan"),
    "steps": (lambda saved: saved.update(global_step=math.inf), "its global_step is inf"),
    "scale": (lambda saved: saved.update(MixedPrecision={"scale": math.inf}), "MixedPrecision.scale is nan or inf"),
    "sample weights": (
        lambda saved: saved["drurank"]["training"]["state"]["weight"][2].fill_(math.nan),
        "drurank.training.state.weight holds nan or inf",
    ),
    "losses": (lambda saved: saved["drurank"]["training"]["losses"][0].fill_(math.nan), "training.losses holds nan"),
    "network": (
        lambda saved: saved["state_dict"]["network.hidden_layers.3.weight"][0].fill_(math.inf),
        "has nan or inf in network.hidden_layers.3.weight",
    ),
    "average": (
        lambda saved: saved["callbacks"].update(Average={"weights": torch.tensor([1.0, math.nan])}),
        "callbacks.Average.weights holds nan",
    ),
}
"""What a checkpoint without its note has that is not finite, and what is said of it."""


@pytest.mark.parametrize("name", NONFINITE)
def test_resume_names_the_number_that_is_not_finite_in_a_checkpoint_without_a_note(whole, tmp_path, refused, name):
    change, expected = NONFINITE[name]
    words, file = resumed(whole, tmp_path / "run", change)
    said = refused(*words)
    assert said.startswith(f"{file}")
    assert expected in said


def test_a_run_that_breaks_after_it_went_on_names_its_checkpoint(whole, tmp_path, refused):
    """Of a number that is finite, and too large."""

    def raised(saved):
        saved["optimizer_states"][0]["param_groups"][0]["lr"] = 1e38

    words, file = resumed(whole, tmp_path / "run", raised)
    said = refused(*words, "--trainer.max_epochs", "5")
    assert "became nan or inf in epoch" in said
    assert said.endswith(f"; the run went on from {file}")


def leaves(part, place=()):
    for name, value in part.items():
        yield from leaves(value, (*place, name)) if isinstance(value, dict) else [(*place, name)]


@pytest.mark.parametrize("odd", [[], "3", None, 1.5, -1, 10**30])
def test_what_is_no_count_in_any_loop_of_a_checkpoint_is_named(whole, odd):
    """Of the loops of ``validate``, ``test`` and ``predict`` as of that of ``fit``."""
    saved = torch.load(whole / CHECKPOINT, weights_only=True)
    del saved[WRITTEN]
    places = [place for place in leaves(saved["loops"]) if place[-1] != "is_last_batch"]
    assert {place[0] for place in places} == {"fit_loop", "validate_loop", "test_loop", "predict_loop"}
    for place in places:
        changed = copy.deepcopy(saved)
        part = changed["loops"]
        for name in place[:-1]:
            part = part[name]
        part[place[-1]] = odd
        with pytest.raises(InputError, match=rf"^c is damaged: its loops\.{re.escape('.'.join(place))} is "):
            check_structure("c", changed)


def test_what_is_infinite_before_it_has_a_value_is_no_damage():
    saved = {"drurank": {}, "callbacks": {"Best": {"score": torch.tensor(math.inf), "note": math.nan}}}
    schedule(saved)
    refuse_nonfinite("c.ckpt", saved)


def test_another_number_is_found_by_the_note_of_a_checkpoint(whole, tmp_path, refused):
    words, file = resumed(whole, tmp_path / "run", lambda saved: counts(saved).update(ready=1), keeps_note=True)
    assert refused(*words).startswith(f"{file} is damaged: its loops is not as it was written; give another")


def test_resume_from_a_checkpoint_without_a_note_is_warned_of(whole, tmp_path):
    words, file = resumed(whole, tmp_path / "run", lambda saved: None)
    status, _, said = call(words)
    assert status == 0
    assert f"warning: {file} has no 'drurank_written'" in said


ODD_OPTIONS = {
    "seed": (["test", "--run", "{}"], "seed_everything: {}", "--seed_everything is '{}'"),
    "select": (["fit", "--ckpt_path", "{}/checkpoints/last.ckpt"], "select: 3", "--select is '3'"),
    "criterion": (["fit", "--ckpt_path", "{}/checkpoints/last.ckpt"], "select: x", "there is no criterion 'x'"),
    "trainer": (["test", "--run", "{}"], "trainer: {reload_dataloaders_every_n_epochs: -1}", "int >= 0, got -1"),
    "callbacks": (
        ["test", "--run", "{}"],
        "trainer: {callbacks: .nan}",
        "config.yaml: --trainer.callbacks is 'nan'",
    ),
    "typed too": (["test", "--run", "{}", *QUIET], "trainer: {accelerator: 3}", "--trainer.accelerator is '3'"),
    "data": (
        ["fit", "--ckpt_path", "{}/checkpoints/last.ckpt"],
        "data: {class_path: drurank.data.Shortcut}",
        "last.ckpt: the checkpoint was made with other training data",
    ),
    "key": (["test", "--run", "{}"], "trainer: {a b: 1}", "is damaged: its trainer.a b is '1'"),
}
"""A command, what a run's configuration says, and what is said of it."""


@pytest.mark.parametrize("name", ODD_OPTIONS)
def test_what_a_run_s_configuration_says_is_refused_by_its_name(whole, tmp_path, refused, name):
    words, option, expected = ODD_OPTIONS[name]
    folder, file = shutil.copytree(whole, tmp_path / "run"), tmp_path / "run/config.yaml"
    changed = {**yaml.safe_load(file.read_text()), **yaml.safe_load(option)}
    file.write_text(yaml.safe_dump(changed))
    said = refused(*(word.format(folder) for word in words))
    assert expected in said
    assert str(file) in said


def test_what_is_typed_is_refused_without_the_run_s_configuration(whole, refused):
    said = refused("test", "--run", whole, "--seed_everything", "x")
    assert said == "--seed_everything is 'x'; give true or false or a whole number"
