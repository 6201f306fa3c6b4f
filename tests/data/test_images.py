"""Pictures from tables, folders and cells."""

import csv
import json
import multiprocessing
import os
import shutil
import unicodedata
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from drurank import Predictor
from drurank.cache import _sum_of
from drurank.data import Images
from drurank.data import images as images_module
from drurank.errors import InputError
from drurank.images import pixels as pixels_module
from drurank.images.decoding import read_picture, squared
from drurank.methods import ERM
from drurank.networks import ConvNet
from drurank.tabular.taken import columns_taken
from drurank.training.checkpoint import method_state
from drurank.training.resume_checks import check_resume
from painting import NAMES, SPLITS, noise, red_or_blue, words_of, write_pictures


@pytest.fixture
def table(tmp_path):
    return write_pictures(tmp_path / "made")


def images(path, **options):
    return Images(str(path), **{**NAMES, "size": 16, "batch_size": 8, **options})


def ready(path, **options):
    data = images(path, **options)
    data.setup("fit")
    return data


def inputs_of(data, split="train"):
    dataset = data.dataset(split)
    return dataset[list(range(len(dataset)))]["inputs"]


def rewrite(table, change):
    """Change the lines of a table, the first of which is its head."""
    lines = list(csv.reader(table.read_text(encoding="utf-8").splitlines()))
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(change(lines))


def in_cells(table, target, as_struct):
    """The same rows in a Parquet file that holds the pictures."""
    lines = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    held = [(table.parent / line["file"]).read_bytes() for line in lines]
    cells = [{"bytes": one, "path": line["file"]} for one, line in zip(held, lines, strict=True)]
    rest = {name: [line[name] for line in lines] for name in ("y", "place", "split")}
    pq.write_table(pa.table({"file": cells if as_struct else held, **rest}), target)
    return target


# What is read


def test_rows_are_the_pictures_their_labels_and_groups(table):
    data = ready(table)
    train = data.dataset("train")
    assert data.sizes.image_size == 16
    assert data.label_names == ["blue", "red"]
    assert train.group_names[:3] == ["0", "1", "2"]
    assert [len(data.dataset(split)) for split in SPLITS] == list(SPLITS.values())
    batch = train[[5, 0]]
    assert batch["inputs"].dtype == torch.uint8
    assert batch["label"].tolist() == [0, 1]
    assert batch["group"].tolist() == [2, 0]
    for place, row in enumerate((5, 0)):
        square = squared(read_picture(table.parent / f"pics/{row}.png"), 18)  # 8/7 of 16
        assert (batch["inputs"][place].numpy() == square[:, 1:17, 1:17]).all()
    assert train[5]["inputs"].shape == (3, 16, 16)


@pytest.mark.parametrize("as_struct", [True, False])
def test_pictures_in_cells_are_those_of_files(table, tmp_path, as_struct):
    held = in_cells(table, tmp_path / "held.parquet", as_struct)
    of_files, of_cells = ready(table), ready(held)
    for split in SPLITS:
        assert torch.equal(inputs_of(of_files, split), inputs_of(of_cells, split))
    assert of_files.dataset("train").fingerprint() == of_cells.dataset("train").fingerprint()


def test_a_folder_that_datasets_saved_is_read(table, tmp_path):
    from datasets import Dataset, Features, Value
    from datasets import Image as ImageFeature

    lines = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    rows = {name: [line[name] for line in lines] for name in ("y", "place", "split")}
    rows["file"] = [str(table.parent / line["file"]) for line in lines]
    kinds = {name: Value("string") for name in ("y", "place", "split")} | {"file": ImageFeature()}
    dataset = Dataset.from_dict(rows, features=Features(kinds))
    dataset.save_to_disk(tmp_path / "saved")
    should = inputs_of(ready(table))
    assert torch.equal(inputs_of(ready(tmp_path / "saved", root="/")), should)
    given = Images(dataset, **NAMES, size=16, root="/")
    given.setup("fit")
    assert torch.equal(inputs_of(given), should)


