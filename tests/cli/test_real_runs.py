"""Each table of ../shared/data from the first look to the report: inspect, split, fit, test."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from drurank.cli import main
from reference import criteria
from runs import read_csv, read_json

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
OPTIONS = {
    "compas": [],
    "insteval": ["--data.categorical", "studage,lectage,service,dept,lecturer"],
    "wisdm_har": ["--data.exclude", "label_name", "--data.missing", "indicator"],
    "hotel_reviews": ["--data.exclude", "text"],
    "rt_critics": ["--data.exclude", "text,label10,fresh"],
    "omniglot_strokes": ["--data.exclude", "pixels,strokes"],
}
QUICK = ["--trainer.max_epochs", "1", "--data.batch_size", "256", "--trainer.enable_progress_bar", "false"]


def without_split(name):
    """The table without its split; of texts, how many words and capitals they have."""
    path = FOLDER / f"{name}.parquet"
    if not path.is_file():
        pytest.skip(f"there is no {path}; it is not part of the repository")
    table = pq.read_table(path).drop_columns("split")
    if "text" in table.column_names:
        for column, pattern in (("words", r"\S+"), ("capitals", r"[A-Z]"), ("negations", r"\b(not|no|never|n't)\b")):
            table = table.append_column(column, pc.count_substring_regex(table["text"], pattern))
    return table


@pytest.mark.parametrize("name", OPTIONS)
def test_table_is_inspected_split_fitted_tested_and_reported(name, run, capsys):
    pq.write_table(without_split(name), "raw.parquet")
    least = ["--min_count", "10"] if name == "omniglot_strokes" else []
    main(["split", "--path", "raw.parquet", "--label", "label", "--group", "group", "--output", "t.parquet", *least])
    data = ["--data", "Table", "--data.path", "t.parquet", "--data.label", "label", "--data.group", "group"]
    data += ["--data.split", "split", *OPTIONS[name]]
    capsys.readouterr()
    main(["inspect", *data])
    assert "difference" in capsys.readouterr().out[-400:]  # the smallest that can be shown
    run("fit", *data, "--model", "DRU", *QUICK)
    run("test", "--run", "runs/version_0")
    check_report(Path("runs/version_0/test/qdcg10"), pq.read_table("t.parquet"))


def check_report(folder: Path, table: pa.Table) -> None:
    report, rows = read_json(folder / "report.json"), read_csv(folder / "groups.csv")
    assert list(report["splits"]) == ["ood_test", "id_test"]
    split, group = (np.array(table[name].to_pylist()) for name in ("split", "group"))
    found = {}
    for name, content in report["splits"].items():
        here = [row for row in rows if row["split"] == name]
        correct, count = (np.array([int(row[key]) for row in here]) for key in ("correct", "count"))
        names, sizes = np.unique(group[split == name], return_counts=True)
        assert {row["group"]: int(row["count"]) for row in here} == dict(zip(names, sizes, strict=True))
        assert {row["seen_in_training"] for row in here} == {"true" if name == "id_test" else "false"}
        assert (content["rows"], content["groups"]) == (count.sum(), len(count))
        found[name] = criteria(correct, count)
        if np.ptp(correct / count) == 0:
            found[name]["tstat"] = None  # of groups that do not differ it is left out
        for key, value in found[name].items():
            assert content["criteria"][key]["value"] == (value and pytest.approx(value, rel=1e-9)), (name, key)
        draws = np.random.default_rng(1).binomial(count, correct.sum() / count.sum(), (2000, len(count))) / count
        for key, values in (("worst", draws.min(axis=1)), ("p10", np.percentile(draws, 10, axis=1))):
            floor = content["criteria"][key]["floor"]
            low, high = np.percentile(values, (40, 60))  # half a hundred standard errors of a median of 1,000
            assert low - 1e-9 <= floor["median"] <= high + 1e-9, (name, key)
    for key, drop in report["drop"]["criteria"].items():
        sign = -1 if "dcg" in key else 1
        before, after = found["id_test"][key], found["ood_test"][key]
        if None in (before, after):
            assert drop["value"] is None
        else:
            assert drop["value"] == pytest.approx(sign * (before - after), abs=1e-9)


def test_who_is_called_a_risk_wrongly(run):
    """COMPAS: of the men who did not offend again, Black ones are called a risk about twice as often as white ones."""
    path = FOLDER / "compas.parquet"
    if not path.is_file():
        pytest.skip(f"there is no {path}; it is not part of the repository")
    data = ["--data", "Table", "--data.path", path, "--data.label", "label", "--data.group", "group"]
    run("fit", *data, "--data.split", "split", "--model", "ERM", "--trainer.max_epochs", "6")
    run("test", "--run", "runs/version_0", "--figure", "fpr")
    run("predict", "--run", "runs/version_0", "--output", "p.csv")
    rows = [row for row in read_csv("p.csv") if row["split"] == "id_test" and row["label"] == "0"]
    false_alarms = {}
    for row in rows:
        false_alarms.setdefault(row["group"], []).append(row["prediction"] == "1")
    folder = Path("runs/version_0/test/qdcg10")
    rates = {row["group"]: float(row["value"]) for row in read_csv(folder / "groups_fpr.csv") if row["value"]}
    assert rates == pytest.approx({group: np.mean(said) for group, said in false_alarms.items()})
    assert rates["African-American/Male"] > 1.5 * rates["Caucasian/Male"]
    summary = read_json(folder / "report.json")["figures"]["fpr"]["splits"]["id_test"]
    assert summary["served_worst"] == {"group": "African-American/Male", "beyond_chance": True}
    gap = summary["criteria"]["gap"]
    assert gap["value"] == pytest.approx(max(rates.values()) - min(rates.values()))
    assert gap["interval"][0] < gap["estimate"] < gap["interval"][1]
    assert gap["floor"]["median"] > 0
