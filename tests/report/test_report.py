import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest
import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.loggers import CSVLogger, MLFlowLogger, TensorBoardLogger, WandbLogger
from matplotlib.image import imread
from scipy.stats import binom

from drawing import RENDER, saved_by
from drurank.callbacks import GroupReport
from drurank.callbacks.pictures import send_picture
from drurank.cli import main
from drurank.data import Shortcut, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DRU, Worst
from drurank.report import SplitCounts, report_predictions, write_report
from drurank.report.pictures import draw_criteria, draw_groups, draw_weights
from drurank.report.tables import groups_table
from drurank.spread import fit_spread
from drurank.training.record import EpochRecord
from reference import CRITERIA, criteria, discounts, ranks, spread
from runs import SMALL, read_csv, read_json

ROWS = [  # group, label, prediction, split
    *[("a", "1", "1", "ood_test")] * 3,
    *[("a", "0", "1", "ood_test")] * 1,
    *[("b", "0", "0", "ood_test")] * 2,
    *[("b", "1", "0", "ood_test")] * 2,
    *[("c", "1", "1", "id_test")] * 9,
    *[("c", "1", "0", "id_test")] * 1,
    *[("d", "0", "0", "id_test")] * 4,
    *[("d", "0", "1", "id_test")] * 1,
]
COLUMNS = ["--label", "y", "--prediction", "yhat", "--group", "g"]


def write(path, rows, header="g,y,yhat,s"):
    Path(path).write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")


def reported(*words, rows=ROWS, name="p.csv", header="g,y,yhat,s"):
    write(name, rows, header)
    main(["report", "--predictions", name, *COLUMNS, "--overwrite", *words])
    return read_json(f"{Path(name).stem}_report/report.json")


# ---- from predictions


def test_figures_stand_beside_accuracy(capsys, pictures):
    report = reported("--split", "s", "--figure", "fpr,tpr")
    assert list(report["figures"]) == ["fpr", "tpr"]
    assert report["splits"] == reported("--split", "s")["splits"]  # accuracy is as it is alone
    found = report["figures"]["fpr"]["splits"]
    # Negative rows: one of a, two of b; none of c, five of d.
    assert {split: (content["rows"], content["groups_without"]) for split, content in found.items()} == {
        "ood_test": (3, 0),
        "id_test": (5, 1),
    }
    assert found["ood_test"]["criteria"]["worst"]["value"] == 1.0  # of a, its only negative row is called positive
    assert found["ood_test"]["criteria"]["gap"]["value"] == 1.0
    drop = report["figures"]["fpr"]["drop"]["criteria"]
    assert drop["worst"]["value"] == pytest.approx(1 - 0.2)  # a rate that rises is worse
    assert drop["average"]["value"] == pytest.approx(0.5 - 0.2)
    assert drop["overall"]["value"] == pytest.approx(1 / 3 - 1 / 5)
    assert "gap" not in drop
    shown = " ".join(capsys.readouterr().out.split())
    assert "Criteria of the false positive rate" in shown
    assert "1 further group without a value: no rows of the negative class." in shown
    rows = {row["group"]: row for row in read_csv("p_report/groups_fpr.csv")}
    assert (int(rows["d"]["count"]), int(rows["d"]["events"])) == (5, 1)
    assert rows["c"]["reason"] == "no rows of the negative class"
    assert not rows["c"].get("value")
    assert pa_parquet.read_table("p_report/groups_fpr.parquet").num_rows == 4
    assert imread("p_report/groups_tpr.png").std() > 0


def test_figures_replace_no_file_unasked():
    reported("--figure", "fpr")
    Path("p_report/groups_fpr.csv").rename("kept.csv")
    for path in Path("p_report").iterdir():
        path.unlink()
    Path("kept.csv").rename("p_report/groups_fpr.csv")
    with pytest.raises(InputError, match=r"groups_fpr\.csv"):
        report_predictions("p.csv", "y", "yhat", "g", figure="fpr")


def test_report_of_predictions_has_the_criteria_of_each_split(capsys, pictures):
    report = reported("--split", "s")
    assert list(report["splits"]) == ["ood_test", "id_test"]
    for split, correct, count in (("ood_test", [3, 2], [4, 4]), ("id_test", [9, 4], [10, 5])):
        content = report["splits"][split]
        assert (content["rows"], content["groups"]) == (sum(count), 2)
        assert content["groups_unseen_in_training"] is None
        for name, value in criteria(correct, count).items():
            entry = content["criteria"][name]
            assert entry["value"] == pytest.approx(value, rel=1e-9), (split, name)
            assert (entry["interval"] is None) == (entry["estimate"] is None) == (name == "tstat")
            if name != "tstat":
                assert entry["interval"][0] <= entry["estimate"] <= entry["interval"][1]
                assert entry["floor"]["interval"][0] <= entry["floor"]["median"] <= entry["floor"]["interval"][1]
    worst = [report["splits"][split]["criteria"]["worst"]["value"] for split in ("id_test", "ood_test")]
    assert worst == [0.8, 0.5]
    drop = report["drop"]
    assert (drop["from"], drop["to"]) == ("id_test", "ood_test")
    assert drop["criteria"]["worst"]["value"] == pytest.approx(0.3)
    assert drop["criteria"]["average"]["value"] == pytest.approx(0.85 - 0.625)
    assert drop["criteria"]["gdcg10"]["value"] == pytest.approx(0.5 - 0.2)  # errors: higher is worse
    shown = capsys.readouterr().out
    assert "p_report/groups.png" in " ".join(shown.split())
    assert imread("p_report/groups.png").shape[1] > 800


