"""What a study runs: candidates with seeds, from one YAML file."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from drurank.criteria import DEFAULT_CRITERIA, criterion
from drurank.errors import InputError, is_count, nearest
from drurank.study.candidates import Candidate, Draw, Range

SECTIONS = ("model", "data", "trainer")
"""What is given as in a configuration of ``fit``, for all candidates."""
KEYS = ("configs", *SECTIONS, "candidates", "seeds", "criteria", "search", "trials", "by", "keep_checkpoints")
SEARCHES = ("grid", "random", "tpe")


@dataclass(frozen=True)
class Plan:
    """A study as its YAML file says it.

    ``configs`` names configurations of ``fit`` that all candidates start from; ``data``, ``model`` (options of every
    method, as ``network``) and ``trainer`` are sections of one more. ``candidates`` is a list of settings: ``model`` is
    the class of the method, a name without a dot one of its options, and one with dots an option of ``fit``. Lists
    expand to all combinations; a value that is itself a list stands in one more list. ``seeds`` are those of every
    setting. ``criteria`` keep a checkpoint each, of which every one is tested. ``search`` is ``grid``, which runs all
    combinations, ``random`` or ``tpe``; these draw ``trials`` settings of each entry for each seed, ``tpe`` by what
    ``by`` was on validation, and an option may be a range, ``{low: 1e-4, high: 1e-1, log: true}``.
    ``keep_checkpoints: false`` removes the checkpoints of a candidate once it is tested.

    Attributes:
        source: the file, for messages.
        configs: files of configurations.
        shared: sections that all candidates share.
        candidates: all runs, or draws of them.
        criteria: by which checkpoints are kept.
        keep_checkpoints: whether they stay once they are tested.
    """

    source: str
    configs: tuple[str, ...]
    shared: Mapping[str, Any]
    candidates: tuple[Candidate, ...] | tuple[Draw, ...]
    criteria: tuple[str, ...]
    keep_checkpoints: bool

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Read a file.

        Raises:
            InputError: if it cannot be read, or names something that there is not.
        """
        file = Path(path).expanduser()
        content = _read(file)
        for key in content:
            if key not in KEYS:
                raise InputError(f"{path} has the key {key!r}, which a study has not: {nearest(str(key), KEYS)}")
        for key in ("candidates", "seeds"):
            if not isinstance(content.get(key), list) or not content[key]:
                raise InputError(f"{path}: {key} is {content.get(key)!r}; give a list with at least one")
        keep = content.get("keep_checkpoints", True)
        if not isinstance(keep, bool):
            raise InputError(f"{path}: keep_checkpoints is {keep!r}; give true or false")
        configs = tuple(str(_beside(file, name)) for name in _as_list(content.get("configs")))
        shared = {key: content[key] for key in SECTIONS if key in content}
        criteria = tuple(criterion(name.strip()).name for name in _names(content.get("criteria")))
        texts = [Path(name).read_text(encoding="utf-8") for name in configs]
        said = json.dumps([texts, shared, criteria], sort_keys=True, default=str)
        base = hashlib.sha256(said.encode()).hexdigest()[:10]
        entries = [_named(str(path), entry) for entry in content["candidates"]]
        seeds = [_seed(str(path), seed) for seed in content["seeds"]]
        search = _search(str(path), content, criteria)
        if search is None:
            settings = [setting for entry in entries for setting in _expanded(str(path), entry)]
            candidates: Any = [Candidate(method, options, seed, base) for method, options in settings for seed in seeds]
        else:
            sampler, by, trials = search
            candidates = [
                Draw(sampler, by, method, among, number, seed, base)
                for number in range(trials)
                for method, among in (_among(str(path), entry) for entry in entries)
                for seed in seeds
            ]
        keys = Counter(candidate.key for candidate in candidates)
        for candidate in candidates:
            if keys[candidate.key] > 1:
                raise InputError(f"{path}: {candidate.setting} with seed {candidate.seed} is named twice; name it once")
        return cls(str(path), configs, shared, tuple(candidates), criteria, keep)


def _read(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"{file} cannot be read: {said}; give a YAML file, as configs/study/table.yaml") from error
    if not isinstance(content, dict):
        raise InputError(f"{file} holds no keys; give a YAML file with {', '.join(KEYS)}")
    return content


