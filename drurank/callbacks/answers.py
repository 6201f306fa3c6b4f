"""What a test answered, as reports of other figures than accuracy read it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drurank.figures import Outcomes
from drurank.figures.classes import class_numbers
from drurank.report.answers import Answers
from drurank.training.answers import class_names
from drurank.training.evaluated import EvaluatedSplit
from drurank.training.evaluation import Evaluation


def tested_answers(evaluation: Evaluation) -> Answers:
    """The rows of all splits of a test that kept what was answered, those without a group left out.

    Args:
        evaluation: of the test.

    Raises:
        InputError: if the positive class is no label.
    """
    groups = list(dict.fromkeys(name for split in evaluation.splits for name in split.dataset.group_names))
    place = {name: number for number, name in enumerate(groups)}
    parts, codes, splits, seen = [], [], [], np.zeros(len(groups), dtype=bool)
    for number, split in enumerate(evaluation.splits):
        code_of = np.array([place[name] for name in split.dataset.group_names], dtype=np.int64)
        group = split.record.known_group().cpu().numpy()
        parts.append(_outcomes(split, group >= 0, evaluation))
        codes.append(code_of[group[group >= 0]])
        splits.append(np.full(len(codes[-1]), number))
        seen[code_of[: split.dataset.num_seen or 0]] = True
    names = class_names(evaluation.labels, parts[0].classes)
    of_row = np.concatenate(splits)
    rows = {split.name: of_row == number for number, split in enumerate(evaluation.splits)}
    known = seen if all(split.dataset.num_seen is not None for split in evaluation.splits) else None
    return Answers(names, class_numbers(names), _joined(parts), np.concatenate(codes), groups, rows, seen=known)


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
