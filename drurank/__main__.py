"""python -m drurank {fit,validate,test,predict,study,report,split,inspect} ..., and the command ``drurank``."""

import sys
from pathlib import Path

if __name__ == "__main__" and not sys.flags.safe_path and sys.path[:1] in ([""], [str(Path.cwd())]):
    # `python -m` looks into the current folder first, whose files may be somebody else's and named like any package.
    del sys.path[0]

from drurank.cli import main


def console() -> None:
    """Run the command line; what it makes is not handed on, since it would become the exit status."""
    main()


if __name__ == "__main__":
    console()
