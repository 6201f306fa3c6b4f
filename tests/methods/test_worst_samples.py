"""CVaR and chi-square DRO: shares worked out by hand, by a general solver."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from drurank.errors import InputError
from drurank.methods import ChiSquare, CVaR


def shares(method, losses):
    return method.shares(torch.tensor(losses, dtype=torch.float64)).numpy()


@pytest.mark.parametrize(
    ("alpha", "losses", "want"),
    [
        # 5 x .5 = 2.5 samples count: the two worst weigh 1 / 2.5 each, the third the rest, .2
        (0.5, [1, 4, 2, 3, 0], [0, 0.4, 0.2, 0.4, 0]),
        # 5 x .1 = .5 of a sample: the largest loss alone
        (0.1, [1, 4, 2, 3, 0], [0, 1, 0, 0, 0]),
        # 4 x .5 = 2: the two worst halve it; of equal ones the first counts
        (0.5, [3, 1, 3, 3], [0.5, 0, 0.5, 0]),
        (1, [3, 1, 2, 9], [0.25] * 4),
        (0.3, [7], [1]),
    ],
)
def test_cvar_by_hand(alpha, losses, want):
    np.testing.assert_allclose(shares(CVaR(alpha), losses), want, atol=1e-12)


@pytest.mark.parametrize(
    ("radius", "losses", "want"),
    [
        # Both share: p = (1/2 + d, 1/2 - d) has (1/4) ((2d)^2 + (2d)^2) = 2 d^2 = 1/8, so d = 1/4
        (0.125, [1, 0], [0.75, 0.25]),
        # (n - 1) / 2 = 1/2 is the radius at which all goes to the largest
        (0.5, [1, 0], [1, 0]),
        (2, [1, 3, 2], [0, 1, 0]),
        (0, [1, 3, 2], [1 / 3] * 3),
        (1e-17, [1, 3, 2], [1 / 3] * 3),  # 1 + 2 rho is 1 to the last digit
        (1, [2, 2, 2, 2], [0.25] * 4),
        # Three largest of six: sharing alike is at 1/2 (6/3 - 1) = .5 < 1 away and no other share has a higher mean
        (1, [5, 5, 5, 0, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0, 0, 0]),
        # Radius .5 of three: (1 + 2 x .5) x 3 - 3 = 3, losses 2, 1, 0 have mean 1 and variance 2/3, so the mean is
        # sqrt(3 x 2/3 / 3) above eta = 1 - sqrt(2/3) = .18350: above it are 2 and 1 alone. For those two: mean 1.5,
        # variance 1/4, sqrt(3 x 1/4 / (2 x 2 - 3)) = .86603, eta .63397; shares 1.36603 and .36603 over 1.73205
        (0.5, [2, 1, 0], [0.788675, 0.211325, 0]),
    ],
)
def test_chi_square_by_hand(radius, losses, want):
    np.testing.assert_allclose(shares(ChiSquare(radius), losses), want, atol=1e-6)


@pytest.mark.parametrize("radius", [0.01, 0.1, 0.5, 1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_chi_square_is_the_worst_mean_within_its_radius(radius, seed):
    losses = np.random.default_rng(seed).gamma(1, 1, 3 + 2 * seed)
    n, got = len(losses), shares(ChiSquare(radius), losses)
    room = {"type": "ineq", "fun": lambda p: radius - ((n * p - 1) ** 2).mean() / 2}
    whole = {"type": "eq", "fun": lambda p: p.sum() - 1}
    options = {"maxiter": 500, "ftol": 1e-12}
    want = minimize(
        lambda p: -p @ losses, np.full(n, 1 / n), constraints=[whole, room], bounds=[(0, 1)] * n, options=options
    )
    assert got @ losses == pytest.approx(-want.fun, abs=1e-6)
    assert ((n * got - 1) ** 2).mean() / 2 <= radius + 1e-9


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1e4, width=32), min_size=1, max_size=12), st.sampled_from([0.0, 0.05, 0.7, 4.0]))
def test_shares_sum_to_one_and_leave_places_without_a_sample_out(losses, radius):
    for method in (CVaR(0.3), ChiSquare(radius)):
        got = method.shares(torch.tensor(losses))
        assert got.sum().item() == pytest.approx(1, abs=1e-5)
        assert (got >= 0).all()
        padded = method.shares(torch.tensor([*losses, -torch.inf, -torch.inf]))
        torch.testing.assert_close(padded[:-2], got)
        assert padded[-2:].tolist() == [0, 0]
        batched = method.shares(torch.tensor([losses, losses[::-1]]))
        torch.testing.assert_close(batched[0], got)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: CVaR(0), "alpha is 0"),
        (lambda: CVaR(1.5), "alpha is 1.5"),
        (lambda: CVaR(float("nan")), "alpha is nan"),
        (lambda: ChiSquare(-1), "radius is -1"),
        (lambda: ChiSquare(float("inf")), "radius is inf"),
    ],
)
def test_options_out_of_range_are_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_shares_are_right_where_half_precision_is_the_default():
    losses = torch.rand(1000, generator=torch.Generator().manual_seed(0))
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = CVaR(0.77).shares(losses)
    finally:
        torch.set_default_dtype(torch.float32)
    assert int((found > 0).sum()) == 770
    assert float(found.sum()) == pytest.approx(1, abs=1e-5)
