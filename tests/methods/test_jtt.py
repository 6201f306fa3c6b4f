"""JTT: the error set, the start anew, and that the first stage is never chosen."""

import math

import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.callbacks import (
    EarlyStopping,
    EMAWeightAveraging,
    ModelCheckpoint,
    StochasticWeightAveraging,
)
from torch import nn
from torch.utils.data import TensorDataset

from drurank.data import GroupedDataset, Shortcut, evaluation_loader
from drurank.data.loading import make_loader
from drurank.errors import InputError
from drurank.methods import DFR, ERM, JTT
from drurank.training.schedules import LinearDecay
from runs import read_csv, read_json

SIZE = {"groups": [6, 4, 4], "group_size": 10, "batch_size": 16}  # 60 training rows, 4 batches


def linear(weight):
    """Logits ``[weight x, 0]``."""
    network = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[weight], [0.0]]))
    return network


def loaders(inputs, labels, batch_size=10):
    train = GroupedDataset(TensorDataset(torch.tensor(inputs).view(-1, 1), torch.tensor(labels)), [0] * len(labels))
    return make_loader(train, batch_size), [evaluation_loader(train)]


def sgd(params):
    return torch.optim.SGD(params, lr=1.0)


@pytest.mark.parametrize(("semantics", "weight"), [("reweight", 3.0), ("repeat", 4.0)])
def test_two_epochs_by_hand(trainer, semantics, weight):
    # x = (1, 2), both of class 0, logits (w x, 0), so p(1) = 1 / (1 + e^(w x)) and the loss has slope -p(1) x in w and
    # p(1) x in the other row v, which starts at 0 too: with d = w - v, p(1) = 1 / (1 + e^(d x)).
    # First stage: one step of rate 1 from w = -2, v = 0 (d = -2). p(1) = (.880797, .982014), mean slope
    # (.880797 + 2 x .982014) / 2 = 1.422412; w = -.577588, v = -1.422412, d = .844824: both right.
    # So the error set is empty and the second stage is the same step again.
    torch.manual_seed(0)
    method = JTT(network=linear(-2.0), optimizer=sgd, semantics=semantics, upweight_factor=3)
    with pytest.warns(UserWarning, match="epoch 1 has no errors") as said:
        trainer(max_epochs=2).fit(method, *loaders([1.0, 2.0], [0, 0]))
    assert sum("no errors" in str(warning.message) for warning in said) == 1
    assert method.state["weight"].tolist() == [1, 1]
    torch.testing.assert_close(method.network.weight.detach(), torch.tensor([[-0.577588], [-1.422412]]))

    # x = (1, -2), both of class 0. From d = 0 all p(1) = 1/2, mean slope (1/2 - 1) / 2 = -1/4 in the sense that raises
    # d by -2 x 1/4 = -.5: x = 1 is wrong, x = -2 right. Second stage: from d = 0 again, weights (f, 1), slope
    # (f / 2 - 1) / 2 for each row, so w = (f - 2) / 4 and v = -w.
    method = JTT(network=linear(0.0), optimizer=sgd, semantics=semantics, upweight_factor=3)
    trainer(max_epochs=2).fit(method, *loaders([1.0, -2.0], [0, 0]))
    assert method.state["weight"].tolist() == [weight, 1]
    want = (weight - 2) / 4
    torch.testing.assert_close(method.network.weight.detach(), torch.tensor([[want], [-want]]))


