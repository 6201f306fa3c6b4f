"""Reports of rows that have weights, against numpy, by hand, and against those of rows without weights."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from scipy.stats import beta, norm

from drurank.cli import main
from drurank.errors import InputError
from drurank.figures import SHARES
from drurank.report import report_predictions
from drurank.report.weights import Weights
from drurank.tabular.several import Source
from drurank.words import in_digits
from runs import read_csv

COLUMNS = {"label": "y", "prediction": "yhat", "group": "g"}
RATES = "error,tpr,fnr,tnr,fpr,precision,npv,selection_rate,off_by_more_than_one"


def rows_of(seed=0, rows=600, groups=8):
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, rows, p=np.array([1, 1, *[10] * (groups - 2)]) / (10 * groups - 18))
    label = rng.integers(0, 2, rows)
    said = np.where(rng.random(rows) < 0.6 + 0.04 * group, label, 1 - label)
    split = np.array(["id_test", "ood_test"])[group % 2]
    return {
        "y": label,
        "yhat": said,
        "g": np.char.add("g", group.astype(str)),
        "s": split,
        "w": rng.lognormal(0, 1, rows),
        "one": np.ones(rows),
        "same": np.full(rows, 2.5),
        "tenth": np.full(rows, 0.1),
    }


def reported(rows, output="out", **words):
    pa_csv.write_csv(pa.table(rows), "p.csv")
    return report_predictions("p.csv", **COLUMNS, **words, output=output, overwrite=True)


def assert_alike(weighted, plain, what):
    """The same plain values, but for rounding."""
    if isinstance(plain, dict):
        for name, value in plain.items():
            if name not in ("constant_answer", "balanced_accuracy"):  # which rows with weights do not have
                assert_alike(weighted[name], value, f"{what}, {name}")
    elif isinstance(plain, list):
        assert len(weighted) == len(plain), what
        for one, other in zip(weighted, plain, strict=True):
            assert_alike(one, other, what)
    elif isinstance(plain, float):
        assert weighted == pytest.approx(plain, rel=1e-12, abs=1e-12), what
    else:
        assert weighted == plain, what


@pytest.mark.parametrize("weight", ["one", "same", "tenth"])
def test_equal_weights_change_no_figure_interval_or_criterion(weight):
    words = {"split": "s", "figure": "fpr,precision,selection_rate", "positive": "1", "min_count": 12}
    plain = reported(rows_of(), "plain", **words)
    weighted = reported(rows_of(), "weighted", weight=weight, **words)
    assert sum(one["groups_left_out"] for one in plain["splits"].values()) > 0
    assert plain["drop"]["criteria"]["worst"]["by_chance"] is not None
    for part in ("splits", "drop", "figures"):
        assert_alike(weighted[part], plain[part], part)
    for file in ("groups.csv", "groups_fpr.csv"):
        for one, other in zip(read_csv(Path("weighted") / file), read_csv(Path("plain") / file), strict=True):
            assert float(one["effective"]) == float(other["count"])
            assert float(one["weight"]) == pytest.approx(rows_of()[weight][0] * float(other["count"]))
            for name, cell in other.items():
                if name in ("correct", "events"):
                    assert not one.get(name)
                elif name in ("value", "accuracy", "low", "high", "shrunk", "chance_low", "chance_high"):
                    assert float(one[name]) == pytest.approx(float(cell), rel=1e-12, abs=1e-12)
                else:
                    assert one[name] == cell


def lift_of(group, weight, event):
    """Linearised variances of the groups' shares over what they are where weights have nothing to do with it."""
    found = expected = 0
    for name in np.unique(group):
        w, y = weight[group == name], event[group == name]
        if len(w) > 1:
            w = w / w.sum()
            p = np.sum(w * y)
            found += np.sum(w**2 * (y - p) ** 2)
            # Of each row y - p has the variance 1 - 2 w + sum(w^2), and p (1 - p) the mean 1 - sum(w^2), of that of y.
            expected += p * (1 - p) / (1 - np.sum(w**2)) * np.sum(w**2 * (1 - 2 * w + np.sum(w**2)))
    return max(1, found / expected) if expected else 1