def test_table_of_groups_names_every_group_of_every_split():
    reported("--split", "s")
    rows = read_csv("p_report/groups.csv")
    found = [(row["split"], row["group"], int(row["count"]), int(row["correct"])) for row in rows]
    assert found == [("ood_test", "a", 4, 3), ("ood_test", "b", 4, 2), ("id_test", "c", 10, 9), ("id_test", "d", 5, 4)]
    assert pa_parquet.read_table("p_report/groups.parquet").num_rows == 4
    assert [float(row["accuracy"]) for row in rows] == [0.75, 0.5, 0.9, 0.8]
    assert all(float(row["low"]) < float(row["accuracy"]) < float(row["high"]) for row in rows)


def test_splits_that_are_named_are_reported_alone(capsys):
    whole = reported("--split", "s")
    capsys.readouterr()
    report = reported("--split", "s", "--on", "ood_test")
    assert report["splits"] == {"ood_test": whole["splits"]["ood_test"]}
    assert report["drop"] is None
    shown = capsys.readouterr().out
    assert "ood_test" in shown
    assert "id_test" not in shown
    assert {row["split"] for row in read_csv("p_report/groups.csv")} == {"ood_test"}
    assert reported("--split", "s", "--on", "id_test,ood_test")["splits"] == whole["splits"]


def test_what_training_has_is_known_where_another_split_is_reported_alone():
    rows = [*[("a", "1", "1", "train")] * 5, ("b", "0", "0", "test"), ("a", "0", "1", "test")]
    content = reported("--split", "s", "--on", "test", rows=rows)["splits"]["test"]
    assert content["groups_unseen_in_training"] == 1
    assert (content["constant_answer"]["label"], content["constant_answer"]["commonest_in"]) == ("1", "training")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--split", "s", "--on", "odd_test"], "column 's' has no split 'odd_test': did you mean 'ood_test'?"),
        (["--split", "s", "--on", "ood_test,x"], "column 's' has no split 'x': known: ood_test, id_test"),
        (["--on", "ood_test"], "no column says of which split a row is; give --split"),
        (["--split", "s", "--on", "id_test", "--figure", "npv"], "no rows predicted negative in id_test"),
    ],
)
def test_splits_that_are_not_there_are_answered_with_those_that_are(capsys, words, said):
    rows = [row for row in ROWS if row[2:] != ("0", "id_test")]
    with pytest.raises(SystemExit):
        reported(*words, rows=rows)
    assert said in capsys.readouterr().err
    assert not list(Path().glob("*_report/*"))


def test_without_a_split_all_rows_are_one():
    report = reported()
    assert list(report["splits"]) == ["all"]
    assert report["drop"] is None
    assert report["splits"]["all"]["criteria"]["overall"]["value"] == pytest.approx(18 / 23)


def test_floor_is_that_of_groups_with_the_pooled_accuracy():
    rng = np.random.default_rng(0)
    rows = [(f"g{g}", "1", str(int(rng.random() < 0.8)), "s") for g in range(40) for _ in range(25)]
    content = reported(rows=[*rows, ("g0", "0", "0", "s")])["splits"]["all"]
    pooled = content["criteria"]["overall"]["value"]
    worst = rng.binomial([26, *[25] * 39], pooled, (4000, 40)).min(axis=1) / 25
    floor = content["criteria"]["worst"]["floor"]
    assert floor["median"] == pytest.approx(np.median(worst), abs=1e-3)
    assert floor["interval"] == pytest.approx(np.percentile(worst, [5, 95]), abs=0.041)


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "1", "1.0", "s"), ("a", "0", "0.0", "s"), ("b", "01", "0", "s")],
        [("a", "yes", "yes", "s"), ("a", "no", "no", "s"), ("b", "yes", "no", "s")],
        [("a", " 1", "1", "s"), ("a", "0", "0 ", "s"), ("b", "1", "0", "s")],
    ],
    ids=["numbers written otherwise", "words", "numbers with blanks"],
)
def test_labels_are_compared_as_numbers_where_all_are_and_else_as_text(rows):
    assert reported(rows=rows)["splits"]["all"]["criteria"]["overall"]["value"] == pytest.approx(2 / 3)


def test_class_that_no_row_has_may_be_predicted_if_it_is_named():
    rows = [("a", "0", "2", "s"), ("a", "1", "1", "s")]
    assert reported("--labels", "0,1,2", rows=rows)["splits"]["all"]["criteria"]["worst"]["value"] == 0.5


def test_groups_by_two_columns_are_their_combinations():
    write("p.csv", [("a", "1", "1", "x"), ("a", "0", "1", "y"), ("b", "1", "1", "x")])
    main(["report", "--predictions", "p.csv", "--label", "y", "--prediction", "yhat", "--group", "g,s"])
    assert [row["group"] for row in read_csv("p_report/groups.csv")] == ["a | x", "a | y", "b | x"]


def test_overall_and_its_noise_are_of_all_rows_even_where_groups_are_left_out(pictures):
    rows = [(f"g{g}", "1", "1" if i < 90 else "0", "s") for g in range(10) for i in range(100)]
    rows += [(f"h{g}", "1", "1" if g < 10 else "0", "s") for g in range(500) for i in range(2)] + [
        ("g0", "0", "0", "s")
    ]
    overall = reported("--min_count", "10", rows=rows)["splits"]["all"]["criteria"]["overall"]
    assert overall["value"] == pytest.approx((900 + 20 + 1) / 2001)
    assert overall["interval"][0] < overall["value"] < overall["interval"][1]
    assert overall["floor"]["interval"][0] < overall["value"] < overall["floor"]["interval"][1]


def test_sums_over_unlike_numbers_of_groups_are_not_compared():
    rows = [(f"a{g}", "1", str(int(i < 8)), "id_test") for g in range(20) for i in range(10)]
    rows += [(f"b{g}", "1", str(int(i < 8)), "ood_test") for g in range(90) for i in range(10)]
    rows += [("a0", "0", "0", "id_test"), ("b0", "0", "0", "ood_test")]
    drop = reported("--split", "s", rows=rows)["drop"]["criteria"]
    assert "gdcg10" not in drop
    assert "gdcg50" not in drop
    assert drop["qdcg10"]["value"] == pytest.approx(0, abs=0.05)


