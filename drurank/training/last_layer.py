"""A last layer from logistic regressions on several subsets of rows."""

from __future__ import annotations

import time

import numpy as np
from lightning.pytorch.utilities.rank_zero import rank_zero_info

from drurank.errors import InputError

NEVER = -1e4
"""Bias of a class that no subset holds."""
QUIET_SECONDS = 10


def mean_coefficients(
    features: np.ndarray,
    label: np.ndarray,
    subsets: np.ndarray,
    *,
    num_classes: int,
    penalty: str,
    inverse_strength: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the logistic regressions on standardised features of each subset, in units of the features.

    The mean of a class's coefficients is over the subsets that hold the class.

    Args:
        features: float ``[n, d]``; standardised by their mean and standard deviation over the ``n`` rows.
        label: class, int ``[n]``, in ``[0, num_classes)``.
        subsets: rows of each subset, int ``[s, k]``, that ``check_subsets`` lets pass.
        num_classes: ``C``, 2 or more.
        penalty: ``l1`` or ``l2``, on the coefficients of the standardised features.
        inverse_strength: ``C`` of scikit-learn's ``LogisticRegression``.

    Returns:
        Weight, float ``[C, d]``, and bias, ``[C]``.
    """
    # Equal numbers differ from their mean by rounding, but not from the first of them.
    centre, scale = features.mean(axis=0), (features - features[:1]).std(axis=0)
    scale[scale == 0] = 1
    standard = (features - centre) / scale
    found = np.full((len(subsets), num_classes, features.shape[1] + 1), np.nan)
    said = time.monotonic()
    for number, rows in enumerate(subsets):
        classes = np.unique(label[rows])
        if len(classes) > 1:
            found[number, classes] = _fit(standard[rows], label[rows], penalty, inverse_strength)
        if time.monotonic() - said > QUIET_SECONDS:
            # No bar: the trainer's is on the screen, and there can be but one.
            said = time.monotonic()
            rank_zero_info(f"{number + 1} of {len(subsets)} subsets are fitted")
    held = ~np.isnan(found[..., 0])
    mean = np.nansum(found, axis=0) / held.sum(axis=0).clip(min=1)[:, None]
    weight, bias = mean[:, :-1] / scale, mean[:, -1]
    return weight, np.where(held.any(axis=0), bias - weight @ centre, NEVER)


def check_subsets(label: np.ndarray, subsets: np.ndarray) -> None:
    """Refuse to fit where no subset holds two classes; see ``mean_coefficients``."""
    chosen = label[subsets]
    if (chosen == chosen[:, :1]).all():
        raise InputError(
            f"each balanced subset of {subsets.shape[1]:,} rows holds one class only, so no last layer can be fitted; "
            "leave out tiny groups, or give more subsets or another split"
        )


def _fit(features: np.ndarray, label: np.ndarray, penalty: str, inverse_strength: float) -> np.ndarray:
    """Coefficients and, last, intercept of each class that occurs, ``[classes, d + 1]``."""
    from sklearn.linear_model import LogisticRegression  # here, since it is slow to import

    binary = len(np.unique(label)) == 2
    solver = "lbfgs" if penalty == "l2" else "liblinear" if binary else "saga"
    # saga comes nearer than 1e-3 only in minutes.
    regression = LogisticRegression(
        C=inverse_strength,
        l1_ratio=float(penalty == "l1"),
        solver=solver,
        tol=1e-3 if solver == "saga" else 1e-4,
        max_iter=1000,
        random_state=0,
    )
    regression.fit(features, label)
    fitted: np.ndarray = np.column_stack([regression.coef_, regression.intercept_])
    return np.concatenate([-fitted / 2, fitted / 2]) if binary else fitted
