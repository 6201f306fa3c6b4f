"""What a class path in a run's folder, a configuration or a study may name; nothing else is imported or called."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import types

import pytest
import torch
import yaml
from torchmetrics.text.bert import BERTScore

from drurank import imports
from drurank.cli.trusted import KINDS, check_kinds
from drurank.cli.words import trust_named
from drurank.errors import InputError
from drurank.imports import trust, why_not_trusted
from drurank.networks.factory import find_factory
from drurank.study import Plan
from runs import ROOT, SMALL, plain
from studies import finish, rehearse, words_of, written
from warm import ended

MODULE = """
open({mark!r}, "w").close()
import torch
from drurank.methods import ERM


class Net(torch.nn.Linear):
    def __init__(self, sizes):
        super().__init__(sizes.in_features, sizes.num_classes)


class Mine(ERM):
    pass


def make(sizes):
    return Net(sizes)
"""
OPTIONS = ("network", "optimizer", "lr_scheduler", "loss")
ELSEWHERE = ("trainer.callbacks", "trainer.logger", "trainer.strategy", "trainer.profiler", "model.network.anything")
HARMFUL = {
    "os.system": {"command": "touch owned"},
    "posix.system": {"command": "touch owned"},
    "subprocess.Popen": {"args": "touch owned", "shell": True},
    "subprocess.call": {"args": "touch owned"},
    "builtins.exec": {"source": "open('owned', 'w')"},
    "builtins.open": {"file": "owned", "mode": "w"},
    "pathlib.Path": {},
    "shutil.rmtree": {"path": "kept"},
    "functools.partial": {},
    "runpy.run_path": {"path_name": "owned.py"},
    "torch.hub.load": {"repo_or_dir": "x", "model": "y"},
    "torch.load": {"f": "x"},
    "torch.utils.cpp_extension.load": {"name": "x", "sources": []},
    "torch.nn.functional.linear": {},
    "torch.utils.data.DataLoader": {"dataset": []},
    "lightning.pytorch.Trainer": {},
    "jsonargparse.set_parsing_settings": {"import_path_allowlist": ["os"]},
}


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module in the current folder that notes its import."""

    def make(name):
        (tmp_path / f"{name}.py").write_text(MODULE.format(mark=str(tmp_path / "owned")))
        monkeypatch.syspath_prepend(tmp_path)
        return name

    (tmp_path / "kept").mkdir()
    return make


def nested(option, class_path):
    spec = {"class_path": class_path}
    for part in reversed(option.split(".")):
        spec = {part: {"init_args": spec} if part in ("model",) and "class_path" not in spec else spec}
    return spec


def found(class_path):
    module, _, name = class_path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def with_class(file, option, spec):
    config = yaml.safe_load(file.read_text())
    config["model"]["init_args"][option] = spec
    file.write_text(yaml.safe_dump(config))


def unharmed(folder):
    return not (folder / "owned").exists() and (folder / "kept").exists()


EVERY_WAY = [
    *((OPTIONS[place % len(OPTIONS)], class_path) for place, class_path in enumerate(HARMFUL)),
    *((option, "os.system") for option in OPTIONS),
]


@pytest.mark.parametrize(("option", "class_path"), EVERY_WAY)
def test_no_run_calls_what_its_configuration_names(copied, evil, refused, tmp_path, option, class_path):
    with_class(copied / "config.yaml", option, {"class_path": class_path, "init_args": HARMFUL[class_path]})
    said = refused("test", "--run", copied)
    assert class_path in said
    assert unharmed(tmp_path)


