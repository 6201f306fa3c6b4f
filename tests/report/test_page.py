"""The page of a report, read as a browser reads it."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drawing import RENDER, saved_by
from drurank.cli import main
from drurank.report import report_predictions
from drurank.words import in_digits
from pages import Page
from runs import read_csv

EVIL = "<script>alert('x')</script> & \"b\" \x1b[31m"


def write(path, groups, rows):
    """Groups of so many rows, of which the first has none right and each other all but one."""
    lines = ["label,prediction,group"]
    for number, name in enumerate(groups):
        quoted = '"' + name.replace('"', '""') + '"'
        lines += [f"{k % 2},{(k % 2) if number and k else 1 - k % 2},{quoted}" for k in range(rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    with contextlib.chdir(tmp_path_factory.mktemp("page")), saved_by(RENDER):
        write("p.csv", [EVIL, *[f"clinic {k}" for k in range(30)]], 20)
        main(["report", "--predictions", "p.csv", "--figure", "fpr", "--html", "out.html"])
        return Path("out.html").read_text(encoding="utf-8")


@pytest.fixture
def page(text):
    return Page(text)


def test_it_has_every_group_of_each_figure_the_worst_first(page):
    assert page.headings == [
        "How groups are served: p.csv",
        *("Accuracy", "Criteria", "31 groups"),
        *("False positive rate (positive: 1)", "Criteria", "31 groups"),
        "How this was made",
    ]
    criteria, groups, _, of_fpr, _ = page.tables
    assert groups[0] == ["group", "rows", "right", "accuracy", "from", "to", "by chance from", "by chance to", "shrunk"]
    name = EVIL.replace("\x1b", "\\x1b")
    assert groups[1][:5] == [name, "20", "0", ".000", ".000"]
    assert groups[2][1:4] == ["20", "19", ".950"]
    assert len(groups) == len(of_fpr) == 32
    assert of_fpr[1][:4] == [name, "10", "10", "1.00"]
    worst = next(row for row in criteria if row[0] == "worst")
    assert worst[1:4] == ["all rows", "higher", ".000"]


def test_its_summary_says_who_is_served_worst_and_whether_that_is_chance(page):
    first, chance, *_, then = page.summary
    assert "with 0 of 20 rows right (.000); of all rows together .919 are right" in first  # 570 of 620
    ends = [float(end) for end in re.search(r"between (\S+) and (\S+)\.$", chance).groups()]
    drawn = np.random.default_rng(0).binomial(20, 570 / 620, (4000, 31)).min(axis=1) / 20
    assert ends == pytest.approx(np.percentile(drawn, (5, 95)), abs=0.051)
    name = then.removeprefix("Next: ").split(" is served worse")[0]
    assert first.startswith(f"Served worst: {name}, with")
    assert first.endswith("than chance alone would make a group of its size, even as the worst of 31 groups.")
    assert then.startswith(f"Next: {name} is served worse than chance would give: look at its rows that are wrong, and")


def test_it_says_what_the_criteria_are_and_what_the_columns_of_groups(text):
    assert (
        "overall: all rows together; average: the mean of the groups; worst: the group that is served worst; p10: "
        "10 % of the groups are served worse than this; gdcg10: errors of the worst 10 % of the groups, added"
    ) in text
    assert "gdcg10: false positive rates of the worst 10 % of the groups, added" in text
    assert "gap: the highest less the lowest of the groups; ratio: the lowest of the groups over the highest." in text
    assert "From, to: where the group&#39;s true figure probably lies, by its own rows alone; 5 to 95 %." in text


def test_of_groups_served_alike_it_says_that_none_stands_out():
    write("p.csv", [f"clinic {k}" for k in range(30)], 20)
    text = Path("p.csv").read_text(encoding="utf-8").replace('0,1,"clinic 0"', '0,0,"clinic 0"')
    Path("p.csv").write_text(text.replace('1,0,"clinic 0"', '1,1,"clinic 0"'), encoding="utf-8")
    report_predictions("p.csv", html="out.html")
    assert "no group stands out by more than chance" in Page(Path("out.html").read_text("utf-8")).summary[-1]


def test_it_needs_nothing_beside_it_and_runs_no_name(page, text):
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert not re.search(r"(?:src|href)=\"(?!data:)|https?://|@import|url\(", text)
    assert [tag for tag, _ in page.tags].count("script") == 1


def test_a_screen_reader_finds_its_way(page):
    assert ("html", {"lang": "en"}) in page.tags
    for tag, attrs in page.tags:
        if tag == "img":
            assert attrs["alt"]
        if tag == "th":
            assert attrs["scope"] in ("col", "row")
        if attrs.get("role") == "region":
            assert attrs["aria-label"]


def test_with_ten_thousand_groups_three_figures_and_two_splits_it_stays_small(pictures):
    """And every row is there, those behind the first too, which a browser shows when someone asks for them."""
    rng = np.random.default_rng(0)
    name = np.array([EVIL + "\t\n", *[f"a clinic of a longer name, number {k}" for k in range(9_999)]])
    group, label = np.repeat(np.arange(10_000), 6), np.tile([0, 1, 0, 1, 0, 1], 10_000)
    columns = {"label": label, "prediction": label ^ (rng.random(60_000) < 0.2), "group": name[group]}
    parts = [pa.table({**columns, "split": [split] * 60_000}) for split in ("ood_test", "id_test")]
    pa_parquet.write_table(pa.concat_tables(parts), "p.parquet")
    report = report_predictions("p.parquet", split="split", figure="fpr,tpr", html="out.html")
    text = Path("out.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 1.2e6
    assert "<script>alert" not in text
    tables = [table for table in Page(text).tables if table[0][0] == "group"]
    assert [len(table) for table in tables] == [10_001] * 6
    shown = EVIL.replace("\x1b", "\\x1b")
    for table in tables:
        assert sorted(row[0].strip() for row in table[1:]) == sorted([shown, *name[1:]])
    of_file = {(row["split"], row["group"]): row for row in read_csv("p_report/groups_tpr.csv")}
    assert tables[2][0][:4] == ["group", "rows", "events", "fpr"]
    for place in (1, 150, 250, 7_000, 10_000):
        row = tables[4][place]
        of_row = of_file["ood_test", row[0] if row[0].strip() != shown else str(name[0])]
        assert row[1:4] == [of_row["count"], of_row["events"], in_digits(float(of_row["value"]))]
    assert report["splits"]["ood_test"]["groups"] == 10_000


def test_it_replaces_no_file_unasked():
    write("p.csv", ["a", "b"], 4)
    Path("out.html").write_text("mine", encoding="utf-8")
    with pytest.raises(Exception, match=r"out\.html"):
        report_predictions("p.csv", html="out.html")
    assert Path("out.html").read_text(encoding="utf-8") == "mine"
    report_predictions("p.csv", html="out.html", overwrite=True)
    assert Path("out.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_it_begins_with_the_groups_never_seen_and_has_a_sentence_for_each_figure():
    lines = ["label,prediction,group,split"]
    for split, group, wrong in (("train", "a", 9), ("train", "b", 0), ("ood_test", "c", 2), ("ood_test", "d", 6)):
        lines += [f"{k % 2},{k % 2 if k >= wrong else 1 - k % 2},{group},{split}" for k in range(20)]
    Path("p.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report_predictions("p.csv", split="split", figure="fpr", html="out.html")
    said = Page(Path("out.html").read_text("utf-8")).summary
    assert said[0].startswith(
        "Served worst in ood_test: 'd', with 14 of 20 rows right (.700); of all rows together .800"
    )
    assert said[1] == "2 of 2 groups were not seen in training."
    Path("p.csv").write_text("\n".join(lines).replace("c,ood", "a,ood").replace("d,ood", "b,ood"), encoding="utf-8")
    report_predictions("p.csv", split="split", figure="fpr", html="seen.html", output="seen")
    assert Page(Path("seen.html").read_text("utf-8")).summary[1] == "All groups were seen in training."
    # Of c one and of d three of ten negative rows are called positive.
    wanted = "False positive rate in ood_test: .200 of all rows together; the worst group is 'd', with .300 (3 of 10)."
    wanted = wanted.replace(" in ", " (positive: 1) in ", 1) + " That one group by itself may be chance."
    assert said[-2] == wanted


@pytest.mark.parametrize(
    ("groups", "rows", "low", "high"), [(60, 200, 100, 180), (240, 4, 2, 4)], ids=["one stands out", "none does"]
)
def test_it_sends_nobody_to_the_rows_of_a_group_that_is_the_worst_by_bad_luck(groups, rows, low, high):
    """Half of the groups at .5 and half at .9 or 1 differ for certain; the single row of another says next to nothing.

    Of 4 rows none is worse than chance by itself: at .75 a group has one or none right in 5 % of cases.
    """
    lines = ["label,prediction,group", "1,0,tiny"]
    for number in range(groups):
        right = high if number % 2 else low - (number == 8)
        lines += [f"{k % 2},{k % 2 if k < right else 1 - k % 2},clinic {number}" for k in range(rows)]
    Path("p.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = report_predictions("p.csv", html="out.html")
    assert (report["splits"]["all"]["worse_than_chance"] is None) == (rows == 4)
    first, *_, differ, then = Page(Path("out.html").read_text("utf-8")).summary
    assert first.startswith("Served worst: 'tiny', with 0 of 1 row right (.000)")
    assert differ.startswith("Taken together, groups differ by more than chance: true accuracies have a standard")
    text = Path("out.html").read_text("utf-8")
    assert ("the observed worst alone would not show it" in differ) == (rows == 4)
    assert ("is within chance, though &#39;clinic 8&#39; by its own rows is not" in text) == (rows == 200)
    certain = "even as the worst of 61 groups: 'clinic 8' (.495), 'clinic 0' (.500)"
    assert "That one group by itself may be chance." in first
    assert (certain in first) == (rows == 200)
    said = {
        200: "'clinic 8' is served worse than chance would give, with the strongest evidence of all groups: look",
        4: "groups differ, but none by itself is told from chance; begin with 'clinic 8', the lowest by shrunk",
    }
    assert then.startswith(f"Next: {said[rows]}")


def written(lines, header="label,prediction,group,split"):
    Path("p.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


def in_rows(split, group, rows, wrong):
    """Rows whose labels are No and Yes in turn, the first so many of them wrong."""
    names = ("No", "Yes")
    return [f"{names[k % 2]},{names[(k + (k < wrong)) % 2]},{group},{split}" for k in range(rows)]


@pytest.mark.parametrize("seen", [True, False])
def test_nobody_is_sent_to_training_rows_of_a_group_that_training_did_not_have(seen):
    unseen = [line for k in range(6) for line in in_rows("ood_test", f"new {k}", 50, 45 if k == 2 else 5)]
    lines = in_rows("train", "new 2" if seen else "old", 50, 2)
    written([*lines, *unseen])
    report_predictions("p.csv", split="split", on="ood_test", html="out.html")
    then = Page(Path("out.html").read_text("utf-8")).summary[-1]
    training = ", and at how many such rows training had;" if seen else " (training had no rows of this group);"
    assert then.startswith(
        f"Next: 'new 2' is served worse than chance would give: look at its rows that are wrong{training}"
    )


def test_it_says_once_how_groups_differ_and_how_it_was_made(capsys):
    """Of three groups one is right and two are wrong in three of four rows, so that the model is no use as a whole."""
    lines = [line for k in range(3) for line in in_rows("ood_test", f"g{k}", 100, 0 if k == 2 else 75)]
    written([*lines, *(line for k in range(3) for line in in_rows("id_test", f"g{k}", 100, 0 if k == 2 else 75))])
    words = ["--split", "split", "--on", "id_test,ood_test", "--figure", "fpr,error"]
    words += ["--positive", "Yes", "--min_count", "5"]
    main(["report", "--predictions", "p.csv", *words, "--html", "out.html"])
    said = " ".join(capsys.readouterr().out.split())
    text = Path("out.html").read_text("utf-8").replace("&#39;", "'")
    found = Page(text)
    labels = [attrs["aria-label"] for _, attrs in found.tags if attrs.get("role") == "region"]
    assert len(set(labels)) == len(labels)  # each figure has a drop too
    # Of accuracy of the first split in the summary; of the second split, and of each figure, below its criteria.
    assert len(re.findall("(?i)taken together, groups differ", text)) == 2 + 2 * 2
    assert len(re.findall("(?i)no better than always|not significantly better|worse than always", text)) == 2
    assert "False positive rate (positive: Yes)" in found.headings
    assert "Error rate" in found.headings
    made = dict(row for row in found.tables[-1])
    wanted = {"split": "split", "on": "id_test, ood_test", "figure": "fpr, error", "positive": "Yes", "min_count": "5"}
    assert wanted.items() <= made.items()
    # The terminal has a sentence for each split and figure, in the words of the page.
    for line in (found.summary[0], *found.summary[-3:-1]):
        assert line in said
    assert len(re.findall("Served worst in", said)) == 2
    assert len(re.findall("rate .{0,20}in (?:ood|id)_test: ", said)) == 4


def test_a_group_that_is_surely_worse_is_not_said_to_be_as_bad_as_chance_makes_others():
    """A hundred of 300 rows right is no chance, though of groups of two rows the worst has none right by chance."""
    lines = ["label,prediction,group"]
    for number in range(120):
        lines += [f"{k % 2},{k % 2 if k or number % 2 else 1 - k % 2},small {number}" for k in range(2)]
    lines += [f"{k % 2},{k % 2 if k < 100 else 1 - k % 2},large" for k in range(300)]
    Path("p.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = report_predictions("p.csv", html="out.html", min_count=2)
    said = Page(Path("out.html").read_text("utf-8")).summary
    assert report["splits"]["all"]["served_worst"]["group"] == "large"
    assert said[0].startswith("Served worst: 'large', with 100 of 300 rows right (.333)")
    assert "worse than chance alone would make a group of its size, even as the worst of 121 groups." in said[0]
    assert not any("chance alone would put the worst" in line or "alone would not show it" in line for line in said)
