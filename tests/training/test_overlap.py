"""Rows in several groups or none: accuracies over all rows of a group, and the largest of its groups' weights."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from lightning.pytorch import Callback, Trainer, seed_everything
from torch.utils.data import DataLoader

from drurank.callbacks import GroupReport, PredictionWriter
from drurank.callbacks.validation import ValidationCounts
from drurank.data import GroupedDataset, Memberships, Table, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DFR, DRU, ERM, IRM, JTT, Const, CVaR, GroupDRO, Worst
from drurank.networks import MLP
from drurank.report import report_predictions
from drurank.run_folder.group_counts import read_counts
from drurank.tabular.inspection import inspect_rows
from drurank.training.record import EpochRecord
from fits import own_network, own_rows, plain_sgd
from reference import criteria, discounts, ranks
from runs import plain, read_csv, read_json, same

NAMES = ["a", "b", "c"]
OF = [[], [0], [0, 1], [0, 1, 2], [2], [1], [1, 2], []]
"""Groups of eight rows."""
ROW, GROUP = (torch.tensor(of) for of in zip(*((i, g) for i, of in enumerate(OF) for g in of), strict=True))
EPOCHS = [
    # right or wrong; accuracies of a, b and c; of their ranks the weights with C = 2; all weights
    ([0, 1, 0, 0, 0, 1, 1, 1], [1 / 3, 1 / 2, 1 / 3], [2, 1, 2], [1, 2, 2, 2, 2, 1, 2, 1]),
    ([0, 1, 1, 0, 0, 0, 1, 1], [2 / 3, 1 / 2, 1 / 3], [1, 2 / math.log2(3), 2], None),
    ([1, 0, 1, 1, 1, 0, 0, 0], [2 / 3, 1 / 2, 2 / 3], [2 / math.log2(3), 2, 2 / math.log2(3)], None),
]


def record_of_eight():
    return EpochRecord(Memberships.of(ROW, GROUP, 8), 3)


def test_weights_of_a_small_case_over_several_epochs():
    record = record_of_eight()
    dru = {upweight: DRU(rank_by="index", cutoff=2, upweight=upweight) for upweight in ("all", "misclassified")}
    for right, accuracy, of_group, by_hand in EPOCHS:
        record.write(torch.arange(8), torch.tensor(right).bool())
        record.commit(whole=True)
        torch.testing.assert_close(record.group_accuracy()[0], torch.tensor(accuracy, dtype=torch.float64))
        assert record.group_accuracy()[1].tolist() == [3, 4, 3]
        largest = np.array([max((of_group[g] for g in of), default=1) for of in OF])
        assert by_hand is None or by_hand == largest.tolist()
        np.testing.assert_allclose(dru["all"].reweight(record), largest, rtol=1e-6)
        np.testing.assert_allclose(dru["misclassified"].reweight(record), np.where(right, 1, largest), rtol=1e-6)
        # A row of no group counts in none, whether right or wrong, and has the lowest weight.
        assert dru["all"].reweight(record)[[0, 7]].tolist() == [1, 1]


def test_weights_are_scaled_to_mean_1_over_all_rows():
    record = record_of_eight()
    record.write(torch.arange(8), torch.tensor(EPOCHS[0][0]).bool())
    record.commit()
    weight = DRU(rank_by="index", cutoff=2, upweight="all", normalize_weights=True).reweight(record)
    np.testing.assert_allclose(weight, np.array(EPOCHS[0][3]) * 8 / 13, rtol=1e-6)


def test_worst_weighs_the_rows_of_the_worst_groups():
    record = record_of_eight()
    record.write(torch.arange(8), torch.tensor(EPOCHS[1][0]).bool())
    record.commit()
    assert Worst(3, upweight="all").reweight(record).tolist() == [1, 1, 1, 3, 3, 1, 3, 1]
    assert Worst(3).reweight(record).tolist() == [1, 1, 1, 3, 3, 1, 1, 1]
    # Of two groups the larger weight counts, also where that is not the worst's.
    assert Worst(0.5, upweight="all").reweight(record).tolist() == [1, 1, 1, 1, 0.5, 1, 1, 1]


def test_a_group_of_which_no_row_was_seen_has_no_rank():
    record = record_of_eight()
    record.write(torch.tensor([0, 1, 5]), torch.tensor([True, False, True]))
    record.commit()
    assert record.group_accuracy()[1].tolist() == [1, 1, 0]
    assert record.count_unseen() == 1
    weight = DRU(rank_by="index", cutoff=2, upweight="all").reweight(record)
    np.testing.assert_allclose(weight, [1, 2, 2, 2, 1, 2 / math.log2(3), 2 / math.log2(3), 1], rtol=1e-6)


def test_leading_dimensions_are_kept():
    record, several = record_of_eight(), []
    for right, *_ in EPOCHS:
        record.correct = torch.tensor(right, dtype=torch.int8)
        several.append(DRU(upweight="all").reweight(record))
    record.correct = torch.tensor([right for right, *_ in EPOCHS], dtype=torch.int8)
    assert torch.equal(DRU(upweight="all").reweight(record), torch.stack(several))
    assert torch.equal(record.group_max(torch.stack(several))[1], torch.tensor([several[1][[1, 2, 3]].max()] * 3))


@pytest.mark.parametrize("keeps_loss", [False, True])
def test_memberships_of_one_group_a_row_are_the_ordinary_record(keeps_loss):
    rng = np.random.default_rng(0)
    group = torch.tensor(rng.integers(0, 5, 40))
    pairs = Memberships.of(torch.arange(40).flip(0), group.flip(0), 40)
    records = [EpochRecord(of, 5, keeps_loss=keeps_loss) for of in (group, pairs)]
    right, loss = torch.tensor(rng.random(40) < 0.5), torch.tensor(rng.random(40), dtype=torch.float32)
    for record in records:
        record.write(torch.arange(40), right, loss)
        record.commit()
    value = torch.tensor(rng.random(5))
    for only_wrong in (True, False):
        one, other = (record.to_samples(value, only_wrong=only_wrong) for record in records)
        assert torch.equal(one, other)
    for figure in ("group_mean", "group_max"):
        one, other = (getattr(record, figure)(loss) for record in records)
        assert torch.equal(one, other)
    if keeps_loss:
        assert torch.equal(records[0].group_loss(), records[1].group_loss())
    assert torch.equal(records[0].group_accuracy()[0], records[1].group_accuracy()[0])


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (([0.5], [0]), "row is torch.float32"),
        (([0, 1], [0]), r"group is torch.int64 \[1\]"),
        (([8], [0]), "rows 8 to 8 of 8"),
        (([0], [-1]), "groups from -1"),
    ],
)
def test_memberships_that_are_none_are_refused(pairs, said):
    with pytest.raises(InputError, match=said):
        Memberships.of(*map(torch.tensor, pairs), 8)


def test_a_membership_named_twice_counts_once_and_the_fingerprint_knows_them():
    rows, _ = own_rows(8)
    twice = Memberships.of(torch.cat([ROW, ROW]), torch.cat([GROUP, GROUP]), 8)
    assert torch.equal(twice.row, ROW)
    data = [GroupedDataset(rows, of, group_names=NAMES) for of in (twice, Memberships.of(ROW[1:], GROUP[1:], 8))]
    assert data[0].fingerprint() != data[1].fingerprint()
    assert data[0].groups_at(torch.tensor([0, 3])) == NAMES
    assert data[0][0]["group"] == -1
    with pytest.raises(InputError, match="8 groups for 9 rows"):
        GroupedDataset(own_rows(9)[0], twice, group_names=NAMES)


# Of tables.


def columns(n=240, alone=False):
    """Rows, and whether each is in each group; ``alone`` puts each row in one."""
    rng = np.random.default_rng(1)
    x, member = rng.normal(size=(n, 3)), rng.random((n, 3)) < [0.5, 0.4, 0.25]
    if alone:
        member = np.eye(3, dtype=bool)[rng.integers(0, 3, n)]
    label = ((x[:, 0] + 0.8 * rng.normal(size=n)) * np.where(member[:, 2], -1, 1) > 0).astype(int)
    split = rng.choice(["train", "val", "test"], n, p=[0.5, 0.25, 0.25])
    return {"x1": x[:, 0], "x2": x[:, 1], "x3": x[:, 2], "y": label, "split": split}, member


def table_of(kind="columns", alone=False, **options):
    """The data as ``columns`` of 0 and 1, as ``lists`` or, with one group a row, as ``names``."""
    rows, member = columns(alone=alone)
    names = [[NAMES[j] for j in np.flatnonzero(of)] for of in member]
    held = {
        "columns": {name: of.astype(int) for name, of in zip(NAMES, member.T, strict=True)},
        "lists": {"g": names},
        "names": {"g": [of[0] for of in names] if alone else None},
    }[kind]
    pq.write_table(pa.table({**rows, **held}), f"{kind}.parquet")
    by = "crossed" if kind == "names" else "overlapping"
    return Table(
        f"{kind}.parquet", **{"batch_size": 16, "label": "y", "group": [*held], "split": "split", "by": by, **options}
    )


def small(sizes):
    return MLP(sizes, hidden=8, dropout=0.0)


class Weights(Callback):
    """Weights and criteria of each epoch."""

    def __init__(self):
        self.weights, self.criteria = [], []

    def on_train_epoch_start(self, trainer, module):
        self.weights.append(module.state["weight"].clone())

    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking:
            self.criteria.append({key: float(value) for key, value in module.evaluation.values.items()})


def fit(data, method, folder, epochs=4, more=(), **options):
    seed_everything(1)
    watch = Weights()
    quiet = {"logger": False, "accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(
        max_epochs=epochs, default_root_dir=folder, callbacks=[watch, *more], **{"enable_checkpointing": False, **quiet}
    )
    trainer.fit(method, datamodule=data, **options)
    return trainer, watch


METHODS = {
    "qDRU+M": lambda: DRU(network=small, optimizer=plain_sgd(0.5)),
    "gDRU+G of training": lambda: DRU(
        "index", "all", 2, accuracy_from="training", network=small, optimizer=plain_sgd(0.5)
    ),
    "DRU by fnr": lambda: DRU(rank_by_figure="fnr", network=small, optimizer=plain_sgd(0.5)),
    "DRU by loss": lambda: DRU(rank_by_figure="loss", network=small, optimizer=plain_sgd(0.5)),
    "Worst": lambda: Worst(3, network=small, optimizer=plain_sgd(0.5)),
}


@pytest.mark.parametrize("make", METHODS.values(), ids=METHODS)
def test_rows_of_one_group_each_train_as_ever(make, tmp_path):
    found = []
    for kind in ("names", "columns", "lists"):
        trainer, watch = fit(table_of(kind, alone=True), make(), tmp_path / kind)
        trainer.save_checkpoint(tmp_path / f"{kind}.ckpt")
        saved = plain(tmp_path / f"{kind}.ckpt")
        training = {key: value for key, value in saved["drurank"]["training"].items() if key != "fingerprint"}
        found.append((watch.weights, watch.criteria, saved["state_dict"], saved["optimizer_states"], training))
    assert len({tuple(weight.tolist()) for weight in found[0][0]}) > 1
    assert same(found[0], found[1])
    assert same(found[0], found[2])


@pytest.mark.parametrize("make", METHODS.values(), ids=METHODS)
def test_weights_and_criteria_of_a_fit_by_numpy(make, tmp_path):
    rows, member = columns()
    method = make()
    _, watch = fit(table_of("lists"), method, tmp_path, epochs=3)
    train, val = (rows["split"] == name for name in ("train", "val"))
    method.eval()
    with torch.no_grad():
        x, y = method.trainer.datamodule.dataset("val")[list(range(val.sum()))].values().__iter__(), rows["y"][val]
        right = method(next(x)).argmax(dim=1).numpy() == y
    correct, count = ([(some & of).sum() for of in member[val].T] for some in (right, np.ones_like(right)))
    wanted = criteria(correct, count) | {"overall": right.mean()}
    for name, value in wanted.items():
        assert watch.criteria[-1][f"val_{name}"] == pytest.approx(value, rel=1e-5), name
    correct = method.record.correct.numpy() == 1
    if method.rank_by_figure == "accuracy":
        accuracy = np.array([correct[of].mean() for of in member[train].T])
        by_group = (
            np.where(accuracy == accuracy.min(), 3, 1.0)
            if isinstance(method, Worst)
            else discounts(ranks(accuracy, method.rank_by), method.cutoff)
        )
        largest = np.where(member[train], by_group, 1).max(axis=1)
        takes = np.ones_like(correct) if method.upweight == "all" else ~correct
        np.testing.assert_allclose(method.state["weight"], np.where(takes, largest, 1), rtol=1e-6)


def test_a_rate_ranks_overlapping_groups_by_rows_of_its_class(tmp_path):
    rows, member = columns()
    method = DRU(
        rank_by_figure="fnr", upweight="all", rank_by="index", cutoff=2, network=small, optimizer=plain_sgd(0.5)
    )
    fit(table_of(), method, tmp_path, epochs=3)
    train = rows["split"] == "train"
    positive, correct = rows["y"][train] == 1, method.record.correct.numpy() == 1
    rate = np.array([correct[positive & of].mean() for of in member[train].T])
    largest = np.where(member[train], discounts(ranks(rate, "index"), 2), 1).max(axis=1)
    np.testing.assert_allclose(method.state["weight"], np.where(positive, largest, 1), rtol=1e-6)


def test_columns_and_lists_are_alike(tmp_path):
    one, other = (
        fit(table_of(kind), DRU(network=small, optimizer=plain_sgd(0.5)), tmp_path / kind)[1]
        for kind in ("columns", "lists")
    )
    assert same(one.weights, other.weights)
    assert one.criteria == other.criteria


@pytest.mark.parametrize("accuracy_from", ["evaluation", "training"])
def test_a_resumed_fit_is_the_undisturbed_one(tmp_path, accuracy_from):
    straight, watch = fit(
        table_of(), DRU(accuracy_from=accuracy_from, network=small, optimizer=plain_sgd(0.5)), tmp_path / "s", epochs=5
    )
    first, _ = fit(
        table_of(), DRU(accuracy_from=accuracy_from, network=small, optimizer=plain_sgd(0.5)), tmp_path / "f", epochs=2
    )
    first.save_checkpoint(tmp_path / "two.ckpt")
    method = DRU(accuracy_from=accuracy_from, network=small, optimizer=plain_sgd(0.5))
    _, resumed = fit(table_of(), method, tmp_path / "r", epochs=5, ckpt_path=tmp_path / "two.ckpt")
    assert same(resumed.weights, watch.weights[2:])
    assert resumed.criteria == watch.criteria[2:]
    assert same(method.state_dict(), straight.lightning_module.state_dict())


def test_other_memberships_are_other_training_data(tmp_path):
    first, _ = fit(table_of(), DRU(network=small, optimizer=plain_sgd(0.5)), tmp_path / "f", epochs=1)
    first.save_checkpoint(tmp_path / "one.ckpt")
    table = pq.read_table("columns.parquet")
    place = table["split"].to_pylist().index("train")
    cells = table["a"].to_numpy().copy()
    cells[place] = 1 - cells[place]
    pq.write_table(table.set_column(table.column_names.index("a"), "a", pa.array(cells)), "other.parquet")
    other = Table("other.parquet", "y", NAMES, "split", by="overlapping")
    with pytest.raises(InputError, match="made with other training data"):
        fit(
            other,
            DRU(network=small, optimizer=plain_sgd(0.5)),
            tmp_path / "r",
            epochs=2,
            ckpt_path=tmp_path / "one.ckpt",
        )


@pytest.fixture
def tested(tmp_path):
    """A fit, its test, and its predictions with the columns of memberships."""
    data, method = table_of(), DRU(network=small, optimizer=plain_sgd(0.5))
    fit(data, method, tmp_path)
    report, writer = GroupReport(show=False, figure="fpr,auroc"), PredictionWriter(",".join(NAMES), "p.parquet")
    quiet = {"logger": False, "accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(default_root_dir=tmp_path, callbacks=[report, writer], **quiet)
    trainer.test(method, datamodule=data, verbose=False)
    trainer.predict(method, datamodule=data, return_predictions=False)
    return data, method, next(Path(tmp_path).rglob("report.json"))


@pytest.mark.usefixtures("all_draws")
def test_a_test_reports_what_a_report_of_its_predictions_does(tested):
    _, _, file = tested
    found = read_json(file)
    predictions = pq.read_table("p.parquet")
    assert "group" not in predictions.column_names  # no row has one group
    assert "seen_in_training" not in predictions.column_names
    wanted = report_predictions(
        "p.parquet", "label", "prediction", NAMES, split="split", by="overlapping", figure="fpr,auroc", output="r"
    )
    for one, other in ((found, wanted), *((found["figures"][f], wanted["figures"][f]) for f in ("fpr", "auroc"))):
        split, should = one["splits"]["test"], other["splits"]["test"]
        assert split == should
        assert split["memberships"] != split["rows"]
        assert one["drop"] is None
    groups = read_csv(file.with_name("groups.csv"))
    named = ["group", "count", "correct", "accuracy", "shrunk"]
    should = [row for row in read_csv("r/groups.csv") if row["split"] == "test"]
    assert [[row[name] for name in named] for row in groups] == [[row[name] for name in named] for row in should]


def test_counts_of_overlapping_groups_are_not_taken_for_all_rows(tested):
    _, _, file = tested
    with pytest.raises(InputError, match=r"counts groups that overlap.*studies and compare"):
        read_counts(file.with_name("groups.parquet"), ("split", "group"), "test again")


def test_rows_to_predict_need_no_groups(tested):
    data, method, _ = tested
    rows, _ = columns()
    pq.write_table(pa.table({name: rows[name] for name in ("x1", "x2", "x3")}), "new.parquet")
    new = Table("new.parquet", "y", NAMES, "split", by="overlapping")
    new.load_state_dict(data.state_dict())
    quiet = {"logger": False, "accelerator": "cpu", "enable_progress_bar": False}
    found = Trainer(**quiet).predict(method, datamodule=new)
    assert sum(len(batch["index"]) for batch in found) == 240


def test_inspection_counts_each_membership():
    rows, member = columns()
    data = table_of()
    found = inspect_rows(data.raw_rows())
    table = found.groups_table().to_pydict()
    for split, group, count in zip(table["split"], table["group"], table["count"], strict=True):
        assert count == member[rows["split"] == split][:, NAMES.index(group)].sum()
    assert len(table["count"]) == 9
    assert not [finding for finding in found.findings if finding.severity == "error"]


# What is refused.


@pytest.mark.parametrize("method", [GroupDRO, IRM, DFR, lambda **k: DFR(split="id_val", **k)])
def test_methods_that_look_at_the_one_group_of_a_row_are_refused(method, tmp_path):
    with pytest.raises(InputError, match="looks at the one group of each row, and groups overlap; use DRU or Worst"):
        fit(table_of(), method(network=small, optimizer=plain_sgd(0.5)), tmp_path)


@pytest.mark.parametrize("method", [ERM, Const, CVaR, lambda **k: JTT(first_stage_epochs=1, **k)])
def test_methods_that_look_at_no_group_train(method, tmp_path):
    _, watch = fit(table_of(), method(network=small, optimizer=plain_sgd(0.5)), tmp_path, epochs=2)
    assert 0 < watch.criteria[-1]["val_worst"] < 1


@pytest.mark.parametrize("sampler", ["balanced", "subsample", "groups_per_batch"])
def test_samplers_by_group_are_refused(sampler, tmp_path):
    with pytest.raises(InputError, match=f"sampler '{sampler}' draws by the one group of a row"):
        fit(table_of(sampler=sampler), DRU(network=small, optimizer=plain_sgd(0.5)), tmp_path)


class ByGroup(ERM):
    def reduce(self, losses, batch, state):
        return (losses * (batch["group"] + 2)).sum() * batch["share"]


def test_an_objective_that_looks_at_the_group_of_a_row_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"looks at batch\['group'\].*reweight"):
        fit(table_of(), ByGroup(network=small, optimizer=plain_sgd(0.5)), tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "crosed"}, "crossed"),
        ({"group": None}, "there is no group; name the columns of 0 and 1"),
        ({"group": "a,y"}, "the label 'y' is one of the groups"),
        ({"join_twins": True}, "join_twins is about columns whose cells name the group of a row"),
        ({"regroup": {"1": "0"}}, "regroup is about columns"),
        ({"group_in": "eval"}, "group_in is about columns"),
    ],
)
def test_options_without_a_meaning_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        table_of(**options)


def with_cell(value):
    table_of()
    table = pq.read_table("columns.parquet")
    cells = [str(cell) for cell in table["b"].to_pylist()]
    cells[3] = value
    pq.write_table(table.set_column(table.column_names.index("b"), "b", pa.array(cells)), "odd.parquet")
    return Table("odd.parquet", "y", NAMES, "split", by="overlapping")


@pytest.mark.parametrize(("value", "said"), [("2", "'2' is neither 0 nor 1"), (None, "a blank cell is not a group")])
def test_cells_that_say_neither_are_refused(value, said, tmp_path):
    with pytest.raises(InputError, match=rf"odd.parquet: column 'b', row 3 .*{said}"):
        fit(with_cell(value), DRU(network=small, optimizer=plain_sgd(0.5)), tmp_path)


@pytest.mark.parametrize("split", ["train", "val"])
def test_a_split_of_which_no_row_is_in_a_group_is_refused(split, tmp_path):
    table_of("lists")
    table = pq.read_table("lists.parquet")
    lists = [[] if of == split else g for of, g in zip(*(table[n].to_pylist() for n in ("split", "g")), strict=True)]
    pq.write_table(table.set_column(table.column_names.index("g"), "g", pa.array(lists)), "none.parquet")
    with pytest.raises(InputError, match=f"none.parquet, {split}: no row is in any of the groups g"):
        fit(
            Table("none.parquet", "y", "g", "split", by="overlapping"),
            DRU(network=small, optimizer=plain_sgd(0.5)),
            tmp_path,
        )


def test_groups_of_training_in_an_ood_split_are_refused_by_their_first_row(tmp_path):
    table_of()
    table = pq.read_table("columns.parquet")
    split = [{"val": "ood_val"}.get(of, of) for of in table["split"].to_pylist()]
    pq.write_table(table.set_column(table.column_names.index("split"), "split", pa.array(split)), "ood.parquet")
    _, member = columns()
    first = next(i for i, of in enumerate(split) if of == "ood_val" and member[i].any())
    with pytest.raises(InputError, match=rf"row {first} .*3 of 3 groups of ood_val .* are in train too"):
        fit(
            Table("ood.parquet", "y", NAMES, "split", by="overlapping"),
            DRU(network=small, optimizer=plain_sgd(0.5)),
            tmp_path,
        )


def test_own_loaders_take_memberships(trainer):
    rows, _ = own_rows(8)
    train = GroupedDataset(rows, Memberships.of(ROW, GROUP, 8), group_names=NAMES)
    val = GroupedDataset(own_rows(8, seed=1)[0], Memberships.of(ROW, GROUP, 8), group_names=NAMES, split="val")
    loader = DataLoader(train, batch_size=3, shuffle=True)
    method = DRU(network=own_network(), upweight="all", rank_by="index", cutoff=2)
    trainer(max_epochs=2).fit(method, loader, [DataLoader(val, batch_size=3), evaluation_loader(loader)])
    assert method.record.group_accuracy()[1].tolist() == [3, 4, 3]
    with pytest.raises(InputError, match="GroupDRO looks at the one group"):
        trainer(max_epochs=1).fit(GroupDRO(network=own_network()), loader, DataLoader(val, batch_size=3))


def test_counts_of_a_validation_say_that_groups_overlap(tmp_path):
    fit(table_of(), DRU(network=small, optimizer=plain_sgd(0.5)), tmp_path, epochs=1, more=[ValidationCounts()])
    file = next(tmp_path.rglob("epoch_0000.parquet"))
    with pytest.raises(InputError, match="counts groups that overlap"):
        read_counts(file, ("split", "group"), "fit again")
