import math

import datasets
import numpy as np
import pytest
import torch
from scipy.stats import kstest, norm, truncnorm
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from drurank.data import GroupDataModule, GroupedDataset, InMemory, Shortcut, Synthetic, evaluation_loader
from drurank.data.dataset import make_loader
from drurank.data.sampler import GlobalBatchSampler
from drurank.errors import InputError
from drurank.methods import DRU
from drurank.networks import Sizes
from reference import accuracies

PARTS = ("train", "ood_val", "ood_test")


def rows_of(data, split):
    """Inputs ``[m, size, 2]``, labels ``[m, size]`` and groups ``[m]`` of one part, as numpy arrays."""
    part = data.part(split)
    shape = (data.groups[PARTS.index(split)], data.group_size)
    batch = part[list(range(len(part)))]
    group = batch["group"].numpy().reshape(shape)
    assert (group == group[:, :1]).all(), "a group is in one piece"
    x = batch["inputs"].double().numpy().reshape(*shape, 2)
    return x, batch["label"].numpy().reshape(shape), group[:, 0]


# ---- Synthetic


def bare(**options):
    """Synthetic data without shared signal or noise, so that what is left shows the structure: x = b a mu_g."""
    quiet = {"shared_std": 0.0, "signal_std": 0.0, "noise_std": 0.0, "group_size": 2}
    return Synthetic(**{"groups": [4000, 4000, 4000], **quiet, **options})


def structure(data, split):
    """Whether each group has a signal, its strength and its signal's number, read off bare data."""
    x, _, _ = rows_of(data, split)
    assert (x == x[:, :1]).all(), "one signal and one strength a group"
    x = x[:, 0]
    strength = np.abs(x).max(axis=1) / 0.25
    assert np.allclose(np.abs(x[:, 0]), np.abs(x[:, 1]))
    number = (x[:, 0] < 0) * 2 + (x[:, 1] < 0)  # in the order (+,+), (+,-), (-,+), (-,-)
    return strength > 0, strength, number


