"""The words of a command line, put as the parser needs them."""

import json

import pytest
import yaml

from clashing import Data
from drurank.cli.training_parser import takes_text
from drurank.cli.words import classes_first, names_as_text, optimizers_of_model, with_recipes
from drurank.errors import InputError
from drurank.recipes import FOLDER, recipes
from drurank.yaml_files import TEXTS
from runs import CONFIGS

TABLE = ["fit", "--data", "Table"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("fit --model.cutoff 5 --model DRU", "fit --model DRU --model.cutoff 5 --model DRU"),
        ("fit --model.cutoff=5 --model=DRU", "fit --model DRU --model.cutoff=5 --model=DRU"),
        (
            "fit --seed_everything 1 --model.network.hidden 2 --model.network N --model M",
            "fit --seed_everything 1 --model M --model.network N --model.network.hidden 2 --model.network N --model M",
        ),
        ("fit --model DRU --model.cutoff 5 --model ERM", "fit --model DRU --model.cutoff 5 --model ERM"),
        ("fit --model.cutoff 5", "fit --model.cutoff 5"),
    ],
)
def test_classes_come_before_their_options(words, expected):
    assert classes_first(words.split()) == expected.split()


@pytest.mark.parametrize("option", ["split_names", "relabel", "regroup", "network.hidden"])
@pytest.mark.parametrize("value", ["{0: train, 1: val}", "{}", "[1, 2]", "null"])
def test_what_names_no_class_is_left_where_it_is(tmp_path, option, value):
    config = tmp_path / "c.yaml"
    config.write_text(json.dumps({"data": {"class_path": "Table", "init_args": {option: {"a": "b"}}}}))
    words = ["fit", "--config", str(config), f"--data.{option}", value]
    assert classes_first(words) == words


@pytest.mark.parametrize("value", ["{a: train, b: val}", "null"])
def test_a_dictionary_of_a_configuration_is_replaced_by_a_typed_one(tmp_path, run, capsys, value):
    config = tmp_path / "c.yaml"
    given = {"path": "t.csv", "label": "y", "split": "s", "split_names": {"c": "train"}}
    config.write_text(json.dumps({"data": {"class_path": "Table", "init_args": given}}))
    with pytest.raises(SystemExit) as ended:
        run("fit", "--config", config, "--model", "DRU", "--data.split_names", value, "--print_config")
    assert ended.value.code in (None, 0)
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["data"]["init_args"]["split_names"] == yaml.safe_load(value)


def test_class_of_a_later_configuration_comes_before_an_earlier_one(tmp_path):
    network, method = tmp_path / "network.yaml", tmp_path / "method.yaml"
    network.write_text("model: {init_args: {network: {class_path: MLP, init_args: {hidden: 2}}}}")
    method.write_text("model: {class_path: DRU, init_args: {cutoff: 5}}")
    words = ["fit", "--config", str(network), "--config", str(method)]
    assert classes_first(words) == ["fit", "--model", "DRU", *words[1:]]
    words = ["fit", "--config", str(method), "--config", str(network)]
    assert classes_first(words) == words


@pytest.mark.parametrize(
    ("option", "typed", "meant"),
    [
        ("exclude", "Unnamed: 0", "Unnamed: 0"),
        ("exclude", "['Unnamed: 0', 01]", ["Unnamed: 0", "01"]),
        ("label", "label: y", "label: y"),
        ("label", "[y]", "[y]"),
        ("relabel", "{no: 0, 010: ten, off: null}", {"no": "0", "010": "ten", "off": None}),
        ("split_names", "{on: train, off: ood_val}", {"on": "train", "off": "ood_val"}),
    ],
)
def test_names_on_the_command_line_are_text(option, typed, meant):
    for words in ([f"--data.{option}", typed], [f"--data.{option}={typed}"]):
        *before, config, content = names_as_text([*TABLE, *words], takes_text)
        assert (before, config) == (TABLE, "--config")
        assert json.loads(content) == {"data": {"init_args": {option: meant}}}


