"""Encoders and tokenizers: how they are loaded, what they compute, and what is said where they cannot be had."""

import json
import sys

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer

from drurank.errors import InputError
from drurank.hub import say_asked
from drurank.networks import MLP, Sizes, TextClassifier
from drurank.networks.factory import is_plain
from drurank.text.pretrained import fingerprint_of, load_encoder, load_tokenizer
from encoders import minilm, write_distilbert, write_tiny

TEXTS = ["The room was fine, the breakfast awful.", "no", "a good stay " * 9]


@pytest.fixture(scope="module", params=["distilbert", "bert"])
def tiny(request, tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoders") / request.param, request.param)


@pytest.fixture(scope="module")
def distilbert(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoders") / "distilbert")


def sizes(folder, classes=5, max_length=64):
    known = len(AutoTokenizer.from_pretrained(folder))
    return Sizes(0, classes, vocabulary=known, max_length=max_length, tokenizer=str(folder))


def test_the_fixture_is_the_encoder_that_the_package_carries(tmp_path):
    folder = write_distilbert(tmp_path / "minilm")
    batch = AutoTokenizer.from_pretrained(minilm())(TEXTS, return_tensors="pt", padding=True)
    mask = batch["attention_mask"]
    with torch.no_grad():
        bert = AutoModel.from_pretrained(minilm()).eval()(**batch).last_hidden_state
        ours = load_encoder(str(folder)).eval()(batch["input_ids"], attention_mask=mask).last_hidden_state
    assert type(load_encoder(str(folder))).__name__ == "DistilBertModel"
    assert (bert - ours)[mask.bool()].abs().max() < 1e-5


def test_weights_are_float32_and_training_is_on_whatever_the_file_holds(tiny, tmp_path):
    AutoModel.from_pretrained(tiny).bfloat16().save_pretrained(tmp_path / "half")
    encoder = load_encoder(str(tmp_path / "half"))
    assert {parameter.dtype for parameter in encoder.parameters()} == {torch.float32}
    assert all(module.training for module in encoder.modules())


def test_outputs_are_those_of_the_model_alone(tiny):
    network = TextClassifier(sizes(tiny)).eval()
    ids = torch.randint(4, 80, (3, 9))
    mask = (torch.arange(9) < torch.tensor([[9], [5], [2]])).long()
    with torch.no_grad():
        ours = network(ids, mask)
        alone = AutoModel.from_pretrained(tiny).eval()
        for row, length in enumerate((9, 5, 2)):
            hidden = alone(ids[row : row + 1, :length]).last_hidden_state[:, 0]
            expected = network.head(torch.relu(network.dense(hidden)))
            torch.testing.assert_close(ours[row : row + 1], expected, atol=1e-5, rtol=0)


def test_layers_that_look_near_by_alone_do_so_in_padded_batches_too():
    options = {"vocab_size": 80, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 3}
    options |= {"num_attention_heads": 2, "local_attention": 4, "global_attn_every_n_layers": 3, "pad_token_id": 0}
    size = Sizes(0, 5, vocabulary=80, max_length=64, tokenizer="none")
    torch.manual_seed(0)
    network = TextClassifier(size, config={"model_type": "modernbert", "initializer_range": 0.5, **options}).eval()
    ids = torch.randint(4, 80, (1, 30))
    mask = torch.tensor([[1] * 30 + [0] * 4])
    with torch.no_grad():
        alone = network.encode(ids)
        padded = network.encode(torch.cat([ids, torch.zeros(1, 4, dtype=torch.int64)], dim=1), mask)[:, :30]
    torch.testing.assert_close(padded, alone, atol=1e-4, rtol=0)


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_pooling_looks_at_no_padding(tiny, pooling):
    network = TextClassifier(sizes(tiny), pooling=pooling).eval()
    ids = torch.randint(4, 80, (1, 6))
    padded = torch.cat([ids, torch.zeros(1, 4, dtype=torch.int64)], dim=1)
    mask = torch.tensor([[1] * 6 + [0] * 4])
    with torch.no_grad():
        torch.testing.assert_close(network(padded, mask), network(ids), atol=1e-6, rtol=0)
        hidden = network.encode(ids)
        expected = hidden.mean(dim=1) if pooling == "mean" else hidden[:, 0]
        torch.testing.assert_close(network.features(ids), torch.relu(network.dense(expected)))


def test_dropout_changes_what_training_sees_and_not_evaluation(distilbert):
    network = TextClassifier(sizes(distilbert))
    ids = torch.randint(4, 80, (2, 9))
    assert not torch.equal(network(ids), network(ids))
    network.eval()
    assert torch.equal(network(ids), network(ids))


def test_no_batch_without_rows_stops_it_and_every_weight_has_a_gradient(tiny):
    network = TextClassifier(sizes(tiny))
    logits = network(torch.zeros(0, 1, dtype=torch.int64))
    assert logits.shape == (0, 5)
    logits.sum().backward()
    lacking = [name for name, parameter in network.named_parameters() if parameter.grad is None]
    assert lacking == []


def test_weights_are_all_used(tiny):
    network = TextClassifier(sizes(tiny))
    network(torch.randint(4, 80, (2, 9))).sum().backward()
    assert [name for name, parameter in network.named_parameters() if parameter.grad is None] == []


def test_biases_and_norms_do_not_decay(tiny):
    network = TextClassifier(sizes(tiny))
    decays, rest = network.parameter_groups()
    named = {id(parameter): name for name, parameter in network.named_parameters()}
    still = {named[id(parameter)] for parameter in rest["params"]}
    expected = {name for name in named.values() if name.endswith(".bias") or "norm" in name.lower()}
    assert still == expected
    assert rest["weight_decay"] == 0
    assert "weight_decay" not in decays
    assert len(decays["params"]) + len(rest["params"]) == len(named)


def test_it_is_built_again_from_plain_values_without_the_folder(tmp_path):
    folder = write_tiny(tmp_path / "gone")
    network = TextClassifier(sizes(folder)).eval()
    arguments = network.saved_arguments()
    assert is_plain(arguments)
    size = sizes(folder)
    folder.rename(tmp_path / "elsewhere")
    again = TextClassifier(size, **json.loads(json.dumps(arguments))).eval()
    again.load_state_dict(network.state_dict())
    ids = torch.randint(4, 80, (2, 9))
    torch.testing.assert_close(again(ids), network(ids))


def test_a_fingerprint_says_how_texts_are_cut_and_not_where_from(tmp_path):
    one, other = write_tiny(tmp_path / "one"), write_tiny(tmp_path / "other")
    tokenizer = load_tokenizer(str(one))
    before = fingerprint_of(tokenizer)
    tokenizer(["a b c"], truncation=True, max_length=2, padding=True)
    assert fingerprint_of(tokenizer) == before == fingerprint_of(load_tokenizer(str(other)))
    file = other / "tokenizer.json"
    said = json.loads(file.read_text())
    said["normalizer"]["lowercase"] = False
    file.write_text(json.dumps(said))
    assert fingerprint_of(load_tokenizer(str(other))) != before


@pytest.mark.parametrize(("name", "value"), [("truncation_side", "left"), ("pad_token", "[UNK]")])
def test_a_fingerprint_sees_what_stands_in_the_tokenizer_configuration_alone(tmp_path, name, value):
    folder = write_tiny(tmp_path / "one")
    before = fingerprint_of(load_tokenizer(str(folder)))
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    assert fingerprint_of(load_tokenizer(str(folder))) != before


@pytest.mark.parametrize("name", ["distilbert-base-uncased-none", "nobody/none", "./none", "a b", "/none/such"])
@pytest.mark.parametrize("load", [load_tokenizer, load_encoder])
def test_an_unknown_name_is_told_at_once_in_one_sentence(name, load, monkeypatch, capfd):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    asked = []
    monkeypatch.setattr("time.sleep", lambda seconds: asked.append(seconds))
    with pytest.raises(InputError) as told:
        load(name)
    said = str(told.value)
    assert repr(name) in said
    assert "save the model and its tokenizer with save_pretrained" in said
    assert "/path/to/" in said
    assert "--data" not in said  # it may have been named by an option of split
    assert "\n" not in said
    assert asked == []
    assert "Retrying" not in capfd.readouterr().err


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(InputError, match=r"folder .*config\.json"):
        load_encoder(str(tmp_path))


def test_no_code_of_a_model_is_run_nor_asked_about(tmp_path, monkeypatch):
    folder = write_tiny(tmp_path / "tiny")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "evil.Evil", "AutoConfig": "evil.EvilConfig"}
    config["model_type"] = "evil"
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemError('was run')")
    asked = []
    monkeypatch.setattr("builtins.input", lambda *said: asked.append(said) or "y")
    with pytest.raises(InputError, match="folder"):
        load_encoder(str(folder))
    assert not any("evil" in name for name in sys.modules)
    assert asked == []


def test_an_encoder_that_reads_from_left_to_right_is_pooled_over_all_tokens(tmp_path):
    folder = write_tiny(tmp_path / "tiny")
    known = sizes(folder)
    shape = {"n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 64, "vocab_size": known.vocabulary}
    AutoModel.from_config(AutoConfig.for_model("gpt2", **shape)).save_pretrained(folder)
    with pytest.raises(InputError, match="reads from left to right"):
        TextClassifier(known)
    assert TextClassifier(known, pooling="mean")(torch.randint(4, 80, (2, 9))).shape == (2, 5)


def test_the_longest_text_is_what_the_positions_hold(tmp_path):
    known = sizes(write_tiny(tmp_path / "tiny"), max_length=62)
    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 16}
    config = AutoConfig.for_model(
        "roberta", **shape, vocab_size=known.vocabulary, max_position_embeddings=64, pad_token_id=1
    )
    network = TextClassifier(known, config=config.to_dict()).eval()
    assert network(torch.full((1, 62), 5)).shape == (1, 5)
    with pytest.raises(InputError, match="takes 62"):
        TextClassifier(sizes(tmp_path / "tiny", max_length=63), config=config.to_dict())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"attn_implementation": "some/one"}, "attn_implementation: some/one, which would be loaded from the hub"),
        ({"_attn_implementation": "some/one"}, "attn_implementation: some/one"),
        ({"experts_implementation": "some/one"}, "experts_implementation: some/one"),
        ({"use_pretrained_backbone": True}, "use_pretrained_backbone: True"),
    ],
)
@pytest.mark.parametrize("is_given", [True, False], ids=["of a checkpoint", "of a folder"])
def test_an_encoder_that_would_load_more_from_the_hub_is_refused(tmp_path, more, said, is_given):
    folder = write_tiny(tmp_path / "tiny")
    file = folder / "config.json"
    config = {**json.loads(file.read_text()), **more}
    file.write_text(json.dumps(config))
    with pytest.raises(InputError, match=said):
        TextClassifier(sizes(folder), config=config if is_given else None)


