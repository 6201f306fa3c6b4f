"""As of a template to fine-tune: a network of timm, PIL images, torchvision's transforms, a LightningDataModule."""

import timm
import torch
from lightning.pytorch import LightningDataModule, LightningModule, Trainer, seed_everything
from torch import nn
from torch.utils.data import DataLoader
from torchmetrics.classification import MulticlassAccuracy
from torchvision import transforms as T
from torchvision.datasets import VisionDataset

from domains import Pictures

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class PictureFolder(VisionDataset):
    """Samples as of an ``ImageFolder``: PIL images, and the numbers of their classes."""

    def __init__(self, seed, transform):
        super().__init__(root="", transform=transform)
        pictures = Pictures(seed)
        pixels = ((pictures.image + 4) / 8).clamp(0, 1).expand(-1, 3, -1, -1)
        self.samples = [
            (T.ToPILImage()(image), int(label)) for image, label in zip(pixels, pictures.label, strict=True)
        ]
        self.domains = pictures.domain

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        image, target = self.samples[index]
        return self.transform(image), target


class PictureDataModule(LightningDataModule):
    def __init__(self, image_size=24, batch_size=32):
        super().__init__()
        self.save_hyperparameters()
        self.transform = T.Compose([T.Resize(image_size), T.ToTensor(), T.Normalize(MEAN, STD)])

    def setup(self, stage=None):
        self.train_set = PictureFolder(0, self.transform)
        self.val_set = PictureFolder(1, self.transform)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.hparams.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.hparams.batch_size)


class ImageModel(LightningModule):
    def __init__(self, model_name="resnet10t", num_classes=2, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.model = timm.create_model(model_name, pretrained=False, num_classes=num_classes)
        self.loss_fn = nn.CrossEntropyLoss()
        self.val_acc = MulticlassAccuracy(num_classes)

    def forward(self, x):
        return self.model(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss_fn(self(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.val_acc(self(x), y)
        self.log("val_acc", self.val_acc, prog_bar=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.trainer.max_epochs)]


def fit(callbacks=()):
    seed_everything(1)
    model, datamodule = ImageModel(), PictureDataModule()
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(max_epochs=3, accelerator="cpu", callbacks=[*callbacks], **quiet)
    trainer.fit(model, datamodule=datamodule)
    return trainer


def logits(module, pictures):
    folder = PictureFolder(pictures.seed, PictureDataModule().transform)
    return module(torch.stack([folder[index][0] for index in range(len(folder))]))
