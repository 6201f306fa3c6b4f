"""How often distributions of true accuracies are drawn."""

from contextlib import contextmanager

import pytest

from drurank import mixture_sampling, spread

NAMES = ("DRAWS", "BURN_IN", "THIN")
AS_EVER = tuple(getattr(mixture_sampling, name) for name in NAMES)
FEW = (40, 20, 1)


@contextmanager
def drawn_often(numbers):
    """Within this, so many are kept, after so many that are not, and of several in turn one."""
    with pytest.MonkeyPatch.context() as patch:
        for name, number in zip(NAMES, numbers, strict=True):
            patch.setattr(mixture_sampling, name, number)
        spread._draw.cache_clear()
        yield
    spread._draw.cache_clear()


def draw_few():
    """From now on, few are drawn."""
    for name, number in zip(NAMES, FEW, strict=True):
        setattr(mixture_sampling, name, number)
