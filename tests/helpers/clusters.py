"""Writers in clusters, and what a split by clusters promises."""

from collections import Counter

import numpy as np

PARTS = {"train", "id_val", "ood_val", "id_test", "ood_test"}
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
