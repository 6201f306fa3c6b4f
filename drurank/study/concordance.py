"""How well a criterion chooses: its order of candidates beside their order by the worst group on test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from drurank.errors import InputError

DIGITS = 10


@dataclass(frozen=True)
class Concordance:
    """How well a criterion on validation orders candidates by what happens to the worst group on test.

    Attributes:
        distance: Euclidean distance of the two vectors of ranks, 0 where they agree (the paper's ED).
        cosine: cosine similarity of the two vectors of ranks, 1 where they agree (the paper's CS).
        ndcg: normalised discounted cumulative gain of the criterion's order; the gain is ``n`` less the rank on test.
        tau: Kendall's tau-b, from -1 to 1; nan where one of both has ties only.
        tied_pairs: share of pairs of candidates that the criterion does not tell apart.
        tied_models: share of candidates that the criterion does not tell from some other one, as the paper counts ties.
        regret: worst-group accuracy on test that could be had less that of the candidate that the criterion puts first.
    """

    distance: float
    cosine: float
    ndcg: float
    tau: float
    tied_pairs: float
    tied_models: float
    regret: float


def concordance(
    chosen_by: np.ndarray, tested: np.ndarray, *, higher_is_better: bool = True, best: float | None = None
) -> Concordance:
    """Compare two orders of ``n`` candidates.

    Ranks are 1 to n from the best, and ties share the best rank of their run: the paper's cosines beside its distances
    fit that, and no mean ranks. Of candidates that the criterion does not tell apart the gain, and the accuracy for the
    regret, is their mean: what it would be on average if one of them were taken by lot.

    Args:
        chosen_by: criterion on validation, float ``[n]``.
        tested: worst-group accuracy on test, float ``[n]``.
        higher_is_better: whether a high value of the criterion is good.
        best: accuracy that could be had; the highest of ``tested``, if not given.

    Raises:
        InputError: if there are fewer than two candidates, or a value of one is nan or infinite.
    """
    from scipy.stats import kendalltau, rankdata

    if len(chosen_by) < 2 or len(chosen_by) != len(tested):
        raise InputError(f"there are {len(chosen_by)} and {len(tested)} candidates; two or more can be compared")
    for name, values in (("chosen_by", chosen_by), ("tested", tested)):
        if not np.isfinite(values).all():
            place = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(
                f"{name} of candidate {place} is {values[place]}, which has no rank; leave the candidate out"
            )
    # Sums in another order differ in their last digit, which is no difference between candidates.
    chosen_by, tested = np.round(chosen_by, DIGITS), np.round(tested, DIGITS)
    cost = -chosen_by if higher_is_better else chosen_by
    mine, truth = rankdata(cost, method="min"), rankdata(-tested, method="min")
    gain = len(tested) - truth
    discount = 1 / np.log2(np.arange(len(gain)) + 2)
    order = np.argsort(cost, kind="stable")
    _, block = np.unique(cost[order], return_inverse=True)
    mean_gain = (np.bincount(block, weights=gain[order]) / np.bincount(block))[block]
    ideal = float((np.sort(gain)[::-1] * discount).sum())
    first = tested[cost == cost.min()]
    tied_pairs, tied_models = ties(chosen_by)
    return Concordance(
        distance=float(np.linalg.norm(mine - truth)),
        cosine=float(mine @ truth / (np.linalg.norm(mine) * np.linalg.norm(truth))),
        ndcg=float((mean_gain * discount).sum()) / ideal if ideal > 0 else 1.0,
        tau=float(kendalltau(-mine, -truth).statistic),
        tied_pairs=tied_pairs,
        tied_models=tied_models,
        regret=float((tested.max() if best is None else np.round(best, DIGITS)) - first.mean()),
    )


def ties(chosen_by: np.ndarray) -> tuple[float, float]:
    """Share of pairs that a criterion does not tell apart, and of candidates that it does not tell from some other.

    Args:
        chosen_by: criterion, float ``[n]``, of two candidates or more.
    """
    _, same = np.unique(np.round(chosen_by, DIGITS), return_counts=True)
    pairs = len(chosen_by) * (len(chosen_by) - 1) / 2
    return float((same * (same - 1) / 2).sum() / pairs), float(same[same > 1].sum() / len(chosen_by))
