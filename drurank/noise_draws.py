"""Groups drawn many times: as they may truly be, or as they seem to be where all are served alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from rich.progress import track

from drurank.binomial import at_most
from drurank.criteria import values_of
from drurank.groups import Groups
from drurank.mixture import Mixtures, Tally

CHUNK = 1_000_000
"""Groups drawn at once, over all draws; keeps memory under about 100 MB a thread."""
THREADS = 4
HEAVY = 20_000_000
"""Total of groups to draw above which a progress bar is shown."""
SHARED = 8
"""From this many groups of one size on, they are drawn from a table of that size, not one by one."""
LARGE = 2000
"""From this size of groups on, a table gains nothing."""

DrawGroups = Callable[[np.random.Generator, int], Groups]
"""Gives groups ``[d, m]`` of ``d`` draws."""


def portions(draws: int, cells: int, most: int) -> list[int]:
    """Numbers of draws that are held at a time: of ``cells`` numbers each, not more than ``most`` in all."""
    size = max(most // cells, 1)
    return [min(size, draws - begun) for begun in range(0, draws, size)]


def draw_criteria(
    draw: DrawGroups, groups: int, names: Sequence[str], draws: int, rng: np.random.Generator, title: str
) -> dict[str, np.ndarray]:
    """Criteria of groups drawn many times; shows a progress bar where that takes long.

    Args:
        draw: gives groups ``[d, m]`` of ``d`` draws.
        groups: how many groups ``m`` there are.
        names: criteria by name.
        draws: how many draws.
        rng: where chance comes from.
        title: of the progress bar.

    Returns:
        Criterion to its values, float64 ``[draws]``.
    """
    parts = portions(draws, groups, CHUNK)

    def values(part: int, own: np.random.Generator) -> dict[str, np.ndarray]:
        return values_of(draw(own, part), names)

    streams = rng.spawn(len(parts))
    if len(parts) == 1:
        return values(parts[0], streams[0])
    # Drawing and sorting release Python's lock; each part has its own random stream, whichever thread runs it.
    with ThreadPoolExecutor(THREADS) as pool:
        waiting: Iterable[dict[str, np.ndarray]] = pool.map(values, parts, streams)
        if groups * draws >= HEAVY:
            waiting = track(waiting, title, total=len(parts), transient=True)
        found = list(waiting)
    return {name: np.concatenate([each[name] for each in found]) for name in names}


def true_accuracies(
    correct: np.ndarray, count: np.ndarray, mixtures: Mixtures, weight: np.ndarray | None = None
) -> DrawGroups:
    """True accuracies of these groups that their samples and the distribution of all groups allow.

    ``weight`` is that of each group among all samples; how many samples it has, if not given.
    """
    tally, weight = Tally.of(correct, count), count if weight is None else weight

    def draw(rng: np.random.Generator, draws: int) -> Groups:
        some = mixtures.some(rng.integers(0, len(mixtures), draws))
        accuracy = some.draw(correct, count, tally, rng)
        return Groups(accuracy, count, accuracy @ weight / weight.sum())

    return draw


def equal_accuracies(count: np.ndarray, chance: float, weight: np.ndarray | None = None) -> DrawGroups:
    """What groups of these sizes seem to be if all have the same chance of being right; ``weight`` as above."""
    order = np.argsort(count, kind="stable")  # Groups of a size lie together; criteria do not look at their order.
    count, weight = count[order], None if weight is None else weight[order]
    parts = list(_by_size(count))

    def draw(rng: np.random.Generator, draws: int) -> Groups:
        correct = np.empty((draws, len(count)))
        for part, size in parts:
            shape = (draws, part.stop - part.start)
            if size is None:
                correct[:, part] = rng.binomial(count[part], chance, shape)
            else:
                cumulative = at_most(np.arange(size), size, chance)
                correct[:, part] = np.searchsorted(cumulative, rng.random(shape))
        accuracy = correct / count
        overall = correct.sum(axis=-1) / count.sum() if weight is None else accuracy @ weight / weight.sum()
        return Groups(accuracy, count, overall)

    return draw


def _by_size(count: np.ndarray) -> Iterator[tuple[slice, int | None]]:
    """Runs of ordered groups: of one size, or of sizes (``None``) that few groups share or that are large."""
    sizes, begin, times = np.unique(count, return_index=True, return_counts=True)
    single = (times < SHARED) | (sizes > LARGE)
    bounds = [*np.flatnonzero(~single | np.concatenate([[True], ~single[:-1]])), len(sizes)]
    for first, after in pairwise(bounds):
        stop = begin[after] if after < len(sizes) else len(count)
        yield slice(int(begin[first]), int(stop)), None if single[first] else int(sizes[first])
