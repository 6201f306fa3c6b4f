"""Synthetic and Shortcut hold what the paper defines."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import kstest, norm, truncnorm

from drurank.data import PaintedShortcut, Shortcut, Synthetic
from drurank.errors import InputError
from drurank.methods import DRU
from drurank.networks import Sizes
from reference import accuracies

PARTS = ("train", "ood_val", "ood_test")


def rows_of(data, split):
    """Inputs ``[m, size, ...]``, labels ``[m, size]`` and groups ``[m]`` of one part, as numpy arrays."""
    part = data.dataset(split)
    shape = (data.groups[PARTS.index(split)], data.group_size)
    batch = part[list(range(len(part)))]
    group = batch["group"].numpy().reshape(shape)
    assert (group == group[:, :1]).all(), "a group is in one piece"
    x = batch["inputs"].double().numpy().reshape(*shape, *batch["inputs"].shape[1:])
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
    torch.testing.assert_close(
        Synthetic().dataset("train").dataset.inputs, Synthetic(3).dataset("train").dataset.inputs
    )


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
        part = data.dataset(split)
        x, y, group = rows_of(data, split)
        assert x.shape == (groups, 75, 2)
        assert set(np.unique(y)) == {0, 1}
        assert part.split == split
        assert part.num_seen == 1000
        names.append({part.group_names[g] for g in group})
        assert len(names[-1]) == groups
    assert len(set.union(*names)) == 2000, "no group is in two parts"
    batch = data.dataset("train")[[3, 1]]
    assert batch["inputs"].dtype == torch.float32
    assert batch["label"].dtype == batch["group"].dtype == batch["index"].dtype == torch.int64
    assert batch["index"].tolist() == [3, 1]
    assert data.sizes == Sizes(in_features=2, num_classes=2)


@pytest.mark.parametrize("kind", [Synthetic, Shortcut])
def test_seed_decides_the_data_and_parts_do_not_disturb_each_other(kind):
    def inputs(split, **options):
        return kind(**{"groups": [5, 4, 3], **options}).dataset(split).dataset.inputs

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
        (lambda: Shortcut(noisy=-0.1), "noisy -0.1"),
        (lambda: Shortcut(batch_size=0), "batch_size is 0"),
        (lambda: Shortcut(eval_batch_size=0), "eval_batch_size is 0"),
        (lambda: Shortcut(num_workers=-1), "num_workers is -1"),
        (lambda: Shortcut(num_workers=1025), "num_workers is 1025; give a whole number from 0 to 1,024"),
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


@pytest.mark.parametrize("kind", [Shortcut, partial(PaintedShortcut, size=16)])
def test_labels_of_noisy_groups_are_drawn_by_lot_in_training_alone(kind):
    clean, noisy = (kind(groups=[20, 10, 10], group_size=40, noisy=share) for share in (0.0, 0.25))
    for split in PARTS:
        (x, y, _), (noisy_x, noisy_y, _) = rows_of(clean, split), rows_of(noisy, split)
        assert np.array_equal(x, noisy_x), "the features are those that the labels had"
        by_lot = 5 if split == "train" else 0
        assert np.array_equal(y[by_lot:], noisy_y[by_lot:])
        if by_lot:
            wrong = (y != noisy_y)[:by_lot].mean()
            assert wrong == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(5 * 40))


def test_shortcut_options_open_every_parameter():
    data = Shortcut(groups=[20, 10, 10], group_size=40, flipped=[0.5, 0, 1], agreement=1)
    for split, flipped in zip(PARTS, (10, 0, 10), strict=True):
        x, y, _ = rows_of(data, split)
        agreement = (np.sign(x[..., 1]) == 2 * y - 1).mean(axis=1)
        assert sorted(agreement) == [0.0] * flipped + [1.0] * (len(agreement) - flipped)


# ---- in a fit


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
