"""Which split each row gets by clusters of writers."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from clusters import FARTHEST, PARTS, SIX, TWO, assert_by_the_rule, writers
from drurank.errors import InputError
from drurank.splits import SPLITS
from drurank.tabular.clustering import ClusterOptions, label_distance, split_by_cluster


def split_rows(writer, embedding, columns=None, min_count=2, **options):
    """Part of each row by name, and the facts; if not told, rows differ, and who trains needs no more of them."""
    names, number = np.unique(writer, return_inverse=True)
    rows = pa.table({"writer": writer, **({"x": np.arange(len(writer))} if columns is None else columns)})
    chosen = ClusterOptions(**{"min_count": min_count, "id_min_count": min_count, **options})
    embed = embedding if callable(embedding) else embedding.__getitem__
    part, facts = split_by_cluster(rows, number, names.tolist(), embed, chosen)
    assert part.dtype == np.int64
    json.dumps(facts, allow_nan=False)
    return np.array([*SPLITS, "left out"])[part], facts


@pytest.mark.parametrize(("centres", "taken"), [(TWO, {0, 1}), (SIX, FARTHEST)], ids=["two", "six"])
@pytest.mark.parametrize("seed", range(6))
def test_writers_and_rows_are_shared_out_by_the_rule(centres, taken, seed):
    writer, centre, embedding = writers(centres, seed=seed)
    part, facts = split_rows(writer, embedding, clusters=len(centres), seed=seed)
    in_distribution = assert_by_the_rule(writer, centre, part, taken)
    roles = {in_distribution: "id", **dict.fromkeys(taken - {in_distribution}, "ood")}
    # Clusters are numbered by their first writers in the alphabet.
    order = sorted(range(len(centres)), key=lambda number: min(writer[centre == number]))
    assert facts["clusters"] == [{"writers": 5, "rows": 25, "role": roles.get(i, "left out")} for i in order]


def test_either_cluster_may_be_in_distribution():
    writer, centre, embedding = writers(TWO)
    drawn = [centre[split_rows(writer, embedding, seed=seed)[0] == "train"][0] for seed in range(100)]
    # Four deviations of a fair coin.
    assert abs(sum(drawn) - 50) <= 20


def test_writers_and_rows_are_drawn_evenly():
    writer, _, embedding = writers(TWO, sizes=(4,) * 6)
    parts = np.array([split_rows(writer, embedding, seed=seed)[0] for seed in range(200)])
    is_ood = np.char.startswith(parts, "ood")
    for name, among, wanted in (("ood_val", is_ood, 0.5), ("train", ~is_ood, 0.5), ("id_val", ~is_ood, 0.25)):
        share = (parts == name).sum(0) / among.sum(0)
        # About 100 of the 200 seeds have the row on either side, 80 at the least.
        assert np.abs(share - wanted).max() < 4 * np.sqrt(wanted * (1 - wanted) / 80)


def test_one_seed_gives_one_split_and_another_another():
    writer, _, embedding = writers(TWO, sizes=(6,) * 8)
    splits = [tuple(split_rows(writer, embedding, seed=seed)[0]) for seed in range(5)]
    assert len(set(splits)) == 5
    assert tuple(split_rows(writer, embedding, seed=3)[0]) == splits[3]


@pytest.mark.parametrize("centres", [TWO, SIX], ids=["two", "six"])
def test_rows_in_another_order_get_the_same_parts(centres):
    for seed in range(5):
        writer, _, embedding = writers(centres, seed=seed)
        x = np.arange(len(writer))
        part, facts = split_rows(writer, embedding, clusters=len(centres), seed=seed)
        order = np.random.default_rng(seed).permutation(len(writer))
        again, other = split_rows(writer[order], embedding[order], {"x": x[order]}, clusters=len(centres), seed=seed)
        np.testing.assert_array_equal(again, part[order])
        assert other["clusters"] == facts["clusters"]
        for name, distances in facts["distances"].items():
            assert other["distances"][name] == pytest.approx(distances)


def test_of_pairs_that_are_as_far_apart_the_order_of_rows_does_not_choose():
    # The corners of a square, and both diagonals; the mean of a writer's rows is a corner but for rounding.
    corner = np.array([[0, 0], [10, 0], [0, 10], [10, 10]])
    writer = np.repeat([f"w{i}" for i in range(8)], 7)
    rng = np.random.default_rng(0)
    noise = rng.uniform(-300, 300, (8, 7, 2))
    noise -= noise.mean(1, keepdims=True)
    embedding = (corner[np.arange(8) // 2][:, None] + noise).reshape(56, 2)
    x, found = np.arange(56), set()
    for _ in range(20):
        order = rng.permutation(56)
        part, _ = split_rows(writer[order], embedding[order], {"x": x[order]}, clusters=4)
        found.add(tuple(part[np.argsort(order)]))
    assert len(found) == 1


def test_rows_that_are_alike_are_interchangeable():
    writer, _, embedding = writers(TWO, sizes=(6,) * 4)
    x = np.arange(len(writer)) % 2
    embedding = np.where(x[:, None] == 0, embedding.round(), embedding.round() + 1).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(writer))
    part, _ = split_rows(writer, embedding, {"x": x})
    again, _ = split_rows(writer[order], embedding[order], {"x": x[order]})
    rows = Counter(zip(writer, x, part, strict=True))
    assert rows == Counter(zip(writer[order], x[order], again, strict=True))


def test_writers_are_on_one_side_and_rows_in_one_part():
    # cases.md, row 80: 10 users, 3 clusters.
    writer = np.repeat([f"u{i}" for i in range(10)], 4)
    embedding = np.repeat([[0.0], [1], [2], [40], [41], [42], [90], [91], [92], [93]], 4, axis=0).astype(np.float32)
    for seed in range(5):
        part, facts = split_rows(writer, embedding, clusters=3, seed=seed)
        train, val, test = (set(writer[part == name]) for name in ("train", "ood_val", "ood_test"))
        assert not train & val
        assert not train & test
        assert not val & test
        assert set(writer[part == "left out"]) == {"u3", "u4", "u5"}
        assert sum((part == name).sum() for name in [*PARTS, "left out"]) == 40
        assert Counter(found["role"] for found in facts["clusters"]) == {"id": 1, "ood": 1, "left out": 1}
        assert sum(found["rows"] for found in facts["clusters"]) == 40


def test_writers_with_few_rows_are_left_out_and_have_no_say():
    writer, centre, embedding = writers(TWO)
    # Far out, and each alone would be a cluster.
    few = np.array([[500, 500], [500, 500], [-900, 0]], np.float32)
    more, all_rows = np.append(writer, ["x", "x", "y"]), np.vstack([embedding, few])
    part, facts = split_rows(more, all_rows, min_count=3)
    assert_by_the_rule(writer, centre, part[:-3], {0, 1})
    assert set(part[-3:]) == {"left out"}
    assert facts["under_min_count"] == {"writers": 2, "rows": 3}
    assert [found["writers"] for found in facts["clusters"]] == [5, 5]


def test_only_the_rows_that_count_are_embedded():
    writer, _, embedding = writers(TWO)
    more = np.append(["x", "x"], writer)
    asked = []

    def embed(places):
        asked.append(places)
        return embedding[places - 2]

    part, facts = split_rows(more, embed, min_count=3)
    assert [places.tolist() for places in asked] == [list(range(2, len(more)))]
    padded = np.vstack([np.full((2, 2), np.nan, np.float32), embedding])
    other, same = split_rows(more, padded, min_count=3)
    np.testing.assert_array_equal(part, other)
    assert facts == same


# Writers who train have more rows


@pytest.mark.parametrize("seed", range(4))
def test_writers_who_would_train_with_few_rows_are_left_out(seed):
    # Near each centre writers of 3, 4, 5, 6 and 7 rows.
    writer, centre, embedding = writers(TWO, seed=seed)
    part, facts = split_rows(writer, embedding, min_count=3, id_min_count=5, seed=seed)
    assert facts["under_min_count"] == {"writers": 0, "rows": 0}
    assert facts["under_id_min_count"] == {"writers": 2, "rows": 3 + 4}
    assert [(found["writers"], found["rows"]) for found in facts["clusters"]] == [(5, 25), (5, 25)]
    trains = assert_by_the_rule(writer, centre, part, {0, 1}, least=5)
    # Of writers of 5, 6 and 7 rows 3, 3 and 4 train.
    assert Counter(part[centre == trains])["train"] == 10
    assert Counter(part[centre == trains])["left out"] == 7
    assert "left out" not in part[centre != trains]


def test_either_cluster_is_cut_only_where_it_trains():
    writer, centre, embedding = writers(TWO)
    parts = [split_rows(writer, embedding, id_min_count=5, seed=seed)[0] for seed in range(20)]
    assert {tuple(centre[part == "left out"]) for part in parts} == {(0,) * 7, (1,) * 7}


def test_who_trains_has_twice_min_count_if_not_told():
    writer, centre, embedding = writers(TWO)
    part, facts = split_rows(writer, embedding, min_count=3, id_min_count=None)
    assert_by_the_rule(writer, centre, part, {0, 1}, least=6)
    assert facts["under_id_min_count"] == {"writers": 3, "rows": 3 + 4 + 5}
    for name in PARTS:
        assert min(Counter(writer[part == name]).values()) >= 3


def test_with_min_count_1_who_trains_has_2_rows():
    writer, centre, embedding = writers(TWO, sizes=(1, 1, 2, 3))
    part, facts = split_rows(writer, embedding, min_count=1, id_min_count=None)
    assert_by_the_rule(writer, centre, part, {0, 1}, least=2)
    assert facts["under_min_count"] == {"writers": 0, "rows": 0}
    assert facts["under_id_min_count"] == {"writers": 2, "rows": 2}


def test_who_trains_is_chosen_after_all_are_clustered():
    # By the writers of 4 rows alone, 0 and 4 are a cluster and 10 the other: sums of squares 16, against 36 for 0 and
    # the rest. With the twenty of 2 rows at 6 it is 39.3 for 0 and the rest, against 45.1.
    place = np.array([0, 0, 4, 4, 10, 10] + [6] * 20, np.float32)
    size = [4] * 6 + [2] * 20
    writer = np.repeat([f"w{i:02}" for i in range(26)], size)
    embedding, seen = np.repeat(place, size)[:, None], set()
    for seed in range(10):
        part, facts = split_rows(writer, embedding, id_min_count=4, seed=seed)
        assert [found["writers"] for found in facts["clusters"]] == [2, 24]
        trains = set(embedding[part == "train"].ravel())
        seen.add(tuple(sorted(trains)))
        short = 0 if trains == {0} else 20
        assert (embedding[part == "left out"] == 6).sum() == (part == "left out").sum() == 2 * short
        assert facts["under_id_min_count"] == {"writers": short, "rows": 2 * short}
    assert seen == {(0,), (4, 10)}


@pytest.mark.parametrize(("least", "left"), [(7, 1), (8, 0)])
def test_fewer_than_two_who_could_train_are_refused(least, left):
    writer, _, embedding = writers(TWO)
    with pytest.raises(InputError) as caught:
        split_rows(writer, embedding, id_min_count=least)
    said = f"at least id_min_count {least} rows are {left} of the 5 of the cluster that is to train"
    assert said in str(caught.value)
    assert "lower id_min_count" in str(caught.value)


# How far the parts are apart


def test_distances_by_hand():
    # A writer's rows are alike, so that halves of them are where the writer is. Whichever cluster trains, its two
    # writers are 1 from their mean, and each of the other two is 10 along and 1 across.
    writer = np.repeat(["a", "b", "c", "d"], 2)
    embedding = np.repeat([[0, 0], [0, 2], [10, 0], [10, 2]], 2, axis=0).astype(np.float32)
    _, facts = split_rows(writer, embedding)
    assert facts["spread"] == pytest.approx(1)
    for name in PARTS - {"train"}:
        expected = 101**0.5 if name.startswith("ood") else 1
        assert facts["distances"][name] == pytest.approx({"distance": expected, "spreads": expected})


def test_distances_in_spreads_are_none_where_there_is_no_spread():
    writer = np.repeat(["a", "b", "c", "d"], 2)
    _, facts = split_rows(writer, np.repeat([[0.0], [0], [3], [3]], 2, axis=0).astype(np.float32))
    assert facts["spread"] == 0
    assert facts["distances"]["ood_val"] == {"distance": 3, "spreads": None}
    assert facts["distances"]["id_val"] == {"distance": 0, "spreads": None}


@pytest.mark.parametrize("centres", [TWO, SIX], ids=["two", "six"])
def test_distances_agree_with_numpy(centres):
    writer, _, embedding = writers(centres, sizes=(3, 5, 8, 9))
    part, facts = split_rows(writer, embedding, clusters=len(centres))
    here = {}
    for name in PARTS:
        names = sorted(set(writer[part == name]))
        here[name] = np.array([embedding[(part == name) & (writer == one)].mean(0, np.float64) for one in names])
    centre = here["train"].mean(0)
    spread = np.sqrt(np.mean([np.sum((one - centre) ** 2) for one in here["train"]]))
    assert facts["spread"] == pytest.approx(spread, rel=1e-12)
    assert set(facts["distances"]) == PARTS - {"train"}
    for name, found in facts["distances"].items():
        distance = np.sqrt(np.sum((here[name].mean(0) - centre) ** 2))
        assert found == pytest.approx({"distance": distance, "spreads": distance / spread}, rel=1e-12)


def test_distance_of_label_shares_by_hand():
    assert label_distance({"1": 0.5, "2": 0.5}, {"1": 0.2, "2": 0.8}) == pytest.approx(0.3)
    assert label_distance({"1": 1.0}, {"2": 1.0}) == 1
    assert label_distance({"1": 0.25, "2": 0.75}, {"1": 0.25, "2": 0.75}) == 0


# What cannot be split


OPTIONS = {
    "one cluster": ({"clusters": 1}, ["clusters is 1", "2 or more"]),
    "half a cluster": ({"clusters": 2.5}, ["clusters is 2.5"]),
    "no rows each": ({"min_count": 0}, ["min_count is 0", "1 or more"]),
    "one row of who trains": (
        {"min_count": 1, "id_min_count": 1},
        ["id_min_count is 1", "halved", "2 or more"],
    ),
    "half a row of who trains": ({"id_min_count": 50.5}, ["id_min_count is 50.5"]),
    "fewer rows of who trains": ({"id_min_count": 24}, ["id_min_count is 24", "min_count 25", "lower min_count"]),
    "no seed": ({"seed": -1}, ["seed is -1", "0 or more"]),
}


@pytest.mark.parametrize(("options", "expected"), OPTIONS.values(), ids=OPTIONS)
def test_options_that_cannot_be_used(options, expected):
    with pytest.raises(InputError) as caught:
        ClusterOptions(**options)
    assert all(piece in str(caught.value) for piece in expected)


SAME, APART = [[1.1]] * 8, [[0.0], [0], [0], [0], [9], [9], [9], [9]]
DATA = {
    "few writers": (SAME[:6], {}, ["min_count 2 rows are 3 of 3", "the largest of all has 2", "2 groups each"]),
    "more clusters than writers": (APART, {"clusters": 5}, ["are 4 of 4", "clusters is 5", "fewer clusters"]),
    "rows below min_count": (APART, {"min_count": 3}, ["min_count 3 rows are 0 of 4", "lower min_count"]),
    "all alike": (SAME, {}, ["all 4 groups are equal", "another column as text="]),
    "all nothing": ([[0.0]] * 8, {}, ["all 4 groups are equal"]),
    "fewer points than clusters": (APART, {"clusters": 3}, ["4 groups form only 2 clusters", "clusters=2"]),
    "a writer alone": ([[0.0]] * 6 + [[9.0]] * 2, {}, ["the two clusters have 3 and 1 groups", "each needs 2"]),
    "nan": ([[0.0]] * 4 + [[np.nan], [1], [9], [9]], {}, ["group 'w2'", "nan or inf", "1 group;"]),
    "infinite": ([[np.inf]] * 4 + [[1.0]] * 4, {}, ["group 'w0'", "2 groups;"]),
}


@pytest.mark.parametrize(("embedding", "options", "expected"), DATA.values(), ids=DATA)
def test_embeddings_that_cannot_be_split(embedding, options, expected):
    writer = np.repeat([f"w{i}" for i in range(4)], 2)[: len(embedding)]
    with pytest.raises(InputError) as caught:
        split_rows(writer, np.array(embedding, np.float32), **options)
    assert all(piece in str(caught.value) for piece in expected), str(caught.value)


def test_of_more_clusters_the_two_taken_need_two_writers_each():
    embedding = np.repeat([[0.0], [1], [50], [51], [900]], 2, axis=0).astype(np.float32)
    with pytest.raises(InputError, match="of 3 clusters the two farthest apart have"):
        split_rows(np.repeat(list("abcde"), 2), embedding, clusters=3)
