import pytest

from drurank.words import counted, in_digits, in_range, joined, short, shortened


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.64, ".640"),
        (0, ".000"),
        (-0.0004, ".000"),
        (-0.04, "-.040"),
        (0.9994, ".999"),
        (0.9996, "1.00"),
        (1, "1.00"),
        (2.1414, "2.14"),
        (9.996, "10.0"),
        (27.66, "27.7"),
        (99.96, "100"),
        (999.7, "1,000"),
        (79212, "79,212"),
        (None, ""),
        (float("nan"), ""),
    ],
)
def test_numbers_have_three_digits(value, shown):
    assert in_digits(value) == shown


def test_ranges_of_negative_numbers_can_be_read():
    assert in_range((0.5862, 0.7085)) == ".586-.709"
    assert in_range((-0.2, -0.1)) == "-.200 to -.100"
    assert in_range(None) == ""
    assert in_range((float("nan"), float("nan"))) == ""


def test_numbers_of_things_and_lists_read_as_sentences():
    assert [counted(number, "group") for number in (0, 1, 1334)] == ["0 groups", "1 group", "1,334 groups"]
    assert [joined(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


def test_long_names_keep_both_ends():
    assert short("a" * 18) == "a" * 18
    assert short("begin" + "x" * 30 + "end") == "beginxxxx…xxxxxend"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["a", "b"], ["a", "b"]),
        (["ood_test", "the_longest_name_of_all"], ["ood_test", "the_longe…e_of_all"]),
        # Apart in the middle alone, which a name would be cut in.
        ([f"writer_of_reviews_{i}_of_all_writers" for i in (1, 2)], [f"…ter_of_reviews_{i}…" for i in (1, 2)]),
        (["DRU cutoff=5 upweight=all", "DRU cutoff=100 upweight=all"], ["DRU cutoff=5…", "DRU cutoff=100…"]),
        (["a" * 30, "a" * 31], ["a" * 30, "a" * 31]),
        (["x" * 30] * 2, ["x" * 9 + "…" + "x" * 8] * 2),
        ([], []),
    ],
)
def test_names_that_differ_are_shown_differently(names, shown):
    assert shortened(names) == shown
