"""As kornia's tutorial: the batch is augmented on the device, in ``on_after_batch_transfer``, while it trains."""

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from domains import Pictures


class Augmentation(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        flip = torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5
        return torch.where(flip, x.transpose(2, 3), x)


class CoolSystem(LightningModule):
    def __init__(self):
        super().__init__()
        self.augment = Augmentation()
        self.model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))

    def forward(self, x):
        return self.model(x)

    def on_after_batch_transfer(self, batch, dataloader_idx):
        if self.trainer.training:
            batch[0] = self.augment(batch[0])
        return batch

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("valid_loss", F.cross_entropy(self(x), y))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def fit(callbacks=()):
    seed_everything(1)
    train, val = Pictures(0), Pictures(1)
    train_loader = DataLoader(TensorDataset(train.image, train.label), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(val.image, val.label), batch_size=32)
    model = CoolSystem()
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(max_epochs=3, accelerator="cpu", callbacks=[*callbacks], **quiet)
    trainer.fit(model, train_loader, val_loader)
    return trainer


def logits(module, pictures):
    return module(pictures.image)
