"""The runs of a study: each a method, its options and a seed, or a trial whose options a search will propose."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from drurank.yaml_files import TEXTS, as_json, is_plain, text_words


@dataclass(frozen=True)
class Repeat:
    """One of several splits of the same data, on each of which every setting is run.

    Attributes:
        number: its place in the plan, from 0.
        options: of the data, which make the split; option of ``fit`` to value.
    """

    number: int
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Candidate:
    """One run of a study: a method, its options and a seed.

    Attributes:
        method: class of the method.
        options: what it varies, option of ``fit`` to value; ``model.cutoff``.
        seed: of the run.
        base: digest of what all candidates of the study share.
        repeat: the split of the data, if the study has several.
    """

    method: str
    options: Mapping[str, Any]
    seed: int
    base: str
    repeat: Repeat | None = None

    @property
    def key(self) -> str:
        """A name that is the same for the same run, whatever else the study holds."""
        content = json.dumps(
            [self.method, sorted(self.options.items()), self.seed, self.base, *_split_of(self.repeat)], sort_keys=True
        )
        return f"{self.method}-{_short_digest(content)}"

    @property
    def setting(self) -> str:
        """Method and options without the seed, for people: ``DRU cutoff=5``."""
        short = {name.removeprefix("model."): value for name, value in self.options.items()}
        return " ".join([self.method, *(f"{name}={_for_people(value)}" for name, value in short.items())])

    @property
    def name(self) -> str:
        """Setting, repeat and seed, for people."""
        return f"{self.setting}, {_in_words(self.repeat)}seed {self.seed}"

    def words(self) -> list[str]:
        """What follows the shared configurations on the command line of ``fit``."""
        every = {**self.options, **(self.repeat.options if self.repeat else {})}
        # A class must come before its options, in whatever order the file has them.
        names = sorted(every, key=lambda name: name.count("."))
        options = [word for name in names for word in _option_words(name, every[name])]
        return [*options, "--seed_everything", str(self.seed)]


@dataclass(frozen=True)
class Range:
    """Numbers that a search may draw from: whole numbers if both ends are whole.

    Attributes:
        low: smallest.
        high: largest.
        log: whether each order of magnitude is equally likely.
    """

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class SearchTrial:
    """A run whose options a search proposes when its turn comes.

    Attributes:
        sampler: ``random`` or ``tpe``.
        by: criterion on validation that ``tpe`` learns from.
        method: class of the method.
        choices: option to its range, or to its values as JSON.
        number: of the trial, counted by method and seed.
        seed: of the run.
        base: digest of what all candidates of the study share.
        repeat: the split of the data, if the study has several.
    """

    sampler: str
    by: str
    method: str
    choices: Mapping[str, Range | tuple[str, ...]]
    number: int
    seed: int
    base: str
    repeat: Repeat | None = None

    @property
    def search(self) -> str:
        """Name of the search that the trial belongs to; ``tpe`` searches each run apart, since tables choose so."""
        of_seed = [self.seed, self.by, *_split_of(self.repeat)] if self.sampler == "tpe" else []
        content = json.dumps(
            [self.sampler, self.method, sorted(self.choices.items()), self.base, *of_seed], default=repr
        )
        return f"{self.method}-{_short_digest(content)}"

    @property
    def key(self) -> str:
        """A name that is the same for the same trial."""
        of_split = "".join(f"-{_short_digest(json.dumps(one))}" for one in _split_of(self.repeat))
        return f"{self.search}-{self.seed}-{self.number}{of_split}"

    @property
    def setting(self) -> str:
        """Method and number, for people."""
        return f"{self.method} trial {self.number}"

    @property
    def name(self) -> str:
        """Method, number, repeat and seed, for people."""
        return f"{self.setting}, {_in_words(self.repeat)}seed {self.seed}"

    def with_options(self, proposed: Mapping[str, Any]) -> Candidate:
        """The run with the options that the search proposed."""
        options = {
            name: proposed[name] if isinstance(choices, Range) else json.loads(proposed[name])
            for name, choices in self.choices.items()
        }
        return Candidate(self.method, options, self.seed, self.base, self.repeat)

    def examples(self) -> Iterator[Candidate]:
        """Runs that could be proposed, which together have both ends of each range and every other choice."""
        every = {name: (c.low, c.high) if isinstance(c, Range) else c for name, c in self.choices.items()}
        for place in range(max((len(choices) for choices in every.values()), default=1)):
            yield self.with_options({name: c[min(place, len(c) - 1)] for name, c in every.items()})


def _split_of(repeat: Repeat | None) -> list[Any]:
    """What tells a run's split from others; nothing where there is one split, as in studies before there were more."""
    return [] if repeat is None else [sorted(repeat.options.items())]


def _in_words(repeat: Repeat | None) -> str:
    return "" if repeat is None else f"repeat {repeat.number}, "


def _short_digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:10]


def _for_people(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _as_word(value)


def _option_words(name: str, value: Any) -> list[str]:
    head, _, last = name.replace(".init_args.", ".").partition(".")
    if head == "data" and last in TEXTS and isinstance(value, str) and not is_plain(value):
        return text_words(last, value)
    return [f"--{name}", _as_word(value)]


def _as_word(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)
