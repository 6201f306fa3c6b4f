"""nan and inf: the run stops and says where, or leaves the steps out; nothing of them is kept."""

import math
import warnings
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import TensorDataset

from drurank import methods
from drurank.callbacks import BestByCriterion
from drurank.data import GroupedDataset, Shortcut, evaluation_loader
from drurank.data.loading import make_loader
from drurank.errors import InputError
from drurank.methods import DRU, ERM, GroupDRO
from drurank.training.losses import CrossEntropy
from drurank.training.nonfinite import NonFiniteWatch, broken_entry, has_gradient
from fits import Failing, own_loaders

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
    with pytest.raises(InputError, match=r"has nan or inf in network\.bias"):
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
    part = data.dataset("train")
    part.dataset.tensors[0][7] = torch.nan
    with pytest.raises(InputError, match=f"training rows {int(part.rows[7])} "):
        trainer().fit(ERM(detect=True), datamodule=data)


def test_run_stops_when_the_loss_is_nan_and_keeps_no_best(trainer, tmp_path):
    train, val = own_loaders()
    best = BestByCriterion("worst", dirpath=str(tmp_path / "checkpoints"))
    module = DRU(network=Failing(training=True))
    with pytest.raises(InputError, match="loss became nan or inf in epoch 0"):
        trainer(max_epochs=3, callbacks=[best], enable_checkpointing=True).fit(
            module, train, [val, evaluation_loader(train)]
        )
    assert module.state["weight"].isfinite().all()
    assert best.best_model_path == ""
    assert not list(tmp_path.rglob("*.ckpt"))


@pytest.mark.parametrize("every", [0, 1, 50])
def test_logging_interval_does_not_matter_for_that(trainer, every):
    train, _ = own_loaders()
    with pytest.raises(InputError, match="loss became nan or inf in epoch 0"):
        trainer(log_every_n_steps=every).fit(ERM(network=Failing(training=True)), train)


CPU, NAN, INF = torch.device("cpu"), math.nan, math.inf


def batch_end(watch, batch_idx=0, last=True, every=50, rows=6):
    """The end of a batch of a training set of two groups, numbered from row 100 in its source."""
    group, held = torch.arange(rows) % 2, TensorDataset(torch.zeros(rows, 1), torch.zeros(rows))
    train = GroupedDataset(held, group, group_names=["a", "b"], rows=torch.arange(100, 100 + rows))
    trainer = SimpleNamespace(
        log_every_n_steps=every, is_last_batch=last, current_epoch=3, train_dataloader=SimpleNamespace(dataset=train)
    )
    watch.on_train_batch_end(trainer, None, None, None, batch_idx)


def note(watch, losses, batch_idx=0, first=0):
    losses = torch.tensor(losses)
    watch.note(losses, losses.mean(), torch.arange(first, first + len(losses)), batch_idx)


def test_rows_of_the_first_broken_batch_are_named_and_not_those_of_later_ones():
    watch = NonFiniteWatch("stop", detect=True)
    watch.begin(6, CPU)
    note(watch, [1.0, 2.0], 0)
    note(watch, [NAN, 2.0], 1, first=2)
    note(watch, [NAN, INF], 2, first=4)  # the weights are nan by now
    with pytest.raises(InputError, match=r"nan or inf in epoch 3, first in training rows 102 \(groups a\)"):
        batch_end(watch)


def test_begin_forgets_what_was_noted():
    watch = NonFiniteWatch("stop", detect=True)
    watch.begin(6, CPU)
    note(watch, [NAN, 1.0])
    watch.begin(6, CPU)
    note(watch, [1.0, 2.0])
    batch_end(watch)


@pytest.mark.parametrize(
    ("every", "batch_idx", "last", "looks"),
    [(3, 2, False, True), (3, 1, False, False), (0, 2, False, False), (0, 2, True, True), (3, 1, True, True)],
)
def test_it_is_looked_at_once_a_logging_interval_and_at_the_end(every, batch_idx, last, looks):
    watch = NonFiniteWatch("stop", detect=False, hint="; the hint")
    watch.begin(2, CPU)
    note(watch, [INF, 1.0])
    if looks:
        with pytest.raises(InputError, match="the hint"):
            batch_end(watch, batch_idx, last, every)
    else:
        batch_end(watch, batch_idx, last, every)


