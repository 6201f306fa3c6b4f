"""Pages on two models and on a study, read as a browser reads them."""

import re
from pathlib import Path

import numpy as np
import pytest

from drurank.cli import main
from drurank.study import Study, compare_in_study, study_table
from drurank.study.comparing_files import compare_predictions
from pages import Page
from studies import write_counts

EVIL = "<script>alert('x')</script> \x1b[31m"
GROUPS = (EVIL, "مستشفى", "😀", *[f"clinic {k}" for k in range(9)])


def write_two(gain, groups=GROUPS, splits=("id_test", "ood_test"), rows=40):
    """Two tables, of which the first has 30 of 40 rows of each group right, and the second so many more."""
    for name, right in (("a.csv", lambda k: 30), ("b.csv", lambda k: 30 + gain(k))):
        lines = ["label,prediction,group,split"]
        for split in splits:
            for number, group in enumerate(groups):
                quoted = '"' + group.replace('"', '""') + '"'
                lines += [f"{k % 2},{(k % 2) ^ (k >= right(number))},{quoted},{split}" for k in range(rows)]
        Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(file):
    return Page(Path(file).read_text(encoding="utf-8"))


@pytest.fixture
def two(capsys):
    """The page on a second model that gains 9 rows in all groups but the first, where it loses 25."""
    write_two(lambda k: -25 if k == 0 else 9)
    main(["report", "--predictions", "a.csv", "b.csv", "--split", "split", "--html", "out.html", "--output", "c"])
    return read("out.html"), " ".join(capsys.readouterr().out.split())


def test_it_says_which_groups_gain_and_lose_in_the_words_and_numbers_of_the_terminal(two):
    page, said = two
    name = EVIL.replace("\x1b", "\\x1b")
    assert page.headings == [
        "Two models compared",
        *("ood_test", "Criteria", "12 groups in ood_test"),
        *("id_test", "Criteria", "12 groups in id_test"),
        *("Training groups (id_test) and unseen groups (ood_test)", "How this was made"),
    ]
    criteria, groups = page.tables[:2]
    assert groups[0] == ["group", "rows", "first", "second", "second less first", "from", "to", "with the second"]
    assert groups[1][:5] + groups[1][7:] == [name, "40", "75.00", "12.50", "-62.5", "worse"]
    assert {row[0] for row in groups[2:]} == {*GROUPS[1:]}
    assert {tuple(row[1:5] + row[7:]) for row in groups[2:]} == {("40", "75.00", "97.50", "+22.5", "better")}
    found = {row[0]: row for row in criteria[1:]}
    assert found["worst"][1:5] == ["higher", "75.00", "12.50", "-62.5"]
    # (11 * 97.5 + 12.5) / 12
    assert found["average"][1:5] == ["higher", "75.00", "90.42", "+15.4"]
    (compared, _) = compare_predictions(["a.csv", "b.csv"], split="split")
    low, high = (100 * end for end in compared.criteria[1].difference.interval)
    assert found["average"][5] == f"{low:+.1f} to {high:+.1f}"
    for sentence in page.summary[1:3]:
        assert sentence in said
    every = " ".join(page.summary)
    assert "11 served better by the second, 1 worse" in every
    assert re.search(r"with the second the worst group is .<script>.*31m. \(12\.5 % right\)", every)
    assert "loses most, 62.5 percentage points of 40 rows." in every
    assert "gains most, 22.5 percentage points of 40 rows." in every
    drop = page.tables[4]
    assert drop[0][1:4] == ["first, id_test", "first, ood_test", "first, worse by"]
    assert next(row for row in drop if row[0] == "worst") == ["worst", "75.0", "75.0", "0.0", "12.5", "12.5", "0.0"]


def test_names_stay_names_and_a_screen_reader_finds_its_way(two):
    whole_and_readable(Path("out.html").read_text(encoding="utf-8"))


