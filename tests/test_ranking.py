import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drurank.errors import InputError
from drurank.groups import group_tstat
from drurank.ranking import (
    add_group_sums_,
    discounted_weights,
    group_accuracy,
    group_dcg,
    groups_differ,
    rank_groups,
)

NAN = math.nan
FIVE = [0.2, 0.4, 0.6, 0.8, 1.0]
FOUR = [0.96, 0.9, 0.6, 0.8]
TIED = [0.5, 0.7, 0.5, 0.9, 0.7]

DCG_OPTIONS = [
    {"k": k, "rank_by": rank_by, "k_unit": k_unit, "normalize": normalize}
    for k, (rank_by, k_unit), normalize in itertools.product(
        (1, 10, 37, 100), (("quantile", "percent"), ("index", "percent"), ("index", "groups")), (False, True)
    )
]
RANK_OPTIONS = list(itertools.product(("index", "quantile"), ("min", "average", "ordinal")))


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def assert_near(got, want, tolerance=1e-6):
    got = torch.as_tensor(got, dtype=torch.float64)
    want = torch.as_tensor(want, dtype=torch.float64)
    assert got.shape == want.shape
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)


def numpy_ranks(accuracy, rank_by, ties):
    known = [g for g, a in enumerate(accuracy) if not np.isnan(a)]
    rank = np.full(len(accuracy), NAN)
    for g in known:
        below = sum(accuracy[h] < accuracy[g] for h in known)
        run = [h for h in known if accuracy[h] == accuracy[g]]
        rank[g] = below + {"min": 0, "average": (len(run) - 1) / 2, "ordinal": run.index(g)}[ties]
    return rank if rank_by == "index" else 100 * rank / max(len(known), 1)


def numpy_weights(rank, cutoff):
    return np.array([np.log2(cutoff + 2) / np.log2(r + 2) if r <= cutoff else 1.0 for r in rank])


def numpy_dcg(score, k, rank_by, k_unit, normalize):
    score = np.asarray(score)[~np.isnan(score)]
    if not len(score):
        return NAN
    if rank_by == "quantile":
        items = np.array([np.percentile(score, 100 - q) for q in range(k + 1)])
    else:
        items = np.sort(score)[::-1][: k if k_unit == "groups" else math.ceil(k * len(score) / 100)]
    discount = 1 / np.log2(np.arange(1, len(items) + 1) + 1)
    return (items * discount).sum() / (discount.sum() if normalize else 1)


# ---- values worked out beforehand


@pytest.mark.parametrize(
    ("error", "options", "want"),
    [
        (1 - tensor(FIVE), {"k": 10}, 3.711930518),
        (1 - tensor(FIVE), {"k": 10, "normalize": True}, 0.769710474),
        (1 - tensor(FIVE), {"k": 50}, 8.390463682),
        (1 - tensor(FIVE), {"k": 50, "normalize": True}, 0.641808493),
        (1 - tensor(FOUR), {"k": 10}, 1.819447432),
        (1 - tensor(FOUR), {"k": 10, "rank_by": "index"}, 0.4),
        (1 - tensor(FOUR), {"k": 50, "rank_by": "index"}, 0.526185951),
        (1 - tensor(FOUR), {"k": 51, "rank_by": "index"}, 0.4 + 0.2 / math.log2(3) + 0.1 / 2),
        (1 - tensor(FOUR), {"k": 9, "rank_by": "index", "k_unit": "groups"}, 0.593413),
        (torch.ones(7, dtype=torch.float64), {"k": 10}, 4.822502284),
        (torch.ones(7, dtype=torch.float64), {"k": 50}, 13.073157765),
    ],
)
def test_dcg_of_known_errors(error, options, want):
    assert_near(group_dcg(error, **options), want)


def test_default_dcg_is_ten_percent_of_quantiles():
    assert_near(group_dcg(1 - tensor(FIVE)), 3.711930518)


