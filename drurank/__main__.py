"""python -m drurank {fit,validate,test,predict,report,split,inspect} ..."""

from drurank.cli import main

if __name__ == "__main__":
    main()
