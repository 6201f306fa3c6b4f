"""What a test answered, as reports of other figures than accuracy read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from drurank.figures import Outcomes
from drurank.figures.classes import class_numbers
from drurank.report.answers import Answers
from drurank.report.overlapping import in_groups
from drurank.tabular.memberships import Members
from drurank.training.answers import class_names, places_of_members
from drurank.training.evaluated import EvaluatedSplit
from drurank.training.evaluation import Evaluation


def tested_answers(evaluation: Evaluation) -> Answers:
    """The rows of all splits of a test that kept what was answered, those without a group left out.

    Where groups overlap, rows of none count among all rows.

    Args:
        evaluation: of the test.

    Raises:
        InputError: if the positive class is no label.
    """
    groups = list(dict.fromkeys(name for split in evaluation.splits for name in split.dataset.group_names))
    place = {name: number for number, name in enumerate(groups)}
    parts, codes, splits, seen = [], [], [], np.zeros(len(groups), dtype=bool)
    places, before = [], 0
    for number, split in enumerate(evaluation.splits):
        code_of = np.array([place[name] for name in split.dataset.group_names], dtype=np.int64)
        counted = split.record.counted().cpu().numpy()
        parts.append(_outcomes(split, counted, evaluation))
        at, group = places_of_members(split.record)
        places.append(before + at)
        codes.append(code_of[group])
        splits.append(np.full(counted.sum(), number))
        before += len(splits[-1])
        seen[code_of[: split.dataset.num_seen or 0]] = True
    names = class_names(evaluation.labels, parts[0].classes)
    of_row = np.concatenate(splits)
    rows = {split.name: of_row == number for number, split in enumerate(evaluation.splits)}
    known = seen if all(split.dataset.num_seen is not None for split in evaluation.splits) else None
    row, code = np.concatenate(places), np.concatenate(codes)
    if not any(split.record.overlap for split in evaluation.splits):
        return Answers(names, class_numbers(names), _joined(parts), code, groups, rows, seen=known)
    once = Answers(names, class_numbers(names), _joined(parts), np.zeros_like(of_row), groups, rows)
    order = np.argsort(code, kind="stable")  # as in a report of the same rows, whose draws depend on it
    return replace(in_groups(once, Members(groups, row[order], code[order])), seen=known)


def _outcomes(split: EvaluatedSplit, rows: np.ndarray, evaluation: Evaluation) -> Outcomes:
    assert split.answers is not None, "asked for before the test began"
    return split.answers.outcomes(rows, evaluation.labels, evaluation.positive)


def _joined(parts: Sequence[Outcomes]) -> Outcomes:
    first = parts[0]
    return Outcomes(
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.prediction for part in parts]),
        first.positive,
        first.values,
        first.classes,
        None if first.positive is None else np.concatenate([part.score for part in parts if part.score is not None]),
        np.concatenate([part.probability for part in parts if part.probability is not None]),
    )
