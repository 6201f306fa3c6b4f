"""Random changes of pictures that depend on seed, epoch and row alone."""

import numpy as np
import pytest
import torch

from drurank.data import GroupedDataset
from drurank.data.image_rows import ImageRows
from drurank.data.loading import make_loader
from drurank.errors import InputError
from drurank.images.augmenting import Augmentation, check_augment
from painting import noise

N, SIDE, SIZE = 12, 20, 16
SQUARES = np.stack([noise(SIDE, seed).transpose(2, 0, 1) for seed in range(N)])


class Held:
    side = SIDE

    def squares(self, rows):
        return SQUARES[rows]


def rows_of(augment):
    augmentation = None if augment is None else Augmentation(augment, SIZE, SIDE)
    return ImageRows(Held(), np.arange(N), torch.arange(N) % 2, torch.ones(N, dtype=torch.int64), SIZE, augmentation)


def drawn(augment, epoch, batch_size, shuffle=True, workers=0):
    """Pictures by row, as a loader of an epoch gives them."""
    dataset = GroupedDataset(rows_of(augment), torch.zeros(N, dtype=torch.int64), group_names=["g"])
    loader = make_loader(dataset, batch_size, shuffle=shuffle, num_workers=workers)
    loader.sampler.set_epoch(epoch)
    found = {}
    for batch in loader:
        assert batch["index"].max() < N
        assert torch.equal(batch["label"], batch["index"] % 2)
        found |= dict(zip(batch["index"].tolist(), batch["inputs"], strict=True))
    assert sorted(found) == list(range(N))
    return torch.stack([found[row] for row in range(N)])


@pytest.mark.parametrize(
    "augment", ["light", "standard", [{"RandomRotation": {"degrees": 20}}, {"CenterCrop": {"size": SIZE}}]]
)
def test_changes_are_those_of_the_row_and_the_epoch_in_any_batch(augment, monkeypatch):
    first = drawn(augment, 0, 3)
    assert torch.equal(first, drawn(augment, 0, 5))
    assert torch.equal(first, drawn(augment, 0, 3, workers=1))
    assert not torch.equal(first, drawn(augment, 1, 3))
    monkeypatch.setenv("PL_GLOBAL_SEED", "7")
    assert not torch.equal(first, drawn(augment, 0, 3))


def test_workers_that_are_kept_change_pictures_in_each_epoch():
    dataset = GroupedDataset(rows_of("light"), torch.zeros(N, dtype=torch.int64), group_names=["g"])
    loader = make_loader(dataset, N, shuffle=True, num_workers=1)
    found = []
    for epoch in range(2):
        loader.sampler.set_epoch(epoch)
        (batch,) = loader
        found.append(batch["inputs"][torch.argsort(batch["index"])])
    assert torch.equal(found[1], drawn("light", 1, N))
    assert not torch.equal(found[0], found[1])


def test_light_cuts_a_square_of_the_picture_and_flips_half_of_them():
    flipped = 0
    for epoch in range(20):
        for row, made in enumerate(drawn("light", epoch, 4).numpy()):
            windows = np.lib.stride_tricks.sliding_window_view(SQUARES[row], (SIZE, SIZE), axis=(1, 2))
            windows = windows.transpose(1, 2, 0, 3, 4)
            plain, turned = ((windows == each).all(axis=(2, 3, 4)).any() for each in (made, made[:, :, ::-1]))
            assert plain or turned
            flipped += not plain
    assert 90 < flipped < 150  # of 240; 4 standard deviations are 31


def test_evaluation_sees_the_middle():
    middle = SQUARES[:, :, 2:18, 2:18]
    for augment in (None, "standard"):
        assert (drawn(augment, 0, 5, shuffle=False).numpy() == middle).all()
    assert (drawn(None, 3, 5).numpy() == middle).all()
    assert (rows_of("standard")[3]["inputs"].numpy() == middle[3]).all()


def test_drawing_leaves_the_random_numbers_of_a_run_alone():
    torch.manual_seed(3)
    should = torch.rand(2)
    torch.manual_seed(3)
    Augmentation("standard", SIZE, SIDE)(torch.from_numpy(SQUARES), np.arange(N), 0)
    assert torch.equal(torch.rand(2), should)


@pytest.mark.parametrize(
    ("augment", "said"),
    [
        ("strong", "augment is 'strong'; give none, light, standard, or a list"),
        (["RandomCrop"], "augment has 'RandomCrop'; give each transform as"),
        ([{"RandomCrop": {}, "CenterCrop": {}}], "give each transform as"),
        ([{"RandomCropp": {"size": 16}}], "has no transform 'RandomCropp'; did you mean 'RandomCrop'"),
        ([{"RandomCrop": {"sizes": 16}}], "augment: RandomCrop cannot be made of"),
        ([{"RandomHorizontalFlip": {}}], r"uint8 of \(3, 16, 16\) is wanted"),
        ([], "augment is an empty list"),
        ([{"RandomCrop": {"size": 300}}], "cannot be applied to pictures of 20 x 20 pixels"),
        ([{"ToPILImage": {}}], "augment gives a Image"),
        ([{"LinearTransformation": {"transformation_matrix": [[1]], "mean_vector": [1]}}], "cannot be made of"),
        ([{"RandomCrop": {"size": "16"}}], "cannot be"),
        ([{"Normalize": {"mean": [0.5], "std": [0.5]}}], "cannot be applied"),
        ([{"RandomApply": {"transforms": [{"RandomHorizontalFlip": {}}]}}], "with transforms within a transform"),
        ([{"CutMix": {"num_classes": 2}}], "cannot be applied"),
        ([{"Transform": {}}], "cannot be applied"),
        ([{1: None}], "give each transform as"),
        ([{"ToDtype": {"dtype": torch.float32}}, {"CenterCrop": {"size": 16}}], "augment gives torch.float32"),
    ],
)
def test_what_is_no_augmentation_is_said(augment, said):
    with pytest.raises(InputError, match=said):  # noqa: PT012 - each of these may say it
        check_augment(augment)
        Augmentation(augment, SIZE, SIDE)(torch.from_numpy(SQUARES), np.arange(N), 0)
