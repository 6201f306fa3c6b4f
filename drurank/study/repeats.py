"""Whether methods differ by more than chance over several repeats of the split, which share most of their rows."""

from __future__ import annotations

import numpy as np

from drurank.errors import InputError
from drurank.study.stepwise import Difference, stepwise


def differences_over_repeats(values: np.ndarray, share: float, one: int = 0, most: float = np.inf) -> list[Difference]:
    """Differences of one of ``K`` methods from each over ``R`` repeats of the split.

    The resampled t-test as Nadeau and Bengio correct it. Repeats train and test on the same rows in good part, so the
    variance of a difference over repeats, over ``R``, is far too small for the variance of its mean; ``1 / R + share``
    takes the place of ``1 / R``. Theirs is the share of test data; here it is all that is held out, validation too,
    which is more. The variance is pooled over pairs of methods and has ``(K - 1)(R - 1)`` degrees of freedom. Methods
    are tested step by step, see ``stepwise``.

    It counts what a split does (which groups are tested, and which are trained on), what seeds do and what rows do. It
    takes the correlation of two repeats to be that of their test data; where a difference depends on the training data
    above all, it finds too many differences (``benchmarks/repeats.py``).

    Args:
        values: a criterion by method and repeat, mean over seeds, float ``[K, R]``.
        share: data that is held out over data that is trained on, in each repeat.
        one: place of the method that the others are held against.
        most: the largest difference that is possible.

    Returns:
        One a method, in their order; that of the method itself is 0 and not distinguishable.

    Raises:
        InputError: if there are fewer than two methods or repeats.
    """
    if values.ndim != 2 or min(values.shape) < 2:
        raise InputError(f"values has the shape {values.shape}; give [methods, repeats], two or more of each")
    methods, repeats = values.shape
    value = values.mean(axis=1)[one] - values.mean(axis=1)
    of_pairs = (values[:, None] - values[None]).var(axis=2, ddof=1).sum() / (methods * (methods - 1))
    error = np.sqrt(np.full(methods, of_pairs * (1 / repeats + share)))
    degrees = np.full(methods, float((methods - 1) * (repeats - 1)))
    return stepwise(value, error, degrees, one, most=most)
