"""DFR: coefficients by hand, the last layer it ends with, and that no other epoch is chosen."""

import math

import numpy as np
import pytest
import torch
from lightning.pytorch import seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.utils.data import TensorDataset

from drurank.data import GroupDataModule, GroupedDataset, Shortcut
from drurank.data.dataset import InMemory
from drurank.data.loading import make_loader
from drurank.errors import InputError
from drurank.methods import DFR, ERM
from drurank.networks import Sizes
from drurank.training.last_layer import NEVER, check_subsets, mean_coefficients
from runs import SMALL, read_csv, read_json

SIZE = {"groups": [6, 4, 4], "group_size": 10, "batch_size": 16}


def fitted(features, label, subsets, **options):
    options = {"num_classes": 2, "penalty": "l2", "inverse_strength": 1.0, **options}
    return mean_coefficients(np.array(features, float), np.array(label), np.array(subsets), **options)


def test_l2_by_hand():
    # Features 3 and 7 are -1 and 1 once standardised (mean 5, deviation 2). With coefficient w and no intercept, by
    # symmetry, w^2 / 2 + 2 log(1 + e^-w) is least where w = 2 / (1 + e^w). In the features' units w / 2 each, half of
    # it for either class, and -5 times that as bias.
    w = brentq(lambda w: w - 2 / (1 + math.exp(w)), 0, 2)
    weight, bias = fitted([[3], [7]], [0, 1], [[0, 1]])
    np.testing.assert_allclose(weight, [[-w / 4], [w / 4]], atol=1e-4)
    np.testing.assert_allclose(bias, [5 * w / 4, -5 * w / 4], atol=1e-3)


@pytest.mark.parametrize(("inverse_strength", "w"), [(2, math.log(3)), (1, 0), (4, math.log(7))])
def test_l1_by_hand(inverse_strength, w):
    # |w| + 2 C log(1 + e^-w) has slope 1 - 2 C / (1 + e^w): 0 at e^w = 2 C - 1, and above 0 everywhere for C <= 1
    weight, _ = fitted([[-1], [1]], [0, 1], [[0, 1]], penalty="l1", inverse_strength=inverse_strength)
    np.testing.assert_allclose(weight, [[-w / 2], [w / 2]], atol=2e-3)


def test_mean_over_subsets_that_hold_the_class():
    # As above, standardised by all rows: features -1, 1, -1, 1 of classes 0, 1, 0, 2. Subset 1 tells 0 from 1, subset 2
    # tells 0 from 2, each with w; class 3 is in none.
    w = brentq(lambda w: w - 2 / (1 + math.exp(w)), 0, 2)
    weight, bias = fitted([[-1], [1], [-1], [1]], [0, 1, 0, 2], [[0, 1], [2, 3]], num_classes=4)
    np.testing.assert_allclose(weight, [[-w / 2], [w / 2], [w / 2], [0]], atol=1e-4)
    np.testing.assert_allclose(bias, [0, 0, 0, NEVER], atol=1e-4)


def test_subsets_of_one_class_are_left_out_and_refused_where_there_are_no_others():
    weight, _ = fitted([[-1], [1], [1]], [0, 1, 1], [[0, 1], [1, 2]])
    alone, _ = fitted([[-1], [1], [1]], [0, 1, 1], [[0, 1]])
    np.testing.assert_allclose(weight, alone)
    with pytest.raises(InputError, match="each balanced subset of 2 rows holds one class only"):
        check_subsets(np.array([0, 1, 1]), np.array([[1, 2], [2, 1]]))
    check_subsets(np.array([0, 1, 1]), np.array([[1, 2], [2, 0]]))


def test_constant_features_do_no_harm():
    """Also where their mean is not quite what they all are, as that of 997 times .3."""
    weight, bias = fitted([[3, 5], [7, 5]], [0, 1], [[0, 1]])
    assert np.isfinite(weight).all()
    assert np.isfinite(bias).all()
    label = np.arange(997) % 2
    free = np.random.default_rng(0).normal(size=997) + label
    alone, _ = fitted(free[:, None], label, [np.arange(997)])
    with_one, _ = fitted(np.stack([free, np.full(997, 0.3)], axis=1), label, [np.arange(997)])
    assert np.abs(with_one[:, 1]).max() < 1e-6
    np.testing.assert_allclose(with_one[:, 0], alone[:, 0], rtol=1e-3)


