"""Texts, encoders and caches that are odd or broken: what comes out is right, or one sentence says what is wrong."""

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from pyarrow import feather
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

from drurank import cache as cache_module
from drurank.cli import main
from drurank.errors import InputError
from drurank.networks import Sizes, TextClassifier
from drurank.tabular.picking import pick_rows
from drurank.tabular.reading import read_table
from drurank.tabular.text import TextFile
from drurank.text.features import embed_texts
from drurank.text.pretrained import fingerprint_of, load_encoder, load_tokenizer
from drurank.text.tokens import Tokens, tokenise
from encoders import write_tiny

BERT = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
KINDS = {
    "bert": BERT,
    "bert that looks back alone": {**BERT, "is_decoder": True},
    "roberta": BERT,
    "electra": {**BERT, "embedding_size": 8},
    "albert": {**BERT, "embedding_size": 8},
    "mpnet": BERT,
    "deberta-v2": {**BERT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "squeezebert": {**BERT, "embedding_size": 16} | {f"{part}_groups": 1 for part in ("q", "k", "v", "intermediate")},
    "esm": {**BERT, "position_embedding_type": "absolute", "mask_token_id": 1},
    # Tokens that look at those around or before them alone.
    "modernbert": {**BERT, "global_attn_every_n_layers": 2, "local_attention": 4},
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
}
LONG = 12
TEXTS = {"text": ["good a", "bad b c", "fine", "good", "bad a"] * 6}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/drurank"


@pytest.fixture
def copy(tiny, tmp_path):
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


@pytest.fixture
def words(tmp_path):
    """Words of a fit on a small table with an encoder."""
    columns = {
        **TEXTS,
        "stars": [1, 2, 3] * 10,
        "writer": ["a", "b", "c", "d", "e"] * 6,
        "split": ["train"] * 20 + ["id_val"] * 10,
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")

    def with_encoder(folder, *more):
        names = {"path": tmp_path / "t.parquet", "label": "stars", "group": "writer", "split": "split"}
        names |= {"tokenizer": folder, "max_length": 32, "batch_size": 8}
        data = [word for name, value in names.items() for word in (f"--data.{name}", value)]
        return ["--model", "ERM", "--data", "Text", *data, "--trainer.max_epochs", 1, *more]

    return with_encoder


# Encoders


def write_kind(folder, kind, sizes):
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind.split()[0], vocab_size=82, pad_token_id=0, **sizes)
    AutoModel.from_config(config).save_pretrained(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_encoders_of_all_kinds_see_of_a_padded_text_what_they_see_of_it_alone(tmp_path, kind):
    write_kind(tmp_path / "encoder", kind, KINDS[kind])
    sizes = Sizes(0, 3, vocabulary=82, max_length=LONG + 4, tokenizer=str(tmp_path / "encoder"))
    network = TextClassifier(sizes, pooling="mean").eval()
    ids = torch.randint(4, 82, (2, LONG))
    padded = torch.cat([ids, torch.zeros(2, 4, dtype=torch.int64)], dim=1)
    mask = (torch.arange(LONG + 4) < LONG).long().expand(2, -1)
    with torch.no_grad():
        alone = AutoModel.from_pretrained(tmp_path / "encoder").eval()(ids).last_hidden_state
        torch.testing.assert_close(network.encode(ids), alone, atol=1e-5, rtol=0)
        torch.testing.assert_close(network.encode(padded, mask)[:, :LONG], alone, atol=1e-5, rtol=0)
        torch.testing.assert_close(network.encode(ids, torch.ones_like(ids)), alone, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["vit", "clip"])
def test_a_model_of_pictures_is_no_encoder_of_texts(tmp_path, kind):
    small = {**BERT, "image_size": 8, "patch_size": 4} if kind == "vit" else {}
    if kind == "clip":
        side = {**BERT, "projection_dim": 8}
        small = {"text_config": {**side, "vocab_size": 9}, "vision_config": {**side, "image_size": 8, "patch_size": 4}}
    AutoModel.from_config(AutoConfig.for_model(kind, **small)).save_pretrained(tmp_path / kind)
    with pytest.raises(InputError, match=f"{kind} is a {kind}, not a text encoder"):
        load_encoder(str(tmp_path / kind))


@pytest.mark.parametrize("fault", ["a layer is missing", "other names", "another shape"])
def test_weights_that_a_file_lacks_are_not_made_up(copy, fault):
    weights = load_file(copy / "model.safetensors")
    if fault == "a layer is missing":
        changed = {name: value for name, value in weights.items() if "layer.1." not in name}
    elif fault == "other names":
        changed = {f"other.{name}": value for name, value in weights.items()}
    else:
        changed = {name: value[:-1].clone() if "lin1" in name else value for name, value in weights.items()}
    save_file(changed, copy / "model.safetensors", metadata={"format": "pt"})
    lost = [name for name, value in weights.items() if changed.get(name, value[:-1]).shape != value.shape]
    with pytest.raises(InputError, match=f"^{len(lost)} of the encoder's weights, '{min(lost)}' among"):
        load_encoder(str(copy))


def test_a_pooler_may_be_missing(tmp_path):
    write_tiny(tmp_path / "bert", "bert")
    weights = load_file(tmp_path / "bert/model.safetensors")
    kept = {name: value for name, value in weights.items() if "pooler" not in name}
    assert len(kept) < len(weights)
    save_file(kept, tmp_path / "bert/model.safetensors", metadata={"format": "pt"})
    assert load_encoder(str(tmp_path / "bert")).config.model_type == "bert"


# Tokenizers


@pytest.mark.parametrize(
    "option", [{"truncation_side": "left"}, {"pad_token": "[UNK]"}, {"split_special_tokens": True}]
)
def test_options_that_change_tokens_change_the_fingerprint(tiny, option):
    before, after = AutoTokenizer.from_pretrained(tiny), AutoTokenizer.from_pretrained(tiny, **option)
    assert fingerprint_of(before) != fingerprint_of(after)
    texts = pa.array(["good bad a", "[SEP]"], pa.large_string())
    first = tokenise(texts, before, 4, source="t")
    second = tokenise(texts, after, 4, source="t")
    for tokens, tokenizer in ((first, before), (second, after)):
        assert tokens.pad == tokenizer.pad_token_id
        for row, text in enumerate(texts.to_pylist()):
            expected = tokenizer(text, truncation=True, max_length=4)["input_ids"]
            assert tokens.ids[tokens.ends[row] : tokens.ends[row + 1]].tolist() == expected


def test_a_tokenizer_that_puts_more_around_a_text_than_it_may_have(tiny):
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    with pytest.raises(InputError, match="max_length is 1 tokens and the tokenizer adds 2 special tokens"):
        tokenise(pa.array(["good"], pa.large_string()), tokenizer, 1, source="t")
    tokens = tokenise(pa.array(["good"], pa.large_string()), tokenizer, 2, source="t")
    assert tokens.ids.tolist() == [2, 3]


def test_tokens_that_an_encoder_does_not_know(copy):
    AutoModel.from_config(
        AutoConfig.for_model("distilbert", vocab_size=10, dim=16, n_layers=1, n_heads=2, hidden_dim=32)
    ).save_pretrained(copy)
    texts = pa.chunked_array([pa.array(["good"])])
    number = load_tokenizer(str(copy)).convert_tokens_to_ids("good")
    with pytest.raises(
        InputError, match=rf"have token {number} \(good\), .* for 10 tokens; resize the folder's embeddings"
    ):
        embed_texts(texts, str(copy), source="t", max_length=8)


# Files


@pytest.mark.parametrize("form", ["lines", "array"])
def test_half_of_a_letter_names_its_row(tmp_path, form):
    rows = [json.dumps({"text": text}) for text in ("\U0001f600", None, "b \udc00")]
    file = tmp_path / ("t.jsonl" if form == "lines" else "t.json")
    file.write_text("\n".join(rows) if form == "lines" else f"[{', '.join(rows)}]")
    with pytest.raises(InputError, match=r"column 'text', row 2 .*: \"b \\udc00\" has half a letter"):
        read_table(str(file))
    file.write_text("\n".join(rows[:2]) if form == "lines" else f"[{', '.join(rows[:2])}]")
    assert read_table(str(file))["text"].to_pylist() == ["\U0001f600", None]


def test_a_number_that_python_does_not_read_is_told_in_an_array(tmp_path):
    (tmp_path / "t.json").write_text('[{"x": 1}, {"x": ' + "1" * 5000 + "}]")
    with pytest.raises(InputError, match=r"row 1 .* has a number of more digits"):
        read_table(str(tmp_path / "t.json"))


@pytest.mark.parametrize("method", ["group", "cluster"])
def test_text_in_views_is_split_as_other_text(tmp_path, tiny, method):
    texts = ["good"] * 15 + ["bad a"] * 15
    rows = pa.table({"text": texts, "stars": [1, 2, 3] * 10, "writer": np.repeat(list("abcdef"), 5)})
    views = rows.set_column(0, "text", rows["text"].cast(pa.string_view()))
    more = ["--method", method, "--min_count", "2"]
    more += ["--text", "text", "--pretrained", str(tiny), "--max_length", "8"] if method == "cluster" else []
    for name, table in (("plain", rows), ("views", views)):
        feather.write_feather(table, tmp_path / f"{name}.feather", compression="uncompressed")
        words = ["split", "--path", f"{name}.feather", "--label", "stars", "--group", "writer"]
        main([*words, "--output", f"{name}.parquet", *more])
    made = [pq.read_table(tmp_path / f"{name}.parquet").to_pylist() for name in ("plain", "views")]
    assert made[0] == made[1]
    assert {row["text"] for row in made[1]} <= set(texts)


def test_a_column_that_a_large_file_has_twice(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(InputError, match="has the column 'a' twice"):
        pick_rows(TextFile("t.csv", tmp_path / "t.csv", None), ["a", "b"], np.array([True]))


# The cache


@pytest.mark.parametrize(
    "content", ["[]", "null", "1", '{"dtype": "uint99", "pad": 0}', '{"dtype": "uint16", "pad": null}']
)
def test_what_is_said_of_tokens_in_a_cache_is_damaged(tiny, content):
    tokens = tokenise(pa.array(["good"], pa.large_string()), AutoTokenizer.from_pretrained(tiny), 8, source="t")
    (tokens.folder / "about.json").write_text(content)
    with pytest.raises(InputError, match=r"about\.json is damaged: .*; delete that folder"):
        Tokens(tokens.folder)


def test_of_what_cannot_be_written_nothing_is_left(tmp_path):
    def fill(folder):
        (folder / "half").write_text("x")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space") as told:
        cache_module.made_once(tmp_path / "cache/made", fill)
    assert told.value.errno == errno.ENOSPC
    assert told.value.filename == str(tmp_path / "cache/made")
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("frozen", [False, True])
def test_a_full_disk_ends_a_fit_in_one_sentence(tiny, words, refused, monkeypatch, cache, frozen):
    if frozen:
        monkeypatch.setattr(os, "posix_fallocate", _full)
    else:
        real = Path.open
        monkeypatch.setattr(
            Path, "open", lambda path, *rest, **more: _Full() if path.name == "ids" else real(path, *rest, **more)
        )
    more = ["--data.frozen", "true"] if frozen else ["--model.network", "TextClassifier"]
    said = refused("fit", *words(tiny, *more))
    assert said.startswith(f"no space left to write {cache}/{'features' if frozen else 'tokens'}/")
    assert not Path("runs").exists()


def _full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _Full:
    write = staticmethod(_full)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


# Runs


@pytest.mark.parametrize("fault", ["network", "length", "weights", "name"])
def test_what_a_network_refuses_leaves_no_run(copy, words, refused, fault):
    more = ["--model.network", "TextClassifier"]
    if fault == "network":
        more = ["--model.network", "MLP"]
    elif fault == "length":
        more += ["--data.max_length", 65]
    elif fault == "weights":
        (copy / "model.safetensors").write_bytes(b"")
    else:
        more += ["--model.network.pretrained", "./none"]
    assert refused("fit", *words(copy, *more))
    assert not Path("runs").exists()


@pytest.mark.parametrize("fault", ["max_length", "tokenizer"])
def test_a_refused_resume_leaves_the_run_as_it_was(run, copy, words, refused, fault):
    run("fit", *words(copy, "--data.frozen", "true", "--trainer.default_root_dir", "runs"))
    (last,) = Path("runs").rglob("last.ckpt")
    before = {path: path.read_bytes() for path in Path("runs").rglob("*") if path.is_file()}
    more = ["--data.max_length", 20] if fault == "max_length" else []
    why = "--data.max_length 32, and this run has --data.max_length 20" if more else "other training data or options"
    if fault == "tokenizer":
        said = json.loads((copy / "tokenizer.json").read_text(encoding="utf-8"))
        said["normalizer"]["lowercase"] = False
        (copy / "tokenizer.json").write_text(json.dumps(said), encoding="utf-8")
    assert why in refused("fit", "--ckpt_path", last, *more, "--trainer.max_epochs", 2)
    assert {path: path.read_bytes() for path in Path("runs").rglob("*") if path.is_file()} == before


def test_a_label_does_not_stand_for_a_blank(tiny, words, refused):
    assert refused("fit", *words(tiny, "--data.relabel", "{1: ' '}")).startswith("relabel: '1' stands for ' '")


def test_split_names_its_own_option_for_the_encoder(tmp_path, refused, capsys):
    rows = {**TEXTS, "stars": [1, 2, 3] * 10, "writer": np.repeat(list("abcdef"), 5)}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    words = ["split", "--path", "t.parquet", "--label", "stars", "--group", "writer", "--output", "o.parquet"]
    with pytest.raises(SystemExit):
        main([*words, "--method", "cluster", "--text", "text", "--min_count", "2", "--pretrained", "./none"])
    said = capsys.readouterr().err
    assert "for example /path/to/none" in said
    assert "--data" not in said
    assert "--tokenizer" not in said


# Tokens that were added without embeddings


def added(folder, *, resized=False):
    """The folder with a token that its encoder has no embedding for, unless it is resized."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["<new>"])
    tokenizer.save_pretrained(folder)
    if resized:
        model = AutoModel.from_pretrained(folder)
        model.resize_token_embeddings(len(tokenizer))
        model.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("frozen", [False, True])
def test_only_texts_that_use_a_token_without_an_embedding_are_refused(copy, words, refused, run, frozen):
    more = ["--data.frozen", "true"] if frozen else ["--model.network", "TextClassifier"]
    fit = ["fit", *words(added(copy), *more)]
    run(*fit)
    table = pq.read_table("t.parquet")
    changed = ["good <new>", *table["text"].to_pylist()[1:]]
    pq.write_table(table.set_column(0, "text", pa.array(changed)), "t.parquet")
    said = refused(*fit)
    assert "<new>" in said
    assert "resize the folder's embeddings" in said
    assert "resize_token_embeddings(len(tokenizer))" in said
    checkpoint = "runs/version_0/checkpoints/last.ckpt"
    assert "<new>" in refused("predict", "--ckpt_path", checkpoint), "other data than that of the fit"
    added(copy, resized=True)
    run(*fit)


def test_another_encoder_than_the_tokenizers_is_told_to_take_its_own(copy, tiny):
    folder = added(copy)
    sizes = Sizes(0, 2, vocabulary=len(load_tokenizer(folder)), max_length=8, tokenizer=folder)
    shutil.copytree(tiny, copy.with_name("weights"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (copy.with_name("weights") / name).unlink()
    with pytest.raises(InputError, match="give tokenizer="):
        TextClassifier(sizes, pretrained=str(copy.with_name("weights")))
