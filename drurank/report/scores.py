"""Scores and probabilities that stand beside predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.figures.base import which_positive
from drurank.report.answers import Answers
from drurank.run_folder.layout import OF_CLASS, PROBABILITIES
from drurank.tabular.columns import Column
from drurank.words import some

NEAR_ONE = 0.01
"""How far the probabilities of a row may be from adding up to 1."""


def with_scores(answers: Answers, path: str, table: pa.Table, score: str | None) -> Answers:
    """Answers with how sure they are: the score of a column, or the probabilities that ``predict`` writes.

    Args:
        answers: what was predicted.
        path: what the table is called in messages.
        table: a row for each prediction.
        score: column of the score of the positive class; that of its probability, if not given.

    Raises:
        InputError: if a cell is no number, there is no positive class that a score could be of, or probabilities are
            none.
    """
    outcomes = answers.outcomes
    if score is not None:
        if outcomes.positive is None:
            raise InputError(
                f"score is {score!r}, and no class is known to be the positive one; {which_positive(answers.names)}"
            )
        column = Column(path, score, table[score], answers.places, answers.files)
        return replace(answers, outcomes=replace(outcomes, score=_numbers(column)))
    by_label = _listed(path, table) if PROBABILITIES in table.column_names else _by_class(answers, path, table)
    if not by_label:
        return answers
    probability = _by_number(answers, path, by_label)
    of_positive = None if outcomes.positive is None else probability[:, outcomes.positive]
    return replace(answers, outcomes=replace(outcomes, probability=probability, score=of_positive))


def _by_class(answers: Answers, path: str, table: pa.Table) -> dict[str, np.ndarray]:
    """Probability by label, of the columns ``probability_<label>``."""
    names = [name for name in table.column_names if name.startswith(OF_CLASS)]
    columns = [Column(path, name, table[name], answers.places, answers.files) for name in names]
    return {column.name.removeprefix(OF_CLASS): _numbers(column) for column in columns}


def _listed(path: str, table: pa.Table) -> dict[str, np.ndarray]:
    """Probability by label, of the column of lists, whose metadata name the labels."""
    field, column = table.schema.field(PROBABILITIES), table[PROBABILITIES].combine_chunks()
    labels = (field.metadata or {}).get(b"labels", b"").decode().split("\n")
    kind = column.type
    if not pa.types.is_fixed_size_list(kind) or kind.list_size > len(labels) or column.null_count:
        raise InputError(
            f"{path}: column {PROBABILITIES!r} is {kind}, and its metadata name {len(labels)} labels; give it as "
            "predict writes it, or columns probability_<label>"
        )
    values = column.flatten().to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, kind.list_size)
    return {label: values[:, place] for place, label in enumerate(labels[: kind.list_size])}


def _by_number(answers: Answers, path: str, by_label: Mapping[str, np.ndarray]) -> np.ndarray:
    """Probability by number of the class, float64 ``[n, c]``; of classes that no row has as well, behind the others."""
    known: dict[int, np.ndarray] = {}
    for label, values in by_label.items():
        number = answers.number_of(label)
        known[len(answers.names) + len(known) if number is None else number] = values
    positive = answers.outcomes.positive
    needed = {*np.unique(answers.outcomes.label).tolist(), *([] if positive is None else [positive])}
    lacking = [answers.names[number] for number in sorted(needed) if number not in known]
    if lacking:
        raise InputError(
            f"{path}: there is no probability of the label {lacking[0]!r}, but of {some(by_label)}; give a column "
            f"{OF_CLASS}{lacking[0]}, or name that of the positive class's as score=..."
        )
    found = np.zeros((len(answers.code), max(known) + 1))
    for number, values in known.items():
        found[:, number] = values
    wrong = (found < 0) | (found > 1)
    total = found.sum(axis=1)
    bad = wrong.any(axis=1) | (np.abs(total - 1) > NEAR_ONE)
    if bad.any():
        row = int(np.argmax(bad))
        said = ", ".join(f"{values[row]:g}" for values in list(by_label.values())[:5])
        file, place = answers.locate(path, row)
        raise InputError(
            f"{file}, row {place + 1}: the probabilities are {said}, which add up to {total[row]:g}; "
            "give numbers from 0 to 1 that add up to 1"
        )
    return found


def _numbers(column: Column) -> np.ndarray:
    numbers = column.numbers
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        raise column.error(int(np.argmax(wrong)), "is not a number; give a score in each row")
    return numbers
