"""Studies that choose, show and compare by criteria of other figures than accuracy."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest

from drurank.cli import main
from drurank.cli.compare_shown import verdict
from drurank.errors import InputError
from drurank.study import Plan, Study, compare_in_study, criteria_concordance, recommend, study_table
from drurank.study.chosen import Chosen
from drurank.study.comparing import compare_chosen
from drurank.study.values import value_of
from studies import finish, written

CRITERIA = ["worst-fpr", "qdcg10-fnr", "worst-auroc", "average"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    place = tmp_path_factory.mktemp("figures")
    candidates = [{"model": "ERM", "model.optimizer": ["SGD", "AdamW"]}, {"model": "DRU", "cutoff": 50}]
    file = written(place / "plan.yaml", candidates=candidates, criteria=CRITERIA, seeds=[0, 1])
    finish(file, place / "study")
    return Study.load(place / "study")


def of_test(result, by, figure):
    """Events and rows by group of unseen groups, as the report of the test has them."""
    table = pa_parquet.read_table(result.folder / "version_0/test" / by / f"groups_{figure}.parquet").to_pylist()
    rows = [row for row in table if row["split"] == "ood_test" and row["count"]]
    rows.sort(key=lambda row: row["group"])
    return np.array([row["events"] for row in rows]), np.array([row["count"] for row in rows])


def test_settings_and_epochs_are_chosen_by_the_figure_on_validation(study):
    for method, chosen in study.chosen("worst-fpr").items():
        for one in chosen:
            rivals = [other for other in study if other.method == method and other.seed == one.seed]
            history = {other: [epoch["val_worst-fpr"] for epoch in other.manifest["history"]] for other in rivals}
            assert one.validation("worst-fpr") == pytest.approx(min(map(min, history.values())))
            assert history[one][one.epoch("worst-fpr")] == pytest.approx(min(history[one]))
    assert all(
        one.validation("worst-auroc")
        == pytest.approx(max(epoch["val_worst-auroc"] for epoch in one.manifest["history"]))
        for one in study
    )


def test_the_table_has_the_figure_on_test_by_seed(study):
    table = study_table(study, "worst-fpr")
    assert table.names == ("worst-fpr", "average", "p10", "worst", "qdcg10-fnr")  # worst-auroc has no counts
    chosen = study.chosen("worst-fpr")
    for row in table.rows:
        for seed, result in enumerate(chosen[row.method]):
            events, count = of_test(result, "worst-fpr", "fpr")
            assert row.cells["ood_test", "worst-fpr"].values[seed] == pytest.approx((events / count).max())
            missed, positive = of_test(result, "worst-fpr", "fnr")
            best_first = np.sort(1 - missed / positive)
            expected = value_of("qdcg10", (best_first * 1000).round().astype(int), np.full(len(best_first), 1000))
            assert row.cells["ood_test", "qdcg10-fnr"].values[seed] == pytest.approx(float(expected), abs=0.01)
    order = sorted(table.rows, key=lambda row: row.cells["ood_test", "worst-fpr"].mean)
    assert order[0].cells["ood_test", "worst-fpr"].rank == 1  # less is better


def test_two_methods_are_compared_by_it_with_an_interval(study):
    found = compare_in_study(study, "ERM", "DRU", "worst-fpr", cells=["worst-fpr", "average"])
    one = found.criteria[0]
    rates = {}
    for method, results in study.chosen("worst-fpr").items():
        rates[method] = np.mean(
            [(events / count).max() for events, count in (of_test(r, "worst-fpr", "fpr") for r in results)]
        )
    assert one.first == pytest.approx(rates[found.first])
    assert one.difference.value == pytest.approx(rates[found.second] - rates[found.first])
    low, high = one.difference.interval
    assert -1 <= low <= one.difference.value <= high <= 1


def test_the_test_of_a_figure_is_that_of_an_accuracy_of_the_rows_that_went_well():
    """A false positive rate of all negative rows is 1 minus the accuracy of them, and so are its differences."""
    from drurank.study.differences import differences_from

    rng = np.random.default_rng(0)
    good, count = rng.integers(10, 40, (2, 3, 12)), np.full(12, 40)
    of_rate, of_accuracy = (differences_from(good, count, name, 0)[1] for name in ("worst-fpr", "worst"))
    assert of_rate.value == pytest.approx(-of_accuracy.value)
    assert of_rate.p == pytest.approx(of_accuracy.p)
    assert of_rate.interval == pytest.approx([-end for end in of_accuracy.interval[::-1]])


def test_what_has_no_counts_chooses_and_is_not_compared(study):
    said = recommend(study, "worst-auroc").why
    assert re.search("By worst-auroc on validation .* is best; on ood_test the methods are not compared by it", said)
    assert study_table(study, "worst-auroc").names == ("average", "p10", "worst", "worst-fpr", "qdcg10-fnr")
    with pytest.raises(InputError, match="criterion 'worst-auroc': there are no counts by group of that figure"):
        study_table(study, "average", cells=["worst-auroc"])
    with pytest.raises(InputError, match="criterion 'worst-fpr': there are no counts by group of that figure"):
        study_table(study, "average", on="ood_val", cells=["worst-fpr"])


def test_concordance_says_why_it_has_no_order_by_it(study):
    with pytest.raises(InputError, match=r"^criteria has worst-fpr, .* no counts by group of validation") as said:
        criteria_concordance(study, ["average", "worst-fpr"])
    assert str(said.value).endswith("give criteria of accuracy, as average")
    with pytest.raises(InputError, match="there is no figure 'fprr'"):
        criteria_concordance(study, ["worst-fprr"])


@pytest.mark.parametrize(
    "words",
    [
        ["table", "--by", "worst-fpr"],
        ["table", "--by", "worst-auroc", "--layout", "splits"],
        ["table", "--by", "worst-fpr", "--on", "ood_val"],
        ["compare", "--first", "ERM", "--second", "DRU", "--by", "worst-fpr"],
        ["plot", "--by", "worst-fpr"],
        ["report", "--by", "worst-fpr", "--html", "out.html"],
        ["concordance", "--by", "worst-fpr"],
        ["seeds", "--method", "ERM", "--by", "worst-fpr"],
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_every_command_of_a_study_takes_one(study, words, capsys):
    main(["study", words[0], "--folder", str(study.folder), *words[1:]])
    assert capsys.readouterr().out
    if "--html" in words:
        assert "worst-fpr (lower is better)" in Path("out.html").read_text()


def test_a_plan_names_a_criterion_that_there_is(tmp_path):
    with pytest.raises(InputError, match="there is no figure 'fprr'"):
        Plan.read(written(tmp_path / "plan.yaml", criteria=["worst-fprr"]))


def test_over_seeds_it_has_the_observed_values_of_test(study, capsys):
    main(["study", "seeds", "--folder", str(study.folder), "--method", "DRU", "--by", "worst-fpr"])
    said = " ".join(capsys.readouterr().out.split())
    found = json.loads((study.folder / "seeds.json").read_text())["splits"]["ood_test"]["criteria"]["worst-fpr"]
    (name,) = (method for method in study.chosen("worst-fpr") if "DRU" in method)
    rates = []
    for result in study.chosen("worst-fpr")[name]:
        events, count = of_test(result, "worst-fpr", "fpr")
        rates.append(float((events / count).max()))
    assert found["values"] == pytest.approx(rates)
    assert found["sd"] == pytest.approx(abs(rates[0] - rates[1]) / np.sqrt(2))
    assert found["better"] == "min"
    assert re.search(r"worst-fpr ", said)


def test_models_that_are_right_equally_often_are_not_called_equal_where_their_rates_differ():
    """Of 60 rows a group 30 are negative: one model is wrong in negative rows only, the other in positive ones only."""
    count, groups = np.full(12, 60), tuple(f"g{k}" for k in range(12))
    right = np.full((2, 1, 12), 48)
    negative = np.stack([np.full((1, 12), 18), np.full((1, 12), 30)])
    of_fpr = Chosen(("a", "b"), ((0, 0),), (negative,), (count // 2,), groups=groups)
    side = Chosen(("a", "b"), ((0, 0),), (right,), (count,), groups=groups, figures={"fpr": of_fpr})
    found = compare_chosen(side, ("a", "b"), "test", ["average", "average-fpr"], [])
    assert [one.difference.value for one in found.criteria] == pytest.approx([0, -0.4])
    said = " ".join(verdict(found))
    assert "b is better than a by average-fpr, by more than chance." in said
    assert "equal" not in said
    same = compare_chosen(side, ("a", "b"), "test", ["average"], [])
    assert "right in equally many rows of every group" in verdict(same)[0]
