"""What a study found, read from its folder without training anything again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
from drurank.study.runs import GROUPS, MANIFEST

if TYPE_CHECKING:
    from pandas import DataFrame

    from drurank.study.tables import StudyTable


@dataclass(frozen=True)
class Counts:
    """Groups of one split, as one checkpoint served them.

    Attributes:
        groups: their names, sorted, ``[m]``.
        correct: samples classified rightly, int64 ``[m]``.
        count: samples, int64 ``[m]``.
    """

    groups: tuple[str, ...]
    correct: np.ndarray
    count: np.ndarray

    def value(self, name: str) -> float:
        """A criterion of them."""
        return float(compute_criteria(self.correct, self.count, [name])[name])


@dataclass(frozen=True, eq=False)
class Result:
    """A finished candidate.

    Attributes:
        folder: where it lies.
        manifest: what it noted, see ``drurank.study.runs``.
    """

    folder: Path
    manifest: Mapping[str, Any]

    @property
    def method(self) -> str:
        """Name of the method as tables say it, ``qDRU+M``."""
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
        """Those that kept a checkpoint."""
        return tuple(self.manifest["selection"])

    @property
    def splits(self) -> tuple[str, ...]:
        """Those with counts of groups."""
        return tuple(dict.fromkeys(self.groups["split"].to_pylist()))

    def counts(self, by: str, split: str) -> Counts:
        """Groups of a split, as the checkpoint that is best by a criterion served them.

        Raises:
            InputError: if it kept none by that criterion, or has no such split.
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
                f"{self.folder} kept no checkpoint by {by!r}: {nearest(by, self.criteria)}; name it in the study's "
                "criteria"
            )

    @cached_property
    def groups(self) -> pa.Table:
        """Counts by group of the checkpoint of each criterion: ``criterion, split, group, count, correct``."""
        return pa_parquet.read_table(self.folder / GROUPS)


@dataclass(frozen=True)
class Study:
    """All finished candidates of a folder.

    Attributes:
        folder: of the study.
        results: by method, setting and seed.
    """

    folder: Path
    results: tuple[Result, ...]

    @classmethod
    def load(cls, folder: str | Path) -> Study:
        """Read what is finished.

        Raises:
            InputError: if nothing is.
        """
        path = Path(folder).expanduser()
        found = [
            Result(file.parent, json.loads(file.read_text(encoding="utf-8")))
            for file in sorted(path.glob(f"candidates/*/{MANIFEST}"))
        ]
        if not found:
            raise InputError(f"{folder} has no finished candidate; give the folder of a study, or run it first")
        found.sort(key=lambda result: (result.method, result.setting, result.seed))
        return cls(path, tuple(found))

    def unlike(self) -> list[str]:
        """Sentences about what keeps candidates from being compared: other data, or other budgets."""
        return [
            f"{what} differ between candidates: {', '.join(f'{value} ({len(keys)})' for value, keys in groups.items())}"
            for what, groups in (
                ("data", self._by(lambda manifest: manifest["data"]["fingerprint"])),
                ("optimizer steps", self._by(lambda manifest: manifest["budget"]["steps"])),
            )
            if len(groups) > 1
        ]

    def chosen(self, by: str) -> dict[str, list[Result]]:
        """Of each method and seed the setting that a criterion prefers on validation: by method, in order of seeds."""
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

    def table(self, by: str, **shown: Any) -> StudyTable:
        """Methods side by side, each with the settings and epochs that a criterion chose; see ``StudyTable.of``."""
        from drurank.study.tables import StudyTable

        return StudyTable.of(self, by, **shown)

    def frame(self) -> DataFrame:
        """All groups of all candidates as a frame of pandas, which must be installed.

        One row a candidate, criterion that kept the checkpoint, split and group: ``method, setting, seed, key,
        criterion, split, group, count, correct``.
        """
        import pandas as pd

        parts = []
        for result in self.results:
            part = result.groups.to_pandas()
            for place, name in enumerate(("method", "setting", "seed")):
                part.insert(place, name, getattr(result, name))
            part.insert(3, "key", result.manifest["key"])
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def _by(self, key: Any) -> dict[Any, list[str]]:
        groups: dict[Any, list[str]] = {}
        for result in self.results:
            groups.setdefault(key(result.manifest), []).append(result.manifest["key"])
        return groups

    def __iter__(self) -> Iterator[Result]:
        """The results in their order."""
        return iter(self.results)


def _better(value: float, other: float, mode: str) -> bool:
    return value > other if mode == "max" else value < other