def test_names_are_shown_as_they_are(capsys, pictures):
    reported("--split", "s", rows=[("[/x]", "1", "1", "[/y]"), ("[red]", "0", "1", "[/y]")])
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("[/x]", "[/y]", "[red]"))


def test_many_splits_are_shown_two_by_two_and_drawn_in_rows(capsys, pictures):
    rows = [("g", "1", "1", f"part{s:02d}") for s in range(15)] + [("g", "0", "1", "part00")]
    reported("--split", "s", rows=rows)
    shown = capsys.readouterr().out
    assert shown.count("Criteria") == 8
    assert imread("p_report/groups.png").shape[1] < 2600


def test_criteria_min_count_and_output_are_as_asked():
    write("p.csv", ROWS)
    main(
        [
            "report",
            "--predictions",
            "p.csv",
            *COLUMNS,
            "--criteria",
            "worst,p25",
            "--min_count",
            "5",
            "--output",
            "here",
        ]
    )
    content = read_json("here/report.json")["splits"]["all"]
    assert list(content["criteria"]) == ["worst", "p25"]
    assert content["criteria"]["worst"]["value"] == 0.8
    assert content["groups_left_out"] == 2
    assert len(read_csv("here/groups.csv")) == 4


def test_shrunk_report_follows_from_the_shrunk_accuracies_and_has_no_floor():
    content = reported("--shrink", "true")["splits"]["all"]
    fitted = fit_spread(np.array([3, 2, 9, 4]), np.array([4, 4, 10, 5]))
    shrunk = fitted.posterior_mean(np.array([3, 2, 9, 4]), np.array([4, 4, 10, 5]))
    assert [float(row["shrunk"]) for row in read_csv("p_report/groups.csv")] == pytest.approx(shrunk)
    assert content["criteria"]["worst"]["value"] == pytest.approx(shrunk.min())
    assert all(entry["floor"] is None for entry in content["criteria"].values())


def test_groups_that_differ_by_chance_alone_are_said_to(capsys):
    rows = [(f"g{g}", "1", "1" if i < 8 else "0", "s") for g in range(30) for i in range(10)] + [("g0", "0", "0", "s")]
    content = reported(rows=rows)["splits"]["all"]
    assert content["spread"]["sd"] == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No difference between groups beyond chance was found; a standard deviation of up to" in said
    assert "all:" not in said
    assert "groups in all" not in said


def test_report_needs_no_torch(tmp_path):
    write("p.csv", ROWS)
    words = ["report", "--predictions", "p.csv", *COLUMNS]
    code = (
        f"import sys; from drurank.cli import main; main({words}); print({{'torch', 'lightning'}} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "set()"


def test_reading_options_are_named_without_their_prefix(capsys):
    Path("p.csv").write_bytes("g,y,yhat\ncaf\u00e9,1,1\n".encode("cp1252"))
    with pytest.raises(SystemExit):
        main(["report", "--predictions", "p.csv", *COLUMNS])
    said = capsys.readouterr().err
    assert "--text_encoding cp1252" in said
    assert "--data." not in said
    main(["report", "--predictions", "p.csv", *COLUMNS, "--text_encoding", "cp1252"])
    assert read_csv("p_report/groups.csv")[0]["group"] == "caf\u00e9"


BAD = {
    "a probability": (
        [("a", "1", "0.83", "s")],
        [],
        ["'yhat'", "row 0", "'0.83'", "not one of the labels; known: 1"],
    ),
    "another spelling": ([("a", "Yes", "yes", "s"), ("a", "No", "No", "s")], [], ["'yes'", "did you mean 'Yes'"]),
    "a class that no row has": ([("a", "1", "1", "s"), ("a", "0", "2", "s")], [], ["row 1", "'2'", "labels"]),
    "a blank label": (
        [("a", "1", "1", "s"), ("a", " ", "1", "s")],
        [],
        ["'y'", "row 1", "is not a label"],
    ),
    "a blank prediction": ([("a", "1", "", "s")], [], ["'yhat'", "row 0", "a blank cell is not a prediction"]),
    "a blank group": ([("a", "1", "1", "s"), ("", "1", "1", "s")], [], ["'g'", "row 1", "not a group"]),
    "a blank split": ([("a", "1", "1", "")], ["--split", "s"], ["'s'", "row 0", "a blank cell is not a split"]),
    "no such split column": ([("a", "1", "1", "s")], ["--split", "part"], ["no column 'part'", "known: g, y, yhat, s"]),
    "no such criterion": ([("a", "1", "1", "s")], ["--criteria", "wurst"], ["'wurst'", "did you mean 'worst'"]),
    "groups too small": ([("a", "1", "1", "s")], ["--min_count", "5"], ["min_count is 5", "1", "lower it"]),
    "no count": ([("a", "1", "1", "s")], ["--min_count", "few"], ["min_count", "'few'", "whole number"]),
    "count of none": ([("a", "1", "1", "s")], ["--min_count", "0"], ["min_count is 0", "1 or more"]),
    "an unknown option": ([("a", "1", "1", "s")], ["--labls", "1"], ["--labls", "did you mean '--labels'"]),
    "an output that is a file": ([("a", "1", "1", "s")], ["--output", "p.csv"], ["p.csv"]),
    "no rows": ([], [], ["p.csv has no rows"]),
}


@pytest.mark.parametrize("case", BAD)
def test_predictions_that_cannot_be_used_are_answered_in_a_sentence(capsys, case):
    rows, words, said = BAD[case]
    with pytest.raises(SystemExit) as ended:
        reported(*words, rows=rows)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    for part in said:
        assert part in error, error
    assert not list(Path().glob("*_report/*"))


@pytest.mark.parametrize("name", ["label", "prediction", "group"])
def test_missing_column_is_named_with_those_there_are(capsys, name):
    write("p.csv", ROWS)
    words = ["report", "--predictions", "p.csv", "--label", "y", "--prediction", "yhat", "--group", "g"]
    words[words.index(f"--{name}") + 1] = "nope"
    with pytest.raises(SystemExit):
        main(words)
    assert "has no column 'nope'; known: g, y, yhat, s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "test"], "--on is 'test', and no column says of which split a row is"),
        (["--group", "sex"], "has no column 'sex'"),
        (["--split", "part"], "has no column 'part'"),
        (["--criteria", "wurst"], "'wurst'"),
        (["--figure", "error,none"], "'none'"),
        ([], "report.json exists"),
    ],
)
@pytest.mark.parametrize("source", ["predictions", "counts"])
def test_options_and_columns_are_looked_at_before_an_output_that_exists(capsys, source, words, said):
    if source == "counts" and "--figure" in words:
        return
    if source == "counts":
        write("p.csv", [("a", "3", "1"), ("b", "4", "4")], "g,n,k")
    else:
        write("p.csv", ROWS)
    Path("p_report").mkdir()
    Path("p_report/report.json").touch()
    named = {"predictions": ["--label", "y", "--prediction", "yhat"], "counts": ["--count", "n", "--correct", "k"]}
    with pytest.raises(SystemExit):
        main(["report", f"--{source}", "p.csv", "--group", "g", *named[source], *words])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("column", ["group", "label"])
