import math

import numpy as np
import pytest
import torch

from drurank.errors import InputError
from drurank.training.record import EpochRecord

NAN = math.nan
GROUP = torch.tensor([0, 0, 1, 1, 2, -1])  # group 3 has no row; row 5 has no group


def write(record, rows, correct):
    rows = torch.tensor(rows)
    record.write(rows, torch.tensor(correct).bool())


def known(rows=(0, 1, 2, 3, 4, 5), correct=(1, 0, 0, 0, 1, 0)):
    record = EpochRecord(GROUP, 4)
    write(record, list(rows), list(correct))
    record.commit()
    return record


def assert_accuracy(record, accuracy, count):
    got, seen = record.group_accuracy()
    torch.testing.assert_close(got, torch.tensor(accuracy, dtype=torch.float64), equal_nan=True)
    assert seen.tolist() == count


def test_what_is_written_counts_only_after_commit():
    record = EpochRecord(GROUP, 4)
    write(record, [0, 1, 4], [1, 0, 1])
    assert_accuracy(record, [NAN] * 4, [0, 0, 0, 0])
    assert record.commit() is True
    assert_accuracy(record, [0.5, NAN, 1, NAN], [2, 0, 1, 0])
    assert record.correct.tolist() == [1, 0, -1, -1, 1, -1]


def largest(scores, label):
    return scores.argmax(dim=1) == label


def test_scores_that_wait_are_judged_in_their_order_and_as_they_were():
    record = EpochRecord(GROUP, 4)
    write(record, [5], [1])
    rows, scores, label = torch.tensor([0, 1]), torch.tensor([[2.0, 1], [0, 3]]), torch.tensor([0, 0])
    record.write_later(rows, scores, label, largest)
    for used_again in (rows, scores, label):
        used_again.zero_()
    record.write_later(torch.tensor([1, 2]), torch.tensor([[0.0, 0, 4], [0, 1, 0]]), torch.tensor([2, 0]), largest)
    assert record.state_dict()["fresh"].tolist() == [1, 1, 0, -1, -1, 1]
    record.write_later(torch.tensor([2]), torch.tensor([[1.0, 0, 0]]), torch.tensor([0]), largest)
    write(record, [2], [0])  # the last one counts
    record.commit()
    assert record.correct.tolist() == [1, 1, 0, -1, -1, 1]


def test_scores_that_wait_are_forgotten_with_what_was_written():
    record = known()
    record.write_later(torch.tensor([1]), torch.tensor([[2.0, 1]]), torch.tensor([0]), largest)
    record.forget_fresh()
    assert record.commit() is False


def test_group_never_drawn_has_no_accuracy_and_row_without_group_counts_nowhere():
    assert_accuracy(known(), [0.5, 0, 1, NAN], [2, 2, 1, 0])


def test_rows_not_drawn_keep_what_was_known():
    record = known()
    write(record, [1, 2], [1, 1])
    assert record.commit() is True
    assert record.correct.tolist() == [1, 1, 1, 0, 1, 0]
    assert_accuracy(record, [1, 0.5, 1, NAN], [2, 2, 1, 0])


def test_commit_without_new_predictions_changes_nothing():
    record = known()
    assert record.commit() is False
    assert record.correct.tolist() == [1, 0, 0, 0, 1, 0]


def test_committed_predictions_are_not_used_again():
    record = known()
    write(record, [0], [0])
    record.commit()
    write(record, [1], [1])
    assert record.commit(whole=True) is False  # only row 1 is new
    assert record.correct.tolist() == [0, 0, 0, 0, 1, 0]


def test_row_drawn_twice_counts_once_with_its_last_prediction():
    record = EpochRecord(GROUP, 4)
    write(record, [0, 1], [1, 1])
    write(record, [1], [0])
    record.commit()
    assert_accuracy(record, [0.5, NAN, NAN, NAN], [2, 0, 0, 0])


def test_partial_pass_leaves_the_record_in_force_when_the_whole_is_wanted():
    record = known()
    write(record, [0, 1, 2, 3, 4], [0, 0, 1, 1, 0])
    assert record.commit(whole=True) is False
    assert record.correct.tolist() == [1, 0, 0, 0, 1, 0]
    write(record, [5], [1])  # the five rows above are forgotten
    assert record.commit(whole=True) is False
    write(record, [3, 1, 5], [1, 1, 0])
    write(record, [0, 2, 4], [0, 1, 0])
    assert record.commit(whole=True) is True
    assert record.correct.tolist() == [0, 1, 1, 1, 0, 0]


