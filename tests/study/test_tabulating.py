"""Methods side by side: which settings, which values, what is bold."""

import csv
import io
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drurank.errors import InputError
from drurank.study import Study, study_table
from drurank.study.tabulating import column_cells
from simulations import simulated


def test_a_table_by_hand(results):
    study = Study.load(results)
    table = study_table(study, "qdcg10", cells=["average", "worst"])
    assert [row.method for row in table.rows] == ["Const+M", "ERM", "qDRU+M"]
    for row in table.rows:
        for place, seed in enumerate((0, 1)):
            mine = [r for r in study if r.method == row.method and r.seed == seed]
            best = min(mine, key=lambda result: result.validation("qdcg10"))
            assert row.settings[place] == best.setting
            counts = best.counts("qdcg10", "ood_test")
            assert row.cells["ood_test", "average"].values[place] == pytest.approx(
                np.mean(counts.correct / counts.count)
            )
            assert row.cells["ood_test", "worst"].values[place] == pytest.approx(np.min(counts.correct / counts.count))
    rows = list(csv.DictReader(io.StringIO(table.render("csv"))))
    assert len(rows) == 6
    assert float(rows[0]["average"]) == table.rows[0].cells["ood_test", "average"].values[0]


def test_what_chance_alone_gives_is_the_median_of_draws(results):
    study = Study.load(results)
    table = study_table(study, "qdcg10", cells=["tstat", "worst"])
    (sentence,) = [remark for remark in table.remarks if remark.startswith("By chance alone")]
    best = min(table.rows, key=lambda row: row.cells["ood_test", "tstat"].rank)
    rng, medians = np.random.default_rng(0), []
    for result in study.chosen("qdcg10")[best.method]:
        counts = result.counts("qdcg10", "ood_test")
        size = counts.count
        drawn = rng.binomial(size, counts.correct.sum() / size.sum(), (4000, len(size))) / size
        error = np.maximum(drawn.std(axis=1, ddof=1) / np.sqrt(len(size)), 1e-6)
        medians.append([np.median(drawn.mean(axis=1) / error), 100 * np.median(drawn.min(axis=1))])
    tstat, worst = np.mean(medians, axis=0)
    assert best.method in sentence
    assert float(sentence.split("tstat ")[1].split(",")[0]) == pytest.approx(tstat, rel=0.1)
    assert float(sentence.split("worst ")[1].rstrip(".")) == pytest.approx(worst, abs=5.1)


def test_a_seed_that_a_method_lacks_is_left_out_and_said(results, tmp_path):
    shutil.copytree(results, tmp_path / "study")
    for result in Study.load(results):
        if result.method == "ERM" and result.seed == 1:
            shutil.rmtree(tmp_path / "study/candidates" / result.manifest["key"])
    table = study_table(Study.load(tmp_path / "study"), "qdcg10")
    assert table.seeds == (0,)
    assert [len(row.cells["ood_test", "worst"].values) for row in table.rows] == [1, 1, 1]
    assert "Left out: seed 1, with which ERM is not finished." in table.remarks
    assert any(r.startswith("Not finished: ") and r.count("ERM") == 2 for r in table.remarks)
    assert "Nothing is bold: with one seed, chance in training cannot be told from a difference." in table.remarks


def test_methods_that_were_tested_on_other_groups_are_not_compared(results, tmp_path):
    shutil.copytree(results, tmp_path / "study")
    for result in Study.load(tmp_path / "study"):
        if result.method == "ERM":
            names = pa.array([f"other_{name}" for name in result.groups["group"].to_pylist()])
            place = result.groups.column_names.index("group")
            pa_parquet.write_table(result.groups.set_column(place, "group", names), result.folder / "groups.parquet")
    with pytest.raises(InputError, match=r"has other groups of ood_test than .*; compare like with like"):
        study_table(Study.load(tmp_path / "study"), "qdcg10")


def test_bold_is_only_what_is_distinguishable():
    rng = np.random.default_rng(0)
    for apart, bold in ((0.1, True), (0.0, False)):
        one, other = simulated(rng, 2, 100, 50, apart=apart)
        counts = {"A": one, "B": other}
        values = {name: tuple((correct / count).mean(axis=1)) for name, (correct, count) in counts.items()}
        cells = column_cells("average", values, counts, "paired")
        assert cells[max(values, key=lambda name: np.mean(values[name]))].is_distinguishable == bold


def test_bold_is_told_from_every_other_and_not_from_the_second_alone():
    rng = np.random.default_rng(0)
    one, other = simulated(rng, 3, 100, 50, apart=0.1)
    right, size = one[0].copy(), one[1]
    right[0], right[1], right[2] = right[0] * 0.2, right[1] * 0.9, right[2]  # last, and by one seed
    counts = {"A": one, "B": other, "C": (right, size)}
    values = {name: tuple((correct / count).mean(axis=1)) for name, (correct, count) in counts.items()}
    cells = column_cells("average", values, counts, "paired")
    assert [cells[name].rank for name in "ABC"] == [1, 2, 3]
    assert not cells["A"].is_distinguishable
    assert not cells["B"].is_like_best
    assert cells["C"].is_like_best
    assert not any(cell.is_second for cell in cells.values())
    del counts["C"], values["C"]
    cells = column_cells("average", values, counts, "paired")
    assert cells["A"].is_distinguishable
    assert cells["B"].is_second


def test_nothing_of_one_seed_is_bold():
    one, other = simulated(np.random.default_rng(0), 1, 100, 50, apart=0.2)
    counts = {"A": one, "B": other}
    values = {name: tuple((correct / count).mean(axis=1)) for name, (correct, count) in counts.items()}
    assert not column_cells("average", values, counts, "paired")["A"].is_distinguishable
