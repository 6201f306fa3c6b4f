"""Imported by the server of warm.py: what programs import, and pictures of one dot."""

import optuna  # noqa: F401
import pandas  # noqa: F401
import sqlalchemy  # noqa: F401
import torch

import drurank.cli.study_checks
import drurank.cli.training  # noqa: F401
from drawing import save_dot
from drurank.report import pictures

torch.set_num_threads(1)
pictures.save_picture = save_dot
