"""torchrun whose processes are forked from it, not started anew: its words, a Python file, and that one's words."""

import runpy
import sys

from torch.distributed.launcher.api import elastic_launch
from torch.distributed.run import config_from_args, parse_args


def program(file, *words):
    """What each process is."""
    sys.argv = [file, *words]
    runpy.run_path(file, run_name="__main__")


if __name__ == "__main__":
    options = parse_args(sys.argv[1:])
    config, _, _ = config_from_args(options)
    config.start_method = "fork"
    elastic_launch(config, program)(options.training_script, *options.training_script_args)
