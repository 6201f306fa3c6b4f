"""Imported by the server of warm.py: what programs import, pictures of one dot, and few draws."""

import array_api_compat.numpy
import array_api_compat.torch  # noqa: F401
import matplotlib.backends.backend_agg  # noqa: F401
import optuna  # noqa: F401
import pandas  # noqa: F401
import sqlalchemy  # noqa: F401
import torch
from PIL import Image

import drurank.cli.study_checks
import drurank.cli.training  # noqa: F401
from drawing import save_dot
from drurank.report import pictures
from quick_libraries import keep_what_is_there, use_quickly
from quick_parsing import parse_quickly
from sampling import draw_few

Image.preinit()  # imports what reads and writes the usual kinds
torch.set_num_threads(1)
pictures.save_picture = save_dot
draw_few()
parse_quickly()
use_quickly()
keep_what_is_there()
