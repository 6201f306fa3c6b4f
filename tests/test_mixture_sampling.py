from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import comb, gammaln
from scipy.stats import betabinom, binom

from drurank import mixture_sampling as sampling
from drurank.mixture import COMPONENTS, Mixtures, Tally, shares
from drurank.mixture_sampling import ALL_ALIKE_PRIOR, POINT_PRIOR, WEIGHT_PRIOR, draw_mixtures

pytestmark = pytest.mark.usefixtures("all_draws")


def test_one_component_has_its_exact_posterior():
    """The chance that all groups are alike: that of one point against each spread, the mean integrated out."""
    correct, count = np.array([3, 7, 5, 9, 6, 4, 8, 8]), np.full(8, 10)
    tally = Tally.of(correct, count)
    spreads = sampling._candidate_spreads(tally)

    def evidence(relative):
        k = 1 / relative**2 - 1 if relative else np.inf
        likelihood = binom.pmf if not relative else None

        def at(mean):
            if likelihood:
                return np.prod(binom.pmf(correct, count, mean))
            return np.prod(betabinom.pmf(correct, count, mean * k, (1 - mean) * k))

        return quad(at, 1e-4, 1 - 1e-4, epsabs=0, epsrel=1e-6)[0]

    odds = evidence(0) / np.mean([evidence(one) for one in spreads])
    sampler = sampling._Sampler(tally, np.random.default_rng(0))
    assert sampler.chance_of_a_point() == pytest.approx(odds / (odds + 1), abs=0.005)
    drawn = [np.isinf(sampler.single().precision[:, 0]) for _ in range(40)]
    odds *= ALL_ALIKE_PRIOR / (1 - ALL_ALIKE_PRIOR)
    assert np.mean(drawn) == pytest.approx(odds / (odds + 1), abs=0.02)


def test_a_lead_that_hangs_on_few_groups_leaves_both_models_drawn():
    """As far ahead in sum: by one group of a hundred, which many bootstraps leave out, or by all of them a little."""
    tally = Tally(np.arange(100.0), np.full(100, 100.0), np.ones(100, np.int64), np.arange(100))

    def drawn(ahead):
        both = (np.full((3, sampling.DRAWS, COMPONENTS), number) for number in (0.3, 0.6))
        one, other = (sampling._without_sizes(*each) for each in both)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sampling, "_predicts", lambda which, _: ahead if which is other else 0 * ahead)
            whole, lead = sampling._averaged(one, other, tally, np.random.default_rng(0))
        assert lead == pytest.approx(ahead.sum())
        return np.mean(whole.mean[:, 0, 0] == 0.6)

    by_one = np.zeros(100)
    by_one[0] = 8.0
    rng = np.random.default_rng(1)
    weight = rng.dirichlet(np.ones(100), 20_000) @ by_one * 100
    assert drawn(by_one) == pytest.approx(np.mean(1 / (1 + np.exp(-weight))), abs=0.06)
    assert drawn(np.full(100, 0.08)) == 1.0


@pytest.mark.parametrize(("place", "is_point"), [("place", POINT_PRIOR), ("place_points", 1 - 1e-12)])
def test_several_components_have_the_posterior_of_all_ways_to_share_out_the_groups(place, is_point):
    """Exact by enumeration: every assignment of three groups to the components, weighed by its evidence."""
    correct, count = np.array([2, 17, 18]), np.array([20, 20, 20])
    tally = Tally.of(correct, count)
    sampler = sampling._Sampler(tally, np.random.default_rng(1))
    height, k = sampler.height[tally.place], sampler.precisions

    def of_members(members):
        """Log evidence of one component with these groups, and the expected accuracy of each group in it."""
        right, wrong = correct[members].sum(), (count - correct)[members].sum()
        point = np.log(is_point) + gammaln(right + 1) + gammaln(wrong + 1) - gammaln(right + wrong + 2)
        total = np.append(height[members].sum(axis=0) + sampler.prior + np.log(1 - is_point), point)
        log = np.logaddexp.reduce(total)
        share = np.exp(total - log)
        of_grid = (sampler.means * k + correct[:, None]) / (k + count[:, None])
        return log, of_grid @ share[:-1] + share[-1] * (right + 1) / (right + wrong + 2)

    logs, means = [], []
    for assigned in product(range(COMPONENTS), repeat=3):
        log, mean = 0.0, np.zeros(3)
        for component in set(assigned):
            members = np.array(assigned) == component
            log += gammaln(WEIGHT_PRIOR + members.sum()) - gammaln(WEIGHT_PRIOR)
            evidence, expected = of_members(members)
            log, mean = log + evidence, np.where(members, expected, mean)
        logs.append(log)
        means.append(mean)
    share = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    want = share @ np.array(means)

    found = []
    for seed in range(12):
        sampler = sampling._Sampler(tally, np.random.default_rng(seed))
        drawn = sampler.several(getattr(sampler, place))
        for part, mean, precision in zip(
            shares(drawn.height(tally)), drawn.mean[:, 0], drawn.precision[:, 0], strict=True
        ):
            point = np.isinf(precision)
            kept = np.where(point, 0, precision)
            each = (mean * kept + tally.correct[:, None]) / (kept + tally.count[:, None])
            found.append((part * np.where(point, mean, each)).sum(axis=1)[tally.place])
    np.testing.assert_allclose(np.mean(found, axis=0), want, atol=0.012)
    assert want[0] < 0.2 < 0.8 < want[1] < want[2]


