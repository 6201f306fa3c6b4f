"""Time and memory of all criteria at 1,000,000 groups and 3,000,000 samples, on one CPU thread.

python benchmarks/scale.py
"""

import resource
import time

import torch

from drurank.metrics import GroupCriteria

GROUPS, SAMPLES = 1_000_000, 3_000_000


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure() -> None:
    torch.set_num_threads(1)
    GroupCriteria(10).update(torch.zeros(4).long(), torch.zeros(4).long(), torch.arange(4))
    generator = torch.Generator().manual_seed(0)
    group = torch.randint(0, GROUPS, (SAMPLES,), generator=generator)
    preds = (torch.rand(SAMPLES, generator=generator) < 0.7).long()
    target = torch.ones_like(preds)
    before = peak_megabytes()
    metric = GroupCriteria(GROUPS)
    start = time.perf_counter()
    metric.update(preds, target, group)
    counted = time.perf_counter()
    values = metric.compute()
    end = time.perf_counter()
    print(f"count {counted - start:.2f} s, compute {len(values)} criteria {end - counted:.2f} s")
    print(f"peak memory over the inputs {peak_megabytes() - before:.0f} MB")


if __name__ == "__main__":
    measure()
