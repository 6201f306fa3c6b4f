"""How a method comes by its network: built from the data's sizes, or again from what a checkpoint says."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from drurank.errors import InputError
from drurank.networks import MLP, Sizes
from drurank.networks.bounded import Bounded
from drurank.networks.factory import NetworkFactory, describe_factory, find_factory, make_network, takes_sizes


class NetworkBuilder:
    """Builds the network, and says as plain values how it was built.

    Args:
        network: makes the network from the sizes of the data, or is one.
    """

    def __init__(self, network: NetworkFactory | nn.Module) -> None:
        self.given = network if isinstance(network, nn.Module) else None
        """The network, where it was given built."""
        self.factory: Any = None if self.given is not None else network
        self.description = describe_factory(network)
        """Class and arguments of the factory; ``None`` where it has no import path."""
        self.sizes: Sizes | None = None
        """What the network was built for; ``None`` before, and where it was given built or the data tells none."""

    @property
    def takes_sizes(self) -> bool:
        """Whether the sizes of the data are needed to build the network."""
        return self.given is None and takes_sizes(self.factory)

    def make(self, sizes: Sizes | None) -> nn.Module:
        """A network for these sizes; ``None`` only where they are not needed."""
        return make_network(self.factory, sizes)

    def build(self, sizes: Sizes | None) -> nn.Module:
        """The network for these sizes, which are kept."""
        self.sizes = sizes
        return self.make(sizes)

    def state_dict(self, network: nn.Module | None) -> dict[str, Any]:
        """Plain values from which the network can be built again."""
        sizes = None if self.sizes is None else self.sizes.as_plain()
        saved: dict[str, Any] = {"network": self.description, "sizes": sizes}
        arguments = getattr(network, "saved_arguments", None)
        if callable(arguments):
            saved["rebuild"] = arguments()
        return saved

    def rebuild(self, saved: dict[str, Any], method: str, weights: Collection[Tensor] | None = None) -> nn.Module:
        """The network that a checkpoint describes.

        Args:
            saved: what ``state_dict`` gave.
            method: name of the method's class.
            weights: which the network is to load; not looked at, if not given.

        Raises:
            InputError: if it was given as an object, so that the checkpoint cannot say how to build it, or what the
                checkpoint says builds nothing, or what is far larger than the weights.
        """
        if saved["network"] is not None:
            self.description = saved["network"]
            known = {**saved["network"]["init_args"], **saved.get("rebuild", {})}
            self.factory = find_factory({**saved["network"], "init_args": known})
        elif saved["sizes"] is None or self.description == describe_factory(MLP):
            raise InputError(
                "the checkpoint's network was given as an object, not as a class, and cannot be built from the file; "
                f"give it again: {method}.load_from_checkpoint(path, network=...)"
            )
        sizes = None if saved["sizes"] is None else Sizes.from_plain(saved["sizes"])
        try:
            with nullcontext() if weights is None else Bounded(weights):
                network = self.build(sizes)
            held = [*network.parameters(), *network.buffers()]
            if any(tensor.is_meta for tensor in held if not is_lazy(tensor)):
                raise InputError("its weights are on the device 'meta', which holds none")
            return network
        except Exception as error:
            said = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
            path = (saved["network"] or {}).get("class_path", "network")
            raise InputError(
                f"the checkpoint's network {path} cannot be built from what it holds ({said}); give another checkpoint "
                "of the run"
            ) from error