def test_a_folder_of_folders_is_a_table(tmp_path):
    for split, number in {"train": 8, "valid": 4, "test": 4}.items():
        for row in range(number):
            folder = tmp_path / "pics" / split / f"place{row % 2}" / ("red" if row % 4 < 2 else "blue")
            folder.mkdir(parents=True, exist_ok=True)
            red_or_blue(row % 4 // 2, row).save(folder / f"{row}.png")
    (tmp_path / "pics" / "notes.txt").write_text("by me")
    (tmp_path / "pics" / ".DS_Store").write_text("")
    data = Images(str(tmp_path / "pics"), split="split", group="place", levels="split,place,label", size=16)
    data.setup("fit")
    assert {split: len(data.dataset(split)) for split in data.splits()} == {"train": 8, "val": 4, "test": 4}
    assert data.label_names == ["blue", "red"]
    assert data.dataset("train").group_names == ["place0", "place1"]
    red = inputs_of(data)[data.dataset("train")[list(range(8))]["label"] == 1]
    assert len(red) == 4
    assert (red[:, 0].float().mean(dim=(1, 2)) > red[:, 2].float().mean(dim=(1, 2)) + 50).all()
    with pytest.raises(InputError, match=r"lies in 3 folders, and levels names 2 \(split, label\)"):
        Images(str(tmp_path / "pics"), split="split", levels="split,label").setup("fit")


@pytest.mark.parametrize("name", ["dev", "valid", "Validation"])
def test_a_folder_that_split_names_gives_a_meaning_to(tmp_path, name):
    for split in ("train", name):
        for row in range(8):
            folder = tmp_path / split / ("red" if row % 4 < 2 else "blue")
            folder.mkdir(parents=True, exist_ok=True)
            red_or_blue(row % 4 // 2, row).save(folder / f"{row}.png")
    folders = {"split": "split", "levels": "split,label", "size": 16}
    for split_names, split in ((None, "val"), ({name: "ood_val"}, "ood_val"), ({name: "id_val"}, "id_val")):
        data = Images(str(tmp_path), **folders, split_names=split_names)
        data.setup("fit")
        assert data.splits() == ["train", split]


def test_a_row_is_another_one_in_each_epoch_of_training_alone(table):
    data = ready(table, augment="standard")
    (first, second) = (torch.cat([batch["inputs"] for batch in _epoch(data, epoch)]).sum().item() for epoch in (0, 1))
    assert first != second
    assert torch.equal(inputs_of(data, "ood_val"), inputs_of(ready(table), "ood_val"))


def _epoch(data, epoch):
    loader = data.training_loader(None)
    loader.sampler.set_epoch(epoch)
    return list(loader)


def test_an_augmentation_is_tried_out_once_a_fit(table, monkeypatch):
    made, plain = [], images_module.Augmentation
    monkeypatch.setattr(images_module, "Augmentation", lambda *given: made.append(given) or plain(*given))
    data = ready(table, augment="light")
    for split in SPLITS:
        inputs_of(data, split)
    assert made == [("light", 16, 18)]


# The cache


@pytest.fixture
def decoded(monkeypatch):
    """Rows that were decoded."""
    seen, plain = [], pixels_module.Decoded.square
    monkeypatch.setattr(pixels_module.Decoded, "square", lambda self, row: seen.append(row) or plain(self, row))
    return seen


def test_pictures_are_decoded_once_for_all(table, tmp_path, decoded):
    plain = ready(table)
    should = {split: inputs_of(plain, split) for split in SPLITS}
    decoded.clear()
    for _ in range(2):
        data = ready(table, cache_dir=str(tmp_path / "cache"))
        for split in SPLITS:
            assert torch.equal(inputs_of(data, split), should[split])
    assert sorted(decoded) == list(range(sum(SPLITS.values())))


def test_other_pictures_and_sizes_are_decoded_anew(table, tmp_path, decoded):
    where = {"cache_dir": str(tmp_path / "cache")}
    inputs_of(ready(table, **where))
    for change in (
        lambda: red_or_blue(1, 99).save(table.parent / "pics/3.png"),
        lambda: os.utime(table.parent / "pics/3.png", ns=(1, 1)),
    ):
        change()
        decoded.clear()
        changed = inputs_of(ready(table, **where))
        assert len(decoded) == sum(SPLITS.values())
        assert torch.equal(changed, inputs_of(ready(table)))
    decoded.clear()
    inputs_of(ready(table, size=12, **where))
    assert len(decoded) == sum(SPLITS.values())


def test_a_cache_of_another_process_is_waited_for(table, tmp_path):
    context = multiprocessing.get_context("fork")
    results = context.Queue()

    def one():
        data = ready(table, cache_dir=str(tmp_path / "cache"))
        results.put(int(inputs_of(data).sum()))

    processes = [context.Process(target=one) for _ in range(2)]
    for process in processes:
        process.start()
    sums = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sums == [int(inputs_of(ready(table)).sum())] * 2
    assert len([folder for folder in (tmp_path / "cache/pixels").iterdir() if folder.is_dir()]) == 1


def test_half_a_cache_of_a_process_that_was_killed_is_made_anew(table, tmp_path):
    data = ready(table, cache_dir=str(tmp_path / "cache"))
    (made,) = [folder for folder in (tmp_path / "cache/pixels").iterdir() if folder.is_dir()]
    should = inputs_of(data).clone()
    beside = made.with_name(f".{made.name}")
    shutil.move(made, beside)  # where it is written, before it is whole
    with (beside / "pixels.npy").open("r+b") as file:
        file.truncate(1000)
    assert torch.equal(inputs_of(ready(table, cache_dir=str(tmp_path / "cache"))), should)


def test_a_cache_that_was_changed_is_refused(table, tmp_path):
    ready(table, cache_dir=str(tmp_path / "cache"))
    (made,) = (tmp_path / "cache/pixels").glob("*/pixels.npy")
    with made.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x07\x07")
    with pytest.raises(InputError, match=r"pixels.npy is damaged: .* delete that folder"):
        inputs_of(ready(table, cache_dir=str(tmp_path / "cache")))


# What cannot be read


def break_(table, row, how):
    file = table.parent / f"pics/{row}.png"
    {"missing": file.unlink, "empty": lambda: file.write_bytes(b""), "text": lambda: file.write_text("no picture")}[
        how
    ]()


@pytest.mark.parametrize(
    ("how", "said"),
    [("missing", "is not found"), ("empty", "is empty (0 bytes)"), ("text", "is not a picture, or of a format")],
)
def test_a_picture_that_is_none_is_found_before_training(table, how, said):
    break_(table, 3, how)
    with pytest.raises(InputError) as refused:
        ready(table)
    assert str(refused.value).startswith(f"{table}: column 'file', row 3 (the first is 0): 'pics/3.png' {said}")
    break_(table, 40, how)
    with pytest.raises(InputError, match="one of 2 pictures that cannot be used; fix or remove it, or leave such rows"):
        ready(table)


@pytest.mark.parametrize("whole", [True, False])
def test_half_a_picture_is_found_where_whole_ones_are_read(table, tmp_path, whole):
    file = table.parent / "pics/3.png"
    file.write_bytes(file.read_bytes()[:300])
    options = {"check": "whole"} if whole else {"cache_dir": str(tmp_path / "cache")}
    with pytest.raises(InputError, match=r"row 3 \(the first is 0\): 'pics/3.png' is broken"):
        ready(table, **options)
    if whole:
        return
    data = ready(table)  # heads alone
    with pytest.raises(InputError, match=r"'pics/3.png' is broken .*; fix or remove it, or leave such rows out"):
        inputs_of(data)


def test_rows_whose_pictures_are_broken_are_left_out_and_counted(table):
    for row, how in ((3, "missing"), (5, "empty"), (33, "text")):
        break_(table, row, how)
    file = table.parent / "pics/7.png"
    file.write_bytes(file.read_bytes()[:300])
    with pytest.warns(
        UserWarning, match=r"left out 4 of 56 rows .* \(train 3, ood_val 1\), as .*'pics/3.png' is not found"
    ):
        data = ready(table, broken="drop", check="whole")
    assert [len(data.dataset(split)) for split in SPLITS] == [29, 11, 12]
    assert data.dataset("train").rows.tolist() == [row for row in range(32) if row not in (3, 5, 7)]
    assert inputs_of(data).shape == (29, 3, 16, 16)
    assert data.facts() == {"pictures": {"size": 16, "resize": 18, "broken": 4}}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../other.png", "lies outside of the folder of the table"),
        ("/etc/passwd", "lies outside of the folder of the table"),
        ("pics/../../other.png", "lies outside of"),
        ("", "a blank cell names no picture"),
        ("pics", "is not a file"),
        ("pics/3.PNG", "is not found"),
    ],
)
def test_names_that_lead_nowhere_are_said(table, name, said):
    Image.fromarray(noise()).save(table.parent.parent / "other.png")
    rewrite(table, lambda lines: [*lines[:4], [name, *lines[4][1:]], *lines[5:]])
    with pytest.raises(InputError, match=said) as refused:
        ready(table)
    assert "row 3 (the first is 0)" in str(refused.value)


