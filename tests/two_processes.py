"""What test_distributed.py runs in two processes, and once more in one: ``python two_processes.py FOLDER``.

Lightning starts the second process by running the script anew. Each writes what it saw to FOLDER/<rank>.pt.
"""

import os
import sys
from pathlib import Path

import torch
from lightning.pytorch import Callback, Trainer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from drurank.cli import main
from drurank.data import GroupDataModule, GroupedDataset, evaluation_loader
from drurank.methods import DFR, DRU, IRM, JTT, ChiSquare, CVaR, GroupDRO
from drurank.networks import Sizes
from runs import QUIET

EPOCHS = 3


class Watch(Callback):
    """Notes, by epoch, the weights before the first batch, the criteria, and the best checkpoint so far."""

    def __init__(self):
        self.weights, self.criteria, self.best, self.drawn = [], [], [], []

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        if batch_idx == 0:
            self.weights.append(module.state["weight"].clone())
            self.drawn.append([])
        self.drawn[-1].append(batch["index"].tolist())

    def on_train_epoch_start(self, trainer, module):
        if trainer.current_epoch:
            self._note(trainer)

    def on_fit_end(self, trainer, module):
        self._note(trainer)
        self.weights.append(module.state["weight"].clone())

    def _note(self, trainer):
        logged = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("val_")}
        self.criteria.append(logged)
        self.best.append([c.best_model_path for c in trainer.checkpoint_callbacks if c.monitor])

    def seen(self):
        return {"weights": self.weights, "criteria": self.criteria, "best": self.best, "drawn": self.drawn}


WATCH = Watch()


class Watching(DRU):
    """DRU with the callback above, which the command line takes no instance of."""

    def configure_callbacks(self):
        return [WATCH]


