"""Pictures and the report of a study."""

import re
import shutil

from matplotlib.image import imread

from drurank.cli import main
from drurank.study import Result, Study, study_table
from drurank.study.pictures import options_with_grid


def test_options_of_words_or_null_have_no_picture(results):
    study = Study.load(results)
    other = []
    for place, value in enumerate((0.1, None, "auto", [1])):
        one = study.results[place]
        other.append(Result(one.folder, {**one.manifest, "options": {"model.x": value, "model.y": place}}))
    assert options_with_grid(Study(study.folder, tuple(other))) == ["y"]


def test_pictures_and_report_are_made_again_without_training(results, tmp_path, pictures):
    shutil.copytree(results, tmp_path / "study")
    main(["study", "report", "--folder", str(tmp_path / "study")])
    text = (tmp_path / "study/report.md").read_text(encoding="utf-8")
    assert study_table(Study.load(results), "qdcg10").render("markdown") in text
    (worst,) = [line for line in text.splitlines() if line.startswith("| worst |")]
    interval, share = r"-?[\d.]+ \(-?[\d.]+ to -?[\d.]+\)", r"[\d.]+"
    # Four figures, then both of ties, which have no interval.
    assert re.fullmatch(rf"\| worst( \| {interval}){{4}}( \| {share}){{2}} \| {interval} \|", worst)
    drawn = re.findall(r"\((\w+\.png)\)", text)
    assert drawn == ["choosing.png", "methods.png", "groups.png", "upweight_factor.png", "cutoff.png"]
    for name in drawn:
        assert imread(tmp_path / "study" / name).std() > 0.01
