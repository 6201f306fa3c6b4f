"""Pictures, whose rendering takes longer than a small fit and is left out elsewhere, and tables as text."""

import io
from contextlib import contextmanager

import pytest
from matplotlib.figure import Figure

from drurank.report import pictures
from drurank.terminal import Terminal

RENDER = pictures.save_picture


@contextmanager
def saved_by(function):
    """Within this, pictures are saved by a function of a figure and a path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "save_picture", function)
        yield


def save_dot(figure, path):
    """A picture of one white dot in place of that of a figure."""
    Figure(figsize=(1, 1), dpi=1).savefig(path, format="png")


def shown(table, width):
    """A table as a terminal of that width shows it."""
    out = io.StringIO()
    Terminal(file=out, width=width).print(table)
    return out.getvalue()
