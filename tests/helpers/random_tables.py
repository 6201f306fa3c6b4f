"""Random small tables in which anything may be missing, odd or alone."""

import numpy as np
import pyarrow as pa

CELLS = ["", None, " a ", "a", "A", "nan", "inf", "-1", "1,234", "2021-03-04", "12%", "e\u0301"]
CELLS += ["007", "1.0", "1e400", "|", "[x]", "0", "1", "2", "0.5", "-0.25"]
SPLITS = ["train", "ood_val", "ood_test", "id_val", "val", "test", "id_test", "dev", "", None]


def any_of(rng, choices):
    return choices[rng.integers(0, len(choices))]


def column(rng, n, kind):
    if kind < 3:
        few = [any_of(rng, CELLS) for _ in range(rng.integers(1, 4))]
        return pa.array([any_of(rng, few) for _ in range(n)], pa.string())
    if kind == 3:
        return pa.array(rng.integers(-1, 4, n))
    if kind == 4:
        numbers = rng.normal(size=n)
        numbers[rng.random(n) < 0.2] = any_of(rng, [np.nan, np.inf, 1e300])
        return pa.array(numbers, from_pandas=True)
    odd = [pa.array(rng.random(n) < 0.5), pa.array([b"x"] * n), pa.nulls(n), pa.array(np.arange(n).astype("M8[s]"))]
    return odd[kind - 5]


def random_table(seed):
    """A name, a table of 1 to 40 rows, and arguments of ``gather_rows``."""
    rng = np.random.default_rng(seed)
    n = any_of(rng, [1, 1, 2, 3, 5, 12, 40])
    table = {f"c{place}": column(rng, n, rng.integers(0, 9)) for place in range(rng.integers(0, 4))}
    if rng.random() < 0.2:
        table["Unnamed: 0"] = pa.array([str(row) for row in range(n)])
    table |= {"y": column(rng, n, rng.integers(0, 6)), "g": column(rng, n, rng.integers(0, 4))}
    table["h"] = column(rng, n, rng.integers(0, 6))
    few = [any_of(rng, SPLITS) for _ in range(rng.integers(1, 4))]
    table["s"] = pa.array([any_of(rng, few) for _ in range(n)], pa.string())
    options = {
        "label": "y",
        "group": any_of(rng, [["g"], ["g", "h"], [], ["y"], ["g", "y"]]),
        "split": any_of(rng, [None, "s", "s"]),
        "missing": any_of(rng, ["error", "drop", "indicator"]),
        "group_in": any_of(rng, ["all", "eval"]),
        "most_categories": any_of(rng, [None, 2]),
        "texts": any_of(rng, [(), (), (), ["h"]]),
    }
    return any_of(rng, ["t.csv", "t.parquet"]), pa.table(table), options