SETTINGS = {  # the paper's table: prior of the four signals and share of groups with one, by part
    1: (([1, 1, 1, 1], [1, 1, 1, 1], [1, 5, 1, 5]), (0.8, 0.8, 0.8)),
    2: (([1, 1, 1, 1], [1, 1, 1, 1], [1, 5, 1, 5]), (0.2, 0.2, 0.8)),
    3: (([0, 1, 1, 1], [1, 1, 1, 1], [1, 5, 1, 5]), (0.2, 0.2, 0.8)),
    4: (([1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]), (0.2, 0.2, 0.8)),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_are_those_of_the_paper(setting):
    data = bare(setting=setting)
    for split, prior, share in zip(PARTS, *SETTINGS[setting], strict=True):
        has_signal, _, number = structure(data, split)
        spread = 4 * math.sqrt(share * (1 - share) / len(has_signal))
        assert has_signal.mean() == pytest.approx(share, abs=spread)
        counts, chance = np.bincount(number[has_signal], minlength=4), np.array(prior) / sum(prior)
        assert (counts[chance == 0] == 0).all(), "a signal of prior 0 never comes"
        np.testing.assert_allclose(counts / counts.sum(), chance, atol=4 * math.sqrt(0.25 / counts.sum()))


def test_setting_3_is_the_default():
    torch.testing.assert_close(Synthetic().part("train").dataset.inputs, Synthetic(3).part("train").dataset.inputs)


def test_strength_is_a_truncated_normal_in_data_units():
    has_signal, strength, _ = structure(bare(signal_share=[1, 1, 1]), "train")
    assert has_signal.all()
    assert (strength >= 0).all()
    assert (strength <= 1 + 1e-6).all()
    # Normal with mean 0.75 and standard deviation 0.5, cut to [0, 1]: density by hand, on a fine grid.
    grid = np.linspace(0, 1, 100_001)
    density = np.exp(-((grid - 0.75) ** 2) / (2 * 0.25))
    cumulative = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    assert kstest(strength, lambda a: np.interp(a, grid, cumulative / cumulative[-1])).pvalue > 1e-3


def test_moments_of_the_features():
    data = Synthetic(groups=[1500, 1, 1], signal_share=[1, 1, 1], priors=[[0, 1, 0, 0]] * 3)
    x, _, _ = rows_of(data, "train")
    low, high = (0 - 0.75) / 0.5, (1 - 0.75) / 0.5
    strength = truncnorm(low, high, 0.75, 0.5)
    first, second = strength.mean(), strength.var() + strength.mean() ** 2
    np.testing.assert_allclose(x.mean(axis=(0, 1)), [0.25 * first, -0.25 * first], atol=0.03)
    within = (x - x.mean(axis=1, keepdims=True)).reshape(-1, 2)
    scale = x.shape[0] * (x.shape[1] - 1)
    covariance = within.T @ within / scale  # 4 of the shared signal, and a^2 of the group's own
    np.testing.assert_allclose(covariance, np.diag([4 + second] * 2), atol=0.08)


def test_group_without_a_signal_has_the_shared_one_alone():
    x, _, _ = rows_of(Synthetic(groups=[1500, 1, 1], signal_share=[0, 0, 0]), "train")
    np.testing.assert_allclose(np.cov(x.reshape(-1, 2).T), np.diag([4, 4]), atol=0.06)
    np.testing.assert_allclose(x.mean(axis=(0, 1)), 0, atol=0.03)


def test_label_rule_without_noise():
    x, y, _ = rows_of(Synthetic(groups=[200, 1, 1], noise_std=0), "train")
    sine = np.sin(x.sum(axis=2))
    clear = np.abs(sine) > 1e-5  # inputs are kept in float32
    np.testing.assert_array_equal(y[clear], (sine > 0)[clear])


def test_label_given_x_is_a_probit_and_the_best_classifier_is_right_in_858_of_1000():
    data = Synthetic(groups=[2000, 1, 500])
    x, y, _ = rows_of(data, "train")
    chance = norm.cdf(np.sin(x.sum(axis=2)) / 0.5)
    bins = np.digitize(chance, np.linspace(0, 1, 11)[1:-1])
    for b in range(10):
        inside = bins == b
        assert y[inside].mean() == pytest.approx(chance[inside].mean(), abs=0.02)
    for split in ("train", "ood_test"):  # whatever the shift
        x, y, _ = rows_of(data, split)
        right = (np.sin(x.sum(axis=2)) > 0) == y
        assert right.mean() == pytest.approx(0.858, abs=4 * math.sqrt(0.858 * 0.142 / right.size))


def test_sizes_names_and_types_of_synthetic():
    data = Synthetic()
    names = []
    for split, groups in zip(PARTS, (1000, 500, 500), strict=True):
        part = data.part(split)
        x, y, group = rows_of(data, split)
        assert x.shape == (groups, 75, 2)
        assert set(np.unique(y)) == {0, 1}
        assert part.split == split
        assert part.num_seen == 1000
        names.append({part.group_names[g] for g in group})
        assert len(names[-1]) == groups
    assert len(set.union(*names)) == 2000, "no group is in two parts"
    batch = data.part("train")[[3, 1]]
    assert batch["inputs"].dtype == torch.float32
    assert batch["label"].dtype == batch["group"].dtype == batch["index"].dtype == torch.int64
    assert batch["index"].tolist() == [3, 1]
    assert data.sizes == Sizes(in_features=2, num_classes=2)


@pytest.mark.parametrize("kind", [Synthetic, Shortcut])
def test_seed_decides_the_data_and_parts_do_not_disturb_each_other(kind):
    def inputs(split, **options):
        return kind(**{"groups": [5, 4, 3], **options}).part(split).dataset.inputs

    for split in PARTS:
        torch.testing.assert_close(inputs(split), inputs(split), rtol=0, atol=0)
        assert not torch.equal(inputs(split), inputs(split, seed=1))
    assert not torch.equal(inputs("train", groups=[5, 5, 5]), inputs("ood_val", groups=[5, 5, 5]))
    torch.testing.assert_close(inputs("ood_test"), inputs("ood_test", groups=[9, 7, 3]), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Synthetic(5), "setting is 5"),
        (lambda: Synthetic(priors=[[0, 0, 0, 0]] * 3), "priors"),
        (lambda: Synthetic(priors=[[1, 1, 1, -1]] * 3), "priors"),
        (lambda: Synthetic(priors=[[1, 1, 1]] * 3), "priors"),
        (lambda: Synthetic(signal_share=[0.2, 1.2, 0.1]), "signal_share.*1.2"),
        (lambda: Synthetic(strength_std=0), "strength_std is 0"),
        (lambda: Synthetic(noise_std=-1), "noise_std is -1"),
        (lambda: Synthetic(groups=[10, 10]), r"groups is \[10, 10\]"),
        (lambda: Shortcut(groups=[10, 0, 10]), "groups"),
        (lambda: Shortcut(group_size=0), "group_size 0"),
        (lambda: Shortcut(flipped=[0.1, 0.1]), "flipped"),
        (lambda: Shortcut(agreement=1.5), "agreement 1.5"),
        (lambda: Shortcut(batch_size=0), "batch_size is 0"),
        (lambda: Shortcut(eval_batch_size=0), "eval_batch_size is 0"),
        (lambda: Shortcut(num_workers=-1), "num_workers is -1"),
    ],
)
def test_arguments_out_of_range_are_refused(make, named):
    with pytest.raises(InputError, match=named):
        make()