def command_line(devices, folder):
    """33 training rows and 9 of validation, so that the last global batch of 8 has a single row."""
    data = ["--data", "Shortcut", "--data.groups", "[11,3,3]", "--data.group_size", "3", "--data.agreement", "0.6"]
    method = ["--model", f"{__name__}.Watching", "--model.network", "MLP", "--model.network.dropout", "0"]
    where = ["--trainer.default_root_dir", str(folder), "--trainer.max_epochs", str(EPOCHS), "--select", "worst,qdcg10"]
    parallel = ["--trainer.devices", str(devices)] + (["--trainer.strategy", "ddp"] if devices > 1 else [])
    size = ["--data.batch_size", str(8 // devices), "--model.optimizer", "AdamW", "--model.optimizer.lr", "0.01"]
    main(["fit", *method, *data, *where, *size, *parallel, *QUIET])
    main(["test", "--run", str(folder / "version_0"), *QUIET])
    last = str(folder / "version_0/checkpoints/last.ckpt")
    main(["predict", "--ckpt_path", last, *QUIET])
    return WATCH.seen()


def python_trainer(devices, epochs=1):
    strategy = {"strategy": "ddp"} if devices > 1 else {}
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    return Trainer(
        accelerator="cpu", devices=devices, max_epochs=epochs, enable_model_summary=False, **quiet, **strategy
    )


def frozen(rate=0.0):
    """A network whose logits are its inputs; with a rate of 0 it stays so."""
    network = nn.Linear(2, 2)
    with torch.no_grad():
        network.weight.copy_(torch.eye(2))
        network.bias.zero_()
    return {"network": network, "optimizer": lambda params: torch.optim.SGD(params, lr=rate)}


def rows(right, group, split=None):
    """Rows that the frozen network gets right where told."""
    right = torch.tensor(right).bool()
    inputs = torch.stack([right.float(), (~right).float()], dim=1)
    return GroupedDataset(TensorDataset(inputs, torch.zeros(len(right)).long()), torch.tensor(group), split=split)


SEVEN = ([0, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1])  # group 0: 1 of 2, group 1: 5 of 5
ODD = ([i % 7 != 0 and i % 5 != 3 for i in range(101)], [i % 5 for i in range(101)])


class Deeper(nn.Module):
    """A network with a last layer of its own, the same in every process."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.hidden, self.head = nn.Linear(2, 3), nn.Linear(3, 2)

    def features(self, inputs):
        return self.hidden(inputs).tanh()

    def forward(self, inputs):
        return self.head(self.features(inputs))


class Odd(GroupDataModule):
    """101 training rows of 5 groups, and validation and test parts of as few rows as told."""

    def __init__(self, devices, val, test, batch_size=12, **options):
        super().__init__(batch_size=batch_size // devices, **options)
        self.rows = {"train": ODD, "val": val, "test": test}

    def splits(self):
        return list(self.rows)

    def make_part(self, split):
        return rows(*self.rows[split], split=split)

    @property
    def sizes(self):
        return Sizes(2, 2)

    @property
    def label_names(self):
        return ["0", "1"]


class Labelled(Odd):
    """The same rows with two classes that a bent line tells apart."""

    def make_part(self, split):
        group = super().make_part(split).group
        inputs = torch.randn(len(group), 2, generator=torch.Generator().manual_seed(1))
        label = (inputs[:, 0] + inputs[:, 1] ** 2 > 0.5).long()
        return GroupedDataset(TensorDataset(inputs, label), group, split=split)


def of_data_module(devices, accuracy_from, val):
    trainer, method = python_trainer(devices), DRU(accuracy_from=accuracy_from, **frozen())
    data = Odd(devices, val, ODD)
    trainer.fit(method, datamodule=data)
    seen = {name: float(value) for name, value in trainer.callback_metrics.items()}
    accuracy, count = method.record.group_accuracy()
    (tested,) = trainer.test(method, datamodule=data, verbose=False)
    weight = method.state["weight"]
    return {"logged": seen, "accuracy": accuracy, "count": count, "weight": weight, "tested": tested}


def own_loaders(devices):
    """Loaders of a person's own: Lightning shuffles the first under DDP and pads the second."""
    train, val = rows(*SEVEN), rows(*SEVEN, split="val")
    seen = {}
    for accuracy_from in ("evaluation", "training"):
        trainer, method = python_trainer(devices), DRU(accuracy_from=accuracy_from, **frozen())
        loader = DataLoader(train, batch_size=2, shuffle=False)
        vals = [DataLoader(val, batch_size=2)]
        vals += [evaluation_loader(loader)] if accuracy_from == "evaluation" else []
        trainer.fit(method, loader, vals)
        logged = {name: float(value) for name, value in trainer.callback_metrics.items()}
        seen[accuracy_from] = {"logged": logged, "correct": method.record.correct, "weight": method.state["weight"]}
    return seen


def nan_on_one_process(devices):
    """One row, so one process's loss, is nan in the one batch there is; every process must stop and say so."""
    data = Odd(devices, ODD, ODD, batch_size=102)
    data.part("train").dataset.tensors[0][7] = float("nan")
    try:
        python_trainer(devices).fit(DRU(accuracy_from="training", **frozen()), datamodule=data)
    except ValueError as error:
        return str(error)
    return "went on"


def worst_samples(devices):
    """Parameters after two epochs of objectives that look at the whole global batch; the last one has 5 rows."""
    found = {}
    for name, method in (
        ("cvar", CVaR(alpha=0.3, **frozen(0.5))),
        ("chi", ChiSquare(radius=0.5, **frozen(0.5))),
        ("dro", GroupDRO(step_size=0.3, **frozen(0.5))),
        ("jtt", JTT(first_stage_epochs=2, accuracy_from="training", **frozen(0.5))),
        ("irm", IRM(penalty_weight=3, anneal_steps=5, **frozen(0.5))),
        ("irm, shuffled", IRM(**frozen(0.5))),
        ("dfr", DFR(network=Deeper(), penalty="l2")),
    ):
        draw = {"sampler": "shuffle"} if name == "irm, shuffled" else {}
        draw = {"groups_per_batch": 2 // devices} if name == "irm" else draw
        data = (Labelled if name == "dfr" else Odd)(devices, ODD, ODD, **draw)
        python_trainer(devices, epochs=3).fit(method, datamodule=data)
        found[name] = {key: value.detach() for key, value in method.network.named_parameters()}
    return found


def everything(devices, folder):
    return {
        "worst samples": worst_samples(devices),
        "command line": command_line(devices, folder),
        "evaluation": of_data_module(devices, "evaluation", SEVEN),
        "training": of_data_module(devices, "training", ([1], [0])),  # one row: a process without any
        "own loaders": own_loaders(devices),
        "nan": nan_on_one_process(devices),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    seen = everything(2, folder)
    torch.save(seen, folder / f"{os.environ['LOCAL_RANK']}.pt")
