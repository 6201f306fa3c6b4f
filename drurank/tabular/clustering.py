"""A split by clusters of writers: training sees writers of one kind, the OOD splits hold writers of another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.errors import InputError, check_count, check_seed, is_count
from drurank.splits import SPLITS
from drurank.tabular.hashing import copies_as_one, hash_rows
from drurank.tabular.splitting import ID_TEST, ID_VAL, LEFT_OUT, OOD_TEST, OOD_VAL, TRAIN

EQUAL = 1e-6
"""Differences between embeddings below this share of the largest entry are rounding."""


@dataclass(frozen=True)
class ClusterOptions:
    """How writers are clustered: the method ``cluster``.

    The seed draws which of two clusters is in-distribution, so that its writers train, and which OOD. In the paper each
    OOD writer of IMDB has 25 rows at least, of Amazon 75 and of Yelp 100, and each of IMDB who trains 50.

    Args:
        clusters: of k-means over the mean embeddings of writers. Of more than two, the two whose centres are farthest
            apart are taken, and the writers of the others left out.
        min_count: groups with fewer rows are left out of the output; the manifest names them.
        id_min_count: groups that would train and have fewer rows are left out too, after all are clustered; 2 or more.
            If not given, twice ``min_count``, so that each has ``min_count`` rows in training and in evaluation.
        seed: another one gives another split; one seed always the same, in whatever order the rows are.

    Raises:
        InputError: if there are fewer than two clusters, or ``min_count``, ``id_min_count`` or ``seed`` is out of its
            range.
    """

    clusters: int = 2
    min_count: int = 25
    id_min_count: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("clusters", self.clusters, ", one is OOD", least=2)
        check_count("min_count", self.min_count)
        if not is_count(self.least_of_id) or self.least_of_id < 2:
            raise InputError(
                f"id_min_count is {self.id_min_count!r}, and the rows of a group that trains are halved; give a whole "
                "number of rows of 2 or more"
            )
        if self.least_of_id < self.min_count:
            raise InputError(
                f"id_min_count is {self.id_min_count}, and groups with fewer rows than min_count {self.min_count} are "
                "left out before; give a number of rows of at least that, or a lower min_count"
            )
        check_seed("seed", self.seed)

    @property
    def least_of_id(self) -> int:
        """Fewest rows of a group that trains."""
        return 2 * self.min_count if self.id_min_count is None else self.id_min_count


def split_by_cluster(
    rows: pa.Table,
    group: np.ndarray,
    group_names: Sequence[str],
    embed: Callable[[np.ndarray], np.ndarray],
    options: ClusterOptions,
    *,
    aside: Collection[str] = (),
    source: str = "the table",
) -> tuple[np.ndarray, dict[str, Any]]:
    """The split of each row, by clusters of the groups (the writers).

    A writer's embedding is the mean of those of its rows. K-means over them finds clusters; of the two that are taken
    the seed draws one to be in-distribution. Its writers' rows are halved into train (the larger half) and evaluation,
    and its writers into id_val (the larger half) and id_test. The other cluster's writers go with all their rows to
    ood_val (the larger half of the writers) and ood_test.

    The facts say, plainly enough for JSON:

    - ``under_min_count``, ``under_id_min_count``: ``writers`` with too few rows, and their ``rows``.
    - ``clusters``: of each ``writers``, ``rows`` and ``role``: id, ood or left out. They are numbered by the first
      writer in the alphabet.
    - ``spread``: the root mean squared distance of train's writers to their mean.
    - ``distances``: by split but train, ``distance``, the Euclidean distance between the mean over the split's writers
      and that over train's, and ``spreads``, the same in units of ``spread`` (``None`` where that is 0). A writer's
      embedding is here the mean of those of its rows in that split.

    Args:
        rows: every column of the table, ``n`` rows.
        group: group number, int64 ``[n]``.
        group_names: name by group number, each with rows.
        embed: gives the embeddings, float32 ``[k, d]``, of the rows at the places that it is given, int64 ``[k]``,
            ascending. It is called once, for the rows of writers with at least ``min_count``.
        options: how many clusters, of whom.
        aside: columns that tell no copies apart: that of the group, and those that only number the rows.
        source: file, for messages.

    Returns:
        Code of each row's split, its place in ``SPLITS``, int64 ``[n]``, -1 where it is left out; and the facts.

    Raises:
        InputError: if there are too few writers or their embeddings do not form that many clusters, one of the
            two clusters has one writer, fewer than two have ``id_min_count`` rows, or an embedding is not finite.
    """
    count = np.bincount(group, minlength=len(group_names))
    kept = sorted(np.flatnonzero(count >= options.min_count).tolist(), key=group_names.__getitem__)
    _refuse_few(source, count, len(kept), options)
    names = [group_names[number] for number in kept]
    number_of = np.full(len(count), -1)
    number_of[kept] = np.arange(len(kept))
    writer = number_of[group]
    places = np.flatnonzero(writer >= 0)
    vectors = embed(places)
    mean = _means(vectors, writer[places], len(kept))
    _refuse_infinite(source, mean, names)
    cluster = _clusters(source, mean, options)
    two = _two(source, cluster, mean, names, options)
    inside = cluster == two[0]
    short = inside & (count[kept] < options.least_of_id)
    _refuse_few_that_train(source, int(inside.sum()), int(short.sum()), options)
    split = _splits(rows, writer, inside & ~short, cluster == two[1], names, options.seed, aside)
    facts = {
        "under_min_count": {"writers": len(count) - len(kept), "rows": len(group) - len(places)},
        "under_id_min_count": {"writers": int(short.sum()), "rows": int(count[kept][short].sum())},
        "clusters": _cluster_facts(cluster, count[kept], two),
        **_distances(vectors, writer[places], split[places]),
    }
    return split, facts


def label_distance(shares: Mapping[str, float], others: Mapping[str, float]) -> float:
    """Total variation distance of two splits' label shares: half the sum of the differences, from 0 to 1."""
    return sum(abs(shares.get(name, 0) - others.get(name, 0)) for name in {**shares, **others}) / 2