@pytest.mark.parametrize(
    ("accuracy", "rank_by", "ties", "cutoff", "rank", "weight"),
    [
        (FOUR, "index", "min", 2, [3, 2, 0, 1], [1, 1, 2, 1.261860]),
        (FOUR, "index", "min", 10, [3, 2, 0, 1], [1.543959, 1.792481, 3.584963, 2.261860]),
        (FOUR, "quantile", "min", 20, [75, 50, 0, 25], [1, 1, 4.459432, 1]),
        (FOUR, "quantile", "min", 50, [75, 50, 0, 25], [1, 1, 5.700440, 1.198859]),
        (TIED, "index", "min", 3, [0, 2, 0, 4, 2], [2.321928, 1.160964, 2.321928, 1, 1.160964]),
        (TIED, "index", "average", 3, [0.5, 2.5, 0.5, 4, 2.5], [1.756471, 1.070050, 1.756471, 1, 1.070050]),
        (TIED, "index", "ordinal", 3, [0, 2, 1, 4, 3], [2.321928, 1.160964, 1.464974, 1, 1]),
        (TIED, "quantile", "min", 60, [0, 40, 0, 80, 40], [5.954196, 1.104200, 5.954196, 1, 1.104200]),
        ([0.2, NAN, 0.4], "quantile", "min", 20, [0, NAN, 50], [4.459432, 1, 1]),
        ([NAN, 0.2, NAN, 0.4], "index", "ordinal", 2, [NAN, 0, NAN, 1], [1, 2, 1, 1.261860]),
        ([NAN, 0.5, 0.5], "quantile", "average", 20, [NAN, 25, 25], [1, 1, 1]),
        ([NAN, NAN], "quantile", "min", 100, [NAN, NAN], [1, 1]),
        ([0.3], "quantile", "average", 100, [0], [6.672425]),
    ],
)
def test_known_ranks_and_weights(accuracy, rank_by, ties, cutoff, rank, weight):
    got = rank_groups(tensor(accuracy), rank_by=rank_by, ties=ties)
    assert_near(got, rank)
    assert_near(discounted_weights(got, cutoff), weight)


def test_default_ranks_are_quantiles_with_shared_lowest_rank():
    assert rank_groups(tensor(TIED)).tolist() == [0, 40, 0, 80, 40]


def test_cutoff_zero_weighs_every_group_one():
    assert discounted_weights(rank_groups(tensor(TIED)), 0).tolist() == [1] * 5


@pytest.mark.parametrize("cutoff", [0, 0.5, 3, 20, 33.3, 100, 1e6])
def test_weights_equal_numpy(cutoff):
    rank = np.array([0, 0.25, 1, 2.5, 3, 19.999, 20, 20.001, 33.3, 99.9, 1234])
    assert_near(discounted_weights(tensor(rank), cutoff), numpy_weights(rank, cutoff), 1e-12)


# ---- counting


def test_group_accuracy_equals_loops_over_samples():
    rng = np.random.default_rng(0)
    correct, group = rng.integers(0, 2, (2, 3, 40)).astype(bool), rng.integers(-1, 6, 40)
    group[group == 4] = 5  # no sample in group 4
    want, count = np.full((2, 3, 6), NAN), np.zeros((2, 3, 6), dtype=int)
    for i, j, g in itertools.product(range(2), range(3), range(6)):
        rows = [bool(correct[i, j, s]) for s in range(40) if group[s] == g]
        count[i, j, g] = len(rows)
        if rows:
            want[i, j, g] = sum(rows) / len(rows)
    accuracy, seen = group_accuracy(torch.from_numpy(correct), torch.from_numpy(group), 6)
    assert accuracy.dtype == torch.float64
    assert seen.dtype == torch.int64
    assert seen.tolist() == count.tolist()
    assert_near(accuracy, want, 1e-15)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int64, torch.float32])