# ---- Shortcut


def test_shortcut_by_its_definition():
    data = Shortcut()
    for split, groups, share in zip(PARTS, (200, 100, 100), (0.1, 0.3, 0.3), strict=True):
        x, y, _ = rows_of(data, split)
        assert y.shape == (groups, 50)
        assert (y.sum(axis=1) == 25).all(), "labels are balanced in every group"
        sign = 2 * y - 1
        core = x[..., 0] - sign
        assert core.mean() == pytest.approx(0, abs=0.06)
        assert core.std() == pytest.approx(1, abs=0.05)
        s = np.sign(x[..., 1])  # 4 standard deviations from 0, so the sign is that of 2s - 1
        rest = x[..., 1] - 2 * s
        assert rest.mean() == pytest.approx(0, abs=0.03)
        assert rest.std() == pytest.approx(0.5, abs=0.03)
        agreement = (s == sign).mean(axis=1)
        flipped = agreement < 0.5
        assert flipped.sum() == round(share * groups)
        assert agreement[~flipped].mean() == pytest.approx(0.9, abs=4 * 0.3 / math.sqrt((~flipped).sum() * 50))
        assert agreement[flipped].mean() == pytest.approx(0.1, abs=4 * 0.3 / math.sqrt(flipped.sum() * 50))


def test_shortcut_options_open_every_parameter():
    data = Shortcut(groups=[20, 10, 10], group_size=40, flipped=[0.5, 0, 1], agreement=1)
    for split, flipped in zip(PARTS, (10, 0, 10), strict=True):
        x, y, _ = rows_of(data, split)
        agreement = (np.sign(x[..., 1]) == 2 * y - 1).mean(axis=1)
        assert sorted(agreement) == [0.0] * flipped + [1.0] * (len(agreement) - flipped)


# ---- GroupedDataset


def pairs(n=6):
    return TensorDataset(torch.arange(n * 2.0).view(n, 2), torch.arange(n) % 2)


ITEMS = {
    "tuples": pairs(),
    "lists": [[torch.tensor([2.0 * i, 2 * i + 1]), i % 2] for i in range(6)],
    "dicts": [{"inputs": torch.tensor([2.0 * i, 2 * i + 1]), "label": i % 2, "more": "x"} for i in range(6)],
    "tensors in memory": InMemory(*pairs().tensors),
}


@pytest.mark.parametrize("dataset", ITEMS.values(), ids=ITEMS)
def test_rows_get_their_group_and_index(dataset):
    grouped = GroupedDataset(dataset, ["b", "a", "b", "c", "a", "b"])
    assert grouped.group_names == ["a", "b", "c"]
    batch = grouped[[5, 1, 3]]
    assert batch["inputs"].tolist() == [[10, 11], [2, 3], [6, 7]]
    assert batch["label"].tolist() == [1, 1, 1]
    assert batch["group"].tolist() == [1, 0, 2]
    assert batch["index"].tolist() == [5, 1, 3]
    one = grouped[4]
    assert one["inputs"].tolist() == [8, 9]
    assert (int(one["label"]), int(one["group"]), int(one["index"])) == (0, 0, 4)
    assert len(grouped[[]]["label"]) == 0
    assert grouped[[]]["inputs"].shape == (0, 2)


