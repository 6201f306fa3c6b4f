"""Splits that a data module offers, and the keys of their criteria."""

import pytest

from drurank.data import GroupDataModule, GroupedDataset
from drurank.errors import InputError
from drurank.methods import DRU
from drurank.networks import Sizes
from pairs import pairs


class Halves(GroupDataModule):
    """A data module that has the splits it is told to."""

    def __init__(self, splits):
        super().__init__()
        self._names = splits

    def splits(self):
        return self._names

    def make_dataset(self, split):
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
