"""Independent numpy versions of what the library computes, for the tests to compare with."""

import math

import numpy as np

CRITERIA = ("overall", "average", "worst", "p10", "gdcg10", "gdcg50", "qdcg10", "qdcg50", "tstat")


def accuracies(correct, group, m):
    """Accuracy of groups 0 to m - 1, nan where a group has no row; both arguments ``[n]``."""
    correct, group = np.asarray(correct, float), np.asarray(group)
    return np.array([correct[group == g].mean() if (group == g).any() else np.nan for g in range(m)])


def ranks(accuracy, rank_by="quantile", ties="min"):
    accuracy = np.asarray(accuracy, float)
    known = accuracy[~np.isnan(accuracy)]
    below = np.array([np.nan if np.isnan(a) else (known < a).sum() for a in accuracy])
    if ties == "average":
        below = below + np.array([((known == a).sum() - 1) / 2 for a in accuracy])
    if ties == "ordinal":
        below = below + np.array([(accuracy[:g] == a).sum() for g, a in enumerate(accuracy)])
    return below * 100 / len(known) if rank_by == "quantile" else below


def discounts(rank, cutoff):
    """The specification's DRU weight; 1 where the rank is nan or above the cutoff."""
    return np.array([math.log2(cutoff + 2) / math.log2(r + 2) if r <= cutoff else 1.0 for r in np.asarray(rank)])


def unless_equal(group_weight, accuracy):
    """All 1 where the groups that have an accuracy have one and the same: then none is worse than another."""
    values = {float(a) for a in accuracy if not np.isnan(a)}
    return np.asarray(group_weight, float) if len(values) > 1 else np.ones(len(accuracy))


def spread(group_weight, correct, group, upweight):
    """Weight by sample from weight by group: all samples of the group, or its misclassified ones."""
    weight = np.asarray(group_weight, float)[np.asarray(group)]
    return weight if upweight == "all" else np.where(np.asarray(correct), 1.0, weight)


def cross_entropy(logits, label):
    logits = np.asarray(logits, float)
    top = logits.max(axis=1, keepdims=True)
    log_sum = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
    return log_sum - logits[np.arange(len(logits)), np.asarray(label)]


def dcg(scores):
    return sum(score / math.log2(place + 2) for place, score in enumerate(scores))


def criteria(correct, count):
    """The nine criteria of the specification from counts by group."""
    correct, count = np.asarray(correct, float), np.asarray(count)
    accuracy = correct[count > 0] / count[count > 0]
    error, m = 1 - accuracy, len(accuracy)
    worst_first = np.sort(error)[::-1]
    standard_error = accuracy.std(ddof=1) / math.sqrt(m) if m > 1 else 0.0
    values = {
        "overall": correct.sum() / count.sum(),
        "average": accuracy.mean(),
        "worst": accuracy.min(),
        "p10": np.percentile(accuracy, 10),
        "tstat": accuracy.mean() / max(standard_error, 1e-6),
    }
    for k in (10, 50):
        values[f"gdcg{k}"] = dcg(worst_first[: -(-k * m // 100)])
        values[f"qdcg{k}"] = dcg(np.percentile(error, 100 - np.arange(k + 1)))
    return values
