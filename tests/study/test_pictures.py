"""Pictures and the report of a study."""

import re
import shutil
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.image import imread

from drurank.cli import main
from drurank.cli.compare_shown import figures
from drurank.files import write_json
from drurank.study import Result, Study, compare_in_study, study_table
from drurank.study.pictures import (
    draw_choosing,
    draw_methods,
    draw_option,
    draw_sorted_groups,
    options_with_grid,
    spans_magnitudes,
)
from runs import read_json


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
    assert text.count("How well criteria choose") == 1
    for pair, name in (("ERM", "Const+M"), ("ERM", "qDRU+M")):
        (one, *_) = compare_in_study(Study.load(results), pair, name).criteria
        shown = " | ".join(figures(one)).replace("<", "\\<")
        assert f"| {name} | {shown} |" in text
        assert f"study compare --first {pair} --second {name} --by qdcg10 --on ood_test" in text
    assert "study export-best --by qdcg10 --on ood_test --output best --folder" in text
    drawn = re.findall(r"\((\w+\.png)\)", text)
    assert drawn == ["choosing.png", "methods.png", "groups.png", "upweight_factor.png", "cutoff.png"]
    for name in drawn:
        assert imread(tmp_path / "study" / name).std() > 0.01


def test_an_option_that_is_called_as_a_picture_has_one_of_its_own(results, tmp_path):
    study = shutil.copytree(results, tmp_path / "study")
    names = ("methods", "model.methods", "model.model.methods", "_lr_")
    for number, file in enumerate(sorted(study.rglob("manifest.json"))):
        options = {f"model.{name}": number for name in names}
        write_json(file, {**read_json(file), "options": options})
    main(["study", "report", "--folder", str(study)])
    usual = ["choosing", "methods", "groups"]
    own = ["model.methods", "model.model.methods", "model.model.model.methods", "_lr_"]
    assert sorted(file.stem for file in study.glob("*.png")) == sorted([*usual, *own])
    shown = re.findall(r"!\[(.+)\]\((.+)\)", (study / "report.md").read_text())
    assert shown[3:] == [(name.replace("_lr_", r"\_lr\_"), f"{name}.png") for name in own]


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ([1e-5, 1e-4, 1e-3], True),
        ([1e-5, 1e-3], True),
        ([5, 20, 50, 100], True),
        ([0.00012, 0.0008, 0.0019, 0.007, 0.04], True),
        ([5, 100], False),
        ([10, 20, 30, 40, 50, 60, 70, 80, 90, 100], False),
        ([0, 1e-5, 1e-3], False),
        ([-1, 1, 100], False),
        ([2, 4, 6], False),
        ([3], False),
    ],
)
def test_values_over_magnitudes_are_on_a_logarithmic_axis(values, log):
    assert spans_magnitudes(values) == log


def lines_of(ax):
    return [line for line in ax.lines if line.get_linestyle() != "None"]


def with_options(study, options_of):
    """The same results, of one method, with other options by the number of their setting."""
    found = []
    for number, result in enumerate(study):
        options = options_of(number // 2)  # two seeds each
        found.append(Result(result.folder, {**result.manifest, "method": "DRU", "options": options}))
    return Study(study.folder, tuple(found))


def means_of(ax):
    """Place and height of the means, with the ends of their bars."""
    ((line, _, (bars,)),) = ax.containers
    ends = [segment[:, 1] for segment in bars.get_segments()]
    return line, list(zip(line.get_xdata(), line.get_ydata(), ends, strict=True))


@pytest.mark.parametrize("values", [(5, 20, 100), (5, 100)])
def test_means_have_their_deviations_and_a_line_joins_three_or_more(results, values):
    study = with_options(Study.load(results), lambda number: {"model.cutoff": values[number % len(values)]})
    (ax,) = draw_option(study, "cutoff", "qdcg10", "ood_test", "average").axes
    line, means = means_of(ax)
    assert [x for x, *_ in means] == list(values)
    for value, mean, ends in means:
        found = [r.counts("qdcg10", "ood_test") for r in study if r.manifest["options"]["model.cutoff"] == value]
        average = [np.mean(one.correct / one.count) for one in found]
        assert mean == pytest.approx(np.mean(average))
        assert ends == pytest.approx(mean + np.std(average, ddof=1) * np.array([-1, 1]))
    assert (line.get_linestyle() == "-") == (len(values) == 3)
    assert lines_of(ax) == [line] * (len(values) == 3)


@pytest.mark.parametrize("values", [(5, 20, 100), (10, 20, 30)], ids=["log", "linear"])
def test_every_candidate_is_within_the_axes_and_methods_with_one_value_lie_side_by_side(results, values):
    study = with_options(Study.load(results), lambda number: {"model.cutoff": values[number % 3]})
    named = [replace(one, manifest={**one.manifest, "method": f"m{n % 2}"}) for n, one in enumerate(study)]
    figure = draw_option(Study(study.folder, tuple(named)), "cutoff", "qdcg10", "ood_test", "average")
    figure.canvas.draw()
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.get_xticklabels()] == [str(value) for value in values]
    drawn = {name: next(line for line in ax.lines if line.get_label() == name) for name in ("m0", "m1")}
    pixels = {name: ax.transData.transform(line.get_xydata()) for name, line in drawn.items()}
    for points in pixels.values():
        assert len(points) == 6
        assert all(ax.get_window_extent().contains(*point) for point in points)
    at = {name: np.unique(points[:, 0].round(3)) for name, points in pixels.items()}
    ticks = ax.transData.transform([(value, 0.5) for value in values])[:, 0]
    assert at["m1"] - ticks == pytest.approx(ticks - at["m0"], abs=0.01)
    assert (at["m1"] - at["m0"] > 4).all(), "pixels"


