"""What is counted in each split, and under which keys."""

import warnings
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.loggers.logger import DummyLogger
from torch.utils.data import DataLoader, SubsetRandomSampler

from drurank.data import GroupedDataset, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.training.evaluation import Evaluation, key_prefixes
from drurank.training.record import EpochRecord
from fits import Failing, network, own_loaders, own_network, own_rows, small


def test_in_and_out_of_distribution_parts_have_keys_of_their_own(trainer):
    train, _ = own_loaders()
    parts = {s: GroupedDataset(*own_rows(seed=k), split=s) for k, s in enumerate(("id_val", "ood_val"), start=1)}
    run, module = trainer(), ERM(network=own_network())
    run.fit(module, train, [DataLoader(part, 8) for part in parts.values()])
    for key, part in (("val", parts["ood_val"]), ("id_val", parts["id_val"])):
        x, label = part.dataset.tensors
        with torch.no_grad():
            right = module(x).argmax(dim=1) == label
        assert float(run.callback_metrics[f"{key}_overall"]) == pytest.approx(float(right.float().mean()))


def test_two_validation_sets_of_one_kind_are_refused(trainer):
    train, val = own_loaders()
    with pytest.raises(InputError, match="at most one"):
        trainer().fit(ERM(network=own_network()), train, [val, val])


def test_monitored_test_key_is_refused(trainer):
    with pytest.raises(InputError, match=r"'test_worst'.*'val_worst'"):
        trainer(callbacks=[EarlyStopping("test_worst")]).fit(ERM(network=network()), datamodule=small())


@pytest.mark.parametrize(("key", "mode"), [("val_worst", "min"), ("id_val_qdcg25", "max")])
def test_monitoring_a_criterion_the_wrong_way_round_is_refused(trainer, key, mode):
    right = "max" if mode == "min" else "min"
    with pytest.raises(InputError, match=f"{key}.*mode='{mode}'.*mode='{right}'"):
        trainer(callbacks=[EarlyStopping(key, mode=mode)]).fit(ERM(network=network()), datamodule=small())


def test_prediction_that_is_nan_counts_as_wrong(trainer):
    train, val = own_loaders()
    run, module = trainer(), DRU(network=Failing(training=False))
    run.fit(module, train, [val, evaluation_loader(train)])
    for part in (train.dataset, val.dataset):
        x, label = part.dataset.tensors
        with torch.no_grad():
            right = (module.network.linear(x).argmax(dim=1) == label) & (x[:, 0] >= 0)
        if part is train.dataset:
            assert module.record.correct.tolist() == right.int().tolist()
        else:
            assert float(run.callback_metrics["val_overall"]) == pytest.approx(float(right.float().mean()))
    assert run.callback_metrics["val_loss"].isnan()
    assert all(value.isfinite() for key, value in run.callback_metrics.items() if key != "val_loss")


def test_min_count_of_0_is_refused():
    with pytest.raises(InputError, match="min_count is 0"):
        ERM(min_count=0)


def loader(group, split=None, groups=None, train=False):
    """As a trainer's loader: what it reads has a split, groups and their number."""
    if train:
        return SimpleNamespace(dataset=SimpleNamespace(split="train", num_groups=groups))
    group = torch.tensor(group)
    return SimpleNamespace(dataset=SimpleNamespace(split=split, group=group, num_groups=groups))


@pytest.mark.parametrize(
    ("splits", "stage", "want"),
    [
        (["ood_val"], "val", {"ood_val": "val"}),
        (["id_val"], "val", {"id_val": "val"}),
        (["id_val", "ood_val", "train"], "val", {"id_val": "id_val", "ood_val": "val"}),
        (["val", "id_val"], "val", {"val": "val", "id_val": "id_val"}),
        (["id_test", "ood_test"], "test", {"id_test": "id_test", "ood_test": "test"}),
        ([], "val", {}),
    ],
)
def test_prefix_is_that_of_the_hardest_split(splits, stage, want):
    assert key_prefixes(splits, stage) == want


@pytest.mark.parametrize("splits", [["ood_val", "val"], ["val", "val"], ["ood_test"], ["id_val", "id_val"]])
def test_splits_that_would_share_a_key_are_refused(splits):
    with pytest.raises(InputError, match="give at most one of ood_val or val and one of id_val"):
        key_prefixes(splits, "val")


def test_rows_are_counted_by_split_and_group():
    # ood_val: group 0 has 1 of 2, group 1 has 2 of 2; row 1 is drawn twice. id_val: 1 of 1.
    evaluation = Evaluation(1, shrink=False)
    loaders = [loader([], groups=2, train=True), loader([0, 0, 1, 1], "ood_val", 2), loader([0], "id_val", 1)]
    evaluation.begin(loaders, "val", None, torch.device("cpu"))
    assert evaluation.record_of(0) is None, "the training pass is skipped"
    assert not evaluation.reads_training_set
    assert [(split.name, split.prefix) for split in evaluation.splits] == [("ood_val", "val"), ("id_val", "id_val")]
    evaluation.record_of(1).write(torch.tensor([0, 1, 2]), torch.tensor([True, False, True]))
    evaluation.record_of(1).write(torch.tensor([1, 3]), torch.tensor([False, True]))
    evaluation.record_of(2).write(torch.tensor([0]), torch.tensor([True]))
    found = {key: float(value) for key, value in evaluation.end().items()}
    assert (found["val_worst"], found["val_overall"], found["val_average"]) == (0.5, 0.75, 0.75)
    assert (found["id_val_worst"], found["id_val_overall"]) == (1, 1)
    assert all(key.startswith(("val_", "id_val_")) for key in found)


