"""Methods side by side: which settings, which values, what is bold."""

import csv
import io
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drurank.errors import InputError
from drurank.files import write_json
from drurank.study import Study, criteria_concordance, recommend, study_table
from drurank.study.chosen import Chosen
from drurank.study.tables import Cell, Row, StudyTable
from drurank.study.tabulating import column_cells
from drurank.terminal import Terminal
from simulations import simulated
from studies import table_of, write_counts


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


@pytest.mark.parametrize(
    ("model", "options", "equal"),
    [
        ("drurank.methods.DRU", {}, 1),
        ("drurank.methods.Worst", {}, 1),
        ("drurank.methods.Const", {}, 1),
        ("drurank.methods.JTT", {"first_stage_epochs": 2}, 2),
        ("drurank.methods.ERM", {}, 0),
        ("mine.DRU", {}, 0),
    ],
)
def test_seeds_that_were_chosen_before_any_weight_differed_are_counted(tmp_path, model, options, equal):
    """Epochs 0, 1, 2: below the first that reweights, the model is still ERM's."""
    folder = write_counts(tmp_path / "study", {"A": np.full((3, 6), 20), "ERM": np.full((3, 6), 20)}, 40)
    for result in Study.load(folder):
        if result.method == "A":
            selection = {by: {**one, "epoch": result.seed} for by, one in result.manifest["selection"].items()}
            config = {"model": {"class_path": model, "init_args": options}}
            write_json(result.folder / "manifest.json", {**result.manifest, "selection": selection, "config": config})
    said = [one for one in study_table(Study.load(folder)).remarks if "weights" in one]
    how = "Chosen at an epoch at which all weights were still equal, so trained as ERM is up to it"
    of_a = f"{how}: A with {equal} of 3 seeds."
    assert said == ([of_a] if equal else [])


def test_what_chance_alone_gives_is_the_median_of_draws(results):
    study = Study.load(results)
    table = study_table(study, "qdcg10", cells=["tstat", "worst"])
    (sentence,) = [remark for remark in table.remarks if remark.startswith("By chance alone")]
    taken = recommend(study, "qdcg10").method
    rng, medians = np.random.default_rng(0), []
    for result in study.chosen("qdcg10")[taken]:
        counts = result.counts("qdcg10", "ood_test")
        size = counts.count
        drawn = rng.binomial(size, counts.correct.sum() / size.sum(), (4000, len(size))) / size
        error = np.maximum(drawn.std(axis=1, ddof=1) / np.sqrt(len(size)), 1e-6)
        medians.append([np.median(drawn.mean(axis=1) / error), 100 * np.median(drawn.min(axis=1))])
    tstat, worst = np.mean(medians, axis=0)
    assert sentence.startswith(f"By chance alone, if {taken} served every group of ood_test alike: ")
    assert float(sentence.split("tstat ")[1].split(",")[0]) == pytest.approx(tstat, rel=0.1)
    assert float(sentence.split("worst ")[1].rstrip(".")) == pytest.approx(worst, abs=5.1)


def test_what_chance_alone_gives_is_that_of_the_method_to_take_though_another_looks_best(tmp_path):
    """B's mean is higher by one row of 40 in every other group: with these seeds that is not beyond chance."""
    rng = np.random.default_rng(0)
    noise = rng.integers(-4, 5, (2, 3, 30))
    correct = {"ERM": 28 + noise[0], "B": 28 + noise[1] + (np.arange(30) % 2)}
    table = study_table(Study.load(write_counts(tmp_path / "study", correct, 40)), "qdcg10", cells=["average", "worst"])
    assert table.rows[0].cells["ood_test", "average"].rank == 1 != table.rows[1].cells["ood_test", "average"].rank
    assert [row.method for row in table.rows] == ["B", "ERM"]
    (said,) = [remark for remark in table.remarks if remark.startswith("By chance alone")]
    assert said.startswith("By chance alone, if ERM served every group of ood_test alike: average ")
    share = correct["ERM"].mean() / 40
    assert float(said.split("average ")[1].split(",")[0]) == pytest.approx(100 * share, abs=0.2)


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
    assert "Nothing is bold: with one seed, chance in training cannot be told from a difference between methods." in (
        table.remarks
    )