def test_of_predictions_of_ours_it_is_said_what_the_columns_of_the_data_are_called(capsys, column):
    hint = "predict writes the data's group as 'group' and its label as 'label'"
    for is_ours in (True, False):
        names = ["row", "split", "group", "label", "prediction"][0 if is_ours else 2 :]
        write("p.csv", ["1" * len(names)], ",".join(names))
        with pytest.raises(SystemExit):
            main(["report", "--predictions", "p.csv", f"--{column}", "Clinic"])
        said = capsys.readouterr().err
        assert "has no column 'Clinic'" in said
        assert (hint in said) == is_ours


def test_function_gives_what_it_wrote():
    write("p.csv", ROWS)
    assert report_predictions("p.csv", "y", "yhat", "g") == read_json("p_report/report.json")


def test_labels_beyond_the_reach_of_floats_are_told_apart():
    rows = [("a", "9007199254740992", "9007199254740993", "s"), ("a", "9007199254740993", "9007199254740992", "s")]
    assert reported(rows=rows)["splits"]["all"]["criteria"]["overall"]["value"] == 0


def test_home_is_found(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "p.csv", ROWS)
    main(["report", "--predictions", "~/p.csv", *COLUMNS, "--output", "~/out"])
    main(["report", "--predictions", "~/p.csv", *COLUMNS])
    assert (tmp_path / "out/report.json").is_file()
    assert (tmp_path / "p_report/report.json").is_file()
    assert not Path("~").exists()


def test_a_split_column_that_is_not_named_is_mentioned(capsys):
    reported(header="g,y,yhat,split")
    assert "split=split" in capsys.readouterr().out
    reported("--split", "split", header="g,y,yhat,split")
    assert "Note:" not in capsys.readouterr().out


def test_of_one_group_no_difference_is_said(capsys, pictures):
    reported(rows=[("a", "1", "1", "s")] * 5 + [("a", "0", "1", "s")])
    shown = " ".join(capsys.readouterr().out.split())
    assert "With one group, nothing can be said" in shown
    assert "The only group" in shown
    assert "1 group " in shown
    assert "1 groups" not in shown
    assert "standard deviation" not in shown


def test_surer_group_of_equal_accuracy_is_the_worse_or_better(capsys):
    rows = [(name, "1", str(right), "s") for name, n, right in (("tiny", 1, 0), ("large", 9, 0)) for _ in range(n)]
    rows += [(f"m{g}", "1", str(i % 2), "s") for g in range(20) for i in range(4)]
    rows += [(name, "1", "1", "s") for name, n in (("lucky", 1), ("firm", 9)) for _ in range(n)]
    reported(rows=[*rows, ("m0", "0", "0", "s")])
    shown = capsys.readouterr().out
    assert shown.index("large") < shown.index("tiny") < shown.index("lucky") < shown.index("firm")


# ---- of runs


