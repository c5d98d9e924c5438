"""`python -m epbench` is the command `epbench`."""

from epbench.cli import main

if __name__ == "__main__":
    main()