STARTS = {
    "class_path": "torch.distributed.elastic.multiprocessing.subprocess_handler.SubprocessHandler",
    "init_args": {
        "entrypoint": "/bin/sh",
        "args": ["-c", "touch owned"],
        "env": {},
        "stdout": None,
        "stderr": None,
        "local_rank_id": 0,
        "numa_options": None,
    },
}
WRITES = {"class_path": "numpy.memmap", "init_args": {"filename": "owned", "mode": "w+", "shape": [1]}}
LINEAR = {"in_features": 2, "out_features": 2}
ANYTHING = [
    *(
        ("model.network", "torch.nn.Linear", {**LINEAR, name: spec})
        for name in ("device", "dtype")
        for spec in (STARTS, WRITES)
    ),
    ("model.network", "drurank.networks.TextClassifier", {"config": {"x": STARTS}}),
    ("model.loss", "torch.nn.CrossEntropyLoss", {"size_average": STARTS}),
    ("model.lr_scheduler", "torch.optim.lr_scheduler.LambdaLR", {"lr_lambda": STARTS}),
    ("model.lr_scheduler", "torch.optim.lr_scheduler.LambdaLR", {"lr_lambda": "drurank.cli.main"}),
    ("model.lr_scheduler", "torch.optim.lr_scheduler.LambdaLR", {"lr_lambda": ["drurank.imports.import_code"]}),
    (
        "model.lr_scheduler",
        "torch.optim.lr_scheduler.CyclicLR",
        {"base_lr": 0.1, "max_lr": 1, "scale_fn": "torch.load"},
    ),
    ("trainer.strategy", "lightning.pytorch.strategies.DDPStrategy", {"ddp_comm_state": STARTS}),
    ("trainer.profiler", "torch.profiler.profile", {}),
    ("trainer.callbacks", "lightning.pytorch.callbacks.RichProgressBar", {"console_kwargs": {"file": WRITES}}),
    ("trainer.callbacks", "lightning.pytorch.callbacks.LambdaCallback", {"on_test_start": STARTS}),
    ("trainer.callbacks", "lightning.pytorch.callbacks.LambdaCallback", {"on_test_start": "drurank.cli.main"}),
]
"""What arguments that take anything, or a function, might be given."""


@pytest.mark.parametrize(("option", "class_path", "arguments"), ANYTHING)
def test_no_class_or_function_is_taken_where_an_argument_takes_anything(
    copied, evil, refused, tmp_path, option, class_path, arguments
):
    section, name = option.split(".")
    config = yaml.safe_load((copied / "config.yaml").read_text())
    spec = {"class_path": class_path, "init_args": arguments}
    place = config[section] if section == "trainer" else config[section]["init_args"]
    place[name] = [spec] if name == "callbacks" else spec
    (copied / "config.yaml").write_text(yaml.safe_dump(config))
    # Only a fit takes a profiler of the run's.
    resume = ["fit", "--ckpt_path", copied / "checkpoints/last.ckpt"]
    said = refused(*(resume if name == "profiler" else ["test", "--run", copied]))
    assert option in said
    assert unharmed(tmp_path)


def test_what_a_person_names_is_taken_anywhere(monkeypatch):
    monkeypatch.setattr(imports, "_named", set())
    spec = {"class_path": "torch.nn.Linear", "init_args": {**LINEAR, "device": {"class_path": "numpy.memmap"}}}
    with pytest.raises(InputError, match=r"--model\.network\.device names numpy\.memmap"):
        check_kinds({"model": {"init_args": {"network": spec}}})
    trust({"network": spec})
    check_kinds({"model": {"init_args": {"network": spec}}})


def test_default_functions_of_a_class_are_no_functions_that_are_named():
    arguments = {"d_model": 2, "nhead": 1, "activation": torch.nn.functional.relu}
    check_kinds({"model": {"network": {"class_path": "torch.nn.TransformerEncoderLayer", "init_args": arguments}}})
    arguments["activation"] = torch.nn.functional.gelu
    with pytest.raises(InputError, match=r"--model\.network\.activation names torch"):
        check_kinds({"model": {"network": {"class_path": "torch.nn.TransformerEncoderLayer", "init_args": arguments}}})


