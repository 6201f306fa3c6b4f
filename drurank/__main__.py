"""python -m drurank {fit,validate,test,predict,study,report,split,inspect} ..., and the command ``drurank``."""

import sys
from pathlib import Path

from drurank.cli import main


def console() -> None:
    """Run the command line; what it makes is not handed on, since it would become the exit status."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        # Modules of the current folder are found as they are by `python -m drurank`, wherever cli.py is.
        sys.path.insert(0, str(Path.cwd()))
    main()


if __name__ == "__main__":
    console()
