"""Drop-in, third grade: only `ranking` and `metrics`, in a plain torch loop."""

import torch
from torch import nn

from drurank.metrics import GroupDCG
from drurank.ranking import discounted_weights, group_accuracy, rank_groups


def fit(epochs: int = 5) -> float:
    torch.manual_seed(0)
    groups, each = 50, 40
    group = torch.arange(groups).repeat_interleave(each)
    x = torch.randn(groups * each, 2)
    flipped = group % 10 == 0  # in every tenth group the second feature means the opposite
    label = (x[:, 0] + torch.where(flipped, -2, 2) * x[:, 1] > 0).long()

    network = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
    weight = torch.ones(len(x))
    metric = GroupDCG(num_groups=groups, k=10)
    for epoch in range(epochs):
        for batch in torch.randperm(len(x)).split(64):
            losses = nn.functional.cross_entropy(network(x[batch]), label[batch], reduction="none")
            optimizer.zero_grad()
            (weight[batch] * losses).mean().backward()
            optimizer.step()
        with torch.no_grad():
            correct = network(x).argmax(dim=1) == label
        # Discounted Rank Upweighting: rank the groups, weight the misclassified samples by the rank's discount.
        accuracy, _ = group_accuracy(correct, group, groups)
        by_group = discounted_weights(rank_groups(accuracy, rank_by="quantile"), cutoff=100)
        weight = torch.where(correct, 1.0, by_group[group].float())
        metric.reset()
        metric.update_correct(correct, group)
        print(f"epoch {epoch}: qDCG@10 of the training groups {metric.compute():.4f}")
    return float(metric.compute())


if __name__ == "__main__":
    fit()
