"""IRM: shares and slopes by hand, gradients by an independent form, and the switch of the penalty."""

import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from drurank.data import GroupedDataset, Shortcut
from drurank.data.loading import make_loader
from drurank.errors import InputError
from drurank.methods import ERM, IRM
from drurank.methods.irm import penalty_shares
from drurank.training.schedules import LinearDecay

SIZE = {"groups": [6, 4, 4], "group_size": 10, "batch_size": 16}


@pytest.mark.parametrize(
    ("group", "index", "slopes", "on_loss", "on_slope"),
    [
        # Three groups of 2, 3, 1: losses weigh 1/3 over the size. Two have a penalty. Group 0: halves 1 and 2, so
        # each weighs the other over 2. Group 1: halves (3, 5) with mean 4 and (4): the former weigh 4 / 2 / 2 each, the
        # latter 4 / 1 / 2. Group 2 has one sample: nothing.
        (
            [0, 0, 1, 1, 1, 2],
            range(6),
            [1, 2, 3, 4, 5, 6],
            [1 / 6, 1 / 6, 1 / 9, 1 / 9, 1 / 9, 1 / 3],
            [1, 0.5, 1, 2, 1, 0],
        ),
        # The same rows in another order; halves go by the places among the group's own.
        (
            [1, 0, 2, 1, 0, 1],
            range(6),
            [3, 1, 6, 4, 2, 5],
            [1 / 9, 1 / 6, 1 / 3, 1 / 9, 1 / 6, 1 / 9],
            [1, 1, 0, 2, 0.5, 1],
        ),
        # One group each: no penalty at all, and no nan
        ([5, 3], [0, 1], [7, 8], [0.5, 0.5], [0, 0]),
        # Places that hold no sample count nowhere
        ([4, -1, 4, -1], [0, -1, 1, -1], [2, 9, 3, 9], [0.5, 0, 0.5, 0], [3, 0, 2, 0]),
        # Row 8 comes twice and is in one half only: halves (2, 2) and (5), weights 5 / 1 / 2 twice, 2 / 1
        ([0, 0, 0], [8, 9, 8], [2, 5, 2], [1 / 3, 1 / 3, 1 / 3], [2.5, 2, 2.5]),
        # A group that is one row, however often it comes, has no penalty; of the rest one group has: 3 / 1 and 1 / 1
        ([1, 1, 0, 0], [4, 4, 6, 7], [1, 2, 1, 3], [0.25] * 4, [0, 0, 3, 1]),
    ],
)
def test_shares_by_hand(group, index, slopes, on_loss, on_slope):
    slopes = torch.tensor(slopes, dtype=torch.float32)
    got = penalty_shares(torch.tensor(group), torch.tensor(list(index)), slopes)
    torch.testing.assert_close(got[0], torch.tensor(on_loss, dtype=torch.float32))
    torch.testing.assert_close(got[1], torch.tensor(on_slope, dtype=torch.float32))


def test_slopes_by_hand():
    # Scores (2, 0): p(1) = 1 / (1 + e^2) = .119203. With scores times s the loss of class 0 is log(1 + e^(-2s)), slope
    # -2 p(1) = -.238406; that of class 1 is log(1 + e^(2s)), slope 2 (1 - p(1)) = 1.761594. At scores (0, 0) it is 0.
    got = IRM()._slopes(torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1, 0]))
    torch.testing.assert_close(got.detach(), torch.tensor([-0.238406, 1.761594, 0.0]))


def step_by_hand(network, inputs, label, group, weight):
    """The objective with loops, groups of one sample without a penalty."""
    scale = torch.tensor(1.0, requires_grad=True)
    means, penalties = [], []
    for number in set(group.tolist()):
        rows = (group == number).nonzero().flatten()
        logits = network(inputs[rows])
        means.append(functional.cross_entropy(logits, label[rows]))
        if len(rows) < 2:
            continue
        halves = []
        for part in (slice(0, None, 2), slice(1, None, 2)):
            loss = functional.cross_entropy(scale * logits[part], label[rows][part])
            halves.append(torch.autograd.grad(loss, scale, create_graph=True)[0])
        penalties.append(halves[0] * halves[1])
    penalty = torch.stack(penalties).mean() if penalties else 0.0
    return torch.stack(means).mean() + weight * penalty


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("groups", [1, 3, 8, 40])
def test_gradient_is_that_of_the_form_with_loops(weight, groups):
    generator = torch.Generator().manual_seed(groups)
    inputs, label = torch.randn(24, 5, generator=generator), torch.randint(3, (24,), generator=generator)
    group = torch.randint(groups, (24,), generator=generator)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    want = torch.autograd.grad(step_by_hand(network, inputs, label, group, weight), list(network.parameters()))
    method = IRM(penalty_weight=weight, network=network)
    logits = network(inputs)
    batch = {"label": label, "group": group, "index": torch.arange(24)}
    objective = method.objective(logits, method.sample_losses(logits, label), batch)
    torch.testing.assert_close(objective, step_by_hand(network, inputs, label, group, weight))
    for mine, his in zip(torch.autograd.grad(objective, list(network.parameters())), want, strict=True):
        torch.testing.assert_close(mine, his, rtol=1e-4, atol=1e-6)