def test_methods_that_were_tested_on_other_groups_are_not_compared(results, tmp_path):
    shutil.copytree(results, tmp_path / "study")
    for result in Study.load(tmp_path / "study"):
        if result.method == "ERM":
            names = pa.array([f"other_{name}" for name in result.groups["group"].to_pylist()])
            place = result.groups.column_names.index("group")
            pa_parquet.write_table(result.groups.set_column(place, "group", names), result.folder / "groups.parquet")
    with pytest.raises(InputError, match=r"has other groups of ood_test than .*; compare like with like"):
        study_table(Study.load(tmp_path / "study"), "qdcg10")


def test_methods_that_were_tested_on_other_rows_are_not_compared(results, tmp_path):
    shutil.copytree(results, tmp_path / "study")
    for result in Study.load(tmp_path / "study"):
        if result.method == "ERM":
            rows = [row | {"count": row["count"] + 1} for row in result.groups.to_pylist()]
            pa_parquet.write_table(pa.Table.from_pylist(rows), result.folder / "groups.parquet")
    with pytest.raises(InputError, match=r"has other numbers of rows of ood_test than .*; compare like with like"):
        study_table(Study.load(tmp_path / "study"), "qdcg10")


def cells_of(correct, count, test="paired"):
    """Cells of the average of methods A, B, ... from correct rows ``[K, S, m]`` and rows ``[m]``."""
    runs = tuple((0, seed) for seed in range(correct.shape[1]))
    return column_cells(Chosen(tuple("ABCDEFGHIJ"[: len(correct)]), runs, (correct,), (count,)), "average", test)


def test_bold_is_only_what_is_distinguishable():
    rng = np.random.default_rng(0)
    for apart, bold in ((0.1, True), (0.0, False)):
        cells = cells_of(*simulated(rng, 3, 100, 50, apart=apart))
        assert cells["A" if cells["A"].rank == 1 else "B"].is_distinguishable == bold


def test_bold_is_told_from_every_other_and_not_from_the_second_alone():
    rng = np.random.default_rng(0)
    correct, count = simulated(rng, 3, 100, 50, apart=0.1)
    third = correct[0] * np.array([0.2, 0.9, 1])[:, None]  # last, and by one seed
    cells = cells_of(np.stack([*correct, third.astype(int)]), count)
    assert [cells[name].rank for name in "ABC"] == [1, 2, 3]
    assert not cells["A"].is_distinguishable
    assert cells["C"].is_like_best
    assert not any(cell.is_second for cell in cells.values())
    cells = cells_of(correct, count)
    assert cells["A"].is_distinguishable
    assert not cells["B"].is_like_best
    assert cells["B"].is_second


def with_counts(results, folder, correct, size=10):
    """A copy of a study whose checkpoints got these rows right, ``[K, S, m]``, methods in the order of the alphabet."""
    shutil.copytree(results, folder)
    study = Study.load(folder)
    methods = sorted({result.method for result in study})
    for result in study:
        right = correct[methods.index(result.method), result.seed]
        tables = [table_of(by, split, right, size) for by in result.criteria for split in ("ood_val", "ood_test")]
        pa_parquet.write_table(pa.concat_tables(tables), result.folder / "groups.parquet")
    return Study.load(folder)


def test_the_papers_test_leaves_out_what_seeds_do(results, tmp_path):
    """By hand: over seeds the first is one row ahead of the second in every group, by +5 and -3 rows.

    Of the third it is ahead by 0, -1/2, 1 and 0 rows: t is .4, of three degrees of freedom.
    """
    first, second = [[9, 8, 9, 8], [4, 3, 4, 3]], [[4, 3, 4, 3], [7, 6, 7, 6]]
    third = [[9, 9, 7, 8], [4, 3, 4, 3]]
    study = with_counts(results, tmp_path / "study", np.array([first, second, third]))
    for test, like in (("t", [True, False, True]), ("paired", [True, True, True])):
        table = study_table(study, "qdcg10", cells=["average"], test=test)
        cells = [row.cells["ood_test", "average"] for row in table.rows]
        assert [cell.mean for cell in cells] == pytest.approx([0.6, 0.5, 0.5875])
        assert [cell.is_like_best for cell in cells] == like
    said = "bootstrapped t-test over groups, 5 % for each pair, not corrected for their number"
    assert f"Not distinguishable from the best ({said}): average: qDRU+M." in (
        study_table(study, "qdcg10", cells=["average"], test="t").remarks
    )
    with pytest.raises(InputError, match="test is 'z'; give one of 'paired', 't'"):
        study_table(study, "qdcg10", test="z")