def test_dict_items_are_keywords_of_the_network():
    items = [{"x": torch.ones(2) * i, "code": i, "target": 1} for i in range(4)]
    batch = GroupedDataset(items, [0, 0, 1, 1], label="target")[[2, 3]]
    assert {name: value.tolist() for name, value in batch["inputs"].items()} == {"x": [[2, 2], [3, 3]], "code": [2, 3]}
    assert batch["label"].tolist() == [1, 1]


def test_item_without_the_label_is_refused_with_what_it_has():
    grouped = GroupedDataset([{"x": 1, "lable": 0}], ["a"])
    with pytest.raises(InputError, match=r"no label 'label'.*'lable'"):
        grouped[[0]]


def test_duplicate_rows_are_samples_of_their_own():
    grouped = GroupedDataset(TensorDataset(torch.ones(4, 2), torch.ones(4).long()), ["a"] * 4)
    (batch,) = make_loader(grouped, 4)
    assert len(grouped) == 4
    assert batch["index"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("groups", "number", "names"),
    [
        (["007", "7", "é", "é", "NA", "None"], [0, 1, 4, 4, 2, 3], ["007", "7", "NA", "None", "é"]),
        (np.array(["x", "y", "x", "y", "z", "z"]), [0, 1, 0, 1, 2, 2], ["x", "y", "z"]),
        (np.array(["x", "y", "x", "y", "z", "z"], dtype=object), [0, 1, 0, 1, 2, 2], ["x", "y", "z"]),
        (torch.tensor([3, 0, 0, -1, 1, 3]), [3, 0, 0, -1, 1, 3], ["0", "1", "2", "3"]),
        (np.array([1, 0, 1, 0, 1, 0], dtype=np.int16), [1, 0, 1, 0, 1, 0], ["0", "1"]),
    ],
)
def test_groups_are_numbered_by_sorted_name_or_as_given(groups, number, names):
    grouped = GroupedDataset(pairs(), groups)
    assert grouped.group.tolist() == number
    assert grouped.group.dtype == torch.int64
    assert grouped.group_names == names
    assert grouped.num_groups == len(names)


def test_composed_and_decomposed_letters_are_one_group():
    grouped = GroupedDataset(pairs(2), ["e\u0301", "\u00e9"])
    assert grouped.group.tolist() == [0, 0]


def test_given_names_keep_their_numbers_and_new_ones_follow():
    grouped = GroupedDataset(pairs(4), ["d", "b", "a", "c"], group_names=["c", "b"], num_seen=2)
    assert grouped.group_names == ["c", "b", "a", "d"]
    assert grouped.group.tolist() == [3, 1, 2, 0]
    assert grouped.num_seen == 2


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: GroupedDataset(pairs(), ["a"] * 5), "5 groups for 6 rows"),
        (lambda: GroupedDataset(pairs(2), [["male", "white"], ["male"]]), "one group per row"),
        (lambda: GroupedDataset(pairs(2), [("a",), ("b",)]), "one group per row"),
        (lambda: GroupedDataset(pairs(2), ["a", None]), "row 1.*blank"),
        (lambda: GroupedDataset(pairs(2), ["a", " "]), "row 1.*blank"),
        (lambda: GroupedDataset(pairs(2), ["a", math.nan]), "row 1.*blank"),
        (lambda: GroupedDataset(pairs(2), torch.tensor([0.0, 1.0])), "float32"),
        (lambda: GroupedDataset(pairs(2), torch.tensor([[0], [1]])), r"\[2, 1\]"),
        (lambda: GroupedDataset(pairs(2), torch.tensor([0, 2]), group_names=["a", "b"]), "group"),
        (lambda: GroupedDataset(TensorDataset(torch.zeros(0, 2)), [], split="ood_val"), "'ood_val' has no rows"),
        (lambda: GroupedDataset(pairs(2), ["a", "b"], split="oodval"), "'oodval'.*'ood_val'"),
        (lambda: GroupedDataset(iter([1, 2]), ["a", "b"]), "map-style"),
    ],
)
def test_datasets_that_cannot_be_are_refused(make, named):
    with pytest.raises(InputError, match=named):
        make()


