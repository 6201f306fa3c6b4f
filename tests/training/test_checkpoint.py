import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint

import drurank
from drurank.data import Shortcut
from drurank.files import replace_file, write_json
from drurank.methods import DRU, ERM
from drurank.networks import MLP
from reference import accuracies, criteria, discounts, ranks, spread
from runs import SMALL, assert_same_run, plain, read_csv, read_json, same

SELECT = ["--select", "worst,overall,qdcg10,tstat,average", "--seed_everything", "1"]


@pytest.fixture(scope="module")
def straight(fit, tmp_path_factory):
    """Five epochs without a stop."""
    return fit(tmp_path_factory.mktemp("straight"), *SELECT, epochs=5)


@pytest.fixture(scope="module")
def three(fit, tmp_path_factory):
    """The first three of them."""
    return fit(tmp_path_factory.mktemp("three"), *SELECT, epochs=3)


@pytest.fixture
def stopped(three, tmp_path):
    """Those three, in a folder that was moved since."""
    return shutil.copytree(three, tmp_path / "moved" / "run")


def go_on(run, folder, name="last", epochs=5):
    run("fit", "--ckpt_path", folder / f"checkpoints/{name}.ckpt", "--trainer.max_epochs", epochs)


def test_resumed_run_is_the_one_that_was_not_stopped(run, stopped, straight, three, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in three.rglob("*")}
    selection = read_json(straight / "selection.json")
    assert {entry["epoch"] < 3 for entry in selection.values()} == {True, False}, "some bests are old, some new"
    go_on(run, stopped)
    assert_same_run(stopped, straight)
    assert [path.name for path in stopped.parent.iterdir()] == ["run"]
    states = plain(stopped / "checkpoints/last.ckpt")["callbacks"].values()
    bests = [state["best_model_path"] for state in states if state.get("best_model_path")]
    assert len(bests) == 6
    assert {Path(path).parent for path in bests} == {stopped / "checkpoints"}
    assert not (tmp_path / "runs").exists()
    assert {path: path.stat().st_mtime_ns for path in three.rglob("*")} == before, "the old place is left alone"


@pytest.mark.parametrize("name", ["worst", "overall", "average"])
def test_going_back_to_a_best_checkpoint_gives_the_same_run_again(run, stopped, straight, name):
    epoch = plain(stopped / f"checkpoints/{name}.ckpt")["epoch"]
    go_on(run, stopped, name)
    for table in ("weights.csv", "metrics.csv"):
        assert read_csv(stopped / table) == read_csv(straight / table), (table, epoch)
    assert read_json(stopped / "selection.json") == read_json(straight / "selection.json")


@pytest.mark.parametrize(
    "words",
    [
        ["--model.accuracy_from", "training"],
        ["--model.lr_scheduler", "ExponentialLR", "--model.lr_scheduler.gamma", "0.5", "--model.lr_interval", "step"],
    ],
    ids=["training", "scheduler"],
)
def test_resume_is_exact_however_it_is_trained(run, fit, tmp_path, words):
    straight = fit(tmp_path / "straight", *SELECT, *words, epochs=3)
    stopped = fit(tmp_path / "stopped", *SELECT, *words, epochs=1)
    go_on(run, stopped, epochs=3)
    assert_same_run(stopped, straight)


def test_finished_run_is_left_as_it_is(run, stopped):
    before = {name: read_csv(stopped / name) for name in ("metrics.csv", "weights.csv")}
    selection, last = read_json(stopped / "selection.json"), plain(stopped / "checkpoints/last.ckpt")
    go_on(run, stopped, epochs=3)
    assert {name: read_csv(stopped / name) for name in before} == before
    assert read_json(stopped / "selection.json") == selection
    assert same(plain(stopped / "checkpoints/last.ckpt")["state_dict"], last["state_dict"])