@pytest.mark.parametrize(("load", "what"), [(load_tokenizer, "tokenizer"), (load_encoder, "encoder")])
def test_a_hub_is_asked_only_once_that_is_said(caplog, monkeypatch, load, what):
    def ask(*_):
        assert f"there is no file or folder some/one: asking the hub for the {what} of that name" in caplog.messages
        raise InputError("asked")

    monkeypatch.setattr("drurank.text.pretrained._ask_hub", ask)
    say_asked.cache_clear()
    with pytest.raises(InputError, match="asked"):
        load("some/one")


def test_what_reads_pictures_is_refused_before_it_is_made(monkeypatch, tiny):
    monkeypatch.setattr(AutoModel, "from_config", lambda *_, **__: pytest.fail("it was made"))
    config = {"model_type": "detr", "backbone": "resnet50", "use_pretrained_backbone": False}
    with pytest.raises(InputError, match="is a detr, not a text encoder"):
        TextClassifier(sizes(tiny), config=config)


def test_a_checkpoints_tokenizer_is_not_loaded_to_name_a_token(monkeypatch, tiny):
    monkeypatch.setattr("drurank.text.pretrained.load_tokenizer", lambda _: pytest.fail("it was loaded"))
    options = {"model_type": "distilbert", "vocab_size": 80, "dim": 16, "hidden_dim": 16, "n_layers": 1, "n_heads": 2}
    with pytest.raises(InputError, match="token 80, and the encoder has embeddings for 80 tokens"):
        TextClassifier(Sizes(0, 5, vocabulary=81, max_length=64, tokenizer="some/one"), config=options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pooling": "last"}, "pooling is 'last'"),
        ({"dropout": 1.0}, "dropout is 1.0"),
    ],
)
def test_options_out_of_range(distilbert, options, said):
    with pytest.raises(InputError, match=said):
        TextClassifier(sizes(distilbert), **options)


