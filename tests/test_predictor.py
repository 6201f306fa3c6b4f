"""Predictions in Python are those of ``predict``, row for row, in whatever form the rows come."""

import csv
import importlib
import logging
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from drurank import Predictor
from drurank.data import Table
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.networks import MLP
from encoders import write_tiny
from texts import rows as texts_of
from texts import words_of

TABLE = ["--data", "Table", "--data.exclude", "id", "--data.label", "y", "--data.group", "g", "--data.split", "split"]


def write(file, number=120, seed=0):
    """A table with missing cells, a category that only validation has, and rows in no order of their splits."""
    rng = np.random.default_rng(seed)
    with open(file, "w", newline="", encoding="utf-8") as lines:
        table = csv.writer(lines)
        table.writerow(["id", "x", "z", "c", "y", "g", "split"])
        for i in range(number):
            split = ["train", "val", "train", "test"][i % 4]
            x = rng.normal()
            cells = [x, "" if i % 7 == 0 else rng.integers(5), "ab"[i // 2 % 2] if i % 4 != 1 else "new"]
            table.writerow([f"00{i}", *cells, "no" if x + rng.normal() / 2 < 0 else "yes", f"g{i % 5}", split])
    return str(file)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(tmp_path_factory.mktemp("predictor") / "t.csv")


@pytest.fixture(scope="module")
def trained(fit, table):
    """A run with two checkpoints, of other weights each."""
    words = ["--data.missing", "indicator", "--select", "worst,overall", "--model.optimizer", "AdamW"]
    data = [*TABLE, "--data.path", table]
    return fit(Path(table).parent, *words, "--model.optimizer.lr", "0.05", data=data, epochs=4)


@pytest.fixture(scope="module")
def predictor(trained):
    return Predictor.load(trained)


def predicted(run, *words):
    """What the command ``predict`` writes: place, label and probabilities of each row."""
    run("predict", *words, "--output", "p.parquet", "--overwrite")
    found = pq.read_table("p.parquet")
    probability = np.stack(found["probabilities"].to_numpy(zero_copy_only=False))
    return found["row"].to_numpy(), found["prediction"].to_pylist(), probability


def assert_same(found, expected):
    row, label, probability = expected
    assert np.array_equal(found.row, row)
    assert found.label.tolist() == label
    assert np.array_equal(found.probability, probability)
    assert found.probability.dtype == np.float32


def forms(table):
    """The same rows in every form that is taken."""
    frame = pd.read_csv(table, dtype={"id": str})
    plain = frame.astype(object).where(frame.notna(), None)
    return {
        "file": table,
        "path": Path(table),
        "pandas": frame,
        "Arrow": pa.Table.from_pandas(frame),
        "list of dicts": plain.to_dict("records"),
        "dicts without missing keys": [
            {name: cell for name, cell in row.items() if cell is not None} for row in plain.to_dict("records")
        ],
        "dict of lists": plain.to_dict("list"),
        "dict of arrays": {name: frame[name].to_numpy() for name in frame},
        "dict of columns": dict(frame.items()),
        "dict of chunked arrays": dict(zip(frame, pa.Table.from_pandas(frame).columns, strict=True)),
    }


def test_every_form_of_rows_gives_what_predict_writes(run, trained, predictor, table):
    expected = predicted(run, "--run", trained)
    assert len(expected[0]) == 120
    assert len({*expected[1]}) == 2
    found = {form: predictor(rows) for form, rows in forms(table).items()}
    for one in found.values():
        assert_same(one, expected)
        assert one.labels == ["no", "yes"]


def test_frames_of_polars_are_rows_too(predictor, table):
    polars = pytest.importorskip("polars")
    whole = predictor(table)
    assert_same(predictor(polars.read_csv(table)), (whole.row, whole.label.tolist(), whole.probability))


def test_new_rows_need_neither_label_nor_group_nor_split_and_may_be_one(run, trained, predictor, tmp_path):
    write(tmp_path / "whole.csv", 30, seed=1)
    frame = pd.read_csv("whole.csv").drop(columns=["id", "y", "g", "split"])
    frame.to_csv("new.csv", index=False)
    expected = predicted(run, "--run", trained, "--data.path", "new.csv")
    assert_same(predictor.predict(frame), expected)
    one = predictor([dict(frame.iloc[3].dropna())])
    assert one.row.tolist() == [0]
    assert one.label.tolist() == [expected[1][3]]
    np.testing.assert_allclose(one.probability[0], expected[2][3], rtol=1e-5)


def test_rows_before_are_forgotten(predictor, table):
    whole = predictor(table)
    frame = pd.read_csv(table)
    assert_same(predictor(frame[::-1]), (whole.row, whole.label[::-1].tolist(), whole.probability[::-1]))
    assert_same(predictor(table), (whole.row, whole.label.tolist(), whole.probability))


@pytest.mark.parametrize("criterion", ["worst", "overall"])
def test_the_checkpoint_is_that_of_the_criterion_and_may_be_given_itself(run, trained, table, criterion):
    file = trained / f"checkpoints/{criterion}.ckpt"
    expected = predicted(run, "--ckpt_path", file)
    assert_same(Predictor.load(trained, criterion=criterion)(table), expected)
    assert_same(Predictor.load(str(file))(table), expected)


def test_the_first_criterion_is_that_of_predict(run, trained, predictor, table):
    expected = predicted(run, "--ckpt_path", trained / "checkpoints/worst.ckpt")
    assert_same(predictor(table), expected)
    last = Predictor.load(trained / "checkpoints/last.ckpt")(table)
    assert not np.array_equal(last.probability, expected[2])


def test_batches_hold_as_many_rows_as_is_said(trained, predictor, table, monkeypatch):
    small = Predictor.load(trained, eval_batch_size=7)
    sizes, before = [], small.method.predict_step

    def step(batch, number):
        sizes.append(len(batch["index"]))
        return before(batch, number)

    monkeypatch.setattr(small.method, "predict_step", step)
    found = small(pd.read_csv(table).drop(columns="split"))
    assert sizes == [7] * 17 + [1]
    np.testing.assert_allclose(found.probability, predictor(table).probability, rtol=1e-5)


def test_values_that_training_did_not_have_are_said_as_predict_says_them(predictor, table, caplog):
    frame = pd.read_csv(table).drop(columns=["split", "g"]).head(4).assign(c=["a", "b", "A", "zzz"])
    with caplog.at_level(logging.INFO), pytest.warns(UserWarning, match="have a category") as warned:
        predictor(frame)
    assert [*(record.getMessage() for record in caplog.records), *(str(one.message) for one in warned)] == [
        "the DataFrame: 1 of 4 rows lack a feature, which is filled in as in training, by column: z 1",
        "the DataFrame: 2 of 4 rows have a category that training did not have, which is read as unknown, by column: c "
        "2 ('A', in training 'a', 'zzz'); write them as training has them, or fit with join_feature_twins='c'",
    ]


@pytest.mark.parametrize(
    ("rows", "called"),
    [([{"x": 0.0, "z": 1, "c": None}], "the rows"), (pa.table({"x": [0.0], "z": [1], "c": [None]}), "the Table")],
    ids=["dicts", "Arrow"],
)
def test_a_blank_category_that_training_did_not_have_is_said_once(predictor, caplog, rows, called):
    with caplog.at_level(logging.INFO):
        predictor(rows)
    assert [record.getMessage() for record in caplog.records] == [
        f"{called}: 1 of 1 rows have a category that training did not have, which is read as unknown, by column: "
        "c 1 (blank)"
    ]


def test_numbers_outside_of_trainings_are_warned_of(predictor, table):
    train = pd.read_csv(table).query("split == 'train'")
    said = (
        f"the rows: 2 of 3 rows lie outside of what training had, by column: z 2 (-7 to 9; training {train.z.min():g}"
    )
    with pytest.warns(UserWarning, match="lie outside") as warned:
        predictor([{"x": 0.0, "z": z, "c": "a"} for z in (-7, 9, 2)])
    assert [str(one.message) for one in warned] == [
        f"{said} to {train.z.max():g}); check that they are written as in training, and in its unit"
    ]


def test_what_looks_like_shares_or_percent_is_said_in_the_words_of_python(tmp_path, trainer):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"rate": rng.integers(40, 100, 60), "y": rng.choice(["no", "yes"], 60), "g": ["a", "b"] * 30})
    frame = frame.assign(rate=frame.rate.map("{}.5%".format), split=["train", "train", "val"] * 20)
    trained = trainer()
    trained.fit(DRU(), datamodule=Table(frame, label="y", group="g", split="split", percents="rate"))
    trained.save_checkpoint("mine.ckpt")
    asked, plain = (Predictor.load("mine.ckpt", percents=percents) for percents in ("rate", None))
    whole = asked([{"rate": "83.5%"}, {"rate": "95.1%"}])
    with pytest.raises(InputError, match=r"row 0 .* 0.835 is not a percentage, .* look like shares: write 83.5% \("):
        asked({"rate": [0.835, 0.951]})
    with pytest.raises(InputError, match=r"row 0 .* 83.5 is not .*; if these numbers are percent already, give perc"):
        asked(pd.DataFrame({"rate": [83.5, 95.1]}))
    assert np.array_equal(plain(pd.DataFrame({"rate": [83.5, 95.1]})).probability, whole.probability)
    with pytest.warns(UserWarning, match=r"2 of 2 rows lie outside .*: rate 2 \(0.835 to 0.951; training 4\d"):
        plain({"rate": [0.835, 0.951]})


