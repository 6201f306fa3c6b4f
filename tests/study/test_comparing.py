"""Two candidates, group by group."""

import csv

import numpy as np
import pytest

from drurank.cli import main
from drurank.errors import InputError
from drurank.study import Study, compare, find
from drurank.study.result import Counts


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
    assert "Of 4 groups" in capsys.readouterr().out


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


def test_candidates_that_are_not_there(results, capsys):
    with pytest.raises(SystemExit):
        main(["study", "compare", "--folder", str(results), "--first", "DRU cutoff=5 seed=9", "--second", "x"])
    assert "did you mean 'DRU cutoff=5 seed=" in capsys.readouterr().err
