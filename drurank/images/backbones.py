"""Networks that make features of pictures, from timm and torchvision, with weights from the hub, a file, or none."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from drurank.errors import InputError, nearest
from drurank.extras import check_installed
from drurank.hub import say_asked

OF_TORCHVISION = "torchvision/"
HUB, NONE = "hub", "none"
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation by channel, of values from 0 to 1, by which most networks were trained."""


Made = tuple[nn.Module, tuple[float, ...], tuple[float, ...]]
"""A network without its classifier, and the mean and standard deviation by channel that it was trained with."""


@dataclass(frozen=True)
class Backbone:
    """A network without its classifier.

    Attributes:
        module: normalised pictures, float ``[B, 3, s, s]``, to features, float ``[B, width]``.
        width: number of features.
        mean: by channel, of values from 0 to 1, that it was trained with.
        std: standard deviation, likewise.
    """

    module: nn.Module
    width: int
    mean: tuple[float, ...]
    std: tuple[float, ...]


def load_backbone(name: str, weights: str, size: int) -> Backbone:
    """The backbone of a network that timm or torchvision knows.

    Args:
        name: as timm calls it (``resnet50``, ``vit_small_patch16_224``), or ``torchvision/`` and torchvision's name.
        weights: ``hub``: those that the package names, from the local cache or else the hub; ``none``: random ones; or
            a file (``.pth``, ``.pt``, ``.bin``, ``.safetensors``).
        size: side of the pictures, in pixels.

    Raises:
        InputError: if there is no such network, its weights are not found or do not fit, or it takes other pictures.
    """
    file = None if weights in (HUB, NONE) else Path(weights).expanduser()
    if file is not None and not file.is_file():
        raise InputError(f"weights is {weights!r}, and there is no such file; give a file, hub or none")
    is_torchvision = name.startswith(OF_TORCHVISION)
    made = _of_torchvision(name, weights, file) if is_torchvision else _of_timm(name, weights, file, size)
    return Backbone(made[0], _width_of(name, made[0], size), *made[1:])


def digest_of(module: nn.Module) -> str:
    """SHA-256 of a module's weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data if tensor.numel() else b"")
    return digest.hexdigest()


def _of_timm(name: str, weights: str, file: Path | None, size: int) -> Made:
    check_installed("timm", "image", f"the network {name}")
    import timm  # here, since it is an extra and slow to import

    known = timm.list_models()
    plain = name.partition(".")[0]
    if plain not in known:
        raise InputError(f"timm has no network {name!r}; {nearest(plain, known)}")
    if weights == HUB:
        say_asked("weights", name)
    try:
        try:
            network: Any = timm.create_model(name, pretrained=weights == HUB, img_size=size, num_classes=0)
        except TypeError as error:
            if "img_size" not in str(error):
                raise
            network = timm.create_model(name, pretrained=weights == HUB, num_classes=0)
    except Exception as error:  # the hub's client has many
        raise _not_loaded(name, weights, error) from error
    if file is not None:
        _load(network, file, name)
    config: Any = network.pretrained_cfg
    return network, tuple(config["mean"]), tuple(config["std"])


def _of_torchvision(name: str, weights: str, file: Path | None) -> Made:
    check_installed("torchvision", "image", f"the network {name}")
    from torchvision import models

    plain, known = name.removeprefix(OF_TORCHVISION), models.list_models(models)
    if plain not in known:
        raise InputError(f"torchvision has no classifier {plain!r}; {nearest(plain, known)}")
    if weights == HUB:
        say_asked("weights", name)
    try:
        network = models.get_model(plain, weights="DEFAULT" if weights == HUB else None)
    except Exception as error:
        raise _not_loaded(name, weights, error) from error
    found = [path for path, part in network.named_modules() if isinstance(part, nn.Linear)]
    if not found or any(hasattr(network, aux) for aux in ("aux1", "AuxLogits")):
        raise InputError(f"{name} has no single last layer to replace; give another network, as resnet50")
    network.set_submodule(found[-1], nn.Identity())
    if file is not None:
        _load(network, file, name)
    return network, *IMAGENET


def _load(network: nn.Module, file: Path, name: str) -> None:
    """Load weights from a file, those of a classifier left out.

    Raises:
        InputError: if it cannot be read, or lacks a weight or has it in another shape.
    """
    state = _state_of(file)
    own = network.state_dict()
    lacking = [key for key in own if key not in state]
    if lacking:
        raise InputError(
            f"{file} lacks {len(lacking)} of the {len(own)} weights of {name}, as {lacking[0]}; give weights of that "
            "network"
        )
    for key, tensor in own.items():
        if state[key].shape != tensor.shape:
            raise InputError(
                f"{file}: {key} has the shape {list(state[key].shape)}, and {name} {list(tensor.shape)}; give weights "
                "of that network"
            )
    network.load_state_dict({key: state[key] for key in own})


def _state_of(file: Path) -> dict[str, Tensor]:
    try:
        if file.suffix == ".safetensors":
            check_installed("safetensors", "image", str(file))
            from safetensors.torch import load_file

            state: Any = load_file(file)
        else:
            state = torch.load(file, map_location="cpu", weights_only=True)
    except InputError:
        raise
    except Exception as error:  # whatever a file makes of a reader
        raise InputError(
            f"{file} cannot be read as weights; give a file of tensors alone, as torch.save(model.state_dict(), file) "
            "makes it"
        ) from error
    for key in ("state_dict", "model", "model_state_dict"):
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    if not (isinstance(state, dict) and state and all(isinstance(one, Tensor) for one in state.values())):
        raise InputError(f"{file} holds no dict of weights by name; give one, as torch.save(model.state_dict(), file)")
    prefix = "module."  # of DataParallel
    return {
        key.removeprefix(prefix): value.float() if value.is_floating_point() else value for key, value in state.items()
    }


def _width_of(name: str, network: nn.Module, size: int) -> int:
    """Features of a picture, which some networks count otherwise.

    Raises:
        InputError: if it does not take such pictures, or gives no vector for one.
    """
    training = network.training
    try:
        with torch.inference_mode():
            found = network.eval()(torch.zeros(1, 3, size, size))
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"{name} cannot take pictures of 3 channels and {size} x {size} pixels ({said}); give data.size as it "
            "wants it"
        ) from error
    finally:
        network.train(training)
    if not isinstance(found, Tensor) or found.ndim != 2:
        raise InputError(f"{name} gives no vector of features for a picture; give another network, as resnet50")
    return found.shape[1]


def _not_loaded(name: str, weights: str, error: Exception) -> InputError:
    said = " ".join(str(error).split())[:200]
    how = "give weights as a file, or none for random ones" if weights == HUB else "give another network"
    return InputError(f"{name} cannot be loaded ({said}); {how}")
