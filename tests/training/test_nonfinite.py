"""nan and inf: the run stops and says where, or leaves the steps out; nothing of them is kept."""

import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import TensorDataset

from drurank import methods
from drurank.data import GroupedDataset, Shortcut, evaluation_loader
from drurank.data.dataset import make_loader
from drurank.errors import InputError
from drurank.methods import ERM, GroupDRO
from drurank.training.losses import CrossEntropy

METHODS = [name for name in methods.__all__ if name not in ("GroupModule", "DFR")]


def loaders(broken=(), rows=24, batch_size=4):
    """Rows of 3 groups; those that are broken have an input of nan."""
    inputs = torch.randn(rows, 2, generator=torch.Generator().manual_seed(0))
    label = (inputs[:, 0] > 0).long()
    inputs[list(broken)] = torch.nan
    train = GroupedDataset(TensorDataset(inputs, label), [f"g{row % 3}" for row in range(rows)])
    clean = GroupedDataset(TensorDataset(inputs.nan_to_num(0), label), train.group, split="val")
    return make_loader(train, batch_size), [make_loader(clean, 8), evaluation_loader(train)]


def sgd(params):
    return torch.optim.SGD(params, lr=0.5, momentum=0.9)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_stops_and_saves_nothing(trainer, tmp_path, method):
    keep = ModelCheckpoint(dirpath=tmp_path, save_top_k=-1, every_n_train_steps=1)
    run = trainer(max_epochs=2, callbacks=[keep], enable_checkpointing=True)
    with pytest.raises(InputError, match="nan or inf in epoch 0"):
        run.fit(getattr(methods, method)(network=nn.Linear(2, 2), optimizer=sgd), *loaders(broken=range(24)))
    assert [file.name for file in tmp_path.glob("*.ckpt")] == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ([5], "first in training rows 5 \\(groups g2\\)"),
        ([5, 6], "first in training rows 5, 6 \\(groups g0, g2\\)"),  # of one batch of 8
    ],
)
def test_rows_and_groups_are_named_on_request(trainer, broken, said):
    with pytest.raises(InputError, match=said):
        trainer().fit(ERM(network=nn.Linear(2, 2), detect=True), *loaders(broken=broken, batch_size=8))


def test_many_rows_are_counted(trainer):
    with pytest.raises(InputError, match="training rows 0, 1, 2, 3, 4 and 3 more \\(groups g0, g1, g2\\)"):
        trainer().fit(ERM(network=nn.Linear(2, 2), detect=True), *loaders(broken=range(8), batch_size=8))


class Steep(CrossEntropy):
    """Finite losses whose gradients are not."""

    def forward(self, logits, label):
        return super().forward(logits, label) + (logits[:, 0] - logits[:, 0].detach()).abs().sqrt()


def test_first_step_of_a_second_stage_left_out_leaves_its_initial_buffers(trainer):
    # The second stage begins with the initial weights and buffers; its first step, of nan, must not bring back those
    # with which the first stage ended.
    class Nan(Callback):
        """Breaks the loss of the first batch of the second stage, and notes the buffers after it."""

        def on_train_batch_start(self, trainer, module, batch, batch_idx):
            if trainer.current_epoch == 1 and batch_idx == 0:
                batch["inputs"].fill_(torch.nan)

        def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
            if trainer.current_epoch == 1 and batch_idx == 0:
                self.mean = module.network[1].running_mean.clone()

    watch = Nan()
    network = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    method = methods.JTT(first_stage_epochs=1, network=network, optimizer=sgd, on_nonfinite="skip")
    with pytest.warns(UserWarning, match="1 of 6 steps of epoch 1"):
        trainer(max_epochs=2, callbacks=[watch]).fit(method, *loaders())
    assert watch.mean.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("method", METHODS)
def test_steps_are_left_out_as_if_they_had_not_been(trainer, method):
    # The third of six batches is nan. SGD with momentum, so that a step with a gradient of 0 would show.
    found = []
    for broken in (range(8, 12), ()):
        torch.manual_seed(0)
        made = getattr(methods, method)(network=nn.Linear(2, 2), optimizer=sgd, on_nonfinite="skip")
        train, val = loaders(broken=broken)
        if not broken:
            # The same without those rows at all.
            kept = [row for row in range(24) if row not in range(8, 12)]
            whole = train.dataset
            rows = TensorDataset(*(tensor[kept] for tensor in whole.dataset.tensors))
            part = GroupedDataset(rows, whole.group[kept], group_names=whole.group_names)
            train, val = make_loader(part, 4), [val[0], evaluation_loader(part)]
        run = trainer(max_epochs=1 if method != "JTT" else 2)
        if broken:
            with pytest.warns(UserWarning, match="1 of 6 steps of epoch 0 had a gradient that is nan or inf"):
                run.fit(made, train, val)
        else:
            run.fit(made, train, val)
        found.append(made.network.state_dict())
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-7)


def test_gradient_that_is_inf_is_left_out_though_the_loss_is_finite(trainer):
    made = ERM(network=nn.Linear(2, 2), loss=Steep(), optimizer=sgd, on_nonfinite="skip")
    with pytest.raises(InputError, match=r"6 of 6 steps of epoch 0 .* so nothing was learned"):
        trainer().fit(made, *loaders())