def related(rng, by, groups=20, rows=60):
    """Groups of which .85 is right by weight, where a heavier row is right less often, if ``by`` is below 0."""
    code = np.repeat(np.arange(groups), rows)
    z = rng.standard_normal(len(code))
    chance = norm.cdf(np.sqrt(1 + by**2) * norm.ppf(0.85) + by * (z - 1))
    return code, np.exp(z), rng.random(len(code)) < chance


@pytest.mark.parametrize("by", [0.0, -0.7, -1.5])
def test_effective_numbers_allow_for_heavy_rows_that_go_wrong_more_often(by):
    """Shares vary as those of so many rows of equal weight do, which without the lift they do only where it is 1."""
    rng = np.random.default_rng(0)
    found = [Weights.of_rows(*related(rng, by), 20) for _ in range(200)]
    shares, effective = (np.array([getattr(one, name) for one in found]) for name in ("share", "effective"))
    lift = np.array([one.lift for one in found])
    p = shares.mean()
    of_kish = (p * (1 - p) / (effective * lift[:, None])).mean()
    wanted = shares.var() / of_kish
    assert np.median(lift) == pytest.approx({0.0: 1.03, -0.7: 1.6, -1.5: 2.05}[by], abs=0.06)
    assert np.median(lift) == pytest.approx(wanted, rel=0.15)
    assert wanted == pytest.approx(1, abs=0.1) or wanted > 1.4


def test_intervals_that_would_hold_too_seldom_are_withheld_with_the_reason():
    code, weight, right = related(np.random.default_rng(0), -1.5, groups=12)
    label = np.arange(len(code)) % 2
    rows = {"y": label, "yhat": np.where(right, label, 1 - label), "g": code, "w": weight}
    lift = lift_of(code, weight, right)
    assert lift > 1.5
    report = reported(rows, weight="w", html="page.html", criteria="overall,average,worst,p10,qdcg10,gap")
    found = report["splits"]["all"]
    has_interval = {name: entry["interval"] is not None for name, entry in found["criteria"].items()}
    assert has_interval == {"overall": True, "average": True} | dict.fromkeys(("worst", "p10", "qdcg10", "gap"), False)
    assert all(entry["value"] is not None and entry["floor"] for entry in found["criteria"].values())
    assert found["spread"] is None
    assert found["withheld"]
    text = Path("page.html").read_text("utf-8")
    assert f"divided by {in_digits(lift)} here" in text
    assert "would hold too seldom: they are withheld" in text
    assert "How groups truly differ is not said, for what weights do here." in text
    found = reported({**rows, "w": np.random.default_rng(1).permutation(weight)}, weight="w")["splits"]["all"]
    assert found["lift"] < 1.5
    assert not found["withheld"]
    assert found["spread"] is not None
    assert found["criteria"]["worst"]["interval"] is not None


