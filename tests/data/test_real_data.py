"""The tables of ../shared/data, read with the options of configs/data, against numpy."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import yaml

from drurank.data import Table

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT.parent / "shared" / "data"
SPLITS = ("train", "id_val", "ood_val", "id_test", "ood_test")


def read(name):
    """The table as our data module reads it, and as numpy arrays."""
    path = FOLDER / f"{name}.parquet"
    if not path.is_file():
        pytest.skip(f"there is no {path}; it is not part of the repository")
    options = yaml.safe_load((ROOT / "configs" / "data" / f"{name}.yaml").read_text(encoding="utf-8"))["data"][
        "init_args"
    ]
    table = Table(**{**options, "path": str(path)})
    table.setup("fit")
    return table, {name: np.array(cells) for name, cells in pq.read_table(path).to_pydict().items()}


@pytest.fixture(scope="module")
def insteval():
    return read("insteval")


@pytest.fixture(scope="module")
def wisdm():
    return read("wisdm_har")


@pytest.fixture(scope="module")
def compas():
    return read("compas")


@pytest.fixture(params=["insteval", "wisdm", "compas"])
def both(request):
    return request.getfixturevalue(request.param)


def test_rows_labels_and_groups_are_those_of_the_file(both):
    table, columns = both
    assert table.splits() == [split for split in SPLITS if (columns["split"] == split).any()]
    known = np.unique(columns["group"][columns["split"] == "train"])
    for split in table.splits():
        part = table.dataset(split)
        rows = np.flatnonzero(columns["split"] == split)
        np.testing.assert_array_equal(part.rows.numpy(), rows)
        np.testing.assert_array_equal(np.array(part.group_names)[part.group.numpy()], columns["group"][rows])
        np.testing.assert_array_equal(part.group_names[: part.num_seen], known)
        assert part.num_groups == len(np.union1d(known, columns["group"][rows]))
        label = part[list(range(len(part)))]["label"].numpy()
        np.testing.assert_array_equal(np.array(table.label_names, dtype=int)[label], columns["label"][rows])


def test_insteval_has_the_groups_of_its_readme(insteval):
    table, columns = insteval
    names = set()
    for split in table.splits():
        part = table.dataset(split)
        names |= {part.group_names[number] for number in part.group.unique().tolist()}
    assert len(names) == len(np.unique(columns["group"])) == 1682
    assert table.label_names == ["1", "2", "3", "4", "5"]
    seen = set(np.unique(table.dataset("train").group.numpy()))
    assert not seen & set(table.dataset("ood_val").group.tolist())


def test_insteval_is_one_hot_of_codes(insteval):
    table, columns = insteval
    train = columns["split"] == "train"
    names = ["studage", "lectage", "service", "dept", "lecturer"]
    known = [sorted(map(str, np.unique(columns[name][train]))) for name in names]
    width = sum(len(values) + 1 for values in known)
    assert table.sizes.in_features == width
    rows = np.flatnonzero(columns["split"] == "ood_test")[:500]
    expected = np.zeros((500, width), dtype=np.float32)
    start = 0
    for name, values in zip(names, known, strict=True):
        for place, value in enumerate(columns[name][rows]):
            expected[place, start + (values.index(str(value)) + 1 if str(value) in values else 0)] = 1
        start += len(values) + 1
    np.testing.assert_array_equal(table.dataset("ood_test")[list(range(500))]["inputs"].numpy(), expected)


def test_wisdm_is_standardised_with_indicators_of_missing_cells(wisdm):
    table, columns = wisdm
    train = columns["split"] == "train"
    expected = []
    for name, values in columns.items():
        if name in ("label_name", "label", "group", "split"):
            continue
        values = np.array([np.nan if value is None else value for value in values], dtype=float)
        value = (values - np.nanmean(values[train])) / np.nanstd(values[train])
        expected.append(np.nan_to_num(value))
        if np.isnan(values[train]).any():
            expected.append(np.isnan(values))
    expected = np.stack(expected, axis=1)
    assert expected.shape[1] == table.sizes.in_features == 42 + 3
    for split in SPLITS:
        part = table.dataset(split)
        got = part[list(range(len(part)))]["inputs"].numpy()
        np.testing.assert_allclose(got, expected[part.rows.numpy()], rtol=1e-4, atol=1e-5)


def test_compas_is_standardised(compas):
    table, columns = compas
    names = ["age", "priors", "juv_fel", "juv_misd", "juv_other", "felony"]
    values = np.stack([columns[name] for name in names], axis=1).astype(float)
    train = values[columns["split"] == "train"]
    part = table.dataset("id_val")
    got = part[list(range(len(part)))]["inputs"]
    assert got.dtype == torch.float32
    expected = (values[part.rows.numpy()] - train.mean(axis=0)) / train.std(axis=0)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert part.num_groups == 9
