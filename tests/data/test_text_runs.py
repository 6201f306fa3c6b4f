"""Runs on texts, and what their checkpoints bring."""

import contextlib
import json
import logging
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoTokenizer

from drurank.cli import main
from drurank.data import Text
from drurank.errors import InputError
from drurank.methods import DFR, DRU, ERM, JTT
from drurank.networks import MLP, TextClassifier
from encoders import write_tiny
from runs import read_csv, read_json
from texts import SPLITS, data_of, ready, rows, words_of

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture(scope="module")
def trained(tiny, run, tmp_path_factory):
    """The folder of a finished run of ERM."""
    folder = tmp_path_factory.mktemp("trained")
    pq.write_table(pa.table(rows()), folder / "t.parquet")
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        run("fit", *words_of(str(folder / "t.parquet"), tiny))
    return folder / "runs/version_0"


@pytest.fixture
def copied(trained, tmp_path):
    """A copy of that run as runs/version_0 of the test's folder."""
    shutil.copytree(trained, tmp_path / "runs/version_0")


# Runs


@pytest.mark.parametrize(
    "method", ["ERM", "DRU", "Worst", "Const", "GroupDRO", "IRM", "CVaR", "ChiSquare", "JTT", "DFR"]
)
def test_every_method_fine_tunes_and_its_report_is_complete(table, tiny, run, method, capsys):
    more = ["--model.first_stage_epochs", "1"] if method == "JTT" else []
    run("fit", *words_of(table, tiny, *more, method=method))
    logged = [row for row in read_csv("runs/version_0/metrics.csv") if "val_qdcg10" in row]
    assert len(logged) == 2
    assert all(np.isfinite(float(value)) for row in logged for value in row.values())
    if method not in ("ERM", "DRU", "JTT", "DFR"):
        return  # a report reads what is in the run's folder, and these keep there what DRU keeps
    run("test", "--run", "runs/version_0")
    folder = Path("runs/version_0/test/qdcg10")
    report, groups = read_json(folder / "report.json"), read_csv(folder / "groups.csv")
    assert report["splits"]["ood_test"]["rows"] == 24
    assert report["splits"]["id_test"]["rows"] == 12
    made = rows()
    for split in ("ood_test", "id_test"):
        found = {row["group"]: int(row["count"]) for row in groups if row["split"] == split}
        writers = [writer for writer, name in zip(made["writer"], made["split"], strict=True) if name == split]
        assert found == {writer: writers.count(writer) for writer in set(writers)}
    longer = [len(text.split()) > 30 for text, name in zip(made["text"], made["split"], strict=True) if name == "train"]
    assert "cut off after 32 tokens" not in capsys.readouterr().out  # none of the tested ones
    assert report["texts"] == {
        "max_length": 32,
        "truncated": {"train": sum(longer), "id_val": 0, "ood_val": 0, "id_test": 0, "ood_test": 0},
    }


def test_texts_that_are_cut_off_are_said_at_the_end_of_a_test(table, tiny, run, capsys):
    run("fit", *words_of(table, tiny, "--data.max_length", "8"))
    run("test", "--run", "runs/version_0")
    made = rows()
    longer = [
        len(text.split()) > 6 for text, split in zip(made["text"], made["split"], strict=True) if split == "ood_test"
    ]
    assert f"ood_test: of 24 texts {sum(longer)} were cut off after 8 tokens." in capsys.readouterr().out


def test_fine_tuning_learns_what_a_word_says(table, tiny, run):
    run(
        "fit",
        *words_of(table, tiny, "--trainer.max_epochs", "24", "--model.optimizer.lr", "3e-3", "--select", "overall"),
    )
    found = read_json("runs/version_0/selection.json")["overall"]
    assert found["value"] > 0.9


