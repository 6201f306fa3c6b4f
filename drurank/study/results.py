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
from drurank.study.runs import DRAWS, GROUPS, MANIFEST, PLAN

if TYPE_CHECKING:
    from pandas import DataFrame

    from drurank.study.tables import StudyTable


TESTED = ("ood_test", "test", "id_test")
EXPECTED = {"key", "method", "setting", "options", "seed", "data", "budget", "selection"}
SAID = 5


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
                f"{self.folder} kept no checkpoint by {by!r}: {nearest(by, self.criteria)}; add it to the "
                "study's criteria and run it again, which trains the candidates anew"
            )

    @cached_property
    def groups(self) -> pa.Table:
        """Counts by group of the checkpoint of each criterion: ``criterion, split, group, count, correct``."""
        try:
            return pa_parquet.read_table(self.folder / GROUPS)
        except (OSError, pa.ArrowInvalid) as error:
            raise _broken(self.folder / GROUPS, error) from error


@dataclass(frozen=True)
class Study:
    """The finished candidates of a folder, of the plan that was run last.

    Attributes:
        folder: of the study.
        results: by method, setting and seed.
        unfinished: candidates of the plan that are not among them, as ``DRU cutoff=5, seed 0``.
        others: number of finished ones of earlier plans, which are not in the last one.
    """

    folder: Path
    results: tuple[Result, ...]
    unfinished: tuple[str, ...] = ()
    others: int = 0

    @classmethod
    def load(cls, folder: str | Path) -> Study:
        """Read what is finished.

        Raises:
            InputError: if nothing is, or it cannot be read.
        """
        path = Path(folder).expanduser()
        every = [_read(file) for file in sorted(path.glob(f"candidates/*/{MANIFEST}"))]
        keys = {result.manifest["key"] for result in every}
        wanted = _wanted(path) if (path / PLAN).is_file() else dict.fromkeys(keys, "")
        found = [result for result in every if result.manifest["key"] in wanted]
        if not found:
            others = f", and {len(every)} of earlier plans" if every else ""
            raise InputError(f"{folder} has no finished candidate{others}; give the folder of a study, or run it first")
        found.sort(key=lambda result: (result.method, result.setting, result.seed))
        unfinished = tuple(said for key, said in wanted.items() if key not in keys)
        return cls(path, tuple(found), unfinished, len(every) - len(found))

    def split(self, name: str | None) -> str:
        """The split of a name, or, if none is given, that of the groups never seen in training, or else ``test``."""
        known = self.results[0].splits
        return name or next((split for split in TESTED if split in known), known[-1])

    def unlike(self) -> list[str]:
        """Sentences about what keeps candidates from being compared, and about those that are not there."""
        found = []
        for what, key in (("data", ("data", "fingerprint")), ("optimizer steps", ("budget", "steps"))):
            groups: dict[Any, list[str]] = {}
            for result in self.results:
                groups.setdefault(result.manifest[key[0]][key[1]], []).append(f"{result.setting} seed={result.seed}")
            if len(groups) > 1:
                said = "; ".join(f"{value}: {_some(names)}" for value, names in groups.items())
                found.append(f"{what} differ between candidates: {said}.")
        if self.unfinished:
            found.append(f"Not finished: {_some(self.unfinished)}.")
        if self.others:
            found.append(f"Left out: {self.others} finished candidates of earlier plans in this folder.")
        return found

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

    def table(self, by: str = "qdcg10", **shown: Any) -> StudyTable:
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

    def __repr__(self) -> str:
        """Short: where, and how many."""
        return f"Study({str(self.folder)!r}, {len(self.results)} finished candidates)"

    def __iter__(self) -> Iterator[Result]:
        """The results in their order."""
        return iter(self.results)


def stacked(results: Sequence[Result], by: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Groups of a split as the checkpoints of several candidates served them.

    Args:
        results: the candidates.
        by: criterion that kept the checkpoint of each.
        split: of the groups.

    Returns:
        Correct and seen by candidate and group, int64 ``[n, m]`` each.

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


def _wanted(study: Path) -> dict[str, str]:
    """Key of each candidate of the plan to what it is; of a draw that has not become one, the draw's."""
    found = {}
    for key, said in json.loads((study / PLAN).read_text(encoding="utf-8")).items():
        draw = study / DRAWS / f"{key}.json"
        found[json.loads(draw.read_text(encoding="utf-8"))["key"] if draw.is_file() else key] = said
    return found


def _read(file: Path) -> Result:
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        lacking = sorted(EXPECTED - set(manifest))
    except (OSError, ValueError, TypeError) as error:
        raise _broken(file, error) from error
    if lacking:
        raise _broken(file, f"it has no {lacking[0]}")
    return Result(file.parent, manifest)


def _broken(file: Path, why: object) -> InputError:
    said = " ".join(str(why).split())[:200]
    return InputError(f"{file} cannot be read ({said}); remove {file.parent} and run the study again")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SAID]) + (f" and {len(names) - SAID} more" if len(names) > SAID else "")


def _better(value: float, other: float, mode: str) -> bool:
    return value > other if mode == "max" else value < other
