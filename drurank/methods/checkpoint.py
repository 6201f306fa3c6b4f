"""What a checkpoint holds of a method beside its parameters, and how it comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn
from torch import Tensor, nn

from drurank.data.dataset import GroupedDataset
from drurank.errors import InputError
from drurank.methods.evaluated import EvaluatedModule
from drurank.networks import MLP, Sizes
from drurank.networks.factory import NetworkFactory, describe_factory, differences, find_factory, is_plain
from drurank.run_folder.checkpoint_io import KEY
from drurank.training.loaders import batches_of
from drurank.training.record import EpochRecord


class SavedModule(EvaluatedModule):
    """What of a method a checkpoint holds, kept apart from what it does while it trains.

    Per-sample tables stay out of ``state_dict``, so that a checkpoint loads whatever data is at hand. They go, as plain
    tensors with a fingerprint of the training set, under the key ``drurank``, together with the network's class,
    arguments and sizes.

    Args:
        network: makes the network from the sizes of the data, or is one.
        min_count: see ``EvaluatedModule``.
        shrink: see ``EvaluatedModule``.
    """

    # Not "hyper_parameters": LightningCLI lets what it finds there override the command line.
    CHECKPOINT_HYPER_PARAMS_KEY = "drurank_hyper_parameters"

    fixed_options: ClassVar[tuple[str, ...]] = ()
    """Options that a resumed run must share with the one it goes on from."""

    loss: nn.Module
    record: EpochRecord
    _has_news: bool
    _ended_epoch: int
    _restored: dict[str, Any] | None = None
    _fingerprint: str = ""

    def __init__(self, network: NetworkFactory | nn.Module, min_count: int, shrink: bool) -> None:
        super().__init__(network if isinstance(network, nn.Module) else None, min_count, shrink)
        self.network_factory: Any = None if isinstance(network, nn.Module) else network
        self.network_description = describe_factory(network)
        self.sizes: Sizes | None = None
        self.state: dict[str, Tensor] = {}

    def build_network(self, sizes: Sizes) -> None:
        """Make the network for these sizes."""
        self.sizes = sizes
        self.network = self.network_factory(sizes)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the method's class, network, sizes and tables."""
        saved: dict[str, Any] = {
            "method": _path_of(self),
            "network": None if self.forwards_itself else self.network_description,
            "fixed": self._fixed(),
            "sizes": None
            if self.sizes is None
            else {**asdict(self.sizes), "cardinalities": list(self.sizes.cardinalities)},
        }
        arguments = getattr(self.network, "saved_arguments", None)
        if callable(arguments):
            saved["rebuild"] = arguments()
        if self.state:
            saved["training"] = {
                "fingerprint": self._fingerprint,
                "record": self.record.state_dict(),
                "state": {name: tensor.cpu() for name, tensor in self.state.items()},
                "batches": batches_of(self.trainer.train_dataloader),
                "optimizers": optimizers_in_words(self.trainer.optimizers),
                "has_news": self._has_news,
                "ended_epoch": self._ended_epoch,
            }
        checkpoint[KEY] = saved
        hyper_parameters = checkpoint.get(self.CHECKPOINT_HYPER_PARAMS_KEY, {})
        for name, value in list(hyper_parameters.items()):
            # A number of numpy's would make the file unreadable for a safe load, and so would an object.
            value = value.item() if hasattr(value, "item") and not hasattr(value, "parameters") else value
            hyper_parameters[name] = value
            if not is_plain(value):
                rank_zero_warn(f"{name}={type(value).__name__} is not saved; give it again to load_from_checkpoint")
                del hyper_parameters[name]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Build the network that the checkpoint holds, and keep its tables until training starts.

        Raises:
            InputError: if the checkpoint is of another method or network and training is to go on from it, or its
                network cannot be built without help.
        """
        saved = checkpoint.get(KEY)
        if saved is None:
            raise InputError("the checkpoint was not made by drurank; give one that `fit` wrote")
        broken = [
            name
            for name, value in checkpoint["state_dict"].items()
            if isinstance(value, Tensor) and not bool(value.isfinite().all())
        ]
        if broken:
            raise InputError(f"the checkpoint's {broken[0]} is nan or inf, so it predicts nothing; give another one")
        if self._trainer is not None and self._trainer.state.fn == "fit":
            if "optimizer_states" not in checkpoint:
                raise InputError("the checkpoint holds weights only, from which no training goes on; give a whole one")
            self._restored = saved.get("training")
            self.check_resume(saved, self.sizes)
            self._note_changes(checkpoint.get(self.CHECKPOINT_HYPER_PARAMS_KEY, {}))
            return
        if saved["method"] != _path_of(self):
            rank_zero_info(f"Note: the checkpoint was made with {saved['method']}; its network is evaluated as it is.")
        # The loss is not needed to predict, and its weights may be those of another one.
        kept = self.loss.state_dict()
        for key in [key for key in checkpoint["state_dict"] if key.startswith("loss.")]:
            if key.removeprefix("loss.") not in kept:
                del checkpoint["state_dict"][key]
        if not self.forwards_itself and (self.network is None or self.sizes is not None):
            self._build_saved_network(saved)

    def check_resume(self, saved: dict[str, Any], sizes: Sizes | None, train: GroupedDataset | None = None) -> None:
        """Refuse to go on training from a checkpoint of something else.

        Args:
            saved: what the checkpoint holds under the key ``drurank``.
            sizes: those of the data, where they are known.
            train: the training set, where it is known; else ``take_over`` looks at it.

        Raises:
            InputError: naming what differs.
        """
        if _known_as(saved["method"]) != _known_as(_path_of(self)):
            raise InputError(
                f"the checkpoint was made with {saved['method']}, not {_path_of(self)}; go on with --model "
                f"{saved['method'].rpartition('.')[2]}, or start without it"
            )
        for name, now in self._fixed().items():
            before = saved.get("fixed", {}).get(name, now)
            if before != now:
                raise InputError(
                    f"the checkpoint was made with {name}={before!r}, which cannot become {now!r} in it; start anew, "
                    "or give the same"
                )
        mine = None if self.forwards_itself else self.network_description
        if saved["network"] != mine:
            before, now = (
                "an object without an import path" if one is None else differences(one, other)
                for one, other in ((saved["network"], mine), (mine, saved["network"]))
            )
            raise InputError(f"the checkpoint's network is {before}, this run's {now}")
        if saved["sizes"] is not None and sizes is not None and _sizes(saved["sizes"]) != sizes:
            raise InputError(
                f"the checkpoint was made with other training data: its network has {_sizes(saved['sizes'])}, this one "
                f"{sizes}"
            )
        if train is not None and "training" in saved:
            _refuse_other_data(saved["training"], train, train.fingerprint())

    def _fixed(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.fixed_options}

    def _note_changes(self, saved: dict[str, Any]) -> None:
        now: Mapping[str, Any] = self.hparams
        changed = [name for name in saved if name in now and is_plain(now[name]) and saved[name] != now[name]]
        if changed:
            before = ", ".join(f"{name}={saved[name]!r}" for name in changed)
            after = ", ".join(f"{name}={now[name]!r}" for name in changed)
            rank_zero_warn(f"the checkpoint was made with {before}; the run goes on with {after}, as given now")

    def _build_saved_network(self, saved: dict[str, Any]) -> None:
        if saved["network"] is not None:
            self.network_description = saved["network"]
            known = {**saved["network"]["init_args"], **saved.get("rebuild", {})}
            self.network_factory = find_factory({**saved["network"], "init_args": known})
        elif saved["sizes"] is None or self.network_description == describe_factory(MLP):
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
        _refuse_other_data(restored, train, self._fingerprint)
        optimizers = optimizers_in_words(self.trainer.optimizers)
        if restored.get("optimizers", optimizers) != optimizers:
            raise InputError(
                f"the checkpoint was made with {restored['optimizers']}, this run has {optimizers}; a resumed run "
                "keeps its own: give that, or fit anew what load_from_checkpoint gives"
            )
        before, now = restored.get("batches"), batches_of(self.trainer.train_dataloader)
        if before != now:
            rank_zero_warn(f"the checkpoint's run drew batches of {before}; this one goes on with {now}")
        self.record.load_state_dict(restored["record"])
        default = self.state["weight"]
        self.state = {
            name: tensor.to(self.state.get(name, default).device) for name, tensor in restored["state"].items()
        }
        self._has_news, self._ended_epoch = restored["has_news"], restored["ended_epoch"]


def optimizers_in_words(optimizers: list[Any]) -> str:
    """Class and plain defaults of each optimizer, which loading a checkpoint does not change."""

    def words(value: Any) -> str:
        return f"{value.item():g}" if isinstance(value, Tensor) and value.numel() == 1 else repr(value)

    found = []
    for optimizer in optimizers:
        defaults = ", ".join(f"{name}={words(value)}" for name, value in optimizer.defaults.items())
        found.append(f"{type(optimizer).__name__}({defaults})")
    return "; ".join(found)


def _refuse_other_data(restored: dict[str, Any], train: GroupedDataset, fingerprint: str) -> None:
    if restored["fingerprint"] != fingerprint:
        rows = len(restored["record"]["correct"])
        raise InputError(
            f"the checkpoint was made with other training data ({rows:,} rows, now {len(train):,}, or with other "
            "contents); give the data it was made with, or start without --ckpt_path"
        )


def _path_of(module: object) -> str:
    # Methods of ours are known by where they are offered, whichever file they stand in.
    where = type(module).__module__
    where = "drurank.methods" if where.startswith("drurank.methods.") else where
    return f"{where}.{type(module).__qualname__}"


def _known_as(path: str) -> str:
    # A class of a script is __main__'s while the script runs, and the script's where it is imported.
    return path if path.startswith("drurank.") else path.rpartition(".")[2]


def _sizes(saved: dict[str, Any]) -> Sizes:
    return Sizes(**saved)
