"""A finished candidate, read from its folder: its manifest, and its counts by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.checks import MOST_ROWS
from drurank.errors import InputError, nearest
from drurank.files import read_json
from drurank.run_folder.group_counts import read_counts
from drurank.shapes import check_shape, wrong
from drurank.study.folder import COUNTS_FILE, FIGURES_FILE
from drurank.study.values import shown_values, value_of

EXPECTED = {
    "key": str,
    "method": str,
    "setting": str,
    "options": dict,
    "seed": int,
    "data": {"source": str | NoneType, "fingerprint": str},
    "budget": {"steps": int, "epochs": int},
    "selection": {"*": {"value": int | float, "epoch": int}},
}
"""What a manifest has at least, and of what kind."""
OF_DATA = {"training_rows": int, "training_groups": int}
OF_MODEL = {"min_count": int, "shrink": bool, "first_stage_epochs": int}

REWEIGHTS: dict[str, int | str] = {
    "drurank.methods.DRU": 1,
    "drurank.methods.Worst": 1,
    "drurank.methods.Const": 1,
    "drurank.methods.JTT": "first_stage_epochs",
}
"""Class of a method to the first epoch in which its weights may differ, or to the option that says it."""


def has_equal_weights(method: str, options: Mapping[str, Any], epoch: int) -> bool:
    """Whether a method of ours that reweights was still ``ERM`` at an epoch.

    Args:
        method: import path of its class.
        options: of the method.
        epoch: from 0.
    """
    first = REWEIGHTS.get(method, 0)
    return epoch < int(options.get(first, 0) if isinstance(first, str) else first)


@dataclass(frozen=True)
class Counts:
    """What one checkpoint got right, by group of one split.

    Attributes:
        groups: names of the groups, sorted, ``[m]``.
        correct: rows classified correctly, int64 ``[m]``.
        count: rows, int64 ``[m]``.
        min_count: criteria leave out groups with fewer rows, as in the run.
    """

    groups: tuple[str, ...]
    correct: np.ndarray
    count: np.ndarray
    min_count: int = 1

    def value(self, name: str) -> float:
        """Value of a criterion, of accuracies as they are."""
        return float(value_of(name, self.correct, self.count, min_count=self.min_count))

    def shown(self, name: str) -> float:
        """The value to show; ``nan`` where it says nothing of these groups, see ``shown_values``."""
        return float(shown_values(self.correct, self.count, [name], min_count=self.min_count)[name])


@dataclass(frozen=True, eq=False)
class Result:
    """A finished candidate.

    Attributes:
        folder: of the candidate.
        manifest: see ``drurank.study.manifest``.
    """

    folder: Path
    manifest: Mapping[str, Any]

    @classmethod
    def read(cls, file: Path) -> Result:
        """The candidate of a manifest.

        Raises:
            InputError: if the file cannot be read.
        """
        remedy = f"remove {file.parent} and run the study again"
        manifest = read_json(file, remedy, EXPECTED)
        if not manifest["selection"]:
            raise InputError(f"{file} is damaged: its selection names no criterion; {remedy}")
        for option in manifest["options"]:  # which name pictures
            if not all(part.isidentifier() for part in option.removesuffix("+").split(".")):
                raise wrong(str(file), "options key", option, remedy)
        for name, number in manifest["budget"].items():
            if name in EXPECTED["budget"] and not 0 <= number <= MOST_ROWS:  # type: ignore[operator]
                raise wrong(str(file), f"budget.{name}", number, remedy)
        data = manifest["data"]
        if data["source"] is None:
            manifest["data"] = data = {**data, "source": "data of its own"}
        check_shape(str(file), data, {name: kind for name, kind in OF_DATA.items() if name in data}, remedy, "data")
        if "repeat" in manifest:
            check_shape(str(file), manifest, {"repeat": {"number": int}}, remedy)
        if "config" in manifest:
            check_shape(str(file), manifest, {"config": {"model": dict | NoneType}}, remedy)
            model = manifest["config"]["model"] or {}
            options = model.get("init_args", {})
            check_shape(str(file), {"init_args": options}, {"init_args": dict}, remedy, "config.model")
            kinds = {name: kind for name, kind in OF_MODEL.items() if name in options}
            check_shape(str(file), options, kinds, remedy, "config.model.init_args")
            if abs(options.get("min_count", 1)) > MOST_ROWS:
                raise wrong(str(file), "config.model.init_args.min_count", options["min_count"], remedy)
        return cls(file.parent, manifest)

    @property
    def method(self) -> str:
        """Name of the method in tables, ``qDRU+M``."""
        return str(self.manifest["method"])

    @property
    def setting(self) -> str:
        """Method and options, without the seed."""
        return str(self.manifest["setting"])

    @property
    def seed(self) -> int:
        """Of the run."""
        return int(self.manifest["seed"])

    @property
    def repeat(self) -> int:
        """Number of the split of the data, 0 in a study with one."""
        return int(self.manifest.get("repeat", {}).get("number", 0))

    @property
    def run(self) -> tuple[int, int]:
        """Repeat and seed."""
        return self.repeat, self.seed

    @property
    def name(self) -> str:
        """Setting, repeat (if the study has several) and seed, as commands take it."""
        repeat = f" repeat={self.repeat}" if "repeat" in self.manifest else ""
        return f"{self.setting}{repeat} seed={self.seed}"

    @property
    def criteria(self) -> tuple[str, ...]:
        """Those by which a checkpoint was kept."""
        return tuple(self.manifest["selection"])

    @property
    def splits(self) -> tuple[str, ...]:
        """Those with counts by group."""
        return tuple(dict.fromkeys(self.groups["split"].to_pylist()))

    @property
    def min_count(self) -> int:
        """Rows that a group has at least to count in a criterion."""
        return int(self._option("min_count", 1))

    @property
    def shrink(self) -> bool:
        """Whether the run chose epochs by accuracies that were shrunk."""
        return bool(self._option("shrink", False))

    def _option(self, name: str, default: Any) -> Any:
        """An option of the method that the run had."""
        model = self.manifest.get("config", {}).get("model") or {}
        return model.get("init_args", {}).get(name, default)

    def counts(self, by: str, split: str, figure: str | None = None) -> Counts:
        """Counts by group of a split, of the checkpoint that is best by a criterion.

        Args:
            by: the criterion.
            split: of the groups.
            figure: of which figure other than accuracy; of accuracy, if not given.

        Raises:
            InputError: if no checkpoint was kept by that criterion, or there is no such split.
        """
        self._refuse_other(by)
        table = self.groups if figure is None else self.figures
        chosen = table.filter(pc.equal(table["criterion"], by))
        if figure is not None:
            chosen = chosen.filter(pc.equal(chosen["figure"], figure))
        found = chosen.filter(pc.equal(chosen["split"], split)).sort_by("group")
        if found.num_rows == 0:
            known = sorted(set(chosen["split"].to_pylist()))
            raise InputError(f"{self.folder} has no groups of split {split!r}: {nearest(split, known)}")
        groups, correct, count = (found[column] for column in ("group", "correct", "count"))
        return Counts(tuple(groups.to_pylist()), correct.to_numpy(), count.to_numpy(), self.min_count)

    def validation(self, by: str) -> float:
        """Value of a criterion on validation, of the checkpoint that is best by it."""
        self._refuse_other(by)
        return float(self.manifest["selection"][by]["value"])

    def epoch(self, by: str) -> int:
        """Epoch of the checkpoint that is best by a criterion, from 0."""
        self._refuse_other(by)
        return int(self.manifest["selection"][by]["epoch"])

    def has_equal_weights(self, by: str) -> bool:
        """Whether a method that reweights was still ``ERM`` at the checkpoint that is best by a criterion."""
        model = self.manifest.get("config", {}).get("model") or {}
        method = str(model.get("class_path"))
        options = {name: self._option(name, 0) for name in REWEIGHTS.values() if isinstance(name, str)}
        return has_equal_weights(method, options, self.epoch(by))

    def _refuse_other(self, by: str) -> None:
        if by not in self.criteria:
            raise InputError(
                f"{self.folder} has no checkpoint by {by!r}, only by {', '.join(self.criteria)}: "
                f"{nearest(by, self.criteria)}; give "
                f"by={self.criteria[0]!r}, or add the other to the study's criteria and run it again, which trains "
                "every candidate again"
            )

    def figures_on(self, split: str) -> tuple[str, ...]:
        """Figures other than accuracy that have counts by group on a split."""
        if not (self.folder / FIGURES_FILE).is_file():
            return ()
        here = self.figures.filter(pc.equal(self.figures["split"], split))
        return tuple(dict.fromkeys(here["figure"].to_pylist()))

    @cached_property
    def figures(self) -> pa.Table:
        """The same of other figures: ``criterion, figure, split, group, count, correct``."""
        remedy = f"remove {self.folder} and run the study again"
        return read_counts(self.folder / FIGURES_FILE, ("criterion", "figure", "split", "group"), remedy)

    @cached_property
    def groups(self) -> pa.Table:
        """Counts by group of the best checkpoint by each criterion: ``criterion, split, group, count, correct``."""
        remedy = f"remove {self.folder} and run the study again"
        file = self.folder / COUNTS_FILE
        found = read_counts(file, ("criterion", "split", "group"), remedy)
        if not found.num_rows:
            raise InputError(f"{file} is damaged: it has no groups; {remedy}")
        return found


def stacked(results: Sequence[Result], by: str, split: str, figure: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Counts by group of a split, of several candidates.

    Args:
        results: the candidates.
        by: criterion by which the checkpoint of each was kept.
        split: of the groups.
        figure: of which figure other than accuracy; of accuracy, if not given.

    Returns:
        Correct rows by candidate and group, int64 ``[n, m]``, and rows by group, ``[m]``.

    Raises:
        InputError: if not all have the same groups and rows.
    """
    found = [result.counts(by, split, figure) for result in results]
    same_groups(found, [str(result.folder) for result in results], split)
    return np.stack([one.correct for one in found]), found[0].count


def same_groups(counts: Sequence[Counts], names: Sequence[str], split: str) -> None:
    """Refuse counts of different groups.

    Raises:
        InputError: naming the first that differ.
    """
    for one, name in zip(counts, names, strict=True):
        what = "groups" if one.groups != counts[0].groups else "numbers of rows"
        if one.groups != counts[0].groups or not np.array_equal(one.count, counts[0].count):
            raise InputError(f"{name} has other {what} of {split} than {names[0]}; compare like with like")
