"""Texts as data: what is read, how batches are cut, runs, and what a checkpoint brings."""

import itertools
import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from encoders import write_tiny
from transformers import AutoTokenizer

from drurank.cli import main
from drurank.data import Table, Text
from drurank.data.orders import pooled
from drurank.errors import InputError
from drurank.methods import DFR, DRU, ERM, JTT
from drurank.networks import MLP, TextClassifier
from drurank.tabular.inspection import inspect_rows
from drurank.text import tokens as tokens_module
from runs import read_csv, read_json

WORDS = ["good", "bad", "fine", "awful", "a", "b", "c"]
SPLITS = {"train": 60, "ood_val": 24, "id_val": 12, "ood_test": 24, "id_test": 12}
NAMES = {"label": "stars", "group": "writer", "split": "split"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rows(seed=0, longest=30):
    """Texts of all lengths whose stars hang on a word, by writers of whom the OOD ones are not in training."""
    rng = np.random.default_rng(seed)
    made = {"text": [], "stars": [], "writer": [], "split": []}
    for split, number in SPLITS.items():
        for _ in range(number):
            star = int(rng.integers(1, 4))
            words = list(rng.choice(WORDS[4:], rng.integers(0, longest)))
            words.insert(0, WORDS[star])
            prefix = split if split.startswith("ood") else "id"
            values = (" ".join(words), star, f"{prefix}{rng.integers(4)}", split)
            for name, value in zip(made, values, strict=True):
                made[name].append(value)
    return made


@pytest.fixture
def table(tmp_path):
    pq.write_table(pa.table(rows()), tmp_path / "t.parquet")
    return str(tmp_path / "t.parquet")


def data_of(path, tiny, **options):
    return Text(path, **{**NAMES, "tokenizer": str(tiny), "max_length": 64, "batch_size": 8, **options})


def ready(path, tiny, **options):
    data = data_of(path, tiny, **options)
    data.setup("fit")
    return data


def words_of(path, tiny, *more, method="ERM", network="TextClassifier"):
    data = ["--data", "Text", "--data.path", path, "--data.label", "stars", "--data.group", "writer"]
    data += [
        "--data.split",
        "split",
        "--data.tokenizer",
        str(tiny),
        "--data.max_length",
        "32",
        "--data.batch_size",
        "8",
    ]
    net = ["--model.network", network] if network else []
    rate = ["--model.optimizer", "AdamW", "--model.optimizer.lr", "1e-4"]
    return [*data, "--model", method, *net, *rate, "--trainer.max_epochs", "2", *more]


def batches_of(data, epoch=0, workers=0):
    loader = data.training_loader(None)
    loader.sampler.set_epoch(epoch)
    return [batch["index"].tolist() for batch in loader]


# What is read


def test_texts_groups_and_labels_are_taken_as_written(tmp_path, tiny):
    texts = ["", "a", "good " * 100_000, "\U0001f600 good", "שלום", "x\0y", "NA", "null", " ", "e\u0301", "b\nc"]
    groups = ["007", "7", "NA", "None", "\u00e9", "e\u0301", "n", "nan", "x", "y", "null"]
    splits = ["train"] * 8 + ["val"] * 3
    made = {"text": texts, "stars": [1, 2] * 5 + [1], "writer": groups, "split": splits}
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    data = ready(str(tmp_path / "t.parquet"), tiny)
    train = data.part("train")
    assert train.group_names[: train.num_training_groups] == sorted(["007", "7", "NA", "None", "\u00e9", "n", "nan"])
    alone = AutoTokenizer.from_pretrained(tiny)
    for split, start in (("train", 0), ("val", 8)):
        part = data.part(split)
        for place in range(len(part)):
            expected = alone(texts[start + place], truncation=True, max_length=64)["input_ids"]
            assert part[place]["inputs"]["input_ids"].tolist() == expected
    assert data.facts() == {"max_length": 64, "truncated": {"train": 1, "val": 0}}


def test_csv_cells_that_look_like_nothing_are_texts_and_groups(tmp_path, tiny):
    lines = ["text,stars,writer,split", '"null",1,007,train', "NA,2,NA,train", '"",1,None,train', "good,2,7,train"]
    lines += ["bad,1,\u00e9,val", '"two\nlines, ""quoted""",2,7,val']
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = ready(str(tmp_path / "t.csv"), tiny)
    alone = AutoTokenizer.from_pretrained(tiny)
    train, val = data.part("train"), data.part("val")
    assert train.group_names[:4] == ["007", "7", "NA", "None"]
    assert [train.group_names[code] for code in train.group] == ["007", "NA", "None", "7"]
    assert [train[i]["inputs"]["input_ids"].tolist() for i in range(4)] == [
        alone(text)["input_ids"] for text in ("null", "NA", "", "good")
    ]
    assert train[2]["inputs"]["input_ids"].tolist() == [2, 3]  # [CLS][SEP]
    assert val[1]["inputs"]["input_ids"].tolist() == alone('two\nlines, "quoted"')["input_ids"]
    assert data.label_names == ["1", "2"]


def test_a_nul_in_a_csv_is_a_letter_of_the_text(tmp_path, tiny):
    lines = ["text,stars,writer,split", "x\0y,1,a,train", "good,2,b,train", "bad,1,c,val"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    data = ready(str(tmp_path / "t.csv"), tiny)
    expected = AutoTokenizer.from_pretrained(tiny)("x\0y")["input_ids"]
    assert data.part("train")[0]["inputs"]["input_ids"].tolist() == expected


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.csv.gz", "folder"])
def test_all_formats_give_the_same_batches(tmp_path, tiny, name, table):
    import gzip

    import datasets

    made = rows()
    lines = list(zip(*made.values(), strict=True))
    expected = ready(table, tiny)
    path = tmp_path / name
    if name == "folder":
        datasets.Dataset.from_dict(made).save_to_disk(path)
    elif name == "t.jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(made, line, strict=True))) for line in lines))
    elif name != "t.parquet":
        cut = "\t" if name == "t.tsv" else ","
        text = "\n".join(cut.join(map(str, line)) for line in [tuple(made), *lines])
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    data = ready(str(path), tiny)
    assert batches_of(data) == batches_of(expected)
    one, other = (source.part("ood_test")[[3, 1]] for source in (data, expected))
    assert torch.equal(one["inputs"]["input_ids"], other["inputs"]["input_ids"])
    assert torch.equal(one["label"], other["label"])


def test_a_dataset_is_taken_as_it_is(tiny, table):
    import datasets

    whole = datasets.Dataset.from_dict(rows())
    data = Text.from_dataset(whole, **NAMES, tokenizer=str(tiny), max_length=64, batch_size=8)
    data.setup("fit")
    assert batches_of(data) == batches_of(ready(table, tiny))
    made = rows()
    split = np.array(made.pop("split"))
    some = datasets.Dataset.from_dict(made)
    some = some.cast_column("stars", datasets.ClassLabel(names=["none", "bad", "fine", "best"]))
    parts = datasets.DatasetDict({name: some.select(np.flatnonzero(split == name)) for name in SPLITS})
    data = Text.from_dataset(parts, label="stars", group="writer", tokenizer=str(tiny), max_length=64)
    data.setup("fit")
    assert {name: len(data.part(name)) for name in SPLITS} == SPLITS
    assert data.label_names == ["bad", "best", "fine"]


def test_a_dataset_without_rows_or_of_another_kind_is_told(tiny):
    import datasets

    empty = datasets.Dataset.from_dict({"text": [], "stars": [], "writer": [], "split": []})
    with pytest.raises(InputError, match="has no rows"):
        Text.from_dataset(empty, **NAMES)
    with pytest.raises(InputError, match="Dataset or a DatasetDict"):
        Text.from_dataset([1, 2], **NAMES)
    lacking = datasets.Dataset.from_dict({"text": ["a"], "writer": ["b"], "split": ["train"]})
    with pytest.raises(InputError, match=r"no column 'stars'; .*known: text, writer, split"):
        Text.from_dataset(lacking, **NAMES, tokenizer=str(tiny)).setup("fit")


def test_several_columns_are_joined_by_a_newline(tmp_path, tiny):
    made = rows()
    made["title"] = ["awful"] * len(made["text"])
    made["title"][0] = None
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    data = ready(str(tmp_path / "t.parquet"), tiny, text="title,text")
    alone, train = AutoTokenizer.from_pretrained(tiny), data.part("train")
    assert train[0]["inputs"]["input_ids"].tolist() == alone("\n" + made["text"][0])["input_ids"]
    assert train[1]["inputs"]["input_ids"].tolist() == alone("awful\n" + made["text"][1])["input_ids"]


def test_labels_stand_for_others(table, tiny, caplog):
    data = ready(table, tiny, relabel={1: "low", "2": "low"})
    assert data.label_names == ["3", "low"]
    made = rows()
    stars = np.array(made["stars"])[np.array(made["split"]) == "train"]
    assert data.part("train").dataset.label.tolist() == [0 if star == 3 else 1 for star in stars]
    assert "relabel" not in caplog.text
    ready(table, tiny, relabel={"9": "5"})
    assert "relabel names '9', which no row has as 'stars'; known: " in caplog.text


def test_a_label_that_stands_for_another_may_be_missing_later(table, tiny, trainer, tmp_path, caplog):
    data, model, few = data_of(table, tiny, relabel={1: "low", 2: "low"}), ERM(TextClassifier), trainer()
    few.fit(model, datamodule=data)
    rest = pq.read_table(table)
    pq.write_table(rest.filter(pa.compute.not_equal(rest["stars"], 2)), tmp_path / "o.parquet")
    other = data_of(str(tmp_path / "o.parquet"), tiny, relabel={1: "low", 2: "low"})
    other.load_state_dict(data.state_dict())
    assert few.test(model, datamodule=other, verbose=False)
    assert "relabel" not in caplog.text


def test_labels_of_a_table_stand_for_others_too(tmp_path):
    made = {"x": [1.0, 2, 3, 4], "y": [9, 10, 1, 10], "split": ["train", "train", "train", "val"]}
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    data = Table(str(tmp_path / "t.parquet"), "y", split="split", relabel={9: 5, 10: 5})
    data.setup("fit")
    assert data.label_names == ["1", "5"]
    assert data.part("train").dataset.label.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"text": ""}, "names no column"),
        ({"text": "text,text"}, "or one twice"),
        ({"tokenizer": " "}, "tokenizer is ' '"),
        ({"cache_dir": ""}, "cache_dir is ''"),
        ({"relabel": {"1": None}}, "relabel: '1' stands for None"),
        ({"text": "stars"}, "text names 'stars', which is the label"),
        ({"max_length": 1}, "max_length is 1"),
        ({"max_length": 0.5}, "max_length is 0.5"),
        ({"pool_batches": 0}, "pool_batches is 0"),
        ({"pool_batches": 9, "frozen": True}, "pool_batches is 9 and the encoder frozen"),
        ({"pooling": "mean"}, "the encoder is not frozen"),
        ({"pooling": "last", "frozen": True}, "pooling is 'last'"),
        ({"group_in": "none"}, "group_in is 'none'"),
    ],
)
def test_options_that_cannot_be(tiny, options, said):
    with pytest.raises(InputError, match=said):
        data_of("t.parquet", tiny, **options)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"text": [1] * 132}, r"'text' holds int64 and no text"),
        ({"stars": [1] * 132}, r"has one label, '1', in training"),
        ({"stars": [1, None, *[2] * 130]}, r"'stars', row 1 .* is no label"),
        ({"writer": [None, *["a"] * 131]}, r"'writer', row 0 .* is no group"),
        ({"split": ["train", "valid", *["train"] * 130]}, r"'split', row 1 .*'valid' is no split"),
        ({"stars": [*[1, 2] * 30, 7, *[1] * 71]}, r"'stars', row 60 .* 7 is a label that training lacks"),
    ],
)
def test_cells_that_cannot_be(tmp_path, tiny, change, said):
    pq.write_table(pa.table({**rows(), **change}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=said):
        ready(str(tmp_path / "t.parquet"), tiny)


def test_a_column_that_is_not_there_names_those_that_are(table, tiny):
    with pytest.raises(InputError, match=r"no column 'review'; .*known: text, stars, writer, split"):
        ready(table, tiny, text="review")


def test_rows_are_looked_at_without_a_tokenizer(table):
    seen = Text(table, **NAMES, tokenizer="none/such").raw_rows()
    assert seen.label_names == ["1", "2", "3"]
    assert [feature.name for feature in seen.texts] == ["text"]


def test_a_look_at_texts_finds_copies_and_no_fault_in_texts_that_differ(tmp_path):
    made = rows()
    for name, value in (("text", "the same twice"), ("stars", 1), ("writer", "id1")):
        made[name][0] = made[name][1] = value
    made["text"] = [f"{text} {row}" if row > 1 else text for row, text in enumerate(made["text"])]
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    data = Text(str(tmp_path / "t.parquet"), **NAMES)
    found = {finding.code: finding for finding in inspect_rows(data.raw_rows()).findings}
    assert found["copied_rows"].names == ["0"]
    assert "distinct_columns" not in found


# Batches


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_is_the_same_plan_with_and_without_cache_and_workers(table, tiny, monkeypatch, workers):
    first = batches_of(ready(table, tiny), epoch=3)
    monkeypatch.setattr(tokens_module, "_cut", None)  # whoever tokenises again fails
    assert batches_of(ready(table, tiny, num_workers=workers), epoch=3) == first
    assert batches_of(ready(table, tiny, num_workers=workers), epoch=4) != first
    assert sorted(row for batch in first for row in batch) == list(range(60))


def test_the_shares_of_two_processes_are_the_plan_for_batches_twice_as_large(table, tiny, monkeypatch):
    whole = batches_of(ready(table, tiny, batch_size=16))
    shares = []
    for rank in (0, 1):
        monkeypatch.setattr("drurank.data.sampler.rank_and_world", lambda rank=rank: (rank, 2))
        shares.append(batches_of(ready(table, tiny, batch_size=8)))
    assert len(shares[0]) == len(shares[1]) == len(whole)
    assert [sorted(one + other) for one, other in zip(*shares, strict=True)] == [sorted(batch) for batch in whole]


def test_batches_hold_texts_of_about_one_length(table, tiny):
    data = ready(table, tiny)
    lengths = data.part("train").lengths
    for _ in range(3):
        batches = batches_of(data)
        # One pool holds all rows here, so that the lengths of whole batches do not overlap.
        spans = sorted((int(lengths[batch].min()), int(lengths[batch].max())) for batch in batches[:-1])
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
        assert spans != [(int(lengths[batch].min()), int(lengths[batch].max())) for batch in batches[:-1]]


def test_pools_are_cut_from_what_was_shuffled():
    lengths = torch.tensor([5, 1, 4, 2, 3, 9, 8, 7, 6, 0, 11])
    drawn = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    order = pooled(drawn, lengths, torch.Generator().manual_seed(0), batch=2, pool_batches=2)
    batches = {tuple(sorted(batch)) for batch in order[:10].view(5, 2).tolist()}
    # Pools 0-3, 4-7, 8-9 by length: 1 3 | 2 0, 4 7 | 6 5, 9 8.
    assert batches == {(1, 3), (0, 2), (4, 7), (5, 6), (8, 9)}
    assert order[10] == 10
    assert pooled(drawn[:1], lengths, torch.Generator(), batch=2, pool_batches=2).tolist() == [0]


def test_pools_of_one_batch_are_what_was_shuffled(table, tiny):
    data = ready(table, tiny, pool_batches=1)
    from drurank.data.sampler import GlobalBatchSampler

    plain = GlobalBatchSampler(data.part("train"), 8, shuffle=True)
    assert batches_of(data) == list(plain)


def test_pools_are_refused_where_batches_are_of_groups(table, tiny):
    data = ready(table, tiny, sampler="groups_per_batch", pool_batches=9)
    with pytest.raises(InputError, match=r"pool_batches is 9 and the sampler 'groups_per_batch'"):
        data.training_loader(None)


@pytest.mark.parametrize("sampler", ["balanced", "subsample"])
def test_pools_hold_what_a_sampler_draws(table, tiny, sampler):
    drawn, plain = (ready(table, tiny, sampler=sampler, pool_batches=pool) for pool in (50, 1))
    one, other = (sorted(row for batch in batches_of(data) for row in batch) for data in (drawn, plain))
    assert one == other


def test_evaluation_reads_every_row_once_the_longest_first(table, tiny):
    data = ready(table, tiny)
    (loader, _) = data.val_dataloader()
    widths = [batch["inputs"]["input_ids"].shape[1] for batch in loader]
    assert widths == sorted(widths, reverse=True)
    assert sorted(row for batch in loader for row in batch["index"].tolist()) == list(range(24))


# Runs


@pytest.mark.parametrize(
    "method", ["ERM", "DRU", "Worst", "Const", "GroupDRO", "IRM", "CVaR", "ChiSquare", "JTT", "DFR"]
)
def test_every_method_fine_tunes_and_its_report_is_complete(table, tiny, run, method, capsys):
    more = ["--model.first_stage_epochs", "1"] if method == "JTT" else []
    run("fit", *words_of(table, tiny, *more, method=method))
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
        *words_of(table, tiny, "--trainer.max_epochs", "40", "--model.optimizer.lr", "3e-3", "--select", "overall"),
    )
    found = read_json("runs/version_0/selection.json")["overall"]
    assert found["value"] > 0.9


