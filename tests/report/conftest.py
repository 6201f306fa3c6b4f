"""Pictures of reports are looked at here."""

import pytest

from drawing import RENDER, saved_by


@pytest.fixture(autouse=True, scope="module")
def rendered():
    """All of them are rendered."""
    with saved_by(RENDER):
        yield