def test_a_frozen_encoder_gives_standardised_features_to_a_small_network(table, tiny, run, monkeypatch):
    data = ready(table, tiny, frozen=True)
    features = data.dataset("train").dataset.inputs
    torch.testing.assert_close(features.mean(dim=0), torch.zeros(16), atol=1e-5, rtol=0)
    torch.testing.assert_close(features.std(dim=0, correction=0), torch.ones(16), atol=1e-5, rtol=0)
    run("fit", *words_of(table, tiny, "--data.frozen", "true", "--data.max_length", "64", network="MLP"))
    monkeypatch.setattr("drurank.text.features._write", None)  # whoever computes features again fails
    run("fit", *words_of(table, tiny, "--data.frozen", "true", "--data.max_length", "64", network=None, method="DRU"))
    run("test", "--run", "runs/version_1")
    assert read_json("runs/version_1/test/qdcg10/report.json")["texts"]["max_length"] == 64


def test_features_are_standardised_alike_in_pieces(table, tiny, monkeypatch):
    whole = ready(table, tiny, frozen=True).dataset("id_val").dataset.inputs
    monkeypatch.setattr("drurank.data.standards.PIECE", 7)
    torch.testing.assert_close(ready(table, tiny, frozen=True).dataset("id_val").dataset.inputs, whole)


def test_features_of_another_encoder_with_the_same_tokenizer_are_refused(table, tiny, run, tmp_path, capsys):
    from transformers import AutoModel

    run("fit", *words_of(table, tiny, "--data.frozen", "true", network="MLP"))
    other = write_tiny(tmp_path / "other", seed=1)
    assert not torch.equal(*(AutoModel.from_pretrained(f).embeddings.word_embeddings.weight for f in (tiny, other)))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        run("test", "--run", "runs/version_0", "--data.tokenizer", str(other))
    assert "trained on features of another encoder" in capsys.readouterr().err


def test_frozen_and_network_that_do_not_go_together(table, tiny, capsys):
    with pytest.raises(SystemExit):
        main(["fit", *words_of(table, tiny, network="MLP")])
    assert "MLP takes numbers; give --model.network TextClassifier, or --data.frozen true" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["fit", *words_of(table, tiny, "--data.frozen", "true")])
    assert "TextClassifier takes tokens of texts" in capsys.readouterr().err


def test_a_high_rate_is_warned_of(table, tiny, trainer):
    with pytest.warns(UserWarning, match="the learning rate is 0.001; above 0.0001"):
        trainer().fit(ERM(TextClassifier), datamodule=data_of(table, tiny))


def test_dropout_is_on_in_each_training_step(table, tiny, trainer):
    class Watched(ERM):
        def training_step(self, batch, batch_idx):
            assert all(module.training for module in self.network.modules())
            self.steps = getattr(self, "steps", 0) + 1
            return super().training_step(batch, batch_idx)

    model = Watched(TextClassifier)
    trainer(max_epochs=2).fit(model, datamodule=data_of(table, tiny))
    assert model.steps == 16


def test_a_second_training_starts_from_the_pretrained_weights(table, tiny, trainer):
    starts = []

    class Watched(JTT):
        def on_train_batch_start(self, batch, batch_idx):
            super().on_train_batch_start(batch, batch_idx)
            if batch_idx == 0:
                starts.append(self.network.encoder.embeddings.word_embeddings.weight.detach().clone())

    trainer(max_epochs=2).fit(Watched(network=TextClassifier, first_stage_epochs=1), datamodule=data_of(table, tiny))
    from transformers import AutoModel

    pretrained = AutoModel.from_pretrained(tiny).embeddings.word_embeddings.weight
    assert torch.equal(starts[0], pretrained)
    assert torch.equal(starts[1], pretrained)


# Checkpoints