def test_a_frozen_encoder_gives_standardised_features_to_a_small_network(table, tiny, run, monkeypatch):
    data = ready(table, tiny, frozen=True)
    features = data.part("train").dataset.inputs
    torch.testing.assert_close(features.mean(dim=0), torch.zeros(16), atol=1e-5, rtol=0)
    torch.testing.assert_close(features.std(dim=0, correction=0), torch.ones(16), atol=1e-5, rtol=0)
    run("fit", *words_of(table, tiny, "--data.frozen", "true", "--data.max_length", "64", network="MLP"))
    monkeypatch.setattr("drurank.text.features._write", None)  # whoever computes features again fails
    run("fit", *words_of(table, tiny, "--data.frozen", "true", "--data.max_length", "64", network=None, method="DRU"))
    run("test", "--run", "runs/version_1")
    assert read_json("runs/version_1/test/qdcg10/report.json")["texts"]["max_length"] == 64


def test_features_are_standardised_alike_in_pieces(table, tiny, monkeypatch):
    whole = ready(table, tiny, frozen=True).part("id_val").dataset.inputs
    monkeypatch.setattr("drurank.data.text.PIECE", 7)
    torch.testing.assert_close(ready(table, tiny, frozen=True).part("id_val").dataset.inputs, whole)


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
    with pytest.warns(UserWarning, match="the learning rate is 0.001, and above 0.0001"):
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


