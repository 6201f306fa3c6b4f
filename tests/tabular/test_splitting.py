"""Which split each row gets when groups are drawn, and that it hangs on nothing else."""

import datetime
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drurank.errors import InputError
from drurank.splits import SPLITS
from drurank.tabular.splitting import SplitOptions, hash_rows, split_by_group, summarise

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT.parent / "shared" / "data"
PARTS = {"train", "id_val", "ood_val", "id_test", "ood_test"}


def parts_of(group, label=None, columns=None, **options):
    """Part of each row, by name, of a table with these groups; each row differs from the others if not told."""
    group = np.array(group)
    label = np.zeros(len(group), dtype=np.int64) if label is None else np.array(label)
    rows = pa.table({"g": group, "y": label, **({"x": np.arange(len(group))} if columns is None else columns)})
    names, number = np.unique(group, return_inverse=True)
    part = split_by_group(rows, label, number, names.tolist(), SplitOptions(**options))
    assert part.dtype == np.int64
    return np.array([*SPLITS, "left out"])[part]


def half_up(share, count):
    """The rule in exact arithmetic, of the share as it is written."""
    return math.floor(Fraction(str(share)) * int(count) + Fraction(1, 2))


@st.composite
def tables(draw):
    sizes = draw(st.lists(st.integers(2, 12), min_size=8, max_size=40))
    group = np.repeat([f"g{i}" for i in range(len(sizes))], sizes)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    order = rng.permutation(len(group))
    return group[order], rng.integers(0, 3, len(group)), rng


SHARES = st.sampled_from([0.05, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3])


@settings(max_examples=60, deadline=None)
@given(tables(), SHARES, SHARES, st.sampled_from([0.01, 0.2, 0.25, 0.5, 0.99]), st.booleans(), st.integers(0, 9))
def test_groups_and_rows_are_shared_out_by_the_rule(table, val, test, share, stratify, seed):
    group, label, _ = table
    part = parts_of(group, label, ood_val=val, ood_test=test, id_share=share, stratify=stratify, seed=seed)
    groups = {split: set(group[part == split]) for split in sorted(PARTS)}
    count = len(set(group))
    assert len(groups["ood_val"]) == max(1, half_up(val, count))
    assert len(groups["ood_test"]) == max(1, half_up(test, count))
    stay = groups["train"]
    assert len(groups["ood_val"]) + len(groups["ood_test"]) + len(stay) == count
    assert groups["id_val"] | groups["id_test"] == stay
    assert len(groups["id_val"]) == (len(stay) + 1) // 2
    assert len(groups["id_test"]) == len(stay) // 2
    for name in set(group):
        inside = Counter(part[group == name])
        size = sum(inside.values())
        cut = inside["id_val"] + inside["id_test"]
        assert cut == (min(max(half_up(share, size), 1), size - 1) if name in stay else 0)
        assert inside["train"] == (size - cut if name in stay else 0)
        assert len(inside) == (2 if name in stay else 1)


@settings(max_examples=40, deadline=None)
@given(tables(), st.booleans(), st.integers(0, 9))
def test_rows_in_another_order_get_the_same_parts(table, stratify, seed):
    group, label, rng = table
    x = np.arange(len(group))
    part = parts_of(group, label, {"x": x}, stratify=stratify, seed=seed)
    order = rng.permutation(len(group))
    again = parts_of(group[order], label[order], {"x": x[order]}, stratify=stratify, seed=seed)
    np.testing.assert_array_equal(again, part[order])


@settings(max_examples=40, deadline=None)
@given(tables(), st.booleans())
def test_rows_that_are_alike_are_interchangeable(table, stratify):
    group, label, rng = table
    x = rng.integers(0, 2, len(group))
    order = rng.permutation(len(group))
    part = parts_of(group, label, {"x": x}, stratify=stratify)
    again = parts_of(group[order], label[order], {"x": x[order]}, stratify=stratify)
    rows = Counter(zip(group, label, x, part, strict=True))
    assert rows == Counter(zip(group[order], label[order], x[order], again, strict=True))


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from([0.1, 0.2, 0.5, 0.7]))
def test_the_cut_of_each_label_is_its_share_up_or_down(table, share):
    group, label, _ = table
    part = parts_of(group, label, id_share=share, stratify=True)
    for name in set(group[part == "train"]):
        inside = group == name
        cut = inside & np.isin(part, ["id_val", "id_test"])
        for y in range(3):
            exact = Fraction(int(cut.sum()) * int((inside & (label == y)).sum()), int(inside.sum()))
            assert math.floor(exact) <= (cut & (label == y)).sum() <= math.ceil(exact)


@pytest.mark.parametrize("rare", [0, 2])
def test_a_rare_label_is_not_always_rounded_away(rare):
    # One row of ten is rare and two are cut: a fifth of the groups gives the rare one, of 500 in a half 100.
    group = np.repeat(np.arange(1000), 10)
    label = np.where(np.arange(10_000) % 10 == 4, rare, 1)
    part = parts_of(group, label, ood_val=0, ood_test=0, stratify=True)
    for split in ("id_val", "id_test"):
        assert (part == split).sum() == 1000
        assert 95 <= (label[part == split] == rare).sum() <= 105