def test_errors_are_those_of_the_evaluation_or_of_the_training(trainer):
    # x = (1, -1, 1), batches of one row, rate 1, d = 0 at first; p(1) = 1/2, so the step of (x, y) adds +-1/2 to w and
    # -+1/2 to v. Ties go to class 0. Row 0 (x = 1, y = 1): predicted 0, wrong; d = -1. Row 1 (x = -1, y = 1): logit
    # difference 1, predicted 0, wrong; p(1) = .268941, slope .731059, d = -1 + 2 x .731059 = .462117. Row 2 (x = 1,
    # y = 0): difference .46, right; d = .462117 + 2 x .386493 = 1.235104. After the epoch: row 0 (difference 1.24, so
    # 0, wrong), row 1 (-1.24, so 1, right), row 2 (right).
    for accuracy_from, wrong in (("training", [5.0, 5.0, 1.0]), ("evaluation", [5.0, 1.0, 1.0])):
        method = JTT(network=linear(0.0), optimizer=sgd, accuracy_from=accuracy_from)
        train, val = loaders([1.0, -1.0, 1.0], [1, 1, 0], batch_size=1)
        trainer(max_epochs=2).fit(method, train, val if accuracy_from == "evaluation" else None)
        assert method.state["weight"].tolist() == wrong


class Watch(Callback):
    """Notes by step the rows drawn, the rate, and how much the optimizer remembers."""

    def __init__(self):
        self.rows, self.rate, self.optimizers = [], [], []

    def on_before_zero_grad(self, trainer, module, optimizer):
        self.optimizers.append(len(optimizer.state))
        self.rate.append(optimizer.param_groups[0]["lr"])

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.rows.append(batch["index"].tolist())


def test_second_stage_is_a_run_of_its_own(trainer):
    seed_everything(1, verbose=False)
    watch = Watch()
    method = JTT(first_stage_epochs=2, lr_scheduler=LinearDecay, lr_interval="step")
    run = trainer(max_epochs=5, callbacks=[watch])
    run.fit(method, datamodule=Shortcut(**SIZE))
    assert run.global_step == 5 * math.ceil(60 / 16) == len(watch.rate)
    # 1e-3 (1 - t / 8) in the two epochs of the first stage, then
    # 1e-3 (1 - t / 12) in the three of the second.
    want = [1e-3 * (1 - t / 8) for t in range(8)] + [1e-3 * (1 - t / 12) for t in range(12)]
    assert watch.rate == pytest.approx(want)
    assert watch.rows[8:16] == watch.rows[:8] != watch.rows[12:20]
    # The optimizer has no state at the first step of a stage and 6 parameters after it.
    assert [i for i, entries in enumerate(watch.optimizers) if entries == 0] == [0, 8]


@pytest.mark.parametrize("accuracy_from", ["evaluation", "training"])
def test_factor_1_is_a_fresh_run_of_erm(trainer, accuracy_from):
    found = []
    for method, epochs in ((ERM(), 2), (JTT(3, upweight_factor=1, accuracy_from=accuracy_from), 5)):
        seed_everything(0, verbose=False)
        trainer(max_epochs=epochs).fit(method, datamodule=Shortcut(**SIZE))
        found.append(method.network.state_dict())
    for name, value in found[0].items():
        torch.testing.assert_close(found[1][name], value, rtol=0, atol=1e-6)
    seed_everything(0, verbose=False)
    other = JTT(3, upweight_factor=2)
    trainer(max_epochs=5).fit(other, datamodule=Shortcut(**SIZE))
    assert (other.network.head.weight - found[0]["head.weight"]).abs().max() > 1e-5


def everything_of(method):
    """All tensors that training has made, by name."""
    optimizer = method.trainer.optimizers[0].state_dict()["state"]
    moments = {f"{number}.{name}": value for number, state in optimizer.items() for name, value in state.items()}
    return {**method.state_dict(), **moments, **method.state, "correct": method.record.correct}