def test_objective_that_is_nan_with_finite_losses_stops_too():
    watch = NonFiniteWatch("stop", detect=True)
    watch.begin(6, CPU)
    watch.note(torch.tensor([1.0, 2.0]), torch.tensor(NAN), torch.tensor([0, 1]), 0)
    with pytest.raises(InputError, match="although every loss was finite"):
        batch_end(watch)


def test_optimizer_is_handed_no_gradient_that_is_not_finite():
    parameter, other = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter, other], lr=1.0)
    buffer = torch.zeros(1)
    method = SimpleNamespace(
        trainer=SimpleNamespace(accumulate_grad_batches=1),
        buffers=lambda: [buffer],
        state={"weight": torch.ones(3), "q": torch.zeros(1)},
        constant_state=("weight",),
    )
    trainer = SimpleNamespace(precision_plugin=None)
    watch = NonFiniteWatch("skip", detect=False)
    watch.begin(3, CPU)
    for gradient, stepped in ((NAN, False), (1.0, True)):
        watch.begin_step(method, 0)
        buffer += 1
        method.state["q"] = method.state["q"] + 1
        parameter.grad, other.grad = torch.tensor([gradient, 1.0]), torch.tensor([1.0])
        watch.on_before_optimizer_step(trainer, method, optimizer)
        assert has_gradient(optimizer) == stepped
        assert buffer.item() == method.state["q"].item() == float(stepped)
    trainer.current_epoch = 3
    with pytest.warns(UserWarning, match="1 of 2 steps of epoch 3 had a gradient that is nan or inf and were left out"):
        watch.on_train_epoch_end(trainer, nn.Linear(1, 1))


def test_broken_entry_is_the_first():
    state = {"fine": torch.ones(2), "about": "nothing", "bad": torch.tensor([0, INF]), "worse": torch.tensor([NAN])}
    assert broken_entry(state) == "bad"
    assert broken_entry({"fine": torch.ones(2), "numbers": torch.arange(3)}) is None
    assert broken_entry({}) is None


def test_a_run_that_ends_within_an_epoch_says_what_it_left_out(trainer):
    run = trainer(max_epochs=2, max_steps=4)  # of 6 an epoch
    with pytest.raises(InputError, match=r"4 of 4 steps of epoch 0 .* so nothing was learned"):
        run.fit(ERM(network=nn.Linear(2, 2), optimizer=sgd, on_nonfinite="skip"), *loaders(broken=range(24)))


class Scaler:
    """Stands for the scaler of half precision, which leaves out steps by itself."""


def test_gradients_are_left_to_the_scaler_of_half_precision():
    parameter = nn.Parameter(torch.ones(2))
    optimizer, buffer = torch.optim.SGD([parameter], lr=1.0), torch.zeros(1)
    method = SimpleNamespace(
        trainer=SimpleNamespace(accumulate_grad_batches=1), buffers=lambda: [buffer], state={}, constant_state=()
    )
    watch = NonFiniteWatch("skip", detect=False)
    watch.begin(3, CPU)
    watch.begin_step(method, 0)
    buffer += 1
    parameter.grad = torch.tensor([NAN, 1.0])
    run = SimpleNamespace(precision_plugin=SimpleNamespace(scaler=Scaler()), current_epoch=0)
    watch.on_before_optimizer_step(run, method, optimizer)
    assert has_gradient(optimizer)
    assert buffer.item() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch.on_train_epoch_end(run, nn.Linear(1, 1))  # the scale was too large, which is nothing to say


def test_what_is_saved_as_a_run_ends_does_not_hide_why(trainer, tmp_path):
    keep = ModelCheckpoint(dirpath=tmp_path, save_on_exception=True)
    run = trainer(max_epochs=2, callbacks=[keep], enable_checkpointing=True)
    with pytest.raises(InputError, match="the training loss became nan or inf in epoch 0"):
        run.fit(ERM(network=nn.Linear(2, 2), optimizer=sgd), *loaders(broken=range(24)))
    assert not list(tmp_path.glob("*.ckpt"))
