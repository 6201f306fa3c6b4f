"""What an option that is not known may have been meant for."""

from __future__ import annotations

import difflib
import re

from drurank.errors import SHORTEST, nearest

OF_OPTIMIZER = {
    **dict.fromkeys(("lr", "learning_rate", "rate"), ("AdamW", "lr")),
    **{name: ("AdamW", name) for name in ("weight_decay", "betas", "eps")},
    "momentum": ("SGD", "momentum"),
}
"""Names by which options of an optimizer are asked for, to a class that has the option, and what it is called."""
GPU = re.compile(r"((n|num|use|no)_?)?(gpus?|cuda)|device", re.IGNORECASE)
"""Names by which GPUs are asked for."""
FOR_GPUS = (
    "for GPUs give --trainer.accelerator gpu --trainer.devices <how many>, and for none --trainer.accelerator cpu"
)
MOST = 2
"""Options that are named where all of them begin like the unknown one."""
CLOSE = 0.8
"""Likeness of a name from which on it is meant for an option of another section."""


def nearest_option(word: str, options: list[str]) -> str:
    """The end of a sentence about an unknown option: one with the same last part, or the closest."""
    known = [option for option in options if option.startswith("--") and not option.endswith(("+", ".help"))]
    head, _, rest = word.partition(".")
    same = [option for option in known if rest and option.startswith(f"{head}.")]
    top = [option for option in known if "." not in option and not option.startswith("--print_shtab")]
    if word == "--run" and "--ckpt_path" in known:
        return "to continue a run give --ckpt_path <run>/checkpoints/last.ckpt"
    begun = [option for option in top if option.startswith(head)]
    if not rest and 1 <= len(begun) <= MOST:
        return f"did you mean {' or '.join(map(repr, begun))}?"
    if GPU.fullmatch(_last_part(word)) and "--trainer.accelerator" in known:
        return FOR_GPUS
    alike = _with_last_part(_last_part(word), same or known)
    if alike is None and "--model" in known:
        alike = of_optimizer(_last_part(word))
    if alike is not None:
        return f"did you mean {alike!r}?"
    if same:
        return nearest(word, same, _last_part)
    of_top = nearest(head, top)
    close = difflib.get_close_matches(_last_part(word), map(_last_part, known), n=1, cutoff=CLOSE)
    if close and not of_top.startswith("did you mean"):
        return f"did you mean {next(option for option in known if _last_part(option) == close[0])!r}?"
    return of_top


def nearest_argument(name: str, known: list[str]) -> str:
    """The end of a sentence about an unknown argument of a class: one of its optimizer, or the closest of its own."""
    inner = of_optimizer(name) if "optimizer" in known else None
    return nearest(name, known) if inner is None else f"did you mean {inner!r}?"


def of_optimizer(name: str) -> str | None:
    """What is typed for an option of the optimizer, whose class must be named before; ``None`` if it is none."""
    found = OF_OPTIMIZER.get(name)
    return None if found is None else f"--model.optimizer {found[0]} --model.optimizer.{found[1]}"


def _last_part(option: str) -> str:
    return option.rpartition(".")[2].lstrip("-")


def _with_last_part(last: str, known: list[str]) -> str | None:
    """The first option whose last part is this one, or ends in it as ``max_epochs`` does in ``epochs``."""
    exact = [option for option in known if _last_part(option) == last]
    begun = [option for option in known if _last_part(option).startswith(last)]
    word = last.rstrip("s")
    ends = [option for option in known if _last_part(option).rstrip("s").endswith(f"_{word}")]
    if exact:
        return exact[0]
    return ends[0] if ends and not begun and len(word) >= SHORTEST else None