@pytest.fixture(scope="module")
def finished(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    words = ["--trainer.default_root_dir", folder]
    with saved_by(RENDER):
        run("fit", *SMALL, "--model", "DRU", "--trainer.max_epochs", "2", *words)
        run("test", "--run", folder / "version_0")
    run("predict", "--ckpt_path", folder / "version_0/checkpoints/qdcg10.ckpt", *words)
    return folder


def test_report_of_a_run_is_that_of_its_predictions(finished):
    (predictions,) = finished.glob("*/predictions.parquet")
    main(["report", "--predictions", str(predictions), "--split", "split", "--output", "again"])
    tested = read_json(finished / "version_0/test/qdcg10/report.json")["splits"]["ood_test"]
    again = read_json("again/report.json")["splits"]["ood_test"]
    for name in CRITERIA:
        assert again["criteria"][name] == tested["criteria"][name], name
    assert again["spread"] == tested["spread"]
    assert again["balanced_accuracy"] == tested["balanced_accuracy"]
    assert again["constant_answer"] == tested["constant_answer"]
    assert tested["constant_answer"]["commonest_in"] == "training"


def test_fit_and_test_leave_pictures(finished):
    for picture in ("criteria.png", "weights.png", "test/qdcg10/groups.png"):
        assert imread(finished / "version_0" / picture).std() > 0.01


def test_unweighted_fit_leaves_no_picture_of_weights(run, tmp_path):
    run("fit", *SMALL, "--model", "ERM", "--trainer.max_epochs", "1", "--trainer.default_root_dir", tmp_path)
    assert (tmp_path / "version_0/criteria.png").is_file()
    assert not (tmp_path / "version_0/weights.png").exists()


def test_resumed_fit_draws_all_of_its_epochs(finished):
    last = finished / "version_0/checkpoints/last.ckpt"
    callback = GroupReport()
    state = torch.load(last, weights_only=True)["callbacks"]
    (saved,) = [value for key, value in state.items() if key.startswith("GroupReport")]
    callback.load_state_dict(saved)
    assert sorted(callback.state_dict()["history"]) == [0, 1]
    logged = [row for row in read_csv(finished / "version_0/metrics.csv") if "val_worst" in row]
    for epoch, row in enumerate(logged):
        assert saved["history"][epoch]["val_worst"] == pytest.approx(float(row["val_worst"]), rel=1e-6)


def test_shrunk_fit_scores_by_shrunk_accuracies(run, tmp_path):
    words = ["--model", "DRU", "--model.shrink", "true", "--trainer.max_epochs", "2"]
    run("fit", *SMALL, *words, "--trainer.default_root_dir", tmp_path)
    run("test", "--run", tmp_path / "version_0")
    report = read_json(tmp_path / "version_0/test/qdcg10/report.json")
    shrunk = np.array([float(row["shrunk"]) for row in read_csv(tmp_path / "version_0/test/qdcg10/groups.csv")])
    got = report["splits"]["ood_test"]["criteria"]
    assert report["shrink"] is True
    assert got["worst"]["value"] == pytest.approx(shrunk.min(), rel=1e-9)
    assert got["average"]["value"] == pytest.approx(shrunk.mean(), rel=1e-9)
    logged = read_csv(tmp_path / "version_0/test/qdcg10/metrics.csv")[-1]
    assert float(logged["test_worst"]) == pytest.approx(shrunk.min(), rel=1e-6)


def lucky():
    """Thirty groups of 75, right in 38 to 70, and one of two rows, both wrong: the worst, unless it is shrunk."""
    count = np.array([*[75] * 30, 2])
    right = np.array([*np.linspace(38, 70, 30).astype(int), 0])
    group = np.repeat(np.arange(31), count)
    record = EpochRecord(torch.tensor(group), 31)
    place = np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
    record.write(torch.arange(len(group)), torch.tensor(place < np.repeat(right, count)))
    record.commit()
    return record, right, count, group, place < np.repeat(right, count)


@pytest.mark.parametrize("shrink", [False, True])
def test_groups_are_ranked_by_shrunk_accuracy_if_so_wished(shrink):
    record, right, count, group, correct = lucky()
    accuracy = fit_spread(right, count).posterior_mean(right, count) if shrink else right / count
    assert np.argmin(accuracy) == (0 if shrink else 30)
    want = spread(discounts(ranks(accuracy), 100), correct, group, "misclassified")
    np.testing.assert_allclose(DRU(shrink=shrink).reweight(record), want, rtol=1e-6)
    worst = np.where(group == np.argmin(accuracy), 3.0, 1.0)
    got = Worst(upweight_factor=3, upweight="all", shrink=shrink).reweight(record)
    np.testing.assert_array_equal(got, worst)


def test_training_set_among_the_test_loaders_is_left_out(trainer, capsys):
    data, method = Shortcut(groups=[6, 4, 4], group_size=10), DRU()
    trainer().fit(method, datamodule=data)
    loaders = [*data.test_dataloader(), evaluation_loader(data.dataset("train"))]
    trainer(callbacks=[GroupReport()], logger=CSVLogger("logs")).test(method, loaders, verbose=False)
    (report,) = Path("logs").rglob("report.json")
    assert list(read_json(report)["splits"]) == ["ood_test"]


def test_module_of_another_kind_is_refused(trainer):
    class Other(LightningModule):
        def test_step(self, batch, batch_idx):
            pass

    with pytest.raises(InputError, match="GroupReport reads the counts of a GroupModule, and the model is a Other"):
        trainer(callbacks=[GroupReport()]).test(Other(), Shortcut(groups=[6, 4, 4], group_size=10).test_dataloader())


def test_splits_that_know_which_groups_training_has_go_beside_those_that_do_not(tmp_path):
    known = SplitCounts("ood_test", ["a"], np.array([1]), np.array([2]), np.array([False]))
    write_report(tmp_path, [known, counts([1, 2], [2, 2], "id_test")], ["worst"], about={})
    assert [row.get("seen_in_training") for row in read_csv(tmp_path / "groups.csv")] == ["false", None, None]


SEEN = [("a", "1", "1", "true"), ("a", "1", "1", "TRUE"), ("b", "0", "0", "false"), ("c", "1", "1", "False")]


def seen_of(rows, header, *words):
    report = reported(*words, rows=rows, header=header)
    unseen = [content["groups_unseen_in_training"] for content in report["splits"].values()]
    return unseen, [row.get("seen_in_training") for row in read_csv("p_report/groups.csv")]


def test_which_groups_training_has_is_what_a_column_or_the_training_rows_say():
    header = "g,y,yhat,seen_in_training"
    assert seen_of(SEEN, header) == ([2], ["true", "false", "false"])
    assert seen_of([*SEEN, ("d", "1", "1", "")], header) == ([None], [None] * 4)  # of d nothing is known
    assert seen_of([*SEEN, ("b", "1", "1", "true")], header) == (
        [None],
        [None] * 3,
    )  # of b two things are said
    rows = [("a", "1", "1", "train"), ("a", "1", "1", "test"), ("b", "0", "0", "test"), ("b", "1", "1", "test")]
    assert seen_of(rows, "g,y,yhat,s", "--split", "s") == ([1, 0], ["true", "false", "true"])
    both = [(*row, seen) for row, seen in zip(rows, ["true", "true", "true", "true"], strict=True)]
    assert seen_of(both, "g,y,yhat,s,seen_in_training", "--split", "s") == ([0, 0], ["true"] * 3)


def test_a_column_of_other_words_is_refused():
    write("p.csv", [*SEEN, ("a", "1", "1", "maybe")], "g,y,yhat,seen_in_training")
    with pytest.raises(InputError, match=r"'seen_in_training', row 4 .*'maybe' is neither true nor false"):
        report_predictions("p.csv", label="y", prediction="yhat", group="g")


def test_what_is_true_of_all_splits_is_said_once(capsys):
    rows = [(*row[:3], part) for part in ("id_val", "ood_val", "id_test", "ood_test", "more") for row in ROWS]
    reported("--split", "s", rows=rows, name="five.csv")
    shown = " ".join(capsys.readouterr().out.split())
    for sentence in EXPLAINS:
        assert shown.count(sentence) == 1, sentence


EXPLAINS = (
    "Shrunk: the group's true accuracy",
    "Observed: as measured",
    "By chance alone: if every",
    "Balanced: mean over",
    "Constant answer: always",
)


def test_how_to_read_reports_is_said_with_the_first_test_of_several(trainer, capsys):
    data, method = Shortcut(groups=[6, 4, 4], group_size=10), DRU()
    tester = trainer(callbacks=[GroupReport()], logger=CSVLogger("logs"))
    tester.fit(method, datamodule=data)
    shown = []
    for _ in range(2):
        capsys.readouterr()
        tester.test(method, datamodule=data, verbose=False)
        shown.append(" ".join(capsys.readouterr().out.split()))
    for sentence in EXPLAINS:
        assert [text.count(sentence) for text in shown] == [1, 0], sentence
    for text in shown:
        assert "ood_test: 4 of 4 groups unseen in training." in text
        assert text.count("standard deviation") == 1


@pytest.mark.parametrize("width", [80, 200])
def test_what_is_said_below_a_table_takes_the_whole_width(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    reported("--criteria", "worst")
    lines = capsys.readouterr().out.splitlines()
    (place,) = [number for number, line in enumerate(lines) if line.startswith("By chance alone: ")]
    said = "By chance alone: if every group had the accuracy of all rows; median, and 5-95 %."
    assert (lines[place].strip() == said) == (width > len(said))
    assert " ".join(" ".join(lines[place : place + 2]).split()).startswith(said)
    assert max(len(line.rstrip()) for line in lines if "Written to" not in line) > width * 0.75


def test_the_folder_that_is_named_has_no_detours(tmp_path, capsys):
    (tmp_path / "a").mkdir()
    write(tmp_path / "p.csv", ROWS)
    main(["report", "--predictions", str(tmp_path / "a/../p.csv"), *COLUMNS])
    assert f"Written to {tmp_path / 'p_report'}: " in " ".join(capsys.readouterr().out.split())


def blank(rows, *places, column):
    """Rows with blank cells at these places."""
    return [
        tuple("" if (k in places and c == column) else cell for c, cell in enumerate(row)) for k, row in enumerate(rows)
    ]


MISSING = blank(blank(ROWS, 1, 5, 6, column=1), 5, 8, column=0)
"""Three blank labels and two blank groups, of four rows."""


def test_blank_labels_and_groups_are_refused_in_one_sentence(capsys):
    with pytest.raises(SystemExit):
        reported(rows=MISSING)
    said = " ".join(capsys.readouterr().err.split())
    assert "column 'y', row 1 (the first is 0): a blank cell is not a label, one of 3 such cells" in said
    assert "; blank cells too, 2 of column 'g' are no group; " in said
    assert "--drop_missing" in said


@pytest.mark.parametrize("split", [[], ["--split", "s"]])
def test_rows_without_a_label_or_a_group_are_left_out_and_counted(capsys, split):
    report = reported("--drop_missing", "--html", "p.html", *split, rows=MISSING)
    assert report.pop("dropped") == {"rows": 4, "blank": {"y": 3, "g": 2}}
    said = "Left out: 4 rows with a blank cell (y 3, g 2)."
    assert said in " ".join(capsys.readouterr().out.split())
    assert said in Path("p.html").read_text(encoding="utf-8")
    kept = [row for k, row in enumerate(ROWS) if k not in (1, 5, 6, 8)]
    assert report == reported(*split, rows=kept)


def test_rows_that_are_left_out_do_not_move_those_that_messages_name(capsys):
    rows = [*MISSING[:10], ("c", "1", "2", "id_test"), *MISSING[10:]]
    with pytest.raises(SystemExit):
        reported("--drop_missing", rows=rows)
    assert "column 'yhat', row 10 (the first is 0): '2' is not one of the labels" in " ".join(
        capsys.readouterr().err.split()
    )
    assert reported("--drop_missing", rows=ROWS)["dropped"] == {"rows": 0, "blank": {"y": 0, "g": 0}}


def test_counts_without_a_group_are_left_out_and_counted():
    Path("c.csv").write_text("g,count,correct\na,10,8\n,9,2\nb,10,x\n", encoding="utf-8")
    words = ["report", "--counts", "c.csv", "--group", "g", "--drop_missing", "--overwrite"]
    with pytest.raises(SystemExit):
        main(words)
    Path("c.csv").write_text("g,count,correct\na,10,8\n,9,2\nb,10,6\n", encoding="utf-8")
    main(words)
    report = read_json("c_report/report.json")
    assert report["dropped"] == {"rows": 1, "blank": {"g": 1}}
    assert report["splits"]["all"]["rows"] == 20
    assert report["splits"]["all"]["criteria"]["overall"]["value"] == pytest.approx(0.7)


def test_the_positive_class_is_named_wherever_a_figure_is_about_it(capsys):
    names = {"0": "No", "1": "Yes"}
    rows = [(g, names[y], names[said], split) for g, y, said, split in ROWS]
    for positive in ("Yes", "No"):
        report = reported("--figure", "fpr,error,tpr", "--positive", positive, rows=rows)
        assert report["positive"] == positive
        assert report["figure"] == ["fpr", "error", "tpr"]
        found = {name: each["splits"]["all"].get("positive") for name, each in report["figures"].items()}
        assert found == {"fpr": positive, "error": None, "tpr": positive}
        for name, label in found.items():
            assert {row.get("positive", "") for row in read_csv(f"p_report/groups_{name}.csv")} == {label or ""}
        said = " ".join(capsys.readouterr().out.split())
        assert f"Criteria of the false positive rate (positive: {positive})" in said
        assert f"True positive rate (positive: {positive}): " in said
        assert "Criteria of the error rate " in said
        # What the counts of a share are is said of it.
        assert (
            "Rows: rows of the negative class, which alone it is about; events: those of them that are predicted"
            in said
        )
        assert "Events: those of all rows that are wrong." in said
    with pytest.raises(SystemExit):
        reported("--figure", "fpr", rows=rows)
    said = " ".join(capsys.readouterr().err.split())
    assert "say which of the labels it is with --positive ... (labels: 'Yes', 'No')" in said


@pytest.mark.parametrize("groups", [13, 20, 160, 2000])
def test_of_many_groups_the_worst_is_named_where_nothing_is_drawn_and_the_axis_begins_with_it(groups):
    right = np.arange(groups) % 60
    right[7] = -1
    figure = draw_groups([counts(right + 1, [60] * groups, "ood_test")])
    (ax,) = figure.axes
    assert ax.get_xlabel() == "groups, the worst first; worst: group 7"
    figure.canvas.draw()
    assert ax.xaxis.label.get_window_extent().y1 < ax.get_window_extent().y0, "below the axes"
    assert not ax.texts
    assert min(at for at in ax.get_xticks() if at >= ax.get_xlim()[0]) == 1
    assert 0 <= 1 - ax.get_xlim()[0] <= groups / 40


# ---- pictures


def counts(correct, count, split="ood_test"):
    return SplitCounts(split, [f"group {g}" for g in range(len(count))], np.array(correct), np.array(count))


@pytest.mark.parametrize("groups", [1, 9, 40, 160, 5000])
def test_groups_are_drawn_in_ascending_order(groups):
    rng = np.random.default_rng(groups)
    count = rng.integers(5, 60, groups)
    correct = rng.binomial(count, 0.7)
    figure = draw_groups([counts(correct, count)])
    (ax,) = figure.axes
    (line,) = [line for line in ax.lines if line.get_label() in ("groups", "a group")]
    np.testing.assert_array_equal(line.get_ydata(), np.sort(correct / count))
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, groups + 1))
    figure.savefig("g.png")
    assert imread("g.png").shape[0] > 400