def test_what_is_typed_on_resume_wins_over_the_checkpoint(run, stopped):
    run("fit", "--ckpt_path", stopped / "checkpoints/last.ckpt", "--trainer.max_epochs", 4, "--model.cutoff", 20)
    last = read_csv(stopped / "weights.csv")[-6:]
    accuracy = np.array([float(row["accuracy"]) for row in last])
    weight = discounts(ranks(accuracy), 20)
    should = accuracy + (1 - accuracy) * weight
    np.testing.assert_allclose([float(row["mean_weight"]) for row in last], should, rtol=1e-6)


def test_file_of_an_epoch_holds_the_weights_for_the_next_beside_the_criteria_before(straight):
    """Validation runs before the reweighting, both on the network as it is when the epoch ends."""
    method = DRU.load_from_checkpoint(straight / "checkpoints/last.ckpt").eval()
    data = Shortcut(groups=[6, 4, 4], group_size=10)

    def right(split):
        batch = data.dataset(split)[list(range(len(data.dataset(split))))]
        with torch.no_grad():
            return (method(batch["inputs"]).argmax(dim=1) == batch["label"]).numpy(), batch["group"].numpy()

    correct, group = right("train")
    by_group = discounts(ranks(accuracies(correct, group, 6)), 100)
    saved = plain(straight / "checkpoints/last.ckpt")["drurank"]["training"]["state"]["weight"]
    np.testing.assert_allclose(saved, spread(by_group, correct, group, "misclassified"), rtol=1e-6)
    correct, group = right("ood_val")
    should = criteria([correct[group == g].sum() for g in range(6, 10)], [10] * 4)
    logged = [row for row in read_csv(straight / "metrics.csv") if "val_worst" in row][-1]
    for name, value in should.items():
        assert float(logged[f"val_{name}"]) == pytest.approx(value, rel=1e-5), name


# ---- files that are not of an epoch's end


class Weights(Callback):
    """Notes the weights in force and the rows drawn, by epoch."""

    def __init__(self):
        self.weight, self.drawn = {}, {}

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        self.weight[trainer.current_epoch] = module.state["weight"].clone()
        self.drawn.setdefault(trainer.current_epoch, []).extend(batch["index"].tolist())


def tiny(trainer, *callbacks, ckpt_path=None, method=DRU, epochs=3, **options):
    """24 rows in batches of 8, without dropout; gives the method and what was in force."""
    seed_everything(3)  # with it the groups differ in accuracy after every epoch
    watch = Weights()
    methods = {name: options.pop(name) for name in list(options) if name in ("accuracy_from", "upweight")}
    module = method(
        network=lambda sizes: MLP(sizes, dropout=0.0),
        optimizer=lambda params: torch.optim.SGD(params, lr=0.3),
        **methods,
    )
    run = trainer(max_epochs=epochs, callbacks=[watch, *callbacks], enable_checkpointing=bool(callbacks), **options)
    run.fit(
        module, datamodule=Shortcut(groups=[3, 3, 3], group_size=8, batch_size=8, agreement=0.5), ckpt_path=ckpt_path
    )
    return module, watch


def keeper(folder, **options):
    return ModelCheckpoint(dirpath=folder, filename="{step}", save_top_k=-1, enable_version_counter=False, **options)


def ours(caught):
    package = str(Path(drurank.__file__).parent)
    return [str(warning.message) for warning in caught if warning.filename.startswith(package)]


