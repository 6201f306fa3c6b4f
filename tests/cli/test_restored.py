"""Checkpoints of somebody else in Python and by export: what they keep of options makes no class."""

import contextlib
import shutil
from pathlib import Path

import pytest
import torch

from drurank import Predictor
from drurank.data import Table
from drurank.errors import InputError
from drurank.methods import DRU
from drurank.run_folder.checkpoint_checks import note_structure
from runs import plain

MADE = {"class_path": "evil_options.Net"}
INSTANTIATOR = {"_instantiator": "lightning.pytorch.cli.instantiate_module"}
BAD = {
    "a network by Lightning's parser": {**INSTANTIATOR, "network": MADE},
    "a loss by Lightning's parser": {**INSTANTIATOR, "loss": MADE},
    "an optimizer by Lightning's parser": {**INSTANTIATOR, "optimizer": MADE},
    "a class by Lightning's parser": {**INSTANTIATOR, "_class_path": "evil_options.Net"},
    "a network": {"network": MADE},
    "the path of a network": {"network": "evil_options.Net"},
    "weights to start from": {"init_from": "other.ckpt"},
    "an option of nobody": {"select": "worst"},
    "itself": {"self": 1},
    "a number as a name": {5: 1},
    "a mapping": {"cutoff": {"a": 1}},
    "a tensor": {"cutoff": torch.ones(2)},
    "a number without end": {"cutoff": 10**400},
    "another kind": {"upweight": 5},
}


@pytest.fixture(scope="module")
def checkpoint(fit, tmp_path_factory):
    """The checkpoint of a run on a table, without the run."""
    folder = tmp_path_factory.mktemp("restored")
    rows = [f"{i % 7},{i % 2},g{i % 5},{('train', 'val', 'test')[i % 3]}" for i in range(60)]
    (folder / "t.csv").write_text("x,y,g,split\n" + "\n".join(rows) + "\n")
    data = ["--data", "Table", "--data.path", folder / "t.csv", "--data.label", "y", "--data.group", "g"]
    made = fit(folder / "runs", data=[*data, "--data.split", "split"], epochs=1)
    shutil.copy(made / "checkpoints/last.ckpt", folder / "bare.ckpt")
    return folder / "bare.ckpt"


def with_options(file, options, key="drurank_hyper_parameters"):
    """A checkpoint as somebody who knows the package would make it."""
    content = plain(file)
    del content["drurank_written"]
    content[key] = {**content.get(key, {}), **options} if isinstance(options, dict) else options
    note_structure(content)
    torch.save(content, "bad.ckpt")
    return Path("bad.ckpt")


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """A file that exists once a module that no checkpoint may import was imported."""
    noted = f"from pathlib import Path\nPath({str(tmp_path / 'owned')!r}).touch()\n"
    code = f"{noted}import torch\nclass Net(torch.nn.Module): pass\n"
    (tmp_path / "evil_options.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "owned"


@pytest.mark.parametrize("options", BAD.values(), ids=BAD)
def test_options_that_are_none_are_refused_before_anything_is_made(checkpoint, mark, options):
    file = with_options(checkpoint, options)
    with pytest.raises(InputError, match=r"bad\.ckpt|upweight|cutoff"):
        Predictor.load(file)
    assert not mark.exists()


def test_options_that_are_no_mapping_are_refused(checkpoint, mark):
    with pytest.raises(InputError, match=r"bad\.ckpt"):
        Predictor.load(with_options(checkpoint, [1, 2]))


@pytest.mark.parametrize("options", [BAD["a network by Lightning's parser"], BAD["a class by Lightning's parser"]])
@pytest.mark.parametrize("key", ["drurank_hyper_parameters", "hyper_parameters", "hparams", "module_arguments"])
def test_lightning_makes_a_method_by_its_own_constructor(checkpoint, mark, options, key):
    """Whatever comes of it: no class that the checkpoint names is imported."""
    file = with_options(checkpoint, options, key)
    with contextlib.suppress(InputError, TypeError, ValueError, AttributeError):
        DRU.load_from_checkpoint(file)
    assert not mark.exists()


def test_lightning_makes_data_by_its_own_constructor(checkpoint, mark):
    options = {**INSTANTIATOR, "_class_path": "drurank.data.Table", "path": {"class_path": "evil_options.Net"}}
    file = with_options(checkpoint, options, "datamodule_hyper_parameters")
    with contextlib.suppress(InputError, TypeError, ValueError, AttributeError):
        Table.load_from_checkpoint(file, path="t.csv", label="y")
    assert not mark.exists()


def test_weights_of_another_network_end_in_a_sentence(checkpoint):
    content = plain(checkpoint)
    del content["drurank_written"]
    content["state_dict"] = {name: value[..., :1] for name, value in content["state_dict"].items()}
    note_structure(content)
    torch.save(content, "bad.ckpt")
    with pytest.raises(InputError, match=r"bad\.ckpt.*its weights are not those of its network"):
        Predictor.load("bad.ckpt")


def test_an_honest_checkpoint_is_restored(checkpoint):
    found = Predictor.load(checkpoint, label="y")([{"x": 1}, {"x": 6}])
    assert set(found.label) <= {"0", "1"}


@pytest.mark.parametrize("linked", ["export", "export/torch", "export/torch/README.md"])
def test_nothing_is_exported_through_a_link_beside_a_checkpoint(checkpoint, refused, tmp_path, linked):
    shutil.copy(checkpoint, "last.ckpt")
    (tmp_path / "victim").mkdir()
    target = tmp_path / "victim" / ("profile" if linked.endswith(".md") else "")
    Path(linked).parent.mkdir(parents=True, exist_ok=True)
    Path(linked).symlink_to(target)
    assert "link" in refused("export", "--to", "torch", "--ckpt_path", "last.ckpt")
    assert not list((tmp_path / "victim").iterdir())
