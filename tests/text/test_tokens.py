"""The cache of tokens and features: what is in it, when it is made anew, and by whom."""

import json
import multiprocessing
import pickle
import random
import time

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from drurank.cache import check_sums, made_once
from drurank.errors import InputError
from drurank.text import features as features_module
from drurank.text import tokens as tokens_module
from drurank.text.features import embed_texts
from drurank.text.pretrained import load_tokenizer
from drurank.text.tokens import digest_of, tokenise
from encoders import write_tiny
from mutate import damaged_bytes

TEXTS = ["", "a", "good " * 300, "\U0001f600 fine", "שלום bad", "x\0y", "NA", "null", "good", "awful awful"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "drurank"


def cut(texts, folder, max_length=16):
    return tokenise(pa.array(texts, pa.large_string()), load_tokenizer(str(folder)), max_length, source="t.csv")


def count_calls(monkeypatch):
    calls = []
    real = tokens_module._cut
    monkeypatch.setattr(tokens_module, "_cut", lambda *args: calls.append(len(args[0])) or real(*args))
    return calls


def test_tokens_are_those_that_the_tokenizer_gives_alone(tiny):
    found, alone = cut(TEXTS, tiny), AutoTokenizer.from_pretrained(tiny)
    for row, text in enumerate(TEXTS):
        whole = alone(text)["input_ids"]
        # The last token of a text stands behind what is cut off.
        expected = whole if len(whole) <= 16 else [*whole[:15], whole[-1]]
        assert found.ids[found.ends[row] : found.ends[row + 1]].tolist() == expected, text
        assert bool(found.truncated[row]) == (len(whole) > 16)
    assert found.lengths.tolist() == [min(len(alone(text)["input_ids"]), 16) for text in TEXTS]
    assert found.lengths[0] == 2  # [CLS][SEP]


def test_a_text_that_just_fits_is_not_called_truncated(tiny):
    found = cut(["good " * 14, "good " * 15], tiny)
    assert found.lengths.tolist() == [16, 16]
    assert found.truncated.tolist() == [False, True]


def test_a_batch_is_padded_to_its_own_longest(tiny):
    found = cut(TEXTS, tiny)
    batch = found.batch(np.array([9, 0, 8]))
    lengths = found.lengths[[9, 0, 8]]
    assert batch["input_ids"].shape == (3, lengths.max())
    assert batch["attention_mask"].sum(dim=1).tolist() == lengths.tolist()
    assert (batch["input_ids"][batch["attention_mask"] == 0] == 0).all()
    assert batch["input_ids"][1, :2].tolist() == [2, 3]
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}


def test_a_batch_without_padding_has_no_mask(tiny):
    found = cut(["good", "bad"], tiny)
    assert list(found.batch(np.array([0, 1]))) == ["input_ids"]


def test_a_batch_without_rows(tiny):
    assert cut(["good"], tiny).batch(np.array([], dtype=np.int64))["input_ids"].shape == (0, 1)


def test_a_text_of_no_token_at_all_is_one_of_padding(tiny, tmp_path):
    said = json.loads((tiny / "tokenizer.json").read_text())
    said["post_processor"] = None
    for file in tiny.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "tokenizer.json").write_text(json.dumps(said))
    found = cut(["", "good"], tmp_path)
    assert found.lengths.tolist() == [1, 1]
    assert found.ids[0] == 0


def test_few_long_texts_are_cut_at_a_time(tiny, monkeypatch):
    calls, texts = count_calls(monkeypatch), ["a", "b" * 12, "", "c" * 4, "d" * 3, "e" * 3, "f", "g", "h", "i"]
    monkeypatch.setattr(tokens_module, "LETTERS", 10)
    monkeypatch.setattr(tokens_module, "CHUNK", 3)
    found = cut(texts, tiny)
    # Bytes 1 | 12 | 0 4 3 | 3 1 1 | 1 1
    assert calls == [1, 1, 3, 3, 2]
    alone = AutoTokenizer.from_pretrained(tiny)
    for row, text in enumerate(texts):
        expected = alone(text, truncation=True, max_length=16)["input_ids"]
        assert found.ids[found.ends[row] : found.ends[row + 1]].tolist() == expected


