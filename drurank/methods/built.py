"""How a method's network, optimizer and schedule are made, and which stage of training they are in."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import torch
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable, ReduceLROnPlateau
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from drurank.data.dataset import GroupedDataset
from drurank.data.sampler import epoch_of_stage
from drurank.errors import InputError, check_choice
from drurank.methods.checkpoint import SavedModule
from drurank.networks import Sizes
from drurank.networks.factory import NetworkFactory, describe_factory, differences
from drurank.run_folder.checkpoint_io import KEY
from drurank.training.schedules import Decay
from drurank.training.stages import end_schedules

LRInterval = Literal["epoch", "step"]


class BuiltModule(SavedModule):
    """Makes the network from the sizes of the data, and the optimizer and the schedule as they are given.

    Args:
        network: makes the network from the sizes of the data, or is one.
        optimizer: makes the optimizer from the parameters; AdamW with a learning rate of 1e-3, if ``None``.
        lr_scheduler: makes the scheduler from the optimizer; a constant rate, if ``None``.
        lr_interval: whether the scheduler steps at each ``epoch`` or each optimizer ``step``.
        min_count: see ``EvaluatedModule``.
        shrink: see ``EvaluatedModule``.

    Raises:
        InputError: if there is an interval and no scheduler.
    """

    starts_anew_at: int | None = None
    """Epoch from which the method trains a second time from the start, if it does."""

    def __init__(
        self,
        network: NetworkFactory | nn.Module,
        optimizer: OptimizerCallable | None,
        lr_scheduler: LRSchedulerCallable | None,
        lr_interval: LRInterval,
        min_count: int,
        shrink: bool,
    ) -> None:
        super().__init__(network, min_count, shrink)
        check_choice("lr_interval", lr_interval, LRInterval)
        if lr_scheduler is None and lr_interval != "epoch":
            raise InputError(f"lr_interval is {lr_interval!r} and there is no lr_scheduler; give one, or leave it out")
        self.optimizer = partial(torch.optim.AdamW, lr=1e-3) if optimizer is None else optimizer
        self.lr_scheduler, self.lr_interval = lr_scheduler, lr_interval

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Also save what optimizer and schedule are made of."""
        super().on_save_checkpoint(checkpoint)
        checkpoint[KEY]["optimization"] = self._optimization()
        saved = checkpoint.get(self.CHECKPOINT_HYPER_PARAMS_KEY, {})
        if "lr_scheduler" not in saved:
            # What cannot be saved has no interval either.
            saved.pop("lr_interval", None)

    def check_resume(self, saved: dict[str, Any], sizes: Sizes | None, train: GroupedDataset | None = None) -> None:
        """Also refuse another optimizer or schedule, whose state the checkpoint's would replace without a word."""
        super().check_resume(saved, sizes, train)
        for name, now in self._optimization().items():
            before = saved.get("optimization", {}).get(name)
            if now is not None and before is not None and before != now:
                raise InputError(
                    f"the checkpoint was made with {name} {differences(before, now)}, this run's is "
                    f"{differences(now, before)}; a resumed run keeps its own: give that, or start without --ckpt_path"
                )

    def _optimization(self) -> dict[str, Any]:
        """Class and arguments of optimizer and scheduler, ``None`` where they cannot be told from the object."""
        scheduler = self.lr_scheduler
        made: dict[str, Any] = {"class_path": "constant", "init_args": {}}
        if scheduler is not None:
            known = describe_factory(scheduler, LRScheduler)
            made = None if known is None else {**known, "interval": self.lr_interval}  # type: ignore[assignment]
        return {"optimizer": describe_factory(self.optimizer, Optimizer), "lr_scheduler": made}

    @property
    def stage_epoch(self) -> int:
        """Number of the epoch, from 0, counted anew where the method starts anew."""
        return epoch_of_stage(self.current_epoch, self.starts_anew_at)

    @property
    def selectable(self) -> bool:
        """Whether the epoch in progress may be chosen as the best one, or end the run early."""
        return self.starts_anew_at is None or self.current_epoch >= self.starts_anew_at

    def configure_optimizers(self) -> Any:
        """Optimizer over the network's ``parameter_groups()``, or all parameters, and the scheduler."""
        groups = getattr(self.network, "parameter_groups", None)
        params = groups() if callable(groups) else self.parameters()
        if not any(parameter.requires_grad for parameter in self.parameters()):
            raise InputError("no parameter of the network requires a gradient, so nothing trains; unfreeze some")
        optimizer = self.optimizer(params)
        self._warn_of_rate(optimizer)
        if self.lr_scheduler is None:
            return optimizer
        scheduler = self.lr_scheduler(optimizer)
        if isinstance(scheduler, Decay) and scheduler.warmup and self.lr_interval == "epoch":
            raise InputError("a warmup by epochs trains the first one at a rate of 0; give lr_interval='step' too")
        config: dict[str, Any] = {"scheduler": scheduler, "interval": self.lr_interval}
        if isinstance(scheduler, ReduceLROnPlateau):
            config["monitor"] = scheduler.monitor
            self.ask_for(scheduler.monitor, scheduler.mode)
        return {"optimizer": optimizer, "lr_scheduler": config}

    def _warn_of_rate(self, optimizer: Optimizer) -> None:
        rate, most = max(group["lr"] for group in optimizer.param_groups), getattr(self.network, "highest_rate", None)
        if most is not None and rate > most:
            rank_zero_warn(
                f"the learning rate is {float(rate):g}, and above {most:g} a pretrained network as good as always "
                "loses what it knew; give one of about 1e-5: --model.optimizer AdamW --model.optimizer.lr 1e-5"
            )

    def end_schedules(self) -> None:
        """Tell schedules that end with the training how long the stage in progress is."""
        trainer: Any = self.trainer
        anew = self.starts_anew_at
        if anew is not None and not self.selectable:
            end_schedules(trainer, 0, anew)
        else:
            end_schedules(trainer, anew or 0, trainer.max_epochs)

    def configure_model(self) -> None:
        """Build the network from the data's sizes before a fit; a checkpoint to evaluate brings its own."""
        trainer: Any = self._trainer
        if self.network is not None or self.forwards_itself or trainer is None or trainer.state.fn != "fit":
            return
        sizes = getattr(trainer.datamodule, "sizes", None)
        if sizes is None:
            raise InputError("without a drurank data module nothing tells the network's sizes; give a built network")
        self.build_network(sizes)
