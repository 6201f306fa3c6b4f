"""What inspect ends with: one command that trains on what was looked at, with every option that its findings name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drurank.cli.commands import METHOD, OF_PICTURES, OF_SMALL_PICTURES, OF_TEXTS, command, options
from drurank.cli.training_parser import RunParser
from drurank.cli.words import given_options
from drurank.data import GroupDataModule, Images, Text
from drurank.data.file import FileData
from drurank.tabular.formats import DELIMITERS
from drurank.tabular.inspection import Inspection
from drurank.tabular.reading import suffix_of
from drurank.tabular.rules import find
from drurank.tabular.rules.finding import Finding
from drurank.tabular.rules.spelling import joined_as_advised
from drurank.tabular.several import files_of
from drurank.tabular.suggesting import OF_FEATURES, added, remedies, without_excluded
from drurank.terminal import say
from drurank.words import as_names

MOST_LOOKS = 5
"""One remedy may show the need of another: labels that are written alike may be what a column says."""
SMALL = 64
"""Pixels of a side up to which pictures are small."""
OF_INSPECT = ("output", "overwrite")
OF_NAMES = "split_spelling"
"""The finding whose remedy is an option that only a person can fill in."""
OF_SPLIT = ("relabel", "regroup", "join_twins", "delimiter", "text_encoding")
"""Options of the data that ``split`` has too."""
OF_FILE = {"path", "delimiter", "text_encoding", "split"}
"""Options of the data that are other ones for what ``split`` writes."""
LEAST = 5
"""Rows of a group that is split, as in README."""
DROPPED = ("blank_label", "blank_group")
"""Errors of rows that ``split`` can leave out."""


@dataclass(frozen=True)
class Asked:
    """What was asked for.

    Attributes:
        words: those after ``inspect``, as typed.
        parser: of these words.
        settings: what they say.
        data: what was looked at.
        trains: whether they name a method too.
    """

    words: list[str]
    parser: RunParser
    settings: Any
    data: GroupDataModule
    trains: bool

    @property
    def given(self) -> dict[str, Any]:
        """Options of the data that say something, columns that are left out or learnt from as lists."""
        said = {name: value for name, value in vars(self.settings.data.init_args).items() if value is not None}
        return {name: as_names(value) if name in (*OF_FEATURES, "exclude") else value for name, value in said.items()}

    def fit(self, found: Mapping[str, Any], replaced: Collection[str] = ()) -> str:
        """The command that trains.

        Args:
            found: options of the data beside those that are typed; ``None`` for one that is taken back.
            replaced: options of the data that are not taken as typed, with those found.
        """
        method = () if self.trains else (*METHOD, *self._of_network())
        said = {name: value for name, value in found.items() if value is not None or self._is_configured(name)}
        typed = _without(self.words, {*replaced, *found})
        return f"Train on it: {command('fit', [*typed, *options(said, of='data.'), *method])}"

    def _of_network(self) -> Sequence[str]:
        """What the method is given for rows that are no numbers."""
        if isinstance(self.data, Text):
            return OF_TEXTS if self.data.pooling is None else ()
        if not isinstance(self.data, Images) or self.data.backbone is not None:
            return ()
        return OF_SMALL_PICTURES if self.data.size <= SMALL else OF_PICTURES

    def _is_configured(self, name: str) -> bool:
        """Whether a configuration gives an option of the data."""
        sections = (given.content.get("data") for given in given_options(self.words) if given.option == "config")
        of_data = [section for section in sections if isinstance(section, dict)]
        return any(name in section or name in (section.get("init_args") or {}) for section in of_data)


def advise(inspection: Inspection, asked: Asked) -> None:
    """Print the command that trains, and before it what needs a remedy by hand, or another command.

    Args:
        inspection: what was seen.
        asked: what of.
    """
    data = asked.data
    if not isinstance(data, FileData):
        _say_by_hand(_errors(inspection.findings))
        say(asked.fit({}))
        return
    found, left = _remedied(inspection, asked, data)
    if data.split is not None or "split" in found:
        _say_by_hand(left)
        say(asked.fit(found))
        return
    _say_by_hand([code for code in left if code not in DROPPED])
    if not data.group:
        say("No column says the split of each row; name it as --data.split, or one of the group to split the rows by.")
        return
    if data.overlap:
        say("No column says the split of each row, and `split` takes no groups that overlap; write the column by hand.")
        return
    output, column = _output(data.path), _new_column(data)
    names = {"path": data.path, "label": data.label, "group": list(data.group), "output": output, "split": column}
    of_split = {name: value for name, value in {**asked.given, **found}.items() if name in OF_SPLIT and value}
    how: dict[str, Any] = {"drop_missing": True} if set(left) & set(DROPPED) else {}
    how["stratify"] = True
    if joined_as_advised(inspection.data).group_sizes(inspection.data.tested).max(initial=0) >= LEAST:
        how["min_count"] = LEAST
    say(f"No column says the split of each row; make one: {command('split', options({**names, **of_split, **how}))}")
    say(
        "--stratify keeps each group's shares of labels in the rows held out of it"
        f"{f', and --min_count {LEAST} leaves out groups of fewer rows' if 'min_count' in how else ''}."
    )
    say(asked.fit({"path": output, **found, "split": column}, OF_FILE))


def _remedied(inspection: Inspection, asked: Asked, data: FileData) -> tuple[dict[str, Any], list[str]]:
    """Options that the findings name, ``None`` for one that is taken back, and codes of the errors that are left."""
    rows, findings, given = inspection.data, inspection.findings, asked.given
    known = {flag.removeprefix("--data.") for flag in asked.parser.flags_of(asked.settings)}
    found: dict[str, Any] = {}
    for _ in range(MOST_LOOKS):
        more = {name: value for name, value in remedies(rows, findings).items() if name in known}
        if not more:
            break
        more = {name: added(found.get(name, given.get(name)), value) for name, value in more.items()}
        both = without_excluded({**given, **found, **more})
        found = {name: both.get(name) for name in {**given, **both} if both.get(name) != given.get(name)}
        again = asked.settings.clone()
        for name in {*given, *both}:
            again.data.init_args[name] = both.get(name)
        other = asked.parser.instantiate(again).data
        other.take_source(data)
        rows = other.raw_rows()
        findings = find(rows)
    return found, _errors(findings)


def _errors(findings: Sequence[Finding]) -> list[str]:
    return list(dict.fromkeys(finding.code for finding in findings if finding.severity == "error"))


def _say_by_hand(codes: Sequence[str]) -> None:
    if OF_NAMES in codes:
        say(f"Only you know what these splits are: add --data.split_names, as {OF_NAMES} says above, to the command.")
    others = [code for code in codes if code != OF_NAMES]
    if others:
        say(f"No option remedies {', '.join(others)}: mend {'them' if len(others) > 1 else 'it'} in the data first.")


def _without(words: list[str], replaced: Collection[str]) -> list[str]:
    """The words as typed that ``fit`` takes too, without the options that are replaced, behind the kind of data."""
    dropped = {*OF_INSPECT, *(f"data.{name}" for name in replaced)}
    kept, place, names_class = list[str](), 0, False
    for given in given_options(words):
        if given.option.removesuffix("+") in dropped:
            kept, place = [*kept, *words[place : given.place]], given.end
        names_class |= given.option == "data" or (given.option == "config" and "data" in given.content)
    kept += words[place:]
    return kept if names_class else ["--data", "Table", *kept]


def _output(path: str) -> str:
    """A name beside the first file that is not taken, of the format that ``split`` writes."""
    file = Path(files_of(path)[0])
    suffix = suffix_of(file) if suffix_of(file) in DELIMITERS else ".parquet"
    stem = file.name.partition(".")[0] or "split"
    names = (f"{stem}_split{number}{suffix}" for number in ("", *(f"_{number}" for number in range(2, 1000))))
    return str(next(file.with_name(name) for name in names if not file.with_name(name).exists()))


def _new_column(data: FileData) -> str:
    taken = data.column_names
    return next(name for name in ("split", *(f"split_{number}" for number in range(2, 1000))) if name not in taken)
