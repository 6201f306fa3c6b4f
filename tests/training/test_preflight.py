"""Runs that are refused before they begin."""

import math
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, Timer
from torch.utils.data import DataLoader, TensorDataset

from drurank.data import GroupedDataset, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.training import loader_checks, method_checks, preflight, resume_checks
from drurank.training.nonfinite import NonFiniteWatch
from fits import network, own_loaders, own_network, own_rows, small


def test_missing_training_pass_is_refused_with_both_remedies(trainer):
    train, val = own_loaders()
    with pytest.raises(InputError, match=r"evaluation_loader\(train\).*accuracy_from='training'"):
        trainer().fit(DRU(network=own_network()), train, val)


@pytest.mark.parametrize(
    ("which", "named"),
    [("train", "training set is a TensorDataset.*GroupedDataset"), ("val", "TensorDataset.*GroupedDataset")],
)
def test_datasets_without_groups_are_refused(trainer, which, named):
    train, val = own_loaders()
    plain = DataLoader(own_rows()[0])
    train, vals = (plain, [val]) if which == "train" else (train, [plain, evaluation_loader(train)])
    with pytest.raises(InputError, match=named):
        trainer().fit(DRU(network=own_network()), train, vals)


@pytest.mark.parametrize(
    ("groups", "named"),
    [(["a"] * 24, "one"), (torch.tensor([-1, 0, 1, 2] * 6), "group of every row it trains on")],
)
def test_dru_needs_groups_and_several(trainer, groups, named):
    train = GroupedDataset(own_rows()[0], groups)
    with pytest.raises(InputError, match=f"DRU.*{named}"):
        trainer().fit(DRU(network=own_network(), accuracy_from="training"), DataLoader(train, 4))


def test_run_stops_where_min_count_leaves_no_group(trainer):
    with pytest.raises(InputError, match="min_count=11"):
        trainer().fit(DRU(network=network(), min_count=11), datamodule=small())  # groups have 10 rows


def test_overfit_batches_is_refused(trainer):
    with pytest.raises(InputError, match="overfit_batches"):
        trainer(overfit_batches=1).fit(DRU(network=network()), datamodule=small())


def of(checks, said, method=None, trainer=None, datamodule=None):
    """One check, of simple namespaces: refused with a sentence, or passed where none is given."""
    method, trainer = SimpleNamespace(**(method or {})), SimpleNamespace(**(trainer or {}))
    datamodule = None if datamodule is None else SimpleNamespace(**datamodule)
    if said is None:
        checks(method, trainer, datamodule)
    else:
        with pytest.raises(InputError, match=said):
            checks(method, trainer, datamodule)


PLAIN = SimpleNamespace(shrink=False, min_count=1)
SHRINKS = SimpleNamespace(shrink=True, min_count=1)
JTT_OPTIONS = {"first_stage_epochs": 2, "accuracy_from": "evaluation"}
STAGES = {"fast_dev_run": False, "max_epochs": 4, "check_val_every_n_epoch": 1}
DFR_RUN = {**STAGES, "max_steps": -1, "val_check_interval": 1.0, "callbacks": []}
LIMITS = {"max_epochs": 2, "max_steps": -1, "limit_train_batches": 1.0}
BY_GROUP = {"draw_of": lambda method: "groups_per_batch"}


@pytest.mark.parametrize(
    ("check", "said", "given"),
    [
        (preflight.whole_accumulation, None, {"trainer": {"accumulate_grad_batches": 1}}),
        (preflight.whole_accumulation, "accumulate_grad_batches is 0", {"trainer": {"accumulate_grad_batches": 0}}),
        (preflight.sampler_is_kept, None, {"trainer": {"overfit_batches": 0.0}}),
        (
            preflight.sampler_is_kept,
            "sampler that knows the rows; use limit_train_batches",
            {"trainer": {"overfit_batches": 0.5}, "datamodule": BY_GROUP},
        ),
        (
            preflight.sampler_is_kept,
            "sampler of evaluation_loader",
            {"trainer": {"overfit_batches": 0.5}, "method": {"accuracy_from": "evaluation"}},
        ),
        (
            preflight.sampler_is_kept,
            None,
            {"trainer": {"overfit_batches": 0.5}, "method": {"accuracy_from": "training"}},
        ),
        (preflight.group_options_have_groups, None, {"method": {"evaluation": SHRINKS}}),
        (
            preflight.group_options_have_groups,
            None,
            {"method": {"evaluation": PLAIN}, "datamodule": {"grouped": False}},
        ),
        (
            preflight.group_options_have_groups,
            "shrink and min_count are about groups",
            {"method": {"evaluation": SHRINKS}, "datamodule": {"grouped": False}},
        ),
        (preflight.groups_are_named, None, {"method": {"needs_groups": False}, "datamodule": {"grouped": False}}),
        (preflight.groups_are_named, None, {"method": {"needs_groups": True}}),
        (
            preflight.groups_are_named,
            "SimpleNamespace needs groups and the data names none",
            {"method": {"needs_groups": True}, "datamodule": {"grouped": False}},
        ),
        (preflight.something_trains, None, {"trainer": LIMITS}),
        (preflight.something_trains, "max_steps is 0", {"trainer": {**LIMITS, "max_steps": 0}}),
        (method_checks.both_stages_train, None, {"method": JTT_OPTIONS, "trainer": STAGES}),
        (method_checks.both_stages_train, None, {"method": JTT_OPTIONS, "trainer": {**STAGES, "max_epochs": -1}}),
        (
            method_checks.both_stages_train,
            "max_epochs is 2 and first_stage_epochs 2",
            {"method": JTT_OPTIONS, "trainer": {**STAGES, "max_epochs": 2}},
        ),
        (
            method_checks.both_stages_train,
            "the errors of epoch 2 would not be known with check_val_every_n_epoch=3",
            {"method": JTT_OPTIONS, "trainer": {**STAGES, "check_val_every_n_epoch": 3}},
        ),
        (method_checks.both_stages_train, "fast_dev_run", {"method": JTT_OPTIONS, "trainer": {"fast_dev_run": 1}}),
        (method_checks.last_epoch_is_known, None, {"trainer": DFR_RUN}),
        (method_checks.last_epoch_is_known, "must be known", {"trainer": {**DFR_RUN, "max_epochs": -1}}),
        (
            method_checks.last_epoch_is_known,
            "must be known",
            {"trainer": {**DFR_RUN, "callbacks": [Timer("00:00:01:00")]}},
        ),
        (method_checks.last_epoch_is_known, "that divides it", {"trainer": {**DFR_RUN, "check_val_every_n_epoch": 3}}),
        (
            method_checks.last_epoch_is_known,
            "EarlyStopping would have no effect",
            {"trainer": {**DFR_RUN, "callbacks": [EarlyStopping("val_worst")]}},
        ),
        (method_checks.groups_have_halves, None, {"datamodule": {**BY_GROUP, "batch_size": 4}}),
        (method_checks.groups_have_halves, "each of 2 groups", {"datamodule": {**BY_GROUP, "batch_size": 3}}),
        (
            method_checks.groups_have_halves,
            "each of 3 groups",
            {"datamodule": {**BY_GROUP, "batch_size": 5, "groups_per_batch": 3}},
        ),
        (loader_checks.training_set_is_grouped, "is a NoneType", {"trainer": {"train_dataloader": None}}),
    ],
)
def test_each_check_by_itself(check, said, given):
    of(check, said, **given)


