"""The report that ends a test, and the pictures that end a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from drurank.callbacks.history import HISTORY_FILE
from drurank.criteria import logged_criterion
from drurank.errors import InputError
from drurank.files import replace_file
from drurank.methods import GroupModule
from drurank.report import SplitCounts, print_report, write_report
from drurank.run_folder.layout import GROUPS_PICTURE
from drurank.training.loaders import as_list

CRITERIA_PICTURE, WEIGHTS_PICTURE = "criteria.png", "weights.png"


class GroupReport(Callback):
    """Ends each test with a report of how each group was served, and each fit with pictures of how it went.

    A test writes ``groups.csv``, ``groups.parquet`` (one row a split and group), ``report.json`` (the criteria by
    split, each with its interval and its noise floor) and ``groups.png`` into its folder, and shows the criteria and
    the worst and best groups. A fit writes ``criteria.png`` (criteria by epoch) into the run's folder and, of a method
    that weights and with ``GroupHistory`` before this callback, ``weights.png`` (weight by rank over epochs). Where the
    trainer has a TensorBoard, W&B or MLflow logger, the pictures go there too.

    Args:
        show: whether to print the tables.
    """

    def __init__(self, show: bool = True) -> None:
        self.show = show
        self._history: dict[int, dict[str, float]] = {}

    def state_dict(self) -> dict[str, Any]:
        """The criteria of the epochs so far, so that a resumed fit draws all of them."""
        return {"history": self._history}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave."""
        self._history = state_dict["history"]

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Note the criteria of the epoch."""
        if trainer.state.fn == "fit" and not trainer.sanity_checking:
            values = trainer.callback_metrics.items()
            self._history[trainer.current_epoch] = {key: float(value) for key, value in values if logged_criterion(key)}

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Draw the criteria by epoch, and the weights by rank."""
        from drurank.report.pictures import draw_criteria, draw_weights  # here, since matplotlib is slow to import

        folder = _folder(trainer)
        if folder is None:
            return
        history = {epoch: values for epoch, values in self._history.items() if values}
        if history:
            _keep_picture(draw_criteria(history), folder / CRITERIA_PICTURE, trainer.loggers)
        weights = folder / HISTORY_FILE
        table = pa_csv.read_csv(weights) if weights.is_file() else None
        if table is not None and _varies(table) and trainer.current_epoch > 1:
            # The rows of the epoch after the last hold weights that were never in force.
            known = table.filter(pc.and_(pc.is_valid(table["rank"]), pc.less(table["epoch"], trainer.current_epoch)))
            columns = (known[name].to_numpy() for name in ("epoch", "rank", "mean_weight"))
            _keep_picture(draw_weights(*columns), folder / WEIGHTS_PICTURE, trainer.loggers)

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write and show the report."""
        if not isinstance(pl_module, GroupModule):
            raise InputError(
                f"GroupReport reads the counts of a GroupModule, and the model is a {type(pl_module).__name__}; rebase "
                "it on GroupModule, or hand its predictions to drurank.report.report_predictions"
            )
        datasets = [loader.dataset for loader in as_list(trainer.test_dataloaders) if loader.dataset.split != "train"]
        splits = []
        for dataset, metric in zip(datasets, pl_module.evaluated.values(), strict=True):
            correct, count = (counted.cpu().numpy() for counted in metric.counts())
            splits.append(
                SplitCounts.of_some(dataset.split or "test", dataset.group_names, correct, count, dataset.num_seen)
            )
        folder = _folder(trainer)
        if folder is None:
            return
        report = write_report(
            folder,
            splits,
            pl_module.criteria_names,
            min_count=pl_module.min_count,
            shrink=pl_module.shrink,
            about=_about(trainer, pl_module),
        )
        _send_picture(folder / GROUPS_PICTURE, trainer.loggers, trainer.global_step)
        if self.show:
            print_report(report, splits, folder)


def _folder(trainer: Any) -> Path | None:
    """Where to write; ``None`` where this process is not to, or nothing is."""
    folder = trainer.log_dir  # asks all processes
    return Path(folder) if folder is not None and trainer.is_global_zero and not trainer.fast_dev_run else None


def _about(trainer: Any, method: GroupModule) -> dict[str, Any]:
    data = trainer.datamodule
    return {
        "method": method.title,
        "data": data.describe() if hasattr(data, "describe") else None,
        "sampler": data.draw_of(method) if hasattr(data, "draw_of") else None,
        **({"texts": data.facts()} if hasattr(data, "facts") else {}),
        "checkpoint": str(trainer.ckpt_path) if trainer.ckpt_path else None,
    }


def _varies(weights: pa.Table) -> bool:
    values = weights["mean_weight"].drop_null().to_numpy()
    return len(values) > 0 and float(values.max()) > float(values.min())


def _keep_picture(figure: Any, path: Path, loggers: list[Logger]) -> None:
    from drurank.report.pictures import save_picture

    replace_file(path, lambda beside: save_picture(figure, beside))
    _send_picture(path, loggers)


def _send_picture(path: Path, loggers: list[Logger], step: int | None = None) -> None:
    from matplotlib.image import imread

    for logger in loggers:
        if isinstance(logger, TensorBoardLogger):
            logger.experiment.add_image(path.stem, imread(path), step, dataformats="HWC")
        elif isinstance(logger, WandbLogger):
            logger.log_image(path.stem, [str(path)], step)
        elif isinstance(logger, MLFlowLogger):
            logger.experiment.log_artifact(logger.run_id, str(path))
