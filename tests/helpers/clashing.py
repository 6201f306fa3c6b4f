"""Classes of a person's own whose arguments are called as those of built-in ones, with other defaults."""

import torch
from lightning.pytorch import Callback, LightningDataModule
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.plugins import HalfPrecision
from lightning.pytorch.profilers import SimpleProfiler
from lightning.pytorch.strategies import DDPStrategy
from torch import nn

from drurank.methods import ERM


class Network(nn.Module):
    def __init__(self, sizes, hidden: int = 16, layers: int = 1, dropout: float = 0.0, activation: str = "tanh"):
        super().__init__()
        self.layer = nn.Linear(sizes.in_features, sizes.num_classes)

    def forward(self, x):
        return self.layer(x)


class WithoutSizes(nn.Module):
    def __init__(self, width: int = 5, dropout: float = 0.25):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, 2))

    def forward(self, x):
        return self.layers(x)


class Loss(nn.Module):
    def __init__(self, label_smoothing: float = 0.5):
        super().__init__()


class Bare(nn.Module):
    """Takes no arguments at all."""


class Descent(torch.optim.SGD):
    def __init__(self, params, lr: float = 0.5, weight_decay: float = 0.25):
        super().__init__(params, lr=lr, weight_decay=weight_decay)


class Steps(torch.optim.lr_scheduler.StepLR):
    def __init__(self, optimizer, gamma: float = 0.75, last_epoch: int = -1):
        super().__init__(optimizer, 7, gamma, last_epoch)


class Method(ERM):
    def __init__(self, cutoff: int = 9, ties: str = "mine", **kwargs):
        super().__init__(**kwargs)


class Data(LightningDataModule):
    def __init__(self, batch_size: int = 7, seed: int = 5, agreement: float = 0.125):
        super().__init__()


class Stop(Callback):
    def __init__(self, patience: int = 9, min_delta: float = 0.5):
        super().__init__()


class Log(CSVLogger):
    def __init__(self, save_dir: str = "here", name: str = "mine", flush_logs_every_n_steps: int = 3):
        super().__init__(save_dir, name, flush_logs_every_n_steps=flush_logs_every_n_steps)


class Precision(HalfPrecision):
    def __init__(self, precision: str = "bf16-true"):
        super().__init__(precision)


class Profile(SimpleProfiler):
    def __init__(self, filename: str = "mine", extended: bool = False):
        super().__init__(filename=filename, extended=extended)


class Spread(DDPStrategy):
    def __init__(self, process_group_backend: str = "gloo", start_method: str = "spawn"):
        super().__init__(process_group_backend=process_group_backend, start_method=start_method)


class WithHead(ERM):
    """Has a class-typed option with a default class of its own."""

    def __init__(self, head: nn.Module = {"class_path": "clashing.Head"}, **kwargs):  # noqa: B006
        super().__init__(**kwargs)


class Head(nn.Module):
    def __init__(self, width: int = 3):
        super().__init__()


class OtherHead(nn.Module):
    def __init__(self, width: int = 11):
        super().__init__()
