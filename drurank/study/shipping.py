"""Which checkpoint to take: the method that a study speaks for, and its best run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from drurank.errors import InputError, nearest
from drurank.figures.selecting import selectable_criterion
from drurank.run_folder.layout import CHECKPOINT_FOLDER
from drurank.splits import FEW_GROUPS
from drurank.study.chosen import WHICH_COUNTED, Chosen
from drurank.study.constant import answered, answers_of, unbeaten, what_to_try
from drurank.study.finished import Study
from drurank.study.folder import RUN_FOLDER
from drurank.study.result import Result
from drurank.study.stepwise import Difference
from drurank.words import joined

BASELINE, AVERAGE = "ERM", "average"
POINTS = "percentage points"


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What to take from a study, and why.

    Attributes:
        method: its name in tables.
        why: one sentence or two.
        by: criterion that chose the checkpoint, on validation.
        result: the candidate, of the method's runs on one split of the data the best on validation.
        which: what of the method's runs it is.
        warnings: sentences on why to think twice before it is used.
        options: words of ``study export-best`` that make this choice again.
    """

    method: str
    why: str
    by: str
    result: Result
    which: str
    warnings: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def copying(self) -> tuple[str, ...]:
        """The words of the command that copies this checkpoint; none where it was not kept."""
        return ("study", "export-best", *self.options, "--output", "best") if self.checkpoint.is_file() else ()

    @property
    def checkpoint(self) -> Path:
        """The file to take, which may have been removed."""
        return self.result.folder / RUN_FOLDER / CHECKPOINT_FOLDER / f"{self.by}.ckpt"

    def sentences(self) -> tuple[str, ...]:
        """Why, where the checkpoint is, and warnings."""
        if not self.checkpoint.is_file():
            return (
                self.why,
                f"The checkpoint of {self.result.name} ({self.which}) is not there; keep_checkpoints: false removes "
                "it.",
                *self.warnings,
            )
        return (
            self.why,
            f"Checkpoint: {self.checkpoint} ({self.result.name}, {self.which}); study export-best "
            f"{shlex.join(self.options[2:])} copies it.",
            *self.warnings,
        )


def recommend(study: Study, by: str = "qdcg10", on: str | None = None, method: str | None = None) -> Recommendation:
    """Which method to take by a criterion, and which of its checkpoints.

    ERM is taken unless another method is better on test by more than chance. Of several that are, and where there is no
    ERM, it is the one that is best on validation, so that test data chooses nothing but between ERM and the others. Of
    the method's runs the best on validation is taken; of those on the first split alone where there are several splits
    of the data, since their validation groups differ.

    Args:
        study: finished candidates.
        by: criterion that chooses on validation and compares on test.
        on: split of the comparison; that of groups never seen in training, if not given.
        method: take this one; only its checkpoint is then chosen.

    Raises:
        InputError: if there is no such method, or the candidates cannot be compared.
    """
    split = study.split(on)
    side, chosen, _ = study.side_by_side(by, split)
    method = None if method is None else study.method_named(method)
    if method is not None and method not in chosen:
        raise InputError(f"{study.folder} has no method {method!r}: {nearest(method, chosen)}")
    taken, why = _decided(study, side, chosen, by, split) if method is None else (method, f"{method}, as you asked.")
    if method is None and len(chosen) > 1 and len(study.results[0].criteria) > 1:
        why += f" Another --by may take another method: decide on {by} or another criterion before you look at tables."
    repeat, _ = side.runs[0]
    runs = [result for result in chosen[taken] if result.repeat == repeat]
    best = max(runs, key=lambda result: selectable_criterion(by).sign * study.validation(result, by))
    which = _which(by, len(runs), None if side.repeats == 1 else repeat)
    options = ["--folder", str(study.folder), "--by", by]
    options += [] if split == study.split(None) else ["--on", split]
    options += [] if method is None else ["--method", method]
    warnings = _warnings(study, best, chosen[taken], by, split)
    return Recommendation(taken, why, by, best, which, warnings, tuple(options))


