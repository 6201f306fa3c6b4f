"""Groups that are written in several ways, as one."""

import numpy as np
import pyarrow as pa
import pytest

from drurank.data import Table
from drurank.tabular.gathering import gather_rows
from drurank.tabular.joining import with_twins_joined
from drurank.tabular.rules import find


def joined(cells, known=()):
    """The name that each cell is of, from the codes of their names."""
    names = sorted({*cells} - {None})
    code = np.array([-1 if cell is None else names.index(cell) for cell in cells])
    code, names = with_twins_joined(code, names, known)
    assert names == sorted(set(names))
    return [None if number < 0 else names[number] for number in code]


@pytest.mark.parametrize(
    ("cells", "known", "meant"),
    [
        (["a b", "A b", "A b", None, "c"], [], ["A b", "A b", "A b", None, "c"]),
        (["b", "B"], [], ["B", "B"]),
        (["007", "7", "7", "8"], [], ["7", "7", "7", "8"]),
        (["x  y | 1", "X y | 1.0", "x y | 2"], [], ["X y | 1.0", "X y | 1.0", "x y | 2"]),
        (["a", "a", "A"], ["A", "z"], ["A", "A", "A"]),
        (["caf\u00e9"], ["CAF\u00c9"], ["CAF\u00c9"]),
    ],
    ids=["commonest", "as common", "zeros", "columns", "as in training", "alone"],
)
def test_a_group_is_called_as_in_training_or_as_in_most_rows(cells, known, meant):
    assert joined(cells, known) == meant


def rows_of(cells, **options):
    table = pa.table({"y": ["a", "b"] * (len(cells) // 2), "g": cells})
    return gather_rows("t.csv", table, label="y", group=["g"], **options)


def spelling(data):
    return [finding.sentence for finding in find(data) if finding.code == "spelling"]


def test_joined_groups_are_counted_as_one_and_not_warned_of():
    cells = ["North"] * 8 + ["north"] * 4 + ["South"] * 12 + ["south"] * 12 + ["x"] * 4 + ["X"] * 4
    apart, one = rows_of(cells), rows_of(cells, join_twins=True)
    assert dict(zip(one.group_names, np.bincount(one.group), strict=True)) == {"North": 12, "South": 24, "X": 8}
    assert spelling(one) == []
    # Of North alone both ways have fewer than 10 rows, and more together.
    (said,) = spelling(apart)
    assert said.endswith("if they are one, give join_twins=True, which lifts 1 group to 10 rows or more in a split")


def test_other_data_has_the_names_of_training(tmp_path, trainer):
    from drurank.methods import ERM

    def file(name, names):
        lines = [f"{row % 5},{row % 2},{name},{split}" for row in range(20) for name, split in names]
        (tmp_path / name).write_text("\n".join(["x,y,g,s", *lines]))
        return str(tmp_path / name)

    training = {"North": "train", "north ": "train", "South": "ood_val", "West": "ood_test"}
    options = {"label": "y", "group": "g", "split": "s", "join_twins": True}
    data = Table(file("t.csv", training.items()), **options)
    run = trainer(max_epochs=1, enable_checkpointing=True, default_root_dir=str(tmp_path))
    run.fit(ERM(), datamodule=data)
    assert data.dataset("train").group_names == ["North"]
    run.save_checkpoint(tmp_path / "x.ckpt")
    other = Table(file("o.csv", [("NORTH", "id_test"), ("west", "ood_test"), ("West", "ood_test")]), **options)
    run.test(ERM(), datamodule=other, ckpt_path=str(tmp_path / "x.ckpt"))
    assert other.dataset("id_test").group_names == ["North"]
    assert other.dataset("ood_test").group_names == ["North", "West"]