@pytest.mark.parametrize("seed", range(3))
def test_figures_by_group_are_weighted_means(seed):
    rows = rows_of(seed)
    report = reported(rows, weight="w", figure=RATES, positive="1")
    label, said, weight = rows["y"], rows["yhat"], rows["w"]
    every = np.ones(len(label), bool)
    of = {  # about, of which
        "accuracy": (every, label == said),
        "error": (every, label != said),
        "tpr": (label == 1, said == 1),
        "fnr": (label == 1, said == 0),
        "tnr": (label == 0, said == 0),
        "fpr": (label == 0, said == 1),
        "precision": (said == 1, label == 1),
        "npv": (said == 0, label == 0),
        "selection_rate": (every, said == 1),
        "off_by_more_than_one": (every, np.zeros(len(label), bool)),
    }
    assert set(of) == set(SHARES)
    for name, (about, event) in of.items():
        column, file = ("accuracy", "groups.csv") if name == "accuracy" else ("value", f"groups_{name}.csv")
        values, lift = [], lift_of(rows["g"][about], weight[about], event[about])
        for row in read_csv(f"out/{file}"):
            here = about & (rows["g"] == row["group"])
            if not here.any():
                assert row["reason"]
                continue
            w, values = weight[here], [*values, np.average(event[here], weights=weight[here])]
            effective = max(1, w.sum() ** 2 / (w**2).sum() / lift)
            assert float(row[column]) == pytest.approx(values[-1], abs=1e-12)
            assert float(row["weight"]) == pytest.approx(w.sum())
            assert float(row["effective"]) == pytest.approx(effective)
            assert int(row["count"]) == here.sum()
            k = values[-1] * effective
            low = 0 if k == 0 else beta.ppf(0.05, k, effective - k + 1)
            high = 1 if k == effective else beta.ppf(0.95, k + 1, effective - k)
            assert (float(row["low"]), float(row["high"])) == pytest.approx((low, high), abs=1e-9)
        content = report["splits"] if name == "accuracy" else report["figures"][name]["splits"]
        found = content["all"]["criteria"]
        worst = max(values) if name in ("error", "fnr", "fpr", "off_by_more_than_one") else min(values)
        assert found["overall"]["value"] == pytest.approx(np.average(event[about], weights=weight[about]))
        assert found["average"]["value"] == pytest.approx(np.mean(values))
        assert found["worst"]["value"] == pytest.approx(worst)
        low, high = found["overall"]["interval"]
        assert low <= found["overall"]["estimate"] <= high
    lift = lift_of(rows["g"], weight, label == said)
    assert report["splits"]["all"]["lift"] == pytest.approx(lift)
    assert report["splits"]["all"]["effective"] == pytest.approx(weight.sum() ** 2 / (weight**2).sum() / lift)
    assert report["splits"]["all"]["weight"] == pytest.approx(weight.sum())
    assert report["splits"]["all"]["constant_answer"] is None


def test_effective_numbers_by_hand():
    # a: weights 1, 1, 2, of which 1 and 2 are right: (4)^2 / 6 rows; b: one row; c: none.
    found = Weights.of_rows(
        np.array([0, 0, 0, 1]), np.array([1.0, 1, 2, 7]), np.array([True, False, True, False]), groups=3
    )
    assert found.total.tolist() == [4, 7]
    assert found.share.tolist() == [3 / 4, 0]
    assert found.effective == pytest.approx([16 / 6, 1])
    assert found.right == pytest.approx([3 / 4 * 16 / 6, 0])
    assert found.effective_rows == pytest.approx(11**2 / (1 + 1 + 4 + 49))


def test_weights_of_any_scale_have_the_same_effective_numbers():
    rng = np.random.default_rng(0)
    code, weight, good = rng.integers(0, 4, 100), rng.lognormal(0, 2, 100), rng.random(100) < 0.5
    plain = Weights.of_rows(code, weight, good, 4)
    for scale in (1e-200, 1e29 / weight.max()):
        found = Weights.of_rows(code, weight * scale, good, 4)
        assert found.effective == pytest.approx(plain.effective)
        assert found.right == pytest.approx(plain.right)
    # Where all went well, no more did than there are.
    assert (Weights.of_rows(code, weight, np.ones(100, bool), 4).right <= plain.effective).all()


def test_rows_of_weight_0_are_as_if_they_were_not_there():
    rows = rows_of(rows=200)
    rows["w"] = np.where((np.arange(200) % 3 == 0) | (rows["g"] == "g0"), 0, rows["w"])
    found = reported(rows, "some", weight="w", split="s")
    kept = {name: cells[rows["w"] > 0] for name, cells in rows.items()}
    assert found["splits"] == reported(kept, "kept", weight="w", split="s")["splits"]
    assert Path("some/groups.csv").read_bytes() == Path("kept/groups.csv").read_bytes()
    assert "g0" not in {row["group"] for row in read_csv("some/groups.csv")}


