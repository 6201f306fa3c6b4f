"""Grouped data: generated, read from tables and texts, or anybody's dataset wrapped."""

from drurank.data.dataset import GroupedDataset, InMemory
from drurank.data.images import Images
from drurank.data.loading import evaluation_loader, make_loader
from drurank.data.memberships import Memberships
from drurank.data.module import GroupDataModule
from drurank.data.painted import PaintedShortcut
from drurank.data.synthetic import Shortcut, Synthetic
from drurank.data.table import Table
from drurank.data.text import Text
from drurank.data.wilds import WILDS

__all__ = [
    "WILDS",
    "GroupDataModule",
    "GroupedDataset",
    "Images",
    "InMemory",
    "Memberships",
    "PaintedShortcut",
    "Shortcut",
    "Synthetic",
    "Table",
    "Text",
    "evaluation_loader",
    "make_loader",
]