@pytest.mark.filterwarnings("ignore")
def test_file_saved_within_an_epoch_counts_no_row_twice_and_says_what_is_not_known(trainer, tmp_path):
    _, before = tiny(trainer, keeper(tmp_path, every_n_train_steps=1), accuracy_from="training", upweight="all")
    order = before.drawn[1]  # the file after step 4 has read the first eight rows of this epoch
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options = {"accuracy_from": "training", "upweight": "all", "epochs": 2}
        module, after = tiny(trainer, ckpt_path=tmp_path / "step=4.ckpt", **options)
    drawn = after.drawn[1]
    assert sorted(drawn) == sorted(set(drawn)), "no row twice in what is left of the epoch"
    weight = module.state["weight"]
    assert weight.isfinite().all()
    # Rows of this epoch that were drawn by neither run keep what epoch 0 knew of them; the others are known anew.
    correct, group = module.record.correct.numpy(), module.record.group.numpy()
    assert (correct >= 0).all()
    unseen = sorted(set(range(24)) - set(order[:8]) - set(drawn))
    kept = plain(tmp_path / "step=3.ckpt")["drurank"]["training"]["record"]
    earlier = torch.where(kept["fresh"] >= 0, kept["fresh"], kept["correct"])
    assert correct[unseen].tolist() == earlier[unseen].tolist()
    np.testing.assert_allclose(weight, discounts(ranks(accuracies(correct, group, 3)), 100)[group], rtol=1e-6)
    assert unseen
    assert any("24" in said or "weight" in said for said in ours(caught)), "it says what it cannot know"


@pytest.mark.filterwarnings("ignore:.*callbacks used to create the checkpoint")
def test_epoch_without_validation_before_the_file_is_no_epoch_to_rank_late(trainer, tmp_path):
    options = {"check_val_every_n_epoch": 3, "epochs": 6}
    straight, before = tiny(trainer, keeper(tmp_path, save_on_train_epoch_end=True), **options)
    file = tmp_path / "step=12.ckpt"  # the end of epoch 3, the first after a validation
    with pytest.warns(UserWarning, match="gave no predictions") as caught:
        resumed, after = tiny(trainer, ckpt_path=file, **options)
    said = [str(warning.message).partition(" gave no predictions")[0] for warning in caught]
    assert [words for words in said if words.startswith("epoch ")] == ["epoch 4"]
    assert before.weight[4].max() > 1
    for epoch in (4, 5):
        torch.testing.assert_close(after.weight[epoch], before.weight[epoch], rtol=0, atol=0)
    torch.testing.assert_close(resumed.state["weight"], straight.state["weight"], rtol=0, atol=0)


class Counting(ERM):
    """Keeps a tensor of its own in the state."""

    def reduce(self, losses, batch, state):
        state["batches"] = state.get("batches", torch.zeros((), dtype=torch.int64)) + 1
        return super().reduce(losses, batch, state)


@pytest.mark.filterwarnings("ignore:.*callbacks used to create the checkpoint")
def test_state_of_a_method_of_your_own_travels_in_the_checkpoint(trainer, tmp_path):
    tiny(trainer, keeper(tmp_path), method=Counting, epochs=2)
    assert int(plain(tmp_path / "step=6.ckpt")["drurank"]["training"]["state"]["batches"]) == 6
    module, _ = tiny(trainer, ckpt_path=tmp_path / "step=6.ckpt", method=Counting, epochs=3)
    assert int(module.state["batches"]) == 9


def test_per_sample_tables_are_no_parameters_or_buffers(straight):
    saved = plain(straight / "checkpoints/last.ckpt")
    assert all(60 not in value.shape for value in saved["state_dict"].values())


def test_file_is_replaced_whole_or_not_at_all(tmp_path):
    file = tmp_path / "folder" / "selection.json"
    write_json(file, {"a": 1})

    def fail(path):
        path.write_text("half of")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        replace_file(file, fail)
    assert read_json(file) == {"a": 1}
    assert [path.name for path in file.parent.iterdir()] == ["selection.json"]
    with pytest.raises(ValueError, match="nan"):
        write_json(file, {"a": float("nan")})
    assert read_json(file) == {"a": 1}


def test_two_more_epochs_of_a_small_run_do_change_it(three, straight):
    """So that the comparisons above could fail."""
    assert SMALL
    one, other = (plain(folder / "checkpoints/last.ckpt") for folder in (three, straight))
    assert not same(one["state_dict"], other["state_dict"])
    assert not same(one["drurank"]["training"]["state"], other["drurank"]["training"]["state"])