def test_nothing_is_cut_twice(tiny, monkeypatch):
    calls = count_calls(monkeypatch)
    cut(TEXTS, tiny)
    cut(TEXTS, tiny)
    cut(pa.chunked_array([TEXTS[:3], TEXTS[3:]]).combine_chunks().to_pylist(), tiny)
    assert calls == [len(TEXTS)]


@pytest.mark.parametrize("change", ["text", "order", "boundary", "max_length", "tokenizer"])
def test_whatever_changes_the_tokens_makes_them_anew(tiny, tmp_path, monkeypatch, change):
    calls = count_calls(monkeypatch)
    cut(TEXTS, tiny)
    texts, folder, longest = list(TEXTS), tiny, 16
    if change == "text":
        texts[4] += "!"
    elif change == "order":
        texts[0], texts[1] = texts[1], texts[0]
    elif change == "boundary":
        texts[8], texts[9] = "gooda", "wful awful"
    elif change == "max_length":
        longest = 15
    else:
        folder = write_tiny(tmp_path / "other")
        said = json.loads((folder / "tokenizer.json").read_text())
        said["normalizer"]["lowercase"] = False
        (folder / "tokenizer.json").write_text(json.dumps(said))
    cut(texts, folder, longest)
    assert len(calls) == 2


def test_a_digest_is_of_the_cells_however_they_lie_in_memory():
    whole = pa.array(["x", *TEXTS, "y"], pa.large_string())
    assert digest_of(whole.slice(1, len(TEXTS)), 1) == digest_of(pa.array(TEXTS, pa.large_string()), 1)
    assert digest_of(whole, 1) != digest_of(whole, 2)
    assert digest_of(pa.array(["ab", "c"], pa.large_string())) != digest_of(pa.array(["a", "bc"], pa.large_string()))


def test_other_processes_map_the_files_and_copy_nothing(tiny):
    found = cut(["good " * 9] * 5000, tiny)
    assert len(pickle.dumps(found)) < 1000
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again.ids, np.memmap)
    assert np.array_equal(again.ids, found.ids)


def _make(folder, made, started):
    started.wait()

    def fill(beside):
        time.sleep(0.2)
        (beside / "by").write_text("me")
        with made.get_lock():
            made.value += 1

    made_once(folder, fill)
    assert (folder / "by").read_text() == "me"


def test_of_processes_that_start_at_once_one_makes_the_folder(tmp_path):
    context = multiprocessing.get_context("fork")
    made, started = context.Value("i", 0), context.Event()
    processes = [context.Process(target=_make, args=(tmp_path / "it", made, started)) for _ in range(4)]
    for process in processes:
        process.start()
    started.set()
    for process in processes:
        process.join(30)
    assert [process.exitcode for process in processes] == [0] * 4
    assert made.value == 1


def test_what_a_killed_process_left_is_no_cache(tmp_path):
    (tmp_path / ".it").mkdir()
    (tmp_path / ".it" / "half").write_text("half")

    def fails(beside):
        (beside / "half").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made_once(tmp_path / "it", fails)
    assert not (tmp_path / "it").exists()
    made_once(tmp_path / "it", lambda beside: (beside / "whole").write_text("whole"))
    assert sorted(file.name for file in (tmp_path / "it").iterdir()) == ["sums.json", "whole"]


def test_a_cache_that_is_damaged_is_named(tiny, cache):
    found = cut(TEXTS, tiny)
    (found.folder / "ids").write_bytes(b"")
    with pytest.raises(InputError, match=r"delete that folder"):
        cut(TEXTS, tiny)


