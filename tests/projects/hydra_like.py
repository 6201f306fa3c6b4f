"""As of a hydra template: whatever runs is named by ``_target_`` in a configuration; optimizers are partials."""

import importlib
from functools import partial

import torch
from lightning.pytorch import LightningDataModule, LightningModule, seed_everything
from torch import nn
from torch.utils.data import DataLoader, Dataset

from domains import Pictures

CONFIG = {
    "seed": 1,
    "data": {"_target_": "PicturesDataModule", "batch_size": 32},
    "model": {
        "_target_": "PicturesModule",
        "net": {"_target_": "SimpleDenseNet", "hidden": 16},
        "optimizer": {"_target_": "torch.optim.Adam", "_partial_": True, "lr": 0.01},
    },
    "trainer": {
        "_target_": "lightning.pytorch.Trainer",
        "max_epochs": 3,
        "accelerator": "cpu",
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
    },
}


def instantiate(config, **more):
    options = {key: instantiate(value) if isinstance(value, dict) else value for key, value in config.items()}
    if "_target_" not in options:
        return options
    module, _, name = options.pop("_target_").rpartition(".")
    target = getattr(importlib.import_module(module), name) if module else globals()[name]
    return partial(target, **options) if options.pop("_partial_", False) else target(**options, **more)


class DomainPictures(Dataset):
    """Rows as dicts."""

    def __init__(self, seed):
        self.pictures = Pictures(seed)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        image, label = self.pictures[i]
        return {"x": image, "y": label, "domain": self.pictures.domain[i]}


class SimpleDenseNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(36, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, x):
        return self.layers(x)


class PicturesModule(LightningModule):
    def __init__(self, net, optimizer):
        super().__init__()
        self.save_hyperparameters(logger=False, ignore=["net"])
        self.net = net
        self.criterion = torch.nn.CrossEntropyLoss()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        loss = self.criterion(self(batch["x"]), batch["y"])
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val/loss", self.criterion(self(batch["x"]), batch["y"]))

    def configure_optimizers(self):
        return self.hparams.optimizer(self.parameters())


class PicturesDataModule(LightningDataModule):
    def __init__(self, batch_size):
        super().__init__()
        self.batch_size = batch_size
        self.train, self.val = DomainPictures(0), DomainPictures(1)

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, self.batch_size)


def fit(callbacks=()):
    seed_everything(CONFIG["seed"])
    trainer = instantiate(CONFIG["trainer"], callbacks=[*callbacks])
    trainer.fit(instantiate(CONFIG["model"]), datamodule=instantiate(CONFIG["data"]))
    return trainer


def logits(module, pictures):
    return module(pictures.image)
