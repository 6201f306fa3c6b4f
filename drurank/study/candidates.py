"""The runs of a study: each a method, its options and a seed, or a place for one that a search will propose."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
        return " ".join([self.method, *(f"{name}={_said(value)}" for name, value in short.items())])

    def words(self) -> list[str]:
        """What follows the shared configurations on the command line of ``fit``."""
        # A class stands before its options, in whatever order a file has them.
        named = sorted(self.options, key=lambda name: name.count("."))
        options = [word for name in named for word in (f"--{name}", _written(self.options[name]))]
        return [*options, "--seed_everything", str(self.seed)]


@dataclass(frozen=True)
class Range:
    """Numbers that a search may draw from: whole ones, if both ends are.

    Attributes:
        low: smallest.
        high: largest.
        log: whether each order of magnitude is as likely as another.
    """

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Draw:
    """A run whose setting a search proposes when its turn comes.

    Attributes:
        sampler: ``random`` or ``tpe``.
        by: criterion on validation that ``tpe`` looks at.
        method: class of the method.
        among: option to its range, or to its choices as JSON.
        number: of the draw, of its method and seed.
        seed: of the run.
        base: digest of what all candidates of the study share.
    """

    sampler: str
    by: str
    method: str
    among: Mapping[str, Range | tuple[str, ...]]
    number: int
    seed: int
    base: str

    @property
    def space(self) -> str:
        """A name of what one search looks at: of ``tpe`` one seed, since the table chooses by seed."""
        of_seed = [self.seed, self.by] if self.sampler == "tpe" else []
        said = json.dumps([self.sampler, self.method, sorted(self.among.items()), self.base, *of_seed], default=repr)
        return f"{self.method}-{hashlib.sha256(said.encode()).hexdigest()[:10]}"

    @property
    def key(self) -> str:
        """A name that is the same for the same draw."""
        return f"{self.space}-{self.seed}-{self.number}"

    @property
    def setting(self) -> str:
        """Method and number, for people."""
        return f"{self.method} draw {self.number}"

    def settled(self, values: Mapping[str, Any]) -> Candidate:
        """The run, with the values that were drawn."""
        options = {
            name: values[name] if isinstance(among, Range) else json.loads(values[name])
            for name, among in self.among.items()
        }
        return Candidate(self.method, options, self.seed, self.base)

    def example(self) -> Candidate:
        """A run that could be drawn."""
        return self.settled({n: a.low if isinstance(a, Range) else a[0] for n, a in self.among.items()})


def _said(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _written(value)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
