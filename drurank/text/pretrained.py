"""Pretrained encoders and their tokenizers, from a local folder, the hub's local cache, or the hub.

The hub is asked only for what is not found locally, which is said; code that a folder brings is never run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from drurank.errors import InputError
from drurank.extras import check_installed
from drurank.hub import say_asked

DEFAULT = "distilbert-base-uncased"
OF_FILES = ("_file", "_path", "_dir")
"""Endings of the tokenizer's options that say where its files were."""
SECONDS = 10
"""How long to wait for the hub's answer whether it has a model."""


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a pretrained encoder.

    Args:
        name: local folder, or name on the hub.

    Raises:
        InputError: if it is not found or cannot be loaded.
    """
    check_installed("transformers", "text", "a tokenizer")
    from transformers import AutoTokenizer  # here, since it is slow to import

    tokenizer = _load(AutoTokenizer, "tokenizer", name)
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        # What is made of a folder with an encoder alone.
        raise InputError(
            f"{name} has an encoder and no tokenizer; add the tokenizer's files, or give another folder or name"
        )
    if tokenizer.pad_token_id is None:
        raise InputError(f"the tokenizer {name} has no padding token; give another one, such as {DEFAULT}")
    return tokenizer


def load_encoder(name: str, config: dict[str, Any] | None = None) -> Any:
    """A pretrained encoder with float32 weights, in training mode.

    Args:
        name: local folder, or name on the hub.
        config: what the encoder is made from, with random weights, in place of what ``name`` says.

    Raises:
        InputError: if it is not found, cannot be loaded, or does not encode single texts.
    """
    check_installed("transformers", "text", "a pretrained encoder")
    from transformers import AutoConfig, AutoModel

    with _quiet():
        if config is None:
            _refuse_fetching(name, _load(AutoConfig, "encoder", name))
            said = {"output_loading_info": True, "ignore_mismatched_sizes": True}
            encoder, found = _load(AutoModel, "encoder", name, dtype=torch.float32, **said)
            _refuse_lacking(name, found)
        else:
            kind = {key: value for key, value in config.items() if key != "model_type"}
            made = AutoConfig.for_model(config["model_type"], **kind)
            _refuse_fetching(name, made)
            encoder = AutoModel.from_config(made, dtype=torch.float32, trust_remote_code=False)
    if encoder.main_input_name != "input_ids" or not hasattr(encoder.config, "hidden_size"):
        raise InputError(f"{name} is a {encoder.config.model_type}, not a text encoder; give one such as {DEFAULT}")
    if encoder.config.is_encoder_decoder:
        raise InputError(f"{name} is an encoder with a decoder; give an encoder alone, such as {DEFAULT}")
    broken = [key for key, weight in encoder.named_parameters() if not bool(weight.isfinite().all())]
    if broken:
        raise InputError(
            f"the weight {broken[0]} of the encoder {name} is nan or inf; give another encoder, such as {DEFAULT}"
        )
    if isinstance(getattr(encoder, "pooler", None), nn.Module):
        # Of no use for single texts, and DDP stops at weights without gradients.
        encoder.pooler = nn.Identity()  # some encoders call it in any case
    return encoder.train()  # they are loaded in evaluation mode, which Lightning would keep


def refuse_unknown_tokens(largest: int, encoder: Any, name: str, tokenizer: str | None) -> None:
    """Refuse texts with a token that the encoder has no embedding for.

    Args:
        largest: the largest number of the texts' tokens.
        encoder: what ``load_encoder`` gave.
        name: of the encoder: local folder, or name on the hub.
        tokenizer: the same of what cut the texts; ``None`` where it is not to be loaded.

    Raises:
        InputError: naming the token and the remedy.
    """
    known = encoder.config.vocab_size
    if largest < known:
        return
    if tokenizer is None:
        raise InputError(f"the texts have token {largest:,}, and the encoder has embeddings for {known:,} tokens")
    token = load_tokenizer(tokenizer).convert_ids_to_tokens(largest)
    remedy = f"give tokenizer={name!r}"
    if name == tokenizer:
        remedy = (
            "resize the folder's embeddings, with model.resize_token_embeddings(len(tokenizer)), and save the model "
            "and the tokenizer there"
        )
    raise InputError(
        f"the texts have token {largest:,} ({token}), and the encoder {name} has embeddings for {known:,} tokens; "
        f"{remedy}"
    )


def fingerprint_of(tokenizer: Any) -> str:
    """A short digest of all that decides how a tokenizer cuts a text."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        # Padding and truncation are options of a call that it happens to keep.
        said = {
            key: value for key, value in json.loads(backend.to_str()).items() if key not in ("padding", "truncation")
        }
    else:
        options = {name: str(value) for name, value in tokenizer.init_kwargs.items() if not name.endswith(OF_FILES)}
        said = {"class": type(tokenizer).__name__, "vocabulary": tokenizer.get_vocab(), "options": options}
    # What the tokenizer's own file does not hold.
    beside = ("pad_token_id", "truncation_side", "split_special_tokens")
    said |= {name: getattr(tokenizer, name, None) for name in beside}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def _refuse_lacking(name: str, found: dict[str, Any]) -> None:
    """Stop if the file lacks weights, which would silently be random."""
    lacking = {*found["missing_keys"], *(key for key, *_ in found["mismatched_keys"])}
    lacking = {key for key in lacking if "pooler" not in key}
    if lacking:
        raise InputError(
            f"{len(lacking):,} of the encoder's weights, {min(lacking)!r} among them, are missing from {name} or have "
            "another shape; give a folder whose config.json and weights were saved together"
        )