@pytest.mark.parametrize(
    "words",
    [
        ["--data.label", "y"],
        ["--data.exclude", "a,b"],
        ["--data.split", "null"],
        ["--data.batch_size", "[1]"],
        ["--trainer.callbacks", "[a]"],
    ],
)
def test_other_words_stay(words):
    assert names_as_text([*TABLE, *words], takes_text) == [*TABLE, *words]


def test_every_option_of_names_is_text_in_configurations():
    """The reader of YAML does not import the classes, and so has a list of their options of text."""
    for name in TEXTS - {"text"}:
        assert takes_text("Table", name) is not None, name
    assert takes_text("Text", "text") is not None
    for name in ("batch_size", "missing", "encoding", "sampler", "num_workers"):
        assert takes_text("Table", name) is None, name
    assert takes_text(f"{Data.__module__}.Data", "seed") is None


def test_optimizer_of_lightning_is_the_models(tmp_path):
    words = ["fit", "--model", "ERM", "--optimizer", "SGD", "--optimizer.lr", "0.1", "--lr_scheduler=StepLR"]
    expected = "fit --model ERM --model.optimizer SGD --model.optimizer.lr 0.1 --model.lr_scheduler=StepLR"
    assert optimizers_of_model(words) == expected.split()
    file = tmp_path / "c.yaml"
    file.write_text("model: ERM\noptimizer: {class_path: SGD, init_args: {lr: 0.1}}\n")
    *_, content = optimizers_of_model(["fit", "--config", str(file)])
    model = {"class_path": "ERM", "init_args": {"optimizer": {"class_path": "SGD", "init_args": {"lr": 0.1}}}}
    assert json.loads(content) == {"model": model}


def test_recipes_are_found_by_name():
    assert len(recipes()) > 30
    assert CONFIGS == FOLDER
    for name in ("drurank:method/qdru_m.yaml", "drurank:method/qdru_m"):
        file = str(CONFIGS / "method/qdru_m.yaml")
        assert with_recipes(["fit", "--config", name]) == ["fit", "--config", file]
        assert with_recipes(["fit", f"--config={name}"]) == ["fit", f"--config={file}"]
    with pytest.raises(InputError, match=r"drurank:method/qdru_n: did you mean 'method/qdru_[mg].yaml'"):
        with_recipes(["fit", "--config", "drurank:method/qdru_n"])


def test_recipes_are_in_the_wheel():
    import tomllib

    from runs import ROOT

    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["drurank"]
    assert wheel["force-include"] == {"configs": "drurank/configs"}


@pytest.mark.parametrize(
    ("option", "typed", "shown"),
    [
        ("exclude", "Unnamed: 0", "Unnamed: 0"),
        ("label", "label: y", "label: y"),
        (
            "relabel",
            '{no: 0, yes: 1, 010: ten, false: "False"}',
            {"no": "0", "yes": "1", "010": "ten", "false": "False"},
        ),
        ("split_names", "{on: train}", {"on": "train"}),
    ],
)
@pytest.mark.parametrize("route", ["typed", "in a configuration"])
def test_names_reach_the_data_as_typed(printed, tmp_path, route, option, typed, shown):
    words = [f"--data.{option}", typed]
    if route == "in a configuration":
        text = typed if typed.startswith("{") else f"'{typed}'"
        (tmp_path / "c.yaml").write_text(f"data: {{class_path: Table, init_args: {{{option}: {text}}}}}")
        words = ["--config", str(tmp_path / "c.yaml")]
    said = printed("fit", "--model", "ERM", "--data", "Table", "--data.path", "t.csv", *words, "--print_config")
    assert yaml.safe_load(said)["data"]["init_args"][option] == shown


def test_label_that_is_to_be_null_is_refused(refused):
    said = refused("fit", "--model", "ERM", "--data", "Table", "--data.path", "t.csv", "--data.relabel", "{1: null}")
    assert said.startswith("--data.relabel holds null; give ")
    assert "quotes" in said
