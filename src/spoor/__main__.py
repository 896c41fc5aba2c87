"""`python -m spoor`."""

from spoor.cli.main import main

if __name__ == "__main__":
    main()
