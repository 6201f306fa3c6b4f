"""How names are written: what is the same but for case, blanks, Unicode form or zeros of a number."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable

import numpy as np

from drurank.tabular.columns import Column

NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")
EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)e[+-]?\d+")
LONGEST = 15
"""Digits that a float tells apart."""


def plain_spelling(text: str) -> str:
    r"""The same for texts that differ by case, white space, Unicode form, invisible characters, or zeros of a number.

    >>> {plain_spelling(text) for text in ("St. Anna", "st.  anna ", "ST.\u00a0ANNA")}
    {'st. anna'}
    >>> plain_spelling("007"), plain_spelling("7.0"), plain_spelling("-0")
    ('7.0', '7.0', '0.0')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    text = " ".join(text.casefold().split())
    # Without -0.0, which the sum turns into 0.0.
    return str(float(text) + 0.0) if len(text) <= LONGEST and NUMBER.fullmatch(text) else text


def plain_boolean(text: str) -> str:
    """The same for true and True; of those who write a CSV some write it so and some so, and Parquet has booleans."""
    return text.lower() if text.lower() in ("true", "false") else text


def plain_group(name: str) -> str:
    """``plain_spelling`` of each part of a group's name, which may be of several columns."""
    return " | ".join(map(plain_spelling, name.split(" | ")))


def plain_label(text: str) -> str:
    """``plain_spelling`` that takes numbers with an exponent too; among names of groups, those may be codes.

    >>> plain_label("1e0"), plain_label("10E-1"), plain_spelling("1e0")
    ('1.0', '1.0', '1e0')
    """
    text = plain_spelling(text)
    if len(text) > LONGEST or not EXPONENT.fullmatch(text):
        return text
    number = float(text)
    is_too_extreme = math.isinf(number) or (number == 0 and re.search("[1-9]", text.partition("e")[0]))
    return text if is_too_extreme else str(number + 0.0)


def as_commonest(column: Column, alike: list[list[str]]) -> dict[str, str]:
    """What each way of writing a name would be read as: the commonest way, or the first of equally common ones."""
    rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    renamed: dict[str, str] = {}
    for texts in alike:
        first, *others = sorted(texts, key=lambda text: (-rows[column.texts.index(text)], text))
        renamed |= dict.fromkeys(others, first)
    return renamed


def twins(names: Iterable[str], spell: Callable[[str], str] = plain_spelling) -> list[list[str]]:
    """Names that are the same in plain spelling, in one list each; only those that have another."""
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(spell(name), []).append(name)
    return [alike for alike in spellings.values() if len(alike) > 1]
