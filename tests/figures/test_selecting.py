"""Criteria of other figures than accuracy, by name and by value."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from drurank.criteria import criterion
from drurank.criterion_keys import criterion_of_key, logged_criterion
from drurank.errors import InputError
from drurank.figures import Outcomes
from drurank.figures.selecting import find_selectable, selectable_criterion

# Three groups; false positive rates 1/2, 0/2 and, of one negative row, 1/1; true positive rates 1/1, 1/2, none.
LABEL = np.array([0, 0, 1, 0, 0, 1, 1, 0])
SAID = np.array([1, 0, 1, 0, 0, 1, 0, 1])
GROUP = np.array([0, 0, 0, 1, 1, 1, 1, 2])
SCORE = np.array([0.8, 0.3, 0.9, 0.2, 0.4, 0.7, 0.3, 0.6])
ROWS = Outcomes(LABEL, SAID, 1, np.array([0.0, 1.0]), 2, SCORE, np.stack([1 - SCORE, SCORE], axis=1))


@pytest.mark.parametrize(
    ("name", "value", "mode"),
    [
        ("worst-fpr", 1.0, "min"),
        ("average-fpr", 0.5, "min"),
        ("overall-fpr", 2 / 5, "min"),
        ("p10-fpr", np.percentile([0.5, 0, 1], 90), "min"),
        ("worst-tpr", 0.5, "max"),
        ("worst-fnr", 0.5, "min"),
        ("gap-fpr", 1.0, "min"),
        ("gap-tpr", 0.5, "min"),
        ("ratio-tpr", 0.5, "max"),
        ("ratio-fpr", 0.0, "max"),
        # A third of the groups each: the worst tenth is the first error alone, by two discounts of 11.
        ("gdcg10-fpr", 1.0, "min"),
        ("gdcg50-fpr", 1 + 0.5 / np.log2(3), "min"),
        ("worst-error", 1.0, "min"),
        ("worst-mae", 1.0, "min"),
        ("average-mae", (1 / 3 + 1 / 4 + 1) / 3, "min"),
        ("worst-auroc", roc_auc_score(LABEL[3:7], SCORE[3:7]), "max"),
        ("overall-auroc", roc_auc_score(LABEL, SCORE), "max"),
        ("worst-brier", max(np.mean((SCORE - LABEL)[g == GROUP] ** 2) for g in range(3)), "min"),
    ],
)
def test_value_is_that_of_the_groups_that_have_one(name, value, mode):
    found = selectable_criterion(name)
    assert found.name == name
    assert found.mode == mode
    assert found.of_rows(ROWS, GROUP, 4) == pytest.approx(value)  # the fourth group has no rows


def test_small_groups_are_left_out():
    # Of the rows that the rate is about: one negative row is not two.
    assert selectable_criterion("worst-fpr").of_rows(ROWS, GROUP, 3, min_count=2) == pytest.approx(0.5)
    assert np.isnan(selectable_criterion("worst-fpr").of_rows(ROWS, GROUP, 3, min_count=3))
    assert selectable_criterion("worst-brier").of_rows(ROWS, GROUP, 3, min_count=4) == pytest.approx(
        np.mean((SCORE - LABEL)[GROUP == 1] ** 2)
    )


def test_a_shrunk_share_lies_between_the_groups_and_all_of_them():
    rng = np.random.default_rng(0)
    label, group = np.zeros(600, np.int64), np.repeat(np.arange(60), 10)
    said = (rng.random(600) < np.where(group < 6, 0.9, 0.1)).astype(np.int64)
    rows = Outcomes(label, said, 1)
    worst = selectable_criterion("worst-fpr")
    assert said.mean() < worst.of_rows(rows, group, 60, shrink=True) < worst.of_rows(rows, group, 60)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("worst-fprr", "no figure 'fprr': did you mean 'fpr'"),
        ("worst-accuracy", "no figure 'accuracy'"),
        ("worsst-fpr", "no criterion 'worsst': did you mean 'worst'"),
        ("tstat-fpr", "tstat has no meaning for that figure; give one of overall-fpr"),
        ("qdcg10-mae", "qdcg10 has no meaning"),
        ("worst-fpr-tpr", "no figure 'fpr-tpr'"),
        ("-fpr", "no criterion ''"),
    ],
)
def test_what_is_none_is_refused(name, said):
    assert find_selectable(name) is None
    with pytest.raises(InputError, match=said):
        selectable_criterion(name)


def test_where_accuracy_alone_is_known_no_other_is_taken():
    with pytest.raises(InputError, match="'worst-fpr' is of fpr, and here only those of accuracy are taken"):
        criterion("worst-fpr")


@pytest.mark.parametrize("key", ["val_worst-fpr", "id_val_worst-fpr"])
def test_keys_are_ours_by_exact_name(key):
    assert criterion_of_key(key).name == logged_criterion(key).name == "worst-fpr"


@pytest.mark.parametrize("key", ["val_average_precision", "val_worst_fpr", "val_fpr", "val_worst-fprs", "worst-fpr"])
def test_keys_of_other_people_are_theirs(key):
    assert logged_criterion(key) is None


def test_a_test_key_is_not_monitored():
    with pytest.raises(InputError, match="monitor 'val_worst-fpr'"):
        criterion_of_key("test_worst-fpr")