def test_rows_that_are_dropped_are_not_there_and_the_others_keep_their_places(trained, predictor, table):
    dropping = Predictor.load(trained, missing="drop")
    found, whole = dropping(table), predictor(table)
    kept = np.flatnonzero(np.arange(120) % 7)
    assert np.array_equal(found.row, kept)
    np.testing.assert_allclose(found.probability, whole.probability[kept], rtol=1e-5)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "there are no rows to predict"),
        (["t.csv"], "the rows are a list with a str; give a DataFrame"),
        ({"x": 1.0}, "the rows are a dict whose 'x' is 1.0, and no list; of one row give a list, [row]"),
        ({"x": [1.0], "c": ["a", "b"]}, "the rows: 'x' has 1 values and 'c' has 2; give one of each for a row"),
        ({"x": [1.0, "a"]}, "the rows: column 'x' cannot be read"),
        ([{"x": 1.0}, {"x": "a"}], "the rows: column 'x', row 1 (the first is 0): \"a\" is text, and the cells before"),
        (7, "the rows are a int; give a DataFrame"),
        ({"x": pd.DataFrame({"x": [1.0]})}, "the rows are a dict whose 'x' is x 0 1.0, and no list; of one row give"),
        ({"x": "abc"}, "the rows are a dict whose 'x' is 'abc', and no list"),
        (pd.DataFrame({"x": []}), "the DataFrame has no rows"),
        (pd.Series([1.0]), "the Series is not a table"),
        (np.zeros((2, 3)), "the rows are a ndarray; give a DataFrame"),
        ({}, "there are no rows to predict"),
        ({"x": [], "z": []}, "there are no rows to predict"),
        ([{}], "the rows have no cells; give each as a dict of its cells by column"),
        ([{"x": 1.0, "c": "a"}], "the rows have no column 'z'"),
        ({"x": [1.0], "c": ["a"]}, "the rows have no column 'z'"),
        (pa.table({"x": [1.0], "c": ["a"]}), "the Table has no column 'z'"),
        ([{"x": "far", "z": 1, "c": "a"}], "the rows: column 'x', row 0 (the first is 0): 'far' is not a number"),
        ("nowhere.csv", "there is no file nowhere.csv"),
    ],
)
def test_what_are_no_rows_is_refused_in_a_sentence(predictor, rows, said):
    with pytest.raises(InputError) as error:
        predictor(rows)
    assert str(error.value).startswith(said)


