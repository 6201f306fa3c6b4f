"""A split by clusters of writers: who is in which part, how far the parts are apart, and what cannot be split."""

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from clusters import PARTS, assert_by_the_rule

from drurank.cli import main
from drurank.errors import InputError
from drurank.splits import SPLITS
from drurank.tabular.clustering import ClusterOptions, label_distance, split_by_cluster
from runs import CONFIGS, read_csv, read_json

TWO = [(0, 0), (10, 0)]
SIX = [(12, 3), (0, 0), (14, -4), (30, 1), (16, 5), (19, -3)]
"""Of these the second and the fourth are farthest apart."""
FARTHEST = {1, 3}


def writers(centres, sizes=(3, 4, 5, 6, 7), seed=0):
    """Rows of writers near these centres, as many near each as there are sizes: writer, centre and embedding by row."""
    rng = np.random.default_rng(seed)
    number = np.repeat(np.arange(len(centres) * len(sizes)), np.tile(sizes, len(centres)))
    centre = number // len(sizes)
    embedding = np.array(centres)[centre] + rng.uniform(-0.5, 0.5, (len(number), 2))
    order = rng.permutation(len(number))
    names = np.array([f"w{i:02}" for i in rng.permutation(len(centres) * len(sizes))])
    return names[number][order], centre[order], embedding[order].astype(np.float32)


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
    "fewer points than clusters": (APART, {"clusters": 3}, ["4 groups fall into 2 clusters only", "clusters=2"]),
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


# The command


@pytest.fixture
def encoder(monkeypatch):
    """In place of a pretrained encoder one that reads a text as its vector; gives the calls."""
    calls = []

    def embed_texts(texts, pretrained, *, source, pooling="mean", max_length=512, cache_dir=None):
        assert pa.types.is_large_string(texts.type)
        read = texts.to_pylist()
        calls.append({"texts": read, "pretrained": pretrained, "source": source, "pooling": pooling})
        calls[-1] |= {"max_length": max_length, "cache_dir": cache_dir}
        return np.array([[float(number) for number in text.split()] for text in read], np.float32)

    monkeypatch.setattr("drurank.text.features.embed_texts", embed_texts)
    return calls


COLUMNS = "--path r.csv --label stars --group user --output s.csv"
HEADER = ["id", "stars", "user", "review", "more"]


def reviews(centres=TWO, **options):
    """Rows of a table whose texts say where they are; of each writer every other has one star."""
    writer, _, embedding = writers(centres, **options)
    seen = Counter()
    rows = []
    for i, (name, vector) in enumerate(zip(writer, embedding, strict=True)):
        seen[name] += 1
        rows.append([f"{i:03}", "15"[seen[name] % 2], name, f"{vector[0]:.4f}", f"{vector[1]:.4f}"])
    return rows


def write(rows, name="r.csv"):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return name


def split(*words, path="r.csv", output="s.csv", text="review"):
    columns = ["--path", path, "--label", "stars", "--group", "user", "--output", output]
    return main(["split", "--method", "cluster", *columns, *(["--text", text] if text else []), *words])


