"""What a study found, read from its folder without training anything again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drurank.criteria import criterion
from drurank.errors import InputError
from drurank.study.folder import CANDIDATE_FOLDER, MANIFEST_FILE, read_plan
from drurank.study.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

TESTED = ("ood_test", "test", "id_test")
VALIDATION = ("ood_val", "val", "id_val")
NAMED = 5
"""Candidates that a sentence names; of more it gives the number."""


@dataclass(frozen=True)
class Study:
    """The finished candidates of a folder, as far as they are in the plan that was started last.

    Attributes:
        folder: of the study.
        results: sorted by method, setting and seed.
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
            InputError: if there are none, or a file cannot be read.
        """
        path = Path(folder).expanduser()
        every = [Result.read(file) for file in sorted(path.glob(f"{CANDIDATE_FOLDER}/*/{MANIFEST_FILE}"))]
        keys = {result.manifest["key"] for result in every}
        planned = read_plan(path) or dict.fromkeys(keys, "")
        found = [result for result in every if result.manifest["key"] in planned]
        if not found:
            others = f", and {len(every)} of earlier plans" if every else ""
            raise InputError(f"{folder} has no finished candidate{others}; give the folder of a study, or run it first")
        found.sort(key=lambda result: (result.method, result.setting, result.seed))
        unfinished = tuple(setting for key, setting in planned.items() if key not in keys)
        return cls(path, tuple(found), unfinished, len(every) - len(found))

    def split(self, name: str | None) -> str:
        """The split to show: the given one, else that of groups never seen in training, else ``test``."""
        known = self.results[0].splits
        return name or next((split for split in TESTED if split in known), known[-1])

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

    def caveats(self) -> list[str]:
        """Sentences about what makes candidates hard to compare, and about missing ones."""
        found = []
        for what in ("data", "optimizer steps"):
            groups = self._by_value(what)
            if len(groups) > 1:
                found.append(f"{what} differ between candidates: {_listed(groups)}.")
        shrunk = self._by_value("shrink")
        if True in shrunk:
            settings = "epochs" if len(shrunk) > 1 else "epochs and settings"
            of = f" of {_some(shrunk[True])}" if len(shrunk) > 1 else ""
            found.append(f"The {settings}{of} were chosen by shrunk accuracies; the figures are of those observed.")
        if self.min_count > 1:
            found.append(f"Groups with fewer than {self.min_count} rows are left out of all criteria but overall.")
        if self.unfinished:
            found.append(f"Not finished: {_some(self.unfinished)}.")
        if self.others:
            found.append(f"Left out: {self.others} finished candidates of earlier plans in this folder.")
        return found

    def _by_value(self, what: str) -> dict[Any, list[str]]:
        """Value of something that candidates should share, to those that have it."""
        found: dict[Any, list[str]] = {}
        for result in self.results:
            value = {
                "data": result.manifest["data"]["fingerprint"],
                "optimizer steps": result.manifest["budget"]["steps"],
                "shrink": result.shrink,
                "min_count": result.min_count,
            }[what]
            found.setdefault(value, []).append(f"{result.setting} seed={result.seed}")
        return found

    def chosen(self, by: str) -> dict[str, list[Result]]:
        """For each method, the result by seed whose setting is best by a criterion on validation.

        The value is the one by which the run chose its epoch; where only some candidates shrink, it is that of the
        accuracies observed.
        """
        mode, observed = criterion(by).mode, len(self._by_value("shrink")) > 1

        def value(result: Result) -> float:
            chosen = result.validation(by)
            return result.counts(by, self.validation_split).value(by) if observed else chosen

        best: dict[tuple[str, int], Result] = {}
        for result in self.results:
            place = (result.method, result.seed)
            known = best.get(place)
            if known is None or _better(value(result), value(known), mode):
                best[place] = result
        found: dict[str, list[Result]] = {}
        for method, seed in sorted(best):
            found.setdefault(method, []).append(best[method, seed])
        return found

    def frame(self) -> DataFrame:
        """All counts as a pandas data frame; pandas must be installed.

        One row for each candidate, criterion by which the checkpoint was kept, split and group: ``method, setting,
        seed, key, criterion, split, group, count, correct``.
        """
        import pandas as pd

        frames = []
        for result in self.results:
            frame = result.groups.to_pandas()
            for place, name in enumerate(("method", "setting", "seed")):
                frame.insert(place, name, getattr(result, name))
            frame.insert(3, "key", result.manifest["key"])
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def __repr__(self) -> str:
        """Short: where, and how many."""
        return f"Study({str(self.folder)!r}, {len(self.results)} finished candidates)"

    def __iter__(self) -> Iterator[Result]:
        """The results in their order."""
        return iter(self.results)


def _listed(groups: Mapping[Any, Sequence[str]]) -> str:
    return "; ".join(f"{value}: {_some(names)}" for value, names in groups.items())


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _better(value: float, other: float, mode: str) -> bool:
    return value > other if mode == "max" else value < other
