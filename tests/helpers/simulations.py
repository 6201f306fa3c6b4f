"""Simulated counts, for tests."""

import numpy as np


def simulated(rng, seeds, groups, size, apart=0.0, by_seed=0.005, methods=2):
    """Correct rows of methods on the same groups, of which the last is worse by ``apart``, and rows by group."""
    true = np.clip(rng.normal(0.8, 0.05, groups), 0.05, 0.95)
    # Of one seed, chance in training cannot be told from a difference.
    shifts = rng.normal(0, by_seed if seeds > 1 else 0, (methods, seeds, 1))
    shifts[-1] -= apart
    return rng.binomial(size, np.clip(true + shifts, 0, 1)), np.full(groups, size)