def test_a_checkpoint_needs_the_tokenizer_and_no_encoder(table, tiny, run, tmp_path):
    folder = write_tiny(tmp_path / "encoder")
    run("fit", *words_of(table, folder, method="DRU"))
    (folder / "model.safetensors").unlink()
    (folder / "config.json").unlink()
    run("test", "--run", "runs/version_0")
    checkpoint = "runs/version_0/checkpoints/qdcg10.ckpt"
    saved = torch.load(checkpoint, weights_only=True)
    model = DRU.load_from_checkpoint(checkpoint)
    for name, parameter in model.network.named_parameters():
        assert torch.equal(parameter, saved["state_dict"][f"network.{name}"])


def test_other_rows_are_read_as_training_read_its_own(copied, tiny, run, tmp_path):
    other = {"review": ["good", "bad " * 50], "who": ["x", "y"]}
    pq.write_table(pa.table(other), tmp_path / "o.parquet")
    checkpoint = "runs/version_0/checkpoints/qdcg10.ckpt"
    words = ["--data.path", "o.parquet", "--data.text", "review", "--data.group", "who", "--data.max_length", "60"]
    run("predict", "--ckpt_path", checkpoint, *words)
    found = pq.read_table("runs/version_1/predictions.parquet").to_pydict()
    assert found["row"] == [0, 1]
    assert found["group"] == ["x", "y"]
    data = Text.load_from_checkpoint(
        checkpoint, path="o.parquet", label="stars", group="who", text="review", max_length=60
    )
    assert data.tokenizer == str(tiny)
    assert data.sizes.max_length == 32
    with pytest.warns(
        UserWarning, match="max_length=60 has no effect: texts are read as in training, with max_length=32"
    ):
        run("predict", "--ckpt_path", checkpoint, *words)
    model = ERM.load_from_checkpoint(checkpoint).eval()
    alone = AutoTokenizer.from_pretrained(tiny)
    for row, text in enumerate(other["review"]):
        ids = torch.tensor([alone(text, truncation=True, max_length=32)["input_ids"]])
        with torch.no_grad():
            expected = model({"input_ids": ids}).softmax(dim=1)[0]
        torch.testing.assert_close(torch.tensor(found["probabilities"][row]), expected, atol=1e-6, rtol=0)


def test_blank_texts_are_counted_at_prediction_too(copied, run, tmp_path, caplog):
    pq.write_table(pa.table({"text": ["good", "", " \n", "bad", None]}), tmp_path / "o.parquet")
    with caplog.at_level(logging.INFO):
        run("predict", "--ckpt_path", "runs/version_0/checkpoints/qdcg10.ckpt", "--data.path", "o.parquet")
    (said,) = [message for message in caplog.messages if "tokens on average" in message]
    assert said.startswith("o.parquet: 5 texts of ")
    assert said.endswith(", 3 blank, of which nothing can be learned or predicted")


def test_another_tokenizer_is_refused_with_a_checkpoint(copied, run, tmp_path, capsys):
    other = write_tiny(tmp_path / "other")
    said = json.loads((other / "tokenizer.json").read_text())
    said["normalizer"]["lowercase"] = False
    (other / "tokenizer.json").write_text(json.dumps(said))
    with pytest.raises(SystemExit):
        run("test", "--run", "runs/version_0", "--data.tokenizer", str(other))
    assert "cut by another tokenizer" in capsys.readouterr().err


def test_other_pools_than_those_of_the_checkpoint_are_said(copied, run):
    more = ["--data.pool_batches", "2", "--trainer.max_epochs", "3"]
    with pytest.warns(UserWarning, match=r"of 8 rows by shuffle, by length in pools of 50; .* in pools of 2$"):
        run("fit", "--ckpt_path", "runs/version_0/checkpoints/last.ckpt", *more)


def test_a_resumed_run_is_the_run_that_was_left_alone(table, tiny, run):
    run("fit", *words_of(table, tiny, "--trainer.max_epochs", "3", method="DRU"))
    run("fit", *words_of(table, tiny, "--trainer.max_epochs", "2", method="DRU"))
    run("fit", "--ckpt_path", "runs/version_1/checkpoints/last.ckpt", "--trainer.max_epochs", "3")
    one, other = (torch.load(f"runs/version_{i}/checkpoints/last.ckpt", weights_only=True) for i in (0, 1))
    for name, tensor in one["state_dict"].items():
        assert torch.equal(tensor, other["state_dict"][name]), name


