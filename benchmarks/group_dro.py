"""Time of one step of GroupDRO's objective by the number of groups: python benchmarks/group_dro.py."""

import time

import torch

from drurank.methods import GroupDRO
from drurank.training.record import EpochRecord

BATCH, STEPS = 64, 200


def microseconds(preset: str, groups: int) -> float:
    method = GroupDRO(preset=preset)
    method.record = EpochRecord(torch.arange(groups), groups)
    batches = [{"group": torch.randint(0, groups, (BATCH,))} for _ in range(STEPS)]
    losses = torch.rand(BATCH, requires_grad=True)
    method.reduce(losses, batches[0], method.state)
    begun = time.perf_counter()
    for batch in batches:
        method.reduce(losses, batch, method.state).backward()
    return (time.perf_counter() - begun) / STEPS * 1e6


if __name__ == "__main__":
    torch.set_num_threads(1)
    for preset in ("wilds", "sagawa"):
        print(preset, {groups: f"{microseconds(preset, groups):,.0f} us" for groups in (10, 10_000, 1_000_000)})