@pytest.mark.parametrize(("names", "angle"), [(["M", "F"], 0), (["a clinic of " + "many letters" * 2] * 3, 35)])
def test_only_long_names_of_groups_are_slanted(names, angle):
    split = replace(counts([5, 6, 9][: len(names)], [10, 30, 20][: len(names)]), groups=names)
    (ax,) = draw_groups([split]).axes
    assert {text.get_rotation() for text in ax.get_xticklabels()} == {angle}


def test_few_groups_are_named_and_have_their_intervals():
    split = counts([5, 6, 9], [10, 30, 20])
    (ax,) = draw_groups([split]).axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["group 1", "group 2", "group 0"]
    (bars,) = [found for found in ax.collections if found.get_label().endswith("own rows")]
    ends = np.array([path[:, 1] for path in bars.get_segments()])
    np.testing.assert_allclose(ends, np.stack(split.interval, axis=1)[[1, 2, 0]])
    # Above each name is what chance gives of a group of that size; 20 of 60 rows are right.
    (of_chance,) = ax.containers
    assert of_chance.get_label() == "chance alone, by its size (5 to 95 %)"
    for place, (bar, size) in enumerate(zip(of_chance, (30, 20, 10), strict=True), start=1):
        assert bar.get_x() + bar.get_width() / 2 == place
        ends = [bar.get_y(), bar.get_y() + bar.get_height()]
        assert ends == pytest.approx(binom.ppf([0.05, 0.95], size, 1 / 3) / size)
    assert ax.get_title() == "ood_test: 3 groups, 60 rows\naccuracy .333 over all rows"