def test_damaged_files_of_the_cache_are_named(tiny, cache):
    texts = pa.chunked_array([TEXTS])
    folders = [cut(TEXTS, tiny, 32).folder]
    embed_texts(texts, str(tiny), source="t", max_length=32)
    folders += (cache / "features").glob("*[!k]")
    rng = random.Random(7)
    for folder in folders:
        for file in sorted(folder.iterdir()):
            content = file.read_bytes()
            for _ in range(200):
                changed = damaged_bytes(content, rng)[0]
                file.write_bytes(changed)
                # Blanks in JSON say nothing.
                if changed.split() != content.split():
                    with pytest.raises(InputError, match=f"{folder.name}.*delete that folder"):
                        check_sums(folder)
            file.write_bytes(content)
    file = folders[1] / "features.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    with pytest.raises(InputError, match=r"features\.npy is damaged: it is not as it was written; delete that folder"):
        embed_texts(texts, str(tiny), source="t", max_length=32)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_features_are_those_of_the_encoder_text_by_text(tiny, pooling):
    texts = pa.chunked_array([pa.array([*TEXTS[:4], None]), pa.array(TEXTS[4:])])
    found = embed_texts(texts, str(tiny), source="t", pooling=pooling, max_length=64)
    tokenizer, encoder = AutoTokenizer.from_pretrained(tiny), AutoModel.from_pretrained(tiny).eval()
    for row, text in enumerate(texts.to_pylist()):
        batch = tokenizer(text or "", truncation=True, max_length=64, return_tensors="pt")
        with torch.no_grad():
            hidden = encoder(batch["input_ids"]).last_hidden_state[0].numpy()
        expected = hidden.mean(axis=0) if pooling == "mean" else hidden[0]
        np.testing.assert_allclose(found[row], expected, atol=1e-5)
    assert found.dtype == np.float32


def test_features_are_computed_once_and_anew_for_other_weights(tiny, tmp_path, monkeypatch):
    made = []
    real = made_once
    monkeypatch.setattr(
        "drurank.text.features.made_once", lambda folder, make: real(folder, lambda p: made.append(1) or make(p))
    )
    texts = pa.chunked_array([TEXTS])
    one = np.array(embed_texts(texts, str(tiny), source="t", max_length=32))
    embed_texts(texts, str(tiny), source="t", max_length=32)
    assert len(made) == 1
    encoder = AutoModel.from_pretrained(tiny)
    with torch.no_grad():
        encoder.embeddings.word_embeddings.weight += torch.randn_like(encoder.embeddings.word_embeddings.weight)
    encoder.save_pretrained(tmp_path / "other")
    AutoTokenizer.from_pretrained(tiny).save_pretrained(tmp_path / "other")
    other = embed_texts(texts, str(tmp_path / "other"), source="t", max_length=32)
    assert len(made) == 2
    assert np.abs(one - other).max() > 1e-3


def test_an_encoder_that_takes_less_is_named(tiny):
    with pytest.raises(InputError, match="max_length=64"):
        embed_texts(pa.chunked_array([TEXTS]), str(tiny), source="t", max_length=65)


def test_texts_that_occur_many_times_are_cut_and_encoded_once(tiny, monkeypatch):
    calls = count_calls(monkeypatch)
    monkeypatch.setattr(tokens_module, "CHUNK", 3)
    texts = ["good", "bad", "good", "awful", "good", " ", "bad", "fine fine", ""] * 3
    found = cut(texts, tiny)
    assert sum(calls) == len(set(texts)), "over the borders of chunks too"
    alone = AutoTokenizer.from_pretrained(tiny)
    for row, text in enumerate(texts):
        batch = found.batch(np.array([row]))
        assert batch["input_ids"][0].tolist() == alone(text)["input_ids"], text
    assert found.lengths.tolist() == [len(alone(text)["input_ids"]) for text in texts]
    assert found.blank.tolist() == [not text.strip() for text in texts]
    whole = torch.cat(list(found.contents(np.arange(len(texts))))[1:])
    assert whole.tolist() == [token for text in texts for token in alone(text)["input_ids"]]


def test_a_text_that_occurs_many_times_is_run_through_the_encoder_once(tiny, monkeypatch):
    rows = []
    real = features_module.pool
    monkeypatch.setattr(
        features_module, "pool", lambda encoded, *more: rows.append(len(encoded)) or real(encoded, *more)
    )
    texts = ["good", "bad a", "good", "good", "awful"]
    found = embed_texts(pa.chunked_array([texts]), str(tiny), source="t", max_length=32)
    assert sum(rows) == 3
    alone = {text: embed_texts(pa.chunked_array([[text]]), str(tiny), source="t", max_length=32)[0] for text in texts}
    np.testing.assert_allclose(found, [alone[text] for text in texts], atol=1e-6)
