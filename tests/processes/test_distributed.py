"""One, two and three processes with the same global batches: the same run; see many_processes.py."""

import os
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest
import torch

import drurank.methods
import many_images
import many_methods
import many_processes
import many_resume
import many_texts
from drurank.data.orders import Draw
from many_command_line import EPOCHS, ROWS
from many_data import APART, GLOBAL_BATCH, ODD, ONE, SEVEN, TWO, Deeper, memberships
from reference import accuracies, criteria, discounts, ranks, spread
from runs import assert_same_logged, assert_same_run, read_csv, read_json, same
from warm import Program, free_port, wait_for_all

LIMIT = 220
PROCESSES = (2, 3)


class Seen:
    """What each process saw, and the folder they worked in."""

    def __init__(self, by_rank, folder):
        self.by_rank, self.folder = by_rank, folder

    def of(self, *keys):
        for found in self.by_rank:
            for key in keys:
                found = found[key]
            yield found


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """One process."""
    folder = tmp_path_factory.mktemp("one")
    os.environ.pop("PL_GLOBAL_SEED", None)
    return Seen([many_processes.everything(1, folder)], folder)


@pytest.fixture(scope="module", params=PROCESSES)
def many(request, tmp_path_factory):
    """Several, each with its share of the batches of one."""
    folder = tmp_path_factory.mktemp(f"of_{request.param}")
    environment = {name: value for name, value in os.environ.items() if name != "PL_GLOBAL_SEED"}
    environment["MASTER_PORT"] = free_port()
    words = [many_processes.__file__, folder, request.param]
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                Program(words, folder / f"log_{rank}", folder, {**environment, "LOCAL_RANK": str(rank)})
            )
            for rank in range(request.param)
        ]
        codes = wait_for_all(started, LIMIT)
    assert set(codes) == {0}, f"{codes}: " + "\n".join(log.read_text()[-4000:] for log in folder.glob("log_*"))
    found = [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(request.param)]
    return Seen(found, folder)


@pytest.fixture
def every(alone, many):
    """What each process of one and of several saw under these keys."""
    return lambda *keys: [*alone.of(*keys), *many.of(*keys)]


# ---- every method, every sampler


def test_every_method_and_sampler_is_among_those_run():
    offered = set(drurank.methods.__all__) - {"GroupModule"}
    assert {name.split()[0] for name in many_methods.METHODS} == offered | {"Tilted"}
    assert set(many_methods.SAMPLERS) == set(get_args(Draw))
    for devices in (1, *PROCESSES):
        run = set(many_methods.cases(devices))
        assert {name for name, _ in run} == set(many_methods.METHODS)
        assert {sampler for _, sampler in run} == set(many_methods.SAMPLERS)
    assert {case for devices in PROCESSES for case in many_methods.cases(devices)} == set(many_methods.cases(1))


def test_each_global_batch_is_that_of_one_process(alone, many):
    cut = 0
    for case in many.by_rank[0]["methods"]:
        (epochs,) = alone.of("methods", case, "drawn")
        for epoch, batches in enumerate(epochs):
            for place, batch in enumerate(batches):
                shares = [drawn[epoch][place] for drawn in many.of("methods", case, "drawn")]
                assert sorted(chain(*shares)) == sorted(batch), case
                cut += [] in shares
    assert cut > 10, "the single row of the last batch leaves a process without any"


def test_parameters_are_those_of_one_process(alone, many):
    first = Deeper().state_dict()
    for case in many.by_rank[0]["methods"]:
        (should,) = alone.of("methods", case)
        assert (should["parameters"]["head.weight"] - first["head.weight"]).abs().max() > 1e-3, case
        for seen in many.of("methods", case, "parameters"):
            for name, value in should["parameters"].items():
                assert (seen[name] - value).abs().max() <= 1e-5, (case, name)


def test_ranks_weights_errors_and_criteria_are_to_the_bit_those_of_one_process(alone, many):
    """After the first epoch, in which the network stays as it is, and in the two after it, as far as known."""
    raised = set()
    for case in many.by_rank[0]["methods"]:
        (should,) = alone.of("methods", case)
        raised |= {case[0]} if should["weights"][1].max() > 1 else set()
        for seen in many.of("methods", case):
            for name in ("weights", "known"):
                assert len(should[name]) > 1, name
                assert same(seen[name], should[name]), (case, name)
            assert len(should["criteria"]) > 1
            assert_same_logged(seen["criteria"], should["criteria"])
            torch.testing.assert_close(seen["rank"], should["rank"], rtol=0, atol=0, equal_nan=True)
    assert raised == {"DRU", "DRU of training", "Worst", "Const", "JTT"}


