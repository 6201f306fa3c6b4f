"""Several splits of the data: what a plan says of them, and what a table makes of them."""

import csv
import io
import shutil

import numpy as np
import pytest
from scipy import stats

from drurank.cli import main
from drurank.errors import InputError
from drurank.files import write_json
from drurank.study import Plan, Study, compare_in_study, criteria_concordance, study_table
from drurank.study.repeats import differences_over_repeats
from runs import read_json
from studies import ERM, write_counts, written

SHARE = 18 / 42
"""Of 60 groups 18 held out, nine of them tested."""


def test_the_test_of_two_is_that_of_nadeau_and_bengio():
    values = np.array([[0.81, 0.84, 0.80, 0.86], [0.76, 0.80, 0.79, 0.77]])
    found = differences_over_repeats(values, 0.25)[1]
    apart = values[0] - values[1]
    error = np.sqrt((1 / 4 + 0.25) * apart.var(ddof=1))
    p = 2 * stats.t.sf(apart.mean() / error, 3)
    assert (found.value, found.error, found.degrees) == pytest.approx((apart.mean(), error, 3))
    assert found.p == pytest.approx(p)
    half = stats.t.ppf(0.975, 3) * error
    assert found.interval == pytest.approx((apart.mean() - half, apart.mean() + half))
    for wrong in (values[:1], values[:, :1], values[0]):
        with pytest.raises(InputError, match="two or more of each"):
            differences_over_repeats(wrong, 0.25)


def repeated(rng, repeats, kind):
    """Average over nine tested groups of two equal methods, by method and split ``[2, R]``."""
    own = rng.normal(0, 0.05, (2, 60))
    if kind == "broken":  # a method fails on some groups, the other on others
        own = np.where(rng.random((2, 60)) < 0.1, -0.4, 0.0)
    tested = np.array([rng.permutation(60)[:9] for _ in range(repeats)])
    return own[:, tested].mean(axis=2) + rng.normal(0, 0.01, (2, repeats))


@pytest.mark.parametrize("kind", ["spread", "broken"])
def test_two_equals_are_rarely_called_different_and_far_more_often_without_the_correction(kind):
    rng = np.random.default_rng(1)
    tables = [repeated(rng, 15, kind) for _ in range(400)]
    wrong = {
        share: np.mean([differences_over_repeats(one, share)[1].is_distinguishable for one in tables])
        for share in (SHARE, 0.0)
    }
    # A test that calls 10 % of equals different passes here in 2 of 100 cases.
    assert wrong[SHARE] <= 0.07
    assert wrong[0.0] >= 0.12


@pytest.fixture(scope="module")
def splits(tmp_path_factory):
    """Four splits with two seeds each of three methods, of which the last is better; nine groups of 30 rows each."""
    rng = np.random.default_rng(0)
    rates = {"ERM": 0.7, "Const+M": 0.71, "qDRU+M": 0.85}
    correct = {
        name: [rng.binomial(30, np.clip(np.tile(rng.normal(rate, 0.05, 9), (2, 1)), 0, 1)) for _ in range(4)]
        for name, rate in rates.items()
    }
    return write_counts(tmp_path_factory.mktemp("splits") / "study", correct, 30, repeats=(1200, 40))