@pytest.mark.parametrize(("written", "saved"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_name_that_only_looks_the_same_is_said(table, written, saved):
    name = "Überlingen ä.png"
    (table.parent / "pics" / "3.png").rename(table.parent / "pics" / unicodedata.normalize(saved, name))
    cell = f"pics/{unicodedata.normalize(written, name)}"
    rewrite(table, lambda lines: [*lines[:4], [cell, *lines[4][1:]], *lines[5:]])
    with pytest.raises(InputError, match="the same name in another Unicode form; rename one of them"):
        ready(table)


def test_a_root_may_lie_elsewhere(table, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.move(table.parent / "pics", moved / "pics")
    with pytest.raises(InputError, match="is not found, one of 56 pictures"):
        ready(table)
    assert inputs_of(ready(table, root=str(moved))).shape[0] == 32


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"image": "y"}, "image is 'y', and so is the label"),
        ({"size": 0}, "size is 0"),
        ({"size": 32, "resize": 16}, "resize is 16 and size 32; give 32 or more"),
        ({"resize": 5000}, "at most 4096"),
        ({"augment": "much"}, "augment is 'much'"),
        ({"check": "some"}, "check is 'some'"),
        ({"broken": "skip"}, "broken is 'skip'"),
        ({"backbone": "resnet18"}, "backbone is 'resnet18' and frozen is False"),
        ({"weights": "none"}, "weights is 'none' and frozen is False"),
        ({"frozen": True, "augment": "light"}, "augment is 'light' and the features are computed once"),
        ({"levels": "split,label"}, r"levels is \['split', 'label'\] and .* no folder of folders"),
        ({"image": "picture"}, "has no column 'picture'"),
        ({"image": "number"}, "column 'number' holds int64 and no pictures or names of files"),
    ],
)
def test_options_that_mean_nothing_are_said(table, tmp_path, options, said):
    path = table
    if options.get("image") == "number":
        lines = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
        path = tmp_path / "t.parquet"
        pq.write_table(pa.Table.from_pylist([{**line, "number": row} for row, line in enumerate(lines)]), path)
    with pytest.raises(InputError, match=said):
        ready(path, **options)


