"""Several columns of groups: each by itself, and crossed."""

import csv

import numpy as np
import pytest

from drurank.cli import main
from drurank.errors import InputError
from drurank.report import report_predictions
from runs import read_json


@pytest.fixture
def table(tmp_path):
    """Rows of two sexes and three ages; where each has the right prediction."""
    rng = np.random.default_rng(0)
    rows = [
        {"sex/gender": rng.choice(["f", "m"]), "age": rng.choice(["18", "30", "50"]), "y": int(rng.integers(2))}
        for _ in range(300)
    ]
    for row in rows:
        row["p"] = row["y"] if rng.random() < 0.8 else 1 - row["y"]
    with (tmp_path / "p.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path / "p.csv", rows


WORDS = ["--label", "y", "--prediction", "p", "--group", "sex/gender,age"]


def accuracies(rows, key):
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(row["p"] == row["y"])
    return {name: np.mean(right) for name, right in found.items()}


def test_each_column_and_their_crossing_are_reported(table, capsys):
    path, rows = table
    found = main(["report", "--predictions", str(path), *WORDS, "--by", "each", "--figure", "fpr"])
    assert list(found) == ["sex/gender", "age", "sex/gender,age"]
    keys = {
        "by_1_sex_gender": lambda row: row["sex/gender"],
        "by_2_age": lambda row: row["age"],
        "crossed": lambda row: f"{row['sex/gender']} | {row['age']}",
    }
    for (folder, key), report in zip(keys.items(), found.values(), strict=True):
        right = accuracies(rows, key)
        summary = report["splits"]["all"]
        assert summary["groups"] == len(right)
        assert summary["criteria"]["worst"]["value"] == pytest.approx(min(right.values()))
        assert read_json(path.parent / "p_report" / folder / "report.json") == report
        with (path.parent / "p_report" / folder / "groups.csv").open(newline="") as file:
            of_file = {row["group"]: float(row["accuracy"]) for row in csv.DictReader(file)}
        assert of_file == pytest.approx(right)
        assert (path.parent / "p_report" / folder / "groups_fpr.csv").is_file()
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line.startswith("By ") and line.endswith(":")] == [
        "By sex/gender:",
        "By age:",
        "By sex/gender and age:",
    ]


def test_one_page_has_a_section_for_each(table):
    path, _ = table
    page = path.parent / "p.html"
    main(["report", "--predictions", str(path), *WORDS, "--by", "each", "--figure", "fpr", "--html", str(page)])
    text = page.read_text(encoding="utf-8")
    titles = ["By sex/gender: ", "By age: ", "By sex/gender and age: "]
    headings = [f"<h2>{by}{figure}" for by in titles for figure in ("Accuracy", "False positive rate")]
    places = [text.index(heading) for heading in headings]
    assert places == sorted(places)
    ids = [part.split('"')[0] for part in text.split('<table id="')[1:]]
    assert len(set(ids)) == len(ids) == 6


def test_one_column_is_reported_as_usual(table):
    path, _ = table
    words = ["report", "--predictions", str(path), "--label", "y", "--prediction", "p", "--group", "age"]
    found = main([*words, "--by", "each"])
    assert list(found) == ["age"]
    assert (path.parent / "p_report/report.json").is_file()
    assert main([*words, "--overwrite"]) == found["age"]


def test_no_report_is_replaced_unasked(table):
    path, _ = table
    main(["report", "--predictions", str(path), *WORDS, "--by", "each"])
    before = (path.parent / "p_report/crossed/report.json").read_text()
    with pytest.raises(SystemExit):
        main(["report", "--predictions", str(path), *WORDS, "--by", "each"])
    assert (path.parent / "p_report/crossed/report.json").read_text() == before


def test_another_way_is_refused(table):
    with pytest.raises(InputError, match="by is 'all'"):
        report_predictions(str(table[0]), "y", "p", "age", by="all")
