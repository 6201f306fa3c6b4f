"""Models that are no better than always answering the commonest class are named wherever models are shown."""

import re

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest
from scipy.stats import binomtest

from drurank.cli import main
from drurank.cli.seeds_shown import show_seeds
from drurank.cli.training_shown import say_what_to_try
from drurank.errors import InputError
from drurank.files import write_json
from drurank.report.classes import ClassCounts
from drurank.study import Study, compare_in_study, recommend, study_table
from drurank.study.constant import no_better
from drurank.study.pictures import draw_methods
from studies import table_of, write_counts

NO, YES = 130, 110
"""Rows of the test by class."""


def answer(right_no, right_yes, commonest=0):
    """What a report says of a model with so many right rows of each class."""
    return ClassCounts(["No", "Yes"], np.array([right_no, right_yes]), np.array([NO, YES]), commonest).constant_answer()


LUCKY, GOOD, CONSTANT, WORSE = answer(120, 14), answer(110, 90), answer(130, 0), answer(60, 60)
"""Better than 'No' by four rows of 240, by far, not at all, and worse than it."""


@pytest.fixture
def study_with(tmp_path):
    """Gives the folder of a study of methods by the constant answers in the reports of their seeds, best seed first."""

    def make(**answers):
        correct = {name: np.array([[14 - s] * 6 for s in range(len(some))]) for name, some in answers.items()}
        folder = write_counts(tmp_path / "study", correct, 40)
        for result in Study.load(folder):
            one = answers[result.method][result.seed]
            for by in result.criteria if one != "gone" else ():
                file = result.folder / f"version_0/test/{by}/report.json"
                write_json(file, {"min_count": 1, "splits": {"ood_test": {"constant_answer": one}}})
        return folder

    return make


def test_what_is_not_significantly_better_is_that_of_mcnemar():
    """The lucky one is right in 14 of the 24 rows where it and 'No' differ; chance does as well in a quarter of all."""
    assert binomtest(14, 24, alternative="greater").pvalue == pytest.approx(LUCKY["p_value"])
    assert binomtest(14, 24, alternative="greater").pvalue > 0.05
    assert binomtest(90, 110, alternative="greater").pvalue < 0.05
    (said,) = no_better({"A": [LUCKY, GOOD, WORSE], "B": [GOOD], "C": [CONSTANT]}, "ood_test")
    assert said == (
        "Not significantly better on ood_test than always answering 'No' (54.2 %): A with 2 of 3 seeds and C "
        "(McNemar's exact test of each, one-sided, 5 %)."
    )
    assert no_better({"B": [GOOD, GOOD]}, "ood_test") == []


def test_the_commonest_class_of_the_split_counts_too():
    """'Yes' is commonest in training. The model is better than that, but not than 'No', by 18 rows against 12."""
    one = answer(118, 18, commonest=1)
    assert one["p_value"] < 0.05 < one["here"]["p_value"]
    (said,) = no_better({"A": [one]}, "ood_test")
    assert "always answering 'No' (54.2 %): A" in said


def test_answers_of_several_splits_of_the_data_are_one_sentence():
    other = {**CONSTANT, "label": "Yes", "value": 0.51}
    (said,) = no_better({"A": [CONSTANT, other, GOOD]}, "test", "run")
    assert "on test than always answering the commonest class (51.0 % to 54.2 %): A with 2 of 3 runs (" in said


