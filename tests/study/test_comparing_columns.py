"""Columns of predictions of one table, each compared with each."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from drurank.cli import main
from drurank.errors import InputError
from drurank.report.answers import Answers
from drurank.study.comparing_columns import compare_columns
from drurank.study.comparing_files import compare_predictions
from runs import read_csv

RATES = {"a": 0.6, "b": 0.8, "c": 0.61}
WORDS = ["--predictions", "p.csv", "--label", "y", "--group", "g"]


@pytest.fixture
def table():
    """Predictions of three models, one of which is plainly better, also as files of their own and counted."""
    rng = np.random.default_rng(0)
    label, group = rng.integers(0, 2, 1500), rng.integers(0, 30, 1500)
    right = {name: rng.random(1500) < rate for name, rate in RATES.items()}
    said = {name: np.where(one, label, 1 - label) for name, one in right.items()}
    table = pa.table({"y": label, "g": group, "s": np.where(group % 2, "test", "val"), **said})
    pa_csv.write_csv(table, "p.csv")
    pa_parquet.write_table(table, "p.parquet", row_group_size=400)
    counted = (
        table.group_by(table.column_names).aggregate([([], "count_all")]).rename_columns([*table.column_names, "n"])
    )
    pa_parquet.write_table(counted, "counted.parquet")
    for name in RATES:
        pa_csv.write_csv(table.select(["y", "g", "s"]).append_column("yhat", table[name]), f"{name}.csv")
    return table


def told(comparison):
    """All that is told of the criteria and the groups."""
    criteria = [
        (one.criterion, one.first, one.second, one.difference.p, one.difference.interval) for one in comparison.criteria
    ]
    return criteria, comparison.groups, comparison.split


@pytest.mark.usefixtures("table")
def test_two_columns_compare_as_two_tables_do():
    (wanted,) = compare_predictions(["a.csv", "b.csv"], "y", "yhat", "g")
    for path, count in (("p.csv", None), ("p.parquet", None), ("counted.parquet", "n")):
        (found,) = compare_columns(path, "a,b", "y", "g", count=count)
        assert told(found) == told(wanted)
        assert (found.first, found.second) == ("a", "b")
    by_split = compare_predictions(["a.csv", "b.csv"], "y", "yhat", "g", "s")
    assert list(map(told, compare_columns("p.parquet", "a,b", "y", "g", "s"))) == list(map(told, by_split))


def test_three_columns_are_compared_in_pairs_and_corrected_for_their_number(table):
    found = compare_columns("p.parquet", ["a", "b", "c"], "y", "g", criteria="overall,average")
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    share = {name: float((table[name].to_numpy() == table["y"].to_numpy()).mean()) for name in RATES}
    for one in found:
        overall = one.criteria[0]
        assert (overall.first, overall.second) == pytest.approx((share[one.first], share[one.second]))
        assert overall.difference.value == pytest.approx(share[one.second] - share[one.first])
        assert "p and intervals allow for 3 methods being compared at once" in one.test
        first, second = (table[name].to_numpy() == table["y"].to_numpy() for name in (one.first, one.second))
        rows = {row["group"]: row for row in one.groups.to_pylist()}
        here = table["g"].to_numpy() == 7
        assert rows["7"]["difference"] == pytest.approx(second[here].mean() - first[here].mean())
    assert [one.criteria[0].difference.is_distinguishable for one in found] == [True, False, True]
    # Step by step: among the two that are left when b is told from both there are fewer to allow for.
    assert [one.criteria[0].difference.methods for one in found] == [3, 2, 3]
    (alone,) = compare_columns("p.parquet", "a,b", "y", "g", criteria="overall")
    wider, narrower = (np.ptp(one.criteria[0].difference.interval) for one in (found[0], alone))
    assert wider > narrower


@pytest.mark.usefixtures("table")
def test_the_command_shows_models_side_by_side_and_writes_each_pair(capsys):
    main(["report", *WORDS, "--prediction", "a,b,c", "--output", "out"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Models side by side, all" in said
    assert "a (first) and c (second), all" in said
    assert "b is better than a by" in said
    assert {file.name for file in Path("out").iterdir()} == {
        f"comparison_all_{two}.csv" for two in ("a_b", "a_c", "b_c")
    }
    assert len(read_csv("out/comparison_all_a_b.csv")) == 30
    main(["report", *WORDS, "--prediction", "a,b", "--split", "s", "--on", "val"])
    said = " ".join(capsys.readouterr().out.split())
    assert "a (first) and b (second), val" in said
    assert "side by side" not in said


@pytest.mark.usefixtures("table")
def test_each_pair_of_columns_has_a_page(capsys):
    main(["report", *WORDS, "--prediction", "a,b", "--html", "two.html"])
    assert "Page: two.html" in capsys.readouterr().out
    main(["report", *WORDS, "--prediction", "a,b,c", "--html", "pages/p.html"])
    assert {file.name for file in Path("pages").iterdir()} == {"p_a_b.html", "p_a_c.html", "p_b_c.html"}
    told = {pair: Path(f"pages/p_{'_'.join(pair)}.html").read_text("utf-8") for pair in ("ab", "ac", "bc")}
    for (first, second), page in told.items():
        assert f"First: {first}. Second: {second}." in page
    assert "First: a. Second: b." in Path("two.html").read_text("utf-8")


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("of_tables", [True, False])
def test_outputs_are_refused_before_anything_is_computed(monkeypatch, capsys, of_tables):
    Path("p.html").touch()
    monkeypatch.setattr(Answers, "counts", lambda *_, **__: pytest.fail("computed before it was refused"))
    tables = ["--predictions", "a.csv", "b.csv", *WORDS[2:], "--prediction", "yhat"]
    with pytest.raises(SystemExit):
        main(["report", *(tables if of_tables else [*WORDS, "--prediction", "a,b"]), "--html", "p.html"])
    assert "p.html exists; give another output" in capsys.readouterr().err


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prediction", "a,d"], "p.csv has no column 'd'"),
        (["--prediction", "a,b,a"], "prediction names 'a' twice; name each column once"),
        (["--prediction", "a,b", "--score", "p"], "columns are compared by what they predict, not by scores"),
        (["--prediction", "a,b", "--weight", "y"], "it is of a report on one column of predictions"),
        (["--prediction", "a,b", "--figure", "npv"], "figure 'npv' is of other rows with each model"),
        (["--prediction", "a,b", "--figure", "auroc"], "figure 'auroc' is no share of rows"),
        (["--prediction", "a,b", "--shrink"], "columns are compared by observed accuracies"),
        (["--prediction", "a,b", "--on", "val"], "no column says of which split a row is"),
        (["--prediction", "a,s"], "is not one of the labels"),
        (["--prediction", "a,b", "--output", "there"], "there/comparison_all_a_b.csv exists; give another output"),
    ],
)
def test_what_cannot_be_compared_is_answered_in_a_sentence(words, said, capsys):
    Path("there").mkdir()
    Path("there/comparison_all_a_b.csv").touch()
    with pytest.raises(SystemExit):
        main(["report", *WORDS, *words])
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_column_that_is_called_by_a_comma_is_one():
    pa_parquet.write_table(pa.table({"y": [1, 0, 0], "g": ["x", "x", "z"], "a,b": [1, 0, 1]}), "p.parquet")
    main(["report", "--predictions", "p.parquet", *WORDS[2:], "--prediction", "a,b"])
    assert Path("p_report/report.json").is_file()


def test_one_column_is_none_to_compare():
    with pytest.raises(InputError, match="prediction is 'a'; give two columns or more to compare them"):
        compare_columns("p.csv", "a")


def test_figures_are_compared_by_the_rates_of_both(table):
    (found,) = compare_columns("p.parquet", "a,b", "y", "g", criteria="worst,overall", figure="fpr,tpr", min_count=30)
    by_name = {one.criterion: one for one in found.criteria}
    assert list(by_name) == [
        "worst",
        "overall",
        *(f"{one}-{of}" for of in ("fpr", "tpr") for one in ("worst", "overall", "gap")),
    ]
    label, group = (table[name].to_numpy() for name in ("y", "g"))
    for figure, about in (("fpr", label == 0), ("tpr", label == 1)):
        groups = [here for g in range(30) if (here := about & (group == g)).sum() >= 30]
        assert 0 < len(groups) < 30
        for place, name in (("first", "a"), ("second", "b")):
            said = table[name].to_numpy() == 1
            rates = [said[here].mean() for here in groups]
            wanted = {
                "worst": max(rates) if figure == "fpr" else min(rates),
                "overall": said[about].mean(),
                "gap": max(rates) - min(rates),
            }
            for criterion, value in wanted.items():
                assert getattr(by_name[f"{criterion}-{figure}"], place) == pytest.approx(value)
    assert by_name["overall-fpr"].difference.value < 0
    assert by_name["overall-fpr"].difference.interval[1] < 0  # b has plainly fewer false alarms
    (of_files,) = compare_predictions(
        ["a.csv", "b.csv"], "y", "yhat", "g", criteria="worst,overall", figure="fpr,tpr", min_count=30
    )
    assert told(of_files) == told(found)
    (other,) = compare_columns("p.parquet", "a,b", "y", "g", criteria="overall", figure="fpr", positive="0")
    values = {one.criterion: one.first for one in other.criteria}
    assert values["overall-fpr"] == pytest.approx((table["a"].to_numpy() == 0)[label == 1].mean())