def _beside(file: Path, name: str) -> Path:
    """A configuration, named from where one is or from the folder of the study's file."""
    for place in (Path(name).expanduser(), file.parent / name):
        if place.is_file():
            return place.resolve()
    raise InputError(f"{file}: there is no configuration {name}, here or beside the file; name one that there is")


def _named(source: str, entry: Any) -> dict[str, list[Any] | Range]:
    """Option of an entry to its choices or range; of ``model`` too."""
    if not isinstance(entry, dict) or not entry.get("model"):
        example = "{model: DRU, cutoff: [5, 10]}"
        raise InputError(f"{source}: a candidate is {entry!r}; give a mapping with model, as {example}")
    return {_option(source, str(name)): _choices(source, str(name), value) for name, value in entry.items()}


def _choices(source: str, name: str, value: Any) -> list[Any] | Range:
    if not isinstance(value, dict) or not {"low", "high"} <= set(value) <= {"low", "high", "log"}:
        return _as_list(value)
    # YAML 1.1 reads 1e-4 as a word.
    ends = [float(end) if isinstance(end, str) and _is_number(end) else end for end in (value["low"], value["high"])]
    log = value.get("log", False)
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    if not numbers or not ends[0] < ends[1] or (log and ends[0] <= 0):
        raise InputError(
            f"{source}: {name} is {value!r}; give low below high, as {{low: 1e-4, high: 1e-1, log: true}}, and with "
            "log a low above 0"
        )
    return Range(ends[0], ends[1], bool(log))


def _expanded(source: str, entry: Mapping[str, list[Any] | Range]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All combinations of an entry: method, and options."""
    lists: dict[str, list[Any]] = {}
    for name, value in entry.items():
        if isinstance(value, Range):
            raise InputError(f"{source}: {name} is a range, which no grid holds; give a list, or search: random or tpe")
        lists[name] = value
    for values in itertools.product(*lists.values()):
        options = dict(zip(lists, values, strict=True))
        yield str(options.pop("model")), options


def _among(source: str, entry: Mapping[str, list[Any] | Range]) -> tuple[str, dict[str, Range | tuple[str, ...]]]:
    """Method of an entry, and its options as a search takes them."""
    (*others, method) = entry["model"] if isinstance(entry["model"], list) else [None, None]
    if others or not isinstance(method, str):
        raise InputError(
            f"{source}: model is {entry['model']!r}; a search takes one method an entry, give each its own"
        )
    return method, {
        name: value if isinstance(value, Range) else tuple(json.dumps(choice) for choice in value)
        for name, value in entry.items()
        if name != "model"
    }


def _search(source: str, content: Mapping[str, Any], criteria: tuple[str, ...]) -> tuple[str, str, int] | None:
    """Sampler, criterion and number of draws; ``None`` of a grid."""
    search = content.get("search", SEARCHES[0])
    if search not in SEARCHES:
        raise InputError(f"{source}: search is {search!r}: {nearest(str(search), SEARCHES)}")
    used = {"grid": (), "random": ("trials",), "tpe": ("trials", "by")}[search]
    for key in ("trials", "by"):
        if key in content and key not in used:
            raise InputError(f"{source} has {key}, which search: {search} does not use; leave it out")
    if search == "grid":
        return None
    trials: Any = content.get("trials")
    by = content.get("by", criteria[0])
    if not is_count(trials):
        raise InputError(f"{source}: trials is {trials!r}; give the settings to draw of each entry, as trials: 20")
    if by not in criteria:
        raise InputError(f"{source}: by is {by!r}, which is none of its criteria: {nearest(str(by), criteria)}")
    return str(search), str(by), int(trials)


def _option(source: str, name: str) -> str:
    if "." not in name:
        return name if name == "model" else f"model.{name}"
    if name.partition(".")[0] not in SECTIONS:
        known = ", ".join(f"{key}." for key in SECTIONS)
        raise InputError(f"{source}: a candidate names {name!r}; begin it with {known}")
    return name


def _seed(source: str, seed: Any) -> int:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise InputError(f"{source}: a seed is {seed!r}; give a whole number of 0 or more and below 2**32")
    return seed


def _names(value: Any) -> list[str]:
    if value is None:
        return list(DEFAULT_CRITERIA)
    return value.split(",") if isinstance(value, str) else [str(name) for name in value]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
