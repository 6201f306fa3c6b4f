"""Time of an epoch's end, and the bytes kept a sample: 10,000,000 samples in 1,000,000 groups, on one CPU thread.

python benchmarks/epoch_end.py
"""

import time

import torch

from drurank.methods import DRU, Const, Worst
from drurank.training.record import EpochRecord

GROUPS, SAMPLES = 1_000_000, 10_000_000
METHODS = {
    "qDRU+M": DRU,
    "gDRU+G": lambda: DRU("index", "all"),
    "qDRU+M, shrunk accuracies": lambda: DRU(shrink=True),
    "Worst+M": Worst,
    "Const+M": Const,
}


def measure() -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    record = EpochRecord(torch.randint(0, GROUPS, (SAMPLES,), generator=generator), GROUPS)
    right = torch.rand(SAMPLES, generator=generator) < 0.7
    for name, make in METHODS.items():
        method = make()
        record.write(torch.arange(SAMPLES), right)
        begun = time.perf_counter()
        record.commit()
        weight = method.reweight(record).to(torch.float32)
        print(f"{name}: {time.perf_counter() - begun:.2f} s")
    tables = [weight, *(value for value in vars(record).values() if isinstance(value, torch.Tensor))]
    print(f"{sum(table.numel() * table.element_size() for table in tables) / SAMPLES:.0f} bytes a sample")


if __name__ == "__main__":
    measure()
