"""`python -m softquery`."""

from softquery.cli import main

if __name__ == "__main__":
    main()