def test_other_rows_are_read_as_training_read_its_own(table, tiny, run, tmp_path):
    run("fit", *words_of(table, tiny))
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


def test_another_tokenizer_is_refused_with_a_checkpoint(table, tiny, run, tmp_path, capsys):
    run("fit", *words_of(table, tiny))
    other = write_tiny(tmp_path / "other")
    said = json.loads((other / "tokenizer.json").read_text())
    said["normalizer"]["lowercase"] = False
    (other / "tokenizer.json").write_text(json.dumps(said))
    with pytest.raises(SystemExit):
        run("test", "--run", "runs/version_0", "--data.tokenizer", str(other))
    assert "cut by another tokenizer" in capsys.readouterr().err


def test_other_pools_than_those_of_the_checkpoint_are_said(table, tiny, run):
    run("fit", *words_of(table, tiny))
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


def test_other_training_texts_are_refused_on_resume(table, tiny, run, tmp_path, capsys):
    run("fit", *words_of(table, tiny))
    made = rows()
    made["text"][0] += " c"
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    with pytest.raises(SystemExit):
        run("fit", "--ckpt_path", "runs/version_0/checkpoints/last.ckpt", "--trainer.max_epochs", "3")
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
    assert model.lr_interval == "epoch"
    assert model.lr_scheduler is None


def test_another_longest_text_is_named_on_resume(table, tiny, run, capsys):
    run("fit", *words_of(table, tiny))
    with pytest.raises(SystemExit):
        run("fit", "--ckpt_path", "runs/version_0/checkpoints/last.ckpt", "--data.max_length", "8")
    assert "max_length=8" in capsys.readouterr().err


def test_a_table_without_the_split_says_how_to_test_all_of_it(table, tiny, run, tmp_path, capsys):
    run("fit", *words_of(table, tiny))
    made = rows()
    other = {name: cells for name, cells in made.items() if name != "split"}
    pq.write_table(pa.table(other), tmp_path / "o.parquet")
    words = ["--ckpt_path", "runs/version_0/checkpoints/last.ckpt", "--data.path", "o.parquet"]
    with pytest.raises(SystemExit):
        run("test", *words)
    assert re.search(r"split(=None| null)", capsys.readouterr().err)
    run("test", *words, "--data.split", "null")
    assert read_json("runs/version_1/report.json")["splits"]["test"]["rows"] == sum(SPLITS.values())