def test_what_holds_no_predictor_is_refused_in_a_sentence(trained, fit, tmp_path):
    shutil.copytree(trained, "copied")
    Path("copied/config.yaml").write_text("model: {class_path: subprocess.Popen}\ndata: {class_path: Table}\n")
    synthetic = fit(tmp_path / "runs", epochs=1)
    for given, options, said in [
        ("nowhere", {}, "there is no run or checkpoint nowhere"),
        (trained, {"criterion": "wrost"}, "kept no checkpoint by criterion 'wrost'; did you mean 'worst'?"),
        (trained / "checkpoints/last.ckpt", {"criterion": "worst"}, "criterion is 'worst' and"),
        (trained, {"device": "gpu"}, "device is 'gpu', which cannot be used"),
        (trained, {"mising": "drop"}, "mising"),
        (trained.parent, {}, "holds the run, and is not its folder; give"),
        ("copied", {}, "subprocess"),
        (synthetic, {}, "learnt from Shortcut; Predictor reads what Table, Text and Images do"),
    ]:
        with pytest.raises(InputError, match=said.replace("?", r"\?")):
            Predictor.load(given, **options)


def test_the_rows_of_training_are_not_read(trained, tmp_path, monkeypatch):
    write(tmp_path / "new.csv", 8)
    frame = pd.read_csv("new.csv")

    def read(*args, **kwargs):
        raise AssertionError("the rows are read")

    monkeypatch.setattr("drurank.tabular.several.read_table", read)
    assert len(Predictor.load(trained)(frame).label) == 8


