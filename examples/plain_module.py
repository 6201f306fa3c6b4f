"""Drop-in, third grade: only `ranking` and `metrics`, in a LightningModule that uses nothing else of ours."""

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from drurank.metrics import GroupDCG
from drurank.ranking import discounted_weights, group_accuracy, rank_groups


class Ours(LightningModule):
    """Any module of yours; ours are the sample weights, updated after each epoch, and the metric it monitors."""

    def __init__(self, group: Tensor, num_groups: int) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
        self.metric, self.num_groups = GroupDCG(num_groups=num_groups, k=10), num_groups
        # Not persistent: a checkpoint must not depend on the number of rows.
        self.register_buffer("group", group, persistent=False)
        self.register_buffer("weight", torch.ones(len(group)), persistent=False)
        self.register_buffer("correct", torch.ones(len(group), dtype=torch.bool), persistent=False)

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
        x, label, index = batch
        logits = self.network(x)
        self.correct[index] = logits.argmax(dim=1) == label
        losses = nn.functional.cross_entropy(logits, label, reduction="none")
        return (self.weight[index] * losses).mean()

    def on_train_epoch_end(self) -> None:
        accuracy, _ = group_accuracy(self.correct, self.group, self.num_groups)
        by_group = discounted_weights(rank_groups(accuracy, rank_by="quantile"), cutoff=100).float()
        self.weight = torch.where(self.correct, 1.0, by_group[self.group])

    def validation_step(self, batch: list[Tensor], batch_idx: int) -> None:
        x, label, index = batch
        self.metric.update(self.network(x), label, self.group[index])
        self.log("val_qdcg10", self.metric, on_epoch=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def fit(max_epochs: int = 3) -> Trainer:
    seed_everything(0)
    group = torch.arange(50).repeat_interleave(40)
    x = torch.randn(len(group), 2)
    label = (x[:, 0] + torch.where(group % 10 == 0, -2, 2) * x[:, 1] > 0).long()  # every tenth means the opposite
    rows = TensorDataset(x, label, torch.arange(len(x)))
    trainer = Trainer(max_epochs=max_epochs, accelerator="cpu")
    trainer.fit(Ours(group, 50), DataLoader(rows, batch_size=64, shuffle=True), DataLoader(rows, batch_size=256))
    return trainer


if __name__ == "__main__":
    fit()
