"""Strategies that split the weights over processes, refused by the methods that put whole weights in their place."""

import pytest
from lightning.pytorch.strategies import DDPStrategy, DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy

from drurank.data import Shortcut
from drurank.errors import InputError
from drurank.methods import DFR, DRU, JTT
from drurank.training.preflight import check_run

SIZE = {"groups": [6, 4, 4], "group_size": 10, "batch_size": 16}


def deep_speed():
    return DeepSpeedStrategy.__new__(DeepSpeedStrategy)  # its package need not be there


SHARDED = {"fsdp": FSDPStrategy, "model_parallel": ModelParallelStrategy, "deepspeed": deep_speed}


def check(trainer, method, strategy):
    run = trainer(max_epochs=2)
    run._accelerator_connector.strategy = strategy  # the trainer itself takes most of them only with a GPU
    check_run(method, run, Shortcut(**SIZE))


@pytest.mark.parametrize("strategy", SHARDED.values(), ids=SHARDED)
@pytest.mark.parametrize("method", [JTT, DFR])
def test_weights_that_are_split_cannot_be_replaced(trainer, method, strategy):
    with pytest.raises(
        InputError, match=rf"{type(strategy()).__name__} splits .* and {method.__name__} replaces"
    ) as said:
        check(trainer, method(), strategy())
    assert len(str(said.value).splitlines()) == 1


@pytest.mark.parametrize("strategy", SHARDED.values(), ids=SHARDED)
def test_methods_that_leave_the_weights_to_the_optimizer_take_any_strategy(trainer, strategy):
    check(trainer, DRU(), strategy())


@pytest.mark.parametrize("method", [JTT, DFR])
def test_whole_weights_on_each_process_are_no_hindrance(trainer, method):
    check(trainer, method(), DDPStrategy())


@pytest.mark.parametrize("strategy", SHARDED.values(), ids=SHARDED)
def test_processes_that_know_a_part_of_the_gradient_cannot_leave_steps_out(trainer, strategy):
    with pytest.raises(InputError, match="give on_nonfinite='stop'"):
        check(trainer, DRU(on_nonfinite="skip"), strategy())
