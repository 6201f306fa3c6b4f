"""Grouped data: generated, read from tables, or anybody's dataset wrapped."""

from drurank.data.dataset import GroupedDataset, InMemory, evaluation_loader
from drurank.data.module import GroupDataModule
from drurank.data.synthetic import Shortcut, Synthetic
from drurank.data.table import Table
from drurank.data.text import Text

__all__ = [
    "GroupDataModule",
    "GroupedDataset",
    "InMemory",
    "Shortcut",
    "Synthetic",
    "Table",
    "Text",
    "evaluation_loader",
]
