"""What export writes predicts as the checkpoint does, and can be used with the files beside it alone."""

import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

import drurank.export.formats as formats
from drurank import Predictor
from drurank.cli.export import export_model
from drurank.errors import InputError
from drurank.methods import ERM
from drurank.networks import Sizes
from encoders import write_tiny
from runs import read_json
from texts import rows as texts_of
from texts import words_of

WRITTEN = {"onnx": "model.onnx", "torch": "model.pt2", "safetensors": "model.safetensors"}
ENCODINGS = ["onehot", "embed"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Numbers, one of them with missing cells, booleans, and categories, of which validation has one more."""
    rng = np.random.default_rng(0)
    split = np.resize(["train", "val", "train", "test"], 1200)
    frame = pd.DataFrame(
        {
            "height": rng.normal(170, 9, 1200),
            "gap": np.where(rng.random(1200) < 0.2, np.nan, rng.integers(0, 5, 1200)),
            "job": np.where(split == "val", "new", rng.choice(["clerk", "nurse", "café"], 1200)),
            "free": rng.random(1200) < 0.5,
            "town": rng.choice(["", "A", "B"], 1200),
            "y": rng.choice(["no", "yes", "maybe"], 1200),
            "g": rng.choice(["p", "q", "r"], 1200),
            "split": split,
        }
    )
    file = tmp_path_factory.mktemp("export") / "t.csv"
    frame.to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def trained(fit, table):
    """A run by each encoding of categories."""
    data = ["--data", "Table", "--data.path", table, "--data.label", "y", "--data.group", "g", "--data.split", "split"]
    data += ["--data.missing", "indicator", "--select", "worst,overall"]
    words = {encoding: [*data, "--data.encoding", encoding] for encoding in ENCODINGS}
    return {encoding: fit(table.parent, data=words[encoding], epochs=2, method="ERM") for encoding in ENCODINGS}


@pytest.fixture
def exported(run, tmp_path):
    """Exports a run; gives the folder."""

    def call(to, given, *words):
        if to == "onnx":
            pytest.importorskip("onnx")
            pytest.importorskip("onnxscript")
        pytest.importorskip("safetensors")
        run("export", "--to", to, "--run", given, "--output", tmp_path / "out", *words)
        return tmp_path / "out"

    return call


def function_of(to, folder, given):
    """The probabilities that a file gives, by its own library alone; weights alone are put in a network by hand."""
    if to == "onnx":
        session = pytest.importorskip("onnxruntime").InferenceSession(str(folder / "model.onnx"))
        return lambda **inputs: session.run(["probabilities"], inputs)[0]
    if to == "torch":
        model = torch.export.load(folder / "model.pt2").module()
        names = [one["name"] for one in read_json(folder / "encoding.json")["inputs"]]
        return lambda **inputs: model(*(torch.from_numpy(inputs[name]) for name in names)).detach().numpy()
    from safetensors.numpy import load_file

    weights = load_file(folder / "model.safetensors")

    def by_hand(inputs=None, numeric=None, categorical=None):
        hidden = inputs if inputs is not None else numeric
        if categorical is not None:
            tables = [weights[f"embeddings.{k}.weight"] for k in range(categorical.shape[1])]
            hidden = np.hstack([hidden, *(one[categorical[:, k]] for k, one in enumerate(tables))])
        for layer in (0, 3):
            hidden = hidden @ weights[f"hidden_layers.{layer}.weight"].T + weights[f"hidden_layers.{layer}.bias"]
            hidden = np.where(hidden > 0, hidden, 0.01 * hidden)
        scores = np.exp(hidden @ weights["head.weight"].T + weights["head.bias"])
        return scores / scores.sum(axis=1, keepdims=True)

    return by_hand


def encoded(encoding, frame):
    """The inputs of a table as ``encoding.json`` says, written without the package."""
    whole = {one["name"]: one for one in encoding["inputs"]}
    tensors = {name: np.zeros((len(frame), one["shape"][1]), one["dtype"]) for name, one in whole.items()}
    of_numbers, of_codes = (tensors[name] for name in (("inputs",) * 2 if "inputs" in tensors else tuple(tensors)))
    for column in encoding["columns"]:
        at, cells = column["at"], frame[column["name"]]
        if column["kind"] == "number":
            of_numbers[:, at] = ((cells - column["mean"]) / column["scale"]).fillna(0)
            if column["missing_indicator"]:
                of_numbers[:, at + 1] = cells.isna()
            continue
        for row, cell in enumerate(cells):
            text = None if pd.isna(cell) else unicodedata.normalize("NFC", str(cell).strip())
            text = text.lower() if str(text).lower() in ("true", "false") else text
            code = column["values"].index(text) + 1 if text in column["values"] else 0
            if encoding["encoding"] == "onehot":
                of_codes[row, at + code] = 1
            else:
                of_codes[row, at] = code
    return tensors


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("to", WRITTEN)
def test_the_folder_alone_gives_the_predictions_of_the_run(trained, table, exported, capsys, to, encoding):
    folder = exported(to, trained[encoding])
    assert sorted(path.name for path in folder.iterdir()) == sorted([WRITTEN[to], "encoding.json", "README.md"])
    assert f"{WRITTEN[to]}: the probabilities of 1,000 rows differ from the checkpoint's by " in capsys.readouterr().out
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1
    frame, about = pd.read_csv(table), read_json(folder / "encoding.json")
    expected = Predictor.load(trained[encoding])(table)
    function, inputs = function_of(to, folder, about), encoded(about, frame)
    assert about["labels"] == expected.labels == ["maybe", "no", "yes"]
    np.testing.assert_allclose(function(**inputs), expected.probability, atol=1e-5)
    one = function(**{name: tensor[7:8] for name, tensor in inputs.items()})
    np.testing.assert_allclose(one, expected.probability[7:8], atol=1e-5)


def test_the_encoding_is_that_of_the_training_rows(trained, table, exported):
    about = read_json(exported("safetensors", trained["onehot"]) / "encoding.json")
    train = pd.read_csv(table).query("split == 'train'")
    columns = {column["name"]: column for column in about["columns"]}
    assert [*columns] == ["height", "gap", "job", "free", "town"]
    for name, at in (("height", 0), ("gap", 1)):
        expected = {"at": at, "mean": train[name].mean(), "scale": train[name].std(ddof=0)}
        assert {key: columns[name][key] for key in expected} == pytest.approx(expected)
    assert [columns[name]["missing_indicator"] for name in ("height", "gap")] == [False, True]
    values = {"job": ["café", "clerk", "nurse"], "free": ["false", "true"], "town": ["A", "B", None]}
    assert {name: columns[name]["values"] for name in values} == values
    assert [columns[name]["at"] for name in values] == [3, 7, 10]
    assert about["inputs"] == [{"name": "inputs", "dtype": "float32", "shape": ["rows", 14]}]
    assert about["network"]["sizes"]["in_features"] == 14
    page = (table.parent / "x", Path("out/README.md"))[1].read_text(encoding="utf-8")
    for said in (
        "0 is maybe, 1 is no, 2 is yes",
        "- `inputs`: float32 `[rows, 14]`",
        "On ",
        "1,000 rows",
        "load_model(",
    ):
        assert said in page


def test_a_checkpoint_is_exported_by_criterion_and_by_itself(trained, run, tmp_path):
    pytest.importorskip("safetensors")
    folder = trained["onehot"]
    run("export", "--to", "torch", "--ckpt_path", folder / "checkpoints/overall.ckpt", "--output", "a")
    run("export", "--to", "torch", "--run", folder, "--criterion", "overall", "--output", "b")
    assert "from overall.ckpt" in Path("a/README.md").read_text()
    one, other = (torch.export.load(f"{name}/model.pt2").module()(torch.ones(2, 14)) for name in "ab")
    assert torch.equal(one, other)


def test_what_predicts_otherwise_is_not_kept_and_ends_with_status_2(trained, refused, tmp_path, monkeypatch):
    read = formats.read

    def otherwise(to, model, file, by):
        exact = read(to, model, file)
        return lambda given: exact(given) + np.float32(by)

    words = ["export", "--to", "torch", "--run", trained["onehot"], "--output", tmp_path / "new/out"]
    for by, shown in ((2e-4, "2.0e-04"), (np.nan, "inf")):
        monkeypatch.setattr("drurank.cli.export.read", lambda *given, by=by: otherwise(*given, by))
        said = refused(*words)
        assert said.startswith(f"{tmp_path / 'new/out/model.pt2'} is not written: on ")
        assert f"differ from the checkpoint's by {shown}, and by 1e-04 at most they may" in said
        assert not (tmp_path / "new").exists()
    monkeypatch.setattr("drurank.cli.export.read", lambda *given: otherwise(*given, 5e-5))
    assert export_model("torch", run=str(trained["onehot"]), output="out").is_file()
    before = Path("out/model.pt2").read_bytes()
    monkeypatch.setattr("drurank.cli.export.read", lambda *given: otherwise(*given, 2e-4))
    refused(*words[:-1], "out", "--overwrite")
    assert Path("out/model.pt2").read_bytes() == before


def test_random_inputs_are_compared_where_the_data_is_gone(trained, table, tmp_path, run, capsys):
    folder = shutil.copytree(trained["embed"], tmp_path / "moved")
    config = (folder / "config.yaml").read_text()
    assert str(table) in config
    (folder / "config.yaml").write_text(config.replace(str(table), "gone.csv"))
    run("export", "--to", "torch", "--run", folder)
    assert (folder / "export/torch/model.pt2").is_file()
    said = capsys.readouterr().out
    assert "the probabilities of 1,000 rows differ" in said
    assert "(random inputs, since the run's data cannot be read (there is no file gone.csv" in said


@pytest.mark.parametrize("to", WRITTEN)
def test_data_without_columns_is_exported_as_tensors(fit, exported, tmp_path, to):
    folder = exported(to, fit(tmp_path / "runs", epochs=1))
    about = read_json(folder / "encoding.json")
    assert about["kind"] is None
    assert "columns" not in about
    width = about["inputs"][0]["shape"][1]
    found = function_of(to, folder, about)(inputs=np.ones((5, width), np.float32))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("to", ["onnx", "torch"])
def test_texts_of_any_number_and_length_are_predicted(run, exported, tmp_path, monkeypatch, to):
    from transformers import AutoTokenizer

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tiny = write_tiny(tmp_path / "tiny")
    pq.write_table(pa.table(texts_of()), "t.parquet")
    run("fit", *words_of("t.parquet", tiny))
    folder = exported(to, "runs/version_0")
    about = read_json(folder / "encoding.json")
    assert about["text"] == ["text"]
    cut = AutoTokenizer.from_pretrained(about["tokenizer"])
    expected = Predictor.load("runs/version_0")("t.parquet")
    given = cut(texts_of()["text"], padding=True, truncation=True, max_length=about["max_length"], return_tensors="np")
    function = function_of(to, folder, about)
    inputs = {one["name"]: given[one["name"]].astype(np.int64) for one in about["inputs"]}
    assert [*inputs] == ["input_ids", "attention_mask"]
    np.testing.assert_allclose(function(**inputs), expected.probability, atol=1e-5)
    short = {name: tensor[3:4, : int(inputs["attention_mask"][3].sum())] for name, tensor in inputs.items()}
    np.testing.assert_allclose(function(**short), expected.probability[3:4], atol=1e-5)


def test_frozen_texts_are_exported_behind_their_encoder(run, exported, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tiny = write_tiny(tmp_path / "tiny")
    pq.write_table(pa.table(texts_of()), "t.parquet")
    run("fit", *words_of("t.parquet", tiny, "--data.frozen", "true", network=None))
    about = read_json(exported("torch", "runs/version_0") / "encoding.json")
    assert about["frozen"]["pooling"] == "mean"
    assert len(about["frozen"]["mean"]) == about["inputs"][0]["shape"][1]


OWN = """
import torch
from torch import nn

class One(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.one = nn.Linear(sizes.in_features, 1)
    def forward(self, inputs):
        return self.one(inputs).squeeze(-1)

class Odd(One):
    def forward(self, inputs):
        return super().forward(inputs) if inputs.sum() > 0 else inputs[:, 0]
"""


def test_a_single_score_is_a_probability_and_what_torch_cannot_take_is_said(run, table, tmp_path, monkeypatch, capsys):
    Path("scores.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    frame = pd.read_csv(table).query("y != 'maybe'")
    frame.to_csv("two.csv", index=False)
    words = [
        "--import",
        "scores",
        "--data",
        "Table",
        "--data.path",
        "two.csv",
        "--data.label",
        "y",
        "--data.group",
        "g",
    ]
    words += ["--data.split", "split", "--data.missing", "indicator", "--data.exclude", "job", "--model", "ERM"]
    words += ["--trainer.max_epochs", "1", "--model.loss", "BinaryCrossEntropy"]
    for name in ("One", "Odd"):
        run("fit", *words, "--model.network", f"scores.{name}")
    run("export", "--import", "scores", "--to", "torch", "--run", "runs/version_0", "--output", "out")
    about = read_json("out/encoding.json")
    found = function_of("torch", Path("out"), about)(**encoded(about, frame))
    np.testing.assert_allclose(found, Predictor.load("runs/version_0")("two.csv").probability, atol=1e-5)
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        run("export", "--import", "scores", "--to", "torch", "--run", "runs/version_1", "--output", "odd")
    said = capsys.readouterr().err.splitlines()[-1].removeprefix("error: ")
    assert stop.value.code == 2
    assert said.startswith("torch.export cannot take the network Odd (")
    assert said.endswith("change it, or give --to safetensors for its weights alone")
    assert not Path("odd").exists()
    run("export", "--import", "scores", "--to", "safetensors", "--run", "runs/version_1", "--output", "odd")


class Picture(nn.Module):
    """Takes other inputs than the sizes of its data say."""

    def __init__(self, sizes):
        super().__init__()
        self.layer = nn.Conv2d(1, sizes.num_classes, 3)

    def forward(self, inputs):
        return self.layer(inputs).mean(dim=(2, 3))


@pytest.mark.parametrize("to", ["torch", "safetensors"])
def test_a_network_of_other_inputs_ends_in_a_sentence(trainer, to):
    sizes = Sizes(9, 2)
    method = ERM(network=Picture)
    method.network = method.builder.build(sizes)
    file = Path("picture.ckpt")
    trained = trainer()
    trained.strategy.connect(method)
    trained.save_checkpoint(file)
    with pytest.raises(InputError, match=r"cannot take the network Picture|takes other inputs than those of tables"):
        export_model(to, ckpt_path=str(file), output="out")
    assert not Path("out").exists()


@pytest.mark.parametrize(("to", "package"), [("onnx", "onnx"), ("onnx", "onnxscript"), ("safetensors", "safetensors")])
def test_a_missing_package_is_said_with_the_extra_that_has_it(trained, refused, monkeypatch, to, package):
    for name in ("onnx", "onnxscript", "safetensors"):
        pytest.importorskip(name)
    monkeypatch.setitem(__import__("sys").modules, package, None)
    said = refused("export", "--to", to, "--run", trained["onehot"], "--output", "out")
    assert said == f"--to {to} needs the package {package}, which is not installed: pip install 'drurank[export]'"


def test_without_onnxruntime_the_evaluator_of_onnx_compares(trained, exported, monkeypatch):
    pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    asked, before = [], ReferenceEvaluator.run
    monkeypatch.setattr("drurank.export.formats.find_spec", lambda name: None)
    monkeypatch.setattr(ReferenceEvaluator, "run", lambda *given: (asked.append(1), before(*given))[1])
    assert (exported("onnx", trained["embed"]) / "model.onnx").is_file()
    assert asked


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "export needs trained weights; give either --run runs/version_0, the folder"),
        (["--run", "{run}", "--ckpt_path", "{run}/checkpoints/last.ckpt"], "export needs trained weights; give either"),
        (["--run", "nowhere"], "there is no run or checkpoint nowhere"),
        (["--run", "{run}", "--criterion", "wrost"], "{run} kept no checkpoint by criterion 'wrost'"),
        (["--run", "{run}", "--output", "there"], "there/encoding.json exists; give another output, or --overwrite"),
    ],
)
def test_what_cannot_be_exported_is_said_in_a_sentence(trained, refused, words, said):
    Path("there").mkdir()
    Path("there/encoding.json").write_text("mine")
    given = [word.format(run=trained["onehot"]) for word in words]
    assert refused("export", "--to", "torch", *given).startswith(said.format(run=trained["onehot"]))
    assert Path("there/encoding.json").read_text() == "mine"
    assert [path.name for path in Path("there").iterdir()] == ["encoding.json"]
