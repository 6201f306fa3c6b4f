"""What a study runs: candidates with seeds, from one YAML file."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from drurank.criteria import names_of
from drurank.errors import InputError, is_count, nearest
from drurank.figures.selecting import selectable_criterion
from drurank.recipes import find_config
from drurank.study.candidates import Candidate, SearchTrial
from drurank.study.entries import SECTIONS, combinations, read_entry, read_repeats, search_space
from drurank.yaml_files import PlanLoader, read_yaml

CHOICES = ("criteria", "search", "trials", "by", "keep_checkpoints")
KEYS = ("configs", *SECTIONS, "candidates", "seeds", "repeats", *CHOICES)
SEARCHES = ("grid", "random", "tpe")


@dataclass(frozen=True)
class Plan:
    """A study as its YAML file describes it.

    ``configs`` names configurations of ``fit`` that all candidates start from; ``data``, ``model`` (options of every
    method, as ``network``) and ``trainer`` are sections of one more. ``candidates`` is a list of settings: ``model`` is
    the class of the method, a name without a dot one of its options, and one with dots an option of ``fit``. Lists
    expand to all combinations; a value that is itself a list goes into one more list. ``seeds`` are those of every
    setting. ``repeats`` are several splits of the same data, ``{path: [a.csv, b.csv]}``: options of the data, each with
    a list, the first of which make the first split, and so on; every setting is run on each with every seed.
    ``criteria`` keep a checkpoint each, and each of these is tested. ``search`` is ``grid``, which runs all
    combinations, ``random`` or ``tpe``; these propose ``trials`` settings of each entry for each seed, ``tpe`` by the
    value of ``by`` on validation, and an option may be a range, ``{low: 1e-4, high: 1e-1, log: true}``.
    ``keep_checkpoints: false`` removes the checkpoints of a candidate once it is tested.

    Attributes:
        source: the file, for messages.
        shared: configurations that all candidates share, those of ``configs`` and then the sections of the file.
        candidates: all runs, or trials of a search.
        criteria: by which checkpoints are kept.
        keep_checkpoints: whether they stay once they are tested.
        of_data: files that name the data, in the order in which they are read.
    """

    source: str
    shared: tuple[Mapping[str, Any], ...]
    candidates: tuple[Candidate, ...] | tuple[SearchTrial, ...]
    criteria: tuple[str, ...]
    keep_checkpoints: bool
    of_data: tuple[str, ...] = ()

    @property
    def base(self) -> str:
        """Digest of what all candidates share."""
        return self.candidates[0].base

    @property
    def digest(self) -> str:
        """Digest of all candidates."""
        return _digest(sorted(candidate.key for candidate in self.candidates))

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Read a file.

        Raises:
            InputError: if it cannot be read, or names something unknown.
        """
        file = Path(find_config(str(path))).expanduser()
        content, source = _read(file), str(path)
        named = [_beside(file, name) for name in _as_list(content.get("configs"))]
        plan = cls.of(source, content, [_config(one) for one in named])
        files = zip([*map(str, named), source], plan.shared, strict=True)
        return replace(plan, of_data=tuple(name for name, section in files if "data" in section))

    @classmethod
    def of(cls, source: str, content: Mapping[str, Any], configs: Sequence[Mapping[str, Any]] = ()) -> Plan:
        """Make one from what a file would say.

        Args:
            source: where the content is from, for messages.
            content: of the file.
            configs: contents of the configurations that it names.

        Raises:
            InputError: if it names something unknown.
        """
        _check_keys(source, content)
        shared = (*configs, {key: content[key] for key in SECTIONS if key in content})
        criteria = _criteria(source, content.get("criteria"))
        candidates = _candidates(source, content, criteria, _digest([shared, criteria]))
        keys = Counter(candidate.key for candidate in candidates)
        for candidate in candidates:
            if keys[candidate.key] > 1:
                raise InputError(f"{source}: {candidate.name} is named twice; name it once")
        return cls(source, shared, candidates, criteria, content.get("keep_checkpoints", True))


def _example() -> str:
    return f"to begin a study copy {find_config('drurank:study/table.yaml')}"


def _read(file: Path) -> dict[str, Any]:
    try:
        content = read_yaml(file.read_text(encoding="utf-8"), PlanLoader)
    except FileNotFoundError as error:
        raise InputError(f"there is no file {file}; give a YAML file; {_example()}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{file} cannot be read: {reason}; give a YAML file; {_example()}") from error
    if not isinstance(content, dict):
        raise InputError(f"{file} is not a mapping; give a YAML file with the keys {', '.join(KEYS)}")
    try:
        json.dumps(content, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{file} has a value other than text, numbers, lists and mappings ({error}); write text in quotes"
        ) from error
    return content


def _check_keys(source: str, content: Mapping[str, Any]) -> None:
    if "seed_everything" in content:
        raise InputError(
            f"{source} is the configuration of a fit; a study has candidates and seeds, and may name it under configs; "
            f"{_example()}"
        )
    for key in content:
        if key not in KEYS:
            raise InputError(f"{source} has the unknown key {key!r}: {nearest(str(key), KEYS)}")
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


def _config(file: Path) -> dict[str, Any]:
    content = _read(file)
    _check_sections(str(file), content)
    return content


def _beside(file: Path, name: Any) -> Path:
    """A configuration, named from the working directory or from the folder of the study's file."""
    if isinstance(name, str):
        name = find_config(name)
        for place in (Path(name).expanduser(), file.parent / name):
            if place.is_file():
                return place.resolve()
    raise InputError(f"{file}: the configuration {name} is found neither here nor beside that file; give its path")


def _criteria(source: str, given: Any) -> tuple[str, ...]:
    words = list(names_of(given)) if given is None or isinstance(given, str) else given
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise InputError(f"{source}: criteria is {given!r}; give a list of names, as [qdcg10, worst]")
    names = tuple(selectable_criterion(word.strip()).name for word in words)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{source}: criteria names {name} twice; name it once")
    return names


def _candidates(
    source: str, content: Mapping[str, Any], criteria: tuple[str, ...], base: str
) -> tuple[Candidate, ...] | tuple[SearchTrial, ...]:
    entries = [read_entry(source, entry) for entry in content["candidates"]]
    seeds = [_seed(source, seed) for seed in content["seeds"]]
    repeats = read_repeats(source, content.get("repeats"), entries)
    search = _search(source, content, criteria)
    if search is None:
        settings = [setting for entry in entries for setting in combinations(source, entry)]
        runs = list(itertools.product(repeats, seeds))
        return tuple(
            Candidate(method, options, seed, base, repeat) for method, options in settings for repeat, seed in runs
        )
    sampler, by, trials = search
    spaces = [search_space(source, entry) for entry in entries]
    # One trial of each method, then the next: a study that is cut short has equally many of each.
    every = itertools.product(range(trials), spaces, repeats, seeds)
    return tuple(
        SearchTrial(sampler, by, method, choices, number, seed, base, repeat)
        for number, (method, choices), repeat, seed in every
    )


def _search(source: str, content: Mapping[str, Any], criteria: tuple[str, ...]) -> tuple[str, str, int] | None:
    """Sampler, criterion and number of trials; ``None`` for a grid."""
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
        raise InputError(f"{source}: trials is {trials!r}; give the number of settings to try of each entry, as 20")
    if by not in criteria:
        raise InputError(f"{source}: by is {by!r}, which is not among its criteria: {nearest(str(by), criteria)}")
    return str(search), str(by), int(trials)


def _seed(source: str, seed: Any) -> int:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise InputError(f"{source}: a seed is {seed!r}; give a whole number of 0 or more and below 2**32")
    return seed


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
