"""What is counted in each split, and under which keys."""

import math
import warnings
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.cli import ReduceLROnPlateau
from lightning.pytorch.loggers.logger import DummyLogger
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, SubsetRandomSampler

from drurank import methods
from drurank.data import GroupedDataset, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.training.evaluated import key_prefixes
from drurank.training.evaluation import Evaluation
from drurank.training.losses import CrossEntropy
from drurank.training.record import EpochRecord
from drurank.training.split_loss import SplitLoss
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
    return SimpleNamespace(dataset=SimpleNamespace(split=split, grouping=group, num_groups=groups))


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
    evaluation.find_criteria(
        SimpleNamespace(callbacks=[*monitors, object()], datamodule=None, state=SimpleNamespace(fn="fit")), grouped=True
    )
    assert set(evaluation.names) - set(Evaluation(1, shrink=False).names) == {"p25"}


def test_criterion_of_groups_is_refused_without_them():
    monitor = SimpleNamespace(monitor="val_worst", mode="max")
    with pytest.raises(InputError, match="val_worst needs groups and the data names none"):
        Evaluation(1, shrink=False).find_criteria(
            SimpleNamespace(callbacks=[monitor], datamodule=None, state=SimpleNamespace(fn="fit")), grouped=False
        )


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


@pytest.mark.parametrize("key", ["val_worst_acc", "val_ndcg10", "val_stat"])
def test_keys_of_ones_own_end_no_run(trainer, key):
    class Theirs(ERM):
        def on_validation_epoch_end(self):
            super().on_validation_epoch_end()
            self.log(key, 0.5 - 0.1 * self.current_epoch)

    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*never logged.*")
        run = trainer(max_epochs=2, callbacks=[EarlyStopping(key, mode="min")])
        run.fit(Theirs(network=network()), datamodule=small())
    assert float(run.callback_metrics[key]) == pytest.approx(0.4)


def test_a_monitored_key_that_is_never_logged_is_answered_with_ours(trainer):
    run = trainer(callbacks=[EarlyStopping("val_qdgc10", mode="min")])
    with (
        pytest.warns(UserWarning, match="'val_qdgc10' is monitored and was never logged; did you mean 'val_qdcg10'"),
        pytest.raises(RuntimeError, match="val_qdgc10"),
    ):
        run.fit(ERM(network=network()), datamodule=small())


def test_loss_of_a_split_is_the_mean_over_its_rows(trainer):
    # batches of 7, 7, 7 and 3: not the mean of their means
    train, val = own_loaders()
    run, method = trainer(), DRU(network=own_network())
    run.fit(method, train, [val, evaluation_loader(train)])
    x, label = val.dataset.dataset.tensors
    with torch.no_grad():
        want = cross_entropy(method(x), label)
    assert float(run.callback_metrics["val_loss"]) == pytest.approx(float(want), rel=1e-6)
    tests = DataLoader(GroupedDataset(*own_rows(seed=1)), batch_size=7)
    (tested,) = run.test(method, tests, verbose=False)
    assert tested["test_loss"] == pytest.approx(float(want), rel=1e-6)


def test_each_split_has_its_loss(trainer):
    train, _ = own_loaders()
    names = {"ood_val": "val_loss", "id_val": "id_val_loss", "ood_test": "test_loss", "id_test": "id_test_loss"}
    parts = {name: GroupedDataset(*own_rows(seed=seed), split=name) for seed, name in enumerate(names, start=1)}
    loaders = {name: DataLoader(part, batch_size=7) for name, part in parts.items()}
    run, method = trainer(), ERM(network=own_network())
    run.fit(method, train, [loaders["ood_val"], loaders["id_val"]])
    found = {name: float(value) for name, value in run.callback_metrics.items()}
    run.test(method, [loaders["id_test"], loaders["ood_test"]], verbose=False)
    found |= {name: float(value) for name, value in run.callback_metrics.items()}
    for name, key in names.items():
        x, label = parts[name].dataset.tensors
        with torch.no_grad():
            want = float(cross_entropy(method(x), label))
        assert found[key] == pytest.approx(want, rel=1e-5), key