def to_try(study: Study, results: Sequence[Result], by: str) -> str:
    """What to try where a study has no good model by a criterion, after these results."""
    later = max(result.manifest["budget"]["epochs"] - 1 - result.epoch(by) for result in results)
    others = [name for name in study.results[0].criteria if name != by]
    other = f"--by {joined([shlex.quote(one) for one in others], 'or')}" if others else "more criteria of the study"
    return what_to_try("a larger max_epochs of its trainer", "model.optimizer.lr", other, later)


def _warnings(study: Study, best: Result, results: Sequence[Result], by: str, split: str) -> tuple[str, ...]:
    """Why to think twice of the model to take, and what to try where it is no good."""
    on = study.tested(split)
    answers = {result: unbeaten(answer) for result, answer in zip(results, answers_of(results, by, on), strict=True)}
    like = [answer for answer in answers.values() if answer is not None]
    own, said = answers[best], []
    if own is not None:
        than = "worse" if own["difference"] < 0 else "not significantly better"
        said.append(f"Before you use it: {best.name} is {than} on {on} than always answering {answered([own])}.")
    elif like:
        said.append(
            f"Before you use it: {len(like)} of the {len(results)} runs of {best.method}, though not this one, "
            f"{'is' if len(like) == 1 else 'are'} not "
            f"significantly better on {on} than always answering {answered(like)}."
        )
    if best.epoch(by) == 0:
        said.append(f"{best.name} was best on validation at epoch 0, the first.")
    if own is not None or best.epoch(by) == 0:
        said.append(to_try(study, [best], by))
    return tuple(said)


def _which(by: str, runs: int, repeat: int | None) -> str:
    """Which of a method's runs is taken."""
    best = f"the best of its {runs} runs by {by} on validation" if runs > 1 else "its only run"
    if repeat is None:
        return best
    return f"{best} on split {repeat}; runs on other splits are validated on other groups, so they are not compared"


def _decided(study: Study, side: Chosen, chosen: dict[str, list[Result]], by: str, split: str) -> tuple[str, str]:
    """The method to take, and why."""
    sign = selectable_criterion(by).sign
    on_validation = {
        method: sign * sum(study.validation(result, by) for result in results) for method, results in chosen.items()
    }
    first = max(on_validation, key=on_validation.__getitem__)
    if len(chosen) == 1:
        return first, _of_one_method(study, chosen[first], by)
    if not side.can_tell:
        return first, (
            f"By {by} on validation {first} is best, but with one seed no difference between methods can be told from "
            "chance in training; run three seeds or more before you choose."
        )
    if not side.can_compare(by):
        return first, (
            f"By {by} on validation {first} is best; on {split} the methods are not compared by it, since "
            f"{WHICH_COUNTED.partition(';')[0]}."
        )
    if np.isnan(side.values(by)).any():
        return first, (
            f"By {by} on validation {first} is best; on {split} the methods are not compared by it, since the groups "
            "do not differ with some run."
        )
    few, together = _of_few(side, split), ", all methods together" if len(side.methods) > 2 else ""
    place = side.methods.index(BASELINE if BASELINE in chosen else first)
    others = {
        name: _turned(one, -sign)
        for name, one in zip(side.methods, side.compared(by, place), strict=True)
        if name != side.methods[place]
    }
    better = [name for name, (_, low, _, _) in others.items() if low > 0]
    if BASELINE not in chosen:
        return first, _without_baseline(first, others, by, split) + few
    if not better:
        most = max(others, key=lambda name: others[name][2])
        left = _possible(by, others[most][2])
        return BASELINE, (
            f"None beats ERM by {by} on {split}: no other method is better by more than chance, so take ERM. "
            f"{_measured(by, others[most][0], most)} on {split}; {left} (95 %{together}).{few}"
        )
    taken = max(better, key=on_validation.__getitem__)
    value, low, high, p = others[taken]
    also = [name for name in better if name != taken]
    more = f" Better than ERM too: {joined(also)}; of these {taken} is best on validation." if also else ""
    return taken, (
        f"Take {taken}: by {by} on {split} it is better than ERM by {_amount(by, value)} (95 %: {_amount(by, low)} to "
        f"{_amount(by, high)}; {in_words(p)}{together}).{_on_average(side, by, place, taken)}{more}{few}"
    )


