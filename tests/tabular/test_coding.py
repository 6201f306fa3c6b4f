"""Groups as codes and names."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from drurank.tabular.coding import code_groups, join_names
from drurank.tabular.columns import Column

NAME = st.lists(st.sampled_from(["a", "|", " ", "\\", " | "]), max_size=4).map("".join)


@given(st.lists(st.tuples(NAME, NAME), min_size=2))
def test_joined_names_are_as_distinct_as_their_parts(pairs):
    assert len({join_names(list(pair)) for pair in pairs}) == len(set(pairs))


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from(["x", "y", "", None])] * 3), min_size=1, max_size=12), st.data())
def test_groups_are_the_combinations_of_cells(cells, data):
    columns = [
        Column("t.parquet", "g", pa.chunked_array([pa.array(part, pa.string())])) for part in zip(*cells, strict=True)
    ]
    rows = np.array(data.draw(st.lists(st.integers(0, len(cells) - 1), max_size=12)), dtype=np.int64)
    code, names = code_groups(columns, rows)
    expected = [" | ".join(cells[row]) if all(cells[row]) else None for row in rows]
    assert [names[c] if c >= 0 else None for c in code] == expected
    assert names == sorted({name for name in expected if name is not None})