@pytest.mark.parametrize(
    ("groups", "share", "expected"), [(10, 0.15, 2), (10, 0.25, 3), (10, 0.04, 1), (100, 0.285, 29), (10, 0.0, 0)]
)
def test_halves_go_up_and_a_share_above_0_is_at_least_one_group(groups, share, expected):
    part = parts_of(np.repeat(np.arange(groups), 3), ood_val=share, ood_test=0.1)
    assert (part == "ood_val").sum() == 3 * expected


def test_parts_with_share_0_have_no_rows():
    group = np.repeat(np.arange(10), 4)
    assert set(parts_of(group, id_share=0)) == {"train", "ood_val", "ood_test"}
    assert set(parts_of(group, ood_val=0, ood_test=0)) == {"train", "id_val", "id_test"}
    assert set(parts_of(group, ood_val=0)) == {"train", "id_val", "id_test", "ood_test"}


def test_another_seed_gives_another_split():
    group = np.repeat(np.arange(50), 10)
    splits = {tuple(parts_of(group, seed=seed)) for seed in range(5)}
    assert len(splits) == 5
    assert tuple(parts_of(group)) in splits


def test_groups_and_rows_are_drawn_evenly():
    # Over 200 seeds each of 20 groups is in ood_test 0.15 of the time, each row that stays is cut 0.2 of the time.
    group = np.repeat(np.arange(20), 10)
    parts = np.array([parts_of(group, seed=seed) for seed in range(200)])
    ood = (parts == "ood_test").mean(0)
    assert np.abs(ood - 0.15).max() < 4 * math.sqrt(0.15 * 0.85 / 200)
    stays = ~np.char.startswith(parts, "ood")
    cut = np.isin(parts, ["id_val", "id_test"]).sum(0) / stays.sum(0)
    assert np.abs(cut - 0.2).max() < 4 * math.sqrt(0.2 * 0.8 / 120)


def test_a_group_gives_the_same_rows_whatever_stands_in_the_others():
    group, x = np.repeat(np.arange(20), 10), np.arange(200)
    part = parts_of(group, columns={"x": x})
    changed = parts_of(group, columns={"x": np.where(group == 7, x + 1000, x)})
    np.testing.assert_array_equal(changed[group != 7], part[group != 7])


def test_small_groups_are_left_out_and_do_not_count():
    group = np.repeat(np.arange(30), [1, 2, 4] * 10)
    part = parts_of(group, min_count=3)
    np.testing.assert_array_equal(part == "left out", group % 3 != 2)
    assert (part == "ood_val").sum() == 2 * 4


def test_the_summary_by_hand():
    part = np.array([0, 0, 0, 0, SPLITS.index("id_val"), -1])
    got = summarise(part, np.array([0, 1, 1, 1, 0, 1]), np.array([0, 0, 0, 2, 2, 1]), ["no", "yes"])
    assert list(got) == ["train", "id_val"]
    train = got["train"]
    assert (train.rows, train.groups, train.min_group_rows, train.median_group_rows) == (4, 2, 1, 2.0)
    assert train.label_shares == {"no": 0.25, "yes": 0.75}
    assert got["id_val"].label_shares == {"no": 1.0, "yes": 0.0}


# What stands in a row


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, None]),
        pa.array([0.1, float("nan"), -0.0]),
        pa.array(["", None, "-"]),
        pa.array(["a", "b", None]).dictionary_encode(),
        pa.array([True, False, None]),
        pa.array([b"\xff", b"\xfe", None]),
        pa.array([b"\xff\x00", b"\xfe\x00", None], pa.binary(2)),
        pa.array([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), None]),
        pa.array([1, 2, None], pa.timestamp("ns")),
        pa.array([Decimal("1.5"), Decimal("1.50001"), None]),
        pa.array([[1, 2], [1], None]),
        pa.array([{"a": 1}, {"a": None}, None]),
    ],
    ids=lambda values: str(values.type)[:20],
)
def test_cells_of_every_type_tell_rows_apart_and_not_their_places(values):
    rows = pa.table({"c": values})
    hashes = hash_rows(rows, 0)
    assert hashes.dtype == np.uint64
    assert len(set(hashes)) == 3
    order = [2, 0, 1, 0]
    np.testing.assert_array_equal(hash_rows(rows.take(order), 0), hashes[order])
    chunks = pa.concat_tables([rows.slice(0, 1), rows.slice(1, 0), rows.slice(1)])
    np.testing.assert_array_equal(hash_rows(chunks, 0), hashes)
    assert not set(hash_rows(rows, 1)) & set(hashes)


def test_a_cell_may_hold_what_joins_cells():
    rows = pa.table({"a": ["x", "x:1:y", "1:x", ""], "b": ["1:y", "", "", "1:x"]})
    assert len(set(hash_rows(rows, 0))) == 4


def test_the_function_says_which_options_are_wrong():
    with pytest.raises(InputError, match=r"ood_val is 1\.5"):
        SplitOptions(ood_val=1.5)
    with pytest.raises(InputError, match="ood_test is nan"):
        SplitOptions(ood_test=math.nan)
    with pytest.raises(InputError, match="the table: group 'b' has one row, one of 2 such groups"):
        parts_of(["a", "a", "b", "c"])
