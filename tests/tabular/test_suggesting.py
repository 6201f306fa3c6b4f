"""Options with which a table can be trained on as it stands."""

import numpy as np
import pyarrow as pa

from drurank.tabular.gathering import gather_rows
from drurank.tabular.suggesting import suggested_options

N = 200
RNG = np.random.default_rng(0)
DAYS = [f"2021-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(N)]


def suggested(**columns):
    table = {
        **columns,
        "x": RNG.normal(size=N),
        "y": [str(row % 2) for row in range(N)],
        "g": [f"g{row % 10}" for row in range(N)],
        "s": ["train" if row % 10 < 8 else "ood_val" for row in range(N)],
    }
    rows = gather_rows("t.csv", pa.table(table), label="y", group=["g"], split="s", most_categories=50)
    return suggested_options(rows)


def test_a_plain_table_needs_no_option():
    assert suggested(c=[f"c{row % 3}" for row in range(N)]) == {}


def test_columns_are_read_as_what_they_look_like():
    assert suggested(
        when=DAYS,
        born=DAYS[::-1],
        paid=[f"{row % 40 + 1},500" for row in range(N)],
        rate=[f"{row % 40}.5%" for row in range(N)],
        zip=[10000 + row % 40 for row in range(N)],
    ) == {"dates": ["when", "born"], "thousands": ",", "percents": ["rate"], "categorical": ["zip"]}
    assert suggested(rate=[f"{row % 40},5" for row in range(N)]) == {"decimal": ","}
    compact = [day.replace("-", "") for day in DAYS]
    assert suggested(when=compact) == {"dates": ["when"], "date_format": "%Y%m%d"}
    assert suggested(when=compact, other=DAYS) == {"dates": ["when"], "date_format": "%Y%m%d", "exclude": ["other"]}


def test_dates_of_no_known_order_are_left_out_since_the_command_would_not_run():
    either = [f"{1 + row % 12}/5/2021" for row in range(N)]
    assert suggested(when=either, born=DAYS) == {"dates": ["born"], "exclude": ["when"]}


def test_values_that_are_one_when_written_alike_are_joined():
    size = [("mini", "Mini", " mini ", "max")[row % 4] for row in range(N)]
    ward = [("a", "b", "A ")[row % 3] for row in range(N)]
    flag = [("True", "true", "False")[row % 3] for row in range(N)]
    assert suggested(size=size, plain=[f"c{row % 3}" for row in range(N)], ward=ward, flag=flag) == {
        "join_feature_twins": ["size", "ward"]
    }
    ids = [f"id{row}" for row in range(N - 1)] + ["ID0"]
    assert suggested(id=ids) == {"exclude": ["id"]}
    times = [f"2021-03-04 10:00 {('am', 'AM')[row % 2]}" for row in range(N)]
    assert suggested(when=times) == {"dates": ["when"]}


def test_what_nothing_can_be_learnt_from_is_left_out():
    assert suggested(
        id=[f"id{row}" for row in range(N)],
        empty=[None] * N,
        word=[f"w{row % 120}" for row in range(N)],
        zip=[10000 + row % 120 for row in range(N)],
    ) == {"exclude": ["id", "empty", "word", "zip"]}


def test_missing_cells_get_an_indicator():
    holes = [None if row == 3 else row % 7 + 0.5 for row in range(N)]
    assert suggested(holes=holes) == {"missing": "indicator"}
    rate = ["n/a" if row == 3 else f"{row % 40}.5%" for row in range(N)]
    assert suggested(rate=rate) == {"percents": ["rate"], "missing": "indicator"}
