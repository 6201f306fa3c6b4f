"""Makes a torchvision for CUDA importable beside a CPU build of torch.

Its compiled part is made for CUDA and does not load there, and then `import torchvision` fails, and that of Lightning,
since its Python part describes two detection operators that nobody has defined. Classification needs neither, so they
are declared here, in the environment that `make install` made.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

MARK = "# declared for a CPU build of torch"
DECLARED = f"""

if not _has_ops():  {MARK}
    _declared = torch.library.Library("torchvision", "FRAGMENT")
    for _name in ("nms", "qnms"):
        _declared.define(f"{{_name}}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


def main() -> None:
    """Declare them in the installed file, once."""
    found = importlib.util.find_spec("torchvision")
    if found is None or found.origin is None:
        return
    file = Path(found.origin).with_name("extension.py")
    text = file.read_text(encoding="utf-8")
    if MARK not in text:
        file.write_text(text + DECLARED, encoding="utf-8")


if __name__ == "__main__":
    main()
