"""Group DRO: steps worked out by hand, the dense form step by step in numpy, and the limits."""

import math

import numpy as np
import pytest
import torch

from drurank.data import Shortcut
from drurank.errors import InputError
from drurank.methods import GroupDRO
from drurank.training.losses import CrossEntropy
from drurank.training.record import EpochRecord


def ready(rows, **options):
    """The method as training starts with so many rows of each group."""
    method = GroupDRO(**options)
    group = torch.repeat_interleave(torch.arange(len(rows)), torch.tensor(rows))
    method.record = EpochRecord(group, len(rows))
    method.state = method.first_state()
    return method


def step(method, losses, group):
    batch = {"group": torch.tensor(group, dtype=torch.int64)}
    return method.reduce(torch.tensor(losses, dtype=torch.float64), batch, method.state).item()


def weights(method):
    return (method.state["log_q"] - method.state["log_z"]).exp().tolist()


def test_step_of_the_cases():
    # q (.5, .5), eta .1, losses 2 and 1: .5 e^.2 = .610701, .5 e^.1 = .552585; q = .524979, .475021
    for preset in ("wilds", "sagawa"):
        method = ready([3, 3], preset=preset, step_size=0.1)
        assert step(method, [2, 1], [0, 1]) == pytest.approx(1.524979, abs=1e-6)
        assert weights(method) == pytest.approx([0.524979, 0.475021], abs=1e-6)


def test_losses_of_a_group_are_averaged_and_absent_groups_lose_weight():
    # Group 0 has losses 1 and 3, mean 2; group 2 is absent: factors e^.2, e^.1, 1 over 1.221403 + 1.105171 + 1
    method = ready([5, 1, 4], step_size=0.1)
    want = np.exp([0.2, 0.1, 0]) / np.exp([0.2, 0.1, 0]).sum()
    assert step(method, [1, 1, 3], [0, 1, 0]) == pytest.approx(2 * want[0] + 1 * want[1])
    assert weights(method) == pytest.approx(want)


def test_negative_losses_stop_a_run_of_wilds_alone(trainer):
    class Below(CrossEntropy):
        def forward(self, logits, label):
            return super().forward(logits, label) - 5

    for preset, losses in (("wilds", Below()), ("sagawa", Below()), ("wilds", CrossEntropy())):
        run, method = trainer(), GroupDRO(preset, loss=losses)
        data = Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16)
        if preset == "wilds" and isinstance(losses, Below):
            with pytest.raises(InputError, match="with preset='wilds' no loss may be negative"):
                run.fit(method, datamodule=data)
        else:
            run.fit(method, datamodule=data)
            assert sum(weights(method)) == pytest.approx(1)


def test_normalised_losses_that_are_all_zero_move_nothing():
    method = ready([3, 3], preset="sagawa", normalize_loss=True)
    assert step(method, [0, 0], [0, 1]) == 0
    assert weights(method) == [0.5, 0.5]


def test_group_without_training_rows_has_no_weight():
    method = ready([2, 0, 2], step_size=0.1)
    step(method, [0.0, 0.0], [0, 2])
    assert weights(method) == [0.5, 0, 0.5]


@pytest.mark.parametrize(("normalize", "moved"), [(False, [2.0, 0.5, 1.0]), (True, [2 / 3.5, 0.5 / 3.5, 1 / 3.5])])
def test_adjustment_and_normalisation_move_the_weights_and_not_the_objective(normalize, moved):
    # C = 1 and 1, 4 and 1 rows: adjustments 1, 1/2 and 1; losses 1, absent, absent
    method = ready([1, 4, 1], preset="sagawa", step_size=0.3, generalization_adjustment=1, normalize_loss=normalize)
    q = np.exp(0.3 * np.array(moved))
    assert step(method, [1], [0]) == pytest.approx(q[0] / q.sum())
    assert weights(method) == pytest.approx(q / q.sum())


def test_greedy_form_takes_the_groups_of_highest_running_loss():
    # Rows 2, 5, 3 of 10; alpha .4. Losses 3, 1, 2: group 0 (share .2) and half of what is left from group 2 (share .3)
    method = ready([2, 5, 3], preset="sagawa", alpha=0.4, ema=0.5)
    assert step(method, [3, 1, 2], [0, 1, 2]) == pytest.approx(3 * 0.5 + 2 * 0.5)
    # Group 0 falls to 0: running 1.5; group 1 rises to 9: running 5; group 2 is absent and stays at 2: 1 fills alpha
    assert step(method, [0, 9], [0, 1]) == pytest.approx(9)


