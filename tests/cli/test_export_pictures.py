"""Networks of pictures are exported with their normalisation."""

import numpy as np
import pytest
import torch

from drurank import Predictor
from drurank.cli.export import export_model
from painting import words_of, write_pictures
from runs import read_json

WRITTEN = {"onnx": "model.onnx", "torch": "model.pt2", "safetensors": "model.safetensors"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_pictures(tmp_path_factory.mktemp("pictures") / "made")


@pytest.fixture(scope="module")
def trained(table, run):
    words = words_of(
        table, "--model", "ERM", "--model.network", "ImageClassifier", "--trainer.max_epochs", "1", size=32
    )
    words += ["--model.network.backbone", "resnet10t", "--model.network.weights", "none"]
    run("fit", *words, "--trainer.default_root_dir", table.parent / "runs")
    return table.parent / "runs/version_0"


@pytest.mark.parametrize("to", WRITTEN)
def test_an_exported_network_takes_pixels_and_predicts_as_the_run(trained, table, to, capsys):
    export_model(to, output="out", run=str(trained))
    assert "probabilities of 56 rows" in " ".join(capsys.readouterr().out.split())
    about = read_json("out/encoding.json")
    assert about["kind"] == "pictures"
    assert (about["size"], about["resize"]) == (32, 37)
    assert about["inputs"] == [{"name": "inputs", "dtype": "uint8", "shape": ["rows", 3, 32, 32]}]
    assert about["labels"] == ["blue", "red"]
    if to == "safetensors":
        return
    predictor = Predictor.load(trained)
    rows = [{"file": f"pics/{row}.png"} for row in range(5)]
    data = Predictor.load(trained, root=str(table.parent)).predict(rows)
    predictor.data.setup("predict")
    (dataset,) = [predictor.data.dataset(split) for split in predictor.data.splits() if split == "train"]
    pixels = dataset[list(range(5))]["inputs"]
    assert pixels.dtype == torch.uint8
    if to == "torch":
        found = torch.export.load("out/model.pt2").module()(pixels).detach().numpy()
    else:
        onnxruntime = pytest.importorskip("onnxruntime")
        session = onnxruntime.InferenceSession("out/model.onnx")
        (found,) = session.run(["probabilities"], {"inputs": pixels.numpy()})
    np.testing.assert_allclose(found, data.probability, atol=1e-4)


def test_features_of_a_frozen_backbone_are_described(table, run, tmp_path):
    words = words_of(table, "--data.frozen", "true", "--data.backbone", "resnet10t", "--data.weights", "none")
    words += ["--data.cache_dir", tmp_path / "cache", "--model", "ERM", "--trainer.max_epochs", "1"]
    run("fit", *words)
    export_model("safetensors", output="out", run="runs/version_0")
    about = read_json("out/encoding.json")
    assert about["frozen"]["backbone"] == "resnet10t"
    assert len(about["frozen"]["mean"]) == 512
    assert about["inputs"] == [{"name": "inputs", "dtype": "float32", "shape": ["rows", 512]}]