def test_state_of_a_method_is_that_of_every_process(alone, many):
    compared = set()
    for case in many.by_rank[0]["methods"]:
        (should,) = alone.of("methods", case, "state")
        first, *others = many.of("methods", case, "state")
        for name, value in should.items():
            compared.add(name)
            torch.testing.assert_close(first[name], value, rtol=0, atol=1e-6, equal_nan=True)
            for other in others:
                torch.testing.assert_close(other[name], first[name], rtol=0, atol=0, equal_nan=True)
    assert {"log_q", "running", "second_stage", "refitted"} <= compared


@pytest.mark.parametrize("method", ["DRU", "DRU of training", "Worst"])
def test_rows_of_groups_that_overlap_count_once_in_each_of_theirs(every, method):
    member = np.zeros((len(many_methods.GROUP), 7), bool)
    of = memberships(many_methods.GROUP)
    member[of.row, of.group] = True
    assert sorted(set(member.sum(axis=1))) == [0, 1, 2]
    first, *others = every("methods", (method, many_methods.OVERLAPPING))
    for seen in (first, *others):
        assert seen["known"]["count"].tolist() == member.sum(axis=0).tolist()
        assert seen["tested"] == pytest.approx(first["tested"], rel=1e-6)
    right = first["known"]["correct"].numpy() == 1
    accuracy = right.astype(int) @ member / member.sum(axis=0)
    by_group = {
        "DRU": discounts(ranks(accuracy), 100),
        "DRU of training": discounts(ranks(accuracy, "index", "average"), 2),
        "Worst": np.where(accuracy == accuracy.min(), 4, 1),
    }[method]
    largest = np.where(member, by_group, 1).max(axis=1)
    takes = np.ones(len(right)) if method == "DRU of training" else ~right
    weight = np.where(takes, largest, 1)
    weight = weight / weight.mean() if method == "DRU of training" else weight
    np.testing.assert_allclose(first["weights"][-1], weight, rtol=1e-6)


@pytest.mark.parametrize("many", [2], indirect=True)
@pytest.mark.parametrize("sampler", ["balanced", "groups_per_batch"])
def test_row_drawn_again_counts_once_in_its_group(many, sampler):
    runs = list(many.of("methods", ("DRU of training", sampler)))
    drawn = [row for seen in runs for epoch in seen["drawn"] for batch in epoch for row in batch]
    known = np.unique(drawn)
    assert len(drawn) > many_methods.EPOCHS * len(known)
    for seen in runs:
        count = np.bincount(np.array(many_methods.GROUP)[known], minlength=7)
        assert seen["known"]["count"].tolist() == count.tolist()


@pytest.mark.parametrize("bar", ["RichProgressBar", "TQDMProgressBar"])
def test_a_progress_bar_changes_nothing(alone, many, bar):
    (should,) = alone.of("bar", bar)
    right = np.array(ODD[0])
    losses = np.log(1 + np.exp(np.where(right, -1, 1)))  # logits (1, 0) and (0, 1), label 0
    assert should["train_loss"] == pytest.approx(losses.mean(), rel=1e-6)
    for seen in many.of("bar", bar):
        assert seen == pytest.approx(should, rel=1e-6)


def test_objective_over_the_rows_of_one_process_is_refused(alone, many):
    assert list(alone.of("own mean")) == ["went on"]  # where there is one process they are all rows
    for said in many.of("own mean"):
        assert said.startswith("OwnMean.reduce looks at this process's rows only")
        assert "batch['share']" in said
        assert "gather_losses" in said


# ---- the command line