def test_group_accuracy_takes_booleans_and_zeros_and_ones(dtype):
    accuracy, count = group_accuracy(torch.tensor([1, 0, 1, 1]).to(dtype), torch.tensor([2, 2, 0, -1]).int(), 3)
    assert_near(accuracy, [1, NAN, 0.5])
    assert count.tolist() == [1, 0, 2]


def test_no_samples_give_no_accuracy():
    accuracy, count = group_accuracy(torch.zeros(2, 0, dtype=torch.bool), torch.zeros(0, dtype=torch.int64), 3)
    assert accuracy.isnan().all()
    assert count.tolist() == [[0] * 3] * 2


@pytest.mark.parametrize("fractions", [[(1, 3), (2, 6), (7, 21)], [(1, 1), (49, 49), (98, 98)], [(3, 5), (6, 10)]])
def test_equal_fractions_of_different_counts_tie_exactly(fractions):
    correct = torch.cat([torch.arange(n) < r for r, n in fractions])
    group = torch.cat([torch.full((n,), g) for g, (_, n) in enumerate(fractions)])
    assert rank_groups(group_accuracy(correct, group, len(fractions))[0]).tolist() == [0] * len(fractions)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 3)), max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_sums_over_chunks_equal_the_whole(rows, first, second):
    group = torch.tensor([g for g, _ in rows], dtype=torch.int64)
    value = torch.tensor([v for _, v in rows], dtype=torch.int64)
    low, high = sorted((first, second))
    total = torch.zeros(5, dtype=torch.int64)
    for part in (slice(0, low), slice(low, high), slice(high, None)):
        assert add_group_sums_(total, value[part], group[part]) is total
    assert total.tolist() == [sum(v for g, v in rows if g == wanted) for wanted in range(5)]


# ---- leading dimensions


def batched_accuracy(shape=(2, 3), m=9, seed=0):
    rng = np.random.default_rng(seed)
    accuracy = rng.integers(0, 5, (*shape, m)) / 4
    accuracy[rng.random(accuracy.shape) < 0.25] = NAN
    accuracy[0, 0] = NAN
    return accuracy


def over_rows(function, array):
    return np.array([[function(row) for row in rows] for rows in array])


@pytest.mark.parametrize("batched_group", [False, True])
def test_group_accuracy_of_a_batch_equals_each_row(batched_group):
    generator = torch.Generator().manual_seed(0)
    correct = torch.randint(0, 2, (2, 3, 25), generator=generator).bool()
    group = torch.randint(-1, 4, correct.shape if batched_group else (25,), generator=generator)
    accuracy, count = group_accuracy(correct, group, 4)
    for i, j in itertools.product(range(2), range(3)):
        one, seen = group_accuracy(correct[i, j], group[i, j] if batched_group else group, 4)
        assert torch.equal(count[i, j], seen)
        assert torch.equal(accuracy[i, j].nan_to_num(-1), one.nan_to_num(-1))


@pytest.mark.parametrize(("rank_by", "ties"), RANK_OPTIONS)
def test_ranks_and_weights_of_a_batch_equal_numpy_by_row(rank_by, ties):
    accuracy = batched_accuracy()
    want = over_rows(lambda row: numpy_ranks(row, rank_by, ties), accuracy)
    got = rank_groups(tensor(accuracy), rank_by=rank_by, ties=ties)
    assert_near(got, want, 1e-12)
    assert_near(discounted_weights(got, 3), over_rows(lambda row: numpy_weights(row, 3), want), 1e-12)


@pytest.mark.parametrize(
    ("accuracy", "differ"),
    [
        (TIED, True),
        ([0.5, NAN, 0.9], True),
        ([NAN, 0.7, 0.7 + 2**-52], True),
        ([0.8] * 200, False),
        ([0.7], False),
        ([0.5, NAN, 0.5], False),
        ([NAN, 0.5], False),
        ([NAN, NAN], False),
        ([], False),
    ],
)
def test_groups_differ_where_one_is_worse_than_another(accuracy, differ):
    assert groups_differ(tensor(accuracy)).tolist() == [differ]