def test_nothing_that_a_search_proposed_has_means(results, tmp_path):
    shutil.copytree(results, tmp_path / "study")
    study = Study.load(tmp_path / "study")
    of_dru = [result for result in study if result.method == "qDRU+M"]
    write_json(tmp_path / "study/trials/one.json", {"key": of_dru[0].manifest["key"]})
    (ax,) = draw_option(study, "cutoff", "qdcg10", "ood_test", "average").axes
    assert not ax.containers
    assert not lines_of(ax)
    assert len(ax.lines[0].get_xdata()) == len(of_dru), "a point a candidate"


def test_no_line_joins_values_with_other_options_beside_them(results):
    study = with_options(Study.load(results), lambda number: {"model.cutoff": number % 3, "model.shrink": number})
    (ax,) = draw_option(study, "cutoff", "qdcg10", "ood_test", "average").axes
    assert not ax.containers
    assert not lines_of(ax)


def test_estimates_lie_in_their_bars(results):
    for ax in draw_methods(Study.load(results), "qdcg10", "ood_test", ["average", "worst", "qdcg10"]).axes:
        points = {line.get_xdata()[0]: line.get_ydata()[0] for line in ax.lines if line.get_marker() == "o"}
        bars = {x: (low, high) for bar in ax.collections for (x, low), (_, high) in bar.get_segments()}
        assert len(points) == 6, "two seeds of three methods"
        for x, (low, high) in bars.items():
            assert low <= points[x] <= high
        assert bars.keys() == points.keys()


def test_each_picture_of_a_criterion_says_which_way_is_better(results):
    study = Study.load(results)
    for draw in (
        draw_methods(study, "qdcg10", "ood_test", ["worst", "qdcg10"]),
        draw_choosing(study, "qdcg10", "ood_test"),
    ):
        said = {ax.get_title() or ax.get_xlabel().removesuffix(", on validation") for ax in draw.axes}
        assert {"worst (higher is better)", "qdcg10 (lower is better)"} <= said
    for cell, better in (("average", "higher"), ("qdcg10", "lower")):
        (ax,) = draw_option(study, "cutoff", "qdcg10", "ood_test", cell).axes
        assert ax.get_ylabel() == f"{cell} ({better} is better), ood_test"


def test_an_axis_of_methods_that_is_cut_says_so(results):
    for ax in draw_methods(Study.load(results), "qdcg10", "ood_test", ["average", "worst", "qdcg10"]).axes:
        assert (ax.get_ylabel() == "axis does not begin at 0") is bool(ax.get_ylim()[0] > 0)
        assert ax.get_title().startswith("worst") or ax.get_ylabel(), "the others are cut"


def test_numbers_of_the_axes_of_validation_stand_apart(results):
    """Drawn, no number reaches into the next."""
    figure = draw_choosing(Study.load(results), "qdcg10", "ood_test")
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert ax.get_title() == "", "what an axis is of stands at the axis"
        assert ax.get_ylabel() == "accuracy of the worst group of ood_test"
        boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
        shown = sorted((box.x0, box.x1) for box in boxes if box.x1 > ax.bbox.x0 and box.x0 < ax.bbox.x1)
        assert len(shown) > 1
        assert all(one[1] < other[0] for one, other in pairwise(shown))


def test_the_mean_of_another_method_is_told_from_the_band(results):
    figure = draw_sorted_groups(Study.load(results), "qdcg10", "ood_test")
    (legend,) = figure.legends
    (line,) = [line for line in legend.get_lines() if line.get_label() == "mean of another method"]
    assert (line.get_color(), line.get_linestyle()) == ("black", ":")


def test_a_criterion_without_an_interval_has_crosses_alone(results):
    (ax,) = draw_methods(Study.load(results), "qdcg10", "ood_test", ["tstat"]).axes
    assert {line.get_marker() for line in ax.lines} == {"x"}


def test_sorted_groups_have_what_chance_alone_gives_beside_them(results):
    study = Study.load(results)
    chosen = study.chosen("qdcg10")
    figure = draw_sorted_groups(study, "qdcg10", "ood_test")
    assert [ax.get_title() for ax in figure.axes] == list(chosen)
    for ax, results_of in zip(figure.axes, chosen.values(), strict=True):
        counts = [result.counts("qdcg10", "ood_test") for result in results_of]
        drawn = [tuple(line.get_ydata()) for line in ax.lines if line.get_label() == "a seed"]
        assert drawn == [tuple(np.sort(one.correct / one.count)) for one in counts]
        (band,) = ax.collections
        corners = band.get_paths()[0].vertices
        pooled = np.mean([one.correct.sum() / one.count.sum() for one in counts])
        rng = np.random.default_rng(0)
        worst = np.sort(rng.binomial(10, pooled, (4000, 4)) / 10, axis=1)[:, 0]
        at_first = corners[corners[:, 0] == 1][:, 1]
        assert [at_first.min(), at_first.max()] == pytest.approx(np.percentile(worst, [5, 95]), abs=0.11)