def test_training_pass_writes_to_the_training_record_and_gives_no_criteria():
    evaluation, training = Evaluation(1, shrink=False), EpochRecord(torch.tensor([0, 1]), 2)
    loaders = [loader([0], "val", 1), loader([], groups=2, train=True)]
    evaluation.begin(loaders, "val", training, torch.device("cpu"))
    assert evaluation.record_of(1) is training
    assert evaluation.reads_training_set
    evaluation.record_of(0).write(torch.tensor([0]), torch.tensor([False]))
    assert {key.partition("_")[0] for key in evaluation.end()} == {"val"}
    assert training.correct.tolist() == [-1, -1], "it is put in force by the method"


def test_groups_with_fewer_than_min_count_rows_are_left_out():
    # Group 0: 0 of 1; group 1: 1 of 2
    evaluation = Evaluation(2, shrink=False)
    evaluation.begin(loader([0, 1, 1], "val", 2), "val", None, torch.device("cpu"))
    evaluation.record_of(0).write(torch.arange(3), torch.tensor([False, True, False]))
    assert float(evaluation.end()["val_worst"]) == 0.5


def test_criteria_are_those_monitored_beside_the_usual():
    evaluation = Evaluation(1, shrink=False)
    monitors = [SimpleNamespace(monitor="val_p25", mode="max"), SimpleNamespace(monitor="train_loss", mode="min")]
    evaluation.find_criteria(SimpleNamespace(callbacks=[*monitors, object()]), grouped=True)
    assert set(evaluation.names) - set(Evaluation(1, shrink=False).names) == {"p25"}


def test_criterion_of_groups_is_refused_without_them():
    monitor = SimpleNamespace(monitor="val_worst", mode="max")
    with pytest.raises(InputError, match="val_worst needs groups and the data names none"):
        Evaluation(1, shrink=False).find_criteria(SimpleNamespace(callbacks=[monitor]), grouped=False)


class Keys(DummyLogger):
    """Notes the keys that a logger gets."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def log_metrics(self, metrics, step=None):
        self.seen |= set(metrics)


CUT_SHORT = {
    "limit_val_batches": ({}, {"limit_val_batches": 1}, 7),
    "a sampler": ({"sampler": SubsetRandomSampler(range(10))}, {}, 10),
    "drop_last": ({"drop_last": True}, {}, 21),
}


@pytest.mark.parametrize(("of_loader", "of_trainer", "counted"), CUT_SHORT.values(), ids=CUT_SHORT)
@pytest.mark.parametrize("sanity", [0, -1])
def test_criteria_of_some_rows_go_to_no_logger_and_both_numbers_are_told_once(
    trainer, of_loader, of_trainer, counted, sanity
):
    train, val = own_loaders()
    keys, options = Keys(), {"num_sanity_val_steps": sanity, "max_epochs": 2, **of_trainer}
    run, module = trainer(logger=keys, **options), ERM(network=own_network())
    with pytest.warns(UserWarning, match=f"^{counted} of 24 rows of split 'val' were counted") as warned:
        run.fit(module, train, DataLoader(val.dataset, 7, **of_loader))
    assert sum("rows of split" in str(one.message) for one in warned) == 1
    assert "train_loss" in keys.seen
    assert not any(key.startswith("val_") for key in keys.seen)
    assert "val_qdcg10" in run.callback_metrics, "what monitors a criterion still finds it"


def test_criteria_of_all_rows_go_to_loggers_after_some_that_do_not(trainer):
    _, val = own_loaders()
    keys, module = Keys(), ERM(network=own_network())
    run = trainer(logger=keys, max_epochs=1)
    for rows, logged in ((DataLoader(val.dataset, 7, drop_last=True), False), (val, True)):
        run.validate(module, rows, verbose=False)
        assert ("val_qdcg10" in keys.seen) == logged
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        module.evaluation.warn_of_rows_left_out()


@pytest.mark.filterwarnings("error:.*rows of split")
def test_run_for_a_look_warns_of_no_rows(trainer):
    train, val = own_loaders()
    module = DRU(network=own_network())
    trainer(fast_dev_run=1).fit(module, train, [val, evaluation_loader(train)])


def test_tested_rows_that_are_left_out_are_told(trainer):
    _, val = own_loaders()
    val.dataset.split = "test"
    with pytest.warns(UserWarning, match="14 of 24 rows of split 'test' were counted"):
        trainer(limit_test_batches=2).test(ERM(network=own_network()), val, verbose=False)
