"""The figures of a look at grouped data are those of numpy."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from drurank.cli.inspect import print_inspection
from faults import look, put, rows_of, sound, ten_faults
from runs import read_csv, read_json

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT.parent / "shared" / "data"


def test_the_figures_are_those_of_numpy(tmp_path):
    table = ten_faults()
    inspection = look(table)
    inspection.write(tmp_path / "out")
    split, group, label = (np.array(table[name]) for name in "sgy")
    saved = read_json(tmp_path / "out" / "findings.json")
    assert list(saved["splits"]) == ["train", "ood_val", "ood_test"]
    for part, content in saved["splits"].items():
        sizes = list(Counter(group[split == part]).values())
        assert content["rows"] == (split == part).sum()
        assert content["groups"] == len(sizes)
        expected = [min(sizes), *np.percentile(sizes, [25, 50, 75]), max(sizes)]
        assert list(content["group_sizes"].values()) == pytest.approx(expected)
        assert {name: count for name, count in content["labels"].items() if count} == Counter(label[split == part])
    assert [finding["code"] for finding in saved["findings"]] == [finding.code for finding in inspection.findings]
    assert json.dumps(saved["findings"]) == json.dumps([vars(finding) for finding in inspection.findings])


def test_the_table_of_groups_is_that_of_numpy(tmp_path):
    table = sound()
    look(table).write(tmp_path)
    split, group, label = (np.array(table[name]) for name in "sgy")
    lines = read_csv(tmp_path / "groups.csv")
    assert [(line["split"], line["group"]) for line in lines] == [(split[row], group[row]) for row in range(0, 720, 30)]
    for line in lines:
        here = (split == line["split"]) & (group == line["group"])
        assert int(line["count"]) == here.sum() == 30
        assert int(line["labels"]) == len(set(label[here]))
        chi = 0.0
        for name in "12345":
            count, share = (label[here] == name).sum(), (label[split == line["split"]] == name).mean()
            assert int(line[f"count_{name}"]) == count
            assert float(line[f"share_{name}"]) == pytest.approx(count / 30)
            chi += (count - 30 * share) ** 2 / (30 * share)
        assert float(line["unusual"]) == pytest.approx(chi)


def test_the_last_sentence_is_that_of_the_exact_test():
    # test_power.py has these differences from scipy: 37.57 points with 30 rows, 67.86 with 10.
    sentence = look(sound()).resolution()
    assert sentence == (
        "The median ood_test group has 30 rows. Between two such groups, only differences of 37.6 points or more can "
        "be detected reliably (80 % power of Fisher's exact test, two-sided at 5 %, the better group's accuracy 80 %, "
        "assumed)."
    )
    table = sound()
    put(table, "g", dict.fromkeys(list(rows_of("g20"))[:10], "ten"))
    assert "two of the smallest (10 rows) only differences of 67.9 points or more" in look(table).resolution()
    put(table, "y", {row: "5" for row in range(540, 720) if row % 10})
    p = np.mean(np.array(table["y"][540:]) == "5")
    assert f"accuracy {round(100 * p, 1):g} %, the share of the commonest label" in look(table).resolution()
    put(table, "g", {row: f"each {row // 6}" for row in range(540, 720)})
    put(table, "y", {row: "5" if row % 10 else "1" for row in range(540, 720)})
    # With 6 rows of accuracy .9, 86.1 points; with 5 of .8 not even all wrong.
    assert "(6 rows)" not in look(table).resolution()
    assert "only differences of 86.2 points" in look(table).resolution()
    put(table, "g", {row: f"each {row // 5}" for row in range(540, 720)})
    put(table, "y", {row: "5" if row % 2 else "1" for row in range(540, 720)})
    assert "5 rows. Between two such groups, no difference can be detected reliably (" in look(table).resolution()


@pytest.mark.parametrize("joined", [False, True])
def test_what_is_advised_to_be_joined_is_counted_joined(joined):
    """Eight groups of 12 rows, each written in three ways of four rows; one of them is of one label."""
    cells = [(group, row) for group in range(8) for row in range(12)]
    table = {
        "x": [float(i) for i in range(96)],
        "y": ["a" if group == 0 or row % 4 < 2 else "b" for group, row in cells],
        "g": [f"{('old town', 'Old Town', 'OLD TOWN')[row % 3]} {group}" for group, row in cells],
    }
    inspection = look(table, split=None, join_twins=joined)
    said = {finding.code: finding.sentence for finding in inspection.findings}
    begins = "The" if joined else "Once groups that differ only by how they are written are joined, the"
    assert inspection.resolution().startswith(f"{begins} median group has 12 rows. Between two such groups, ")
    assert "tiny_groups" not in said, "none has fewer than ten rows"
    some = "" if joined else ", with groups that differ only by how they are written joined,"
    assert said["one_class_groups"].startswith(f"1 group of two or more rows{some} has only one label (about ")
    assert "'old town 0' (12 rows, all 'a')" in said["one_class_groups"].replace("OLD TOWN", "old town")


@pytest.mark.parametrize("across", [False, True])
def test_groups_that_must_be_split_again_are_counted_as_they_are_written(across):
    table = sound()
    put(table, "g", dict.fromkeys(list(rows_of("g22"))[:4], "G01" if across else "G22"))
    said = {finding.code: finding.sentence for finding in look(table).findings}
    assert ("tiny_groups" in said) is across
    assert look(table).resolution().startswith("The" if across else "Once")


def test_one_row_is_not_several():
    table = sound()
    put(table, "g", {row: f"each {row}" for row in range(690, 691)})
    assert "between two of the smallest (1 row) no difference" in look(table).resolution()


def test_labels_stand_in_one_order_in_all_rows_of_groups(capsys):
    """Of five labels those two are shown that differ most, in the order of the labels."""
    print_inspection(look(sound()))
    rows = re.findall(r"│ g\d\d +│ +30 │ (\d) [^,]*, (\d) ", capsys.readouterr().out)
    assert len(rows) > 10
    assert all(one < other for one, other in rows)


def test_without_split_or_group_there_is_still_something_to_see():
    table = sound()
    inspection = look({name: table[name] for name in "xkcyg"}, split=None)
    assert [part.split for part in inspection.splits] == ["all"]
    assert "The median group has 30 rows." in inspection.resolution()
    inspection = look({name: table[name] for name in "xkcy"}, split=None, group=[])
    assert inspection.findings == []
    assert "no difference between groups" in inspection.resolution()


def test_the_look_itself_needs_no_torch():
    code = "import sys, drurank.tabular.inspection; sys.exit('torch' in sys.modules or 'lightning' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