def test_a_table_over_splits_by_hand(splits):
    study = Study.load(splits)
    table = study_table(study, "qdcg10", cells=["average"])
    assert table.runs == tuple((repeat, seed) for repeat in range(4) for seed in range(2))
    assert "4 splits of the data, 2 seeds each" in table.title
    values = []
    for row in table.rows:
        by_hand = [
            np.mean(
                [
                    np.mean(r.counts("qdcg10", "ood_test").correct / 30)
                    for r in study
                    if (r.method, r.repeat) == (row.method, repeat)
                ]
            )
            for repeat in range(4)
        ]
        cell = row.cells["ood_test", "average"]
        assert cell.values == pytest.approx(by_hand)
        assert cell.sd == pytest.approx(np.std(by_hand, ddof=1))
        assert cell.is_distinguishable == (row.method == "qDRU+M")
        values.append(by_hand)
    # Held out are 2 splits of 9 groups of 30 rows, of 40 groups and 1,200 rows in training.
    (found,) = compare_in_study(study, "ERM", "qDRU+M", cells=["average"]).criteria
    pairs = [np.var(np.subtract(values[a], values[b]), ddof=1) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert found.difference.error == pytest.approx(np.sqrt((1 / 4 + 18 / 40) * np.mean(pairs)))
    assert found.difference.degrees == 2 * 3
    rows = list(csv.DictReader(io.StringIO(table.render("csv"))))
    assert [(row["method"], row["repeat"]) for row in rows[:4]] == [("Const+M", str(repeat)) for repeat in range(4)]


def test_what_compares_groups_asks_for_one_split(splits):
    study = Study.load(splits)
    with pytest.raises(InputError, match=r"repeat is None; .*give repeat=0 \(known: 0, 1, 2, 3\)"):
        study.of_repeat(None)
    assert len(study.of_repeat(2).results) == 6
    assert len(criteria_concordance(study.of_repeat(1), ["worst"], draws=2)) == 1
    assert compare_in_study(study, "ERM", "qDRU+M", cells=["average"]).groups is None
    assert set(study.frame()["repeat"]) == {0, 1, 2, 3}


def test_plot_and_report_show_the_first_split_and_report_names_the_data_of_all(splits, tmp_path, capsys, pictures):
    shutil.copytree(splits, tmp_path / "study")
    for file in tmp_path.glob("study/candidates/*/manifest.json"):
        content = read_json(file)
        content["data"]["source"] = f"split_{content['repeat']['number']}.csv"
        write_json(file, content)
    main(["study", "plot", "--folder", str(tmp_path / "study"), "--output", str(tmp_path / "drawn")])
    assert "Drawn is split 0 of 4; --repeat names another." in capsys.readouterr().out
    main(["study", "report", "--folder", str(tmp_path / "study")])
    of_report = (tmp_path / "study/methods.png").read_bytes()
    assert of_report == (tmp_path / "drawn/methods.png").read_bytes()
    words = ["--folder", str(tmp_path / "study"), "--output", str(tmp_path / "second"), "--repeat", "1"]
    main(["study", "plot", *words])
    assert of_report != (tmp_path / "second/methods.png").read_bytes()
    text = (tmp_path / "study/report.md").read_text(encoding="utf-8")
    assert "on split_0.csv, split_1.csv, split_2.csv and split_3.csv, 8 optimizer steps" in text


def test_two_repeats_of_the_same_data_are_refused(splits, tmp_path):
    shutil.copytree(splits, tmp_path / "study")
    for file in tmp_path.glob("study/candidates/*/manifest.json"):
        content = file.read_text(encoding="utf-8").replace('"split 3"', '"split 1"')
        file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="repeats 1 and 3 have the same data; give each repeat a split of its own"):
        study_table(Study.load(tmp_path / "study"), "qdcg10")
    (one, *_) = tmp_path.glob("study/candidates/*/manifest.json")
    assert read_json(one)["repeat"]["options"]


def test_every_setting_is_run_on_every_split_with_every_seed(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=ERM, repeats={"seed": [3, 4, 5]}))
    assert [(c.repeat.number, c.seed) for c in plan.candidates] == [(r, s) for r in range(3) for s in (0, 1)]
    assert len({c.key for c in plan.candidates}) == 6
    assert {c.setting for c in plan.candidates} == {"ERM"}
    words = plan.candidates[2].words()
    assert words[words.index("--data.seed") + 1] == "4"
    assert plan.candidates[2].name == "ERM, repeat 1, seed 0"
    without = Plan.read(written(tmp_path / "s.yaml", candidates=ERM))
    assert not {c.key for c in plan.candidates} & {c.key for c in without.candidates}
    for search in ("random", "tpe"):
        trials = Plan.read(
            written(tmp_path / "s.yaml", candidates=ERM, repeats={"seed": [3, 4]}, search=search, trials=2)
        ).candidates
        assert len({trial.key for trial in trials}) == 2 * 2 * 2


@pytest.mark.parametrize(
    ("repeats", "said"),
    [
        ([1, 2], "give options of the data with a list each"),
        ({}, "give options of the data with a list each"),
        ({"seed": 3}, "give options of the data with a list each"),
        ({"seed": [1]}, "give lists of one length, of two or more different splits"),
        ({"seed": [1, 1]}, "give lists of one length, of two or more different splits"),
        ({"seed": [1, 2], "path": ["a"]}, "give lists of one length"),
        ({"trainer.max_epochs": [1, 2]}, "repeats names 'trainer.max_epochs'; give options of the data"),
        ({"batch_size": [1, 2]}, "repeats and a candidate both name data.batch_size"),
    ],
)
def test_repeats_that_cannot_be(tmp_path, repeats, said):
    candidates = [{"model": "ERM", "data.batch_size": 8}]
    with pytest.raises(InputError, match=said):
        Plan.read(written(tmp_path / "s.yaml", candidates=candidates, repeats=repeats))