def test_linked_folders_are_those_they_lead_to(tmp_path):
    write_pictures(tmp_path / "made")
    (tmp_path / "pics/train").mkdir(parents=True)
    for name in ("red", "blue"):
        os.symlink(tmp_path / "made/pics", tmp_path / "pics/train" / name)
    data = Images(str(tmp_path / "pics"), levels="split,label", split="split", size=16)
    assert data.raw_rows().label_names == ["blue", "red"]
    assert len(data.raw_rows().label) == 112
    os.symlink(tmp_path / "pics", tmp_path / "pics/train/loop")
    with pytest.raises(InputError, match="loop is a link to a folder that it lies in"):
        Images(str(tmp_path / "pics"), levels="split,label", split="split").raw_rows()


def test_other_pictures_of_the_same_size_are_other_data(tmp_path):
    table = write_pictures(tmp_path / "made", ending="bmp")
    for row in range(2):
        Image.fromarray(noise(20, row)).save(table.parent / f"pics/{row}.bmp")
    before = ready(table).dataset("train").fingerprint()
    assert ready(table).dataset("train").fingerprint() == before
    first, second = (table.parent / f"pics/{row}.bmp" for row in range(2))
    held = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(held)
    assert ready(table).dataset("train").fingerprint() != before


@pytest.mark.parametrize("forged", [(56, 3, 8, 8), (55, 3, 18, 18), (56, 972), ()])
def test_a_cache_of_another_shape_is_refused(table, tmp_path, forged):
    where = {"cache_dir": str(tmp_path / "cache")}
    ready(table, **where)
    (made,) = [folder for folder in (tmp_path / "cache/pixels").iterdir() if folder.is_dir()]
    np.save(made / "pixels.npy", np.zeros(forged, np.uint8))
    (made / "sums.json").write_text(json.dumps({"pixels.npy": _sum_of(made / "pixels.npy")}))
    with pytest.raises(InputError, match=r"pixels.npy is damaged: it holds uint8 .* not uint8 \[56, 3, 18, 18\]"):
        ready(table, **where)