def test_a_checkpoint_of_a_fit_in_python_takes_the_options_of_its_data(table, trainer):
    frame = pd.read_csv(table)
    data = Table(frame, label="y", group="g", split="split", exclude="id", missing="indicator")
    trained = trainer()
    trained.fit(method := DRU(), datamodule=data)
    made = trained.predict(method, datamodule=data)
    index = torch.cat([batch["index"] for part in made for batch in part])
    assert len(index) == 120
    trained.save_checkpoint("mine.ckpt")
    found = Predictor.load("mine.ckpt", label="y", missing="indicator")(frame.drop(columns="split"))
    kept = {split: np.flatnonzero(frame["split"] == split) for split in ("train", "val", "test")}
    by_split = [torch.cat([batch["probability"] for batch in part]).numpy() for part in made]
    for places, part in zip((kept[split] for split in data.splits()), by_split, strict=True):
        np.testing.assert_allclose(found.probability[places], part, rtol=1e-5)
    with pytest.raises(InputError, match="is blank"):
        Predictor.load("mine.ckpt")(frame)
    with pytest.raises(InputError, match="Table has no option 'mising'; did you mean 'missing'"):
        Predictor.load("mine.ckpt", mising="drop")


def test_a_network_that_the_file_does_not_describe_is_named(table, trainer):
    data = Table(table, label="y", group="g", split="split", exclude="id", missing="indicator")
    data.setup("fit")
    trained = trainer()
    trained.fit(ERM(network=MLP(data.sizes)), datamodule=data)
    trained.save_checkpoint("mine.ckpt")
    with pytest.raises(InputError, match="was given as an object"):
        Predictor.load("mine.ckpt")


@pytest.mark.parametrize("frozen", [False, True])
def test_texts_are_predicted_as_predict_does_and_leave_no_cache(run, tmp_path, monkeypatch, frozen):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tiny = write_tiny(tmp_path / "tiny")
    pq.write_table(pa.table(texts_of()), "t.parquet")
    more = ["--data.frozen", "true"] if frozen else []
    run("fit", *words_of("t.parquet", tiny, *more, network=None if frozen else "TextClassifier"))
    expected = predicted(run, "--run", "runs/version_0")
    before = sorted((tmp_path / "cache").rglob("*"))
    predictor = Predictor.load("runs/version_0")
    assert_same(predictor(texts_of()), expected)
    frame = pd.DataFrame(texts_of())
    assert_same(predictor(frame), expected)
    new = predictor(frame[["text"]].head(5))
    np.testing.assert_allclose(new.probability, expected[2][:5], rtol=1e-4)
    assert new.labels == ["1", "2", "3"]
    assert sorted((tmp_path / "cache").rglob("*")) == before


def test_a_class_of_ones_own_keeps_its_forward_and_its_loss(run, tmp_path, monkeypatch, table):
    Path("mine.py").write_text(
        "from torch import nn\nfrom drurank.methods import ERM\n"
        "class Scores(nn.Module):\n"
        "    def __init__(self, sizes):\n"
        "        super().__init__()\n        self.one = nn.Linear(sizes.in_features, 1)\n"
        "    def forward(self, inputs):\n        return self.one(inputs).squeeze(-1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    words = ["--import", "mine", *TABLE, "--data.path", table, "--data.missing", "indicator", "--model", "ERM"]
    words += ["--model.network", "mine.Scores", "--model.loss", "BinaryCrossEntropy", "--trainer.max_epochs", "1"]
    run("fit", *words)
    expected = predicted(run, "--import", "mine", "--run", "runs/version_0")
    assert expected[2].shape == (120, 2)
    assert_same(Predictor.load("runs/version_0")(table), expected)


@pytest.mark.parametrize(
    ("entry", "value"),
    [("Table.label_names", 3), ("Table.numeric.0.scale", 10**400), ("Table.categorical.0.values.0", "\ud800")],
)
def test_an_encoding_that_is_none_is_named_with_its_file(trained, tmp_path, entry, value):
    checkpoint = torch.load(trained / "checkpoints/last.ckpt", weights_only=True)
    del checkpoint["drurank_written"]
    *before, last = [int(key) if key.isdigit() else key for key in entry.split(".")]
    part = checkpoint
    for key in before:
        part = part[key]
    part[last] = value
    torch.save(checkpoint, tmp_path / "odd.ckpt")
    with pytest.raises(InputError, match=rf"odd\.ckpt is damaged: its {entry} is .*; give another checkpoint"):
        Predictor.load(tmp_path / "odd.ckpt", missing="indicator")