@pytest.mark.parametrize("interval", ["epoch", "step"])
def test_resume_in_either_stage_goes_on_exactly(trainer, tmp_path, interval):
    def fit(**options):
        seed_everything(0, verbose=False)
        method = JTT(first_stage_epochs=2, lr_scheduler=LinearDecay, lr_interval=interval)
        keep = ModelCheckpoint(dirpath=tmp_path, save_top_k=-1, filename="{epoch}")
        run = trainer(max_epochs=5, callbacks=[keep], enable_checkpointing=True)
        run.fit(method, datamodule=Shortcut(**SIZE), **options)
        return everything_of(method), run.lr_scheduler_configs[0].scheduler.get_last_lr()

    whole, rate = fit()
    for epoch in range(4):
        seed_everything(5, verbose=False)  # a new process knows nothing of the old one's generators
        resumed, its_rate = fit(ckpt_path=tmp_path / f"epoch={epoch}.ckpt")
        assert its_rate == rate
        assert resumed.keys() == whole.keys()
        for name, value in whole.items():
            assert torch.equal(resumed[name], value), (epoch, name)


def test_no_epoch_of_the_first_stage_is_chosen_or_stops_the_run(trainer, tmp_path):
    # Validation gets worse from the first epoch on, so that a plain callback would choose epoch 0 and stop at 2.
    class Worse(JTT):
        def on_validation_epoch_end(self):
            super().on_validation_epoch_end()
            self.log("val_made_up", 1.0 - 0.1 * self.current_epoch)

    best = ModelCheckpoint(dirpath=tmp_path, monitor="val_made_up", mode="max", filename="{epoch}")
    stop = EarlyStopping("val_made_up", mode="max", patience=1)
    run = trainer(max_epochs=8, callbacks=[best, stop], enable_checkpointing=True)
    method = Worse(first_stage_epochs=3)
    run.fit(method, datamodule=Shortcut(**SIZE))
    assert best.best_model_path.endswith("epoch=3.ckpt")
    assert best.best_model_score.item() == pytest.approx(0.7)
    assert run.current_epoch == 5  # epoch 3 is the best, 4 is the first that is no better
    assert [file.name for file in tmp_path.glob("*.ckpt")] == ["epoch=3.ckpt"]


def test_command_line_chooses_in_the_second_stage_and_logs_both(fit, run, tmp_path):
    made = fit(tmp_path, "--model.first_stage_epochs", 2, "--select", "worst,qdcg10,tstat", method="JTT", epochs=4)
    chosen = read_json(made / "selection.json")
    assert set(chosen) == {"worst", "qdcg10", "tstat"}
    assert all(entry["epoch"] >= 2 for entry in chosen.values())
    logged = [row for row in read_csv(made / "metrics.csv") if "val_qdcg10" in row]
    assert [row["epoch"] for row in logged] == ["0", "1", "2", "3"]
    weights = {}
    for row in read_csv(made / "weights.csv"):
        weights.setdefault(row["epoch"], []).append(float(row["max_weight"]))
    assert set(weights["0"] + weights["1"]) == {1.0}
    assert weights["2"] == weights["3"] == weights["4"]
    assert set(weights["2"]) == {1.0, 5.0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--model.first_stage_epochs", 0],
            "first_stage_epochs is 0; give a whole number of 1 or more: a network that",
        ),
        (["--model.first_stage_epochs", 3], "max_epochs is 3 and --model.first_stage_epochs 3"),
        (["--model.first_stage_epochs", 1, "--trainer.check_val_every_n_epoch", 2], "the errors of epoch 1 would not"),
        (["--model.first_stage_epochs", 1, "--trainer.max_steps", 4], "max_steps is 4 and the first stage has 4"),
        (["--trainer.limit_val_batches", 1], "limit_val_batches 1 leaves out training rows"),
        (["--trainer.limit_val_batches", 0], "limit_val_batches 0 leaves out training rows"),
        (["--trainer.fast_dev_run", "true"], "fast_dev_run trains one epoch and JTT two stages"),
        (["--model.upweight_factor", 0], "upweight_factor is 0"),
        (["--model.semantics", "twice"], "twice"),
    ],
)
def test_what_cannot_go_well_is_refused(refused, tmp_path, words, said):
    data = ["--data", "Shortcut", "--data.groups", "[6,4,4]", "--data.group_size", 10, "--data.batch_size", 16]
    where = ["--trainer.default_root_dir", tmp_path, "--trainer.max_epochs", 3]
    assert said in refused("fit", "--model", "JTT", *data, *where, *words)


