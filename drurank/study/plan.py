"""What a study runs: candidates with seeds, from one YAML file."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from drurank.criteria import DEFAULT_CRITERIA, criterion
from drurank.errors import InputError, nearest

SECTIONS = ("model", "data", "trainer")
"""What is given as in a configuration of ``fit``, for all candidates."""
KEYS = ("configs", *SECTIONS, "candidates", "seeds", "criteria")


@dataclass(frozen=True)
class Candidate:
    """One run of a study: a method, its options and a seed.

    Attributes:
        method: class of the method.
        options: what it varies, option of ``fit`` to value; ``model.cutoff``.
        seed: of the run.
        base: digest of what all candidates of the study share.
    """

    method: str
    options: Mapping[str, Any]
    seed: int
    base: str

    @property
    def key(self) -> str:
        """A name that is the same for the same run, whatever else the study holds."""
        said = json.dumps([self.method, sorted(self.options.items()), self.seed, self.base], sort_keys=True)
        return f"{self.method}-{hashlib.sha256(said.encode()).hexdigest()[:10]}"

    @property
    def setting(self) -> str:
        """Method and options, without the seed, for people: ``DRU cutoff=5``."""
        short = {name.removeprefix("model."): value for name, value in self.options.items()}
        return " ".join([self.method, *(f"{name}={_written(value)}" for name, value in short.items())])

    def words(self) -> list[str]:
        """What follows the shared configurations on the command line of ``fit``."""
        # A class stands before its options, in whatever order a file has them.
        named = sorted(self.options, key=lambda name: name.count("."))
        options = [word for name in named for word in (f"--{name}", _written(self.options[name]))]
        return [*options, "--seed_everything", str(self.seed)]


@dataclass(frozen=True)
class Plan:
    """A study as its YAML file says it.

    ``configs`` names configurations of ``fit`` that all candidates start from; ``data``, ``model`` (options of every
    method, as ``network``) and ``trainer`` are sections of one more. ``candidates`` is a list of settings: ``model`` is
    the class of the method, a name without a dot one of its options, and one with dots an option of ``fit``. Lists
    expand to all combinations; a value that is itself a list stands in one more list. ``seeds`` are those of every
    setting. ``criteria`` keep a checkpoint each, of which every one is tested.

    Attributes:
        source: the file, for messages.
        configs: files of configurations.
        shared: sections that all candidates share.
        candidates: all runs.
        criteria: by which checkpoints are kept.
    """

    source: str
    configs: tuple[str, ...]
    shared: Mapping[str, Any]
    candidates: tuple[Candidate, ...]
    criteria: tuple[str, ...]

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
        configs = tuple(str(_beside(file, name)) for name in _as_list(content.get("configs")))
        shared = {key: content[key] for key in SECTIONS if key in content}
        criteria = tuple(criterion(name.strip()).name for name in _names(content.get("criteria")))
        texts = [Path(name).read_text(encoding="utf-8") for name in configs]
        said = json.dumps([texts, shared, criteria], sort_keys=True, default=str)
        base = hashlib.sha256(said.encode()).hexdigest()[:10]
        settings = [setting for entry in content["candidates"] for setting in _expanded(str(path), entry)]
        candidates = tuple(
            Candidate(method, options, _seed(str(path), seed), base)
            for method, options in settings
            for seed in content["seeds"]
        )
        twice = {c.key for c in candidates}
        if len(twice) < len(candidates):
            keys = [c.key for c in candidates]
            first = next(c for c in candidates if keys.count(c.key) > 1)
            raise InputError(f"{path}: {first.setting} with seed {first.seed} is named twice; name it once")
        return cls(str(path), configs, shared, candidates, criteria)


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


def _expanded(source: str, entry: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """All combinations of an entry: method, and options."""
    if not isinstance(entry, dict) or not entry.get("model"):
        example = "{model: DRU, cutoff: [5, 10]}"
        raise InputError(f"{source}: a candidate is {entry!r}; give a mapping with model, as {example}")
    named = {_option(source, str(name)): value for name, value in entry.items()}
    for values in itertools.product(*(_as_list(value) for value in named.values())):
        options = dict(zip(named, values, strict=True))
        yield str(options.pop("model")), options


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


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
