"""What test_distributed.py runs in several processes, and in one: ``python many_processes.py FOLDER PROCESSES``.

Each process, which LOCAL_RANK tells apart, writes what it saw to FOLDER/<rank>.pt.
"""

import os
import sys
from pathlib import Path

import torch

from many_command_line import command_line
from many_images import of_images
from many_methods import every_method
from many_resume import resumed
from many_rows import mean_of_one_process, nan_on_one_process, of_rows, own_loaders, with_a_bar
from many_texts import of_texts


def everything(devices, folder):
    return {
        "methods": every_method(devices),
        "command line": command_line(devices, folder),
        "rows": of_rows(devices),
        "own loaders": own_loaders(devices),
        "nan": nan_on_one_process(devices),
        "own mean": mean_of_one_process(devices),
        "bar": with_a_bar(devices),
        "texts": of_texts(devices, folder),
        "images": of_images(devices, folder),
        "resumed": resumed(devices, folder / "resumed") if devices == 2 else {},  # last, as it sets a seed of its own
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    seen = everything(int(sys.argv[2]), folder)
    torch.save(seen, folder / f"{os.environ['LOCAL_RANK']}.pt")