def test_every_command_that_shows_models_names_them(study_with, tmp_path, monkeypatch, capsys):
    folder = study_with(ERM=[LUCKY, GOOD], DRU=[GOOD, GOOD], JTT=[CONSTANT, WORSE])
    told = r"Not significantly better on ood_test than always answering 'No' \(54\.2 %\): "
    monkeypatch.setenv("COLUMNS", "1000")

    def said(*words):
        capsys.readouterr()
        main(["study", *words, "--folder", str(folder)])
        return " ".join(capsys.readouterr().out.split())

    assert re.search(f"{told}ERM with 1 of 2 seeds and JTT with 2 of 2 seeds ", said("table"))
    assert re.search(f"{told}ERM with 1 of 2 seeds and JTT", said("table", "--on", "ood_val"))
    assert re.search(f"{told}JTT with 2 of 2 seeds ", said("compare", "--first", "DRU", "--second", "JTT"))
    assert re.search(f"{told}ERM ", said("compare", "--first", "ERM seed=0", "--second", "DRU seed=0"))
    assert "always answering" not in said("compare", "--first", "ERM seed=1", "--second", "DRU seed=0")
    of_shares = told.replace(r"54\.2 %", r"\.542")  # the unit of that table
    assert re.search(f"{of_shares}ERM with 1 of 2 seeds ", said("seeds", "--method", "ERM"))
    assert "always answering" not in said("seeds", "--method", "DRU")
    main(["study", "report", "--folder", str(folder)])
    assert "Not significantly better on ood" in (folder / "report.md").read_text()
    runs = [result.folder / "version_0/test/worst" for result in Study.load(folder) if result.seed == 0]
    for run in runs:
        pa_parquet.write_table(table_of("worst", "ood_test", [12] * 6, 40), run / "groups.parquet")
    capsys.readouterr()
    main(["study", "compare", "--runs", str(runs[0]), str(runs[1])])
    assert re.search(f"{told}{re.escape(str(runs[1]))} ", " ".join(capsys.readouterr().out.split()))


@pytest.mark.parametrize(
    ("answers", "warning"),
    [
        ([WORSE, GOOD], r"Before you use it: ERM seed=0 is worse on ood_test than always answering 'No' \(54\.2 %\)\."),
        ([LUCKY, GOOD], r"Before you use it: ERM seed=0 is not significantly better on ood_test than always answer"),
        ([GOOD, LUCKY], r"Before you use it: 1 of the 2 runs of ERM, though not this one, is not significantly"),
        ([GOOD, GOOD], None),
    ],
)
def test_the_model_to_ship_is_warned_of(study_with, tmp_path, capsys, answers, warning):
    folder = study_with(ERM=answers, DRU=[GOOD, GOOD])
    found = recommend(Study.load(folder))
    assert (found.method, found.result.seed) == ("ERM", 0)
    is_its_own = warning is not None and "though not this one" not in warning
    assert len(found.warnings) == (warning is not None) + is_its_own
    if is_its_own:
        to_try = "To try: longer training (a larger max_epochs of its trainer), or another criterion (--by worst)."
        assert found.warnings[-1] == to_try
    assert study_table(Study.load(folder)).remarks[-len(found.sentences()) :] == found.sentences()
    run = found.result.folder / "version_0"
    (run / "checkpoints").mkdir()
    (run / "checkpoints/qdcg10.ckpt").write_bytes(b"weights")
    (run / "config.yaml").write_text("data: {}")
    main(["study", "export-best", "--folder", str(folder), "--output", str(tmp_path / "best")])
    out = capsys.readouterr().out
    assert re.search(warning, out) if warning else "Before you use it" not in out


def test_the_picture_of_methods_shows_the_constant_answer_that_the_table_warns_of(study_with):
    study = Study.load(study_with(ERM=[LUCKY, GOOD], DRU=[GOOD, GOOD], JTT=[CONSTANT, WORSE]))
    figure = draw_methods(study, "qdcg10", "ood_test", ["qdcg10", "worst"])
    assert [ax.get_title().split()[0] for ax in figure.axes] == ["qdcg10", "worst", "overall"]
    for ax in figure.axes[:2]:
        assert not [line for line in ax.lines if line.get_linestyle() == "--"]
    (line,) = [line for line in figure.axes[2].lines if line.get_linestyle() == "--"]
    assert set(line.get_ydata()) == {NO / (NO + YES)}
    said = " ".join(figure.get_supxlabel().split())
    (told,) = [remark for remark in study_table(study).remarks if remark.startswith("Not significantly better")]
    assert f"Dashed in overall: the constant answer. {told.replace('54.2 %', '.542')}" in said
    for drawn in (figure, draw_methods(study, "qdcg10", "ood_val", ["worst"])):  # two rows, and one panel
        drawn.savefig("m.png")
        around = drawn._supxlabel.get_window_extent()
        assert drawn.bbox.x0 <= around.x0 < around.x1 <= drawn.bbox.x1


@pytest.mark.parametrize("on", ["ood_test", "ood_val"])
def test_without_a_warning_or_a_test_the_picture_of_methods_has_no_constant_answer(study_with, on):
    study = Study.load(study_with(ERM=[GOOD if on == "ood_test" else WORSE], DRU=[GOOD]))
    figure = draw_methods(study, "qdcg10", on, ["worst", "overall"])
    assert len(figure.axes) == 2
    assert not [line for ax in figure.axes for line in ax.lines if line.get_linestyle() == "--"]
    assert "always answering" not in figure.get_supxlabel()