@pytest.mark.parametrize("alike", [[8, 8, 8, 8], [10, 10, 10, 10], [0, 0, 0, 0]], ids=str)
def test_tstat_of_groups_that_are_alike_is_blank(results, tmp_path, alike):
    """It would be the mean over 1e-6, and 400,000 in the mean of two seeds."""
    one, other = [[9, 8, 7, 6], [9, 8, 8, 6]], [[8, 7, 6, 4], [8, 7, 7, 4]]
    study = with_counts(results, tmp_path / "study", np.array([one, [alike, [9, 8, 8, 6]], other]))
    table = study_table(study, "qdcg10", cells=["tstat"])
    const, erm, dru = (row.cells["ood_test", "tstat"] for row in table.rows)
    assert const.values == pytest.approx([np.mean(a) / (np.std(a, ddof=1) / 2) for a in one])
    assert np.isnan(erm.values[0])
    assert erm.values[1] == pytest.approx(const.values[1])
    assert (const.rank, dru.rank, erm.rank) == (1, 2, 3)
    assert not erm.is_like_best
    assert not any(cell.is_distinguishable or cell.is_second for cell in (const, erm, dru))
    assert next(line.split(" | ")[1] for line in table.render("markdown").splitlines() if "ERM" in line) == "-"
    assert list(csv.DictReader(io.StringIO(table.render("csv"))))[2]["tstat"] == ""
    assert any(sentence.startswith("A dash: ") for sentence in table.remarks)


def test_chance_alone_has_no_tstat_where_it_makes_no_difference(results, tmp_path):
    study = with_counts(results, tmp_path / "study", np.full((3, 2, 4), 10))
    (sentence,) = [one for one in study_table(study, "qdcg10").remarks if one.startswith("By chance alone")]
    assert "worst 100.0" in sentence
    table = study_table(study, "qdcg10", cells=["tstat"])
    assert not any(one.startswith("By chance alone") for one in table.remarks)
    assert {cell.rank for row in table.rows for cell in row.cells.values()} == {1, 2, 3}


def test_nothing_of_one_seed_is_told_apart():
    correct, count = simulated(np.random.default_rng(0), 1, 100, 50, apart=0.2)
    cells = cells_of(correct, count)
    assert not cells["A"].is_distinguishable
    assert cells["B"].is_like_best


def test_bold_and_the_second_are_rare_among_ten_equals_and_found_where_there_is_a_best():
    rng, marked, found = np.random.default_rng(3), [], []
    for _ in range(3):
        cells = cells_of(*simulated(rng, 3, 20, 50, methods=10))
        marked.append(any(cell.is_distinguishable or cell.is_second for cell in cells.values()))
        correct, count = simulated(rng, 3, 60, 50, apart=-0.08, methods=10)
        found.append(cells_of(correct, count)["J"].is_distinguishable)
    assert not any(marked)
    assert all(found)


def test_the_line_under_the_table_names_the_others_and_not_the_best(results):
    table = study_table(Study.load(results), "qdcg10", cells=["average"])
    (said,) = [sentence for sentence in table.remarks if sentence.startswith("Not distinguishable from the best")]
    best = min(table.rows, key=lambda row: row.cells["ood_test", "average"].rank)
    like = [row.method for row in table.rows if row.cells["ood_test", "average"].is_like_best and row is not best]
    assert like
    names = said.rpartition("average: ")[2].removesuffix(".").split(", ")
    assert sorted(names) == sorted(like)
    assert "5 % for all methods of a column together" in said


def with_options(results, folder, options_of):
    """A copy of a study whose runs had other options, by what a result gives."""
    shutil.copytree(results, folder)
    for result in Study.load(folder):
        config = {"model": {"class_path": "x", "init_args": options_of(result)}}
        write_json(result.folder / "manifest.json", {**result.manifest, "config": config})
    return Study.load(folder)


def unequal(study, small):
    """Make the first group of each split one of fewer rows, of which none is right."""
    for result in study:
        rows = result.groups.to_pylist()
        rows = [row | ({"count": small, "correct": 0} if row["group"].endswith("_0") else {}) for row in rows]
        pa_parquet.write_table(pa.Table.from_pylist(rows), result.folder / "groups.parquet")
    return Study.load(study.folder)


