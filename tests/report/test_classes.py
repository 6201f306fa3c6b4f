import numpy as np
import pytest
from scipy.stats import binomtest

from drurank.report.classes import ClassCounts


def test_balanced_accuracy_is_the_mean_recall_of_the_classes_that_have_rows():
    label = np.array([0, 0, 0, 0, 2, 2])
    right = np.array([True, True, True, False, True, False])
    counts = ClassCounts.of_rows(label, right, ["no", "maybe", "yes"], commonest=1)
    assert counts.balanced_accuracy == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert dict(zip(counts.names, counts.count, strict=True)) == {"no": 4, "maybe": 0, "yes": 2}


@pytest.mark.parametrize(
    ("commonest", "label", "commonest_in", "value"),
    [(None, "a", "split", 4 / 6), (0, "a", "training", 4 / 6), (2, "c", "training", 2 / 6), (1, "b", "training", 0.0)],
)
def test_constant_answer_is_the_commonest_class_of_training_or_else_of_the_split(commonest, label, commonest_in, value):
    counts = ClassCounts.of_rows(np.array([0, 0, 0, 0, 2, 2]), np.ones(6, dtype=bool), ["a", "b", "c"], commonest)
    answer = counts.constant_answer()
    assert (answer["label"], answer["commonest_in"], answer["value"]) == (label, commonest_in, pytest.approx(value))


@pytest.mark.parametrize(("commonest", "here"), [(0, ("c", 7 / 10)), (2, None), (None, None)])
def test_commonest_class_of_the_split_is_tested_too_where_training_has_another(commonest, here):
    label, right = np.repeat([0, 2], [3, 7]), np.array([1, 0, 0] + [1] * 4 + [0] * 3) == 1
    answer = ClassCounts.of_rows(label, right, ["a", "b", "c"], commonest).constant_answer()["here"]
    assert (answer and (answer["label"], answer["value"])) == here
    if here:
        assert answer["difference"] == pytest.approx(5 / 10 - 7 / 10)
        assert answer["p_value"] == pytest.approx(binomtest(1, 4, alternative="greater").pvalue)


@pytest.mark.parametrize("right", [(830, 22), (840, 0), (800, 60), (840, 10), (700, 160), (840, 160), (0, 160)])
def test_p_value_is_that_of_mcnemars_exact_test(right):
    # 1,000 rows, 840 of class 1 and 160 of class 0: the answer is wrong on the latter alone.
    of_1, of_0 = right
    label = np.repeat([1, 0], [840, 160])
    correct = np.concatenate([np.arange(840) < of_1, np.arange(160) < of_0])
    lost = 840 - of_1
    want = binomtest(of_0, of_0 + lost, alternative="greater").pvalue if of_0 + lost else 1.0
    answer = ClassCounts.of_rows(label, correct, commonest=1).constant_answer()
    assert answer["p_value"] == pytest.approx(want, rel=1e-9)
    assert answer["difference"] == pytest.approx((of_1 + of_0) / 1000 - 0.84, abs=1e-12)
    assert answer["label"] == "1"


def test_model_as_good_as_the_answer_is_taken_for_better_in_at_most_one_case_of_twenty():
    # It gets as many of the rare class as it loses of the common one, in expectation.
    rng = np.random.default_rng(0)
    label = np.repeat([1, 0], [840, 160])
    chance = np.where(label == 1, 1 - 30 / 840, 30 / 160)
    found = [ClassCounts.of_rows(label, rng.random(1000) < chance).constant_answer()["p_value"] for _ in range(2000)]
    assert 0.01 < np.mean(np.array(found) < 0.05) < 0.06