def test_other_training_texts_are_refused_on_resume(copied, run, tmp_path, capsys):
    made = rows()
    made["text"][0] += " c"
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    words = ["--ckpt_path", "runs/version_0/checkpoints/last.ckpt", "--trainer.max_epochs", "3"]
    with pytest.raises(SystemExit):
        run("fit", *words, "--data.path", "t.parquet")
    assert "other training data" in capsys.readouterr().err


def test_an_unknown_tokenizer_ends_a_fit_before_it_begins(table, capsys, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SystemExit) as left:
        main(["fit", *words_of(table, "nobody/no-such-encoder")])
    assert left.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("error: there is no folder 'nobody/no-such-encoder'")
    assert not os.path.exists("runs")


def test_dfr_reads_the_features_of_a_text_classifier(table, tiny, trainer):
    model = DFR(network=TextClassifier)
    trainer(max_epochs=1).fit(model, datamodule=data_of(table, tiny))
    assert model.network.head.out_features == 3


def test_default_network_on_texts_says_what_to_give(table, tiny, trainer):
    with pytest.raises(InputError, match=r"network=TextClassifier"):
        trainer().fit(ERM(MLP), datamodule=data_of(table, tiny))


def test_a_frozen_run_goes_on_where_another_machine_rounds_features_otherwise(table, tiny, run, monkeypatch):
    words = words_of(table, tiny, "--data.frozen", "true", network=None, method="DRU")
    run("fit", *words, "--trainer.max_epochs", "1")
    from drurank.text import features

    real = features._write

    def rounds(folder, *rest):
        real(folder, *rest)
        kept = np.load(folder / "features.npy")
        np.save(folder / "features.npy", kept * np.float32(1 + 1e-6))

    monkeypatch.setattr(features, "_write", rounds)
    monkeypatch.setenv("XDG_CACHE_HOME", "other_cache")
    run("fit", "--ckpt_path", "runs/version_0/checkpoints/last.ckpt", "--trainer.max_epochs", "2")
    assert len(read_csv("runs/version_0/metrics.csv")) == 4  # two rows an epoch
    one = torch.load("runs/version_0/checkpoints/last.ckpt", weights_only=True)
    assert one["epoch"] == 1


def test_a_scheduler_by_steps_is_no_hindrance_to_load_what_it_trained(table, tiny, run):
    words = ["--model.lr_scheduler", "LinearDecay", "--model.lr_interval", "step"]
    run("fit", *words_of(table, tiny, *words))
    model = ERM.load_from_checkpoint("runs/version_0/checkpoints/last.ckpt")
    assert model.optimization.lr_interval == "epoch"
    assert model.optimization.lr_scheduler is None


def test_another_longest_text_is_named_on_resume(copied, run, capsys):
    with pytest.raises(SystemExit):
        run("fit", "--ckpt_path", "runs/version_0/checkpoints/last.ckpt", "--data.max_length", "8")
    assert "its network has --data.max_length 32, and here 8" in capsys.readouterr().err


def test_a_table_without_the_split_says_how_to_test_all_of_it(copied, run, tmp_path, capsys):
    made = rows()
    other = {name: cells for name, cells in made.items() if name != "split"}
    pq.write_table(pa.table(other), tmp_path / "o.parquet")
    words = ["--ckpt_path", "runs/version_0/checkpoints/last.ckpt", "--data.path", "o.parquet"]
    with pytest.raises(SystemExit):
        run("test", *words)
    assert "--data.split null" in capsys.readouterr().err
    run("test", *words, "--data.split", "null")
    assert read_json("runs/version_1/report.json")["splits"]["test"]["rows"] == sum(SPLITS.values())