def test_parquet_of_weighted_rows_gives_the_report_of_the_csv():
    rows = rows_of(rows=300)
    rows["w"] = np.round(rows["w"], 1) + 0.1  # so that many weights are equal
    of_csv = reported(rows, weight="w", figure="fpr")
    pa_parquet.write_table(pa.table(rows), "p.parquet", row_group_size=70)
    of_parquet = report_predictions("p.parquet", **COLUMNS, weight="w", figure="fpr", output="parquet")
    assert of_parquet["splits"] == of_csv["splits"]
    assert of_parquet["figures"] == of_csv["figures"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [("", "a blank cell"), ("-1", "-1"), ("nan", "nan"), ("inf", "inf"), ("much", "'much'")],
)
def test_a_cell_that_is_no_weight_is_refused_with_its_row(cell, said):
    Path("p.csv").write_text(f"g,y,yhat,w\na,1,1,1\nb,0,1,2\nb,0,0,{cell}\na,1,1,1\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=rf"column 'w', row 2 \(the first is 0\): .*{said}.* is no weight; give numbers"
    ):
        report_predictions("p.csv", **COLUMNS, weight="w")


def test_weights_that_are_all_0_are_refused():
    Path("p.csv").write_text("g,y,yhat,w\na,1,1,0\nb,0,1,0\n", encoding="utf-8")
    with pytest.raises(InputError, match="every weight in 'w' is 0"):
        report_predictions("p.csv", **COLUMNS, weight="w")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"figure": "fpr,auroc,f1"}, "figure auroc, f1 is no share of rows"),
        ({"by": "overlapping"}, "would weigh in several groups"),
        ({"count": "one"}, "would weight rows twice"),
        ({"shrink": True}, "shrink is not made"),
        ({"threshold": "fpr=0.1", "threshold_on": "id_val"}, "threshold is chosen for fpr by rows without weights"),
    ],
)
def test_what_is_not_made_of_weighted_rows_is_refused(words, said):
    with pytest.raises(InputError, match=f"^weight is 'w', and .*{said}"):
        reported(rows_of(rows=50), weight="w", **words)


def test_comparisons_refuse_weights():
    pa_csv.write_csv(pa.table(rows_of(rows=50)), "p.csv")
    both = ["report", "--predictions", "p.csv", "p.csv"], ["report", "--predictions", "p.csv", "--prediction", "y,yhat"]
    for words in both:
        with pytest.raises(SystemExit):
            main([*words, "--label", "y", "--group", "g", "--weight", "w"])


def test_page_card_and_terminal_say_what_the_weights_do(capsys):
    pa_csv.write_csv(pa.table(rows_of()), "p.csv")
    words = ["--weight", "w", "--figure", "fpr", "--html", "page.html", "--card", "--output", "out"]
    main(["report", "--predictions", "p.csv", "--label", "y", "--prediction", "yhat", "--group", "g", *words])
    shown = " ".join(capsys.readouterr().out.split())
    report = json.loads(Path("out/report.json").read_text(encoding="utf-8"))
    effective = f"{report['splits']['all']['effective']:,.1f}"
    said = f"ows are weighted: 600 rows tell as much as {effective} of equal weight"
    assert said in shown
    assert "No constant answer is given" in shown
    assert "effective" in shown
    row = next(row for row in read_csv("out/groups.csv") if row["group"] == "g0")
    for file in ("page.html", "out/model_card.md"):
        text = Path(file).read_text(encoding="utf-8")
        assert said in text
        assert f"{float(row['effective']):,.1f}" in text
        assert "effective" in text
    assert report["weight"] == "w"


def test_rows_are_held_since_each_may_have_a_weight_of_its_own(monkeypatch):
    read = Source.read
    found = []
    monkeypatch.setattr(Source, "read", lambda *given, **words: found.append(given) or read(*given, **words))
    pa_parquet.write_table(pa.table(rows_of(rows=60)), "p.parquet")
    report_predictions("p.parquet", **COLUMNS, weight="w", output="out")
    assert len(found) == 1