class Counting(nn.Module):
    """Counts its training batches in a buffer that no checkpoint holds, and has more to say of its state."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("seen", torch.zeros(()), persistent=False)

    def forward(self, numeric):
        self.seen += self.training
        return self.layer(numeric)

    def get_extra_state(self):
        return {"about": "nothing"}

    def set_extra_state(self, state):
        pass


def test_buffers_go_back_as_well(trainer):
    method = JTT(first_stage_epochs=1, network=Counting())
    trainer(max_epochs=3).fit(method, datamodule=Shortcut(**SIZE))
    assert method.network.seen == 8  # 4 batches an epoch, of which the first's were forgotten


def test_layers_without_sizes_are_refused(trainer):
    with pytest.raises(InputError, match="has no shape before the first batch"):
        trainer(max_epochs=2, num_sanity_val_steps=0).fit(JTT(network=nn.LazyLinear(2)), datamodule=Shortcut(**SIZE))


def test_run_that_ends_in_the_first_stage_says_so(trainer):
    class Stop(Callback):
        def on_train_epoch_end(self, trainer, module):
            trainer.should_stop = True

    with pytest.warns(UserWarning, match="ended within the first stage"):
        trainer(max_epochs=9, min_epochs=1, callbacks=[Stop()]).fit(JTT(2), datamodule=Shortcut(**SIZE))


@pytest.mark.parametrize("method", [JTT, DFR])
@pytest.mark.parametrize("average", [EMAWeightAveraging, lambda: StochasticWeightAveraging(1e-2)])
def test_averages_over_both_networks_are_refused(trainer, method, average):
    with pytest.raises(InputError, match="would average weights from before and after"):
        trainer(max_epochs=2, callbacks=[average()]).fit(method(), datamodule=Shortcut(**SIZE))


@pytest.mark.parametrize("method", [JTT, DFR])
def test_that_no_last_checkpoint_is_saved_is_said(trainer, tmp_path, method):
    keep = ModelCheckpoint(dirpath=tmp_path, monitor="val_worst", mode="max", save_last=True)
    with pytest.warns(UserWarning, match="no last checkpoint is saved"):
        trainer(max_epochs=2, callbacks=[keep], enable_checkpointing=True).fit(method(), datamodule=Shortcut(**SIZE))


@pytest.fixture(scope="module")
def made(fit, tmp_path_factory):
    """Folder of a run of two epochs, one of each stage."""
    return fit(tmp_path_factory.mktemp("jtt"), method="JTT", epochs=2)


@pytest.mark.parametrize(
    ("words", "before"),
    [
        (["--model.first_stage_epochs", 2], "--model.first_stage_epochs 1,"),
        (["--model.upweight_factor", 50], "--model.upweight_factor 5.0,"),
        (["--model.semantics", "repeat"], "--model.semantics reweight,"),
        (["--model.accuracy_from", "training"], "--model.accuracy_from evaluation,"),
    ],
)
def test_what_made_the_error_set_cannot_change_on_resume(made, refused, words, before):
    said = refused("fit", "--ckpt_path", made / "checkpoints/last.ckpt", *words, "--trainer.max_epochs", 4)
    assert f"the checkpoint was made with {before}" in said


def test_refused_in_python():
    for options in ({"first_stage_epochs": 1.5}, {"first_stage_epochs": True}, {"accuracy_from": "both"}):
        with pytest.raises(InputError, match=next(iter(options))):
            JTT(**options)


def test_callbacks_are_given_back_after_a_fit(trainer):
    best, stop = ModelCheckpoint(monitor="val_worst", mode="max"), EarlyStopping("val_worst", mode="max")
    run = trainer(max_epochs=2, callbacks=[stop, best], enable_checkpointing=True)
    run.fit(JTT(), datamodule=Shortcut(**SIZE))
    assert run.early_stopping_callback is stop
    assert run.checkpoint_callback is best
