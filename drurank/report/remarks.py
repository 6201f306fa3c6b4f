"""Sentences below the tables of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from drurank.criteria import criterion
from drurank.report.counts import SplitCounts
from drurank.report.words import counted, in_digits, in_range, short

LEFT_OUT = {"groups_left_out": "left out for having too few rows", "groups_unseen_in_training": "unseen in training"}
LEVEL = 0.05
"""The model is better than the constant answer where chance would make it look so in fewer cases than this."""
SHRUNK = (
    "Shrunk: the group's true accuracy, estimated from the rows of all groups; the fewer rows it has, the nearer it is "
    "to groups like it."
)
NAMED = 5
"""Groups that a sentence names; of more it gives the number."""
HOW_TO_READ = (
    "Observed: as measured; with few rows a group, noise makes the worst look worse than they are.",
    "True, estimated: the same for the groups' true accuracies; below it the 5-95 % interval.",
    "By chance alone: if every group had the accuracy of all rows; median, and 5-95 %.",
)


def remarks(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Lines below the criteria: how to read them, and for each split what is worth a word.

    Args:
        columns: name of each split (or run) to its ``summary``.
    """
    entries = [entry for content in columns.values() for entry in content["criteria"].values()]
    shown = (True, any(entry["interval"] for entry in entries), any(entry["floor"] for entry in entries))
    lines = [line for line, is_shown in zip(HOW_TO_READ, shown, strict=True) if is_shown]
    lines += _on_answers(columns)
    for name, content in columns.items():
        lines += [f"{name}: {sentence}" for sentence in _on_split(content)]
    return lines


def _on_answers(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Which class the best constant answer names, once where it is the same for all."""
    answers = {name: content["constant_answer"] for name, content in columns.items() if content["constant_answer"]}
    kinds = {(answer["label"], answer["commonest_in"]) for answer in answers.values()}
    if not answers:
        return []
    balanced = "Balanced: mean over the classes of the share of their rows that is right."
    if len(kinds) == 1:
        label, where = kinds.pop()
        rows = "of the training rows" if where == "training" else "here, since the training rows are not known"
        return [balanced, f"Constant answer: always {short(label)!r}, the commonest class {rows}."]
    each = ", ".join(f"{short(answer['label'])!r} in {name}" for name, answer in answers.items())
    return [balanced, f"Constant answer: always the commonest class, {each}; the training rows are not known."]


def _on_split(content: Mapping[str, Any]) -> Iterator[str]:
    for key, words in LEFT_OUT.items():
        if content[key]:
            yield f"{content[key]:,} of {content['groups']:,} groups {words}."
    answer = content["constant_answer"]
    if answer and answer["p_value"] >= LEVEL:
        yield (
            f"no more rows are right than by always answering {short(answer['label'])!r} "
            f"({in_digits(answer['value'])}), beyond chance (McNemar's exact test, 5 %)."
        )
    if content["groups"] - content["groups_left_out"] < 2:
        yield "with one group, nothing can be said about how groups differ."
        return
    yield _on_spread(content["spread"])
    found = content["criteria"].items()
    alike = [key for key, entry in found if _is_chance(entry) and criterion(key).of_badly_served]
    if alike:
        yield f"chance alone would explain {', '.join(alike)}."


def _on_spread(spread: Mapping[str, Any]) -> str:
    low, high = spread["interval"]
    if spread["sd"] == 0:
        return f"groups differ no more than by chance: standard deviation 0 (at most {in_digits(high)})."
    differ = "true accuracies differ" if low > 0 else "it is unclear whether true accuracies differ"
    return f"{differ}: standard deviation {in_digits(spread['sd'])} ({in_range((low, high))})."


def _is_chance(entry: Mapping[str, Any]) -> bool:
    ends = entry["floor"] and entry["floor"]["interval"]
    return ends is not None and entry["value"] is not None and ends[0] <= entry["value"] <= ends[1]


def remarks_on_groups(split: SplitCounts) -> list[str]:
    """What the shrunk accuracy is, and which groups' own rows contradict it, the worst first."""
    lines = [SHRUNK]
    marked = np.flatnonzero(split.contradicts)
    if len(marked):
        _, high = split.interval
        worst = marked[np.lexsort((high[marked], split.accuracy[marked]))]
        names = [f"{short(split.groups[i])} ({in_digits(split.accuracy[i])})" for i in worst[:NAMED]]
        more = f" and {len(worst) - NAMED:,} more" if len(worst) > NAMED else ""
        lines.append(
            f"* {len(worst):,} of {counted(len(split.count), 'group')} ({', '.join(names)}{more}): their own rows "
            "contradict the shrunk value, even at a level corrected for the number of groups. Rely on their own "
            "5 to 95 % there, and on the shrunk value elsewhere."
        )
    return lines
