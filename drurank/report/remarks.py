"""Sentences below the tables of a report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from drurank.criteria import SUM_UNIT, criterion
from drurank.figures import ACCURACY, Share, figure_of
from drurank.groups import Groups
from drurank.report.counts import ALL
from drurank.report.served import Served
from drurank.report.weights import said_weights
from drurank.report.worst import NAMED
from drurank.words import capital, counted, in_digits, in_range, joined, quoted

LEFT_OUT = {"groups_left_out": "left out for having too few rows", "groups_unseen_in_training": "unseen in training"}
COMMONEST_IN = {"training": "of the training rows", "split": "here, since the training rows are not known"}
LEVEL = 0.05
"""The model is better than the constant answer where chance would make it look so in fewer cases than this."""
OBSERVED = "Observed: as measured; with few rows a group, noise makes the worst look worse than they are."
COMPUTED = "Shrunk: computed from the groups' shrunk {}, as below, instead of the measured ones."
ESTIMATED = "True, estimated: the same for the groups' {}; with the 5-95 % interval."
BY_CHANCE = "By chance alone: {}; median, and 5-95 %."
CHANCE_OF_GROUP = (
    "By chance: what chance alone gives of a single group of that size, 5 to 95 %, {}; of many groups, up "
    "to about one in ten is outside."
)
EFFECTIVE = (
    "Effective: how many rows of equal weight would tell as much, (sum of weights)^2 / sum of their squares (Kish), "
    "and fewer where weights have to do with the outcome."
)
SHRUNK = (
    "Shrunk: the group's {}, estimated from the rows of all groups: mostly nearer to what others have, the "
    "more so the fewer rows it has; a group that clearly stands apart stays there."
)


def remarks(
    columns: Mapping[str, Mapping[str, Any]],
    explained: Mapping[str, Mapping[str, Any]] | None = None,
    said: Collection[str] = (),
) -> list[str]:
    """Lines below the criteria: how to read them, and for each split what is worth a word.

    Args:
        columns: name of each split (or run) to its ``summary``.
        explained: those whose figures are explained, where others are shown above or below; these, if not given.
        said: splits of which it is said elsewhere how groups differ, and whether one answer for all would do as well.
    """
    explained = columns if explained is None else explained
    lines = [*_how_to_read(explained), *_on_answers(explained)]
    for name, content in columns.items():
        for sentence in (*_on_rows(content), *(() if name in said else _on_split(content)), *_on_size(content)):
            lines.append(capital(sentence) if list(columns) == [ALL] else f"{name}: {sentence}")
    return lines


def _how_to_read(columns: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What each figure is, of those that are shown."""
    entries = [entry for content in columns.values() for entry in content["criteria"].values()]
    shrink = {content["shrink"] for content in columns.values()}
    figure = figure_of(next(iter(columns.values()), {}))
    if False in shrink:
        yield OBSERVED
    if True in shrink:
        yield COMPUTED.format(figure.several)
    has_interval = any(entry["interval"] for entry in entries)
    if has_interval:
        yield ESTIMATED.format(figure.true)
    if any(entry["floor"] for entry in entries):
        yield BY_CHANCE.format(figure.by_chance)
    found = [(name, entry["value"]) for content in columns.values() for name, entry in content["criteria"].items()]
    names = list(dict.fromkeys(name for name, value in found if value is not None))
    yield from on_criteria(names, has_interval, figure.summed)


def on_criteria(names: list[str], has_interval: bool, summed: str = "errors") -> Iterator[str]:
    """What is not plain from the name of a criterion."""
    sums = [name for name in names if criterion(name).unit == SUM_UNIT]
    if sums:
        # All groups wrong: the sum is then the same for any number of groups, but for those that grow with it.
        fixed = [name for name in sums if not criterion(name).grows_with_groups]
        worst = [f"{in_digits(float(criterion(name).of(Groups(np.zeros(2)))))} for {name}" for name in fixed]
        most = "if all rows were wrong," if summed == "errors" else "at most"
        scale = f"; {most} {joined(worst)}" if worst else ""
        yield f"{joined(sums)}: sum{'s' if len(sums) > 1 else ''} of the worst groups' {summed}; 0 is best{scale}."
    differences = [name for name in names if criterion(name).of_differences]
    if differences and has_interval:
        yield f"{joined(differences)} has no estimate: it has no limit where groups do not truly differ."


