"""Lightning, YAML and SQLite as they are, but without what takes them longest and says nothing of a run.

A Trainer reads the metadata of all installed packages; each hyperparameter is written by a pure Python emitter, three
times a run; and a commit waits for the disk, which matters where the power fails.
"""

import gc
import sqlite3
from functools import cache, partial
from importlib.metadata import entry_points
from types import SimpleNamespace

import yaml
from lightning.fabric.utilities import registry
from lightning.pytorch.core import saving
from sqlalchemy import event
from sqlalchemy.engine import Engine


def use_quickly():
    """From now on."""
    registry.entry_points = cache(entry_points)
    saving.yaml = SimpleNamespace(**{**vars(yaml), "dump": partial(yaml.dump, Dumper=yaml.CDumper)})
    event.listen(Engine, "connect", do_not_wait)


def do_not_wait(connection, record):
    """Have the operating system write what is committed when it likes; a killed process loses nothing."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


def keep_what_is_there():
    """Have the garbage collector leave out all that there is now, and look seldom at the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 5, 10)
