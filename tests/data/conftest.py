"""A small encoder, and a table of texts."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from encoders import write_tiny
from texts import rows


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Tokens and features are kept in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def table(tmp_path):
    """Path of a table of texts."""
    pq.write_table(pa.table(rows()), tmp_path / "t.parquet")
    return str(tmp_path / "t.parquet")
