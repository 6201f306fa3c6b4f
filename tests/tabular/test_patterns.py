"""Files of a pattern are found within limits, and a hub is asked only once that is said."""

import pytest

from drurank import hub, limits
from drurank.errors import InputError
from drurank.tabular.patterns import files_matching
from drurank.tabular.reading import read_table


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Nine files in three folders, which are twelve to look through, and one hidden folder of many."""
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        for name in ("x.csv", "y.csv", "z.tsv"):
            (tmp_path / folder / name).touch()
    (tmp_path / ".git").mkdir()
    for number in range(50):
        (tmp_path / f".git/{number}.csv").touch()
    monkeypatch.setattr(limits, "MOST_ENTRIES", 12)
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "number"),
    [("*/*.csv", 6), ("**/*.csv", 6), ("a/*", 3), ("**/[xz].*", 6), (".git/*.csv", 50), ("a/x.csv", 0)],
)
def test_files_of_a_pattern_are_found(files, pattern, number):
    assert len(files_matching(pattern)) == len(files_matching(f"{files}/{pattern}")) == number


@pytest.mark.parametrize("pattern", ["*/*", "**", "**/*.csv", "*/*/*.csv", "[a-z]/x.csv"])
def test_a_pattern_with_too_much_to_look_through_is_refused(files, monkeypatch, pattern):
    (files / "d").mkdir()
    (files / "d/one").touch()
    said = r"has more than 12 files and folders to look through; begin it with the folder that the files are in, or if"
    for each in (pattern, f"{files}/{pattern}"):
        with pytest.raises(InputError, match=said):
            files_matching(each)
    monkeypatch.setenv("DRURANK_LIMITS", "off")
    files_matching(pattern)


def test_hidden_folders_count_where_a_pattern_names_them(files):
    with pytest.raises(InputError, match="more than 12"):
        files_matching(".g*/*.csv")


def test_links_that_double_without_end_are_refused(files):
    for name in ("one", "two"):
        (files / "a" / name).symlink_to(files / "a")
    with pytest.raises(InputError, match="more than 12"):
        files_matching("a/**")


def test_all_folders_are_looked_through_twice_at_most(files):
    with pytest.raises(InputError, match=r"has \*\* 3 times; give it 2 times at most"):
        files_matching("**/a/**/b/**/*.csv")


def test_a_hub_is_asked_only_once_that_is_said(caplog, monkeypatch):
    asked = []

    def ask(name):
        asked.append((name, [*caplog.messages]))
        return "not found there"

    monkeypatch.setattr("drurank.tabular.hub._why_not", ask)
    hub.say_asked.cache_clear()
    for _ in range(2):
        with pytest.raises(InputError, match="not found there"):
            read_table("some/one")
    said = ["there is no file or folder some/one: asking the hub for the data set of that name"]
    assert asked == [("some/one", said)] * 2
