"""Runs on pictures: every method and sampler, studies, workers, and a kill while the cache is built."""

import logging
import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from drurank.data import Images
from drurank.images import pixels as pixels_module
from drurank.methods import DFR
from drurank.networks import ImageClassifier
from painting import NAMES, SPLITS, words_of, write_pictures
from runs import plain, read_csv, read_json, same
from studies import finish, manifests

SMALL = ["--model.network", "ConvNet", "--model.network.channels=[4]", "--trainer.max_epochs"]
METHODS = ["ERM", "DRU", "Worst", "Const", "GroupDRO", "IRM", "CVaR", "ChiSquare", "JTT", "DFR"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_pictures(tmp_path_factory.mktemp("of_images") / "made")


def images(table, **options):
    return Images(str(table), **{**NAMES, "size": 16, "batch_size": 8, **options})


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_and_its_report_is_complete(table, run, method):
    more = ["--model.first_stage_epochs", "1"] if method == "JTT" else []
    run("fit", *words_of(table, "--model", method, *SMALL, "2" if more else "1", *more, "--data.augment", "light"))
    logged = [row for row in read_csv("runs/version_0/metrics.csv") if "val_qdcg10" in row]
    assert len(logged) == (2 if more else 1)
    assert all(np.isfinite(float(value)) for row in logged for value in row.values())
    run("test", "--run", "runs/version_0")
    folder = Path("runs/version_0/test/qdcg10")
    found = read_json(folder / "report.json")["splits"]["ood_test"]
    assert (found["rows"], found["groups"]) == (SPLITS["ood_test"], 3)
    groups = [row for row in read_csv(folder / "groups.csv") if row["split"] == "ood_test"]
    assert {row["group"]: int(row["count"]) for row in groups} == {f"ood_test{place}": 4 for place in range(3)}
    wrong = any(int(row["correct"]) < int(row["count"]) for row in groups)
    assert (folder / "errors.png").is_file() == wrong


@pytest.mark.parametrize(
    "sampler",
    [
        {"sampler": "balanced"},
        {"sampler": "subsample"},
        {"sampler": "groups_per_batch", "groups_per_batch": 2},
        {"drop_last": True},
        {"num_workers": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("cached", [True, False])
def test_each_row_of_a_batch_is_its_own_picture_and_label(table, tmp_path, sampler, cached):
    more = {"augment": "standard", "cache_dir": str(tmp_path / "cache")} if cached else {"augment": "light"}
    data, should = (images(table, **more, **of) for of in (sampler, {}))
    for one in (data, should):
        one.setup("fit")
    rows = should.dataset("train")
    for epoch in (0, 1):
        loader = data.training_loader(None)
        loader.sampler.set_epoch(epoch)
        drawn = []
        for batch in loader:
            places = batch["index"].numpy()
            drawn += places.tolist()
            alone = rows.dataset.cut_batch(places, epoch)
            assert torch.equal(batch["inputs"], alone["inputs"])
            assert torch.equal(batch["label"], alone["label"])
            assert torch.equal(batch["group"], rows.group[batch["index"]])
        if "sampler" not in sampler:
            assert sorted(drawn) == list(range(SPLITS["train"]))


def test_dfr_reads_the_features_of_an_image_classifier(table, trainer):
    model = DFR(network=lambda sizes: ImageClassifier(sizes, backbone="resnet10t", weights="none", freeze="norm"))
    trainer(max_epochs=1).fit(model, datamodule=images(table, size=32))
    assert model.network.head.out_features == 2


@pytest.mark.parametrize("stack_size", [1, 4])
def test_settings_of_a_study_are_the_fits_alone(table, run, tmp_path, stack_size, caplog):
    network = {"class_path": "drurank.networks.ConvNet", "init_args": {"channels": [4]}}
    data = {**NAMES, "path": str(table), "size": 16, "batch_size": 8, "cache_dir": str(tmp_path / "cache")}
    plan = {
        "model": {"init_args": {"network": network}},
        "data": {"class_path": "drurank.data.Images", "init_args": data},
        "trainer": {"max_epochs": 1, "accelerator": "cpu"},
        "candidates": [{"model": "ERM"}, {"model": "DRU", "cutoff": 50}],
        "seeds": [3],
        "criteria": ["qdcg10"],
    }
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
    with caplog.at_level(logging.INFO):
        queue = finish(tmp_path / "plan.yaml", tmp_path / "study", stack_size=stack_size)
    assert queue is not None
    assert (sum("convolutions" in message for message in caplog.messages) == 2) == (stack_size > 1)
    found = manifests(tmp_path / "study")
    assert {one["method"] for one in found.values()} == {"ERM", "qDRU+M"}
    assert len({one["data"]["fingerprint"] for one in found.values()}) == 1
    run("fit", *words_of(table, "--model", "ERM", *SMALL, "1", "--seed_everything", "3"))
    (key,) = [key for key, one in found.items() if one["method"] == "ERM"]
    alone = read_json("runs/version_0/selection.json")["qdcg10"]["value"]
    assert found[key]["selection"]["qdcg10"]["value"] == alone


def test_a_kill_while_the_cache_is_built_leaves_nothing_that_is_read(table, tmp_path, monkeypatch):
    plain_square = pixels_module.Decoded.square

    def dies(self, row):
        if row == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain_square(self, row)

    def killed():
        pixels_module.Decoded.square = dies
        images(table, cache_dir=str(tmp_path / "cache")).setup("fit")

    monkeypatch.setattr(pixels_module, "AT_ONCE", 8)  # some are written by then
    process = multiprocessing.get_context("fork").Process(target=killed)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    cached, decoded = images(table, cache_dir=str(tmp_path / "cache")), images(table)
    for data in (cached, decoded):
        data.setup("fit")
    rows = np.arange(SPLITS["train"])
    batches = [data.dataset("train").dataset.cut_batch(rows)["inputs"] for data in (cached, decoded)]
    assert torch.equal(*batches)


def test_a_run_that_was_left_in_its_first_epochs_goes_on_as_if_it_had_not_been(table, run, tmp_path):
    words = words_of(table, "--model", "JTT", "--model.first_stage_epochs", "1", "--data.augment", "standard", *SMALL)
    cache = ["--data.cache_dir", str(tmp_path / "cache")]
    run("fit", *words, "3")
    run("fit", *words, "2", *cache)
    run("fit", "--ckpt_path", "runs/version_1/checkpoints/last.ckpt", "--trainer.max_epochs", "3", *cache)
    one, other = (plain(f"runs/version_{number}/checkpoints/last.ckpt") for number in (0, 1))
    assert same(one["state_dict"], other["state_dict"])
    assert same(one["drurank"], other["drurank"])