def _refuse_few(source: str, count: np.ndarray, kept: int, options: ClusterOptions) -> None:
    needed = max(4, options.clusters)
    if kept < needed:
        why = "two clusters need 2 groups each" if needed == 4 else f"clusters is {options.clusters}"
        raise InputError(
            f"{source}: groups with at least min_count {options.min_count:,} rows are {kept:,} of {len(count):,}, the "
            f"largest of all has {count.max():,}, and {why}; give a lower min_count, fewer clusters or more rows"
        )


def _refuse_few_that_train(source: str, writers: int, short: int, options: ClusterOptions) -> None:
    if writers - short < 2:
        raise InputError(
            f"{source}: groups with at least id_min_count {options.least_of_id:,} rows are {writers - short} of the "
            f"{writers:,} of the cluster that is to train, and 2 are needed, for validation and test; give another "
            "seed, or a lower id_min_count or min_count"
        )


def _refuse_infinite(source: str, mean: np.ndarray, names: Sequence[str]) -> None:
    wrong = ~np.isfinite(mean).all(axis=1)
    if wrong.any():
        raise InputError(
            f"{source}: the embedding of a row of group {names[int(np.argmax(wrong))]!r} is nan or inf, and so of "
            f"{wrong.sum():,} {'group' if wrong.sum() == 1 else 'groups'}; give another encoder as pretrained=..."
        )


def _means(vectors: np.ndarray, code: np.ndarray, size: int) -> np.ndarray:
    """Mean vector by code, float64 ``[size, d]``; each code has a vector at least, and -1 is none."""
    order = np.argsort(code, kind="stable")[np.count_nonzero(code < 0) :]
    ends = np.cumsum(np.bincount(code[order], minlength=size))
    return np.array([vectors[some].mean(axis=0, dtype=np.float64) for some in np.split(order, ends[:-1])])


