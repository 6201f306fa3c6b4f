"""Fine-tunes a pretrained encoder on your table: python examples/texts.py reviews.csv [folder of an encoder]."""

import sys
from functools import partial

from lightning.pytorch import Trainer, seed_everything
from torch.optim import AdamW

from drurank.callbacks import GroupHistory, GroupReport, best_by
from drurank.data import Text
from drurank.methods import DRU
from drurank.networks import TextClassifier
from drurank.training.schedules import LinearDecay


def fit(path: str, tokenizer: str = "distilbert-base-uncased", max_epochs: int = 5) -> Trainer:
    seed_everything(0)
    data = Text(path, label="stars", group="writer", split="split", text="text", tokenizer=tokenizer, batch_size=16)
    rates = {"optimizer": partial(AdamW, lr=1e-5), "lr_scheduler": LinearDecay, "lr_interval": "step"}
    trainer = Trainer(max_epochs=max_epochs, callbacks=[*best_by("qdcg10,p10"), GroupHistory(), GroupReport()])
    trainer.fit(DRU(cutoff=100, network=TextClassifier, **rates), datamodule=data)
    trainer.test(datamodule=data, ckpt_path="best")
    return trainer


if __name__ == "__main__":
    fit(*sys.argv[1:3])
