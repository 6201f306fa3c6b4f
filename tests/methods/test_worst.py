"""Worst: the worst groups alone weigh more."""

import numpy as np
import pytest

from drurank.errors import InputError
from drurank.methods import Worst
from fits import ALIKE, HALF_DRAWN, TIED, record_of, record_of_counts
from reference import spread


def test_worst_upweights_every_group_tied_for_the_worst():
    record, correct, group = record_of_counts(*TIED)
    by_group = [3, 1, 3, 1, 1]
    np.testing.assert_array_equal(Worst(3, "all").reweight(record), spread(by_group, correct, group, "all"))
    wrong_only = spread(by_group, correct, group, "misclassified")
    np.testing.assert_array_equal(Worst(3, "misclassified").reweight(record), wrong_only)


@pytest.mark.parametrize("upweight", ["all", "misclassified"])
@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("counts", ALIKE.values(), ids=ALIKE)
def test_all_samples_weigh_1_where_no_group_is_worse_than_another(counts, shrink, upweight, caplog):
    record, _, _ = record_of_counts(*counts)
    weight = Worst(3, upweight, shrink=shrink).reweight(record)
    np.testing.assert_array_equal(weight, np.ones(sum(counts[1])))
    assert f"{Worst(3, upweight).title}: no training group is worse than another" in caplog.text


@pytest.mark.parametrize(
    ("upweight", "want"), [("all", [3, 3, 3, 3, 1, 1, 1, 1]), ("misclassified", [1, 3, 3, 1, 1, 1, 1, 1])]
)
def test_row_never_drawn_weighs_as_its_group_where_all_samples_do(upweight, want):
    assert Worst(3, upweight).reweight(record_of(*HALF_DRAWN, 2)).tolist() == want


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Worst(upweight="wrong"), "upweight.*'misclassified'"),
        (lambda: Worst(0), "upweight_factor.*0"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name_and_value(make, named):
    with pytest.raises(InputError, match=named):
        make()


@pytest.mark.parametrize(
    ("method", "title"),
    [
        (lambda: Worst(), "Worst+M"),
        (lambda: Worst(upweight="all"), "Worst+G"),
    ],
)
def test_methods_are_called_as_in_the_paper(method, title):
    assert method().title == title