def test_forgotten_predictions_are_never_committed():
    record = known()
    write(record, [0], [0])
    record.forget_fresh()
    assert record.commit() is False
    assert record.correct[0] == 1


@pytest.mark.parametrize(
    ("only_wrong", "want"), [(False, [2, 2, 3, 3, 5, 1, 2]), (True, [1, 2, 3, 3, 1, 1, 1])], ids=["all", "wrong"]
)
def test_samples_get_the_value_of_their_group(only_wrong, want):
    record = EpochRecord(torch.cat([GROUP, torch.tensor([0])]), 4)  # row 6 is never seen, row 5 has no group
    record.write(torch.arange(6), torch.tensor([1, 0, 0, 0, 1, 0]).bool())
    record.commit()
    got = record.to_samples(torch.tensor([2.0, 3, 5, 7], dtype=torch.float64), only_wrong=only_wrong)
    assert got.dtype == torch.float32
    assert got.tolist() == want


def test_samples_of_a_batch_of_group_values_equal_each_row():
    value = torch.tensor([[2.0, 3, 5, 7], [4.0, 6, 8, 9]])
    assert known().to_samples(value, only_wrong=False).tolist() == [[2, 2, 3, 3, 5, 1], [4, 4, 6, 6, 8, 1]]


def test_samples_of_a_group_of_which_none_was_seen_get_the_default():
    record = EpochRecord(GROUP, 4)
    record.correct = torch.tensor([[-1, -1, 0, -1, 1, 0], [1, -1, -1, -1, 1, -1]], dtype=torch.int8)
    got = record.to_samples(torch.tensor([[NAN, 3, 5, NAN], [2, NAN, 6, NAN]]), only_wrong=False)
    assert got.tolist() == [[1, 1, 3, 3, 5, 1], [2, 2, 1, 1, 6, 1]]


def test_row_seen_but_not_committed_gets_the_default():
    record = EpochRecord(GROUP, 4)
    write(record, [0], [0])
    assert record.to_samples(torch.tensor([2.0, 3, 5, 7]), only_wrong=False).tolist() == [1] * 6


def test_group_mean_is_that_of_numpy_by_group_and_row():
    value = np.random.default_rng(0).random((2, 3, 6))
    got = known().group_mean(torch.from_numpy(value))
    assert got.shape == (2, 3, 4)
    for g in range(3):
        np.testing.assert_allclose(got[..., g], value[..., GROUP.numpy() == g].mean(axis=-1), rtol=1e-12)
    assert got[..., 3].isnan().all()


def test_group_mean_of_single_precision_is_taken_in_double():
    record = EpochRecord(torch.zeros(3, dtype=torch.int64), 1)
    record.write(torch.arange(3), torch.ones(3).bool())
    assert record.group_mean(torch.tensor([2.0**24, 1.0, 1.0])).item() == (2**24 + 2) / 3


def test_state_survives_a_safe_file(tmp_path):
    record = known(rows=[0, 1, 4], correct=[1, 0, 1])
    write(record, [2, 3], [1, 1])  # not committed yet
    torch.save(record.state_dict(), tmp_path / "record.pt")
    other = EpochRecord(GROUP, 4)
    other.load_state_dict(torch.load(tmp_path / "record.pt", weights_only=True))
    assert_accuracy(other, [0.5, NAN, 1, NAN], [2, 0, 1, 0])
    assert other.commit() is True
    assert_accuracy(other, [0.5, 1, 1, NAN], [2, 2, 1, 0])


def test_state_changes_neither_with_the_record_it_was_taken_from_nor_with_one_that_loaded_it():
    first, second = known(), EpochRecord(GROUP, 4)
    state = first.state_dict()
    write(first, [0], [0])
    assert state["fresh"].tolist() == [-1] * 6
    second.load_state_dict(state)
    write(second, [1], [1])
    assert state["fresh"].tolist() == [-1] * 6


def test_bookkeeping_takes_at_most_six_bytes_a_sample():
    record = EpochRecord(torch.zeros(1000, dtype=torch.int64), 10)
    for _ in range(2):
        record.write(torch.arange(1000), torch.ones(1000).bool())
        record.commit()
    tables = [value for value in vars(record).values() if isinstance(value, torch.Tensor)]
    assert sum(table.numel() * table.element_size() for table in tables) <= 6 * 1000


def test_state_of_another_number_of_samples_is_refused():
    with pytest.raises(InputError, match="the saved record has 6 samples and the training set 1"):
        EpochRecord(torch.tensor([0]), 1).load_state_dict(known().state_dict())
