"""The page that lies beside an exported network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drurank.export.formats import FILES, OUTPUT, To
from drurank.markdown import markdown

ONNX = """```python
import onnxruntime

session = onnxruntime.InferenceSession("model.onnx")
(probabilities,) = session.run(["{output}"], {{{feed}}})
```"""
TORCH = """```python
import torch

model = torch.export.load("model.pt2").module()
probabilities = model({names})
```"""
SAFETENSORS = """The file has the weights of {class_path} and no operations:

```python
from safetensors.torch import load_model

load_model(network, "model.safetensors")  # a network of that class; its arguments are in encoding.json
probabilities = network({names}).softmax(dim=1)  # of a single score: its sigmoid is the probability of class 1
```"""
USE: dict[To, str] = {"onnx": ONNX, "torch": TORCH, "safetensors": SAFETENSORS}


def readme(to: To, checkpoint: Path, encoding: Mapping[str, Any]) -> str:
    """How to use the files of a folder; names of others as they look, without what Markdown or a terminal acts upon.

    Args:
        to: format of the network.
        checkpoint: that it was made of.
        encoding: the content of ``encoding.json``.
    """
    inputs = encoding["inputs"]
    names = ", ".join(one["name"] for one in inputs)
    feed = ", ".join(f'"{one["name"]}": {one["name"]}' for one in inputs)
    class_path = encoding["network"]["class_path"]
    use = USE[to].format(output=OUTPUT, names=names, feed=feed, class_path=markdown(class_path))
    shapes = [f"- `{one['name']}`: {one['dtype']} `{one['shape']}`".replace("'", "") for one in inputs]
    labels = ", ".join(f"{number} is {markdown(name)}" for number, name in enumerate(encoding["labels"]))
    return "\n".join(
        [
            f"# {FILES[to]}, from {markdown(checkpoint.name)}",
            "",
            f"`{OUTPUT}` has a column for each class: {labels}.",
            "",
            use,
            "",
            "Inputs:",
            "",
            *shapes,
            "",
            "`encoding.json` says how the columns of a table, texts or pictures become these; its `how` explains it.",
            "",
        ]
    )
