"""The formats of files: how a network is written in each, and read again to be compared."""

from __future__ import annotations

import copy
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from drurank.errors import InputError
from drurank.export.classifier import Classifier, Input
from drurank.extras import check_installed

To = Literal["onnx", "torch", "safetensors"]
Function = Callable[[Sequence[Tensor]], np.ndarray]
"""Probabilities, float32 ``[B, C]``, from the inputs in their order."""
FILES: dict[To, str] = {"onnx": "model.onnx", "torch": "model.pt2", "safetensors": "model.safetensors"}
OUTPUT = "probabilities"
LARGEST = 2_000_000_000
"""Bytes of weights that an ONNX file holds."""
NEEDED: dict[To, tuple[str, ...]] = {"onnx": ("onnx", "onnxscript"), "torch": (), "safetensors": ("safetensors",)}
EXTRA = "export"
RUNTIME = "onnxruntime"


def check_packages(to: To) -> None:
    """Refuse a format whose packages are not installed.

    Raises:
        InputError: naming the extra that has them.
    """
    for package in NEEDED[to]:
        check_installed(package, EXTRA, f"to={to!r}")


def prepare(
    to: To, model: Classifier, inputs: Sequence[Input], example: tuple[Tensor, ...]
) -> Callable[[Path], object]:
    """Make what is to be written of a network, before there is a file, and import what writes and reads it.

    A signal that comes within an import ends the process at once, and would leave a file that is half written.

    Args:
        to: the format.
        model: in evaluation mode, on the CPU.
        inputs: what it takes.
        example: inputs of two rows or more, by which its operations are found.

    Returns:
        Writes it.

    Raises:
        InputError: if torch cannot find its operations, or they are none of the format's.
    """
    with torch.no_grad(), _without_noise():
        if to == "safetensors":
            import_module("safetensors.torch")
            return partial(_write_weights, model)
        program = _traced(model, inputs, example)
        if to == "torch":
            content = io.BytesIO()
            torch.export.save(program, content)
            return lambda file: file.write_bytes(content.getbuffer())
        import_module(RUNTIME if find_spec(RUNTIME) is not None else "onnx.reference")
        return _onnx_of(model, program, inputs, example)


def _write_weights(model: Classifier, file: Path) -> None:
    from safetensors.torch import save_model

    file.touch()
    mode = file.stat().st_mode
    save_model(model.network, str(file))
    file.chmod(mode)  # safetensors makes a file that only its owner may read


def read(to: To, model: Classifier, file: Path) -> Function:
    """The function that a file holds; of weights alone, that of the same network with those of the file."""
    if to == "onnx":
        return _read_onnx(file)
    if to == "torch":
        with file.open("rb") as content, _without_noise():
            program = torch.export.load(content).module()
        return lambda given: _as_numpy(program(*given))
    from safetensors.torch import load_model

    other = copy.deepcopy(model)
    for tensor in other.network.state_dict().values():
        tensor.zero_()  # so that what the file lacks is seen
    load_model(other.network, str(file))
    return lambda given: _as_numpy(other(*given))


def _traced(model: Classifier, inputs: Sequence[Input], example: tuple[Tensor, ...]) -> Any:
    dynamic = torch.export.Dim.DYNAMIC
    shapes = {"inputs": tuple({0: dynamic} | ({1: dynamic} if one.width is None else {}) for one in inputs)}
    failed: Exception | None = None
    for strict in (False, True):  # Either finds the operations of some networks that the other does not.
        try:
            return torch.export.export(model, example, dynamic_shapes=shapes, strict=strict)
        except Exception as error:
            failed = error
    said = " ".join(f"{type(failed).__name__}: {failed}".split())[:300]
    raise InputError(
        f"torch.export cannot take the network {type(model.network).__name__} ({said}); change it, or give "
        "to='safetensors' for its weights alone"
    ) from failed


def _onnx_of(
    model: Classifier, program: Any, inputs: Sequence[Input], example: tuple[Tensor, ...]
) -> Callable[[Path], object]:
    size = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
    if size > LARGEST:
        raise InputError(
            f"the weights take {size / 1e9:.1f} GB, and one ONNX file holds 2; give to='torch' or to='safetensors'"
        )
    names = [one.name for one in inputs]
    try:
        made = torch.onnx.export(
            program, example, dynamo=True, input_names=names, output_names=[OUTPUT], external_data=False, verbose=False
        )
        assert made is not None
        return partial(made.save, external_data=False)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise InputError(
            f"torch.onnx cannot write the network {type(model.network).__name__} ({said}); give to='torch'"
        ) from error


def _read_onnx(file: Path) -> Function:
    if find_spec(RUNTIME) is not None:
        import onnxruntime

        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        names = [one.name for one in session.get_inputs()]
    else:
        import onnx
        from onnx.reference import ReferenceEvaluator

        session = ReferenceEvaluator(onnx.load(str(file)))
        names = list(session.input_names)

    def run(given: Sequence[Tensor]) -> np.ndarray:
        feed = {name: tensor.numpy() for name, tensor in zip(names, given, strict=True)}
        return np.asarray(session.run(None, feed)[0])

    return run


def _as_numpy(output: Tensor) -> np.ndarray:
    array: np.ndarray = output.detach().numpy()
    return array


@contextmanager
def _without_noise() -> Iterator[None]:
    """Leave out what torch says of its own workings."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