def cells_of(table, kind):
    content = [(table.parent / f"pics/{row}.png").read_bytes() for row in range(56)]
    names = [str(table.parent / f"pics/{row}.png") for row in range(56)]
    return {
        "view": lambda: pa.array(content, pa.binary_view()),
        "dictionary": lambda: pa.array(content, pa.binary()).dictionary_encode(),
        "bytes alone": lambda: pa.array([{"bytes": one} for one in content]),
        "path alone": lambda: pa.array([{"path": one} for one in names]),
        "paths as bytes": lambda: pa.array([{"bytes": one, "path": "x"} for one in names]),
        "numbers": lambda: pa.array([{"bytes": 1, "path": "x"}] * 56),
        "lists": lambda: pa.array([[1]] * 56),
    }[kind]()


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        ("view", True),
        ("dictionary", True),
        ("bytes alone", True),
        ("path alone", False),
        ("paths as bytes", False),
        ("numbers", False),
        ("lists", False),
    ],
)
def test_cells_are_pictures_or_are_refused(table, kind, holds):
    lines = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    rest = {name: [line[name] for line in lines] for name in ("y", "place", "split")}
    data = Images(pa.table({"file": cells_of(table, kind), **rest}), **NAMES, size=16)
    if holds:
        data.setup("fit")
        assert torch.equal(inputs_of(data), inputs_of(ready(table)))
        return
    with pytest.raises(InputError, match=r"column 'file' holds .* and no pictures or names of files; name"):
        data.setup("fit")


def test_a_broken_picture_in_a_cell_is_named_by_its_row(table, tmp_path):
    (table.parent / "pics/3.png").write_text("none")
    held = in_cells(table, tmp_path / "held.parquet", as_struct=True)
    with pytest.raises(InputError, match=r"the picture in column 'file', row 3 \(the first is 0\) is not a picture"):
        ready(held)


def test_tables_in_several_folders_need_a_root(tmp_path):
    tables = [write_pictures(tmp_path / name) for name in ("one", "two")]
    path = ",".join(map(str, tables))
    with pytest.raises(InputError, match=r"the tables lie in 2 folders, .* give the folder as root="):
        ready(path)
    for table, name in zip(tables, ("one", "two"), strict=True):
        rewrite(table, lambda lines, name=name: [lines[0], *([f"{name}/{line[0]}", *line[1:]] for line in lines[1:])])
    assert len(ready(path, root=str(tmp_path)).dataset("train")) == 64


