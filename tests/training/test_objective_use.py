"""A training whose steps use nothing of the method's objective is noticed; one that uses it in its own way is not."""

import warnings

import pytest
import torch
from torch.nn.functional import cross_entropy

from drurank.errors import InputError
from drurank.methods import DRU
from fits import network, small


def own_loss(self, batch):
    return cross_entropy(self(batch["inputs"]), batch["label"])


class Discarded(DRU):
    def training_step(self, batch, batch_idx):
        super().training_step(batch, batch_idx)
        return own_loss(self, batch)


class Detached(DRU):
    def training_step(self, batch, batch_idx):
        return {"loss": super().training_step(batch, batch_idx).detach() + own_loss(self, batch)}


class BackwardOfItsOwn(DRU):
    def training_step(self, batch, batch_idx):
        self.batch = batch
        return super().training_step(batch, batch_idx)

    def backward(self, loss):
        own_loss(self, self.batch).backward()


class Manual(DRU):
    automatic_optimization = False


class ManualOfItsOwn(Manual):
    def training_step(self, batch, batch_idx):
        super().training_step(batch, batch_idx)
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(own_loss(self, batch))
        optimizer.step()


@pytest.mark.parametrize("theirs", [Discarded, Detached, BackwardOfItsOwn, Manual, ManualOfItsOwn])
def test_a_training_that_uses_nothing_of_our_objective_is_noticed(trainer, theirs):
    method = theirs(network=network())
    with pytest.raises(InputError, match=rf"^{theirs.__name__} trains on nothing that super\(\).training_step"):
        trainer(max_epochs=2).fit(method, datamodule=small())
    assert method.current_epoch == 0


class InADict(DRU):
    def training_step(self, batch, batch_idx):
        objective = super().training_step(batch, batch_idx)
        objective += 0.1 * self.network(batch["inputs"]).square().mean()
        return {"loss": objective}


class SomeLeftOut(DRU):
    def training_step(self, batch, batch_idx):
        objective = super().training_step(batch, batch_idx)
        return None if batch_idx % 2 else objective


class OverSeveralBatches(Manual):
    def training_step(self, batch, batch_idx):
        self.sum = super().training_step(batch, batch_idx) + (self.sum if batch_idx % 2 else 0)
        if batch_idx % 2:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(self.sum)
            optimizer.step()


@pytest.mark.parametrize("theirs", [InADict, SomeLeftOut, OverSeveralBatches])
def test_a_training_that_uses_our_objective_in_its_own_way_passes(trainer, theirs):
    method = theirs(network=network())
    trainer(max_epochs=2).fit(method, datamodule=small())
    assert method.progress.ended_epoch == 1


class WarmUp(DRU):
    own_loss_epochs = 1

    def training_step(self, batch, batch_idx):
        objective = super().training_step(batch, batch_idx)
        return own_loss(self, batch) if self.current_epoch < 1 else objective


class WarmUpAlone(DRU):
    own_loss_epochs = 1

    def training_step(self, batch, batch_idx):
        return super().training_step(batch, batch_idx) if self.current_epoch else own_loss(self, batch)


class TooLong(WarmUp):
    def training_step(self, batch, batch_idx):
        super().training_step(batch, batch_idx)
        return own_loss(self, batch)


class NothingAtFirst(DRU):
    def training_step(self, batch, batch_idx):
        objective = super().training_step(batch, batch_idx)
        return objective if self.current_epoch else None


class OverEpochs(Manual):
    def training_step(self, batch, batch_idx):
        self.manual_backward(super().training_step(batch, batch_idx))
        if self.current_epoch % 2 and self.trainer.is_last_batch:
            optimizer = self.optimizers()
            optimizer.step()
            optimizer.zero_grad()


class EverySecond(DRU):
    def training_step(self, batch, batch_idx):
        objective = super().training_step(batch, batch_idx)
        return own_loss(self, batch) if batch_idx % 2 else objective


class EverySecondByHand(Manual):
    def training_step(self, batch, batch_idx):
        objective = super().training_step(batch, batch_idx)
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(own_loss(self, batch) if batch_idx % 2 else objective)
        optimizer.step()


def fit(trainer, method, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*used nothing that super")
        trainer(max_epochs=2, **options).fit(method, datamodule=small())
    return method


@pytest.mark.parametrize(
    ("theirs", "options"),
    [
        (WarmUp, {}),
        (WarmUpAlone, {}),
        (NothingAtFirst, {}),
        (OverEpochs, {}),
        (DRU, {"accumulate_grad_batches": 2}),
        (DRU, {"accumulate_grad_batches": 100}),
    ],
)
def test_what_trains_on_nothing_for_a_while_passes(trainer, theirs, options):
    assert fit(trainer, theirs(network=network()), **options).progress.ended_epoch == 1


def test_a_warm_up_that_does_not_end_is_noticed(trainer):
    method = TooLong(network=network())
    with pytest.raises(InputError, match=r"^TooLong trains on nothing .* set own_loss_epochs to their number$"):
        fit(trainer, method)
    assert method.current_epoch == 1


@pytest.mark.parametrize("theirs", [EverySecond, EverySecondByHand])
def test_steps_without_our_objective_are_counted(trainer, theirs):
    method = theirs(network=network())
    with pytest.warns(UserWarning, match="used nothing that super") as said:
        trainer(max_epochs=2).fit(method, datamodule=small())
    batches = len(method.trainer.train_dataloader)
    found = [str(one.message) for one in said if "used nothing" in str(one.message)]
    assert len(found) == 1, "once a run"
    assert found[0].startswith(f"{batches // 2} of the first {batches} training steps of epoch 0 ")


@pytest.mark.parametrize("theirs", [Discarded, ManualOfItsOwn])
def test_a_second_fit_is_judged_anew(trainer, theirs):
    method = theirs(network=network())
    method.own_loss_epochs = 2
    fit(trainer, method)
    method.own_loss_epochs = 0
    with pytest.raises(InputError, match="trains on nothing"):
        trainer(max_epochs=1).fit(method, datamodule=small())


@pytest.mark.parametrize("theirs", [DRU, Discarded])
def test_a_compiled_step_is_judged_too(trainer, theirs):
    method = theirs(network=network())
    method.training_step = torch.compile(method.training_step, backend="eager")
    if theirs is DRU:
        assert fit(trainer, method).progress.ended_epoch == 1
        return
    with pytest.raises(InputError, match=r"^Discarded trains on nothing"):
        fit(trainer, method)