def refused(capsys, words):
    """The one sentence that it ends with."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["split", *words])
    shown = capsys.readouterr()
    assert stop.value.code == 2
    (line,) = shown.err.splitlines()
    assert shown.out == ""
    return line.removeprefix("error: ")


def test_the_manifest_agrees_with_the_table(encoder, capsys):
    rows = [*reviews(SIX), ["900", "1", "tiny", "0", "0"], ["901", "1", "tiny", "0", "0"]]
    words = ["--clusters", "6", "--min_count", "3", "--id_min_count", "5", "--seed", "2"]
    words += ["--pretrained", "mini", "--max_length", "64", "--cache_dir", "kept"]
    returned = split(*words, path=write(rows), text="review, more")
    manifest = read_json("s.manifest.json")
    assert manifest == returned
    (call,) = encoder
    assert call["texts"] == [f"{row[3]}\n{row[4]}" for row in rows[:-2]]
    del call["texts"]
    assert call == {
        "pretrained": "mini",
        "source": "r.csv",
        "pooling": "mean",
        "max_length": 64,
        "cache_dir": "kept",
    }
    assert manifest["method"] == "cluster"
    columns = {"label": "stars", "group": ["user"], "split": "split", "text": ["review", "more"]}
    assert manifest["columns"] == columns
    options = {"clusters": 6, "min_count": 3, "id_min_count": 5, "seed": 2, "pretrained": "mini", "max_length": 64}
    assert manifest["options"] == options
    out = read_csv("s.csv")
    by_id = {row["id"]: row["split"] for row in out}
    assert len(by_id) == len(out)
    part = np.array([by_id.get(row[0], "left out") for row in rows])
    writer, centre, embedding = writers(SIX)
    in_distribution = assert_by_the_rule(writer, centre, part[:-2], FARTHEST, least=5)
    gone = Counter(row[2] for row, name in zip(rows, part, strict=True) if name == "left out")
    assert manifest["left_out"] == {"rows": 109, "groups": 23, "group_rows": dict(gone)}
    assert manifest["under_min_count"] == {"writers": 1, "rows": 2}
    assert manifest["under_id_min_count"] == {"writers": 2, "rows": 7}
    assert sum(found["rows"] for found in manifest["clusters"]) == 150
    assert manifest["dropped"] is None
    mean = {
        name: np.mean(
            [embedding[(part[:-2] == name) & (writer == one)].mean(0) for one in set(writer[part[:-2] == name])], 0
        )
        for name in PARTS
    }
    for name in PARTS - {"train"}:
        found = manifest["distances"][name]
        assert found["distance"] == pytest.approx(np.linalg.norm(mean[name] - mean["train"]), abs=1e-3)
        ones = [np.mean([row["stars"] == "1" for row in out if row["split"] == one]) for one in (name, "train")]
        assert found["labels"] == pytest.approx(abs(ones[0] - ones[1]))
        inside = [row for row in out if row["split"] == name]
        assert manifest["splits"][name]["rows"] == len(inside)
        assert manifest["splits"][name]["groups"] == len({row["user"] for row in inside})
    said = capsys.readouterr().out
    assert "s.csv: 43 of 152 rows" in said
    (line,) = (line for line in said.splitlines() if "distance to train" in line)
    found = [f"{manifest['distances'][name]['distance']:.3f}" for name in SPLITS if name in PARTS - {"train"}]
    assert [cell for cell in line.split() if cell in found] == found
    assert f"one is {manifest['spread']:.3f}" in said
    assert "A cluster trains: 5 groups, 25 rows\nA cluster is OOD: 5 groups, 25 rows\n" in said
    assert said.count("A cluster is left out: 5 groups, 25 rows") == 4
    assert "Left out: 2 rows of 1 groups with fewer than 3 rows\n" in said
    assert "Left out: 7 rows of 2 groups of the cluster that trains, with fewer than 5 rows\n" in said
    assert "The manifest names the groups that are left out" in said
    fit = "fit --data Text --data.path s.csv --data.text review,more --data.label stars --data.group user --data.split "
    fit += "split --model DRU --data.tokenizer mini --data.max_length 64 --model.network TextClassifier"
    assert fit in " ".join(said.split())
    assert len({in_distribution} & FARTHEST) == 1


def test_the_defaults_are_those_of_the_method(encoder):
    rows = reviews(sizes=(24, 25, 49, 50, 51))
    manifest = split(path=write(rows))
    assert manifest["options"] == {
        "clusters": 2,
        "min_count": 25,
        "id_min_count": 50,
        "seed": 0,
        "pretrained": "distilbert-base-uncased",
        "max_length": 512,
    }
    assert manifest["under_min_count"] == {"writers": 2, "rows": 48}
    assert manifest["under_id_min_count"] == {"writers": 2, "rows": 25 + 49}
    main(f"split {COLUMNS} --output t.csv".split())
    by_group = read_json("t.manifest.json")
    assert (by_group["method"], by_group["options"]["min_count"]) == ("group", 1)
    assert "distances" not in by_group


def test_the_order_of_rows_in_the_file_does_not_matter(encoder):
    rows = reviews()
    split("--min_count", "3", path=write(rows))
    split("--min_count", "3", path=write(rows[::-1], "b.csv"), output="t.csv")
    assert read_csv("t.csv") == read_csv("s.csv")[::-1]
    one, other = read_json("s.manifest.json"), read_json("t.manifest.json")
    for name in ("splits", "left_out", "clusters", "under_min_count"):
        assert one[name] == other[name]


WORDS = {
    "clusters by group": (f"{COLUMNS} --clusters 2", ["clusters is an option of --method cluster", "method is group"]),
    "text by group": (f"{COLUMNS} --method group --text review", ["text is an option of --method cluster"]),
    "cache by group": (f"{COLUMNS} --cache_dir c", ["cache_dir is an option of --method cluster"]),
    "share by cluster": (
        f"{COLUMNS} --method cluster --text review --ood_val 0.15",
        ["ood_val is an option of --method group", "method is cluster"],
    ),
    "stratify by cluster": (f"{COLUMNS} --method cluster --text review --stratify", ["stratify is an option of"]),
    "no text": (f"{COLUMNS} --method cluster", ["text is missing", "--text review"]),
    "blank text": (f"{COLUMNS} --method cluster --text ,", ["text is missing"]),
    "no such text": (f"{COLUMNS} --method cluster --text reviw", ["r.csv has no column 'reviw'", "'review'"]),
    "no tokens": (f"{COLUMNS} --method cluster --text review --max_length 1", ["max_length is 1", "2 or more"]),
    "id_min_count of 1": (
        f"{COLUMNS} --method cluster --text review --min_count 1 --id_min_count 1",
        ["id_min_count is 1", "halved"],
    ),
    "id_min_count by group": (f"{COLUMNS} --id_min_count 9", ["id_min_count is an option of --method cluster"]),
    "no such method": (f"{COLUMNS} --method clutser", ["method is 'clutser'", "did you mean 'cluster'?"]),
    "misspelt": (f"{COLUMNS} --method cluster --clustres 2", ["no option --clustres", "'--clusters'"]),
    "few writers": (
        f"{COLUMNS} --method cluster --text review",
        ["r.csv: groups with at least min_count 25 rows are 0"],
    ),
}


@pytest.mark.parametrize(("words", "expected"), WORDS.values(), ids=WORDS)
def test_words_that_cannot_be_used(encoder, capsys, words, expected):
    write(reviews())
    message = refused(capsys, words.split())
    assert all(piece in message for piece in expected), message
    assert not encoder
    assert not Path("s.csv").exists()


def test_text_that_is_none_is_refused(encoder, capsys):
    pq.write_table(pa.table({"stars": [1, 2] * 40, "user": [*range(4)] * 20, "n": [*range(80)]}), "r.parquet")
    words = f"{COLUMNS} --method cluster --text n".replace(".csv", ".parquet").split()
    assert "r.parquet: column 'n' holds int64, which is no text" in refused(capsys, words)


def test_help_says_what_is_there(capsys):
    with pytest.raises(SystemExit):
        main(["split", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "1 by --method group and 25 by --method cluster" in said
    assert "distilbert-base-uncased" in said


# Configurations


@pytest.mark.parametrize(("name", "clusters", "min_count"), [("imdb", 2, 25), ("yelp", 6, 100)])
def test_recipes_run_on_rows_of_their_form(encoder, name, clusters, min_count):
    recipe = yaml.safe_load((CONFIGS / "split" / f"{name}.yaml").read_text(encoding="utf-8"))
    assert (recipe["clusters"], recipe["min_count"], recipe["method"]) == (clusters, min_count, "cluster")
    centres = TWO if name == "imdb" else SIX
    sizes = [min_count + 1, 2 * min_count, 2 * min_count + 1, 2 * min_count + 2]
    writer, centre, embedding = writers(centres, sizes=sizes)
    texts = [" ".join(map(str, vector)) for vector in embedding.tolist()]
    known = {"label": [str(i % 2 + 1) for i in range(len(writer))], "group": writer.tolist(), "text": texts}
    rows = [
        {**{recipe[what]: known[what][i] for what in known}, "review_id": f"r{i}", "helpful": ["1", str(i)]}
        for i in range(len(writer))
    ]
    if name == "imdb":
        rows[5]["rating"] = None
        files = [rows[:70], rows[70:]]
        for number, some in enumerate(files, start=1):
            Path(f"part-{number:02}.json").write_text(json.dumps(some))
        path = "part-*.json"
    else:
        path = "yelp_academic_dataset_review.json"
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--config", str(CONFIGS / "split" / f"{name}.yaml"), "--path", path, "--output", "s.parquet"]
    manifest = main(["split", *words])
    out = {row["review_id"]: row["split"] for row in pq.read_table("s.parquet").to_pylist()}
    part = np.array([out.get(row["review_id"], "left out") for row in rows])
    there = np.arange(len(rows)) != (5 if name == "imdb" else -1)
    taken = {0, 1} if name == "imdb" else FARTHEST
    assert_by_the_rule(writer[there], centre[there], part[there], taken, least=2 * min_count)
    assert manifest["options"]["id_min_count"] == 2 * min_count
    if name == "imdb":
        assert manifest["dropped"] == {"rows": 1, "blank": {"rating": 1, "reviewer": 0, "review_detail": 0}}
        assert manifest["source"]["files"] == {"part-01.json": 70, "part-02.json": len(rows) - 70}
        assert "r5" not in out
    else:
        assert manifest["dropped"] is None


def test_the_later_word_wins_over_a_configuration(encoder):
    write(reviews())
    Path("c.yaml").write_text("method: cluster\ntext: review\nlabel: stars\ngroup: user\nmin_count: 5\nseed: 7\n")
    manifest = main(["split", "--config", "c.yaml", "--path", "r.csv", "--output", "s.csv", "--min_count", "3"])
    assert (manifest["options"]["min_count"], manifest["options"]["seed"]) == (3, 7)


CONTENT = {
    "misspelt": ("clustres: 2\n", ["there is no option --clustres", "'--clusters'"]),
    "other method": ("method: group\nclusters: 2\n", ["clusters is an option of --method cluster"]),
    "a list": ("- method\n", ["--config holds no options by name", "YAML"]),
    "no YAML": ("method: [cluster\n", ["--config", "YAML"]),
    "code": ("label: !!python/object/apply:os.mkdir [done]\n", ["--config", "YAML"]),
    "a word for a number": ("clusters: many\n", ["clusters is 'many'", "whole number"]),
}


@pytest.mark.parametrize(("content", "expected"), CONTENT.values(), ids=CONTENT)
def test_configurations_that_cannot_be_used(encoder, capsys, content, expected):
    write(reviews())
    Path("c.yaml").write_text(content)
    message = refused(capsys, f"--config c.yaml {COLUMNS}".split())
    assert all(piece in message for piece in expected), message
    assert not Path("done").exists()


def test_a_configuration_that_is_not_there(capsys):
    assert "none.yaml" in refused(capsys, f"--config none.yaml {COLUMNS}".split())


# Rows that lack something


def blank(rows, column, *places):
    for place in places:
        rows[place][HEADER.index(column)] = " "


LACK = {
    "label": ("stars", 3, ["column 'stars', row 3 ", "no label", "drop_missing"]),
    "group": ("user", 4, ["column 'user', row 4 ", "no group", "drop_missing"]),
    "text": ("review", 5, ["column 'review', row 5 ", "no text", "drop_missing"]),
}


@pytest.mark.parametrize(("column", "row", "expected"), LACK.values(), ids=LACK)
def test_blank_cells_are_refused_if_not_dropped(encoder, capsys, column, row, expected):
    rows = reviews()
    blank(rows, column, row)
    write(rows)
    message = refused(capsys, f"{COLUMNS} --method cluster --text review".split())
    assert all(piece in message for piece in expected), message


def test_rows_that_lack_something_are_left_out_and_counted(encoder, capsys):
    rows = reviews(sizes=(8,) * 5)
    blank(rows, "stars", 0, 1)
    blank(rows, "user", 1, 2, 3)
    blank(rows, "review", 4)
    manifest = split("--drop_missing", "--min_count", "3", path=write(rows))
    assert manifest["dropped"] == {"rows": 5, "blank": {"stars": 2, "user": 3, "review": 1}}
    assert encoder[0]["texts"] == [row[3] for row in rows[5:]]
    assert [row["id"] for row in read_csv("s.csv")] == [row[0] for row in rows[5:]]
    assert manifest["source"]["rows"] == 80
    assert "Left out: 5 rows with a blank cell (stars 2, user 3, review 1)" in capsys.readouterr().out


def test_of_several_texts_one_is_enough(encoder):
    rows = reviews(sizes=(8,) * 5)
    for row in rows:
        row[3], row[4] = f"{row[3]} {row[4]}", ""
    blank(rows, "review", 6)
    manifest = split("--drop_missing", "--min_count", "3", path=write(rows), text="review,more")
    assert manifest["dropped"] == {"rows": 1, "blank": {"stars": 0, "user": 0, "review,more": 1}}


def test_rows_are_dropped_by_group_too(capsys):
    rows = reviews(sizes=(8,) * 5)
    blank(rows, "stars", 0, 7)
    blank(rows, "review", 1)
    main(f"split {COLUMNS} --drop_missing --path {write(rows)}".split())
    assert read_json("s.manifest.json")["dropped"] == {"rows": 2, "blank": {"stars": 2, "user": 0}}
    assert len(read_csv("s.csv")) == 78
    assert "Left out: 2 rows with a blank cell (stars 2, user 0)" in capsys.readouterr().out


def test_rows_that_all_lack_something(capsys):
    rows = reviews()
    blank(rows, "stars", *range(len(rows)))
    write(rows)
    assert "a cell of stars, user is blank in each row" in refused(capsys, f"{COLUMNS} --drop_missing".split())


# Several files


def halves(cut=70):
    rows = reviews(sizes=(8,) * 10)
    write(rows[:cut], "part-1.csv")
    write(rows[cut:], "part-2.csv")
    write(rows, "whole.csv")
    return rows


@pytest.mark.parametrize("path", ["part-*.csv", "part-2.csv,part-1.csv", "part-1.csv, part-[2-9].csv"])
def test_several_files_are_one_table(path):
    halves()
    words = ["split", *COLUMNS.split(), "--path"]
    manifest = main([*words, path])
    whole = main([*words, "whole.csv", "--output", "t.csv"])
    assert read_csv("s.csv") == read_csv("t.csv")
    assert manifest["splits"] == whole["splits"]
    digests = [hashlib.sha256(Path(f"part-{i}.csv").read_bytes()).hexdigest() for i in (1, 2)]
    assert manifest["source"] == {
        "name": path,
        "rows": 160,
        "sha256": hashlib.sha256("".join(digests).encode()).hexdigest(),
        "files": {"part-1.csv": 70, "part-2.csv": 90},
    }


def test_a_name_with_a_comma_or_a_star_is_itself():
    rows = reviews(sizes=(8,) * 5)
    for name in ("a,b.csv", "a*.csv"):
        write(rows, name)
        manifest = main(["split", *COLUMNS.split(), "--overwrite", "--path", name])
        assert (manifest["source"]["name"], manifest["source"]["rows"]) == (name, 80)


def test_a_cell_is_named_by_its_own_file(capsys):
    rows = halves()
    rows[73][1] = ""
    write(rows[70:], "part-2.csv")
    message = refused(capsys, [*COLUMNS.split(), "--path", "part-*.csv"])
    assert message.startswith("part-2.csv: column 'stars', row 3 (the first is 0): a blank cell")


FILES = {
    "twice": ("part-*.csv,part-1.csv", "part-1.csv is named twice"),
    "none of a pattern": ("prt-*.csv", "there is no file prt-*.csv"),
    "a name of the hub": ("owner/name", "there is no file or folder owner/name; give one, of a data set of the hub"),
    "one is missing": ("part-1.csv,part-3.csv", "there is no file part-3.csv"),
    "a column less": ("part-1.csv,u.csv", "u.csv has no column 'more', which part-1.csv has"),
    "a column more": ("part-1.csv,v.csv", "v.csv has a column 'w', unlike part-1.csv"),
    "another format": ("part-1.csv,x.parquet", "x.parquet is of another format than part-1.csv"),
    "another kind": ("x.parquet,y.parquet", "y.parquet: column 'stars' holds string, and in the files before int64"),
    "onto one of them": ("part-*.csv,s.csv", "output is 's.csv', one of the files of part-*.csv,s.csv"),
}


@pytest.mark.parametrize(("path", "expected"), FILES.values(), ids=FILES)
def test_files_that_are_no_table_together(capsys, path, expected):
    halves()
    Path("u.csv").write_text("id,stars,user,review\n1,1,a,0\n")
    Path("v.csv").write_text("id,stars,user,review,more,w\n1,1,a,0,0,0\n")
    columns = {name: ["a"] for name in HEADER}
    pq.write_table(pa.table({**columns, "stars": [1]}), "x.parquet")
    pq.write_table(pa.table(columns), "y.parquet")
    if "s.csv" in path:
        write(reviews(), "s.csv")
    output = "s.parquet" if path.startswith("x") else "s.csv"
    words = ["--path", path, "--label", "stars", "--group", "user", "--output", output]
    assert expected in refused(capsys, words)


def test_a_column_that_is_null_or_whole_in_one_file_takes_the_others_kind():
    columns = {"y": ["a", "b"] * 20, "g": [f"g{i % 10}" for i in range(40)]}
    for name, x in (("1", [None] * 40), ("2", [*range(40)]), ("3", [0.5] * 40)):
        rows = [{**{key: cells[i] for key, cells in columns.items()}, "x": x[i]} for i in range(40)]
        Path(f"p{name}.json").write_text(json.dumps(rows))
    main(["split", "--path", "p*.json", "--label", "y", "--group", "g", "--output", "s.parquet"])
    assert pq.read_table("s.parquet")["x"].to_pylist() == [None] * 40 + [float(i) for i in range(40)] + [0.5] * 40
