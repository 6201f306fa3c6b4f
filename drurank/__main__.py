"""python -m drurank {fit,validate,test,predict,report,split,inspect} ..., and the command ``drurank``."""

from drurank.cli import main


def console() -> None:
    """Run the command line; what it makes is not handed on, since it would become the exit status."""
    main()


if __name__ == "__main__":
    console()