def test_nothing_is_imported_from_a_current_folder_that_is_somebody_elses(copied):
    config = yaml.safe_load((copied / "config.yaml").read_text())
    config["model"]["init_args"]["network"] = {"class_path": "last.Net"}
    (copied / "config.yaml").write_text(yaml.safe_dump(config))
    for name in (
        "torch",
        "rich",
        "json",
        "triton",
        "yaml",
        "numpy",
        "last",
        "mlflow",
        "sitecustomize",
        "typing_extensions",
    ):
        (copied / f"{name}.py").write_text(f"open({str(copied / 'owned')!r}, 'w').close()\n")
    words = [sys.executable, "-m", "drurank", "predict", "--ckpt_path", "checkpoints/last.ckpt"]
    done = subprocess.run(
        words, cwd=copied, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 2
    assert "last.Net is not imported" in done.stderr
    assert not (copied / "owned").exists()


def test_programs_that_we_start_import_nothing_from_the_current_folder(tmp_path):
    for name in ("drurank", "pathlib", "re", "types", "fnmatch", "contextlib", "importlib", "signal", "torch"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w').close()\n")
    words = [*imports.own_program(), "--version"]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "owned").exists()


@pytest.fixture
def used(tmp_path, monkeypatch):
    """A package that the program has imported, with a network, and modules that it has not, which note their import."""
    monkeypatch.setattr(imports, "_named", set())
    monkeypatch.setattr(imports, "_whole", set())
    (tmp_path / "inuse").mkdir()
    (tmp_path / "inuse/__init__.py").write_text("from torch.nn import Flatten\n")
    for name in ("__main__", "_private", "other"):
        (tmp_path / f"inuse/{name}.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w').close()\nclass Net: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("inuse")


NOT_LOADED = ["__main__.Net", "__main__", "_private.Net", "_private", "other.Net", "other", "other.Net.More"]


@pytest.mark.parametrize(
    ("option", "name"),
    [
        *((option, "__main__.Net") for option in (*OPTIONS, "model", "data", "callbacks", "strategy")),
        *(("network", name) for name in NOT_LOADED[1:]),
    ],
)
def test_of_a_package_in_use_no_other_module_is_imported(used, copied, refused, tmp_path, option, name):
    (tmp_path / "kept").mkdir()
    file, class_path = copied / "config.yaml", f"inuse.{name}"
    config = yaml.safe_load(file.read_text())
    if option in ("model", "data"):
        config[option]["class_path"] = class_path
    elif option in ("callbacks", "strategy"):
        config["trainer"][option] = {"class_path": class_path}
    else:
        config["model"]["init_args"][option] = {"class_path": class_path}
    file.write_text(yaml.safe_dump(config))
    said = refused("test", "--run", copied)
    assert f"{class_path} is not imported, since its module" in said
    assert unharmed(tmp_path)


@pytest.mark.parametrize(
    ("class_path", "said"),
    [
        ("torch.utils.model_dump.__main__.Net", "its module __main__ is a program"),
        ("torch.utils.bottleneck.__main__", "its module __main__ is a program"),
        ("lightning.__main__.Net", "its module __main__ is a program"),
        ("drurank.__main__.Net", "its module __main__ is a program"),
        ("torch.testing._internal.no_such.Net", "_internal is private to torch"),
        ("torch._no_such.Net", "_no_such is private to torch"),
    ],
)
def test_programs_and_private_modules_of_torch_are_not_imported(monkeypatch, class_path, said):
    monkeypatch.setattr(imports, "_named", {"Net"})  # alone, which is no such class
    monkeypatch.setattr(imports, "_whole", set())
    assert said in why_not_trusted(class_path)
    trust(class_path, "network")
    assert why_not_trusted(class_path) is None


def test_of_a_package_that_is_named_all_but_programs_may_be_imported(used, monkeypatch):
    assert why_not_trusted("inuse.Flatten") is None  # which imports nothing
    assert "add --import inuse" in why_not_trusted("inuse.other.Net")
    trust("inuse.Flatten", "network")
    assert why_not_trusted("inuse.other.Net") is None
    assert why_not_trusted("inuse._private.Net") is None
    assert "is a program" in why_not_trusted("inuse.__main__.Net")
    monkeypatch.setattr(imports, "_named", set())
    monkeypatch.setattr(imports, "_whole", {"inuse"})
    assert why_not_trusted("inuse._private.Net") is None
    assert "is a program" in why_not_trusted("inuse.__main__.Net")


@pytest.mark.parametrize("words", [("validate", "--ckpt_path"), ("predict", "--ckpt_path"), ("fit", "--ckpt_path")])
def test_nor_does_the_configuration_beside_a_checkpoint(copied, evil, refused, tmp_path, words):
    with_class(copied / "config.yaml", "network", {"class_path": "os.system", "init_args": {"command": "touch owned"}})
    assert "os.system" in refused(words[0], words[1], copied / "checkpoints/last.ckpt")
    assert unharmed(tmp_path)


@pytest.mark.parametrize("option", [*OPTIONS, "model", "data", "callbacks"])
def test_module_that_a_run_alone_names_is_not_imported(copied, evil, refused, tmp_path, option):
    name, file = evil(f"evil_{option}"), copied / "config.yaml"
    config = yaml.safe_load(file.read_text())
    spec = {"class_path": f"{name}.Net"}
    if option == "callbacks":
        config["trainer"][option] = [spec]
    elif option in OPTIONS:
        config["model"]["init_args"][option] = spec
    else:
        config[option]["class_path"] = spec["class_path"]
    file.write_text(yaml.safe_dump(config))
    said = refused("test", "--run", copied)
    assert f"add --import {name}" in said
    assert unharmed(tmp_path)
    assert name not in sys.modules


def test_class_of_a_module_that_is_named_is_taken(evil, run, capsys, tmp_path):
    words = [*SMALL, "--trainer.max_epochs", "1"]
    named = evil("named_on_the_command_line")
    run("fit", "--model", f"{named}.Mine", "--model.network", f"{named}.Net", *words)
    written = evil("named_in_a_configuration")
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({"model": {"class_path": f"{written}.Mine"}}))
    run("fit", "--config", str(file), *words)
    assert f"--import {written} test --run" in " ".join(capsys.readouterr().out.split())
    run("test", "--run", "runs/version_1")


@pytest.mark.parametrize(
    ("option", "class_path"),
    [
        ("model", "drurank.methods.DRU"),
        ("model.network", "torch.nn.Linear"),
        ("model.network", "drurank.networks.MLP"),
        ("model.loss", "drurank.training.losses.CrossEntropy"),
        ("model.optimizer", "torch.optim.AdamW"),
        ("model.lr_scheduler", "torch.optim.lr_scheduler.StepLR"),
        ("model.lr_scheduler", "lightning.pytorch.cli.ReduceLROnPlateau"),
        ("trainer.callbacks", "lightning.pytorch.callbacks.Timer"),
        ("trainer.logger", "lightning.pytorch.loggers.CSVLogger"),
        ("trainer.strategy", "lightning.pytorch.strategies.DDPStrategy"),
        ("trainer.profiler", "lightning.pytorch.profilers.SimpleProfiler"),
        ("trainer.plugins", "lightning.pytorch.plugins.MixedPrecision"),
        ("model.criterion", "torch.nn.CrossEntropyLoss"),
        ("data", "drurank.data.Table"),
    ],
)
def test_class_of_its_kind_is_taken(option, class_path):
    assert why_not_trusted(class_path) is None
    check_kinds(nested(option, class_path))
    if option.rpartition(".")[2] in KINDS:
        for other in ("drurank.data.Table", "torch.optim.SGD", "torch.nn.ReLU"):
            if not issubclass(found(other), KINDS[option.rpartition(".")[2]]):
                with pytest.raises(InputError, match=f"--{option} names {other}; give a class derived from"):
                    check_kinds(nested(option, other))


ACTING = [
    "torchmetrics.Metric",
    "torchmetrics.text.bert.BERTScore",
    "torchmetrics.text.infolm.InfoLM",
    "torchmetrics.functional.image.lpips._LPIPS",
    "lightning.pytorch.demos.boring_classes.BoringModel",
]
"""Modules that act as they are made, or are made of such."""


KINDS_OF_HARM = [
    *HARMFUL,
    "os.popen",
    "os.execv",
    "os.remove",
    "subprocess.check_output",
    "builtins.eval",
    "builtins.__import__",
    "importlib.import_module",
    "shutil.copytree",
    "pickle.loads",
    "ctypes.CDLL",
    "multiprocessing.Process",
    "socket.socket",
    "urllib.request.urlopen",
    "code.InteractiveInterpreter",
    "sys.exit",
    "torch.os.system",
    "torch.serialization.os.remove",
    "drurank.files.os.remove",
    "lightning.pytorch.cli.os.system",
    "torch.hub.download_url_to_file",
    "torch.jit.load",
    "torch.package.PackageImporter",
    "torch.utils.tensorboard.SummaryWriter",
    "torch.multiprocessing.spawn",
    "torch.distributed.launcher.api.elastic_launch",
    "torch.distributed.elastic.multiprocessing.subprocess_handler.SubprocessHandler",
    "numpy.memmap",
    "numpy.load",
    "pyarrow.OSFile",
    "drurank.cli.main",
    "drurank.imports.import_code",
    "drurank.study.queue.Queue",
]


@pytest.mark.parametrize("class_path", [*KINDS_OF_HARM, *ACTING])
def test_no_option_takes_what_may_do_harm(monkeypatch, class_path):
    monkeypatch.setattr(imports, "_named", set())
    for option in (*(f"model.{name}" for name in OPTIONS), "model", "data", *ELSEWHERE):
        with pytest.raises(InputError, match=f"--{option} names {re.escape(class_path)}; "):
            check_kinds(nested(option, class_path))


def test_every_metric_and_module_of_torchmetrics_is_one_that_a_person_names(monkeypatch):
    def below(kind):
        return {kind, *(each for one in kind.__subclasses__() for each in below(one))}

    found = [kind for kind in below(torch.nn.Module) if kind.__module__.startswith("torchmetrics.")]
    assert len(found) > 100
    monkeypatch.setattr(imports, "_named", set())
    for kind in found:
        path = f"{kind.__module__}.{kind.__qualname__}"
        with pytest.raises(InputError, match="if you trust what the file names, add --import torchmetrics, or give"):
            find_factory({"class_path": path, "init_args": {}})
        trust(path, "network")
        assert find_factory({"class_path": path, "init_args": {}}).func is kind
        check_kinds(nested("model.network", path))


def test_a_module_that_acts_and_is_named_is_known_by_each_of_its_names(monkeypatch):
    monkeypatch.setattr(imports, "_named", set())
    trust("torchmetrics.text.bert.BERTScore", "network")
    check_kinds(nested("model.network", "torchmetrics.text.BERTScore"))
    with pytest.raises(InputError, match=r"names torchmetrics\.text\.InfoLM; that is a metric"):
        check_kinds(nested("model.network", "torchmetrics.text.InfoLM"))


TYPED = ["--data.group BERTScore", "--data.relabel.a BERTScore", "--model.positive BERTScore", "--trainer.x BERTScore"]
TYPED += ["--data.group {path}", "--data.features [{path}]", "--model.positive {path}", "--config data.yaml"]


@pytest.mark.parametrize("typed", TYPED)
def test_a_column_or_a_label_names_no_class(monkeypatch, tmp_path, typed):
    monkeypatch.setattr(imports, "_named", set())
    path = "torchmetrics.text.bert.BERTScore"
    (tmp_path / "data.yaml").write_text(f"data: {{class_path: Table, init_args: {{group: {path}, label: mine.Y}}}}")
    trust_named(typed.format(path=path).split(" ", 1))
    assert imports._named <= {"Table"}
    with pytest.raises(InputError, match=r"that is a metric"):
        check_kinds(nested("model.network", path))


def test_a_bare_name_is_of_the_class_that_it_resolves_to(monkeypatch):
    monkeypatch.setattr(imports, "_named", set())
    trust_named(["--model.network", "BERTScore"])
    check_kinds(nested("model.network", "torchmetrics.text.bert.BERTScore"))
    other = type("BERTScore", (BERTScore,), {"__module__": "mine_nets"})  # which the parser refuses then
    module = types.ModuleType(other.__module__)
    module.BERTScore = other
    monkeypatch.setitem(sys.modules, other.__module__, module)
    for class_path in ("mine_nets.BERTScore", "torchmetrics.text.bert.BERTScore"):
        with pytest.raises(InputError, match=r"that is a metric"):
            check_kinds(nested("model.network", class_path))


def spec_of(class_path):
    return {"class_path": class_path, "init_args": {}}


def by_configuration(copied, option, class_path):
    file = copied.parent / "mine.yaml"
    file.write_text(yaml.safe_dump({"model": {"class_path": "DRU", "init_args": {option: spec_of(class_path)}}}))
    return ["fit", "--config", file, *SMALL]


def by_command_line(copied, option, class_path):
    return ["fit", "--model", "DRU", f"--model.{option}", class_path, *SMALL]


def by_resume(copied, option, class_path):
    with_class(copied / "config.yaml", option, spec_of(class_path))
    return ["fit", "--ckpt_path", copied / "checkpoints/last.ckpt"]


def by_run(copied, option, class_path):
    with_class(copied / "config.yaml", option, spec_of(class_path))
    return ["test", "--run", copied]


def by_checkpoint(copied, option, class_path):
    """What a checkpoint says of itself, beside the configuration of its run."""
    (copied / "config.yaml").unlink()
    file = copied / "checkpoints/last.ckpt"
    saved = plain(file)
    saved["drurank"]["network"] = spec_of(class_path)
    del saved["drurank_written"]
    torch.save(saved, file)
    return ["validate", "--model", "DRU", *SMALL, "--ckpt_path", file]


ROUTES = (by_configuration, by_command_line, by_resume, by_run, by_checkpoint)


EVERY_ROUTE = bool(os.environ.get("EVERY_ROUTE"))
"""Whether each kind is tried by every route, as ``make test-mutate`` does."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("route", "option", "class_path"),
    [
        (route, OPTIONS[(place + step) % len(OPTIONS)], class_path)
        for place, class_path in enumerate(KINDS_OF_HARM)
        for step, route in enumerate(ROUTES)
        if EVERY_ROUTE or step == place % len(ROUTES)
    ],
)
def test_nothing_of_any_kind_is_called_by_any_route(
    copied, evil, refused, tmp_path, monkeypatch, route, option, class_path
):
    """Each kind by one route, or by each; all of them refuse by ``check_kinds``, see above."""
    monkeypatch.setattr(imports, "_named", set())
    said = refused(*route(copied, option, class_path))
    # Of a function that lacks an argument the option is named.
    assert class_path.rpartition(".")[2] in said or said.startswith(f"--model.{option}.")
    assert unharmed(tmp_path)


@pytest.mark.parametrize("route", [by_resume, by_run, by_checkpoint], ids=lambda route: route.__name__)
@pytest.mark.parametrize("class_path", ACTING)
def test_no_module_that_acts_is_made_where_a_file_alone_names_it(copied, refused, monkeypatch, route, class_path):
    monkeypatch.setattr(imports, "_named", set())
    said = refused(*route(copied, "network", class_path))
    assert class_path.rpartition(".")[2] in said
    assert f"if you trust what the file names, add --import {class_path.partition('.')[0]}" in said


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(OPTIONS)))
def test_nothing_of_any_kind_is_called_by_a_study(evil, tmp_path, monkeypatch, place):
    """Of each option a fourth of the kinds, since a study looks at each setting as a whole."""
    monkeypatch.setattr(imports, "_named", set())
    for class_path in KINDS_OF_HARM[place :: len(OPTIONS)]:
        candidates = [{"model": "DRU", f"model.{OPTIONS[place]}": class_path}]
        file = written(tmp_path / "plan.yaml", candidates=candidates, seeds=[0])
        with pytest.raises(InputError, match=re.escape(class_path.rpartition(".")[2])):
            rehearse(tmp_path / "study", Plan.read(file))
    assert unharmed(tmp_path)


def test_classes_of_their_kind_are_taken_by_every_route(run, tmp_path, monkeypatch):
    """By a configuration, a run, a resume, a checkpoint and a plan, of torch, Lightning and drurank."""
    monkeypatch.setattr(imports, "_named", set())
    harmless = {
        "network": {"class_path": "drurank.networks.MLP", "init_args": {"dropout": 0.0}},
        "optimizer": {"class_path": "torch.optim.Adagrad", "init_args": {"lr": 0.01}},
        "lr_scheduler": {"class_path": "torch.optim.lr_scheduler.StepLR", "init_args": {"step_size": 1}},
        "loss": {"class_path": "torch.nn.CrossEntropyLoss", "init_args": {"reduction": "none"}},
    }
    callbacks = [{"class_path": "lightning.pytorch.callbacks.Timer"}]
    content = {"model": {"class_path": "DRU", "init_args": harmless}, "trainer": {"callbacks": callbacks}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    run("fit", "--config", tmp_path / "mine.yaml", *SMALL, "--trainer.max_epochs", "1")
    last = tmp_path / "runs/version_0/checkpoints/last.ckpt"
    assert run("test", "--run", "runs/version_0").trainer is not None
    resumed = run("fit", "--ckpt_path", last, "--trainer.max_epochs", "2")
    assert [type(one).__name__ for one in resumed.trainer.optimizers] == ["Adagrad"]
    assert type(resumed.model.loss).__name__ == "CrossEntropyLoss"
    (tmp_path / "runs/version_0/config.yaml").unlink()
    assert type(run("validate", "--model", "DRU", *SMALL, "--ckpt_path", last).model.network).__name__ == "MLP"
    options = {f"model.{name}": spec["class_path"] for name, spec in harmless.items()}
    options |= {"model.optimizer.lr": 0.01, "model.lr_scheduler.step_size": 1, "model.loss.reduction": "none"}
    plan = Plan.read(written(tmp_path / "plan.yaml", candidates=[{"model": "DRU", **options}], seeds=[0]))
    rehearse(tmp_path / "study", plan)


def test_options_with_classes_are_known_to_both():
    assert {*KINDS, "class_path"} == imports.CLASS_OPTIONS


@pytest.mark.parametrize("name", sorted(sys.stdlib_module_names))
def test_nothing_of_the_standard_library_is_trusted(name):
    trust(f"{name}.anything", "model")
    assert "standard library" in why_not_trusted(f"{name}.anything")


def test_a_function_makes_no_network(evil, refused, tmp_path):
    name = evil("with_a_function")
    said = refused("fit", "--model", "ERM", "--model.network", f"{name}.make", *SMALL)
    assert f"{name}.make" in said
    assert "class" in said


def test_what_a_checkpoint_holds_as_hyperparameters_replaces_nothing(copied, evil, run, tmp_path):
    name, file = evil("evil_hyperparameters"), copied / "checkpoints/last.ckpt"
    torch.save({**plain(file), "hyper_parameters": {"_class_path": f"{name}.Mine"}}, file)
    for command in ("validate", "predict"):
        run(command, "--ckpt_path", file)  # as it is without them
    assert unharmed(tmp_path)
    assert name not in sys.modules


@pytest.mark.parametrize("stack_size", [1, 8])
def test_a_candidate_that_lies_in_the_folder_of_a_study_calls_and_imports_nothing(
    undisturbed, evil, tmp_path, stack_size
):
    name, study = evil(f"evil_candidate_{stack_size}"), shutil.copytree(undisturbed, tmp_path / "study")
    specs = [(option, {"class_path": "os.system", "init_args": {"command": "touch owned"}}) for option in OPTIONS]
    specs += [("network", {"class_path": f"{name}.Net"}), ("loss", STARTS)]
    specs[0] = ("network", {"class_path": "torchmetrics.text.bert.BERTScore"})
    unfinished = sorted(study.glob("candidates/*/manifest.json"))
    for manifest, (option, spec) in zip(unfinished, specs, strict=True):
        manifest.unlink()
        with_class(manifest.parent / "version_0/config.yaml", option, spec)
    reasons = finish(undisturbed.parent / "s.yaml", study, stack_size).reasons()
    for manifest, (_, spec) in zip(unfinished, specs, strict=True):
        assert spec["class_path"].rpartition(".")[2] in reasons[manifest.parent.name]
    assert unharmed(tmp_path)
    assert name not in sys.modules


@pytest.mark.parametrize("option", OPTIONS)
def test_a_study_calls_no_function(evil, tmp_path, option):
    plan = {
        "data": {"class_path": "Shortcut", "init_args": {"groups": [6, 4, 4], "group_size": 10}},
        "criteria": ["qdcg10"],
        "seeds": [0],
        "candidates": [{"model": "DRU", f"model.{option}": "os.system", f"model.{option}.command": "touch owned"}],
    }
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    status, said = ended(["-m", "drurank", *words_of(tmp_path / "plan.yaml", tmp_path / "study")], tmp_path / "log")
    assert status == 2
    assert "os.system" in said
    assert unharmed(tmp_path)