def hugging_face_rows(n=12):
    rows = {"x": [float(i % 3) for i in range(n)], "y": [float(i % 2) for i in range(n)]}
    return datasets.Dataset.from_dict(
        {**rows, "label": [i % 2 for i in range(n)], "who": [f"w{i % 3}" for i in range(n)]}
    )


class Columns(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, y):
        return self.linear(torch.stack([x, y], dim=1).float())


@pytest.mark.parametrize("format_", [None, "torch"])
def test_hugging_face_dataset_and_its_column_are_taken_as_they_are(trainer, format_):
    rows = hugging_face_rows()
    features = rows.remove_columns("who").with_format(format_)
    train = GroupedDataset(features, rows["who"])
    val = GroupedDataset(features, rows["who"], split="val")
    assert train.group_names == ["w0", "w1", "w2"]
    assert train[[4, 2]]["inputs"]["x"].tolist() == [1, 2]
    assert train[[4, 2]]["group"].tolist() == [1, 2]
    module = DRU(network=Columns())
    trainer().fit(module, DataLoader(train, 5, shuffle=True), [DataLoader(val, 5), evaluation_loader(train)])
    with torch.no_grad():
        right = module.network(torch.tensor(rows["x"][:]), torch.tensor(rows["y"][:])).argmax(dim=1)
    assert module.record.correct.tolist() == (right == torch.tensor(rows["label"][:])).int().tolist()


def test_hugging_face_dataset_without_rows_is_refused():
    with pytest.raises(InputError, match="no rows"):
        GroupedDataset(hugging_face_rows().select([]), [], split="train")


def test_fingerprint_tells_training_sets_apart():
    def digest(groups="aabbcc", shift=0.0, label=None):
        x, y = pairs().tensors
        return GroupedDataset(TensorDataset(x + shift, y if label is None else label), list(groups)).fingerprint()

    assert digest() == digest()
    others = {digest("aabbca"), digest("aabbcd"), digest(shift=1e-3), digest(label=1 - pairs().tensors[1])}
    assert len(others | {digest()}) == 5


# ---- loaders and the sampler


def shares(pretend, n, batch_size, world, *, epoch=0, shuffle=True):
    """Batches by process."""
    by_rank = []
    for rank in range(world):
        pretend(rank, world)
        sampler = GlobalBatchSampler(pairs(n), batch_size, shuffle=shuffle)
        sampler.set_epoch(epoch)
        by_rank.append(list(sampler))
        assert len(sampler) == len(by_rank[-1])
    pretend(0, 1)
    return by_rank


