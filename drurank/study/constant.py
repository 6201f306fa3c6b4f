"""Which models are no better than always answering the commonest class, as the reports of their tests say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any

from drurank.files import read_json
from drurank.report import remarks
from drurank.report.counts import ALL
from drurank.run_folder.layout import REPORT_FILE, TEST_FOLDER
from drurank.shapes import check_shape
from drurank.study.folder import RUN_FOLDER
from drurank.study.result import Result
from drurank.words import in_percent, joined, short

Answer = Mapping[str, Any]
"""A constant answer, see ``ClassCounts.constant_answer``."""
REMEDY = "test the run again"
TEST = "McNemar's exact test of each, one-sided, 5 %"
AGAINST = {"label": str, "value": int | float, "difference": int | float, "p_value": int | float}


def answers_of(results: Sequence[Result], by: str, split: str) -> list[Answer | None]:
    """The best constant answer on a split beside the checkpoint of each candidate; ``None`` where it is not known."""
    return [answer_in(result.folder / RUN_FOLDER / TEST_FOLDER / by / REPORT_FILE, split) for result in results]


def answer_in(file: Path, split: str) -> Answer | None:
    """The best constant answer on a split that the report of a test has; ``None`` without that report or split.

    Raises:
        InputError: if the report is damaged.
    """
    if not file.is_file():
        return None
    report = read_json(file, REMEDY, {"splits": {"*": {"constant_answer": dict | NoneType}}})
    answer: Answer | None = report["splits"].get(split, {}).get("constant_answer")
    if answer is not None:
        check_shape(str(file), answer, {**AGAINST, "here": dict | NoneType}, REMEDY, "constant_answer")
        if answer["here"] is not None:
            check_shape(str(file), answer["here"], AGAINST, REMEDY, "constant_answer.here")
    return answer


def no_better(
    answers: Mapping[str, Sequence[Answer | None]],
    split: str,
    run: str = "seed",
    share: Callable[[float], str] = in_percent,
) -> list[str]:
    """Say which methods are no better than a constant answer, and with how many of their runs.

    Args:
        answers: what is shown to the constant answer beside each of its runs, ``None`` where that is not known.
        split: whose rows they are of.
        run: what the runs differ by, for the sentence.
        share: writes a share as the figures beside the sentence are written.

    Returns:
        No sentence, or one, or one more on those of which it is not known.
    """
    found = {name: [one for one in map(unbeaten, some) if one is not None] for name, some in answers.items()}
    like = {name: _often(len(found[name]), len(some), run) for name, some in answers.items() if found[name]}
    unknown = [name for name, some in answers.items() if None in some]
    said, where = [], "all rows" if split == ALL else split
    if like:
        named = joined([f"{name}{often}" for name, often in like.items()])
        what = answered((one for name in like for one in found[name]), share)
        said.append(f"Not significantly better on {where} than always answering {what}: {named} ({TEST}).")
    if unknown:
        said.append(
            f"Not known whether better on {where} than always answering the commonest class: {joined(unknown)}, of "
            "which no report of a test says it."
        )
    return said


def answered(answers: Iterable[Answer], share: Callable[[float], str] = in_percent) -> str:
    """What is always answered, and the share of rows that it has right: ``'No' (50.3 %)``."""
    found = list(answers)
    labels, values = {one["label"] for one in found}, [one["value"] for one in found]
    shares = share(min(values)), share(max(values))
    what = repr(short(labels.pop())) if len(labels) == 1 else "the commonest class"
    return f"{what} ({' to '.join(dict.fromkeys(shares))})"


def unbeaten(answer: Answer | None) -> Answer | None:
    """The constant answer that a model is not significantly better than; ``None`` without one, or if not known."""
    return None if answer is None else remarks.unbeaten(answer)


def what_to_try(longer: str, slower: str, other: str, later: int = 0) -> str:
    """What may help a model that is no better than a constant answer, or that was best when it had hardly begun.

    Args:
        longer: the option of longer training, which helps where the last epochs were the best.
        slower: the option of the learning rate, which is too high where later epochs were worse.
        other: the option of another criterion.
        later: epochs that were trained after the best.
    """
    first = f"a lower learning rate ({slower})" if later > 1 else f"longer training ({longer})"
    return f"To try: {first}, or another criterion ({other})."


def _often(number: int, of: int, run: str) -> str:
    return "" if of == 1 else f" with {number} of {of} {run}s"
