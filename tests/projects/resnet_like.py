"""As the tutorial that trains a ResNet: log-probabilities, one ``evaluate`` for both stages, a rate by step."""

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

from domains import Pictures


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.norm(self.conv(x)))


def create_model():
    return nn.Sequential(nn.Conv2d(1, 4, 1), Block(4), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(36, 2))


class LitResnet(LightningModule):
    def __init__(self, lr=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.model = create_model()

    def forward(self, x):
        return F.log_softmax(self.model(x), dim=1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.nll_loss(self(x), y)

    def evaluate(self, batch, stage):
        x, y = batch
        output = self(x)
        self.log(f"{stage}_loss", F.nll_loss(output, y), prog_bar=True)
        self.log(f"{stage}_acc", (output.argmax(dim=1) == y).float().mean(), prog_bar=True)

    def validation_step(self, batch, batch_idx):
        self.evaluate(batch, "val")

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)
        scheduler = OneCycleLR(optimizer, 0.1, total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def fit(callbacks=()):
    seed_everything(1)
    train, val = Pictures(0), Pictures(1)
    train_loader = DataLoader(TensorDataset(train.image, train.label), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(val.image, val.label), batch_size=32)
    model = LitResnet(lr=0.05)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(max_epochs=3, accelerator="cpu", callbacks=[*callbacks], **quiet)
    trainer.fit(model, train_loader, val_loader)
    return trainer


def logits(module, pictures):
    return module(pictures.image)