@pytest.mark.parametrize("n", [12, 13, 25, 101])
def test_global_batches_are_the_same_for_1_2_and_3_processes(pretend, n):
    one, two, three = (shares(pretend, n, 12 // world, world, epoch=4) for world in (1, 2, 3))
    for by_rank in (two, three):
        assert {len(batches) for batches in by_rank} == {len(one[0])}
        for together, parts in zip(one[0], zip(*by_rank, strict=True), strict=True):
            drawn = [index for part in parts for index in part]
            assert sorted(drawn) == sorted(together)
            assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert sorted(index for batch in one[0] for index in batch) == list(range(n))


def test_share_of_the_last_batch_may_be_empty(pretend):
    by_rank = shares(pretend, 13, 4, 3)
    assert [len(batches) for batches in by_rank] == [2, 2, 2]
    assert sorted(len(batches[-1]) for batches in by_rank) == [0, 0, 1]


def test_order_depends_on_epoch_and_seed_alone(pretend, monkeypatch):
    def order(seed, epoch):
        monkeypatch.setenv("PL_GLOBAL_SEED", str(seed))
        torch.manual_seed(int(torch.randint(1000, ())))  # the state of the generator does not matter
        return shares(pretend, 40, 40, 1, epoch=epoch)[0][0]

    orders = [order(seed, epoch) for seed in (0, 1) for epoch in (0, 1, 2)]
    assert len({tuple(o) for o in orders}) == 6
    assert order(1, 2) == orders[-1]
    assert list(range(40)) not in orders


def test_order_of_the_rows_without_shuffling(pretend):
    assert shares(pretend, 7, 3, 1, shuffle=False) == [[[0, 1, 2], [3, 4, 5], [6]]]


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_batch_size_that_is_none_is_refused(size):
    with pytest.raises(InputError, match="batch_size"):
        GlobalBatchSampler(pairs(), size, shuffle=False)


@pytest.mark.parametrize("workers", [0, 2])
def test_loader_gives_every_row_once_in_whole_batches(workers):
    grouped = GroupedDataset(pairs(11), list("aabbccddeef"))
    batches = list(make_loader(grouped, 4, shuffle=True, num_workers=workers))
    assert [len(batch["index"]) for batch in batches] == [4, 4, 3]
    index = torch.cat([batch["index"] for batch in batches])
    assert sorted(index.tolist()) == list(range(11))
    torch.testing.assert_close(torch.cat([batch["inputs"] for batch in batches])[:, 0], index * 2.0)


def test_evaluation_loader_reads_the_training_set_as_its_loader_does():
    def collate(items):
        return {
            **torch.utils.data.default_collate(items),
            "inputs": torch.stack([item["inputs"] for item in items]) + 1,
        }

    grouped = GroupedDataset(pairs(5), list("aabbc"))
    batches = list(evaluation_loader(DataLoader(grouped, batch_size=2, shuffle=True, collate_fn=collate)))
    assert [batch["index"].tolist() for batch in batches] == [[0, 1], [2, 3], [4]]
    assert batches[2]["inputs"].tolist() == [[9, 10]]
    assert [len(batch["index"]) for batch in evaluation_loader(grouped, batch_size=3)] == [3, 2]
    with pytest.raises(InputError, match=r"TensorDataset.*GroupedDataset"):
        evaluation_loader(DataLoader(pairs()))


class Halves(GroupDataModule):
    """A data module that has the splits it is told to."""

    def __init__(self, splits):
        super().__init__()
        self._names = splits

    def splits(self):
        return self._names

    def make_part(self, split):
        return GroupedDataset(pairs(), list("aabbcc"), split=split)

    @property
    def sizes(self):
        return Sizes(2, 2)

    @property
    def label_names(self):
        return ["0", "1"]


@pytest.mark.parametrize(
    ("splits", "named"), [(["ood_val"], "split train"), (["train", "id_test"], "split ood_val or val or id_val")]
)
def test_data_without_a_split_that_a_fit_needs_is_refused(trainer, splits, named):
    with pytest.raises(InputError, match=f"{named}.*found {', '.join(splits)}"):
        trainer().fit(DRU(), datamodule=Halves(splits))


@pytest.mark.parametrize(
    ("splits", "keys"), [(["val"], {"val"}), (["id_val"], {"val"}), (["id_val", "ood_val"], {"val", "id_val"})]
)
def test_keys_are_of_ood_validation_if_there_is_one(trainer, splits, keys):
    run = trainer()
    run.fit(DRU(), datamodule=Halves(["train", *splits]))
    assert {key.removesuffix("_worst") for key in run.callback_metrics if key.endswith("_worst")} == keys


def test_criteria_of_data_are_of_its_rows(trainer):
    run, module, data = trainer(), DRU(), Shortcut(groups=[4, 5, 3], group_size=7)
    run.fit(module, datamodule=data)
    x, y, group = rows_of(data, "ood_val")
    module.eval()
    with torch.no_grad():
        chosen = module(torch.as_tensor(x).float().flatten(0, 1)).argmax(dim=1).numpy()
    accuracy = accuracies(chosen == y.flatten(), group.repeat(7) - 4, 5)
    assert float(run.callback_metrics["val_worst"]) == pytest.approx(accuracy.min())
    assert float(run.callback_metrics["val_average"]) == pytest.approx(accuracy.mean())


def test_lengths_of_a_dataset_that_cuts_no_batches_are_its_own_business():
    class Own(list):
        lengths = "cm"

    rows = GroupedDataset(Own([(torch.zeros(1), 0)] * 5), ["a"] * 5)
    assert [row for batch in make_loader(rows, 2).sampler for row in batch] == [0, 1, 2, 3, 4]
