"""Figures that are no shares, group by group, against scikit-learn, fairlearn and values worked out by hand."""

import warnings

import numpy as np
import pytest
from fairlearn import metrics as frames
from sklearn import metrics

from drurank.figures import MEASURES, Outcomes, figure_named
from drurank.figures.computing import calibration_error

SETS = range(50)


def value(name, outcomes, group, m=None):
    """The figure by group."""
    figure, group = figure_named(name), np.asarray(group)
    figure.check(outcomes, ["0", "1"])
    return figure.of(figure.prepare(outcomes), group, m or group.max() + 1)


def binary(seed):
    """Rows of two classes with scores of which many are equal; groups of one row and of one class among them."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(8, 80))
    group = rng.integers(0, 9, rows)
    label = (rng.random(rows) < 0.2 + 0.07 * group).astype(int)
    score = np.clip(np.round(rng.random(rows) * 0.6 + 0.3 * label, int(rng.integers(1, 4))), 0, 1)
    return Outcomes(label, (score > 0.5).astype(int), 1, np.array([0.0, 1.0]), 2, score), group


def several(seed):
    """Rows of four classes, of which groups lack some, with the probability of each."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(8, 80))
    probability = rng.dirichlet(np.full(4, 0.5), rows)
    label = np.array([rng.choice(4, p=one) for one in probability])
    values = np.array([1.0, 2.0, 3.0, 5.0])
    said = np.where(rng.random(rows) < 0.2, rng.integers(0, 4, rows), probability.argmax(axis=1))
    return Outcomes(label, said, None, values, 4, None, probability), rng.integers(0, 9, rows)


def by_bins(score, event, bins):
    """Calibration error by its definition: rows in order, equal scores together at the middle of their places."""
    found = [[] for _ in range(bins)]
    for one in np.unique(score):
        here = np.flatnonzero(score == one)
        middle = (score < one).sum() + len(here) / 2
        found[min(int(middle * bins / len(score)), bins - 1)] += [*here]
    return sum(abs((score[rows] - event[rows]).sum()) for rows in found) / len(score)


def of_library(name, rows, here):
    """What scikit-learn, or the definition, has for some of the rows; ``nan`` where it has nothing."""
    label, said = rows.label[here], rows.prediction[here]
    score = None if rows.score is None else rows.score[here]
    several = None if rows.probability is None else rows.probability[here]
    if name == "f1":
        if several is not None:
            return metrics.f1_score(label, said, average="macro", zero_division=0)
        return metrics.f1_score(label, said) if (label | said).any() else np.nan
    if name == "balanced_accuracy":
        return metrics.balanced_accuracy_score(label, said)
    if name == "mae":
        return metrics.mean_absolute_error(rows.values[label], rows.values[said])
    if name == "auroc":
        return metrics.roc_auc_score(label, score) if len(set(label)) == 2 else np.nan
    if name == "log_loss":
        return metrics.log_loss(label, score if several is None else several, labels=range(rows.classes))
    if name == "brier":
        if several is None:
            return metrics.brier_score_loss(label, score, pos_label=1, labels=[0, 1])
        return ((several - np.eye(4)[label]) ** 2).sum(axis=1).mean() / 2
    if several is not None:
        return by_bins(several.max(axis=1), several.argmax(axis=1) == label, max(1, min(10, len(label) // 10)))
    return by_bins(score, label, max(1, min(10, len(label) // 10)))


OF_BOTH = [(name, make) for name in MEASURES for make in (binary, several) if (name, make) != ("auroc", several)]


@pytest.mark.parametrize(("name", "make"), OF_BOTH)
def test_each_is_what_the_library_has_group_by_group(name, make):
    for seed in SETS:
        rows, group = make(seed)
        found = value(name, rows, group, 10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of groups that lack a class
            wanted = [of_library(name, rows, group == one) if (group == one).any() else np.nan for one in range(10)]
        assert found == pytest.approx(np.array(wanted), nan_ok=True, abs=1e-12), seed


FAIRLEARN = [("auroc", "roc_auc_score"), ("f1", "f1_score"), ("balanced_accuracy", "balanced_accuracy_score")]


@pytest.mark.parametrize(("name", "function"), FAIRLEARN)
def test_each_is_what_fairlearn_has(name, function):
    rng = np.random.default_rng(0)
    group, label = np.arange(400) % 5, rng.integers(0, 2, 400)
    score = np.round(rng.random(400) * 0.7 + 0.3 * label, 2)
    rows = Outcomes(label, (score > 0.6).astype(int), 1, score=score)
    given = score if name == "auroc" else rows.prediction
    frame = frames.MetricFrame(
        metrics={name: getattr(metrics, function)}, y_true=label, y_pred=given, sensitive_features=group
    )
    assert value(name, rows, group) == pytest.approx(frame.by_group[name].to_numpy())


def test_they_are_as_worked_out_by_hand():
    label, score = np.array([1, 0, 1, 0, 1, 1]), np.array([0.9, 0.1, 0.4, 0.6, 0.5, 0.5])
    group = np.array([0, 0, 0, 0, 1, 1])
    rows = Outcomes(label, (score > 0.55).astype(int), 1, np.array([0.0, 1.0]), 2, score)
    # Of the pairs of positive .9, .4 and negative .1, .6 three of four are in order.
    assert value("auroc", rows, group) == pytest.approx(np.array([3 / 4, np.nan]), nan_ok=True)
    assert value("f1", rows, group) == pytest.approx(np.array([2 / 4, 0.0]))  # one true, one false positive, one missed
    assert value("balanced_accuracy", rows, group) == pytest.approx(np.array([1 / 2, 0.0]))
    assert value("mae", rows, group) == pytest.approx(np.array([1 / 2, 1.0]))
    assert value("brier", rows, group) == pytest.approx(np.array([(0.01 + 0.01 + 0.36 + 0.36) / 4, 0.25]))
    of_first = -(np.log(0.9) + np.log(0.9) + np.log(0.4) + np.log(0.4)) / 4
    assert value("log_loss", rows, group) == pytest.approx(np.array([of_first, np.log(2)]))
    assert value("calibration_error", rows, group) == pytest.approx(np.array([0.0, 0.5]))  # one bin each


def test_equal_scores_are_in_one_bin_whatever_the_order_of_rows():
    score, event = np.repeat([0.2, 0.6], [30, 70]), np.tile([1, 0, 0, 0, 0], 20).astype(bool)
    rank, code = np.repeat([0, 1], [30, 70]), np.zeros(100, dtype=int)
    orders = [np.arange(100), np.argsort(event), np.argsort(~event), np.random.default_rng(0).permutation(100)]
    found = [calibration_error(rank[o], score[o], event[o], code, 1)[0] for o in orders]
    assert found == pytest.approx([0.7 * 0.4] * 4)


def test_a_probability_of_none_is_a_large_loss_and_no_infinite_one():
    rows = Outcomes(np.array([1]), np.array([0]), 1, score=np.array([0.0]))
    assert value("log_loss", rows, [0])[0] == pytest.approx(-np.log(np.finfo(float).eps))


def test_two_classes_and_their_positive_one_have_the_same_losses():
    rows, group = binary(3)
    both = Outcomes(rows.label, rows.prediction, None, probability=np.stack([1 - rows.score, rows.score], axis=1))
    for name in ("brier", "log_loss"):
        assert value(name, both, group) == pytest.approx(value(name, rows, group), nan_ok=True)