def _of_one_method(study: Study, results: Sequence[Result], by: str) -> str:
    """What is said where only one method was run."""
    first, settings = results[0].method, list(dict.fromkeys(one.setting for one in study))
    if len(settings) == 1:
        return f"Only {first} was run, so there is nothing to choose between."
    chosen = {one.setting for one in results}
    best = chosen.pop() if len(chosen) == 1 else None
    other = next((one for one in settings if one != best), settings[0])
    pair = shlex.join(["--first", best or settings[1], "--second", other])
    of_best = f", of which {best} is best by {by} on validation" if best else ""
    return f"Only {first} was run, with {len(settings)} settings{of_best}; `study compare` tells two apart: {pair}."


def _on_average(side: Chosen, by: str, baseline: int, taken: str) -> str:
    """What a method that is better by another criterion gains or costs in average accuracy."""
    if by == AVERAGE:
        return ""
    value, low, high, _ = _turned(side.compared(AVERAGE, baseline)[side.methods.index(taken)], -1)
    change, *ends = (f"{100 * number + 0.0:+.1f}" for number in (value, low, high))
    return f" Its average group accuracy differs from ERM's by {change} {POINTS} (95 %: {' to '.join(ends)})."


def _without_baseline(first: str, others: dict[str, tuple[float, float, float, float]], by: str, split: str) -> str:
    """Of methods without ERM among them: what the others may be better by than the best on validation."""
    better = [name for name, (_, low, _, _) in others.items() if low > 0]
    alike = [name for name, (_, low, high, _) in others.items() if low <= 0 <= high]
    if better:
        return (
            f"{first} is best by {by} on validation, but on {split} {joined(better)} "
            f"{'are' if len(better) > 1 else 'is'} better than it by more than chance; look at the table."
        )
    if not alike:
        every = "every other method" if len(others) > 1 else next(iter(others))
        return (
            f"Take {first}: by {by} it is best on validation, and on {split} better than {every} by more than chance."
        )
    together = ", all methods together" if len(others) > 1 else ""
    most = max(alike, key=lambda name: others[name][2])
    return (
        f"Take {first}, the best by {by} on validation; on {split} it does not differ from {joined(alike)} by more "
        f"than chance. {_measured(by, others[most][0], most)} there; {_possible(by, others[most][2])} (95 %{together})."
    )


def _measured(by: str, value: float, method: str) -> str:
    """How much better or worse another method was, as the first half of a sentence."""
    amount, how = _amount(by, abs(value)), "better" if value > 0 else "worse"
    return f"As measured, {method} is {'just as good' if amount == _amount(by, 0.0) else f'{how} by {amount}'}"


def _possible(by: str, most: float) -> str:
    """How much better another method may truly be, as the other half of it."""
    return f"chance leaves it possible that it is better by up to {_amount(by, max(most, 0.0))}"


def _turned(one: Difference, sign: int) -> tuple[float, float, float, float]:
    """How much better the other is, its interval, and p; positive is better."""
    low, high = (sign * end for end in one.interval)
    return sign * one.value, min(low, high), max(low, high), one.p


def _of_few(side: Chosen, split: str) -> str:
    groups = len(side.count[0])
    if side.repeats > 1 or groups >= FEW_GROUPS:
        return ""
    return (
        f" {split} has {groups} groups; another split of the data may say otherwise; a study with repeats takes that "
        "into account."
    )


def _amount(by: str, value: float) -> str:
    shown = selectable_criterion(by).shown(value)
    return f"{shown} {POINTS}" if selectable_criterion(by).in_percent else shown


def in_words(p: float) -> str:
    """A p-value, as ``p = .012`` or ``p < .001``."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".", 1)
