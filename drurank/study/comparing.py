"""Two methods, candidates, runs or files of predictions: differences of the criteria, and then group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.study.chosen import Chosen
from drurank.study.result import Counts
from drurank.study.stepwise import Difference

PAIRED_ROWS = "Groups: rows are paired, so a group's interval is about the rows that one of the two alone has right."
UNPAIRED_ROWS = (
    "Groups: which rows each has right is not known here, so a group's interval is wider than it need be; "
    "`report --predictions` with the predictions of both (`predict`) pairs the rows."
)
DRAWS = 4000
ENDS = (2.5, 97.5)
DIGITS = 3
ONE_RUN = (
    "About these two models: what another seed of training would do is not counted; methods are compared over several "
    "seeds."
)


@dataclass(frozen=True)
class Changed:
    """Rows of each group of which one of two models is right.

    Attributes:
        gained: those that the second alone has right, int64 ``[m]``.
        lost: those that the first alone has right, int64 ``[m]``.
    """

    gained: np.ndarray
    lost: np.ndarray


@dataclass(frozen=True)
class Compared:
    """A criterion of two.

    Attributes:
        criterion: its name.
        first: of the first, mean over runs.
        second: of the second.
        difference: the second less the first.
    """

    criterion: str
    first: float
    second: float
    difference: Difference


class Planned(NamedTuple):
    """Two of something that are to be compared on a split."""

    split: str
    first: str
    second: str


@dataclass(frozen=True)
class Comparison:
    """Two of something that were tested on the same groups.

    Attributes:
        first: its name.
        second: its name.
        split: whose groups they were tested on.
        criteria: differences of the criteria.
        groups: one row a group, see ``compare``; ``None`` over several repeats of the split, whose groups differ.
        about: sentences on which models the two are.
        remarks: sentences on what is compared.
        test: sentences on how p and intervals are computed.
        by: criterion that chose the two, on validation; ``None`` where none did.
    """

    first: str
    second: str
    split: str
    criteria: tuple[Compared, ...]
    groups: pa.Table | None
    about: tuple[str, ...]
    remarks: tuple[str, ...]
    test: str
    by: str | None = None

    @property
    def planned(self) -> Planned:
        """What was compared, by its names."""
        return Planned(self.split, self.first, self.second)


def compare_counts(
    counts: Sequence[Counts],
    names: tuple[str, str],
    split: str,
    cells: Sequence[str],
    min_count: int = 1,
    remarks: Sequence[str] = (),
    about: Sequence[str] = (),
    by: str | None = None,
    changed: Changed | None = None,
    figures: Mapping[str, Chosen] | None = None,
) -> Comparison:
    """Two models by their counts on the same groups.

    Args:
        counts: of the first and the second.
        names: of both.
        split: whose groups these are.
        cells: criteria to compare.
        min_count: criteria leave out groups with fewer rows.
        remarks: sentences on what is compared.
        about: sentences on which models the two are.
        by: criterion that chose them, on validation.
        changed: rows of each group of which one of the two is right, where that is known.
        figures: counts of other figures that criteria are of, by name.
    """
    correct = np.stack([one.correct for one in counts])[:, None]
    groups, figures = counts[0].groups, figures or {}
    side = Chosen(names, ((0, 0),), (correct,), (counts[0].count,), min_count, groups=groups, figures=figures)
    found = compare_chosen(side, names, split, cells, remarks, about, by)
    return found if changed is None else replace(found, groups=compare(*counts, changed=changed))


def compare_chosen(
    side: Chosen,
    names: tuple[str, str],
    split: str,
    cells: Sequence[str],
    remarks: Sequence[str],
    about: Sequence[str] = (),
    by: str | None = None,
) -> Comparison:
    """Two of several methods, by the counts of their candidates.

    Args:
        side: the chosen candidates of all methods, among which the two are tested.
        names: of the two.
        split: whose groups these are.
        cells: criteria to compare.
        remarks: sentences on what is compared.
        about: sentences on which models the two are.
        by: criterion that chose them, on validation.
    """
    one, other = (side.methods.index(name) for name in names)
    found = []
    for cell in cells:
        values = side.values(cell).mean(axis=1)
        if np.isnan(values).any():
            remarks = (*remarks, f"{cell} is left out: with some run the groups do not differ, or none is left.")
            continue
        found.append(Compared(cell, values[one], values[other], side.compared(cell, other)[one]))
    table = None
    if side.repeats == 1:
        pair = [
            Counts(side.groups, side.correct[0][place].mean(axis=0), side.count[0], side.min_count)
            for place in (one, other)
        ]
        table = compare(*pair)
    else:
        remarks = (*remarks, "Groups are not listed, since each split of the data has others.")
    if not side.can_tell and ONE_RUN not in remarks:
        remarks = (*remarks, ONE_RUN)
    return Comparison(*names, split, tuple(found), table, tuple(about), tuple(remarks), _test_of(side), by)


def _test_of(side: Chosen) -> str:
    """How p and intervals are computed."""
    methods = len(side.methods)
    together = f" p and intervals allow for {methods} methods being compared at once." if methods > 2 else ""
    if side.repeats > 1:
        return f"Tested over {side.repeats} splits, which share rows: t-test of Nadeau and Bengio.{together}"
    seeds = side.correct[0].shape[1]
    over, each = (f" and {seeds} seeds", " and seed") if seeds > 1 else ("", "")
    return (
        f"Paired over {len(side.count[0]):,} groups{over}: p is the larger of a t-test with bootstrapped error and a "
        f"test that exchanges the methods at random in each group{each}, and the interval is the wider of the same "
        f"two, so 0 is outside where p is below 5 %.{together}"
    )


def compare(first: Counts, second: Counts, *, changed: Changed | None = None, seed: int = 0) -> pa.Table:
    """Which groups the second serves better or worse than the first.

    Each accuracy of a group has the posterior of that group's rows alone (Jeffreys' prior); ``low`` and ``high`` are
    the ends of 95 % of the differences, to three digits. Where it is known which rows changed, the difference is that
    of the shares of rows that the second alone and that the first alone has right, which are drawn together (Jeffreys'
    prior of three shares). Of many groups that are served alike, about one in twenty is
    called otherwise.

    Each group is looked at by itself, so that many small groups may all be ``like`` where a difference over all of them
    is plain.

    Args:
        first: counts of one candidate; of several seeds, their mean.
        second: counts of the other, of the same groups.
        changed: rows of each group of which one of the two is right, where that is known.
        seed: of the random draws.

    Returns:
        One row a group, sorted by difference: ``group, count, first, second, difference, low, high, verdict``, where
        the verdict is ``better``, ``worse`` or ``like``.

    Raises:
        InputError: if the groups differ.
    """
    if first.groups != second.groups or not np.array_equal(first.count, second.count):
        raise InputError("the two were tested on other groups or rows; compare like with like")
    rng = np.random.default_rng(seed)
    if changed is None:
        drawn = [rng.beta(c.correct + 0.5, c.count - c.correct + 0.5, (DRAWS, len(c.count))) for c in (first, second)]
        difference = drawn[1] - drawn[0]
    else:
        gained, lost = changed.gained, changed.lost
        some = [rng.gamma(rows + 0.5, size=(DRAWS, len(rows))) for rows in (gained, lost, first.count - gained - lost)]
        difference = (some[0] - some[1]) / sum(some)
    # Draws fix no more digits, and tables show these, so that they and the verdicts agree.
    low, high = np.percentile(difference, ENDS, axis=0).round(DIGITS) + 0.0
    accuracy = [c.correct / c.count for c in (first, second)]
    verdict = np.where(low > 0, "better", np.where(high < 0, "worse", "like"))
    table = pa.table(
        {
            "group": pa.array(first.groups, pa.string()),
            "count": first.count,
            "first": accuracy[0],
            "second": accuracy[1],
            "difference": accuracy[1] - accuracy[0],
            "low": low,
            "high": high,
            "verdict": pa.array(verdict.tolist(), pa.string()),
        }
    )
    return table.sort_by("difference")