def test_of_several_splits_of_the_data_it_counts_runs(tmp_path):
    rows = {"ERM": np.full((2, 2, 6), 12), "A": np.full((2, 2, 6), 12)}
    folder = write_counts(tmp_path / "study", rows, 40, repeats=(900, 30))
    for result in Study.load(folder):
        file = result.folder / "version_0/test/qdcg10/report.json"
        one = CONSTANT if (result.method, result.run) == ("ERM", (1, 1)) else GOOD
        write_json(file, {"splits": {"ood_test": {"constant_answer": one}}})
    assert any("(54.2 %): ERM with 1 of 4 runs (" in said for said in study_table(Study.load(folder)).remarks)


def test_what_is_not_known_is_said_and_what_is_damaged_named(study_with):
    folder = study_with(ERM=["gone", GOOD], DRU=[GOOD, None], A=[GOOD, GOOD])
    study = Study.load(folder)
    said = "Not known whether better on ood_test than always answering the commonest class: "
    assert any(one.startswith(f"{said}DRU and ERM, of which") for one in study_table(study).remarks)
    assert any(one.startswith(f"{said}ERM, of which") for one in compare_in_study(study, "ERM", "A").remarks)
    for one in (1, {"label": "No"}, {**GOOD, "here": 3}, {**GOOD, "here": {"label": "No"}}):
        for result in study:
            file = result.folder / "version_0/test/qdcg10/report.json"
            write_json(file, {"splits": {"ood_test": {"constant_answer": one}}})
        with pytest.raises(InputError, match=r"report.json is damaged: its .*; test the run again"):
            show_seeds(str(folder), method="A")


@pytest.mark.parametrize(
    ("answers", "epochs", "said"),
    [
        ({"worst": LUCKY, "p10": GOOD}, (3, 2), "worst is no better than a constant answer."),
        ({"worst": GOOD, "p10": GOOD}, (0, 2), "worst is of epoch 0, the first."),
        ({"worst": CONSTANT, "p10": WORSE}, (1, 0), "worst and p10 are no better than a constant answer; p10 is of"),
        ({"worst": GOOD, "p10": GOOD}, (1, 2), ""),
    ],
)
def test_tests_of_a_run_end_with_what_to_try(tmp_path, capsys, answers, epochs, said):
    for name, one in answers.items():
        write_json(tmp_path / name / "report.json", {"splits": {"ood_test": {"constant_answer": one}}})
    selection = {name: {"epoch": epoch} for name, epoch in zip(answers, epochs, strict=True)}
    say_what_to_try({name: tmp_path / name for name in answers}, selection)
    out = capsys.readouterr().out
    assert out.startswith(f"Best checkpoints: {said}" if said else "")
    to_try = "To try: longer training (fit with a larger --trainer.max_epochs), or another criterion (--select of fit)."
    assert out.endswith(f" {to_try}\n") is bool(said)


@pytest.mark.parametrize("epochs", [1, 2, 3, 8])
def test_a_lower_learning_rate_is_tried_first_where_later_epochs_were_no_better(tmp_path, capsys, epochs):
    write_json(tmp_path / "test/worst/report.json", {"splits": {"ood_test": {"constant_answer": GOOD}}})
    lines = [f"{epoch},{value}" for epoch in range(epochs) for value in ("0.5", "")]
    (tmp_path / "metrics.csv").write_text("\n".join(["epoch,val_worst", *lines]) + "\n", encoding="utf-8")
    say_what_to_try({"worst": tmp_path / "test/worst"}, {"worst": {"epoch": 0}}, tmp_path)
    out = capsys.readouterr().out
    assert ("a lower learning rate (--model.optimizer.lr of fit)" in out) == (epochs > 2)
    assert ("longer training" in out) == (epochs <= 2)


def test_the_runs_tests_say_it_once(fit, run, tmp_path, capsys):
    made = fit(tmp_path, "--select", "worst,average", epochs=1)
    run("test", "--run", made)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "To try: " in line]
    assert "worst and average are of epoch 0, the first" in line