def test_batches_of_the_command_line_are_those_of_one_process(alone, many):
    (epochs,) = alone.of("command line", "drawn")
    assert [len(epoch) for epoch in epochs] == [-(-ROWS // GLOBAL_BATCH)] * EPOCHS
    for epoch, batches in enumerate(epochs):
        shares = [drawn[epoch] for drawn in many.of("command line", "drawn")]
        for batch, *cut in zip(batches, *shares, strict=True):
            assert sorted(chain(*cut)) == sorted(batch)
        assert sorted(len(share[-1]) for share in shares) == [0] * (len(shares) - 1) + [1]
        assert sorted(row for batch in batches for row in batch) == list(range(ROWS))


def test_parameters_of_the_command_line_agree_with_one_process(many, alone):
    states = [
        torch.load(seen.folder / "version_0/checkpoints/last.ckpt", weights_only=True)["state_dict"]
        for seen in (many, alone)
    ]
    for name, value in states[1].items():
        torch.testing.assert_close(states[0][name], value, rtol=0, atol=1e-5)


def test_weights_criteria_and_best_checkpoints_are_those_of_every_process(alone, many):
    (should,) = alone.of("command line")
    assert len(should["weights"]) == EPOCHS + 1
    assert should["weights"][1].max() > 1
    assert len(should["criteria"]) == EPOCHS
    names = [[Path(path).name for path in epoch] for epoch in should["best"]]
    first = many.by_rank[0]["command line"]
    for seen in many.of("command line"):
        assert same(seen["weights"], should["weights"])
        assert_same_logged(seen["criteria"], should["criteria"])
        assert seen["best"] == first["best"]
        assert [[Path(path).name for path in epoch] for epoch in seen["best"]] == names


def test_files_are_those_of_one_process(many, alone):
    for name in ("weights.csv", "test/worst/groups.csv", "selection.json"):
        read = read_csv if name.endswith("csv") else read_json
        assert read(many.folder / "version_0" / name) == read(alone.folder / "version_0" / name)
    reports = [read_json(seen.folder / "version_0/test/qdcg10/report.json")["splits"] for seen in (many, alone)]
    assert reports[0] == reports[1]
    assert reports[0]["ood_test"]["rows"] == 15
    assert reports[0]["ood_test"]["balanced_accuracy"] is not None
    assert len(list(many.folder.glob("version_*"))) == len(list(alone.folder.glob("version_*"))) == 2


def test_predictions_are_those_of_one_process_each_row_once(many, alone):
    (ours,), (theirs,) = (list(seen.folder.rglob("predictions.parquet")) for seen in (many, alone))
    key = [("split", "ascending"), ("row", "ascending")]
    ours, theirs = (pa_parquet.read_table(file).sort_by(key).to_pydict() for file in (ours, theirs))
    assert len(ours["row"]) == 25 + 25 + 15
    np.testing.assert_allclose(ours.pop("probabilities"), theirs.pop("probabilities"), atol=1e-5)
    assert ours == theirs


# ---- cases of rows


def weight_of(part):
    correct, group = (np.array(values) for values in part)
    by_group = discounts(ranks(accuracies(correct, group, group.max() + 1)), 100)
    return spread(by_group, correct, group, "misclassified")


def values_of(part):
    correct, group = (np.array(values) for values in part)
    count = np.bincount(group)
    return criteria([correct[group == g].sum() for g in range(len(count))], count)


@pytest.mark.parametrize(
    ("case", "train", "val", "test"),
    [
        ("evaluation", ODD, SEVEN, ODD),
        ("training", ODD, ONE, ODD),
        ("groups apart", APART, APART, APART),
        ("two rows", TWO, ONE, TWO),
    ],
)
def test_accuracies_weights_and_criteria_do_not_depend_on_the_number_of_processes(every, case, train, val, test):
    correct, group = (np.array(values) for values in train)
    for seen in every("rows", case):
        np.testing.assert_allclose(seen["accuracy"], accuracies(correct, group, group.max() + 1), atol=1e-12)
        assert seen["count"].tolist() == np.bincount(group).tolist()
        assert seen["weights"][0].tolist() == [1] * len(group)
        for weight in seen["weights"][1:]:
            np.testing.assert_allclose(weight, weight_of(train), rtol=1e-6)
        for name, value in values_of(test).items():
            assert seen["tested"][f"test_{name}"] == pytest.approx(value, rel=1e-6, abs=1e-6), name
        for name, value in values_of(val).items():
            assert seen["logged"][f"val_{name}"] == pytest.approx(value, rel=1e-6, abs=1e-6), name


def test_odd_validation_row_is_counted_once(every):
    for logged in every("rows", "evaluation", "logged"):
        assert [logged[f"val_{name}"] for name in ("worst", "average", "overall")] == pytest.approx([0.5, 0.75, 6 / 7])


@pytest.mark.parametrize("case", ["one row", "one row of training"])
def test_processes_without_any_row_do_not_hang_or_differ(every, case):
    for seen in every("rows", case):
        assert seen["correct"].tolist() == [1]
        assert [weight.tolist() for weight in seen["weights"]] == [[1]] * 3
        assert seen["logged"]["val_worst"] == seen["tested"]["test_worst"] == 1


def test_training_of_one_batch_knows_the_rows_of_that_batch(alone, every):
    (epochs,) = alone.of("rows", "limited", "drawn")
    drawn = [row for epoch in epochs for batch in epoch for row in batch]
    should = np.full(len(ODD[0]), -1)
    should[drawn] = np.array(ODD[0])[drawn]
    for correct in every("rows", "limited", "correct"):
        assert correct.tolist() == should.tolist()


@pytest.mark.parametrize("accuracy_from", ["evaluation", "training"])
@pytest.mark.parametrize("draw", ["in order", "backwards"])
def test_predictions_of_own_loaders_land_on_their_rows(every, accuracy_from, draw):
    for seen in every("own loaders", (accuracy_from, draw)):
        assert seen["correct"].tolist() == ODD[0]
        np.testing.assert_allclose(seen["weight"], weight_of(ODD), rtol=1e-6)
        assert seen["logged"]["val_worst"] == pytest.approx(0.5), "padding counts once"
        assert seen["logged"]["val_average"] == pytest.approx(0.75)


def test_every_process_stops_when_one_has_a_loss_that_is_nan(every):
    for said in every("nan"):
        assert "nan or inf in epoch 0" in said


# ---- going on


@pytest.mark.parametrize("many", [2], indirect=True)
@pytest.mark.parametrize(
    ("name", "stop"), [(name, stop) for name, (_, stops) in many_resume.METHODS.items() for stop in stops]
)
def test_resumed_run_of_two_processes_is_to_the_bit_the_one_that_was_not_stopped(many, name, stop):
    for straight, resumed in many.of("resumed", name):
        assert straight["epochs"] == many_resume.EPOCHS + 1
        assert resumed[stop].pop("epochs") == many_resume.EPOCHS + 1 - stop
        for key, value in resumed[stop].items():
            assert same(value, straight[key]), key


@pytest.mark.parametrize("many", [2], indirect=True)
def test_command_line_goes_on_in_two_processes_as_if_it_had_not_stopped(many):
    assert_same_run(many.folder / "stopped/version_0", many.folder / "version_0")


# ---- texts, whose batches hold alike lengths


def test_batches_of_texts_are_those_of_one_process(alone, many):
    (epochs,) = alone.of("texts", "drawn")
    assert sorted(chain(*epochs[0])) == list(range(many_texts.TRAIN))
    for epoch, batches in enumerate(epochs):
        for place, batch in enumerate(batches):
            shares = [drawn[epoch][place] for drawn in many.of("texts", "drawn")]
            assert sorted(chain(*shares)) == sorted(batch)


def test_fine_tuning_in_several_processes_is_that_of_one(alone, many):
    (should,) = alone.of("texts")
    for seen in many.of("texts"):
        for name, value in should["parameters"].items():
            assert (seen["parameters"][name] - value).abs().max() <= 1e-5, name
        assert same(seen["weights"][1], should["weights"][1])
        assert same(seen["weights"], next(many.of("texts", "weights")))
        assert same(seen["criteria"], next(many.of("texts", "criteria")))


def test_of_several_processes_one_cuts_texts_into_tokens(many):
    assert sorted(many.of("texts", "cut")) == [0] * (len(many.by_rank) - 1) + [many_texts.TRAIN + 25]


# ---- pictures, of which one process fills the cache


def test_batches_of_pictures_are_those_of_one_process(alone, many):
    (epochs,) = alone.of("images", "drawn")
    for epoch, batches in enumerate(epochs):
        assert sorted(chain(*batches)) == list(range(many_images.TRAIN))
        for place, batch in enumerate(batches):
            shares = [drawn[epoch][place] for drawn in many.of("images", "drawn")]
            assert sorted(chain(*shares)) == sorted(batch)


def test_training_on_changed_pictures_in_several_processes_is_that_of_one(alone, many):
    (should,) = alone.of("images")
    for seen in many.of("images"):
        for name, value in should["parameters"].items():
            assert (seen["parameters"][name] - value).abs().max() <= 1e-5, name
        assert same(seen["weights"], should["weights"])
        assert_same_logged(seen["criteria"], should["criteria"])
    assert should["weights"][1].max() > 1


def test_of_several_processes_one_decodes_pictures(many):
    assert sorted(many.of("images", "decoded")) == [0] * (len(many.by_rank) - 1) + [many_images.TRAIN + 25]
