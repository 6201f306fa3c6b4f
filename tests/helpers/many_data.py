"""Rows, networks and trainers of what many_processes.py runs."""

import torch
from lightning.pytorch import Callback, Trainer
from torch import nn
from torch.utils.data import TensorDataset

from drurank.data import GroupDataModule, GroupedDataset, Memberships
from drurank.networks import Sizes

GLOBAL_BATCH = 12  # that of one process, in whole shares of two and of three
SEVEN = ([0, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1])  # group 0: 1 of 2, group 1: 5 of 5
ODD = ([i % 7 != 0 and i % 5 != 3 for i in range(101)], [i % 5 for i in range(101)])
APART = ([i % 4 != 1 for i in range(31)], [i % 6 for i in range(31)])  # two or three processes read other groups
TWO = ([1, 0], [0, 1])
ONE = ([1], [0])


class Watch(Callback):
    """Notes the weights before each epoch's first batch and at the end, rows drawn, criteria and best checkpoints."""

    def __init__(self):
        self.weights, self.drawn, self.criteria, self.best = [], [], [], []

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        if batch_idx == 0:
            self.weights.append(module.state["weight"].clone())
            self.drawn.append([])
        self.drawn[-1].append(batch["index"].tolist())

    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking:
            logged = trainer.callback_metrics.items()
            self.criteria.append({name: float(value) for name, value in logged if name.startswith("val_")})

    def on_train_epoch_start(self, trainer, module):
        if trainer.current_epoch:
            self._note_best(trainer)

    def on_fit_end(self, trainer, module):
        self._note_best(trainer)
        self.weights.append(module.state["weight"].clone())

    def _note_best(self, trainer):
        self.best.append([keeper.best_model_path for keeper in trainer.checkpoint_callbacks if keeper.monitor])

    def seen(self):
        return {name: getattr(self, name) for name in ("weights", "drawn", "criteria", "best")}


def python_trainer(devices, epochs=1, **options):
    strategy = {"strategy": "ddp"} if devices > 1 else {}
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    options = {"accelerator": "cpu", "enable_model_summary": False, **quiet, **strategy, **options}
    return Trainer(devices=devices, max_epochs=epochs, **options)


def frozen():
    """A network whose logits are its inputs, and stay so."""
    network = nn.Linear(2, 2)
    with torch.no_grad():
        network.weight.copy_(torch.eye(2))
        network.bias.zero_()
    return {"network": network, "optimizer": lambda params: torch.optim.SGD(params, lr=0.0)}


def rows(right, group, split=None):
    """Rows that the frozen network gets right where told."""
    right = torch.tensor(right).bool()
    inputs = torch.stack([right.float(), (~right).float()], dim=1)
    return GroupedDataset(TensorDataset(inputs, torch.zeros(len(right)).long()), torch.tensor(group), split=split)


class Parts(GroupDataModule):
    """Parts with rows that the frozen network gets right where told; batches of the same size over all processes."""

    def __init__(self, devices, train, val, test=ODD, **options):
        super().__init__(batch_size=GLOBAL_BATCH // devices, **options)
        self.rows = {"train": train, "val": val, "test": test}

    def splits(self):
        return list(self.rows)

    def make_dataset(self, split):
        return rows(*self.rows[split], split=split)

    @property
    def sizes(self):
        return Sizes(2, 2)

    @property
    def label_names(self):
        return ["0", "1"]


class Bent(Parts):
    """The same groups, and two classes that a bent line tells apart."""

    def make_dataset(self, split):
        group = super().make_dataset(split).group
        inputs = torch.randn(len(group), 2, generator=torch.Generator().manual_seed(1))
        label = (inputs[:, 0] + inputs[:, 1] ** 2 > 0.5).long()
        return GroupedDataset(TensorDataset(inputs, label), group, split=split)


def memberships(group):
    """Each row in its group and in the one before it, but every fifth in none, and each third of the others in one."""
    pairs = [
        (row, (of - back) % (int(max(group)) + 1))
        for row, of in enumerate(group)
        for back in range(0 if row % 5 == 4 else 1 if row % 3 == 2 else 2)
    ]
    return Memberships.of(*map(torch.tensor, zip(*pairs, strict=True)), len(group))


class Overlapping(Bent):
    """The same rows, in groups that overlap."""

    @property
    def overlap(self):
        return True

    def make_dataset(self, split):
        whole = super().make_dataset(split)
        groups = memberships(whole.group.tolist())
        names = [str(number) for number in range(int(whole.group.max()) + 1)]
        return GroupedDataset(whole.dataset, groups, group_names=names, split=split)


class Deeper(nn.Module):
    """A network with a last layer of its own, the same in every process."""

    def __init__(self, dropout=0.0):
        super().__init__()
        torch.manual_seed(3)
        self.hidden, self.dropout, self.head = nn.Linear(2, 8), nn.Dropout(dropout), nn.Linear(8, 2)

    def features(self, inputs):
        return self.dropout(self.hidden(inputs).tanh())

    def forward(self, inputs):
        return self.head(self.features(inputs))
