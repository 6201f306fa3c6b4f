"""Damaged files of a run and a study end in a sentence that names them, or in the result: `make test-mutate` does more.

The files are read here by what the commands read them with; of each file a few are read by the commands themselves.
"""

import random
import shutil

import pytest
import torch

from drurank.cli.run_folder import with_config_of_run
from drurank.errors import InputError
from drurank.methods import DRU
from drurank.report import report_predictions
from drurank.run_folder.checkpoint_io import read_checkpoint
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
