"""Simulated counts, for tests."""

import numpy as np


def simulated(rng, seeds, groups, size, apart=0.0, by_seed=0.005):
    """Counts of two methods on the same groups, of which the second is worse by ``apart``."""
    true = np.clip(rng.normal(0.8, 0.05, groups), 0.05, 0.95)
    size = np.full((seeds, groups), size)
    # Of one seed, chance in training cannot be told from a difference.
    of_seed = rng.normal(0, by_seed if seeds > 1 else 0, (2, seeds, 1))
    shifts = (of_seed[0], of_seed[1] - apart)
    return [(rng.binomial(size, np.clip(true + shift, 0, 1)), size) for shift in shifts]
