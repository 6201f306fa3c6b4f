"""Worst: the worst groups alone weigh more."""

import numpy as np
import pytest

from drurank.errors import InputError
from drurank.methods import Worst
from fits import TIED, record_of_counts
from reference import spread


def test_worst_upweights_every_group_tied_for_the_worst():
    record, correct, group = record_of_counts(*TIED)
    by_group = [3, 1, 3, 1, 1]
    np.testing.assert_array_equal(Worst(3, "all").reweight(record), spread(by_group, correct, group, "all"))
    wrong_only = spread(by_group, correct, group, "misclassified")
    np.testing.assert_array_equal(Worst(3, "misclassified").reweight(record), wrong_only)


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