def test_what_a_cache_cannot_decode_is_dropped_before(table, tmp_path):
    file = table.parent / "pics/3.png"
    file.write_bytes(file.read_bytes()[:300])
    with pytest.warns(UserWarning, match="left out 1 of 56 rows"):
        data = ready(table, broken="drop", cache_dir=str(tmp_path / "cache"))
    assert len(data.dataset("train")) == 31


def test_other_files_in_a_folder_are_left_out(tmp_path):
    write_pictures(tmp_path / "made")
    (tmp_path / "made/notes.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "made/x/c1").mkdir(parents=True)
    (tmp_path / "made/x/c10").mkdir()
    shutil.copy(tmp_path / "made/pics/0.png", tmp_path / "made/x/c1/0.png")
    os.symlink(tmp_path / "made/x/c1", tmp_path / "made/x/c10/more")
    (tmp_path / "made/meta.csv").unlink()
    shutil.rmtree(tmp_path / "made/pics")
    with pytest.raises(InputError, match="lies in 2 folders, and levels names 3"):
        Images(str(tmp_path / "made"), levels="a,b,label").raw_rows()


# Runs


def test_a_run_learns_is_tested_predicted_and_resumed(table, run, tmp_path):
    words = words_of(table, "--data.augment", "light", "--model", "DRU", "--model.network", "ConvNet")
    words += ["--model.network.channels=[8]", "--model.optimizer", "AdamW", "--model.optimizer.lr", "0.03"]
    run("fit", *words, "--trainer.max_epochs", "6")
    run("test", "--run", "runs/version_0")
    report = json.loads(Path("runs/version_0/test/qdcg10/report.json").read_text(encoding="utf-8"))
    assert report["splits"]["ood_test"]["rows"] == 12
    assert report["splits"]["ood_test"]["criteria"]["overall"]["value"] == 1.0
    assert report["pictures"] == {"size": 16, "resize": 18, "broken": 0}
    run("predict", "--run", "runs/version_0", "--output", "p.csv")
    lines = list(csv.DictReader(Path("p.csv").read_text(encoding="utf-8").splitlines()))
    assert sum(line["label"] == line["prediction"] for line in lines) == 56
    rows = [{"file": str(table.parent / f"pics/{row}.png")} for row in (0, 1, 2)]
    found = Predictor.load("runs/version_0", root=str(table.parent)).predict(rows)
    assert found.label.tolist() == ["red", "blue", "red"]
    run("fit", *words, "--trainer.max_epochs", "3", "--trainer.default_root_dir", "half")
    resumed = ["--trainer.max_epochs", "6", "--trainer.default_root_dir", "half"]
    run("fit", *words, *resumed, "--ckpt_path", "half/version_0/checkpoints/last.ckpt")
    whole, again = (
        torch.load(f"{root}/checkpoints/last.ckpt", weights_only=False)["state_dict"]
        for root in ("runs/version_0", "half/version_0")
    )
    for name, tensor in whole.items():
        assert torch.equal(tensor, again[name]), name


def test_a_root_that_is_no_folder_is_said_once(table):
    with pytest.raises(InputError, match=r"root is 'nowhere', which is no folder; give the one that the pictures"):
        ready(table, root="nowhere")


@pytest.mark.parametrize(("size", "said"), [(10**9, "size is 1000000000; give 4096 at most"), (4096, None)])
def test_a_size_has_an_end_that_can_be_given(table, size, said):
    if said is None:
        assert images(table, size=size).resize == 4096
    else:
        with pytest.raises(InputError, match=said):
            images(table, size=size)


def test_floats_are_found_by_their_head(table):
    Image.fromarray(np.ones((20, 20), np.float32)).save(table.parent / "pics/3.png", "TIFF")
    with pytest.raises(InputError, match=r"row 3 .* 'pics/3.png' holds floats, whose range is not known"):
        ready(table, check="heads")


def test_pictures_of_rows_in_no_split_are_not_called_unusable(table):
    rewrite(table, lambda lines: [lines[0], *([*line[:3], "7"] for line in lines[1:])])
    (taken,) = [one for one in columns_taken(images(table).inspected_rows()) if one.name == "file"]
    assert "no picture that can be used" not in str(taken)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"augment": "none"}, "augment='light', and this run has augment='none'; give the same, or fit anew"),
        ({"augment": [{"RandomCrop": {"size": 16}}]}, "augment='light', and this run has augment=[{'RandomCrop': "),
        ({"size": 12, "resize": 18}, "size=16, and this run has size=12; give the same, or fit anew"),
        ({"resize": 20}, "resize=18, and this run has resize=20; give the same, or fit anew"),
        ({"frozen": True, "backbone": "resnet18", "weights": "none", "augment": "none"}, "augment='light'"),
    ],
)
def test_training_goes_on_with_the_same_options_alone(table, tmp_path, option, said):
    state = ready(table, augment="light").state_dict()
    data = images(table, **{"augment": "light", "cache_dir": str(tmp_path), **option})
    data.trainer = SimpleNamespace(state=SimpleNamespace(fn="fit"))
    data.setup("fit")
    with pytest.raises(InputError) as refused:
        data.load_state_dict(state)
    assert f"the checkpoint was made with {said}" in str(refused.value)
    again = images(table, augment="light", broken="drop", check="whole", cache_dir=str(tmp_path))
    again.trainer = data.trainer
    again.setup("fit")
    again.load_state_dict(state)  # which change no picture


