"""python -m classwise: the command line."""

from classwise.cli import main

if __name__ == "__main__":
    main()
