"""python -m drurank {fit,validate,test,predict} ..."""

from drurank.cli import main

if __name__ == "__main__":
    main()
