"""Drop-in, first grade: our method with your network, dataset, loaders and Trainer."""

import torch
from lightning.pytorch import Trainer, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from drurank.data import GroupedDataset, evaluation_loader
from drurank.methods import DRU


def rows_of(writers: int, each: int) -> tuple[TensorDataset, list[str]]:
    """Any map-style dataset of (inputs, label), and the group of each row; some writers' labels are noisy."""
    x = torch.randn(writers * each, 10)
    noisy = torch.arange(writers).repeat_interleave(each) % 5 == 0
    label = (x[:, 0] + noisy * torch.randn(len(x)) > 0).long()
    return TensorDataset(x, label), [f"writer {i}" for i in range(writers) for _ in range(each)]


def fit(max_epochs: int = 3) -> Trainer:
    seed_everything(0)
    train = DataLoader(GroupedDataset(*rows_of(100, 30)), batch_size=64, shuffle=True)
    val = DataLoader(GroupedDataset(*rows_of(40, 30), split="ood_val"), batch_size=256)
    network = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))
    best = ModelCheckpoint(monitor="val_qdcg10", mode="min")
    trainer = Trainer(max_epochs=max_epochs, callbacks=[best], accelerator="cpu")
    trainer.fit(DRU(network=network, cutoff=100), train, [val, evaluation_loader(train)])
    print(f"best by qdcg10: {best.best_model_path}, {best.best_model_score:.4f}")
    return trainer


if __name__ == "__main__":
    fit()