def test_a_row_that_is_read_twice_counts_once():
    loss = SplitLoss(3, torch.device("cpu"))
    loss.write(torch.tensor([0, 1]), torch.tensor([1.0, 2.0]))
    loss.write(torch.tensor([1, 2]), torch.tensor([2.0, 6.0]))
    assert float(loss.mean()) == 3


def test_rows_that_several_processes_read_count_once(pretend, monkeypatch):
    # Another process read rows 1 and 2 with losses 4 and 6
    other = torch.tensor([[0.0, 4.0, 6.0], [0, 1, 1]])
    loss = SplitLoss(3, torch.device("cpu"))
    loss.write(torch.tensor([0, 1]), torch.tensor([1.0, 2.0]))
    pretend(0, 2)
    monkeypatch.setattr(dist, "all_reduce", lambda table: table.add_(other))
    assert float(loss.mean()) == pytest.approx((1 + 3 + 6) / 3)


def test_loss_of_a_class_without_an_output_is_infinite_in_evaluation_alone():
    loss, logits = CrossEntropy(), torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    label = torch.tensor([1, 2, -1])
    assert loss.eval()(logits, label).tolist() == pytest.approx([math.log(2), math.inf, math.inf])
    with pytest.raises(IndexError):
        loss.train()(logits, label)


@pytest.mark.parametrize("name", [name for name in methods.__all__ if name != "GroupModule"])
def test_val_loss_can_be_monitored_with_every_method(trainer, name, tmp_path):
    method = getattr(methods, name)(
        network=network(),
        lr_scheduler=lambda optimizer: ReduceLROnPlateau(optimizer, monitor="val_loss"),
        **({"subsets": 1} if name == "DFR" else {}),
    )
    keep = ModelCheckpoint(tmp_path, monitor="val_loss")
    callbacks = [keep] if name == "DFR" else [keep, EarlyStopping("val_loss")]
    run = trainer(max_epochs=2, callbacks=callbacks, enable_checkpointing=True)
    run.fit(method, datamodule=small())
    assert keep.best_model_score is not None
    assert run.callback_metrics["val_loss"].isfinite()


def test_loss_of_a_part_of_the_rows_goes_to_no_logger(trainer):
    noted = {}

    class Logger(DummyLogger):
        def log_metrics(self, metrics, step=None):
            noted.update(metrics)

    run = trainer(logger=Logger(), limit_val_batches=1)
    with pytest.warns(UserWarning, match="were counted"):
        run.fit(ERM(network=network()), datamodule=small(eval_batch_size=8))
    assert "val_loss" in run.callback_metrics
    assert not [key for key in noted if key.startswith(("val_", "id_val_"))]


@pytest.mark.parametrize("where", ["validation_step", "before", "after"])
def test_val_loss_of_ones_own_is_kept(trainer, where):
    class Theirs(DRU):
        def validation_step(self, batch, batch_idx):
            super().validation_step(batch, batch_idx)
            if where == "validation_step":
                self.log("val_loss", torch.tensor(7.0))

        def on_validation_epoch_end(self):
            if where == "before":
                self.log("val_loss", 7.0)
            super().on_validation_epoch_end()
            if where == "after":
                self.log("val_loss", 7.0)

    train, val = own_loaders()
    run = trainer(max_epochs=3, callbacks=[EarlyStopping("val_loss")])
    run.fit(Theirs(network=own_network()), train, [val, evaluation_loader(train)])
    assert float(run.callback_metrics["val_loss"]) == 7
    assert not any("dataloader_idx" in key for key in run.callback_metrics)


def test_a_criterion_of_ours_is_not_logged_by_another_hand(trainer):
    class Theirs(ERM):
        def on_validation_epoch_end(self):
            super().on_validation_epoch_end()
            self.log("val_worst", 0.5)

    with pytest.raises(InputError, match="the module logs 'val_worst', the name of a criterion of ours"):
        trainer().fit(Theirs(network=network()), datamodule=small())


def test_a_loss_that_cannot_be_made_of_a_checkpoints_scores_is_left_out(trainer):
    # As after load_from_checkpoint, which does not bring a loss that was given as an object
    tests = DataLoader(GroupedDataset(*own_rows()), batch_size=7)
    (found,) = trainer().test(ERM(network=nn.Linear(3, 1)), tests, verbose=False)
    assert "test_overall" in found
    assert "test_loss" not in found
