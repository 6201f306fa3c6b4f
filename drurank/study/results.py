"""What a study found, read from its folder without training anything again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet

from drurank.criteria import compute_criteria, criterion
from drurank.errors import InputError, nearest
from drurank.study.folder import CANDIDATE_FOLDER, COUNTS_FILE, MANIFEST_FILE, read_plan

if TYPE_CHECKING:
    from pandas import DataFrame

TESTED = ("ood_test", "test", "id_test")
EXPECTED = {"key", "method", "setting", "options", "seed", "data", "budget", "selection"}
NAMED = 5
"""Candidates that a sentence names; of more it gives the number."""


@dataclass(frozen=True)
class Counts:
    """What one checkpoint got right, by group of one split.

    Attributes:
        groups: names of the groups, sorted, ``[m]``.
        correct: rows classified correctly, int64 ``[m]``.
        count: rows, int64 ``[m]``.
    """

    groups: tuple[str, ...]
    correct: np.ndarray
    count: np.ndarray

    def value(self, name: str) -> float:
        """Value of a criterion."""
        return float(compute_criteria(self.correct, self.count, [name])[name])


@dataclass(frozen=True, eq=False)
class Result:
    """A finished candidate.

    Attributes:
        folder: of the candidate.
        manifest: see ``drurank.study.manifest``.
    """

    folder: Path
    manifest: Mapping[str, Any]

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
    def criteria(self) -> tuple[str, ...]:
        """Those by which a checkpoint was kept."""
        return tuple(self.manifest["selection"])

    @property
    def splits(self) -> tuple[str, ...]:
        """Those with counts by group."""
        return tuple(dict.fromkeys(self.groups["split"].to_pylist()))

    def counts(self, by: str, split: str) -> Counts:
        """Counts by group of a split, of the checkpoint that is best by a criterion.

        Raises:
            InputError: if no checkpoint was kept by that criterion, or there is no such split.
        """
        self._refuse_other(by)
        chosen = self.groups.filter(pc.equal(self.groups["criterion"], by))
        found = chosen.filter(pc.equal(chosen["split"], split)).sort_by("group")
        if found.num_rows == 0:
            known = sorted(set(chosen["split"].to_pylist()))
            raise InputError(f"{self.folder} has no groups of split {split!r}: {nearest(split, known)}")
        return Counts(tuple(found["group"].to_pylist()), found["correct"].to_numpy(), found["count"].to_numpy())

    def validation(self, by: str) -> float:
        """Value of a criterion on validation, of the checkpoint that is best by it."""
        self._refuse_other(by)
        return float(self.manifest["selection"][by]["value"])

    def _refuse_other(self, by: str) -> None:
        if by not in self.criteria:
            raise InputError(
                f"{self.folder} kept no checkpoint by {by!r}: {nearest(by, self.criteria)}; give "
                f"by={self.criteria[0]!r}, or add the other to the study's criteria and run it again, which trains "
                "every candidate again"
            )

    @cached_property
    def groups(self) -> pa.Table:
        """Counts by group of the best checkpoint by each criterion: ``criterion, split, group, count, correct``."""
        try:
            return pa_parquet.read_table(self.folder / COUNTS_FILE)
        except (OSError, pa.ArrowInvalid) as error:
            raise _broken(self.folder / COUNTS_FILE, error) from error


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
        every = [_read(file) for file in sorted(path.glob(f"{CANDIDATE_FOLDER}/*/{MANIFEST_FILE}"))]
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

    def caveats(self) -> list[str]:
        """Sentences about what makes candidates hard to compare, and about missing ones."""
        found = []
        for what, key in (("data", ("data", "fingerprint")), ("optimizer steps", ("budget", "steps"))):
            groups: dict[Any, list[str]] = {}
            for result in self.results:
                groups.setdefault(result.manifest[key[0]][key[1]], []).append(f"{result.setting} seed={result.seed}")
            if len(groups) > 1:
                values = "; ".join(f"{value}: {_some(names)}" for value, names in groups.items())
                found.append(f"{what} differ between candidates: {values}.")
        if self.unfinished:
            found.append(f"Not finished: {_some(self.unfinished)}.")
        if self.others:
            found.append(f"Left out: {self.others} finished candidates of earlier plans in this folder.")
        return found

    def chosen(self, by: str) -> dict[str, list[Result]]:
        """For each method, the result by seed whose setting is best by a criterion on validation."""
        mode = criterion(by).mode
        best: dict[tuple[str, int], Result] = {}
        for result in self.results:
            place = (result.method, result.seed)
            known = best.get(place)
            if known is None or _better(result.validation(by), known.validation(by), mode):
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


def stacked(results: Sequence[Result], by: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Counts by group of a split, of several candidates.

    Args:
        results: the candidates.
        by: criterion by which the checkpoint of each was kept.
        split: of the groups.

    Returns:
        Correct rows and rows by candidate and group, int64 ``[n, m]`` each.

    Raises:
        InputError: if not all have the same groups.
    """
    found = [result.counts(by, split) for result in results]
    for one, result in zip(found, results, strict=True):
        if one.groups != found[0].groups:
            raise InputError(
                f"{result.folder} has other groups of {split} than {results[0].folder}; compare like with like"
            )
    return np.stack([one.correct for one in found]), np.stack([one.count for one in found])


def _read(file: Path) -> Result:
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        lacking = sorted(EXPECTED - set(manifest))
    except (OSError, ValueError, TypeError) as error:
        raise _broken(file, error) from error
    if lacking:
        raise _broken(file, f"{lacking[0]} is missing")
    return Result(file.parent, manifest)


def _broken(file: Path, why: object) -> InputError:
    reason = " ".join(str(why).split())[:200]
    return InputError(f"{file} cannot be read ({reason}); remove {file.parent} and run the study again")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _better(value: float, other: float, mode: str) -> bool:
    return value > other if mode == "max" else value < other
