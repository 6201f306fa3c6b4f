"""How often distributions of true accuracies are drawn."""

from contextlib import contextmanager

import pytest

from drurank import mixture_sampling, spread

NAMES = ("DRAWS", "BURN_IN", "THIN")
AS_EVER = tuple(getattr(mixture_sampling, name) for name in NAMES)


@contextmanager
def drawn_often(draws, burn_in, thin):
    """Within this, so many are kept, after so many that are not, and of several in turn one."""
    with pytest.MonkeyPatch.context() as patch:
        for name, number in zip(NAMES, (draws, burn_in, thin), strict=True):
            patch.setattr(mixture_sampling, name, number)
        spread._draw.cache_clear()
        yield
    spread._draw.cache_clear()
