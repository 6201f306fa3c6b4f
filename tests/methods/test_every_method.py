"""Each method on each data through the command line, and options that would have no effect."""

import functools
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from lightning.pytorch import Callback

from drurank import methods
from drurank.data import GroupDataModule, GroupedDataset
from drurank.data.dataset import InMemory
from drurank.errors import InputError
from drurank.methods import CVaR
from drurank.networks import MLP, Sizes
from runs import read_csv, read_json

PARTS = {"insteval": ["ood_test", "id_test"], "wisdm_har": ["ood_test", "id_test"], "compas": ["id_test"]}
FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
METHODS = [name for name in methods.__all__ if name != "GroupModule"]
GENERATED = ("Synthetic", "Shortcut")
DATA = {
    "Synthetic": ["--data", "Synthetic", "--data.groups", "[6,4,4]", "--data.group_size", 10],
    "Shortcut": ["--data", "Shortcut", "--data.groups", "[6,4,4]", "--data.group_size", 10],
    "insteval": ["--data.categorical", "studage,lectage,service,dept,lecturer"],
    "wisdm_har": ["--data.exclude", "label_name", "--data.missing", "indicator"],
    "compas": [],
}


ROWS = 30


def some_rows(table):
    """Some groups of each kind, where they are many, with about 30 rows in each split.

    The whole tables are read, trained on and reported in tests/cli/test_real_runs.py.
    """
    split, group = (np.array(table[name].to_pylist()) for name in ("split", "group"))
    kept = set()
    for kind in ("train", "ood_val", "ood_test"):
        names = np.unique(group[split == kind])
        kept |= set(names[:: 30 if len(names) > 100 else 1])
    cells = [(split == s) & (group == g) for s in np.unique(split) for g in kept]
    places = [np.flatnonzero(cell) for cell in cells]
    return table.take(np.concatenate([rows[:: max(len(rows) // ROWS, 1)] for rows in places]))


@pytest.fixture(scope="module")
def words_of(tmp_path_factory):
    """Words of the command line for a data set; of a real one some rows."""

    @functools.cache
    def words(name):
        if name in GENERATED:
            return [*DATA[name], "--data.batch_size", 16]
        path = FOLDER / f"{name}.parquet"
        if not path.is_file():
            pytest.skip(f"there is no {path}; it is not part of the repository")
        small = tmp_path_factory.mktemp(name) / path.name
        pq.write_table(some_rows(pq.read_table(path)), small)
        columns = ["--data.label", "label", "--data.group", "group", "--data.split", "split"]
        return ["--data", "Table", "--data.path", small, *columns, *DATA[name], "--data.batch_size", 128]

    return words


PAIRS = [
    *((method, GENERATED[number % 2]) for number, method in enumerate(METHODS)),
    *((method, [*PARTS][number % 3]) for number, method in enumerate(METHODS)),
]
"""Each method on generated data and on a real table, and each of those with several methods."""


@pytest.mark.parametrize(("method", "data"), PAIRS)
def test_method_is_trained_and_reported(fit, run, words_of, tmp_path, capsys, method, data):
    quick = ["--model.subsets", 2] if method == "DFR" else []
    made = fit(tmp_path, *quick, method=method, epochs=2, data=words_of(data))
    rows = [row for row in read_csv(made / "metrics.csv") if "val_qdcg10" in row]
    assert [row["epoch"] for row in rows] == ["0", "1"]
    assert all(math.isfinite(float(value)) for row in rows for value in row.values())
    if method != "DRU" and data not in GENERATED:
        return  # a report reads what is in the run's folder: each method's and each data set's, but not all pairs
    run("test", "--run", made)
    report = read_json(made / "test/qdcg10/report.json")
    assert report["method"] in {method, "qDRU+M", "Worst+M", "Const+M"}
    assert report["sampler"] == {"GroupDRO": "balanced", "IRM": "groups_per_batch"}.get(method, "shuffle")
    assert list(report["splits"]) == PARTS.get(data, ["ood_test"])


class Rows(Callback):
    """Notes the rows drawn by epoch."""

    def __init__(self):
        self.drawn = []

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        self.drawn += [[]] if batch_idx == 0 else []
        self.drawn[-1] += batch["index"].tolist()


class Uneven(GroupDataModule):
    """Groups of 5, 10 and 30 training rows."""

    sizes = Sizes(2, 2)
    label_names = ["0", "1"]

    def splits(self):
        return ["train", "val"]

    def make_dataset(self, split):
        inputs = torch.randn(45, 2, generator=torch.Generator().manual_seed(len(split)))
        group = torch.arange(3).repeat_interleave(torch.tensor([5, 10, 30]))
        return GroupedDataset(InMemory(inputs, (inputs[:, 0] > 0).long()), group, split=split)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sampler", ["shuffle", "balanced", "subsample", "groups_per_batch"])
def test_every_method_takes_every_sampler(trainer, method, sampler):
    made, seen = getattr(methods, method)(), Rows()
    run = trainer(max_epochs=2, callbacks=[seen])
    run.fit(made, datamodule=Uneven(batch_size=16, sampler=sampler))
    assert all(value.isfinite().all() for value in made.state_dict().values())
    group = Uneven().dataset("train").group
    by_epoch = [torch.tensor(rows) for rows in seen.drawn]
    if sampler == "subsample":
        assert [group[rows].bincount().tolist() for rows in by_epoch] == [[5, 5, 5]] * 2
    else:
        assert [len(rows) for rows in by_epoch] == ([48] * 2 if sampler == "groups_per_batch" else [45] * 2)
    if sampler == "shuffle":
        assert all(rows.unique().tolist() == list(range(45)) for rows in by_epoch)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_the_options_of_the_base(method):
    network = MLP(Sizes(2, 2))
    made = getattr(methods, method)(network=network, min_count=2, shrink=True)
    assert (made.network, made.evaluation.min_count, made.evaluation.shrink) == (network, 2, True)


def test_methods_that_need_no_groups_train_without(fit, tmp_path):
    path = tmp_path / "rows.csv"
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(60, 2, generator=generator)
    parts = ["train"] * 40 + ["val"] * 20
    lines = [f"{a:.4f},{b:.4f},{int(a + b > 0)},{part}" for (a, b), part in zip(rows.tolist(), parts, strict=True)]
    path.write_text("\n".join(["a,b,y,part", *lines]))
    data = ["--data", "Table", "--data.path", path, "--data.label", "y", "--data.split", "part"]
    for method in ("ERM", "Const", "JTT", "CVaR", "ChiSquare"):
        made = fit(tmp_path / method, "--select", "overall", method=method, epochs=2, data=data)
        assert set(read_json(made / "selection.json")) == {"overall"}


@pytest.mark.parametrize("method", ["DRU", "Worst", "GroupDRO", "IRM", "DFR"])
def test_the_others_say_what_they_need(refused, tmp_path, method):
    path = tmp_path / "rows.csv"
    path.write_text("a,y,part\n1,0,train\n2,1,train\n3,0,val\n4,1,val\n")
    data = ["--data", "Table", "--data.path", path, "--data.label", "y", "--data.split", "part"]
    said = refused("fit", "--model", method, *data, "--select", "overall", "--trainer.default_root_dir", tmp_path)
    assert f"{method} needs groups and the data names none; name the group column" in said


@pytest.mark.parametrize("options", [["--model.shrink", "true"], ["--model.min_count", 2]])
def test_options_about_groups_are_refused_without_them(refused, tmp_path, options):
    path = tmp_path / "rows.csv"
    path.write_text("a,y,part\n1,0,train\n2,1,train\n3,0,val\n4,1,val\n")
    data = ["--data", "Table", "--data.path", path, "--data.label", "y", "--data.split", "part"]
    where = ["--select", "overall", "--trainer.default_root_dir", tmp_path]
    assert "--model.shrink and --model.min_count are about groups" in refused(
        "fit", "--model", "ERM", *data, *options, *where
    )


def test_interval_of_no_scheduler_is_refused():
    with pytest.raises(InputError, match="lr_interval is 'step' but lr_scheduler is missing"):
        CVaR(lr_interval="step")