def _on_answers(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Which class the best constant answer names, once where it is the same for all."""
    answers = {name: content["constant_answer"] for name, content in columns.items() if content["constant_answer"]}
    if not answers:
        return []
    lines = ["Balanced: mean over the classes of the share of their rows that is right."]
    for where, words in COMMONEST_IN.items():
        label = {name: quoted(each["label"]) for name, each in answers.items() if each["commonest_in"] == where}
        if len(label) == len(answers) and len(set(label.values())) == 1:
            lines.append(f"Constant answer: always {next(iter(label.values()))}, the commonest class {words}.")
        elif label:
            each = joined([f"{text} in {name}" for name, text in label.items()])
            lines.append(f"Constant answer: always the commonest class {words}; {each}.")
    return lines


def _on_rows(content: Mapping[str, Any]) -> Iterator[str]:
    if "memberships" in content:
        yield (
            f"groups overlap: a row counts in each of its groups, {content['memberships']:,} times in all for "
            f"{counted(content['rows'], 'row')}; intervals and chance take groups as if they shared none."
        )
    if "effective" in content:
        yield said_weights(content)
        if "figure" not in content:
            yield "no constant answer is given, since its test counts rows without weights."
    if content.get("groups_without"):
        yield f"{counted(content['groups_without'], 'further group')} without a value: {content['reason']}."
    for key, words in LEFT_OUT.items():
        if content[key]:
            yield f"{content[key]:,} of {counted(content['groups'], 'group')} {words}."


def _on_split(content: Mapping[str, Any]) -> Iterator[str]:
    yield from on_answer(content)
    found = content["criteria"].items()
    yield on_differences(content, [name for name, _ in found if criterion(name).of_badly_served])


def on_answer(content: Mapping[str, Any]) -> Iterator[str]:
    """Whether always naming one class would do as well, of a split's ``summary``; nothing if not."""
    answer = content["constant_answer"]
    like = answer and unbeaten(answer)
    if like:
        is_here = like is answer["here"]
        yield _on_answer(like) + " That is the commonest class here, though not of the training rows." * is_here


def on_differences(content: Mapping[str, Any], names: Sequence[str]) -> str:
    """How groups truly differ, of a split's ``summary``, and which criteria alone would not show it.

    Args:
        content: the summary.
        names: criteria of the badly served groups that the sentence is about.
    """
    if content["groups"] - content["groups_left_out"] < 2:
        return "with one group, nothing can be said about how groups differ."
    if content["spread"] is None:
        if content.get("withheld"):
            return "how groups truly differ is not said, for what weights do here."
        few = "a single row" if isinstance(figure_of(content), Share) else "too few rows"
        return f"every group has {few}, so nothing is known of how they differ."
    said, is_found = _on_spread(content, figure_of(content).true)
    explained = ["worst"] if list(_on_size(content)) else []
    like = [name for name in names if name not in explained and _is_chance(content["criteria"][name])]
    if not like:
        return f"{said}."
    several, observed = len(like) > 1, f"the observed {joined(like)}"
    if not is_found:
        return f"{said}; {observed} {'are' if several else 'is'} consistent with chance alone."
    return (
        f"{said}; {observed} alone would not show it, since chance makes {'them' if several else 'it'} as bad where "
        "groups of these sizes are served alike."
    )


def unbeaten(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The constant answer that the model is not significantly better than, if there is one.

    Args:
        answer: what ``ClassCounts.constant_answer`` gave.
    """
    return next((one for one in (answer, answer["here"]) if one is not None and one["p_value"] >= LEVEL), None)


def _on_answer(answer: Mapping[str, Any]) -> str:
    than = f"than always answering {quoted(answer['label'])} ({in_digits(answer['value'])})"
    if answer["difference"] < 0:
        return f"worse {than}."
    if answer["difference"] == 0:
        return f"no better {than}."
    return f"not significantly better {than}: McNemar's exact test, one-sided, 5 %."


def _on_size(content: Mapping[str, Any]) -> Iterator[str]:
    """Why a group is told from chance though the worst figure is not, of a split's ``summary``; nothing if not."""
    worst, surest = content["criteria"].get("worst"), content["worse_than_chance"]
    if worst and surest is not None and _is_chance(worst):
        yield (
            f"worst, of all groups, is within chance, though {quoted(surest)} by its own rows is not: chance moves "
            f"small groups most, and often makes one of them as bad, but hardly one as large as {quoted(surest)}."
        )


def are_told_together(content: Mapping[str, Any]) -> bool:
    """Whether the worst groups are worse than chance taken together, where none is told from it by itself."""
    told = content["beyond_chance"]
    return bool(told["together"]) and not told["number"]


def _on_spread(content: Mapping[str, Any], true: str) -> tuple[str, bool]:
    """What is known of how groups differ, without its full stop, and whether a difference beyond chance was found."""
    spread, worse = content["spread"], content["worse_than_chance"]
    low, high = spread["interval"]
    deviation = f"{true} have a standard deviation of {in_digits(spread['sd'])} (5 to 95 %: {in_range((low, high))})"
    possible = f"a standard deviation of up to {in_digits(high)} is possible"
    if low > 0:
        return f"taken together, groups differ by more than chance: {deviation}", True
    if worse is not None:
        found = f"one or a few groups, above all {quoted(worse)}, are worse than chance alone would make them (at 5 %)"
        return f"{found}; for all groups, {possible}", True
    if are_told_together(content):
        found = "the groups served worst, taken together, are worse than chance alone would make them (qdcg10, at 5 %)"
        return f"{found}, though no single one can be named; for all groups, {possible}", True
    if spread["sd"] > 0:
        return f"it is unclear whether groups differ by more than chance: {deviation}", False
    return f"no difference between groups beyond chance was found; {possible}", False


def _is_chance(entry: Mapping[str, Any]) -> bool:
    ends, value = entry["floor"] and entry["floor"]["interval"], entry["value"]
    is_perfect = value == (1 if entry["better"] == "max" else 0)
    return bool(ends and value is not None and not is_perfect and ends[0] <= value <= ends[1])


def said_drop(drop: Mapping[str, Any] | None) -> list[str]:
    """Whether groups that training lacked are served worse over all rows than those that it had, in a sentence.

    Args:
        drop: what ``find_drop`` gave, if it gave something.
    """
    overall = (drop or {"criteria": {}})["criteria"].get("overall")
    if drop is None or overall is None or overall["by_chance"] is None:
        return []
    low, high = overall["by_chance"]["interval"]
    more = "no more" if low <= overall["value"] <= high else "more"
    how, by = _by(overall["value"]).split()[::-1]
    return [
        f"Over all rows, {drop['to']}, groups that training lacked, is served {how} than {drop['from']}, groups that "
        f"it had, by {by}: {more} than chance alone would give, between {_by(low)} and {_by(high)}."
    ]


def _by(worse: float) -> str:
    return f"{in_digits(abs(worse))} {'worse' if worse >= 0 else 'better'}"


def remarks_on_drop(drop: Mapping[str, Any]) -> list[str]:
    """How to read how much worse the unseen groups are, and which criteria are left out.

    Args:
        drop: what ``find_drop`` gave.
    """
    entries = drop["criteria"].values()
    lines = ["A positive number: the groups that training lacked are served worse. Below estimates and chance: 5-95 %."]
    if any(entry["estimate"] is not None for entry in entries):
        lines.append("True, estimated: of these groups; others drawn from the same population would differ by chance.")
    if any(entry["by_chance"] for entry in entries):
        lines.append(
            "By chance alone: what the numbers and sizes of groups make of it if all groups of both are served alike."
        )
    if drop["left_out"]:
        are = "are" if len(drop["left_out"]) > 1 else "is"
        lines.append(f"{joined(drop['left_out'])} {are} left out: more groups give more, however they are served.")
    return lines


def remarks_on_groups(split: Served, *, explains: bool = True) -> list[str]:
    """What the columns are, where that is to be explained, and which groups' own rows contradict the shrunk figure."""
    figure, lines = split.figure, []
    if explains and split.weights is not None:
        lines.append(EFFECTIVE)
    elif explains and isinstance(figure, Share) and figure is not ACCURACY:
        lines.append(figure.counted)
    if explains:
        lines.append(CHANCE_OF_GROUP.format(figure.by_chance))
    if np.isnan(split.shrunk).all():
        return lines
    if explains:
        lines.append(SHRUNK.format(figure.true_one))
    marked = np.flatnonzero(split.contradicts)
    if len(marked):
        _, high = split.interval
        worst = marked[np.lexsort((high[marked], split.accuracy[marked]))]
        names = [f"{quoted(split.groups[i])} ({in_digits(split.value[i])})" for i in worst[:NAMED]]
        more = f" and {len(worst) - NAMED:,} more" if len(worst) > NAMED else ""
        lines.append(
            f"* {len(worst):,} of {counted(len(split.count), 'group')} ({', '.join(names)}{more}): their own rows "
            "contradict the shrunk value, even at a level corrected for the number of groups. Rely on their own "
            "5 to 95 % there, and on the shrunk value elsewhere."
        )
    return lines