class Marked(SplitCounts):
    """Counts of which every third group contradicts its shrunk value."""

    @property
    def contradicts(self):
        return np.arange(len(self.count)) % 3 == 0


@pytest.mark.parametrize("kind", [SplitCounts, Marked], ids=["plain", "marked"])
@pytest.mark.parametrize("sizes", [(9,), (40,), (90,), (40, 90), (9, 40, 90), (9, 40, 90, 9)], ids=str)
def test_whole_legend_is_within_the_picture(sizes, kind):
    rng = np.random.default_rng(0)
    splits = [kind(f"s{m}", [f"g{g}" for g in range(m)], rng.binomial(25, 0.8, m), np.full(m, 25)) for m in sizes]
    figure = draw_groups(splits)
    figure.savefig("g.png")
    (legend,) = figure.legends
    around = legend.get_window_extent()
    assert figure.bbox.x0 <= around.x0
    assert around.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= around.y0
    for ax, split in zip(figure.axes, splits, strict=True):
        sizes_of = {line.get_label(): line.get_markersize() for line in ax.lines}
        red = [size for label, size in sizes_of.items() if "contradict" in label]
        assert bool(red) == (kind is Marked)
        assert all(size <= sizes_of.get("a group", 2) for size in red), split.split


def test_band_of_the_worst_group_is_that_of_the_table():
    # The exact 5th and 95th percentile of the worst of 50 groups of 25 at .8, as the floor in the table has them.
    split = counts([20] * 50, [25] * 50)
    figure = draw_groups([split])
    (band,) = [
        found for found in figure.axes[0].collections if found.get_label() == "chance alone, by rank (5 to 95 %)"
    ]
    corners = band.get_paths()[0].vertices
    worst = corners[corners[:, 0] == 1][:, 1]
    at_most = 1 - (1 - binom.cdf(np.arange(26), 25, 0.8)) ** 50
    want = [np.searchsorted(at_most, share) / 25 for share in (0.05, 0.95)]
    assert [worst.min(), worst.max()] == pytest.approx(want)
    assert split.summary(["worst"])["criteria"]["worst"]["floor"]["interval"] == pytest.approx(want)


