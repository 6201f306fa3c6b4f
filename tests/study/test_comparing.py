"""Two candidates, group by group."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drurank.cli import main
from drurank.cli.compare_shown import figures, print_comparison, verdict
from drurank.errors import InputError
from drurank.files import write_json
from drurank.study import Study, compare, compare_in_study, compare_runs, find, study_table
from drurank.study.comparing import ONE_RUN, Changed
from drurank.study.comparing_files import compare_predictions
from drurank.study.result import Counts
from drurank.study.shipping import recommend
from studies import write_counts


def test_a_setting_and_seed_that_several_have_needs_a_key(results):
    study = Study.load(results)
    one = study.results[0]
    with pytest.raises(InputError, match=f"has several candidates .*: {one.manifest['key']}, {one.manifest['key']}"):
        find(Study(study.folder, (one, one)), f"{one.setting} seed={one.seed}")
    assert repr(study) == f"Study({str(results)!r}, 12 finished candidates)"


def test_two_candidates_are_compared_group_by_group(results, tmp_path, capsys):
    one, other = list(Study.load(results))[:2]
    words = ["--first", one.manifest["key"], "--second", f"{other.setting} seed={other.seed}"]
    main(["study", "compare", "--folder", str(results), *words, "--output", str(tmp_path / "c.csv")])
    rows = list(csv.DictReader((tmp_path / "c.csv").open()))
    before, after = (result.counts("qdcg10", "ood_test") for result in (one, other))
    assert sorted(row["group"] for row in rows) == list(before.groups)
    for row in rows:
        place = before.groups.index(row["group"])
        difference = (after.correct[place] - before.correct[place]) / before.count[place]
        assert float(row["difference"]) == pytest.approx(difference)
        assert float(row["low"]) < difference < float(row["high"]) or difference == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.index("│ qdcg10 ") < said.index("Each of 4 groups by its own rows alone: ")


def test_the_interval_of_a_group_is_that_of_two_posteriors():
    first = Counts(("a", "b"), np.array([10, 20]), np.array([40, 40]))
    second = Counts(("a", "b"), np.array([30, 21]), np.array([40, 40]))
    table = compare(first, second).to_pydict()
    assert table["group"] == ["b", "a"]
    assert table["verdict"] == ["like", "better"]
    # Normal approximation of two independent posteriors.
    for place, (one, other) in enumerate([(20, 21), (10, 30)]):
        p, q = (one + 0.5) / 41, (other + 0.5) / 41
        sd = np.sqrt(p * (1 - p) / 42 + q * (1 - q) / 42)
        assert table["low"][place] == pytest.approx(q - p - 1.96 * sd, abs=0.02)
        assert table["high"][place] == pytest.approx(q - p + 1.96 * sd, abs=0.02)


def test_where_rows_are_paired_those_alone_count_that_changed():
    first, second = (Counts(("a", "b"), np.array(right), np.array([100, 100])) for right in ([70, 70], [80, 80]))
    changed = Changed(np.array([10, 30]), np.array([0, 20]))
    table = compare(first, second, changed=changed).to_pydict()
    low, high = np.array(table["low"]), np.array(table["high"])
    assert table["group"] == ["a", "b"]
    for place, (gained, lost) in enumerate([(10, 0), (30, 20)]):
        drawn = np.random.default_rng(1).dirichlet([gained + 0.5, lost + 0.5, 100 - gained - lost + 0.5], 200_000)
        want = np.percentile(drawn[:, 0] - drawn[:, 1], [2.5, 97.5])
        assert [low[place], high[place]] == pytest.approx(want, abs=0.01)
    assert table["verdict"] == ["better", "like"]
    assert compare(first, second)["verdict"].to_pylist() == ["like", "like"]


@pytest.mark.parametrize(("gained", "lost"), [(0.05, 0.15), (0.02, 0.02), (0.3, 0.2), (0.0, 0.1)])
def test_paired_intervals_hold_the_difference(gained, lost):
    rng, rows, m = np.random.default_rng(0), 120, 2000
    drawn = rng.multinomial(rows, [gained, lost, 0.4, 0.6 - gained - lost], m)
    changed, names = Changed(drawn[:, 0], drawn[:, 1]), tuple(f"g{i:04}" for i in range(m))
    counts = [Counts(names, drawn[:, 2] + drawn[:, place], np.full(m, rows)) for place in (1, 0)]
    table = compare(*counts, changed=changed)
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    held = ((low <= gained - lost) & (gained - lost <= high)).mean()
    assert held >= 0.92


def test_a_group_is_better_or_worse_by_the_ends_that_are_shown():
    """All counts of two models on 20 rows: some intervals end within half a thousandth of 0."""
    pairs = np.array([(one, other) for one in range(21) for other in range(21)])
    names, count = tuple(map(str, range(len(pairs)))), np.full(len(pairs), 20)
    rows = compare(*(Counts(names, right, count) for right in pairs.T)).to_pylist()
    drawn = [
        np.random.default_rng(1).beta(right + 0.5, 20 - right + 0.5, size=(20000, len(pairs))) for right in pairs.T
    ]
    ends = np.percentile(drawn[1] - drawn[0], (2.5, 97.5), axis=0)[:, [int(row["group"]) for row in rows]].T
    for row, found in zip(rows, ends, strict=True):
        shown = [float(f"{row[end]:+.3f}") for end in ("low", "high")]
        assert row["verdict"] == ("better" if shown[0] > 0 else "worse" if shown[1] < 0 else "like")
        assert [row["low"], row["high"]] == shown
        assert shown == pytest.approx(found, abs=0.03)


def test_a_p_by_exchange_that_is_not_like_the_interval_is_marked(tmp_path, capsys):
    """Of four groups one differs: whichever way it is exchanged the worst differs as much, so p is 1."""
    rows = {"ERM": np.array([[10, 30, 30, 30]]), "A": np.array([[22, 30, 30, 30]])}
    study = write_counts(tmp_path / "study", rows, 40)
    main(["study", "compare", "--folder", str(study), "--first", "ERM", "--second", "A"])
    said = capsys.readouterr().out
    (worst,) = [line for line in said.splitlines() if line.startswith("│ worst")]
    assert worst.split("│")[-2].strip() == "1.000 *"
    assert "* By exchange: that often" in said
    study = write_counts(tmp_path / "other", {"ERM": np.full((1, 40), 10), "A": np.full((1, 40), 30)}, 40)
    main(["study", "compare", "--folder", str(study), "--first", "ERM", "--second", "A"])
    assert "*" not in capsys.readouterr().out


def test_p_is_called_corrected_where_there_are_more_than_two_methods(results, tmp_path, capsys):
    main(["study", "compare", "--folder", str(results), "--first", "ERM", "--second", "DRU"])
    assert "p, corrected" in capsys.readouterr().out
    study = write_counts(tmp_path / "study", {"ERM": np.full((2, 8), 10), "A": np.full((2, 8), 12)}, 40)
    main(["study", "compare", "--folder", str(study), "--first", "ERM", "--second", "A"])
    assert "corrected" not in capsys.readouterr().out


def test_candidates_that_are_not_there(results, capsys):
    with pytest.raises(SystemExit):
        main(["study", "compare", "--folder", str(results), "--first", "DRU cutoff=5 seed=9", "--second", "x"])
    assert "did you mean 'DRU cutoff=5 seed=" in capsys.readouterr().err


def test_a_method_is_found_by_its_class_where_only_one_has_it(results):
    study = Study.load(results)
    assert {result.setting for result in study if result.method == "qDRU+M"} == {"DRU cutoff=5", "DRU cutoff=100"}
    assert study.method_named("DRU") == "qDRU+M"
    by_class, by_name = (compare_in_study(study, "ERM", name, cells=["average"]) for name in ("DRU", "qDRU+M"))
    assert by_class.second == "qDRU+M"
    assert by_class.criteria[0].difference.p == by_name.criteria[0].difference.p
    assert recommend(study, method="DRU").method == "qDRU+M"
    first, *rest = study.results
    other = replace(first, manifest={**first.manifest, "method": "gDRU+M", "setting": "DRU rank_by=group"})
    several = Study(study.folder, (other, *rest))
    assert several.method_named("DRU") == "DRU"
    with pytest.raises(InputError, match="has no method or candidate 'JTT': known: "):
        compare_in_study(study, "ERM", "JTT")


@pytest.fixture
def apart(tmp_path):
    """A study in which the table tells ERM from qDRU+M by the average, of 100 groups of which hardly one is told."""
    rng, folder = np.random.default_rng(0), tmp_path / "study"
    true = np.clip(rng.normal(0.75, 0.05, 100), 0, 1)
    rates = {"ERM": true - 0.08, "qDRU+M": true, "Const+M": true - 0.08}
    return write_counts(folder, {name: rng.binomial(20, rate, (3, 100)) for name, rate in rates.items()}, 20)


def test_a_pair_that_the_table_calls_different_is_different_in_a_comparison(apart, capsys):
    study = Study.load(apart)
    (row,) = (row for row in study_table(study, "qdcg10", cells=["average"]).rows if row.method == "ERM")
    assert not row.cells["ood_test", "average"].is_like_best
    main(["study", "compare", "--folder", str(apart), "--first", "ERM", "--second", "qDRU+M"])
    said = " ".join(capsys.readouterr().out.split())
    assert "cannot be told" not in said
    assert "ERM (first) and qDRU+M (second), ood_test" in said
    assert "Paired over 100 groups and 3 seeds: p is" in said
    assert "p and intervals allow for 3 methods being compared at once." in said
    assert re.search(r"qDRU\+M is better than ERM by [^.]*average", said)
    found = compare_in_study(study, "ERM", "qDRU+M", cells=["average", "worst"])
    average = found.criteria[0]
    low, high = average.difference.interval
    assert average.second - average.first == pytest.approx(average.difference.value)
    assert 0 < low < 0.08 < high < 0.16
    assert average.difference.p < 0.05
    verdicts = found.groups["verdict"].to_pylist()
    assert verdicts.count("like") > 80


def test_every_verdict_of_a_comparison_with_the_best_is_that_of_the_table(results, apart):
    for folder in (results, apart):
        study = Study.load(folder)
        table = study_table(study, "qdcg10", cells=["average"])
        best, *others = sorted(table.rows, key=lambda row: row.cells["ood_test", "average"].rank)
        for row in others:
            (one,) = compare_in_study(study, row.method, best.method, cells=["average"]).criteria
            is_like = row.cells["ood_test", "average"].is_like_best
            assert one.difference.is_distinguishable != is_like
            assert (one.difference.p < 0.05) != is_like
            low, high = one.difference.interval
            assert (low <= 0 <= high) == is_like


def test_settings_and_candidates_are_compared_by_name(results):
    study = Study.load(results)
    settings = [result.setting for result in study if result.method == "ERM" and result.seed == 0]
    found = compare_in_study(study, *settings, cells=["average"]).criteria[0]
    values = [
        np.mean([np.mean(r.counts("qdcg10", "ood_test").correct / 10) for r in study if r.setting == setting])
        for setting in settings
    ]
    assert (found.first, found.second) == pytest.approx(values)
    one = compare_in_study(study, f"{settings[0]} seed=0", f"{settings[1]} seed=1")
    assert ONE_RUN in one.remarks
    for pair, said in [(("ERM", "ERM"), "are both 'ERM'"), (("ERM", "qDRU"), "did you mean 'qDRU")]:
        with pytest.raises(InputError, match=said):
            compare_in_study(study, *pair)


def test_a_difference_is_that_of_the_values_beside_it(tmp_path, capsys):
    """Of 1,000 rows a group 680.4 and 680.6 are right on average, which is 68.0 and 68.1 %, and 0.0 points apart."""
    first = np.tile([700, 680, 660, 660, 702], (2, 1))
    second = first + np.array([1, 0, 0, 0, 0])
    folder = write_counts(tmp_path / "study", {"A": first, "B": second}, 1000)
    found = compare_in_study(Study.load(folder), "A", "B", by="worst")
    assert (found.first, found.second, found.by) == ("A", "B", "worst")
    shown = {one.criterion: figures(one) for one in found.criteria}
    assert shown["average"][1:4] == ["68.04", "68.06", "0.0"]
    assert set(shown) == {"worst", "average", "p10", "qdcg10"}, "those of the study too"
    (said,) = verdict(found)
    assert said.startswith("A and B: no difference larger than chance on ood_test")
    print_comparison(found)
    assert "A (first) and B (second), ood_test, chosen by worst" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("by", ["qdcg10", "worst"])
def test_a_comparison_says_which_models_it_is_of(results, by, capsys):
    study = Study.load(results)
    erm, dru = (study.chosen(by)[name] for name in ("ERM", "qDRU+M"))
    about = compare_in_study(study, "ERM", "DRU", by).about
    for place, line, found in (("First", about[0], erm), ("Second", about[1], dru)):
        assert line.startswith(f"{place}: {found[0].setting}, epoch")
        assert line.endswith("(seeds 0, 1).")
        for result in found:
            assert result.setting in line
            assert re.search(rf"epochs? [\d, ]*{result.manifest['selection'][by]['epoch']}", line)
    other = {"qdcg10": "worst", "worst": "qdcg10"}[by]
    assert about[2] == f"Settings and epochs are chosen by {by} on validation; --by takes {other} instead."
    one = find(study, "DRU cutoff=5 seed=1")
    about = compare_in_study(study, "DRU cutoff=5 seed=1", "DRU cutoff=100", by).about
    assert about[0] == f"First: DRU cutoff=5, epoch {one.epoch(by)} (seed 1)."
    assert about[2] == f"Epochs are chosen by {by} on validation; --by takes {other} instead."
    main(["study", "compare", "--folder", str(results), "--first", "ERM", "--second", "DRU", "--by", by])
    assert f"Settings and epochs are chosen by {by} on validation; --by" in " ".join(capsys.readouterr().out.split())


def run_with(folder, correct, count):
    """The folder of a run as a test leaves it."""
    names = [f"g{place}" for place in range(len(count))]
    tested = folder / "test/qdcg10"
    tested.mkdir(parents=True)
    table = pa.table({"split": ["ood_test"] * len(count), "group": names, "count": count, "correct": correct})
    pa_parquet.write_table(table, tested / "groups.parquet")
    report = {"min_count": 1, "splits": {}, "method": "qDRU+M", "checkpoint": "q.ckpt"}
    write_json(tested / "report.json", report)
    return str(folder)


def test_two_runs_are_compared(tmp_path, capsys):
    rng, count = np.random.default_rng(0), np.full(60, 50)
    rows = [rng.binomial(count, rate) for rate in (0.7, 0.74)]
    runs = [run_with(tmp_path / name, right, count) for name, right in zip("ab", rows, strict=True)]
    main(["study", "compare", "--runs", *runs, "--cells", "average"])
    said = capsys.readouterr().out
    said = " ".join(said.split())
    assert "by average, by more than chance." in said
    assert "a (first) and " in said
    assert "b (second), ood_test" in said
    assert "Paired over 60 groups: p is the larger of a t-test with bootstrapped error and a test that" in said
    assert "First: qDRU+M, q.ckpt. Second: qDRU+M, q.ckpt." in said
    (one,) = compare_runs(*runs, cells=["average"]).criteria
    paired = (rows[1] - rows[0]) / 50
    error = paired.std(ddof=1) / np.sqrt(60)
    assert one.difference.value == pytest.approx(paired.mean())
    assert np.diff(one.difference.interval) == pytest.approx(2 * 2.001 * error, rel=0.15)
    with pytest.raises(InputError, match=r"was not tested by 'worst'; tested by: .*give by='qdcg10'"):
        compare_runs(*runs, by="worst")
    with pytest.raises(InputError, match="has no test; run `test --run"):
        compare_runs(runs[0], tmp_path / "c")
    other = run_with(tmp_path / "d", rows[0][:-1], count[:-1])
    with pytest.raises(InputError, match="has other groups of ood_test than"):
        compare_runs(runs[0], other)


def written_predictions(path, right, labels):
    rows = [
        f"{label},{label if hit else 1 - label},g{row % 40}"
        for row, (label, hit) in enumerate(zip(labels, right, strict=True))
    ]
    path.write_text("\n".join(["y,yhat,g", *rows]) + "\n", encoding="utf-8")
    return str(path)


def test_two_files_of_predictions_are_compared(tmp_path, capsys):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 2000)
    files = [
        written_predictions(tmp_path / f"{name}.csv", rng.random(2000) < rate, labels)
        for name, rate in (("a", 0.7), ("b", 0.8))
    ]
    words = ["--label", "y", "--prediction", "yhat", "--group", "g"]
    main(["report", "--predictions", *files, *words, "--output", str(tmp_path / "out")])
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"is better than \S+ by [^.]*average[^.]*, by more than chance\.", said)
    assert [said.index(f"│ {name} │") for name in ("qdcg10", "average", "p10", "worst")]
    assert len(list(csv.DictReader((tmp_path / "out/comparison_all.csv").open()))) == 40
    assert "always answering" not in said
    half = written_predictions(tmp_path / "half.csv", rng.random(2000) < 0.5, labels)
    (one,) = compare_predictions([files[1], half], "y", "yhat", "g")
    share = f"{100 * max(labels.mean(), 1 - labels.mean()):.1f} %"
    answered = f"Not significantly better on all rows than always answering '{round(labels.mean())}' ({share}): {half} "
    assert one.remarks[0].startswith(answered)
    assert [each.split for each in compare_predictions(files, "y", "yhat", "g", "y", on="1")] == ["1"]
    for file in files:
        path = Path(file)
        lines = path.read_text("utf-8").splitlines()
        lines[4], lines[5] = f",{lines[4].split(',', 1)[1]}", f"{lines[5].rpartition(',')[0]},"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="is not a label; blank cells too, 1 of column 'g' are no group"):
        compare_predictions(files, "y", "yhat", "g")
    (one,) = compare_predictions(files, "y", "yhat", "g", drop_missing=True)
    assert one.remarks[0] == "Left out: 2 rows with a blank cell (y 1, g 1)."
    with pytest.raises(SystemExit):
        main(["report", "--predictions", *files, *words, "--split", "y", "--on", "2", "--drop_missing"])
    assert "column 'y' has no split '2': known: 0, 1" in capsys.readouterr().err
    written_predictions(tmp_path / "c.csv", np.ones(2000), 1 - labels)
    with pytest.raises(SystemExit):
        main(["report", "--predictions", files[0], str(tmp_path / "c.csv"), *words])
    assert "row 0 (the first is 0) has y " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["report", "--predictions", *files, files[0], *words])
    assert "give one table, or two to compare them" in capsys.readouterr().err


def test_two_that_are_alike_in_every_group_are_called_equal(tmp_path, capsys):
    count = np.full(20, 50)
    right = np.random.default_rng(0).binomial(count, 0.7)
    runs = [run_with(tmp_path / name, right, count) for name in "ab"]
    main(["study", "compare", "--runs", *runs])
    said = " ".join(capsys.readouterr().out.split())
    assert "are right in equally many rows of every group, so all criteria are equal." in said
    assert "still possible" not in said
    assert "do not decide" not in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([25, -25], "So the second serves some groups better and others worse than the first; criteria of all groups"),
        ([25, 25], "The criteria above look at all groups."),
        ([0, 1], "That single groups do not decide says nothing against the criteria above, which look at all groups."),
    ],
)
def test_what_differing_groups_mean_for_the_criteria_is_said(tmp_path, capsys, changes, said):
    """Five groups of twenty each way: half of the rows more or less is far outside of chance, a row is within it."""
    count = np.full(20, 100)
    first = np.full(20, 50)
    second = first + np.array([changes[0]] * 5 + [changes[1]] * 5 + [0] * 10)
    runs = [run_with(tmp_path / name, right, count) for name, right in (("a", first), ("b", second))]
    main(["study", "compare", "--runs", *runs])
    assert said in " ".join(capsys.readouterr().out.split())