def dense(losses, groups, m, eta):
    """What the sources do, in float64: all groups in every step; objective by step, and the final weights."""
    q, seen = np.full(m, 1 / m), []
    for loss, group in zip(losses, groups, strict=True):
        mean = np.array([loss[group == g].mean() if (group == g).any() else 0 for g in range(m)])
        q = q * np.exp(eta * mean)
        q /= q.sum()
        seen.append(q @ mean)
    return np.array(seen), q


def test_touching_the_groups_of_the_batch_alone_agrees_with_the_dense_form():
    rng = np.random.default_rng(0)
    losses, groups = rng.gamma(1, 1, (10_000, 6)), rng.integers(0, 12, (10_000, 6))
    want, q = dense(losses, groups, 12, 0.01)
    method = ready([1] * 12, step_size=0.01)
    got = [step(method, loss.tolist(), group.tolist()) for loss, group in zip(losses, groups, strict=True)]
    np.testing.assert_allclose(got, want, atol=1e-5)
    np.testing.assert_allclose(weights(method), q, atol=1e-5)
    method.reweight(method.record)
    np.testing.assert_allclose(weights(method), q, atol=1e-5)
    assert method.state["log_z"] == 0


@pytest.mark.parametrize("preset", ["wilds", "sagawa"])
def test_huge_losses_stay_finite(preset):
    method = ready([1, 1], preset=preset, step_size=0.1)
    for _ in range(200):
        value = step(method, [1e4, 1.0], [0, 1])
    assert value == pytest.approx(1e4)
    assert weights(method) == pytest.approx([1, 0])


@pytest.mark.parametrize("preset", ["wilds", "sagawa"])
def test_without_a_step_the_objective_is_the_mean_over_all_groups_of_those_present(preset):
    method = ready([4, 4, 4, 4], preset=preset, step_size=0)
    assert step(method, [1, 3, 5], [2, 2, 0]) == pytest.approx((2 + 5) / 4)


@pytest.mark.parametrize("preset", ["wilds", "sagawa"])
def test_leading_dimensions_are_a_loop(preset):
    rng = np.random.default_rng(1)
    losses, group = rng.gamma(1, 1, (3, 5, 8)), rng.integers(0, 4, (5, 8))
    together = ready([2] * 4, preset=preset, step_size=0.2)
    for name in {"log_q", "log_z", "running"} & together.state.keys():
        value = together.state[name]
        together.state[name] = value.expand(3, *value.shape).clone()
    alone = [ready([2] * 4, preset=preset, step_size=0.2) for _ in range(3)]
    for t in range(5):
        batch = {"group": torch.tensor(group[t])}
        got = together.reduce(torch.tensor(losses[:, t]), batch, together.state)
        want = [step(alone[i], losses[i, t].tolist(), group[t].tolist()) for i in range(3)]
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_batch_without_a_row_moves_nothing():
    method = ready([1, 1])
    step(method, [1.0], [0])
    before = weights(method)
    assert step(method, [], []) == 0
    assert weights(method) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"preset": "wild"}, "preset is 'wild'"),
        ({"step_size": -1}, "step_size is -1"),
        ({"step_size": math.nan}, "step_size is nan"),
        ({"preset": "sagawa", "generalization_adjustment": -2}, "adjustment is -2"),
        ({"preset": "sagawa", "alpha": 1}, "alpha is 1"),
        ({"preset": "sagawa", "alpha": 0.2, "ema": 0}, "ema is 0"),
        ({"generalization_adjustment": 1}, "preset='sagawa'"),
        ({"normalize_loss": True}, "preset='sagawa'"),
        ({"alpha": 0.2}, "preset='sagawa'"),
        ({"preset": "sagawa", "ema": 0.2}, "ema is 0.2"),
        ({"preset": "sagawa", "alpha": 0.2, "normalize_loss": True}, "greedy form"),
        ({"preset": "sagawa", "alpha": 0.2, "step_size": 0.1}, "greedy form"),
    ],
)
def test_options_without_effect_or_out_of_range_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        GroupDRO(**options)


def test_it_asks_for_balanced_groups():
    assert Shortcut().draw_of(GroupDRO()) == "balanced"