class MeanOfGroupMeans(ERM):
    sampler = "groups_per_batch"

    def reduce(self, losses, batch, state):
        group = batch["group"]
        return torch.stack([losses[group == number].mean() for number in group.unique()]).mean()


@pytest.mark.parametrize("sampler", ["auto", "shuffle", "balanced"])
def test_without_a_penalty_it_is_the_mean_of_group_means(trainer, sampler):
    found = []
    for method in (MeanOfGroupMeans, IRM):
        torch.manual_seed(0)
        made = method() if method is MeanOfGroupMeans else method(penalty_weight=0)
        trainer().fit(made, datamodule=Shortcut(**SIZE, sampler=sampler))
        found.append(made.network.state_dict())
    for name, value in found[0].items():
        torch.testing.assert_close(found[1][name], value, rtol=0, atol=1e-6)


class Watch(Callback):
    """Notes by step the rate, how many parameters the optimizer remembers, and the weight of the penalty."""

    def __init__(self):
        self.rate, self.remembered, self.weight = [], [], []

    def on_before_zero_grad(self, trainer, module, optimizer):
        self.rate.append(optimizer.param_groups[0]["lr"])
        self.remembered.append(len(optimizer.state))
        self.weight.append(module._weight())


@pytest.mark.parametrize("accumulate", [1, 2])
def test_at_the_switch_the_optimizer_forgets_and_the_schedule_goes_on(trainer, accumulate):
    watch = Watch()
    method = IRM(penalty_weight=10, anneal_steps=5, lr_scheduler=LinearDecay, lr_interval="step")
    run = trainer(max_epochs=2 * accumulate, callbacks=[watch], accumulate_grad_batches=accumulate)
    run.fit(method, datamodule=Shortcut(**SIZE))
    assert run.global_step == 8
    assert watch.weight == [1.0] * 5 + [10.0] * 3
    assert [step for step, parameters in enumerate(watch.remembered) if parameters == 0] == [0, 5]
    assert watch.rate == pytest.approx([1e-3 * (1 - t / 8) for t in range(8)])
    assert run.lr_scheduler_configs[0].scheduler.optimizer is run.optimizers[0]


def test_resume_around_the_switch_is_exact(trainer, tmp_path):
    def fit(**options):
        seed_everything(0, verbose=False)
        method = IRM(penalty_weight=10, anneal_steps=4)  # an epoch has 4 batches
        keep = ModelCheckpoint(dirpath=tmp_path, save_top_k=-1, filename="{epoch}")
        run = trainer(max_epochs=3, callbacks=[keep], enable_checkpointing=True)
        run.fit(method, datamodule=Shortcut(**SIZE), **options)
        return method.state_dict()

    whole = fit()
    for epoch in (0, 1):
        resumed = fit(ckpt_path=tmp_path / f"epoch={epoch}.ckpt")
        for name, value in whole.items():
            assert torch.equal(resumed[name], value), (epoch, name)


def test_groups_of_one_sample_train(trainer):
    inputs, label = torch.randn(6, 2), torch.tensor([0, 1, 0, 1, 0, 1])
    data = GroupedDataset(TensorDataset(inputs, label), list("abcdef"))
    method = IRM(network=nn.Linear(2, 2))
    trainer().fit(method, make_loader(data, 4))
    assert all(value.isfinite().all() for value in method.state_dict().values())


@pytest.mark.parametrize("options", [{"batch_size": 4, "groups_per_batch": 4}, {"batch_size": 2}])
def test_batches_of_one_row_a_group_are_refused(trainer, options):
    with pytest.raises(InputError, match="fewer than two rows for each"):
        trainer().fit(IRM(), datamodule=Shortcut(groups=[6, 4, 4], group_size=10, **options))


def test_run_that_ends_before_the_penalty_is_in_force_is_refused(trainer):
    with pytest.raises(InputError, match="the run has 4 steps and penalty_weight is in force after anneal_steps=500"):
        trainer().fit(IRM(penalty_weight=10), datamodule=Shortcut(**SIZE))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"penalty_weight": -1}, "penalty_weight is -1"),
        ({"penalty_weight": float("nan")}, "penalty_weight is nan"),
        ({"penalty_weight": 10, "anneal_steps": -1}, "anneal_steps is -1"),
        ({"penalty_weight": 10, "anneal_steps": 2.5}, "anneal_steps is 2.5"),
        ({"penalty_weight": 1, "anneal_steps": 3}, "anneal_steps is 3 and penalty_weight 1"),
    ],
)
def test_options_out_of_range_or_without_effect_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        IRM(**options)
