"""PaintedShortcut holds what it says."""

import numpy as np
import pytest
import torch

from drurank.data import PaintedShortcut
from drurank.data.painted import _shapes
from drurank.errors import InputError

PARTS = ("train", "ood_val", "ood_test")


@pytest.fixture(scope="module")
def data():
    return PaintedShortcut([40, 20, 20], 30, noise=10.0)


def rows_of(data, split):
    part = data.dataset(split)
    batch = part[list(range(len(part)))]
    return batch["inputs"].numpy().astype(float), batch["label"].numpy(), batch["group"].numpy()


def test_the_colour_goes_with_the_label_but_in_flipped_groups(data):
    for split, flipped in zip(PARTS, (4, 6, 6), strict=True):
        pixels, label, group = rows_of(data, split)
        red = pixels[:, 0].mean(axis=(1, 2)) > pixels[:, 2].mean(axis=(1, 2))
        agrees = (red == (label == 0)).reshape(-1, 30).mean(axis=1)
        assert (agrees < 0.5).sum() == flipped
        assert (agrees[-flipped:] < 0.5).all()
        assert np.abs(agrees[:-flipped].mean() - 0.9) < 4 * 0.3 / np.sqrt(30 * 14)
        assert (np.bincount(label) == len(label) / 2).all()
        assert len(np.unique(group)) == len(label) / 30


def test_each_picture_shows_one_shape_inside_of_it():
    centre, radius = np.array([[11.5, 11.5], [8.0, 15.0]]), np.array([6.0, 5.0])
    ring, cross = _shapes(24, centre, radius, np.array([0, 1]))
    for row in range(24):
        for column in range(24):
            away = np.hypot(column - 11.5, row - 11.5)
            assert ring[row, column] == (abs(away - (6 - 1.44)) <= 1.44)
            arm = min(abs(column - 8), abs(row - 15)) <= 1.44 and max(abs(column - 8), abs(row - 15)) <= 5
            assert cross[row, column] == arm


def test_a_seed_makes_the_same_pictures_and_another_one_others():
    def first(seed):
        return PaintedShortcut([2, 2, 2], 4, seed=seed).dataset("train").dataset.inputs

    assert first(0).dtype == torch.uint8
    assert first(0).shape == (8, 3, 24, 24)
    assert torch.equal(first(0), first(0))
    assert not torch.equal(first(0), first(1))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"size": 8}, "size is 8; give a whole number from 16 to 256"),
        ({"contrast": -1.0}, "contrast is -1.0"),
        ({"noise": 300.0}, "noise is 300.0"),
        ({"agreement": 1.5}, "agreement 1.5"),
    ],
)
def test_what_makes_no_picture_is_said(options, said):
    with pytest.raises(InputError, match=said):
        PaintedShortcut(**options)
