"""Texts as data: what is read, and how batches are cut."""

import itertools
import json
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoTokenizer

from drurank.data import Table, Text
from drurank.data.orders import pooled
from drurank.errors import InputError
from drurank.methods import ERM
from drurank.networks import TextClassifier
from drurank.tabular.inspection import inspect_rows
from drurank.text import tokens as tokens_module
from texts import NAMES, SPLITS, batches_of, data_of, ready, rows

pytestmark = pytest.mark.usefixtures("cache")


# What is read


def test_texts_groups_and_labels_are_taken_as_written(tmp_path, tiny):
    texts = ["", "a", "good " * 100_000, "\U0001f600 good", "שלום", "x\0y", "NA", "null", " ", "e\u0301", "b\nc"]
    groups = ["007", "7", "NA", "None", "\u00e9", "e\u0301", "n", "nan", "x", "y", "null"]
    splits = ["train"] * 8 + ["val"] * 3
    made = {"text": texts, "stars": [1, 2] * 5 + [1], "writer": groups, "split": splits}
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    data = ready(str(tmp_path / "t.parquet"), tiny)
    train = data.dataset("train")
    assert train.group_names[: train.num_training_groups] == sorted(["007", "7", "NA", "None", "\u00e9", "n", "nan"])
    alone = AutoTokenizer.from_pretrained(tiny)
    for split, start in (("train", 0), ("val", 8)):
        part = data.dataset(split)
        for place in range(len(part)):
            expected = alone(texts[start + place], truncation=True, max_length=64)["input_ids"]
            assert part[place]["inputs"]["input_ids"].tolist() == expected
    assert data.facts() == {"texts": {"max_length": 64, "truncated": {"train": 1, "val": 0}}}


def test_csv_cells_that_look_like_nothing_are_texts_and_groups(tmp_path, tiny):
    lines = ["text,stars,writer,split", '"null",1,007,train', "NA,2,NA,train", '"",1,None,train', "good,2,7,train"]
    lines += ["bad,1,\u00e9,val", '"two\nlines, ""quoted""",2,7,val']
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = ready(str(tmp_path / "t.csv"), tiny)
    alone = AutoTokenizer.from_pretrained(tiny)
    train, val = data.dataset("train"), data.dataset("val")
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
    assert data.dataset("train")[0]["inputs"]["input_ids"].tolist() == expected


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
    one, other = (source.dataset("ood_test")[[3, 1]] for source in (data, expected))
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
    assert {name: len(data.dataset(name)) for name in SPLITS} == SPLITS
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
    alone, train = AutoTokenizer.from_pretrained(tiny), data.dataset("train")
    assert train[0]["inputs"]["input_ids"].tolist() == alone("\n" + made["text"][0])["input_ids"]
    assert train[1]["inputs"]["input_ids"].tolist() == alone("awful\n" + made["text"][1])["input_ids"]


def test_labels_stand_for_others(table, tiny, caplog):
    data = ready(table, tiny, relabel={1: "low", "2": "low"})
    assert data.label_names == ["3", "low"]
    made = rows()
    stars = np.array(made["stars"])[np.array(made["split"]) == "train"]
    assert data.dataset("train").dataset.label.tolist() == [0 if star == 3 else 1 for star in stars]
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
    assert data.dataset("train").dataset.label.tolist() == [1, 1, 0]


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
        ({"stars": [1, None, *[2] * 130]}, r"'stars', row 1 .* is not a label"),
        ({"writer": [None, *["a"] * 131]}, r"'writer', row 0 .* is not a group"),
        ({"split": ["train", "valid", *["train"] * 130]}, r"'split', row 1 .*'valid' is not a split"),
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
    lengths = data.dataset("train").lengths
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

    plain = GlobalBatchSampler(data.dataset("train"), 8, shuffle=True)
    assert batches_of(data) == [places.tolist() for places in plain]


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


def test_blank_and_repeated_texts_are_counted(tmp_path, tiny, caplog):
    columns = rows()
    columns["text"][:3] = ["", "  \n", ""]
    columns["text"][3:9] = ["good fine"] * 6
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with caplog.at_level(logging.INFO):
        ready(str(tmp_path / "t.parquet"), tiny)
    (said,) = [record.getMessage() for record in caplog.records if "tokens on average" in record.getMessage()]
    assert "132 texts of " in said
    assert f", {len(set(columns['text']))} of them different" in said
    assert said.endswith(", 3 blank, of which nothing can be learned or predicted")


def test_groups_of_texts_may_overlap(tmp_path, tiny):
    made = {"text": ["good", "bad", "so", "good so", "bad so", "fine"], "stars": [1, 2, 1, 2, 1, 2]}
    made |= {"a": [1, 1, 0, 0, 1, 0], "b": [0, 1, 1, 0, 1, 1], "split": ["train"] * 4 + ["val"] * 2}
    pq.write_table(pa.table(made), tmp_path / "t.parquet")
    data = ready(str(tmp_path / "t.parquet"), tiny, group="a,b", by="overlapping")
    train, val = data.dataset("train").memberships, data.dataset("val").memberships
    assert list(zip(train.row.tolist(), train.group.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 1), (2, 1)]
    assert list(zip(val.row.tolist(), val.group.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 1)]
    assert data.dataset("val").group_names == ["a", "b"]
