"""What a checkpoint holds of a method beside its parameters, and how it comes back."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_info
from torch import Tensor, nn

from drurank.data.dataset import GroupedDataset
from drurank.errors import InputError
from drurank.factory import describe_factory, find_factory
from drurank.networks import MLP, Sizes
from drurank.record import EpochRecord

if TYPE_CHECKING:
    from lightning.pytorch import Trainer

KEY = "drurank"


class MethodCheckpoint:
    """Save and load hooks of a method, kept apart from what it does while it trains.

    Per-sample tables stay out of ``state_dict``, so that a checkpoint loads whatever data is at hand. They go, as plain
    tensors with a fingerprint of the training set, under the key ``drurank``, together with the network's class,
    arguments and sizes.
    """

    # Not "hyper_parameters": LightningCLI lets what it finds there override the command line.
    CHECKPOINT_HYPER_PARAMS_KEY = "drurank_hyper_parameters"

    loss: nn.Module
    network: nn.Module | None
    network_factory: Any
    network_description: dict[str, Any] | None
    sizes: Sizes | None
    record: EpochRecord
    state: dict[str, Tensor]
    _trainer: Trainer | None
    _has_news: bool
    _restored: dict[str, Any] | None = None
    _fingerprint: str = ""

    def build_network(self, sizes: Sizes) -> None:
        """Make the network for these sizes."""
        self.sizes = sizes
        self.network = self.network_factory(sizes)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the method's class, network, sizes and tables."""
        saved: dict[str, Any] = {
            "method": _path_of(self),
            "network": self.network_description,
            "sizes": None
            if self.sizes is None
            else {**asdict(self.sizes), "cardinalities": list(self.sizes.cardinalities)},
        }
        if self.state:
            saved["training"] = {
                "fingerprint": self._fingerprint,
                "record": self.record.state_dict(),
                "state": {name: tensor.cpu() for name, tensor in self.state.items()},
                "has_news": self._has_news,
            }
        checkpoint[KEY] = saved

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Build the network that the checkpoint holds, and keep its tables until training starts.

        Raises:
            InputError: if the checkpoint is of another method or network and training is to go on from it, or its
                network cannot be built without help.
        """
        saved = checkpoint.get(KEY)
        if saved is None:
            raise InputError("the checkpoint was not made by drurank; give one that `fit` wrote")
        fitting = self._trainer is not None and self._trainer.state.fn == "fit"
        if saved["method"] != _path_of(self):
            said = f"the checkpoint was made with {saved['method']}, not {_path_of(self)}"
            if fitting:
                raise InputError(
                    f"{said}; go on with --model {saved['method'].rpartition('.')[2]}, or start without it"
                )
            rank_zero_info(f"Note: {said}; its network is evaluated all the same.")
        self._restored = saved.get("training")
        if fitting:
            self._refuse_other_network(saved)
            return
        # The loss is not needed to predict, and its weights may be those of another one.
        kept = self.loss.state_dict()
        for key in [key for key in checkpoint["state_dict"] if key.startswith("loss.")]:
            if key.removeprefix("loss.") not in kept:
                del checkpoint["state_dict"][key]
        if self.network is None or self.sizes is not None:
            self._build_saved_network(saved)

    def _refuse_other_network(self, saved: dict[str, Any]) -> None:
        mine = self.network_description
        if saved["network"] != mine:
            raise InputError(f"the checkpoint's network is {_in_words(saved['network'])}, this run's {_in_words(mine)}")
        if saved["sizes"] is not None and self.sizes is not None and _sizes(saved["sizes"]) != self.sizes:
            raise InputError(
                f"the checkpoint was made with other data: its network has {_sizes(saved['sizes'])}, this {self.sizes}"
            )

    def _build_saved_network(self, saved: dict[str, Any]) -> None:
        if saved["network"] is not None:
            self.network_factory = find_factory(saved["network"])
            self.network_description = saved["network"]
        elif saved["sizes"] is None or describe_factory(self.network_factory) == describe_factory(MLP):
            name = type(self).__name__
            raise InputError(
                "the checkpoint's network was given as an object, not as a class, and cannot be built from the file; "
                f"give it again: {name}.load_from_checkpoint(path, network=...)"
            )
        self.build_network(_sizes(saved["sizes"]))

    def take_over(self, train: GroupedDataset) -> None:
        """At the start of training: put the checkpoint's tables in force.

        Raises:
            InputError: if they were made with other training data.
        """
        self._fingerprint = train.fingerprint()
        restored, self._restored = self._restored, None
        if restored is None:
            return
        if restored["fingerprint"] != self._fingerprint:
            rows = len(restored["record"]["correct"])
            raise InputError(
                f"the checkpoint was made with other training data ({rows:,} rows, now {len(train):,}, or with other "
                "contents); give the data it was made with, or start without --ckpt_path"
            )
        self.record.load_state_dict(restored["record"])
        device = self.record.correct.device
        self.state.update({name: tensor.to(device) for name, tensor in restored["state"].items()})
        self._has_news = restored["has_news"]

    def epoch_seed(self) -> int | None:
        """A seed of the epoch and the process, or ``None`` where the run has no seed."""
        seed = os.environ.get("PL_GLOBAL_SEED")
        if seed is None or self._trainer is None:
            return None
        mixed = torch.tensor([int(seed), self._trainer.current_epoch, self._trainer.global_rank])
        return int((mixed * torch.tensor([1_000_003, 7_919, 104_729])).sum())


def _path_of(module: object) -> str:
    # Methods of ours are known by where they are offered, whichever file they stand in.
    where = type(module).__module__
    where = "drurank.methods" if where.startswith("drurank.methods.") else where
    return f"{where}.{type(module).__qualname__}"


def _sizes(saved: dict[str, Any]) -> Sizes:
    return Sizes(saved["in_features"], saved["num_classes"], tuple(saved["cardinalities"]))


def _in_words(network: dict[str, Any] | None) -> str:
    if network is None:
        return "an object without an import path"
    arguments = ", ".join(f"{name}={value!r}" for name, value in network["init_args"].items())
    return f"{network['class_path'].rpartition('.')[2]}({arguments})"
