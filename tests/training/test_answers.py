"""What is answered for each row of an evaluation, and the criteria of figures that a fit chooses by."""

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader

from drurank.callbacks import GroupReport, best_by
from drurank.data import GroupedDataset
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.training.answers import RowAnswers
from fits import network, own_loaders, own_network, own_rows, small


def answers_of(module, part):
    x, label = part.dataset.tensors
    with torch.no_grad():
        said = module(x).argmax(dim=1)
    return label.numpy(), said.numpy(), part.group.numpy()


def worst_rate(label, said, group, of):
    """The highest share of rows of class ``of`` that are called the other one, over groups that have such rows."""
    about = label == of
    return max((said != of)[about & (group == g)].mean() for g in set(group[about]))


@pytest.mark.parametrize("method", [ERM, DRU])
def test_logged_values_are_those_of_the_rows(method, trainer):
    train, val = own_loaders()
    stop = [EarlyStopping(f"val_{name}", mode=mode, patience=9) for name, mode in WANTED.items()]
    run, module = trainer(max_epochs=2, callbacks=stop), method(network=own_network(), **OPTIONS[method])
    run.fit(module, train, val)
    label, said, group = answers_of(module, val.dataset)
    assert float(run.callback_metrics["val_worst-fpr"]) == pytest.approx(worst_rate(label, said, group, 0))
    assert float(run.callback_metrics["val_worst-tpr"]) == pytest.approx(1 - worst_rate(label, said, group, 1))
    assert float(run.callback_metrics["val_overall-error"]) == pytest.approx(np.mean(label != said))


WANTED = {"worst-fpr": "min", "worst-tpr": "max", "overall-error": "min"}
OPTIONS = {ERM: {}, DRU: {"accuracy_from": "training"}}


def test_the_positive_class_may_be_another_one(trainer):
    train, val = own_loaders()
    run = trainer(callbacks=[EarlyStopping("val_worst-fpr", mode="min")])
    module = ERM(network=own_network(), positive="0")
    run.fit(module, train, val)
    label, said, group = answers_of(module, val.dataset)
    assert float(run.callback_metrics["val_worst-fpr"]) == pytest.approx(worst_rate(label, said, group, 1))


def test_one_output_is_the_logit_of_class_1(trainer):
    train, val = own_loaders()
    run = trainer(
        callbacks=[EarlyStopping("val_worst-fpr", mode="min"), EarlyStopping("val_overall-brier", mode="min")]
    )
    module = ERM(network=nn.Linear(3, 1), loss=nn.BCEWithLogitsLoss(reduction="none"))
    module.sample_losses = lambda output, label: module.loss(output[:, 0], label.float())
    run.fit(module, train, val)
    x, label = val.dataset.dataset.tensors
    with torch.no_grad():
        score = module(x)[:, 0].sigmoid().numpy()
    label, group = label.numpy(), val.dataset.group.numpy()
    assert float(run.callback_metrics["val_worst-fpr"]) == pytest.approx(worst_rate(label, score > 0.5, group, 0))
    assert float(run.callback_metrics["val_overall-brier"]) == pytest.approx(np.mean((score - label) ** 2), rel=1e-5)


def test_a_checkpoint_is_kept_by_a_figure(trainer, tmp_path):
    run = trainer(max_epochs=3, enable_checkpointing=True, callbacks=best_by("worst-fpr", tmp_path / "kept"))
    module = ERM(network=network())
    run.fit(module, datamodule=small())
    kept = torch.load(tmp_path / "kept/worst-fpr.ckpt", weights_only=False)["epoch"]
    by_epoch = run.checkpoint_callbacks[0]
    assert float(by_epoch.best_model_score) <= float(run.callback_metrics["val_worst-fpr"])
    assert by_epoch.chosen_epoch == kept


def test_a_row_counts_once():
    answers = RowAnswers(3, torch.device("cpu"))
    answers.write(torch.tensor([0, 2, 2]), torch.tensor([1, 0, 0]), torch.tensor([[0.0, 1], [2, 0], [2, 0]]))
    answers.commit()
    rows = answers.outcomes(np.array([True, False, True]), None, None)
    assert rows.label.tolist() == [1, 0]
    assert rows.prediction.tolist() == [1, 0]
    assert rows.positive == 1
    np.testing.assert_allclose(rows.score, [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(2))], rtol=1e-6)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_have_no_figure(bad):
    answers = RowAnswers(2, torch.device("cpu"))
    answers.write(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.tensor([[bad, 1.0], [2, 0]]))
    answers.commit()
    with pytest.raises(InputError, match="nan or infinite scores for 1 of 2 rows"):
        answers.outcomes(np.array([True, True]), None, None)


@pytest.mark.parametrize(
    ("label", "output"),
    [
        (torch.zeros(2, 3), torch.zeros(2, 3)),
        (torch.zeros(2).long(), torch.zeros(2)),
        (torch.zeros(2), torch.zeros(2, 2)),
    ],
    ids=["several labels", "no class dimension", "float labels"],
)
def test_what_names_no_class_is_refused(label, output):
    with pytest.raises(InputError, match="other figures than accuracy need one class a row"):
        RowAnswers(2, torch.device("cpu")).write(torch.arange(2), label, output)


class Own(ERM):
    def is_correct(self, output, label):
        return output[:, 0] > 0


def test_a_module_that_judges_itself_has_no_figures(trainer):
    train, val = own_loaders()
    run = trainer(callbacks=[EarlyStopping("val_worst-fpr", mode="min")])
    with pytest.raises(InputError, match="Own has an is_correct of its own"):
        run.fit(Own(network=own_network()), train, val)
    with pytest.raises(InputError, match="figure 'fpr' is about predicted classes, and Own has an is_correct"):
        trainer(callbacks=[GroupReport(figure="fpr")]).test(Own(network=own_network()), val)


def test_three_classes_need_a_positive_one(trainer):
    x, groups = own_rows()
    x.tensors = (x.tensors[0], torch.arange(len(groups)) % 3)
    val = DataLoader(GroupedDataset(x, groups, split="val"), batch_size=7)
    run = trainer(callbacks=[EarlyStopping("val_worst-fpr", mode="min")])
    with pytest.raises(InputError, match=r"figure 'fpr' needs a positive class.*positive=.*'0', '1', '2'"):
        run.fit(ERM(network=nn.Linear(3, 3)), DataLoader(GroupedDataset(x, groups), batch_size=8), val)


def test_shrunk_figures_are_of_shares(trainer):
    run = trainer(callbacks=[EarlyStopping("val_worst-auroc", mode="max")])
    with pytest.raises(InputError, match="shrink=True shrinks shares of rows only, and 'worst-auroc' is of none"):
        run.fit(ERM(network=network(), shrink=True), datamodule=small())


def test_the_worst_value_is_not_kept(trainer):
    with pytest.raises(InputError, match="val_worst-fpr is monitored with mode='max'"):
        trainer(callbacks=[EarlyStopping("val_worst-fpr", mode="max")]).fit(ERM(network=network()), datamodule=small())
