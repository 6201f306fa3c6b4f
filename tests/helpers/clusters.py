"""What a split by clusters promises of its parts."""

from collections import Counter

import numpy as np

PARTS = {"train", "id_val", "ood_val", "id_test", "ood_test"}


def assert_by_the_rule(writer, centre, part, taken, least=0):
    """Everything that the recipe says of a split whose clusters are these centres, two of which are taken.

    Writers of the cluster that trains with fewer than ``least`` rows are left out.
    """
    by_part = {name: set(writer[part == name]) for name in [*PARTS, "left out"]}
    (in_distribution,) = set(centre[part == "train"])
    (ood,) = taken - {in_distribution}
    inside, size = set(writer[centre == in_distribution]), Counter(writer)
    short = {name for name in inside if size[name] < least}
    assert by_part["left out"] == set(writer[~np.isin(centre, list(taken))]) | short
    assert by_part["ood_val"] | by_part["ood_test"] == set(writer[centre == ood])
    assert by_part["id_val"] | by_part["id_test"] == by_part["train"] == inside - short
    for val, test in (("ood_val", "ood_test"), ("id_val", "id_test")):
        both = len(by_part[val] | by_part[test])
        assert (len(by_part[val]), len(by_part[test])) == (both - both // 2, both // 2)
    for name in by_part["train"]:
        rows = part[writer == name]
        assert (rows == "train").sum() == len(rows) - len(rows) // 2
    return in_distribution
