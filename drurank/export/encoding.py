"""How the columns of a table become the tensors of a network, in words and numbers for a program in any language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drurank.data import Images, Table, Text
from drurank.data.encoding import UNSEEN, Encoder
from drurank.export.classifier import Input
from drurank.export.formats import OUTPUT
from drurank.export.writings import explained, written_of
from drurank.methods import GroupModule
from drurank.tabular.converting import Reading

FORMAT = 1
"""Another one where the file means something else."""
CELLS = [
    "Text is compared without blanks at its ends, in Unicode form NFC; true and false are written so, in lower case; "
    "whole numbers of a column that is a category are written without a fraction.",
    "A blank cell is missing, and so is NA, N/A, NaN, null or None in a column of numbers of CSV and TSV files.",
]
NUMBER = [
    "number: (x - mean) / scale, computed in float64 and rounded to float32; 0 where it is missing.",
    "missing_indicator: a second value behind it, 1 where the cell is missing, else 0.",
    "minimum, maximum: the least and the largest x of the training rows, to tell rows that lie outside; null where the "
    "checkpoint is of an older version.",
    "written: how the cells are written of which x is read, as follows.",
]
CATEGORY = [
    f"category: the code of a cell is its place in values, from 1 on, or {UNSEEN} for a value that is not there; null "
    "among the values stands for missing cells, which have code 0 where it is not there.",
    "joined: whether a cell that differs from a value only by case, blanks, Unicode form or zeros of a number is that "
    "value.",
]
ONEHOT = "onehot: a category takes 1 + len(values) places of the tensor from `at` on: 1 at `at` + code, else 0."
EMBED = "embed: numbers are in the tensor numeric and codes in categorical, each at `at`."
TEXTS = [
    "The text columns of a row, missing ones as empty text, are joined by a newline and cut by the tokenizer, with its "
    "special tokens, at max_length tokens; a text without any is one token of padding.",
    "tokenizer_digest tells that tokenizer from others.",
]
TOKENS = "input_ids are the tokens of each row, padded behind its last; attention_mask is 1 at tokens and 0 at padding."
FEATURES = (
    "inputs are (f - mean) / scale in float32, where f is the pooled output of the pretrained encoder of that name, "
    "which is not part of the model: the first token's output, or the mean over tokens (pooling)."
)
PICTURES = [
    "A picture is turned as its EXIF orientation says, its transparent parts lie on white, 16-bit greys are divided by "
    "257, and grey becomes three equal channels.",
    "Its shorter side is resized to `resize` pixels, by a bilinear filter that takes all pixels into account when it "
    "makes a picture smaller (that of Pillow and torchvision); the other side keeps its ratio, rounded down.",
    "Of that the middle square of `resize` pixels is cut out, and of this the middle square of `size` pixels.",
]
PIXELS = "inputs are its pixels, red, green and blue, from 0 to 255; the model normalises them itself."
PICTURE_FEATURES = (
    "inputs are (f - mean) / scale in float32, where f is what the backbone of that name, which is not part of the "
    "model, gives for the normalised pixels."
)


def encoding_of(data: Any, method: GroupModule, labels: Sequence[str], inputs: Sequence[Input]) -> dict[str, Any]:
    """The content of ``encoding.json``.

    Args:
        data: with its encoding; of other data than ``Table``, ``Text`` and ``Images`` only the tensors are described.
        method: with its network.
        labels: of the classes.
        inputs: what the network takes.
    """
    network = method.builder.description or {"class_path": f"{type(method).__module__}.{type(method).__qualname__}"}
    sizes = method.builder.sizes
    return {
        "format": FORMAT,
        "labels": list(labels),
        "inputs": [{"name": one.name, "dtype": one.dtype, "shape": one.shape} for one in inputs],
        "output": {"name": OUTPUT, "dtype": "float32", "shape": ["rows", len(labels)]},
        **(_of_data(data) if isinstance(data, Table | Text | Images) else {"kind": None}),
        "network": {**network, "sizes": None if sizes is None else sizes.as_plain()},
    }


def _of_data(data: Table | Text | Images) -> dict[str, Any]:
    if isinstance(data, Text):
        return _of_texts(data)
    if isinstance(data, Images):
        return _of_pictures(data)
    encoder: Encoder = data.encoder
    columns = _columns(encoder, data.reading)
    written = dict.fromkeys(column["written"] for column in columns if column["kind"] == "number")
    of_numbers = [*NUMBER, *(explained(one, data.reading) for one in written)] if written else []
    how = [*CELLS, *of_numbers, *CATEGORY, ONEHOT if encoder.encoding == "onehot" else EMBED]
    return {"kind": "table", "encoding": encoder.encoding, "columns": columns, "how": how}


def _columns(encoder: Encoder, reading: Reading) -> list[dict[str, Any]]:
    found, at = list[dict[str, Any]](), 0
    for number in encoder.numeric:
        found.append(
            {
                "name": number.name,
                "kind": "number",
                "at": at,
                "mean": number.mean,
                "scale": number.scale,
                "missing_indicator": number.indicator,
                "minimum": number.minimum,
                "maximum": number.maximum,
                "written": written_of(number, reading),
            }
        )
        at += 1 + number.indicator
    for place, category in enumerate(encoder.categorical):
        found.append(
            {
                "name": category.name,
                "kind": "category",
                "at": at if encoder.encoding == "onehot" else place,
                "values": category.values,
                "joined": category.is_joined,
            }
        )
        at += category.cardinality
    return found


def _of_texts(data: Text) -> dict[str, Any]:
    encoder = data.encoder
    frozen = encoder.pooling is not None
    more = {name: getattr(encoder, name) for name in ("pooling", "weights", "mean", "scale")} if frozen else {}
    return {
        "kind": "text",
        "text": data.text,
        "tokenizer": encoder.name,
        "tokenizer_digest": encoder.tokenizer,
        "vocabulary": encoder.vocabulary,
        "max_length": encoder.max_length,
        **({"frozen": more} if frozen else {}),
        "how": [*TEXTS, FEATURES if frozen else TOKENS],
    }


def _of_pictures(data: Images) -> dict[str, Any]:
    encoder = data.encoder
    frozen = bool(encoder.backbone)
    more = {name: getattr(encoder, name) for name in ("backbone", "weights", "mean", "scale")} if frozen else {}
    return {
        "kind": "pictures",
        "size": encoder.size,
        "resize": encoder.resize,
        **({"frozen": more} if frozen else {}),
        "how": [*PICTURES, PICTURE_FEATURES if frozen else PIXELS],
    }
