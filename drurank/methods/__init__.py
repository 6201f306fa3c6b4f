"""Training methods, each a LightningModule."""

from drurank.methods.base import GroupModule
from drurank.methods.const import Const
from drurank.methods.dru import DRU
from drurank.methods.erm import ERM
from drurank.methods.worst import Worst

__all__ = ["DRU", "ERM", "Const", "GroupModule", "Worst"]
