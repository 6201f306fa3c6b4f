import importlib.util
import json
import re
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from drurank.words import in_digits
from encoders import write_tiny
from studies import finish

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


def test_quickstart_compares_two_methods_on_groups_never_seen(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    module = example("quickstart")
    plan, trainer = module.plan, {"max_epochs": 1, "accelerator": "cpu"}
    data = {"init_args": {"groups": [6, 4, 5], "group_size": 10}}
    monkeypatch.setattr(module, "plan", lambda *of: {**plan(*of), "data": data, "trainer": trainer, "seeds": [0, 1]})
    monkeypatch.setattr(sys, "argv", ["quickstart.py", "shortcut"])
    main = module.main  # the study runs in this process, which has imported all that its worker would

    def in_process(words):
        return finish(words[3], Path(words[5])) if words[1] == "run" else main(words)

    monkeypatch.setattr(module, "main", in_process)
    module.compare()
    shown = capsys.readouterr().out.rpartition("never seen")[2]
    assert re.search(r"ERM\s.*qDRU\+M", shown)
    rows = pq.read_table(next(Path("studies").glob("*/candidates/ERM-*/groups.parquet"))).to_pylist()
    assert {row["count"] for row in rows} == {10}
    means = []
    for method in ("ERM", "DRU"):
        worst = []
        for file in Path("studies").glob(f"*/candidates/{method}-*/groups.parquet"):
            rows = [row for row in pq.read_table(file).to_pylist() if row["split"] == "ood_test"]
            worst.append(min(row["correct"] for row in rows) / 10)
        means.append(sum(worst) / 2)
        assert len(worst) == 2
    assert re.search(r"worst +" + r" .* ".join(in_digits(mean) for mean in means), shown), (means, shown)
    assert re.search(r"study export-best --by \w+ copies it", " ".join(shown.split()))
    assert Path("studies/shortcut/methods.png").is_file()


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
