"""The experiments: what ``plans/*.yaml`` say, cut into pieces that are studies of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

ROOT = Path(__file__).parents[2]
PLANS = Path(__file__).parent / "plans"
ORDER = (
    "shortcut",
    "compas",
    "wisdm_har",
    "omniglot_strokes",
    "insteval",
    "rt_critics",
    "hotel_reviews",
    "synthetic_converged",
    "details",
    "shortcut_curves",
    "synthetic_longer",
    "synthetic_short",
    "synthetic_training",
    "painted",
    "fine_tuned",
)
"""Names of the experiments, the short ones first."""

Size = Literal["full", "small"]


@dataclass(frozen=True)
class Experiment:
    """A file of ``plans``.

    Attributes:
        name: of the file.
        title: for people.
        seeds: how many, by size.
        study: file of a study, with ``$data``, ``$encoder`` and ``$cache`` where these belong.
        variants: name to options of the data and the trainer, as ``data.setting``.
        candidates: entries of the study.
        data: file of real data; generated data, if not given, is drawn anew with each seed.
        pixels: column of bytes, each of which is a feature.
    """

    name: str
    title: str
    seeds: Mapping[str, int]
    study: Mapping[str, Any]
    variants: Mapping[str, Mapping[str, Any]]
    candidates: Sequence[Mapping[str, Any]]
    data: str | None = None
    pixels: str | None = None

    @classmethod
    def read(cls, name: str, size: Size) -> Experiment:
        """Read ``plans/NAME.yaml``; of size small with what its section ``small`` changes."""
        content = _load(PLANS / f"{name}.yaml")
        small = content.pop("small")
        variants = content.pop("variants", {"": {}})
        if size == "small":
            variants = small.pop("variants", variants)
            content["study"] = _merged(content["study"], small)
        candidates = content["study"].pop("candidates")
        if isinstance(candidates, str):
            candidates = _load(PLANS / candidates)
        if size == "small":
            candidates = [{option: _fewer(option, value) for option, value in entry.items()} for entry in candidates]
        return cls(name=name, variants=variants, candidates=candidates, **content)

    def pieces(self, size: Size, most: int | None = None) -> Iterator[Piece]:
        """Studies that together are the experiment: one a variant and seed.

        Args:
            size: which number of seeds.
            most: seeds at most.
        """
        seeds = range(min(self.seeds[size], most or self.seeds[size]))
        for seed in seeds:
            for variant, options in self.variants.items():
                yield Piece(self, variant, seed, options)


@dataclass(frozen=True)
class Piece:
    """A study that is run at once.

    Attributes:
        experiment: which it is of.
        variant: name of the data's variant; empty where there is one.
        seed: of training, and of generated data.
        options: of the data and the trainer.
    """

    experiment: Experiment
    variant: str
    seed: int
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Folder of the piece."""
        words = [self.experiment.name, *self.variant.replace("%", "percent").replace(",", "").split()]
        return "-".join([*words, "seed", str(self.seed)]).lower()

    def study(self, places: Mapping[str, str]) -> dict[str, Any]:
        """Content of the file of the study.

        Args:
            places: what ``$data``, ``$encoder`` and ``$cache`` stand for.
        """
        study = _placed(deepcopy(dict(self.experiment.study)), places)
        study["configs"] = [str(ROOT / file) for file in study.get("configs", [])]
        options = dict(self.options)
        if not self.experiment.data:
            options["data.seed"] = self.seed
        for option, value in options.items():
            section, name = option.split(".")
            given = {"init_args": {name: value}} if section == "data" else {name: value}
            study[section] = _merged(study.get(section, {}), given)
        return study | {"candidates": self.experiment.candidates, "seeds": [self.seed], "criteria": ["qdcg10"]}


def experiments(size: Size, only: list[str] | None = None) -> list[Experiment]:
    """All of them, or those named."""
    return [Experiment.read(name, size) for name in only or ORDER]


def _fewer(option: str, value: Any) -> Any:
    """Of several values the first and the last; of learning rates the first."""
    if not isinstance(value, list):
        return value
    return value[:1] if option.endswith(".lr") else value[:: len(value) - 1]


def _load(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping with what another changes, however deep."""
    found = dict(one)
    for key, value in other.items():
        inner = found.get(key)
        found[key] = _merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return found


def _placed(content: Any, places: Mapping[str, str]) -> Any:
    """The same with every ``$name`` replaced."""
    if isinstance(content, dict):
        return {key: _placed(value, places) for key, value in content.items()}
    if isinstance(content, list):
        return [_placed(value, places) for value in content]
    if isinstance(content, str) and content.startswith("$"):
        return places[content[1:]]
    return content
