"""`python -m adjourn` is the `adjourn` command."""

from adjourn.cli import main

if __name__ == "__main__":
    main()
