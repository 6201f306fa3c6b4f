"""Drop-in, second grade: your LightningModule rebased on one of our methods.

Change the base and delete `training_step` and `validation_step`; the rest stays. `unpack` names the parts of a batch.
"""

from typing import Any, NamedTuple

import torch
from lightning.pytorch import Trainer, seed_everything
from torch import Tensor, nn
from torch.utils.data import DataLoader

from drurank.data import GroupedDataset, evaluation_loader
from drurank.methods import DRU


class Reviews(NamedTuple):
    words: Tensor
    stars: Tensor
    writer: Tensor
    row: Tensor


class Stars(DRU):  # was: LightningModule
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.embed, self.score = nn.EmbeddingBag(50, 16), nn.Linear(16, 2)

    def forward(self, words: Tensor) -> Tensor:
        return self.score(self.embed(words).tanh())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-2)

    def unpack(self, batch: Reviews) -> dict[str, Tensor]:
        return {"inputs": batch.words, "label": batch.stars, "group": batch.writer, "index": batch.row}


def collate(rows: list[dict[str, Any]]) -> Reviews:
    return Reviews(*(torch.stack([torch.as_tensor(row[key]) for row in rows]) for key in rows[0]))


def loader(split: str, writers: int, **options: Any) -> DataLoader:
    words, writer = torch.randint(50, (writers * 20, 8)), torch.arange(writers).repeat_interleave(20)
    stars = ((words < 25).float().mean(dim=1) > 0.5) ^ ((writer % 5 == 0) & (torch.rand(len(words)) < 0.3))
    rows = GroupedDataset(list(zip(words, stars.long(), strict=True)), [f"{split} {w}" for w in writer], split=split)
    return DataLoader(rows, batch_size=32, collate_fn=collate, **options)


def fit(max_epochs: int = 3, **options: Any) -> Trainer:
    seed_everything(0)
    train, val = loader("train", 50, shuffle=True), loader("ood_val", 20)
    trainer = Trainer(max_epochs=max_epochs, accelerator="cpu")
    trainer.fit(Stars(cutoff=50), train, [val, evaluation_loader(train)], **options)
    return trainer


if __name__ == "__main__":
    fit()
