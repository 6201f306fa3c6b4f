"""A threshold of one's own, or one that is chosen on validation; rates worked out anew with numpy."""

import csv
from pathlib import Path

import numpy as np
import pytest

from drurank.cli import main
from drurank.errors import InputError
from drurank.report import report_predictions


@pytest.fixture
def table(tmp_path):
    """Rows of two splits with a score of Yes and no prediction; scores have ties."""
    rng = np.random.default_rng(0)
    split = np.repeat(["ood_val", "ood_test"], 300)
    label = rng.random(600) < 0.4
    score = np.round(np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1), 2)
    group = rng.choice(["a", "b", "c"], 600)
    with (tmp_path / "p.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["split", "label", "score", "group"])
        writer.writerows(zip(split, np.where(label, "Yes", "No"), score, group, strict=True))
    return tmp_path / "p.csv", split, label, score, group


def reported(path, **options):
    return report_predictions(str(path), positive="Yes", score="score", split="split", overwrite=True, **options)


def test_rows_above_the_threshold_are_positive(table):
    path, split, label, score, group = table
    report = reported(path, threshold="0.55", figure="fpr")
    said = score > 0.55
    for name in ("ood_val", "ood_test"):
        here = split == name
        of_split = report["splits"][name]["criteria"]
        assert of_split["overall"]["value"] == pytest.approx(np.mean(said[here] == label[here]))
        rates = [said[here & ~label & (group == one)].mean() for one in "abc"]
        assert report["figures"]["fpr"]["splits"][name]["criteria"]["worst"]["value"] == pytest.approx(max(rates))
    assert report["threshold"] == 0.55
    assert "prediction" not in report


@pytest.mark.parametrize("limit", [0.0, 0.05, 0.2, 1.0])
@pytest.mark.parametrize("rate", ["fpr", "selection_rate", "tpr"])
def test_it_is_chosen_on_validation(table, rate, limit):
    path, split, label, score, _ = table
    report = reported(path, threshold=f"{rate}={limit}", threshold_on="ood_val")
    about = (split == "ood_val") & {"fpr": ~label, "tpr": label, "selection_rate": np.ones(600, bool)}[rate]
    values = np.unique(score[about])
    rates = np.array([(score[about] > value).mean() for value in values])
    found = report["threshold"]
    if rate == "tpr":
        wanted = values[rates >= limit].max() if (rates >= limit).any() else None
        assert (score[about] > found).mean() >= limit
        assert found < values[0] if wanted is None else found == wanted
    else:
        assert found == values[rates <= limit].min()
    assert (report["chosen_by"], report["chosen_on"]) == (f"{rate}={limit:g}", "ood_val")
    right = (score > found) == label
    here = split == "ood_test"
    assert report["splits"]["ood_test"]["criteria"]["overall"]["value"] == pytest.approx(right[here].mean())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": "fpr=0.1"}, "give the split whose rows choose it, as threshold_on=ood_val"),
        ({"threshold": "fpr=0.1", "threshold_on": "ood_test"}, "never on test"),
        ({"threshold": "fpr=0.1", "threshold_on": "val"}, "threshold_on is 'val', which is no split"),
        ({"threshold": "fprr=0.1", "threshold_on": "ood_val"}, "no threshold is chosen for 'fprr': did you mean 'fpr'"),
        ({"threshold": "fpr=1.1", "threshold_on": "ood_val"}, "a rate from 0 to 1, as fpr=0.1"),
        ({"threshold": "nan"}, "give a number, as 0.3"),
        ({"threshold": "0.3", "threshold_on": "ood_val"}, "threshold is a number, so none is chosen"),
        ({"threshold_on": "ood_val"}, "no threshold is asked for"),
        ({"threshold": "0.3", "positive": None}, "no class is known to be the positive one"),
        ({"threshold": "0.3", "score": None}, "there are no scores"),
        ({"threshold": "0.3", "labels": "Yes,No,Maybe"}, "there are 3 classes"),
    ],
)
def test_what_cannot_be_cut_is_refused(table, options, said):
    path = str(table[0])
    with pytest.raises(InputError, match=said):
        report_predictions(path, **{"positive": "Yes", "score": "score", "split": "split", **options})


def test_on_the_command_line(table, capsys):
    path = table[0]
    words = ["--score", "score", "--positive", "Yes", "--threshold", "tpr=0.9", "--threshold_on", "ood_val"]
    report = main(["report", "--predictions", str(path), "--split", "split", *words])
    assert f"Threshold {report['threshold']:g} (tpr=0.9 on ood_val): rows with a score above it" in " ".join(
        capsys.readouterr().out.split()
    )


def counted_table(of_validation, of_test):
    rows = [
        f"{split},{place % 2},{place / 10},g{place % 3},{of_validation if split == 'ood_val' else of_test}"
        for split in ("ood_val", "ood_test")
        for place in range(9)
    ]
    Path("c.csv").write_text("\n".join(["split,label,score,group,n", *rows, ""]), encoding="utf-8")


def test_a_threshold_of_large_counts_is_that_of_single_rows():
    given = {"positive": "1", "score": "score", "split": "split", "threshold": "fpr=.3", "threshold_on": "ood_val"}
    reports = []
    for times in (1, 10**12, 2**53 // 18):
        counted_table(times, times)
        reports.append(report_predictions("c.csv", count="n", overwrite=True, **given))
    values = [
        {name: one["value"] for name, one in report["splits"]["ood_test"]["criteria"].items()} for report in reports
    ]
    assert reports[0]["threshold"] == reports[1]["threshold"] == reports[2]["threshold"] == 0.6
    # Of label 1 the row at .7 is above and right, of label 0 all are right but that at .8: 5 of 9.
    assert [value["overall"] for value in values] == [5 / 9] * 3
    for value in values[1:]:
        assert value == pytest.approx(values[0])


def test_counts_of_zero_choose_no_threshold():
    counted_table(0, 5)
    given = {"positive": "1", "score": "score", "split": "split", "count": "n", "threshold_on": "ood_val"}
    for rate in ("fpr=.3", "tpr=.5", "selection_rate=.5"):
        with pytest.raises(InputError, match="threshold_on is 'ood_val', which has no rows"):
            report_predictions("c.csv", threshold=rate, **given)
