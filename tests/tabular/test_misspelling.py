"""Rare names one letter from a far commoner one may be misspellings; codes and numbers are not."""

import pytest

from drurank.tabular.rules.misspelling import is_one_slip
from drurank.tabular.rules.spelling import MOST_RENAMED
from faults import look, put, sound


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("clerk", "clerkk"),  # one more
        ("nurse", "nusre"),  # two exchanged
        ("teacher", "teather"),  # another one
        ("bridge", "ridge"),  # the first one less
        ("east bridge 3", "east brige 3"),  # in one of several words
        ("müller", "muller"),
    ],
)
def test_a_slip_is_one_letter(one, other):
    assert is_one_slip(one, other)
    assert is_one_slip(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a1", "a2"),
        ("10", "11"),
        ("ward 10", "ward 11"),
        ("branch 100001", "branch 100002"),
        ("code-12345", "code-12346"),
        ("ward-a", "ward-b"),
        ("male", "males"),  # too short
        ("north hill", "south hill"),  # two letters
        ("clerk", "clerkkk"),
        ("nurse one", "nurse"),  # a word more
        ("clerk", "clerk"),
        ("clerk nurse", "clerkk nurses"),  # two words
    ],
)
def test_codes_numbers_and_other_words_are_no_slips(one, other):
    assert not is_one_slip(one, other)
    assert not is_one_slip(other, one)


def of_jobs(slips, usual="clerk", column="c"):
    """The sentences on a column of one usual name in 720 rows, with others in some."""
    table = sound()
    put(table, column, dict.fromkeys(range(720), usual))
    rare = [name for name, rows in slips.items() for _ in range(rows)]
    put(table, column, {5 * place: name for place, name in enumerate(rare)})
    return [finding for finding in look(table, group=["g"]).findings if finding.code == "misspelling"]


def test_a_rare_value_beside_a_far_commoner_one_is_noted():
    (finding,) = of_jobs({"clerkk": 8, "Clerk": 20, "cleark": 1})
    assert (finding.severity, finding.names) == ("note", ["c", "clerkk", "cleark"])
    assert finding.sentence == (
        "the feature column 'c' has rare values that may be misspellings: 'clerkk' (8 rows) = 'clerk' (711), 'cleark' "
        "(1 row) = 'clerk' (711)? If they are, mend them in the file"
    )


@pytest.mark.parametrize(("rows", "is_noted"), [(34, True), (35, False)])
def test_what_is_not_rare_is_a_value_of_its_own(rows, is_noted):
    """Of 720 rows 34 of one are less than a twentieth of the other 686, and 35 more than one of 685."""
    assert bool(of_jobs({"clerkk": rows})) is is_noted


@pytest.mark.parametrize("usual", ["A1", "10", "ward 10", "12345"])
def test_codes_are_not_noted(usual):
    assert not of_jobs({usual[:-1] + "7": 3}, usual)


def test_labels_and_groups_have_an_option():
    table = sound()
    put(table, "y", {row: "good" if row % 2 else "failed" for row in range(720)})
    put(table, "y", {0: "faild", 2: "Faild"})
    put(table, "g", dict.fromkeys(range(360), "harbour"))
    put(table, "g", dict.fromkeys((3, 4, 5), "harbor"))
    said = {f.names[0]: f.sentence for f in look(table).findings if f.code == "misspelling"}
    assert said["y"] == (
        "the label column 'y' has rare values that may be misspellings: 'Faild' (2 rows) = 'failed' (358)? If they "
        "are, give relabel={'Faild': 'failed', 'faild': 'failed'}"
    )
    assert said["g"] == (
        "the group column 'g' has rare values that may be misspellings: 'harbor' (3 rows) = 'harbour' (357)? If they "
        "are, give regroup={'harbor': 'harbour'}"
    )
    many = {row: f"harbour{'abcdefghijklm'[row]}" for row in range(MOST_RENAMED + 1)}
    put(table, "g", many)
    (said,) = [f.sentence for f in look(table).findings if f.code == "misspelling" and f.names[0] == "g"]
    assert said.endswith("? If they are, mend them in the file")