def test_a_resume_with_another_size_names_what_differs(table, run):
    words = [
        "--model",
        "ERM",
        "--model.network",
        "ConvNet",
        "--model.network.channels=[4]",
        "--trainer.max_epochs",
        "1",
    ]
    run("fit", *words_of(table, *words))
    data = ready(table, size=12)
    saved = torch.load("runs/version_0/checkpoints/last.ckpt", weights_only=False)["drurank"]
    method = ERM(network=partial(ConvNet, channels=[4]))
    with pytest.raises(InputError) as refused:
        check_resume(method, {**saved, "network": method_state(method)["network"]}, data.sizes)
    assert "other training data: its network has image_size 16, and here 12; give the data" in str(refused.value)


def test_training_does_not_go_on_without_rows_that_it_had(table):
    state = ready(table, broken="drop")
    rows = state.dataset("train").fingerprint()
    (table.parent / "pics/3.png").write_bytes(b"")
    with pytest.warns(UserWarning, match="left out 1 of 56 rows"):
        fewer = ready(table, broken="drop")
    assert fewer.dataset("train").fingerprint() != rows  # by which a resumed run is refused


def test_other_data_is_evaluated_whatever_changes_training_pictures(table):
    state = ready(table, augment="light").state_dict()
    data = images(table)
    data.load_state_dict(state)
    assert torch.equal(inputs_of(data, "ood_test"), inputs_of(ready(table), "ood_test"))


def test_features_of_a_frozen_backbone_are_computed_once(table, tmp_path, run, decoded):
    from drurank.images.backbones import load_backbone
    from drurank.images.normalising import normalised

    made = load_backbone("resnet18", "none", 16)
    torch.save(made.module.state_dict(), tmp_path / "w.pth")
    options = {"frozen": True, "backbone": "resnet18", "weights": str(tmp_path / "w.pth"), "cache_dir": str(tmp_path)}
    data = ready(table, **options)
    assert data.sizes.in_features == 512
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (made.mean, made.std))
    with torch.no_grad():
        raw = made.module.eval()(normalised(inputs_of(ready(table)), mean, std))
    should = (raw - raw.mean(0)) / raw.std(0, correction=0)
    moves = raw.std(0) > 1e-6
    assert torch.allclose(inputs_of(data)[:, moves], should[:, moves], atol=1e-2)
    decoded.clear()
    assert torch.equal(inputs_of(ready(table, **options)), inputs_of(data))
    assert decoded == []
