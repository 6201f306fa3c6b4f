"""The report that ends a test."""

from __future__ import annotations

from pathlib import Path

from lightning.pytorch import Callback, LightningModule, Trainer

from drurank.methods import GroupModule
from drurank.methods.loaders import as_list
from drurank.report import SplitCounts, print_report, write_report


class GroupReport(Callback):
    """Ends each test with a report of how each group was served.

    Writes ``groups.csv``, ``groups.parquet`` (one row a split and group) and ``report.json`` (the criteria by split)
    into the run's folder, and shows the criteria and the worst ten groups.

    Args:
        show: whether to print the tables.
    """

    def __init__(self, show: bool = True) -> None:
        self.show = show

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write and show the report."""
        assert isinstance(pl_module, GroupModule)
        datasets = [loader.dataset for loader in as_list(trainer.test_dataloaders)]
        splits = []
        for dataset, metric in zip(datasets, pl_module.evaluated.values(), strict=True):
            correct, count = (counts.cpu() for counts in metric.counts())
            split = dataset.split or "test"
            splits.append(SplitCounts(split, dataset.group_names, correct, count, dataset.num_seen))
        folder = trainer.log_dir  # asks all processes
        if not trainer.is_global_zero or folder is None or trainer.fast_dev_run:  # type: ignore[attr-defined]
            return
        datamodule = trainer.datamodule  # type: ignore[attr-defined]
        data = datamodule.describe() if hasattr(datamodule, "describe") else None
        about = {
            "method": pl_module.title,
            "data": data,
            "checkpoint": str(trainer.ckpt_path) if trainer.ckpt_path else None,
        }
        names = pl_module.criteria_names
        report = write_report(Path(folder), splits, names, min_count=pl_module.min_count, about=about)
        if self.show:
            print_report(report, splits)