def test_groups_of_a_batch_differ_where_a_row_has_two_values():
    accuracy = batched_accuracy()
    accuracy[1, 2], accuracy[1, 1, 1:] = 0.25, NAN
    want = over_rows(lambda row: [len(np.unique(row[~np.isnan(row)])) > 1], accuracy)
    got = groups_differ(tensor(accuracy))
    assert got.dtype == torch.bool
    assert got.tolist() == want.tolist()
    assert want.any()
    assert groups_differ(torch.zeros(2, 0)).tolist() == [[False], [False]]


@pytest.mark.parametrize("options", DCG_OPTIONS)
@pytest.mark.parametrize("m", [1, 9, 64])
def test_dcg_of_a_batch_equals_numpy_by_row(options, m):
    score = batched_accuracy(m=m, seed=m) * 3 - 1
    want = over_rows(lambda row: numpy_dcg(row, **options), score)
    assert_near(group_dcg(tensor(score), **options), want, 1e-12)


def test_functions_leave_their_arguments_alone():
    accuracy = tensor([0.5, NAN, 0.1])
    rank = rank_groups(accuracy)
    discounted_weights(rank, 50)
    group_dcg(accuracy, 50, rank_by="index")
    assert_near(accuracy, [0.5, NAN, 0.1])
    assert_near(rank, [50, NAN, 0])


# ---- properties

accuracies = st.lists(st.one_of(st.just(NAN), st.integers(0, 6).map(lambda i: i / 6)), min_size=1, max_size=12)
property_test = settings(max_examples=40, deadline=None, derandomize=True)


@property_test
@given(accuracies, st.randoms(use_true_random=False), st.sampled_from(["min", "average"]), st.integers(0, 100))
def test_renumbering_groups_permutes_ranks_and_weights(values, random, ties, cutoff):
    order = list(range(len(values)))
    random.shuffle(order)
    for rank_by in ("index", "quantile"):
        rank = rank_groups(tensor(values), rank_by=rank_by, ties=ties)
        moved = rank_groups(tensor(values)[order], rank_by=rank_by, ties=ties)
        assert_near(moved, rank[order], 0)
        assert_near(discounted_weights(moved, cutoff), discounted_weights(rank, cutoff)[order], 0)


@property_test
@given(accuracies, st.randoms(use_true_random=False))
def test_renumbering_groups_leaves_dcg_alone(values, random):
    moved = values.copy()
    random.shuffle(moved)
    for options in DCG_OPTIONS:
        assert_near(group_dcg(tensor(moved), **options), group_dcg(tensor(values), **options), 0)


@property_test
@given(accuracies, st.integers(0, 12))
def test_an_empty_group_changes_nothing_for_the_others(values, place):
    place = min(place, len(values))
    wider = tensor([*values[:place], NAN, *values[place:]])
    others = [g for g in range(len(wider)) if g != place]
    for rank_by, ties in RANK_OPTIONS:
        rank = rank_groups(wider, rank_by=rank_by, ties=ties)
        assert rank[place].isnan()
        assert discounted_weights(rank, 30)[place] == 1
        assert_near(rank[others], rank_groups(tensor(values), rank_by=rank_by, ties=ties), 0)
    for options in DCG_OPTIONS:
        assert_near(group_dcg(wider, **options), group_dcg(tensor(values), **options), 1e-14)


@property_test
@given(accuracies, st.integers(0, 100))
def test_single_and_double_precision_agree(values, cutoff):
    wide, narrow = tensor(values), tensor(values).float()
    for rank_by, ties in RANK_OPTIONS:
        rank, short = (rank_groups(x, rank_by=rank_by, ties=ties) for x in (wide, narrow))
        weight = discounted_weights(short, cutoff)
        assert short.dtype == weight.dtype == torch.float32
        assert_near(short, rank)
        assert_near(discounted_weights(short, cutoff), discounted_weights(rank.float().double(), cutoff))
    for options in DCG_OPTIONS:
        short = group_dcg(narrow, **options)
        assert short.dtype == torch.float32
        assert_near(short, group_dcg(wide, **options), 2e-6)


