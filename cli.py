"""python cli.py {fit,validate,test,predict,report,split,inspect} ..."""

from drurank.__main__ import console

if __name__ == "__main__":
    console()