@pytest.mark.parametrize("preset", ["wilds", "sagawa"])
def test_weights_of_groups_are_those_without_the_step_left_out(trainer, preset):
    found = []
    for broken in (range(8, 12), ()):
        torch.manual_seed(0)
        made = GroupDRO(preset, network=nn.Linear(2, 2), on_nonfinite="skip", step_size=0.5)
        train, _ = loaders(broken=broken)
        if not broken:
            kept = [row for row in range(24) if row not in range(8, 12)]
            whole = train.dataset
            rows = TensorDataset(*(tensor[kept] for tensor in whole.dataset.tensors))
            train = make_loader(GroupedDataset(rows, whole.group[kept], group_names=whole.group_names), 4)
        trainer().fit(made, train)
        found.append((made.state["log_q"] - made.state["log_z"]).exp())
    torch.testing.assert_close(found[0], found[1])
    assert float(found[0].sum()) == pytest.approx(1)


def test_running_statistics_of_a_step_left_out_are_as_before(trainer):
    network = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2))
    with pytest.warns(UserWarning, match="1 of 6 steps"):
        trainer().fit(ERM(network=network, on_nonfinite="skip"), *loaders(broken=[9]))
    assert network[0].running_mean.isfinite().all()
    assert network[0].num_batches_tracked == 5


def test_rows_of_all_steps_left_out_are_named(trainer):
    with pytest.warns(UserWarning, match=r"3 of 6 steps .* rows 0, 9, 20 \(groups g0, g2\)"):
        trainer().fit(ERM(network=nn.Linear(2, 2), on_nonfinite="skip", detect=True), *loaders(broken=[0, 9, 20]))


class Late(CrossEntropy):
    """Finite losses; the gradient of those of row 23's batch is inf."""

    def forward(self, logits, label):
        flat = (logits[:, 0] - logits[:, 0].detach()).abs().sqrt()
        return super().forward(logits, label) + (flat if self.training and self.steep else 0)

    steep = False


@pytest.mark.parametrize("method", ["ERM", "JTT"])
@pytest.mark.parametrize("end", [{}, {"max_steps": 6}])
def test_gradient_that_breaks_the_last_step_is_noticed(trainer, method, end):
    class Steepen(Callback):
        def on_train_batch_start(self, trainer, module, batch, batch_idx):
            module.loss.steep = trainer.current_epoch == 0 and batch_idx == 5

    made = getattr(methods, method)(network=nn.Linear(2, 2), loss=Late())
    end = {**end, "max_steps": 12} if method == "JTT" and end else end
    with pytest.raises(InputError, match="nan or inf in epoch"):
        trainer(max_epochs=2, callbacks=[Steepen()], **end).fit(made, *loaders())


@pytest.mark.parametrize("algorithm", ["norm", "value"])
def test_steps_left_out_have_nothing_to_clip(trainer, algorithm):
    made = ERM(network=nn.Linear(2, 2), on_nonfinite="skip")
    run = trainer(gradient_clip_val=0.1, gradient_clip_algorithm=algorithm)
    with pytest.warns(UserWarning, match="1 of 6 steps"):
        run.fit(made, *loaders(broken=[3]))


def test_checkpoint_whose_weights_are_nan_is_refused(trainer, tmp_path):
    run, made = trainer(enable_checkpointing=True, default_root_dir=tmp_path), ERM(network=nn.Linear(2, 2))
    run.fit(made, *loaders())
    saved = torch.load(run.checkpoint_callback.best_model_path, weights_only=True)
    saved["state_dict"]["network.bias"][0] = torch.nan
    torch.save(saved, tmp_path / "nan.ckpt")
    with pytest.raises(InputError, match=r"network\.bias is nan or inf"):
        ERM.load_from_checkpoint(tmp_path / "nan.ckpt", network=nn.Linear(2, 2))


def test_logged_loss_is_finite_where_steps_are_left_out(trainer):
    run = trainer()
    with pytest.warns(UserWarning, match="left out"):
        run.fit(ERM(network=nn.Linear(2, 2), on_nonfinite="skip"), *loaders(broken=[3]))
    assert run.callback_metrics["train_loss"].isfinite()


def test_skipping_changes_nothing_where_all_is_finite(trainer):
    found = []
    for choice in ("stop", "skip"):
        torch.manual_seed(0)
        made = ERM(network=nn.Linear(2, 2), on_nonfinite=choice)
        trainer(max_epochs=2).fit(made, *loaders())
        found.append(made.network.state_dict())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_unknown_choice_is_refused(refused):
    data = ["--data", "Shortcut", "--data.groups", "[6,4,4]"]
    assert "ignore" in refused("fit", "--model", "ERM", *data, "--model.on_nonfinite", "ignore")
    with pytest.raises(InputError, match="on_nonfinite is 'ignore'; give one of 'stop', 'skip'"):
        ERM(on_nonfinite="ignore")


def test_command_line_takes_both(fit, tmp_path):
    words = ["--model.on_nonfinite", "skip", "--model.detect", "true"]
    assert (fit(tmp_path, *words, method="DRU", epochs=2) / "selection.json").is_file()


def test_data_module_rows_are_those_of_the_source(trainer):
    data = Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16)
    part = data.part("train")
    part.dataset.tensors[0][7] = torch.nan
    with pytest.raises(InputError, match=f"training rows {int(part.rows[7])} "):
        trainer().fit(ERM(detect=True), datamodule=data)
