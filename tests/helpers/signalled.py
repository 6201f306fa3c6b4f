"""The command line, which gets a signal at a moment: SIGNAL MOMENT WORDS...

MOMENT is a module of which the import begins, or a function that is called, as ``drurank.cli.limits:refuse_bytes``. In
``drurank.cli.study_checks:check_plan``, which a worker calls, the signal goes to the first process of a study.
"""

import importlib
import os
import signal
import sys
import time
from unittest.mock import patch

CHECK = "drurank.cli.study_checks:check_plan"


class Finder:
    """Sends this process a signal once a module is looked for."""

    def __init__(self, name, number):
        self.name, self.number = name, number

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            os.kill(os.getpid(), self.number)
            time.sleep(0.01)


def main(number, moment, words):
    """Run the words."""
    from drurank.__main__ import console  # here, as a program begins with it

    module, _, name = moment.partition(":")
    sys.argv = ["drurank", *words]
    if not name:
        sys.modules.pop(module, None)
        sys.meta_path.insert(0, Finder(module, number))
        console()
        return

    def told(*_, **__):
        os.kill(os.getppid() if moment == CHECK else os.getpid(), number)
        time.sleep(20)

    with patch.object(importlib.import_module(module), name, told):
        console()


if __name__ == "__main__":
    main(signal.Signals[sys.argv[1]], sys.argv[2], sys.argv[3:])