def test_names_of_groups_are_drawn_as_they_are():
    split = SplitCounts("s", ["$x_{1}$ \\frac{", "a" * 50], np.array([1, 2]), np.array([2, 2]))
    draw_groups([split]).savefig("g.png")


def test_criteria_are_drawn_by_epoch_and_family():
    history = {e: {"val_worst": e / 10, "id_val_worst": e / 5, "val_qdcg10": 3 - e, "val_tstat": 9.0} for e in range(3)}
    figure = draw_criteria(history)
    drawn = {line.get_label(): list(line.get_ydata()) for ax in figure.axes for line in ax.lines}
    assert drawn == {key: [history[e][key] for e in range(3)] for key in history[0]}
    assert [len(ax.lines) for ax in figure.axes] == [2, 1, 1]


def test_weights_are_drawn_by_band_of_rank():
    rank, weight = np.arange(10) * 10.0, np.arange(10, 0, -1.0)  # 0, 10, ..., 90 percent
    (ax,) = draw_weights([(1, rank, weight), (2, rank, 2 * weight)]).axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
    assert drawn == {
        "0 to 5 %": [10, 20],
        "10 to 25 %": [8.5, 17],  # ranks 10 and 20
        "25 to 50 %": [6.5, 13],  # ranks 30 and 40
        "50 to 100 %": [3, 6],
    }
    (by_number,) = draw_weights([(2, rank / 10, 2 * weight), (1, rank / 10, weight)]).axes
    assert {line.get_label(): list(line.get_ydata()) for line in by_number.lines} == drawn


class Board(TensorBoardLogger):
    def __init__(self):
        self.sent = []

    @property
    def experiment(self):
        return self

    def add_image(self, tag, image, step, dataformats):
        self.sent.append((tag, image.shape[-1], step, dataformats))


class Wandb(WandbLogger):
    def __init__(self):
        self.sent = []

    def log_image(self, key, images, step=None, **kwargs):
        self.sent.append((key, images, step))


class MLFlow(MLFlowLogger):
    def __init__(self):
        self.sent = []

    @property
    def experiment(self):
        return self

    @property
    def run_id(self):
        return "17"

    def log_artifact(self, run, path):
        self.sent.append((run, path))


def test_pictures_go_to_the_loggers_that_take_them(tmp_path):
    picture = tmp_path / "groups.png"
    draw_groups([counts([1, 2], [2, 3])]).savefig(picture)
    board, wandb, mlflow = loggers = [Board(), Wandb(), MLFlow()]
    send_picture(picture, [*loggers, CSVLogger(tmp_path)], 7)
    assert board.sent == [("groups", 4, 7, "HWC")]
    assert wandb.sent == [("groups", [str(picture)], 7)]
    assert mlflow.sent == [("17", str(picture))]


def test_of_groups_that_are_served_alike_each_stands_once_in_the_table():
    right = {"a": (0, 3), "b": (1, 5), "c": (1, 3), "d": (2, 4), "e": (2, 3), "f": (2, 3), "g": (2, 3), "h": (2, 3)}
    right |= {"i": (3, 4), "j": (2, 2), "k": (1, 1), "l": (2, 2), "m": (3, 3), "n": (4, 4)}
    correct, count = (np.array(column) for column in zip(*right.values(), strict=True))
    split = SplitCounts("ood_test", list(right), correct, count, np.zeros(14, dtype=bool))
    table = groups_table(split)
    assert sorted(table.columns[0].cells) == sorted(right)


# ---- pictures of a fit


def panel_of(figure):
    """Key to the number of its axes."""
    lines = [(line.get_label(), number) for number, ax in enumerate(figure.axes) for line in ax.lines]
    return {label: number for label, number in lines if not label.startswith("_")}


def test_criteria_of_unlike_size_have_their_own_axes():
    first = {"val_gdcg50": 24.0, "val_qdcg50": 9.0, "val_qdcg10": 3.5, "val_worst": 0.01, "val_overall": 0.9}
    panels = panel_of(draw_criteria({0: first, 1: {**first, "id_val_qdcg10": 3.0}}))
    assert panels["val_worst"] == panels["val_overall"], "accuracies have one range"
    assert panels["val_qdcg10"] == panels["id_val_qdcg10"] == panels["val_qdcg50"], "2.6 times as large"
    assert panels["val_gdcg50"] not in (panels["val_qdcg50"], panels["val_overall"])


def test_epochs_that_were_kept_are_marked():
    history = {e: {"val_worst": e / 10, "val_qdcg10": 3.0 - e} for e in range(4)}
    figure = draw_criteria(history, {"worst": 3, "qdcg10": 1})
    for ax in figure.axes:
        marks = [line for line in ax.lines if line.get_label() == "_chosen"]
        assert [line.get_xdata()[0] for line in marks] == [1, 3]
        key = next(line.get_label() for line in ax.lines if line.get_label().startswith("val_"))
        (ring,) = [line for line in ax.lines if line.get_label() == "_ring"]
        epoch = {"val_worst": 3, "val_qdcg10": 1}[key]
        assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (epoch, history[epoch][key])
    assert "epoch 1 by qdcg10; epoch 3 by worst" in figure.get_supxlabel()


def test_fit_marks_the_epochs_of_its_checkpoints(fit, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(
        "drurank.report.pictures.draw_criteria", lambda history, chosen: given.append(chosen) or draw_criteria(history)
    )
    folder = fit(tmp_path, "--select", "worst,average", method="ERM")
    noted = read_json(folder / "selection.json")
    assert given == [{name: noted[name]["epoch"] for name in ("worst", "average")}]


def test_names_of_groups_in_a_picture_are_told_apart():
    names = [f"writer_of_reviews_{i}_of_all" for i in range(3)]
    (ax,) = draw_groups([SplitCounts("s", names, np.array([1, 2, 3]), np.array([4, 4, 4]))]).axes
    assert len({text.get_text() for text in ax.get_xticklabels()}) == 3
