"""As a task of torchgeo's: options kept as hyperparameters, dicts of images, a rate that follows ``val_loss``."""

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, Dataset

from domains import Pictures


class Scenes(Dataset):
    """Scenes of regions."""

    def __init__(self, seed):
        self.pictures = Pictures(seed)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        image, label = self.pictures[i]
        return {"image": image, "label": label, "region": self.pictures.domain[i]}


class ClassificationTask(LightningModule):
    def __init__(self, num_classes=2, lr=1e-2, patience=0):
        super().__init__()
        self.save_hyperparameters()
        self.configure_losses()
        self.model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, num_classes))

    def configure_losses(self):
        self.criterion = nn.CrossEntropyLoss()

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams["lr"])
        scheduler = ReduceLROnPlateau(optimizer, patience=self.hparams["patience"])
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_loss"}}

    def forward(self, image):
        return self.model(image)

    def training_step(self, batch, batch_idx, dataloader_idx=0):
        return self.criterion(self(batch["image"]), batch["label"])

    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        self.log("val_loss", self.criterion(self(batch["image"]), batch["label"]))


def fit(callbacks=()):
    seed_everything(1)
    train = DataLoader(Scenes(0), batch_size=32, shuffle=True)
    val = DataLoader(Scenes(1), batch_size=32)
    task = ClassificationTask(lr=1e-2)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(max_epochs=3, accelerator="cpu", callbacks=[*callbacks], **quiet)
    trainer.fit(task, train, val)
    return trainer


def logits(module, pictures):
    return module(pictures.image)
