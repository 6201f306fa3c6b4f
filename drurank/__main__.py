"""python -m drurank {fit,validate,test,predict,study,report,split,inspect} ..., and the command ``drurank``."""

import sys
from pathlib import Path

if __name__ == "__main__" and not sys.flags.safe_path and sys.path[:1] in ([""], [str(Path.cwd())]):
    # `python -m` looks into the current folder first, whose files may be somebody else's and named like any package.
    del sys.path[0]

from drurank.closed_output import ending_quietly
from drurank.signals import EarlySignals


def console() -> None:
    """Run the command line, and end with the exit status that its result has, as that of ``inspect``."""
    with EarlySignals(ends=True), ending_quietly():
        from drurank.cli import main  # here, since a signal may come while it is imported

        status = getattr(main(), "exit_status", 0)
    if status:
        sys.exit(status)


if __name__ == "__main__":
    console()
