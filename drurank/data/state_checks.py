"""Whether what a checkpoint keeps of its training rows is of the kinds that are read of it.

Another kind is a ``TypeError`` somewhere later, or shows only in predictions: a text is a list of its letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import NoneType
from typing import Any, get_args

from drurank.data.encoding import Encoding
from drurank.errors import InputError
from drurank.images.augmenting import check_augment
from drurank.run_folder.checkpoint_checks import REMEDY
from drurank.shapes import MANY, check_shape, wrong
from drurank.tabular.dates import ORDERS
from drurank.tabular.feature import DATE, MARKED, PERCENT, PLAIN
from drurank.tabular.jsonrows import HALF
from drurank.text.pooling import Pooling

NAMES = {"label_names": list, "group_names": list}
ENCODER = {**NAMES, "numeric": list, "categorical": list, "encoding": str}
NUMERIC = {"name": str, "mean": int | float, "scale": int | float, "indicator": bool}
CATEGORICAL = {"name": str, "values": list}
ENDS = {"minimum": int | float, "maximum": int | float}
OF_NUMERIC = {"written": str | NoneType, **{name: kind | NoneType for name, kind in ENDS.items()}}
"""What checkpoints of older versions do not say."""
OF_CATEGORICAL = {"is_joined": bool}
"""As of numbers."""
TEXTS = {
    **NAMES,
    "tokenizer": str,
    "name": str,
    "vocabulary": int,
    "max_length": int,
    "pooling": str | NoneType,
    "weights": str,
    "mean": list,
    "scale": list,
}
PICTURES = {
    **NAMES,
    "size": int,
    "resize": int,
    "augment": str | list,
    "backbone": str,
    "weights": str,
    "mean": list,
    "scale": list,
}
NUMBERS = {MANY: int | float}
MOST_PIXELS = 4096
"""Longest side of a square that pictures are cut to."""
MOST_TOKENS = 2**31
"""Below which lengths and vocabularies of ours are."""


def check_names(of: str, state: Any, where: str) -> None:
    """Refuse labels and groups that are none.

    Args:
        of: the checkpoint, as it is called in the sentence.
        state: what it keeps.
        where: its key in the checkpoint.

    Raises:
        InputError: naming the first entry that is of another kind.
    """
    check_shape(of, state, NAMES, REMEDY, where)
    for name in NAMES:
        for place, text in enumerate(state[name]):
            _check_text(of, text, f"{where}.{name}.{place}")
    if not state["label_names"]:
        raise wrong(of, f"{where}.label_names", [], REMEDY)
    _refuse_twice(of, state["label_names"], f"{where}.label_names")


def check_columns(of: str, state: Any, where: str) -> None:
    """As ``check_names``, of the columns of a table too."""
    check_shape(of, state, ENCODER, REMEDY, where)
    check_names(of, state, where)
    for place, feature in enumerate(state["numeric"]):
        _check_number(of, feature, f"{where}.numeric.{place}")
    for place, feature in enumerate(state["categorical"]):
        _check_category(of, feature, f"{where}.categorical.{place}")
    names = [feature["name"] for feature in (*state["numeric"], *state["categorical"])]
    _refuse_twice(of, names, f"{where}.numeric and {where}.categorical")
    _check_choice(of, state["encoding"], f"{where}.encoding", get_args(Encoding))


def check_texts(of: str, state: Any, where: str) -> None:
    """As ``check_names``, of what is kept of texts too."""
    _check_keys(of, state, where, TEXTS)
    check_names(of, state, where)
    for name in ("tokenizer", "name", "weights"):
        _check_text(of, state[name], f"{where}.{name}")
    for name in ("vocabulary", "max_length"):
        if not 0 < state[name] < MOST_TOKENS:
            raise wrong(of, f"{where}.{name}", state[name], REMEDY)
    _check_choice(of, state["pooling"], f"{where}.pooling", (None, *get_args(Pooling)))
    _check_standards(of, state, where, are_needed=state["pooling"] is not None)


def check_pictures(of: str, state: Any, where: str) -> None:
    """As ``check_names``, of what is kept of pictures too."""
    _check_keys(of, state, where, PICTURES)
    check_names(of, state, where)
    for name in ("backbone", "weights"):
        _check_text(of, state[name], f"{where}.{name}")
    if not 0 < state["size"] <= MOST_PIXELS:
        raise wrong(of, f"{where}.size", state["size"], REMEDY)
    if not state["size"] <= state["resize"] <= MOST_PIXELS:
        raise wrong(of, f"{where}.resize", state["resize"], REMEDY)
    try:
        check_augment(state["augment"])
    except InputError as error:
        raise wrong(of, f"{where}.augment", state["augment"], REMEDY) from error
    _check_standards(of, state, where, are_needed=bool(state["backbone"]))


def _check_standards(of: str, state: Any, where: str, *, are_needed: bool) -> None:
    """Refuse means and standard deviations of features that are none, or where there are no features."""
    for name in ("mean", "scale"):
        numbers = state[name]
        if len(numbers) != len(state["mean"]) or bool(numbers) != are_needed:
            raise wrong(of, f"{where}.{name}", numbers, REMEDY)
        by_place = {str(place): number for place, number in enumerate(numbers)}
        check_shape(of, by_place, NUMBERS, REMEDY, f"{where}.{name}")
    for place, scale in enumerate(state["scale"]):
        _check_scale(of, scale, f"{where}.scale.{place}")


def _check_number(of: str, feature: Any, where: str) -> None:
    _check_keys(of, feature, where, NUMERIC, OF_NUMERIC)
    _check_text(of, feature["name"], f"{where}.name")
    _check_scale(of, feature["scale"], f"{where}.scale")
    written = feature.get("written")
    if written not in (None, PLAIN, MARKED, PERCENT, DATE) and written[:2] not in ORDERS:
        raise wrong(of, f"{where}.written", written, REMEDY)
    if any(feature.get(name) is not None for name in ENDS):
        check_shape(of, feature, ENDS, REMEDY, where)
        if feature["minimum"] > feature["maximum"]:
            raise wrong(of, f"{where}.maximum", feature["maximum"], REMEDY)


def _check_category(of: str, feature: Any, where: str) -> None:
    _check_keys(of, feature, where, CATEGORICAL, OF_CATEGORICAL)
    _check_text(of, feature["name"], f"{where}.name")
    for place, value in enumerate(feature["values"]):
        if value is not None:
            _check_text(of, value, f"{where}.values.{place}")
    _refuse_twice(of, feature["values"], f"{where}.values")


def _check_keys(
    of: str, found: Any, where: str, needed: Mapping[str, Any], known: Mapping[str, Any] | None = None
) -> None:
    """Refuse other keys than these, and values of another kind."""
    known = known or {}
    check_shape(of, found, needed, REMEDY, where)
    check_shape(of, found, {name: kind for name, kind in known.items() if name in found}, REMEDY, where)
    for name in found:
        if name not in needed and name not in known:
            raise InputError(f"{of} is damaged: its {where} has {ascii(name)[:80]}, which is not known; {REMEDY}")


def _check_text(of: str, text: Any, where: str) -> None:
    """Refuse what is no text, or none that can be written."""
    if not isinstance(text, str) or HALF.search(text):
        raise wrong(of, where, text, REMEDY)


def _refuse_twice(of: str, texts: Sequence[str | None], where: str) -> None:
    if len(set(texts)) < len(texts):
        twice, _ = Counter(texts).most_common(1)[0]
        raise InputError(f"{of} is damaged: its {where} has {ascii(twice)[:80]} twice; {REMEDY}")


def _check_scale(of: str, scale: float, where: str) -> None:
    if scale <= 0:
        raise wrong(of, where, scale, REMEDY)


def _check_choice(of: str, value: Any, where: str, choices: Collection[Any]) -> None:
    if value not in choices:
        raise wrong(of, where, value, REMEDY)
