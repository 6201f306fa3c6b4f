"""A repeated value far from all others that is a usual code for a missing one is noted; heavy tails are not."""

import numpy as np
import pyarrow as pa
import pytest

from drurank.tabular.gathering import gather_rows
from drurank.tabular.rules.sentinels import sentinels
from faults import ROLES, look, put, sound

RNG = np.random.default_rng(3)
SCORES = RNG.integers(34, 101, 720).astype(float)


def found(cells, rows=(), value=999.0, **options):
    """What is noted of a column of these cells, with a value in some rows."""
    table = {**sound(), "score": list(map(float, cells))}
    put(table, "score", dict.fromkeys(rows, value))
    return [one for one in look(table, **options).findings if one.code == "sentinels"]


@pytest.mark.parametrize(
    ("cells", "value", "said"),
    [
        (SCORES, 999, "999 in 40 rows, far beyond the others (34 to 100)"),
        (SCORES, 9999, "9999 in 40 rows, far beyond the others (34 to 100)"),
        (SCORES, -99, "-99 in 40 rows, far below the others (34 to 100)"),
        (SCORES, -999, "-999 in 40 rows, far below the others (34 to 100)"),
        (SCORES / 100, -1, "-1 in 40 rows, far below the others (0.34 to 1)"),
        (SCORES / 100, 9, "9 in 40 rows, far beyond the others (0.34 to 1)"),
        (RNG.integers(1, 5, 720), 9, "9 in 40 rows, far beyond the others (1 to 4)"),
        (RNG.integers(0, 31, 720), 99, "99 in 40 rows, far beyond the others (0 to 30)"),
    ],
)
def test_a_code_among_measurements_is_noted(cells, value, said):
    cells = [*cells]
    cells[700], cells[701] = min(cells), max(cells)
    (finding,) = found(cells, range(0, 400, 10), value)
    assert (finding.severity, finding.names, finding.column) == ("note", ["score"], "score")
    assert finding.sentence == (
        f"score is exactly {said}; if it means missing, leave these cells blank and give missing='indicator', or leave "
        "the column out (exclude='score')"
    )


def test_where_missing_cells_have_an_indicator_it_is_not_advised():
    (finding,) = found(SCORES, range(5), missing="indicator")
    assert "leave these cells blank, or leave the column out" in finding.sentence


def test_columns_are_in_one_finding_and_copies_count_once():
    table = {**sound(), "a": SCORES.tolist(), "b": (SCORES + 5).tolist()}
    put(table, "a", dict.fromkeys(range(3, 7), 999.0))
    put(table, "b", dict.fromkeys(range(10, 20), -99.0))
    for name in "xkcyab":
        put(table, name, {4: table[name][3]})
    (finding,) = (one for one in look(table).findings if one.code == "sentinels")
    assert finding.names == ["a", "b"]
    assert finding.sentence.startswith("a is exactly 999 in 3 rows, far beyond the others (34 to 100); b is exactly -9")
    assert "others (39 to 105) (repeated ones counted once); if it" in finding.sentence


LOGNORMAL = np.exp(RNG.normal(8.5, 1.5, 720)).round()
NONE = {
    "one row": (SCORES, range(1), 999),
    "two rows": (SCORES, range(2), 999),
    "another number": (SCORES, range(40), 1000),
    "with a fraction": (SCORES, range(40), 999.5),
    "not far": (SCORES, range(40), 99),
    "no farther than the others' range": (np.arange(720) % 51, range(40, 80), 99),
    "heavy tail": (LOGNORMAL, [], 0),
    "heavy tail that ends in nines": (np.where(LOGNORMAL.max() == LOGNORMAL, 999_999, LOGNORMAL), [], 0),
    "0 and 1": (RNG.integers(0, 2, 720), [], 0),
    "0 and 99": (RNG.integers(0, 2, 720) * 99, [], 0),
    "-1 and 1": (RNG.integers(0, 2, 720) * 2 - 1, [], 0),
    "-1, 0 and 1": (RNG.integers(-1, 2, 720), [], 0),
    "0, 1 and 9": (RNG.choice([0, 1, 9], 720), [], 0),
    "one value": ([999] * 720, [], 0),
    "normal": (RNG.normal(size=720), [], 0),
    "two codes": ([*[998] * 20, *SCORES[20:]], range(20, 40), 999),
}


@pytest.mark.parametrize("case", NONE)
def test_other_columns_are_no_codes(case):
    cells, rows, value = NONE[case]
    assert found(cells, rows, value) == []


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.poisson(0.4, n),
        lambda rng, n: rng.poisson(3, n) * rng.integers(0, 2, n),
        lambda rng, n: rng.geometric(0.3, n) - 1,
        lambda rng, n: rng.negative_binomial(0.2, 0.05, n),
        lambda rng, n: rng.zipf(1.8, n),
        lambda rng, n: rng.pareto(0.8, n).round(),
        lambda rng, n: np.exp(rng.normal(2, 1.5, n)).round(),
        lambda rng, n: -np.exp(rng.normal(0, 1.5, n)).round(),
    ],
    ids=["Poisson", "many zeros", "geometric", "negative binomial", "Zipf", "Pareto", "log-normal", "negative"],
)
def test_counts_and_heavy_tails_are_no_codes(draw):
    rng = np.random.default_rng(0)
    table = {**sound(), **{f"n{place}": draw(rng, 720).astype(float).tolist() for place in range(100)}}
    assert [one.sentence for one in sentinels(gather_rows("t.parquet", pa.table(table), **ROLES))] == []


def test_dates_are_no_codes():
    table = {**sound(), "day": [float(day) for day in RNG.integers(100, 160, 720)]}
    put(table, "day", dict.fromkeys(range(20), 9999.0))
    codes = [
        {one.code for one in look(table, **options).findings}
        for options in ({}, {"numbers": ["day"], "dates": ["day"]})
    ]
    assert ["sentinels" in one for one in codes] == [True, False]
