"""What tests take from libraries in a quicker way is what the libraries give."""

import gc
from importlib.metadata import entry_points

import pytest
import sqlalchemy
import yaml
from lightning.fabric.utilities import registry
from lightning.pytorch.core import saving

GROUP = "lightning.pytorch.callbacks_factory"


def test_it_is_in_use():
    assert saving.yaml.dump is not yaml.dump
    assert registry.entry_points.cache_info().maxsize is None
    assert gc.get_threshold()[0] == 20_000
    assert gc.get_freeze_count() > 0


def test_the_same_packages_are_found():
    assert [*registry.entry_points(group=GROUP)] == [*entry_points(group=GROUP)]


@pytest.mark.parametrize(
    "value", [1, 1e-5, "2e5", None, "a: b", {"a": [1, {"b": ["x", None]}]}, "ä\n \x1b" + "long " * 40, (1, 2), {3}]
)
def test_what_is_written_of_hyperparameters_is_read_as_ever(value):
    """Long lines may be broken elsewhere."""
    found, should = (yaml.unsafe_load(dump({"name": value})) for dump in (saving.yaml.dump, yaml.dump))
    assert found == should == {"name": value}


def test_what_is_committed_does_not_wait_for_the_disk_and_can_be_rolled_back(tmp_path):
    with sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'a.db'}").connect() as connection:
        found = [
            connection.execute(sqlalchemy.text(f"PRAGMA {name}")).scalar() for name in ("synchronous", "journal_mode")
        ]
    assert found == [0, "delete"]
