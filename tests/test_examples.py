import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
import torch

from encoders import write_tiny

EXAMPLES = Path(__file__).parent.parent / "examples"
DROP_IN = ("own_data", "own_module", "plain_loop", "plain_module")


def example(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_example_is_run_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*DROP_IN, "quickstart", "texts", "below80"}


@pytest.mark.parametrize("name", DROP_IN)
def test_drop_in_examples_are_short(name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) < 60


@pytest.mark.parametrize("name", ["own_data", "own_module", "plain_module"])
def test_lightning_examples_run(name):
    found = {epochs: example(name).fit(max_epochs=epochs) for epochs in (1, 6)}
    last = {epochs: float(trainer.callback_metrics["val_qdcg10"]) for epochs, trainer in found.items()}
    assert 0 < last[6] < last[1] < 4.822503  # all errors 1 would give the sum of the discounts
    module = found[1].lightning_module
    assert (module.weight if name == "plain_module" else module.state["weight"]).max() > 1


def test_rebased_module_is_loaded_and_goes_on(tmp_path):
    module = example("own_module")
    trainer = module.fit(max_epochs=2)
    path = trainer.checkpoint_callback.best_model_path
    again = module.Stars.load_from_checkpoint(path)
    for name, value in trainer.lightning_module.state_dict().items():
        assert torch.equal(again.state_dict()[name], value)
    longer = module.fit(max_epochs=3, ckpt_path=path)
    assert longer.global_step == 3 * 32  # 1,000 rows in batches of 32


def test_plain_loop_learns():
    module = example("plain_loop")
    assert 0 < module.fit(epochs=8) < module.fit(epochs=1) < 4.822503


def test_quickstart_compares_two_methods_on_groups_never_seen(pictures, monkeypatch, capsys):
    module = example("quickstart")
    main, small = module.main, ["--data.groups", "[6,4,5]", "--data.group_size", "10", "--trainer.max_epochs", "1"]
    quiet = ["--trainer.enable_progress_bar", "false", "--trainer.accelerator", "cpu"]
    monkeypatch.setattr(module, "main", lambda words: main([*words, *quiet, *(small if words[0] == "fit" else [])]))
    monkeypatch.setattr(sys, "argv", ["quickstart.py", "shortcut"])
    module.compare()
    shown = capsys.readouterr().out
    assert re.search(r"ERM\s.*qDRU\+M", shown)
    reports = [
        json.loads((Path("runs") / f"version_{run}/test/qdcg10/report.json").read_text(encoding="utf-8"))
        for run in (0, 1)
    ]
    assert [report["method"] for report in reports] == ["ERM", "qDRU+M"]
    values = [report["splits"]["ood_test"]["criteria"]["qdcg10"]["value"] for report in reports]
    row = rf"qdcg10 +{values[0]:.3g}0* +[0-9.]+ +[0-9.]+ +{values[1]:.3g}0* "
    assert re.search(row, shown.rpartition("never seen")[2]), shown
    pictures = re.findall(r"\S+\.png", shown.rpartition("never seen")[2])
    assert len(pictures) == 4
    assert all(Path(picture).is_file() for picture in pictures)


def test_fine_tuning_takes_thirty_lines_and_leaves_a_report(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert len((EXAMPLES / "texts.py").read_text().splitlines()) < 30
    parts = {"train": 12, "ood_val": 6, "ood_test": 6}
    rows = [(split, i) for split, number in parts.items() for i in range(number)]
    lines = [f"{'good' if i % 2 else 'bad'},{i % 2 + 1},{split}{i % 3},{split}" for split, i in rows]
    (tmp_path / "t.csv").write_text("\n".join(["text,stars,writer,split", *lines]))
    encoder = write_tiny(tmp_path / "encoder", positions=512)
    trainer = example("texts").fit(str(tmp_path / "t.csv"), str(encoder), max_epochs=1)
    report = json.loads((Path(trainer.log_dir) / "report.json").read_text())
    assert report["splits"]["ood_test"]["rows"] == 6
