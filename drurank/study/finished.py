"""What a study found, read from its folder without training anything again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drurank.errors import InputError
from drurank.figures.selecting import figure_in, selectable_criterion
from drurank.run_folder.links import refuse_links
from drurank.splits import TEST, VALIDATION
from drurank.study.chosen import Chosen
from drurank.study.folder import CANDIDATE_FOLDER, MANIFEST_FILE, read_plan
from drurank.study.result import Result
from drurank.words import joined, some

if TYPE_CHECKING:
    from pandas import DataFrame

OF_LENGTH = {"max_epochs", "max_steps", "batch_size", "accumulate_grad_batches", "sampler", "drop_last"}
"""Options that decide how many steps a training has."""
NAMED = 5
"""Candidates that a sentence names; of more it gives the number."""


@dataclass(frozen=True)
class Study:
    """The finished candidates of a folder, as far as they are in the plan that was started last.

    Attributes:
        folder: of the study.
        results: sorted by method, setting, repeat and seed.
        unfinished: candidates of the plan that are not finished, as ``DRU cutoff=5, seed 0``.
        others: number of finished candidates of earlier plans that are left out.
    """

    folder: Path
    results: tuple[Result, ...]
    unfinished: tuple[str, ...] = ()
    others: int = 0

    @classmethod
    def load(cls, folder: str | Path) -> Study:
        """Read the finished candidates of a folder.

        Raises:
            InputError: if there are none, or a file cannot be read, or something leads out of the folder.
        """
        path = Path(folder).expanduser()
        refuse_links(path)
        every = [Result.read(file) for file in sorted(path.glob(f"{CANDIDATE_FOLDER}/*/{MANIFEST_FILE}"))]
        keys = {result.manifest["key"] for result in every}
        planned = read_plan(path) or dict.fromkeys(keys, "")
        found = [result for result in every if result.manifest["key"] in planned]
        if not found:
            others = f", and {len(every)} of earlier plans" if every else ""
            raise InputError(f"{folder} has no finished candidate{others}; give the folder of a study, or run it first")
        found.sort(key=lambda result: (result.method, result.setting, result.run))
        unfinished = tuple(setting for key, setting in planned.items() if key not in keys)
        return cls(path, tuple(found), unfinished, len(every) - len(found))

    def split(self, name: str | None) -> str:
        """The split to show: the given one, else that of groups never seen in training, else ``test``."""
        known = self.results[0].splits
        return name or next((split for split in TEST if split in known), known[-1])

    def tested(self, split: str) -> str:
        """The split itself if it is one of test, of which reports are; else the one of test that is shown."""
        return split if split in TEST else self.split(None)

    @property
    def repeats(self) -> tuple[int, ...]:
        """Numbers of the splits of the data, sorted."""
        return tuple(sorted({result.repeat for result in self.results}))

    def of_repeat(self, number: int | None) -> Study:
        """The candidates of one repeat of the split, whose groups are the same.

        Args:
            number: of the repeat; may be left out where there is one.

        Raises:
            InputError: if there is no such repeat, or there are several and none is named.
        """
        if number is None and len(self.repeats) == 1:
            return self
        if number not in self.repeats:
            known = ", ".join(map(str, self.repeats))
            raise InputError(
                f"repeat is {number!r}; the splits of {self.folder} have different groups, which are only compared "
                f"within one: give repeat={self.repeats[0]} (known: {known})"
            )
        return replace(self, results=tuple(result for result in self if result.repeat == number))

    @property
    def validation_split(self) -> str:
        """The split of validation by which checkpoints were chosen.

        Raises:
            InputError: if there are no counts of one.
        """
        known = self.results[0].splits
        found = next((split for split in VALIDATION if split in known), None)
        if found is None:
            raise InputError(f"{self.results[0].folder} has no counts on validation, only on {', '.join(known)}")
        return found

    @property
    def min_count(self) -> int:
        """Rows that a group has at least to count in a criterion.

        Raises:
            InputError: if it differs between candidates.
        """
        found = self._by_value("min_count")
        if len(found) > 1:
            raise InputError(
                f"min_count differs between candidates ({_listed(found)}), so that their criteria are of different "
                "groups; run the study with one min_count, under model"
            )
        return int(next(iter(found)))

    def _on_data(self, groups: Mapping[Any, Sequence[str]]) -> str:
        """How the data of candidates differ, by their options if it is these."""
        names = sorted({name for one in self for name in one.manifest["options"] if name.startswith("data.")})
        found = {
            (one.manifest["data"]["fingerprint"], repr([one.manifest["options"].get(name) for name in names]))
            for one in self
        }
        if names and len({of_options for _, of_options in found}) == len(found) == len(groups):
            return f"Candidates differ in {joined(names)}, so they learn from other data."
        return f"data differ between candidates: {_listed(groups)}."

    def caveats(self) -> list[str]:
        """Sentences about what makes candidates hard to compare, and about missing ones."""
        found = []
        for repeat in self.repeats:
            study = self.of_repeat(repeat)
            groups = study._by_value("data")
            if len(groups) > 1:
                found.append(study._on_data(groups))
            steps = {one.manifest["budget"]["steps"] for one in study if not _has_own_length(one)}
            if len(steps) > 1:
                found.append(f"optimizer steps differ between candidates: {min(steps):,} to {max(steps):,}.")
        shrunk = self._by_value("shrink")
        if True in shrunk:
            settings = "epochs" if len(shrunk) > 1 else "epochs and settings"
            of = f" of {some(shrunk[True], shown=NAMED)}" if len(shrunk) > 1 else ""
            found.append(f"The {settings}{of} were chosen by shrunk accuracies; the figures are of those observed.")
        if self.min_count > 1:
            found.append(f"Groups with fewer than {self.min_count} rows are left out of all criteria but overall.")
        if self.unfinished:
            found.append(f"Not finished: {some(self.unfinished, shown=NAMED)}.")
        if self.others:
            found.append(f"Left out: {self.others} finished candidates of earlier plans in this folder.")
        return found

    def _by_value(self, what: str) -> dict[Any, list[str]]:
        """Value of something that candidates should share, to those that have it."""
        found: dict[Any, list[str]] = {}
        for result in self.results:
            value = {
                "data": result.manifest["data"]["fingerprint"],
                "shrink": result.shrink,
                "min_count": result.min_count,
            }[what]
            found.setdefault(value, []).append(result.name)
        return found

    def validation(self, result: Result, by: str) -> float:
        """Value of a criterion on validation by which a candidate is chosen.

        It is the one by which the run chose its epoch; where only some candidates shrink, that of the accuracies
        observed.
        """
        chosen = result.validation(by)
        is_mixed = len({one.shrink for one in self.results}) > 1
        if is_mixed and figure_in(by) is not None:
            raise InputError(
                f"by is {by!r}, and shrink differs between candidates, so that its values are not alike; run the study "
                "with one shrink, or choose by a criterion of accuracy"
            )
        return result.counts(by, self.validation_split).value(by) if is_mixed else chosen

    def chosen(self, by: str) -> dict[str, list[Result]]:
        """For each method, the result by repeat and seed whose setting is best by a criterion on validation."""
        sign = selectable_criterion(by).sign
        best: dict[tuple[str, int, int], Result] = {}
        for result in self.results:
            place = (result.method, *result.run)
            known = best.get(place)
            if known is None or sign * self.validation(result, by) > sign * self.validation(known, by):
                best[place] = result
        found: dict[str, list[Result]] = {}
        for method, *run in sorted(best):
            found.setdefault(method, []).append(best[method, run[0], run[1]])
        return found

    def method_named(self, name: str) -> str:
        """The method that tables call so, or the only one of this class, as ``DRU`` for ``qDRU+M``; else the name."""
        names = {result.setting for result in self.results} | {result.method for result in self.results}
        of_class = {result.method for result in self.results if result.setting.partition(" ")[0] == name}
        return of_class.pop() if len(of_class) == 1 and name not in names else name

    def side_by_side(self, by: str, split: str) -> tuple[Chosen, dict[str, list[Result]], list[str]]:
        """The chosen candidates of all methods on a split.

        Args:
            by: criterion that chooses setting and epoch, on validation.
            split: whose groups are compared.

        Returns:
            Their counts, method to its candidates by repeat and seed, and sentences about runs that are left out.

        Raises:
            InputError: if the methods have no run in common, or were tested on other groups.
        """
        chosen, lacking = _of_common_runs(self.chosen(by))
        return Chosen.of(chosen, by, split, self.min_count), chosen, lacking

    def frame(self) -> DataFrame:
        """All counts as a pandas data frame; pandas must be installed.

        One row for each candidate, criterion by which the checkpoint was kept, split and group: ``method, setting,
        seed, key, criterion, split, group, count, correct``; with several repeats also ``repeat``.
        """
        import pandas as pd

        frames = []
        for result in self.results:
            frame = result.groups.to_pandas()
            for place, name in enumerate(("method", "setting", "seed")):
                frame.insert(place, name, getattr(result, name))
            frame.insert(3, "key", result.manifest["key"])
            if len(self.repeats) > 1:
                frame.insert(3, "repeat", result.repeat)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def __repr__(self) -> str:
        """Short: where, and how many."""
        return f"Study({str(self.folder)!r}, {len(self.results)} finished candidates)"

    def __iter__(self) -> Iterator[Result]:
        """The results in their order."""
        return iter(self.results)


def left_out(folder: Path) -> int:
    """How many finished candidates of a folder are of earlier plans alone, and so in no table."""
    planned = read_plan(folder)
    files = folder.glob(f"{CANDIDATE_FOLDER}/*/{MANIFEST_FILE}")
    return 0 if planned is None else sum(Result.read(file).manifest["key"] not in planned for file in files)


def _of_common_runs(chosen: dict[str, list[Result]]) -> tuple[dict[str, list[Result]], list[str]]:
    """The chosen results of those seeds and repeats that all methods have, and sentences about the others."""
    of_method = {method: {result.run for result in results} for method, results in chosen.items()}
    every, common = set().union(*of_method.values()), set.intersection(*of_method.values())
    several = len({repeat for repeat, _ in every}) > 1
    lacking = [
        f"Left out: {f'repeat {run[0]}, ' if several else ''}seed {run[1]}, with which "
        f"{', '.join(m for m, runs in of_method.items() if run not in runs)} is not finished."
        for run in sorted(every - common)
    ]
    if not common:
        raise InputError(f"no seed is finished with every method: {' '.join(lacking)} Run the study to its end")
    return {method: [one for one in results if one.run in common] for method, results in chosen.items()}, lacking


def _has_own_length(result: Result) -> bool:
    """Whether the plan itself gave a candidate a training of its own length."""
    return any(name.rpartition(".")[2] in OF_LENGTH for name in result.manifest["options"])


def _listed(groups: Mapping[Any, Sequence[str]]) -> str:
    return "; ".join(f"{value}: {some(names, shown=NAMED)}" for value, names in groups.items())
