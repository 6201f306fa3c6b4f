"""What a study runs: candidates with seeds, from one YAML file."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from drurank.criteria import criterion, default_criteria
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
        shared: configurations that all candidates share, those of ``configs`` and then the sections of the file.
        candidates: all runs, or draws of them.
        criteria: by which checkpoints are kept.
        keep_checkpoints: whether they stay once they are tested.
    """

    source: str
    shared: tuple[Mapping[str, Any], ...]
    candidates: tuple[Candidate, ...] | tuple[Draw, ...]
    criteria: tuple[str, ...]
    keep_checkpoints: bool

    @property
    def base(self) -> str:
        """Digest of what all candidates share."""
        return self.candidates[0].base

    @property
    def digest(self) -> str:
        """Of all candidates."""
        return _digest(sorted(candidate.key for candidate in self.candidates))

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Read a file.

        Raises:
            InputError: if it cannot be read, or names something that there is not.
        """
        file = Path(path).expanduser()
        content, source = _read(file), str(path)
        _check_keys(source, content)
        shared = tuple(_config(_beside(file, name)) for name in _as_list(content.get("configs")))
        shared += ({key: content[key] for key in SECTIONS if key in content},)
        criteria = _criteria(source, content.get("criteria"))
        candidates = _candidates(source, content, criteria, _digest([shared, criteria]))
        keys = Counter(candidate.key for candidate in candidates)
        for candidate in candidates:
            if keys[candidate.key] > 1:
                raise InputError(f"{path}: {candidate.setting} with seed {candidate.seed} is named twice; name it once")
        return cls(source, shared, tuple(candidates), criteria, content.get("keep_checkpoints", True))


def _check_keys(source: str, content: Mapping[str, Any]) -> None:
    for key in content:
        if key not in KEYS:
            raise InputError(f"{source} has the key {key!r}, which a study has not: {nearest(str(key), KEYS)}")
    for key in ("candidates", "seeds"):
        if not isinstance(content.get(key), list) or not content[key]:
            raise InputError(f"{source}: {key} is {content.get(key)!r}; give a list with at least one")
    if not isinstance(content.get("keep_checkpoints", True), bool):
        raise InputError(f"{source}: keep_checkpoints is {content['keep_checkpoints']!r}; give true or false")
    _check_sections(source, content)


def _check_sections(source: str, content: Mapping[str, Any]) -> None:
    for key in SECTIONS:
        section = content.get(key, {})
        if not isinstance(section, dict):
            raise InputError(f"{source}: {key} is {section!r}; give a mapping, as in a configuration of fit")
    if "class_path" in content.get("model", {}):
        raise InputError(
            f"{source}: model names {content['model']['class_path']!r}, but each candidate of a study names its own "
            "method; leave class_path out there, and give the method as a candidate"
        )


def _candidates(source: str, content: Mapping[str, Any], criteria: tuple[str, ...], base: str) -> Any:
    entries = [_named(source, entry) for entry in content["candidates"]]
    seeds = [_seed(source, seed) for seed in content["seeds"]]
    search = _search(source, content, criteria)
    if search is None:
        settings = [setting for entry in entries for setting in _expanded(source, entry)]
        return [Candidate(method, options, seed, base) for method, options in settings for seed in seeds]
    sampler, by, trials = search
    among = [_among(source, entry) for entry in entries]
    # One draw of each method, then the next: a study that is cut short has as many of each.
    draws = itertools.product(range(trials), among, seeds)
    return [Draw(sampler, by, method, options, number, seed, base) for number, (method, options), seed in draws]


def _read(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"{file} cannot be read: {said}; give a YAML file, as configs/study/table.yaml") from error
    if not isinstance(content, dict):
        raise InputError(f"{file} holds no keys; give a YAML file with {', '.join(KEYS)}")
    try:
        json.dumps(content, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{file} holds what is no word, number, list or mapping ({error}); put dates and the like in quotes"
        ) from error
    return content


def _config(file: Path) -> dict[str, Any]:
    content = _read(file)
    _check_sections(str(file), content)
    return content


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]


def _criteria(source: str, given: Any) -> tuple[str, ...]:
    words = given.split(",") if isinstance(given, str) else list(default_criteria()) if given is None else given
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise InputError(f"{source}: criteria is {given!r}; give a list of names, as [qdcg10, worst]")
    names = tuple(criterion(word.strip()).name for word in words)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{source}: criteria names {name} twice; name it once")
    return names


def _beside(file: Path, name: Any) -> Path:
    """A configuration, named from where one is or from the folder of the study's file."""
    if isinstance(name, str):
        for place in (Path(name).expanduser(), file.parent / name):
            if place.is_file():
                return place.resolve()
    raise InputError(f"{file}: there is no configuration {name}, here or beside the file; name one that there is")


def _named(source: str, entry: Any) -> dict[str, list[Any] | Range]:
    """Option of an entry to its choices or range; of ``model`` too."""
    if not isinstance(entry, dict) or not entry.get("model"):
        example = "{model: DRU, cutoff: [5, 10]}"
        raise InputError(f"{source}: a candidate is {entry!r}; give a mapping with model, as {example}")
    found: dict[str, list[Any] | Range] = {}
    for name, value in entry.items():
        option = _option(source, str(name))
        if option in found:
            raise InputError(f"{source}: a candidate names {option} twice, in {entry!r}; name it once")
        found[option] = _choices(source, str(name), value)
    for method in _as_list(entry["model"]):
        if not isinstance(method, str) or not all(part.isidentifier() for part in method.split(".")):
            raise InputError(f"{source}: model is {method!r}; give the class of a method, as DRU")
    return found


def _choices(source: str, name: str, value: Any) -> list[Any] | Range:
    if not isinstance(value, dict) or not {"low", "high"} <= set(value) <= {"low", "high", "log"}:
        if value == []:
            raise InputError(
                f"{source}: {name} is an empty list, of which no candidate comes; give a value, or leave it out"
            )
        return value if isinstance(value, list) else [value]
    # YAML 1.1 reads 1e-4 as a word.
    ends = [float(end) if isinstance(end, str) and _is_number(end) else end for end in (value["low"], value["high"])]
    log = value.get("log", False)
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) and math.isfinite(end) for end in ends)
    if not numbers or not isinstance(log, bool) or not ends[0] < ends[1] or (log and ends[0] <= 0):
        raise InputError(
            f"{source}: {name} is {value!r}; give low below high, as {{low: 1e-4, high: 1e-1, log: true}}, and with "
            "log a low above 0"
        )
    return Range(ends[0], ends[1], log)


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
    methods = entry["model"]
    if isinstance(methods, Range) or len(methods) != 1:
        raise InputError(f"{source}: model is {methods!r}; a search takes one method an entry, give each its own")
    return methods[0], {
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
    if name in ("data", "trainer", "select", "seed_everything", "ckpt_path"):
        instead = {"seed_everything": "seeds", "select": "criteria"}.get(
            name, f"{name}.<option>, or make another study"
        )
        raise InputError(f"{source}: a candidate names {name!r}, which it cannot vary; give {instead}")
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


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