# ---- bad arguments


@pytest.mark.parametrize(
    ("call", "value", "remedy"),
    [
        (lambda x: rank_groups(x, rank_by="quantil"), "rank_by is 'quantil'", "'index', 'quantile'"),
        (lambda x: rank_groups(x, ties="max"), "ties is 'max'", "'min', 'average', 'ordinal'"),
        (lambda x: discounted_weights(x, -1), "cutoff is -1", "0 or more"),
        (lambda x: discounted_weights(x, NAN), "cutoff is nan", "finite"),
        (lambda x: discounted_weights(x, math.inf), "cutoff is inf", "finite"),
        (lambda x: group_dcg(x, 10, rank_by="rank"), "rank_by is 'rank'", "'index', 'quantile'"),
        (lambda x: group_dcg(x, 10, rank_by="index", k_unit="group"), "k_unit is 'group'", "'percent', 'groups'"),
        (lambda x: group_dcg(x, 10, k_unit="groups"), "k_unit='groups'", "rank_by='index'"),
        *[
            (lambda x, k=k, rank_by=rank_by: group_dcg(x, k, rank_by=rank_by), f"k is {k!r}", "1 to 100")
            for k in (0, -1, 101, 2.5, 10.0, True, "10")
            for rank_by in ("index", "quantile")
        ],
        *[
            (lambda x, k=k: group_dcg(x, k, rank_by="index", k_unit="groups"), f"k is {k!r}", "1 or more")
            for k in (0, -1, 2.5, True)
        ],
    ],
)
def test_bad_argument_is_refused_with_value_and_remedy(call, value, remedy):
    with pytest.raises(InputError) as caught:
        call(tensor(FOUR))
    assert value in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_agrees_with_double(dtype):
    score = (torch.arange(1000) / 1000).to(dtype)
    exact = score.double()
    for rank_by in ("quantile", "index"):
        got = group_dcg(score, 10, rank_by=rank_by)
        assert got.dtype == torch.float32
        assert got == group_dcg(exact, 10, rank_by=rank_by).float()
    rank = rank_groups(score)
    assert rank.dtype == torch.float32
    assert rank.tolist() == rank_groups(exact).float().tolist()
    weight = discounted_weights(rank.to(dtype), 50)
    assert weight.dtype == torch.float32
    assert weight.tolist() == discounted_weights(rank.to(dtype).double(), 50).float().tolist()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_values_beyond_half_precision_are_neither_infinite_nor_rounded(dtype):
    high = torch.tensor([6e4, 6e4]).to(dtype)
    assert_near(group_dcg(high, 100, rank_by="index"), high[0].double() * (1 + 1 / math.log2(3)))
    equal = torch.full((3,), 0.5, dtype=dtype)
    assert_near(group_tstat(equal), 0.5e6)
    accuracy = torch.ones(70000, dtype=dtype)
    accuracy[:69999] = 0.5  # index ranks 0 and 69999
    assert rank_groups(accuracy, rank_by="index")[-1] == 69999


def test_integer_ranks_give_weights_that_are_not_rounded():
    got = discounted_weights(torch.tensor([3, 2, 0, 1]), 10)
    np.testing.assert_allclose(got, [1.543959, 1.792481, 3.584963, 2.261860], atol=1e-6)


def test_integer_scores_give_a_dcg_that_is_not_rounded():
    assert group_dcg(torch.tensor([1, 1, 0]), 2, rank_by="index", k_unit="groups") == pytest.approx(1 + 1 / np.log2(3))


@pytest.mark.parametrize("rank_by", ["quantile", "index"])
def test_infinite_score_is_infinitely_bad(rank_by):
    assert group_dcg(torch.tensor([torch.inf, 0.2, 0.1]), rank_by=rank_by) == torch.inf
