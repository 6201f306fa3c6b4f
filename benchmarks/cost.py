"""Time of a fit by method, as a ratio to that of ERM: python benchmarks/cost.py.

All methods train on Shortcut data (10,000 rows, batches of 64, 5 epochs) with the default network. Repetitions take
turns, and each ratio is that of medians.
"""

import logging
import statistics
import time
import warnings

import torch
from lightning.pytorch import Trainer, seed_everything

from drurank.data import Shortcut
from drurank.methods import DFR, DRU, ERM, IRM, JTT, ChiSquare, Const, CVaR, GroupDRO, Worst

REPEATS, EPOCHS = 5, 5
METHODS = {
    "ERM": ERM,
    "DRU": DRU,
    "DRU, accuracy_from training": lambda: DRU(accuracy_from="training"),
    "Worst": Worst,
    "Const": Const,
    "GroupDRO": GroupDRO,
    "CVaR": CVaR,
    "ChiSquare": ChiSquare,
    "JTT, T=2 of 5": lambda: JTT(first_stage_epochs=2),
    "IRM": IRM,
    "DFR": DFR,
}


def seconds(name: str) -> float:
    seed_everything(0, verbose=False)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(accelerator="cpu", max_epochs=EPOCHS, enable_checkpointing=False, **quiet)
    data = Shortcut()
    data.setup("fit")
    begun = time.perf_counter()
    trainer.fit(METHODS[name](), datamodule=data)
    return time.perf_counter() - begun


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    seconds("ERM")  # what is imported on first use
    taken = {name: [] for name in METHODS}
    for _ in range(REPEATS):
        for name in METHODS:
            taken[name].append(seconds(name))
            print(f"{name}: {taken[name][-1]:.1f} s", flush=True)
    plain = statistics.median(taken["ERM"])
    for name, times in taken.items():
        print(f"{name:<30} {statistics.median(times) / plain:.2f} ({statistics.median(times):.1f} s)")