def _clusters(source: str, mean: np.ndarray, options: ClusterOptions) -> np.ndarray:
    """Cluster of each writer, int64 ``[w]``, numbered by their first writers."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    if np.ptp(mean, axis=0).max() <= EQUAL * np.abs(mean).max():
        raise InputError(
            f"{source}: the mean embeddings of all {len(mean):,} groups are equal, so that there are no clusters; give "
            "another column as text=..., or another encoder as pretrained=..."
        )
    state = int(np.random.SeedSequence(options.seed).generate_state(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # Of fewer distinct points than clusters; told below.
        found = KMeans(n_clusters=options.clusters, n_init=10, random_state=state).fit(mean).labels_
    _, first, code = np.unique(found, return_index=True, return_inverse=True)
    if len(first) < options.clusters:
        raise InputError(
            f"{source}: the mean embeddings of {len(mean):,} groups form only {len(first)} clusters, as there are no "
            f"more distinct ones; give clusters={len(first)} or fewer"
        )
    # Which of equal solutions k-means returns, and so its numbers, may hang on rounding.
    cluster: np.ndarray = np.argsort(np.argsort(first))[code]
    return cluster


def _two(
    source: str, cluster: np.ndarray, mean: np.ndarray, names: Sequence[str], options: ClusterOptions
) -> tuple[int, int]:
    """The clusters that are in-distribution and OOD."""
    centre = _means(mean, cluster, options.clusters)
    apart = np.linalg.norm(centre[:, None] - centre[None], axis=2)
    # The first of pairs that are as far apart except for rounding, which hangs on the order of rows.
    farthest = np.argmax(apart >= apart.max() * (1 - EQUAL))
    two = [int(number) for number in np.unravel_index(farthest, apart.shape)]
    size = np.bincount(cluster)
    if size[two].min() < 2:
        which = f"of {len(size)} clusters the two farthest apart" if len(size) > 2 else "the two clusters"
        raise InputError(
            f"{source}: {which} have {size[two[0]]:,} and {size[two[1]]:,} groups, and each needs 2, for validation "
            "and test; give another seed, other clusters or another min_count"
        )
    first = [names[int(np.argmax(cluster == number))] for number in two]
    # Hashes of their own, so that the draw of the cluster says nothing of the draw of its writers.
    drawn = hash_rows(pa.table({"draw": ["cluster"] * 2, "group": first}), options.seed)
    return (two[0], two[1]) if drawn[0] < drawn[1] else (two[1], two[0])


def _splits(
    rows: pa.Table,
    writer: np.ndarray,
    train: np.ndarray,
    ood: np.ndarray,
    names: Sequence[str],
    seed: int,
    aside: Collection[str],
) -> np.ndarray:
    """Part of each row, int64 ``[n]``, by its writer, -1 for none, and who trains and who is OOD, bool ``[w]`` each."""
    hashes = hash_rows(pa.table({"group": list(names)}), seed)
    id_split = _halved(train, hashes, ID_VAL, ID_TEST)
    split: np.ndarray = _halved(ood, hashes, OOD_VAL, OOD_TEST)[writer]
    trains = id_split[writer] != LEFT_OUT
    of_row = writer[trains]
    training = rows.filter(pa.array(trains))
    row_hashes = hash_rows(training, seed)
    order, first, unit = copies_as_one(training, of_row, np.zeros_like(of_row), row_hashes, aside=aside)
    laid = of_row[order][first]
    count = np.bincount(laid)
    first_half = np.zeros(len(order), dtype=bool)
    first_half[order] = ((np.arange(len(laid)) - (np.cumsum(count) - count)[laid]) * 2 < count[laid])[unit]
    split[trains] = np.where(first_half, TRAIN, id_split[of_row])
    return split


def _halved(some: np.ndarray, hashes: np.ndarray, larger: int, smaller: int) -> np.ndarray:
    """Part of each writer, int64 ``[w + 1]``: these are halved by hash; the others, and the last, are in none."""
    split = np.full(len(hashes) + 1, LEFT_OUT)
    writers = np.flatnonzero(some)
    drawn = writers[np.argsort(hashes[writers], kind="stable")]
    split[drawn] = np.where(np.arange(len(drawn)) * 2 < len(drawn), larger, smaller)
    return split


def _cluster_facts(cluster: np.ndarray, rows: np.ndarray, two: tuple[int, int]) -> list[dict[str, Any]]:
    roles = {two[0]: "id", two[1]: "ood"}
    return [
        {
            "writers": int((cluster == number).sum()),
            "rows": int(rows[cluster == number].sum()),
            "role": roles.get(number, "left out"),
        }
        for number in range(cluster.max() + 1)
    ]


def _distances(vectors: np.ndarray, writer: np.ndarray, split: np.ndarray) -> dict[str, Any]:
    """Spread of train, and distances of the other splits to it."""
    inside, writers = split != LEFT_OUT, int(writer.max()) + 1
    code = np.full(len(split), -1)
    pairs, code[inside] = np.unique(split[inside] * writers + writer[inside], return_inverse=True)
    mean, split_of_pair = _means(vectors, code, len(pairs)), pairs // writers
    train = mean[split_of_pair == TRAIN]
    centre = train.mean(axis=0)
    spread = float(np.sqrt(((train - centre) ** 2).sum(axis=1).mean()))
    distances = {}
    for place in (ID_VAL, OOD_VAL, ID_TEST, OOD_TEST):
        distance = float(np.linalg.norm(mean[split_of_pair == place].mean(axis=0) - centre))
        distances[SPLITS[place]] = {"distance": distance, "spreads": distance / spread if spread > 0 else None}
    return {"spread": spread, "distances": distances}