def test_groups_that_the_runs_left_out_count_in_no_cell_but_overall(results, tmp_path):
    study = unequal(with_options(results, tmp_path / "study", lambda _: {"min_count": 5}), 3)
    table = study_table(study, "qdcg10", cells=["worst", "overall"])
    for row in table.rows:
        for place, result in enumerate(study.chosen("qdcg10")[row.method]):
            counts = result.counts("qdcg10", "ood_test")
            kept = counts.count >= 5
            assert kept.sum() == 3
            assert row.cells["ood_test", "worst"].values[place] == (counts.correct[kept] / counts.count[kept]).min()
            overall = counts.correct.sum() / counts.count.sum()
            assert row.cells["ood_test", "overall"].values[place] == pytest.approx(overall)
    assert "Groups with fewer than 5 rows are left out of all criteria but overall." in table.remarks
    (found,) = criteria_concordance(study, ["worst"], draws=2)
    assert found.value.regret == pytest.approx(
        max(r.counts("qdcg10", "ood_test").value("worst") for r in study)
        - np.mean(
            [
                result.counts("qdcg10", "ood_test").value("worst")
                for result in study
                if result.counts("qdcg10", "ood_val").value("worst")
                == max(other.counts("qdcg10", "ood_val").value("worst") for other in study)
            ]
        )
    )


def test_runs_that_left_out_other_groups_are_not_compared(results, tmp_path):
    study = with_options(results, tmp_path / "study", lambda result: {"min_count": 1 + (result.method == "ERM")})
    for compared in (lambda: study_table(study, "qdcg10"), lambda: criteria_concordance(study, draws=2)):
        with pytest.raises(InputError, match=r"min_count differs between candidates \(1: .*; 2: ERM"):
            compared()


def test_shrunk_accuracies_are_said_and_not_set_beside_others_to_choose(results, tmp_path):
    study = with_options(results, tmp_path / "all", lambda _: {"shrink": True})
    said = "The epochs and settings were chosen by shrunk accuracies; the figures are of those observed."
    assert said in study_table(study, "qdcg10").remarks
    study = with_options(results, tmp_path / "some", lambda result: {"shrink": result.setting == "ERM optimizer=SGD"})
    for result in study:  # shrunk, each would seem the best
        if result.shrink:
            result.manifest["selection"]["qdcg10"]["value"] = 0.0
    table = study_table(study, "qdcg10")
    assert any(sentence.startswith("The epochs of ERM optimizer=SGD seed=0, ") for sentence in table.remarks)
    for result in study.chosen("qdcg10")["ERM"]:
        values = {r.setting: r.counts("qdcg10", "ood_val").value("qdcg10") for r in study if r.seed == result.seed}
        of_erm = {setting: value for setting, value in values.items() if setting.startswith("ERM")}
        assert result.setting == min(of_erm, key=of_erm.get)


def test_the_best_is_marked_where_text_is_never_bold():
    best, second, last = (
        Row(name, ("A",), (1,), {("ood_test", "worst"): cell})
        for name, cell in {
            "first": Cell((0.9,), 1, True, True, False),
            "second": Cell((0.8,), 2, False, False, True),
            "third": Cell((0.7,), 3, False, False, False),
        }.items()
    )
    table = StudyTable("worst", ("ood_test",), ("worst",), ((0, 0),), (best, second, last), ())
    out = io.StringIO()
    Terminal(file=out, width=80).print(table.rich())  # no terminal, so no styles
    text = out.getvalue()
    assert [word in text for word in ("90.0 *", "80.0 +", "70.0 │")] == [True] * 3
    assert "*: significantly better" in " ".join(text.split())
    assert "**90.0**" in table.render("markdown")
    assert "*:" not in table.render("markdown")


def test_settings_that_differ_at_their_ends_are_whole_at_80_columns():
    cells = {("ood_test", name): Cell((0.9, 0.8), 1, True, False, False) for name in ("average", "p10", "worst")}
    names = [f"a_method_of_a_very_long_name_indeed_number_{i}" for i in (1, 2)]
    settings = tuple(f"model.optimizer=torch.optim.a.b.c.d.e.f.g.h.AdamW{i}" for i in (1, 2))
    rows = tuple(Row(name, settings, (1, 1), cells) for name in names)
    out = io.StringIO()
    Terminal(file=out, width=80).print(
        StudyTable("worst", ("ood_test",), tuple("apw"), ((0, 0), (0, 1)), rows, ()).rich()
    )
    text = out.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