def _refuse_fetching(name: str, config: Any) -> None:
    """Stop if an encoder would load more from the hub as it is made: code of its own, or weights of another model."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING

    kind = MODEL_MAPPING.get(type(config), None)
    if kind is not None and getattr(kind, "main_input_name", "input_ids") != "input_ids":
        raise InputError(f"{name} is a {config.model_type}, not a text encoder; give one such as {DEFAULT}")
    parts = [config, *(getattr(config, part, None) for part in config.sub_configs)]
    for option in ("_attn_implementation", "_experts_implementation", "use_pretrained_backbone"):
        for value in (getattr(part, option, None) for part in parts):
            if value is True or "/" in str(value):
                raise InputError(
                    f"the configuration of {name} has {option.strip('_')}: {value}, which would be loaded from the "
                    "hub; remove that from its config.json, or give another encoder"
                )


def _load(kind: Any, what: str, name: str, **options: Any) -> Any:
    folder = Path(name).expanduser()
    if folder.is_dir():
        name = str(folder)
    options["trust_remote_code"] = False  # Not told, it asks on the terminal whether to run a model's code.
    try:
        return kind.from_pretrained(name, local_files_only=True, **options)
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        if not folder.is_dir() and _is_cached(name):
            raise InputError(
                f"the {what} {name!r} in the local cache cannot be loaded: {said}; {_remedy(name)}"
            ) from error
        if folder.is_dir():
            raise InputError(
                f"no {what} can be loaded from the folder {name}: {said}; give one that save_pretrained wrote, with "
                "config.json, the weights and the tokenizer's files"
            ) from error
    say_asked(what, name)
    _ask_hub(what, name)
    try:
        return kind.from_pretrained(name, **options)
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"the {what} {name!r} cannot be loaded from the hub: {said}; {_remedy(name)}") from error


def _is_cached(name: str) -> bool:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError:
        return False


def _ask_hub(what: str, name: str) -> None:
    """One question in place of the retries for each file."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    try:
        HfApi().model_info(name, timeout=SECONDS)
    except HFValidationError as error:
        raise InputError(f"there is no folder {name!r} with a pretrained {what}; {_remedy(name)}") from error
    except Exception as error:
        why = "the hub cannot be reached, and it is not in the local cache"
        if isinstance(error, RepositoryNotFoundError):
            why = "the hub has no model of that name"
        raise InputError(f"there is no folder {name!r} with a pretrained {what}, and {why}; {_remedy(name)}") from error


def _remedy(name: str) -> str:
    last = name.rstrip("/").rpartition("/")[2] or "model"
    # Which option named it, only the caller knows: of Text, of TextClassifier or of split.
    return (
        "where the hub can be reached, save the model and its tokenizer with save_pretrained, and give that folder, "
        f"for example /path/to/{last}"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the bar for loading and the table of weights that are not taken over."""
    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
