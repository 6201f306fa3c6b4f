"""Training methods, each a LightningModule."""

from drurank.methods.const import Const
from drurank.methods.dfr import DFR
from drurank.methods.dru import DRU
from drurank.methods.erm import ERM
from drurank.methods.group_dro import GroupDRO
from drurank.methods.group_module import GroupModule
from drurank.methods.irm import IRM
from drurank.methods.jtt import JTT
from drurank.methods.worst import Worst
from drurank.methods.worst_samples import ChiSquare, CVaR

__all__ = ["DFR", "DRU", "ERM", "IRM", "JTT", "CVaR", "ChiSquare", "Const", "GroupDRO", "GroupModule", "Worst"]
