"""python cli.py {fit,validate,test,predict,study,report,split,inspect} ..."""

from drurank.__main__ import console

if __name__ == "__main__":
    console()