def test_an_encoder_of_pictures_is_named(tmp_path):
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    AutoModel.from_config(AutoConfig.for_model("vit", **size)).save_pretrained(tmp_path / "vit")
    with pytest.raises(InputError, match="vit is a vit, not a text encoder"):
        load_encoder(str(tmp_path / "vit"))


def test_sizes_that_do_not_fit(distilbert, tmp_path):
    with pytest.raises(InputError, match=r"max_length is 65 tokens and .* takes 64; give max_length=64"):
        TextClassifier(sizes(distilbert, max_length=65))
    with pytest.raises(InputError, match=r"give the data as Text"):
        TextClassifier(Sizes(7, 2), pretrained=str(distilbert))
    with pytest.raises(InputError, match="TextClassifier"):
        MLP(sizes(distilbert))
    other = write_tiny(tmp_path / "other")
    file = other / "tokenizer.json"
    said = json.loads(file.read_text())
    said["normalizer"]["lowercase"] = False
    file.write_text(json.dumps(said))
    with pytest.raises(InputError, match=r"comes with another tokenizer .*tokenizer="):
        TextClassifier(sizes(distilbert), pretrained=str(other))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (other / name).unlink()
    assert TextClassifier(sizes(distilbert), pretrained=str(other)).head.out_features == 5
    with pytest.raises(InputError, match=r"has an encoder and no tokenizer"):
        load_tokenizer(str(other))
