import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from drurank.callbacks import GroupReport
from drurank.data import GroupedDataset, Shortcut, evaluation_loader
from drurank.methods import ERM
from runs import SMALL, plain, read_csv, read_json

LABEL = torch.tensor([0, 0, 0, 0, 0, 1, 1, 2])
RIGHT = torch.tensor([1, 1, 1, 1, 0, 1, 0, 0], dtype=torch.bool)
GROUP = torch.tensor([0, 0, 0, 1, 1, 1, 1, 1])


class Given(nn.Module):
    """Logits are the inputs, plus what keeps an optimizer busy."""

    def __init__(self):
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(1))

    def forward(self, inputs):
        return inputs + self.nothing


def dataset(split, label=LABEL, right=RIGHT, group=GROUP):
    predicted = torch.where(right, label, (label + 1) % 3).long()
    return GroupedDataset(TensorDataset(nn.functional.one_hot(predicted, 3).float(), label), group, split=split)


def report_of(trainer, tmp_path, loader, method=None, train=None, **options):
    method = method or ERM(network=Given(), optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.0))
    if train is not None:
        trainer().fit(method, DataLoader(train, 4), [DataLoader(dataset("val"), 4), evaluation_loader(train)])
    run = trainer(callbacks=[GroupReport(show=False)], logger=CSVLogger(tmp_path), **options)
    run.test(method, loader, verbose=False)
    (file,) = tmp_path.rglob("report.json")
    return read_json(file)["splits"]["test"]


@pytest.mark.parametrize("rows", [range(8), [0, 0, 5, 1, 2, 3, 4, 5, 6, 7, 7, 7]], ids=["once", "some twice"])
def test_classes_are_counted_a_row_once(trainer, tmp_path, rows):
    found = report_of(trainer, tmp_path, DataLoader(dataset("test"), 3, sampler=list(rows)))
    assert found["balanced_accuracy"] == pytest.approx((4 / 5 + 1 / 2 + 0) / 3)
    answer = found["constant_answer"]
    assert (answer["label"], answer["value"], answer["commonest_in"]) == ("0", 5 / 8, "split")
    assert found["criteria"]["overall"]["value"] == 5 / 8


def test_constant_answer_is_the_commonest_class_of_the_training_rows(trainer, tmp_path):
    train = dataset("train", torch.tensor([1, 1, 1, 0, 2, 1, 0, 2]))
    answer = report_of(trainer, tmp_path, DataLoader(dataset("test"), 3), train=train)["constant_answer"]
    assert (answer["label"], answer["value"], answer["commonest_in"]) == ("1", 2 / 8, "training")


def test_rows_without_a_group_are_left_out_as_in_overall(trainer, tmp_path):
    rows = dataset("test", group=torch.where(LABEL == 2, -1, GROUP))
    found = report_of(trainer, tmp_path, DataLoader(rows, 3))
    assert found["criteria"]["overall"]["value"] == 5 / 7
    assert found["balanced_accuracy"] == pytest.approx((4 / 5 + 1 / 2) / 2)
    assert found["constant_answer"]["value"] == 5 / 7


class TopTwo(ERM):
    def is_correct(self, output, label):
        return (output.topk(2, dim=1).indices == label[:, None]).any(dim=1)


class Floats(ERM):
    def is_correct(self, output, label):
        return output.argmax(dim=1) == label.long()

    def sample_losses(self, output, label):
        return super().sample_losses(output, label.long())


@pytest.mark.parametrize(
    ("method", "rows", "options"),
    [
        (ERM, dataset("test"), {"limit_test_batches": 2}),
        (TopTwo, dataset("test"), {}),
        (Floats, dataset("test", label=LABEL.float()), {}),
    ],
    ids=["rows left out", "correct means something else", "labels that are no classes"],
)
def test_there_is_no_figure_where_not_every_row_has_a_known_class(trainer, tmp_path, method, rows, options):
    found = report_of(trainer, tmp_path, DataLoader(rows, 3), method(network=Given()), **options)
    assert found["balanced_accuracy"] is found["constant_answer"] is None
    assert found["criteria"]["overall"]["value"] is not None


def test_a_test_that_knows_no_training_rows_reads_their_classes_from_the_checkpoint(run, tmp_path):
    run("fit", *SMALL, "--model", "ERM", "--trainer.max_epochs", "1", "--trainer.default_root_dir", tmp_path)
    folder = tmp_path / "version_0"
    train = Shortcut(groups=[6, 4, 4], group_size=10).dataset("train")
    count = np.bincount([int(row["label"]) for row in train], minlength=2)
    assert plain(folder / "checkpoints/last.ckpt")["drurank"]["class_count"] == count.tolist()
    run("test", "--run", folder)
    found = read_json(folder / "test/qdcg10/report.json")["splits"]["ood_test"]
    assert found["constant_answer"]["commonest_in"] == "training"
    assert found["constant_answer"]["label"] == str(count.argmax())
    right = sum(int(row["correct"]) for row in read_csv(folder / "test/qdcg10/groups.csv"))
    assert found["criteria"]["overall"]["value"] == pytest.approx(right / 40)