@pytest.mark.parametrize(("penalty", "solver"), [("l1", "liblinear"), ("l2", "lbfgs")])
def test_it_is_erm_with_another_last_layer(trainer, penalty, solver):
    runs = []
    for method in (ERM(), DFR(penalty=penalty, inverse_strength=0.5)):
        seed_everything(0, verbose=False)
        data = Shortcut(**SIZE)
        trainer(max_epochs=2).fit(method, datamodule=data)
        runs.append(method.network)
    plain, refitted = runs
    for name, value in plain.hidden_layers.state_dict().items():
        assert torch.equal(refitted.hidden_layers.state_dict()[name], value)
    # Groups of equal size: each subset is all rows.
    rows = data.dataset("train")[list(range(60))]
    plain.eval()
    features = plain.features(**rows["inputs"]) if isinstance(rows["inputs"], dict) else plain.features(rows["inputs"])
    features, label = features.detach().double().numpy(), rows["label"].numpy()
    centre, scale = features.mean(0), features.std(0)
    scale[scale == 0] = 1
    standard = (features - centre) / scale
    regression = LogisticRegression(C=0.5, l1_ratio=int(penalty == "l1"), solver=solver, max_iter=1000, random_state=0)
    # Rows of a subset come by group.
    regression.fit(
        standard[torch.argsort(data.dataset("train").group, stable=True)],
        label[torch.argsort(data.dataset("train").group, stable=True)],
    )
    want = standard @ regression.coef_[0] + regression.intercept_[0]
    refitted.eval()
    logits = refitted.head(torch.from_numpy(features).float()).detach()
    np.testing.assert_allclose((logits[:, 1] - logits[:, 0]).numpy(), want, atol=2e-2)


def test_subsets_hold_as_many_rows_of_each_group_as_the_smallest_has():
    method = DFR(subsets=5)
    group = torch.tensor([0] * 7 + [1] * 3 + [2] * 4)
    rows, places = method._draw(group)
    assert places.shape == (5, 9)
    for subset in places:
        drawn = rows[subset]
        assert len(drawn.unique()) == 9
        assert group[drawn].bincount().tolist() == [3, 3, 3]
    assert len({tuple(sorted(rows[subset].tolist())) for subset in places}) > 1


class TwoLayers(nn.Module):
    """One score for two classes, and a tensor for input."""

    def __init__(self, scores=1):
        super().__init__()
        self.hidden, self.head = nn.Linear(2, 4), nn.Linear(4, scores)

    def features(self, inputs):
        return self.hidden(inputs).tanh()

    def forward(self, inputs):
        return self.head(self.features(inputs))


class Logistic(nn.Module):
    def forward(self, scores, label):
        return nn.functional.binary_cross_entropy_with_logits(scores[:, 0], label.float(), reduction="none")


@pytest.mark.parametrize("scores", [1, 2])
def test_own_loader_and_single_score(trainer, scores):
    torch.manual_seed(0)
    inputs = torch.randn(40, 2)
    label = (inputs[:, 0] > 0).long()
    train = GroupedDataset(TensorDataset(inputs, label), torch.arange(40) % 4)
    val = GroupedDataset(TensorDataset(inputs, label), torch.arange(40) % 4, split="val")
    method = DFR(network=TwoLayers(scores), inverse_strength=100, **({"loss": Logistic()} if scores == 1 else {}))
    run = trainer(max_epochs=2)
    run.fit(method, make_loader(train, 16, shuffle=True), make_loader(val, 16))
    assert run.callback_metrics["val_overall"] >= 0.95  # a line between the classes, found on 40 rows


def test_only_the_last_epoch_is_chosen(fit, tmp_path):
    made = fit(tmp_path, "--select", "worst,qdcg10,tstat", method="DFR", epochs=3)
    chosen = read_json(made / "selection.json")
    assert [entry["epoch"] for entry in chosen.values()] == [2, 2, 2]
    assert [row["epoch"] for row in read_csv(made / "metrics.csv") if "val_qdcg10" in row] == ["0", "1", "2"]


def test_a_callback_of_lightnings_chooses_the_last_epoch_too(trainer, tmp_path):
    keep = ModelCheckpoint(dirpath=tmp_path, monitor="val_overall", mode="max", filename="{epoch}", save_top_k=-1)
    run = trainer(max_epochs=3, callbacks=[keep], enable_checkpointing=True)
    run.fit(DFR(), datamodule=Shortcut(**SIZE))
    assert [file.name for file in tmp_path.glob("*.ckpt")] == ["epoch=2.ckpt"]


class Parts(GroupDataModule):
    """Two features, the label told by the first; groups of one size."""

    sizes = Sizes(2, 2)
    label_names = ["0", "1"]

    def splits(self):
        return ["train", "ood_val", "id_val"]

    def make_dataset(self, split):
        inputs = torch.randn(24, 2, generator=torch.Generator().manual_seed(len(split)))
        group = torch.arange(24) % 4 + 4 * (split == "ood_val")
        label = (inputs[:, 0] + inputs[:, 1] ** 2 > 0.5).long()
        return GroupedDataset(TensorDataset(inputs, label), group, split=split)


def test_rows_of_a_named_split(trainer):
    method = DFR(split="id_val", network=TwoLayers(2), subsets=2)
    trainer(max_epochs=1).fit(method, datamodule=Parts())
    rows = Parts().dataset("id_val")[list(range(24))]
    features = method.network.features(rows["inputs"]).detach().double().numpy()
    weight, bias = mean_coefficients(
        features, rows["label"].numpy(), np.arange(24)[None], num_classes=2, penalty="l2", inverse_strength=1
    )
    np.testing.assert_allclose(method.network.head.weight.detach(), weight, atol=1e-2)
    np.testing.assert_allclose(method.network.head.bias.detach(), bias, atol=1e-2)


