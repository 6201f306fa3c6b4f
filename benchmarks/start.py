"""Time of `drurank fit --help` against the bare imports of what it loads: python benchmarks/start.py.

CPU time of fresh processes that take turns; a figure is the quickest of them, the ratio the median of those of a turn.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

import numpy as np
from shown import Row, print_rows

LIMIT = 1.15
HELP = "import sys; sys.argv[1:] = ['fit', '--help']; from drurank.__main__ import console; console()"
LOADED = "import atexit, sys; atexit.register(lambda: print('\\n' + ' '.join(sys.modules)));" + HELP


def loaded() -> list[str]:
    """Modules that the help loads beside our own, in their order."""
    printed = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=False).stdout
    return [name for name in printed.splitlines()[-1].split() if name.split(".")[0] not in ("drurank", "__main__")]


def packages(modules: list[str]) -> list[str]:
    """Those among them that are no part of Python, nor of how it starts."""
    found = {name.split(".")[0] for name in modules} - set(sys.stdlib_module_names)
    return sorted(name for name in found if not name.startswith(("_", "cython_runtime")))


def seconds(code: str) -> float:
    """CPU time of a process that runs this code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(repeats: int) -> list[Row]:
    """The help, and a start of Lightning's command line to compare with."""
    modules = loaded()
    bare = f"import importlib\nfor name in {modules}:\n    importlib.import_module(name)"
    taken = np.array([(seconds(HELP), seconds(bare)) for _ in range(repeats + 1)][1:])
    ratio = float(np.median(taken[:, 0] / taken[:, 1]))
    named = ", ".join(packages(modules)) or "nothing but Python's own modules"
    to = f"bare imports of what it loads: {named}"
    return [Row("`drurank fit --help`", 1000 * taken[:, 0].min(), "ms", to, ratio, LIMIT)]


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=9)
    print_rows(measure(options.parse_args().repeats))