RUN = {"num_training_batches": 4, "accumulate_grad_batches": 1, "max_epochs": 2, "max_steps": -1}


@pytest.mark.parametrize(("steps", "passes"), [(7, True), (8, False)])
def test_penalty_comes_into_force_within_the_run(steps, passes):
    method = {"penalty_weight": 3, "anneal_steps": steps}
    of(method_checks.penalty_comes_into_force, None if passes else "the run has 8 steps", method, RUN)
    of(method_checks.penalty_comes_into_force, None, {**method, "penalty_weight": 1}, RUN)


def test_a_run_without_our_callbacks_is_refused():
    watch, other = NonFiniteWatch("stop", detect=False), NonFiniteWatch("stop", detect=False)
    fit, test = SimpleNamespace(fn="fit"), SimpleNamespace(fn="test")
    refused = pytest.raises(InputError, match=r"return \[\*super\(\).configure_callbacks\(\), ...\]")
    method = SimpleNamespace(watch=watch, roll=SimpleNamespace(attached=True))
    for callbacks in ([], [other]):  # that of another method does not watch this one
        with refused:
            preflight.check_attached(method, SimpleNamespace(state=fit, callbacks=callbacks))
        preflight.check_attached(method, SimpleNamespace(state=test, callbacks=callbacks))
    preflight.check_attached(method, SimpleNamespace(state=fit, callbacks=[watch]))
    method.roll.attached = False
    for state in (fit, test):
        with refused:
            preflight.check_attached(method, SimpleNamespace(state=state, callbacks=[watch]))


def test_criterion_without_a_value_is_refused_but_in_the_sanity_check():
    values = {"val_overall": torch.tensor(0.5), "val_worst": torch.tensor(math.nan)}
    for sanity in (True, False):
        method = SimpleNamespace(
            trainer=SimpleNamespace(sanity_checking=sanity), evaluation=SimpleNamespace(min_count=5)
        )
        if sanity:
            preflight.check_criteria(method, values)
        else:
            with pytest.raises(InputError, match="val_worst has no value: no group has min_count=5 samples"):
                preflight.check_criteria(method, values)


OURS = {"method": "drurank.methods.DRU", "network": None, "sizes": None}
WHOLE = {"epoch": 0, "global_step": 0, "drurank": OURS, "state_dict": {"a": torch.ones(1)}}
"""The least that a checkpoint holds."""


@pytest.mark.parametrize(
    ("checkpoint", "to_train", "said"),
    [
        ({"state_dict": {}}, False, "not made by drurank"),
        ({**WHOLE, "state_dict": {"a": torch.tensor(math.inf)}}, False, "checkpoint has nan or inf in a, so"),
        ({**WHOLE, "state_dict": {}}, True, "holds weights only"),
        ({**WHOLE, "drurank": {}}, False, "is damaged: its drurank.method is missing"),
    ],
)
def test_checkpoints_that_cannot_be_used_are_refused(checkpoint, to_train, said):
    with pytest.raises(InputError, match=said):
        resume_checks.check_loaded(checkpoint, to_train=to_train)


def test_checkpoint_that_can_be_used_gives_what_is_ours():
    assert resume_checks.check_loaded(WHOLE, to_train=False) == WHOLE["drurank"]


def test_a_criterion_of_ones_own_without_a_value_is_named():
    method = SimpleNamespace(trainer=SimpleNamespace(sanity_checking=False), evaluation=SimpleNamespace(min_count=1))
    with pytest.raises(InputError, match="val_own has no finite value; a criterion of your own must give one"):
        preflight.check_criteria(method, {"val_own": torch.tensor(math.inf)})


def test_label_that_cross_entropy_would_skip_is_refused(trainer):
    rows = TensorDataset(torch.zeros(4, 3), torch.tensor([0, 1, -100, 1]))
    with pytest.raises(InputError, match="training row 2 has the label -100; classes count from 0"):
        trainer().fit(ERM(network=own_network()), DataLoader(GroupedDataset(rows, list("aabb")), 2))