def test_split_that_the_choice_looks_at_is_refused(trainer):
    keep = ModelCheckpoint(monitor="id_val_worst", mode="max")
    with pytest.raises(InputError, match="checkpoints are chosen by split 'id_val'"):
        trainer(callbacks=[keep], enable_checkpointing=True).fit(
            DFR(split="id_val", network=TwoLayers(2)), datamodule=Parts()
        )


class Elsewhere(TwoLayers):
    """Scores that are not those of the last layer on the features."""

    def forward(self, inputs):
        return super().forward(inputs) + inputs.sum(dim=1, keepdim=True) * torch.tensor([1.0, -1.0])


class Long(TwoLayers):
    """Features that are no vector by row."""

    def features(self, inputs):
        return super().features(inputs)[:, None]

    def forward(self, inputs):
        return super().forward(inputs)[:, 0]


def normed():
    network = TwoLayers(2)
    nn.utils.parametrizations.weight_norm(network.head)
    return network


def tied():
    network = TwoLayers(2)
    network.hidden = nn.Linear(4, 2)
    network.head = nn.Linear(4, 2)
    network.hidden.weight = network.head.weight
    return network


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Elsewhere(2), r"scores are head\(features\(x\)\)"),
        (lambda: Long(2), r"scores are head\(features\(x\)\)"),
        (normed, "a plain weight and bias of its own"),
        (tied, "a plain weight and bias of its own"),
    ],
)
def test_network_whose_last_layer_cannot_be_replaced_is_refused(trainer, make, said):
    with pytest.raises(InputError, match=said):
        trainer().fit(DFR(network=make()), datamodule=Parts())


def test_subsets_of_one_class_are_refused_before_training(trainer):
    inputs, label = torch.randn(8, 2), torch.zeros(8).long()
    train = GroupedDataset(InMemory(inputs, label), torch.arange(8) % 2)
    run = trainer()
    with pytest.raises(InputError, match="holds one class only"):
        run.fit(DFR(network=TwoLayers(2)), make_loader(train, 4))
    assert run.global_step == 0


@pytest.mark.parametrize("precision", ["64-true", "bf16-true", "bf16-mixed"])
def test_precisions(trainer, precision):
    method = DFR()
    trainer(precision=precision).fit(method, datamodule=Shortcut(**SIZE))
    assert method.selectable


def test_network_without_a_last_layer_is_refused(trainer):
    with pytest.raises(InputError, match="Linear lacks one of them"):
        trainer().fit(DFR(network=nn.Linear(2, 2)), datamodule=Parts())


def test_resume_is_exact_until_the_end_and_refused_after_it(trainer, tmp_path):
    def fit(epochs, **options):
        seed_everything(0, verbose=False)
        method = DFR()
        keep = ModelCheckpoint(dirpath=tmp_path, save_top_k=-1, filename="{epoch}")
        trainer(max_epochs=epochs, callbacks=[keep], enable_checkpointing=True).fit(
            method, datamodule=Shortcut(**SIZE), **options
        )
        return method.state_dict()

    whole = fit(3)
    for name, value in fit(3, ckpt_path=tmp_path / "epoch=1.ckpt").items():
        assert torch.equal(whole[name], value), name
    with pytest.raises(InputError, match="fitted by DFR"):
        fit(4, ckpt_path=tmp_path / "epoch=2.ckpt")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model.subsets", 0], "subsets is 0"),
        (["--model.inverse_strength", 0], "inverse_strength is 0"),
        (["--model.penalty", "l3"], "l3"),
        (["--model.split", "ood_test"], "ood_test"),
        (["--model.split", "ood_val"], "ood_val"),
        (["--model.split", "id_val"], "rows of split 'id_val' and there is only train, ood_val"),
        (["--trainer.fast_dev_run", "true"], "fast_dev_run ends before DFR fits"),
        (["--trainer.max_steps", 5], "no --trainer.max_steps or --trainer.max_time"),
        (["--trainer.max_time", "00:01:00:00"], "no --trainer.max_steps or --trainer.max_time"),
        (["--trainer.max_epochs", -1], "no --trainer.max_steps or --trainer.max_time"),
        (["--trainer.check_val_every_n_epoch", 2], "check_val_every_n_epoch that divides it"),
        (["--trainer.val_check_interval", 0.5], "no --trainer.val_check_interval"),
        (
            [
                "--trainer.callbacks",
                "EarlyStopping",
                "--trainer.callbacks.monitor",
                "val_worst",
                "--trainer.callbacks.mode",
                "max",
            ],
            "EarlyStopping would have no effect",
        ),
    ],
)
def test_what_cannot_go_well_is_refused(refused, tmp_path, words, said):
    where = ["--trainer.default_root_dir", tmp_path, "--trainer.max_epochs", 3]
    assert said in refused("fit", "--model", "DFR", *SMALL, *where, *words)