def test_prediction_is_scored_by_waic():
    tally = Tally.of(np.array([3, 3, 9]), np.array([10, 10, 10]))
    weight, mean = np.array([[[0.5, 0.5]], [[0.1, 0.9]]]), np.array([[[0.3, 0.9]], [[0.4, 0.8]]])
    drawn = Mixtures(weight, mean, np.array([[[np.inf, 5.0]], [[8.0, 9.0]]]), np.zeros(0))
    want = 0.0
    for correct, count, times in ((3, 10, 2), (9, 10, 1)):
        density = []
        for weights, means, precisions in zip(weight[:, 0], mean[:, 0], drawn.precision[:, 0], strict=True):
            parts = [
                w * (binom.pmf(correct, count, m) if np.isinf(k) else betabinom.pmf(correct, count, m * k, k - m * k))
                for w, m, k in zip(weights, means, precisions, strict=True)
            ]
            density.append(sum(parts) / comb(count, correct))
        want += times * (np.log(np.mean(density)) - np.var(np.log(density), ddof=1))
    assert tally.times @ sampling._predicts(drawn, tally) == pytest.approx(want)


@pytest.mark.parametrize("sizes", [(50, 50), (10, 200)])
def test_there_are_as_many_mixtures_whatever_their_kind(sizes):
    rng = np.random.default_rng(3)
    count = np.repeat(sizes, 30)
    for true in (np.full(60, 0.8), np.where(np.arange(60) < 20, 0.3, 0.9)):
        drawn, _ = draw_mixtures(Tally.of(rng.binomial(count, true), count), np.random.default_rng(0))
        shape = (sampling.DRAWS, len(set(sizes)), COMPONENTS)
        assert drawn.weight.shape == drawn.mean.shape == drawn.precision.shape == shape
        np.testing.assert_allclose(drawn.weight.sum(axis=-1), 1)
        assert ((drawn.mean > 0) & (drawn.mean < 1)).all()


@pytest.mark.parametrize(
    ("count", "edges"),
    [
        ([75] * 100, []),  # one size
        ([75, 90] * 50, []),  # sizes much alike
        ([6] * 30 + [200] * 30, [200]),
        ([6] * 30 + [200] * 3, []),  # few large ones
        ([1, 100] * 5, []),  # few groups
        (list(range(1, 101)), [26, 51, 76]),
    ],
)
def test_ranges_of_sizes_hold_about_as_many_groups(count, edges):
    count = np.array(count)
    assert sampling._edges(Tally.of(count // 2, count)).tolist() == edges


def test_small_groups_that_are_served_worse_do_not_borrow_from_large_ones():
    """With one distribution for all, the small groups would look better than they are, and the average with them."""
    near, large = [], np.repeat([200, 6], 30)
    for run in range(8):
        rng = np.random.default_rng(run)
        correct = rng.binomial(large, np.repeat([0.85, 0.4], 30))
        mixtures, alike = draw_mixtures(Tally.of(correct, large), rng)
        assert not alike
        near.append(mixtures.posterior_mean(correct, large)[30:].mean())
    assert np.mean(near) == pytest.approx(0.4, abs=0.04)


def test_groups_are_not_alike_where_one_is_too_far_from_the_rest():
    count, correct = np.full(40, 200), np.full(40, 180)
    assert draw_mixtures(Tally.of(correct, count), np.random.default_rng(0))[1]
    count[0], correct[0] = 5, 0
    assert binom.cdf(0, 5, correct.sum() / count.sum()) * 2 * 40 < 0.05
    assert not draw_mixtures(Tally.of(correct, count), np.random.default_rng(0))[1]
