"""What a look at pictures finds."""

import shutil

import pytest
from PIL import Image

from drurank.cli import main
from drurank.data import Images
from drurank.images.look import Look, sum_up
from drurank.tabular.rules import find
from painting import NAMES, words_of, write_pictures


@pytest.fixture
def table(tmp_path):
    return write_pictures(tmp_path / "made")


def found(table, **options):
    rows = Images(str(table), **{**NAMES, "size": 16, **options}).inspected_rows()
    return {finding.code: finding for finding in find(rows)}


def test_sound_pictures_have_no_finding(table):
    assert not {code for code in found(table) if "picture" in code or "cop" in code}


def test_pictures_that_cannot_be_used_are_errors_unless_they_are_dropped(table):
    (table.parent / "pics/3.png").write_text("none")
    (table.parent / "pics/40.png").unlink()
    one = found(table)["unusable_pictures"]
    assert (one.severity, one.row, one.value) == ("error", 3, "pics/3.png")
    assert "'pics/3.png' is not a picture, or of a format that cannot be read, one of 2 such pictures" in one.sentence
    assert found(table, broken="drop")["unusable_pictures"].severity == "warning"


def test_pictures_of_one_colour_are_said(table):
    for row in (4, 6):
        Image.new("L", (20, 20), 7).save(table.parent / f"pics/{row}.png")
    one = found(table)["plain_pictures"]
    assert "row 4 (the first is 0): 'pics/4.png' is of one colour, as 1 other" in one.sentence


def test_copies_on_both_sides_of_a_split_are_told_by_what_they_hold(table):
    shutil.copy(table.parent / "pics/0.png", table.parent / "pics/32.png")  # both red
    sentence = found(table)["copies_across_splits"].sentence
    assert "1 of 12 in ood_val" in sentence
    assert "conflicting_pictures" not in found(table)


def test_the_same_picture_with_two_labels_is_said(table):
    shutil.copy(table.parent / "pics/0.png", table.parent / "pics/33.png")
    one = found(table)["conflicting_pictures"]
    assert (
        "'pics/0.png' is the same picture as in row 33, whose label is another one, as are 2 pictures" in one.sentence
    )


def test_pictures_that_are_made_larger_are_noted(table):
    one = found(table, size=70)["small_pictures"]
    assert one.sentence.startswith("56 of 56 pictures have a shorter side of less than 80 pixels, the least 18")


def test_a_look_says_what_a_picture_is(table):
    file = table.parent / "pics/4.jpg"
    Image.new("L", (30, 20), 7).save(file)
    look = Look.at(str(file))
    assert (look.width, look.height, look.mode, look.kind, look.is_plain, look.fault) == (30, 20, "L", "JPEG", True, "")
    others = [Look("is empty"), look, Look(width=10, height=40, mode="RGB", kind="PNG"), look]
    assert sum_up(others) == (
        "JPEG 2, PNG 1; 10 to 30 x 20 to 40 pixels, the shorter side 20 in the median; L 2, RGB 1"
    )


@pytest.mark.parametrize(("size", "network"), [(64, "ConvNet"), (65, "ImageClassifier")])
def test_inspect_proposes_a_network_for_the_size(table, capsys, size, network):
    main(["inspect", *words_of(table, size=size)])
    assert f"--model.network {network}" in capsys.readouterr().out


def test_inspect_proposes_to_leave_out_what_is_broken(table, run, capsys):
    (table.parent / "pics/3.png").write_text("none")
    assert run("inspect", *words_of(table)).exit_status == 1
    said = capsys.readouterr().out
    assert "error: unusable_pictures" in said
    (line,) = [line for line in said.splitlines() if line.startswith("Train on it:")]
    assert "--data.broken drop" in line
    assert "--data.check whole" in line
    assert "--model.network ConvNet" in line
