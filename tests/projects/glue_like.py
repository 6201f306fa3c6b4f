"""As the tutorial that tunes a transformer on GLUE: dicts of token ids, an output object that holds loss and logits."""

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch.utils.data import DataLoader, Dataset

from domains import Pictures


class Tokens(Dataset):
    """Rows of token ids; a token of a label's own stands among others."""

    def __init__(self, seed):
        pictures = Pictures(seed)
        signs = (pictures.image.flatten(1)[:, :7] > 0).long()
        self.input_ids, self.labels, self.domain = 2 + 2 * torch.arange(7) + signs, pictures.label, pictures.domain

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        ids = self.input_ids[i]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": self.labels[i]}


def make_model(num_labels):
    from transformers import AutoModelForSequenceClassification, DistilBertConfig

    sizes = {"n_layers": 1, "n_heads": 2, "dim": 16, "hidden_dim": 16, "vocab_size": 16}
    config = DistilBertConfig(max_position_embeddings=8, num_labels=num_labels, **sizes)
    return AutoModelForSequenceClassification.from_config(config)


class GLUETransformer(LightningModule):
    def __init__(self, num_labels=2, learning_rate=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.model = make_model(num_labels)

    def forward(self, **inputs):
        return self.model(**inputs)

    def training_step(self, batch, batch_idx):
        return self(**batch).loss

    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        self.log("val_loss", self(**batch).loss, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.learning_rate)


def fit(callbacks=()):
    seed_everything(1)
    train, val = (DataLoader(Tokens(seed), batch_size=32, shuffle=seed == 0) for seed in (0, 1))
    model = GLUETransformer(num_labels=2)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(max_epochs=3, accelerator="cpu", callbacks=[*callbacks], **quiet)
    trainer.fit(model, train, val)
    return trainer


def logits(module, rows):
    inputs = {"input_ids": rows.input_ids, "attention_mask": torch.ones_like(rows.input_ids)}
    output = (module.network or module.model)(**inputs) if hasattr(module, "network") else module(**inputs)
    return getattr(output, "logits", output)
