"""Options of the callback that writes the weights by epoch."""

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest

import drurank.callbacks.history as history
from drurank.callbacks import GroupHistory
from drurank.errors import InputError
from runs import read_csv

HISTORY = ["--trainer.callbacks+", "GroupHistory"]


@pytest.fixture(scope="module")
def straight(fit, tmp_path_factory):
    return fit(tmp_path_factory.mktemp("straight"), epochs=5)


def rows_of(folder):
    return read_csv(folder / "weights.csv")


@pytest.mark.parametrize("epochs", [5, 3])
def test_some_epochs_are_those_of_the_whole_also_after_a_resume(run, fit, tmp_path, straight, epochs):
    some = fit(tmp_path, *HISTORY, "--trainer.callbacks.every_n_epochs", "2", epochs=epochs)
    if epochs < 5:
        assert sorted({row["epoch"] for row in rows_of(some)}) == ["0", "2", "3"], "0, 2, and where it ended"
        run("fit", "--ckpt_path", some / "checkpoints/last.ckpt", "--trainer.max_epochs", 5)
    assert rows_of(some) == [row for row in rows_of(straight) if row["epoch"] in "0245"]
    assert (some / "weights.png").is_file()


def test_parquet_holds_what_the_csv_does_also_after_a_resume(run, fit, tmp_path, straight):
    folder = fit(tmp_path, *HISTORY, "--trainer.callbacks.form", "parquet", epochs=3)
    run("fit", "--ckpt_path", folder / "checkpoints/last.ckpt", "--trainer.max_epochs", 5)
    files = sorted((folder / "weights").glob("*"))
    assert [file.name for file in files] == [f"epoch_000{epoch}.parquet" for epoch in range(6)]
    found = [row for file in files for row in pa_parquet.read_table(file).to_pylist()]
    wanted = rows_of(straight)
    assert [(str(row["epoch"]), row["group"]) for row in found] == [(row["epoch"], row["group"]) for row in wanted]
    for name in ("count", "accuracy", "rank", "mean_weight", "max_weight"):
        seen = [np.float32(np.nan if row[name] is None else row[name]) for row in found]
        np.testing.assert_array_equal(seen, [np.float32(row.get(name, "nan")) for row in wanted], name)
    assert not (folder / "weights.csv").exists()
    assert (folder / "weights.png").is_file()


def test_how_large_it_becomes_is_told(fit, tmp_path, monkeypatch):
    monkeypatch.setattr(history, "LARGE", 1000)
    with pytest.warns(UserWarning, match=r"0 MB an epoch, .* GB in all; .* every_n_epochs=2 and form='parquet'"):
        fit(tmp_path, epochs=8)


@pytest.mark.parametrize(("options", "said"), [({"every_n_epochs": 0}, "every_n_epochs is 0"), ({"form": "x"}, "form")])
def test_options_are_checked(options, said):
    with pytest.raises(InputError, match=said):
        GroupHistory(**options)
