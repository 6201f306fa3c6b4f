"""The code blocks of docs/own_code.md, and what comes of them."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from drurank.data import GroupedDataset, evaluation_loader
from drurank.data.loading import make_loader
from drurank.errors import InputError
from drurank.methods import DRU
from drurank.training.contract import checked_correct

PAGE = Path(__file__).parents[2] / "docs" / "own_code.md"


@pytest.fixture(scope="module")
def page():
    """What the blocks of the page define, run one after the other."""
    names = {"__name__": "own_code"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) == 6
    torch.manual_seed(0)
    with pytest.warns(UserWarning, match=r"GroupDCG leaves out 1 of 3 groups.*: group 1$"):
        exec(compile("\n".join(blocks), str(PAGE), "exec"), names)
    return names


def test_metrics_of_the_page_have_the_values_beside_them(page):
    assert page["by_group"].tolist() == [1, 1]
    assert page["of_losses"].item() == pytest.approx(0.826186, abs=1e-6)


def test_tilted_objective_is_the_log_of_a_mean(page):
    losses = torch.tensor([0.5, 1.5, 0.1])
    batch = {"rows": 3, "largest": 3}
    objective = page["Tilted"]().reduce(losses, batch, {})
    assert objective.item() == pytest.approx(np.log(np.exp(2 * losses.numpy()).mean()) / 2, rel=1e-6)


def test_several_labels_are_right_together(page):
    method = page["several"]
    output, label = torch.tensor([[1.0, -1.0], [1.0, 1.0]]), torch.tensor([[1, 0], [1, 0]])
    assert method.is_correct(output, label).tolist() == [True, False]
    assert method.record.correct.shape == (64,)
    wrong = method.record.correct == 0
    assert wrong.any()
    assert (method.state["weight"][~wrong] == 1).all()


def test_a_number_is_correct_within_its_tolerance(page):
    assert page["number"].is_correct(torch.tensor([[1.0], [1.0]]), torch.tensor([2.0, 2.5])).tolist() == [True, False]
    assert set(page["number"].record.correct.tolist()) == {0, 1}


def test_criteria_count_by_the_same_notion(page, trainer):
    # Labels 0 and 5, a network that gives 0.4 for all: the even rows are within 1, and groups alternate
    network = nn.Linear(3, 1)
    with torch.no_grad():
        network.weight.zero_()
        network.bias.fill_(0.4)
    label = torch.tensor([0.0, 5.0] * 10)
    parts = [
        GroupedDataset(TensorDataset(torch.randn(20, 3), label), torch.arange(20) % 2, split=split)
        for split in ("train", "val")
    ]
    train = make_loader(parts[0], 5)
    method = page["WithinOne"](
        network=network, loss=page["Squared"](), optimizer=lambda params: torch.optim.SGD(params, lr=0.0)
    )
    run = trainer()
    run.fit(method, train, [make_loader(parts[1], 5), evaluation_loader(train)])
    assert float(run.callback_metrics["val_worst"]) == 0
    assert float(run.callback_metrics["val_average"]) == 0.5
    assert method.record.group_accuracy()[0].tolist() == [1, 0]


def test_two_optimizers_are_one_where_their_rates_are_equal(page, trainer):
    # SGD on disjoint parameters with one rate is SGD on all
    class Equal(page["TwoRates"]):
        def configure_optimizers(self):
            return [torch.optim.SGD(part.parameters(), lr=0.1) for part in self.network]

    x = page["x"]
    rows = GroupedDataset(TensorDataset(x, (x[:, 0] > 0).long()), [f"g{row % 4}" for row in range(64)])
    found = []
    for make in (Equal, DRU):
        torch.manual_seed(1)
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        method = make(
            network=network, accuracy_from="training", optimizer=lambda params: torch.optim.SGD(params, lr=0.1)
        )
        trainer(max_epochs=3).fit(method, make_loader(rows, 8))
        found.append(network.state_dict())
    for name, value in found[0].items():
        torch.testing.assert_close(value, found[1][name], rtol=0, atol=1e-7)


def test_images(trainer):
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    rows = GroupedDataset(TensorDataset(torch.randn(16, 3, 8, 8), torch.arange(16) % 2), torch.arange(16) % 4)
    method = DRU(network=network)
    train = make_loader(rows, 4)
    trainer().fit(method, train, [evaluation_loader(train)])
    assert (method.record.correct >= 0).all()


def test_scores_of_nan_are_right_by_no_notion(page):
    output, label = torch.tensor([[torch.nan, -1.0], [1.0, -1.0]]), torch.tensor([[0, 0], [1, 0]])
    assert checked_correct(page["several"].is_correct(output, label), output).tolist() == [False, True]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (torch.tensor([0, 10**12]), "go up to number 1,000,000,000,000 in 2 rows"),
        (np.array([0, 2**63 + 5], dtype=np.uint64), "is too large a number"),
    ],
)
def test_group_numbers_with_gaps_are_refused(groups, said):
    with pytest.raises(InputError, match=said):
        GroupedDataset(TensorDataset(torch.zeros(2, 1), torch.zeros(2).long()), groups)


def test_what_was_loaded_is_fitted_anew_on_other_data_with_another_rate(trainer, tmp_path):
    def data(seed):
        inputs = torch.randn(8, 2, generator=torch.Generator().manual_seed(seed))
        return make_loader(GroupedDataset(TensorDataset(inputs, torch.arange(8) % 2), torch.arange(8) % 4), 4)

    first = trainer(enable_checkpointing=True, default_root_dir=tmp_path)
    first.fit(DRU(network=nn.Linear(2, 2), accuracy_from="training"), data(0))
    path = first.checkpoint_callback.best_model_path
    loaded = DRU.load_from_checkpoint(
        path, network=nn.Linear(2, 2), optimizer=lambda params: torch.optim.SGD(params, lr=0.0)
    )
    before = {name: value.clone() for name, value in loaded.state_dict().items()}
    trainer().fit(loaded, data(1))
    assert all(torch.equal(before[name], value) for name, value in loaded.state_dict().items())
