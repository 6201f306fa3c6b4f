"""The command line, whose programs know nothing of what was imported with --import, although they are forked from it.

``python forgetting.py WORDS``; see forked.py.
"""

import os
import sys

from drurank import criteria, imports
from drurank.__main__ import console

BEGUN = dict(criteria._registry)


def forget():
    """Be as a process that was started anew."""
    criteria._registry, imports._imported = dict(BEGUN), []
    for name in [name for name in sys.modules if name.startswith(imports.PREFIX)]:
        del sys.modules[name]


if __name__ == "__main__":
    os.register_at_fork(after_in_child=forget)
    console()