def whole_and_readable(text):
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert not re.search(r"(?:src|href)=\"(?!data:)|https?://|@import|url\(", text)
    tags = Page(text).tags
    assert [tag for tag, _ in tags].count("script") == 1
    identifiers = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(set(identifiers)) == len(identifiers)
    for tag, attrs in tags:
        if tag == "img":
            assert attrs["alt"]
        if tag == "th":
            assert attrs["scope"] in ("col", "row")
        if attrs.get("role") == "region":
            assert attrs["aria-label"]
        if "data-of" in attrs:
            assert attrs["data-of"] in identifiers


@pytest.mark.parametrize(
    ("gain", "said"),
    [(0, "Next: nothing in these rows speaks for either."), (9, "Next: the second is the better one on these rows.")],
)
def test_what_to_do_next_follows_from_what_is_told_from_chance(gain, said):
    write_two(lambda k: gain, splits=("ood_test",))
    main(["report", "--predictions", "a.csv", "b.csv", "--html", "out.html"])
    summary = read("out.html").summary
    assert summary[-1].startswith(said)
    assert not re.search("falls by", " ".join(summary))


def test_with_thousands_of_groups_it_stays_small():
    write_two(lambda k: k % 3 - 1, [f"a clinic of a longer name, number {k}" for k in range(2_000)], ["ood_test"], 31)
    main(["report", "--predictions", "a.csv", "b.csv", "--html", "out.html"])
    assert Path("out.html").stat().st_size < 4e5  # a fifth of what a page with 10,000 may have
    assert len(read("out.html").tables[1]) == 2_001


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    rng = np.random.default_rng(3)
    correct = {"ERM": rng.integers(10, 30, (3, 12)), "B <b>id": rng.integers(20, 40, (3, 12))}
    return write_counts(tmp_path_factory.mktemp("page") / "study", correct, 40)


def test_a_study_shows_its_verdict_methods_intervals_differences_and_groups(study, capsys):
    main(["study", "report", "--folder", str(study), "--html", "out.html"])
    text = Path("out.html").read_text(encoding="utf-8")
    whole_and_readable(text)
    page, found = Page(text), Study.load(study)
    table = study_table(found)
    assert page.headings[:3] == ["Methods compared: study", "Methods on ood_test", "Which setting was chosen"]
    assert page.summary[0] == table.verdict[0]
    methods, chosen, differences, groups, made = page.tables
    assert [row[0] for row in methods] == ["method", "B <b>id", "ERM"]
    assert methods[0][2] == "average (higher is better)"
    for row, known in zip(methods[1:], table.rows, strict=True):
        cell = known.cells["ood_test", "average"]
        mark = r" [*+]" if cell.is_distinguishable or cell.is_second else ""
        shown = re.fullmatch(rf"([\d.]+) ± ([\d.]+){mark}\(([\d.]+) to ([\d.]+)\)", row[2])
        value, sd, low, high = map(float, shown.groups())
        assert value == pytest.approx(100 * cell.mean, abs=0.051)
        assert sd == pytest.approx(100 * cell.sd, abs=0.051)
        assert low < value < high
    assert [row[0] for row in chosen] == ["B <b>id", "ERM"]
    compared = compare_in_study(found, "ERM", "B <b>id", "qdcg10", "ood_test", ["average"]).criteria[0]
    low, high = (100 * end for end in compared.difference.interval)
    average = next(row for row in differences if row[1] == "average")
    assert average[5] == f"{low:+.1f} to {high:+.1f}"
    counts = [found.side_by_side("qdcg10", "ood_test")[0].correct[0].mean(axis=1) / 40 * 100]
    assert sorted(tuple(row[2:]) for row in groups[1:]) == sorted(
        tuple(f"{x:.1f}" for x in pair) for pair in counts[0].T
    )
    assert any("study report" not in row[1] and "study table" in row[1] for row in made)
    assert "average" in (study / "report.md").read_text()


def test_two_methods_of_a_study_make_a_page_too(study):
    words = ["--folder", str(study), "--first", "ERM", "--second", "B <b>id", "--html", "two.html"]
    main(["study", "compare", *words])
    text = Path("two.html").read_text(encoding="utf-8")
    whole_and_readable(text)
    assert Page(text).summary[0] == "First: ERM. Second: B <b>id. Both answered the same rows on ood_test."
    assert len(Page(text).tables[1]) == 13
