"""A class that is named gets its own defaults, whatever class stood in its place, by whatever route."""

import pytest
from lightning.pytorch import LightningDataModule, Trainer

from drurank.cli.training_parser import TrainingParser
from drurank.cli.trusted import KINDS
from drurank.methods import GroupModule

NETWORK = {"hidden": 16, "layers": 1, "dropout": 0.0, "activation": "tanh"}
CASES = {
    "network": ("model.network", "MLP", "Network", NETWORK),
    "network without those arguments": ("model.network", "MLP", "WithoutSizes", {"width": 5, "dropout": 0.25}),
    "loss": ("model.loss", "drurank.training.losses.CrossEntropy", "Loss", {"label_smoothing": 0.5}),
    "loss without arguments": ("model.loss", "drurank.training.losses.CrossEntropy", "Bare", {}),
    "optimizer": ("model.optimizer", "AdamW", "Descent", {"lr": 0.5, "weight_decay": 0.25}),
    "lr_scheduler": ("model.lr_scheduler", "LinearLR", "Steps", {"gamma": 0.75, "last_epoch": -1}),
    "model": ("model", "DRU", "Method", {"cutoff": 9, "ties": "mine"}),
    "data": ("data", "Shortcut", "Data", {"batch_size": 7, "seed": 5, "agreement": 0.125}),
    "callbacks": ("trainer.callbacks", "EarlyStopping", "Stop", {"patience": 9, "min_delta": 0.5}),
    "logger": ("trainer.logger", "TensorBoardLogger", "Log", {"name": "mine", "flush_logs_every_n_steps": 3}),
    "plugins": ("trainer.plugins", "HalfPrecision", "Precision", {"precision": "bf16-true"}),
    "profiler": ("trainer.profiler", "SimpleProfiler", "Profile", {"filename": "mine", "extended": False}),
    "strategy": (
        "trainer.strategy",
        "{class_path: lightning.pytorch.strategies.DDPStrategy}",
        "{class_path: clashing.Spread}",
        {"process_group_backend": "gloo", "start_method": "spawn"},
    ),
    "of a method of one's own": ("model.head", "clashing.Head", "OtherHead", {"width": 11}),
}
"""Option, built-in class, own class, its own defaults."""
NEEDED = {
    "EarlyStopping": ["--trainer.callbacks.monitor", "val_worst"],
    "TensorBoardLogger": ["--trainer.logger.save_dir", "x"],
}


@pytest.fixture(scope="module")
def parser():
    made = TrainingParser(exit_on_error=False)
    made.add_argument("--config", action="config")
    made.add_class_arguments(Trainer, "trainer", fail_untyped=False, instantiate=False)
    made.add_subclass_arguments(GroupModule, "model", fail_untyped=False, required=False)
    made.add_subclass_arguments(LightningDataModule, "data", fail_untyped=False, required=False)
    return made


def found(settings, key):
    value = settings
    for name in key.split("."):
        value = value.init_args[name] if "init_args" in value else value[name]
    value = value[0] if isinstance(value, list) else value
    return value.init_args.as_dict() if "init_args" in value else {}


def test_every_option_that_takes_a_class_is_among_the_cases():
    options = {key.rpartition(".")[2] for key, *_ in CASES.values()}
    assert {*KINDS} - options == {"accelerator"}, "of which none takes arguments"


@pytest.mark.parametrize("route", ["alone", "after another", "after its configuration", "in a later configuration"])
@pytest.mark.parametrize("case", CASES)
def test_named_class_has_its_own_defaults(parser, tmp_path, case, route):
    key, usual, own, defaults = CASES[case]
    own = own if own.startswith("{") else f"clashing.{own}"
    model = {"model": [], "model.head": ["--model", "clashing.WithHead"]}.get(key, ["--model", "ERM"])
    before = [*model, f"--{key}", usual, *NEEDED.get(usual, [])]
    if route == "alone":
        words = [*model, f"--{key}", own]
    elif route == "after another":
        words = [*before, f"--{key}", own]
    else:
        saved = tmp_path / "saved.yaml"
        saved.write_text(parser.dump(parser.parse_args(before), skip_unset=False))
        words = ["--config", str(saved), f"--{key}", own]
    if route == "in a later configuration":
        later = own if key != "trainer.callbacks" else f"[{own}]"
        for name in reversed(key.split(".")):
            inner = name in ("network", "loss", "optimizer", "lr_scheduler", "head")
            later = f"{{init_args: {{{name}: {later}}}}}" if inner else f"{{{name}: {later}}}"
        (tmp_path / "later.yaml").write_text(later)
        words[2:] = ["--config", str(tmp_path / "later.yaml")]
    given = found(parser.parse_args(words), key)
    assert {name: given[name] for name in defaults} == defaults
    assert given.keys() == defaults.keys() or case in ("model", "logger")


def test_what_was_typed_is_kept_where_the_other_class_has_it(parser):
    words = ["--model", "DRU", "--model.min_count", "5", "--model.cutoff", "30", "--model", "ERM"]
    given = found(parser.parse_args(words), "model")
    assert given["min_count"] == 5
    assert "cutoff" not in given
