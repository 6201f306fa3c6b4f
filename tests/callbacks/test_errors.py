"""The pictures that the worst groups got wrong."""

import base64
import shutil

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from drurank.callbacks import errors as errors_module
from drurank.callbacks.errors import worst_mistakes, write_mistakes
from drurank.data import GroupedDataset, InMemory
from drurank.metrics import GroupCriteria
from drurank.training.answers import RowAnswers
from drurank.training.evaluated import EvaluatedSplit
from drurank.training.record import EpochRecord
from drurank.training.split_loss import SplitLoss
from painting import words_of, write_pictures

LABEL = torch.tensor([0, 0, 1, 1, 0, 1, 0])
GROUP = torch.tensor([0, 0, 0, 1, 1, 2, -1])
SCORE = torch.tensor([[0.0, 1.0], [0.0, 3.0], [0.0, 2.0], [2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 9.0]])


def answered():
    """A split of which group a has 1 of 3 right, b 1 of 2 and c its only one; a last row has no group."""
    pixels = torch.arange(7, dtype=torch.uint8).view(7, 1, 1, 1).expand(7, 3, 4, 4) * 30
    rows = InMemory(pixels, LABEL)
    dataset = GroupedDataset(rows, GROUP, split="ood_test", group_names=["a", "b", "c"])
    record, answers = EpochRecord(GROUP, 3), RowAnswers(7, torch.device("cpu"))
    answers.write(torch.arange(7), LABEL, SCORE)
    record.write(torch.arange(7), SCORE.argmax(dim=1) == LABEL)
    answers.commit()
    record.commit()
    loss = SplitLoss(7, torch.device("cpu"))
    return EvaluatedSplit("ood_test", "test", dataset, record, GroupCriteria(3, ("overall",)), loss, answers)


def test_the_worst_groups_come_first_and_their_surest_mistakes():
    found = worst_mistakes(answered(), ["no", "yes"])
    assert [(one.title, list(one.places)) for one in found] == [
        ("a (ood_test): 1 of 3 right", [1, 0]),
        ("b (ood_test): 1 of 2 right", [3]),
    ]
    assert found[0].said == ["no taken for yes"] * 2
    assert found[1].said == ["yes taken for no"]


def test_groups_that_criteria_leave_out_are_left_out():
    assert [one.title for one in worst_mistakes(answered(), None, min_count=3)] == ["a (ood_test): 1 of 3 right"]


def test_no_more_are_drawn_than_fit(monkeypatch):
    monkeypatch.setattr(errors_module, "GROUPS", 1)
    monkeypatch.setattr(errors_module, "ERRORS", 1)
    assert [list(one.places) for one in worst_mistakes(answered(), None)] == [[1]]


@pytest.mark.usefixtures("pictures")
def test_a_sheet_is_drawn_of_the_pictures(tmp_path):
    file = tmp_path / "errors.png"
    assert write_mistakes(file, [answered()], ["$no_", "<b>"])
    seen = imread(file)[:, :, 0].round(3)
    for row in (1, 0, 3):
        assert (seen == np.float32(row * 30 / 255).round(3)).sum() > 500


def test_there_is_no_sheet_without_mistakes(tmp_path):
    split = answered()
    split.record.correct.fill_(1)
    assert not write_mistakes(tmp_path / "errors.png", [split], None)
    assert not (tmp_path / "errors.png").exists()


@pytest.mark.parametrize("kind", ["files", "frozen", "painted", "numbers"])
def test_test_draws_a_sheet_where_rows_are_pictures(kind, run, tmp_path, capsys):
    network = ["--model.network", "ConvNet", "--model.network.channels=[4]"]
    words = words_of(write_pictures(tmp_path / "made"))
    shutil.copy("made/pics/44.png", "made/pics/45.png")  # of two labels, so that one is a mistake
    if kind == "frozen":
        words += ["--data.frozen", "true", "--data.backbone", "resnet10t", "--data.weights", "none"]
        words += ["--data.cache_dir", str(tmp_path / "cache")]
        network = []
    if kind in ("painted", "numbers"):
        words = ["--data", "PaintedShortcut" if kind == "painted" else "Shortcut"]
        words += ["--data.groups=[4,4,4]", "--data.group_size=6"]
        network = [] if kind == "numbers" else network
    few = ["--trainer.max_epochs", "1", "--model.optimizer", "AdamW", "--model.optimizer.lr", "1e-9"]
    run("fit", *words, "--model", "ERM", *network, *few)
    run("test", "--run", "runs/version_0", "--html", "--thumbnails")
    made = (tmp_path / "runs/version_0/test/qdcg10/errors.png").exists()
    assert made == (kind != "numbers")
    assert ("Pictures that the worst groups got wrong" in capsys.readouterr().out) == made
    page = (tmp_path / "runs/version_0/test/qdcg10/report.html").read_text(encoding="utf-8")
    drawn = tmp_path / "runs/version_0/test/qdcg10/errors.png"
    sheet = base64.b64encode(drawn.read_bytes()) if made else b"no picture"
    assert (sheet.decode() in page) == made == ("<h2>Mistakes</h2>" in page)


def test_a_page_shows_pictures_only_where_that_is_asked(run, tmp_path, refused):
    words = words_of(write_pictures(tmp_path / "made"), "--model", "ERM", "--model.network", "ConvNet")
    run("fit", *words, "--model.network.channels=[4]", "--trainer.max_epochs", "1")
    said = refused("test", "--run", "runs/version_0", "--thumbnails")
    assert "--thumbnails are shown on the page, and none is asked for; give --html true too" in said
    run("test", "--run", "runs/version_0", "--html")
    page = (tmp_path / "runs/version_0/test/qdcg10/report.html").read_text(encoding="utf-8")
    assert "<h2>Mistakes</h2>" not in page
